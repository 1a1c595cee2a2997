/* Who worked when: a sweep over the stretches in which workers (threads, or processes that were not sampled) were working. */
#ifndef LAMELLA_ANALYSIS_WORKER_SWEEP_H
#define LAMELLA_ANALYSIS_WORKER_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

struct work_stretch {
    int64_t start_ns, end_ns;
    uint32_t worker;
};
struct work_stretches LAM_ARRAY_BODY(struct work_stretch);

/* A stretch of `worker`. With `last` at its stretch before (an index in the list; SIZE_MAX: none yet), one that begins where that
 * one ended makes it longer. Stretches of one worker do not overlap. LAM_E_NOMEM. */
int work_stretch_add(struct work_stretches *list, struct work_stretch stretch, size_t *last);

struct work_edge {
    int64_t at_ns;
    uint32_t worker;
    bool is_end;
};

struct work_sweep {
    LAM_ARRAY(struct work_edge)
    edges; /* by time; where a stretch ends and another one begins, the end comes first */
    size_t at;
    uint64_t working, ids;
};

/* A time in which the same workers work. */
struct work_step {
    int64_t start_ns, end_ns;
    uint64_t working;
    uint32_t only; /* the one that works, where working is 1 */
};

/* The steps in order, from the first stretch's start to the last one's end: true while there is one. */
int work_sweep_open(struct work_sweep *sweep, const struct work_stretches *list);
bool work_sweep_next(struct work_sweep *sweep, struct work_step *step);
void work_sweep_rewind(struct work_sweep *sweep);
void work_sweep_close(struct work_sweep *sweep);

#endif
