#include <math.h>
#include <string.h>

#include "base/units.h"
#include "output/write_calls.h"
#include "output/write_graph.h"
#include "output/write_labels.h"
#include "output/write_machine.h"
#include "output/write_replay.h"
#include "output/write_report.h"
#include "output/write_spans.h"

static void fact(struct table *table, const char *name, const char *value)
{
    table_cell(table, name);
    table_cell(table, value);
}

static int write_facts(const struct report *report, struct strbuf *out)
{
    const struct report_coverage *cov = &report->coverage;
    struct table table = {0};
    struct strbuf text = {0};
    table_column(&table, "what", TABLE_LEFT, 0);
    table_column(&table, "value", TABLE_LEFT, 0);
    report_command_text(report, &text);
    fact(&table, "command", strbuf_text(&text));
    if (!report_is_of_events(report) || report->session.elapsed_ns != PROFILE_UNKNOWN)
        fact(&table, "wall", unit_seconds(report_seconds(report->session.elapsed_ns)).text);
    if (report_is_of_events(report)) {
        int rc = table_print_markdown(&table, out);
        table_free(&table);
        strbuf_free(&text);
        return rc;
    }
    fact(&table, "CPU", unit_seconds(report_seconds(report_used_ns(report))).text);
    strbuf_clear(&text);
    strbuf_addf(&text, "%s of %u", unit_cores(report->cores_used).text, report->session.cores);
    fact(&table, "cores used", strbuf_text(&text));
    if (report->peak_threads > 0) {
        strbuf_clear(&text);
        strbuf_addf(&text, "%u", report->peak_threads);
        fact(&table, "peak threads", strbuf_text(&text));
        fact(&table, "serial tail", unit_seconds(report_seconds(report->tail_ns)).text);
    }
    if (!isnan(report->cpu_busy_mean)) {
        strbuf_clear(&text);
        strbuf_addf(&text, "%s of %u", unit_cores(report->cpu_busy_mean).text, report->session.cores);
        fact(&table, "machine busy", strbuf_text(&text));
    }
    if (report->memory_peak.anon_bytes != PROFILE_UNKNOWN) {
        strbuf_clear(&text);
        report_memory_text(report, &text);
        fact(&table, "memory peak", strbuf_text(&text));
    }
    fact(&table, "coverage", unit_percent(cov->ratio).text);
    strbuf_clear(&text);
    strbuf_addf(&text, "%s of %s", unit_seconds(report_seconds(cov->sampled_span_ns)).text,
                unit_seconds(report_seconds(report->session.elapsed_ns)).text);
    fact(&table, "sampled span", strbuf_text(&text));
    strbuf_clear(&text);
    strbuf_addf(&text, "%s (", unit_count(cov->samples).text);
    report_rate_text(report, &text);
    strbuf_add_char(&text, ')');
    fact(&table, "samples", strbuf_text(&text));
    fact(&table, "lost", unit_count(cov->lost_samples).text);
    if (report->session.self_profile) {
        strbuf_clear(&text);
        strbuf_addf(&text, "of %s of %s compilation%s%s", unit_count(report->end.self_profiles).text,
                    unit_count(report_rustc_units(report)).text,
                    unit_plural(report_rustc_units(report)),
                    report->session.rustc_bootstrap ? "; RUSTC_BOOTSTRAP=1: not a usual build" : "");
        fact(&table, "self-profiles", strbuf_text(&text));
    }
    int rc = table_print_markdown(&table, out);
    table_free(&table);
    strbuf_free(&text);
    return rc;
}

static int write_phases(const struct report *report, const struct report_rows *rows,
                        bool with_details, struct strbuf *out)
{
    struct table table = {0};
    table_column(&table, "segment", TABLE_LEFT, 0);
    table_column(&table, "phase", TABLE_LEFT, 0);
    if (with_details)
        table_column(&table, "detail", TABLE_LEFT, 0);
    table_column(&table, "share", TABLE_RIGHT, 0);
    table_column(&table, "CPU", TABLE_RIGHT, 0);
    double total = rows->total.cpu_ns ? (double)rows->total.cpu_ns : 1;
    for (size_t i = SEGMENT_FRONTEND; i < SEGMENT_COUNT; i++) {
        const struct segment_row *segment = &rows->segments[i];
        const struct phase_row *first = with_details ? segment->details.items : segment->phases.items;
        size_t count = with_details ? segment->details.count : segment->phases.count;
        for (const struct phase_row *row = first; row < first + count; row++) {
            table_cell(&table, phase_segment_name((enum phase_segment)i));
            table_cell(&table, classifier_phase(report->cls, row->phase).phase_name);
            if (with_details)
                table_cell(&table, classifier_bucket(report->cls, row->bucket).detail);
            table_cell(&table, unit_percent((double)row->amount.cpu_ns / total).text);
            table_cell(&table, unit_seconds(report_seconds(row->amount.cpu_ns)).text);
        }
    }
    strbuf_add(out, "\n## Where the CPU time went\n\n");
    int rc = table_print_markdown(&table, out);
    table_free(&table);
    return rc;
}

static int write_roles(const struct report_rows *rows, struct strbuf *out)
{
    struct table table = {0};
    table_column(&table, "thread role", TABLE_LEFT, 0);
    table_column(&table, "share", TABLE_RIGHT, 0);
    table_column(&table, "CPU", TABLE_RIGHT, 0);
    double total = rows->total.cpu_ns ? (double)rows->total.cpu_ns : 1;
    for (size_t i = 0; i < ROLE_COUNT; i++) {
        if (rows->roles[i].amount.samples == 0)
            continue;
        table_cell(&table, thread_role_name(rows->roles[i].role));
        table_cell(&table, unit_percent((double)rows->roles[i].amount.cpu_ns / total).text);
        table_cell(&table, unit_seconds(report_seconds(rows->roles[i].amount.cpu_ns)).text);
    }
    strbuf_add(out, "\n## By thread role (CPU time, not wall)\n\n");
    int rc = table_print_markdown(&table, out);
    table_free(&table);
    return rc;
}

static int write_units(const struct report *report, const struct report_rows *rows, struct strbuf *out)
{
    struct table table = {0};
    table_column(&table, "unit", TABLE_LEFT, 0);
    table_column(&table, "CPU", TABLE_RIGHT, 0);
    table_column(&table, "wall", TABLE_RIGHT, 0);
    table_column(&table, "peak memory", TABLE_RIGHT, 0);
    table_column(&table, "most of it", TABLE_LEFT, 0);
    int rc = LAM_OK;
    array_each(&rows->units, index)
    {
        const struct report_unit *unit = &report->units.items[*index];
        const struct report_process *process = &report->processes.items[unit->process];
        bool has_rss = process->has_usage && process->usage.max_rss_bytes != PROFILE_UNKNOWN;
        struct strbuf phases = {0};
        if (unit->info.is_cache)
            strbuf_add(&phases, "had by a cache, not compiled");
        else if (rc == LAM_OK)
            rc = report_top_phases(report, unit->process, 3, &phases);
        table_cell(&table, unit->title);
        table_cell(&table, unit_seconds(report_process_cpu_s(process)).text);
        table_cell(&table, unit_seconds(report_process_wall_s(process)).text);
        table_cell(&table, unit_bytes(has_rss ? (double)process->usage.max_rss_bytes : NAN).text);
        table_cell(&table, strbuf_text(&phases));
        strbuf_free(&phases);
    }
    strbuf_add(out, "\n## Units by CPU\n\n");
    if (rc == LAM_OK)
        rc = table_print_markdown(&table, out);
    uint32_t hidden = rows->units_matching - (uint32_t)rows->units.count;
    if (hidden > 0)
        strbuf_addf(out, "\nand %s more\n", unit_count(hidden).text);
    table_free(&table);
    return rc;
}

/* Markdown takes what looks like markup as such. */
static void add_escaped(struct strbuf *out, const char *text)
{
    struct strbuf plain = {0};
    strbuf_add_printable(&plain, text, strlen(text));
    for (const char *c = strbuf_text(&plain); *c; c++) {
        if (strchr("\\`*_<>[]#|", *c))
            strbuf_add_char(out, '\\');
        strbuf_add_char(out, *c);
    }
    strbuf_free(&plain);
}

/* What not everything is in the figures for, before them. */
static void write_damage(const struct report *report, struct strbuf *out)
{
    struct strbuf text = {0};
    const struct profile_faults *faults = &report->end.faults;
    if (!report_damage_text(report, &text))
        return;
    strbuf_addf(out, "**warning**: %s%s\n\n", strbuf_text(&text), faults->kept ? ":" : "");
    for (uint32_t i = 0; i < faults->kept; i++) {
        strbuf_add(out, "- ");
        add_escaped(out, faults->texts[i]);
        strbuf_add_char(out, '\n');
    }
    if (faults->count > faults->kept)
        strbuf_addf(out, "- and %s more\n", unit_count(faults->count - faults->kept).text);
    strbuf_add(out, faults->kept ? "\n" : "");
    strbuf_free(&text);
}

static void write_findings(const struct report *report, struct strbuf *out)
{
    bool is_begun = false;
    array_each(&report->findings, finding)
    {
        if (strcmp(finding->id, "damaged_streams") == 0)
            continue; /* stands at the head */
        if (!is_begun)
            strbuf_add(out, "\n## Findings\n\n");
        is_begun = true;
        strbuf_addf(out, "- %s", finding->severity == REPORT_WARNING ? "**warning**: " : "");
        add_escaped(out, finding->text);
        strbuf_add_char(out, '\n');
    }
}

int write_report_markdown(const struct report *report, const struct report_view *view,
                          struct strbuf *out, struct lam_error *err)
{
    struct report_rows rows;
    int rc = report_rows_make(report, view, &rows, err);
    if (rc < 0)
        return rc;
    strbuf_add(out, "# Lamella report\n\n");
    write_damage(report, out);
    rc = write_facts(report, out);
    if (rc == LAM_OK && (view->by_phase || view->by_detail) && rows.total.samples > 0)
        rc = write_phases(report, &rows, view->by_detail, out);
    if (rc == LAM_OK)
        rc = write_functions(view, NULL, out);
    if (rc == LAM_OK && view->by_role)
        rc = write_roles(&rows, out);
    if (rc == LAM_OK && view->by_unit && report->units.count > 0 && !report_is_of_events(report))
        rc = write_units(report, &rows, out);
    if (rc == LAM_OK && view->by_span)
        rc = write_spans(report, view, NULL, out);
    if (rc == LAM_OK && view->by_memory)
        rc = write_memory(report, view, NULL, out);
    if (rc == LAM_OK && view->by_critical)
        rc = write_graph_text(report, view, NULL, out);
    if (rc == LAM_OK)
        rc = write_replay_text(view->replay, NULL, out);
    if (rc == LAM_OK && labels_are_shown(view))
        rc = write_labels_markdown(report, view, out);
    if (rc == LAM_OK && (rc = write_calls(view, NULL, out, err)) < 0) {
        report_rows_free(&rows);
        return rc;
    }
    if (!view->unit && !view->around)
        write_findings(report, out);
    report_rows_free(&rows);
    if (rc < 0 || !strbuf_ok(out))
        return lam_error_set(err, LAM_E_NOMEM, "report: out of memory");
    return LAM_OK;
}
