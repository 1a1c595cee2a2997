/* The selftest: programs of known behaviour, recorded with one engine, compared row by row. */
#ifndef LAMELLA_CLI_SELFTEST_CASE_H
#define LAMELLA_CLI_SELFTEST_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/byteout.h"
#include "base/error.h"
#include "base/table.h"

enum selftest_unit { SELFTEST_SHARE, SELFTEST_COUNT, SELFTEST_SECONDS };

/* One comparison. */
struct selftest_row {
    const char *program; /* "shares" */
    char what[48];
    enum selftest_unit unit;
    double known, seen;
    double low, high; /* seen - known must lie in between; NaN: told, not judged */
    bool is_good;
};

/* What one interruption costs, in seconds; NaN when not measured. */
struct selftest_cost {
    double floor;            /* an empty handler */
    double warm, warm_frame; /* ours, a sample and a frame, with everything in the caches */
    double warm_depth;       /* frames */
    double cold, cold_frame;
    double cold_depth;
};

/* One engine on this machine, and how it did. */
struct selftest_engine {
    uint32_t engine;
    bool kernel_mode;
    uint32_t interval_ns; /* CPU time between signals that it reaches at best */
    LAM_ARRAY(struct selftest_row) rows;
    struct selftest_cost cost;
    uint64_t samples;
    size_t failures;
};
struct selftest_engines LAM_ARRAY_BODY(struct selftest_engine);

struct selftest_place {
    const char *lamella;                                       /* this program */
    const char *helper;                                        /* lamella-selftest */
    const char *dir;                                           /* a directory of ours */
    void (*progress)(const char *engine, const char *program); /* NULL: not told */
};

/* Records every program with one engine and compares. A difference is a row that is not good; a failure to record or to
 * read is an error, and so is a program that fails. */
int selftest_run_engine(const struct selftest_place *place, struct selftest_engine *engine,
                        struct lam_error *err);

/* ---- selftest_write.c ---- */
int selftest_write_text(const struct selftest_engines *engines, const struct term *term,
                        struct strbuf *text);
int selftest_write_json(const struct selftest_engines *engines, struct byteout *out,
                        struct lam_error *err);

#endif
