/* Inside of report.c: what the sink keeps beside the report itself. */
#ifndef LAMELLA_ANALYSIS_REPORT_STATE_H
#define LAMELLA_ANALYSIS_REPORT_STATE_H

#include "analysis/report.h"
#include "analysis/spans.h"
#include "analysis/worker_sweep.h"
#include "base/map.h"

/* A thread's samples are counted under its role, codegen unit and program: one group. Names change, so groups do. */
struct sample_group {
    uint32_t process; /* index */
    enum thread_role role;
    uint32_t fallback;
    const char *cgu;
};

struct thread_state {
    uint32_t group;
    uint32_t last_state,
        last_cell; /* the cell of the last (stack state), so that a run of equal ones costs no look-up */
    uint32_t sample_cell; /* of the last sample */
    struct span_builder span;
    size_t last_stretch; /* index in work, SIZE_MAX */
};

struct report_module {
    const char *path; /* NULL: never pushed */
    uint64_t samples_without_symbols;
};

struct report_state {
    struct report report; /* first: a report is a report_state */
    struct report_options options;
    struct stack_states stacks;
    struct work_stretches work; /* of threads by index; of processes that were not sampled, behind them */
    LAM_ARRAY(struct report_module) modules; /* by the input's id */
    LAM_ARRAY(uint32_t) process_of;          /* the input's process id → index + 1 */
    LAM_ARRAY(uint32_t) thread_of;
    LAM_ARRAY(struct thread_state) thread_states;
    LAM_ARRAY(struct sample_group) groups;
    struct map group_ids;     /* hash of (process, role, cgu) → group; checked */
    struct map cell_ids;      /* group and bucket → cell */
    struct map wait_cell_ids; /* process and bucket → wait cell */
    int64_t first_sampled_ns, last_sample_ns;
    bool has_sampled, has_sample;
    uint64_t first_command; /* hash of the command line of the first process that nobody in here started */
    uint32_t same_commands;    /* how many of these have it */
    uint64_t nameless_samples; /* in files with symbols, and yet no frame has a name */
};

static inline struct report_state *report_state(struct report *report)
{
    return (struct report_state *)report;
}

/* report_spans.c */
int report_end_span(struct report_state *state, uint32_t thread, const struct span *span);
int report_finish_spans(struct report_state *state);

/* report_concurrency.c: after coverage is known */
int report_measure_concurrency(struct report_state *state);
int report_measure_waiting(struct report *report); /* after cargo's record and the graph are there */

/* report_session.c: what session.json knows. LAM_E_NOMEM alone is an error. */
int report_read_session(struct report_state *state);

#endif
