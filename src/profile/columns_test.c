#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "profile/columns.h"

#define TEXT(literal) ((struct profile_text){literal, sizeof literal - 1})

/* Pushes two processes with two threads each; the second again from a scratch buffer that is overwritten between calls. */
static int push_all(const struct profile_sink *sink, unsigned samples)
{
    const struct profile_sink_ops *ops = sink->ops;
    struct profile_session session = {.command = "make", .elapsed_ns = PROFILE_UNKNOWN, .rate_hz = 99};
    int rc = ops->session(sink->ctx, &session);
    uint32_t stack = 0, thread = 0, frame = 0;
    for (uint32_t p = 1; rc >= 0 && p <= 2; p++) {
        char exe[16] = "/bin/x";
        struct profile_text argv[] = {TEXT("x"), TEXT("-c")};
        struct profile_process process = {.process = p,
                                          .pid = 100 + p,
                                          .exe = {exe, 6},
                                          .argv = argv,
                                          .argc = 2,
                                          .period_ns = {1000, 2000, 4000, 8000},
                                          .stream = exe};
        exe[5] = (char)('a' + p);
        rc = ops->process(sink->ctx, &process);
        memset(exe, '#', sizeof exe - 1);
        struct profile_module module = {.module = p, .path = TEXT("/lib/x.so")};
        if (rc >= 0)
            rc = ops->module(sink->ctx, &module);
        for (uint32_t t = 0; rc >= 0 && t < 2; t++) {
            thread++;
            struct profile_thread info = {
                .thread = thread, .process = p, .tid = thread, .name = TEXT("main")};
            rc = ops->thread(sink->ctx, &info);
            for (unsigned i = 0; rc >= 0 && i < samples; i++) {
                frame++;
                struct profile_frame f = {.frame = frame, .module = p, .offset = frame};
                struct profile_stack s = {.stack = stack + 1, .parent = stack, .frame = frame};
                stack++;
                struct profile_sample sample = {
                    .process = p,
                    .thread = thread,
                    .stack = stack,
                    .at_ns = i * 10,
                    .cpu_ns = i == 3 ? 5ull << 32 : i * 3000,
                    .flags = (uint16_t)(i % 4 << 4 | (i % 2 ? 2 : 0) | (i & 0xff) << 8),
                    .merged = i & 0xff};
                sample.period_ns = i == 5 ? 77 : process.period_ns[i % 4];
                sample.late_ns =
                    i % 2 && sample.cpu_ns > sample.period_ns ? sample.cpu_ns - sample.period_ns : 0;
                struct profile_wait wait = {
                    .process = p, .thread = thread, .start_ns = i * 10, .kind = 1};
                struct profile_thread_name name = {thread, i * 10, TEXT("other")};
                rc = ops->frame(sink->ctx, &f);
                if (rc >= 0)
                    rc = ops->stack(sink->ctx, &s);
                if (rc >= 0 && i == 2)
                    rc = ops->thread_name(sink->ctx, &name);
                if (rc >= 0 && i % 3 == 0)
                    rc = ops->wait(sink->ctx, &wait);
                if (rc >= 0)
                    rc = ops->sample(sink->ctx, &sample);
            }
            struct profile_thread_end ended = {.thread = thread, .end_ns = 1000};
            if (rc >= 0)
                rc = ops->thread_end(sink->ctx, &ended);
        }
        struct profile_notice notice = {.process = p, .kind = 1};
        struct profile_process_end ended = {.process = p, .exit_code = (int)p};
        if (rc >= 0)
            rc = ops->notice(sink->ctx, &notice);
        if (rc >= 0)
            rc = ops->process_end(sink->ctx, &ended);
    }
    struct profile_session_end ended = {.streams = 2};
    return rc < 0 ? rc : ops->session_end(sink->ctx, &ended);
}

static void what_was_pushed_is_there(void **state)
{
    (void)state;
    struct columns columns = {0};
    struct profile_sink sink = columns_sink(&columns);
    assert_int_equal(push_all(&sink, 20), LAM_OK);
    assert_int_equal(columns.processes.count, 2);
    assert_memory_equal(columns.processes.items[1].info.exe.bytes, "/bin/c", 6);
    assert_memory_equal(columns.processes.items[1].info.argv[1].bytes, "-c", 2);
    assert_int_equal(columns.processes.items[1].threads.first, 2);
    assert_int_equal(columns.processes.items[1].threads.count, 2);
    assert_int_equal(columns.processes.items[1].end.exit_code, 2);
    assert_int_equal(columns.at_ns.count, 80);
    const struct columns_thread *thread = &columns.threads.items[3];
    assert_int_equal(thread->samples.first, 60);
    assert_int_equal(thread->samples.count, 20);
    assert_int_equal(thread->waits.count, 7);
    assert_int_equal(thread->names.count, 1);
    struct profile_sample sample = columns_sample(&columns, thread, 63);
    assert_int_equal(sample.cpu_ns, 5ull << 32);
    assert_int_equal(sample.period_ns, 8000);
    assert_int_equal(sample.late_ns, (5ull << 32) - 8000);
    assert_int_equal(sample.merged, 3);
    sample = columns_sample(&columns, thread, 65);
    assert_int_equal(sample.period_ns, 77);
    assert_int_equal(columns.session.rate_hz, 99);
    assert_true(columns.has_end);
    columns_free(&columns);
}

/* Pushed from one into another it is the same. */
static void pushes_again_the_same(void **state)
{
    (void)state;
    struct columns one = {0}, two = {0};
    struct profile_sink first = columns_sink(&one), second = columns_sink(&two);
    assert_int_equal(push_all(&first, 30), LAM_OK);
    assert_int_equal(columns_push(&one, &second), LAM_OK);
    assert_int_equal(one.at_ns.count, two.at_ns.count);
    assert_memory_equal(one.at_ns.items, two.at_ns.items, one.at_ns.count * sizeof *one.at_ns.items);
    assert_memory_equal(one.stack.items, two.stack.items, one.stack.count * sizeof *one.stack.items);
    assert_memory_equal(one.cpu_ns.items, two.cpu_ns.items,
                        one.cpu_ns.count * sizeof *one.cpu_ns.items);
    assert_memory_equal(one.flags.items, two.flags.items, one.flags.count * sizeof *one.flags.items);
    assert_int_equal(one.waits.count, two.waits.count);
    assert_int_equal(one.names.count, two.names.count);
    assert_int_equal(one.notices.count, two.notices.count);
    assert_int_equal(one.stacks.count, two.stacks.count);
    for (size_t i = 0; i < one.threads.count; i++) {
        assert_int_equal(one.threads.items[i].samples.first, two.threads.items[i].samples.first);
        for (size_t k = 0; k < one.threads.items[i].samples.count; k++) {
            size_t at = one.threads.items[i].samples.first + k;
            struct profile_sample a = columns_sample(&one, &one.threads.items[i], at);
            struct profile_sample b = columns_sample(&two, &two.threads.items[i], at);
            assert_int_equal(a.cpu_ns, b.cpu_ns);
            assert_int_equal(a.period_ns, b.period_ns);
            assert_int_equal(a.late_ns, b.late_ns);
        }
    }
    const struct profile_sink_ops none = {0};
    struct profile_sink nobody = {.ctx = NULL, .ops = &none};
    assert_int_equal(columns_push(&one, &nobody), LAM_OK);
    columns_free(&one);
    columns_free(&two);
}

static void wrong_ids_are_refused(void **state)
{
    (void)state;
    struct columns columns = {0};
    struct profile_sink sink = columns_sink(&columns);
    struct profile_process process = {.process = 2};
    struct profile_thread thread = {.thread = 1, .process = 1};
    struct profile_sample sample = {.process = 1, .thread = 1};
    struct profile_process_end ended = {.process = 1};
    assert_int_equal(sink.ops->process(&columns, &process), LAM_E_INVAL);
    assert_int_equal(sink.ops->thread(&columns, &thread), LAM_E_INVAL);
    assert_int_equal(sink.ops->sample(&columns, &sample), LAM_E_INVAL);
    assert_int_equal(sink.ops->process_end(&columns, &ended), LAM_E_INVAL);
    columns_free(&columns);
}

static void allocations_may_fail(void **state)
{
    (void)state;
    int rc = LAM_E_NOMEM;
    for (uint64_t after = 0; rc < 0 && after < 1000; after++) {
        struct columns columns = {0};
        struct profile_sink sink = columns_sink(&columns);
        mem_fail_after(after);
        rc = push_all(&sink, 20);
        mem_fail_after(UINT64_MAX);
        assert_true(rc == LAM_OK || rc == LAM_E_NOMEM);
        columns_free(&columns);
    }
    assert_int_equal(rc, LAM_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_pushed_is_there),
        cmocka_unit_test(pushes_again_the_same),
        cmocka_unit_test(wrong_ids_are_refused),
        cmocka_unit_test(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
