#include "analysis/wall_share.h"

#include "analysis/report.h"
#include "base/map.h"

/* Something that takes part from its start to its end: a span, a process without samples, or a unit that runs. */
struct edge {
    int64_t at_ns;
    uint32_t share; /* whose it is: of shares.items */
    bool is_end;
    bool is_unit; /* counts where nothing else does */
};

struct sharing {
    struct wall_shares *shares;
    const struct report *report;
    struct map ids; /* unit and phase → share */
    LAM_ARRAY(struct edge) edges;
    LAM_ARRAY(uint32_t) working; /* shares, once for each that works */
    LAM_ARRAY(uint32_t) running;
};

static int find_share(struct sharing *sharing, uint32_t unit, uint32_t phase, uint32_t *share)
{
    bool added;
    uint64_t *slot =
        map_slot(&sharing->ids, (uint64_t)unit << 32 | phase, sharing->shares->items.count, &added);
    if (!slot)
        return LAM_E_NOMEM;
    *share = (uint32_t)*slot;
    struct wall_share fresh = {.unit = unit, .phase = phase};
    return added ? array_push(&sharing->shares->items, fresh) : LAM_OK;
}

static int add(struct sharing *sharing, int64_t start_ns, int64_t end_ns, uint32_t unit,
               uint32_t phase, bool is_unit)
{
    int64_t whole_ns = (int64_t)sharing->shares->whole_ns;
    uint32_t share;
    start_ns = start_ns < 0 ? 0 : start_ns;
    end_ns = end_ns > whole_ns ? whole_ns : end_ns;
    if (end_ns <= start_ns)
        return LAM_OK;
    int rc = find_share(sharing, unit, phase, &share);
    struct edge start = {start_ns, share, false, is_unit}, end = {end_ns, share, true, is_unit};
    if (rc == LAM_OK)
        rc = array_push(&sharing->edges, start);
    return rc == LAM_OK ? array_push(&sharing->edges, end) : rc;
}

static uint32_t outermost_unit(const struct report *report, uint32_t process)
{
    uint32_t found = GRAPH_NONE;
    for (; process != REPORT_NO_UNIT; process = report->processes.items[process].parent)
        if (report->processes.items[process].unit != REPORT_NO_UNIT)
            found = report->processes.items[process].unit;
    return found;
}

/* Processes without samples worked as far as the account knows: those that used half of their time or more. */
static bool worked_unseen(const struct report_process *process)
{
    int64_t wall_ns = process->end_ns - process->start_ns;
    return process->sampled != PROFILE_SAMPLED_YES && process->cpu_ns != PROFILE_UNKNOWN &&
           process->has_end && wall_ns > 0 && process->cpu_ns >= (uint64_t)wall_ns / 2;
}

static int add_all(struct sharing *sharing)
{
    const struct report *report = sharing->report;
    int rc = LAM_OK;
    array_each(&report->spans, span)
    {
        if (rc == LAM_OK)
            rc = add(sharing, span->start_ns, span->end_ns, outermost_unit(report, span->process),
                     span->phase, false);
    }
    for (uint32_t i = 0; rc == LAM_OK && i < report->processes.count; i++) {
        const struct report_process *process = &report->processes.items[i];
        if (worked_unseen(process))
            rc = add(sharing, process->start_ns, process->end_ns, outermost_unit(report, i),
                     WALL_NO_PHASE, false);
    }
    for (uint32_t i = 0; rc == LAM_OK && i < report->graph.nodes.count; i++) {
        const struct build_node *node = &report->graph.nodes.items[i];
        if (node->inside == GRAPH_NONE)
            rc = add(sharing, node->start_ns, node->end_ns, i, WALL_NO_PHASE, true);
    }
    return rc;
}

static int compare_edges(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    if (a->is_end != b->is_end)
        return a->is_end ? -1 : 1;
    return a->share < b->share ? -1 : a->share > b->share;
}

static int take(struct sharing *sharing, const struct edge *edge)
{
    if (!edge->is_end)
        return edge->is_unit ? array_push(&sharing->running, edge->share)
                             : array_push(&sharing->working, edge->share);
    uint32_t *items = edge->is_unit ? sharing->running.items : sharing->working.items;
    size_t *count = edge->is_unit ? &sharing->running.count : &sharing->working.count;
    for (size_t i = 0; i < *count; i++) {
        if (items[i] != edge->share)
            continue;
        items[i] = items[--*count];
        break;
    }
    return LAM_OK;
}

/* What is left of an uneven division goes to the first ones, a nanosecond each. */
static void divide(struct sharing *sharing, uint64_t length_ns, uint32_t nobody)
{
    const uint32_t *items = sharing->working.items;
    size_t count = sharing->working.count;
    if (count == 0) {
        items = sharing->running.items;
        count = sharing->running.count;
    }
    if (count == 0) {
        items = &nobody;
        count = 1;
    }
    for (size_t i = 0; i < count; i++)
        sharing->shares->items.items[items[i]].ns += length_ns / count + (i < length_ns % count);
}

static int sweep(struct sharing *sharing)
{
    uint32_t nobody;
    int rc = find_share(sharing, GRAPH_NONE, WALL_NO_PHASE, &nobody);
    int64_t at_ns = 0;
    array_sort(&sharing->edges, compare_edges);
    array_each(&sharing->edges, edge)
    {
        if (rc == LAM_OK && edge->at_ns > at_ns)
            divide(sharing, (uint64_t)(edge->at_ns - at_ns), nobody);
        at_ns = edge->at_ns;
        if (rc == LAM_OK)
            rc = take(sharing, edge);
    }
    if (rc == LAM_OK)
        divide(sharing, sharing->shares->whole_ns - (uint64_t)at_ns, nobody);
    return rc;
}

static int compare_shares(const void *left, const void *right)
{
    const struct wall_share *a = left, *b = right;
    if (a->unit != b->unit)
        return a->unit < b->unit ? -1 : 1;
    return a->phase < b->phase ? -1 : a->phase > b->phase;
}

int wall_shares_make(struct wall_shares *shares, const struct report *report)
{
    *shares = (struct wall_shares){0};
    if (report->session.elapsed_ns == PROFILE_UNKNOWN || report->session.elapsed_ns > INT64_MAX ||
        report->spans.count == 0)
        return LAM_OK;
    shares->whole_ns = report->session.elapsed_ns;
    struct sharing sharing = {.shares = shares, .report = report};
    int rc = add_all(&sharing);
    if (rc == LAM_OK)
        rc = sweep(&sharing);
    map_free(&sharing.ids);
    array_free(&sharing.edges);
    array_free(&sharing.working);
    array_free(&sharing.running);
    array_sort(&shares->items, compare_shares);
    return rc;
}

void wall_shares_free(struct wall_shares *shares)
{
    array_free(&shares->items);
}

uint64_t wall_share_of_unit(const struct wall_shares *shares, uint32_t unit)
{
    size_t low = 0, high = shares->items.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (shares->items.items[middle].unit < unit)
            low = middle + 1;
        else
            high = middle;
    }
    uint64_t sum = 0;
    for (; low < shares->items.count && shares->items.items[low].unit == unit; low++)
        sum += shares->items.items[low].ns;
    return sum;
}

uint64_t wall_share_of_phase(const struct wall_shares *shares, uint32_t phase)
{
    uint64_t sum = 0;
    array_each(&shares->items, share) sum += share->phase == phase ? share->ns : 0;
    return sum;
}
