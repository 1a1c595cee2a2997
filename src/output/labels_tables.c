/* The tables of labels, argument, path, kind, unit and thread, for the text and for Markdown. */
#include <math.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/units.h"
#include "output/write_labels.h"

enum { LABEL_COLUMNS = 56, WIDTH_OF_PERCENTILES = 110, PATH_LINES = 60, LABELS_OF_A_UNIT = 15 };
/* "most of it": what the columns before it take, and what a name is shortened to where there is a width. */
enum { BEFORE_MOST = 62, MOST_MIN = 20, MOST_NAME = 36 };

struct maker {
    const struct report *report;
    const struct report_view *view;
    const struct labels *labels;
    size_t width;
    bool is_markdown;
    struct map titles; /* hash of a unit's title → how many units with events have it */
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

struct unit_text labels_measured(enum profile_measure measure, uint64_t amount)
{
    if (labels_measure_is_time(measure))
        return unit_seconds((double)amount / 1e9);
    return unit_count_short((double)amount);
}

struct unit_text labels_amount(const struct labels *labels, uint64_t amount)
{
    return labels_measured(labels->session.measure, amount);
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
    return labels_share(part, labels->whole_ns);
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

/* A pipe or a file has room for whatever comes. */
static unsigned limit(const struct maker *maker, unsigned columns)
{
    return maker->width ? columns : 0;
}

static uint64_t title_key(const char *title)
{
    return hash_bytes(title, strlen(title));
}

static int count_titles(struct maker *maker)
{
    for (uint32_t i = 0; i < maker->labels->processes.count; i++) {
        const char *title = labels_unit_title(maker->report, i);
        if (!title || maker->labels->processes.items[i].threads == 0)
            continue;
        uint64_t *count = map_slot(&maker->titles, title_key(title), 0, NULL);
        if (!count)
            return LAM_E_NOMEM;
        (*count)++;
    }
    return LAM_OK;
}

/* Which of those with its title and pid it is, from 1 on: copies of a profile have one pid, and pids come round again. */
static unsigned number_of_unit(const struct maker *maker, const char *title, uint32_t index)
{
    const struct label_process *items = maker->labels->processes.items;
    unsigned number = 1;
    for (uint32_t i = 0; i < index; i++) {
        const char *other = items[i].pid == items[index].pid && items[i].threads
                                ? labels_unit_title(maker->report, i)
                                : NULL;
        number += other && strcmp(other, title) == 0;
    }
    return number;
}

/* A parent and the child it forked have one title: then the pid tells which is which. */
static void unit_name_cell(struct maker *maker, struct table *table, uint32_t index)
{
    const char *title = labels_unit_title(maker->report, index);
    bool is_alone = !title || map_get_or(&maker->titles, title_key(title), 0) < 2;
    unsigned number = is_alone ? 1 : number_of_unit(maker, title, index);
    if (!is_alone && number > 1)
        table_cellf(table, "%s (pid %u, no. %u)", title, maker->labels->processes.items[index].pid,
                    number);
    else if (!is_alone)
        table_cellf(table, "%s (pid %u)", title, maker->labels->processes.items[index].pid);
    else
        table_cell(table, title ? title : "");
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

/* 0: all. A unit that was asked for shows all of its phases, but of hundreds of labels the first ones. */
static uint32_t most_rows(const struct maker *maker)
{
    const struct report_view *view = maker->view;
    return view->unit && !view->has_top && !view->top ? LABELS_OF_A_UNIT : view->top;
}

/* Rows come largest first; the rest is left out. */
static bool is_shown(const struct maker *maker, size_t index, uint64_t amount)
{
    uint32_t top = most_rows(maker);
    bool is_beyond = top > 0 && index >= top;
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
    bool kind, active, percentiles, hits, blocked, load, hashing, open;
    bool singly; /* some calls were stored one by one, others as sums, of which nobody knows how long each took */
};

static struct label_columns find_columns(const struct maker *maker)
{
    struct label_columns used = {0};
    const struct labels *labels = maker->labels;
    bool has_single = false, has_folded = false;
    array_each(&labels->rows, row)
    {
        used.kind |= labels->names.items[row->name].kind !=
                     labels->names.items[labels->rows.items[0].name].kind;
        used.active |= row->active_ns != row->time_ns;
        used.hits |= row->cache_hits > 0;
        used.blocked |= row->blocked_ns > 0;
        used.load |= row->load_ns > 0;
        used.hashing |= row->hashing_ns > 0;
        used.open |= row->open > 0;
        has_single |= row->count > row->folded;
        has_folded |= row->folded > 0;
    }
    used.percentiles = has_single && (maker->width == 0 || maker->width >= WIDTH_OF_PERCENTILES);
    used.singly = has_single && has_folded;
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
    if (used->active) /* time is wall; median to longest are of it */
        amount_cell(maker, table, row->active_ns);
    count_cell(table, row->count);
    if (used->singly)
        table_cell(table, has_single ? unit_count(row->count - row->folded).text : "");
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
}

static int make_labels(struct maker *maker)
{
    const struct labels *labels = maker->labels;
    if (labels->rows.count == 0)
        return LAM_OK;
    struct label_columns used = find_columns(maker);
    bool is_part = used.singly && used.percentiles;
    struct labels_table *made = begin(maker,
                                      is_part ? "Where the time went, by label (median to "
                                                "longest: of calls stored one by one)"
                                              : "Where the time went, by label",
                                      "label");
    if (!made)
        return LAM_E_NOMEM;
    struct table *table = &made->table;
    table_column(table, "label", TABLE_LEFT, limit(maker, LABEL_COLUMNS));
    if (used.kind)
        table_column(table, "kind", TABLE_LEFT, 0);
    const char *const names[] = {"self",
                                 "share",
                                 "time",
                                 used.active ? "active" : NULL,
                                 "count",
                                 used.singly ? "one by one" : NULL,
                                 used.percentiles ? "median" : NULL,
                                 used.percentiles ? "99%" : NULL,
                                 used.percentiles ? "longest" : NULL,
                                 used.hits ? "cache hits" : NULL,
                                 used.blocked ? "blocked" : NULL,
                                 used.load ? "loading" : NULL,
                                 used.hashing ? "hashing" : NULL,
                                 used.open ? "never ended" : NULL};
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
    struct labels_table *made = begin(maker, "By kind", "kind");
    if (!made)
        return LAM_E_NOMEM;
    table_column(&made->table, "kind", TABLE_LEFT, limit(maker, LABEL_COLUMNS));
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
    size_t room = maker->width > BEFORE_MOST + MOST_MIN ? maker->width - BEFORE_MOST : MOST_MIN;
    for (size_t i = 0; i < LABEL_TOP_COUNT && process->top[i] != LABELS_ALL; i++) {
        double share = labels_share(process->top_ns[i], process->self_ns);
        if (share < 0.005)
            break;
        size_t length, before = text.length;
        const char *label =
            labels_text(maker->labels, maker->labels->names.items[process->top[i]].label, &length);
        strbuf_add(&text, i ? ", " : "");
        if (maker->width) {
            struct strbuf name = {0};
            strbuf_add_printable(&name, label, length);
            table_shorten(&text, strbuf_text(&name), room < MOST_NAME ? room - 4 : MOST_NAME);
            strbuf_free(&name);
        } else {
            strbuf_add_bytes(&text, label, length);
        }
        strbuf_addf(&text, " %.0f%%", 100 * share);
        if (i && maker->width && utf8_columns(strbuf_text(&text), text.length) > room) {
            strbuf_truncate(&text, before);
            break;
        }
    }
    table_cell_n(table, strbuf_text(&text), text.length);
    table->failed |= !strbuf_ok(&text);
    strbuf_free(&text);
}

static void unit_cells(struct maker *maker, struct table *table, uint32_t index)
{
    const struct label_process *process = &maker->labels->processes.items[index];
    unit_name_cell(maker, table, index);
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
    struct labels_table *made = order.count > 1 ? begin(maker, "By unit", "unit") : NULL;
    if (!made) {
        int rc = order.count > 1 ? LAM_E_NOMEM : LAM_OK;
        array_free(&order);
        return rc;
    }
    array_sort(&order, compare_order);
    table_column(&made->table, "unit", TABLE_LEFT, limit(maker, LABEL_COLUMNS));
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

/* A row of the table of threads: what a thread did outside of its tracks, or a track. */
struct lane {
    const struct label_thread *thread;
    const struct label_track *track; /* NULL */
    const struct label_stretch *stretch;
};
struct lanes_of LAM_ARRAY_BODY(struct lane);

static int compare_lanes(const void *a, const void *b)
{
    const struct lane *left = a, *right = b;
    if (left->stretch->self_ns != right->stretch->self_ns)
        return left->stretch->self_ns > right->stretch->self_ns ? -1 : 1;
    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    return left->track < right->track ? -1 : left->track > right->track;
}

static int find_lanes(const struct labels *labels, struct lanes_of *lanes)
{
    int rc = LAM_OK;
    array_each(&labels->threads, thread)
    {
        if (rc == LAM_OK && thread->own.events > 0)
            rc = array_push(lanes, ((struct lane){thread, NULL, &thread->own}));
    }
    array_each(&labels->tracks, track)
    {
        const struct label_thread *thread = &labels->threads.items[track->thread];
        if (rc == LAM_OK)
            rc = array_push(lanes, ((struct lane){thread, track, &track->all}));
    }
    array_sort(lanes, compare_lanes);
    return rc;
}

static void lane_cells(struct maker *maker, struct table *table, const struct lane *lane)
{
    size_t length;
    const char *name = labels_text(maker->labels, lane->thread->name, &length);
    unit_name_cell(maker, table, lane->thread->process);
    if (lane->track && lane->track->has_moved)
        table_cell(table, "several");
    else
        table_cellf(table, "%u", lane->thread->tid);
    table_cell_n(table, name, lane->track && lane->track->has_moved ? 0 : length);
    if (lane->track)
        name_cell(maker, table, lane->track->name);
    else if (maker->labels->tracks.count)
        table_cell(table, "");
    amount_cell(maker, table, lane->stretch->self_ns);
    share_cell(maker, table, lane->stretch->self_ns);
    amount_cell(maker, table, (uint64_t)(lane->stretch->end_ns - lane->stretch->start_ns));
    count_cell(table, lane->stretch->events);
}

static int make_threads(struct maker *maker)
{
    static const char *const names[] = {"self", "share", "first to last", "events"};
    bool has_tracks = maker->labels->tracks.count > 0;
    struct labels_table *made = begin(maker, has_tracks ? "By thread and track" : "By thread",
                                      has_tracks ? "row" : "thread");
    struct lanes_of lanes = {0};
    if (!made || find_lanes(maker->labels, &lanes) < 0) {
        array_free(&lanes);
        return LAM_E_NOMEM;
    }
    table_column(&made->table, "unit", TABLE_LEFT, limit(maker, LABEL_COLUMNS));
    table_column(&made->table, "thread", TABLE_RIGHT, 0);
    table_column(&made->table, "name", TABLE_LEFT, 0);
    if (has_tracks)
        table_column(&made->table, "track", TABLE_LEFT, limit(maker, LABEL_COLUMNS));
    columns(&made->table, names, 4);
    for (size_t i = 0; i < lanes.count; i++) {
        if (is_shown(maker, i, lanes.items[i].stretch->self_ns))
            lane_cells(maker, &made->table, &lanes.items[i]);
        else
            hide(made, lanes.items[i].stretch->self_ns);
    }
    array_free(&lanes);
    return LAM_OK;
}

/* ---- arguments and paths ----------------------------------------------------------------------------------------- */

static int make_arguments(struct maker *maker)
{
    static const char *const names[] = {"self", "share", "time", "count", "longest"};
    struct labels_table *made = begin(maker, "By argument", "key");
    if (!made)
        return LAM_E_NOMEM;
    table_column(&made->table, "label", TABLE_LEFT, 0);
    table_column(&made->table, "argument", TABLE_LEFT, limit(maker, 100));
    columns(&made->table, names, 5);
    size_t index = 0;
    bool has_any = false;
    array_each(&maker->labels->arguments.rows, row)
    {
        struct strbuf text = {0};
        has_any = has_any || label_argument_has_text(&maker->labels->arguments, row);
        if (!is_shown(maker, index++, row->self_ns)) {
            hide(made, row->self_ns);
            continue;
        }
        label_argument_text(&maker->labels->arguments, row, &text);
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
    if (!has_any)
        made->notes[0] =
            "no event has arguments (rustc stores them with -Zself-profile-events=default,args)";
    return LAM_OK;
}

enum { DEEP = 24 };

static void path_cells(struct maker *maker, struct table *table, const struct label_path *node)
{
    struct strbuf text = {0};
    if (maker->is_markdown) /* which knows no indentation */
        table_cellf(table, "%u", node->depth);
    else if (node->depth > DEEP)
        strbuf_addf(&text, "%*s(%u) ", DEEP, "", node->depth);
    else
        strbuf_add_fill(&text, ' ', node->depth);
    size_t length;
    const char *label =
        labels_text(maker->labels, maker->labels->names.items[node->name].label, &length);
    strbuf_add_bytes(&text, length ? label : "(empty)", length ? length : 7);
    table_cell_n(table, strbuf_text(&text), text.length);
    amount_cell(maker, table, node->time_ns);
    share_cell(maker, table, node->time_ns);
    amount_cell(maker, table, node->self_ns);
    count_cell(table, node->count);
    table->failed |= !strbuf_ok(&text);
    strbuf_free(&text);
}

/* The largest paths that the view asks for, by index in nodes: those down to 1%, or to --percent-above, or as many as --top
 * says. A path is as large as the largest one inside it (a call inside one of its like has no time of its own to show), so
 * that nobody is chosen without those around. */
static int choose_paths(const struct maker *maker, bool *chosen, size_t *shown)
{
    const struct label_path *nodes = maker->labels->paths.nodes.items;
    size_t count = maker->labels->paths.nodes.count;
    const struct report_view *view = maker->view;
    size_t most = view->has_top ? view->top : PATH_LINES;
    double least = view->percent_above > 0 || view->has_top ? view->percent_above / 100 : 0.01;
    uint64_t *size = mem_zalloc(count + 1, sizeof *size);
    struct orders order = {0};
    int rc = size ? LAM_OK : LAM_E_NOMEM;
    for (uint32_t i = (uint32_t)count; rc == LAM_OK && i-- > 1;) { /* parents come before */
        size[i] = size[i] > nodes[i].time_ns ? size[i] : nodes[i].time_ns;
        size[nodes[i].parent] = size[nodes[i].parent] > size[i] ? size[nodes[i].parent] : size[i];
        if (labels_share_of_all(maker->labels, size[i]) >= least)
            rc = array_push(&order, ((struct order){i, size[i]}));
    }
    array_sort(&order, compare_order);
    *shown = rc == LAM_OK ? order.count : 0;
    if (most > 0 && *shown > most)
        *shown = most;
    for (size_t i = 0; i < *shown; i++)
        chosen[order.items[i].index] = true;
    array_free(&order);
    mem_free(size);
    return rc;
}

/* Depth first, heaviest first: without recursion, paths may be long. */
static void add_paths(struct maker *maker, struct labels_table *made, const bool *chosen)
{
    const struct label_path *nodes = maker->labels->paths.nodes.items;
    uint32_t at = nodes[0].first_child;
    while (at) {
        if (chosen[at]) {
            path_cells(maker, &made->table, &nodes[at]);
            if (nodes[at].depth > DEEP && !maker->is_markdown)
                made->notes[0] = "(number) before a path: its depth, where the indentation ends";
            if (nodes[at].first_child) {
                at = nodes[at].first_child;
                continue;
            }
        }
        while (at && !nodes[at].next)
            at = nodes[at].parent;
        at = at ? nodes[at].next : 0;
    }
}

static int make_paths(struct maker *maker)
{
    static const char *const names[] = {"time", "share", "self", "count"};
    struct labels_table *made = begin(maker, "By path (time of everything inside included)", "path");
    size_t count = maker->labels->paths.nodes.count, shown = 0;
    bool *chosen = mem_zalloc(count + 1, sizeof *chosen);
    int rc = made && chosen ? LAM_OK : LAM_E_NOMEM;
    if (rc == LAM_OK) {
        if (maker->is_markdown)
            table_column(&made->table, "depth", TABLE_RIGHT, 0);
        table_column(&made->table, "path", TABLE_LEFT, limit(maker, LABEL_COLUMNS + 24));
        columns(&made->table, names, 4);
        rc = choose_paths(maker, chosen, &shown);
    }
    if (rc == LAM_OK && count > 1) {
        add_paths(maker, made, chosen);
        made->hidden = count - 1 - shown;
        made->hidden_amount = PROFILE_UNKNOWN;
    }
    mem_free(chosen);
    return rc;
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
            made = begin(maker, "Artifact sizes", "artifact");
            if (!made)
                return LAM_E_NOMEM;
            table_column(&made->table, "artifact", TABLE_LEFT, limit(maker, LABEL_COLUMNS));
            table_column(&made->table, "bytes", TABLE_RIGHT, 0);
            table_column(&made->table, "", TABLE_RIGHT, 0);
        }
        name_cell(maker, &made->table, artifact->label);
        count_cell(&made->table, artifact->bytes);
        table_cell(&made->table, unit_bytes((double)artifact->bytes).text);
    }
    return LAM_OK;
}

static void counter_cells(struct maker *maker, struct table *table, const struct label_counter *row,
                          uint64_t whole)
{
    const struct label_name *name = &maker->labels->names.items[row->name];
    name_cell(maker, table, name->label);
    name_cell(maker, table, name->kind);
    table_cell(table, labels_measured(row->measure, row->self).text);
    table_cell(table, unit_percent(labels_share(row->self, whole)).text);
    table_cell(table, labels_measured(row->measure, row->total).text);
    count_cell(table, row->count);
    table_cell(table, labels_measured(row->measure, row->max).text);
}

/* One counter's rows, from *at on. */
static int make_counter(struct maker *maker, size_t *at)
{
    static const char *const names[] = {"self", "share", "total", "intervals", "largest"};
    const struct labels *labels = maker->labels;
    const struct label_counter *first = &labels->counters.items[*at];
    uint64_t whole = 0;
    size_t end = *at;
    for (; end < labels->counters.count && labels->counters.items[end].counter == first->counter;
         end++)
        whole += labels->counters.items[end].self;
    struct labels_table *made = begin(maker, "Counted beside the clock, by label: ", "label");
    if (!made)
        return LAM_E_NOMEM;
    made->heading_text = labels_text(labels, first->counter, NULL);
    table_column(&made->table, "label", TABLE_LEFT, limit(maker, LABEL_COLUMNS));
    table_column(&made->table, "kind", TABLE_LEFT, 0);
    columns(&made->table, names, sizeof names / sizeof *names);
    made->hidden_amount = PROFILE_UNKNOWN;
    for (size_t i = *at; i < end; i++) {
        const struct label_counter *row = &labels->counters.items[i];
        bool is_beyond = most_rows(maker) > 0 && i - *at >= most_rows(maker);
        if (is_beyond || 100 * labels_share(row->self, whole) < maker->view->percent_above)
            made->hidden++;
        else
            counter_cells(maker, &made->table, row, whole);
    }
    *at = end;
    return LAM_OK;
}

static int make_counters(struct maker *maker)
{
    int rc = LAM_OK;
    for (size_t at = 0; rc == LAM_OK && at < maker->labels->counters.count;)
        rc = make_counter(maker, &at);
    return rc;
}

static int make_marks(struct maker *maker)
{
    static const char *const names[] = {"count", "sum of values", "least", "largest", "last"};
    bool has_last = false;
    array_each(&maker->labels->marks, mark) has_last |= mark->has_last;
    if (maker->labels->marks.count == 0)
        return LAM_OK;
    struct labels_table *made = begin(maker, "Instants and integers", "label");
    if (!made)
        return LAM_E_NOMEM;
    table_column(&made->table, "label", TABLE_LEFT, limit(maker, LABEL_COLUMNS));
    table_column(&made->table, "kind", TABLE_LEFT, 0);
    columns(&made->table, names, has_last ? 5 : 4);
    size_t index = 0;
    array_each(&maker->labels->marks, mark)
    {
        if (most_rows(maker) > 0 && index++ >= most_rows(maker)) {
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
        if (has_last)
            table_cell(&made->table, mark->has_last ? unit_count(mark->last).text : "");
    }
    return LAM_OK;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

int labels_tables_make(const struct report *report, const struct report_view *view, size_t width,
                       bool is_markdown, struct labels_tables *tables)
{
    struct maker maker = {.report = report,
                          .view = view,
                          .labels = view->labels,
                          .width = width,
                          .is_markdown = is_markdown,
                          .tables = tables};
    const struct {
        bool is_wanted;
        int (*make)(struct maker *maker);
    } parts[] = {
        {view->by_label, make_labels},       {view->by_kind, make_kinds},
        {view->by_argument, make_arguments}, {view->by_path, make_paths},
        {view->by_unit, make_units},         {view->by_thread, make_threads},
        {view->by_label, make_counters},     {view->by_label, make_artifacts},
        {view->by_label, make_marks},
    };
    int rc = count_titles(&maker);
    for (size_t i = 0; rc == LAM_OK && i < sizeof parts / sizeof *parts; i++)
        if (parts[i].is_wanted)
            rc = parts[i].make(&maker);
    map_free(&maker.titles);
    return rc;
}

/* Self time beside the span of the threads, and what shares are of where that is neither: a track, or calls that were stored as sums,
 * have time that no span of a thread has. */
static void add_times(const struct labels *labels, size_t threads, struct strbuf *out)
{
    uint64_t span_ns = labels->thread_ns + labels->detached_ns;
    bool is_more = (double)labels->self_ns > 1.005 * (double)span_ns;
    strbuf_addf(out, ", self time %s%s the %s %s from first to last",
                labels_amount(labels, labels->self_ns).text, is_more ? ", more than" : " of",
                labels->rows_again ? "rows'"
                : threads == 1     ? "thread's"
                                   : "threads'",
                labels_amount(labels, labels->thread_ns).text);
    if (labels->detached_ns)
        strbuf_addf(out, " and %s detached", labels_amount(labels, labels->detached_ns).text);
    if ((double)labels->whole_ns > 1.005 * (double)span_ns)
        strbuf_addf(out, "; shares are of %s%s", labels_amount(labels, labels->whole_ns).text,
                    is_more ? "" : ", as some threads' self time is more than their span");
}

void labels_summary_text(const struct report_view *view, struct strbuf *out)
{
    const struct labels *labels = view->labels;
    size_t threads = labels->threads.count - labels->rows_again;
    strbuf_addf(out, "%s interval%s", unit_count(labels->events).text, unit_plural(labels->events));
    if (labels->folded && labels->folded == labels->events)
        strbuf_add(out, ", all of them stored as sums,");
    else if (labels->folded)
        strbuf_addf(out, ", %s of them stored as sums,", unit_count(labels->folded).text);
    if (labels->marks_seen > 0)
        strbuf_addf(out, " and %s instant%s", unit_count(labels->marks_seen).text,
                    unit_plural(labels->marks_seen));
    strbuf_addf(out, " on %s thread%s", unit_count(threads).text, unit_plural(threads));
    if (labels->rows_again)
        strbuf_addf(out, " (%s rows, as several recorders were open at a time)",
                    unit_count(labels->threads.count).text);
    add_times(labels, threads, out);
    if (labels->session.measure != PROFILE_MEASURE_TIME)
        strbuf_addf(out, " (%s)", labels_measure_name(labels->session.measure));
    if (labels->one_in > 1)
        strbuf_addf(out, "; one call in %u was recorded: counts and times of calls are estimates",
                    labels->one_in);
    if (view->by_argument)
        strbuf_addf(out, "; %s different key%s took %s of memory",
                    unit_count(labels->arguments.rows.count).text,
                    unit_plural(labels->arguments.rows.count),
                    unit_bytes((double)label_arguments_bytes(&labels->arguments)).text);
}
