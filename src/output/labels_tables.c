/* The tables of labels, argument, path, kind, unit and thread, for the text and for Markdown. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "output/write_labels.h"

enum { LABEL_COLUMNS = 56, WIDTH_OF_PERCENTILES = 110, PATH_LINES = 60 };

struct maker {
    const struct report *report;
    const struct report_view *view;
    const struct labels *labels;
    size_t width;
    struct labels_tables *tables;
};

bool labels_are_shown(const struct report_view *view)
{
    return view->labels && (view->labels->events > 0 || view->labels->marks_seen > 0 ||
                            view->labels->session.has_intervals);
}

bool labels_measure_is_time(enum profile_measure measure)
{
    return measure == PROFILE_MEASURE_TIME || measure == PROFILE_MEASURE_CPU_TIME;
}

const char *labels_measure_name(enum profile_measure measure)
{
    static const char *const names[] = {
        "time", "cpu_time", "instructions", "instructions_minus_irqs", "cycles", "other"};
    return (size_t)measure < sizeof names / sizeof *names ? names[measure] : "other";
}

struct unit_text labels_amount(const struct labels *labels, uint64_t amount)
{
    if (labels_measure_is_time(labels->session.measure))
        return unit_seconds((double)amount / 1e9);
    return unit_count_short((double)amount);
}

const char *labels_unit_title(const struct report *report, uint32_t process)
{
    return process < report->processes.count ? report->processes.items[process].title : NULL;
}

double labels_share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

double labels_share_of_all(const struct labels *labels, uint64_t part)
{
    return labels_share(part, labels->thread_ns + labels->detached_ns);
}

void labels_tables_free(struct labels_tables *tables)
{
    array_each(tables, it) table_free(&it->table);
    array_free(tables);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static struct labels_table *begin(struct maker *maker, const char *heading, const char *what)
{
    struct labels_table *table = array_add(maker->tables);
    if (table)
        *table =
            (struct labels_table){.table = {.indent = 2}, .heading = heading, .hidden_what = what};
    return table;
}

static void name_cell(struct maker *maker, struct table *table, uint32_t text)
{
    size_t length;
    const char *bytes = labels_text(maker->labels, text, &length);
    table_cell_n(table, length ? bytes : "(empty)", length ? length : 7);
}

static void amount_cell(struct maker *maker, struct table *table, uint64_t amount)
{
    table_cell(table, labels_amount(maker->labels, amount).text);
}

/* A column that most rows have nothing in: blank is nothing. */
static void rare_cell(struct maker *maker, struct table *table, uint64_t amount)
{
    table_cell(table, amount ? labels_amount(maker->labels, amount).text : "");
}

static void share_cell(struct maker *maker, struct table *table, uint64_t amount)
{
    table_cell(table, unit_percent(labels_share_of_all(maker->labels, amount)).text);
}

static void count_cell(struct table *table, uint64_t count)
{
    table_cell(table, unit_count(count).text);
}

/* Rows come largest first; the rest is left out. */
static bool is_shown(const struct maker *maker, size_t index, uint64_t amount)
{
    bool is_beyond = maker->view->top > 0 && index >= maker->view->top;
    return !is_beyond &&
           !(100 * labels_share_of_all(maker->labels, amount) < maker->view->percent_above);
}

static void hide(struct labels_table *table, uint64_t amount)
{
    table->hidden++;
    table->hidden_amount += amount;
}

static void columns(struct table *table, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (names[i])
            table_column(table, names[i], TABLE_RIGHT, 0);
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

/* Which of the columns any row has something in. */
struct label_columns {
    bool kind, percentiles, hits, blocked, load, hashing, open, folded;
};

static struct label_columns find_columns(const struct maker *maker)
{
    struct label_columns used = {0};
    const struct labels *labels = maker->labels;
    array_each(&labels->rows, row)
    {
        used.kind |= labels->names.items[row->name].kind !=
                     labels->names.items[labels->rows.items[0].name].kind;
        used.hits |= row->cache_hits > 0;
        used.blocked |= row->blocked_ns > 0;
        used.load |= row->load_ns > 0;
        used.hashing |= row->hashing_ns > 0;
        used.open |= row->open > 0;
        used.folded |= row->folded > 0;
    }
    used.percentiles = maker->width == 0 || maker->width >= WIDTH_OF_PERCENTILES;
    return used;
}

static void label_cells(struct maker *maker, struct table *table, const struct label_row *row,
                        const struct label_columns *used)
{
    const struct label_name *name = &maker->labels->names.items[row->name];
    bool has_single = row->count > row->folded;
    name_cell(maker, table, name->label);
    if (used->kind)
        name_cell(maker, table, name->kind);
    amount_cell(maker, table, row->self_ns);
    share_cell(maker, table, row->self_ns);
    amount_cell(maker, table, row->time_ns);
    count_cell(table, row->count);
    if (used->percentiles) {
        table_cell(table, has_single ? labels_amount(maker->labels, row->p50_ns).text : "");
        table_cell(table, has_single ? labels_amount(maker->labels, row->p99_ns).text : "");
        table_cell(table, has_single ? labels_amount(maker->labels, row->max_ns).text : "");
    }
    if (used->hits)
        count_cell(table, row->cache_hits);
    if (used->blocked)
        rare_cell(maker, table, row->blocked_ns);
    if (used->load)
        rare_cell(maker, table, row->load_ns);
    if (used->hashing)
        rare_cell(maker, table, row->hashing_ns);
    if (used->open)
        table_cell(table, row->open ? unit_count(row->open).text : "");
    if (used->folded)
        table_cell(table, row->folded ? unit_count(row->folded).text : "");
}

static int make_labels(struct maker *maker)
{
    const struct labels *labels = maker->labels;
    if (labels->rows.count == 0)
        return LAM_OK;
    struct labels_table *made = begin(maker, "Where the time went, by label", "labels");
    if (!made)
        return LAM_E_NOMEM;
    struct label_columns used = find_columns(maker);
    struct table *table = &made->table;
    table_column(table, "label", TABLE_LEFT, LABEL_COLUMNS);
    if (used.kind)
        table_column(table, "kind", TABLE_LEFT, 0);
    const char *const names[] = {"self",
                                 "share",
                                 "time",
                                 "count",
                                 used.percentiles ? "median" : NULL,
                                 used.percentiles ? "99%" : NULL,
                                 used.percentiles ? "longest" : NULL,
                                 used.hits ? "cache hits" : NULL,
                                 used.blocked ? "blocked" : NULL,
                                 used.load ? "loading" : NULL,
                                 used.hashing ? "hashing" : NULL,
                                 used.open ? "never ended" : NULL,
                                 used.folded ? "folded" : NULL};
    columns(table, names, sizeof names / sizeof *names);
    size_t index = 0;
    array_each(&labels->rows, row)
    {
        if (is_shown(maker, index++, row->self_ns))
            label_cells(maker, table, row, &used);
        else
            hide(made, row->self_ns);
    }
    return LAM_OK;
}

static int make_kinds(struct maker *maker)
{
    static const char *const names[] = {"self", "share", "count"};
    struct labels_table *made = begin(maker, "By kind", "kinds");
    if (!made)
        return LAM_E_NOMEM;
    table_column(&made->table, "kind", TABLE_LEFT, LABEL_COLUMNS);
    columns(&made->table, names, 3);
    array_each(&maker->labels->kinds, kind)
    {
        name_cell(maker, &made->table, kind->kind);
        amount_cell(maker, &made->table, kind->self_ns);
        share_cell(maker, &made->table, kind->self_ns);
        count_cell(&made->table, kind->count);
    }
    return LAM_OK;
}

/* ---- units and threads ------------------------------------------------------------------------------------------- */

struct order {
    uint32_t index;
    uint64_t amount;
};
struct orders LAM_ARRAY_BODY(struct order);

static int compare_order(const void *a, const void *b)
{
    const struct order *left = a, *right = b;
    if (left->amount != right->amount)
        return left->amount > right->amount ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

static void top_labels_cell(struct maker *maker, struct table *table,
                            const struct label_process *process)
{
    struct strbuf text = {0};
    for (size_t i = 0; i < LABEL_TOP_COUNT && process->top[i] != LABELS_ALL; i++) {
        double share = labels_share(process->top_ns[i], process->self_ns);
        if (share < 0.005)
            break;
        size_t length;
        const char *label =
            labels_text(maker->labels, maker->labels->names.items[process->top[i]].label, &length);
        strbuf_add(&text, i ? ", " : "");
        strbuf_add_bytes(&text, label, length);
        strbuf_addf(&text, " %.0f%%", 100 * share);
    }
    table_cell_n(table, strbuf_text(&text), text.length);
    table->failed |= !strbuf_ok(&text);
    strbuf_free(&text);
}

static void unit_cells(struct maker *maker, struct table *table, uint32_t index)
{
    const struct label_process *process = &maker->labels->processes.items[index];
    const char *title = labels_unit_title(maker->report, index);
    table_cell(table, title ? title : "");
    amount_cell(maker, table, process->self_ns);
    share_cell(maker, table, process->self_ns);
    count_cell(table, process->events);
    count_cell(table, process->threads);
    top_labels_cell(maker, table, process);
}

static int make_units(struct maker *maker)
{
    static const char *const names[] = {"self", "share", "events", "threads"};
    struct orders order = {0};
    for (uint32_t i = 0; i < maker->labels->processes.count; i++) {
        const struct label_process *process = &maker->labels->processes.items[i];
        if (process->threads > 0 && array_push(&order, ((struct order){i, process->self_ns})) < 0)
            return LAM_E_NOMEM;
    }
    /* Of one process the labels say it all. */
    struct labels_table *made = order.count > 1 ? begin(maker, "By unit", "units") : NULL;
    if (!made) {
        int rc = order.count > 1 ? LAM_E_NOMEM : LAM_OK;
        array_free(&order);
        return rc;
    }
    array_sort(&order, compare_order);
    table_column(&made->table, "unit", TABLE_LEFT, LABEL_COLUMNS);
    columns(&made->table, names, 4);
    table_column(&made->table, "most of it", TABLE_LEFT, 0);
    for (size_t i = 0; i < order.count; i++) {
        if (is_shown(maker, i, order.items[i].amount))
            unit_cells(maker, &made->table, order.items[i].index);
        else
            hide(made, order.items[i].amount);
    }
    array_free(&order);
    return LAM_OK;
}

static void thread_cells(struct maker *maker, struct table *table, const struct label_thread *thread)
{
    const char *title = labels_unit_title(maker->report, thread->process);
    table_cell(table, title ? title : "");
    table_cellf(table, "%u", thread->tid);
    size_t length;
    const char *name = labels_text(maker->labels, thread->name, &length);
    table_cell_n(table, name, length);
    amount_cell(maker, table, thread->self_ns);
    share_cell(maker, table, thread->self_ns);
    amount_cell(maker, table, (uint64_t)(thread->end_ns - thread->start_ns));
    count_cell(table, thread->events);
}

static int make_threads(struct maker *maker)
{
    static const char *const names[] = {"self", "share", "first to last", "events"};
    struct labels_table *made = begin(maker, "By thread", "threads");
    struct orders order = {0};
    for (uint32_t i = 0; made && i < maker->labels->threads.count; i++)
        if (array_push(&order, ((struct order){i, maker->labels->threads.items[i].self_ns})) < 0)
            made = NULL;
    if (!made) {
        array_free(&order);
        return LAM_E_NOMEM;
    }
    array_sort(&order, compare_order);
    table_column(&made->table, "unit", TABLE_LEFT, LABEL_COLUMNS);
    table_column(&made->table, "thread", TABLE_RIGHT, 0);
    table_column(&made->table, "name", TABLE_LEFT, 0);
    columns(&made->table, names, 4);
    for (size_t i = 0; i < order.count; i++) {
        if (is_shown(maker, i, order.items[i].amount))
            thread_cells(maker, &made->table, &maker->labels->threads.items[order.items[i].index]);
        else
            hide(made, order.items[i].amount);
    }
    array_free(&order);
    return LAM_OK;
}

/* ---- arguments and paths ----------------------------------------------------------------------------------------- */

static int make_arguments(struct maker *maker)
{
    static const char *const names[] = {"self", "share", "time", "count", "longest"};
    struct labels_table *made = begin(maker, "By argument", "keys");
    if (!made)
        return LAM_E_NOMEM;
    table_column(&made->table, "label", TABLE_LEFT, 0);
    table_column(&made->table, "argument", TABLE_LEFT, 100);
    columns(&made->table, names, 5);
    size_t index = 0;
    array_each(&maker->labels->arguments.rows, row)
    {
        if (!is_shown(maker, index++, row->self_ns)) {
            hide(made, row->self_ns);
            continue;
        }
        struct strbuf text = {0};
        label_argument_text(row, &text);
        name_cell(maker, &made->table, maker->labels->names.items[row->name].label);
        table_cell_n(&made->table, strbuf_text(&text), text.length);
        amount_cell(maker, &made->table, row->self_ns);
        share_cell(maker, &made->table, row->self_ns);
        amount_cell(maker, &made->table, row->time_ns);
        count_cell(&made->table, row->count);
        amount_cell(maker, &made->table, row->max_ns);
        made->table.failed |= !strbuf_ok(&text);
        strbuf_free(&text);
    }
    return LAM_OK;
}

static void path_cells(struct maker *maker, struct table *table, const struct label_path *node)
{
    enum { DEEP = 24 };
    struct strbuf text = {0};
    /* Far inside, a number stands for the indentation: recursion may be thousands deep. */
    if (node->depth > DEEP)
        strbuf_addf(&text, "%*s(%u) ", DEEP, "", node->depth);
    else
        strbuf_add_fill(&text, ' ', node->depth);
    size_t length;
    const char *label =
        labels_text(maker->labels, maker->labels->names.items[node->name].label, &length);
    strbuf_add_bytes(&text, label, length);
    table_cell_n(table, strbuf_text(&text), text.length);
    amount_cell(maker, table, node->time_ns);
    table_cell(
        table,
        unit_percent(labels_share(node->time_ns, maker->labels->paths.nodes.items[0].time_ns)).text);
    amount_cell(maker, table, node->self_ns);
    count_cell(table, node->count);
    table->failed |= !strbuf_ok(&text);
    strbuf_free(&text);
}

/* Depth first, heaviest first, down to 1% (or --percent-above) of all: without recursion, paths may be long. */
static int make_paths(struct maker *maker)
{
    static const char *const names[] = {"time", "share", "self", "count"};
    struct labels_table *made = begin(maker, "By path (time of everything inside included)", "paths");
    if (!made)
        return LAM_E_NOMEM;
    table_column(&made->table, "path", TABLE_LEFT, LABEL_COLUMNS + 24);
    columns(&made->table, names, 4);
    const struct label_path *nodes = maker->labels->paths.nodes.items;
    double least = maker->view->percent_above > 0 ? maker->view->percent_above / 100 : 0.01;
    size_t lines = maker->view->has_top ? maker->view->top : PATH_LINES, shown = 0;
    uint32_t at = maker->labels->paths.nodes.count > 0 ? nodes[0].first_child : 0;
    while (at) {
        bool is_large = labels_share(nodes[at].time_ns, nodes[0].time_ns) >= least;
        bool has_room = lines == 0 || shown < lines;
        if (is_large && has_room) {
            path_cells(maker, &made->table, &nodes[at]);
            shown++;
            if (nodes[at].first_child) {
                at = nodes[at].first_child;
                continue;
            }
        }
        /* Siblings of a small one are smaller still. */
        while (at && (!nodes[at].next || !is_large || !has_room)) {
            at = nodes[at].parent;
            is_large = has_room = true;
        }
        at = at ? nodes[at].next : 0;
    }
    size_t count = maker->labels->paths.nodes.count;
    made->hidden = count > 0 ? count - 1 - shown : 0;
    made->hidden_amount = PROFILE_UNKNOWN;
    return LAM_OK;
}

/* ---- integers ---------------------------------------------------------------------------------------------------- */

static int make_artifacts(struct maker *maker)
{
    struct labels_table *made = NULL;
    array_each(&maker->labels->artifacts, artifact)
    {
        if (artifact->process != LABELS_ALL)
            break;
        if (!made) {
            made = begin(maker, "Artifact sizes", "artifacts");
            if (!made)
                return LAM_E_NOMEM;
            table_column(&made->table, "artifact", TABLE_LEFT, LABEL_COLUMNS);
            table_column(&made->table, "bytes", TABLE_RIGHT, 0);
            table_column(&made->table, "", TABLE_RIGHT, 0);
        }
        name_cell(maker, &made->table, artifact->label);
        count_cell(&made->table, artifact->bytes);
        table_cell(&made->table, unit_bytes((double)artifact->bytes).text);
    }
    return LAM_OK;
}

static int make_marks(struct maker *maker)
{
    static const char *const names[] = {"count", "sum of values", "least", "largest"};
    if (maker->labels->marks.count == 0)
        return LAM_OK;
    struct labels_table *made = begin(maker, "Instants and integers", "labels");
    if (!made)
        return LAM_E_NOMEM;
    table_column(&made->table, "label", TABLE_LEFT, LABEL_COLUMNS);
    table_column(&made->table, "kind", TABLE_LEFT, 0);
    columns(&made->table, names, 4);
    size_t index = 0;
    array_each(&maker->labels->marks, mark)
    {
        if (maker->view->top > 0 && index++ >= maker->view->top) {
            made->hidden++;
            made->hidden_amount = PROFILE_UNKNOWN;
            continue;
        }
        name_cell(maker, &made->table, maker->labels->names.items[mark->name].label);
        name_cell(maker, &made->table, maker->labels->names.items[mark->name].kind);
        count_cell(&made->table, mark->count);
        const uint64_t values[] = {mark->sum, mark->min, mark->max};
        for (size_t i = 0; i < 3; i++)
            table_cell(&made->table, mark->values ? unit_count(values[i]).text : "");
    }
    return LAM_OK;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

int labels_tables_make(const struct report *report, const struct report_view *view, size_t width,
                       struct labels_tables *tables)
{
    struct maker maker = {report, view, view->labels, width, tables};
    const struct {
        bool is_wanted;
        int (*make)(struct maker *maker);
    } parts[] = {
        {view->by_label, make_labels},       {view->by_kind, make_kinds},
        {view->by_argument, make_arguments}, {view->by_path, make_paths},
        {view->by_unit, make_units},         {view->by_thread, make_threads},
        {view->by_label, make_artifacts},    {view->by_label, make_marks},
    };
    int rc = LAM_OK;
    for (size_t i = 0; rc == LAM_OK && i < sizeof parts / sizeof *parts; i++)
        if (parts[i].is_wanted)
            rc = parts[i].make(&maker);
    return rc;
}

void labels_summary_text(const struct report_view *view, struct strbuf *out)
{
    const struct labels *labels = view->labels;
    strbuf_addf(out, "%s on %s thread%s, self time %s, threads %s from first to last",
                unit_count(labels->events).text, unit_count(labels->threads.count).text,
                labels->threads.count == 1 ? "" : "s", labels_amount(labels, labels->self_ns).text,
                labels_amount(labels, labels->thread_ns).text);
    if (labels->detached_ns)
        strbuf_addf(out, " and detached %s", labels_amount(labels, labels->detached_ns).text);
    if (labels->session.measure != PROFILE_MEASURE_TIME)
        strbuf_addf(out, " (%s)", labels_measure_name(labels->session.measure));
    if (view->by_argument)
        strbuf_addf(out, "; %s different arguments took %s of memory",
                    unit_count(labels->arguments.rows.count).text,
                    unit_bytes((double)label_arguments_bytes(&labels->arguments)).text);
}
