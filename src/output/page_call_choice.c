#include "output/page_call_choice.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"

static uint64_t order_of(const struct call_amount *amount)
{
    return amount->ns ? amount->ns : amount->samples;
}

static int compare_sizes(uint64_t a, uint64_t b, uint32_t a_id, uint32_t b_id)
{
    return a != b ? (a > b ? -1 : 1) : a_id < b_id ? -1 : a_id > b_id;
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static int compare_functions(const void *left, const void *right, void *ctx)
{
    const struct call_graph *graph = ctx;
    uint32_t a = ((const struct page_call_function *)left)->name,
             b = ((const struct page_call_function *)right)->name;
    return compare_sizes(order_of(&graph->functions.items[a].total),
                         order_of(&graph->functions.items[b].total), a, b);
}

static int choose_functions(struct page_call_choice *choice, const struct call_graph *graph,
                            size_t most)
{
    size_t count = graph->functions.count;
    if (array_resize(&choice->row_of, count) < 0)
        return LAM_E_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        choice->row_of.items[i] = PAGE_CALL_NO_ROW;
        if (graph->functions.items[i].is_there &&
            array_push(&choice->functions, (struct page_call_function){.name = i}) < 0)
            return LAM_E_NOMEM;
    }
    if (choice->functions.count > 1)
        qsort_r(choice->functions.items, choice->functions.count, sizeof *choice->functions.items,
                compare_functions, (void *)(uintptr_t)graph);
    if (choice->functions.count > most) {
        choice->functions_left = choice->functions.count - most;
        choice->functions.count = most;
    }
    for (uint32_t i = 0; i < choice->functions.count; i++)
        choice->row_of.items[choice->functions.items[i].name] = i;
    return LAM_OK;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

struct ranking {
    struct page_call_choice *choice;
    const struct call_graph *graph;
    uint32_t *ranks; /* by edge: its place among the callers or the callees of a function, whichever is better */
    LAM_ARRAY(uint32_t) neighbours; /* edges of one function */
};

/* A part of stacks in which nothing was seen is no call. */
static bool is_seen(const struct call_edge *edge)
{
    return edge->count > 0 || order_of(&edge->time) > 0 || order_of(&edge->below) > 0;
}

static int compare_below(const void *left, const void *right, void *ctx)
{
    const struct call_edge *edges = ((const struct call_graph *)ctx)->edges.items;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return compare_sizes(order_of(&edges[a].below), order_of(&edges[b].below), a, b);
}

/* The edges on one side of a function into ranking.neighbours, the largest first: edges of a graph are in the order of what counts for
 * callers. */
static int find_neighbours(struct ranking *in, struct page_call_function *function, bool are_callers)
{
    const struct call_index *index = are_callers ? &in->graph->by_callee : &in->graph->by_caller;
    array_clear(&in->neighbours);
    for (uint32_t i = index->first.items[function->name];
         i < index->first.items[function->name + 1]; i++) {
        uint32_t at = index->list.items[i];
        const struct call_edge *edge = &in->graph->edges.items[at];
        if (edge->caller == edge->callee)
            function->calls_of_itself = edge->count;
        else if (is_seen(edge) && array_push(&in->neighbours, at) < 0)
            return LAM_E_NOMEM;
    }
    if (!are_callers && in->neighbours.count > 1)
        qsort_r(in->neighbours.items, in->neighbours.count, sizeof *in->neighbours.items,
                compare_below, (void *)(uintptr_t)in->graph);
    return LAM_OK;
}

static bool is_kept_name(const struct page_call_choice *choice, uint32_t name)
{
    return name == CALL_NOBODY || choice->row_of.items[name] != PAGE_CALL_NO_ROW;
}

/* Edges with both ends in the page, by how soon they come on either side. */
static int rank_edges(struct ranking *in)
{
    array_each(&in->choice->functions, function)
    {
        for (int side = 0; side < 2; side++) {
            int rc = find_neighbours(in, function, side == 0);
            if (rc < 0)
                return rc;
            *(side == 0 ? &function->callers : &function->callees) = (uint32_t)in->neighbours.count;
            uint32_t rank = 0;
            array_each(&in->neighbours, at)
            {
                const struct call_edge *edge = &in->graph->edges.items[*at];
                if (!is_kept_name(in->choice, edge->caller) ||
                    !is_kept_name(in->choice, edge->callee))
                    continue;
                if (rank < in->ranks[*at])
                    in->ranks[*at] = rank;
                rank++;
            }
        }
    }
    return LAM_OK;
}

/* How many of each function's largest fit. */
static uint32_t choose_rank(const struct ranking *in, size_t most)
{
    uint32_t least = 0, beyond = UINT32_MAX;
    while (least + 1 <
           beyond) { /* those below `least` fit, or there is but one of each; those below `beyond` do not */
        uint32_t middle = least + (beyond - least) / 2;
        size_t count = 0;
        for (size_t i = 0; i < in->graph->edges.count; i++)
            count += in->ranks[i] < middle;
        if (count <= most || middle == 1)
            least = middle;
        else
            beyond = middle;
    }
    return least;
}

static int compare_pairs(const void *left, const void *right, void *ctx)
{
    const struct ranking *in = ctx;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint32_t a_row = in->choice->row_of.items[in->graph->edges.items[a].callee],
             b_row = in->choice->row_of.items[in->graph->edges.items[b].callee];
    return a_row != b_row ? (a_row < b_row ? -1 : 1) : a < b ? -1 : a > b;
}

static int choose_pairs(struct page_call_choice *choice, const struct call_graph *graph, size_t most)
{
    size_t edges = graph->edges.count, seen = 0;
    struct ranking in = {choice, graph, mem_alloc((edges + 1) * sizeof *in.ranks), {0}};
    int rc = in.ranks ? LAM_OK : LAM_E_NOMEM;
    for (size_t i = 0; rc == LAM_OK && i < edges; i++)
        in.ranks[i] = UINT32_MAX;
    if (rc == LAM_OK)
        rc = rank_edges(&in);
    uint32_t below = rc == LAM_OK ? choose_rank(&in, most) : 0;
    for (uint32_t i = 0; rc == LAM_OK && i < edges; i++) {
        const struct call_edge *edge = &graph->edges.items[i];
        seen += edge->caller != edge->callee && is_seen(edge);
        if (in.ranks[i] < below)
            rc = array_push(&choice->pairs, i);
    }
    choice->pairs_left = seen - choice->pairs.count;
    if (choice->pairs.count > 1)
        qsort_r(choice->pairs.items, choice->pairs.count, sizeof *choice->pairs.items,
                compare_pairs, &in);
    array_free(&in.neighbours);
    mem_free(in.ranks);
    return rc;
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

struct branches {
    struct page_call_choice *choice;
    const struct call_graph *graph;
    struct call_amount *totals;   /* by node */
    uint32_t *first_child, *next; /* by node, of those that are kept */
    LAM_ARRAY(uint32_t) by_size;  /* nodes */
};

static int compare_nodes(const void *left, const void *right, void *ctx)
{
    const struct call_amount *totals = ctx;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return compare_sizes(order_of(&totals[a]), order_of(&totals[b]), a, b);
}

static bool is_function(const struct branches *in, uint32_t node)
{
    return in->graph->nodes.items[node].name != CALL_NOBODY;
}

/* Totals; then nodes by size. Parents stand before their children, and have at least as much. */
static int sort_nodes(struct branches *in)
{
    const struct call_graph *graph = in->graph;
    for (uint32_t i = (uint32_t)graph->nodes.count; i-- > 1;) {
        struct call_amount *total = &in->totals[i],
                           *parent = &in->totals[graph->nodes.items[i].parent];
        if (!is_function(in, i))
            continue;
        total->ns += graph->nodes.items[i].self.ns;
        total->samples += graph->nodes.items[i].self.samples;
        parent->ns += total->ns;
        parent->samples += total->samples;
        if (order_of(total) > 0 && array_push(&in->by_size, i) < 0)
            return LAM_E_NOMEM;
    }
    if (in->by_size.count > 1)
        qsort_r(in->by_size.items, in->by_size.count, sizeof *in->by_size.items, compare_nodes,
                in->totals);
    return LAM_OK;
}

/* The largest, up to the first whose function is not in the page: what is behind it is smaller. Those that come last are put first among
 * the children of theirs. */
static void link_nodes(struct branches *in, size_t most)
{
    size_t count = 0;
    while (count < in->by_size.count && count < most &&
           is_kept_name(in->choice, in->graph->nodes.items[in->by_size.items[count]].name))
        count++;
    in->choice->nodes_left = in->by_size.count - count;
    while (count-- > 0) {
        uint32_t at = in->by_size.items[count], parent = in->graph->nodes.items[at].parent;
        in->next[at] = in->first_child[parent];
        in->first_child[parent] = at;
    }
}

/* In preorder, without recursion: stacks may be deep. */
static int list_nodes(struct branches *in)
{
    uint32_t at = in->first_child[0], depth = 1;
    while (at) {
        struct page_call_node node = {at, depth, in->totals[at]};
        if (array_push(&in->choice->tree, node) < 0)
            return LAM_E_NOMEM;
        uint32_t next = in->first_child[at];
        depth += next != 0;
        while (!next && at) {
            next = in->next[at];
            at = in->graph->nodes.items[at].parent;
            depth -= !next;
        }
        at = next;
    }
    return LAM_OK;
}

static int choose_branches(struct page_call_choice *choice, const struct call_graph *graph,
                           size_t most)
{
    size_t nodes = graph->nodes.count + 1;
    if (most == 0)
        return LAM_OK;
    struct branches in = {.choice = choice,
                          .graph = graph,
                          .totals = mem_zalloc(nodes, sizeof *in.totals),
                          .first_child = mem_zalloc(nodes, sizeof *in.first_child),
                          .next = mem_zalloc(nodes, sizeof *in.next)};
    int rc = in.totals && in.first_child && in.next ? sort_nodes(&in) : LAM_E_NOMEM;
    if (rc == LAM_OK) {
        link_nodes(&in, most);
        rc = list_nodes(&in);
    }
    array_free(&in.by_size);
    mem_free(in.totals);
    mem_free(in.first_child);
    mem_free(in.next);
    return rc;
}

int page_call_choose(struct page_call_choice *choice, const struct call_graph *graph,
                     const struct page_call_bounds *bounds)
{
    int rc = choose_functions(choice, graph, bounds->functions);
    if (rc == LAM_OK)
        rc = choose_pairs(choice, graph, bounds->pairs);
    return rc == LAM_OK ? choose_branches(choice, graph, bounds->nodes) : rc;
}

void page_call_choice_free(struct page_call_choice *choice)
{
    array_free(&choice->functions);
    array_free(&choice->row_of);
    array_free(&choice->pairs);
    array_free(&choice->tree);
}
