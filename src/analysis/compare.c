#include "analysis/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/memory.h"

#define NANOSECONDS_EXACT 9e6 /* below so many seconds a double tells them apart */

static const double luck_limit = 0.05;

const char *compare_verdict_name(enum compare_verdict verdict)
{
    static const char *const names[] = {
        "unknown", "same", "noise", "increase", "decrease", "likely_increase", "likely_decrease"};
    return names[verdict];
}

bool compare_is_increase(enum compare_verdict verdict)
{
    return verdict == COMPARE_INCREASE || verdict == COMPARE_LIKELY_INCREASE;
}

struct maker {
    struct compare *compare;
    struct run_matrix *matrix;
    const struct compare_options *options;
    double *values[COMPARE_SIDES]; /* of one row and metric */
};

/* ---- one row ----------------------------------------------------------------------------------------------------- */

/* The values of a metric on a side; fewer than runs where some are not known. */
static size_t collect(const struct maker *maker, const struct run_row *row, enum run_metric metric,
                      uint32_t side)
{
    size_t count = 0;
    for (uint32_t run = 0; run < maker->matrix->runs.count; run++) {
        if (maker->matrix->runs.items[run].side != side)
            continue;
        double value = run_matrix_values(maker->matrix, row, run).of[metric];
        if (!isnan(value))
            maker->values[side][count++] = value;
    }
    return count;
}

static bool has_metric(const struct run_row *row, enum run_metric metric)
{
    return row->cells.count > 0 && !isnan(row->cells.items[0].values.of[metric]);
}

/* The same noise for the same row, whatever else is compared beside it. */
static uint64_t seed_of(const struct run_matrix *matrix, const struct run_row *row)
{
    const char *key = run_matrix_text(matrix, row->key);
    return hash_combine(hash_bytes(key, strlen(key)), row->section);
}

static bool are_equal(const double *values, size_t count, double value)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] != value)
            return false;
    return true;
}

/* The verdict on the values that collect() left. */
static void judge(const struct maker *maker, struct compare_row *made, const struct run_row *row,
                  size_t before, size_t after)
{
    if (before == 0 || after == 0)
        return;
    const double *old = maker->values[COMPARE_BEFORE], *new = maker->values[COMPARE_AFTER];
    bool is_equal = are_equal(old, before, old[0]) && are_equal(new, after, old[0]);
    if (before < 2 || after < 2) {
        made->verdict = is_equal ? COMPARE_SAME : COMPARE_UNKNOWN;
        return;
    }
    struct compare_interval interval =
        compare_bootstrap(old, before, new, after, seed_of(maker->matrix, row));
    made->low = interval.low;
    made->high = interval.high;
    bool is_lucky = compare_luck(before, after) > luck_limit;
    if (is_equal)
        made->verdict = COMPARE_SAME;
    else if (interval.low > 0)
        made->verdict = is_lucky ? COMPARE_LIKELY_INCREASE : COMPARE_INCREASE;
    else if (interval.high < 0)
        made->verdict = is_lucky ? COMPARE_LIKELY_DECREASE : COMPARE_DECREASE;
    else
        made->verdict = COMPARE_NOISE;
}

static struct compare_row make_row(const struct maker *maker, uint32_t index)
{
    const struct run_row *row = &maker->matrix->rows.items[index];
    struct compare_row made = {.row = index, .low = NAN, .high = NAN};
    enum run_metric judged =
        has_metric(row, maker->options->metric) ? maker->options->metric : RUN_SELF;
    for (size_t metric = 0; metric < RUN_METRICS; metric++) {
        size_t counts[COMPARE_SIDES];
        for (uint32_t side = 0; side < COMPARE_SIDES; side++)
            counts[side] = collect(maker, row, (enum run_metric)metric, side);
        if (metric == judged)
            judge(maker, &made, row, counts[COMPARE_BEFORE], counts[COMPARE_AFTER]);
        for (uint32_t side = 0; side < COMPARE_SIDES; side++)
            made.side[side].of[metric] = compare_median(maker->values[side], counts[side]);
    }
    double before = made.side[COMPARE_BEFORE].of[judged];
    made.change = made.side[COMPARE_AFTER].of[judged] - before;
    made.share = before != 0 ? made.change / before : NAN;
    return made;
}

/* ---- what is left out -------------------------------------------------------------------------------------------- */

static bool has_glob(const struct maker *maker, const char *key, size_t length)
{
    for (size_t i = 0; i < maker->options->exclude_count; i++) {
        const char *glob = maker->options->exclude[i];
        if (glob_match(glob, strlen(glob), key, length))
            return true;
    }
    return false;
}

/* A segment that is left out takes its phases along. */
static bool is_excluded(const struct maker *maker, const struct run_row *row)
{
    const char *key = run_matrix_text(maker->matrix, row->key);
    if (row->section == RUN_TOTALS)
        return false;
    return has_glob(maker, key, strlen(key)) ||
           (row->section == RUN_PHASES && has_glob(maker, key, strcspn(key, " ")));
}

static struct run_row *find_row(struct run_matrix *matrix, enum run_section section,
                                const char *key, size_t length)
{
    array_each(&matrix->rows, row)
    {
        const char *text = run_matrix_text(matrix, row->key);
        if (row->section == section && strlen(text) == length && memcmp(text, key, length) == 0)
            return row;
    }
    return NULL;
}

/* All times are whole nanoseconds. Without this, crumbs of rounding are left where everything was taken away, and their change
 * is many per cent. */
static double without(double whole, double part)
{
    double left = whole - part;
    return fabs(left) < NANOSECONDS_EXACT ? rint(left * 1e9) / 1e9 : left;
}

static void subtract_from(const struct maker *maker, struct run_row *whole, const struct run_row *row)
{
    for (size_t i = 0; whole && i < whole->cells.count; i++) {
        struct run_cell *cell = &whole->cells.items[i];
        struct run_values values = run_matrix_values(maker->matrix, row, cell->run);
        for (size_t metric = 0; metric < RUN_METRICS; metric++)
            if (!isnan(values.of[metric]))
                cell->values.of[metric] = without(cell->values.of[metric], values.of[metric]);
    }
}

/* Takes a row's time out of the total, and the segment, that it is part of. */
static void subtract(struct maker *maker, const struct run_row *row)
{
    const char *key = run_matrix_text(maker->matrix, row->key);
    const char *total = row->section == RUN_LABELS   ? run_total_labels
                        : row->section == RUN_PHASES ? run_total_phases
                                                     : NULL;
    if (total)
        subtract_from(maker, find_row(maker->matrix, RUN_TOTALS, total, strlen(total)), row);
    if (row->section == RUN_PHASES)
        subtract_from(maker, find_row(maker->matrix, RUN_SEGMENTS, key, strcspn(key, " ")), row);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static int compare_effects(const void *a, const void *b, void *context)
{
    const struct compare_row *left = a, *right = b;
    const struct run_matrix *matrix = context;
    double x = isnan(left->change) ? -1 : fabs(left->change),
           y = isnan(right->change) ? -1 : fabs(right->change);
    if (x != y)
        return x > y ? -1 : 1;
    return strcmp(run_matrix_text(matrix, matrix->rows.items[left->row].key),
                  run_matrix_text(matrix, matrix->rows.items[right->row].key));
}

static const struct compare_row *find_judged(const struct compare *compare, const char *key)
{
    array_each(&compare->rows[RUN_TOTALS], row)
    {
        uint32_t text = compare->matrix->rows.items[row->row].key;
        if (strcmp(run_matrix_text(compare->matrix, text), key) == 0 && !isnan(row->change))
            return row;
    }
    return NULL;
}

static int fill(struct maker *maker)
{
    struct compare *compare = maker->compare;
    for (uint32_t i = 0; i < maker->matrix->rows.count; i++) {
        const struct run_row *row = &maker->matrix->rows.items[i];
        if (!is_excluded(maker, row))
            continue;
        compare->has_excluded = true;
        subtract(maker, row);
    }
    for (uint32_t i = 0; i < maker->matrix->rows.count; i++) {
        const struct run_row *row = &maker->matrix->rows.items[i];
        if (row->cells.count == 0 || is_excluded(maker, row) ||
            !run_matrix_has_section(maker->matrix, row->section))
            continue;
        if (array_push(&compare->rows[row->section], make_row(maker, i)) < 0)
            return LAM_E_NOMEM;
    }
    for (size_t i = RUN_TOTALS + 1; i < RUN_SECTIONS; i++)
        if (compare->rows[i].count > 1)
            qsort_r(compare->rows[i].items, compare->rows[i].count, sizeof *compare->rows[i].items,
                    compare_effects, maker->matrix);
    return LAM_OK;
}

/* How the whole went: the labels where there are events, else what the kernel charged, else what was sampled. */
static void choose_judged(struct compare *compare)
{
    compare->judged = find_judged(compare, run_total_labels);
    if (!compare->judged && !compare->has_excluded)
        compare->judged = find_judged(compare, run_total_cpu);
    if (!compare->judged)
        compare->judged = find_judged(compare, run_total_phases);
    if (!compare->judged)
        compare->judged = find_judged(compare, run_total_wall);
}

int compare_make(struct compare *compare, struct run_matrix *matrix,
                 const struct compare_options *options, struct lam_error *err)
{
    *compare = (struct compare){.matrix = matrix, .metric = options->metric};
    array_each(&matrix->runs, run) compare->runs[run->side]++;
    int rc = run_matrix_check_alike(matrix, "compared", err);
    if (rc < 0)
        return rc;
    rc = run_matrix_pair_units(matrix);
    if (rc < 0)
        return lam_error_set(err, rc, "diff: %s", lam_code_text(rc));
    compare->luck = compare_luck(compare->runs[COMPARE_BEFORE], compare->runs[COMPARE_AFTER]);
    compare->has_repeats = compare->runs[COMPARE_BEFORE] > 1 && compare->runs[COMPARE_AFTER] > 1;
    struct maker maker = {.compare = compare, .matrix = matrix, .options = options};
    for (size_t i = 0; i < COMPARE_SIDES; i++)
        maker.values[i] = mem_zalloc(matrix->runs.count + 1, sizeof *maker.values[i]);
    rc = maker.values[0] && maker.values[1] ? fill(&maker) : LAM_E_NOMEM;
    for (size_t i = 0; i < COMPARE_SIDES; i++)
        mem_free(maker.values[i]);
    choose_judged(compare);
    return rc < 0 ? lam_error_set(err, rc, "diff: %s", lam_code_text(rc)) : LAM_OK;
}

void compare_free(struct compare *compare)
{
    for (size_t i = 0; i < RUN_SECTIONS; i++)
        array_free(&compare->rows[i]);
}
