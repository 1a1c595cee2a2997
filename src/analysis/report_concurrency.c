/* How many worked at once, and when: swept from the spans. */
#include <math.h>

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
        if (step.start_ns >= report->tail_start_ns && step.working == 1)
            busy[process_of_worker(report, step.only)] += (uint64_t)(step.end_ns - step.start_ns);
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

/* Units that ran at each row's time. */
static int fill_running(struct report *report)
{
    struct work_stretches units = {0};
    struct work_sweep sweep = {0};
    int rc = LAM_OK;
    for (uint32_t i = 0; rc == LAM_OK && i < report->units.count; i++) {
        const struct report_process *process =
            &report->processes.items[report->units.items[i].process];
        int64_t end_ns = process->has_end ? process->end_ns : INT64_MAX;
        size_t none = SIZE_MAX;
        if (is_inside_a_unit(report, process))
            continue;
        rc = work_stretch_add(&units, (struct work_stretch){process->start_ns, end_ns, i}, &none);
    }
    if (rc == LAM_OK)
        rc = work_sweep_open(&sweep, &units);
    struct work_step step = {0};
    bool has_step = rc == LAM_OK && work_sweep_next(&sweep, &step);
    array_each(&report->timeline, row)
    {
        while (has_step && step.end_ns <= row->t_ns)
            has_step = work_sweep_next(&sweep, &step);
        row->running = has_step && step.start_ns <= row->t_ns ? (double)step.working : 0;
    }
    work_sweep_close(&sweep);
    array_free(&units);
    return rc;
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
