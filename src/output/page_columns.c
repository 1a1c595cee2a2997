#include "output/page_columns.h"

#include <math.h>
#include <string.h>

#include "base/deflate64.h"
#include "base/json_read.h"
#include "base/protobuf.h"

enum { TRIAL_ROWS = 1 << 16 };

static void fail(struct page_columns *data, int code)
{
    if (data->failed == LAM_OK)
        data->failed = code;
}

/* ---- what is collected ---- */

struct page_table *page_table(struct page_columns *data, const char *name)
{
    for (struct page_table *table = data->tables; table; table = table->next) {
        if (strcmp(table->name, name) == 0)
            return table;
    }
    struct page_table *table = arena_alloc(&data->arena, sizeof *table);
    char *copy = arena_strdup(&data->arena, name);
    if (!table || !copy) {
        fail(data, LAM_E_NOMEM);
        return NULL;
    }
    table->name = copy;
    *(data->last ? &data->last->next : &data->tables) = table;
    data->last = table;
    return table;
}

struct page_column *page_column_find(const struct page_table *table, const char *name)
{
    struct page_column *column = table->columns;
    while (column && strcmp(column->name, name) != 0)
        column = column->next;
    return column;
}

struct page_column *page_column(struct page_columns *data, struct page_table *table,
                                const char *name, enum page_type type)
{
    if (!table)
        return NULL;
    struct page_column *column = arena_alloc(&data->arena, sizeof *column);
    char *copy = arena_strdup(&data->arena, name);
    if (!column || !copy) {
        fail(data, LAM_E_NOMEM);
        return NULL;
    }
    column->name = copy;
    column->type = type;
    *(table->last ? &table->last->next : &table->columns) = column;
    table->last = column;
    return column;
}

static void push(struct page_columns *data, struct page_column *column, int64_t value)
{
    if (column && array_push(&column->values, value) < 0)
        fail(data, LAM_E_NOMEM);
}

void page_int(struct page_columns *data, struct page_column *column, int64_t value)
{
    if (value != PAGE_NULL && value > PAGE_INT_MAX)
        value = PAGE_INT_MAX;
    if (value != PAGE_NULL && value < -PAGE_INT_MAX)
        value = -PAGE_INT_MAX;
    push(data, column, value);
}

void page_real(struct page_columns *data, struct page_column *column, double value)
{
    int64_t bits;
    if (isnan(value))
        value = NAN; /* one of them, so that files are equal */
    memcpy(&bits, &value, sizeof bits);
    push(data, column, bits);
}

void page_plain_text(struct page_columns *data, struct page_column *column, const char *text,
                     size_t length)
{
    uint32_t id = INTERN_EMPTY;
    if (!text) {
        push(data, column, PAGE_NULL);
        return;
    }
    int rc = intern_add(&data->strings, text, length, &id);
    if (rc < 0)
        fail(data, rc);
    push(data, column, id);
}

/* What the JSON report's writer would have written and a reader read. */
static void json_text(struct page_columns *data, struct page_column *column, const char *text,
                      size_t length)
{
    struct strbuf *quoted = &data->scratch;
    strbuf_clear(quoted);
    strbuf_add_char(quoted, '"');
    strbuf_add_json_escaped(quoted, text, length);
    strbuf_add_char(quoted, '"');
    struct json_reader json;
    json_open_memory(&json, strbuf_text(quoted), quoted->length, NULL);
    if (!strbuf_ok(quoted) || json_next(&json) != JSON_STRING) {
        fail(data, LAM_E_NOMEM);
        push(data, column, PAGE_NULL);
    } else {
        page_plain_text(data, column, json.text, json.length);
    }
    json_close(&json);
}

void page_text(struct page_columns *data, struct page_column *column, const char *text, size_t length)
{
    bool is_plain = !text || (!memchr(text, '\\', length) && utf8_is_valid(text, length));
    (is_plain ? page_plain_text : json_text)(data, column, text, length);
}

/* ---- how it is written ---- */

/* What of a column's values decides how they are coded. */
struct column_range {
    bool is_equal; /* all are */
    uint64_t value;
};

/* What is left of a row's value to be written. */
static int64_t rest_of(const struct page_column *column, size_t row)
{
    int64_t value = column->values.items[row];
    if (!column->is_rest || value == PAGE_NULL)
        return value;
    int64_t related = column->related.column->values.items[row];
    return related == PAGE_NULL ? value : value - column->related.times * related;
}

static uint64_t as_unsigned(const struct page_column *column, size_t row)
{
    int64_t value = rest_of(column, row);
    if (value == PAGE_NULL)
        return 0;
    return (column->is_signed ? proto_zigzag(value) : (uint64_t)value) + column->has_null;
}

static struct column_range look_at(struct page_column *column)
{
    struct column_range range = {.is_equal = true};
    column->has_null = column->is_signed = false;
    for (size_t i = 0; i < column->values.count; i++) {
        int64_t value = rest_of(column, i);
        column->has_null |= value == PAGE_NULL;
        column->is_signed |= value < 0 && value != PAGE_NULL;
        range.is_equal &= value == rest_of(column, 0);
    }
    if (range.is_equal && column->values.count)
        range.value = as_unsigned(column, 0);
    return range;
}

static unsigned bytes_of(uint64_t number)
{
    unsigned bytes = 1;
    while (number >>= 8)
        bytes++;
    return bytes;
}

/* The numbers as they are coded: differences to the row before, or as they are. */
struct number_walk {
    const struct page_column *column;
    bool is_delta;
    uint64_t before;
    size_t row;
};

static uint64_t next_number(struct number_walk *walk)
{
    uint64_t number = as_unsigned(walk->column, walk->row++);
    if (!walk->is_delta)
        return number;
    uint64_t coded = proto_zigzag((int64_t)(number - walk->before));
    walk->before = number;
    return coded;
}

static void put_varints(struct number_walk walk, size_t rows, struct strbuf *out)
{
    for (size_t i = 0; i < rows; i++) {
        unsigned char *to = (unsigned char *)strbuf_room(out, PROTO_VARINT_MAX);
        if (!to)
            return;
        strbuf_advance(out, (size_t)(proto_varint(to, next_number(&walk)) - to));
    }
}

static void put_planes(struct number_walk walk, size_t rows, uint32_t width, struct strbuf *out)
{
    char *to = strbuf_room(out, rows * width);
    if (!to)
        return;
    for (size_t i = 0; i < rows; i++) {
        uint64_t number = next_number(&walk);
        for (uint32_t plane = 0; plane < width; plane++)
            to[plane * rows + i] = (char)(number >> 8 * plane);
    }
    strbuf_advance(out, rows * width);
}

static uint32_t width_needed(struct number_walk walk, size_t rows)
{
    uint64_t all = 0;
    for (size_t i = 0; i < rows; i++)
        all |= next_number(&walk);
    return bytes_of(all);
}

static void put_numbers(struct page_column *column, size_t rows, struct strbuf *out)
{
    struct number_walk walk = {.column = column, .is_delta = column->is_delta};
    if (column->code == PAGE_VARINT) {
        put_varints(walk, rows, out);
        return;
    }
    column->width = width_needed(walk, rows);
    put_planes(walk, rows, column->width, out);
}

/* The code that deflates best; a long column is judged by its first rows. */
static size_t choose_code(struct page_column *column, struct strbuf *scratch)
{
    static const struct {
        enum page_code code;
        bool is_delta;
    } ways[] = {{PAGE_PLANES, false}, {PAGE_PLANES, true}, {PAGE_VARINT, false}, {PAGE_VARINT, true}};
    size_t rows = column->values.count < TRIAL_ROWS ? column->values.count : TRIAL_ROWS;
    size_t best = SIZE_MAX, best_way = 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        strbuf_clear(scratch);
        column->code = ways[i].code;
        column->is_delta = ways[i].is_delta;
        put_numbers(column, rows, scratch);
        size_t size = deflated_size(strbuf_text(scratch), scratch->length);
        if (size < best) {
            best = size;
            best_way = i;
        }
    }
    column->code = ways[best_way].code;
    column->is_delta = ways[best_way].is_delta;
    return best;
}

/* Whether what remains beside the related column is shorter. */
static void choose_rest(struct page_column *column, struct strbuf *scratch)
{
    look_at(column);
    size_t whole = choose_code(column, scratch);
    if (!column->related.column)
        return;
    column->is_rest = true;
    look_at(column);
    if (choose_code(column, scratch) < whole)
        return;
    column->is_rest = false;
    look_at(column);
    choose_code(column, scratch);
}

static void put_reals(const struct page_column *column, struct strbuf *out)
{
    size_t rows = column->values.count;
    char *to = strbuf_room(out, rows * 8);
    for (size_t i = 0; to && i < rows; i++) {
        uint64_t bits = (uint64_t)column->values.items[i];
        for (size_t plane = 0; plane < 8; plane++)
            to[plane * rows + i] = (char)(bits >> 8 * plane);
    }
    if (to)
        strbuf_advance(out, rows * 8);
}

/* Whether a row is what its terms add up to. */
static bool is_sum(const struct page_column *column, size_t row)
{
    int64_t sum = 0, value = column->values.items[row];
    for (unsigned i = 0; i < column->term_count; i++) {
        int64_t part = column->terms[i].column->values.items[row];
        if (part == PAGE_NULL)
            return value == PAGE_NULL;
        sum += column->terms[i].times * part;
    }
    if (value == PAGE_NULL)
        return false;
    int64_t off = value - (sum > 0 ? sum : 0);
    return (off < 0 ? -off : off) <= (int64_t)column->may_differ;
}

static bool is_sum_everywhere(const struct page_column *column)
{
    for (size_t i = 0; i < column->values.count; i++) {
        if (!is_sum(column, i))
            return false;
    }
    return column->term_count > 0;
}

static void encode(struct page_columns *data, struct page_column *column, struct strbuf *out)
{
    column->at = out->length;
    if (column->type == PAGE_REAL) {
        column->code = PAGE_REALS;
        put_reals(column, out);
    } else if (is_sum_everywhere(column)) {
        column->code = PAGE_SUM;
    } else {
        struct column_range range = look_at(column);
        if (range.is_equal && column->values.count) {
            column->code = PAGE_CONST;
            column->value = range.value;
        } else {
            choose_rest(column, &data->scratch);
            put_numbers(column, column->values.count, out);
        }
    }
    column->bytes = out->length - column->at;
}

static uint64_t utf16_length(const char *text, size_t length)
{
    uint64_t units = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        /* One for each character's first byte, two where it begins one of four bytes. */
        units += (byte & 0xc0) != 0x80;
        units += byte >= 0xf0;
    }
    return units;
}

static void encode_strings(struct page_columns *data, struct strbuf *out)
{
    data->strings_at = out->length;
    for (uint32_t id = 0; id < intern_count(&data->strings); id++) {
        size_t length;
        const char *text = intern_text(&data->strings, id, &length);
        strbuf_add_bytes(out, text, length);
        page_int(data, &data->lengths, (int64_t)utf16_length(text, length));
    }
    data->strings_bytes = out->length - data->strings_at;
    encode(data, &data->lengths, out);
}

int page_columns_encode(struct page_columns *data, struct strbuf *out, struct lam_error *err)
{
    encode_strings(data, out);
    for (struct page_table *table = data->tables; table; table = table->next) {
        for (struct page_column *column = table->columns; column; column = column->next) {
            if (column->values.count != table->rows)
                return lam_error_set(err, data->failed < 0 ? data->failed : LAM_E_INVAL,
                                     "page: column %s.%s is not whole", table->name, column->name);
            encode(data, column, out);
        }
    }
    if (!strbuf_ok(out) || !strbuf_ok(&data->scratch))
        fail(data, LAM_E_NOMEM);
    return data->failed < 0
               ? lam_error_set(err, data->failed, "page: %s", lam_code_text(data->failed))
               : LAM_OK;
}

/* ---- how it is described ---- */

static void describe_flag(struct json_writer *json, const char *key, bool is_set)
{
    if (is_set)
        json_member_bool(json, key, true);
}

static void describe_term(const struct page_term *term, struct json_writer *json)
{
    json_put_object(json);
    json_member_str(json, "column", term->column->name);
    json_member_i64(json, "times", term->times);
    json_put_end(json);
}

static void describe_place(const struct page_column *column, struct json_writer *json)
{
    if (column->code == PAGE_CONST) {
        json_member_u64(json, "value", column->value);
        return;
    }
    if (column->code == PAGE_SUM) {
        json_member_array(json, "terms");
        for (unsigned i = 0; i < column->term_count; i++)
            describe_term(&column->terms[i], json);
        json_put_end(json);
        json_member_u64(json, "min", 0);
        return;
    }
    json_member_u64(json, "at", column->at);
    json_member_u64(json, "bytes", column->bytes);
}

static void describe_column(const struct page_column *column, struct json_writer *json)
{
    static const char *const types[] = {
        [PAGE_INT] = "int",   [PAGE_BOOL] = "bool",   [PAGE_TEXT] = "text", [PAGE_ROW] = "row",
        [PAGE_REAL] = "real", [PAGE_PHASE] = "phase", [PAGE_ROLE] = "role"};
    static const char *const codes[] = {
        [PAGE_VARINT] = "varint", [PAGE_PLANES] = "planes", [PAGE_CONST] = "const", [PAGE_REALS] = "real", [PAGE_SUM] = "sum"};
    json_put_object(json);
    json_member_str(json, "type", types[column->type]);
    json_member_str(json, "code", codes[column->code]);
    describe_place(column, json);
    if (column->code == PAGE_PLANES)
        json_member_u64(json, "width", column->width);
    describe_flag(json, "delta", column->is_delta);
    describe_flag(json, "null", column->has_null);
    describe_flag(json, "signed", column->is_signed);
    if (column->is_rest) {
        json_put_key(json, "plus");
        describe_term(&column->related, json);
    }
    if (column->per)
        json_member_u64(json, "per", column->per);
    if (column->of)
        json_member_str(json, "of", column->of);
    json_put_end(json);
}

static void describe_table(const struct page_table *table, struct json_writer *json)
{
    json_member_object(json, table->name);
    json_member_u64(json, "rows", table->rows);
    if (table->parent)
        json_member_str(json, "parent", table->parent);
    json_member_object(json, "columns");
    for (const struct page_column *column = table->columns; column; column = column->next) {
        json_put_key(json, column->name);
        describe_column(column, json);
    }
    json_put_end(json);
    json_put_end(json);
}

void page_columns_describe(const struct page_columns *data, struct json_writer *json)
{
    json_member_object(json, "strings");
    json_member_u64(json, "count", intern_count(&data->strings));
    json_member_object(json, "bytes");
    json_member_u64(json, "at", data->strings_at);
    json_member_u64(json, "bytes", data->strings_bytes);
    json_put_end(json);
    json_put_key(json, "lengths");
    describe_column(&data->lengths, json);
    json_put_end(json);
    json_member_object(json, "tables");
    for (const struct page_table *table = data->tables; table; table = table->next) {
        if (table->rows > 0)
            describe_table(table, json);
    }
    json_put_end(json);
}

void page_columns_free(struct page_columns *data)
{
    for (struct page_table *table = data->tables; table; table = table->next) {
        for (struct page_column *column = table->columns; column; column = column->next)
            array_free(&column->values);
    }
    array_free(&data->lengths.values);
    intern_free(&data->strings);
    strbuf_free(&data->scratch);
    arena_free(&data->arena);
    *data = (struct page_columns){0};
}
