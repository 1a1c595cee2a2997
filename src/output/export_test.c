/* All exporters on the cases that broke others: equal times, overlaps, names of any bytes, depth. Each output is written to
 * $LAMELLA_EXPORT_DIR/CASE.FORMAT when that is set, for tests/export_formats.py to look at with stricter eyes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/json_read.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "output/exporter.h"
#include "output/merge_small.h"

/* One event of a thread; a case lists those of each thread by start, parents first. */
struct test_event {
    uint32_t thread, label;
    int64_t start, end; /* end INT64_MIN: an instant */
    uint32_t flags;
};

#define INSTANT INT64_MIN
#define TEXT(literal)                  \
    (struct profile_text)              \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }

struct test_case {
    const char *name;
    const struct profile_text *labels; /* from label 2 on; 1 is the kind */
    uint32_t label_count;
    const struct test_event *events;
    size_t event_count;
    struct profile_text program, thread_name;
    const struct profile_text *args; /* of every interval */
    size_t argc;
};

/* What nesting means, the plain way: an open interval is around the next one if it ends no earlier. */
struct nested {
    LAM_ARRAY(struct profile_interval) intervals; /* in the order of the events */
    LAM_ARRAY(uint32_t) paths;                    /* parents of the paths 1, 2, … */
    LAM_ARRAY(uint32_t) path_labels;
};

static uint32_t path_of(struct nested *nested, uint32_t parent, uint32_t label)
{
    if (nested->paths.count < 1000) { /* the deep case has a new one each time */
        for (uint32_t i = 0; i < nested->paths.count; i++)
            if (nested->paths.items[i] == parent && nested->path_labels.items[i] == label)
                return i + 1;
    }
    assert_int_equal(array_push(&nested->paths, parent), LAM_OK);
    assert_int_equal(array_push(&nested->path_labels, label), LAM_OK);
    return (uint32_t)nested->paths.count;
}

static void nest(const struct test_case *test, struct nested *nested)
{
    LAM_ARRAY(size_t) open = {0};
    uint32_t thread = 0, chains = 0;
    for (size_t i = 0; i < test->event_count; i++) {
        const struct test_event *event = &test->events[i];
        if (event->end == INSTANT)
            continue;
        if (event->thread != thread)
            array_clear(&open);
        thread = event->thread;
        struct profile_interval interval = {.process = 1,
                                            .thread = event->thread,
                                            .label = event->label,
                                            .start_ns = event->start,
                                            .end_ns = event->end,
                                            .active_ns = (uint64_t)(event->end - event->start),
                                            .weight = 1,
                                            .flags = event->flags,
                                            .end_thread = event->thread,
                                            .args = test->args,
                                            .argc = test->argc};
        interval.self_ns = interval.active_ns;
        interval.chain = event->flags & PROFILE_INTERVAL_OVERLAPS ? ++chains : 0;
        uint32_t parent = 0;
        while (!event->flags && open.count) {
            struct profile_interval *top = &nested->intervals.items[array_last(&open)];
            /* What only touches the end of another is beside it. */
            if (top->end_ns >= event->end &&
                (top->end_ns > event->start || top->start_ns == event->start)) {
                interval.depth = (uint32_t)open.count;
                top->self_ns -= interval.active_ns;
                top->children++;
                parent = top->path;
                break;
            }
            (void)array_pop(&open);
        }
        interval.path = path_of(nested, parent, event->label);
        if (!event->flags)
            assert_int_equal(array_push(&open, nested->intervals.count), LAM_OK);
        assert_int_equal(array_push(&nested->intervals, interval), LAM_OK);
    }
    array_free(&open);
}

#define PUSH(member, ...)                                                        \
    do {                                                                         \
        if (sink->ops->member)                                                   \
            assert_int_equal(sink->ops->member(sink->ctx, __VA_ARGS__), LAM_OK); \
    } while (0)

static void push_names(const struct test_case *test, const struct nested *nested,
                       const struct profile_sink *sink)
{
    struct profile_session session = {.command = "cc -c <a> & \"b\"",
                                      .directory = "/",
                                      .started_at_unix_ns = 1700000000000000000,
                                      .elapsed_ns = PROFILE_UNKNOWN,
                                      .has_intervals = true};
    PUSH(session, &session);
    PUSH(process, &(struct profile_process){.process = 1, .pid = 77, .exe = test->program});
    struct profile_label kind = {.label = 1, .text = TEXT("Kind")};
    PUSH(label, &kind);
    for (uint32_t i = 0; i < test->label_count; i++) {
        struct profile_label label = {.label = i + 2, .kind = 1, .text = test->labels[i]};
        PUSH(label, &label);
    }
    for (uint32_t thread = 1; thread <= 2; thread++) {
        struct profile_thread made = {
            .thread = thread, .process = 1, .tid = 76 + thread, .name = test->thread_name};
        PUSH(thread, &made);
    }
    for (uint32_t i = 0; i < nested->paths.count && sink->wants.paths; i++) {
        struct profile_path path = {i + 1, nested->paths.items[i], nested->path_labels.items[i]};
        PUSH(path, &path);
    }
}

static void push_instant(const struct profile_sink *sink, const struct test_event *event)
{
    struct profile_instant instant = {
        .process = 1, .thread = event->thread, .label = event->label, .at_ns = event->start};
    PUSH(instant, &instant);
}

/* In PROFILE_ORDER_ANY backwards, as self-profiles come. */
static void push_case(const struct test_case *test, const struct profile_sink *sink)
{
    struct nested nested = {0};
    nest(test, &nested);
    push_names(test, &nested, sink);
    bool in_order = sink->wants.order == PROFILE_ORDER_START;
    size_t next = in_order ? 0 : nested.intervals.count;
    for (size_t i = 0; i < test->event_count; i++) {
        const struct test_event *event = &test->events[in_order ? i : test->event_count - 1 - i];
        if (event->end == INSTANT) {
            push_instant(sink, event);
            continue;
        }
        struct profile_interval interval = nested.intervals.items[in_order ? next++ : --next];
        if (in_order)
            interval.self_ns = interval.children = PROFILE_UNKNOWN;
        if (!sink->wants.args)
            interval.argc = 0;
        PUSH(interval, &interval);
    }
    PUSH(process_end, &(struct profile_process_end){
                          .process = 1, .end_ns = 1000, .exit_code = 0, .cpu_ns = PROFILE_UNKNOWN});
    PUSH(session_end, &(struct profile_session_end){.streams = 1});
    array_free(&nested.intervals);
    array_free(&nested.paths);
    array_free(&nested.path_labels);
}

static void keep(const char *name, const char *format, const struct strbuf *output)
{
    const char *dir = getenv("LAMELLA_EXPORT_DIR");
    if (!dir)
        return;
    char path[512];
    snprintf(path, sizeof path, "%s/%s.%s", dir, name, format);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(strbuf_text(output), 1, output->length, file);
    fclose(file);
}

static void export_case(const struct test_case *test, const struct export_format *format,
                        const struct export_options *options, struct strbuf *output)
{
    struct byteout *out = mem_alloc(sizeof *out);
    struct lam_error err = LAM_ERROR_INIT;
    void *state;
    assert_non_null(out);
    byteout_init_strbuf(out, output);
    assert_int_equal(format->open(&state, options, out, &err), LAM_OK);
    struct profile_sink sink = format->sink(state);
    push_case(test, &sink);
    if (format->finish(state, &err) != LAM_OK)
        fail_msg("%s: %s", format->name, err.msg);
    format->close(&state);
    assert_null(state);
    assert_int_equal(byteout_flush(out, "output", &err), LAM_OK);
    assert_true(strbuf_ok(output));
    mem_free(out);
}

/* What holds for every text: no byte that is no UTF-8, and no control character but line breaks. */
static void check_text(const struct export_format *format, const struct strbuf *output)
{
    const char *text = strbuf_text(output);
    if (format->is_binary)
        return;
    assert_true(utf8_is_valid(text, output->length));
    for (size_t i = 0; i < output->length; i++)
        if ((unsigned char)text[i] < 0x20 && text[i] != '\n')
            fail_msg("%s: byte %zu is %02x", format->name, i, (unsigned)(unsigned char)text[i]);
}

static void export_all(const struct test_case *test)
{
    const struct export_options options = {.scratch_dir = "", .title = test->name};
    for (const struct export_format *format = export_formats; format->name; format++) {
        struct strbuf output = {0};
        export_case(test, format, &options, &output);
        check_text(format, &output);
        keep(test->name, format->name, &output);
        strbuf_free(&output);
    }
}

/* ---- cases ---- */

enum { A = 2, B, C, D, E, I };
static const struct profile_text letters[] = {{"A", 1}, {"B", 1}, {"C", 1},
                                              {"D", 1}, {"E", 1}, {"I", 1}};

static const struct test_event equal_times[] = {
    {1, A, 0, 20, 0},  {1, B, 0, 20, 0},       {1, I, 0, INSTANT, 0},  {1, C, 20, 20, 0},
    {1, D, 20, 30, 0}, {1, I, 20, INSTANT, 0}, {1, E, 25, 25, 0},      {1, I, 30, INSTANT, 0},
    {2, A, 0, 20, 0},  {2, I, 0, INSTANT, 0},  {2, I, 20, INSTANT, 0}, {2, I, 30, INSTANT, 0},
};
static const struct test_event overlaps[] = {
    {1, A, 0, 100, 0},
    {1, B, 50, 150, PROFILE_INTERVAL_OVERLAPS},
    {1, C, 60, 160, PROFILE_INTERVAL_OVERLAPS},
    {1, D, 110, 120, 0},
    {1, E, 160, 170, PROFILE_INTERVAL_DETACHED},
    {2, A, 2000, 2000, PROFILE_INTERVAL_BACKWARD},
    {2, B, 2001, 2500, PROFILE_INTERVAL_OPEN},
};

#define CASE(name_, labels_, events_)                                                             \
    {                                                                                             \
        .name = (name_), .labels = (labels_), .label_count = sizeof(labels_) / sizeof *(labels_), \
        .events = (events_), .event_count = sizeof(events_) / sizeof *(events_),                  \
        .program = {"/usr/bin/prog", 13}, .thread_name = {                                        \
            "main",                                                                               \
            4                                                                                     \
        }                                                                                         \
    }

static void equal_times_everywhere(void **state)
{
    (void)state;
    static const struct test_case test = CASE("equal", letters, equal_times);
    export_all(&test);
    struct strbuf folded = {0};
    const struct export_options options = {.scratch_dir = ""};
    export_case(&test, export_format_named("folded"), &options, &folded);
    assert_string_equal(strbuf_text(&folded),
                        "prog;A 20\nprog;A;B 20\nprog;C 0\nprog;D 10\nprog;D;E 0\n");
    strbuf_free(&folded);
}

static void overlaps_everywhere(void **state)
{
    (void)state;
    static const struct test_case test = CASE("overlap", letters, overlaps);
    export_all(&test);
}

static void hostile_names_everywhere(void **state)
{
    (void)state;
    enum { LONG_CHARS = 1 << 19 };
    char *many = mem_alloc(LONG_CHARS * 2);
    assert_non_null(many);
    for (size_t i = 0; i < LONG_CHARS; i++) {
        many[2 * i] = (char)0xc3;
        many[2 * i + 1] = (char)0xa9;
    }
    const struct profile_text labels[] = {
        TEXT("a\x1b"
             "b"),
        TEXT("a\\x1b"
             "b"),
        TEXT("q\"\\'&<>"),
        TEXT("semi;colon 12"),
        TEXT("nl\nx"),
        TEXT("\xff\xfe"),
        TEXT("\xed\xa0\x80"),
        TEXT("\xef\xbf\xbe"),
        TEXT("\xe2\x80\xa8"),
        TEXT("nul\0here"),
        TEXT(""),
        TEXT("</script><img src=x onerror=alert(1)>"),
        TEXT("<!--<script>"),
        TEXT("]]>"),
        TEXT("__DATA__"),
        TEXT("${name}%s%n\\"),
        {many, LONG_CHARS * 2},
    };
    enum { COUNT = sizeof labels / sizeof *labels };
    const struct profile_text args[] = {TEXT("arg\x1e\xff\"</script>"), TEXT("")};
    struct test_event events[COUNT * 2];
    for (uint32_t i = 0; i < COUNT; i++) {
        events[2 * i] = (struct test_event){1, i + 2, 1000 * i, 1000 * i + 900 + i, 0};
        events[2 * i + 1] =
            (struct test_event){1, (i + 1) % COUNT + 2, 1000 * i + 10, 1000 * i + 20, 0};
    }
    const struct test_case test = {.name = "names",
                                   .labels = labels,
                                   .label_count = COUNT,
                                   .events = events,
                                   .event_count = COUNT * 2,
                                   .program = TEXT("/x/</script><b>\x1b\xff"),
                                   .thread_name = TEXT("t;\n<!--\xfe"),
                                   .args = args,
                                   .argc = 2};
    export_all(&test);
    mem_free(many);
}

static void depth_everywhere(void **state)
{
    (void)state;
    /* Deep enough for any stack; no more than takes a script a second to read back where it is kept for one. */
    const int deep = getenv("LAMELLA_EXPORT_DIR") ? 20000 : 200000;
    static const struct profile_text names[] = {{"n", 1}, {"m", 1}};
    struct test_event *events = mem_alloc((size_t)deep * sizeof *events);
    assert_non_null(events);
    for (int i = 0; i < deep; i++)
        events[i] = (struct test_event){1, i % 2 ? A : B, i, 2 * deep - i, 0};
    struct test_case test = CASE("deep", names, equal_times);
    test.events = events;
    test.event_count = (size_t)deep;
    export_all(&test);
    struct strbuf folded = {0};
    const struct export_options options = {.scratch_dir = ""};
    export_case(&test, export_format_named("folded"), &options, &folded);
    uint64_t total = 0;
    for (const char *line = strbuf_text(&folded); *line; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n');
        const char *space = memrchr(line, ' ', (size_t)(end - line));
        total += strtoull(space + 1, NULL, 10);
    }
    assert_int_equal(total, 2 * deep);
    strbuf_free(&folded);
    mem_free(events);
}

/* ---- merging ---- */

/* Whatever is merged, all is counted: in labels of ours, and in those that stay. */
static void merges_what_is_small(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    struct test_event *events = mem_alloc(COUNT * sizeof *events);
    assert_non_null(events);
    for (int i = 0; i < COUNT; i += 3) {
        events[i] = (struct test_event){1, A, i * 100, i * 100 + (i % 7 ? 250 : 295), 0};
        events[i + 1] = (struct test_event){1, B, i * 100 + 10, i * 100 + 50, 0};
        events[i + 2] = (struct test_event){1, I, i * 100 + 60, INSTANT, 0};
    }
    struct test_case test = CASE("merged", letters, equal_times);
    test.events = events;
    test.event_count = COUNT;
    const struct export_format *format = export_format_named("chrome");
    const struct export_options options = {.scratch_dir = ""};
    struct byteout *out = mem_alloc(sizeof *out);
    struct strbuf output = {0};
    struct merge_small *merge;
    void *exporter;
    assert_non_null(out);
    byteout_init_strbuf(out, &output);
    assert_int_equal(format->open(&exporter, &options, out, NULL), LAM_OK);
    struct profile_sink to = format->sink(exporter);
    assert_int_equal(merge_small_open(&merge, &to, 280, true, NULL), LAM_OK);
    struct profile_sink sink = merge_small_sink(merge);
    push_case(&test, &sink);
    assert_int_equal(format->finish(exporter, NULL), LAM_OK);
    struct merge_counts counts = merge_small_counts(merge);
    assert_int_equal(byteout_flush(out, "output", NULL), LAM_OK);
    size_t lines = 0;
    for (const char *at = strbuf_text(&output); (at = strstr(at, "\"ph\":\"X\"")) != NULL; at++)
        lines++;
    assert_int_equal(counts.instants, COUNT / 3);
    assert_int_equal(counts.intervals + lines - counts.into, 2 * COUNT / 3);
    assert_true(counts.into < COUNT / 3);
    keep("merged", "chrome", &output);
    merge_small_close(&merge);
    format->close(&exporter);
    strbuf_free(&output);
    mem_free(out);
    mem_free(events);
}

/* No allocation that fails is more than an error. */
static void survives_short_memory(void **state)
{
    (void)state;
    static const struct test_case test = CASE("memory", letters, overlaps);
    struct nested nested = {0};
    nest(&test, &nested);
    for (const struct export_format *format = export_formats; format->name; format++) {
        struct byteout *out = mem_alloc(sizeof *out);
        struct strbuf output = {0};
        assert_non_null(out);
        byteout_init_strbuf(out, &output);
        const struct export_options options = {.scratch_dir = ""};
        for (uint64_t after = 0; after < 400; after++) {
            void *exporter = NULL;
            mem_fail_after(after);
            int rc = format->open(&exporter, &options, out, NULL);
            if (rc == LAM_OK) {
                struct profile_sink sink = format->sink(exporter);
                const struct profile_sink *to = &sink;
                struct profile_session session = {.command = "x", .has_intervals = true};
                struct profile_process process = {.process = 1, .pid = 2, .exe = test.program};
                struct profile_label label = {.label = A, .text = TEXT("label")};
                struct profile_thread thread = {.thread = 1, .process = 1, .tid = 3};
                struct profile_path path = {1, 0, A};
                rc = to->ops->session ? to->ops->session(to->ctx, &session) : LAM_OK;
                rc = rc < 0 ? rc : to->ops->process(to->ctx, &process);
                rc = rc < 0 ? rc : to->ops->label(to->ctx, &label);
                rc = rc < 0 || !to->ops->thread ? rc : to->ops->thread(to->ctx, &thread);
                rc = rc < 0 || !to->ops->path ? rc : to->ops->path(to->ctx, &path);
                for (size_t i = 0; i < nested.intervals.count && rc == LAM_OK; i++) {
                    struct profile_interval interval = nested.intervals.items[i];
                    interval.label = A;
                    interval.path = 1;
                    rc = to->ops->interval(to->ctx, &interval);
                }
                rc = rc < 0 ? rc : format->finish(exporter, NULL);
            }
            uint64_t refused = mem_fail_count();
            mem_fail_after(UINT64_MAX);
            format->close(&exporter);
            strbuf_clear(&output);
            byteout_init_strbuf(out, &output);
            if (!refused) {
                assert_int_equal(rc, LAM_OK);
                break;
            }
        }
        strbuf_free(&output);
        mem_free(out);
    }
    array_free(&nested.intervals);
    array_free(&nested.paths);
    array_free(&nested.path_labels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_times_everywhere),   cmocka_unit_test(overlaps_everywhere),
        cmocka_unit_test(hostile_names_everywhere), cmocka_unit_test(depth_everywhere),
        cmocka_unit_test(merges_what_is_small),     cmocka_unit_test(survives_short_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
