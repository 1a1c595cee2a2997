/* How much of the command the recording shows, and how much of that has names. */
#include <math.h>
#include <string.h>

#include "analysis/findings_inside.h"
#include "base/file.h"
#include "base/units.h"

/* A handful of samples of a command that was over at once says nothing of its programs. */
enum { SAMPLES_THAT_SPEAK = 50 };

int find_low_coverage(struct draft *draft)
{
    struct report *report = draft->report;
    const struct report_coverage *cov = &report->coverage;
    const struct {
        uint64_t ns;
        const char *where, *advice;
    } parts[] = {{cov->unsampled_ns, "in programs that could not be sampled", ""},
                 {cov->startup_ns, "in starting processes, before the agent runs",
                  " Many short programs do that: no setting changes it."},
                 {cov->tail_ns, "in threads that ended without a sample and in processes' ends",
                  " A higher rate (--rate 4999) sees more of short threads."},
                 {cov->late_ns, "in samples that came late",
                  " 'lamella doctor' says what lets samples interrupt the kernel as well."},
                 {report_unaccounted_ns(report), "in unidentified descendants", ""}};
    size_t largest = 0;
    /* What could not be sampled has a finding of its own, and a few milliseconds say nothing. */
    bool is_told = cov->sampled_ns + cov->unsampled_ns >= cov->charged_ns / 10 * 9;
    if (report->session.rate_hz == 0 || !(cov->ratio < 0.9) || is_told || cov->charged_ns < 50000000)
        return LAM_OK;
    struct strbuf list = {0};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].ns >= cov->charged_ns / 100)
            strbuf_addf(&list, "%s%s %s", list.length ? ", " : "",
                        unit_seconds(report_seconds(parts[i].ns)).text, parts[i].where);
        if (parts[i].ns > parts[largest].ns)
            largest = i;
    }
    double missing = report_seconds(cov->charged_ns) - report_seconds(cov->sampled_ns);
    const char *text =
        arena_printf(&report->arena,
                     "Samples cover %s of the CPU time; the shares speak for that part. "
                     "Not seen: %s.%s",
                     unit_percent(cov->ratio).text, strbuf_text(&list), parts[largest].advice);
    if (!strbuf_ok(&list))
        text = NULL;
    strbuf_free(&list);
    return finding_add(
        draft,
        (struct report_finding){"low_coverage", REPORT_WARNING, NULL, missing, REPORT_NO_UNIT}, text);
}

int find_short_span(struct draft *draft)
{
    struct report *report = draft->report;
    double span = report_seconds(report->coverage.sampled_span_ns), all = finding_elapsed_s(report),
           before = (double)draft->state->first_sampled_ns / 1e9,
           after = all - (double)draft->state->last_sample_ns / 1e9;
    if (report->coverage.samples == 0 || !(all >= 1) || !(span < 0.8 * all))
        return LAM_OK;
    return finding_add(
        draft, (struct report_finding){"short_span", REPORT_NOTE, NULL, all - span, REPORT_NO_UNIT},
        arena_printf(
            &report->arena,
            "Samples reach over %s of the %s that the command took: in its %s %s it waited, "
            "or what ran has no samples.",
            unit_seconds(span).text, unit_seconds(all).text, before > after ? "first" : "last",
            unit_seconds(before > after ? before : after).text));
}

/* What to do about a file without symbols. */
static const char *symbols_advice(const struct report *report, const char *file)
{
    bool is_rustcs = text_starts_with(file, "librustc_driver") || text_starts_with(file, "libLLVM");
    if (is_rustcs && report_rustc_units(report) > 0)
        return "Distributions strip their compilers; those of rustup have symbols.";
    return "With its debug symbols installed (Debian: a package ending in -dbgsym) the next "
           "recording has names.";
}

int find_stripped(struct draft *draft)
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
                     "them in %s: their %s. %s",
                     unit_percent(share).text, path_name(worst->path), what,
                     symbols_advice(report, path_name(worst->path))));
}

/* The recording's symbols are not there: it was taken apart, or copied without them. */
int find_nameless(struct draft *draft)
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
                     "threads alone; it does not mean that the compiler did nothing else. Copy a "
                     "recording with all of its files.",
                     unit_percent(share).text));
}

/* The program with most CPU time in no phase; REPORT_NO_UNIT: there is none. */
static uint32_t most_unknown(const struct report *report)
{
    uint32_t worst = REPORT_NO_UNIT;
    uint64_t most_ns = 0;
    for (uint32_t i = 0; i < report->processes.count; i++) {
        struct report_cells cells = report_cells(report, i);
        uint64_t sum_ns = 0;
        for (size_t c = 0; c < cells.count; c++)
            if (classifier_bucket(report->cls, cells.items[c].bucket).segment == SEGMENT_UNKNOWN)
                sum_ns += cells.items[c].amount.cpu_ns;
        if (sum_ns > most_ns) {
            most_ns = sum_ns;
            worst = i;
        }
    }
    return worst;
}

int find_unknown(struct draft *draft)
{
    struct report *report = draft->report;
    struct report_amount segments[SEGMENT_COUNT];
    report_by_segment(report, REPORT_NO_UNIT, segments);
    double unknown = report_seconds(segments[SEGMENT_UNKNOWN].cpu_ns),
           all = report_seconds(report->total.cpu_ns);
    double blind = (double)report->coverage.samples_without_symbols;
    bool is_explained = blind * all >= unknown / 2 * (double)report->coverage.samples;
    uint32_t worst = most_unknown(report);
    if (!(unknown > 0.1 * all) || is_explained || worst == REPORT_NO_UNIT ||
        report->coverage.samples < SAMPLES_THAT_SPEAK)
        return LAM_OK;
    const struct report_process *process = &report->processes.items[worst];
    const char *what = process->unit == REPORT_NO_UNIT
                           ? "Phases are those of compilers and linkers; for a program of your own "
                             "write a marker file and give it with --markers ('lamella probe "
                             "--suggest' proposes its lines)."
                           : "'lamella probe --bucket unknown' shows their stacks.";
    return finding_add(
        draft, (struct report_finding){"unknown", REPORT_NOTE, NULL, unknown, REPORT_NO_UNIT},
        arena_printf(&report->arena, "No marker claims %s of the samples, above all in %s. %s",
                     unit_percent(unknown / all).text, process->title, what));
}

/* The programs that were not sampled, by what they used. */
int find_unsampled(struct draft *draft)
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

int find_unaccounted(struct draft *draft)
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

int find_truncated(struct draft *draft)
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
