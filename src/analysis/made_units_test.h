/* Units of a build by command lines and times, into a report. */
#ifndef LAMELLA_ANALYSIS_MADE_UNITS_TEST_H
#define LAMELLA_ANALYSIS_MADE_UNITS_TEST_H

#include "analysis/report_feed_test.h"

struct made_unit {
    const char *exe, *cwd, *arguments; /* blanks separate */
    int64_t start_ms, end_ms;
    uint32_t parent; /* number of a unit before it, from 1; 0: none */
};

static inline void push_unit_as(struct feed *feed, uint32_t id, const struct made_unit *made,
                                enum profile_sampled sampled)
{
    struct profile_text argv[32] = {text_of(made->exe)};
    size_t argc = 1;
    for (const char *at = made->arguments; *at;) {
        size_t length = strcspn(at, " ");
        argv[argc++] = (struct profile_text){at, length};
        at += length + (at[length] == ' ');
    }
    struct profile_process process = {.process = id,
                                      .pid = 1000 + id,
                                      .parent = made->parent,
                                      .start_ns = made->start_ms * (int64_t)MS,
                                      .exe = text_of(made->exe),
                                      .cwd = text_of(made->cwd),
                                      .comm = text_of(""),
                                      .argv = argv,
                                      .argc = argc,
                                      .sampled = sampled};
    assert_int_equal(feed->sink.ops->process(feed->sink.ctx, &process), LAM_OK);
}

static inline void push_unit(struct feed *feed, uint32_t id, const struct made_unit *made)
{
    push_unit_as(feed, id, made, PROFILE_SAMPLED_NO);
}

static inline void open_made(struct feed *feed, const struct made_unit *units, size_t count)
{
    open_feed(feed);
    push_session(feed, 10000, 9700, 4);
    for (uint32_t i = 0; i < count; i++)
        push_unit(feed, i + 1, &units[i]);
    for (uint32_t i = 0; i < count; i++)
        push_process_end(feed, i + 1, units[i].end_ms, 1, 0);
    finish_feed(feed);
    assert_int_equal(feed->report->units.count, count);
}

/* The unit of the nth process, from 1. */
static inline uint32_t unit_of(const struct feed *feed, uint32_t process)
{
    return feed->report->processes.items[process - 1].unit;
}

#define RUSTC "/x/bin/rustc", "/w"
#define LIB   "--crate-type lib --emit=dep-info,metadata,link --out-dir /t/deps "

#endif
