#include <math.h>

#include "analysis/build_graph_inside.h"
#include "base/memory.h"

struct teller {
    const struct report *report;
    const struct cargo_record *cargo;
    uint32_t *unit_of; /* by cargo unit; GRAPH_NONE: no process of it was recorded */
    struct told_edges *edges;
};

static int tell(struct teller *teller, uint32_t cargo_unit, uint32_t cargo_dep,
                enum build_need need, bool is_by_chance)
{
    size_t count = teller->cargo->units.count;
    uint32_t unit = cargo_unit < count ? teller->unit_of[cargo_unit] : GRAPH_NONE,
             dep = cargo_dep < count ? teller->unit_of[cargo_dep] : GRAPH_NONE;
    if (unit == GRAPH_NONE || dep == GRAPH_NONE)
        return LAM_OK;
    if (teller->cargo->units.items[cargo_dep].job == CARGO_JOB_RUN_SCRIPT)
        need = NEED_RUN;
    struct build_edge edge = {.unit = unit, .dep = dep, .need = need, .is_by_chance = is_by_chance};
    return array_push(teller->edges, edge);
}

static int tell_of(struct teller *teller, uint32_t index)
{
    const struct cargo_unit *unit = &teller->cargo->units.items[index];
    int rc = LAM_OK;
    for (size_t i = 0; rc == LAM_OK && i < unit->unblocked_rmeta.count; i++)
        rc = tell(teller, unit->unblocked_rmeta.items[i], index, NEED_METADATA, true);
    for (size_t i = 0; rc == LAM_OK && i < unit->unblocked.count; i++)
        rc = tell(teller, unit->unblocked.items[i], index, NEED_FILE, true);
    /* What is needed of a dependency the command line says better, but for what is on none: one script's run before another's. */
    for (size_t i = 0; rc == LAM_OK && i < unit->deps.count; i++)
        if (unit->deps.items[i] < teller->cargo->units.count &&
            teller->cargo->units.items[unit->deps.items[i]].job == CARGO_JOB_RUN_SCRIPT)
            rc = tell(teller, index, unit->deps.items[i], NEED_RUN, false);
    return rc;
}

static int compare_edges(const void *left, const void *right)
{
    const struct build_edge *a = left, *b = right;
    if (a->unit != b->unit)
        return a->unit < b->unit ? -1 : 1;
    return a->dep < b->dep ? -1 : a->dep > b->dep;
}

int build_graph_cargo_edges(const struct report *report, struct told_edges *edges)
{
    if (!report->cargo)
        return LAM_OK;
    size_t count = report->cargo->units.count;
    struct teller teller = {.report = report, .cargo = report->cargo, .edges = edges};
    teller.unit_of = mem_alloc((count + 1) * sizeof *teller.unit_of);
    if (!teller.unit_of)
        return LAM_E_NOMEM;
    for (size_t i = 0; i < count; i++)
        teller.unit_of[i] = GRAPH_NONE;
    for (uint32_t i = 0; i < report->units.count; i++)
        if (report->units.items[i].cargo < count)
            teller.unit_of[report->units.items[i].cargo] = i;
    int rc = LAM_OK;
    for (uint32_t i = 0; rc == LAM_OK && i < count; i++)
        rc = tell_of(&teller, i);
    mem_free(teller.unit_of);
    array_sort(edges, compare_edges);
    return rc;
}

void build_graph_cargo_metadata(struct report *report)
{
    for (uint32_t i = 0; i < report->units.count; i++) {
        const struct cargo_unit *cargo = report_cargo_unit(report, &report->units.items[i]);
        struct build_node *node = &report->graph.nodes.items[i];
        if (!cargo || isnan(cargo->rmeta_s) || isnan(cargo->start_s))
            continue;
        int64_t at_ns = report_cargo_ns(report, cargo->start_s + cargo->rmeta_s);
        if (at_ns <= node->start_ns || at_ns >= node->end_ns)
            continue;
        node->rmeta_ns = at_ns;
        node->rmeta_from = RMETA_CARGO;
    }
}
