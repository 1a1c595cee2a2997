/* A fair share of the build's wall time for each unit and phase, in whole nanoseconds that add up to the wall time exactly.
 *
 * Each moment is divided equally among the threads that worked at that moment, and a thread's part is its unit's and phase's. A moment
 * in which none worked is divided among the units that ran then, and is theirs as waiting; one in which no unit ran is nobody's. */
#ifndef LAMELLA_ANALYSIS_WALL_SHARE_H
#define LAMELLA_ANALYSIS_WALL_SHARE_H

#include <stdint.h>

#include "base/array.h"

struct report;

#define WALL_NO_PHASE UINT32_MAX

struct wall_share {
    uint32_t unit; /* the outermost that the thread worked for; GRAPH_NONE: none (the build tool, another program, nobody) */
    uint32_t phase; /* classifier_phase(); WALL_NO_PHASE: none of its threads worked, or it was not sampled */
    uint64_t ns;
};

struct wall_shares {
    LAM_ARRAY(struct wall_share) items; /* by unit, then phase; GRAPH_NONE last */
    uint64_t whole_ns;                  /* their sum: the wall time */
};

/* LAM_E_NOMEM. Empty where the wall time is not known, or the report kept no spans. */
int wall_shares_make(struct wall_shares *shares, const struct report *report);
void wall_shares_free(struct wall_shares *shares);

/* Of a unit, all its phases; of a phase, all units. */
uint64_t wall_share_of_unit(const struct wall_shares *shares, uint32_t unit);
uint64_t wall_share_of_phase(const struct wall_shares *shares, uint32_t phase);

#endif
