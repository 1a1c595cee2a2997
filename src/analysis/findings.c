/* What a report has to say in words: one function a finding, in the order in which they are shown. */
#include <math.h>
#include <string.h>

#include "analysis/feeder_limit.h"
#include "analysis/findings_inside.h"
#include "base/file.h"
#include "base/units.h"

int finding_add(struct draft *draft, struct report_finding finding, const char *text)
{
    if (!text)
        return LAM_E_NOMEM;
    finding.text = text;
    return array_push(&draft->report->findings, finding);
}

double finding_elapsed_s(const struct report *report)
{
    return report_seconds(report->session.elapsed_ns);
}

static int find_failure(struct draft *draft)
{
    struct report *report = draft->report;
    /* A program that records itself, or was to, has no launcher to outlive it. */
    bool records_itself = report->session.has_intervals || report->end.refused_recorders;
    bool has_launcher = report->session.has_samples || !records_itself ||
                        report->session.charged_cpu_ns != PROFILE_UNKNOWN;
    if (!report->session.complete && has_launcher && !report->end.session_damage[0])
        return finding_add(
            draft, (struct report_finding){"incomplete", REPORT_WARNING, NULL, NAN, REPORT_NO_UNIT},
            "The command's end is not in the recording, which holds what was written until now: "
            "the "
            "launcher is at work still, or did not live to see it.");
    if (report->session.exit_code <= 0)
        return LAM_OK;
    const char *sig =
        report->session.exit_code > 128 ? sigabbrev_np(report->session.exit_code - 128) : NULL;
    return finding_add(
        draft, (struct report_finding){"command_failed", REPORT_NOTE, NULL, NAN, REPORT_NO_UNIT},
        arena_printf(&report->arena,
                     "The command failed with exit code %d%s%s%s: what it did not get to is not in "
                     "here.",
                     report->session.exit_code, sig ? " (128 + the number of SIG" : "",
                     sig ? sig : "", sig ? ")" : ""));
}

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

static int find_serial_tail(struct draft *draft)
{
    struct report *report = draft->report;
    double tail = report_seconds(report->tail_ns);
    if (report->session.cores < 2 || report_is_crowded(report) || report->tail_ns < 1000000000 ||
        !(tail >= 0.1 * finding_elapsed_s(report)))
        return LAM_OK;
    const char *who = "";
    uint32_t unit = REPORT_NO_UNIT;
    if (report->tail_process != REPORT_NO_UNIT) {
        const struct report_process *process = &report->processes.items[report->tail_process];
        unit = process->unit;
        struct unit_text time = unit_seconds(report_seconds(report->tail_process_ns));
        who = report->tail_process_ns >= report->tail_ns / 2
                  ? arena_printf(&report->arena, ", most of it in %s (%s)", process->title, time.text)
                  : arena_printf(&report->arena, ", %s of it in %s", time.text, process->title);
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

static int find_dominant_unit(struct draft *draft)
{
    struct report *report = draft->report;
    if (report->units.count < 4)
        return LAM_OK;
    const struct report_unit *unit = &report->units.items[0];
    const struct report_process *process = &report->processes.items[unit->process];
    double cpu = report_seconds(process->cpu_ns), wall = report_process_wall_s(process),
           all = finding_elapsed_s(report);
    double charged = report_seconds(report->coverage.charged_ns);
    bool is_long = wall >= 0.5 * all, is_heavy = cpu >= 0.33 * charged;
    if (!is_long && !is_heavy)
        return LAM_OK;
    return finding_add(
        draft, (struct report_finding){"dominant_unit", REPORT_NOTE, NULL, cpu, 0},
        arena_printf(&report->arena, "%s alone takes %s of CPU (%s of all) and %s of the %s.",
                     unit->title, unit_seconds(cpu).text, unit_percent(cpu / charged).text,
                     unit_seconds(wall).text, unit_seconds(all).text));
}

/* Cores that nothing used, or that other programs had. */
static int find_cores(struct draft *draft)
{
    struct report *report = draft->report;
    uint32_t cores = report->session.cores;
    uint64_t waited, ran;
    sum_core_waits(report, &waited, &ran);
    double seconds = report_seconds(waited);
    bool is_idle = cores >= 2 && report->cores_used < 0.6 * cores;
    bool is_crowded = seconds >= 1 && waited >= ran / 2;
    struct unit_text used = unit_cores(report->cores_used), wait = unit_seconds(seconds);
    struct report_finding finding = {"core_wait", REPORT_NOTE, NULL, seconds, REPORT_NO_UNIT};
    if (cores >= 2 && report_is_crowded(report))
        return finding_add(
            draft, finding,
            arena_printf(&report->arena,
                         "Threads that could run waited %s for a core while the command used "
                         "%s of %u: other programs had the machine, and wall times say "
                         "little.",
                         wait.text, used.text, cores));
    if (is_crowded)
        return finding_add(
            draft, finding,
            arena_printf(&report->arena,
                         "Threads that could run waited %s for a core (and ran %s): more "
                         "cores would help.",
                         wait.text, unit_seconds(report_seconds(ran)).text));
    if (!is_idle || finding_elapsed_s(report) < 2 || report->peak_threads < 2)
        return LAM_OK;
    finding = (struct report_finding){"idle_cores", REPORT_NOTE, NULL, NAN, REPORT_NO_UNIT};
    return finding_add(
        draft, finding,
        arena_printf(&report->arena, "%s of %u cores were used on average.", used.text, cores));
}

/* The compilation in which most time went by while one thread built IR for workers that it could not keep busy. */
static int find_feeder_limit(struct draft *draft)
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
static int find_jobserver(struct draft *draft)
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

static int find_low_coverage(struct draft *draft)
{
    struct report *report = draft->report;
    const struct report_coverage *cov = &report->coverage;
    const struct {
        uint64_t ns;
        const char *where;
    } parts[] = {{cov->unsampled_ns, "in programs that could not be sampled"},
                 {cov->startup_ns, "in starting processes, before the agent runs"},
                 {cov->tail_ns, "in threads that ended without a sample and in processes' ends"},
                 {cov->late_ns, "in samples that came late"},
                 {report_unaccounted_ns(report), "in unidentified descendants"}};
    /* What could not be sampled has a finding of its own, and a few milliseconds say nothing. */
    bool is_told = cov->sampled_ns + cov->unsampled_ns >= cov->charged_ns / 10 * 9;
    if (report->session.rate_hz == 0 || !(cov->ratio < 0.9) || is_told || cov->charged_ns < 50000000)
        return LAM_OK;
    struct strbuf list = {0};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].ns >= cov->charged_ns / 100)
            strbuf_addf(&list, "%s%s %s", list.length ? ", " : "",
                        unit_seconds(report_seconds(parts[i].ns)).text, parts[i].where);
    double missing = report_seconds(cov->charged_ns) - report_seconds(cov->sampled_ns);
    const char *text =
        arena_printf(&report->arena,
                     "Samples cover %s of the CPU time; the shares speak for that part. "
                     "Not seen: %s.",
                     unit_percent(cov->ratio).text, strbuf_text(&list));
    if (!strbuf_ok(&list))
        text = NULL;
    strbuf_free(&list);
    return finding_add(
        draft,
        (struct report_finding){"low_coverage", REPORT_WARNING, NULL, missing, REPORT_NO_UNIT}, text);
}

static int find_short_span(struct draft *draft)
{
    struct report *report = draft->report;
    double span = report_seconds(report->coverage.sampled_span_ns), all = finding_elapsed_s(report);
    if (report->coverage.samples == 0 || !(all >= 1) || !(span < 0.8 * all))
        return LAM_OK;
    return finding_add(
        draft, (struct report_finding){"short_span", REPORT_NOTE, NULL, all - span, REPORT_NO_UNIT},
        arena_printf(&report->arena, "Samples reach over %s of the %s that the command took.",
                     unit_seconds(span).text, unit_seconds(all).text));
}

/* A handful of samples of a command that was over at once says nothing of its programs. */
enum { SAMPLES_THAT_SPEAK = 50 };

static int find_stripped(struct draft *draft)
{
    struct report *report = draft->report;
    const struct report_module *worst = NULL;
    array_each(&draft->state->modules, module)
    {
        bool is_worse = !worst || module->samples_without_symbols > worst->samples_without_symbols;
        if (module->path && is_worse)
            worst = module;
    }
    if (!worst || report->coverage.samples < SAMPLES_THAT_SPEAK)
        return LAM_OK;
    double share =
        (double)(report->coverage.samples_without_symbols - draft->state->nameless_samples) /
        (double)report->coverage.samples;
    struct report_amount segments[SEGMENT_COUNT];
    report_by_segment(report, REPORT_NO_UNIT, segments);
    double unknown = report->total.cpu_ns
                         ? (double)segments[SEGMENT_UNKNOWN].cpu_ns / (double)report->total.cpu_ns
                         : 0;
    /* Where most of what is unknown lies in programs with symbols, these are not the reason. */
    bool is_blind = unknown > 0.1 && share >= unknown / 2;
    if (share < (is_blind ? 0.05 : 0.2))
        return LAM_OK;
    enum report_severity severity = is_blind ? REPORT_WARNING : REPORT_NOTE;
    const char *what = is_blind ? "phases are mostly missing" : "functions have no names";
    return finding_add(
        draft, (struct report_finding){"no_symbols", severity, NULL, NAN, REPORT_NO_UNIT},
        arena_printf(&report->arena,
                     "%s of the samples lie in programs and libraries without symbols, most of "
                     "them in %s: their %s.%s",
                     unit_percent(share).text, path_name(worst->path), what,
                     report->units.count ? " (Distributions strip their compilers; those of rustup "
                                           "have symbols.)"
                                         : ""));
}

/* The recording's symbols are not there: it was taken apart, or copied without them. */
static int find_nameless(struct draft *draft)
{
    struct report *report = draft->report;
    double share = (double)draft->state->nameless_samples / (double)report->coverage.samples;
    if (report->coverage.samples < SAMPLES_THAT_SPEAK || !(share >= 0.05))
        return LAM_OK;
    return finding_add(
        draft, (struct report_finding){"no_names", REPORT_WARNING, NULL, NAN, REPORT_NO_UNIT},
        arena_printf(&report->arena,
                     "%s of the samples hold no function that has a name here, though their "
                     "files have symbols: the recording's symbols (symbols.lamsym) are "
                     "missing or of other files. What is said of them rests on programs and "
                     "threads alone; it does not mean that the compiler did nothing else.",
                     unit_percent(share).text));
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
static int find_busy(struct draft *draft)
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

static int find_unknown(struct draft *draft)
{
    struct report *report = draft->report;
    struct report_amount segments[SEGMENT_COUNT];
    report_by_segment(report, REPORT_NO_UNIT, segments);
    double unknown = report_seconds(segments[SEGMENT_UNKNOWN].cpu_ns),
           all = report_seconds(report->total.cpu_ns);
    double blind = (double)report->coverage.samples_without_symbols;
    bool is_explained = blind * all >= unknown / 2 * (double)report->coverage.samples;
    if (!(unknown > 0.1 * all) || is_explained || report->coverage.samples < SAMPLES_THAT_SPEAK)
        return LAM_OK;
    return finding_add(
        draft, (struct report_finding){"unknown", REPORT_NOTE, NULL, unknown, REPORT_NO_UNIT},
        arena_printf(&report->arena,
                     "No marker claims %s of the samples. For programs of your own, write a "
                     "marker file and give "
                     "it with --markers.",
                     unit_percent(unknown / all).text));
}

/* The programs that were not sampled, by what they used. */
static int find_unsampled(struct draft *draft)
{
    struct report *report = draft->report;
    const struct report_process *worst = NULL;
    uint64_t sum = 0, count = 0;
    array_each(&report->processes, process)
    {
        if (process->sampled == PROFILE_SAMPLED_YES || process->cpu_ns == PROFILE_UNKNOWN)
            continue;
        sum += process->cpu_ns;
        count++;
        if (!worst || process->cpu_ns > worst->cpu_ns)
            worst = process;
    }
    double seconds = report_seconds(sum), charged = report_seconds(report->coverage.charged_ns);
    if (!worst || report->session.rate_hz == 0 || !(seconds >= 0.05 * charged))
        return LAM_OK;
    const char *title = worst->title[0] ? worst->title : "an unknown program";
    struct report_finding finding = {"unsampled", REPORT_WARNING, NULL, seconds, worst->unit};
    if (count == 1)
        return finding_add(draft, finding,
                           arena_printf(&report->arena,
                                        "%s (pid %u) used %s of CPU without being sampled: %s.",
                                        title, worst->pid, unit_seconds(seconds).text,
                                        report_why_not(worst->why_not)));
    return finding_add(
        draft, finding,
        arena_printf(
            &report->arena,
            "%s processes used %s of CPU without being sampled, the largest %s (pid %u, %s): %s.",
            unit_count(count).text, unit_seconds(seconds).text, title, worst->pid,
            unit_seconds(report_seconds(worst->cpu_ns)).text, report_why_not(worst->why_not)));
}

static int find_lost(struct draft *draft)
{
    struct report *report = draft->report;
    uint64_t lost = report->coverage.lost_samples;
    if (lost == 0)
        return LAM_OK;
    return finding_add(
        draft, (struct report_finding){"lost_records", REPORT_WARNING, NULL, NAN, REPORT_NO_UNIT},
        arena_printf(&report->arena, "%s record%s %s lost.", unit_count(lost).text,
                     unit_plural(lost), unit_either(lost, "was", "were")));
}

static int find_damaged(struct draft *draft)
{
    struct report *report = draft->report;
    const struct profile_session_end *end = &report->end;
    uint64_t bad = end->damaged_streams + end->unreadable_streams;
    if (bad == 0)
        return LAM_OK;
    return finding_add(
        draft, (struct report_finding){"damaged_streams", REPORT_WARNING, NULL, NAN, REPORT_NO_UNIT},
        arena_printf(&report->arena, "%s of %s %sfiles could not be read, or not as a whole%s%s.",
                     unit_count(bad).text, unit_count(end->streams + end->unreadable_streams).text,
                     report->session.has_samples ? "stream " : "",
                     end->first_damage[0] ? "; the first: " : "", end->first_damage));
}

/* What was built under other conditions than usually is no small print. */
static int find_bootstrap(struct draft *draft)
{
    if (!draft->report->session.rustc_bootstrap)
        return LAM_OK;
    return finding_add(
        draft, (struct report_finding){"rustc_bootstrap", REPORT_NOTE, NULL, NAN, REPORT_NO_UNIT},
        "To get self-profiles of a stable compiler RUSTC_BOOTSTRAP=1 was set for each compilation: "
        "crates could see unstable features, and what was built is not what a usual build makes.");
}

static int find_unprofiled(struct draft *draft)
{
    struct report *report = draft->report;
    size_t units = report_rustc_units(report);
    if (!report->session.self_profile || report->end.self_profiles >= units)
        return LAM_OK;
    return finding_add(
        draft,
        (struct report_finding){"units_without_profile", REPORT_NOTE, NULL, NAN, REPORT_NO_UNIT},
        arena_printf(&report->arena,
                     "%s of %s compilations left no self-profile: they were not started by cargo, "
                     "had one asked for by somebody else, or did not get to writing it.",
                     unit_count(units - report->end.self_profiles).text, unit_count(units).text));
}

/* What is there and was not used. */
static int find_left_out(struct draft *draft)
{
    struct report *report = draft->report;
    const struct profile_session_end *end = &report->end;
    int rc = LAM_OK;
    if (end->session_damage[0])
        rc = finding_add(
            draft,
            (struct report_finding){"session_damaged", REPORT_WARNING, NULL, NAN, REPORT_NO_UNIT},
            arena_printf(&report->arena,
                         "%s: what it says is left out. The command, the CPU time that the "
                         "kernel charged, and programs without a stream are not known.",
                         end->session_damage));
    if (rc >= 0 && end->duplicate_streams)
        rc = finding_add(
            draft,
            (struct report_finding){"duplicate_streams", REPORT_NOTE, NULL, NAN, REPORT_NO_UNIT},
            arena_printf(&report->arena, "%s of the recording's files %s left out.",
                         unit_count(end->duplicate_streams).text,
                         unit_either(end->duplicate_streams, "is a copy of another and was",
                                     "are copies of others and were")));
    return rc;
}

/* What the recorders of instrumented programs counted: lam_recorder_stats() tells the program the same. */
static int find_recorder_counts(struct draft *draft)
{
    struct report *report = draft->report;
    const struct profile_session_end *end = &report->end;
    /* On a crowded machine one sample of some ten thousand is written a millisecond out of order: no share changes by it. */
    uint64_t clamped = end->clamped_times * 1000 > report->coverage.samples ? end->clamped_times : 0;
    const struct {
        uint64_t count;
        const char *id;
        enum report_severity severity;
        const char *one, *many;
    } kinds[] = {
        {end->overwritten_pages, "overwritten_events", REPORT_WARNING,
         "page of events was overwritten (mode=flight): only the newest events are in here, and no "
         "count or time is of the whole run",
         "pages of events were overwritten (mode=flight): only the newest events are in here, and "
         "no count or time is of the whole run"},
        {end->untold_calls, "untold_calls", REPORT_WARNING,
         "call found no room in a full tree of calls: its time is in the calls around it",
         "calls found no room in a full tree of calls: their time is in the calls around them"},
        {end->unbalanced_exits, "unbalanced_exits", REPORT_NOTE,
         "call was closed without an exit of its own, or exit came without a call",
         "calls were closed without an exit of their own, or exits came without a call"},
        {end->refused_ends, "refused_ends", REPORT_NOTE,
         "end of an interval or switch of tracks was refused: it had ended already, or this "
         "process never made it",
         "ends of intervals or switches of tracks were refused: they had ended already, or this "
         "process never made them"},
        {clamped, "clamped_times", REPORT_NOTE,
         "timestamp is earlier than the one before it on its thread, and was moved to it",
         "timestamps are earlier than those before them on their threads, and were moved to them"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].count == 0)
            continue;
        int rc = finding_add(
            draft, (struct report_finding){kinds[i].id, kinds[i].severity, NULL, NAN, REPORT_NO_UNIT},
            arena_printf(&report->arena, "%s %s.", unit_count(kinds[i].count).text,
                         unit_either(kinds[i].count, kinds[i].one, kinds[i].many)));
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

/* Programs that were to record themselves and could not; the library itself never says anything. */
static int find_refused_recorders(struct draft *draft)
{
    struct report *report = draft->report;
    const struct profile_session_end *end = &report->end;
    if (!end->refused_recorders)
        return LAM_OK;
    return finding_add(
        draft, (struct report_finding){"recorder_refused", REPORT_WARNING, NULL, NAN, REPORT_NO_UNIT},
        arena_printf(&report->arena, "%s process%s to record events and recorded none: %s.",
                     unit_count(end->refused_recorders).text,
                     unit_either(end->refused_recorders, " was", "es were"), end->first_refusal));
}

/* Events of instrumented programs that are not what they should be. */
static int find_odd_events(struct draft *draft)
{
    struct report *report = draft->report;
    const struct profile_session_end *end = &report->end;
    const struct {
        uint64_t count;
        const char *id;
        enum report_severity severity;
        const char *what;
    } kinds[] = {
        {end->open_intervals, "open_intervals", REPORT_NOTE,
         "never ended: they count up to the last time known of their thread"},
        {end->backward_intervals, "backward_intervals", REPORT_WARNING,
         "end before they start: they count as empty"},
        {end->overlapping_intervals, "overlapping_intervals", REPORT_NOTE,
         "begin inside another one and end after it: all of their time is their own"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].count == 0)
            continue;
        int rc = finding_add(
            draft, (struct report_finding){kinds[i].id, kinds[i].severity, NULL, NAN, REPORT_NO_UNIT},
            arena_printf(&report->arena, "%s of %s intervals %s.", unit_count(kinds[i].count).text,
                         unit_count(end->intervals).text, kinds[i].what));
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

static int find_truncated(struct draft *draft)
{
    struct report *report = draft->report;
    const struct report_coverage *cov = &report->coverage;
    if (cov->samples < 100 || cov->truncated_stacks * 50 <= cov->samples)
        return LAM_OK;
    return finding_add(
        draft, (struct report_finding){"truncated", REPORT_NOTE, NULL, NAN, REPORT_NO_UNIT},
        arena_printf(&report->arena, "%s of the stacks do not reach their thread's root.",
                     unit_percent((double)cov->truncated_stacks / (double)cov->samples).text));
}

static int find_running(struct draft *draft)
{
    struct report *report = draft->report;
    uint64_t count = 0;
    const struct report_process *first = NULL;
    array_each(&report->processes, process)
    {
        if (!process->running)
            continue;
        count++;
        first = first ? first : process;
    }
    if (!first)
        return LAM_OK;
    return finding_add(
        draft,
        (struct report_finding){"still_running", REPORT_NOTE, NULL,
                                report_seconds(report->coverage.running_ns), REPORT_NO_UNIT},
        arena_printf(&report->arena,
                     "%s %s still running when the command ended (%s%s, pid %u): what "
                     "came after that is not in the recording.",
                     unit_count(count).text, unit_either(count, "process was", "processes were"),
                     unit_either(count, "", "the first "), first->title, first->pid));
}

static int find_unaccounted(struct draft *draft)
{
    struct report *report = draft->report;
    const struct report_coverage *cov = &report->coverage;
    double charged = report_seconds(cov->charged_ns),
           rest = report_seconds(report_unaccounted_ns(report));
    if (!(charged >= 1) || !(rest > 0.01 * charged))
        return LAM_OK;
    return finding_add(
        draft, (struct report_finding){"unaccounted", REPORT_NOTE, NULL, rest, REPORT_NO_UNIT},
        arena_printf(&report->arena,
                     "%s of CPU time are in unidentified descendants: the kernel charged them, no "
                     "process that is known used them.",
                     unit_seconds(rest).text));
}

/* An interpreter that runs all threads of its program on one of its own: rustc's for MIR. */
static int find_virtual_threads(struct draft *draft)
{
    const char *command = draft->report->session.command;
    size_t size = command ? strcspn(command, " ") : 0;
    const char *slash = command ? memrchr(command, '/', size) : NULL;
    const char *name = slash ? slash + 1 : command;
    if (!draft->report->session.has_intervals || !name ||
        strncmp(name, "miri", (size_t)(command + size - name)) != 0 || command + size - name != 4)
        return LAM_OK;
    return finding_add(
        draft, (struct report_finding){"virtual_threads", REPORT_NOTE, NULL, NAN, REPORT_NO_UNIT},
        "Miri runs all threads of the program on one of its own, in turns: the wall and "
        "self time of "
        "a function include what other threads of the program did meanwhile.");
}

int report_find(struct report *report)
{
    static int (*const finders[])(struct draft * draft) = {
        find_failure,
        find_gating_unit,
        find_serial_tail,
        find_single_codegen_unit,
        find_dominant_unit,
        find_cores,
        find_feeder_limit,
        find_jobserver,
        find_link_time,
        find_build_scripts,
        find_macro_time,
        find_debug_info,
        find_duplicate_versions,
        find_memory_limit,
        find_memory_peak,
        find_stripped,
        find_nameless,
        find_busy,
        find_low_coverage,
        find_short_span,
        find_unsampled,
        find_unaccounted,
        find_unknown,
        find_lost,
        find_damaged,
        find_left_out,
        find_bootstrap,
        find_unprofiled,
        find_truncated,
        find_running,
        find_refused_recorders,
        find_recorder_counts,
        find_odd_events,
        find_virtual_threads,
    };
    struct draft draft = {.state = report_state(report), .report = report};
    for (size_t i = 0; i < sizeof finders / sizeof finders[0]; i++) {
        int rc = finders[i](&draft);
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}
