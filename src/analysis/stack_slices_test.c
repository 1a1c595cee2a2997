/* Stacks by thread, phase and time: slots, sums, and what the sink keeps of stacks. */
#include "analysis/stack_slices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

#define MS INT64_C(1000000)

static void open_slices(struct stack_slices *slices, uint64_t elapsed_ns)
{
    stack_slices_init(slices);
    struct profile_sink sink = stack_slices_sink(slices);
    struct profile_session session = {.elapsed_ns = elapsed_ns};
    assert_int_equal(sink.ops->session(sink.ctx, &session), LAM_OK);
}

static void sample(struct stack_slices *slices, uint32_t thread, int64_t at_ns, uint32_t phase,
                   uint32_t stack, uint32_t samples, uint64_t cpu_ns)
{
    struct report_sampled sampled = {.thread = thread,
                                     .at_ns = at_ns,
                                     .phase = phase,
                                     .stack = stack,
                                     .samples = samples,
                                     .cpu_ns = cpu_ns};
    assert_int_equal(stack_slices_sampled(slices, &sampled), LAM_OK);
}

static void slots_fit_the_length(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t elapsed_ns, slot_ns;
    } rows[] = {
        {PROFILE_UNKNOWN, 1000000000},
        {0, 1000000}, /* never below a millisecond */
        {100000000, 1000000},
        {STACK_SLOTS * UINT64_C(5000000), 5000001},
        {UINT64_C(86400000000000), UINT64_C(86400000000000) / STACK_SLOTS + 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct stack_slices slices;
        open_slices(&slices, rows[i].elapsed_ns);
        assert_int_equal(slices.slot_ns, rows[i].slot_ns);
        if (rows[i].elapsed_ns && rows[i].elapsed_ns != PROFILE_UNKNOWN) /* the last one is within */
            assert_true((rows[i].elapsed_ns - 1) / slices.slot_ns < STACK_SLOTS);
        stack_slices_free(&slices);
    }
}

static void equal_ones_are_one_row(void **unused)
{
    (void)unused;
    static const struct stack_slice wanted[] = {
        {.thread = 1, .slot = 0, .phase = 4, .stack = 9, .samples = 3, .cpu_ns = 60},
        {.thread = 1, .slot = 0, .phase = 4, .stack = 10, .samples = 1, .cpu_ns = 7},
        {.thread = 1, .slot = 0, .phase = 5, .stack = 9, .samples = 1, .cpu_ns = 8},
        {.thread = 1, .slot = 3, .phase = 4, .stack = 9, .samples = 1, .cpu_ns = 9},
        {.thread = 2, .slot = 0, .phase = 4, .stack = 9, .samples = 0, .cpu_ns = 11},
    };
    struct stack_slices slices;
    open_slices(&slices, 512 * 1000 * UINT64_C(1000));
    sample(&slices, 2, 1, 4, 9, 0, 11); /* a thread's closing stretch is time and no sample */
    sample(&slices, 1, MS / 2, 4, 9, 1, 10);
    sample(&slices, 1, 3 * (int64_t)slices.slot_ns, 4, 9, 1, 9);
    sample(&slices, 1, MS / 4, 5, 9, 1, 8);
    sample(&slices, 1, MS / 3, 4, 9, 1, 20);
    sample(&slices, 1, 0, 4, 10, 1, 7);
    sample(&slices, 1, -MS, 4, 9, 1, 30); /* before the start by a clock's error */
    stack_slices_finish(&slices);
    assert_int_equal(slices.rows.count, sizeof wanted / sizeof wanted[0]);
    for (size_t i = 0; i < slices.rows.count; i++) {
        const struct stack_slice *row = &slices.rows.items[i];
        if (row->thread != wanted[i].thread || row->slot != wanted[i].slot ||
            row->phase != wanted[i].phase || row->stack != wanted[i].stack ||
            row->samples != wanted[i].samples || row->cpu_ns != wanted[i].cpu_ns)
            fail_msg("row %zu: thread %u slot %u phase %u stack %u", i, row->thread, row->slot,
                     row->phase, row->stack);
    }
    stack_slices_free(&slices);
}

/* Memory follows what is different, and nothing is lost by merging on the way. */
static void many_samples_of_few_stacks(void **unused)
{
    (void)unused;
    enum { SAMPLES = 1 << 18, STACKS = 50, THREADS = 3 };
    struct stack_slices slices;
    open_slices(&slices, UINT64_C(512000000000));
    size_t most = 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        sample(&slices, i % THREADS, MS * (int64_t)i, 0, i % STACKS, 1, i);
        most = slices.rows.count > most ? slices.rows.count : most;
    }
    stack_slices_finish(&slices);
    uint64_t samples = 0, cpu_ns = 0;
    array_each(&slices.rows, row)
    {
        samples += row->samples;
        cpu_ns += row->cpu_ns;
    }
    assert_int_equal(samples, SAMPLES);
    assert_int_equal(cpu_ns, UINT64_C(1) * SAMPLES * (SAMPLES - 1) / 2);
    assert_true(slices.rows.count <= 264 * STACKS * THREADS);
    assert_true(most < SAMPLES / 2);
    for (size_t i = 1; i < slices.rows.count; i++)
        assert_true(stack_slices_merge(
                        (struct stack_slice[]){slices.rows.items[i - 1], slices.rows.items[i]}, 2) ==
                    2);
    stack_slices_free(&slices);
}

static void what_stacks_are_made_of(void **unused)
{
    (void)unused;
    struct stack_slices slices;
    open_slices(&slices, 1000);
    struct profile_sink sink = stack_slices_sink(&slices);
    static const struct {
        const char *path, *name;
    } modules[] = {{"/usr/lib/libc.so.6", "libc.so.6"}, {"[vdso]", "[vdso]"}, {"/a/", ""}, {NULL, ""}};
    for (uint32_t i = 0; i < 4; i++) {
        const char *path = modules[i].path;
        struct profile_module module = {.module = 2 * i, .path = {path, path ? strlen(path) : 0}};
        size_t length;
        assert_int_equal(sink.ops->module(sink.ctx, &module), LAM_OK);
        assert_string_equal(intern_text(&slices.names, slices.modules.items[2 * i], &length),
                            modules[i].name);
    }
    struct profile_frame frame = {.frame = 3, .module = 2, .offset = 77};
    assert_int_equal(sink.ops->frame(sink.ctx, &frame), LAM_OK);
    assert_int_equal(slices.frames.items[3].offset, 77);
    struct profile_stack first = {.stack = 1, .parent = 0, .frame = 3},
                         second = {.stack = 2, .parent = 1, .frame = 3};
    assert_int_equal(sink.ops->stack(sink.ctx, &first), LAM_OK);
    assert_int_equal(sink.ops->stack(sink.ctx, &second), LAM_OK);
    assert_int_equal(slices.stacks.items[2].parent, 1);
    /* Ids of damage, and parents that would make a ring. */
    struct profile_stack ring = {.stack = 4, .parent = 4}, later = {.stack = 4, .parent = 5},
                         far = {.stack = UINT32_MAX, .parent = 1};
    assert_int_equal(sink.ops->stack(sink.ctx, &ring), LAM_E_INVAL);
    assert_int_equal(sink.ops->stack(sink.ctx, &later), LAM_E_INVAL);
    assert_int_equal(sink.ops->stack(sink.ctx, &far), LAM_E_INVAL);
    frame.frame = UINT32_MAX;
    assert_int_equal(sink.ops->frame(sink.ctx, &frame), LAM_E_INVAL);
    struct profile_module module = {.module = UINT32_MAX};
    assert_int_equal(sink.ops->module(sink.ctx, &module), LAM_E_INVAL);
    stack_slices_free(&slices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_fit_the_length),
        cmocka_unit_test(equal_ones_are_one_row),
        cmocka_unit_test(many_samples_of_few_stacks),
        cmocka_unit_test(what_stacks_are_made_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
