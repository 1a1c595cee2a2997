#include <math.h>
#include <string.h>

#include "analysis/cache_hits.h"
#include "analysis/cargo_join.h"
#include "analysis/class_ids.h"
#include "analysis/report_state.h"
#include "analysis/unit_titles.h"

/* ---- ledger ----------------------------------------------------------------------------------------------------- */

static void ledger_add(struct report_ledger *to, const struct report_ledger *from)
{
    to->lifetime_ns += from->lifetime_ns;
    to->run_ns += from->run_ns;
    to->core_wait_ns += from->core_wait_ns;
    to->blocked_ns += from->blocked_ns;
    to->residual_ns += from->residual_ns;
    for (size_t i = 0; i < REPORT_WAIT_KINDS; i++) {
        to->waits.count[i] += from->waits.count[i];
        to->waits.ns[i] += from->waits.ns[i];
    }
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A wait is measured from the call to its return, and ends when the thread is on a core again: what it then waited for the core is
 * in core_wait_ns already. Where the waits are longer than the time the thread was blocked, that is taken out of them. */
static void fit_waits(struct report_ledger *ledger)
{
    uint64_t sum = 0, rest;
    for (size_t i = 0; i < REPORT_WAIT_KINDS; i++)
        sum += ledger->waits.ns[i];
    if (sum > ledger->blocked_ns) {
        double scale = (double)ledger->blocked_ns / (double)sum;
        rest = ledger->blocked_ns;
        for (size_t i = 0; i < REPORT_WAIT_KINDS; i++) {
            uint64_t fitted = (uint64_t)((double)ledger->waits.ns[i] * scale);
            ledger->waits.ns[i] = smaller(fitted, rest);
            rest -= ledger->waits.ns[i];
        }
        sum = ledger->blocked_ns - rest; /* rest: what rounding left */
    }
    ledger->residual_ns = (int64_t)(ledger->blocked_ns - sum);
}

/* lifetime = run + core wait + blocked, blocked = waits by kind + residual; none is negative. The kernel counts a thread's wait for
 * its first core too, before anything of it could be seen: what does not fit into its life is left out. */
static void close_ledger(struct report_ledger *ledger)
{
    ledger->run_ns = smaller(ledger->run_ns, ledger->lifetime_ns);
    ledger->core_wait_ns = smaller(ledger->core_wait_ns, ledger->lifetime_ns - ledger->run_ns);
    ledger->blocked_ns = ledger->lifetime_ns - ledger->run_ns - ledger->core_wait_ns;
    fit_waits(ledger);
}

static void close_ledgers(struct report *report)
{
    array_each(&report->threads, thread)
    {
        struct report_process *process = &report->processes.items[thread->process];
        close_ledger(&thread->ledger);
        ledger_add(&process->ledger, &thread->ledger);
        if (thread->is_main)
            ledger_add(&process->main_ledger, &thread->ledger);
    }
}

/* ---- coverage --------------------------------------------------------------------------------------------------- */

static uint64_t known(uint64_t ns)
{
    return ns == PROFILE_UNKNOWN ? 0 : ns;
}

static uint64_t rest_of(const struct report_process *process)
{
    uint64_t parts = process->amount.cpu_ns + process->amount.late_ns + known(process->startup_ns) +
                     known(process->tail_ns);
    return process->cpu_ns != PROFILE_UNKNOWN && process->cpu_ns > parts ? process->cpu_ns - parts
                                                                         : 0;
}

/* Nobody was charged for it yet, and the poll that met it last may be older than its last sample. */
static void add_running(struct report_coverage *cov, const struct report_process *process)
{
    uint64_t seen = process->amount.cpu_ns + process->amount.late_ns + known(process->startup_ns);
    uint64_t used = known(process->cpu_ns);
    cov->startup_ns += known(process->startup_ns);
    cov->running_seen_ns += seen;
    cov->running_ns += used > seen ? used : seen;
}

static void sum_coverage(struct report_state *state)
{
    struct report *report = &state->report;
    struct report_coverage *cov = &report->coverage;
    cov->charged_ns = report->session.charged_cpu_ns;
    cov->sampled_ns = report->total.cpu_ns;
    cov->late_ns = report->total.late_ns;
    array_each(&report->processes, process)
    {
        cov->lost_samples += process->lost;
        cov->units_without_samples += process->unit != REPORT_NO_UNIT &&
                                      process->amount.samples == 0 &&
                                      !report->units.items[process->unit].info.is_cache;
        if (process->running) {
            add_running(cov, process);
        } else if (process->sampled != PROFILE_SAMPLED_YES) {
            cov->unsampled_ns += known(process->cpu_ns);
        } else {
            cov->startup_ns += known(process->startup_ns);
            process->rest_ns = rest_of(process);
            cov->tail_ns += known(process->tail_ns) + process->rest_ns;
        }
    }
    uint64_t used = report_used_ns(report);
    cov->ratio = used != PROFILE_UNKNOWN && used > 0 ? (double)cov->sampled_ns / (double)used : NAN;
    if (state->has_sample && state->has_sampled && state->last_sample_ns > state->first_sampled_ns)
        cov->sampled_span_ns = (uint64_t)(state->last_sample_ns - state->first_sampled_ns);
}

/* ---- order ------------------------------------------------------------------------------------------------------ */

static uint64_t process_weight(const struct report_process *process)
{
    return process->cpu_ns != PROFILE_UNKNOWN ? process->cpu_ns
                                              : process->amount.cpu_ns + process->amount.late_ns;
}

struct unit_order {
    struct report_unit unit;
    uint64_t weight;
};

static int compare_units(const void *a, const void *b)
{
    const struct unit_order *left = a, *right = b;
    if (left->weight != right->weight)
        return left->weight > right->weight ? -1 : 1;
    return left->unit.process < right->unit.process ? -1 : left->unit.process > right->unit.process;
}

static int sort_units(struct report *report)
{
    size_t count = report->units.count;
    struct unit_order *order = arena_array(&report->arena, count + 1, sizeof *order);
    if (!order)
        return LAM_E_NOMEM;
    for (size_t i = 0; i < count; i++)
        order[i] = (struct unit_order){
            report->units.items[i],
            process_weight(&report->processes.items[report->units.items[i].process])};
    qsort(order, count, sizeof *order, compare_units);
    for (size_t i = 0; i < count; i++) {
        report->units.items[i] = order[i].unit;
        report->processes.items[order[i].unit.process].unit = (uint32_t)i;
    }
    return LAM_OK;
}

static int compare_cells(const void *a, const void *b)
{
    const struct report_cell *left = a, *right = b;
    if (left->process != right->process)
        return left->process < right->process ? -1 : 1;
    if (left->amount.cpu_ns != right->amount.cpu_ns)
        return left->amount.cpu_ns > right->amount.cpu_ns ? -1 : 1;
    if (left->bucket != right->bucket)
        return left->bucket < right->bucket ? -1 : 1;
    return strcmp(left->cgu ? left->cgu : "", right->cgu ? right->cgu : "");
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

int report_finish(struct report *report, struct lam_error *err)
{
    struct report_state *state = report_state(report);
    int rc = report_finish_spans(state);
    if (rc == LAM_OK)
        rc = cache_hits_settle(report);
    close_ledgers(report);
    sum_coverage(state);
    if (rc == LAM_OK)
        rc = report_read_session(state);
    if (rc == LAM_OK)
        rc = report_measure_concurrency(state);
    if (rc == LAM_OK)
        rc = sort_units(report);
    if (rc == LAM_OK)
        rc = unit_titles_tell_apart(report);
    if (rc == LAM_OK)
        rc = cargo_join(report);
    array_sort(&report->cells, compare_cells);
    if (rc == LAM_OK)
        rc = build_graph_make(report);
    if (rc == LAM_OK)
        rc = report_measure_waiting(report);
    if (rc == LAM_OK)
        rc = class_ids_make(report);
    if (rc == LAM_OK)
        rc = idle_stretches_make(&report->idle, report);
    if (rc == LAM_OK)
        rc = wall_shares_make(&report->shares, report);
    if (rc == LAM_OK)
        rc = report_find(report);
    return rc < 0 ? lam_error_set(err, rc, "report: %s", lam_code_text(rc)) : LAM_OK;
}

static void add_amount(struct report_amount *to, const struct report_amount *from)
{
    to->samples += from->samples;
    to->cpu_ns += from->cpu_ns;
    to->late_ns += from->late_ns;
}

enum grouping { BY_SEGMENT, BY_PHASE, BY_ROLE };

/* The first cell of a process: cells are sorted by process. */
static size_t first_cell(const struct report *report, uint32_t process)
{
    size_t low = 0, high = report->cells.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (report->cells.items[middle].process < process)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct report_cells report_cells(const struct report *report, uint32_t process)
{
    if (process == REPORT_NO_UNIT)
        return (struct report_cells){report->cells.items, report->cells.count};
    size_t first = first_cell(report, process), end = first_cell(report, process + 1);
    return (struct report_cells){report->cells.items + first, end - first};
}

static void sum_cells(const struct report *report, uint32_t process, enum grouping by,
                      struct report_amount *out)
{
    struct report_cells cells = report_cells(report, process);
    for (size_t i = 0; i < cells.count; i++) {
        const struct report_cell *cell = &cells.items[i];
        struct phase_bucket bucket = classifier_bucket(report->cls, cell->bucket);
        size_t at = by == BY_SEGMENT ? (size_t)bucket.segment
                    : by == BY_PHASE ? bucket.phase
                                     : (size_t)cell->role;
        add_amount(&out[at], &cell->amount);
    }
}

void report_by_segment(const struct report *report, uint32_t process, struct report_amount *out)
{
    memset(out, 0, SEGMENT_COUNT * sizeof *out);
    sum_cells(report, process, BY_SEGMENT, out);
}

void report_by_phase(const struct report *report, uint32_t process, struct report_amount *out)
{
    memset(out, 0, classifier_phase_count(report->cls) * sizeof *out);
    sum_cells(report, process, BY_PHASE, out);
}

void report_by_role(const struct report *report, uint32_t process, struct report_amount *out)
{
    memset(out, 0, ROLE_COUNT * sizeof *out);
    sum_cells(report, process, BY_ROLE, out);
}

static uint64_t parts_ns(const struct report_coverage *cov)
{
    return cov->sampled_ns + cov->late_ns + cov->startup_ns + cov->tail_ns + cov->unsampled_ns;
}

uint64_t report_used_ns(const struct report *report)
{
    const struct report_coverage *cov = &report->coverage;
    if (cov->charged_ns == PROFILE_UNKNOWN || cov->running_ns == 0)
        return cov->charged_ns;
    /* Nor was anybody charged for what processes that still run have waited for, or were before an exec. */
    uint64_t used = cov->charged_ns + cov->running_ns,
             known = parts_ns(cov) + cov->running_ns - cov->running_seen_ns;
    return used > known ? used : known;
}

uint64_t report_unaccounted_ns(const struct report *report)
{
    const struct report_coverage *cov = &report->coverage;
    if (cov->charged_ns == PROFILE_UNKNOWN)
        return PROFILE_UNKNOWN;
    uint64_t parts = parts_ns(cov);
    uint64_t whole = cov->charged_ns + cov->running_seen_ns;
    return whole > parts ? whole - parts : 0;
}

size_t report_rustc_units(const struct report *report)
{
    size_t count = 0;
    array_each(&report->units, unit) count += unit->info.kind == UNIT_RUSTC;
    return count;
}

double report_seconds(uint64_t ns)
{
    return ns == PROFILE_UNKNOWN ? NAN : (double)ns / 1e9;
}

double report_process_wall_s(const struct report_process *process)
{
    return process->has_end ? (double)(process->end_ns - process->start_ns) / 1e9 : NAN;
}

const char *report_why_not(uint32_t why_not)
{
    static const char *const texts[] = {
        "not known",
        "statically linked",
        "built for another machine or word size",
        "not linked against glibc",
        "set-user-id or with file capabilities",
        "built with the address sanitizer",
        "a Go program that uses C",
        "traced by a debugger",
        "left out by --only or --skip",
        "the program could not be read",
        "the recording could not be written from there",
        "the sampling engine could not be started",
    };
    return why_not < sizeof texts / sizeof texts[0] ? texts[why_not] : "not known";
}

const char *report_engine_name(uint32_t engine)
{
    static const char *const names[] = {"auto", "sigtrap", "thread_perf", "cpu_timer", "none"};
    return engine < sizeof names / sizeof names[0] ? names[engine] : "unknown";
}
