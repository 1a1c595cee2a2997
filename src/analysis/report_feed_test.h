/* An input that pushes what a test says into a report. */
#ifndef LAMELLA_ANALYSIS_REPORT_FEED_TEST_H
#define LAMELLA_ANALYSIS_REPORT_FEED_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/report.h"

#define MS UINT64_C(1000000)

static inline struct profile_text text_of(const char *text)
{
    return (struct profile_text){text, strlen(text)};
}

static const char *const frame_texts[] = {NULL,
                                          "main",
                                          "rustc_hir_typeck::typeck",
                                          "LLVMRustOptimize",
                                          "rustc_borrowck::do_it",
                                          "",
                                          "LLVMRustWriteOutputFile",
                                          "rustc_codegen_llvm::base::compile_codegen_unit",
                                          "?"};

static inline int fake_names(void *ctx, const struct profile_frame *frame,
                             struct classifier_name *names, size_t *count, bool *is_stripped)
{
    (void)ctx;
    const char *name = frame_texts[frame->frame];
    bool has_name = *name && *name != '?'; /* ?: in a file that has symbols, but not here */
    *count = has_name ? 1 : 0;
    *is_stripped = !*name;
    names[0] = (struct classifier_name){name, strlen(name)};
    return LAM_OK;
}

struct feed {
    struct classifier *cls;
    struct report *report;
    struct profile_sink sink;
};

static inline void push_session(struct feed *feed, uint64_t elapsed_ms, uint64_t charged_ms,
                                uint32_t cores)
{
    struct profile_session session = {.command = "cargo build",
                                      .elapsed_ns = elapsed_ms * MS,
                                      .charged_cpu_ns = charged_ms * MS,
                                      .complete = true,
                                      .has_samples = true,
                                      .rate_hz = 1000,
                                      .cores = cores,
                                      .engine = 1};
    assert_int_equal(feed->sink.ops->session(feed->sink.ctx, &session), LAM_OK);
}

static inline void open_feed(struct feed *feed)
{
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(classifier_open(&feed->cls, NULL, &err), LAM_OK);
    struct report_options options = {
        .cls = feed->cls, .names = {.names = fake_names}, .want_spans = true};
    assert_int_equal(report_open(&feed->report, &options, &err), LAM_OK);
    feed->sink = report_sink(feed->report);
}

static inline void finish_feed(struct feed *feed)
{
    struct profile_session_end end = {.streams = 1};
    assert_int_equal(feed->sink.ops->session_end(feed->sink.ctx, &end), LAM_OK);
    struct lam_error err = LAM_ERROR_INIT;
    if (report_finish(feed->report, &err) < 0)
        fail_msg("%s", err.msg);
}

static inline void close_feed(struct feed *feed)
{
    report_close(&feed->report);
    assert_null(feed->report);
    classifier_close(&feed->cls);
}

static inline void push_process(struct feed *feed, uint32_t id, const char *exe,
                                const char *argument, enum profile_sampled sampled, int64_t start_ms)
{
    struct profile_text argv[] = {text_of(exe), text_of("--crate-name"), text_of(argument),
                                  text_of("src/lib.rs")};
    struct profile_process process = {.process = id,
                                      .pid = 1000 + id,
                                      .parent = id - 1,
                                      .start_ns = start_ms * (int64_t)MS,
                                      .exe = text_of(exe),
                                      .cwd = text_of("/w"),
                                      .comm = text_of("comm"),
                                      .argv = argv,
                                      .argc = 4,
                                      .sampled = sampled,
                                      .why_not = sampled == PROFILE_SAMPLED_NO ? 1 : 0,
                                      .startup_cpu_ns = sampled == PROFILE_SAMPLED_YES ? 5 * MS : 0};
    assert_int_equal(feed->sink.ops->process(feed->sink.ctx, &process), LAM_OK);
}

static inline void push_process_end(struct feed *feed, uint32_t id, int64_t end_ms, uint64_t cpu_ms,
                                    uint64_t tail_ms)
{
    struct profile_process_end end = {.process = id,
                                      .end_ns = end_ms * (int64_t)MS,
                                      .cpu_ns = cpu_ms * MS,
                                      .tail_cpu_ns = tail_ms * MS};
    assert_int_equal(feed->sink.ops->process_end(feed->sink.ctx, &end), LAM_OK);
}

static inline void push_thread(struct feed *feed, uint32_t id, uint32_t process, uint32_t tid,
                               const char *name, int64_t start_ms)
{
    struct profile_thread thread = {.thread = id,
                                    .process = process,
                                    .tid = tid,
                                    .start_ns = start_ms * (int64_t)MS,
                                    .name = text_of(name)};
    assert_int_equal(feed->sink.ops->thread(feed->sink.ctx, &thread), LAM_OK);
}

static inline void push_thread_end(struct feed *feed, uint32_t id, int64_t end_ms, uint64_t cpu_ms,
                                   uint64_t core_wait_ms)
{
    struct profile_thread_end end = {.thread = id,
                                     .end_ns = end_ms * (int64_t)MS,
                                     .cpu_ns = cpu_ms * MS,
                                     .run_ns = cpu_ms * MS,
                                     .core_wait_ns = core_wait_ms * MS,
                                     .handler_ns = PROFILE_UNKNOWN};
    assert_int_equal(feed->sink.ops->thread_end(feed->sink.ctx, &end), LAM_OK);
}

static inline void push_samples(struct feed *feed, uint32_t process, uint32_t thread,
                                uint32_t stack, int64_t from_ms, int64_t to_ms)
{
    for (int64_t at = from_ms + 1; at <= to_ms; at++) {
        struct profile_sample sample = {.process = process,
                                        .thread = thread,
                                        .stack = stack,
                                        .at_ns = at * (int64_t)MS,
                                        .cpu_ns = MS,
                                        .period_ns = (uint32_t)MS};
        assert_int_equal(feed->sink.ops->sample(feed->sink.ctx, &sample), LAM_OK);
    }
}

/* Stack n is main, then the frame n + 1; stack 1 is main alone. */
static inline void push_stacks(struct feed *feed)
{
    struct profile_module module = {.module = 1,
                                    .path = text_of("/t/lib/librustc_driver-0123456789abcdef.so")};
    assert_int_equal(feed->sink.ops->module(feed->sink.ctx, &module), LAM_OK);
    for (uint32_t i = 1; i < sizeof frame_texts / sizeof frame_texts[0]; i++) {
        struct profile_frame frame = {.frame = i, .module = 1, .offset = i};
        struct profile_stack stack = {
            .stack = i, .parent = i > 1 && frame_texts[i][0] != '?' ? 1 : 0, .frame = i};
        assert_int_equal(feed->sink.ops->frame(feed->sink.ctx, &frame), LAM_OK);
        assert_int_equal(feed->sink.ops->stack(feed->sink.ctx, &stack), LAM_OK);
    }
}

enum {
    TYPECK = 2,
    OPTIMIZE = 3,
    BORROWCK = 4,
    UNRESOLVED = 5,
    MACHINE = 6,
    BUILD_IR = 7,
    NAMELESS = 8
};

#endif
