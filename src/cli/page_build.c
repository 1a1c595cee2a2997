#include "cli/page_build.h"

#include <math.h>
#include <string.h>

#include "analysis/replay_answers.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/read_report.h"
#include "output/write_compare.h"
#include "output/write_page.h"

static int make_calls(const struct report_reading *reading, struct calls *events,
                      struct calls *samples, struct lam_error *err)
{
    int rc = reading->labels->events ? calls_of_events(events, reading->labels) : LAM_OK;
    if (rc == LAM_OK && reading->stacks)
        rc = calls_of_samples(samples, reading->stacks);
    return rc < 0 ? lam_error_set(err, rc, "page: out of memory") : LAM_OK;
}

static int put_reading(const struct page_plan *plan, struct report_reading *reading,
                       const struct page_options *options, struct byteout *out, struct lam_error *err)
{
    struct replay_answers answers = {0};
    struct calls events = {0}, samples = {0};
    struct page_options page = *options;
    int rc = replay_answers_make(&answers, reading->report, NULL, 0, err);
    if (rc == LAM_OK)
        rc = make_calls(reading, &events, &samples, err);
    page.redacts = plan->redacts;
    page.max_stack_bytes = plan->max_stack_bytes;
    page.labels = reading->labels;
    page.names = symbol_names_frames(&reading->names);
    page.replay = &answers;
    page.event_calls = &events;
    page.sample_calls = &samples;
    if (rc == LAM_OK)
        rc = write_page_recording(reading->report, &page, out, err);
    replay_answers_free(&answers);
    calls_free(&events);
    calls_free(&samples);
    return rc;
}

/* What one reading of a recording fills. */
struct page_reading {
    struct report_reading report;
    struct stack_slices slices;
    struct page_events events;
};

static void close_reading(struct page_reading *reading)
{
    stack_slices_free(&reading->slices);
    page_events_free(&reading->events);
    report_reading_close(&reading->report);
}

static int open_reading(struct page_reading *reading, struct classifier *cls,
                        const char *const *inputs, size_t count, bool want_stacks,
                        struct lam_error *err)
{
    *reading = (struct page_reading){0};
    stack_slices_init(&reading->slices);
    struct profile_sink events = page_events_sink(&reading->events);
    struct report_reading_options options = {.cls = cls,
                                             .also = &events,
                                             .by_unit = true,
                                             .by_path = true,
                                             .want_stacks = want_stacks,
                                             .want_spans = true,
                                             .slices = &reading->slices};
    return report_reading_open(&reading->report, inputs, count, &options, err);
}

/* Who calls whom takes the samples' stacks in another form, which is much in a build, whose page has no room for it: that it is none is
 * known when it has been read. */
static bool is_sampled_program(const struct report *report)
{
    return report->session.has_samples && report->units.count == 0;
}

static int put_recording(const struct page_plan *plan, struct classifier *cls,
                         const char *const *inputs, size_t count, unsigned set, struct byteout *out,
                         struct lam_error *err)
{
    struct page_reading reading;
    int rc = open_reading(&reading, cls, inputs, count, false, err);
    if (rc == LAM_OK && is_sampled_program(reading.report.report)) {
        close_reading(&reading);
        rc = open_reading(&reading, cls, inputs, count, true, err);
    }
    struct page_options page = {.name = path_name(inputs[0]),
                                .set = set,
                                .slices = &reading.slices,
                                .events = &reading.events};
    if (rc == LAM_OK)
        rc = put_reading(plan, &reading.report, &page, out, err);
    close_reading(&reading);
    return rc;
}

/* ---- two sets ---- */

struct run_length {
    double wall_s; /* NaN: not known */
    const char *input;
};

static int compare_lengths(const void *left, const void *right)
{
    const struct run_length *a = left, *b = right;
    return a->wall_s < b->wall_s ? -1 : a->wall_s > b->wall_s;
}

static const struct run_row *wall_row(const struct run_matrix *matrix)
{
    array_each(&matrix->rows, row)
    {
        if (row->section == RUN_TOTALS &&
            strcmp(run_matrix_text(matrix, row->key), run_total_wall) == 0)
            return row;
    }
    return NULL;
}

/* Of several runs of the same work the one of middle length, of two the shorter one; the first where lengths are not known. */
static int typical_run(const struct run_matrix *matrix, uint32_t side, const char **input)
{
    LAM_ARRAY(struct run_length) lengths = {0};
    const struct run_row *wall = wall_row(matrix);
    int rc = LAM_OK;
    for (uint32_t run = 0; rc == LAM_OK && run < matrix->runs.count; run++) {
        const struct run_info *info = &matrix->runs.items[run];
        struct run_length length = {.input = run_matrix_text(matrix, info->name)};
        length.wall_s = wall ? run_matrix_values(matrix, wall, run).of[RUN_SELF] : NAN;
        if (info->side == side)
            rc = array_push(&lengths, length);
    }
    if (rc == LAM_OK && lengths.count) {
        if (wall)
            array_sort(&lengths, compare_lengths);
        *input = lengths.items[wall ? (lengths.count - 1) / 2 : 0].input;
    }
    array_free(&lengths);
    return rc;
}

static int put_differences(const struct page_plan *plan, struct run_matrix *matrix,
                           struct byteout *out, struct lam_error *err)
{
    struct compare compare = {0};
    struct compare_options options = {.metric = RUN_SELF};
    struct compare_view view = {.fail_above = NAN};
    struct strbuf text = {0};
    struct byteout *json = mem_alloc(sizeof *json);
    if (!json)
        return lam_error_set(err, LAM_E_NOMEM, "page: out of memory");
    byteout_init_strbuf(json, &text);
    int rc = compare_make(&compare, matrix, &options, err);
    if (rc == LAM_OK)
        rc = write_compare_json(&compare, &view, json, err);
    if (rc == LAM_OK)
        rc = write_page_comparison(&text, plan->redacts, out, err);
    compare_free(&compare);
    strbuf_free(&text);
    mem_free(json);
    return rc;
}

static int put_sides(const struct page_plan *plan, struct classifier *cls, struct byteout *out,
                     struct lam_error *err)
{
    struct run_matrix matrix = {0};
    int rc = run_sides_read(plan->sides, &matrix, cls, err);
    for (uint32_t side = 0; rc == LAM_OK && side < COMPARE_SIDES; side++) {
        const char *input = plan->sides->inputs[side].items[0];
        rc = typical_run(&matrix, side, &input);
        if (rc == LAM_OK)
            rc = put_recording(plan, cls, &input, 1, side, out, err);
    }
    if (rc == LAM_OK)
        rc = put_differences(plan, &matrix, out, err);
    run_matrix_free(&matrix);
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
    if (rc == LAM_OK)
        rc = plan->inputs ? put_recording(plan, cls, plan->inputs, plan->input_count, 0, out, err)
                          : put_sides(plan, cls, out, err);
    classifier_close(&cls);
    if (rc == LAM_OK)
        write_page_end(out);
    return rc;
}
