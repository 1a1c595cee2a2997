/* The longest chain of a build, and how much later each unit could have ended. A unit is three events (start, metadata, end) and a
 * fourth, objects: it and all libraries below it have ended. In the order of their starts units are in topological order, for an
 * edge's dep began first. */
#include "analysis/build_graph.h"
#include "base/memory.h"

enum event { EVENT_START, EVENT_METADATA, EVENT_END, EVENT_OBJECTS, EVENTS };

struct moment {
    int64_t early_ns, late_ns; /* at the earliest; at the latest without making the chain longer */
    uint32_t from;             /* what it waits for: unit * EVENTS + event; GRAPH_NONE */
};

struct place {
    int64_t start_ns;
    uint32_t unit;
};

struct plan {
    struct build_graph *graph;
    LAM_ARRAY(struct place) order;
    LAM_ARRAY(struct moment) moments; /* unit * EVENTS + event */
};

static enum event event_of(enum build_need need)
{
    return need == NEED_METADATA  ? EVENT_METADATA
           : need == NEED_OBJECTS ? EVENT_OBJECTS
                                  : EVENT_END;
}

/* When it was there in the build that happened. */
static int64_t seen_ns(const struct build_node *node, enum build_need need)
{
    return need == NEED_METADATA  ? node->rmeta_ns
           : need == NEED_OBJECTS ? node->objects_ns
                                  : node->end_ns;
}

/* Libraries go into what is linked above them; macros and build scripts do not. */
static bool carries_objects(const struct build_edge *edge)
{
    return edge->need == NEED_METADATA || edge->need == NEED_OBJECTS;
}

static struct moment *moment_of(struct plan *plan, uint32_t unit, enum event event)
{
    return &plan->moments.items[unit * EVENTS + (uint32_t)event];
}

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static int make_order(struct plan *plan)
{
    struct build_graph *graph = plan->graph;
    for (uint32_t i = 0; i < graph->nodes.count; i++) {
        const struct build_node *node = &graph->nodes.items[i];
        struct place place = {node->start_ns, i};
        if (node->inside == GRAPH_NONE && array_push(&plan->order, place) < 0)
            return LAM_E_NOMEM;
    }
    array_sort(&plan->order, compare_places);
    return array_resize(&plan->moments, graph->nodes.count * EVENTS);
}

/* ---- as it happened ---------------------------------------------------------------------------------------------- */

/* Each edge once more with a time: the unit that came last unblocked. Metadata may be a little late in the recording's clock. */
static void find_ready(struct plan *plan, uint32_t unit, int64_t begin_ns)
{
    enum { CLOCKS_DIFFER_NS = 5000000 };
    struct build_graph *graph = plan->graph;
    struct build_node *node = &graph->nodes.items[unit];
    node->ready_ns = begin_ns;
    node->objects_ns = node->end_ns;
    node->objects_by = unit;
    for (uint32_t i = 0; i < node->edge_count; i++) {
        struct build_edge *edge = &graph->edges.items[node->first_edge + i];
        const struct build_node *dep = &graph->nodes.items[edge->dep];
        int64_t at_ns = seen_ns(dep, edge->need);
        if (carries_objects(edge) && dep->objects_ns > node->objects_ns) {
            node->objects_ns = dep->objects_ns;
            node->objects_by = dep->objects_by;
        }
        edge->is_contradicted = at_ns > node->start_ns + CLOCKS_DIFFER_NS;
        graph->contradicted += edge->is_contradicted;
        if (edge->is_contradicted || (node->unblocked_by != GRAPH_NONE && at_ns <= node->ready_ns))
            continue;
        node->unblocked_by = edge->need == NEED_OBJECTS ? dep->objects_by : edge->dep;
        node->ready_ns = at_ns;
    }
    if (node->ready_ns > node->start_ns)
        node->ready_ns = node->start_ns;
    if (node->unblocked_by != GRAPH_NONE)
        graph->nodes.items[node->unblocked_by].unblocked++;
}

/* ---- the longest chain ------------------------------------------------------------------------------------------- */

static void advance(struct moment *moment, int64_t at_ns, uint32_t from)
{
    if (moment->from != GRAPH_NONE && at_ns <= moment->early_ns)
        return;
    moment->early_ns = at_ns;
    moment->from = from;
}

static void place_early(struct plan *plan, uint32_t unit)
{
    const struct build_graph *graph = plan->graph;
    const struct build_node *node = &graph->nodes.items[unit];
    struct moment *start = moment_of(plan, unit, EVENT_START), *rmeta = start + EVENT_METADATA,
                  *end = start + EVENT_END, *objects = start + EVENT_OBJECTS;
    uint32_t own = unit * EVENTS;
    start->from = objects->from = GRAPH_NONE;
    start->early_ns = 0;
    for (uint32_t i = 0; i < node->edge_count; i++) {
        const struct build_edge *edge = &graph->edges.items[node->first_edge + i];
        uint32_t from = edge->dep * EVENTS + (uint32_t)event_of(edge->need),
                 below = edge->dep * EVENTS + EVENT_OBJECTS;
        if (!edge->is_contradicted)
            advance(start, plan->moments.items[from].early_ns, from);
        if (carries_objects(edge))
            advance(objects, plan->moments.items[below].early_ns, below);
    }
    *rmeta = (struct moment){.early_ns = start->early_ns + node->rmeta_ns - node->start_ns,
                             .from = own + EVENT_START};
    *end = (struct moment){.early_ns = rmeta->early_ns + node->end_ns - node->rmeta_ns,
                           .from = own + EVENT_METADATA};
    advance(objects, end->early_ns, own + EVENT_END);
}

static void withdraw(struct moment *moment, int64_t late_ns)
{
    if (late_ns < moment->late_ns)
        moment->late_ns = late_ns;
}

static void place_late(struct plan *plan, uint32_t unit)
{
    struct build_graph *graph = plan->graph;
    struct build_node *node = &graph->nodes.items[unit];
    struct moment *start = moment_of(plan, unit, EVENT_START), *rmeta = start + EVENT_METADATA,
                  *end = start + EVENT_END, *objects = start + EVENT_OBJECTS;
    withdraw(end, objects->late_ns);
    withdraw(rmeta, end->late_ns - (node->end_ns - node->rmeta_ns));
    withdraw(start, rmeta->late_ns - (node->rmeta_ns - node->start_ns));
    node->slack_ns = start->late_ns - start->early_ns;
    for (uint32_t i = 0; i < node->edge_count; i++) {
        const struct build_edge *edge = &graph->edges.items[node->first_edge + i];
        if (!edge->is_contradicted)
            withdraw(moment_of(plan, edge->dep, event_of(edge->need)), start->late_ns);
        if (carries_objects(edge))
            withdraw(moment_of(plan, edge->dep, EVENT_OBJECTS), objects->late_ns);
    }
}

static int add_step(struct build_graph *graph, uint32_t unit, enum event until, enum build_need need)
{
    struct build_node *node = &graph->nodes.items[unit];
    struct build_step step = {.unit = unit,
                              .need = need,
                              .start_ns = node->start_ns,
                              .end_ns = until == EVENT_METADATA ? node->rmeta_ns : node->end_ns,
                              .waited_ns = node->start_ns - node->ready_ns};
    node->on_path = true;
    return array_push(&graph->path, step);
}

static void reverse_path(struct build_graph *graph)
{
    for (size_t low = 0, high = graph->path.count; low + 1 < high; low++, high--) {
        struct build_step step = graph->path.items[low];
        graph->path.items[low] = graph->path.items[high - 1];
        graph->path.items[high - 1] = step;
    }
}

/* From the last end back to a start that waited for nothing. */
static int trace(struct plan *plan, uint32_t last)
{
    uint32_t at = last * EVENTS + EVENT_END;
    enum build_need need = NEED_FILE;
    int rc = LAM_OK;
    while (rc == LAM_OK && at != GRAPH_NONE) {
        bool is_objects = at % EVENTS == EVENT_OBJECTS;
        while (at % EVENTS == EVENT_OBJECTS)
            at = plan->moments.items[at].from;
        uint32_t unit = at / EVENTS;
        rc = add_step(plan->graph, unit, (enum event)(at % EVENTS), is_objects ? NEED_OBJECTS : need);
        at = moment_of(plan, unit, EVENT_START)->from;
        need = at != GRAPH_NONE && at % EVENTS == EVENT_METADATA ? NEED_METADATA : NEED_FILE;
    }
    reverse_path(plan->graph);
    return rc;
}

static int measure(struct plan *plan)
{
    struct build_graph *graph = plan->graph;
    uint32_t last = GRAPH_NONE;
    int64_t begin_ns = plan->order.count ? plan->order.items[0].start_ns : 0;
    array_each(&plan->order, place)
    {
        find_ready(plan, place->unit, begin_ns);
        place_early(plan, place->unit);
        int64_t end_ns = moment_of(plan, place->unit, EVENT_END)->early_ns;
        if (last != GRAPH_NONE && end_ns <= graph->critical_path_ns)
            continue;
        last = place->unit;
        graph->critical_path_ns = end_ns;
    }
    array_each(&plan->moments, moment) moment->late_ns = graph->critical_path_ns;
    for (size_t i = plan->order.count; i > 0; i--)
        place_late(plan, plan->order.items[i - 1].unit);
    return last == GRAPH_NONE ? LAM_OK : trace(plan, last);
}

int build_graph_measure(struct build_graph *graph)
{
    struct plan plan = {.graph = graph};
    int rc = make_order(&plan);
    if (rc == LAM_OK)
        rc = measure(&plan);
    array_free(&plan.order);
    array_free(&plan.moments);
    return rc;
}
