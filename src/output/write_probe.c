#include "output/write_probe.h"

#include <math.h>
#include <string.h>

#include "base/json_write.h"
#include "base/units.h"

static const char *const rule_names[MARKER_RULE_COUNT] = {
    "leaf", "module", "innermost", "outermost", "query", "role", "detail", "thread"};

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void heading(const struct term *term, struct strbuf *out, const char *text)
{
    strbuf_add_char(out, '\n');
    style_add(out, term, STYLE_BOLD, text);
    strbuf_add_char(out, '\n');
}

/* A name as a marker file has it: a pattern that matches this name alone. */
static void add_literal(struct strbuf *text, const char *pattern)
{
    bool has_blanks = strpbrk(pattern, " \t") != NULL;
    if (has_blanks)
        strbuf_add_char(text, '"');
    for (const char *at = pattern; *at; at++) {
        if (strchr("*?\\", *at))
            strbuf_add_char(text, '\\');
        strbuf_add_char(text, *at);
    }
    if (has_blanks)
        strbuf_add_char(text, '"');
}

/* ---- the recording ---------------------------------------------------------------------------------------------- */

static void write_recording(const struct probe_view *view, const struct term *term, struct strbuf *out)
{
    const struct report *report = view->report;
    const struct report_coverage *cov = &report->coverage;
    heading(term, out, "The recording");
    strbuf_addf(out, "  coverage %s of CPU   sampled span %s of %s   lost %s\n",
                unit_percent(cov->ratio).text,
                unit_seconds(report_seconds(cov->sampled_span_ns)).text,
                unit_seconds(report_seconds(report->session.elapsed_ns)).text,
                unit_count(cov->lost_samples).text);
    strbuf_addf(out, "  peak threads %u   serial tail %s", report->peak_threads,
                unit_seconds(report_seconds(report->tail_ns)).text);
    if (report->tail_process != REPORT_NO_UNIT)
        strbuf_addf(out, " (most of it in %s)", report->processes.items[report->tail_process].title);
    strbuf_addf(out, "   cores used %s of %u\n", unit_cores(report->cores_used).text,
                report->session.cores);
}

/* ---- breakdown -------------------------------------------------------------------------------------------------- */

static void amount_cells(struct table *table, const struct report_amount *amount,
                         const struct probe_totals *totals, bool is_detail)
{
    table_cell(table, unit_percent(share(amount->cpu_ns, totals->total.cpu_ns)).text);
    if (is_detail)
        table_style(table, STYLE_DIM);
    table_cell(table, unit_seconds(report_seconds(amount->cpu_ns)).text);
    if (is_detail)
        table_style(table, STYLE_DIM);
    table_cell(table, unit_count(amount->samples).text);
    if (is_detail)
        table_style(table, STYLE_DIM);
}

static void add_amount(struct report_amount *to, const struct report_amount *from)
{
    to->samples += from->samples;
    to->cpu_ns += from->cpu_ns;
    to->late_ns += from->late_ns;
}

/* Sums of the rows from `first` on that share their segment, and their phase when by_phase. */
static struct report_amount sum_from(const struct probe_view *view, size_t first, bool by_phase)
{
    struct phase_bucket key = classifier_bucket(view->cls, view->totals->buckets.items[first].bucket);
    struct report_amount sum = {0};
    for (size_t i = first; i < view->totals->buckets.count; i++) {
        const struct probe_bucket *row = &view->totals->buckets.items[i];
        struct phase_bucket bucket = classifier_bucket(view->cls, row->bucket);
        if (bucket.segment != key.segment || (by_phase && bucket.phase != key.phase))
            break;
        add_amount(&sum, &row->amount);
    }
    return sum;
}

static bool phase_has_details(const struct probe_view *view, size_t first)
{
    struct phase_bucket key = classifier_bucket(view->cls, view->totals->buckets.items[first].bucket);
    for (size_t i = first; i < view->totals->buckets.count; i++) {
        struct phase_bucket bucket =
            classifier_bucket(view->cls, view->totals->buckets.items[i].bucket);
        if (bucket.phase != key.phase)
            return false;
        if (bucket.detail && view->totals->buckets.items[i].amount.cpu_ns > 0)
            return true;
    }
    return false;
}

static int write_breakdown(const struct probe_view *view, const struct term *term, struct strbuf *out)
{
    struct table table = {.indent = 2};
    table_column(&table, "segment > phase > detail", TABLE_LEFT, 0);
    table_column(&table, "CPU", TABLE_RIGHT, 0);
    table_column(&table, "", TABLE_RIGHT, 0);
    table_column(&table, "samples", TABLE_RIGHT, 0);
    enum phase_segment segment = SEGMENT_NONE;
    uint32_t phase = UINT32_MAX;
    bool has_details = false;
    for (size_t i = 0; i < view->totals->buckets.count; i++) {
        const struct probe_bucket *row = &view->totals->buckets.items[i];
        struct phase_bucket bucket = classifier_bucket(view->cls, row->bucket);
        if (bucket.segment != segment) {
            struct report_amount sum = sum_from(view, i, false);
            segment = bucket.segment;
            phase = UINT32_MAX;
            if (sum.cpu_ns > 0) {
                table_cell(&table, phase_segment_name(segment));
                table_style(&table, STYLE_BOLD);
                amount_cells(&table, &sum, view->totals, false);
            }
        }
        if (bucket.phase != phase) {
            struct report_amount sum = sum_from(view, i, true);
            phase = bucket.phase;
            if (sum.cpu_ns > 0) {
                table_cellf(&table, "   %s", bucket.phase_name);
                amount_cells(&table, &sum, view->totals, false);
            }
            has_details = phase_has_details(view, i);
        }
        if (row->amount.cpu_ns == 0 || !has_details)
            continue;
        table_cellf(&table, "      %s", bucket.detail ? bucket.detail : "-");
        table_style(&table, STYLE_DIM);
        amount_cells(&table, &row->amount, view->totals, true);
    }
    heading(term, out, "Breakdown (CPU time of samples)");
    int rc = table_print(&table, term, out);
    table_free(&table);
    return rc;
}

static void write_quality(const struct probe_view *view, const struct term *term, struct strbuf *out)
{
    const struct probe_totals *totals = view->totals;
    uint64_t all = totals->total.cpu_ns;
    heading(term, out, "What the markers say");
    uint64_t named = totals->backend_named_ns, backend = totals->backend_ns;
    strbuf_addf(out, "  unknown %s of all (%s in code without symbols)",
                unit_percent(share(totals->unknown_ns, all)).text,
                unit_percent(share(totals->unknown_unresolved_ns, all)).text);
    strbuf_addf(out, "\n  bare codegen %s of the back end",
                unit_percent(share(totals->codegen_ns, totals->backend_ns)).text);
    strbuf_addf(out, "   bare machine_code %s of the back end\n",
                unit_percent(share(totals->bare_machine_code_ns, totals->backend_ns)).text);
    strbuf_addf(
        out,
        "  back end with a detail %s (%s of what has symbols)   samples %s   distinct stacks %s\n",
        unit_percent(share(named, backend)).text,
        unit_percent(share(named, backend - totals->backend_unresolved_ns)).text,
        unit_count(totals->total.samples).text, unit_count(totals->stacks).text);
}

static int write_roles(const struct probe_view *view, const struct term *term, struct strbuf *out)
{
    static const char *const columns[] = {"thread role", "CPU",      "samples",
                                          "truncated",   "rootless", "one frame"};
    struct table table = {.indent = 2};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        table_column(&table, columns[i], i ? TABLE_RIGHT : TABLE_LEFT, 0);
    for (size_t i = 1; i <= ROLE_COUNT; i++) { /* "other" comes last */
        const struct probe_role *role = &view->totals->roles[i % ROLE_COUNT];
        if (role->amount.samples == 0)
            continue;
        table_cell(&table, thread_role_name(role->role));
        table_cell(&table, unit_seconds(report_seconds(role->amount.cpu_ns)).text);
        table_cell(&table, unit_count(role->amount.samples).text);
        table_cell(&table, unit_count(role->truncated).text);
        table_cell(&table, unit_count(role->rootless).text);
        table_cell(&table, unit_count(role->one_frame).text);
    }
    heading(term, out, "Stacks by thread role");
    int rc = table_print(&table, term, out);
    table_free(&table);
    return rc;
}

/* ---- stacks ----------------------------------------------------------------------------------------------------- */

static void add_marker(const struct probe_view *view, struct strbuf *text, const struct marker *marker)
{
    const struct marker_set *set = classifier_markers(view->cls);
    if (!marker) {
        strbuf_add(text, "no marker");
        return;
    }
    const char *file = set->files.items[marker->file];
    strbuf_addf(text, "%s ", rule_names[marker->rule]);
    strbuf_add_printable(text, marker->pattern, marker->pattern_length);
    strbuf_add(text, " (");
    strbuf_add_printable(text, file, strlen(file));
    strbuf_addf(text, ":%u)", marker->line);
}

static void add_place(struct strbuf *text, const struct phase_bucket *bucket)
{
    strbuf_addf(text, "%s/%s/%s", phase_segment_name(bucket->segment), bucket->phase_name,
                bucket->detail ? bucket->detail : "-");
}

static void write_stack(const struct probe_view *view, const struct term *term,
                        const struct probe_stack *stack, struct strbuf *out)
{
    struct strbuf text = {0};
    struct phase_bucket bucket = classifier_bucket(view->cls, stack->bucket);
    strbuf_addf(out, "\n  %s  %s  %s samples  ",
                unit_percent(share(stack->amount.cpu_ns, view->stacks->amount.cpu_ns)).text,
                unit_seconds(report_seconds(stack->amount.cpu_ns)).text,
                unit_count(stack->amount.samples).text);
    add_place(out, &bucket);
    strbuf_addf(&text, "  %s thread of %s\n", thread_role_name(stack->role), stack->program);
    strbuf_add_printable(out, text.data, text.length ? text.length - 1 : 0);
    strbuf_add(out, "\n    decided by ");
    add_marker(view, out, stack->decided);
    if (stack->decided) {
        strbuf_add(out, "; without it ");
        add_marker(view, out, stack->runner_up);
    }
    if (stack->detail) {
        strbuf_add(out, "; detail by ");
        add_marker(view, out, stack->detail);
    }
    strbuf_add_char(out, '\n');
    if (stack->inner_frames)
        strbuf_addf(out, "      … up to %u deeper\n", stack->inner_frames);
    for (uint32_t i = 0; i < stack->frame_count; i++) {
        const struct probe_frame *frame = &view->stacks->frames.items[stack->first_frame + i];
        strbuf_clear(&text);
        strbuf_add_printable(&text, frame->name, strlen(frame->name));
        strbuf_add(out, frame->is_decider ? "    > " : frame->is_detail ? "    + " : "      ");
        style_add(out, term, frame->is_decider ? STYLE_BLUE : STYLE_PLAIN,
                  text.length ? strbuf_text(&text) : "(no module)");
        strbuf_add_char(out, '\n');
    }
    if (stack->outer_frames)
        strbuf_addf(out, "      … %u more to the root\n", stack->outer_frames);
    strbuf_free(&text);
}

static void write_stacks(const struct probe_view *view, const struct term *term, struct strbuf *out)
{
    struct strbuf text = {0};
    strbuf_add(&text, "Stacks of ");
    strbuf_add(&text, view->choice->segment);
    if (view->choice->phase)
        strbuf_addf(&text, "/%s", view->choice->phase);
    if (view->choice->detail)
        strbuf_addf(&text, "/%s", view->choice->detail);
    strbuf_addf(&text, ": %s, %s samples (> decided here, + detail here)",
                unit_seconds(report_seconds(view->stacks->amount.cpu_ns)).text,
                unit_count(view->stacks->amount.samples).text);
    heading(term, out, strbuf_text(&text));
    strbuf_free(&text);
    size_t shown = 0;
    for (; shown < view->stacks->stacks.count && (view->top == 0 || shown < view->top); shown++)
        write_stack(view, term, &view->stacks->stacks.items[shown], out);
    if (view->stacks->stacks.count > shown)
        strbuf_addf(out, "\n  and %s lighter ones (--top 0 shows all)\n",
                    unit_count(view->stacks->stacks.count - shown).text);
}

/* ---- suggestions ------------------------------------------------------------------------------------------------ */

static void add_line(const struct probe_suggestion *line, struct strbuf *out)
{
    strbuf_addf(out, "%-12s ", rule_names[line->rule]);
    if (line->rule == MARKER_ROLE)
        strbuf_add(out, "process");
    else
        add_literal(out, line->pattern);
    strbuf_addf(out, "  %s  %s  %s", line->segment, line->phase,
                line->detail && *line->detail ? line->detail : "-");
    if (line->rule == MARKER_ROLE) {
        strbuf_add(out, "  module=");
        add_literal(out, line->pattern);
    }
}

/* A marker file: what is no rule is a comment. */
static void write_suggestions(const struct probe_view *view, struct strbuf *out)
{
    strbuf_add(out,
               "\n# Proposed by lamella probe: names that no marker claims, with the time that "
               "each would claim. What they\n"
               "# mean is guessed from the nearest marker: look at them before you keep them.\n");
    array_each(&view->lines->items, line)
    {
        strbuf_addf(out, "# %s, %s samples, %s of what is in question\n",
                    unit_seconds(report_seconds(line->amount.cpu_ns)).text,
                    unit_count(line->amount.samples).text,
                    unit_percent(share(line->amount.cpu_ns, view->lines->amount.cpu_ns)).text);
        if (line->rule == MARKER_ROLE) {
            strbuf_add(out, "thread       *  process  module=");
            add_literal(out, line->pattern);
            strbuf_add_char(out, '\n');
        }
        add_line(line, out);
        strbuf_add_char(out, '\n');
    }
    if (view->lines->items.count == 0)
        strbuf_add(out, "# Nothing: no name lies in much of it and in little else.\n");
}

int write_probe_text(const struct probe_view *view, const struct term *term, struct strbuf *out,
                     struct lam_error *err)
{
    int rc = LAM_OK;
    if (view->lines) {
        write_suggestions(view, out);
    } else if (view->stacks) {
        write_stacks(view, term, out);
    } else {
        rc = write_breakdown(view, term, out);
        if (rc == LAM_OK)
            write_quality(view, term, out);
        if (rc == LAM_OK)
            write_recording(view, term, out);
        if (rc == LAM_OK)
            rc = write_roles(view, term, out);
    }
    return rc < 0 || !strbuf_ok(out) ? lam_error_set(err, LAM_E_NOMEM, "probe: out of memory")
                                     : LAM_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static void put_seconds(struct json_writer *json, const char *key, uint64_t ns)
{
    if (ns == PROFILE_UNKNOWN)
        json_member_null(json, key);
    else
        json_member_fixed(json, key, (double)ns / 1e9, 9);
}

static void put_amount(struct json_writer *json, const struct report_amount *amount)
{
    json_member_u64(json, "samples", amount->samples);
    put_seconds(json, "cpu_s", amount->cpu_ns);
    put_seconds(json, "late_cpu_s", amount->late_ns);
}

static void put_bucket(struct json_writer *json, const struct phase_bucket *bucket)
{
    json_member_str(json, "segment", phase_segment_name(bucket->segment));
    json_member_str(json, "phase", bucket->phase_name);
    json_member_str(json, "detail", bucket->detail);
}

static void put_marker(const struct probe_view *view, struct json_writer *json, const char *key,
                       const struct marker *marker)
{
    if (!marker) {
        json_member_null(json, key);
        return;
    }
    struct strbuf text = {0};
    add_marker(view, &text, marker);
    json_member_str(json, key, strbuf_text(&text));
    strbuf_free(&text);
}

static void put_recording(const struct probe_view *view, struct json_writer *json)
{
    const struct report *report = view->report;
    const struct report_coverage *cov = &report->coverage;
    json_member_object(json, "recording");
    put_seconds(json, "elapsed_s", report->session.elapsed_ns);
    put_seconds(json, "sampled_cpu_s", cov->sampled_ns);
    put_seconds(json, "process_cpu_s", cov->charged_ns);
    if (isnan(cov->ratio))
        json_member_null(json, "coverage");
    else
        json_member_double(json, "coverage", cov->ratio);
    put_seconds(json, "sampled_span_s", cov->sampled_span_ns);
    json_member_u64(json, "lost_samples", cov->lost_samples);
    json_member_u64(json, "peak_threads", report->peak_threads);
    put_seconds(json, "serial_tail_s", report->tail_ns);
    json_put_end(json);
}

static void put_totals(const struct probe_view *view, struct json_writer *json)
{
    const struct probe_totals *totals = view->totals;
    json_member_array(json, "breakdown");
    array_each(&totals->buckets, row)
    {
        struct phase_bucket bucket = classifier_bucket(view->cls, row->bucket);
        if (row->amount.cpu_ns == 0)
            continue;
        json_put_object(json);
        put_bucket(json, &bucket);
        put_amount(json, &row->amount);
        json_put_end(json);
    }
    json_put_end(json);
    json_member_object(json, "quality");
    put_seconds(json, "cpu_s", totals->total.cpu_ns);
    put_seconds(json, "unknown_s", totals->unknown_ns);
    put_seconds(json, "unknown_unresolved_s", totals->unknown_unresolved_ns);
    put_seconds(json, "backend_s", totals->backend_ns);
    put_seconds(json, "backend_unresolved_s", totals->backend_unresolved_ns);
    put_seconds(json, "backend_named_s", totals->backend_named_ns);
    put_seconds(json, "codegen_s", totals->codegen_ns);
    put_seconds(json, "bare_machine_code_s", totals->bare_machine_code_ns);
    json_member_u64(json, "stacks", totals->stacks);
    json_put_end(json);
    json_member_array(json, "roles");
    for (size_t i = 0; i < ROLE_COUNT; i++) {
        const struct probe_role *role = &totals->roles[i];
        if (role->amount.samples == 0)
            continue;
        json_put_object(json);
        json_member_str(json, "role", thread_role_name(role->role));
        put_amount(json, &role->amount);
        json_member_u64(json, "truncated", role->truncated);
        json_member_u64(json, "rootless", role->rootless);
        json_member_u64(json, "one_frame", role->one_frame);
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_stack(const struct probe_view *view, struct json_writer *json,
                      const struct probe_stack *stack)
{
    struct phase_bucket bucket = classifier_bucket(view->cls, stack->bucket);
    json_put_object(json);
    put_bucket(json, &bucket);
    json_member_str(json, "role", thread_role_name(stack->role));
    json_member_str(json, "program", stack->program);
    put_amount(json, &stack->amount);
    put_marker(view, json, "decided_by", stack->decided);
    put_marker(view, json, "runner_up", stack->runner_up);
    put_marker(view, json, "detail_by", stack->detail);
    json_member_u64(json, "inner_frames", stack->inner_frames);
    json_member_u64(json, "outer_frames", stack->outer_frames);
    json_member_array(json, "frames");
    for (uint32_t i = 0; i < stack->frame_count; i++)
        json_put_str(json, view->stacks->frames.items[stack->first_frame + i].name);
    json_put_end(json);
    json_put_end(json);
}

static void put_suggestions(const struct probe_view *view, struct json_writer *json)
{
    json_member_array(json, "suggestions");
    array_each(&view->lines->items, line)
    {
        struct strbuf text = {0};
        add_line(line, &text);
        json_put_object(json);
        json_member_str(json, "line", strbuf_text(&text));
        put_amount(json, &line->amount);
        json_put_end(json);
        strbuf_free(&text);
    }
    json_put_end(json);
}

int write_probe_json(const struct probe_view *view, struct byteout *out, struct lam_error *err)
{
    struct json_writer json;
    json_writer_init(&json, out, 2);
    json_put_object(&json);
    json_member_str(&json, "format", "lamella-probe");
    json_member_u64(&json, "version", 1);
    put_recording(view, &json);
    put_totals(view, &json);
    if (view->stacks) {
        json_member_array(&json, "stacks");
        size_t shown = 0;
        for (; shown < view->stacks->stacks.count && (view->top == 0 || shown < view->top); shown++)
            put_stack(view, &json, &view->stacks->stacks.items[shown]);
        json_put_end(&json);
    }
    if (view->lines)
        put_suggestions(view, &json);
    json_put_end(&json);
    return json_writer_finish(&json, "probe", err);
}
