/* Memory: where it, and not the cores, limits how much runs at once; and the unit that needs most of it. */
#include <math.h>

#include "analysis/findings_inside.h"
#include "base/units.h"

/* Seconds in which something waited for memory, by the kernel's word; and the least that was free of the machine's. */
static void look_at_timeline(const struct report *report, double *stalled_s, double *least_bytes)
{
    *stalled_s = 0;
    *least_bytes = INFINITY;
    array_each(&report->timeline, row)
    {
        if (!isnan(row->psi_mem))
            *stalled_s += row->psi_mem * report_seconds(row->span_ns);
        if (row->mem_available_bytes < *least_bytes)
            *least_bytes = row->mem_available_bytes;
    }
}

/* How many of those that held memory at its peak fit into three quarters of the machine's, the largest first. */
static uint32_t jobs_that_fit(const struct report *report)
{
    double room = 0.75 * (double)report->machine.mem_bytes;
    uint32_t count = 0;
    array_each(&report->memory_peak.holders, holder)
    {
        room -= (double)holder->anon_bytes;
        if (room < 0)
            break;
        count++;
    }
    return count > 0 ? count : 1;
}

/* Units among the holders, for a linker and its compiler are one job. */
static uint32_t units_at_peak(const struct report *report, uint32_t *largest)
{
    uint32_t count = 0;
    *largest = REPORT_NO_UNIT;
    array_each(&report->memory_peak.holders, holder)
    {
        uint32_t unit = report->processes.items[holder->process].unit;
        if (unit == REPORT_NO_UNIT || report->graph.nodes.items[unit].inside != GRAPH_NONE)
            continue;
        if (*largest == REPORT_NO_UNIT)
            *largest = unit;
        count++;
    }
    return count;
}

int find_memory_limit(struct draft *draft)
{
    struct report *report = draft->report;
    const struct report_memory_peak *peak = &report->memory_peak;
    double stalled_s, least_bytes, all = (double)report->machine.mem_bytes;
    uint32_t largest, units = units_at_peak(report, &largest);
    look_at_timeline(report, &stalled_s, &least_bytes);
    /* The build, and not another program, must be what filled the memory. */
    if (peak->anon_bytes == PROFILE_UNKNOWN || report->machine.mem_bytes == PROFILE_UNKNOWN ||
        report->machine.mem_bytes == 0 || (double)peak->anon_bytes < 0.4 * all || units < 2)
        return LAM_OK;
    bool is_stalled = stalled_s >= 1 && stalled_s >= 0.05 * finding_elapsed_s(report);
    if (!is_stalled && !(least_bytes < 0.08 * all))
        return LAM_OK;
    uint32_t fit = jobs_that_fit(report);
    struct unit_text stalled = unit_seconds(stalled_s);
    return finding_add(
        draft,
        (struct report_finding){"memory_limit", REPORT_WARNING, NULL, is_stalled ? stalled_s : NAN,
                                largest},
        arena_printf(
            &report->arena,
            "%u units at once held %s of the machine's %s%s%s%s, the largest %s: memory and not "
            "cores limits this build. Try -j%u.",
            units, unit_bytes((double)peak->anon_bytes).text, unit_bytes(all).text,
            is_stalled ? ", and for " : "", is_stalled ? stalled.text : "",
            is_stalled ? " something waited for memory" : "", report->units.items[largest].title,
            fit < units ? fit : units - 1));
}

int find_memory_peak(struct draft *draft)
{
    struct report *report = draft->report;
    uint32_t largest = REPORT_NO_UNIT;
    uint64_t most = 0;
    for (uint32_t i = 0; i < report->units.count; i++) {
        const struct report_process *process =
            &report->processes.items[report->units.items[i].process];
        if (process->has_usage && process->usage.max_rss_bytes != PROFILE_UNKNOWN &&
            process->usage.max_rss_bytes > most) {
            most = process->usage.max_rss_bytes;
            largest = i;
        }
    }
    bool has_machine = report->machine.mem_bytes != PROFILE_UNKNOWN && report->machine.mem_bytes > 0;
    double share = has_machine ? (double)most / (double)report->machine.mem_bytes : 0;
    if (largest == REPORT_NO_UNIT || (most < 2000000000 && share < 0.25))
        return LAM_OK;
    return finding_add(
        draft, (struct report_finding){"memory_peak", REPORT_NOTE, NULL, NAN, largest},
        arena_printf(
            &report->arena,
            "%s needs %s of memory%s%s, more than any other unit: as many of its kind as fit "
            "into memory can run at once.",
            report->units.items[largest].title, unit_bytes((double)most).text,
            has_machine ? ", of the machine's " : "",
            has_machine ? unit_bytes((double)report->machine.mem_bytes).text : ""));
}
