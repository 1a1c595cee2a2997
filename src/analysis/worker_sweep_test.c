#include "analysis/worker_sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct work_stretches list;

static void add(uint32_t worker, int64_t start_ns, int64_t end_ns)
{
    size_t none = SIZE_MAX;
    assert_int_equal(work_stretch_add(&list, (struct work_stretch){start_ns, end_ns, worker}, &none),
                     LAM_OK);
}

static void a_step_has_the_same_workers(void **unused)
{
    (void)unused;
    static const struct work_step wanted[] = {
        {0, 10, 1, 7}, {10, 20, 2, 0}, {20, 30, 1, 9}, {30, 50, 0, 0}, {50, 60, 1, 7}};
    struct work_sweep sweep;
    add(9, 10, 30);
    add(7, 0, 20);
    add(7, 50, 60);
    add(4, 55, 55); /* no time */
    assert_int_equal(work_sweep_open(&sweep, &list), LAM_OK);
    for (int round = 0; round < 2; round++) {
        struct work_step step;
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
            assert_true(work_sweep_next(&sweep, &step));
            assert_int_equal(step.start_ns, wanted[i].start_ns);
            assert_int_equal(step.end_ns, wanted[i].end_ns);
            assert_int_equal(step.working, wanted[i].working);
            assert_int_equal(step.only, wanted[i].only);
        }
        assert_false(work_sweep_next(&sweep, &step));
        work_sweep_rewind(&sweep);
    }
    work_sweep_close(&sweep);
    array_free(&list);
}

/* One thread hands over to another: that is one worker all the time. */
static void an_end_comes_before_a_start(void **unused)
{
    (void)unused;
    struct work_sweep sweep;
    struct work_step step;
    add(1, 0, 10);
    add(2, 10, 20);
    assert_int_equal(work_sweep_open(&sweep, &list), LAM_OK);
    while (work_sweep_next(&sweep, &step))
        assert_int_equal(step.working, 1);
    assert_int_equal(step.only, 2);
    work_sweep_close(&sweep);
    array_free(&list);
}

static void stretches_that_touch_become_one(void **unused)
{
    (void)unused;
    size_t last = SIZE_MAX;
    assert_int_equal(work_stretch_add(&list, (struct work_stretch){0, 5, 1}, &last), LAM_OK);
    assert_int_equal(work_stretch_add(&list, (struct work_stretch){5, 9, 1}, &last), LAM_OK);
    assert_int_equal(list.count, 1);
    assert_int_equal(work_stretch_add(&list, (struct work_stretch){10, 12, 1}, &last), LAM_OK);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].end_ns, 9);
    assert_int_equal(last, 1);
    array_free(&list);
}

static void nothing_has_no_steps(void **unused)
{
    (void)unused;
    struct work_sweep sweep;
    struct work_step step;
    assert_int_equal(work_sweep_open(&sweep, &list), LAM_OK);
    assert_false(work_sweep_next(&sweep, &step));
    work_sweep_close(&sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_has_the_same_workers),
        cmocka_unit_test(an_end_comes_before_a_start),
        cmocka_unit_test(stretches_that_touch_become_one),
        cmocka_unit_test(nothing_has_no_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
