/* What changed between two sets of runs of the same work, and whether that is more than noise. */
#ifndef LAMELLA_ANALYSIS_COMPARE_H
#define LAMELLA_ANALYSIS_COMPARE_H

#include "analysis/run_matrix.h"

enum { COMPARE_BEFORE, COMPARE_AFTER, COMPARE_SIDES };

enum compare_verdict {
    COMPARE_UNKNOWN,  /* one run on a side: nothing says what noise is here */
    COMPARE_SAME,     /* equal in all runs */
    COMPARE_NOISE,    /* the interval of the change holds 0 */
    COMPARE_INCREASE, /* it does not */
    COMPARE_DECREASE,
    COMPARE_LIKELY_INCREASE, /* it does not, but so few runs fall apart by luck once in 20 times or more often */
    COMPARE_LIKELY_DECREASE,
};

/* "unknown", "noise", "increase", "likely_increase": as in JSON. */
const char *compare_verdict_name(enum compare_verdict verdict);
bool compare_is_increase(enum compare_verdict verdict); /* also a likely one */

/* One row of the matrix: medians over the runs of each side. */
struct compare_row {
    uint32_t row; /* index in matrix.rows */
    struct run_values side[COMPARE_SIDES];
    double change; /* after less before, of the metric that counts; NaN when one of them is not known */
    double share;     /* change over before; NaN when before is 0 */
    double low, high; /* 95% interval of the change; NaN without repeats */
    enum compare_verdict verdict;
};

struct compare_options {
    enum run_metric metric;     /* what counts; sections that lack it are judged by RUN_SELF */
    const char *const *exclude; /* globs of keys to leave out; they leave the totals as well */
    size_t exclude_count;
};

struct compare_rows LAM_ARRAY_BODY(struct compare_row);

struct compare {
    const struct run_matrix *matrix;
    enum run_metric metric;
    size_t runs[COMPARE_SIDES];
    double luck; /* how often so many runs fall apart by luck alone */
    bool has_repeats;
    bool has_excluded;
    struct compare_rows rows[RUN_SECTIONS]; /* largest effect first; totals in their own order */
    const struct compare_row *judged; /* the total that says how the whole went; NULL: no total is known on both sides */
};

/* Of matrix, whose runs have the sides above. LAM_OK; INVAL when the sides measured different things; NOMEM. */
int compare_make(struct compare *compare, struct run_matrix *matrix,
                 const struct compare_options *options, struct lam_error *err);
void compare_free(struct compare *compare);

/* ---- statistics -------------------------------------------------------------------------------------------------- */

/* Sorts values in place. NaN of none. */
double compare_median(double *values, size_t count);

/* The 95% interval of median(after) - median(before), by bootstrap: 2,000 resamples from a generator that starts at `seed`,
 * so equal input gives equal output. Counts of 1 and more. */
struct compare_interval {
    double low, high;
};
struct compare_interval compare_bootstrap(const double *before, size_t before_count,
                                          const double *after, size_t after_count, uint64_t seed);

/* How often two sets of runs that do not differ fall apart completely, one all above the other: 2 / C(n + m, n). */
double compare_luck(size_t before, size_t after);

#endif
