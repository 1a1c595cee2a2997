#include "analysis/idle_stretches.h"

#include "analysis/report_state.h"
#include "base/memory.h"

enum {
    SHORTEST_NS = 50000000,
    EXPLAINED_MAX =
        1000, /* stretches whose waiting units are looked for: each is a walk over the graph */
};

struct looking {
    struct idle_stretches *idle;
    const struct report *report;
    struct work_stretches units; /* when the outermost units ran; worker: the unit */
    struct work_sweep threads_sweep, units_sweep;
    double cores;
    uint32_t *first_of, *by_dep; /* edges by dep: first_of has one item more than there are units */
    uint32_t *seen, *queue;
    uint32_t round;
};

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* ---- where ------------------------------------------------------------------------------------------------------- */

static int add_units(struct looking *looking)
{
    const struct build_graph *graph = &looking->report->graph;
    int rc = LAM_OK;
    for (uint32_t i = 0; rc == LAM_OK && i < graph->nodes.count; i++) {
        const struct build_node *node = &graph->nodes.items[i];
        struct work_stretch life = {node->start_ns, node->end_ns, i};
        size_t none = SIZE_MAX;
        if (node->inside == GRAPH_NONE)
            rc = work_stretch_add(&looking->units, life, &none);
    }
    return rc;
}

/* Of the time from start to end, what the cores could have done and did not. Steps of threads are taken in order: *step is the
 * one that may reach into the next time. */
static double idle_in(struct looking *looking, struct work_step *step, bool *has_step,
                      int64_t start_ns, int64_t end_ns, int64_t *idle_ns)
{
    double idle_s = 0;
    int64_t at_ns = start_ns;
    *idle_ns = 0;
    while (at_ns < end_ns) {
        while (*has_step && step->end_ns <= at_ns)
            *has_step = work_sweep_next(&looking->threads_sweep, step);
        bool is_inside = *has_step && step->start_ns <= at_ns;
        int64_t until_ns = is_inside ? step->end_ns : *has_step ? step->start_ns : end_ns;
        until_ns = until_ns < end_ns ? until_ns : end_ns;
        double free = looking->cores - (is_inside ? (double)step->working : 0);
        if (free > 0) {
            idle_s += free * seconds(until_ns - at_ns);
            *idle_ns += until_ns - at_ns;
        }
        at_ns = until_ns;
    }
    return idle_s;
}

static int keep(struct looking *looking, const struct idle_stretch *stretch)
{
    double length_s = seconds(stretch->end_ns - stretch->start_ns);
    bool is_worth_it = stretch->end_ns - stretch->start_ns >= SHORTEST_NS &&
                       stretch->idle_core_s >= 0.25 * looking->cores * length_s;
    return is_worth_it ? array_push(&looking->idle->items, *stretch) : LAM_OK;
}

/* Times in which one and the same unit ran alone are one, whatever others did for a moment in between. */
static int sweep(struct looking *looking)
{
    struct work_step units, threads = {0};
    struct idle_stretch open = {.end_ns = -1};
    bool has_threads = work_sweep_next(&looking->threads_sweep, &threads);
    int rc = LAM_OK;
    while (rc == LAM_OK && work_sweep_next(&looking->units_sweep, &units)) {
        int64_t idle_ns;
        struct idle_stretch stretch = {.start_ns = units.start_ns,
                                       .end_ns = units.end_ns,
                                       .running = (uint32_t)units.working,
                                       .unit = units.working == 1 ? units.only : GRAPH_NONE,
                                       .next = GRAPH_NONE};
        stretch.idle_core_s =
            idle_in(looking, &threads, &has_threads, units.start_ns, units.end_ns, &idle_ns);
        looking->idle->idle_core_s += stretch.idle_core_s;
        looking->idle->seconds += seconds(idle_ns);
        bool is_same = open.end_ns == stretch.start_ns && open.running == stretch.running &&
                       open.unit == stretch.unit && stretch.running <= 1;
        if (is_same) {
            open.end_ns = stretch.end_ns;
            open.idle_core_s += stretch.idle_core_s;
            continue;
        }
        if (open.end_ns >= 0)
            rc = keep(looking, &open);
        open = stretch;
    }
    return rc == LAM_OK && open.end_ns >= 0 ? keep(looking, &open) : rc;
}

static int compare_stretches(const void *left, const void *right)
{
    const struct idle_stretch *a = left, *b = right;
    if (a->idle_core_s != b->idle_core_s)
        return a->idle_core_s > b->idle_core_s ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* ---- why --------------------------------------------------------------------------------------------------------- */

static int index_edges(struct looking *looking)
{
    const struct build_graph *graph = &looking->report->graph;
    size_t units = graph->nodes.count;
    looking->first_of = mem_zalloc(units + 2, sizeof *looking->first_of);
    looking->by_dep = mem_zalloc(graph->edges.count + 1, sizeof *looking->by_dep);
    looking->seen = mem_zalloc(units + 1, sizeof *looking->seen);
    looking->queue = mem_zalloc(units + 1, sizeof *looking->queue);
    if (!looking->first_of || !looking->by_dep || !looking->seen || !looking->queue)
        return LAM_E_NOMEM;
    array_each(&graph->edges, edge) looking->first_of[edge->dep + 2]++;
    for (size_t i = 2; i < units + 2; i++)
        looking->first_of[i] += looking->first_of[i - 1];
    for (uint32_t i = 0; i < graph->edges.count; i++)
        looking->by_dep[looking->first_of[graph->edges.items[i].dep + 1]++] = i;
    return LAM_OK;
}

/* Of several that ran the one that ended with the stretch. */
static uint32_t ended_at(const struct looking *looking, const struct idle_stretch *stretch)
{
    const struct build_graph *graph = &looking->report->graph;
    for (uint32_t i = 0; i < graph->nodes.count; i++)
        if (graph->nodes.items[i].inside == GRAPH_NONE &&
            graph->nodes.items[i].end_ns == stretch->end_ns)
            return i;
    return GRAPH_NONE;
}

/* All units above it that had not begun. */
static void find_blocked(struct looking *looking, struct idle_stretch *stretch)
{
    const struct build_graph *graph = &looking->report->graph;
    size_t count = 1;
    looking->round++;
    looking->queue[0] = stretch->unit;
    looking->seen[stretch->unit] = looking->round;
    for (size_t at = 0; at < count; at++)
        for (uint32_t i = looking->first_of[looking->queue[at]];
             i < looking->first_of[looking->queue[at] + 1]; i++) {
            uint32_t unit = graph->edges.items[looking->by_dep[i]].unit;
            if (looking->seen[unit] == looking->round)
                continue;
            looking->seen[unit] = looking->round;
            looking->queue[count++] = unit;
            const struct build_node *node = &graph->nodes.items[unit];
            stretch->blocked +=
                node->start_ns > stretch->start_ns && node->ready_ns > stretch->start_ns;
        }
}

static void explain(struct looking *looking, struct idle_stretch *stretch)
{
    const struct build_graph *graph = &looking->report->graph;
    if (stretch->running > 1)
        stretch->unit = ended_at(looking, stretch);
    for (uint32_t i = 0; i < graph->nodes.count; i++) {
        const struct build_node *node = &graph->nodes.items[i];
        if (node->inside != GRAPH_NONE || node->start_ns <= stretch->start_ns)
            continue;
        stretch->ready += node->ready_ns <= stretch->start_ns && node->start_ns >= stretch->end_ns;
        bool is_next = stretch->unit != GRAPH_NONE && node->unblocked_by == stretch->unit &&
                       node->start_ns >= stretch->end_ns;
        if (is_next && (stretch->next == GRAPH_NONE ||
                        node->start_ns < graph->nodes.items[stretch->next].start_ns))
            stretch->next = i;
    }
    if (stretch->unit != GRAPH_NONE)
        find_blocked(looking, stretch);
}

static int look(struct looking *looking)
{
    const struct report_state *state = (const struct report_state *)looking->report;
    int rc = add_units(looking);
    if (rc == LAM_OK)
        rc = work_sweep_open(&looking->threads_sweep, &state->work);
    if (rc == LAM_OK)
        rc = work_sweep_open(&looking->units_sweep, &looking->units);
    if (rc == LAM_OK)
        rc = index_edges(looking);
    if (rc == LAM_OK)
        rc = sweep(looking);
    array_sort(&looking->idle->items, compare_stretches);
    for (size_t i = 0; rc == LAM_OK && i < looking->idle->items.count && i < EXPLAINED_MAX; i++)
        explain(looking, &looking->idle->items.items[i]);
    return rc;
}

int idle_stretches_make(struct idle_stretches *idle, const struct report *report)
{
    struct looking looking = {.idle = idle, .report = report, .cores = report->session.cores};
    *idle = (struct idle_stretches){0};
    if (report->session.cores < 2 || report->graph.path.count == 0)
        return LAM_OK;
    int rc = look(&looking);
    array_free(&looking.units);
    work_sweep_close(&looking.threads_sweep);
    work_sweep_close(&looking.units_sweep);
    mem_free(looking.first_of);
    mem_free(looking.by_dep);
    mem_free(looking.seen);
    mem_free(looking.queue);
    return rc;
}

void idle_stretches_free(struct idle_stretches *idle)
{
    array_free(&idle->items);
}
