/* Where cores were idle, and why: what ran meanwhile, and what waited for it. */
#ifndef LAMELLA_ANALYSIS_IDLE_STRETCHES_H
#define LAMELLA_ANALYSIS_IDLE_STRETCHES_H

#include <stdint.h>

#include "base/array.h"

struct report;

/* A time in which the same units ran, and did not fill the cores. */
struct idle_stretch {
    int64_t start_ns, end_ns;
    double idle_core_s; /* cores less working threads, over the time */
    uint32_t running;   /* units */
    uint32_t unit; /* the only one that ran; of several the one that ended first; GRAPH_NONE: none ran */
    uint32_t blocked; /* units that had not begun and could not, for they need `unit` or what needs it */
    uint32_t ready; /* units that had not begun and could have: no job was free for them, or nobody had started them yet */
    uint32_t next;  /* the unit that waited for `unit` last and began first; GRAPH_NONE */
};

struct idle_stretches {
    LAM_ARRAY(struct idle_stretch) items; /* most idle core-seconds first */
    double idle_core_s; /* of the whole build, those of stretches left out included */
    double seconds;     /* in which a core or more was idle */
};

/* Stretches of 50 ms and more in which a quarter of the cores' time or more was idle. LAM_E_NOMEM. */
int idle_stretches_make(struct idle_stretches *idle, const struct report *report);
void idle_stretches_free(struct idle_stretches *idle);

#endif
