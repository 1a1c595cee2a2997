#include <math.h>
#include <stdlib.h>

#include "analysis/compare.h"
#include "base/memory.h"

enum { RESAMPLES = 2000, SMALL = 64 };

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

double compare_median(double *values, size_t count)
{
    if (count == 0)
        return NAN;
    qsort(values, count, sizeof *values, compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* splitmix64: small, and good enough to pick runs. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The median of as many values as there are, each picked at random: counting how often each of the sorted ones was picked
 * spares sorting them again. */
static double resampled_median(const double *sorted, size_t count, uint64_t *random)
{
    uint32_t picked[SMALL] = {0};
    for (size_t i = 0; i < count; i++)
        picked[(uint32_t)((next_random(random) >> 32) * count >> 32)]++;
    size_t lower = (count - 1) / 2, upper = count / 2, below = 0;
    double low = NAN;
    for (size_t i = 0; i < count; i++) {
        below += picked[i];
        if (isnan(low) && below > lower)
            low = sorted[i];
        if (below > upper)
            return (low + sorted[i]) / 2;
    }
    return low;
}

/* More runs than SMALL: every n-th of them in order says as much. */
static size_t sorted_copy(double *to, const double *from, size_t count)
{
    size_t used = count < SMALL ? count : SMALL;
    double *all = mem_alloc(count * sizeof *all);
    if (!all) {
        for (size_t i = 0; i < used; i++)
            to[i] = from[i];
        qsort(to, used, sizeof *to, compare_doubles);
        return used;
    }
    for (size_t i = 0; i < count; i++)
        all[i] = from[i];
    qsort(all, count, sizeof *all, compare_doubles);
    for (size_t i = 0; i < used; i++)
        to[i] = all[used == count ? i : i * (count - 1) / (used - 1)];
    mem_free(all);
    return used;
}

struct compare_interval compare_bootstrap(const double *before, size_t before_count,
                                          const double *after, size_t after_count, uint64_t seed)
{
    double sorted[COMPARE_SIDES][SMALL], changes[RESAMPLES];
    size_t counts[COMPARE_SIDES] = {sorted_copy(sorted[COMPARE_BEFORE], before, before_count),
                                    sorted_copy(sorted[COMPARE_AFTER], after, after_count)};
    for (size_t i = 0; i < RESAMPLES; i++)
        changes[i] = resampled_median(sorted[COMPARE_AFTER], counts[COMPARE_AFTER], &seed) -
                     resampled_median(sorted[COMPARE_BEFORE], counts[COMPARE_BEFORE], &seed);
    qsort(changes, RESAMPLES, sizeof *changes, compare_doubles);
    return (struct compare_interval){changes[RESAMPLES * 25 / 1000],
                                     changes[RESAMPLES - 1 - RESAMPLES * 25 / 1000]};
}

double compare_luck(size_t before, size_t after)
{
    double ways = 1;
    for (size_t i = 1; i <= before; i++)
        ways = ways * (double)(after + i) / (double)i;
    return 2 / ways > 1 ? 1 : 2 / ways;
}
