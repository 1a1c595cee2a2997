/* For tests: pushes sessions of an instrumented program into a sink, event by event. */
#ifndef LAMELLA_ANALYSIS_EVENT_FEED_TEST_H
#define LAMELLA_ANALYSIS_EVENT_FEED_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "profile/sink.h"

struct event_feed {
    struct profile_sink sink;
    uint32_t labels, threads, paths;
};

static inline struct profile_text feed_text(const char *text)
{
    return (struct profile_text){text, strlen(text)};
}

#define FEED_CALL(feed, call, ...)                                                         \
    ((feed)->sink.ops->call                                                                \
         ? assert_int_equal((feed)->sink.ops->call((feed)->sink.ctx, __VA_ARGS__), LAM_OK) \
         : (void)0)

static inline void feed_session(struct event_feed *feed)
{
    struct profile_session session = {.command = "rustc",
                                      .elapsed_ns = PROFILE_UNKNOWN,
                                      .charged_cpu_ns = PROFILE_UNKNOWN,
                                      .exit_code = -1,
                                      .complete = true,
                                      .has_intervals = true};
    FEED_CALL(feed, session, &session);
}

/* A rustc that compiles a crate. */
static inline void feed_process(struct event_feed *feed, uint32_t process, const char *crate)
{
    struct profile_text argv[] = {feed_text("rustc"), feed_text("--crate-name"), feed_text(crate),
                                  feed_text("src/lib.rs")};
    struct profile_process it = {.process = process,
                                 .pid = 100 + process,
                                 .exe = feed_text("/x/rustc"),
                                 .argv = argv,
                                 .argc = 4,
                                 .sampled = PROFILE_SAMPLED_NO,
                                 .startup_cpu_ns = PROFILE_UNKNOWN};
    FEED_CALL(feed, process, &it);
}

static inline void feed_process_end(struct event_feed *feed, uint32_t process)
{
    struct profile_process_end end = {.process = process,
                                      .exit_code = -1,
                                      .cpu_ns = PROFILE_UNKNOWN,
                                      .tail_cpu_ns = PROFILE_UNKNOWN};
    FEED_CALL(feed, process_end, &end);
}

static inline uint32_t feed_thread(struct event_feed *feed, uint32_t process, uint32_t tid)
{
    struct profile_thread thread = {
        .thread = ++feed->threads, .process = process, .tid = tid, .name = feed_text("worker")};
    FEED_CALL(feed, thread, &thread);
    return thread.thread;
}

/* kind 0: the label names a kind. */
static inline uint32_t feed_label(struct event_feed *feed, uint32_t kind, const char *text)
{
    struct profile_label label = {.label = ++feed->labels, .kind = kind, .text = feed_text(text)};
    FEED_CALL(feed, label, &label);
    return label.label;
}

static inline uint32_t feed_path(struct event_feed *feed, uint32_t parent, uint32_t label)
{
    struct profile_path path = {.path = ++feed->paths, .parent = parent, .label = label};
    FEED_CALL(feed, path, &path);
    return path.path;
}

struct feed_event {
    uint32_t process, thread, label;
    int64_t start_ns, end_ns;
    uint64_t children_ns; /* active time of children */
    uint64_t paused_ns;
    uint32_t weight, flags, path;
    const char *argument;
};

static inline void feed_interval(struct event_feed *feed, struct feed_event event)
{
    struct profile_text argument = feed_text(event.argument ? event.argument : "");
    uint64_t active = (uint64_t)(event.end_ns - event.start_ns) - event.paused_ns;
    struct profile_interval interval = {.process = event.process,
                                        .thread = event.thread,
                                        .label = event.label,
                                        .path = event.path,
                                        .start_ns = event.start_ns,
                                        .end_ns = event.end_ns,
                                        .active_ns = active,
                                        .self_ns = active - event.children_ns,
                                        .weight = event.weight ? event.weight : 1,
                                        .flags = event.flags,
                                        .end_thread = event.thread,
                                        .args = event.argument ? &argument : NULL,
                                        .argc = event.argument ? 1 : 0};
    FEED_CALL(feed, interval, &interval);
}

static inline void feed_instant(struct event_feed *feed, uint32_t process, uint32_t thread,
                                uint32_t label)
{
    struct profile_instant instant = {.process = process, .thread = thread, .label = label};
    FEED_CALL(feed, instant, &instant);
}

static inline void feed_integer(struct event_feed *feed, uint32_t process, uint32_t thread,
                                uint32_t label, uint64_t value)
{
    struct profile_instant instant = {
        .process = process, .thread = thread, .label = label, .has_value = true, .value = value};
    FEED_CALL(feed, instant, &instant);
}

static inline void feed_session_end(struct event_feed *feed)
{
    struct profile_session_end end = {.streams = 1, .unidentified_cpu_ns = PROFILE_UNKNOWN};
    FEED_CALL(feed, session_end, &end);
}

#endif
