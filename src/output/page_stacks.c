#include "output/page_stacks.h"

#include <assert.h>
#include <string.h>

#include "base/deflate64.h"
#include "base/protobuf.h"
#include "output/page_stack_fold.h"

enum {
    NS_A_SECOND = 1000000000,
    WHOLE_PERCENT = 45, /* of the bytes, for the tree of the whole recording */
    ROW_BYTES = 2,      /* of a row, about */
    /* Of few processes it matters when something was: places may be as fine as can be with nodes that are kept from 6/16 of the
     * root on. Of many it matters who it was, which costs depth already: places are finer only if nothing has to be cut. */
    FEW_PROCESSES = 8,
    FAIR_LEVEL = 6,
    SHIFT_WHOLE = 9, /* STACK_SLOTS become one */
};
static_assert(STACK_SLOTS >> SHIFT_WHOLE == 1, "all slots are one");

struct stacks_work {
    const struct page_stacks_options *options;
    struct page_stack_tree made;
    struct stack_folder folder;
    LAM_ARRAY(bool) is_shown;     /* by node: it is a row of `frames` */
    LAM_ARRAY(bool) is_named;     /* by name: some node that is shown has it */
    LAM_ARRAY(uint32_t) in_trial; /* by node: the last trial that would show it */
    LAM_ARRAY(uint32_t) of_trial; /* by name */
    LAM_ARRAY(uint32_t) rank;     /* by node: that row */
    LAM_ARRAY(size_t) counts;     /* rows by level */
    LAM_ARRAY(uint32_t) more;     /* nodes that a trial would show beside those shown */
    uint32_t trial;
    struct strbuf bytes;
};

struct cut {
    struct stack_places places;
    uint32_t level;
    size_t bytes; /* about, deflated */
};

/* ---- how large it will be ---- */

/* About what the columns and names will be of the nodes that the rows need and that are not shown yet. */
static int put_nodes(struct stacks_work *work)
{
    const struct stack_tree *tree = &work->made.tree;
    array_clear(&work->more);
    work->trial++;
    array_each(&work->folder.folded, row)
    {
        for (uint32_t node = row->stack;
             node && !work->is_shown.items[node] && work->in_trial.items[node] != work->trial;
             node = tree->nodes.items[node].parent) {
            work->in_trial.items[node] = work->trial;
            if (array_push(&work->more, node) < 0)
                return LAM_E_NOMEM;
        }
    }
    array_each(&work->more, node)
    {
        uint32_t name = tree->nodes.items[*node].name;
        proto_add_varint(&work->bytes, tree->nodes.items[*node].depth);
        proto_add_varint(&work->bytes, name);
        if (!work->is_named.items[name] && work->of_trial.items[name] != work->trial) {
            size_t length;
            const char *text = intern_text(&tree->names, name, &length);
            strbuf_add_bytes(&work->bytes, text, length);
            work->of_trial.items[name] = work->trial;
        }
    }
    return LAM_OK;
}

/* About what the columns of the rows will be. */
static void put_rows(struct stacks_work *work)
{
    enum { FIELDS = 5 };
    for (unsigned field = 0; field < FIELDS; field++) {
        struct stack_slice before = {0};
        array_each(&work->folder.folded, row)
        {
            const int64_t values[FIELDS] = {
                row->thread - (int64_t)before.thread, row->slot - (int64_t)before.slot,
                row->stack - (int64_t)before.stack, row->phase - (int64_t)before.phase,
                (int64_t)row->samples};
            proto_add_varint(&work->bytes, proto_zigzag(values[field]));
            before = *row;
        }
    }
}

static int measure(struct stacks_work *work, struct cut *cut)
{
    int rc = stack_fold(&work->folder, cut->level);
    strbuf_clear(&work->bytes);
    if (rc == LAM_OK)
        rc = put_nodes(work);
    if (rc < 0)
        return rc;
    put_rows(work);
    cut->bytes = deflated_size(strbuf_text(&work->bytes), work->bytes.length);
    return strbuf_ok(&work->bytes) ? LAM_OK : LAM_E_NOMEM;
}

/* ---- how much is cut ---- */

/* The least level that leaves at most that many rows. */
static uint32_t level_for(const struct stacks_work *work, size_t rows)
{
    uint32_t level = 0;
    while (level < STACK_LEVEL_MAX && work->counts.items[level] > rows)
        level++;
    return level;
}

/* Rows are known by the level, bytes only by trying: each trial says what a row takes, and so how many the next may have.
 * Ends when what fits is no more than a twentieth below what may be. */
static int find_level(struct stacks_work *work, size_t max_bytes, struct cut *cut)
{
    int rc = stack_fold_counts(&work->folder, work->counts.items);
    int64_t too_low = -1, fits = STACK_LEVEL_MAX;
    struct cut trial = {cut->places, level_for(work, max_bytes / ROW_BYTES), 0};
    while (rc == LAM_OK && too_low + 1 < fits) {
        if (trial.level >= fits || trial.level <= too_low)
            trial.level = (uint32_t)(too_low + (fits - too_low) / 2);
        rc = measure(work, &trial);
        *(trial.bytes <= max_bytes ? &fits : &too_low) = trial.level;
        if (trial.bytes <= max_bytes && trial.bytes > max_bytes / 20 * 19)
            break;
        double rows =
            (double)work->folder.folded.count * (double)max_bytes / (double)(trial.bytes + 1);
        trial.level = level_for(work, (size_t)(rows * 0.98));
    }
    cut->level = (uint32_t)fits;
    return rc == LAM_OK ? measure(work, cut) : rc;
}

/* The finest places that may keep as much of each as is fair. */
static int find_places(struct stacks_work *work, size_t max_bytes, struct stack_places *places)
{
    static const struct stack_places finest_first[] = {{STACK_BY_THREAD, 0},
                                                       {STACK_BY_THREAD, 2},
                                                       {STACK_BY_THREAD, 4},
                                                       {STACK_BY_PROCESS, 2},
                                                       {STACK_BY_PROCESS, 4}};
    const struct report *report = work->options->report;
    const struct stack_places coarsest = {STACK_BY_PROCESS, SHIFT_WHOLE};
    int rc = stack_folder_places(&work->folder, report, coarsest);
    uint32_t fair = work->folder.places > FEW_PROCESSES ? 0 : FAIR_LEVEL;
    for (size_t i = 0; rc == LAM_OK && i < sizeof finest_first / sizeof *finest_first; i++) {
        *places = finest_first[i];
        rc = stack_folder_places(&work->folder, report, *places);
        if (rc < 0 || work->folder.places * ROW_BYTES > max_bytes)
            continue;
        rc = stack_fold_counts(&work->folder, work->counts.items);
        if (work->counts.items[fair] * ROW_BYTES <= max_bytes)
            return rc;
    }
    *places = coarsest;
    return rc < 0 ? rc : stack_folder_places(&work->folder, report, coarsest);
}

static int cut_whole(struct stacks_work *work, size_t max_bytes, struct cut *cut)
{
    *cut = (struct cut){.places = {STACK_WHOLE, 0}};
    int rc = stack_folder_places(&work->folder, work->options->report, cut->places);
    if (rc < 0 || !max_bytes)
        return rc < 0 ? rc : measure(work, cut);
    return find_level(work, max_bytes, cut);
}

static int cut_parts(struct stacks_work *work, size_t max_bytes, struct cut *cut)
{
    *cut = (struct cut){.places = {STACK_BY_THREAD, 0}};
    int rc = max_bytes ? find_places(work, max_bytes, &cut->places)
                       : stack_folder_places(&work->folder, work->options->report, cut->places);
    if (rc < 0 || !max_bytes)
        return rc < 0 ? rc : stack_fold(&work->folder, 0);
    return find_level(work, max_bytes, cut);
}

/* ---- tables ---- */

/* The nodes that have rows, and those above them. */
static void mark_shown(struct stacks_work *work)
{
    const struct stack_tree_node *nodes = work->made.tree.nodes.items;
    array_each(&work->folder.folded, row)
    {
        for (uint32_t node = row->stack; node && !work->is_shown.items[node];
             node = nodes[node].parent) {
            work->is_shown.items[node] = true;
            work->is_named.items[nodes[node].name] = true;
        }
    }
}

/* Shown nodes in preorder; gives each its row. */
static void put_frames(struct stacks_work *work, struct page_columns *data)
{
    struct page_table *table = page_table(data, "frames");
    struct page_column *depth = page_column(data, table, "depth", PAGE_INT),
                       *name = page_column(data, table, "name", PAGE_TEXT);
    const struct stack_tree *tree = &work->made.tree;
    for (uint32_t at = 1; at < tree->nodes.count && data->failed == LAM_OK; at++) {
        if (!work->is_shown.items[at])
            continue;
        size_t length;
        const char *text = intern_text(&tree->names, tree->nodes.items[at].name, &length);
        work->rank.items[at] = (uint32_t)table->rows++;
        page_int(data, depth, tree->nodes.items[at].depth);
        page_text(data, name, text, length);
    }
}

static struct page_column *row_column(struct page_columns *data, struct page_table *table,
                                      const char *name, const char *of)
{
    struct page_column *column = page_column(data, table, name, PAGE_ROW);
    if (column)
        column->of = of;
    return column;
}

static void put_whole(struct stacks_work *work, struct page_columns *data)
{
    struct page_table *table = page_table(data, "stacks_whole");
    struct page_column *node = row_column(data, table, "node", "frames"),
                       *phase = page_column(data, table, "phase", PAGE_PHASE),
                       *samples = page_column(data, table, "samples", PAGE_INT),
                       *cpu = page_column(data, table, "cpu", PAGE_INT);
    if (data->failed < 0)
        return;
    cpu->per = NS_A_SECOND / work->options->quantum_ns;
    cpu->related = (struct page_term){samples, work->options->usual_cpu};
    uint64_t sum_ns = 0, sum = 0;
    array_each(&work->folder.folded, row)
    {
        page_int(data, node, work->rank.items[row->stack]);
        page_int(data, phase, row->phase);
        page_int(data, samples, (int64_t)row->samples);
        sum_ns += row->cpu_ns;
        uint64_t rounded = (sum_ns + work->options->quantum_ns / 2) / work->options->quantum_ns;
        page_int(data, cpu, (int64_t)(rounded - sum));
        sum = rounded;
    }
    table->rows = work->folder.folded.count;
}

/* Their CPU time follows from the spans, which know it by thread and phase at any time. */
static void put_parts(struct stacks_work *work, struct page_columns *data, enum stack_grain grain)
{
    struct page_table *table = page_table(data, "stacks");
    bool is_by_thread = grain == STACK_BY_THREAD;
    struct page_column *place = row_column(data, table, is_by_thread ? "thread" : "process",
                                           is_by_thread ? "threads" : "processes"),
                       *slot = page_column(data, table, "slot", PAGE_INT),
                       *node = row_column(data, table, "node", "frames"),
                       *phase = page_column(data, table, "phase", PAGE_PHASE),
                       *samples = page_column(data, table, "samples", PAGE_INT);
    if (data->failed < 0)
        return;
    array_each(&work->folder.folded, row)
    {
        page_int(data, place, row->thread);
        page_int(data, slot, row->slot);
        page_int(data, node, work->rank.items[row->stack]);
        page_int(data, phase, row->phase);
        page_int(data, samples, (int64_t)row->samples);
    }
    table->rows = work->folder.folded.count;
}

static void note_whole(const struct stacks_work *work, const struct cut *whole,
                       struct page_stacks_cut *out)
{
    const struct stack_tree *tree = &work->made.tree;
    uint64_t frames = 0;
    array_each(&tree->nodes, node) frames += node->self * node->depth;
    out->samples = tree->nodes.items[0].total;
    out->mean_depth = (double)frames / (double)out->samples;
    out->min_samples = stack_fold_least(out->samples, whole->level);
    out->cut_samples = work->folder.cut_samples;
    out->kept_depth = (double)work->folder.kept_frames / (double)out->samples;
}

static void note_parts(const struct stacks_work *work, const struct cut *parts,
                       struct page_stacks_cut *out)
{
    out->parts_cut_samples = work->folder.cut_samples;
    out->parts_kept_depth = (double)work->folder.kept_frames / (double)out->samples;
    out->slot_ns = parts->places.shift == SHIFT_WHOLE
                       ? UINT64_MAX
                       : work->options->slices->slot_ns << parts->places.shift;
    out->is_by_thread = parts->places.grain == STACK_BY_THREAD;
    for (uint32_t i = 1; i < work->made.tree.nodes.count; i++)
        *(work->is_shown.items[i] ? &out->frames : &out->cut_frames) += 1;
}

/* Rows of the whole are made twice: `frames` has to know the nodes of the parts as well before anything can refer to it. */
static int put_tables(struct stacks_work *work, struct page_columns *data, struct page_stacks_cut *out)
{
    size_t max_bytes = work->options->max_bytes;
    struct cut whole, parts;
    int rc = cut_whole(work, max_bytes / 100 * WHOLE_PERCENT, &whole);
    if (rc < 0)
        return rc;
    mark_shown(work);
    note_whole(work, &whole, out);
    rc = cut_parts(work, max_bytes > whole.bytes ? max_bytes - whole.bytes : max_bytes, &parts);
    if (rc < 0)
        return rc;
    mark_shown(work);
    note_parts(work, &parts, out);
    put_frames(work, data);
    put_parts(work, data, parts.places.grain);
    rc = stack_folder_places(&work->folder, work->options->report, whole.places);
    if (rc == LAM_OK)
        rc = stack_fold(&work->folder, whole.level);
    if (rc == LAM_OK)
        put_whole(work, data);
    return rc < 0 ? rc : data->failed;
}

static int make_room(struct stacks_work *work)
{
    size_t nodes = work->made.tree.nodes.count, names = intern_count(&work->made.tree.names);
    int rc = stack_folder_open(&work->folder, &work->made);
    if (rc < 0 || array_resize(&work->rank, nodes) < 0 ||
        array_resize(&work->is_shown, nodes) < 0 || array_resize(&work->in_trial, nodes) < 0 ||
        array_resize(&work->is_named, names) < 0 || array_resize(&work->of_trial, names) < 0 ||
        array_resize(&work->counts, STACK_LEVEL_MAX + 1) < 0)
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
    array_free(&work.is_named);
    array_free(&work.in_trial);
    array_free(&work.of_trial);
    array_free(&work.counts);
    array_free(&work.more);
    strbuf_free(&work.bytes);
    return rc;
}

/* ---- the header ---- */

static void describe_rule(const struct page_stacks_cut *cut, struct json_writer *json)
{
    struct strbuf text = {0};
    if (cut->cut_samples || cut->parts_cut_samples)
        strbuf_addf(
            &text,
            "To keep the file small, small branches are merged into the frame above: of the "
            "%.1f frames that a sample's stack has on average this graph keeps %.1f for the "
            "whole recording, and %.1f where something is selected. ",
            cut->mean_depth, cut->kept_depth, cut->parts_kept_depth);
    strbuf_addf(&text, "For a selection stacks are known by %s",
                cut->is_by_thread ? "thread" : "process");
    if (cut->slot_ns != UINT64_MAX)
        strbuf_addf(&text, ", phase and %.3g s of time.", (double)cut->slot_ns / 1e9);
    else
        strbuf_add(&text, " and phase.");
    json_member_str(json, "rule", strbuf_text(&text));
    strbuf_free(&text);
}

void page_describe_stacks(const struct page_stacks_cut *cut, struct json_writer *json)
{
    if (!cut->samples)
        return;
    json_member_object(json, "stacks");
    if (cut->slot_ns != UINT64_MAX)
        json_member_double(json, "slot_s", (double)cut->slot_ns / 1e9);
    json_member_str(json, "by", cut->is_by_thread ? "thread" : "process");
    json_member_u64(json, "samples", cut->samples);
    json_member_u64(json, "frames", cut->frames);
    json_member_u64(json, "cut_frames", cut->cut_frames);
    json_member_u64(json, "min_samples", cut->min_samples);
    json_member_u64(json, "cut_samples", cut->cut_samples);
    json_member_u64(json, "parts_cut_samples", cut->parts_cut_samples);
    json_member_double(json, "mean_depth", cut->mean_depth);
    json_member_double(json, "kept_depth", cut->kept_depth);
    json_member_double(json, "parts_kept_depth", cut->parts_kept_depth);
    describe_rule(cut, json);
    json_put_end(json);
}
