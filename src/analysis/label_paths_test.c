/* The tree of labels: sums by path, its order, and what is refused. */
#include "analysis/label_paths.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/memory.h"

static int push(struct label_paths *paths, uint32_t path, uint32_t parent, uint32_t name)
{
    struct profile_path pushed = {.path = path, .parent = parent};
    return label_paths_node(paths, &pushed, &(struct label_path){.name = name, .row = name});
}

static int add(struct label_paths *paths, uint32_t path, uint32_t weight, uint64_t self_ns,
               uint64_t active_ns)
{
    struct profile_interval interval = {
        .path = path, .weight = weight, .self_ns = self_ns, .active_ns = active_ns};
    return label_paths_add(paths, &interval);
}

/* 1 main > (2 parse > 4 read, 3 check), 5 another outermost; 6 is a gap. */
static void make(struct label_paths *paths)
{
    static const uint32_t nodes[][3] = {{1, 0, 10}, {2, 1, 20}, {3, 1, 30},
                                        {4, 2, 40}, {5, 0, 10}, {7, 5, 20}};
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++)
        assert_int_equal(push(paths, nodes[i][0], nodes[i][1], nodes[i][2]), LAM_OK);
}

static void sums_are_by_path(void **unused)
{
    (void)unused;
    struct label_paths paths = {0};
    make(&paths);
    assert_int_equal(add(&paths, 4, 1, 5, 5), LAM_OK);
    assert_int_equal(add(&paths, 4, 1, 7, 7), LAM_OK);
    assert_int_equal(add(&paths, 2, 1, 3, 15), LAM_OK);
    assert_int_equal(add(&paths, 3, 4, 2, 5), LAM_OK); /* one that stands for four */
    assert_int_equal(add(&paths, 1, 1, 1, 36), LAM_OK);
    struct profile_fold fold = {.path = 5, .count = 1000, .self_ns = 90, .total_ns = 100};
    assert_int_equal(label_paths_fold(&paths, &fold), LAM_OK);
    assert_int_equal(add(&paths, 0, 1, 1, 1), LAM_OK); /* no path: nothing to count it under */
    assert_int_equal(label_paths_finish(&paths), LAM_OK);
    static const struct {
        uint32_t node, name, parent, depth;
        uint64_t count, self_ns, time_ns;
    } rows[] = {
        {1, 10, 0, 0, 1, 1, 36},      {2, 20, 1, 1, 1, 3, 15},      {3, 30, 1, 1, 4, 8, 20},
        {4, 40, 2, 2, 2, 12, 12},     {5, 10, 0, 0, 1000, 90, 100}, {7, 20, 5, 1, 0, 0, 0},
        {0, 0, 0, 0, 1008, 114, 136}, /* all: time of the outermost alone */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct label_path *node = &paths.nodes.items[rows[i].node];
        if (node->name != rows[i].name || node->parent != rows[i].parent ||
            node->depth != rows[i].depth || node->count != rows[i].count ||
            node->self_ns != rows[i].self_ns || node->time_ns != rows[i].time_ns)
            fail_msg("node %u", rows[i].node);
    }
    label_paths_free(&paths);
}

static void fold(struct label_paths *paths, uint32_t path, uint64_t self_ns, uint64_t total_ns)
{
    struct profile_fold fold = {.path = path, .count = 1, .self_ns = self_ns, .total_ns = total_ns};
    assert_int_equal(label_paths_fold(paths, &fold), LAM_OK);
}

/* main > f > f > f > g > g, main > h: folds say no time of the inner calls of one label. */
static void folded_recursion_has_its_time(void **unused)
{
    (void)unused;
    struct label_paths paths = {0};
    static const uint32_t nodes[][3] = {{1, 0, 1}, {2, 1, 2}, {3, 2, 2}, {4, 3, 2},
                                        {5, 4, 3}, {6, 5, 3}, {7, 1, 4}};
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++)
        push(&paths, nodes[i][0], nodes[i][1], nodes[i][2]);
    fold(&paths, 6, 1, 0);
    fold(&paths, 2, 32, 63);
    fold(&paths, 3, 8, 0); /* from two threads */
    fold(&paths, 3, 8, 0);
    fold(&paths, 4, 8, 0);
    fold(&paths, 5, 6, 7);
    fold(&paths, 7, 10, 10);
    assert_int_equal(add(&paths, 1, 1, 27, 100), LAM_OK); /* recorded by itself, with them inside */
    assert_int_equal(label_paths_finish(&paths), LAM_OK);
    static const uint64_t wanted[] = {100, 100, 63, 31, 15, 7, 1, 10};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_int_equal(paths.nodes.items[i].time_ns, wanted[i]);
    label_paths_free(&paths);
}

/* Most time first; of equal ones the one that was pushed first. */
static void children_are_in_order(void **unused)
{
    (void)unused;
    struct label_paths paths = {0};
    static const uint64_t times[] = {7, 9, 7, 0, 11, 7};
    static const uint32_t wanted[] = {5, 2, 1, 3, 6, 4};
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(push(&paths, i + 1, 0, i), LAM_OK);
        assert_int_equal(add(&paths, i + 1, 1, 0, times[i]), LAM_OK);
    }
    assert_int_equal(label_paths_finish(&paths), LAM_OK);
    uint32_t at = paths.nodes.items[0].first_child;
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(at, wanted[i]);
        at = paths.nodes.items[at].next;
    }
    assert_int_equal(at, 0);
    label_paths_free(&paths);
}

static void what_was_never_pushed_is_refused(void **unused)
{
    (void)unused;
    struct label_paths paths = {0};
    make(&paths);
    static const uint32_t refused[][2] = {{0, 0}, {8, 8}, {8, 9}, {8, 6}, {UINT32_MAX, 0}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (push(&paths, refused[i][0], refused[i][1], 0) != LAM_E_INVAL)
            fail_msg("path %u below %u", refused[i][0], refused[i][1]);
    assert_int_equal(add(&paths, 6, 1, 1, 1), LAM_E_INVAL); /* in the gap */
    assert_int_equal(add(&paths, 8, 1, 1, 1), LAM_E_INVAL);
    assert_int_equal(label_paths_finish(&paths), LAM_OK);
    assert_int_equal(paths.nodes.items[0].count, 0);
    for (uint32_t at = paths.nodes.items[0].first_child; at; at = paths.nodes.items[at].next)
        assert_int_not_equal(at, 6);
    label_paths_free(&paths);

    /* Of nothing there is a root, for whoever walks it. */
    assert_int_equal(label_paths_finish(&paths), LAM_OK);
    assert_int_equal(paths.nodes.count, 1);
    assert_int_equal(paths.nodes.items[0].first_child, 0);
    label_paths_free(&paths);
}

static void refused_memory_is_told(void **unused)
{
    (void)unused;
    struct label_paths paths = {0};
    mem_fail_after(0);
    int rc = push(&paths, 1, 0, 1);
    mem_fail_after(UINT64_MAX);
    assert_int_equal(rc, LAM_E_NOMEM);
    make(&paths);
    mem_fail_after(0);
    rc = label_paths_finish(&paths);
    mem_fail_after(UINT64_MAX);
    assert_int_equal(rc, LAM_E_NOMEM);
    label_paths_free(&paths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_by_path),
        cmocka_unit_test(folded_recursion_has_its_time),
        cmocka_unit_test(children_are_in_order),
        cmocka_unit_test(what_was_never_pushed_is_refused),
        cmocka_unit_test(refused_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
