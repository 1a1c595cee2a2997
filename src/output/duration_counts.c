#include "output/duration_counts.h"

/* Durations below 8 have a step each; from there on the three bits behind the first one decide. */
static unsigned step_of(uint64_t ns)
{
    if (ns < 8)
        return (unsigned)ns;
    unsigned octave = 63 - (unsigned)__builtin_clzll(ns);
    return (octave - 2) * 8 + (unsigned)(ns >> (octave - 3) & 7);
}

static uint64_t start_of(unsigned step)
{
    if (step < 8)
        return step;
    unsigned octave = step / 8 + 2;
    return UINT64_C(1) << octave | (uint64_t)(step % 8) << (octave - 3);
}

void duration_counts_add(struct duration_counts *counts, uint64_t ns)
{
    counts->counts[step_of(ns)]++;
    counts->events++;
}

uint64_t duration_counts_bound(const struct duration_counts *counts, uint64_t most)
{
    uint64_t longer = 0;
    for (unsigned step = DURATION_STEPS; step-- > 0;) {
        longer += counts->counts[step];
        if (longer > most)
            return step + 1 < DURATION_STEPS ? start_of(step + 1) : UINT64_MAX;
    }
    return 0;
}
