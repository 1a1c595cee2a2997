#include "analysis/spans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

static struct span spans[100];
static size_t count;

static void add_as(struct span_builder *builder, uint32_t phase, uint32_t group, int64_t at_ms,
                   uint64_t cpu_ms)
{
    struct span_sample sample = {.phase = phase,
                                 .group = group,
                                 .at_ns = at_ms * MS,
                                 .cpu_ns = cpu_ms * (uint64_t)MS,
                                 .period_ns = (uint32_t)MS};
    if (span_add(builder, &sample, &spans[count]))
        count++;
}

static void add(struct span_builder *builder, uint32_t phase, int64_t at_ms, uint64_t cpu_ms)
{
    add_as(builder, phase, 0, at_ms, cpu_ms);
}

static void finish(struct span_builder *builder)
{
    if (span_finish(builder, &spans[count]))
        count++;
}

static void samples_of_one_phase_are_one_span(void **unused)
{
    (void)unused;
    struct span_builder builder = {0};
    count = 0;
    for (int i = 1; i <= 5; i++)
        add(&builder, 7, 100 + i, 1);
    add(&builder, 8, 106, 1);
    add(&builder, 8, 107, 1);
    finish(&builder);
    assert_int_equal(count, 2);
    assert_int_equal(spans[0].start_ns, 100 * MS);
    assert_int_equal(spans[0].end_ns, 105 * MS);
    assert_int_equal(spans[0].samples, 5);
    assert_int_equal(spans[0].cpu_ns, 5 * MS);
    assert_false(spans[0].continues);
    assert_int_equal(spans[1].start_ns, 105 * MS); /* no hole between phases of one run */
    assert_int_equal(spans[1].end_ns, 107 * MS);
    assert_true(spans[1].continues);
}

static void a_gap_ends_a_span(void **unused)
{
    (void)unused;
    struct span_builder builder = {0};
    count = 0;
    add(&builder, 1, 10, 1);
    add(&builder, 1, 20, 1); /* 10 ms of which 1 ran: within the gap */
    add(&builder, 1, 3020, 1);
    finish(&builder);
    assert_int_equal(count, 2);
    assert_int_equal(spans[0].gap_ns, 10 * MS);
    assert_int_equal(spans[0].end_ns, 20 * MS);
    assert_int_equal(spans[1].start_ns, 3019 * MS);
    assert_int_equal(spans[1].end_ns, 3020 * MS);
}

static void merged_samples_are_no_gap(void **unused)
{
    (void)unused;
    struct span_builder builder = {0};
    count = 0;
    add(&builder, 1, 10, 1);
    add(&builder, 1, 57, 47); /* one sample for 47 periods: the thread ran all the time */
    finish(&builder);
    assert_int_equal(count, 1);
    assert_int_equal(spans[0].cpu_ns, 48 * MS);
}

static void late_weight_is_no_gap_and_does_not_count(void **unused)
{
    (void)unused;
    struct span_builder builder = {0};
    struct span_sample late = {
        .phase = 1, .at_ns = 57 * MS, .cpu_ns = MS, .late_ns = 46 * MS, .period_ns = (uint32_t)MS};
    count = 0;
    add(&builder, 1, 10, 1);
    assert_false(span_add(&builder, &late, &spans[0]));
    finish(&builder);
    assert_int_equal(count, 1);
    assert_int_equal(spans[0].cpu_ns, 2 * MS);
}

static void another_codegen_unit_is_another_span(void **unused)
{
    (void)unused;
    struct span_builder builder = {0};
    count = 0;
    add_as(&builder, 1, 4, 10, 1);
    add_as(&builder, 1, 5, 11, 1);
    finish(&builder);
    assert_int_equal(count, 2);
    assert_int_equal(spans[0].group, 4);
    assert_int_equal(spans[1].group, 5);
    assert_true(spans[1].continues);
}

static void the_gap_grows_with_the_period(void **unused)
{
    (void)unused;
    assert_int_equal(span_gap_ns(1000000), 10000000);
    assert_int_equal(span_gap_ns(3333333), 10000000);
    assert_int_equal(span_gap_ns(4000000), 12000000);
    assert_int_equal(span_gap_ns(UINT32_MAX), 3 * (uint64_t)UINT32_MAX);
}

static void a_clock_that_steps_back_gives_no_negative_time(void **unused)
{
    (void)unused;
    struct span_builder builder = {0};
    count = 0;
    add(&builder, 1, 10, 1);
    add(&builder, 1, 5, 1);
    add(&builder, 2, 4, UINT64_MAX / 1000000);
    finish(&builder);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++)
        assert_true(spans[i].end_ns >= spans[i].start_ns);
    assert_int_equal(spans[0].samples, 2);
}

/* Totals and spans come from the same samples: they agree in count and weight. */
static void nothing_is_lost_or_counted_twice(void **unused)
{
    (void)unused;
    struct span_builder builder = {0};
    uint64_t samples = 0, cpu = 0, seen = 0, seen_cpu = 0;
    uint32_t random = 3;
    int64_t at = 0, last_end = INT64_MIN;
    count = 0;
    for (int i = 0; i < 10000; i++) {
        random = random * 1664525u + 1013904223u;
        at += (random >> 20) % 30;
        uint64_t weight = (random >> 10) % 3;
        samples++;
        cpu += weight * (uint64_t)MS;
        add(&builder, (random >> 28) % 3, at, weight);
        if (i == 9999)
            finish(&builder);
        for (size_t n = 0; n < count; n++) {
            seen += spans[n].samples;
            seen_cpu += spans[n].cpu_ns;
            assert_true(spans[n].start_ns >= last_end);
            assert_true(spans[n].end_ns >= spans[n].start_ns);
            last_end = spans[n].end_ns;
        }
        count = 0;
    }
    assert_int_equal(seen, samples);
    assert_int_equal(seen_cpu, cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_of_one_phase_are_one_span),
        cmocka_unit_test(a_gap_ends_a_span),
        cmocka_unit_test(merged_samples_are_no_gap),
        cmocka_unit_test(late_weight_is_no_gap_and_does_not_count),
        cmocka_unit_test(another_codegen_unit_is_another_span),
        cmocka_unit_test(the_gap_grows_with_the_period),
        cmocka_unit_test(a_clock_that_steps_back_gives_no_negative_time),
        cmocka_unit_test(nothing_is_lost_or_counted_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
