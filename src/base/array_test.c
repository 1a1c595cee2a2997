#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"

struct pair {
    int a, b;
};

static void grows(void **state)
{
    LAM_ARRAY(struct pair) pairs = {0};
    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(array_push(&pairs, (struct pair){i, -i}), LAM_OK);
    assert_int_equal(pairs.count, 1000);
    int at = 0;
    array_each(&pairs, pair)
    {
        assert_int_equal(pair->a, at);
        assert_int_equal(pair->b, -at);
        at++;
    }
    assert_int_equal(at, 1000);
    assert_int_equal(array_last(&pairs).a, 999);
    assert_int_equal(array_pop(&pairs).a, 999);
    assert_int_equal(pairs.count, 999);
    array_clear(&pairs);
    assert_int_equal(pairs.count, 0);
    array_free(&pairs);
    assert_null(pairs.items);
}

static int compare_ints(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

static void appends_and_sorts(void **state)
{
    LAM_ARRAY(int) ints = {0};
    static const int given[] = {3, 1, 2};
    (void)state;
    array_sort(&ints, compare_ints);
    array_each(&ints, none) fail_msg("an empty array has %d", *none);
    assert_int_equal(array_append(&ints, given, 3), LAM_OK);
    assert_int_equal(array_append(&ints, given, 0), LAM_OK);
    *array_add(&ints) += 7;
    array_sort(&ints, compare_ints);
    static const int sorted[] = {1, 2, 3, 7};
    assert_int_equal(ints.count, 4);
    assert_memory_equal(ints.items, sorted, sizeof sorted);
    assert_int_equal(array_resize(&ints, 2), LAM_OK);
    assert_int_equal(array_resize(&ints, 5), LAM_OK);
    static const int resized[] = {1, 2, 0, 0, 0};
    assert_memory_equal(ints.items, resized, sizeof resized);
    array_free(&ints);
}

static void refuses_overflow(void **state)
{
    LAM_ARRAY(struct pair) pairs = {0};
    (void)state;
    assert_int_equal(array_reserve(&pairs, SIZE_MAX), LAM_E_NOMEM);
    assert_int_equal(array_reserve(&pairs, SIZE_MAX / sizeof(struct pair) + 1), LAM_E_NOMEM);
    assert_int_equal(array_resize(&pairs, SIZE_MAX / 2), LAM_E_NOMEM);
    assert_int_equal(array_push(&pairs, (struct pair){1, 2}), LAM_OK);
    assert_int_equal(array_append(&pairs, pairs.items, SIZE_MAX), LAM_E_NOMEM);
    assert_int_equal(pairs.count, 1);
    array_free(&pairs);
}

static void survives_refusals(void **state)
{
    LAM_ARRAY(int) ints = {0};
    (void)state;
    mem_fail_after(0);
    assert_int_equal(array_push(&ints, 1), LAM_E_NOMEM);
    assert_null(array_add(&ints));
    mem_fail_after(1);
    int pushed = 0;
    while (array_push(&ints, pushed) == LAM_OK)
        pushed++;
    assert_int_equal(mem_fail_count(), 1);
    mem_fail_after(UINT64_MAX);
    assert_true(pushed > 0);
    assert_int_equal(ints.count, pushed);
    for (int i = 0; i < pushed; i++)
        assert_int_equal(ints.items[i], i);
    assert_int_equal(array_push(&ints, 5), LAM_OK);
    array_free(&ints);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows),
        cmocka_unit_test(appends_and_sorts),
        cmocka_unit_test(refuses_overflow),
        cmocka_unit_test(survives_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
