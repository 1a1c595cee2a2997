/* Cutting the tree of stacks: against a plain count, on trees made up. */
#include "output/page_stack_fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 300, ROWS = 600, THREADS = 6, SLOTS = 8, PHASES = 3 };

static uint32_t seed;

static uint32_t any(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(seed >> 8) * below >> 24);
}

/* Nodes in preorder: each is below the one before it or below one of those above that. */
static void make_tree(struct page_stack_tree *made)
{
    *made = (struct page_stack_tree){0};
    assert_int_equal(array_push(&made->tree.nodes, (struct stack_tree_node){0}), LAM_OK);
    for (uint32_t i = 1; i < NODES; i++) {
        uint32_t parent = i - 1;
        while (parent && any(3) == 0)
            parent = made->tree.nodes.items[parent].parent;
        struct stack_tree_node node = {.parent = parent,
                                       .depth = made->tree.nodes.items[parent].depth + 1};
        assert_int_equal(array_push(&made->tree.nodes, node), LAM_OK);
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        struct stack_slice row = {.thread = any(THREADS),
                                  .slot = any(SLOTS),
                                  .phase = any(PHASES),
                                  .stack = 1 + any(NODES - 1),
                                  .samples = any(20), /* none: what only came late */
                                  .cpu_ns = any(1000)};
        assert_int_equal(array_push(&made->rows, row), LAM_OK);
    }
}

static void free_tree(struct page_stack_tree *made)
{
    array_free(&made->tree.nodes);
    array_free(&made->rows);
}

static struct report *two_threads_a_process(void)
{
    struct report *report = test_calloc(1, sizeof *report);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(array_push(&report->threads, ((struct report_thread){.process = i / 2})),
                         LAM_OK);
    return report;
}

static uint64_t sum_of(const struct slice_rows *rows)
{
    uint64_t sum = 0;
    array_each(rows, row) sum += row->samples;
    return sum;
}

static bool is_below(const struct page_stack_tree *made, uint32_t node, uint32_t above)
{
    while (node > above)
        node = made->tree.nodes.items[node].parent;
    return node == above;
}

/* Samples of the row's place at its node or below, and of the whole place, one by one. */
static void count_plainly(const struct stack_folder *folder, const struct stack_slice *place,
                          uint32_t node, uint64_t *total, uint64_t *all)
{
    *total = *all = 0;
    array_each(&folder->rows, row)
    {
        if (row->thread != place->thread || row->slot != place->slot)
            continue;
        *all += row->samples;
        if (is_below(folder->from, row->stack, node))
            *total += row->samples;
    }
}

static void check_rows(const struct stack_folder *folder, uint32_t level)
{
    for (size_t i = 0; i < folder->folded.count; i++) {
        const struct stack_slice *row = &folder->folded.items[i];
        uint64_t total, all;
        count_plainly(folder, row, row->stack, &total, &all);
        assert_true(folder->from->tree.nodes.items[row->stack].depth <= 1 ||
                    total >= stack_fold_least(all, level));
        if (i > 0) {
            const struct stack_slice *before = row - 1;
            assert_true(before->thread < row->thread || before->slot < row->slot ||
                        before->stack < row->stack || before->phase < row->phase);
        }
    }
}

static size_t different_nodes(const struct slice_rows *rows)
{
    size_t nodes = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct stack_slice *row = &rows->items[i];
        nodes += i == 0 || row[-1].thread != row->thread || row[-1].slot != row->slot ||
                 row[-1].stack != row->stack;
    }
    return nodes;
}

static void test_levels(void **state)
{
    (void)state;
    static const struct stack_places places[] = {
        {STACK_BY_THREAD, 0}, {STACK_BY_THREAD, 2}, {STACK_BY_PROCESS, 9}, {STACK_WHOLE, 0}};
    static const uint32_t levels[] = {0, 1, 4, 16, 48, 200, STACK_LEVEL_MAX};
    struct report *report = two_threads_a_process();
    size_t *counts = test_calloc(STACK_LEVEL_MAX + 1, sizeof *counts);
    for (seed = 1; seed < 4; seed++) {
        uint32_t kept_seed = seed;
        struct page_stack_tree made;
        struct stack_folder folder;
        make_tree(&made);
        assert_int_equal(stack_folder_open(&folder, &made), LAM_OK);
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            assert_int_equal(stack_folder_places(&folder, report, places[p]), LAM_OK);
            assert_int_equal(stack_fold_counts(&folder, counts), LAM_OK);
            for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
                assert_int_equal(stack_fold(&folder, levels[i]), LAM_OK);
                assert_int_equal(sum_of(&folder.folded), sum_of(&made.rows));
                assert_int_equal(different_nodes(&folder.folded), counts[levels[i]]);
                check_rows(&folder, levels[i]);
                if (levels[i] == 0)
                    assert_int_equal(folder.cut_samples, 0);
            }
        }
        stack_folder_close(&folder);
        free_tree(&made);
        seed = kept_seed;
    }
    test_free(counts);
    array_free(&report->threads);
    test_free(report);
}

static void test_roots(void **state)
{
    (void)state;
    assert_int_equal(stack_fold_least(0, 0), 0);
    assert_int_equal(stack_fold_least(0, STACK_LEVELS_A_ROOT), 1);
    assert_int_equal(stack_fold_least(99, STACK_LEVELS_A_ROOT), 9);
    assert_int_equal(stack_fold_least(100, STACK_LEVELS_A_ROOT), 10);
    assert_int_equal(stack_fold_least(100, 1), 1);
    assert_int_equal(stack_fold_least(UINT64_C(1) << 62, STACK_LEVELS_A_ROOT), UINT64_C(1) << 31);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels), cmocka_unit_test(test_roots)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
