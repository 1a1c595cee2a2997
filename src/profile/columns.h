/* A whole profile in memory, as columns: for views that need more than one look at it. A sink like any other. 18 bytes a
 * sample; samples and waits of one thread lie together, in the order of time. */
#ifndef LAMELLA_PROFILE_COLUMNS_H
#define LAMELLA_PROFILE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "profile/sink.h"

struct columns_range { /* items first … first + count - 1 of a column */
    size_t first, count;
};

struct columns_process {
    struct profile_process info; /* its texts live as long as the profile */
    struct profile_process_end end;
    bool has_end;
    struct columns_range threads; /* of columns.threads */
};

struct columns_thread {
    struct profile_thread info;
    struct profile_thread_end end;
    bool has_end;
    struct columns_range samples, waits, names;
};

/* Ids are those of the push: item of id i is [i - 1]. */
struct columns {
    struct profile_session session;
    struct profile_session_end end;
    bool has_end;
    LAM_ARRAY(struct columns_process) processes;
    LAM_ARRAY(struct columns_thread) threads;
    LAM_ARRAY(struct profile_module) modules;
    LAM_ARRAY(struct profile_frame) frames;
    LAM_ARRAY(struct profile_stack) stacks;
    LAM_ARRAY(struct profile_wait) waits;
    LAM_ARRAY(struct profile_thread_name) names;
    LAM_ARRAY(struct profile_notice) notices;

    /* Samples, one array a column. */
    LAM_ARRAY(int64_t) at_ns;
    LAM_ARRAY(uint32_t) stack;
    LAM_ARRAY(uint32_t) cpu_ns; /* UINT32_MAX: look in large_cpu_ns; columns_cpu_ns() does */
    LAM_ARRAY(uint16_t) flags;
    struct map large_cpu_ns; /* sample → CPU time */
    struct map odd_periods;  /* sample → period, where it is none of its process's ladder */
    struct arena text;
};

/* All-zero is empty and valid. */
struct profile_sink columns_sink(struct columns *columns);
void columns_free(struct columns *columns);

/* A sample put together again; thread is the one whose range it lies in. */
struct profile_sample columns_sample(const struct columns *columns,
                                     const struct columns_thread *thread, size_t sample);
uint64_t columns_cpu_ns(const struct columns *columns, size_t sample);

/* Pushes the profile once more, in the order that sinks ask for. LAM_OK or the sink's code. */
int columns_push(const struct columns *columns, const struct profile_sink *sink);

#endif
