/* The threads of one stream into a sink: names, waits and samples of each, in the order of time. */
#ifndef LAMELLA_INPUT_PROCESS_THREADS_H
#define LAMELLA_INPUT_PROCESS_THREADS_H

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "input/recording.h"
#include "input/stack_merge.h"
#include "profile/sink.h"
#include "reader/tick_clock.h"

struct thread_info {
    uint32_t index, tid; /* in the stream; kernel's */
    uint8_t origin;
    int64_t start_ns;
    uint64_t base_cpu_ns; /* its CPU clock where its first sample's weight begins */
    bool has_start, has_end;
    struct profile_text name; /* in the file */
    struct profile_thread_end end;
};

struct thread_event { /* a wait or a new name */
    uint32_t thread;  /* index in the stream */
    int64_t at_ns;
    struct profile_text name; /* in names; of a wait empty */
    struct stream_rec_wait wait;
    bool is_wait;
};

struct process_threads {
    const struct profile_sink *sink;
    struct stack_merge *merge;
    struct tick_clock *clock;
    uint32_t process, first_thread; /* ids in the sink */
    uint32_t period_ns[4];
    bool has_engine;           /* it was to be sampled */
    int64_t start_ns, last_ns; /* of the process, for threads that do not say */
    uint32_t pid;              /* the main thread's tid; it begins with the process, and ... */
    struct thread_clocks main_before; /* ... had used this much as the program before the exec */
    struct profile_text comm;
    struct stream_faults *faults;

    uint32_t count; /* out: threads pushed */
    uint64_t clamped_times;

    /* Inside. */
    struct process_stacks stacks;
    LAM_ARRAY(struct thread_info) threads;
    struct map by_index; /* thread index → position */
    LAM_ARRAY(struct thread_event) events;
    struct arena names;
};

/* Pushes modules, threads, and for each its names, waits, samples and end; notices of the process. LAM_OK, LAM_E_NOMEM or
 * the sink's code. */
int process_threads_push(struct process_threads *threads, const struct stream_file *file);

#endif
