#include "output/write_compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_read.h"
#include "output/text_has_test.h"
#include "output/write_aggregate.h"

#define EVIL "evil\x1b[31m|`<b>\xff\n\"x"

static struct profile_text text_of(const char *text)
{
    return (struct profile_text){text, strlen(text)};
}

static void add(struct run_matrix *matrix, enum run_section section, const char *key, double self,
                double count)
{
    struct run_values values = run_values_none();
    values.of[RUN_SELF] = self;
    values.of[RUN_COUNT] = count;
    assert_int_equal(run_matrix_add(matrix, section, text_of(section == RUN_LABELS ? "Query" : ""),
                                    text_of(key), &values),
                     LAM_OK);
}

static void fill(struct run_matrix *matrix, unsigned runs, double factor)
{
    for (unsigned i = 0; i < 2 * runs; i++) {
        uint32_t side = i >= runs;
        double noise = 1 + 0.001 * (i % runs), scale = side ? factor : 1;
        assert_int_equal(run_matrix_begin(matrix, side ? "new" : "old " EVIL, side), LAM_OK);
        array_last(&matrix->runs).has_events = true;
        array_last(&matrix->runs).is_crowded = side && runs > 1;
        add(matrix, RUN_TOTALS, run_total_labels, 3 * noise * scale, NAN);
        add(matrix, RUN_LABELS, "typeck", 2 * noise * scale, side ? 12 : 10);
        add(matrix, RUN_LABELS, EVIL, 1 * noise, 5);
        add(matrix, RUN_LABELS, "still", 0.5, 5);
        if (side)
            add(matrix, RUN_LABELS, "fresh", 0.1, 1);
        add(matrix, RUN_ARTIFACTS, "rlib", 1000 * scale, NAN);
    }
}

static void is_valid_json(const struct strbuf *out)
{
    static struct json_reader json;
    json_open_memory(&json, strbuf_text(out), out->length, NULL);
    int event;
    while ((event = json_next(&json)) > 0)
        continue;
    assert_int_equal(event, JSON_DONE);
    json_close(&json);
}

struct written {
    struct strbuf text, markdown, json;
    bool failed;
};

static struct written write_diff(unsigned runs, double factor, double fail_above)
{
    struct written out = {0};
    struct run_matrix matrix = {0};
    struct compare compare;
    struct lam_error err = LAM_ERROR_INIT;
    struct compare_view view = {.top = 10, .fail_above = fail_above};
    struct term term = {0};
    static struct byteout bytes;
    fill(&matrix, runs, factor);
    assert_int_equal(compare_make(&compare, &matrix, &(struct compare_options){0}, &err), LAM_OK);
    assert_int_equal(write_compare_text(&compare, &view, &term, &out.text, &err), LAM_OK);
    assert_int_equal(write_compare_markdown(&compare, &view, &out.markdown, &err), LAM_OK);
    byteout_init_strbuf(&bytes, &out.json);
    assert_int_equal(write_compare_json(&compare, &view, &bytes, &err), LAM_OK);
    out.failed = compare_fails(&compare, fail_above);
    is_valid_json(&out.json);
    HAS_NOT(&out.text, "\x1b");
    HAS_NOT(&out.markdown, "\x1b");
    HAS_NOT(&out.markdown, "|`<b>");
    compare_free(&compare);
    run_matrix_free(&matrix);
    return out;
}

static void free_written(struct written *out)
{
    strbuf_free(&out->text);
    strbuf_free(&out->markdown);
    strbuf_free(&out->json);
}

static void one_run_each(void **state)
{
    (void)state;
    struct written out = write_diff(1, 1.5, 0.05);
    HAS(&out.text, "nobody can know");
    HAS_NOT(&out.text, "Other programs");
    HAS(&out.text, "+50.0%");
    HAS(&out.text, "new");
    HAS(&out.text, "did not change");
    HAS_NOT(&out.text, "verdict");
    HAS(&out.text, "failed");
    HAS(&out.json, "\"verdict\": \"unknown\"");
    HAS(&out.json, "\"low\": null");
    assert_true(out.failed);
    free_written(&out);
}

static void repeated(void **state)
{
    (void)state;
    struct written out = write_diff(5, 1.5, 0.05);
    HAS(&out.text, "5 runs");
    HAS(&out.text, "Other programs had the machine while new and 4 other runs were recorded");
    HAS(&out.text, "slower");
    HAS(&out.text, "more"); /* artifacts are bytes */
    HAS(&out.text, "by luck alone");
    HAS(&out.markdown, "| typeck | Query |");
    HAS(&out.json, "\"verdict\": \"increase\"");
    HAS(&out.json, "\"verdict\": \"noise\"");
    assert_true(out.failed);
    free_written(&out);
    out = write_diff(3, 0.5, 0.05);
    HAS(&out.text, "likely faster");
    HAS(&out.text, "Four of each");
    assert_false(out.failed);
    free_written(&out);
    out = write_diff(5, 1.0001, 0);
    HAS(&out.text, "passed, it is noise");
    assert_false(out.failed);
    free_written(&out);
    out = write_diff(5, 100, NAN);
    HAS(&out.text, "×100");
    assert_false(out.failed);
    free_written(&out);
}

static void aggregates(void **state)
{
    (void)state;
    struct run_matrix matrix = {0};
    struct aggregate aggregate;
    struct strbuf text = {0}, markdown = {0}, json = {0};
    struct lam_error err = LAM_ERROR_INIT;
    struct aggregate_skipped skipped = {(char[]){"x" EVIL}, (char[]){"why " EVIL}};
    struct sequences sequences = {0};
    struct aggregate_view view = {
        .top = 2, .sequences = &sequences, .skipped = &skipped, .skipped_count = 1};
    struct term term = {0};
    static struct byteout bytes;
    fill(&matrix, 3, 2);
    assert_int_equal(aggregate_make(&aggregate, &matrix, &(struct aggregate_options){0}, &err),
                     LAM_OK);
    assert_int_equal(write_aggregate_text(&aggregate, &view, &term, &text, &err), LAM_OK);
    assert_int_equal(write_aggregate_markdown(&aggregate, &view, &markdown, &err), LAM_OK);
    byteout_init_strbuf(&bytes, &json);
    assert_int_equal(write_aggregate_json(&aggregate, &view, &bytes, &err), LAM_OK);
    is_valid_json(&json);
    HAS(&text, "6 runs, 1 input skipped");
    HAS(&text, "and 2 more");
    HAS(&text, "10 – 12");
    HAS_NOT(&text, "\x1b");
    HAS(&markdown, "## By label");
    HAS_NOT(&markdown, "|`<b>");
    HAS(&json, "\"skipped\"");
    HAS(&json, "\"sequence\": {");
    aggregate_free(&aggregate);
    run_matrix_free(&matrix);
    strbuf_free(&text);
    strbuf_free(&markdown);
    strbuf_free(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_run_each),
        cmocka_unit_test(repeated),
        cmocka_unit_test(aggregates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
