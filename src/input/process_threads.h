/* The threads of one process into a sink: names, waits and samples of each in the order of time, then the events that they
 * recorded themselves. A process may have several streams, the agent's and one of each recorder in it: its threads are the
 * same by their tids. Intervals of two recorders overlap and say nothing of one another: where both recorded on a thread at the
 * same time, the second one's events have a row of their own, with self times of their own. */
#ifndef LAMELLA_INPUT_PROCESS_THREADS_H
#define LAMELLA_INPUT_PROCESS_THREADS_H

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "input/process_events.h"
#include "input/recording.h"
#include "input/stack_merge.h"
#include "profile/sink.h"
#include "reader/tick_clock.h"

/* A thread; or, when several recorders recorded on one at the same time, a row of one of them. */
struct thread_info {
    uint32_t index, tid; /* in the first stream, 0: not there; kernel's */
    uint32_t id;         /* in the sink */
    uint32_t row;        /* 0: the thread itself and its first recorder, else which one beside it */
    uint32_t next_row;   /* position + 1 */
    uint32_t stream;     /* the last one that speaks of it */
    int64_t until_ns;    /* end of the last stream that has events of it; INT64_MIN: none has */
    int64_t pushed_ns;   /* the latest time told of it */
    uint32_t samples;
    uint8_t origin;
    int64_t start_ns;
    uint64_t base_cpu_ns; /* its CPU clock where its first sample's weight begins */
    bool has_start, has_end;
    struct profile_text name; /* in the file */
    struct profile_thread_end end;
};

struct thread_event { /* a wait or a new name */
    uint32_t thread;  /* position in threads */
    int64_t at_ns;
    struct profile_text name; /* in names; of a wait empty */
    struct stream_rec_wait wait;
    bool is_wait;
};

struct thread_place { /* for finding the thread that another stream of the process speaks of */
    uint32_t tid, position;
    int64_t start_ns;
};

struct process_threads {
    const struct profile_sink *sink;
    struct stack_merge *merge;
    struct label_merge *labels;
    struct interval_paths *paths;
    struct tick_clock *clock;
    uint32_t process, first_thread, first_track; /* ids in the sink */
    uint32_t period_ns[4];
    bool has_engine;           /* it was to be sampled */
    int64_t start_ns, last_ns; /* of the process, for threads that do not say */
    uint32_t pid;              /* the main thread's tid; it begins with the process, and ... */
    struct thread_clocks main_before; /* ... had used this much as the program before the exec */
    struct profile_text comm;
    struct stream_faults *faults;

    uint32_t count, tracks; /* out: pushed */
    uint64_t clamped_times;
    uint64_t counts[STREAM_COUNT_KINDS]; /* of the files with events */
    struct nest_totals totals;
    int64_t last_event_ns; /* INT64_MIN: none */

    /* Inside. */
    struct process_stacks stacks;
    LAM_ARRAY(struct thread_info) threads;
    struct map by_index;                       /* stream << 32 | thread index → position */
    uint32_t stream;                           /* being read: 0 is the first one */
    int64_t stream_start_ns, stream_end_ns;    /* of it; as far as read */
    struct map by_tid;                         /* of later streams' threads: tid → position + 1 */
    LAM_ARRAY(struct thread_place) places;     /* of the first stream's threads, by tid and start */
    LAM_ARRAY(struct process_events) recorded; /* of the streams that have events */
    LAM_ARRAY(uint32_t) recorded_stream;
    LAM_ARRAY(struct thread_event) events;
    struct sample_queue samples; /* when the sink wants to know in which intervals they were */
    struct arena names;
};

/* Pushes modules, threads, and for each its names, waits, samples and end; notices and events of the process. Samples are in
 * the first of the files. LAM_OK, LAM_E_NOMEM or the sink's code. */
int process_threads_push(struct process_threads *threads, const struct stream_file *const *files,
                         size_t file_count);

#endif
