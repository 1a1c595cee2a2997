/* What the launcher wrote beside the streams, as far as a report wants it: timeline, memory, machine, settings. */
#include <math.h>
#include <stddef.h>

#include "analysis/report_state.h"
#include "input/session_json.h"

/* ---- timeline ---------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t offset;
} columns[] = {
    {"processes", offsetof(struct report_timeline_row, processes)},
    {"threads", offsetof(struct report_timeline_row, threads)},
    {"tree_busy", offsetof(struct report_timeline_row, tree_busy)},
    {"cpu_busy", offsetof(struct report_timeline_row, cpu_busy)},
    {"load1", offsetof(struct report_timeline_row, load1)},
    {"psi_cpu", offsetof(struct report_timeline_row, psi_cpu)},
    {"psi_io", offsetof(struct report_timeline_row, psi_io)},
    {"psi_mem", offsetof(struct report_timeline_row, psi_mem)},
    {"rss_bytes", offsetof(struct report_timeline_row, rss_bytes)},
    {"anon_bytes", offsetof(struct report_timeline_row, anon_bytes)},
    {"mem_available_bytes", offsetof(struct report_timeline_row, mem_available_bytes)},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static double value_at(const struct session_timeline *from, size_t row, size_t column)
{
    return column < from->columns.count ? from->values.items[row * from->columns.count + column]
                                        : NAN;
}

/* Rows whose time is not known, or is before that of the row above, are left out. */
static int read_timeline(struct report *report, const struct session_timeline *from)
{
    size_t places[COLUMNS], time = session_timeline_column(from, "t_ns");
    for (size_t i = 0; i < COLUMNS; i++)
        places[i] = session_timeline_column(from, columns[i].name);
    int64_t last_ns = 0;
    for (size_t i = 0; i < from->rows; i++) {
        double t_ns = value_at(from, i, time);
        if (!(t_ns >= (double)last_ns) || !(t_ns < 1e18))
            continue;
        struct report_timeline_row *row = array_add(&report->timeline);
        if (!row)
            return LAM_E_NOMEM;
        row->t_ns = (int64_t)t_ns;
        row->span_ns = (uint64_t)(row->t_ns - last_ns);
        row->running = row->waiting = row->inactive = row->threads_busy = NAN;
        last_ns = row->t_ns;
        for (size_t column = 0; column < COLUMNS; column++)
            *(double *)((char *)row + columns[column].offset) = value_at(from, i, places[column]);
    }
    return LAM_OK;
}

/* The mean of a column over the time of the rows that know it; NaN when they are less than nine tenths of `of_ns`. */
static double mean_of(const struct report *report, size_t offset, uint64_t of_ns)
{
    double sum = 0, time = 0;
    array_each(&report->timeline, row)
    {
        double value = *(const double *)((const char *)row + offset);
        if (isnan(value))
            continue;
        sum += value * (double)row->span_ns;
        time += (double)row->span_ns;
    }
    return time > 0 && time >= 0.9 * (double)of_ns ? sum / time : NAN;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

struct by_pid {
    uint32_t pid, process;
    int64_t start_ns;
};
struct pid_index LAM_ARRAY_BODY(struct by_pid);

static int compare_pids(const void *left, const void *right)
{
    const struct by_pid *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->process < b->process ? -1 : a->process > b->process;
}

static int index_pids(const struct report *report, struct pid_index *index)
{
    for (uint32_t i = 0; i < report->processes.count; i++) {
        const struct report_process *process = &report->processes.items[i];
        if (array_push(index, ((struct by_pid){process->pid, i, process->start_ns})) < 0)
            return LAM_E_NOMEM;
    }
    array_sort(index, compare_pids);
    return LAM_OK;
}

/* The image that a process of the kernel was at a time: the last one begun by then, else its first. REPORT_NO_UNIT. */
static uint32_t image_at(const struct report *report, const struct pid_index *index,
                         const struct session_seen *seen, int64_t t_ns)
{
    uint32_t pid = seen->inner_pid ? seen->inner_pid : seen->pid, found = REPORT_NO_UNIT;
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->items[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < index->count && index->items[low].pid == pid; low++) {
        const struct by_pid *it = &index->items[low];
        uint64_t kernel_start = report->processes.items[it->process].kernel_start;
        if (kernel_start && seen->kernel_start && kernel_start != seen->kernel_start)
            continue; /* the number was used again */
        if (found == REPORT_NO_UNIT || it->start_ns <= t_ns)
            found = it->process;
    }
    return found;
}

static int compare_memory(const void *left, const void *right)
{
    const struct report_memory *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->t_ns < b->t_ns ? -1 : a->t_ns > b->t_ns;
}

static int compare_holders(const void *left, const void *right)
{
    const struct report_memory *a = left, *b = right;
    if (a->anon_bytes != b->anon_bytes)
        return a->anon_bytes > b->anon_bytes ? -1 : 1;
    return a->process < b->process ? -1 : a->process > b->process;
}

static int read_readings(struct report *report, const struct session_json *session,
                         const struct pid_index *index)
{
    array_each(&session->seen, seen)
    {
        for (size_t i = 0; i < seen->memory_count; i++) {
            const struct session_memory *from = &session->memory.items[seen->first_memory + i];
            struct report_memory reading = {image_at(report, index, seen, from->t_ns), from->t_ns,
                                            from->rss_bytes, from->anon_bytes};
            if (reading.process != REPORT_NO_UNIT && array_push(&report->memory, reading) < 0)
                return LAM_E_NOMEM;
        }
    }
    array_sort(&report->memory, compare_memory);
    return LAM_OK;
}

/* Between two looks a process may have come and gone: what the looks met is then no peak. The kernel's own figure of one process
 * tells, where that is well above what all were seen to have. (It may be a little above at any rate: a process begins with that
 * of the program which started it, the launcher too.) */
static bool has_missed_peak(const struct report *report, uint64_t rss_bytes)
{
    const uint64_t slack_bytes = 16 << 20;
    array_each(&report->processes, process)
    {
        if (process->has_usage && process->usage.max_rss_bytes != PROFILE_UNKNOWN &&
            process->usage.max_rss_bytes / 2 > rss_bytes &&
            process->usage.max_rss_bytes - rss_bytes > slack_bytes)
            return true;
    }
    return false;
}

static int read_peak(struct report *report, const struct session_json *session,
                     const struct pid_index *index)
{
    const struct session_memory_peak *from = &session->memory_peak;
    struct report_memory_peak *peak = &report->memory_peak;
    if (has_missed_peak(report, from->rss_bytes))
        return LAM_OK;
    peak->t_ns = from->t_ns;
    peak->rss_bytes = from->rss_bytes;
    peak->anon_bytes = from->anon_bytes;
    array_each(&from->holders, holder)
    {
        if (holder->seen >= session->seen.count)
            continue;
        struct report_memory held = {
            image_at(report, index, &session->seen.items[holder->seen], from->t_ns), from->t_ns,
            holder->rss_bytes, holder->anon_bytes};
        if (held.process != REPORT_NO_UNIT && array_push(&peak->holders, held) < 0)
            return LAM_E_NOMEM;
    }
    array_sort(&peak->holders, compare_holders);
    return LAM_OK;
}

static int read_all_memory(struct report *report, const struct session_json *session)
{
    struct pid_index index = {0};
    int rc = index_pids(report, &index);
    if (rc == LAM_OK)
        rc = read_readings(report, session, &index);
    if (rc == LAM_OK)
        rc = read_peak(report, session, &index);
    array_free(&index);
    return rc;
}

/* ---- machine and settings ---------------------------------------------------------------------------------------- */

/* NULL stays NULL. */
static int keep_text(struct report *report, const char **to, const char *text)
{
    *to = text ? arena_strdup(&report->arena, text) : NULL;
    return text && !*to ? LAM_E_NOMEM : LAM_OK;
}

static int read_machine(struct report *report, const struct session_machine *from)
{
    struct report_machine *to = &report->machine;
    const struct {
        const char **to, *from;
    } texts[] = {
        {&to->machine_id, from->machine_id},
        {&to->cpu_model, from->cpu_model},
        {&to->kernel, from->kernel},
        {&to->os, from->os},
        {&to->arch, from->arch},
        {&to->virt, from->virt},
        {&to->cpu_shares, from->cpu_shares},
    };
    int rc = LAM_OK;
    for (size_t i = 0; rc == LAM_OK && i < sizeof texts / sizeof texts[0]; i++)
        rc = keep_text(report, texts[i].to, texts[i].from);
    to->cores = from->cores;
    to->mem_bytes = from->mem_bytes;
    return rc;
}

static int read_settings(struct report *report, const struct session_json *session)
{
    array_each(&session->settings, from)
    {
        struct report_setting *to = array_add(&report->settings);
        if (!to || keep_text(report, &to->key, from->key) < 0 ||
            keep_text(report, &to->value, from->value) < 0)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

static int take_session(struct report *report, const struct session_json *session)
{
    int rc = read_timeline(report, &session->timeline);
    if (rc == LAM_OK)
        rc = read_all_memory(report, session);
    if (rc == LAM_OK)
        rc = read_machine(report, &session->machine);
    return rc == LAM_OK ? read_settings(report, session) : rc;
}

int report_read_session(struct report_state *state)
{
    struct report *report = &state->report;
    struct session_json session;
    if (!report->session.session_json ||
        session_json_load(&session, report->session.session_json, NULL) < 0)
        return LAM_OK; /* the input has said what is wrong with it */
    int rc = take_session(report, &session);
    session_json_free(&session);
    uint64_t elapsed = report->session.elapsed_ns == PROFILE_UNKNOWN ? 0 : report->session.elapsed_ns;
    report->cpu_busy_mean = mean_of(report, offsetof(struct report_timeline_row, cpu_busy), elapsed);
    report->loadavg_mean = mean_of(report, offsetof(struct report_timeline_row, load1), elapsed);
    return rc;
}
