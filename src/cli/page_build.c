#include "cli/page_build.h"

#include <math.h>

#include "analysis/replay_answers.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/read_report.h"
#include "output/write_compare.h"
#include "output/write_page.h"

static int put_reading(const struct page_plan *plan, struct report_reading *reading,
                       const struct page_options *options, struct byteout *out, struct lam_error *err)
{
    struct replay_answers answers = {0};
    struct page_options page = *options;
    int rc = replay_answers_make(&answers, reading->report, NULL, 0, err);
    page.redacts = plan->redacts;
    page.max_stack_bytes = plan->max_stack_bytes;
    page.labels = reading->labels;
    page.names = symbol_names_frames(&reading->names);
    page.replay = &answers;
    if (rc == LAM_OK)
        rc = write_page_recording(reading->report, &page, out, err);
    replay_answers_free(&answers);
    return rc;
}

static int put_recording(const struct page_plan *plan, struct classifier *cls, const char *input,
                         unsigned set, struct byteout *out, struct lam_error *err)
{
    struct report_reading reading = {0};
    struct stack_slices slices;
    stack_slices_init(&slices);
    struct page_events events = {0};
    struct profile_sink events_sink = page_events_sink(&events);
    struct report_reading_options options = {
        .cls = cls, .also = &events_sink, .by_unit = true, .want_spans = true, .slices = &slices};
    struct page_options page = {
        .name = path_name(input), .set = set, .slices = &slices, .events = &events};
    int rc = report_reading_open(&reading, &input, 1, &options, err);
    if (rc == LAM_OK)
        rc = put_reading(plan, &reading, &page, out, err);
    stack_slices_free(&slices);
    page_events_free(&events);
    report_reading_close(&reading);
    return rc;
}

static int put_comparison(const struct page_plan *plan, struct classifier *cls, struct byteout *out,
                          struct lam_error *err)
{
    struct run_matrix matrix = {0};
    struct compare compare = {0};
    struct compare_options options = {.metric = RUN_SELF};
    struct compare_view view = {.fail_above = NAN};
    struct strbuf text = {0};
    struct byteout *json = mem_alloc(sizeof *json);
    if (!json)
        return lam_error_set(err, LAM_E_NOMEM, "page: out of memory");
    byteout_init_strbuf(json, &text);
    int rc = run_sides_read(plan->sides, &matrix, cls, err);
    if (rc == LAM_OK)
        rc = compare_make(&compare, &matrix, &options, err);
    if (rc == LAM_OK)
        rc = write_compare_json(&compare, &view, json, err);
    if (rc == LAM_OK)
        rc = write_page_comparison(&text, plan->redacts, out, err);
    compare_free(&compare);
    run_matrix_free(&matrix);
    strbuf_free(&text);
    mem_free(json);
    return rc;
}

int page_build(const struct page_plan *plan, struct byteout *out, struct lam_error *err)
{
    struct classifier_options options = {.files = plan->marker_files,
                                         .file_count = plan->marker_file_count};
    struct classifier *cls = NULL;
    int rc = write_page_begin(out, err);
    if (rc == LAM_OK)
        rc = classifier_open(&cls, &options, err);
    if (rc == LAM_OK && plan->input)
        rc = put_recording(plan, cls, plan->input, 0, out, err);
    for (unsigned side = 0; rc == LAM_OK && !plan->input && side < COMPARE_SIDES; side++)
        rc = put_recording(plan, cls, plan->sides->inputs[side].items[0], side, out, err);
    if (rc == LAM_OK && !plan->input)
        rc = put_comparison(plan, cls, out, err);
    classifier_close(&cls);
    if (rc == LAM_OK)
        write_page_end(out);
    return rc;
}
