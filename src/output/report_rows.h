/* What the report's writers share: which part of a report is shown, and its rows in order. */
#ifndef LAMELLA_OUTPUT_REPORT_ROWS_H
#define LAMELLA_OUTPUT_REPORT_ROWS_H

#include "analysis/label_totals.h"
#include "analysis/replay_answers.h"
#include "analysis/report.h"

struct calls; /* output/call_names.h */

struct report_view {
    uint32_t top;         /* units and processes shown; 0: all */
    double percent_above; /* of phases and units; 0: all */
    bool by_unit, by_phase, by_role;
    bool by_critical;                    /* what waited for what */
    const struct replay_answers *replay; /* NULL: not asked for */
    bool by_span;                        /* when threads were in phases; the report keeps spans */
    bool by_memory;                      /* of processes over time */
    bool by_detail;                      /* phases with their details */
    const char *unit;                    /* glob or part of a unit's title: only these; NULL */
    /* Of the events of instrumented programs; NULL: there are none. */
    const struct labels *labels;
    const char *around; /* who calls what is called so, and whom that calls; NULL */
    bool by_caller, by_function;
    const struct calls *event_calls, *sample_calls; /* for these three; NULL */
    bool by_label, by_kind, by_argument, by_path, by_thread;
    bool has_top;           /* top was asked for */
    size_t most_activities; /* of each process, most self time first; 0: all */
};

struct phase_row {
    uint32_t phase;  /* classifier_phase() */
    uint32_t bucket; /* with details: classifier_bucket() */
    struct report_amount amount;
};

struct segment_row {
    enum phase_segment segment;
    struct report_amount amount;
    LAM_ARRAY(struct phase_row) phases;  /* largest first */
    LAM_ARRAY(struct phase_row) details; /* of all its phases, largest first */
};

struct role_row {
    enum thread_role role;
    struct report_amount amount;
};

/* The selected part. */
struct report_rows {
    struct segment_row segments[SEGMENT_COUNT]; /* in the order of enum phase_segment; some are empty */
    struct role_row roles[ROLE_COUNT];
    struct report_amount total;
    LAM_ARRAY(uint32_t) units; /* indexes of report.units, by CPU */
    uint32_t units_matching;   /* before --top and --percent-above */
};

/* LAM_E_NOTFOUND, described, when view->unit matches no unit. */
int report_rows_make(const struct report *report, const struct report_view *view,
                     struct report_rows *rows, struct lam_error *err);
void report_rows_free(struct report_rows *rows);

/* An input of events alone: nobody sampled, and nobody kept an account of processes. */
bool report_is_of_events(const struct report *report);

bool report_title_matches(const char *title, const char *wanted);
bool report_unit_matches(const struct report_unit *unit, const char *wanted);

/* CPU seconds of a process, as the kernel charged it, else as sampled. */
double report_process_cpu_s(const struct report_process *process);

/* False when only units called otherwise are wanted. */
bool report_process_matches(const struct report *report, uint32_t process, const char *wanted);

/* The unit's largest phases as "type_check 24%, borrowck 18%". */
int report_top_phases(const struct report *report, uint32_t process, unsigned count,
                      struct strbuf *text);

/* Processes that were not sampled, largest first, equal programs with equal reasons as one. */
struct unsampled_row {
    const char *title, *reason;
    uint64_t count, cpu_ns;
    bool has_cpu;
};
struct unsampled_rows LAM_ARRAY_BODY(struct unsampled_row);
int report_unsampled_rows(const struct report *report, struct unsampled_rows *rows);

/* Processes by the name of their program, for commands that are no build; those that used most first. */
struct process_group {
    const char *title;
    uint64_t count;
    uint64_t samples;
    double cpu_s, longest_wall_s; /* NaN: not known */
    uint64_t max_rss_bytes;       /* of the largest; PROFILE_UNKNOWN */
    uint32_t unsampled;           /* index of one that was not sampled, or REPORT_NO_UNIT */
    struct strbuf phases;         /* the largest ones of all together */
};
struct process_groups LAM_ARRAY_BODY(struct process_group);
int report_process_groups(const struct report *report, unsigned phase_count,
                          struct process_groups *groups);
void report_process_groups_free(struct process_groups *groups);

const char *report_severity_name(enum report_severity severity); /* "info", "note", "warning" */

#endif
