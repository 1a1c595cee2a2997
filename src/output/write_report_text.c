#include <math.h>
#include <string.h>

#include "analysis/cache_hits.h"
#include "base/units.h"
#include "output/write_calls.h"
#include "output/write_cargo.h"
#include "output/write_graph.h"
#include "output/write_headers.h"
#include "output/write_labels.h"
#include "output/write_machine.h"
#include "output/write_macros.h"
#include "output/write_replay.h"
#include "output/write_report.h"
#include "output/write_spans.h"

enum { WIDTH_DEFAULT = 100, WIDTH_MIN = 60, WIDTH_MAX = 160, BAR_COLUMNS = 28 };

struct writer {
    const struct report *report;
    const struct report_view *view;
    const struct report_rows *rows;
    const struct term *term;
    struct strbuf *out;
    size_t width;
};

static void heading(struct writer *w, const char *text)
{
    strbuf_add_char(w->out, '\n');
    style_add(w->out, w->term, STYLE_BOLD, text);
    strbuf_add_char(w->out, '\n');
}

/* An eighth of a column is the finest that block characters show. */
static void add_bar(struct strbuf *text, double share)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double filled = share * BAR_COLUMNS * 8;
    unsigned units = filled > 0 ? (unsigned)lround(filled) : 0;
    if (units > BAR_COLUMNS * 8)
        units = BAR_COLUMNS * 8;
    if (units == 0 && share > 0)
        units = 1;
    for (unsigned i = 0; i < units / 8; i++)
        strbuf_add(text, "█");
    strbuf_add(text, eighths[units % 8]);
}

/* ---- header ----------------------------------------------------------------------------------------------------- */

/* Appends "label value" pieces, three blanks apart, breaking lines at the width. */
struct facts {
    struct writer *w;
    size_t column;
};

static void fact(struct facts *facts, const char *label, enum text_style style, const char *value)
{
    struct strbuf *out = facts->w->out;
    size_t needed = strlen(label) + (*label ? 1 : 0) + utf8_columns(value, strlen(value));
    if (facts->column > 0 && facts->column + 3 + needed > facts->w->width) {
        strbuf_add_char(out, '\n');
        facts->column = 0;
    }
    strbuf_add(out, facts->column > 0 ? "   " : "  ");
    facts->column += needed + (facts->column > 0 ? 3 : 2);
    if (*label) {
        style_add(out, facts->w->term, STYLE_DIM, label);
        strbuf_add_char(out, ' ');
    }
    style_add(out, facts->w->term, style, value);
}

static void end_facts(struct facts *facts)
{
    if (facts->column > 0)
        strbuf_add_char(facts->w->out, '\n');
    facts->column = 0;
}

static void write_command(struct writer *w)
{
    struct strbuf command = {0};
    report_command_text(w->report, &command);
    size_t length = command.length;
    if (utf8_columns(strbuf_text(&command), length) > w->width) {
        length = 0;
        size_t columns = 0;
        uint32_t code;
        size_t taken;
        while (columns + 2 < w->width &&
               (taken = utf8_decode(command.data + length, command.length - length, &code)) > 0) {
            columns += utf8_char_columns(code);
            length += taken;
        }
        strbuf_truncate(&command, length);
        strbuf_add(&command, "…");
    }
    style_add(w->out, w->term, STYLE_BOLD, strbuf_text(&command));
    strbuf_add_char(w->out, '\n');
    strbuf_free(&command);
}

static enum text_style coverage_style(double ratio)
{
    return ratio >= 0.95 ? STYLE_GREEN : ratio >= 0.8 ? STYLE_YELLOW : STYLE_RED;
}

static void write_time_facts(struct writer *w)
{
    const struct report *report = w->report;
    const struct profile_session *session = &report->session;
    struct facts facts = {.w = w};
    bool has_account = !report_is_of_events(report);
    if (has_account || session->elapsed_ns != PROFILE_UNKNOWN)
        fact(&facts, "wall", STYLE_BOLD, unit_seconds(report_seconds(session->elapsed_ns)).text);
    if (has_account)
        fact(&facts, "CPU", STYLE_BOLD, unit_seconds(report_seconds(report_used_ns(report))).text);
    struct strbuf text = {0};
    if (session->cores > 0) {
        strbuf_addf(&text, "%s of %u", unit_cores(report->cores_used).text, session->cores);
        fact(&facts, "cores used", STYLE_PLAIN, strbuf_text(&text));
        strbuf_clear(&text);
    }
    if (has_account && report->peak_threads > 0) {
        strbuf_addf(&text, "%u", report->peak_threads);
        fact(&facts, "peak threads", STYLE_PLAIN, strbuf_text(&text));
        fact(&facts, "serial tail", STYLE_PLAIN, unit_seconds(report_seconds(report->tail_ns)).text);
        strbuf_clear(&text);
    }
    if (!isnan(report->cpu_busy_mean)) {
        strbuf_addf(&text, "%s of %u", unit_cores(report->cpu_busy_mean).text, session->cores);
        fact(&facts, "machine busy", STYLE_PLAIN, strbuf_text(&text));
        strbuf_clear(&text);
    }
    if (report->memory_peak.anon_bytes != PROFILE_UNKNOWN) {
        report_memory_text(report, &text);
        fact(&facts, "memory peak", STYLE_PLAIN, strbuf_text(&text));
        strbuf_clear(&text);
    }
    strbuf_addf(&text, "%d", session->exit_code);
    if (session->exit_code > 0 || (session->exit_code < 0 && has_account))
        fact(&facts, "exit code", STYLE_RED, session->exit_code < 0 ? "unknown" : strbuf_text(&text));
    end_facts(&facts);
    strbuf_free(&text);
}

static void write_coverage_facts(struct writer *w)
{
    const struct report *report = w->report;
    const struct report_coverage *cov = &report->coverage;
    struct facts facts = {.w = w};
    struct strbuf text = {0};
    strbuf_addf(&text, "%s of CPU",
                isnan(cov->ratio) ? "unknown share" : unit_percent(cov->ratio).text);
    if (cov->closing_ns > 0 && !isnan(cov->ratio))
        strbuf_addf(&text, " (closing %s)",
                    unit_percent((double)cov->closing_ns / (double)report_used_ns(report)).text);
    fact(&facts, "coverage", coverage_style(cov->ratio), strbuf_text(&text));
    strbuf_clear(&text);
    strbuf_addf(&text, "%s of %s", unit_seconds(report_seconds(cov->sampled_span_ns)).text,
                unit_seconds(report_seconds(report->session.elapsed_ns)).text);
    fact(&facts, "sampled span", STYLE_PLAIN, strbuf_text(&text));
    strbuf_clear(&text);
    strbuf_addf(&text, "%s (", unit_count(cov->samples).text);
    report_rate_text(report, &text);
    strbuf_add_char(&text, ')');
    fact(&facts, "samples", STYLE_PLAIN, strbuf_text(&text));
    strbuf_free(&text);
    fact(&facts, "lost", cov->lost_samples ? STYLE_RED : STYLE_PLAIN,
         unit_count(cov->lost_samples).text);
    double samples = cov->samples ? (double)cov->samples : 1,
           frames = cov->frames ? (double)cov->frames : 1;
    fact(&facts, "truncated", STYLE_PLAIN,
         unit_percent((double)cov->truncated_stacks / samples).text);
    fact(&facts, "unresolved frames", STYLE_PLAIN,
         unit_percent((double)cov->unresolved_frames / frames).text);
    end_facts(&facts);
}

/* The parts of the charge beside the coverage, in one line, where they are worth it. */
static void write_rest_facts(struct writer *w)
{
    const struct report_coverage *cov = &w->report->coverage;
    uint64_t least_ns =
        report_used_ns(w->report) / 1000; /* of it nothing is to be seen in the shares */
    const struct {
        const char *label;
        uint64_t ns;
    } parts[] = {{"late", cov->late_ns},
                 {"startup", cov->startup_ns},
                 {"tail", cov->tail_ns},
                 {"unsampled", cov->unsampled_ns},
                 {"unaccounted", report_unaccounted_ns(w->report)},
                 {"still running", cov->running_ns - cov->running_seen_ns}};
    struct facts facts = {.w = w};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].ns == 0 || parts[i].ns == PROFILE_UNKNOWN || parts[i].ns < least_ns)
            continue;
        if (facts.column == 0)
            fact(&facts, "", STYLE_DIM, "not in it:");
        fact(&facts, parts[i].label, STYLE_PLAIN, unit_seconds(report_seconds(parts[i].ns)).text);
    }
    end_facts(&facts);
}

/* What the build was asked beside, and what that did to it. */
static void write_profile_facts(struct writer *w)
{
    const struct report *report = w->report;
    struct facts facts = {.w = w};
    if (!report->session.self_profile)
        return;
    struct strbuf text = {0};
    strbuf_addf(&text, "of %s of %s compilation%s", unit_count(report->end.self_profiles).text,
                unit_count(report_rustc_units(report)).text, unit_plural(report_rustc_units(report)));
    fact(&facts, "self-profiles", STYLE_PLAIN, strbuf_text(&text));
    strbuf_free(&text);
    if (report->session.rustc_bootstrap)
        fact(&facts, "", STYLE_YELLOW, "RUSTC_BOOTSTRAP=1: not a usual build");
    end_facts(&facts);
}

/* Words up to the width, later lines under the first. */
static void add_wrapped(struct writer *w, const char *text, size_t indent)
{
    size_t column = indent;
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, " ");
        size_t columns = utf8_columns(word, length);
        if (column > indent && column + 1 + columns > w->width) {
            strbuf_add_char(w->out, '\n');
            strbuf_add_fill(w->out, ' ', indent);
            column = indent;
        } else if (column > indent) {
            strbuf_add_char(w->out, ' ');
            column++;
        }
        strbuf_add_printable(w->out, word, length);
        column += columns;
        word += length + strspn(word + length, " ");
    }
    strbuf_add_char(w->out, '\n');
}

/* Whoever reads on must know that not everything is in the figures: the finding's text, a line for each fault. */
static void write_damage(struct writer *w)
{
    struct strbuf text = {0};
    const struct profile_faults *faults = &w->report->end.faults;
    if (!report_damage_text(w->report, &text))
        return;
    strbuf_add(w->out, "  ");
    style_add(w->out, w->term, STYLE_YELLOW, "! ");
    style_add(w->out, w->term, STYLE_YELLOW, strbuf_text(&text));
    strbuf_add(w->out, faults->kept ? ":\n" : "\n");
    for (uint32_t i = 0; i < faults->kept; i++) {
        strbuf_add(w->out, "    - ");
        add_wrapped(w, faults->texts[i], 6);
    }
    if (faults->kept && faults->count > faults->kept)
        strbuf_addf(w->out, "    - and %s more\n", unit_count(faults->count - faults->kept).text);
    strbuf_free(&text);
}

/* ---- phases ----------------------------------------------------------------------------------------------------- */

static double share_of(const struct report_amount *amount, const struct report_amount *total)
{
    return total->cpu_ns ? (double)amount->cpu_ns / (double)total->cpu_ns : 0;
}

static void bar_cells(struct table *table, const struct report_amount *amount,
                      const struct report_amount *total)
{
    struct strbuf bar = {0};
    double share = share_of(amount, total);
    add_bar(&bar, share);
    table_cell(table, unit_percent(share).text);
    table_cell(table, unit_seconds(report_seconds(amount->cpu_ns)).text);
    table_cell(table, strbuf_text(&bar));
    strbuf_free(&bar);
}

static bool has_details(const struct writer *w, const struct segment_row *segment, uint32_t phase)
{
    array_each(&segment->details, row)
    {
        if (row->phase == phase && classifier_bucket(w->report->cls, row->bucket).detail)
            return true;
    }
    return false;
}

/* What no detail claims has a row, too, where there are others: else they would not add up to their phase. */
static void add_details(struct writer *w, struct table *table, const struct segment_row *segment,
                        uint32_t phase)
{
    if (!has_details(w, segment, phase))
        return;
    array_each(&segment->details, row)
    {
        struct phase_bucket bucket = classifier_bucket(w->report->cls, row->bucket);
        double share = share_of(&row->amount, &w->rows->total);
        if (row->phase != phase || share < 0.0005)
            continue;
        table_cellf(table, "      %s", bucket.detail ? bucket.detail : "-");
        table_style(table, STYLE_DIM);
        bar_cells(table, &row->amount, &w->rows->total);
    }
}

static void phases_heading(struct writer *w)
{
    struct strbuf text = {0};
    strbuf_add(&text, "Where the CPU time went");
    if (w->view->unit)
        strbuf_addf(&text, " in %s unit%s called '%s'", unit_count(w->rows->units_matching).text,
                    unit_plural(w->rows->units_matching), w->view->unit);
    heading(w, strbuf_text(&text));
    strbuf_free(&text);
}

static int write_phases(struct writer *w)
{
    const struct report_rows *rows = w->rows;
    if (rows->total.samples == 0)
        return LAM_OK;
    phases_heading(w);
    struct table table = {.hides_header = true, .indent = 2};
    table_column(&table, "", TABLE_LEFT, 0);
    table_column(&table, "", TABLE_RIGHT, 0);
    table_column(&table, "", TABLE_RIGHT, 0);
    table_column(&table, "", TABLE_LEFT, 0);
    bool with_details = w->view->unit != NULL || w->view->by_detail;
    double least = w->view->percent_above > 0 ? w->view->percent_above / 100 : 0.001;
    for (size_t i = SEGMENT_FRONTEND; i < SEGMENT_COUNT; i++) {
        const struct segment_row *segment = &rows->segments[i];
        if (segment->amount.samples == 0)
            continue;
        table_cell(&table, phase_segment_name(segment->segment));
        table_style(&table, STYLE_BOLD);
        bar_cells(&table, &segment->amount, &rows->total);
        array_each(&segment->phases, row)
        {
            bool is_small = share_of(&row->amount, &rows->total) < least;
            /* These have one phase, called as they are. */
            bool is_alone = segment->segment == SEGMENT_UNKNOWN || segment->segment == SEGMENT_LINK;
            if (is_small)
                continue;
            if (!is_alone) {
                table_cellf(&table, "   %s", classifier_phase(w->report->cls, row->phase).phase_name);
                bar_cells(&table, &row->amount, &rows->total);
                table_style(&table, STYLE_BLUE);
            }
            if (with_details)
                add_details(w, &table, segment, row->phase);
        }
    }
    int rc = table_print(&table, w->term, w->out);
    table_free(&table);
    return rc;
}

static int write_roles(struct writer *w)
{
    heading(w, "By thread role (CPU time, not wall)");
    struct table table = {.hides_header = true, .indent = 2};
    table_column(&table, "", TABLE_LEFT, 0);
    table_column(&table, "", TABLE_RIGHT, 0);
    table_column(&table, "", TABLE_RIGHT, 0);
    table_column(&table, "", TABLE_LEFT, 0);
    for (size_t i = 1; i <= ROLE_COUNT; i++) { /* "other" comes last */
        const struct role_row *row = &w->rows->roles[i % ROLE_COUNT];
        if (row->amount.samples == 0)
            continue;
        table_cell(&table, thread_role_name(row->role));
        bar_cells(&table, &row->amount, &w->rows->total);
    }
    int rc = table_print(&table, w->term, w->out);
    table_free(&table);
    return rc;
}

/* ---- units and processes ---------------------------------------------------------------------------------------- */

static void measure_cells(struct table *table, double cpu_s, double wall_s, uint64_t rss_bytes)
{
    table_cell(table, unit_seconds(cpu_s).text);
    table_cell(table, unit_seconds(wall_s).text);
    table_cell(table, unit_bytes(rss_bytes == PROFILE_UNKNOWN ? NAN : (double)rss_bytes).text);
}

/* What stands where phases would, when there are none. */
static const char *without_phases(const struct writer *w, const struct report_process *unsampled)
{
    if (w->report->session.rate_hz == 0)
        return "";
    return unsampled ? report_why_not(unsampled->why_not) : "no sample";
}

static int unit_cells(struct writer *w, struct table *table, const struct report_unit *unit)
{
    const struct report_process *process = &w->report->processes.items[unit->process];
    bool is_sampled = process->sampled == PROFILE_SAMPLED_YES;
    struct strbuf phases = {0};
    int rc = LAM_OK;
    table_cell(table, unit->title);
    measure_cells(table, report_process_cpu_s(process), report_process_wall_s(process),
                  process->has_usage ? process->usage.max_rss_bytes : PROFILE_UNKNOWN);
    if (unit->info.is_cache)
        strbuf_add(&phases, "had by a cache, not compiled");
    else if (process->amount.samples > 0)
        rc = report_top_phases(w->report, unit->process, 3, &phases);
    else
        strbuf_add(&phases, without_phases(w, is_sampled ? NULL : process));
    table_cell(table, strbuf_text(&phases));
    strbuf_free(&phases);
    return rc;
}

/* What stands for phases where they say nothing: then functions do, in a table of their own. */
static bool has_phases(const struct writer *w)
{
    return w->report->session.rate_hz > 0 && !(w->view->by_function && !w->view->by_phase);
}

static void process_columns(const struct writer *w, struct table *table, const char *what)
{
    table->indent = 2;
    table_column(table, what, TABLE_LEFT, 44);
    table_column(table, "CPU", TABLE_RIGHT, 0);
    table_column(table, "wall", TABLE_RIGHT, 0);
    table_column(table, "memory", TABLE_RIGHT, 0);
    table_column(table, has_phases(w) ? "most of it" : "", TABLE_LEFT, 0);
}

/* Of a command that is no build: its programs. */
static int write_programs(struct writer *w)
{
    struct process_groups groups = {0};
    struct table table = {0};
    int rc = report_process_groups(w->report, 3, &groups);
    heading(w, "Processes by CPU");
    process_columns(w, &table, "program");
    for (size_t i = 0; i < groups.count && (w->view->top == 0 || i < w->view->top); i++) {
        const struct process_group *group = &groups.items[i];
        const struct report_process *unsampled =
            group->unsampled == REPORT_NO_UNIT ? NULL : &w->report->processes.items[group->unsampled];
        if (group->count > 1)
            table_cellf(&table, "%s (%s times)", group->title, unit_count(group->count).text);
        else
            table_cell(&table, group->title);
        measure_cells(&table, group->cpu_s, group->longest_wall_s, group->max_rss_bytes);
        const char *phases = has_phases(w) ? strbuf_text(&group->phases) : "";
        table_cell(&table, group->samples ? phases : without_phases(w, unsampled));
    }
    if (rc == LAM_OK)
        rc = table_print(&table, w->term, w->out);
    if (w->view->top && groups.count > w->view->top)
        strbuf_addf(w->out, "  and %s more program%s (--top 0 shows all)\n",
                    unit_count(groups.count - w->view->top).text,
                    unit_plural(groups.count - w->view->top));
    table_free(&table);
    report_process_groups_free(&groups);
    return rc;
}

static void write_rest_of_units(struct writer *w)
{
    uint32_t hidden = w->rows->units_matching - (uint32_t)w->rows->units.count;
    if (hidden == 0)
        return;
    double shown = 0, all = 0;
    array_each(&w->rows->units, index) shown +=
        report_process_cpu_s(&w->report->processes.items[w->report->units.items[*index].process]);
    array_each(&w->report->units, unit) if (report_unit_matches(unit, w->view->unit)) all +=
        report_process_cpu_s(&w->report->processes.items[unit->process]);
    struct strbuf text = {0};
    strbuf_addf(&text, "  and %s more, %s together (--top 0 shows all)", unit_count(hidden).text,
                unit_seconds(all - shown).text);
    style_add(w->out, w->term, STYLE_DIM, strbuf_text(&text));
    strbuf_add_char(w->out, '\n');
    strbuf_free(&text);
}

/* Who had some of them ready. */
static void write_cache(const struct writer *w)
{
    struct cache_counts counts = cache_hits_count(w->report);
    if (counts.hits == 0)
        return;
    strbuf_addf(w->out, "  %s had %s of the %s unit%s that it was asked for: %s not compiled\n",
                counts.program, unit_count(counts.hits).text, unit_count(counts.asked).text,
                unit_plural(counts.asked), unit_either(counts.hits, "it was", "they were"));
}

static int write_units(struct writer *w)
{
    const struct report *report = w->report;
    if (report->units.count == 0)
        return write_programs(w);
    struct table table = {0};
    int rc = LAM_OK;
    heading(w, "Units by CPU");
    process_columns(w, &table, "unit");
    array_each(&w->rows->units, index)
    {
        if (rc == LAM_OK)
            rc = unit_cells(w, &table, &report->units.items[*index]);
    }
    if (rc == LAM_OK)
        rc = table_print(&table, w->term, w->out);
    table_free(&table);
    if (rc == LAM_OK) {
        write_rest_of_units(w);
        write_cache(w);
    }
    return rc;
}

/* Kinds of waits that any of the shown units has. */
static void find_wait_kinds(const struct writer *w, bool used[REPORT_WAIT_KINDS])
{
    array_each(&w->rows->units, index)
    {
        uint32_t process = w->report->units.items[*index].process;
        const struct report_waits *waits = &w->report->processes.items[process].ledger.waits;
        for (size_t kind = 1; kind < REPORT_WAIT_KINDS; kind++)
            used[kind] = used[kind] || waits->ns[kind] > 0;
    }
}

static void seconds_cell(struct table *table, uint64_t ns)
{
    table_cell(table, unit_seconds(report_seconds(ns)).text);
}

/* Where the threads of the chosen units were: the ledger in thread-seconds. */
static int write_ledger(struct writer *w)
{
    static const char *const columns[] = {"unit", "threads' time", "running", "core wait", "blocked"};
    struct table table = {.indent = 2};
    bool used[REPORT_WAIT_KINDS] = {false};
    find_wait_kinds(w, used);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        table_column(&table, columns[i], i ? TABLE_RIGHT : TABLE_LEFT, i ? 0 : 44);
    for (size_t kind = 1; kind < REPORT_WAIT_KINDS; kind++)
        if (used[kind])
            table_column(&table, report_wait_names[kind], TABLE_RIGHT, 0);
    table_column(&table, "rest", TABLE_RIGHT, 0);
    array_each(&w->rows->units, index)
    {
        const struct report_unit *unit = &w->report->units.items[*index];
        const struct report_ledger *ledger = &w->report->processes.items[unit->process].ledger;
        table_cell(&table, unit->title);
        seconds_cell(&table, ledger->lifetime_ns);
        seconds_cell(&table, ledger->run_ns);
        seconds_cell(&table, ledger->core_wait_ns);
        seconds_cell(&table, ledger->blocked_ns);
        for (size_t kind = 1; kind < REPORT_WAIT_KINDS; kind++)
            if (used[kind])
                seconds_cell(&table, ledger->waits.ns[kind]);
        table_cell(&table, unit_seconds((double)ledger->residual_ns / 1e9).text);
    }
    heading(w, "Where their threads' time went (blocked = waits by kind + rest)");
    int rc = table_print(&table, w->term, w->out);
    table_free(&table);
    return rc;
}

static int write_unsampled(struct writer *w)
{
    enum { SHOWN = 8 };
    struct unsampled_rows rows = {0};
    int rc = report_unsampled_rows(w->report, &rows);
    if (rc < 0 || rows.count == 0 || w->report->session.rate_hz == 0) {
        array_free(&rows);
        return rc;
    }
    heading(w, "Not sampled");
    struct table table = {.hides_header = true, .indent = 2};
    table_column(&table, "", TABLE_LEFT, 44);
    table_column(&table, "", TABLE_RIGHT, 0);
    table_column(&table, "", TABLE_RIGHT, 0);
    table_column(&table, "", TABLE_LEFT, 0);
    for (size_t i = 0; i < rows.count && i < SHOWN; i++) {
        const struct unsampled_row *row = &rows.items[i];
        table_cell(&table, row->title);
        table_cellf(&table, "%s×", unit_count(row->count).text);
        table_cell(&table, unit_seconds(row->has_cpu ? report_seconds(row->cpu_ns) : NAN).text);
        table_cell(&table, row->reason);
    }
    rc = table_print(&table, w->term, w->out);
    if (rows.count > SHOWN)
        strbuf_addf(w->out, "  and %s more program%s\n", unit_count(rows.count - SHOWN).text,
                    unit_plural(rows.count - SHOWN));
    table_free(&table);
    array_free(&rows);
    return rc;
}

/* ---- findings --------------------------------------------------------------------------------------------------- */

static void write_findings(struct writer *w)
{
    static const enum text_style styles[] = {STYLE_DIM, STYLE_BLUE, STYLE_YELLOW};
    static const char *const marks[] = {"·", "•", "!"};
    bool is_begun = false;
    array_each(&w->report->findings, finding)
    {
        if (strcmp(finding->id, "damaged_streams") == 0)
            continue; /* stands at the head */
        if (!is_begun)
            heading(w, "Findings");
        is_begun = true;
        strbuf_add(w->out, "  ");
        style_add(w->out, w->term, styles[finding->severity], marks[finding->severity]);
        strbuf_add_char(w->out, ' ');
        add_wrapped(w, finding->text, 4);
    }
}

/* What is known of units and processes without looking inside. */
static int write_account(struct writer *w)
{
    int rc = w->view->by_unit ? write_units(w) : LAM_OK;
    if (rc == LAM_OK && w->view->unit)
        rc = write_ledger(w);
    if (rc == LAM_OK && w->view->by_unit && !w->view->unit)
        rc = write_unsampled(w);
    return rc;
}

int write_report_text(const struct report *report, const struct report_view *view,
                      const struct term *term, struct strbuf *out, struct lam_error *err)
{
    struct report_rows rows;
    int rc = report_rows_make(report, view, &rows, err);
    if (rc < 0)
        return rc;
    size_t width = term->columns ? term->columns : WIDTH_DEFAULT;
    width = width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
    struct writer w = {report, view, &rows, term, out, width};
    write_command(&w);
    write_damage(&w);
    write_time_facts(&w);
    if (report->session.rate_hz > 0) {
        write_coverage_facts(&w);
        write_rest_facts(&w);
        write_profile_facts(&w);
    }
    rc = write_cargo_text(report, view, term, out);
    if (rc == LAM_OK && (view->by_phase || view->by_detail))
        rc = write_phases(&w);
    if (rc == LAM_OK && (view->by_phase || view->by_detail))
        rc = write_macros_text(report, view, term, out);
    if (rc == LAM_OK)
        rc = write_functions(view, term, out);
    if (rc == LAM_OK && view->by_role)
        rc = write_roles(&w);
    if (rc == LAM_OK && !report_is_of_events(report))
        rc = write_account(&w);
    if (rc == LAM_OK)
        rc = write_headers_text(report, view, term, out);
    if (rc == LAM_OK && view->by_critical)
        rc = write_graph_text(report, view, term, out);
    if (rc == LAM_OK)
        rc = write_replay_text(view->replay, term, out);
    if (rc == LAM_OK && view->by_span)
        rc = write_spans(report, view, term, out);
    if (rc == LAM_OK && view->by_memory)
        rc = write_memory(report, view, term, out);
    if (rc == LAM_OK && labels_are_shown(view))
        rc = write_labels_text(report, view, term, out);
    if (rc == LAM_OK && (rc = write_calls(view, term, out, err)) < 0) {
        report_rows_free(&rows);
        return rc;
    }
    if (!view->unit && !view->around)
        write_findings(&w);
    report_rows_free(&rows);
    if (rc < 0 || !strbuf_ok(out))
        return lam_error_set(err, LAM_E_NOMEM, "report: out of memory");
    return LAM_OK;
}
