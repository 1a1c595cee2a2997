#include "output/write_profdata.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/map.h"
#include "input/input_kind.h"
#include "input/profdata_make_test.h"

/* Reads a self-profile into the writer and returns what it wrote. */
static int rewrite(const char *path, const struct export_options *options, struct strbuf *written)
{
    struct lam_error err = LAM_ERROR_INIT;
    struct byteout *out = malloc(sizeof *out);
    void *state;
    byteout_init_strbuf(out, written);
    assert_int_equal(write_profdata_open(&state, options, out, &err), LAM_OK);
    struct profile_sink sink = write_profdata_sink(state);
    int rc = input_read((const char *const[]){path}, 1, &sink, &err);
    if (rc >= 0)
        rc = write_profdata_finish(state, &err);
    assert_int_equal(byteout_flush(out, "memory", &err), LAM_OK);
    write_profdata_close(&state);
    free(out);
    return rc;
}

static void read_back(const struct strbuf *file, struct told *told)
{
    char path[64];
    struct lam_error err = LAM_ERROR_INIT;
    struct profile_sink sink = told_sink(told);
    made_write(file, path);
    assert_int_equal(input_read((const char *const[]){path}, 1, &sink, &err), LAM_OK);
    assert_int_equal(told->end.damaged_streams, 0);
    unlink(path);
}

static int compare(const void *left, const void *right)
{
    const struct told_interval *a = left, *b = right;
    const struct profile_interval *x = &a->interval, *y = &b->interval;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    int names = strcmp(a->name, b->name);
    names = names ? names : strcmp(a->kind, b->kind);
    return names ? names : strcmp(a->args, b->args);
}

/* Reads both and compares all that was told of their intervals. */
static void assert_same(const struct strbuf *before, const struct strbuf *after)
{
    struct told told[2] = {{.wants = {.args = true}}, {.wants = {.args = true}}};
    read_back(before, &told[0]);
    read_back(after, &told[1]);
    assert_int_equal(told[0].session.started_at_unix_ns, told[1].session.started_at_unix_ns);
    assert_string_equal(told[0].command, told[1].command);
    assert_string_equal(told[0].comm, told[1].comm);
    assert_int_equal(told[0].pid, told[1].pid);
    assert_int_equal(told[0].instants.count, told[1].instants.count);
    assert_int_equal(told[0].intervals.count, told[1].intervals.count);
    for (unsigned i = 0; i < 2; i++) {
        /* Threads are numbered as they come in the file: by their tids they are the same. */
        array_each(&told[i].intervals, at) at->interval.thread =
            told[i].tids.items[at->interval.thread];
        array_sort(&told[i].intervals, compare);
    }
    for (size_t i = 0; i < told[0].intervals.count; i++) {
        const struct told_interval *a = &told[0].intervals.items[i], *b = &told[1].intervals.items[i];
        assert_int_equal(compare(a, b), 0);
        assert_int_equal(a->interval.self_ns, b->interval.self_ns);
        assert_int_equal(a->interval.children, b->interval.children);
        assert_int_equal(a->interval.flags & ~(uint32_t)PROFILE_INTERVAL_BACKWARD, b->interval.flags);
    }
    told_free(&told[0]);
    told_free(&told[1]);
}

static void round_trip(struct made *made)
{
    char path[64];
    struct strbuf written = {0};
    const struct export_options options = {.redacts = false};
    const struct strbuf *file = made_file(made, 5000);
    made_write(file, path);
    assert_int_equal(rewrite(path, &options, &written), LAM_OK);
    assert_same(file, &written);
    unlink(path);
    strbuf_free(&written);
}

static uint64_t event_id(struct made *made, uint64_t label, uint64_t seed)
{
    char args[64];
    snprintf(args, sizeof args,
             seed % 3 ? "\x1e"
                        "key %u"
                      : "\x1e"
                        "key %u\x1esecond",
             (unsigned)(seed % 7));
    return seed % 2 ? label : made_reference(made, label, args);
}

static void nest(struct made *made, uint64_t *seed, const uint64_t kinds[2],
                 const uint64_t labels[4], uint32_t tid, uint64_t start, uint64_t end, unsigned depth)
{
    for (uint64_t at = start; depth < 10 && at < end;) {
        *seed = hash_u64(*seed + 1);
        uint64_t from = at + *seed % 40, to = from + (*seed >> 20) % ((end - start) / 2 + 2);
        if (to > end)
            break;
        if (*seed >> 60 == 0)
            made_event(made, kinds[0], labels[0], tid, from, PROFDATA_INSTANT);
        else if (*seed >> 60 == 1)
            made_event(made, kinds[0], labels[1], tid, *seed >> 20, PROFDATA_INTEGER);
        else
            nest(made, seed, kinds, labels, tid, from, to, depth + 1);
        at = to + *seed % 3;
    }
    made_event(made, kinds[*seed >> 9 & 1], event_id(made, labels[*seed >> 10 & 3], *seed >> 30),
               tid, start, end);
}

static void what_is_read_back_is_the_same(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 8; round++) {
        struct made made;
        uint64_t labels[4], kinds[2], seed = round + 100;
        made_begin(&made, round % 2 ? 8 : 9);
        made_metadata(&made);
        kinds[0] = made_text(&made, "Query");
        kinds[1] = made_text(&made, "GenericActivity");
        for (unsigned i = 0; i < 4; i++)
            labels[i] = made_text(&made, (char[]){(char)('a' + i), '\0'});
        for (uint32_t tid = 5; tid > 2; tid--)
            nest(&made, &seed, kinds, labels, tid, 10, 10 + (UINT64_C(300) << round), 0);
        round_trip(&made);
        made_free(&made);
    }
}

static void overlaps_and_depth_survive(void **state)
{
    (void)state;
    struct made made;
    made_begin(&made, 9);
    made_metadata(&made);
    uint64_t kind = made_text(&made, "Query"), f = made_text(&made, "f"), g = made_text(&made, "g");
    made_event(&made, kind, f, 1, 0, 100);
    made_event(&made, kind, g, 1, 60, 140);
    made_event(&made, kind, g, 1, 50, 150);
    made_event(&made, kind, f, 1, 2000, 1000); /* it ends before its start */
    for (uint64_t i = 20000; i-- > 0;)
        made_event(&made, kind, f, 2, i, 50000 - i);
    round_trip(&made);
    made_free(&made);
}

/* What the format cannot hold is escaped: no text ends a string or an argument early. */
static void names_are_made_safe(void **state)
{
    (void)state;
    static const struct {
        const char *name, *back;
    } rows[] = {
        {"", "(empty)"},
        {"a\x1b"
         "b",
         "a\\x1bb"},
        {"tab\tand\nline", "tab\tand\nline"},
        {"\xff\xfe", "\\xff\\xfe"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
        {"\xc3\xa9", "\xc3\xa9"},
        {"q\"\\'&<>", "q\"\\'&<>"},
        {"C:\\x", "C:\\\\x"},
        {"sep\x1e"
         "arator",
         "sep\\x1earator"},
    };
    struct lam_error err = LAM_ERROR_INIT;
    struct strbuf written = {0};
    struct byteout *out = malloc(sizeof *out);
    const struct export_options options = {.redacts = false};
    void *state_of;
    byteout_init_strbuf(out, &written);
    assert_int_equal(write_profdata_open(&state_of, &options, out, &err), LAM_OK);
    struct profile_sink sink = write_profdata_sink(state_of);
    const struct profile_process process = {.process = 1, .pid = 9};
    const struct profile_thread thread = {.thread = 1, .process = 1, .tid = 3};
    const struct profile_label kind = {.label = 1, .text = {"Kind", 4}};
    const struct profile_process_end end = {.process = 1};
    sink.ops->process(sink.ctx, &process);
    sink.ops->thread(sink.ctx, &thread);
    sink.ops->label(sink.ctx, &kind);
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct profile_text text = {rows[i].name, strlen(rows[i].name)};
        struct profile_label label = {.label = i + 2, .kind = 1, .text = text};
        struct profile_interval interval = {.process = 1,
                                            .thread = 1,
                                            .label = i + 2,
                                            .start_ns = i,
                                            .end_ns = i + 1,
                                            .active_ns = 1,
                                            .args = &text,
                                            .argc = 1};
        sink.ops->label(sink.ctx, &label);
        sink.ops->interval(sink.ctx, &interval);
    }
    sink.ops->process_end(sink.ctx, &end);
    assert_int_equal(write_profdata_finish(state_of, &err), LAM_OK);
    assert_int_equal(byteout_flush(out, "memory", &err), LAM_OK);
    write_profdata_close(&state_of);
    struct told told = {.wants = {.order = PROFILE_ORDER_START, .args = true}};
    read_back(&written, &told);
    assert_int_equal(told.intervals.count, sizeof rows / sizeof *rows);
    for (size_t i = 0; i < told.intervals.count; i++) {
        assert_string_equal(told.intervals.items[i].name, rows[i].back);
        assert_string_equal(told.intervals.items[i].args + 1, rows[i].back);
    }
    told_free(&told);
    strbuf_free(&written);
    free(out);
}

static void nothing_to_write_is_an_error(void **state)
{
    (void)state;
    struct lam_error err = LAM_ERROR_INIT;
    struct strbuf written = {0};
    struct byteout *out = malloc(sizeof *out);
    const struct export_options options = {.redacts = true};
    void *writer;
    byteout_init_strbuf(out, &written);
    assert_int_equal(write_profdata_open(&writer, &options, out, &err), LAM_OK);
    assert_int_equal(write_profdata_finish(writer, &err), LAM_E_UNSUPPORTED);
    write_profdata_close(&writer);
    strbuf_free(&written);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_back_is_the_same),
        cmocka_unit_test(overlaps_and_depth_survive),
        cmocka_unit_test(names_are_made_safe),
        cmocka_unit_test(nothing_to_write_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
