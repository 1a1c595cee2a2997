#include "output/write_page.h"

#include <string.h>

#include "base/deflate64.h"
#include "base/memory.h"
#include "output/page_calls.h"
#include "output/page_columns.h"
#include "output/page_links.h"
#include "output/page_redact.h"
#include "output/page_report.h"
#include "output/page_rules.h"
#include "output/page_spans.h"
#include "output/page_stacks.h"
#include "output/page_template.h"
#include "output/write_labels.h"
#include "output/write_report.h"

enum { PAGE_DATA_VERSION = 1, ACTIVITIES_MAX = 3000 };

/* One recording on its way into the page. */
struct page_work {
    const struct report *report;
    const struct page_options *options;
    struct page_columns columns;
    struct strbuf members; /* of the header, taken over from the report */
    struct strbuf header, sections;
    uint64_t quantum_ns;
    struct page_stacks_cut stacks;
    struct page_calls calls;
};

/* ---- what the report says ---- */

static void take_member(void *ctx, const char *key, const char *json, size_t length)
{
    struct page_work *work = ctx;
    if (strcmp(key, "format") == 0 || strcmp(key, "version") == 0)
        return;
    strbuf_addf(&work->members, "\"%s\":", key);
    strbuf_add_bytes(&work->members, json, length);
    strbuf_add_char(&work->members, ',');
}

static int write_json(struct page_work *work, struct strbuf *text, struct lam_error *err)
{
    struct report_view view = {.by_unit = true,
                               .by_phase = true,
                               .by_label = true,
                               .labels = work->options->labels,
                               .most_activities = ACTIVITIES_MAX,
                               .replay = work->options->replay};
    struct byteout *out = mem_alloc(sizeof *out);
    if (!out)
        return lam_error_set(err, LAM_E_NOMEM, "page: out of memory");
    byteout_init_strbuf(out, text);
    int rc = write_report_json(work->report, &view, out, err);
    mem_free(out);
    return rc;
}

/* Text that shall be in the page, without what --redact leaves out. */
static int redact(struct strbuf *text, struct lam_error *err)
{
    struct strbuf left = {0};
    struct byteout *out = mem_alloc(sizeof *out);
    if (!out)
        return lam_error_set(err, LAM_E_NOMEM, "page: out of memory");
    byteout_init_strbuf(out, &left);
    int rc = page_redact(strbuf_text(text), text->length, out, err);
    mem_free(out);
    strbuf_free(text);
    *text = left;
    return rc;
}

/* What a program called is what its page is about. A build's page, which has to be small, has its stacks. */
static struct page_call_bounds call_bounds(const struct report *report)
{
    bool is_build = report->units.count > 0 && report->session.has_samples;
    return is_build ? (struct page_call_bounds){0}
                    : (struct page_call_bounds){.functions = 2000, .pairs = 6000, .nodes = 4000};
}

static int write_calls(struct page_work *work, struct strbuf *text, struct lam_error *err)
{
    const struct page_options *options = work->options;
    struct page_call_bounds bounds = call_bounds(work->report);
    struct json_writer json;
    struct byteout *out = mem_alloc(sizeof *out);
    if (!out ||
        page_calls_choose(&work->calls, options->event_calls, options->sample_calls, &bounds) < 0) {
        mem_free(out);
        return lam_error_set(err, LAM_E_NOMEM, "page: out of memory");
    }
    byteout_init_strbuf(out, text);
    json_writer_init(&json, out, 0);
    json_put_object(&json);
    page_calls_json(&work->calls, &json);
    json_put_end(&json);
    int rc = json_writer_finish(&json, "page", err);
    mem_free(out);
    return rc;
}

/* Lists become tables, other members are the header's. */
static int take_json(struct page_work *work,
                     int (*write)(struct page_work *work, struct strbuf *text, struct lam_error *err),
                     struct lam_error *err)
{
    struct strbuf text = {0};
    int rc = write(work, &text, err);
    if (rc == LAM_OK && work->options->redacts)
        rc = redact(&text, err);
    if (rc == LAM_OK)
        rc = page_report_tables(&work->columns, strbuf_text(&text), text.length, take_member, work,
                                err);
    strbuf_free(&text);
    return rc;
}

static int64_t row_or_null(uint32_t row)
{
    return row == REPORT_NO_UNIT ? PAGE_NULL : (int64_t)row;
}

static struct page_column *row_column(struct page_work *work, const char *table, const char *name,
                                      const char *of)
{
    struct page_column *column =
        page_column(&work->columns, page_table(&work->columns, table), name, PAGE_ROW);
    if (column)
        column->of = of;
    return column;
}

/* Which row of one table is meant by another: the report says it by names and process ids alone. */
static void add_rows(struct page_work *work)
{
    const struct report *report = work->report;
    struct page_columns *data = &work->columns;
    struct page_column *of_unit = row_column(work, "units", "process", "processes"),
                       *of_process = row_column(work, "processes", "unit_row", "units"),
                       *parent = row_column(work, "processes", "parent", "processes"),
                       *of_thread = row_column(work, "threads", "process", "processes");
    array_each(&report->units, unit) page_int(data, of_unit, unit->process);
    array_each(&report->processes, process)
    {
        page_int(data, of_process, row_or_null(process->unit));
        page_int(data, parent, row_or_null(process->parent));
    }
    array_each(&report->threads, thread) page_int(data, of_thread, thread->process);
}

/* A page of up to 160 units is bound to 250 KB beside its spans; each unit more brings its share, of stacks as well. */
static size_t stack_bytes(const struct page_work *work)
{
    enum { BYTES = 26 << 10, UNITS = 160, BYTES_A_UNIT_MORE = 256 };
    size_t units = work->report->units.count, given = work->options->max_stack_bytes;
    size_t more = units > UNITS ? (units - UNITS) * BYTES_A_UNIT_MORE : 0;
    return given == PAGE_STACKS_BY_SIZE ? BYTES + more : given;
}

/* Base64 takes four bytes for three. */
static int add_stacks(struct page_work *work)
{
    const struct page_options *options = work->options;
    size_t bytes = stack_bytes(work);
    struct page_stacks_options stacks = {.report = work->report,
                                         .slices = options->slices,
                                         .names = options->names,
                                         .quantum_ns = work->quantum_ns,
                                         .usual_cpu = page_usual_cpu(work->report, work->quantum_ns),
                                         .max_bytes = bytes ? bytes / 4 * 3 + 1 : 0};
    return page_stacks(&work->columns, &stacks, &work->stacks);
}

static int add_tables(struct page_work *work, struct lam_error *err)
{
    work->quantum_ns = page_quantum_ns(work->report);
    add_rows(work);
    int rc = page_apply_rules(&work->columns, work->quantum_ns,
                              page_usual_cpu(work->report, work->quantum_ns));
    if (rc == LAM_OK)
        rc = page_spans(&work->columns, work->report, work->quantum_ns);
    if (rc == LAM_OK && work->options->slices)
        rc = add_stacks(work);
    if (rc == LAM_OK && work->options->events)
        rc = page_events_put(work->options->events, work->options->redacts, &work->columns);
    return rc < 0 ? lam_error_set(err, rc, "page: %s", lam_code_text(rc)) : LAM_OK;
}

/* ---- the header ---- */

static void put_phases(const struct page_work *work, struct json_writer *json)
{
    const struct classifier *cls = work->report->cls;
    json_member_array(json, "segments");
    for (size_t i = 0; i < SEGMENT_COUNT; i++)
        json_put_str(json, phase_segment_name((enum phase_segment)i));
    json_put_end(json);
    json_member_array(json, "phases");
    for (uint32_t i = 0; i < classifier_phase_count(cls); i++) {
        struct phase_bucket phase = classifier_phase(cls, i);
        json_put_object(json);
        json_member_u64(json, "segment", phase.segment);
        json_member_str(json, "name", phase.phase_name);
        json_put_end(json);
    }
    json_put_end(json);
    json_member_array(json, "roles");
    for (size_t i = 0; i < ROLE_COUNT; i++)
        json_put_str(json, thread_role_name((enum thread_role)i));
    json_put_end(json);
}

static void put_spans(const struct page_work *work, struct json_writer *json)
{
    const struct report *report = work->report;
    if (!report->spans.count)
        return;
    uint64_t samples = 0;
    array_each(&report->spans, span) samples += span->samples;
    json_member_object(json, "spans");
    json_member_double(json, "quantum_s", (double)work->quantum_ns / 1e9);
    json_member_u64(json, "spans", report->spans.count);
    json_member_u64(json, "samples", samples);
    json_put_end(json);
}

/* What ACTIVITIES_MAX leaves out. */
static void put_activities_left(const struct page_work *work, struct json_writer *json)
{
    const struct labels *labels = work->options->labels;
    const struct label_row_list *rows = labels && labels->unit_rows.count ? &labels->unit_rows
                                        : labels                          ? &labels->rows
                                                                          : NULL;
    uint64_t left = 0, self_ns = 0, index = 0;
    for (size_t i = 0; rows && i < rows->count; i++) {
        const struct label_row *row = &rows->items[i];
        index = i > 0 && row->process == row[-1].process ? index + 1 : 0;
        if (index < ACTIVITIES_MAX)
            continue;
        left++;
        self_ns += row->self_ns;
    }
    if (!left)
        return;
    json_member_object(json, "activities_left");
    json_member_u64(json, "rows", left);
    labels_amount_json(json, "self", (int64_t)self_ns,
                       labels_measure_is_time(labels->session.measure), true);
    json_put_end(json);
}

static int write_header(struct page_work *work, struct lam_error *err)
{
    const struct page_options *options = work->options;
    struct strbuf own = {0};
    struct byteout *out = mem_alloc(sizeof *out);
    if (!out)
        return lam_error_set(err, LAM_E_NOMEM, "page: out of memory");
    struct json_writer json;
    byteout_init_strbuf(out, &own);
    json_writer_init(&json, out, 0);
    json_put_object(&json);
    json_member_str(&json, "format", "lamella-page");
    json_member_u64(&json, "version", PAGE_DATA_VERSION);
    json_member_str(&json, "name", options->redacts ? NULL : options->name);
    json_member_u64(&json, "set", options->set);
    json_member_bool(&json, "redacted", options->redacts);
    page_put_links(work->report, &json);
    page_put_meanings(&work->columns, &json);
    put_phases(work, &json);
    put_spans(work, &json);
    page_describe_stacks(&work->stacks, &json);
    if (options->events)
        page_describe_events(options->events, &json);
    page_describe_calls(&work->calls, &json);
    put_activities_left(work, &json);
    page_describe_rules(&work->columns, work->quantum_ns, &json);
    page_columns_describe(&work->columns, &json);
    json_put_end(&json);
    int rc = json_writer_finish(&json, "page", err);
    mem_free(out);
    /* What the report gave goes between the brace and our own members. */
    strbuf_add_char(&work->header, '{');
    strbuf_add_bytes(&work->header, strbuf_text(&work->members), work->members.length);
    strbuf_add(&work->header, rc == LAM_OK ? strbuf_text(&own) + 1 : NULL);
    strbuf_free(&own);
    if (rc == LAM_OK && (!strbuf_ok(&work->header) || !strbuf_ok(&work->members)))
        rc = lam_error_set(err, LAM_E_NOMEM, "page: out of memory");
    return rc;
}

/* ---- the element ---- */

struct page_part {
    const void *bytes;
    size_t length;
};

static int put_element(const char *kind, const struct page_part *parts, size_t count,
                       struct byteout *out, struct lam_error *err)
{
    struct deflate64 *stream;
    byteout_printf(out, "<script type=\"application/octet-stream\" data-lamella=\"%s\">", kind);
    int rc = deflate64_open(&stream, out, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == LAM_OK && i < count; i++)
        rc = deflate64_write(stream, parts[i].bytes, parts[i].length);
    if (rc == LAM_OK)
        rc = deflate64_finish(stream);
    deflate64_close(&stream);
    byteout_text(out, "</script>\n");
    return rc < 0 ? lam_error_set(err, rc, "page: %s", lam_code_text(rc)) : LAM_OK;
}

static int write_element(struct page_work *work, struct byteout *out, struct lam_error *err)
{
    unsigned char size[4];
    for (unsigned i = 0; i < 4; i++)
        size[i] = (unsigned char)(work->header.length >> 8 * i);
    const struct page_part parts[] = {{size, sizeof size},
                                      {strbuf_text(&work->header), work->header.length},
                                      {strbuf_text(&work->sections), work->sections.length}};
    return put_element("recording", parts, sizeof parts / sizeof *parts, out, err);
}

int write_page_recording(const struct report *report, const struct page_options *options,
                         struct byteout *out, struct lam_error *err)
{
    struct page_work work = {.report = report, .options = options};
    int rc = take_json(&work, write_json, err);
    if (rc == LAM_OK)
        rc = take_json(&work, write_calls, err);
    if (rc == LAM_OK)
        rc = add_tables(&work, err);
    if (rc == LAM_OK)
        rc = page_columns_encode(&work.columns, &work.sections, err);
    if (rc == LAM_OK)
        rc = write_header(&work, err);
    if (rc == LAM_OK)
        rc = write_element(&work, out, err);
    strbuf_free(&work.members);
    strbuf_free(&work.header);
    strbuf_free(&work.sections);
    page_columns_free(&work.columns);
    page_calls_free(&work.calls);
    return rc;
}

int write_page_begin(struct byteout *out, struct lam_error *err)
{
    if (!lam_page_template.head)
        return lam_error_set(
            err, LAM_E_UNSUPPORTED,
            "this lamella was built without the page: it takes Node.js and script/setup "
            "before the build is configured");
    byteout_write(out, lam_page_template.head, lam_page_template.head_bytes);
    return LAM_OK;
}

int write_page_comparison(struct strbuf *json, bool redacts, struct byteout *out,
                          struct lam_error *err)
{
    int rc = redacts ? redact(json, err) : LAM_OK;
    return rc < 0 ? rc
                  : put_element("comparison", &(struct page_part){strbuf_text(json), json->length},
                                1, out, err);
}

void write_page_end(struct byteout *out)
{
    byteout_write(out, lam_page_template.tail, lam_page_template.tail_bytes);
}
