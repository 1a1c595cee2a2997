/* The events of a self-profile: where they lie, what is in one, and a first look at all of them (threads, counts, and
 * whether they lie in the order of their ends). */
#ifndef LAMELLA_INPUT_PROFDATA_EVENTS_H
#define LAMELLA_INPUT_PROFDATA_EVENTS_H

#include "base/array.h"
#include "base/map.h"
#include "base/pool.h"
#include "input/profdata_container.h"

/* 48 bits; the two highest values as an end say that it is none. */
#define PROFDATA_INSTANT UINT64_C(0xffffffffffff)
#define PROFDATA_INTEGER UINT64_C(0xfffffffffffe)

struct profdata_event {
    uint64_t kind, id; /* strings */
    uint64_t start, end;
    uint32_t thread; /* as the program numbers them */
};

/* Events that lie together in the file. One that lies across two pages is a run of its own, in whole. */
struct profdata_run {
    uint64_t first, count; /* index of the first one, and how many */
    const uint8_t *bytes;
    uint8_t whole[PROFDATA_EVENT_MAX_BYTES];
};

uint64_t profdata_event_count(const struct profdata_file *file);

/* The run that holds an event; index below profdata_event_count(). */
void profdata_run_at(const struct profdata_file *file, uint64_t index, struct profdata_run *run);

/* Offset in the file of an event. */
uint64_t profdata_event_offset(const struct profdata_file *file, uint64_t index);

static inline __attribute__((always_inline)) struct profdata_event profdata_event_read(
    const uint8_t *at, bool is_wide)
{
    struct profdata_event event;
    event.kind = is_wide ? profdata_u64(at) : profdata_u32(at);
    event.id = is_wide ? profdata_u64(at + 8) : profdata_u32(at + 4);
    at += is_wide ? 16 : 8;
    uint64_t thread_and_start = profdata_u64(at), end_and_upper = profdata_u64(at + 8);
    event.thread = (uint32_t)thread_and_start;
    event.start = thread_and_start >> 32 | end_and_upper >> 48 << 32;
    event.end = end_and_upper & UINT64_C(0xffffffffffff);
    return event;
}

static inline bool profdata_is_interval(const struct profdata_event *event)
{
    return event->end < PROFDATA_INTEGER;
}

/* An interval that was stored with an end before its start counts as empty, at its end: that is where it lies in the file. */
static inline bool profdata_mend_backward(struct profdata_event *event)
{
    if (event->end >= event->start)
        return false;
    event->start = event->end;
    return true;
}

/* ---- the first look ---- */

/* A file of noise names a thread in each event. Real ones have dozens; events of threads beyond these are left out. */
enum { PROFDATA_THREADS_MAX = 1 << 16, PROFDATA_CHUNK_THREADS_MAX = 1 << 12 };
#define PROFDATA_NO_THREAD UINT32_MAX

struct profdata_thread {
    uint32_t tid;
    bool is_ordered;     /* its intervals lie in the order of their ends, inner ones first */
    bool is_timed;       /* and its instants among them in the order of time */
    uint64_t start, end; /* of intervals and instants */
    uint64_t interval_start, interval_end;
    uint64_t intervals, instants, integers, backward;
    uint64_t first_time; /* the end of its first interval, or an instant before that; UINT64_MAX: there is none */
    /* Of its intervals, mended, in the order of the file; the start is that of one that is not empty, if there is one with this end. */
    uint64_t first_start, first_end, last_start, last_end;
};

struct profdata_threads {
    LAM_ARRAY(struct profdata_thread) items; /* by their first event in the file */
    struct map by_tid;                       /* → index */
    uint32_t last_tid, last_index;
    uint64_t left_out; /* events */
};

/* The index of a thread that was seen; PROFDATA_NO_THREAD for one too many. */
static inline uint32_t profdata_thread_index(struct profdata_threads *threads, uint32_t tid)
{
    if (tid != threads->last_tid) {
        threads->last_index = (uint32_t)map_get_or(&threads->by_tid, tid, PROFDATA_NO_THREAD);
        threads->last_tid = tid;
    }
    return threads->last_index;
}

/* An interval that may hold events of an earlier chunk of the file: those of its own chunk and thread before it begin no
 * earlier. */
struct profdata_edge {
    uint32_t thread; /* index */
    uint64_t start, end, kind, id;
};

/* What a walk that begins in the middle of a file must know. Chunks are walked from their ends, each as if the walk came from the
 * chunk behind it: what is under way there are nodes. */
struct profdata_node {
    uint64_t start, end, kind, id;
    uint32_t parent; /* index + 1; 0: none */
    uint32_t thread; /* index */
};

struct profdata_skeleton {
    uint64_t chunk_events; /* the last chunk may have fewer; 0 before it is made: as the file is long */
    size_t chunks, threads;
    bool is_timed; /* as every thread is: else no chunk by itself can be told in the order of starts */
    LAM_ARRAY(struct profdata_node) nodes;
    /* By chunk × threads + thread index: */
    uint64_t *afters; /* first_time behind this chunk; UINT64_MAX */
    uint64_t *ends; /* of the last interval of the thread in this chunk or before it; 0: there is none */
    uint32_t *tops; /* the innermost node under way then, + 1; 0: none */
};

/* What of a thread is under way at a chunk's end, the outermost first; `nodes` is emptied before. They live as long as the skeleton.
 * LAM_OK or LAM_E_NOMEM. */
struct profdata_under_way LAM_ARRAY_BODY(const struct profdata_node *);
int profdata_skeleton_enter(const struct profdata_skeleton *skeleton, size_t chunk, uint32_t thread,
                            struct profdata_under_way *nodes);

/* The thread of this number, which is added where it is new; *out is NULL for one beyond `max` of them. LAM_OK or LAM_E_NOMEM. */
int profdata_thread_add(struct profdata_threads *threads, uint32_t tid, size_t max,
                        struct profdata_thread **out);

/* What is left to do when all events have been looked at. */
void profdata_threads_finish(struct profdata_threads *threads);

/* Looks at all events, with the pool's threads (NULL: alone). With more than one of them, or where chunk_events is set, the skeleton is
 * made as well, unless it is NULL; it has no chunks where it would grow out of proportion. LAM_OK or LAM_E_NOMEM. */
int profdata_look(const struct profdata_file *file, struct pool *pool,
                  struct profdata_threads *threads, struct profdata_skeleton *skeleton);
void profdata_threads_free(struct profdata_threads *threads);
void profdata_skeleton_free(struct profdata_skeleton *skeleton); /* an all-zero one is fine */

#endif
