#include "output/page_stacks.h"

#include <assert.h>
#include <string.h>

#include "base/deflate64.h"
#include "base/protobuf.h"
#include "output/page_stack_fold.h"

enum {
    NS_A_SECOND = 1000000000,
    WHOLE_PERCENT = 55, /* of the bytes, for the tree of the whole recording */
    PLACE_BYTES = 8,    /* at least, for some rows each: else places are taken together */
    MINIMUM_MAX = 1 << 16,
    ROW_BYTES = 2,   /* of a row, about */
    SHIFT_WHOLE = 9, /* STACK_SLOTS become one */
};
static_assert(STACK_SLOTS >> SHIFT_WHOLE == 1, "all slots are one");

struct stacks_work {
    const struct page_stacks_options *options;
    struct page_stack_tree made;
    struct stack_folder folder;
    LAM_ARRAY(bool) is_shown; /* by node: it is a row of `frames` */
    LAM_ARRAY(uint32_t) rank; /* that row */
    LAM_ARRAY(bool) is_used;  /* names */
    LAM_ARRAY(size_t) counts; /* rows by minimum */
    struct strbuf bytes;
};

struct cut {
    struct stack_places places;
    uint64_t min_samples;
};

/* ---- how large it will be ---- */

/* About what the columns of kept nodes and their names will be. */
static void put_nodes(struct stacks_work *work)
{
    const struct stack_tree *tree = &work->made.tree;
    memset(work->is_used.items, 0, work->is_used.count);
    for (uint32_t i = 1; i < tree->nodes.count; i++) {
        const struct stack_tree_node *node = &tree->nodes.items[i];
        if (work->folder.kept.items[i] != i)
            continue;
        proto_add_varint(&work->bytes, node->depth);
        proto_add_varint(&work->bytes, node->name);
        if (!work->is_used.items[node->name]) {
            size_t length;
            const char *text = intern_text(&tree->names, node->name, &length);
            strbuf_add_bytes(&work->bytes, text, length);
            work->is_used.items[node->name] = true;
        }
    }
}

/* About what the columns of the rows will be. */
static void put_rows(struct stacks_work *work)
{
    enum { FIELDS = 6 };
    for (unsigned field = 0; field < FIELDS; field++) {
        struct stack_slice before = {0};
        array_each(&work->folder.folded, row)
        {
            int64_t cpu = (int64_t)(row->cpu_ns / work->options->quantum_ns) -
                          work->options->usual_cpu * (int64_t)row->samples;
            const int64_t values[FIELDS] = {row->thread - (int64_t)before.thread,
                                            row->slot - (int64_t)before.slot,
                                            row->stack - (int64_t)before.stack,
                                            row->phase - (int64_t)before.phase,
                                            (int64_t)row->samples,
                                            cpu};
            proto_add_varint(&work->bytes, proto_zigzag(values[field]));
            before = *row;
        }
    }
}

static int measure(struct stacks_work *work, const struct cut *cut, size_t *bytes)
{
    int rc = stack_fold(&work->folder, cut->min_samples);
    if (rc < 0)
        return rc;
    strbuf_clear(&work->bytes);
    if (cut->places.grain == STACK_WHOLE)
        put_nodes(work);
    put_rows(work);
    *bytes = deflated_size(strbuf_text(&work->bytes), work->bytes.length);
    return strbuf_ok(&work->bytes) ? LAM_OK : LAM_E_NOMEM;
}

/* ---- how much is cut ---- */

/* The least minimum, from least on, that leaves at most that many rows. */
static uint64_t minimum_for(const struct stacks_work *work, uint64_t least, size_t rows)
{
    uint64_t minimum = least;
    while (minimum < MINIMUM_MAX && work->counts.items[minimum] > rows)
        minimum++;
    return minimum;
}

/* Rows are known by the minimum, bytes only by trying: each trial says what a row takes, and so how many the next may have.
 * Ends when what fits is no more than a tenth below what may be. */
static int find_minimum(struct stacks_work *work, size_t max_bytes, struct cut *cut)
{
    int rc = stack_fold_counts(&work->folder, work->counts.items, MINIMUM_MAX);
    uint64_t too_small = 0, fits = MINIMUM_MAX;
    size_t least_rows = work->counts.items[MINIMUM_MAX];
    cut->min_samples = minimum_for(work, 1, max_bytes / ROW_BYTES);
    if (least_rows > max_bytes) { /* a row for each place is too much already: not many more than that */
        cut->min_samples = minimum_for(work, 1, least_rows + least_rows / 4);
        return rc;
    }
    while (rc == LAM_OK && too_small + 1 < fits) {
        size_t bytes = 0;
        rc = measure(work, cut, &bytes);
        *(bytes <= max_bytes ? &fits : &too_small) = cut->min_samples;
        if (bytes <= max_bytes && bytes > max_bytes / 10 * 9)
            break;
        double rows = (double)work->folder.folded.count * (double)max_bytes / (double)(bytes + 1);
        uint64_t next = minimum_for(work, 1, (size_t)(rows * 0.97));
        next = next > too_small ? next : too_small + too_small / 4 + 1;
        cut->min_samples = next < fits ? next : too_small + (fits - too_small) / 2;
    }
    cut->min_samples = fits;
    return rc;
}

/* The finest places whose rows, cut no more than is fair, may fit. */
static int find_places(struct stacks_work *work, size_t max_bytes, struct stack_places *places)
{
    static const struct {
        struct stack_places places;
        size_t fair; /* minimum of samples; 0: any is */
    } finest_first[] = {{{STACK_BY_THREAD, 0}, 1},  {{STACK_BY_THREAD, 2}, 8},
                        {{STACK_BY_THREAD, 4}, 8},  {{STACK_BY_PROCESS, 2}, 8},
                        {{STACK_BY_PROCESS, 4}, 0}, {{STACK_BY_PROCESS, SHIFT_WHOLE}, 0}};
    enum { COUNT = sizeof finest_first / sizeof *finest_first };
    int rc = LAM_OK;
    for (size_t i = 0; rc == LAM_OK && i < COUNT; i++) {
        size_t fair = finest_first[i].fair;
        *places = finest_first[i].places;
        rc = stack_folder_places(&work->folder, work->options->report, *places);
        if (rc < 0 || work->folder.places * PLACE_BYTES > max_bytes)
            continue;
        if (fair)
            rc = stack_fold_counts(&work->folder, work->counts.items, MINIMUM_MAX);
        if (!fair || work->counts.items[fair] * ROW_BYTES <= max_bytes)
            break;
    }
    return rc;
}

static int cut_whole(struct stacks_work *work, size_t max_bytes, struct cut *cut)
{
    *cut = (struct cut){{STACK_WHOLE, 0}, 1};
    int rc = stack_folder_places(&work->folder, work->options->report, cut->places);
    if (rc == LAM_OK && max_bytes)
        rc = find_minimum(work, max_bytes, cut);
    return rc == LAM_OK ? stack_fold(&work->folder, cut->min_samples) : rc;
}

static int cut_parts(struct stacks_work *work, size_t max_bytes, struct cut *cut)
{
    *cut = (struct cut){{STACK_BY_THREAD, 0}, 1};
    int rc = max_bytes ? find_places(work, max_bytes, &cut->places)
                       : stack_folder_places(&work->folder, work->options->report, cut->places);
    if (rc == LAM_OK && max_bytes)
        rc = find_minimum(work, max_bytes, cut);
    return rc == LAM_OK ? stack_fold(&work->folder, cut->min_samples) : rc;
}

/* ---- tables ---- */

/* The nodes that have rows, and those above them. */
static void mark_shown(struct stacks_work *work)
{
    const struct stack_tree_node *nodes = work->made.tree.nodes.items;
    array_each(&work->folder.folded, row)
    {
        for (uint32_t node = row->stack; node && !work->is_shown.items[node];
             node = nodes[node].parent)
            work->is_shown.items[node] = true;
    }
}

/* Shown nodes in preorder, children by name; gives each its row. */
static void put_frames(struct stacks_work *work, struct page_columns *data)
{
    struct page_table *table = page_table(data, "frames");
    struct page_column *depth = page_column(data, table, "depth", PAGE_INT),
                       *name = page_column(data, table, "name", PAGE_TEXT);
    const struct stack_tree_node *nodes = work->made.tree.nodes.items;
    uint32_t at = nodes[0].first_child;
    while (at && data->failed == LAM_OK) {
        if (work->is_shown.items[at]) {
            size_t length;
            const char *text = intern_text(&work->made.tree.names, nodes[at].name, &length);
            work->rank.items[at] = (uint32_t)table->rows++;
            page_int(data, depth, nodes[at].depth);
            page_text(data, name, text, length);
            if (nodes[at].first_child) {
                at = nodes[at].first_child;
                continue;
            }
        }
        while (at && !nodes[at].next)
            at = nodes[at].parent;
        at = nodes[at].next;
    }
}

static int compare_by_rank(const void *left, const void *right)
{
    const struct stack_slice *a = left, *b = right;
    const uint32_t keys[][2] = {
        {a->thread, b->thread}, {a->slot, b->slot}, {a->stack, b->stack}, {a->phase, b->phase}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    }
    return 0;
}

static struct page_column *place_column(struct page_columns *data, struct page_table *table,
                                        enum stack_grain grain)
{
    if (grain == STACK_WHOLE)
        return NULL;
    struct page_column *column =
        page_column(data, table, grain == STACK_BY_THREAD ? "thread" : "process", PAGE_ROW);
    if (column)
        column->of = grain == STACK_BY_THREAD ? "threads" : "processes";
    return column;
}

static void put_slices(struct stacks_work *work, struct page_columns *data, const char *name,
                       enum stack_grain grain)
{
    struct page_table *table = page_table(data, name);
    struct page_column *place = place_column(data, table, grain),
                       *slot =
                           grain == STACK_WHOLE ? NULL : page_column(data, table, "slot", PAGE_INT),
                       *node = page_column(data, table, "node", PAGE_ROW),
                       *phase = page_column(data, table, "phase", PAGE_PHASE),
                       *samples = page_column(data, table, "samples", PAGE_INT),
                       *cpu = page_column(data, table, "cpu", PAGE_INT);
    if (data->failed < 0)
        return;
    node->of = "frames";
    cpu->per = NS_A_SECOND / work->options->quantum_ns;
    cpu->related = (struct page_term){samples, work->options->usual_cpu};
    array_each(&work->folder.folded, row) row->stack = work->rank.items[row->stack];
    array_sort(&work->folder.folded, compare_by_rank);
    uint64_t sum_ns = 0, sum = 0;
    array_each(&work->folder.folded, row)
    {
        page_int(data, place, row->thread);
        page_int(data, slot, row->slot);
        page_int(data, node, row->stack);
        page_int(data, phase, row->phase);
        page_int(data, samples, (int64_t)row->samples);
        sum_ns += row->cpu_ns;
        uint64_t rounded = (sum_ns + work->options->quantum_ns / 2) / work->options->quantum_ns;
        page_int(data, cpu, (int64_t)(rounded - sum));
        sum = rounded;
    }
    table->rows = work->folder.folded.count;
}

static void note_cut(const struct stacks_work *work, const struct cut *whole,
                     struct page_stacks_cut *out)
{
    out->samples = work->made.tree.nodes.items[0].total;
    out->min_samples = whole->min_samples;
    out->cut_samples = work->folder.cut_samples;
    for (uint32_t i = 1; i < work->made.tree.nodes.count; i++)
        *(work->is_shown.items[i] ? &out->frames : &out->cut_frames) += 1;
}

static void note_parts(const struct stacks_work *work, const struct cut *parts,
                       struct page_stacks_cut *out)
{
    out->parts_min_samples = parts->min_samples;
    out->parts_cut_samples = work->folder.cut_samples;
    out->slot_ns = work->options->slices->slot_ns << parts->places.shift;
    out->is_by_thread = parts->places.grain == STACK_BY_THREAD;
}

/* The rows of the parts are made twice: `frames` has to know those of both before either can refer to it. */
static int put_tables(struct stacks_work *work, struct page_columns *data, struct page_stacks_cut *out)
{
    size_t max_bytes = work->options->max_bytes, whole_bytes = max_bytes / 100 * WHOLE_PERCENT;
    struct cut whole, parts;
    int rc = cut_parts(work, max_bytes - whole_bytes, &parts);
    if (rc < 0)
        return rc;
    mark_shown(work);
    note_parts(work, &parts, out);
    rc = cut_whole(work, whole_bytes, &whole);
    if (rc < 0)
        return rc;
    mark_shown(work);
    note_cut(work, &whole, out);
    put_frames(work, data);
    put_slices(work, data, "stacks_whole", STACK_WHOLE);
    rc = stack_folder_places(&work->folder, work->options->report, parts.places);
    if (rc == LAM_OK)
        rc = stack_fold(&work->folder, parts.min_samples);
    if (rc == LAM_OK)
        put_slices(work, data, "stacks", parts.places.grain);
    return rc < 0 ? rc : data->failed;
}

static int make_room(struct stacks_work *work)
{
    int rc = stack_folder_open(&work->folder, &work->made);
    if (rc < 0 || array_resize(&work->rank, work->made.tree.nodes.count) < 0 ||
        array_resize(&work->is_shown, work->made.tree.nodes.count) < 0 ||
        array_resize(&work->is_used, intern_count(&work->made.tree.names)) < 0 ||
        array_resize(&work->counts, MINIMUM_MAX + 1) < 0)
        return LAM_E_NOMEM;
    return LAM_OK;
}

int page_stacks(struct page_columns *data, const struct page_stacks_options *options,
                struct page_stacks_cut *cut)
{
    struct stacks_work work = {.options = options};
    *cut = (struct page_stacks_cut){0};
    if (!options->slices->rows.count)
        return LAM_OK;
    int rc = page_stack_tree_make(&work.made, options->report, options->slices, &options->names);
    if (rc == LAM_OK)
        rc = make_room(&work);
    if (rc == LAM_OK)
        rc = put_tables(&work, data, cut);
    stack_folder_close(&work.folder);
    page_stack_tree_free(&work.made);
    array_free(&work.rank);
    array_free(&work.is_shown);
    array_free(&work.is_used);
    array_free(&work.counts);
    strbuf_free(&work.bytes);
    return rc;
}

/* ---- the header ---- */

static void describe_rule(const struct page_stacks_cut *cut, struct json_writer *json)
{
    struct strbuf text = {0};
    const char *place = cut->is_by_thread ? "thread" : "process";
    if (cut->cut_frames)
        strbuf_addf(
            &text,
            "A frame with fewer than %llu samples in the whole recording is cut from its flame "
            "graph; they stand at the frame above. ",
            (unsigned long long)cut->min_samples);
    strbuf_addf(&text, "For a selection stacks are known by %s, phase and %.3g s of time", place,
                (double)cut->slot_ns / 1e9);
    if (cut->parts_cut_samples)
        strbuf_addf(&text, "; of these, frames with fewer than %llu samples are cut",
                    (unsigned long long)cut->parts_min_samples);
    strbuf_add_char(&text, '.');
    json_member_str(json, "rule", strbuf_text(&text));
    strbuf_free(&text);
}

void page_describe_stacks(const struct page_stacks_cut *cut, struct json_writer *json)
{
    if (!cut->samples)
        return;
    json_member_object(json, "stacks");
    json_member_double(json, "slot_s", (double)cut->slot_ns / 1e9);
    json_member_str(json, "by", cut->is_by_thread ? "thread" : "process");
    json_member_u64(json, "samples", cut->samples);
    json_member_u64(json, "frames", cut->frames);
    json_member_u64(json, "cut_frames", cut->cut_frames);
    json_member_u64(json, "min_samples", cut->min_samples);
    json_member_u64(json, "cut_samples", cut->cut_samples);
    json_member_u64(json, "parts_min_samples", cut->parts_min_samples);
    json_member_u64(json, "parts_cut_samples", cut->parts_cut_samples);
    describe_rule(cut, json);
    json_put_end(json);
}
