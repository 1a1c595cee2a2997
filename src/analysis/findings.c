/* What a report has to say in words: one function a finding, in the order in which they are shown. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "analysis/findings_inside.h"
#include "base/units.h"
#include "reader/stream_names.h"

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

static int find_lost(struct draft *draft)
{
    struct report *report = draft->report;
    uint64_t lost = report->coverage.lost_samples;
    if (lost == 0)
        return LAM_OK;
    uint32_t why = 0;
    for (uint32_t i = 1; i < sizeof report->lost / sizeof *report->lost; i++)
        why = report->lost[i] > report->lost[why] ? i : why;
    bool is_all = report->lost[why] == lost;
    return finding_add(
        draft, (struct report_finding){"lost_records", REPORT_WARNING, NULL, NAN, REPORT_NO_UNIT},
        arena_printf(&report->arena, "%s record%s %s lost%s: %s.", unit_count(lost).text,
                     unit_plural(lost), unit_either(lost, "was", "were"),
                     is_all ? "" : ", most of them for one reason", stream_loss_text(why)));
}

bool report_damage_text(const struct report *report, struct strbuf *out)
{
    const struct profile_session_end *end = &report->end;
    uint64_t bad = end->damaged_streams + end->unreadable_streams;
    size_t start = out->length;
    if (bad == 0)
        return false;
    profile_damage_text(bad, end->streams + end->unreadable_streams,
                        report->session.has_samples ? "stream file" : "file", out);
    if (out->length > start) /* "The file", "None of" */
        out->data[start] = (char)toupper((unsigned char)out->data[start]);
    return true;
}

static int find_damaged(struct draft *draft)
{
    struct report *report = draft->report;
    const struct profile_session_end *end = &report->end;
    struct strbuf text = {0};
    if (!report_damage_text(report, &text))
        return LAM_OK;
    strbuf_add(&text, end->faults.kept ? ": " : "");
    profile_faults_text(&end->faults, "; ", &text);
    int rc = finding_add(
        draft, (struct report_finding){"damaged_streams", REPORT_WARNING, NULL, NAN, REPORT_NO_UNIT},
        arena_printf(&report->arena, "%s.", strbuf_text(&text)));
    strbuf_free(&text);
    return rc;
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
            arena_printf(
                &report->arena, "%s %s left out.", unit_count(end->duplicate_streams).text,
                unit_either(
                    end->duplicate_streams,
                    "file is there already, under another name or given twice: it was",
                    "files are there already, under other names or given twice: they were")));
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
         "call found no room in a full tree of calls: its time is in the calls around it. A larger "
         "tree takes more: calls=tree:64M",
         "calls found no room in a full tree of calls: their time is in the calls around them. A "
         "larger tree takes more: calls=tree:64M"},
        {end->cut_texts, "cut_texts", REPORT_NOTE,
         "argument of an event is longer than 8 KiB: its beginning and its length are shown",
         "arguments of events are longer than 8 KiB: their beginning and their length are shown"},
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

/* LAMELLA_OUT names a directory that each process adds a file to: a program that ran twice is in it twice. */
static int find_repeated_runs(struct draft *draft)
{
    struct report *report = draft->report;
    uint32_t runs = draft->state->same_commands;
    if (runs < 2 || report->session.has_samples || !report->session.has_intervals)
        return LAM_OK;
    return finding_add(
        draft, (struct report_finding){"repeated_runs", REPORT_NOTE, NULL, NAN, REPORT_NO_UNIT},
        arena_printf(
            &report->arena,
            "The same command ran %s times in here, and counts and times are of all of them "
            "together: for figures of one run give each a recording of its own.",
            unit_count(runs).text));
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
        {end->backward_intervals, "backward_intervals",
         REPORT_WARNING, "end before they start, or by the counter of another thread than they began: they count as empty"},
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
        find_repeated_runs,
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
