#include "analysis/aggregate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare.h"
#include "base/glob.h"
#include "base/memory.h"

enum run_metric aggregate_judged(const struct run_row *row, enum run_metric metric)
{
    bool has_it = row->cells.count > 0 && !isnan(row->cells.items[0].values.of[metric]);
    return has_it ? metric : RUN_SELF;
}

static bool is_excluded(const struct run_matrix *matrix, const struct run_row *row,
                        const struct aggregate_options *options)
{
    for (size_t i = 0; row->section != RUN_TOTALS && i < options->exclude_count; i++)
        if (glob_match_str(options->exclude[i], run_matrix_text(matrix, row->key)))
            return true;
    return false;
}

static struct aggregate_row make_row(const struct run_matrix *matrix, uint32_t index,
                                     enum run_metric metric, double *values)
{
    const struct run_row *row = &matrix->rows.items[index];
    struct aggregate_row made = {
        .row = index, .runs = (uint32_t)row->cells.count, .count_min = NAN, .count_max = NAN};
    size_t count = 0;
    for (uint32_t run = 0; run < matrix->runs.count; run++) {
        struct run_values all = run_matrix_values(matrix, row, run);
        double value = all.of[metric], events = all.of[RUN_COUNT];
        if (!isnan(value))
            values[count++] = value;
        if (!isnan(events)) {
            made.count_min =
                isnan(made.count_min) || events < made.count_min ? events : made.count_min;
            made.count_max =
                isnan(made.count_max) || events > made.count_max ? events : made.count_max;
        }
    }
    made.median = compare_median(values, count); /* sorts */
    made.min = count ? values[0] : NAN;
    made.max = count ? values[count - 1] : NAN;
    made.spread = made.median != 0 ? (made.max - made.min) / made.median : NAN;
    return made;
}

struct order {
    const struct run_matrix *matrix;
    bool by_spread;
};

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct aggregate_row *left = a, *right = b;
    const struct order *order = context;
    double x = order->by_spread ? left->max - left->min : left->median,
           y = order->by_spread ? right->max - right->min : right->median;
    if (x != y && !isnan(x) && !isnan(y))
        return x > y ? -1 : 1;
    return strcmp(run_matrix_text(order->matrix, order->matrix->rows.items[left->row].key),
                  run_matrix_text(order->matrix, order->matrix->rows.items[right->row].key));
}

int aggregate_make(struct aggregate *aggregate, const struct run_matrix *matrix,
                   const struct aggregate_options *options, struct lam_error *err)
{
    *aggregate = (struct aggregate){.matrix = matrix, .metric = options->metric};
    int rc = run_matrix_check_alike(matrix, "put together", err);
    if (rc < 0)
        return rc;
    double *values = mem_zalloc(matrix->runs.count + 1, sizeof *values);
    if (!values)
        return lam_error_set(err, LAM_E_NOMEM, "aggregate: out of memory");
    for (uint32_t i = 0; rc == LAM_OK && i < matrix->rows.count; i++) {
        const struct run_row *row = &matrix->rows.items[i];
        if (row->cells.count == 0 || is_excluded(matrix, row, options) ||
            !run_matrix_has_section(matrix, row->section))
            continue;
        struct aggregate_row made =
            make_row(matrix, i, aggregate_judged(row, options->metric), values);
        if (array_push(&aggregate->rows[row->section], made) < 0)
            rc = lam_error_set(err, LAM_E_NOMEM, "aggregate: out of memory");
    }
    mem_free(values);
    struct order order = {matrix, options->by_spread};
    for (size_t i = RUN_TOTALS + 1; i < RUN_SECTIONS; i++)
        if (aggregate->rows[i].count > 1)
            qsort_r(aggregate->rows[i].items, aggregate->rows[i].count,
                    sizeof *aggregate->rows[i].items, compare_rows, &order);
    return rc;
}

void aggregate_free(struct aggregate *aggregate)
{
    for (size_t i = 0; i < RUN_SECTIONS; i++)
        array_free(&aggregate->rows[i]);
}
