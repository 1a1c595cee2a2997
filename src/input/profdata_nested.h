/* A self-profile into sums, as fast as it can be told, where its events lie as programs write them: a thread's in the order of their
 * ends, each interval inside what is under way, or beside it. From the end to the beginning, with a stack of what is under way
 * a thread. What does not lie so is UNSUPPORTED, and the sums are worth nothing then: profdata_backward.c knows all rules
 * (interval_nest.h). Where both can do it they agree; tests and a fuzz target compare them.
 *
 * How it is fast: an interval is added up when it is met, for all but its children is known then, and each child takes its time from
 * the one it lies in. So nothing is left to do when one ends. */
#ifndef LAMELLA_INPUT_PROFDATA_NESTED_H
#define LAMELLA_INPUT_PROFDATA_NESTED_H

#include "input/profdata_sums.h"
#include "input/profdata_walk.h"

struct profdata_nested_open { /* an interval under way */
    int64_t start;            /* those at the bottom begin before all times */
    uint64_t end;
    uint32_t label;
    uint32_t path; /* of the sums', where they have any; 0 at the bottom */
};

struct profdata_nested_lane { /* of a thread */
    struct profdata_nested_open *bottom;
    uint32_t count, capacity; /* of intervals, without those at the bottom */
    uint64_t last_end;        /* of the interval that was met last */

    /* What was met, for who has not looked at the events before. */
    uint64_t first_event; /* in the file */
    uint64_t intervals, instants, integers, backward;
    uint64_t self;
    uint64_t interval_start, interval_end;
    uint64_t instant_start, instant_end;
};

struct profdata_nested {
    struct profdata_walk *walk;
    struct profdata_sums *sums;
    struct profdata_threads *threads;             /* for look-ups */
    bool finds_threads;                           /* and what is not among them is added */
    LAM_ARRAY(struct profdata_nested_lane) lanes; /* by thread index */
};

/* For as many lanes as there are threads. An all-zero one may be closed. LAM_OK or LAM_E_NOMEM. */
int profdata_nested_open(struct profdata_nested *nested, struct profdata_walk *walk,
                         struct profdata_sums *sums, struct profdata_threads *threads);
void profdata_nested_close(struct profdata_nested *nested);

/* Events first … end - 1, the last one first. LAM_OK, LAM_E_NOMEM, LAM_E_FULL, LAM_E_UNSUPPORTED. */
int profdata_nested_range(struct profdata_nested *nested, uint64_t first, uint64_t end);

/* For a walk of a part of the file: forgets what is under way; and an interval that comes later in the file is, inside the one
 * before. It is added up by who meets it. */
void profdata_nested_clear(struct profdata_nested_lane *lane);
int profdata_nested_enter(struct profdata_nested *nested, uint32_t lane_index, uint64_t start,
                          uint64_t end, uint32_t label);

/* Ends what began at `end` or later: nothing that is still to come lies in it. */
void profdata_nested_until(struct profdata_nested_lane *lane, uint64_t end);

/* What is under way, outermost first. */
const struct profdata_nested_open *profdata_nested_items(const struct profdata_nested_lane *lane);

/* Adds what the lanes came to, to the sums of their threads. */
void profdata_nested_add_lanes(const struct profdata_nested *nested, struct profdata_sums *sums);

#endif
