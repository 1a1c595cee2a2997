#include "output/write_labels.h"

#include "analysis/event_feed_test.h"
#include "analysis/sink_tee.h"
#include "base/json_read.h"
#include "output/text_has_test.h"
#include "output/write_report.h"
#include "profile/schema.h"

/* Names of outside origin hold what they like. */
#define EVIL "evil\x1b[31m|`<b>\xff\n\"x</script>"

static struct classifier *cls;
static struct report *report;
static struct labels *labels;

static void push(struct event_feed *feed)
{
    uint32_t kind = 0, query = 0, evil = 0, mark = 0, size = 0;
    feed_session(feed);
    for (uint32_t process = 1; process <= 2; process++) {
        feed_process(feed, process, process == 1 ? "one" : EVIL);
        uint32_t thread = feed_thread(feed, process, 7);
        if (process == 1) {
            kind = feed_label(feed, 0, "Query");
            query = feed_label(feed, kind, "typeck");
            evil = feed_label(feed, feed_label(feed, 0, EVIL), EVIL);
            mark = feed_label(feed, feed_label(feed, 0, "Mark"), "gc");
            size = feed_label(feed, feed_label(feed, 0, "ArtifactSize"), "rlib");
        }
        uint32_t path = process == 1 ? feed_path(feed, 0, query) : feed->paths;
        uint32_t inner = process == 1 ? feed_path(feed, path, evil) : 0;
        feed_interval(feed, (struct feed_event){process, thread, query, 0, 100000000, 3000, 0, 1, 0,
                                                process == 1 ? path : 1, "DefId(1)"});
        feed_interval(feed,
                      (struct feed_event){process, thread, evil, 1000, 4000, 0, 0, 1,
                                          PROFILE_INTERVAL_OPEN, process == 1 ? inner : 2, EVIL});
        feed_instant(feed, process, thread, mark);
        feed_integer(feed, process, thread, size, 123456);
        feed_process_end(feed, process);
    }
    feed_session_end(feed);
}

static void open_pushed(void (*push_all)(struct event_feed *feed), enum profile_measure measure)
{
    struct lam_error err = LAM_ERROR_INIT;
    struct report_options options = {.cls = cls};
    struct labels_options label_options = {.by_unit = true, .by_argument = true, .by_path = true};
    assert_int_equal(report_open(&report, &options, &err), LAM_OK);
    assert_int_equal(labels_open(&labels, &label_options, &err), LAM_OK);
    struct sink_tee tee;
    struct profile_sink first = report_sink(report), second = labels_sink(labels);
    struct event_feed feed = {.sink = sink_tee(&tee, &first, &second)};
    push_all(&feed);
    assert_int_equal(labels_finish(labels, &err), LAM_OK);
    assert_int_equal(report_finish(report, &err), LAM_OK);
    labels->session.measure = measure;
}

static void open_with(enum profile_measure measure)
{
    open_pushed(push, measure);
}

/* A process that forked: the parent is paused half the time and goes 30 labels deep, the child has the same name and stores
 * its calls as sums. */
static void push_fork(struct event_feed *feed)
{
    enum { DEPTH = 30 };
    uint32_t call = 0, path = 0;
    feed_session(feed);
    for (uint32_t process = 1; process <= 2; process++) {
        feed_process(feed, process, "same");
        uint32_t thread = feed_thread(feed, process, 7);
        call = call ? call : feed_label(feed, feed_label(feed, 0, "Call"), "call");
        for (int64_t depth = 0; process == 1 && depth < DEPTH; depth++) {
            path = feed_path(feed, path, call);
            feed_interval(feed, (struct feed_event){process, thread, call, depth, 1000000 - depth,
                                                    0, depth ? 0 : 500000, 1, 0, path, NULL});
        }
        struct profile_fold fold = {.process = process,
                                    .thread = thread,
                                    .label = call,
                                    .path = 1,
                                    .count = 7,
                                    .total_ns = 3000000,
                                    .self_ns = 3000000};
        if (process == 2)
            FEED_CALL(feed, fold, &fold);
        feed_process_end(feed, process);
    }
    feed_session_end(feed);
}

static int setup(void **state)
{
    (void)state;
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(classifier_open(&cls, NULL, &err), LAM_OK);
    open_with(PROFILE_MEASURE_TIME);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    labels_close(&labels);
    report_close(&report);
    classifier_close(&cls);
    return 0;
}

static struct report_view everything(void)
{
    return (struct report_view){.by_unit = true,
                                .by_phase = true,
                                .labels = labels,
                                .by_label = true,
                                .by_kind = true,
                                .by_argument = true,
                                .by_path = true,
                                .by_thread = true};
}

static void text(void **state)
{
    (void)state;
    struct strbuf out = {0};
    struct lam_error err = LAM_ERROR_INIT;
    struct report_view view = everything();
    struct term term = {0};
    assert_int_equal(write_report_text(report, &view, &term, &out, &err), LAM_OK);
    static const char *const wanted[] = {"events 4 intervals and 4 instants on 2 threads",
                                         "by label",
                                         "typeck",
                                         "100 ms",
                                         "By kind",
                                         "By argument",
                                         "DefId(1)",
                                         "By path",
                                         "By unit",
                                         "one",
                                         "By thread",
                                         "Artifact sizes",
                                         "246,912",
                                         "Instants and integers",
                                         "never ended",
                                         "median"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        HAS(&out, wanted[i]);
    HAS_NOT(&out, "\x1b");
    HAS_NOT(&out, "Not sampled");
    HAS_NOT(&out, "Units by CPU");
    HAS_NOT(&out, "command's end is not");
    strbuf_free(&out);
}

/* What is asked for, and no more. */
static void options_choose(void **state)
{
    (void)state;
    struct strbuf out = {0};
    struct lam_error err = LAM_ERROR_INIT;
    struct term term = {.columns = 80};
    struct report_view view = {.labels = labels, .by_label = true, .top = 1};
    assert_int_equal(write_report_text(report, &view, &term, &out, &err), LAM_OK);
    HAS(&out, "and 1 more label, 6.00 µs together (--top 0 shows all)");
    HAS_NOT(&out, "By unit");
    HAS_NOT(&out, "median"); /* too narrow */
    strbuf_clear(&out);
    view.top = 0;
    view.percent_above = 50;
    assert_int_equal(write_report_text(report, &view, &term, &out, &err), LAM_OK);
    HAS(&out, "and 1 more label, 6.00 µs together (--top 0 without --percent-above shows all)");
    strbuf_free(&out);
}

static void markdown(void **state)
{
    (void)state;
    struct strbuf out = {0};
    struct lam_error err = LAM_ERROR_INIT;
    struct report_view view = everything();
    assert_int_equal(write_report_markdown(report, &view, &out, &err), LAM_OK);
    HAS(&out, "## Where the time went, by label");
    HAS(&out, "| typeck | Query |");
    HAS_NOT(&out, "\x1b");
    HAS_NOT(&out, "|`<b>");
    strbuf_free(&out);
}

/* ---- the schema says the same as the writer ---------------------------------------------------------------------- */

static void check_object(struct json_reader *json, const struct schema_table *table)
{
    bool seen[256] = {false};
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
        bool fits = event == JSON_NULL ||
                    event == (column->type == SCHEMA_TEXT ? JSON_STRING : JSON_NUMBER);
        if (!fits)
            fail_msg("%s.%s has another type", table->name, key);
    }
    assert_int_equal(event, JSON_OBJECT_END);
    for (size_t i = 0; i < table->column_count; i++)
        if ((table->columns[i].place & SCHEMA_IN_REPORT) && !seen[i])
            fail_msg("%s.%s is missing in the report", table->name, table->columns[i].name);
}

static const char *const event_tables[] = {"intervals",      "activities",       "activity_kinds",
                                           "activity_units", "activity_threads", "artifact_sizes",
                                           "instants",       "arguments",        "paths"};

static bool is_of_events(const char *key)
{
    for (size_t i = 0; i < sizeof event_tables / sizeof *event_tables; i++)
        if (strcmp(event_tables[i], key) == 0)
            return true;
    return false;
}

static size_t check_json(const struct strbuf *out)
{
    static struct json_reader json;
    size_t parts = 0;
    json_open_memory(&json, strbuf_text(out), out->length, NULL);
    assert_int_equal(json_next(&json), JSON_OBJECT_BEGIN);
    while (json_next(&json) == JSON_KEY) {
        char key[64];
        snprintf(key, sizeof key, "%.*s", (int)json.length, json.text);
        if (!is_of_events(key)) {
            assert_int_equal(json_skip_value(&json), LAM_OK);
            continue;
        }
        const struct schema_table *table = schema_report_part(key);
        assert_non_null(table);
        parts++;
        int event = json_next(&json), rows = 0;
        if (event == JSON_OBJECT_BEGIN) {
            check_object(&json, table);
            continue;
        }
        assert_int_equal(event, JSON_ARRAY_BEGIN);
        for (; (event = json_next(&json)) == JSON_OBJECT_BEGIN; rows++)
            check_object(&json, table);
        assert_int_equal(event, JSON_ARRAY_END);
        if (rows == 0)
            fail_msg("%s is empty", key);
    }
    assert_int_equal(json_next(&json), JSON_DONE);
    json_close(&json);
    return parts;
}

static void json(void **state)
{
    (void)state;
    struct strbuf out = {0};
    static struct byteout bytes;
    struct lam_error err = LAM_ERROR_INIT;
    struct report_view view = everything();
    byteout_init_strbuf(&bytes, &out);
    assert_int_equal(write_report_json(report, &view, &bytes, &err), LAM_OK);
    assert_int_equal(check_json(&out), sizeof event_tables / sizeof *event_tables);
    HAS(&out, "\"measure\": \"time\"");
    HAS(&out, "\"self_s\": 0.099997,");
    HAS(&out, "\"self_units\": null");
    strbuf_free(&out);
}

/* What is no time stands under other names. */
static void instructions(void **state)
{
    (void)state;
    labels_close(&labels);
    report_close(&report);
    open_with(PROFILE_MEASURE_INSTRUCTIONS);
    struct strbuf out = {0};
    static struct byteout bytes;
    struct lam_error err = LAM_ERROR_INIT;
    struct report_view view = everything();
    byteout_init_strbuf(&bytes, &out);
    assert_int_equal(write_report_json(report, &view, &bytes, &err), LAM_OK);
    check_json(&out);
    HAS(&out, "\"measure\": \"instructions\"");
    HAS(&out, "\"self_units\": 99997000,");
    HAS(&out, "\"self_s\": null");
    strbuf_clear(&out);
    struct term term = {0};
    assert_int_equal(write_report_text(report, &view, &term, &out, &err), LAM_OK);
    HAS(&out, "(instructions)");
    HAS(&out, "100M");
    strbuf_free(&out);
}

static size_t lines_with(const struct strbuf *buf, const char *text)
{
    size_t count = 0;
    for (const char *at = strbuf_text(buf); (at = strstr(at, text)); at++)
        count++;
    return count;
}

static void of_a_fork(void **state)
{
    (void)state;
    labels_close(&labels);
    report_close(&report);
    open_pushed(push_fork, PROFILE_MEASURE_TIME);
    struct strbuf out = {0};
    struct lam_error err = LAM_ERROR_INIT;
    struct term term = {.columns = 120};
    struct report_view view = {.labels = labels, .by_label = true, .by_unit = true, .by_thread = true};
    assert_int_equal(write_report_text(report, &view, &term, &out, &err), LAM_OK);
    assert_int_equal(lines_with(&out, "(pid 101)"), 2); /* a unit and its thread */
    assert_int_equal(lines_with(&out, "(pid 102)"), 2);
    HAS(&out, "active");
    HAS(&out, "shares are of");
    HAS(&out, "100%");
    HAS_NOT(&out, "instant");
    HAS_NOT(&out, "peak threads"); /* nobody was sampled */
    strbuf_clear(&out);
    static struct byteout bytes;
    byteout_init_strbuf(&bytes, &out);
    assert_int_equal(write_report_json(report, &view, &bytes, &err), LAM_OK);
    HAS(&out, "\"peak_threads\": null");
    HAS(&out, "\"serial_tail_s\": null");
    HAS(&out, "\"cores\": null");
    strbuf_free(&out);
}

/* As many paths as --top says, the deep ones by number; Markdown has no indentation. */
static void paths_by_top(void **state)
{
    (void)state;
    labels_close(&labels);
    report_close(&report);
    open_pushed(push_fork, PROFILE_MEASURE_TIME);
    struct strbuf out = {0};
    struct lam_error err = LAM_ERROR_INIT;
    struct term term = {0};
    struct report_view view = {.labels = labels, .by_path = true, .has_top = true};
    static const uint32_t tops[] = {1, 12, 29, 30, 31, 0};
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++) {
        char hidden[40];
        uint32_t shown = tops[i] && tops[i] < 30 ? tops[i] : 30;
        view.top = tops[i];
        strbuf_clear(&out);
        assert_int_equal(write_report_text(report, &view, &term, &out, &err), LAM_OK);
        assert_int_equal(lines_with(&out, "call "), shown);
        snprintf(hidden, sizeof hidden, "and %u more path%s ", 30 - shown, unit_plural(30 - shown));
        assert_int_equal(lines_with(&out, hidden), shown < 30);
        assert_int_equal(lines_with(&out, "(25) call"), shown >= 26);
        assert_int_equal(lines_with(&out, "(number) before a path"), shown >= 26);
    }
    strbuf_clear(&out);
    assert_int_equal(write_report_markdown(report, &view, &out, &err), LAM_OK);
    HAS(&out, "| depth | path | time |");
    HAS(&out, "| 29 | call | ");
    HAS_NOT(&out, "(25)");
    strbuf_free(&out);
}

/* One denominator: the whole of a label has the same share by path and by label. */
static void one_share(void **state)
{
    (void)state;
    labels_close(&labels);
    report_close(&report);
    open_pushed(push_fork, PROFILE_MEASURE_TIME);
    assert_true(labels->whole_ns > labels->thread_ns);
    double sum = 0;
    array_each(&labels->rows, row) sum += labels_share_of_all(labels, row->self_ns);
    assert_true(sum <= 1);
    struct strbuf out = {0};
    struct lam_error err = LAM_ERROR_INIT;
    struct term term = {0};
    struct report_view view = {.labels = labels, .by_path = true};
    assert_int_equal(write_report_text(report, &view, &term, &out, &err), LAM_OK);
    HAS(&out, unit_percent(labels_share_of_all(labels, labels->paths.nodes.items[1].time_ns)).text);
    strbuf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text),         cmocka_unit_test(options_choose),
        cmocka_unit_test(markdown),     cmocka_unit_test(json),
        cmocka_unit_test(instructions), cmocka_unit_test(of_a_fork),
        cmocka_unit_test(paths_by_top), cmocka_unit_test(one_share),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
