/* Integers without a time of their own (a compiler's counts of cache hits, thousands at one place of a profile): those of a label,
 * a thread and a place are one counter with their sum. Viewers show the last of several at one time, and one of them says nothing. */
#ifndef LAMELLA_OUTPUT_CHROME_COUNTS_H
#define LAMELLA_OUTPUT_CHROME_COUNTS_H

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

/* Writes one instant of the sums; the caller's. */
typedef int (*chrome_counts_put)(void *ctx, const struct profile_instant *instant);

/* Writes what is held and holds nothing then. LAM_OK or put's error. */
int chrome_counts_end(struct chrome_counts *counts, chrome_counts_put put, void *ctx);

/* An instant: held when it has no time of its own, after what is held and does not belong to its place was written; else
 * written. LAM_OK, LAM_E_NOMEM or put's error. */
int chrome_counts_add(struct chrome_counts *counts, const struct profile_instant *instant,
                      chrome_counts_put put, void *ctx);

void chrome_counts_free(struct chrome_counts *counts);

#endif
