#include "profile/duration_histogram.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { LEAST_WIDTH = 48 }; /* three doublings on each side */

int duration_histogram_widen(struct duration_histogram *histogram, unsigned bucket)
{
    unsigned first = histogram->size ? histogram->first : bucket,
             end = histogram->size ? (unsigned)histogram->first + histogram->size : bucket;
    /* More than is needed: labels meet their range within a few calls. */
    if (bucket < first)
        first = bucket > LEAST_WIDTH ? bucket - LEAST_WIDTH : 0;
    if (bucket >= end)
        end = bucket + LEAST_WIDTH < DURATION_BUCKETS ? bucket + LEAST_WIDTH : DURATION_BUCKETS;
    uint64_t *counts = mem_zalloc(end - first, sizeof *counts);
    if (!counts)
        return LAM_E_NOMEM;
    if (histogram->size)
        memcpy(counts + (histogram->first - first), histogram->counts,
               histogram->size * sizeof *counts);
    mem_free(histogram->counts);
    *histogram = (struct duration_histogram){counts, (uint16_t)first, (uint16_t)(end - first)};
    return LAM_OK;
}

/* The stretch of `from` that has something in it, into an empty one. */
static int copy_used(struct duration_histogram *to, const struct duration_histogram *from)
{
    unsigned begin = 0, end = from->size;
    while (begin < end && from->counts[begin] == 0)
        begin++;
    while (end > begin && from->counts[end - 1] == 0)
        end--;
    if (begin == end)
        return LAM_OK;
    to->counts = mem_alloc((end - begin) * sizeof *to->counts);
    if (!to->counts)
        return LAM_E_NOMEM;
    memcpy(to->counts, from->counts + begin, (end - begin) * sizeof *to->counts);
    to->first = (uint16_t)(from->first + begin);
    to->size = (uint16_t)(end - begin);
    return LAM_OK;
}

int duration_histogram_merge(struct duration_histogram *to, const struct duration_histogram *from)
{
    if (to->size == 0)
        return copy_used(to, from);
    for (unsigned i = 0; i < from->size; i++) {
        unsigned bucket = from->first + i;
        if (from->counts[i] == 0)
            continue;
        if (bucket - to->first >= to->size) {
            int rc = duration_histogram_widen(to, bucket);
            if (rc < 0)
                return rc;
        }
        to->counts[bucket - to->first] += from->counts[i];
    }
    return LAM_OK;
}

static uint64_t bucket_start(unsigned bucket)
{
    unsigned octave = bucket >> DURATION_SUB_BITS;
    uint64_t sub = bucket & ((1u << DURATION_SUB_BITS) - 1);
    return octave == 0 ? sub : (sub + (1u << DURATION_SUB_BITS)) << (octave - 1);
}

static double bucket_width(unsigned bucket)
{
    unsigned octave = bucket >> DURATION_SUB_BITS;
    return octave == 0 ? 1 : ldexp(1, (int)octave - 1);
}

uint64_t duration_histogram_count(const struct duration_histogram *histogram)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < histogram->size; i++)
        total += histogram->counts[i];
    return total;
}

void duration_histogram_quantiles(const struct duration_histogram *histogram, const double *shares,
                                  uint64_t *out, size_t count)
{
    uint64_t total = duration_histogram_count(histogram), below = 0;
    size_t next = 0;
    double wanted = count ? shares[0] * (double)total : 0;
    uint64_t whole = (uint64_t)ceil(wanted); /* buckets are many: they are compared with it */
    for (unsigned i = 0; total > 0 && i < histogram->size && next < count; i++) {
        uint64_t here = histogram->counts[i];
        while (here > 0 && next < count && below + here >= whole) {
            unsigned bucket = histogram->first + i;
            double inside = (wanted - (double)below) / (double)here;
            out[next] = bucket_start(bucket) + (uint64_t)(bucket_width(bucket) * inside * 0.999);
            if (++next < count)
                wanted = shares[next] * (double)total;
            whole = (uint64_t)ceil(wanted);
        }
        below += here;
    }
    for (; next < count; next++)
        out[next] = 0;
}

void duration_histogram_clear(struct duration_histogram *histogram)
{
    if (histogram->size)
        memset(histogram->counts, 0, histogram->size * sizeof *histogram->counts);
}

void duration_histogram_free(struct duration_histogram *histogram)
{
    mem_free(histogram->counts);
    *histogram = (struct duration_histogram){0};
}
