/* Inside of the walk from a self-profile's end to its beginning that knows all rules: its state. What only has to be added up
 * and nests goes another way (profdata_nested.h). */
#ifndef LAMELLA_INPUT_PROFDATA_BACKWARD_H
#define LAMELLA_INPUT_PROFDATA_BACKWARD_H

#include "input/profdata_sums.h"
#include "input/profdata_walk.h"

#define PROFDATA_NO_PARENT UINT32_MAX

struct profdata_open {   /* an interval under way */
    uint64_t start, end; /* in the file's time */
    uint64_t children, children_time;
    uint64_t id;       /* of its string, for arguments */
    uint64_t was_open; /* what `open` said of its label before */
    uint32_t label;
    uint32_t path;   /* told to the sink */
    uint32_t parent; /* index in the stack, or PROFDATA_NO_PARENT */
    uint16_t flags;  /* of the interval */
    uint16_t chain;  /* not kept for sums, which have none */
};

/* What of a thread is under way at the time where the walk is. While nothing overlaps, each lies inside the one below. */
struct profdata_lane {
    LAM_ARRAY(struct profdata_open) stack; /* by falling ends */
    LAM_ARRAY(uint64_t)
    chains; /* beside the thread's own: start of the last that began it, the earliest so far */
    bool is_tangled;   /* some overlap: any of them may hold what comes */
    uint32_t overlaps; /* how many of them do */
    uint64_t last;     /* time of the event that came last */
};

struct profdata_backward {
    struct profdata_walk *walk;
    struct profdata_sums *sums;  /* NULL: each event is told to the sink */
    struct profdata_lane *lanes; /* by thread index */
    struct profdata_threads *threads;
    /* Label → lane << 32 | index in its stack, of the last one that was begun: a hint that tells at once, mostly, whether an
     * ancestor has the label. */
    LAM_ARRAY(uint64_t) open;
};

int profdata_backward_open(struct profdata_backward *back, struct profdata_walk *walk);
void profdata_backward_close(struct profdata_backward *back);

/* Events first … end - 1, the last one first. LAM_OK or a code. */
int profdata_backward_range(struct profdata_backward *back, uint64_t first, uint64_t end);

/* An interval that another walk had under way is so here, inside the one before: its children so far are not known. */
int profdata_backward_resume(struct profdata_backward *back, uint32_t lane_index, uint64_t start,
                             uint64_t end, uint64_t id, uint32_t label);

/* Ends all that is under way. */
int profdata_backward_finish(struct profdata_backward *back);

#endif
