#include "session/rate_ladder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static double samples_in(const struct rate_ladder *ladder, uint64_t cpu_ms)
{
    return rate_ladder_samples(ladder, cpu_ms * 1000000u);
}

static double share_at(const struct rate_ladder *ladder, uint64_t cpu_ms)
{
    return samples_in(ladder, cpu_ms) * ladder->sample_cost_ns * 1e-6 / (double)cpu_ms;
}

static void samples_are_counted_by_step(void **state)
{
    struct rate_ladder ladder = {.is_auto = true,
                                 .period_ns = {1000000, 2000000, 4000000, 8000000},
                                 .step_cpu_ms = {100, 300, 300, 0}};
    (void)state;
    assert_int_equal(samples_in(&ladder, 50), 50);
    assert_int_equal(samples_in(&ladder, 100), 100);
    assert_int_equal(samples_in(&ladder, 300), 200);
    assert_int_equal(samples_in(&ladder, 380), 210); /* the third step has no length */
    ladder.is_auto = false;
    assert_int_equal(samples_in(&ladder, 380), 380);
    assert_int_equal(samples_in(&(struct rate_ladder){0}, 380), 0);
}

static void a_short_compilation_gets_enough(void **state)
{
    (void)state;
    for (uint32_t interruption = 500; interruption <= 100000; interruption += 500) {
        struct rate_ladder ladder = rate_ladder_auto(interruption, 0);
        assert_true(samples_in(&ladder, 190) >= 105); /* less what ran before the agent's start */
    }
}

/* Where interruptions are cheap, at every age; else from one second on. */
static void the_budget_holds(void **state)
{
    (void)state;
    for (uint32_t interruption = 100; interruption <= 16000; interruption += 100) {
        struct rate_ladder ladder = rate_ladder_auto(interruption, 0);
        bool is_cheap = share_at(&ladder, 100) <= 0.0181;
        for (uint64_t cpu_ms = is_cheap ? 10 : 1000; cpu_ms < 1000000; cpu_ms += 1 + cpu_ms / 3)
            assert_true(share_at(&ladder, cpu_ms) <=
                        (is_cheap ? 0.0181 : 0.0215)); /* no step is coarser than 8 ms */
    }
    struct rate_ladder bare = rate_ladder_auto(1500, 0);
    assert_true(share_at(&bare, 100) <= 0.0181);
}

/* A build of processes that all die young: later ones get fewer samples, and the whole keeps to the budget. */
static void short_processes_are_sampled_less(void **state)
{
    const struct rate_ladder first = rate_ladder_auto(15000, 0);
    struct rate_ladder now = first;
    struct rate_spent spent = {0};
    double samples = 0;
    (void)state;
    assert_true(share_at(&first, 200) > 0.04);
    for (int process = 0; process < 2000; process++) {
        samples += samples_in(&now, 200);
        spent.samples += samples_in(&first, 200);
        spent.cpu_ns += 200e6;
        now = rate_ladder_adapt(&first, &spent);
    }
    assert_true(samples * first.sample_cost_ns / spent.cpu_ns < 0.0185);
    assert_true(now.period_ns[0] > 2 * first.period_ns[0]);
}

static void adapting_leaves_alone_what_keeps_to_the_budget(void **state)
{
    const struct rate_ladder first = rate_ladder_auto(15000, 0), fixed = rate_ladder_fixed(4999);
    const struct rate_spent old = {rate_ladder_samples(&first, 10000000000u), 10e9},
                            young = {1000, 0.2e9}, all = {1e6, 10e9};
    (void)state;
    assert_memory_equal(rate_ladder_adapt(&first, &old).period_ns, first.period_ns,
                        sizeof first.period_ns);
    assert_memory_equal(rate_ladder_adapt(&first, &young).period_ns, first.period_ns,
                        sizeof first.period_ns);
    assert_memory_equal(rate_ladder_adapt(&fixed, &all).period_ns, fixed.period_ns,
                        sizeof fixed.period_ns);
    struct rate_ladder most = rate_ladder_adapt(&first, &all);
    assert_true(most.period_ns[0] <= 8 * first.period_ns[0] &&
                most.period_ns[RATE_STEPS - 1] <= 8000000);
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
        assert_true(ladder.period_ns[0] >= 250000 && ladder.period_ns[0] <= 1760000);
        assert_true(ladder.period_ns[RATE_STEPS - 1] <= 8000000);
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
        for (int i = 1; i < RATE_STEPS; i++)
            assert_int_equal(ladder.period_ns[i] % tick, 0);
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
        cmocka_unit_test(samples_are_counted_by_step),
        cmocka_unit_test(the_budget_holds),
        cmocka_unit_test(short_processes_are_sampled_less),
        cmocka_unit_test(adapting_leaves_alone_what_keeps_to_the_budget),
        cmocka_unit_test(steps_never_go_back),
        cmocka_unit_test(ticks_are_whole),
        cmocka_unit_test(no_period_beats_with_the_millisecond),
        cmocka_unit_test(fixed_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
