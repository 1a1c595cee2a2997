/* Which threads of a process can share a row because they were never there at the same time: a sink for a first pass over
 * the input. Memory is the number of threads. */
#ifndef LAMELLA_OUTPUT_COLLAPSE_THREADS_H
#define LAMELLA_OUTPUT_COLLAPSE_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "profile/sink.h"

struct thread_span {
    uint32_t process, thread;
    int64_t first_ns, last_ns;
};

/* All-zero is empty and valid. */
struct collapse_threads {
    LAM_ARRAY(struct thread_span) spans; /* by thread */
    LAM_ARRAY(uint32_t) rows;            /* by thread: whose row it has */
    uint32_t shared;                     /* threads that are in another one's row */
};

struct profile_sink collapse_threads_sink(struct collapse_threads *threads);

/* After the pass: fills rows. LAM_OK or LAM_E_NOMEM. */
int collapse_threads_finish(struct collapse_threads *threads);

void collapse_threads_free(struct collapse_threads *threads);

#endif
