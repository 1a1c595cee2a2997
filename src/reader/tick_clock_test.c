#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "reader/tick_clock.h"

#define HZ  2995200000ull
#define DAY (86400ull * 1000000000)

static uint64_t true_ns(uint64_t ticks)
{
    return (uint64_t)((unsigned __int128)ticks * 1000000000 / HZ);
}

static int64_t off(struct tick_clock *clock, uint64_t ticks, uint64_t zero)
{
    return llabs(tick_clock_ns(clock, ticks) - (int64_t)(true_ns(ticks) - zero));
}

/* 100 days up, readings a microsecond off in either direction: a microsecond a second at most, and in the end as well. */
static void exact_after_hundred_days(void **state)
{
    (void)state;
    uint64_t start = HZ * 86400 * 100;
    uint64_t zero = true_ns(start);
    struct tick_clock clock = {0};
    for (uint64_t s = 0; s <= 3600; s += 60)
        assert_int_equal(
            tick_clock_add(&clock, start + s * HZ, true_ns(start + s * HZ) + (s / 60 % 3) * 500),
            LAM_OK);
    assert_int_equal(tick_clock_ready(&clock, HZ + HZ / 5000, zero), LAM_OK);
    for (uint64_t ms = 0; ms < 3600000; ms += 37)
        assert_true(off(&clock, start + ms * (HZ / 1000), zero) <= 1001);
    /* Beyond the last reading the nominal rate holds, which here is 200 ppm off. */
    assert_true(off(&clock, start + 3601 * HZ, zero) <= 201000);
    assert_in_range(tick_clock_span_ns(&clock, start + 100 * HZ, HZ), 999999000, 1000001000);
    tick_clock_free(&clock);
}

struct bad_reading {
    const char *name;
    int64_t second;   /* of the reading */
    int64_t moved_ns; /* how far it is off */
};

static const struct bad_reading bad_readings[] = {
    {"monotonic stands still", 10, -1000000000}, /* equal to the reading before */
    {"monotonic runs back", 10, -5000000000},
    {"far ahead", 10, 86400000000000},
    {"a scheduler's slice late", 10, 40000000},
};

static void contradictions_are_left_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_readings / sizeof *bad_readings; i++) {
        struct tick_clock clock = {0};
        for (int64_t s = 9; s < 20; s++) {
            uint64_t ticks = (uint64_t)s * HZ;
            int64_t moved = s == bad_readings[i].second ? bad_readings[i].moved_ns : 0;
            assert_int_equal(
                tick_clock_add(&clock, ticks, (uint64_t)((int64_t)true_ns(ticks) + moved)), LAM_OK);
        }
        assert_int_equal(tick_clock_ready(&clock, HZ, 0), LAM_OK);
        for (uint64_t ms = 9000; ms < 20000; ms += 10) {
            if (off(&clock, ms * (HZ / 1000), 0) > 1000)
                fail_msg("%s: at %llu ms off by %lld ns", bad_readings[i].name,
                         (unsigned long long)ms, (long long)off(&clock, ms * (HZ / 1000), 0));
        }
        tick_clock_free(&clock);
    }
}

static void one_reading_or_none(void **state)
{
    (void)state;
    struct tick_clock clock = {0};
    assert_int_equal(tick_clock_ns(&clock, 5), 0);
    assert_int_equal(tick_clock_span_ns(&clock, 5, 5), 0);
    assert_int_equal(tick_clock_add(&clock, 1000, DAY), LAM_OK);
    assert_int_equal(tick_clock_ready(&clock, 1000000000, DAY), LAM_OK);
    assert_int_equal(tick_clock_ns(&clock, 1500), 500);
    assert_int_equal(tick_clock_ns(&clock, 400), -600);
    tick_clock_free(&clock);
    assert_int_equal(tick_clock_ready(&clock, 0, 0), LAM_OK); /* no rate: ticks are nanoseconds */
    assert_int_equal(tick_clock_ns(&clock, 77), 77);
    tick_clock_free(&clock);
}

/* Any numbers give some number: no overflow, no division by zero, and none in the sums and differences that readers make. */
static void extremes_saturate(void **state)
{
    (void)state;
    const uint64_t values[] = {
        0, 1, 2, 1u << 31, 1ull << 40, INT64_MAX, 1ull << 63, UINT64_MAX - 1, UINT64_MAX};
    enum { N = sizeof values / sizeof *values };
    for (size_t a = 0; a < N; a++) {
        for (size_t b = 0; b < N; b++) {
            for (size_t rate = 0; rate < N; rate++) {
                struct tick_clock clock = {0};
                assert_int_equal(tick_clock_add(&clock, values[a], values[b]), LAM_OK);
                assert_int_equal(tick_clock_add(&clock, values[b], values[a]), LAM_OK);
                assert_int_equal(tick_clock_ready(&clock, values[rate], values[a]), LAM_OK);
                for (size_t t = 0; t < N; t++) {
                    int64_t at_ns = tick_clock_ns(&clock, values[t]);
                    assert_true(at_ns >= -TICK_CLOCK_MAX_NS && at_ns <= TICK_CLOCK_MAX_NS);
                    assert_true(tick_clock_span_ns(&clock, values[t], values[t]) <= TICK_CLOCK_MAX_NS);
                }
                tick_clock_free(&clock);
            }
        }
    }
}

static void never_runs_back(void **state)
{
    (void)state;
    struct tick_clock clock = {0};
    for (uint64_t s = 0; s < 10; s++) /* noisy readings, dense and wide */
        assert_int_equal(
            tick_clock_add(&clock, HZ + s * HZ / 300, true_ns(HZ + s * HZ / 300) + (s % 2) * 9000),
            LAM_OK);
    assert_int_equal(tick_clock_ready(&clock, HZ, 0), LAM_OK);
    int64_t before = INT64_MIN;
    for (uint64_t ticks = HZ - HZ / 10; ticks < HZ + HZ / 5; ticks += 1777) {
        int64_t ns = tick_clock_ns(&clock, ticks);
        assert_true(ns >= before);
        before = ns;
    }
    tick_clock_free(&clock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_after_hundred_days), cmocka_unit_test(contradictions_are_left_out),
        cmocka_unit_test(one_reading_or_none),      cmocka_unit_test(extremes_saturate),
        cmocka_unit_test(never_runs_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
