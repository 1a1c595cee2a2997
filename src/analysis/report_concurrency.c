/* How many worked at once, and when: swept from the spans. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "analysis/report_state.h"

/* Processes without samples worked too, as far as the account knows: those that used half of their time or more. Their workers'
 * numbers are those behind the threads. */
static int add_unsampled(struct report_state *state)
{
    struct report *report = &state->report;
    int rc = LAM_OK;
    for (size_t i = 0; rc == LAM_OK && i < report->processes.count; i++) {
        const struct report_process *process = &report->processes.items[i];
        if (process->sampled == PROFILE_SAMPLED_YES || process->cpu_ns == PROFILE_UNKNOWN ||
            !process->has_end)
            continue;
        int64_t wall = process->end_ns - process->start_ns;
        size_t none = SIZE_MAX;
        uint32_t worker = (uint32_t)(report->threads.count + i);
        if (wall > 0 && process->cpu_ns >= (uint64_t)wall / 2)
            rc = work_stretch_add(&state->work,
                                  (struct work_stretch){process->start_ns, process->end_ns, worker},
                                  &none);
    }
    return rc;
}

static uint32_t process_of_worker(const struct report *report, uint32_t worker)
{
    return worker < report->threads.count ? report->threads.items[worker].process
                                          : worker - (uint32_t)report->threads.count;
}

static void find_peak_and_tail(struct report *report, struct work_sweep *sweep)
{
    struct work_step step;
    while (work_sweep_next(sweep, &step)) {
        if (step.working > report->peak_threads)
            report->peak_threads = (uint32_t)step.working;
        if (step.working > 1)
            report->tail_start_ns = step.end_ns;
    }
    work_sweep_rewind(sweep);
}

/* Who worked most in the tail. */
static int find_tail_worker(struct report *report, struct work_sweep *sweep)
{
    uint64_t *busy = arena_array(&report->arena, report->processes.count + 1, sizeof *busy);
    if (!busy)
        return LAM_E_NOMEM;
    struct work_step step;
    while (work_sweep_next(sweep, &step))
        if (step.start_ns >= report->tail_start_ns && step.working == 1) {
            uint64_t ns = (uint64_t)(step.end_ns - step.start_ns);
            busy[process_of_worker(report, step.only)] += ns;
            report->tail_busy_ns += ns;
        }
    work_sweep_rewind(sweep);
    for (uint32_t i = 0; i < report->processes.count; i++) {
        if (busy[i] > report->tail_process_ns) {
            report->tail_process_ns = busy[i];
            report->tail_process = i;
        }
    }
    return LAM_OK;
}

/* ---- timeline ---------------------------------------------------------------------------------------------------- */

static double overlap_ns(const struct work_step *step, int64_t start_ns, int64_t end_ns)
{
    int64_t from = step->start_ns > start_ns ? step->start_ns : start_ns,
            to = step->end_ns < end_ns ? step->end_ns : end_ns;
    return to > from ? (double)(to - from) : 0;
}

/* The mean number of working threads in each row's time. A step that reaches over rows counts in each of them. */
static void fill_threads_busy(struct report *report, struct work_sweep *sweep)
{
    struct work_step step = {0};
    bool has_step = work_sweep_next(sweep, &step);
    array_each(&report->timeline, row)
    {
        int64_t start_ns = row->t_ns - (int64_t)row->span_ns;
        double sum = 0;
        while (has_step) {
            sum += (double)step.working * overlap_ns(&step, start_ns, row->t_ns);
            if (step.end_ns > row->t_ns)
                break;
            has_step = work_sweep_next(sweep, &step);
        }
        if (row->span_ns > 0)
            row->threads_busy = sum / (double)row->span_ns;
    }
    work_sweep_rewind(sweep);
}

/* A linker that a compiler started runs in the compiler's place. */
static bool is_inside_a_unit(const struct report *report, const struct report_process *process)
{
    for (uint32_t parent = process->parent; parent != REPORT_NO_UNIT;
         parent = report->processes.items[parent].parent)
        if (report->processes.items[parent].unit != REPORT_NO_UNIT)
            return true;
    return false;
}

/* How many of the stretches lie at each row's time, into the member of a row at `offset`. The stretches are freed. */
static int fill_count(struct report *report, struct work_stretches *stretches, size_t offset)
{
    struct work_sweep sweep = {0};
    struct work_step step = {0};
    int rc = work_sweep_open(&sweep, stretches);
    bool has_step = rc == LAM_OK && work_sweep_next(&sweep, &step);
    array_each(&report->timeline, row)
    {
        while (has_step && step.end_ns <= row->t_ns)
            has_step = work_sweep_next(&sweep, &step);
        double count = has_step && step.start_ns <= row->t_ns ? (double)step.working : 0;
        memcpy((char *)row + offset, &count, sizeof count);
    }
    work_sweep_close(&sweep);
    array_free(stretches);
    return rc;
}

static int add_stretch(struct work_stretches *list, int64_t start_ns, int64_t end_ns, uint32_t unit)
{
    size_t none = SIZE_MAX;
    return work_stretch_add(list, (struct work_stretch){start_ns, end_ns, unit}, &none);
}

static int fill_running(struct report *report)
{
    struct work_stretches units = {0};
    int rc = LAM_OK;
    for (uint32_t i = 0; rc == LAM_OK && i < report->units.count; i++) {
        const struct report_process *process =
            &report->processes.items[report->units.items[i].process];
        if (!is_inside_a_unit(report, process))
            rc = add_stretch(&units, process->start_ns,
                             process->has_end ? process->end_ns : INT64_MAX, i);
    }
    int filled = fill_count(report, &units, offsetof(struct report_timeline_row, running));
    return rc < 0 ? rc : filled;
}

/* ---- what could not run ------------------------------------------------------------------------------------------ */

/* As cargo counted, from each of its samples on. */
static void fill_from_cargo(struct report *report)
{
    const struct cargo_record *cargo = report->cargo;
    size_t at = 0;
    array_each(&report->timeline, row)
    {
        while (at < cargo->concurrency.count &&
               report_cargo_ns(report, cargo->concurrency.items[at].t_s) <= row->t_ns)
            at++;
        if (at == 0)
            continue; /* before cargo knew its units */
        row->waiting = cargo->concurrency.items[at - 1].waiting;
        row->inactive = cargo->concurrency.items[at - 1].inactive;
    }
}

static int fill_from_graph(struct report *report)
{
    struct work_stretches waiting = {0}, inactive = {0};
    int rc = LAM_OK;
    for (uint32_t i = 0; rc == LAM_OK && i < report->graph.nodes.count; i++) {
        const struct build_node *node = &report->graph.nodes.items[i];
        if (node->inside != GRAPH_NONE)
            continue;
        rc = add_stretch(&waiting, node->ready_ns, node->start_ns, i);
        if (rc == LAM_OK)
            rc = add_stretch(&inactive, INT64_MIN, node->ready_ns, i);
    }
    int filled = fill_count(report, &waiting, offsetof(struct report_timeline_row, waiting));
    rc = rc < 0 ? rc : filled;
    filled = fill_count(report, &inactive, offsetof(struct report_timeline_row, inactive));
    return rc < 0 ? rc : filled;
}

int report_measure_waiting(struct report *report)
{
    if (report->cargo && report->cargo->concurrency.count > 0) {
        fill_from_cargo(report);
        return LAM_OK;
    }
    /* Without an edge nothing is known of what a unit waits for. */
    return report->graph.edges.count > 0 ? fill_from_graph(report) : LAM_OK;
}

static int sweep_work(struct report_state *state, struct work_sweep *sweep)
{
    struct report *report = &state->report;
    find_peak_and_tail(report, sweep);
    if (state->has_sample)
        fill_threads_busy(report, sweep);
    int64_t end_ns = report->session.elapsed_ns != PROFILE_UNKNOWN
                         ? (int64_t)report->session.elapsed_ns
                         : state->last_sample_ns;
    if (!state->has_sample || report->tail_start_ns >= end_ns)
        return LAM_OK;
    report->tail_ns = (uint64_t)(end_ns - report->tail_start_ns);
    return find_tail_worker(report, sweep);
}

int report_measure_concurrency(struct report_state *state)
{
    struct report *report = &state->report;
    uint64_t elapsed = report->session.elapsed_ns;
    report->cores_used = NAN;
    if (elapsed != PROFILE_UNKNOWN && elapsed > 0 && report->coverage.charged_ns != PROFILE_UNKNOWN)
        report->cores_used = (double)report->coverage.charged_ns / (double)elapsed;
    struct work_sweep sweep = {0};
    int rc = add_unsampled(state);
    if (rc == LAM_OK)
        rc = work_sweep_open(&sweep, &state->work);
    if (rc == LAM_OK)
        rc = sweep_work(state, &sweep);
    work_sweep_close(&sweep);
    return rc == LAM_OK ? fill_running(report) : rc;
}
