/* Several runs of the same work, side by side: for each thing that was measured (a label, a phase, a unit, an artifact, a
 * total) its values in each run. What `diff` and `aggregate` are made from, whatever the runs are read from. */
#ifndef LAMELLA_ANALYSIS_RUN_MATRIX_H
#define LAMELLA_ANALYSIS_RUN_MATRIX_H

#include "analysis/label_totals.h"
#include "analysis/report.h"
#include "base/array.h"
#include "base/intern.h"
#include "base/map.h"

enum run_section {
    RUN_TOTALS,
    RUN_LABELS,    /* of events */
    RUN_SEGMENTS,  /* of samples: "frontend" */
    RUN_PHASES,    /* "frontend / type_check" */
    RUN_UNITS,     /* compilations and links, else processes with events */
    RUN_ARTIFACTS, /* sizes in bytes */
    RUN_SECTIONS
};

/* Values of a row; those that its section does not know are NaN. */
enum run_metric {
    RUN_SELF, /* what rows are judged by: self or CPU time in seconds (units of a counter); bytes of an artifact */
    RUN_TIME, /* of labels: time with what is inside; of units: wall */
    RUN_COUNT, /* events, samples */
    RUN_CACHE_HITS,
    RUN_BLOCKED,
    RUN_LOAD,
    RUN_HASHING,
    RUN_METRICS
};

/* As they are called in JSON: "labels", "cache_hits". */
extern const char *const run_section_keys[RUN_SECTIONS], *const run_metric_keys[RUN_METRICS];

struct run_values {
    double of[RUN_METRICS];
};

/* Keys of RUN_TOTALS. */
extern const char run_total_labels[], run_total_phases[], run_total_cpu[], run_total_wall[];

struct run_cell {
    uint32_t run;
    struct run_values values;
};

struct run_row {
    enum run_section section;
    uint32_t kind, key;               /* texts; kind: of labels, and of units unit_class_text() */
    uint32_t name;                    /* text: of units unit_class_name() */
    LAM_ARRAY(struct run_cell) cells; /* in order of runs; those that do not have it are missing */
};

struct run_info {
    uint32_t name; /* text: the input */
    uint32_t side; /* the caller's: 0 before, 1 after */
    enum profile_measure measure;
    bool has_events, has_samples;
    bool has_phases;        /* samples were taken, not only an account kept */
    bool is_crowded;        /* other programs had the machine; of recordings alone */
    bool has_failed;        /* the command, or the launcher did not see its end */
    double coverage, cores; /* NaN: not known */
    double lost,
        overwritten_pages; /* records and events that could not be stored; pages of events in mode=flight. 0: none, or not said */
    uint32_t machine;      /* text: its hashed id; empty when not known */
    bool is_cut[RUN_SECTIONS]; /* rows are missing because a stored report was cut short, not because nothing was there */
};

/* All-zero is empty and valid. */
struct run_matrix {
    struct intern texts;
    LAM_ARRAY(struct run_info) runs;
    LAM_ARRAY(struct run_row) rows;
    struct map row_ids;
};

/* Begins a run; what is added next belongs to it. LAM_OK or LAM_E_NOMEM. */
int run_matrix_begin(struct run_matrix *matrix, const char *name, uint32_t side);
/* Takes the last run away again: its input turned out to be none. */
void run_matrix_drop(struct run_matrix *matrix);

/* Adds to a row of the run that was begun last. */
int run_matrix_add(struct run_matrix *matrix, enum run_section section, struct profile_text kind,
                   struct profile_text key, const struct run_values *values);
struct run_values run_values_none(void); /* all NaN */

/* The same for a unit, by the parts of its class (unit_class.h). */
int run_matrix_add_unit(struct run_matrix *matrix, const char *const *parts, const char *title,
                        const struct run_values *values);

/* Units that one side alone has are paired with those that the other side alone has where nothing but version, features or
 * flags differ, and where each is the only one of its name: the pair becomes one row, whose key says what differs. */
int run_matrix_pair_units(struct run_matrix *matrix);

/* Whether all runs have what the section's rows are made of: what one of them lacks cannot be compared. */
bool run_matrix_has_section(const struct run_matrix *matrix, enum run_section section);

/* The first run without it; NULL. */
const struct run_info *run_matrix_lacking(const struct run_matrix *matrix, enum run_section section);

/* LAM_E_INVAL when two of the runs have nothing in common (samples alone, events alone), or measured different things. done:
 * what they cannot be, "compared". */
int run_matrix_check_alike(const struct run_matrix *matrix, const char *done, struct lam_error *err);

/* Rows from what was read of an input. LAM_OK or LAM_E_NOMEM. */
int run_matrix_add_report(struct run_matrix *matrix, const struct report *report,
                          const struct labels *labels);

/* Rows from a report that `lamella report --format json` wrote. CORRUPT, TRUNCATED, TOOBIG with the place; UNSUPPORTED when it
 * is JSON but no report; NOMEM. */
int run_matrix_add_json(struct run_matrix *matrix, const void *bytes, size_t size, const char *name,
                        struct lam_error *err);

/* The values of a row in a run: what is missing is 0, or NaN where the run's section was cut. */
struct run_values run_matrix_values(const struct run_matrix *matrix, const struct run_row *row,
                                    uint32_t run);

/* Never NULL. */
const char *run_matrix_text(const struct run_matrix *matrix, uint32_t text);

void run_matrix_free(struct run_matrix *matrix);

#endif
