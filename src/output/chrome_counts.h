/* Integers without a time of their own (a compiler's counts of cache hits, thousands at one place of a profile): those of a label,
 * a thread and a place are one counter with their sum. Viewers show the last of several at one time, and one of them says nothing. */
#ifndef LAMELLA_OUTPUT_CHROME_COUNTS_H
#define LAMELLA_OUTPUT_CHROME_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "profile/sink.h"

/* All-zero is empty and valid. */
struct chrome_counts {
    struct profile_instant place; /* process, thread, track and time of what is held */
    LAM_ARRAY(uint32_t)
    labels;                   /* with a sum, in the order in which they came; 0: nothing is held */
    LAM_ARRAY(uint64_t) sums; /* by label */
    LAM_ARRAY(unsigned char) is_set; /* by label */
};

/* Whether it belongs to what is held: else that is written first. */
static inline bool chrome_counts_fit(const struct chrome_counts *counts,
                                     const struct profile_instant *instant)
{
    return counts->labels.count == 0 ||
           (counts->place.thread == instant->thread && counts->place.at_ns == instant->at_ns &&
            counts->place.process == instant->process && counts->place.track == instant->track);
}

int chrome_counts_grow(struct chrome_counts *counts, uint32_t label);

/* Adds one that fits. LAM_OK or LAM_E_NOMEM. */
static inline int chrome_counts_add(struct chrome_counts *counts,
                                    const struct profile_instant *instant)
{
    uint32_t label = instant->label;
    if ((label >= counts->sums.count || !counts->is_set.items[label]) &&
        chrome_counts_grow(counts, label) < 0)
        return LAM_E_NOMEM;
    if (counts->labels.count == 1)
        counts->place = *instant;
    counts->sums.items[label] += instant->value;
    return LAM_OK;
}

/* Fills in one of them, 0 … labels.count - 1. */
void chrome_counts_get(const struct chrome_counts *counts, size_t index,
                       struct profile_instant *instant);
void chrome_counts_clear(struct chrome_counts *counts);
void chrome_counts_free(struct chrome_counts *counts);

#endif
