/* What cargo itself wrote down of a build: its units with their times, how many ran and waited, how busy the machine was.
 * Filled from the `--timings` page (cargo_timings.h), from the session log of `-Z build-analysis` (cargo_log.h), which
 * says more, or from the list of `--message-format=json` (cargo_messages.h), which has no times. Times are seconds since cargo's own zero, a few milliseconds after its start; report_cargo_ns() gives the session's.
 * What the source does not say is NULL, NaN, or CARGO_NONE: never 0. */
#ifndef LAMELLA_BUILD_CARGO_RECORD_H
#define LAMELLA_BUILD_CARGO_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"

#define CARGO_NONE UINT32_MAX

enum cargo_source { CARGO_FROM_TIMINGS, CARGO_FROM_LOG, CARGO_FROM_MESSAGES };

/* Why a unit did or did not run. */
enum cargo_status {
    CARGO_STATUS_UNKNOWN,
    CARGO_STATUS_FRESH, /* nothing to do */
    CARGO_STATUS_NEW,   /* never built before in this directory */
    CARGO_STATUS_DIRTY, /* built before, and something changed */
    CARGO_STATUS_COUNT,
};
const char *cargo_status_name(enum cargo_status status); /* NULL for unknown */

/* What cargo does for a unit. */
enum cargo_job { CARGO_JOB_COMPILE, CARGO_JOB_DOC, CARGO_JOB_RUN_SCRIPT };

struct cargo_ids { /* indexes of cargo_record.units, in the arena */
    const uint32_t *items;
    size_t count;
};

struct cargo_unit {
    uint64_t number;        /* cargo's own; other units of the record refer to it by index */
    const char *package;    /* name; never NULL */
    const char *version;    /* never NULL */
    const char *package_id; /* as cargo spells it, with its source; session log only */
    const char *target;     /* the target's name as in the manifest; NULL: the package's library */
    const char *kind;     /* "lib", "bin", "test", "bench", "example", "build-script"; never NULL */
    const char *mode;     /* "build", "check", "test", "doc", "doctest", "run-custom-build", …;
                               never NULL */
    const char *platform; /* triple it is built for; session log only */
    const char *const *features; /* as resolved, sorted, without repetition */
    size_t feature_count;
    enum cargo_job job;
    bool has_features; /* the source says them */
    bool is_requested; /* asked for on the command line; session log only */
    bool is_finished;  /* false: it had begun when cargo stopped, or its end was not written */
    enum cargo_status status;
    const char *reason;    /* of a dirty one, for people */
    uint32_t reason_unit;  /* the dependency that changed, index; CARGO_NONE */
    double start_s, end_s; /* NaN: it did not run (fresh), or was not seen to end */
    double rmeta_s; /* after start_s: its metadata was there, and units that need no more could start */
    double frontend_s; /* cargo's sections, durations by the wall clock, repeated ones added up;
                                 frontend is derived by cargo and can be slightly negative */
    double codegen_s, link_s, other_s;
    /* From messages; NULL. */
    const char *hash;                            /* that its files carry in their names */
    const char *opt_level;                       /* "0" */
    const char *debug_info;                      /* "2", "line-tables-only" */
    const char *files;                           /* names without directories, commas between */
    bool is_built;                               /* they say that it was not fresh */
    struct cargo_ids deps;                       /* session log only */
    struct cargo_ids unblocked, unblocked_rmeta; /* that could start at its end, or at its metadata */
};

/* What a unit of the same package is called where it is the reason. */
#define CARGO_ITS_SCRIPT "its build script"

struct cargo_concurrency { /* from t_s on */
    double t_s;
    uint32_t active, waiting, inactive;
};

struct cargo_cpu { /* busy share of the whole machine, at t_s */
    double t_s, percent;
};

struct cargo_record {
    struct arena arena;
    enum cargo_source source;
    LAM_ARRAY(struct cargo_unit) units; /* by start; those that did not run last */
    LAM_ARRAY(struct cargo_concurrency) concurrency;
    LAM_ARRAY(struct cargo_cpu) cpu;
    bool is_concurrency_derived; /* counted from the units: the session log has no such samples */
    const char *run_id;
    const char *profile;      /* "dev", "release", a custom one */
    const char *host, *rustc; /* triple; "rustc 1.95.0 (59807616e 2026-04-14)" */
    const char *command;      /* session log only */
    const char *target_dir, *workspace_root;
    uint64_t jobs, cores;      /* 0: not said */
    uint64_t fresh, dirty;     /* UINT64_MAX: not said */
    bool has_success, success; /* how the build ended; messages only */
    bool has_messages;         /* their word on units is in it */
    bool has_started_at;
    int64_t started_at_unix_ns; /* of cargo's zero; whole seconds in pages of older versions */
    double duration_s;          /* up to the last thing written; NaN */
    double resolve_start_s, resolve_end_s; /* session log only; NaN */
    double graph_end_s;                    /* units are known and looked at from here on; NaN */
    bool is_cut;                           /* the file broke off: what was whole before is here */
    char damage[256];                      /* where and how; empty: whole */
};

void cargo_record_init(struct cargo_record *record);
void cargo_record_free(struct cargo_record *record); /* empty and valid afterwards */

/* A unit with nothing known: NULL when memory is short. */
struct cargo_unit *cargo_record_add(struct cargo_record *record);

/* After all units are there: numbers become indexes, units are in order, concurrency is counted where the source has none. */
int cargo_record_finish(struct cargo_record *record);

/* "2026-11-30T06:51:41.805960744Z" to nanoseconds since 1970. */
bool cargo_time_parse(const char *text, size_t length, int64_t *unix_ns);

/* Of a target: "lib", "rlib", "cdylib", …, "proc-macro". */
bool cargo_kind_is_library(const char *kind);

/* For people, as cargo says it: "app v0.1.0 app \"bin\" (test)". For the arena; NULL when memory is short. */
const char *cargo_unit_title(const struct cargo_unit *unit, struct arena *arena);

#endif
