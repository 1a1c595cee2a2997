/* Many runs of the same work: how much each of its parts varies. */
#ifndef LAMELLA_ANALYSIS_AGGREGATE_H
#define LAMELLA_ANALYSIS_AGGREGATE_H

#include "analysis/run_matrix.h"

struct aggregate_row {
    uint32_t row;  /* index in matrix.rows */
    uint32_t runs; /* that have it */
    double min, median, max;
    double spread;               /* (max - min) / median; NaN of nothing */
    double count_min, count_max; /* events or samples; NaN: not counted */
};
struct aggregate_rows LAM_ARRAY_BODY(struct aggregate_row);

struct aggregate_options {
    enum run_metric metric; /* sections that lack it are judged by RUN_SELF */
    bool by_spread;         /* most spread seconds (max - min) first; else largest median */
    const char *const *exclude;
    size_t exclude_count;
};

struct aggregate {
    const struct run_matrix *matrix;
    enum run_metric metric;
    struct aggregate_rows rows[RUN_SECTIONS];
};

/* A run that lacks a row had none of it: its value is 0. LAM_OK; INVAL when runs measured different things; NOMEM. */
int aggregate_make(struct aggregate *aggregate, const struct run_matrix *matrix,
                   const struct aggregate_options *options, struct lam_error *err);
void aggregate_free(struct aggregate *aggregate);

/* The metric that a row of the matrix is judged by. */
enum run_metric aggregate_judged(const struct run_row *row, enum run_metric metric);

#endif
