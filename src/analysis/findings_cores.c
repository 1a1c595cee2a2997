/* Cores: how many the command kept busy, who waited for one, and what kept more from working at once. */
#include <math.h>
#include <string.h>

#include "analysis/feeder_limit.h"
#include "analysis/findings_inside.h"
#include "base/units.h"

/* Thread-seconds that the command's threads waited for a core, and ran. */
static void sum_core_waits(const struct report *report, uint64_t *waited_ns, uint64_t *ran_ns)
{
    *waited_ns = *ran_ns = 0;
    array_each(&report->processes, process)
    {
        *waited_ns += process->ledger.core_wait_ns;
        *ran_ns += process->ledger.run_ns;
    }
}

bool report_is_crowded(const struct report *report)
{
    uint64_t waited, ran;
    sum_core_waits(report, &waited, &ran);
    return report->cores_used < 0.6 * report->session.cores && report_seconds(waited) >= 1 &&
           waited >= ran / 2;
}

/* ---- too little at once ------------------------------------------------------------------------------------------ */

/* Who worked in the serial tail, or that hardly anybody did. */
static const char *tail_worker(struct report *report)
{
    const struct report_process *process = &report->processes.items[report->tail_process];
    struct unit_text time = unit_seconds(report_seconds(report->tail_process_ns)),
                     rest = unit_seconds(report_seconds(report->tail_ns - report->tail_busy_ns));
    if (report->tail_busy_ns < report->tail_ns / 2)
        return arena_printf(&report->arena, ", and for %s none at all (%s worked for %s)",
                            rest.text, process->title, time.text);
    if (report->tail_process_ns >= report->tail_ns / 2)
        return arena_printf(&report->arena, ", most of it in %s (%s)", process->title, time.text);
    return arena_printf(&report->arena, ", %s of it in %s", time.text, process->title);
}

int find_serial_tail(struct draft *draft)
{
    struct report *report = draft->report;
    double tail = report_seconds(report->tail_ns);
    if (report->session.cores < 2 || report_is_crowded(report) || report->tail_ns < 1000000000 ||
        !(tail >= 0.1 * finding_elapsed_s(report)))
        return LAM_OK;
    const char *who = "";
    uint32_t unit = REPORT_NO_UNIT;
    if (report->tail_process != REPORT_NO_UNIT) {
        unit = report->processes.items[report->tail_process].unit;
        who = tail_worker(report);
        if (!who)
            return LAM_E_NOMEM;
    }
    if (report->peak_threads == 1)
        return finding_add(draft,
                           (struct report_finding){"serial_tail", REPORT_NOTE, NULL, tail, unit},
                           "Never more than one thread was working: more cores do not help.");
    return finding_add(
        draft, (struct report_finding){"serial_tail", REPORT_WARNING, NULL, tail, unit},
        arena_printf(&report->arena,
                     "The last %s never ran more than one thread%s: more cores do not help there.",
                     unit_seconds(tail).text, who));
}

/* The phase that took most of a process's time, and its share of that; NULL: no sample. LAM_E_NOMEM. */
static int largest_phase(struct report *report, uint32_t process, const char **name, double *share)
{
    uint32_t count = classifier_phase_count(report->cls), best = 0;
    struct report_amount *amounts = arena_array(&report->arena, count + 1, sizeof *amounts);
    uint64_t sum_ns = 0;
    *name = NULL;
    if (!amounts)
        return LAM_E_NOMEM;
    report_by_phase(report, process, amounts);
    for (uint32_t i = 0; i < count; i++) {
        sum_ns += amounts[i].cpu_ns;
        if (amounts[i].cpu_ns > amounts[best].cpu_ns)
            best = i;
    }
    if (sum_ns > 0) {
        *name = classifier_phase(report->cls, best).phase_name;
        *share = (double)amounts[best].cpu_ns / (double)sum_ns;
    }
    return LAM_OK;
}

/* By CPU time: how long a unit lasted beside others says nothing of what it costs. */
int find_dominant_unit(struct draft *draft)
{
    struct report *report = draft->report;
    if (report->units.count < 4)
        return LAM_OK;
    const struct report_unit *unit = &report->units.items[0];
    double cpu = report_seconds(report->processes.items[unit->process].cpu_ns), share,
           charged = report_seconds(report->coverage.charged_ns);
    const char *phase, *most = "";
    if (!(cpu >= 1) || !(cpu >= charged / 3))
        return LAM_OK;
    int rc = largest_phase(report, unit->process, &phase, &share);
    if (rc == LAM_OK && phase)
        most = arena_printf(&report->arena, ", %s of it for %s", unit_percent(share).text, phase);
    if (rc < 0 || !most)
        return LAM_E_NOMEM;
    return finding_add(
        draft, (struct report_finding){"dominant_unit", REPORT_NOTE, NULL, cpu, 0},
        arena_printf(
            &report->arena,
            "%s takes %s of CPU, %s of all%s: what makes this unit smaller makes the build "
            "cheaper ('lamella report --unit' with its name takes it apart).",
            unit->title, unit_seconds(cpu).text, unit_percent(cpu / charged).text, most));
}

/* ---- cores that nothing used, or that other programs had --------------------------------------------------------- */

/* Idle core-seconds while no unit ran, and while the unit ran alone beside which most were idle. LAM_E_NOMEM. */
static int sum_idle(struct report *report, double *none_s, uint32_t *worst, double *worst_s)
{
    double *alone_s = arena_array(&report->arena, report->units.count + 1, sizeof *alone_s);
    *worst = GRAPH_NONE;
    *worst_s = *none_s = 0;
    if (!alone_s)
        return LAM_E_NOMEM;
    array_each(&report->idle.items, stretch)
    {
        if (stretch->running == 0)
            *none_s += stretch->idle_core_s;
        else if (stretch->running == 1)
            alone_s[stretch->unit] += stretch->idle_core_s;
    }
    for (uint32_t i = 0; i < report->units.count; i++) {
        if (alone_s[i] > *worst_s) {
            *worst = i;
            *worst_s = alone_s[i];
        }
    }
    return LAM_OK;
}

/* Why not more ran at once, as far as it can be told; "". NULL: no memory. */
static const char *why_idle(struct report *report)
{
    uint64_t jobs = report->cargo ? report->cargo->jobs : 0;
    if (jobs > 0 && jobs < report->session.cores)
        return arena_printf(&report->arena, ": cargo ran no more than %s job%s at a time (-j)",
                            unit_count(jobs).text, unit_plural(jobs));
    if (report_is_crowded(report)) /* a thread that waits for a core looks idle */
        return "";
    uint32_t worst;
    double worst_s, none_s;
    if (sum_idle(report, &none_s, &worst, &worst_s) < 0)
        return NULL;
    if (worst_s > none_s && worst_s >= report->idle.idle_core_s / 4)
        return arena_printf(&report->arena,
                            ": %s of core time were idle while %s ran alone ('lamella report --by "
                            "critical' shows what waited for what)",
                            unit_seconds(worst_s).text, report->units.items[worst].title);
    if (none_s >= report->idle.idle_core_s / 4 && none_s > 0)
        return arena_printf(&report->arena,
                            ": %s of core time were idle while no unit ran, and the build waited "
                            "for something else",
                            unit_seconds(none_s).text);
    return "";
}

/* Threads that waited for a core would have used it: what they asked for does not depend on other programs. */
static int find_idle(struct draft *draft, double waited_s)
{
    struct report *report = draft->report;
    uint32_t cores = report->session.cores;
    double elapsed = finding_elapsed_s(report), asked = report->cores_used + waited_s / elapsed;
    bool is_serial = report->peak_threads < 2 && asked >= 0.6; /* the serial tail says so */
    if (cores < 2 || !(asked < 0.6 * cores) || !(elapsed >= 2) || is_serial)
        return LAM_OK;
    struct unit_text used = unit_cores(report->cores_used), all = unit_cores(asked);
    const char *why = why_idle(report);
    bool did_ask = asked >= 1.1 * report->cores_used + 0.1;
    const char *more =
        did_ask ? arena_printf(&report->arena, ", and no more than %s asked for", all.text) : "";
    if (!why || !more)
        return LAM_E_NOMEM;
    return finding_add(draft,
                       (struct report_finding){"idle_cores", REPORT_NOTE, NULL, NAN, REPORT_NO_UNIT},
                       arena_printf(&report->arena, "%s of %u cores were used on average%s%s.",
                                    used.text, cores, more, why));
}

int find_cores(struct draft *draft)
{
    struct report *report = draft->report;
    uint64_t waited, ran;
    sum_core_waits(report, &waited, &ran);
    double seconds = report_seconds(waited);
    struct unit_text used = unit_cores(report->cores_used), wait = unit_seconds(seconds);
    struct report_finding finding = {"core_wait", REPORT_NOTE, NULL, seconds, REPORT_NO_UNIT};
    int rc = LAM_OK;
    if (report->session.cores >= 2 && report_is_crowded(report))
        rc = finding_add(draft, finding,
                         arena_printf(&report->arena,
                                      "Threads that could run waited %s for a core while the "
                                      "command used %s of %u: other programs had the machine, and "
                                      "wall times say little.",
                                      wait.text, used.text, report->session.cores));
    else if (seconds >= 1 && waited >= ran / 2)
        rc = finding_add(draft, finding,
                         arena_printf(&report->arena,
                                      "Threads that could run waited %s for a core (and ran %s): "
                                      "more cores would help.",
                                      wait.text, unit_seconds(report_seconds(ran)).text));
    return rc < 0 ? rc : find_idle(draft, seconds);
}

/* The compilation in which most time went by while one thread built IR for workers that it could not keep busy. */
int find_feeder_limit(struct draft *draft)
{
    struct report *report = draft->report;
    uint32_t worst = REPORT_NO_UNIT;
    struct feeder_limit held = {0};
    for (uint32_t i = 0; i < report->units.count; i++) {
        const struct report_unit *unit = &report->units.items[i];
        const struct report_process *process = &report->processes.items[unit->process];
        struct feeder_limit limit;
        double wall = report_process_wall_s(process);
        if (!feeder_limit_of(report, unit->process, &limit) ||
            limit.busy_threads + 1 > report->session.cores || report_seconds(limit.feed_ns) < 1 ||
            !(report_seconds(limit.feed_ns) >= 0.2 * wall) || limit.feed_ns <= held.feed_ns)
            continue;
        /* Workers that wait for a job token or for a core would wait for them with more IR too. */
        uint64_t waited =
            process->ledger.waits.ns[REPORT_WAIT_JOBSERVER] + process->ledger.core_wait_ns;
        if (waited >= limit.feed_ns / 2)
            continue;
        worst = i;
        held = limit;
    }
    if (worst == REPORT_NO_UNIT ||
        !(report_seconds(held.feed_ns) >= 0.05 * finding_elapsed_s(report)))
        return LAM_OK;
    return finding_add(
        draft,
        (struct report_finding){"feeder_limit", REPORT_NOTE, NULL, report_seconds(held.feed_ns),
                                worst},
        arena_printf(
            &report->arena,
            "%s builds the IR of its codegen units on one thread, for %s: the workers behind it "
            "can keep %.1f of %u cores busy meanwhile, and more codegen units do not change "
            "that. Splitting the crate does, and so does less generic code in it.",
            report->units.items[worst].title, unit_seconds(report_seconds(held.feed_ns)).text,
            held.busy_threads, report->session.cores));
}

/* Waiting for a job is no loss while the cores are full of other jobs. */
int find_jobserver(struct draft *draft)
{
    struct report *report = draft->report;
    uint64_t sum = 0;
    array_each(&report->processes, process) sum += process->ledger.waits.ns[REPORT_WAIT_JOBSERVER];
    double seconds = report_seconds(sum), cores = report->session.cores,
           busy = isnan(report->cpu_busy_mean) ? report->cores_used : report->cpu_busy_mean;
    if (!(seconds >= 1) || !(seconds >= 0.2 * finding_elapsed_s(report)) || !(busy < 0.8 * cores))
        return LAM_OK;
    return finding_add(
        draft, (struct report_finding){"jobserver", REPORT_NOTE, NULL, seconds, REPORT_NO_UNIT},
        arena_printf(
            &report->arena,
            "Threads waited %s in all for one of the jobs that -j allows, while %s of %.0f "
            "cores were busy: a larger -j would use the others.",
            unit_seconds(seconds).text, unit_cores(busy).text, cores));
}

/* Whose the busy cores were, in tenths of a core that add up. */
static const char *busy_text(struct report *report, double busy, double sampled, double used)
{
    double all = round(busy * 10), ours = fmin(round(sampled * 10), all),
           silent = fmin(fmax(round(used * 10) - ours, 0), all - ours), others = all - ours - silent;
    struct strbuf text = {0};
    strbuf_addf(
        &text, "%.1f of the machine's %u cores were busy on average: %.1f in samples of the command",
        all / 10, report->session.cores, ours / 10);
    if (silent > 0)
        strbuf_addf(&text, ", %.1f in parts of it without samples", silent / 10);
    if (others > 0)
        strbuf_addf(&text, ", %.1f in other programs, or in descendants that nobody saw",
                    others / 10);
    strbuf_add_char(&text, '.');
    const char *kept = strbuf_ok(&text) ? arena_strdup(&report->arena, strbuf_text(&text)) : NULL;
    strbuf_free(&text);
    return kept;
}

/* The kernel's count of busy processors is independent of ours. */
int find_busy(struct draft *draft)
{
    struct report *report = draft->report;
    double cores = report->session.cores, elapsed = finding_elapsed_s(report),
           busy = report->cpu_busy_mean,
           sampled = report_seconds(report->coverage.sampled_ns + report->coverage.late_ns) / elapsed,
           used = report_seconds(report_used_ns(report)) / elapsed;
    if (cores < 1 || report->coverage.samples == 0 || !(elapsed >= 2) ||
        !(fabs(busy - sampled) > 0.05 * cores))
        return LAM_OK;
    struct unit_text all = unit_cores(busy), ours = unit_cores(sampled);
    struct report_finding finding = {"cpu_busy", REPORT_NOTE, NULL, fabs(busy - sampled) * elapsed,
                                     REPORT_NO_UNIT};
    if (busy < sampled) {
        finding.severity = REPORT_WARNING;
        return finding_add(
            draft, finding,
            arena_printf(&report->arena,
                         "Samples stand for %s busy cores, and the machine counted %s: one of "
                         "its clocks is wrong, and so may be the times in here.",
                         ours.text, all.text));
    }
    return finding_add(draft, finding, busy_text(report, busy, sampled, used));
}
