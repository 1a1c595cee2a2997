#include "session/rate_ladder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Samples that a process of one thread gets in `cpu_ms` of CPU on this ladder. */
static double samples_in(const struct rate_ladder *ladder, double cpu_ms)
{
    double at_ms = 0, samples = 0;
    for (int i = 0; i < RATE_STEPS && at_ms < cpu_ms; i++) {
        double end_ms = ladder->step_cpu_ms[i] && ladder->step_cpu_ms[i] < cpu_ms
                            ? ladder->step_cpu_ms[i]
                            : cpu_ms;
        samples += (end_ms - at_ms) * 1e6 / ladder->period_ns[i];
        at_ms = end_ms;
    }
    return samples;
}

static void a_short_compilation_gets_enough(void **state)
{
    (void)state;
    for (uint32_t interruption = 500; interruption <= 23000; interruption += 500) {
        struct rate_ladder ladder = rate_ladder_auto(interruption, 0);
        assert_true(samples_in(&ladder, 200) >= 100);
    }
}

static void the_budget_holds_at_every_age(void **state)
{
    (void)state;
    for (uint32_t interruption = 500; interruption <= 100000; interruption += 500) {
        struct rate_ladder ladder = rate_ladder_auto(interruption, 0);
        double cost_ms = rate_sample_cost_ns(interruption) * 1e-6;
        for (uint64_t cpu_ms = 10; cpu_ms < 1000000; cpu_ms += 1 + cpu_ms / 3)
            assert_true(samples_in(&ladder, (double)cpu_ms) * cost_ms <= 0.0181 * (double)cpu_ms);
    }
}

static void steps_never_go_back(void **state)
{
    (void)state;
    for (uint32_t interruption = 0; interruption <= 2000000; interruption = interruption * 3 + 100) {
        struct rate_ladder ladder = rate_ladder_auto(interruption, 0);
        assert_true(ladder.is_auto);
        for (int i = 1; i < RATE_STEPS; i++) {
            assert_true(ladder.period_ns[i] >= ladder.period_ns[i - 1]);
            if (i < RATE_STEPS - 1)
                assert_true(ladder.step_cpu_ms[i] > ladder.step_cpu_ms[i - 1]);
        }
        assert_int_equal(ladder.step_cpu_ms[RATE_STEPS - 1], 0);
        assert_true(ladder.period_ns[0] >= 250000 && ladder.period_ns[0] <= 10010000);
        assert_true(ladder.period_ns[RATE_STEPS - 1] <= 16000000);
        assert_true(ladder.rate_hz > 0);
    }
}

static void ticks_are_whole(void **state)
{
    (void)state;
    for (uint32_t tick = 1000000; tick <= 9000000; tick += 1000000) {
        struct rate_ladder ladder = rate_ladder_auto(40000, tick);
        assert_int_equal(ladder.period_ns[0] % tick, 0);
        assert_true(ladder.period_ns[0] >= tick);
    }
}

static void no_period_beats_with_the_millisecond(void **state)
{
    (void)state;
    for (uint32_t interruption = 0; interruption < 60000; interruption += 10)
        assert_true(rate_ladder_auto(interruption, 0).period_ns[0] % 250000 >= 1000);
}

static void fixed_rates(void **state)
{
    static const struct {
        uint32_t hz, period_ns;
    } rows[] = {{1, 1000000000}, {999, 1001001},       {1000, 1000000},
                {4999, 200040},  {RATE_MAX_HZ, 20000}, {0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rate_ladder ladder = rate_ladder_fixed(rows[i].hz);
        assert_false(ladder.is_auto);
        assert_int_equal(ladder.rate_hz, rows[i].hz);
        assert_int_equal(ladder.period_ns[0], rows[i].period_ns);
        for (int step = 0; step < RATE_STEPS; step++)
            assert_int_equal(ladder.step_cpu_ms[step], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_compilation_gets_enough),
        cmocka_unit_test(the_budget_holds_at_every_age),
        cmocka_unit_test(steps_never_go_back),
        cmocka_unit_test(ticks_are_whole),
        cmocka_unit_test(no_period_beats_with_the_millisecond),
        cmocka_unit_test(fixed_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
