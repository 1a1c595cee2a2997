/* Callers and callees of small trees, to the unit; and that sums add up in trees that chance made. */
#include "analysis/call_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"

static void add(struct call_graph *graph, uint32_t parent, uint32_t name, uint64_t count,
                uint64_t self)
{
    struct call_node node = {
        .parent = parent, .name = name, .count = count, .self = {.ns = self, .samples = self / 2}};
    assert_int_equal(call_graph_add(graph, &node), LAM_OK);
}

struct wanted_edge {
    uint32_t name;
    uint64_t count, ns;
};

static void check(const struct call_graph *graph, uint32_t name, const uint64_t sums[4],
                  const struct wanted_edge *callers, const struct wanted_edge *callees)
{
    struct call_around around;
    assert_int_equal(call_graph_around(graph, name, &around), LAM_OK);
    const struct call_function *function = around.function;
    if (function->count != sums[0] || around.calls_of_itself != sums[1] ||
        function->self.ns != sums[2] || function->total.ns != sums[3])
        fail_msg("%u: %u calls, %u of itself, self %u, total %u", name, (unsigned)function->count,
                 (unsigned)around.calls_of_itself, (unsigned)function->self.ns,
                 (unsigned)function->total.ns);
    size_t index = 0;
    for (; callers[index].count; index++) {
        const struct call_edge *edge = &around.callers.items[index];
        if (index >= around.callers.count || edge->caller != callers[index].name ||
            edge->count != callers[index].count || edge->time.ns != callers[index].ns)
            fail_msg("%u: caller %zu", name, index);
    }
    assert_int_equal(index, around.callers.count);
    for (index = 0; callees[index].count; index++) {
        const struct call_edge *edge = &around.callees.items[index];
        if (index >= around.callees.count || edge->callee != callees[index].name ||
            edge->count != callees[index].count || edge->below.ns != callees[index].ns)
            fail_msg("%u: callee %zu", name, index);
    }
    assert_int_equal(index, around.callees.count);
    call_around_free(&around);
}

enum { MAIN, READ, PARSE, LEX, CHECK };
#define NONE    \
    {           \
        0, 0, 0 \
    }

/* main 10 > (read 5, parse 7 > (lex 3, parse 20 > (lex 4, check 6 > parse 100))), another thread's lex 50 */
static void recursion_counts_once(void **unused)
{
    (void)unused;
    struct call_graph graph = {0};
    add(&graph, 0, MAIN, 1, 10);  /* 1 */
    add(&graph, 1, READ, 4, 5);   /* 2 */
    add(&graph, 1, PARSE, 2, 7);  /* 3 */
    add(&graph, 3, LEX, 9, 3);    /* 4 */
    add(&graph, 3, PARSE, 3, 20); /* 5 */
    add(&graph, 5, LEX, 8, 4);    /* 6 */
    add(&graph, 5, CHECK, 1, 6);  /* 7 */
    add(&graph, 7, PARSE, 1, 100);
    add(&graph, 0, LEX, 1, 50);
    assert_int_equal(call_graph_finish(&graph), LAM_OK);
    assert_int_equal(graph.all.ns, 205);
    check(&graph, MAIN, (const uint64_t[]){1, 0, 10, 155},
          (const struct wanted_edge[]){{CALL_NOBODY, 1, 155}, NONE},
          (const struct wanted_edge[]){{PARSE, 2, 140}, {READ, 4, 5}, NONE});
    /* The innermost parse has its 100 itself; of check, which calls it, the 6 are left. */
    check(&graph, PARSE, (const uint64_t[]){6, 3, 127, 140},
          (const struct wanted_edge[]){{MAIN, 2, 140}, {CHECK, 1, 0}, NONE},
          (const struct wanted_edge[]){{LEX, 17, 7}, {CHECK, 1, 6}, NONE});
    check(&graph, LEX, (const uint64_t[]){18, 0, 57, 57},
          (const struct wanted_edge[]){{CALL_NOBODY, 1, 50}, {PARSE, 17, 7}, NONE},
          (const struct wanted_edge[]){NONE});
    check(&graph, CHECK, (const uint64_t[]){1, 0, 6, 106},
          (const struct wanted_edge[]){{PARSE, 1, 106}, NONE},
          (const struct wanted_edge[]){{PARSE, 1, 100}, NONE});
    call_graph_free(&graph);
}

/* even and odd call each other, from two threads that began with the one and with the other; each level has 1 to itself. */
static void mutual_recursion(void **unused)
{
    (void)unused;
    enum { EVEN, ODD };
    struct call_graph graph = {0};
    for (uint32_t i = 0; i < 6; i++)
        add(&graph, i, i % 2 ? ODD : EVEN, 1, 1);
    add(&graph, 0, ODD, 1, 1); /* 7 */
    add(&graph, 7, EVEN, 1, 1);
    assert_int_equal(call_graph_finish(&graph), LAM_OK);
    /* The even ones: 6 below the first thread's, 1 in the second's; the caller of the inner ones has no part in it. */
    check(&graph, EVEN, (const uint64_t[]){4, 0, 4, 7},
          (const struct wanted_edge[]){{CALL_NOBODY, 1, 6}, {ODD, 3, 1}, NONE},
          (const struct wanted_edge[]){{ODD, 3, 3}, NONE});
    check(&graph, ODD, (const uint64_t[]){4, 0, 4, 7},
          (const struct wanted_edge[]){{EVEN, 3, 5}, {CALL_NOBODY, 1, 2}, NONE},
          (const struct wanted_edge[]){{EVEN, 3, 3}, NONE});
    call_graph_free(&graph);
}

/* At every function the two ways to divide its total come to the same. */
static void sums_add_up(void **unused)
{
    (void)unused;
    enum { NODES = 3000, NAMES = 12 };
    struct call_graph graph = {0};
    uint32_t seed = 7;
    for (uint32_t i = 0; i < NODES; i++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t parent = i ? (seed >> 8) % (i < 40 ? i + 1 : 40) + (i < 40 ? 0 : i - 39) : 0;
        add(&graph, parent, (seed >> 4) % NAMES, 1 + seed % 3, seed >> 20);
    }
    assert_int_equal(call_graph_finish(&graph), LAM_OK);
    uint64_t self = 0, pairs = 0;
    array_each(&graph.edges, edge) pairs += edge->self.ns;
    for (uint32_t name = 0; name < NAMES; name++) {
        struct call_around around;
        assert_int_equal(call_graph_around(&graph, name, &around), LAM_OK);
        uint64_t from = 0, to = around.function->self.ns, count = around.calls_of_itself;
        uint64_t from_samples = 0, to_samples = around.function->self.samples;
        array_each(&around.callers, edge)
        {
            from += edge->time.ns;
            from_samples += edge->time.samples;
            count += edge->count;
        }
        array_each(&around.callees, edge)
        {
            to += edge->below.ns;
            to_samples += edge->below.samples;
        }
        assert_int_equal(from, around.function->total.ns);
        assert_int_equal(to, around.function->total.ns);
        assert_int_equal(from_samples, around.function->total.samples);
        assert_int_equal(to_samples, around.function->total.samples);
        assert_int_equal(count, around.function->count);
        self += around.function->self.ns;
        call_around_free(&around);
    }
    assert_int_equal(self, graph.all.ns);
    assert_int_equal(pairs, graph.all.ns);
    call_graph_free(&graph);
}

/* A hundred thousand deep: nothing recurses. */
static void deep_stacks(void **unused)
{
    (void)unused;
    enum { DEPTH = 100000 };
    struct call_graph graph = {0};
    for (uint32_t i = 0; i < DEPTH; i++)
        add(&graph, i, i % 3 ? 1 : 0, 1, 2);
    assert_int_equal(call_graph_finish(&graph), LAM_OK);
    assert_int_equal(graph.functions.items[0].total.ns, 2 * DEPTH);
    assert_int_equal(graph.functions.items[1].total.ns, 2 * DEPTH - 2);
    call_graph_free(&graph);
}

static void refuses(void **unused)
{
    (void)unused;
    struct call_graph graph = {0};
    assert_int_equal(call_graph_add(&graph, &(struct call_node){.parent = 1}), LAM_E_INVAL);
    add(&graph, 0, CALL_NOBODY, 0, 0);
    assert_int_equal(call_graph_add(&graph, &(struct call_node){.parent = 1}), LAM_E_INVAL);
    add(&graph, 0, 3, 1, 5);
    assert_int_equal(call_graph_finish(&graph), LAM_OK);
    assert_int_equal(graph.all.ns, 5);
    assert_false(graph.functions.items[2].is_there);
    call_graph_free(&graph);
    struct call_graph empty = {0};
    assert_int_equal(call_graph_finish(&empty), LAM_OK);
    call_graph_free(&empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(mutual_recursion),
        cmocka_unit_test(sums_add_up),
        cmocka_unit_test(deep_stacks),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
