/* How long events are, to find the duration from which on they would fit into some space: a sink with a histogram. */
#ifndef LAMELLA_OUTPUT_DURATION_COUNTS_H
#define LAMELLA_OUTPUT_DURATION_COUNTS_H

#include <stdint.h>

#include "profile/sink.h"

enum { DURATION_STEPS = 62 * 8 }; /* eight an octave, from the fourth on */

/* All-zero is empty and valid. */
struct duration_counts {
    uint64_t counts[DURATION_STEPS];
    uint64_t events; /* intervals by duration, samples by weight, instants as none */
};

void duration_counts_add(struct duration_counts *counts, uint64_t ns);

/* A bound such that at most `most` of the events are as long as it, or longer; within an eighth of an octave. */
uint64_t duration_counts_bound(const struct duration_counts *counts, uint64_t most);

#endif
