#include "output/write_pprof.h"

#include <string.h>

#include "base/memory.h"
#include "base/protobuf.h"
#include "base/units.h"
#include "output/safe_text.h"
#include "output/stack_totals.h"
#include "output/time_text.h"

/* Field numbers of perftools.profiles. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE = 1,
    VALUE_UNIT = 2,
    SAMPLE_LOCATION_ID = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_STR = 2,
    MAPPING_ID = 1,
    MAPPING_FILENAME = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILENAME = 4,
};

/* A sample holds all locations on the way, so that very deep stacks would take the square of their depth. */
enum { PPROF_DEPTH_MAX = 2048 };

/* Locations beyond all labels and frames: names of ours. */
#define SMALLER UINT64_C(0x100000000)
#define DEEPER  UINT64_C(0x200000000)

struct pprof_row {
    struct stack_total total;
    uint64_t inside; /* a name of ours inside the stack: SMALLER, DEEPER; 0: none */
};

struct pprof {
    struct export_options options;
    struct byteout *out;
    struct stack_totals *totals;
    bool of_samples;
    struct intern strings;
    struct map locations; /* frame, or label; names of our own stand beyond 2^32 */
    struct map functions; /* (name, file) → id */
    struct strbuf tables; /* locations and functions, as they are met */
    struct strbuf message, part, text;
    LAM_ARRAY(uint64_t) stack;
    LAM_ARRAY(struct pprof_row) rows; /* what is written: merged, if need be */
    LAM_ARRAY(uint32_t) cuts; /* node → itself, or the node around it that is deep enough */
    uint64_t min_value, bytes;
    size_t small, deep; /* stacks that were merged */
    bool is_counting;
};

int write_pprof_open(void **state, const struct export_options *options, struct byteout *out,
                     struct lam_error *err)
{
    struct pprof *pprof = mem_zalloc(1, sizeof *pprof);
    *state = pprof;
    if (!pprof)
        return lam_error_set(err, LAM_E_NOMEM, "pprof: out of memory");
    pprof->options = *options;
    pprof->out = out;
    int rc = stack_totals_open(&pprof->totals, options, err);
    if (rc < 0)
        write_pprof_close(state);
    return rc;
}

struct profile_sink write_pprof_sink(void *state)
{
    return stack_totals_sink(((struct pprof *)state)->totals);
}

/* ---- pieces ---- */

static void put_field(struct pprof *pprof, uint32_t field, const struct strbuf *message)
{
    unsigned char head[2 * PROTO_VARINT_MAX];
    unsigned char *end = proto_varint(proto_tag(head, field, PROTO_BYTES), message->length);
    pprof->bytes += (size_t)(end - head) + message->length;
    if (pprof->is_counting)
        return;
    byteout_write(pprof->out, head, (size_t)(end - head));
    byteout_write(pprof->out, strbuf_text(message), message->length);
}

static void put_uint(struct pprof *pprof, uint32_t field, uint64_t value)
{
    unsigned char bytes[2 * PROTO_VARINT_MAX];
    size_t size = (size_t)(proto_uint(bytes, field, value) - bytes);
    pprof->bytes += size;
    if (!pprof->is_counting)
        byteout_write(pprof->out, bytes, size);
}

static uint32_t string_of(struct pprof *pprof, const char *text, size_t size)
{
    uint32_t id = INTERN_EMPTY;
    if (intern_add(&pprof->strings, text, size, &id) < 0)
        pprof->tables.failed = true;
    return id;
}

static uint32_t string_of_text(struct pprof *pprof, const char *text)
{
    return string_of(pprof, text, strlen(text));
}

static void put_value_type(struct pprof *pprof, uint32_t field, const char *type, const char *unit)
{
    strbuf_clear(&pprof->message);
    proto_add_uint(&pprof->message, VALUE_TYPE, string_of_text(pprof, type));
    proto_add_uint(&pprof->message, VALUE_UNIT, string_of_text(pprof, unit));
    put_field(pprof, field, &pprof->message);
}

/* A function's id; its message goes to the tables. */
static uint64_t function_of(struct pprof *pprof, uint32_t name, uint32_t file)
{
    bool is_new;
    uint64_t next = pprof->functions.count + 1;
    uint64_t *id = map_slot(&pprof->functions, (uint64_t)file << 32 | name, next, &is_new);
    if (!id) {
        pprof->tables.failed = true;
        return 0;
    }
    if (is_new) {
        strbuf_clear(&pprof->part);
        proto_add_uint(&pprof->part, FUNCTION_ID, next);
        proto_add_uint(&pprof->part, FUNCTION_NAME, name);
        proto_add_uint(&pprof->part, FUNCTION_SYSTEM_NAME, name);
        if (file)
            proto_add_uint(&pprof->part, FUNCTION_FILENAME, file);
        proto_add_message(&pprof->tables, PROFILE_FUNCTION, &pprof->part);
    }
    return *id;
}

static void add_line(struct pprof *pprof, struct strbuf *location, uint64_t function, uint32_t line)
{
    strbuf_clear(&pprof->part);
    proto_add_uint(&pprof->part, LINE_FUNCTION, function);
    if (line)
        proto_add_uint(&pprof->part, LINE_LINE, line);
    proto_add_message(location, LOCATION_LINE, &pprof->part);
}

static void add_frame_lines(struct pprof *pprof, struct strbuf *location, uint32_t frame)
{
    struct export_frames *frames = &pprof->totals->frames;
    uint32_t count;
    const struct export_function *functions = export_frames_functions(frames, frame, &count);
    if (!functions) {
        pprof->tables.failed = true;
        return;
    }
    const struct export_frame *kept = &frames->frames.items[frame];
    if (kept->module)
        proto_add_uint(location, LOCATION_MAPPING, kept->module);
    proto_add_uint(location, LOCATION_ADDRESS, kept->offset);
    for (uint32_t i = 0; i < count; i++) {
        size_t name_size, file_size;
        const char *name = intern_text(&frames->names, functions[i].name, &name_size);
        const char *file = intern_text(&frames->names, functions[i].file, &file_size);
        uint64_t function =
            function_of(pprof, string_of(pprof, name, name_size), string_of(pprof, file, file_size));
        add_line(pprof, location, function, functions[i].line);
    }
}

/* A location's id; its message goes to the tables. key: a frame, a label, SMALLER or DEEPER. */
static uint64_t location_of(struct pprof *pprof, uint64_t key)
{
    bool is_new;
    uint64_t next = pprof->locations.count + 1;
    uint64_t *slot = map_slot(&pprof->locations, key, next, &is_new);
    if (!slot) {
        pprof->tables.failed = true;
        return 0;
    }
    if (!is_new)
        return *slot;
    struct strbuf location = {0};
    proto_add_uint(&location, LOCATION_ID, next);
    if (key < SMALLER && pprof->of_samples) {
        add_frame_lines(pprof, &location, (uint32_t)key);
    } else {
        struct profile_text name = {key == SMALLER ? "(smaller)" : "(deeper)",
                                    key == SMALLER ? 9 : 8};
        if (key < SMALLER)
            name = export_labels_get(&pprof->totals->labels, (uint32_t)key)->text;
        add_line(pprof, &location, function_of(pprof, string_of(pprof, name.bytes, name.size), 0), 0);
    }
    proto_add_message(&pprof->tables, PROFILE_LOCATION, &location);
    pprof->tables.failed |= location.failed;
    strbuf_free(&location);
    return next;
}

/* ---- samples ---- */

static uint32_t parent_of(const struct pprof *pprof, uint32_t node)
{
    const struct stack_totals *totals = pprof->totals;
    if (pprof->of_samples)
        return node < totals->frames.stacks.count ? totals->frames.stacks.items[node].parent : 0;
    return node < totals->paths.count ? totals->paths.items[node].parent : 0;
}

static uint32_t step_of(const struct pprof *pprof, uint32_t node)
{
    const struct stack_totals *totals = pprof->totals;
    if (pprof->of_samples)
        return node < totals->frames.stacks.count ? totals->frames.stacks.items[node].frame : 0;
    return node < totals->paths.count ? totals->paths.items[node].label : 0;
}

static int put_sample(struct pprof *pprof, const struct pprof_row *merged)
{
    const struct stack_total *row = &merged->total;
    array_clear(&pprof->stack);
    int rc = merged->inside ? array_push(&pprof->stack, merged->inside) : LAM_OK;
    for (uint32_t node = row->node; node && rc == LAM_OK; node = parent_of(pprof, node))
        rc = array_push(&pprof->stack, (uint64_t)step_of(pprof, node));
    strbuf_clear(&pprof->text);
    for (size_t i = 0; i < pprof->stack.count && rc == LAM_OK; i++)
        proto_add_varint(&pprof->text, location_of(pprof, pprof->stack.items[i]));
    strbuf_clear(&pprof->message);
    proto_add_message(&pprof->message, SAMPLE_LOCATION_ID, &pprof->text);
    strbuf_clear(&pprof->text);
    proto_add_varint(&pprof->text, row->count);
    proto_add_varint(&pprof->text, row->value);
    proto_add_message(&pprof->message, SAMPLE_VALUE, &pprof->text);
    size_t size;
    const char *group = intern_text(&pprof->totals->group_names, row->group, &size);
    strbuf_clear(&pprof->text);
    proto_add_uint(&pprof->text, LABEL_KEY, string_of_text(pprof, "program"));
    proto_add_uint(&pprof->text, LABEL_STR, string_of(pprof, group, size));
    proto_add_message(&pprof->message, SAMPLE_LABEL, &pprof->text);
    if (rc < 0 || !strbuf_ok(&pprof->message) || !strbuf_ok(&pprof->text))
        return LAM_E_NOMEM;
    put_field(pprof, PROFILE_SAMPLE, &pprof->message);
    return pprof->out->failed;
}

static void put_mappings(struct pprof *pprof)
{
    struct export_frames *frames = &pprof->totals->frames;
    for (size_t i = 1; i < frames->modules.count; i++) {
        const struct export_module *module = &frames->modules.items[i];
        size_t size;
        const char *path = intern_text(&frames->names, module->path, &size);
        strbuf_clear(&pprof->text);
        for (unsigned b = 0; b < module->build_id_bytes && b < sizeof module->build_id; b++)
            strbuf_addf(&pprof->text, "%02x", module->build_id[b]);
        strbuf_clear(&pprof->message);
        proto_add_uint(&pprof->message, MAPPING_ID, i);
        proto_add_uint(&pprof->message, MAPPING_FILENAME, string_of(pprof, path, size));
        proto_add_uint(&pprof->message, MAPPING_BUILD_ID,
                       string_of(pprof, strbuf_text(&pprof->text), pprof->text.length));
        proto_add_uint(&pprof->message, MAPPING_HAS_FUNCTIONS, 1);
        put_field(pprof, PROFILE_MAPPING, &pprof->message);
    }
}

static void put_strings(struct pprof *pprof)
{
    for (uint32_t i = 0; i < intern_count(&pprof->strings); i++) {
        size_t size;
        const char *text = intern_text(&pprof->strings, i, &size);
        strbuf_clear(&pprof->text);
        safe_text_add(&pprof->text, SAFE_UTF8, text, size);
        put_field(pprof, PROFILE_STRING_TABLE, &pprof->text);
    }
}

static int put_all(struct pprof *pprof)
{
    const struct stack_totals *totals = pprof->totals;
    const char *unit = pprof->of_samples ? "nanoseconds" : export_measure_name(totals->measure);
    const char *value = pprof->of_samples ? "cpu" : "self";
    pprof->bytes = 0;
    put_value_type(pprof, PROFILE_SAMPLE_TYPE, pprof->of_samples ? "samples" : "intervals", "count");
    put_value_type(pprof, PROFILE_SAMPLE_TYPE, value, unit);
    for (size_t i = 0; i < pprof->rows.count; i++) {
        int rc = put_sample(pprof, &pprof->rows.items[i]);
        if (rc < 0)
            return rc;
    }
    put_mappings(pprof);
    if (totals->started_at_unix_ns > 0)
        put_uint(pprof, PROFILE_TIME_NANOS, (uint64_t)totals->started_at_unix_ns);
    if (totals->elapsed_ns != PROFILE_UNKNOWN && totals->elapsed_ns)
        put_uint(pprof, PROFILE_DURATION_NANOS, totals->elapsed_ns);
    put_value_type(pprof, PROFILE_PERIOD_TYPE, value, unit);
    put_uint(pprof, PROFILE_PERIOD, pprof->of_samples && totals->period_ns ? totals->period_ns : 1);
    put_uint(pprof, PROFILE_DEFAULT_SAMPLE_TYPE, string_of_text(pprof, value));
    put_strings(pprof);
    if (!strbuf_ok(&pprof->message) || !strbuf_ok(&pprof->tables) || !strbuf_ok(&pprof->text))
        return LAM_E_NOMEM;
    pprof->bytes += pprof->tables.length;
    if (!pprof->is_counting)
        byteout_write(pprof->out, strbuf_text(&pprof->tables), pprof->tables.length);
    return pprof->out->failed;
}

/* ---- merging ---- */

/* The totals of all nodes of one group, in an array by node. */
static int sum_group(const struct pprof *pprof, const struct stack_total *rows, size_t count,
                     uint64_t *sums, size_t nodes)
{
    memset(sums, 0, nodes * sizeof *sums);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].node < nodes)
            sums[rows[i].node] += rows[i].value;
    }
    for (size_t node = nodes; node-- > 1;) { /* parents have the smaller ids */
        uint32_t parent = parent_of(pprof, (uint32_t)node);
        if (parent < node)
            sums[parent] += sums[node];
    }
    return LAM_OK;
}

/* Each row goes to the innermost node around it that is large enough, and not too deep. */
static int merge_group(struct pprof *pprof, const struct stack_total *rows, size_t count,
                       const uint64_t *sums, size_t nodes)
{
    struct map index = {0}; /* (what is inside, node) → row */
    int rc = LAM_OK;
    for (size_t i = 0; i < count && rc == LAM_OK; i++) {
        struct pprof_row row = {.total = rows[i]};
        bool is_new;
        uint32_t node = rows[i].node < nodes ? pprof->cuts.items[rows[i].node] : 0;
        row.inside = node == rows[i].node ? 0 : DEEPER;
        pprof->deep += row.inside != 0;
        if (sums[node] < pprof->min_value && node) {
            row.inside = SMALLER;
            pprof->small++;
            while (node && sums[node] < pprof->min_value)
                node = parent_of(pprof, node);
        }
        row.total.node = node;
        uint64_t *slot = map_slot(&index, row.inside | node, pprof->rows.count, &is_new);
        if (!slot) {
            rc = LAM_E_NOMEM;
        } else if (is_new) {
            rc = array_push(&pprof->rows, row);
        } else {
            pprof->rows.items[*slot].total.count += row.total.count;
            pprof->rows.items[*slot].total.value += row.total.value;
        }
    }
    map_free(&index);
    return rc;
}

/* Parents have the smaller ids: what is known of them is ready. */
static int find_cuts(struct pprof *pprof, size_t nodes)
{
    LAM_ARRAY(uint32_t) depths = {0};
    int rc = array_resize(&depths, nodes + 1) < 0 || array_resize(&pprof->cuts, nodes + 1) < 0
                 ? LAM_E_NOMEM
                 : LAM_OK;
    for (uint32_t node = 1; node < nodes && rc == LAM_OK; node++) {
        uint32_t parent = parent_of(pprof, node);
        parent = parent < node ? parent : 0;
        depths.items[node] = depths.items[parent] + 1;
        pprof->cuts.items[node] =
            depths.items[node] < PPROF_DEPTH_MAX ? node : pprof->cuts.items[parent];
    }
    array_free(&depths);
    return rc;
}

static int merge_rows(struct pprof *pprof, const struct stack_total_list *all)
{
    size_t nodes =
        pprof->of_samples ? pprof->totals->frames.stacks.count : pprof->totals->paths.count;
    uint64_t *sums = mem_zalloc(nodes + 1, sizeof *sums);
    int rc = sums ? find_cuts(pprof, nodes) : LAM_E_NOMEM;
    array_clear(&pprof->rows);
    pprof->small = pprof->deep = 0;
    for (size_t first = 0, last; first < all->count && rc == LAM_OK; first = last) {
        for (last = first; last < all->count && all->items[last].group == all->items[first].group;)
            last++;
        rc = sum_group(pprof, all->items + first, last - first, sums, nodes);
        if (rc == LAM_OK)
            rc = merge_group(pprof, all->items + first, last - first, sums, nodes);
    }
    mem_free(sums);
    return rc;
}

static void forget_tables(struct pprof *pprof)
{
    intern_free(&pprof->strings);
    map_clear(&pprof->locations);
    map_clear(&pprof->functions);
    strbuf_clear(&pprof->tables);
}

/* Raises the smallest value that is shown until all fits. */
static int fit(struct pprof *pprof, const struct stack_total_list *all, struct lam_error *err)
{
    uint64_t total = 0, limit = pprof->options.max_bytes;
    for (size_t i = 0; i < all->count; i++)
        total += all->items[i].value;
    pprof->is_counting = true;
    int rc = put_all(pprof);
    while (rc == LAM_OK && limit && pprof->bytes > limit && pprof->min_value <= total) {
        pprof->min_value += pprof->min_value / 4 + total / 1000000 + 1;
        forget_tables(pprof);
        rc = merge_rows(pprof, all);
        if (rc == LAM_OK)
            rc = put_all(pprof);
    }
    forget_tables(pprof);
    pprof->is_counting = false;
    if (rc == LAM_OK && limit && pprof->bytes > limit)
        return lam_error_set(err, LAM_E_TOOBIG,
                             "pprof: even with everything merged it takes %llu bytes",
                             (unsigned long long)pprof->bytes);
    return rc;
}

int write_pprof_finish(void *state, struct lam_error *err)
{
    struct pprof *pprof = state;
    const struct stack_total_list *all = stack_totals_rows(pprof->totals);
    pprof->of_samples = stack_totals_of_samples(pprof->totals);
    int rc = merge_rows(pprof, all);
    if (rc == LAM_OK && pprof->options.max_bytes)
        rc = fit(pprof, all, err);
    if (rc == LAM_OK)
        rc = put_all(pprof);
    if (rc < 0)
        return rc == LAM_E_TOOBIG ? rc : lam_error_set(err, rc, "pprof: %s", lam_code_text(rc));
    if (pprof->small)
        export_note(&pprof->options,
                    "%zu stack%s below %s ns merged into \"(smaller)\" of what is around",
                    pprof->small, unit_plural(pprof->small), unit_count(pprof->min_value).text);
    if (pprof->deep)
        export_note(&pprof->options, "%zu stack%s of more than %d frames cut at \"(deeper)\"",
                    pprof->deep, unit_plural(pprof->deep), PPROF_DEPTH_MAX);
    return LAM_OK;
}

void write_pprof_close(void **state)
{
    if (!state || !*state)
        return;
    struct pprof *pprof = *state;
    stack_totals_close(&pprof->totals);
    intern_free(&pprof->strings);
    map_free(&pprof->locations);
    map_free(&pprof->functions);
    strbuf_free(&pprof->tables);
    strbuf_free(&pprof->message);
    strbuf_free(&pprof->part);
    strbuf_free(&pprof->text);
    array_free(&pprof->stack);
    array_free(&pprof->rows);
    array_free(&pprof->cuts);
    mem_free(pprof);
    *state = NULL;
}
