/* Who calls whom, of a small program: what is told around a function, by pair, and whom a name means. */
#include "output/call_names.h"

#include "analysis/event_feed_test.h"
#include "analysis/sink_tee.h"
#include "output/text_has_test.h"
#include "output/write_calls.h"
#include "output/write_report.h"

static struct classifier *cls;
static struct report *report;
static struct labels *labels;
static struct calls calls;

struct step {
    uint32_t parent; /* index + 1 in the steps; 0: outermost */
    const char *label;
    uint32_t count;
    uint64_t self_ns;
    uint32_t thread, track;
};

/* Two threads, and two tracks on the second one, where walk and visit call each other. */
static const struct step steps[] = {
    {0, "main (a.lua:1)", 1, 10000, 1, 0},
    {1, "parse (a.lua:5)", 2, 20000, 1, 0},
    {2, "parse (a.lua:5)", 3, 30000, 1, 0}, /* itself again */
    {3, "string.rep (C)", 4, 40000, 1, 0},
    {1, "string.rep (C)", 5, 50000, 1, 0},
    {0, "walk (a.lua:9)", 1, 1000, 2, 1},
    {6, "visit (a.lua:12)", 2, 2000, 2, 1},
    {7, "walk (a.lua:9)", 2, 4000, 2, 1},
    {8, "string.rep (C)", 1, 8000, 2, 1},
    {0, "visit (a.lua:12)", 1, 16000, 2, 2},
    {10, "a|b<i>`\x1b[1m", 1, 35000, 2, 2},
    {0, "idle", 1, 500, 2, 0},
};
enum { STEPS = sizeof steps / sizeof *steps };

/* Each step as one interval that stands for all of its calls. */
static void push(struct event_feed *feed)
{
    uint32_t ids[STEPS], kind;
    feed_session(feed);
    feed_process(feed, 1, "lua");
    feed_thread(feed, 1, 7);
    feed_thread(feed, 1, 8);
    for (uint32_t i = 1; i <= 2; i++) {
        struct profile_track track = {
            .track = i, .process = 1, .name = feed_text(i == 1 ? "first" : "second")};
        FEED_CALL(feed, track, &track);
    }
    kind = feed_label(feed, 0, "Call");
    for (uint32_t i = 0; i < STEPS; i++) {
        ids[i] = 0;
        for (uint32_t k = 0; k < i; k++)
            ids[i] = strcmp(steps[k].label, steps[i].label) == 0 ? ids[k] : ids[i];
        ids[i] = ids[i] ? ids[i] : feed_label(feed, kind, steps[i].label);
    }
    for (uint32_t i = 0; i < STEPS; i++)
        feed_path(feed, steps[i].parent, ids[i]);
    for (uint32_t i = 0; i < STEPS; i++) {
        struct profile_fold fold = {.process = 1,
                                    .thread = steps[i].thread,
                                    .track = steps[i].track,
                                    .label = ids[i],
                                    .path = i + 1,
                                    .count = steps[i].count,
                                    .total_ns = steps[i].self_ns,
                                    .self_ns = steps[i].self_ns};
        FEED_CALL(feed, fold, &fold);
    }
    feed_process_end(feed, 1);
    feed_session_end(feed);
}

static int setup(void **state)
{
    (void)state;
    struct lam_error err = LAM_ERROR_INIT;
    struct labels_options options = {.by_path = true};
    assert_int_equal(classifier_open(&cls, NULL, &err), LAM_OK);
    assert_int_equal(report_open(&report, &(struct report_options){.cls = cls}, &err), LAM_OK);
    assert_int_equal(labels_open(&labels, &options, &err), LAM_OK);
    struct sink_tee tee;
    struct profile_sink first = report_sink(report), second = labels_sink(labels);
    struct event_feed feed = {.sink = sink_tee(&tee, &first, &second)};
    push(&feed);
    assert_int_equal(labels_finish(labels, &err), LAM_OK);
    assert_int_equal(report_finish(report, &err), LAM_OK);
    assert_int_equal(calls_of_events(&calls, labels), LAM_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    calls_free(&calls);
    labels_close(&labels);
    report_close(&report);
    classifier_close(&cls);
    return 0;
}

static void write(const struct report_view *view, struct strbuf *out)
{
    struct lam_error err = LAM_ERROR_INIT;
    struct term term = {0};
    strbuf_clear(out);
    assert_int_equal(write_report_text(report, view, &term, out, &err), LAM_OK);
}

static void around(void **state)
{
    (void)state;
    struct report_view view = {.labels = labels, .event_calls = &calls, .around = "parse"};
    struct strbuf out = {0};
    write(&view, &out);
    HAS(&out,
        "Around parse (a.lua:5)\n"
        "  5 calls (3 of them by itself), total 90.0 µs (41.6% of all), self 50.0 µs (23.1%)\n"
        "          label               time  share  calls\n"
        "  caller  main (a.lua:1)   90.0 µs   100%      2\n"
        "  itself  parse (a.lua:5)  50.0 µs  55.6%\n"
        "  callee  string.rep (C)   40.0 µs  44.4%      4\n");
    HAS_NOT(&out, "Around main");
    view.around = "walk";
    write(&view, &out);
    HAS(&out, "  caller  (outermost)       15.0 µs   100%      1\n"
              "  caller  visit (a.lua:12)      0 s     0%      2\n"
              "  itself  walk (a.lua:9)    5.00 µs  33.3%\n"
              "  callee  string.rep (C)    8.00 µs  53.3%      1\n"
              "  callee  visit (a.lua:12)  2.00 µs  13.3%      2\n");
    view.around = "string.*";
    view.top = 1;
    view.has_top = true;
    write(&view, &out);
    HAS(&out, "  caller  main (a.lua:1)  50.0 µs  51.0%      5\n"
              "  itself  string.rep (C)  98.0 µs   100%\n"
              "  and 2 more callers, 48.0 µs together (--top 0 shows all)\n");
    view.top = 0;
    view.percent_above = 10;
    write(&view, &out);
    HAS(&out,
        "  and 1 more caller, 8.00 µs together (--top 0 without --percent-above shows all)\n");
    strbuf_free(&out);
}

static void by_caller(void **state)
{
    (void)state;
    struct report_view view = {.labels = labels, .event_calls = &calls, .by_caller = true, .top = 3};
    struct strbuf out = {0};
    struct lam_error err = LAM_ERROR_INIT;
    write(&view, &out);
    HAS(&out, "  caller          label                time  share     self  calls\n"
              "  (outermost)     main (a.lua:1)     150 µs  69.3%  10.0 µs      1\n"
              "  main (a.lua:1)  parse (a.lua:5)   90.0 µs  41.6%  20.0 µs      2\n"
              "  (outermost)     visit (a.lua:12)  51.0 µs  23.6%  16.0 µs      1\n"
              "  and 9 more pairs (--top 0 shows all)\n");
    strbuf_clear(&out);
    view.top = 0;
    assert_int_equal(write_report_markdown(report, &view, &out, &err), LAM_OK);
    HAS(&out, "## By caller");
    HAS(&out, "| a\\|b\\<i\\>\\`\\\\e\\[1m |");
    strbuf_free(&out);
}

/* Each track has a row, with its thread; what the thread did outside of them has one, too. */
static void by_track(void **state)
{
    (void)state;
    struct report_view view = {.labels = labels, .by_thread = true};
    struct strbuf out = {0};
    write(&view, &out);
    HAS(&out, "  thread  name    track      self  share  first to last  events\n");
    HAS(&out, "       7  worker           150 µs  69.3%         150 µs      15\n");
    HAS(&out, "       8  worker  second  51.0 µs  23.6%        51.0 µs       2\n");
    HAS(&out, "       8  worker  first   15.0 µs   6.9%        15.0 µs       6\n");
    HAS(&out, "       8  worker           500 ns   0.2%         500 ns       1\n");
    assert_int_equal(labels->threads.count, 2);
    assert_int_equal(labels->threads.items[1].all.self_ns, 66500);
    assert_int_equal(labels->threads.items[1].all.events, 9);
    strbuf_free(&out);
}

static void who_is_meant(void **state)
{
    (void)state;
    static const struct {
        const char *wanted, *found[4];
    } rows[] = {
        {"main (a.lua:1)", {"main (a.lua:1)"}},
        {"main", {"main (a.lua:1)"}},
        {"idle", {"idle"}},
        {"idl", {"idle"}},
        {"*(C)", {"string.rep (C)"}},
        {"visit (a.lua:?2)", {"visit (a.lua:12)"}},
        {"nobody", {NULL}},
        {"*nobody*", {NULL}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct call_names names = {0};
        assert_int_equal(calls_find(&calls, rows[i].wanted, &names), LAM_OK);
        for (size_t k = 0; k < names.count || rows[i].found[k]; k++) {
            const char *found = k < names.count ? calls.names.items[names.items[k]].name.bytes : NULL;
            if (!found || !rows[i].found[k] || strcmp(found, rows[i].found[k]) != 0)
                fail_msg("'%s' means %s, not %s", rows[i].wanted, found, rows[i].found[k]);
        }
        array_free(&names);
    }
    struct call_names names = {0}; /* what holds it, most time first */
    assert_int_equal(calls_find(&calls, "i", &names), LAM_OK);
    assert_int_equal(names.count, 5);
    for (size_t k = 1; k < names.count; k++)
        assert_true(calls.graph.functions.items[names.items[k - 1]].total.ns >=
                    calls.graph.functions.items[names.items[k]].total.ns);
    array_free(&names);
}

static void nobody_is_called_so(void **state)
{
    (void)state;
    static const struct {
        const char *wanted, *message;
    } rows[] = {
        {"prase", "nothing is called 'prase'; there are 'parse (a.lua:5)'"},
        {"Wlk", "nothing is called 'Wlk'; there are 'walk (a.lua:9)'"},
        {"reps", "nothing is called 'reps'; there are 'string.rep (C)'"},
        {"something else",
         "nothing is called 'something else' (part of a name, or a pattern with * and ?)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct report_view view = {.labels = labels, .event_calls = &calls, .around = rows[i].wanted};
        struct calls_found_both found;
        struct lam_error err = LAM_ERROR_INIT;
        assert_int_equal(calls_found_make(&view, &found, &err), LAM_E_NOTFOUND);
        if (strcmp(err.msg, rows[i].message) != 0)
            fail_msg("%s", err.msg);
        calls_found_free(&found);
    }
    struct report_view view = {.around = "x"};
    struct calls_found_both found;
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(calls_found_make(&view, &found, &err), LAM_E_NOTFOUND);
    assert_string_equal(err.msg, "--around 'x': there are neither events nor samples with stacks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(around),
        cmocka_unit_test(by_caller),
        cmocka_unit_test(by_track),
        cmocka_unit_test(who_is_meant),
        cmocka_unit_test(nobody_is_called_so),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
