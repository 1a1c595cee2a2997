/* reader.h: reads back what a program recorded with liblamella, event by event. Link with -llamella-reader.
 *
 *     struct lam_reader *reader;
 *     char why[256];
 *     if (lam_reader_open(&reader, "run.lamella", why, sizeof why) < 0) …
 *     const struct lam_event *event;
 *     lam_reader_begin(reader, LAM_READER_TIME_ORDER);
 *     while (lam_reader_next(reader, &event) > 0)
 *         if (event->type == LAM_EVENT_INTERVAL) …
 *     lam_reader_close(&reader);
 *
 * A recording may be read while it is written, and after its program was killed: what was completed is there. What is damaged
 * is left out and counted (lam_reader_stats). Texts are bytes of any value, with a length.
 *
 * Threads  one at a time with one reader.
 * Errors   functions that can fail return an enum lam_code: 0 or more is success.
 * ABI      structures that the library hands out only grow at their end. Nothing else changes within one soname. */
#ifndef LAMELLA_READER_H
#define LAMELLA_READER_H

#include <stddef.h>
#include <stdint.h>

#include "lamella/codes.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef LAM_API
#define LAM_API __attribute__((visibility("default")))
#endif

struct lam_reader; /* opaque */

struct lam_text {
    const char *bytes; /* not ended by a NUL */
    size_t size;
};

/* Opens a recording: a directory with stream files, or one stream file (".lam"). Only what programs recorded themselves is read;
 * samples are left to `lamella`.
 * message  takes one line about a failure, cut to message_size with its NUL; may be NULL with 0
 * Returns  LAM_OK; LAM_E_NOTFOUND when there is no such path or no stream with events in it; LAM_E_CORRUPT, LAM_E_TRUNCATED,
 *          LAM_E_UNSUPPORTED for one file that is no stream of ours (of a directory such files are counted); LAM_E_PERM,
 *          LAM_E_IO, LAM_E_NOMEM. *reader is written on success only. */
LAM_API int lam_reader_open(struct lam_reader **reader, const char *path, char *message,
                            size_t message_size);

/* NULL and *reader NULL are fine; *reader is NULL afterwards. What it handed out is gone. */
LAM_API void lam_reader_close(struct lam_reader **reader);

enum lam_measure {                       /* what starts, ends and durations of a stream count */
                   LAM_MEASURE_TIME = 0, /* nanoseconds since the recording's start (start_unix_ns) */
                   LAM_MEASURE_CPU_TIME = 1, /* nanoseconds of each thread's CPU clock */
                   LAM_MEASURE_INSTRUCTIONS = 2,
                   LAM_MEASURE_INSTRUCTIONS_MINUS_IRQS = 3,
                   LAM_MEASURE_CYCLES = 4,
};

struct lam_reader_stats {
    uint64_t streams;            /* with events */
    uint64_t unreadable_streams; /* files that could not be opened, or are no streams */
    uint64_t lost_events;        /* that their programs could not store */
    uint64_t damaged;            /* pages and records that could not be read */
    uint64_t missing_bytes;      /* at the ends of files that were cut */
    int64_t start_unix_ns; /* the recording's start, the zero of all its times, since 1970: of a directory what
                                    its session.json says; without one, and of one file, where the first stream began */
};

LAM_API void lam_reader_stats(const struct lam_reader *reader, struct lam_reader_stats *stats);

enum lam_event_type {
    LAM_EVENT_INTERVAL = 0,
    LAM_EVENT_INSTANT = 1,
    LAM_EVENT_INTEGER = 2, /* a value at a time */
    LAM_EVENT_FOLD = 3, /* calls that were not stored one by one: count, active (their time), self */
};

enum lam_event_flag {
    LAM_EVENT_OPEN = 1,     /* it never ended: end is the last time known of its thread */
    LAM_EVENT_DETACHED = 2, /* it may end on another thread than it began */
    LAM_EVENT_BACKWARD = 4, /* it ends before its start, or by another thread's counter: end is start */
};

struct lam_event {
    uint32_t type;   /* enum lam_event_type */
    uint32_t flags;  /* enum lam_event_flag */
    uint32_t stream; /* from 0: which file; a program image, or one recorder in it */
    uint32_t pid, tid;
    uint32_t thread;             /* number in its stream, from 1: unlike tids, never used again */
    uint32_t end_thread;         /* that ended it */
    uint32_t track;              /* number in its stream; 0 none */
    uint32_t measure;            /* enum lam_measure of its stream */
    uint32_t weight;             /* how many it stands for; 1 */
    struct lam_text kind, label; /* until the reader is closed */
    int64_t start, end;
    uint64_t active; /* end - start without the time that it, or its track, was paused */
    uint64_t self;   /* UINT64_MAX: not measured by the recorder; see who is inside whom */
    uint64_t value;  /* of an integer */
    uint64_t count;  /* of a fold: calls */
};

enum lam_reader_order {
    LAM_READER_STREAM_ORDER = 0, /* stream after stream, lane after lane; within each thread by start */
    LAM_READER_TIME_ORDER = 1, /* all by start */
};

/* Begins, at the first event; may be called again. LAM_OK, LAM_E_INVAL, LAM_E_NOMEM. */
LAM_API int lam_reader_begin(struct lam_reader *reader, enum lam_reader_order order);

/* 1 and the next event, which stays until the next call; 0 at the end; LAM_E_NOMEM; LAM_E_INVAL before lam_reader_begin(). */
LAM_API int lam_reader_next(struct lam_reader *reader, const struct lam_event **event);

/* The arguments of the event that was given out last: "name=value" or the value alone; then what was counted beside the clock, if
 * the interval has ended: "cpu time=1200 ns". *args stays until the next call of any
 * function. Returns how many, or LAM_E_NOMEM. */
LAM_API int lam_reader_args(struct lam_reader *reader, const struct lam_text **args);

#ifdef __cplusplus
}
#endif

#endif
