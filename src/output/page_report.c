#include "output/page_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_read.h"

enum { NS_A_SECOND = 1000000000, NAME_MAX_BYTES = 128 };

struct table_reading {
    struct page_columns *data;
    struct json_reader json;
    struct page_table *table;
    size_t row;
};

/* ---- one value ---- */

static void pad(struct table_reading *in, struct page_column *column)
{
    while (column->values.count < in->row) {
        if (column->type == PAGE_REAL)
            page_real(in->data, column, NAN);
        else
            page_int(in->data, column, PAGE_NULL);
        if (in->data->failed < 0)
            return;
    }
}

static struct page_column *column_of(struct table_reading *in, const char *name)
{
    struct page_column *column = page_column_find(in->table, name);
    if (!column) {
        size_t length = strlen(name);
        column = page_column(in->data, in->table, name, PAGE_INT);
        bool ends_in_s = length > 2 && strcmp(name + length - 2, "_s") == 0;
        if (column && (ends_in_s || strcmp(name, "seconds") == 0))
            column->per = NS_A_SECOND;
    }
    if (column)
        pad(in, column);
    return column;
}

static bool is_all_null(const struct page_column *column)
{
    array_each(&column->values, value)
    {
        if (*value != PAGE_NULL)
            return false;
    }
    return true;
}

/* A number came that is not whole: so are all of them doubles. */
static void make_real(struct page_column *column)
{
    column->type = PAGE_REAL;
    array_each(&column->values, value)
    {
        double real = *value == PAGE_NULL ? NAN
                      : column->per       ? (double)*value / (double)column->per
                                          : (double)*value;
        memcpy(value, &real, sizeof real);
    }
    column->per = 0;
}

static int put_number(struct table_reading *in, struct page_column *column, double number)
{
    if (column->type == PAGE_TEXT || column->type == PAGE_BOOL) {
        if (!is_all_null(column))
            return LAM_E_INVAL;
        column->type = PAGE_INT;
    }
    double scaled = column->per ? round(number * (double)column->per) : number;
    bool is_whole = scaled == floor(scaled) && fabs(scaled) <= (double)PAGE_INT_MAX;
    if (column->type != PAGE_REAL && !is_whole)
        make_real(column);
    if (column->type == PAGE_REAL)
        page_real(in->data, column, number);
    else
        page_int(in->data, column, (int64_t)scaled);
    return LAM_OK;
}

/* A text or a truth value: the column is of that type, or holds nothing yet. */
static int become(struct page_column *column, enum page_type type)
{
    if (column->type == type)
        return LAM_OK;
    if (column->type == PAGE_REAL || !is_all_null(column))
        return LAM_E_INVAL;
    column->type = type;
    column->per = 0;
    return LAM_OK;
}

static int put_scalar(struct table_reading *in, struct page_column *column, int event)
{
    if (!column || column->values.count > in->row)
        return LAM_E_INVAL; /* a key twice in an object */
    int rc = LAM_OK;
    switch (event) {
    case JSON_NUMBER:
        return put_number(in, column, in->json.number);
    case JSON_STRING:
        rc = become(column, PAGE_TEXT);
        if (rc == LAM_OK)
            page_plain_text(in->data, column, in->json.text, in->json.length);
        return rc;
    case JSON_BOOL:
        rc = become(column, PAGE_BOOL);
        if (rc == LAM_OK)
            page_int(in->data, column, in->json.boolean);
        return rc;
    default:
        if (column->type == PAGE_REAL)
            page_real(in->data, column, NAN);
        else
            page_int(in->data, column, PAGE_NULL);
        return LAM_OK;
    }
}

/* ---- rows ---- */

static int read_list(struct table_reading *in);

static int join_names(const char *outer, const char *name, char *out)
{
    size_t length = (size_t)snprintf(out, NAME_MAX_BYTES, "%s%s%s", outer, *outer ? "." : "", name);
    return length < NAME_MAX_BYTES ? LAM_OK : LAM_E_TOOBIG;
}

/* A list in a row: a table of its own, whose rows know theirs. */
static int read_inner_list(struct table_reading *in, const char *name)
{
    char full[NAME_MAX_BYTES];
    struct table_reading outer = {.table = in->table, .row = in->row};
    int rc = join_names(in->table->name, name, full);
    if (rc < 0)
        return rc;
    bool is_new = true;
    for (struct page_table *table = in->data->tables; table; table = table->next)
        is_new &= strcmp(table->name, full) != 0;
    in->table = page_table(in->data, full);
    if (!in->table)
        return LAM_E_NOMEM;
    if (is_new) {
        struct page_column *row = page_column(in->data, in->table, "row", PAGE_ROW);
        in->table->parent = outer.table->name;
        if (!row)
            return LAM_E_NOMEM;
        row->of = outer.table->name;
    }
    size_t first = in->table->rows;
    rc = read_list(in);
    for (size_t i = first; rc == LAM_OK && i < in->table->rows; i++)
        page_int(in->data, in->table->columns, (int64_t)outer.row);
    in->table = outer.table;
    in->row = outer.row;
    return rc;
}

/* The members of an object; those of objects inside are named OUTER.KEY. */
static int read_members(struct table_reading *in, const char *outer)
{
    int rc;
    while ((rc = json_next_key(&in->json)) > 0) {
        char key[NAME_MAX_BYTES], name[NAME_MAX_BYTES];
        if (in->json.length >= sizeof key)
            return LAM_E_TOOBIG;
        memcpy(key, in->json.text, in->json.length);
        key[in->json.length] = '\0';
        rc = join_names(outer, key, name);
        int event = rc < 0 ? rc : json_next(&in->json);
        if (event < 0)
            return event;
        if (event == JSON_OBJECT_BEGIN)
            rc = read_members(in, name);
        else if (event == JSON_ARRAY_BEGIN)
            rc = read_inner_list(in, name);
        else
            rc = put_scalar(in, column_of(in, name), event);
        if (rc < 0)
            return rc;
    }
    return rc;
}

/* After the beginning of a list: its elements are rows of in->table. */
static int read_list(struct table_reading *in)
{
    int rc;
    while ((rc = json_next_element(&in->json)) > 0) {
        in->row = in->table->rows;
        if (in->json.event == JSON_OBJECT_BEGIN)
            rc = read_members(in, "");
        else if (in->json.event == JSON_ARRAY_BEGIN)
            rc = LAM_E_INVAL;
        else
            rc = put_scalar(in, column_of(in, "value"), in->json.event);
        if (rc < 0)
            return rc;
        in->table->rows++;
    }
    return rc;
}

static void pad_table(struct table_reading *in, struct page_table *table)
{
    in->row = table->rows;
    for (struct page_column *column = table->columns; column; column = column->next)
        pad(in, column);
}

/* ---- the report ---- */

static int read_member(struct table_reading *in, const char *report, page_member_fn member, void *ctx)
{
    char key[NAME_MAX_BYTES];
    if (in->json.length >= sizeof key)
        return LAM_E_TOOBIG;
    memcpy(key, in->json.text, in->json.length);
    key[in->json.length] = '\0';
    uint64_t from = json_offset(&in->json);
    int event = json_next(&in->json);
    if (event < 0)
        return event;
    if (event == JSON_ARRAY_BEGIN && strcmp(key, "findings") != 0) {
        in->table = page_table(in->data, key);
        return in->table ? read_list(in) : LAM_E_NOMEM;
    }
    int rc = json_skip_rest(&in->json);
    if (rc < 0)
        return rc;
    const char *text = report + from, *end = report + json_offset(&in->json);
    while (text < end && (*text == ':' || *text == ' '))
        text++;
    member(ctx, key, text, (size_t)(end - text));
    return LAM_OK;
}

int page_report_tables(struct page_columns *data, const char *report, size_t length,
                       page_member_fn member, void *ctx, struct lam_error *err)
{
    struct table_reading in = {.data = data};
    json_open_memory(&in.json, report, length, NULL);
    int rc = json_enter_object(&in.json);
    while (rc >= 0 && (rc = json_next_key(&in.json)) > 0)
        rc = read_member(&in, report, member, ctx);
    for (struct page_table *table = data->tables; rc == LAM_OK && table; table = table->next)
        pad_table(&in, table);
    if (rc == LAM_OK)
        rc = data->failed;
    if (rc < 0 && json_error(&in.json, "report", err) == LAM_OK)
        lam_error_set(err, rc, "page: the report's byte %llu: %s",
                      (unsigned long long)json_offset(&in.json), lam_code_text(rc));
    json_close(&in.json);
    return rc;
}
