/* How long calls lasted, in buckets whose width grows with the duration: 16 to a doubling, so a percentile is off by 3% at
 * most. Only the stretch of buckets between the shortest and the longest call takes memory. */
#ifndef LAMELLA_PROFILE_DURATION_HISTOGRAM_H
#define LAMELLA_PROFILE_DURATION_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum {
    DURATION_SUB_BITS = 4,
    DURATION_BUCKETS = (64 - DURATION_SUB_BITS + 1) << DURATION_SUB_BITS
};

/* All-zero is empty and valid. */
struct duration_histogram {
    uint64_t *counts;
    uint16_t first; /* bucket of counts[0] */
    uint16_t size;
};

/* The bucket of a duration: exact below 16. */
static inline unsigned duration_bucket(uint64_t ns)
{
    /* Below 2 SUB nothing is shifted out; above, what is left is SUB and more, which is one stretch too many. */
    enum { SUB = 1 << DURATION_SUB_BITS };
    unsigned shift = (63u ^ (unsigned)__builtin_clzll(ns | SUB)) - DURATION_SUB_BITS;
    return (shift << DURATION_SUB_BITS) + (unsigned)(ns >> shift);
}

/* Makes room for a bucket outside of the stretch. LAM_OK or LAM_E_NOMEM. */
int duration_histogram_widen(struct duration_histogram *histogram, unsigned bucket);

/* Counts `times` calls. LAM_OK or LAM_E_NOMEM. */
static inline int duration_histogram_add(struct duration_histogram *histogram, uint64_t ns,
                                         uint64_t times)
{
    unsigned at = duration_bucket(ns) - histogram->first;
    if (at >= histogram->size) {
        int rc = duration_histogram_widen(histogram, duration_bucket(ns));
        if (rc < 0)
            return rc;
        at = duration_bucket(ns) - histogram->first;
    }
    histogram->counts[at] += times;
    return 0;
}

/* Adds all of another's. LAM_OK or LAM_E_NOMEM. */
int duration_histogram_merge(struct duration_histogram *to, const struct duration_histogram *from);

uint64_t duration_histogram_count(const struct duration_histogram *histogram); /* of calls */

/* The durations that `shares` (0 to 1, rising) of the calls do not exceed; 0 when there is none. Inside a bucket calls count as spread
 * evenly. */
void duration_histogram_quantiles(const struct duration_histogram *histogram, const double *shares,
                                  uint64_t *out, size_t count);

void duration_histogram_clear(struct duration_histogram *histogram); /* keeps the memory */
void duration_histogram_free(struct duration_histogram *histogram);

#endif
