/* Command lines and times of units into a graph; path and slack of made graphs against a plain search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/made_units_test.h"

static const struct build_edge *edge_of(const struct feed *feed, uint32_t unit, uint32_t dep)
{
    array_each(&feed->report->graph.edges, edge) if (edge->unit == unit_of(feed, unit) &&
                                                     edge->dep == unit_of(feed, dep)) return edge;
    return NULL;
}

static void has_edge(const struct feed *feed, uint32_t unit, uint32_t dep, enum build_need need)
{
    const struct build_edge *edge = edge_of(feed, unit, dep);
    if (!edge || edge->need != need || edge->is_contradicted)
        fail_msg("unit %u on %u: %s, wanted %s", unit, dep,
                 edge ? build_need_name(edge->need) : "no edge", build_need_name(need));
}

static void a_cargo_build(void **unused)
{
    (void)unused;
    static const struct made_unit units[] = {
        {RUSTC, "--crate-name base base/src/lib.rs " LIB "-C extra-filename=-1", 0, 1000, 0},
        {RUSTC,
         "--crate-name derive derive/src/lib.rs --crate-type proc-macro --emit=dep-info,link "
         "--out-dir "
         "/t/deps -C extra-filename=-2",
         0, 700, 0},
        {"/usr/bin/ld", "/w", "-o /t/deps/libderive-2.so a.o", 600, 700, 2},
        {RUSTC,
         "--crate-name build_script_build native/build.rs --crate-type bin --emit=dep-info,link "
         "--out-dir /t/build/native-0123456789abcdef -C extra-filename=-3",
         0, 300, 0},
        {"/t/build/native-0123456789abcdef/build-script-build", "/w/native", "", 310, 400, 0},
        {RUSTC,
         "--crate-name native native/src/lib.rs " LIB
         "-C extra-filename=-4 --extern base=/t/deps/libbase-1.rmeta",
         420, 900, 0},
        {RUSTC,
         "--crate-name model model/src/lib.rs " LIB
         "-C extra-filename=-5 --extern native=/t/deps/libnative-4.rmeta --extern "
         "noprelude:derive=/t/deps/./libderive-2.so",
         710, 1500, 0},
        {RUSTC,
         "--crate-name app src/main.rs --crate-type bin --emit=dep-info,link --out-dir /t/deps -C "
         "extra-filename=-6 --extern model=/t/deps/libmodel-5.rlib",
         1510, 1800, 0},
        {RUSTC, "--crate-name other other/src/lib.rs " LIB "-C extra-filename=-7", 1490, 1495, 0},
    };
    struct feed feed;
    open_made(&feed, units, sizeof units / sizeof units[0]);
    const struct build_graph *graph = &feed.report->graph;
    assert_int_equal(graph->nodes.items[unit_of(&feed, 3)].inside, unit_of(&feed, 2));
    assert_int_equal(graph->nodes.items[unit_of(&feed, 1)].inside, GRAPH_NONE);
    has_edge(&feed, 5, 4, NEED_FILE);
    has_edge(&feed, 6, 5, NEED_RUN);
    has_edge(&feed, 6, 1, NEED_METADATA);
    has_edge(&feed, 7, 6, NEED_METADATA);
    has_edge(&feed, 7, 2, NEED_FILE);
    has_edge(&feed, 8, 7, NEED_OBJECTS);
    assert_int_equal(graph->edges.count, 6);
    assert_int_equal(graph->contradicted, 0);

    const struct build_node *base = &graph->nodes.items[unit_of(&feed, 1)],
                            *model = &graph->nodes.items[unit_of(&feed, 7)];
    assert_int_equal(base->rmeta_from, RMETA_DEPENDENT);
    assert_int_equal(base->rmeta_ns, 420 * MS);
    assert_int_equal(model->rmeta_from, RMETA_NONE);
    assert_int_equal(model->objects_ns, 1500 * MS);
    assert_int_equal(model->unblocked_by, unit_of(&feed, 6));
    assert_int_equal(model->ready_ns, 710 * MS);

    /* base to its metadata 420, native to its metadata 290, model 790, app 290; 700 of the macro, 400 of the script less */
    static const uint32_t path[] = {1, 6, 7, 8};
    assert_int_equal(graph->path.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(graph->path.items[i].unit, unit_of(&feed, path[i]));
    assert_int_equal(graph->critical_path_ns, (420 + 290 + 790 + 290) * MS);
    assert_int_equal(graph->path.items[0].need, NEED_METADATA);
    assert_int_equal(graph->path.items[2].need, NEED_OBJECTS);
    assert_int_equal(graph->path.items[3].need, NEED_FILE);
    assert_int_equal(graph->nodes.items[unit_of(&feed, 2)].slack_ns, 10 * MS);
    assert_int_equal(graph->nodes.items[unit_of(&feed, 5)].slack_ns, 30 * MS);
    assert_int_equal(graph->nodes.items[unit_of(&feed, 9)].slack_ns, (1790 - 5) * MS);
    close_feed(&feed);
}

static void a_c_build(void **unused)
{
    (void)unused;
    static const struct made_unit units[] = {
        {"/usr/lib/gcc/cc1", "/w", "-quiet a.c -o /tmp/ccAAAAAA.s", 0, 100, 0},
        {"/usr/bin/as", "/w", "-o sub/../a.o /tmp/ccAAAAAA.s", 100, 120, 0},
        {"/usr/lib/gcc/cc1", "/w", "-quiet b.c -o /tmp/ccAAAAAA.s", 130, 160, 0},
        {"/usr/bin/as", "/w", "-o b.o /tmp/ccAAAAAA.s", 160, 170, 0},
        {"/usr/bin/ld", "/w", "-o app ./a.o b.o -lc", 170, 200, 0},
    };
    struct feed feed;
    open_made(&feed, units, sizeof units / sizeof units[0]);
    has_edge(&feed, 2, 1, NEED_FILE);
    has_edge(&feed, 4, 3, NEED_FILE); /* the same temporary file, of the last one that wrote it */
    has_edge(&feed, 5, 2, NEED_FILE);
    has_edge(&feed, 5, 4, NEED_FILE);
    assert_int_equal(feed.report->graph.edges.count, 4);
    assert_int_equal(feed.report->graph.critical_path_ns, 150 * MS);
    close_feed(&feed);
}

static void an_edge_against_the_times(void **unused)
{
    (void)unused;
    static const struct made_unit units[] = {
        {RUSTC, "--crate-name a a/src/lib.rs " LIB "-C extra-filename=-1", 0, 1000, 0},
        {RUSTC,
         "--crate-name b src/main.rs --crate-type bin --out-dir /t/deps --extern "
         "a=/t/deps/liba-1.rlib",
         500, 1200, 0},
    };
    struct feed feed;
    open_made(&feed, units, 2);
    assert_non_null(edge_of(&feed, 2, 1));
    assert_true(edge_of(&feed, 2, 1)->is_contradicted);
    assert_int_equal(feed.report->graph.contradicted, 1);
    assert_int_equal(feed.report->graph.critical_path_ns, 1000 * MS);
    close_feed(&feed);
}

static uint32_t next_random(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

/* The longest way to a unit's event, by trying all: metadata and end of a unit, and of all libraries below it. */
static int64_t longest(const struct build_graph *graph, uint32_t unit, enum build_need need)
{
    const struct build_node *node = &graph->nodes.items[unit];
    int64_t start = 0, objects = 0;
    for (uint32_t i = 0; i < node->edge_count; i++) {
        const struct build_edge *edge = &graph->edges.items[node->first_edge + i];
        int64_t at = longest(graph, edge->dep, edge->need);
        start = at > start ? at : start;
        if (need == NEED_OBJECTS && edge->need != NEED_FILE) {
            at = longest(graph, edge->dep, NEED_OBJECTS);
            objects = at > objects ? at : objects;
        }
    }
    if (need == NEED_METADATA)
        return start + node->rmeta_ns - node->start_ns;
    int64_t end = start + node->end_ns - node->start_ns;
    return end > objects ? end : objects;
}

static void make_random(struct build_graph *graph, uint32_t *random)
{
    enum { UNITS = 12 };
    *graph = (struct build_graph){0};
    for (uint32_t unit = 0; unit < UNITS; unit++) {
        struct build_node node = {.start_ns = unit * 10000 + 1,
                                  .inside = GRAPH_NONE,
                                  .unblocked_by = GRAPH_NONE,
                                  .first_edge = (uint32_t)graph->edges.count};
        node.rmeta_ns = node.start_ns + next_random(random, 300);
        node.end_ns = node.rmeta_ns + next_random(random, 500);
        for (uint32_t dep = 0; dep < unit; dep++) {
            struct build_edge edge = {
                .unit = unit, .dep = dep, .need = (enum build_need)next_random(random, 3)};
            if (next_random(random, 3) == 0)
                assert_int_equal(array_push(&graph->edges, edge), LAM_OK);
        }
        node.edge_count = (uint32_t)graph->edges.count - node.first_edge;
        assert_int_equal(array_push(&graph->nodes, node), LAM_OK);
    }
}

static int64_t longest_of_all(const struct build_graph *graph)
{
    int64_t most = 0;
    for (uint32_t unit = 0; unit < graph->nodes.count; unit++) {
        int64_t here = longest(graph, unit, NEED_FILE);
        most = here > most ? here : most;
    }
    return most;
}

/* A unit whose metadata comes later by its slack changes nothing; by more, it does, as far as the slack was finite. */
static void the_path_is_the_longest_chain(void **unused)
{
    (void)unused;
    uint32_t random = 7;
    for (int round = 0; round < 200; round++) {
        struct build_graph graph;
        make_random(&graph, &random);
        assert_int_equal(build_graph_measure(&graph), LAM_OK);
        int64_t most = longest_of_all(&graph), sum = 0;
        assert_int_equal(graph.critical_path_ns, most);
        array_each(&graph.path, step)
        {
            const struct build_node *node = &graph.nodes.items[step->unit];
            sum += step->end_ns - step->start_ns;
            assert_true(node->on_path);
            assert_int_equal(node->slack_ns, 0);
        }
        assert_int_equal(sum, most);
        uint32_t unit = next_random(&random, (uint32_t)graph.nodes.count);
        struct build_node *node = &graph.nodes.items[unit];
        node->rmeta_ns += node->slack_ns;
        node->end_ns += node->slack_ns;
        assert_int_equal(longest_of_all(&graph), most);
        node->rmeta_ns++;
        node->end_ns++;
        assert_int_equal(longest_of_all(&graph), most + 1);
        build_graph_free(&graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cargo_build),
        cmocka_unit_test(a_c_build),
        cmocka_unit_test(an_edge_against_the_times),
        cmocka_unit_test(the_path_is_the_longest_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
