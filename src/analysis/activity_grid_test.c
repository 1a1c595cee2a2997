#include "analysis/activity_grid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

#define MS INT64_C(1000000)

static struct activity_cell cell_at(const struct activity_grid *grid, int64_t at_ns)
{
    struct activity_walk walk = {0};
    struct activity_cell cell;
    while (activity_next(grid, &walk, &cell))
        if (at_ns >= cell.start_ns && at_ns < cell.end_ns)
            return cell;
    fail_msg("no cell");
    return cell;
}

static void knows_who_works_alone(void **unused)
{
    (void)unused;
    struct activity_grid grid;
    int32_t first = ACTIVITY_NEVER, second = ACTIVITY_NEVER;
    assert_int_equal(activity_init(&grid, 10000 * (uint64_t)MS), LAM_OK);
    activity_add(&grid, 5, 100 * MS, 500 * MS, &first);
    activity_add(&grid, 9, 300 * MS, 800 * MS, &second);
    activity_add(&grid, 5, 500 * MS, 600 * MS, &first);
    assert_int_equal(cell_at(&grid, 50 * MS).threads, 0);
    assert_int_equal(cell_at(&grid, 200 * MS).threads, 1);
    assert_int_equal(cell_at(&grid, 200 * MS).only_thread, 5);
    assert_int_equal(cell_at(&grid, 400 * MS).threads, 2);
    assert_int_equal(cell_at(&grid, 550 * MS).threads, 2);
    assert_int_equal(cell_at(&grid, 700 * MS).only_thread, 9);
    assert_int_equal(cell_at(&grid, 900 * MS).threads, 0);
    activity_free(&grid);
}

static void a_thread_counts_once_in_a_cell(void **unused)
{
    (void)unused;
    struct activity_grid grid;
    int32_t last = ACTIVITY_NEVER;
    assert_int_equal(activity_init(&grid, 1000 * (uint64_t)MS), LAM_OK);
    for (int i = 0; i < 10; i++) /* ten stretches within one millisecond */
        activity_add(&grid, 3, 20 * MS + i * MS / 10, 20 * MS + i * MS / 10 + MS / 20, &last);
    assert_int_equal(cell_at(&grid, 20 * MS).threads, 1);
    assert_int_equal(cell_at(&grid, 20 * MS).only_thread, 3);
    activity_free(&grid);
}

static void what_lies_outside_counts_at_the_edges(void **unused)
{
    (void)unused;
    struct activity_grid grid;
    int32_t first = ACTIVITY_NEVER, second = ACTIVITY_NEVER;
    assert_int_equal(activity_init(&grid, UINT64_MAX), LAM_OK);
    activity_add(&grid, 1, -500 * MS, -400 * MS, &first);
    activity_add(&grid, 2, INT64_MAX - 1, INT64_MAX, &second);
    activity_add(&grid, 2, INT64_MAX - 1, INT64_MAX, &second);
    struct activity_walk walk = {0};
    struct activity_cell cell;
    size_t busy = 0, cells = 0;
    while (activity_next(&grid, &walk, &cell)) {
        busy += cell.threads;
        cells++;
    }
    assert_int_equal(busy, 2);
    assert_int_equal(cells, ACTIVITY_CELLS);
    activity_free(&grid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_who_works_alone),
        cmocka_unit_test(a_thread_counts_once_in_a_cell),
        cmocka_unit_test(what_lies_outside_counts_at_the_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
