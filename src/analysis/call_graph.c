#include "analysis/call_graph.h"

#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"

static void add_to(struct call_amount *to, struct call_amount amount)
{
    to->ns += amount.ns;
    to->samples += amount.samples;
}

static void take_from(struct call_amount *from, struct call_amount amount)
{
    from->ns -= amount.ns;
    from->samples -= amount.samples;
}

int call_graph_add(struct call_graph *graph, const struct call_node *node)
{
    static const struct call_node around_all = {.name = CALL_NOBODY};
    if (graph->nodes.count == 0 && array_push(&graph->nodes, around_all) < 0)
        return LAM_E_NOMEM;
    if (node->parent >= graph->nodes.count || graph->nodes.count >= UINT32_MAX ||
        (node->parent && graph->nodes.items[node->parent].name == CALL_NOBODY))
        return LAM_E_INVAL;
    if (node->name != CALL_NOBODY && node->name >= graph->functions.count &&
        array_resize(&graph->functions, (size_t)node->name + 1) < 0)
        return LAM_E_NOMEM;
    return array_push(&graph->nodes, *node);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* Of a node, while the tree is walked. */
struct place {
    uint32_t first_child, next;
    uint32_t before; /* the node of the same name around it; 0: it is the outermost */
    uint32_t edge;   /* from its parent's name to its own */
    struct call_amount total;
};

struct walk {
    struct call_graph *graph;
    struct place *places; /* by node */
    uint32_t *innermost; /* by name: the node of that name on the way to where the walk is; 0: none */
    uint32_t *inside;    /* by node on that way: the next one on it */
    struct map edges;    /* caller << 32 | callee → index */
};

/* Sums of everything inside, and lists of children: they stand behind their parents. */
static void link_children(struct walk *walk)
{
    const struct call_graph *graph = walk->graph;
    for (uint32_t i = (uint32_t)graph->nodes.count; i-- > 1;) {
        const struct call_node *node = &graph->nodes.items[i];
        struct place *place = &walk->places[i], *parent = &walk->places[node->parent];
        if (node->name == CALL_NOBODY)
            continue;
        add_to(&place->total, node->self);
        add_to(&parent->total, place->total);
        place->next = parent->first_child;
        parent->first_child = i;
    }
}

static int find_edge(struct walk *walk, uint32_t caller, uint32_t callee, uint32_t *out)
{
    struct call_edges *edges = &walk->graph->edges;
    bool added;
    uint64_t *slot = map_slot(&walk->edges, (uint64_t)caller << 32 | callee, edges->count, &added);
    struct call_edge fresh = {.caller = caller, .callee = callee};
    if (!slot || (added && array_push(edges, fresh) < 0))
        return LAM_E_NOMEM;
    *out = (uint32_t)*slot;
    return LAM_OK;
}

static int enter(struct walk *walk, uint32_t at)
{
    struct call_graph *graph = walk->graph;
    const struct call_node *node = &graph->nodes.items[at];
    struct call_function *function = &graph->functions.items[node->name];
    struct place *place = &walk->places[at];
    int rc = find_edge(walk, graph->nodes.items[node->parent].name, node->name, &place->edge);
    if (rc < 0)
        return rc;
    struct call_edge *edge = &graph->edges.items[place->edge];
    walk->inside[node->parent] = at;
    place->before = walk->innermost[node->name];
    walk->innermost[node->name] = at;
    function->is_there |= node->count > 0 || place->total.ns > 0 || place->total.samples > 0;
    function->count += node->count;
    edge->count += node->count;
    add_to(&function->self, node->self);
    add_to(&edge->self, node->self);
    add_to(&edge->below, place->total);
    if (place->before) {
        /* Inside of another one, which is told of what is below by this one from here on. */
        uint32_t on_the_way = walk->inside[place->before];
        take_from(&graph->edges.items[walk->places[on_the_way].edge].below, place->total);
    } else {
        add_to(&function->total, place->total);
        add_to(&edge->time, place->total);
    }
    return LAM_OK;
}

/* Depth first, without recursion: stacks may be deep. */
static int walk_all(struct walk *walk)
{
    uint32_t at = walk->places[0].first_child;
    while (at) {
        int rc = enter(walk, at);
        if (rc < 0)
            return rc;
        uint32_t next = walk->places[at].first_child;
        while (!next && at) {
            walk->innermost[walk->graph->nodes.items[at].name] = walk->places[at].before;
            next = walk->places[at].next;
            at = next ? next : walk->graph->nodes.items[at].parent;
        }
        at = next;
    }
    return LAM_OK;
}

static uint64_t order_of(const struct call_amount *amount)
{
    return amount->ns ? amount->ns : amount->samples;
}

static int compare_edges(const struct call_edge *a, const struct call_edge *b, uint64_t first,
                         uint64_t second)
{
    if (first != second)
        return first > second ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    return a->callee < b->callee ? -1 : a->callee > b->callee;
}

static int compare_time(const void *left, const void *right)
{
    const struct call_edge *a = left, *b = right;
    return compare_edges(a, b, order_of(&a->time), order_of(&b->time));
}

static int compare_below(const void *left, const void *right)
{
    const struct call_edge *a = left, *b = right;
    return compare_edges(a, b, order_of(&a->below), order_of(&b->below));
}

static uint32_t end_of(const struct call_edge *edge, bool is_caller)
{
    return is_caller ? edge->caller : edge->callee;
}

/* Counts, then places. Nobody is not in it. */
static int make_index(const struct call_graph *graph, bool of_callers, struct call_index *index)
{
    if (array_resize(&index->first, graph->functions.count + 2) < 0 ||
        array_resize(&index->list, graph->edges.count) < 0)
        return LAM_E_NOMEM;
    uint32_t *first =
        index->first.items; /* [n + 2] counts; then [n + 1] is where the next of n goes */
    array_each(&graph->edges, edge)
    {
        uint32_t name = end_of(edge, of_callers);
        if (name != CALL_NOBODY)
            first[name + 2]++;
    }
    for (size_t i = 2; i < index->first.count; i++)
        first[i] += first[i - 1];
    for (uint32_t i = 0; i < graph->edges.count; i++) {
        uint32_t name = end_of(&graph->edges.items[i], of_callers);
        if (name != CALL_NOBODY)
            index->list.items[first[name + 1]++] = i;
    }
    return LAM_OK;
}

int call_graph_finish(struct call_graph *graph)
{
    size_t nodes = graph->nodes.count;
    struct walk walk = {
        .graph = graph,
        .places = mem_zalloc(nodes + 1, sizeof *walk.places),
        .innermost = mem_zalloc(graph->functions.count + 1, sizeof *walk.innermost),
        .inside = mem_zalloc(nodes + 1, sizeof *walk.inside),
    };
    int rc = walk.places && walk.innermost && walk.inside ? LAM_OK : LAM_E_NOMEM;
    if (rc == LAM_OK) {
        link_children(&walk);
        graph->all = walk.places[0].total;
        rc = walk_all(&walk);
    }
    array_sort(&graph->edges, compare_time);
    if (rc == LAM_OK)
        rc = make_index(graph, false, &graph->by_callee);
    if (rc == LAM_OK)
        rc = make_index(graph, true, &graph->by_caller);
    map_free(&walk.edges);
    mem_free(walk.places);
    mem_free(walk.innermost);
    mem_free(walk.inside);
    return rc;
}

static int take_edges(const struct call_graph *graph, const struct call_index *index,
                      struct call_around *around, struct call_edges *edges)
{
    int rc = LAM_OK;
    for (uint32_t i = index->first.items[around->name];
         rc == LAM_OK && i < index->first.items[around->name + 1]; i++) {
        const struct call_edge *edge = &graph->edges.items[index->list.items[i]];
        if (edge->caller == edge->callee)
            around->calls_of_itself = edge->count;
        else if (edge->count > 0 || order_of(&edge->time) > 0 || order_of(&edge->below) > 0)
            rc = array_push(edges, *edge); /* else a part of stacks in which nothing was seen */
    }
    return rc;
}

int call_graph_around(const struct call_graph *graph, uint32_t name, struct call_around *around)
{
    *around = (struct call_around){.name = name, .function = &graph->functions.items[name]};
    int rc = take_edges(graph, &graph->by_callee, around, &around->callers);
    if (rc == LAM_OK)
        rc = take_edges(graph, &graph->by_caller, around, &around->callees);
    array_sort(&around->callees, compare_below);
    return rc;
}

void call_around_free(struct call_around *around)
{
    array_free(&around->callers);
    array_free(&around->callees);
}

void call_graph_free(struct call_graph *graph)
{
    array_free(&graph->nodes);
    array_free(&graph->functions);
    array_free(&graph->edges);
    array_free(&graph->by_callee.first);
    array_free(&graph->by_callee.list);
    array_free(&graph->by_caller.first);
    array_free(&graph->by_caller.list);
}
