#include "output/write_report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_read.h"
#include "output/text_has_test.h"
#include "profile/schema.h"

#define MS UINT64_C(1000000)

static const char *const frame_texts[] = {"", "main", "rustc_hir_typeck::typeck", "LLVMRustOptimize"};

static int fake_names(void *ctx, const struct profile_frame *frame, struct classifier_name *names,
                      size_t *count, bool *is_stripped)
{
    (void)ctx;
    (void)is_stripped;
    names[0] = (struct classifier_name){frame_texts[frame->frame], strlen(frame_texts[frame->frame])};
    *count = 1;
    return LAM_OK;
}

static struct classifier *cls;
static struct report *report;

static struct profile_text text_of(const char *text)
{
    return (struct profile_text){text, strlen(text)};
}

static void push_unit(struct profile_sink *sink, uint32_t id, const char *crate, uint64_t milliseconds)
{
    struct profile_text argv[] = {text_of("rustc"), text_of("--crate-name"), text_of(crate),
                                  text_of("src/lib.rs")};
    struct profile_process process = {.process = id,
                                      .pid = 100 + id,
                                      .exe = text_of("/x/bin/rustc"),
                                      .argv = argv,
                                      .argc = 4,
                                      .start_ns = 0};
    struct profile_thread thread = {
        .thread = id, .process = id, .tid = 900 + id, .name = text_of("rustc")};
    struct profile_process_end end = {.process = id,
                                      .end_ns = 5000 * (int64_t)MS,
                                      .cpu_ns = milliseconds * MS,
                                      .tail_cpu_ns = 0,
                                      .has_usage = true,
                                      .own = {.max_rss_bytes = 123000000}};
    assert_int_equal(sink->ops->process(sink->ctx, &process), LAM_OK);
    assert_int_equal(sink->ops->thread(sink->ctx, &thread), LAM_OK);
    for (uint64_t i = 1; i <= milliseconds; i++) {
        struct profile_sample sample = {.process = id,
                                        .thread = id,
                                        .stack = i % 4 ? 2 : 3,
                                        .at_ns = (int64_t)(i * MS),
                                        .cpu_ns = MS,
                                        .period_ns = (uint32_t)MS};
        assert_int_equal(sink->ops->sample(sink->ctx, &sample), LAM_OK);
    }
    assert_int_equal(sink->ops->process_end(sink->ctx, &end), LAM_OK);
}

/* Names of outside origin hold what they like. */
#define EVIL "evil\x1b[31m|`<b>\xff\n\"x"

static int open_report(void **unused)
{
    (void)unused;
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(classifier_open(&cls, NULL, &err), LAM_OK);
    struct report_options options = {.cls = cls, .names = {.names = fake_names}};
    assert_int_equal(report_open(&report, &options, &err), LAM_OK);
    struct profile_sink sink = report_sink(report);
    struct profile_session session = {.command = "cargo build " EVIL,
                                      .elapsed_ns = 5000 * MS,
                                      .charged_cpu_ns = 4100 * MS,
                                      .complete = true,
                                      .has_samples = true,
                                      .rate_hz = 1000,
                                      .cores = 2,
                                      .engine = 1};
    assert_int_equal(sink.ops->session(sink.ctx, &session), LAM_OK);
    for (uint32_t i = 1; i < 4; i++) {
        struct profile_frame frame = {.frame = i};
        struct profile_stack stack = {.stack = i, .parent = i > 1, .frame = i};
        assert_int_equal(sink.ops->frame(sink.ctx, &frame), LAM_OK);
        assert_int_equal(sink.ops->stack(sink.ctx, &stack), LAM_OK);
    }
    push_unit(&sink, 1, "small", 800);
    push_unit(&sink, 2, "large", 3200);
    push_unit(&sink, 3, EVIL, 4);
    struct profile_text argv[] = {text_of("/bin/busybox")};
    struct profile_process shell = {.process = 4,
                                    .pid = 7,
                                    .exe = text_of("/bin/busybox"),
                                    .argv = argv,
                                    .argc = 1,
                                    .sampled = PROFILE_SAMPLED_NO,
                                    .why_not = 1};
    assert_int_equal(sink.ops->process(sink.ctx, &shell), LAM_OK);
    assert_int_equal(report_finish(report, &err), LAM_OK);
    return 0;
}

static int close_report(void **unused)
{
    (void)unused;
    report_close(&report);
    classifier_close(&cls);
    return 0;
}

static void write_text(const struct report_view *view, unsigned columns, struct strbuf *out)
{
    struct term term = {.columns = columns};
    struct lam_error err = LAM_ERROR_INIT;
    strbuf_clear(out);
    if (write_report_text(report, view, &term, out, &err) < 0)
        fail_msg("%s", err.msg);
}

static void the_text_says_what_matters(void **unused)
{
    (void)unused;
    struct strbuf out = {0};
    struct report_view view = {.by_unit = true, .by_phase = true};
    write_text(&view, 100, &out);
    HAS(&out, "wall 5.00 s   CPU 4.10 s   cores used 0.8 of 2");
    HAS(&out, "coverage 97.7% of CPU");
    HAS(&out, "4,004 (1000 Hz, sigtrap, without kernel)");
    HAS(&out, "type_check  75.0%  3.00 s");
    HAS(&out, "large");
    HAS(&out, "type_check 75%, optimize 25%");
    HAS(&out, "123 MB");
    HAS(&out, "Not sampled");
    HAS(&out, "busybox  1×  -  statically linked");
    assert_true(strstr(strbuf_text(&out), "large") < strstr(strbuf_text(&out), "small"));
    HAS_NOT(&out, "\x1b"); /* neither ours nor theirs */
    HAS(&out, "evil\\e[31m");
    strbuf_free(&out);
}

static void lines_keep_to_the_terminal(void **unused)
{
    (void)unused;
    struct strbuf out = {0};
    struct report_view view = {.by_unit = true, .by_phase = true, .by_role = true};
    for (unsigned columns = 60; columns <= 140; columns += 20) {
        write_text(&view, columns, &out);
        for (const char *line = strbuf_text(&out); *line;) {
            size_t length = strcspn(line, "\n");
            if (utf8_columns(line, length) > columns)
                fail_msg("wider than %u: %.*s", columns, (int)length, line);
            assert_true(length == 0 || line[length - 1] != ' ');
            line += length + (line[length] == '\n');
        }
    }
    strbuf_free(&out);
}

static void options_choose_what_is_shown(void **unused)
{
    (void)unused;
    struct strbuf out = {0};
    write_text(&(struct report_view){.by_unit = true, .top = 1}, 100, &out);
    HAS(&out, "and 2 more, 804 ms together");
    HAS_NOT(&out, "Where the CPU time went");
    write_text(&(struct report_view){.by_unit = true, .percent_above = 1}, 100, &out);
    HAS(&out, "small");
    HAS_NOT(&out, "evil\\e[31m|`<b>\\xff\\n\"x  ");
    write_text(&(struct report_view){.by_role = true}, 100, &out);
    HAS(&out, "serial  100%");
    HAS_NOT(&out, "small");
    write_text(&(struct report_view){.by_phase = true}, 100, &out);
    HAS(&out, "type_check");
    HAS_NOT(&out, "typeck");
    write_text(&(struct report_view){.by_detail = true}, 100, &out);
    HAS(&out, "      typeck");
    HAS_NOT(&out, "      -"); /* where nothing has a detail, none is missing */
    write_text(&(struct report_view){.by_unit = true, .by_phase = true, .unit = "sm?ll"}, 100, &out);
    HAS(&out, "small");
    HAS_NOT(&out, "large");
    HAS(&out, "typeck   75.0%");
    HAS(&out, "threads' time");
    HAS(&out, "type_check  75.0%  600 ms");
    struct lam_error err = LAM_ERROR_INIT;
    struct term term = {.columns = 80};
    strbuf_clear(&out);
    assert_int_equal(
        write_report_text(report, &(struct report_view){.unit = "nobody"}, &term, &out, &err),
        LAM_E_NOTFOUND);
    assert_string_equal(err.msg, "no unit is called 'nobody'");
    strbuf_free(&out);
}

/* Adds the numbers of members `member` inside arrays `array`. */
static double sum_members(const char *text, size_t length, const char *array, const char *member,
                          size_t *rows)
{
    struct json_reader json;
    json_open_memory(&json, text, length, NULL);
    double sum = 0;
    bool in_array = false, wants_number = false;
    uint32_t array_depth = 0;
    int event;
    *rows = 0;
    bool is_named = false;
    while ((event = json_next(&json)) > 0) {
        if (event == JSON_KEY) {
            is_named = !in_array && json.depth == 1 && json.length == strlen(array) &&
                       memcmp(json.text, array, json.length) == 0;
            wants_number = in_array && json.depth == array_depth + 1 &&
                           json.length == strlen(member) &&
                           memcmp(json.text, member, json.length) == 0;
            continue;
        }
        if (event == JSON_ARRAY_BEGIN && is_named) {
            in_array = true;
            array_depth = json.depth;
        } else if (event == JSON_ARRAY_END && in_array && json.depth < array_depth) {
            in_array = false;
        } else if (event == JSON_NUMBER && wants_number) {
            sum += json.number;
            ++*rows;
        }
        is_named = wants_number = false;
    }
    struct lam_error err = LAM_ERROR_INIT;
    if (event < 0) {
        json_error(&json, "report", &err);
        fail_msg("%s", err.msg);
    }
    json_close(&json);
    return sum;
}

static void the_json_is_valid_and_adds_up(void **unused)
{
    (void)unused;
    struct strbuf text = {0};
    static struct byteout out;
    struct lam_error err = LAM_ERROR_INIT;
    byteout_init_strbuf(&out, &text);
    assert_int_equal(write_report_json(report, &(struct report_view){0}, &out, &err), LAM_OK);
    size_t rows;
    double segments = sum_members(strbuf_text(&text), text.length, "segments", "cpu_s", &rows);
    assert_int_equal(rows, 2);
    assert_true(fabs(segments - 4.004) < 1e-9);
    assert_true(
        fabs(sum_members(strbuf_text(&text), text.length, "phases", "cpu_s", &rows) - 4.004) < 1e-9);
    assert_true(fabs(sum_members(strbuf_text(&text), text.length, "phases", "share", &rows) - 1) <
                1e-6);
    assert_true(fabs(sum_members(strbuf_text(&text), text.length, "units", "sampled_cpu_s", &rows) -
                     4.004) < 1e-9);
    assert_int_equal(rows, 3);
    sum_members(strbuf_text(&text), text.length, "processes", "pid", &rows);
    assert_int_equal(rows, 4);
    HAS(&text, "\"ratio\": 0.976585366");
    HAS(&text, "\"cpu_s\": null"); /* busybox: not measured is not zero */
    static const char *const keys[] = {"session", "segments",  "phases",   "units",    "activities",
                                       "threads", "processes", "timeline", "coverage", "findings"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char key[40];
        snprintf(key, sizeof key, "\n  \"%s\": ", keys[i]);
        HAS(&text, key);
    }
    strbuf_free(&text);
}

/* ---- the schema says the same as the writer -------------------------------------------------------------------- */

static void check_rows(struct json_reader *json, const struct schema_table *table);

/* Inside of an object whose begin was read: each key is a column of the table that belongs into reports. */
static void check_object(struct json_reader *json, const struct schema_table *table)
{
    bool seen[256] = {false};
    assert_true(table->column_count <= sizeof seen);
    int event;
    while ((event = json_next(json)) == JSON_KEY) {
        char key[64];
        snprintf(key, sizeof key, "%.*s", (int)json->length, json->text);
        const struct schema_column *column = schema_column(table, key);
        if (!column || !(column->place & SCHEMA_IN_REPORT)) {
            fail_msg("%s.%s is not in the schema", table->name, key);
            return;
        }
        seen[column - table->columns] = true;
        event = json_next(json);
        if (column->type == SCHEMA_LIST) {
            assert_int_equal(event, JSON_ARRAY_BEGIN);
            check_rows(json, schema_table(column->unit));
        } else if (event != JSON_NULL) {
            bool is_text = column->type == SCHEMA_TEXT || column->type == SCHEMA_TIMESTAMP;
            int expected = is_text                          ? JSON_STRING
                           : column->type == SCHEMA_BOOLEAN ? JSON_BOOL
                                                            : JSON_NUMBER;
            if (event != expected)
                fail_msg("%s.%s has another type", table->name, key);
        }
    }
    assert_int_equal(event, JSON_OBJECT_END);
    bool is_partial =
        strcmp(table->name, "phases") == 0; /* some columns in units only, one not there */
    for (size_t i = 0; i < table->column_count; i++) {
        const struct schema_column *column = &table->columns[i];
        if ((column->place & SCHEMA_IN_REPORT) && column->since <= 1 && !seen[i] && !is_partial)
            fail_msg("%s.%s is missing in the report", table->name, column->name);
    }
}

static void check_rows(struct json_reader *json, const struct schema_table *table)
{
    int event;
    while ((event = json_next(json)) == JSON_OBJECT_BEGIN)
        check_object(json, table);
    assert_int_equal(event, JSON_ARRAY_END);
}

static void the_json_is_that_of_the_schema(void **unused)
{
    (void)unused;
    struct strbuf text = {0};
    static struct byteout out;
    static struct json_reader json;
    struct lam_error err = LAM_ERROR_INIT;
    byteout_init_strbuf(&out, &text);
    assert_int_equal(write_report_json(report, &(struct report_view){0}, &out, &err), LAM_OK);
    json_open_memory(&json, strbuf_text(&text), text.length, NULL);
    assert_int_equal(json_next(&json), JSON_OBJECT_BEGIN);
    size_t parts = 0;
    while (json_next(&json) == JSON_KEY) {
        char key[64];
        snprintf(key, sizeof key, "%.*s", (int)json.length, json.text);
        const struct schema_table *table = schema_report_part(key);
        int event = json_next(&json);
        if (!table) {
            assert_true(strcmp(key, "format") == 0 || strcmp(key, "version") == 0);
            continue;
        }
        parts++;
        assert_int_equal(event, table->report_is_list ? JSON_ARRAY_BEGIN : JSON_OBJECT_BEGIN);
        if (table->report_is_list)
            check_rows(&json, table);
        else
            check_object(&json, table);
    }
    assert_int_equal(json_next(&json), JSON_DONE);
    size_t wanted = 0;
    for (size_t i = 0; i < schema_table_count; i++)
        wanted += schema_tables[i].report_key && !schema_tables[i].report_when;
    assert_int_equal(parts, wanted);
    json_close(&json);
    strbuf_free(&text);
}

static void markdown_is_harmless(void **unused)
{
    (void)unused;
    struct strbuf out = {0};
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(write_report_markdown(
                         report,
                         &(struct report_view){.by_unit = true, .by_phase = true, .by_role = true},
                         &out, &err),
                     LAM_OK);
    HAS(&out, "## Units by CPU");
    HAS(&out, "| large |");
    HAS_NOT(&out, "typeck |");
    HAS_NOT(&out, "\x1b");
    HAS_NOT(&out, "|`<b>");
    strbuf_clear(&out);
    assert_int_equal(
        write_report_markdown(report, &(struct report_view){.by_detail = true}, &out, &err), LAM_OK);
    HAS(&out, "| typeck |");
    strbuf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_says_what_matters),
        cmocka_unit_test(lines_keep_to_the_terminal),
        cmocka_unit_test(options_choose_what_is_shown),
        cmocka_unit_test(the_json_is_valid_and_adds_up),
        cmocka_unit_test(the_json_is_that_of_the_schema),
        cmocka_unit_test(markdown_is_harmless),
    };
    return cmocka_run_group_tests(tests, open_report, close_report);
}
