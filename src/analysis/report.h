/* The account of a recording: what `lamella report` prints. Filled by a sink in one pass, in memory for processes, threads,
 * stacks, stretches in which a thread worked without a gap, and (process, role, codegen unit, segment, phase, detail), whatever the
 * number of samples.
 *
 *     report_open(&report, &options, err);
 *     rc = read_recording(…, report_sink(report), err);
 *     if (rc == LAM_OK) rc = report_finish(report, err);
 *     write_report_text(report, …);
 *     report_close(&report);
 */
#ifndef LAMELLA_ANALYSIS_REPORT_H
#define LAMELLA_ANALYSIS_REPORT_H

#include "analysis/build_graph.h"
#include "analysis/idle_stretches.h"
#include "analysis/stack_states.h"
#include "analysis/wall_share.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "build/cargo_notes.h"
#include "build/cargo_record.h"
#include "build/header_costs.h"
#include "build/ninja_log.h"
#include "build/unit.h"
#include "build/unit_artifacts.h"
#include "build/unit_flags.h"
#include "profile/sink.h"

enum { REPORT_WAIT_JOBSERVER = 3, REPORT_WAIT_KINDS = 7 }; /* enum stream_wait_kind, [0] unused */
extern const char *const report_wait_names[REPORT_WAIT_KINDS];

#define REPORT_NO_UNIT UINT32_MAX

/* CPU time and what was seen of it. */
struct report_amount {
    uint64_t samples;
    uint64_t cpu_ns;  /* interrupted and at-return weights, without the late part */
    uint64_t late_ns; /* known to be spent by the thread, not where */
};

struct report_waits {
    uint64_t count[REPORT_WAIT_KINDS];
    uint64_t ns[REPORT_WAIT_KINDS];
};

/* Wall time of threads, split: lifetime = run + core wait + blocked, and blocked = waits of all kinds + residual, after
 * report_finish(). Sums over threads are thread-seconds; a main thread's is its process's wall time. */
struct report_ledger {
    uint64_t lifetime_ns, run_ns, core_wait_ns, blocked_ns;
    struct report_waits waits;
    int64_t residual_ns; /* blocked less the measured waits; never negative */
};

struct report_thread {
    uint32_t tid, process; /* process: index in report.processes */
    const char *name;      /* the last that says a role, else the last; in the arena */
    uint32_t name_bytes;
    enum thread_role role;
    bool is_main;
    bool has_ledger; /* run and core wait are known */
    int64_t start_ns, end_ns;
    uint64_t cpu_ns; /* PROFILE_UNKNOWN */
    uint64_t handler_ns;
    struct report_amount sampled;
    struct report_ledger ledger;
};

struct report_process {
    uint32_t pid, ppid;
    uint64_t kernel_start;    /* clock ticks since boot; 0 when not known */
    uint32_t parent;          /* index in report.processes, REPORT_NO_UNIT */
    const char *exe;          /* NUL-ended; path, or argv[0] when unknown; "" */
    const char *title;        /* for people: base name, or the unit's title */
    const char *role;         /* "rustc", "link", …: the unit's kind, or "other" */
    uint32_t unit;            /* index in report.units or REPORT_NO_UNIT */
    int64_t start_ns, end_ns; /* end: PROFILE_UNKNOWN as -1 when the end was not seen */
    bool has_end, running, forked;
    enum profile_sampled sampled;
    uint32_t why_not; /* enum stream_unsampled */
    uint32_t engine;
    int exit_code, signal;
    bool has_usage;
    struct profile_usage usage;
    uint64_t cpu_ns, startup_ns, tail_ns; /* PROFILE_UNKNOWN */
    uint64_t rest_ns; /* after the last sample of each thread: of the time between start and tail, what no sample stands for */
    struct report_amount amount;
    struct report_ledger ledger; /* of all threads */
    struct report_ledger main_ledger;
    uint64_t lost;
};

struct report_unit {
    uint32_t process; /* index */
    struct unit info;
    const char *title;
    uint32_t cargo;           /* index in report.cargo->units; CARGO_NONE */
    enum cargo_status status; /* why cargo built it */
    const char *reason;       /* for people; NULL: not known */
    const char *reason_dep;   /* package of the dependency that took it along; NULL */
    struct unit_flags flags;
    struct unit_artifacts artifacts; /* files that it wrote, as they were at the command's end */
    const char *class_id;            /* class_ids.h; after report_finish() */
    const char *class_missing; /* what it stands on that was fresh, for people; NULL: all is known */
    const char *capture; /* "clean", "incremental", "cached": what its times are times of; NULL: no compilation */
};

/* The finest total: one process, role, codegen unit, bucket. */
struct report_cell {
    uint32_t process;
    uint32_t bucket; /* classifier_bucket() */
    enum thread_role role;
    const char *cgu; /* NULL */
    int64_t last_ns; /* of its last sample */
    struct report_amount amount;
};

/* Waits of a process, by what the stack of the call meant. */
struct report_wait_cell {
    uint32_t process;
    uint32_t bucket; /* classifier_bucket() */
    uint64_t count, ns;
};

/* Consecutive samples of one thread in one phase (spans.h). Over all spans, samples and CPU time are those of the cells. */
struct report_span {
    uint32_t process, thread; /* indices */
    enum thread_role role;
    uint32_t phase;  /* classifier_phase() */
    const char *cgu; /* NULL */
    int64_t start_ns, end_ns;
    uint64_t cpu_ns;
    uint32_t samples;
    uint32_t gap_ns; /* a longer time without a sample would have ended it */
};

/* What the launcher's poll of /proc met at one time, and what ran then. NaN: not known. */
struct report_timeline_row {
    int64_t t_ns;
    uint64_t span_ns; /* since the row before: what means are taken over */
    double running, waiting,
        inactive;        /* units: that ran; that could run and did not; that could not run yet */
    double threads_busy; /* mean */
    double processes, threads; /* of the command, alive */
    double tree_busy;          /* processors that the command kept busy, mean */
    double cpu_busy;           /* processors of the machine, mean */
    double load1, psi_cpu, psi_io, psi_mem;
    double rss_bytes,
        anon_bytes; /* of the command's processes; anon: their own, neither of files nor shared */
    double mem_available_bytes; /* of the machine */
};

/* Memory of a process at a time. */
struct report_memory {
    uint32_t process; /* index */
    int64_t t_ns;
    uint64_t rss_bytes, anon_bytes;
};

/* When the command's processes held most memory of their own, as far as the poll met it. */
struct report_memory_peak {
    int64_t t_ns;
    uint64_t rss_bytes, anon_bytes;          /* sums; PROFILE_UNKNOWN: nobody looked */
    LAM_ARRAY(struct report_memory) holders; /* by anon_bytes, largest first */
};

struct report_machine { /* what is not known is NULL or PROFILE_UNKNOWN */
    const char *machine_id, *cpu_model, *kernel, *os, *arch, *virt, *cpu_shares;
    uint64_t cores, mem_bytes;
};

struct report_setting {
    const char *key, *value; /* scrubbed when they were recorded */
};

/* sampled, late, startup, tail and unsampled add up to the charge and to running_seen, but for what is unaccounted. */
struct report_coverage {
    uint64_t charged_ns; /* PROFILE_UNKNOWN */
    uint64_t closing_ns; /* of sampled_ns: after the last samples of threads (PROFILE_SAMPLE_CLOSING) */
    uint64_t sampled_ns, late_ns, startup_ns, tail_ns, unsampled_ns, running_ns;
    uint64_t running_seen_ns; /* of running_ns, what the others hold */
    double ratio;             /* of charged_ns and running_ns; NaN when the charge is not known */
    double expected_samples;
    uint64_t samples, merged_samples, lost_samples, truncated_stacks, frames, unresolved_frames,
        samples_without_symbols, at_return_samples;
    uint64_t units_without_samples;
    uint64_t sampled_span_ns; /* from the first sampled process's start to the last sample */
};

enum report_severity { REPORT_INFO, REPORT_NOTE, REPORT_WARNING };

struct report_finding {
    const char *id;
    enum report_severity severity;
    const char *text;
    double seconds; /* NaN: none */
    uint32_t unit;  /* index, or REPORT_NO_UNIT */
};

struct report {
    struct arena arena;
    struct classifier *cls;         /* the caller's, must outlive the report */
    struct profile_session session; /* texts copied */
    struct profile_session_end end;
    uint64_t lost[8];                           /* records of all processes, by enum stream_loss */
    LAM_ARRAY(struct report_process) processes; /* in order of their start */
    LAM_ARRAY(struct report_thread) threads;
    LAM_ARRAY(struct report_unit) units; /* by CPU time, largest first, after report_finish() */
    LAM_ARRAY(struct report_cell) cells; /* by process, then CPU time */
    LAM_ARRAY(struct report_wait_cell) wait_cells;
    LAM_ARRAY(struct report_finding) findings;
    LAM_ARRAY(struct report_span)
    spans; /* by thread, then start; empty unless options.want_spans */
    LAM_ARRAY(struct report_timeline_row) timeline; /* in order of time; empty without a launcher */
    LAM_ARRAY(struct report_memory)
    memory; /* by process, then time; what hardly changes is left out */
    struct report_memory_peak memory_peak;
    struct report_machine machine;
    LAM_ARRAY(struct report_setting) settings; /* flags and variables that move compile time */
    double cpu_busy_mean, loadavg_mean;        /* over the timeline; NaN */
    struct build_graph graph;                  /* of the units; after report_finish() */
    struct idle_stretches idle;
    struct wall_shares shares; /* with options.want_spans */
    struct report_coverage coverage;
    struct report_amount total;
    uint32_t peak_threads;
    double cores_used;     /* NaN */
    int64_t tail_start_ns; /* serial tail: never more than one thread worked from here on */
    uint64_t tail_ns;
    uint32_t tail_process; /* who worked most in it; REPORT_NO_UNIT */
    uint64_t tail_process_ns;
    uint64_t tail_busy_ns; /* of the tail, when a thread worked */
    uint64_t handler_ns;
    struct cargo_record *cargo; /* what cargo wrote of the build; NULL: nothing, or of another build */
    struct ninja_log ninja;     /* what ninja says that it made; empty: nothing */
    struct header_costs headers;     /* from clang's traces; empty: there are none */
    size_t cache_asked;              /* programs of caches that were asked for a compilation */
    const char *cargo_note;          /* what is to be said of that; NULL */
    int64_t cargo_zero_ns;           /* cargo's zero on the session's clock */
    struct cargo_notes *cargo_notes; /* what the launcher saw of the build from outside; NULL */
    LAM_ARRAY(uint32_t)
    cargo_unseen;             /* in cargo->units: it ran them, and no process was recorded */
    uint64_t cargo_not_begun; /* units in cargo->units that a failed build did not get to */
};

/* A sample with what it was found to mean. A thread's closing stretch comes as well, with samples 0. */
struct report_sampled {
    uint32_t thread; /* index */
    uint32_t phase;  /* classifier_phase() */
    uint32_t stack;  /* the input's id */
    uint32_t samples;
    int64_t at_ns;
    uint64_t cpu_ns; /* without the late part */
};

struct report_options {
    struct classifier *cls;
    struct frame_names names;
    bool want_spans; /* 56 bytes each in memory; there are about as many as changes of phase */
    bool read_files; /* response files of command lines may be read from this machine */
    int (*sampled)(void *ctx, const struct report_sampled *sampled); /* NULL */
    void *sampled_ctx;
};

int report_open(struct report **report, const struct report_options *options, struct lam_error *err);
struct profile_sink report_sink(struct report *report);

/* Cargo's record, for report_finish() to join; the report takes it over, and what is in *cargo is gone. One at most. */
int report_take_cargo(struct report *report, struct cargo_record *cargo);
int report_take_notes(struct report *report, struct cargo_notes *notes);

/* Files that units wrote go to their units; texts are copied. After report_finish() has sorted units or before it. */
int report_take_artifacts(struct report *report, const struct artifact_list *list);

/* The cargo unit of a unit; NULL. */
const struct cargo_unit *report_cargo_unit(const struct report *report,
                                           const struct report_unit *unit);

/* A time of cargo's as nanoseconds since the session's start. */
int64_t report_cargo_ns(const struct report *report, double cargo_s);

/* After the input's last call. */
int report_finish(struct report *report, struct lam_error *err);
void report_close(struct report **report);

/* The cells of one process, or all with REPORT_NO_UNIT. */
struct report_cells {
    const struct report_cell *items;
    size_t count;
};
struct report_cells report_cells(const struct report *report, uint32_t process);

/* Sums of cells: over all processes (REPORT_NO_UNIT) or one, by segment or by phase. Out has room for SEGMENT_COUNT or
 * classifier_phase_count() items. */
void report_by_segment(const struct report *report, uint32_t process, struct report_amount *out);
void report_by_phase(const struct report *report, uint32_t process, struct report_amount *out);
void report_by_role(const struct report *report, uint32_t process,
                    struct report_amount *out); /* ROLE_COUNT */

/* Of the charge, what none of the parts of the coverage explains; PROFILE_UNKNOWN when the charge is not known. */
uint64_t report_unaccounted_ns(const struct report *report);
/* What the kernel charged, and what was used that it had not charged yet, by processes that still ran; PROFILE_UNKNOWN. */
uint64_t report_used_ns(const struct report *report);

/* "1 of 3 files could not be read whole"; false, and nothing, when nothing is damaged. */
bool report_damage_text(const struct report *report, struct strbuf *out);

/* Compilations by rustc: those that a self-profile could be had of. */
size_t report_rustc_units(const struct report *report);

double report_seconds(uint64_t ns);              /* NaN for PROFILE_UNKNOWN */
const char *report_why_not(uint32_t why_not);    /* "static program", for people */
const char *report_engine_name(uint32_t engine); /* "sigtrap" */
double report_process_wall_s(const struct report_process *process); /* NaN when the end is not known */

/* Threads waited long for a core while the command did not fill them: other programs had the machine. */
bool report_is_crowded(const struct report *report);
/* What there is to say, into findings. LAM_E_NOMEM. */
int report_find(struct report *report);

#endif
