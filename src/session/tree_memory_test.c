#include "session/tree_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

static struct memory_series series;

static void add(int64_t t_ns, uint64_t rss_mib, uint64_t anon_mib)
{
    struct memory_reading reading = {t_ns, rss_mib * MIB, anon_mib * MIB};
    assert_int_equal(memory_series_add(&series, reading), LAM_OK);
}

static void what_hardly_differs_is_not_kept(void **unused)
{
    (void)unused;
    add(1, 160, 100);
    add(2, 169, 105); /* less than a sixteenth of either */
    add(3, 171, 105);
    add(4, 171, 112); /* the same pages, more of them its own */
    add(5, 100, 60);
    assert_int_equal(series.readings.count, 4);
    assert_int_equal(series.readings.items[1].t_ns, 3);
    assert_int_equal(series.readings.items[2].t_ns, 4);
    memory_series_free(&series);
    series = (struct memory_series){0};
    struct memory_reading small[] = {{1, 1000, 0}, {2, 900000, 0}, {3, 2 * MIB, 0}};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(memory_series_add(&series, small[i]), LAM_OK);
    assert_int_equal(series.readings.count, 2); /* a shell's few pages are no news */
    memory_series_free(&series);
}

static void memory_for_it_is_bounded_and_peaks_stay(void **unused)
{
    (void)unused;
    series = (struct memory_series){0};
    for (int i = 0; i < 100000; i++)
        add(i, i % 2 ? 100 : 300, 50);
    assert_true(series.readings.count <= MEMORY_READINGS_MAX);
    for (size_t i = 1; i < series.readings.count; i++)
        assert_true(series.readings.items[i].t_ns > series.readings.items[i - 1].t_ns);
    assert_int_equal(series.readings.items[0].rss_bytes, 300 * MIB);
    memory_series_free(&series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_hardly_differs_is_not_kept),
        cmocka_unit_test(memory_for_it_is_bounded_and_peaks_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
