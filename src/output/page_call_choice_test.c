/* What is kept of trees that chance made: the largest, within bounds, with all that is above it. */
#include "output/page_call_choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NODES = 400, NAMES = 60 };

static uint32_t seed;

static uint32_t any(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(seed >> 8) * below >> 24);
}

static void make_graph(struct call_graph *graph)
{
    *graph = (struct call_graph){0};
    for (uint32_t i = 1; i < NODES; i++) {
        struct call_node node = {.parent = any(i), .name = any(NAMES), .count = 1 + any(5)};
        node.self.ns = any(3) ? any(1000) : 0;
        assert_int_equal(call_graph_add(graph, &node), LAM_OK);
    }
    assert_int_equal(call_graph_finish(graph), LAM_OK);
}

static size_t seen_pairs(const struct call_graph *graph)
{
    size_t seen = 0;
    array_each(&graph->edges, edge) seen += edge->caller != edge->callee;
    return seen;
}

/* The largest functions; and of each what call_graph_around() has of it. */
static void check_functions(const struct page_call_choice *choice, const struct call_graph *graph,
                            size_t most)
{
    assert_int_equal(choice->functions.count + choice->functions_left, NAMES);
    assert_int_equal(choice->functions.count, most < NAMES ? most : NAMES);
    for (uint32_t i = 0; i < choice->functions.count; i++) {
        const struct page_call_function *kept = &choice->functions.items[i];
        uint64_t total = graph->functions.items[kept->name].total.ns;
        struct call_around around;
        assert_int_equal(choice->row_of.items[kept->name], i);
        assert_true(i == 0 || total <= graph->functions.items[kept[-1].name].total.ns);
        assert_int_equal(call_graph_around(graph, kept->name, &around), LAM_OK);
        assert_int_equal(kept->calls_of_itself, around.calls_of_itself);
        assert_int_equal(kept->callers, around.callers.count);
        assert_int_equal(kept->callees, around.callees.count);
        call_around_free(&around);
    }
}

/* None of a function that is not kept, by the callee, the largest first. */
static void check_pairs(const struct page_call_choice *choice, const struct call_graph *graph,
                        size_t most)
{
    size_t kept_callers[NAMES] = {0}, kept_callees[NAMES] = {0};
    assert_int_equal(choice->pairs.count + choice->pairs_left, seen_pairs(graph));
    assert_true(choice->pairs.count <= most || choice->pairs.count <= 2 * choice->functions.count);
    for (size_t i = 0; i < choice->pairs.count; i++) {
        const struct call_edge *edge = &graph->edges.items[choice->pairs.items[i]];
        assert_true(edge->caller != edge->callee);
        assert_true(choice->row_of.items[edge->callee] != PAGE_CALL_NO_ROW);
        kept_callers[edge->callee]++;
        if (edge->caller == CALL_NOBODY)
            continue;
        assert_true(choice->row_of.items[edge->caller] != PAGE_CALL_NO_ROW);
        kept_callees[edge->caller]++;
        if (i > 0 && graph->edges.items[choice->pairs.items[i - 1]].callee == edge->callee)
            assert_true(choice->pairs.items[i - 1] < choice->pairs.items[i]);
    }
    if (choice->functions.count < NAMES)
        return;
    for (uint32_t name = 0; name < NAMES;
         name++) { /* where all functions are kept each has a pair on either side */
        struct call_around around;
        assert_int_equal(call_graph_around(graph, name, &around), LAM_OK);
        assert_true(kept_callers[name] > 0 || around.callers.count == 0);
        assert_true(kept_callees[name] > 0 || around.callees.count == 0);
        call_around_free(&around);
    }
}

/* Preorder, the largest first, totals that hold what is below, and nothing larger left out. */
static void check_tree(const struct page_call_choice *choice, const struct call_graph *graph,
                       size_t most)
{
    uint64_t least = UINT64_MAX, totals[NODES] = {0}, before[NODES + 1] = {0};
    uint32_t above[NODES + 1] = {0};
    for (uint32_t i = NODES; i-- > 1;) {
        totals[i] += graph->nodes.items[i].self.ns;
        totals[graph->nodes.items[i].parent] += totals[i];
    }
    assert_true(choice->tree.count <= most);
    array_each(&choice->tree, kept)
    {
        const struct call_node *node = &graph->nodes.items[kept->node];
        assert_true(kept->depth >= 1 && kept->depth <= NODES);
        assert_int_equal(node->parent, above[kept->depth - 1]);
        assert_int_equal(kept->total.ns, totals[kept->node]);
        /* Of the children of one parent the next is no larger than the one before. */
        if (before[kept->depth])
            assert_true(kept->total.ns <= before[kept->depth]);
        before[kept->depth] = kept->total.ns;
        if (kept->depth < NODES)
            before[kept->depth + 1] = 0;
        above[kept->depth] = kept->node;
        least = kept->total.ns < least ? kept->total.ns : least;
    }
    size_t larger = 0, all = 0;
    for (uint32_t i = 1; i < NODES; i++) {
        larger += totals[i] > least;
        all += totals[i] > 0;
    }
    assert_true(larger <= choice->tree.count);
    assert_int_equal(choice->tree.count + choice->nodes_left, all);
}

static void keeps_the_largest(void **unused)
{
    (void)unused;
    static const struct page_call_bounds bounds[] = {
        {NAMES, NODES * NODES, NODES}, {NAMES, 100, 50}, {20, 30, 200}, {5, 1, 7}, {1, 0, 1}};
    for (seed = 1; seed < 20; seed++) {
        struct call_graph graph;
        uint32_t kept = seed;
        make_graph(&graph);
        for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
            struct page_call_choice choice = {0};
            assert_int_equal(page_call_choose(&choice, &graph, &bounds[i]), LAM_OK);
            check_functions(&choice, &graph, bounds[i].functions);
            check_pairs(&choice, &graph, bounds[i].pairs);
            check_tree(&choice, &graph, bounds[i].nodes);
            if (i == 0)
                assert_true(choice.pairs_left == 0 && choice.nodes_left == 0);
            page_call_choice_free(&choice);
        }
        call_graph_free(&graph);
        seed = kept;
    }
}

static void nothing_and_gaps(void **unused)
{
    (void)unused;
    struct call_graph graph = {0};
    struct page_call_choice choice = {0};
    assert_int_equal(call_graph_finish(&graph), LAM_OK);
    assert_int_equal(page_call_choose(&choice, &graph, &(struct page_call_bounds){9, 9, 9}), LAM_OK);
    assert_int_equal(choice.functions.count + choice.pairs.count + choice.tree.count, 0);
    page_call_choice_free(&choice);
    call_graph_free(&graph);
    const struct call_node nodes[] = {{.name = CALL_NOBODY, .self.ns = 9},
                                      {.name = 0, .count = 2, .self.ns = 5}};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(call_graph_add(&graph, &nodes[i]), LAM_OK);
    assert_int_equal(call_graph_finish(&graph), LAM_OK);
    assert_int_equal(page_call_choose(&choice, &graph, &(struct page_call_bounds){9, 9, 9}), LAM_OK);
    assert_int_equal(choice.tree.count, 1);
    assert_int_equal(choice.tree.items[0].total.ns, 5);
    assert_int_equal(choice.functions.count, 1);
    page_call_choice_free(&choice);
    call_graph_free(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_largest),
        cmocka_unit_test(nothing_and_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
