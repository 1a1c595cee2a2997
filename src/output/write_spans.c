#include "output/write_spans.h"

#include "base/units.h"

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_span(struct json_writer *json, const struct report *report,
                     const struct report_span *span)
{
    const struct report_process *process = &report->processes.items[span->process];
    struct phase_bucket phase = classifier_phase(report->cls, span->phase);
    json_put_object(json);
    json_member_str(json, "unit", process->unit == REPORT_NO_UNIT ? NULL : process->title);
    json_member_u64(json, "pid", process->pid);
    json_member_u64(json, "tid", report->threads.items[span->thread].tid);
    json_member_str(json, "role", thread_role_name(span->role));
    json_member_str(json, "cgu", span->cgu);
    json_member_str(json, "segment", phase_segment_name(phase.segment));
    json_member_str(json, "phase", phase.phase_name);
    json_member_fixed(json, "start_s", (double)span->start_ns / 1e9, 9);
    json_member_fixed(json, "end_s", (double)span->end_ns / 1e9, 9);
    json_member_u64(json, "samples", span->samples);
    json_member_fixed(json, "cpu_s", report_seconds(span->cpu_ns), 9);
    json_member_fixed(json, "gap_s", report_seconds(span->gap_ns), 9);
    json_put_end(json);
}

void write_spans_json(struct json_writer *json, const struct report *report,
                      const struct report_view *view)
{
    json_member_array(json, "phase_spans");
    array_each(&report->spans, span) if (report_process_matches(report, span->process, view->unit))
        put_span(json, report, span);
    json_put_end(json);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

struct longest LAM_ARRAY_BODY(const struct report_span *);

static int compare_length(const void *left, const void *right)
{
    const struct report_span *a = *(const struct report_span *const *)left,
                             *b = *(const struct report_span *const *)right;
    int64_t a_ns = a->end_ns - a->start_ns, b_ns = b->end_ns - b->start_ns;
    if (a_ns != b_ns)
        return a_ns > b_ns ? -1 : 1;
    return a < b ? -1 : a > b;
}

static int choose(const struct report *report, const struct report_view *view, struct longest *longest)
{
    array_each(&report->spans, span) if (report_process_matches(report, span->process, view->unit) &&
                                         array_push(longest, span) < 0) return LAM_E_NOMEM;
    array_sort(longest, compare_length);
    return LAM_OK;
}

static void span_cells(struct table *table, const struct report *report,
                       const struct report_span *span)
{
    const struct report_process *process = &report->processes.items[span->process];
    const char *role = thread_role_name(span->role);
    table_cell(table, process->title);
    table_cellf(table, "%s%s%s", role, span->cgu ? " " : "", span->cgu ? span->cgu : "");
    table_cell(table, classifier_phase(report->cls, span->phase).phase_name);
    table_cell(table, unit_seconds((double)span->start_ns / 1e9).text);
    table_cell(table, unit_seconds((double)(span->end_ns - span->start_ns) / 1e9).text);
    table_cell(table, unit_seconds(report_seconds(span->cpu_ns)).text);
    table_cell(table, unit_count(span->samples).text);
}

int write_spans(const struct report *report, const struct report_view *view,
                const struct term *term, struct strbuf *out)
{
    static const char *const columns[] = {"unit", "thread", "phase",  "from",
                                          "for",  "CPU",    "samples"};
    static const char heading[] = "Longest stretches of one thread in one phase";
    struct longest longest = {0};
    int rc = choose(report, view, &longest);
    if (rc < 0 || longest.count == 0) {
        array_free(&longest);
        return rc;
    }
    struct table table = {.indent = 2};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        table_column(&table, columns[i], i < 3 ? TABLE_LEFT : TABLE_RIGHT, i < 2 ? 32 : 0);
    size_t shown = 0;
    for (; shown < longest.count && (view->top == 0 || shown < view->top); shown++)
        span_cells(&table, report, longest.items[shown]);
    strbuf_add(out, term ? "\n" : "\n## ");
    if (term)
        style_add(out, term, STYLE_BOLD, heading);
    else
        strbuf_add(out, heading);
    strbuf_add(out, term ? "\n" : "\n\n");
    rc = term ? table_print(&table, term, out) : table_print_markdown(&table, out);
    if (longest.count > shown)
        strbuf_addf(out, "%sand %s more%s\n", term ? "  " : "\n",
                    unit_count(longest.count - shown).text, term ? " (--top 0 shows all)" : "");
    table_free(&table);
    array_free(&longest);
    return rc;
}
