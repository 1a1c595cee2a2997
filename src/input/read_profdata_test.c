#include "input/read_profdata.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/map.h"
#include "input/input_kind.h"
#include "input/interval_chains_test.h"
#include "input/profdata_make_test.h"
#include "input/profdata_metadata.h"

static int read_made(struct made *made, size_t page_bytes, struct told *told, struct lam_error *err)
{
    char path[64];
    made_write(made_file(made, page_bytes), path);
    const char *paths[] = {path};
    struct profile_sink sink = told_sink(told);
    int rc = input_read(paths, 1, &sink, err);
    unlink(path);
    return rc;
}

static const struct told_interval *find(const struct told *told, const char *name)
{
    for (size_t i = 0; i < told->intervals.count; i++) {
        if (strcmp(told->intervals.items[i].name, name) == 0)
            return &told->intervals.items[i];
    }
    fail_msg("no interval %s", name);
    return NULL;
}

/* The names on the way to an interval, in PROFILE_ORDER_ANY with paths: "A;B". */
static void path_text(const struct told *told, uint32_t path, char *text, size_t size)
{
    char rest[256] = "";
    *text = '\0';
    while (path) {
        const struct profile_path *at = &told->paths.items[path - 1];
        snprintf(text, size, "%s%s%s", strbuf_text(&told->labels.items[at->label]),
                 *rest ? ";" : "", rest);
        snprintf(rest, sizeof rest, "%s", text);
        path = at->parent;
    }
}

struct spec {
    const char *name;
    uint32_t tid;
    uint64_t start, end;
};

static void make_intervals(struct made *made, uint32_t version, const struct spec *specs, size_t count)
{
    made_begin(made, version);
    made_metadata(made);
    uint64_t kind = made_text(made, "Query");
    for (size_t i = 0; i < count; i++)
        made_event(made, kind, made_text(made, specs[i].name), specs[i].tid, specs[i].start,
                   specs[i].end);
}

/* ---- formats ---- */

static void both_versions_and_any_pages(void **state)
{
    (void)state;
    static const struct spec specs[] = {
        {"in", 1, 10, 20}, {"out", 1, 5, 30}, {"far", 2, 1, 70000000000}};
    for (uint32_t version = 8; version <= 9; version++) {
        /* Pages of a few bytes: events and references lie across them. */
        for (size_t page = 1; page < 4096; page = page * 3 + 1) {
            struct made made;
            struct told told = {0};
            struct lam_error err = LAM_ERROR_INIT;
            make_intervals(&made, version, specs, 3);
            assert_int_equal(read_made(&made, page, &told, &err), LAM_OK);
            assert_int_equal(told.intervals.count, 3);
            assert_int_equal(find(&told, "in")->interval.depth, 1);
            assert_int_equal(find(&told, "out")->interval.self_ns, 15);
            assert_int_equal(find(&told, "out")->interval.children, 1);
            assert_int_equal(find(&told, "far")->interval.end_ns, 70000000000);
            assert_int_equal(told.pid, 42);
            assert_string_equal(told.comm, "leaf");
            assert_string_equal(told.command, "/bin/rustc --crate-name leaf x.rs");
            assert_int_equal(told.session.started_at_unix_ns, 1000000000);
            assert_int_equal(told.end.damaged_streams, 0);
            told_free(&told);
            made_free(&made);
        }
    }
}

static void other_versions_are_named(void **state)
{
    (void)state;
    static const struct {
        uint32_t version;
        const char *says;
    } rows[] = {{7, "rustc up to 1.57"}, {10, "later than this"}, {0, "version 0"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made made;
        struct told told = {0};
        struct lam_error err = LAM_ERROR_INIT;
        made_begin(&made, rows[i].version);
        assert_int_equal(read_made(&made, 4096, &told, &err), LAM_E_UNSUPPORTED);
        assert_non_null(strstr(err.msg, rows[i].says));
        told_free(&told);
        made_free(&made);
    }
}

static void virtual_ids_and_arguments(void **state)
{
    (void)state;
    struct made made;
    struct told told = {.wants = {.args = true}};
    struct lam_error err = LAM_ERROR_INIT;
    made_begin(&made, 9);
    made_metadata(&made);
    uint64_t kind = made_text(&made, "Query"), label = made_text(&made, "typeck");
    uint64_t key = made_text(&made, "main");
    uint64_t with_key = made_bytes(&made, "\xfe", 1);
    made_id(&made, &made.streams[1], label);
    made_bytes(&made, "\x1e\xfe", 2);
    made_id(&made, &made.streams[1], key);
    made_text(&made, "\x1etwo");
    made_map(&made, 7, with_key);
    made_map(&made, 90000000, made_reference(&made, 7, "")); /* far off, and to a virtual one */
    made_event(&made, kind, 7, 1, 0, 10);
    made_event(&made, kind, 90000000, 1, 10, 20);
    made_event(&made, kind, 8, 1, 20, 30);
    assert_int_equal(read_made(&made, 4096, &told, &err), LAM_OK);
    assert_int_equal(told.intervals.count, 3);
    assert_string_equal(told.intervals.items[2].name, "typeck");
    assert_string_equal(told.intervals.items[2].args, "|main|two");
    assert_string_equal(told.intervals.items[1].name, "typeck");
    assert_string_equal(told.intervals.items[1].args, "|main|two");
    assert_string_equal(told.intervals.items[0].name, "<unknown>"); /* 8 was never mapped */
    assert_int_equal(told.end.damaged_streams, 0);
    told_free(&told);
    made_free(&made);
}

static void instants_and_integers(void **state)
{
    (void)state;
    for (int order = PROFILE_ORDER_ANY; order <= PROFILE_ORDER_START; order++) {
        struct made made;
        struct told told = {.wants = {.order = (enum profile_order)order}};
        struct lam_error err = LAM_ERROR_INIT;
        static const struct spec specs[] = {{"hit", 3, 15, PROFDATA_INSTANT},
                                            {"outer", 3, 10, 20},
                                            {"size", 3, 0xfffffffffff1, PROFDATA_INTEGER}};
        make_intervals(&made, 9, specs, 3);
        assert_int_equal(read_made(&made, 4096, &told, &err), LAM_OK);
        assert_int_equal(told.instants.count, 2);
        bool is_first = order == PROFILE_ORDER_START;
        assert_int_equal(told.instants.items[is_first ? 0 : 1].at_ns, 15);
        assert_true(told.instants.items[is_first ? 1 : 0].has_value);
        assert_true(told.instants.items[is_first ? 1 : 0].value == 0xfffffffffff1);
        assert_int_equal(told.end.clamped_times, 0);
        told_free(&told);
        made_free(&made);
    }
}

/* ---- damage ---- */

static void a_file_cut_anywhere_is_read_or_refused(void **state)
{
    (void)state;
    struct made made, cut = {.version = 9};
    static const struct spec specs[] = {{"in", 1, 10, 20}, {"out", 1, 5, 30}};
    make_intervals(&made, 9, specs, 2);
    const struct strbuf *whole = made_file(&made, 40);
    for (size_t size = 0; size < whole->length; size++) {
        char path[64];
        struct told told = {.wants = {.args = true, .paths = true}};
        struct lam_error err = LAM_ERROR_INIT;
        struct profile_sink sink = told_sink(&told);
        strbuf_clear(&cut.file);
        strbuf_add_bytes(&cut.file, whole->data, size);
        made_write(&cut.file, path);
        int rc = input_read((const char *const[]){path}, 1, &sink, &err);
        unlink(path);
        if (rc < 0) {
            assert_non_null(strstr(err.msg, ".mm_profdata"));
            assert_int_equal(told.intervals.count, 0);
        } else {
            assert_int_equal(told.end.damaged_streams, 1);
            assert_non_null(strstr(told.end.faults.texts[0], "at byte"));
        }
        told_free(&told);
    }
    made_free(&made);
    made_free(&cut);
}

static void pages_that_lie(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } rows[] = {
        {"MMPD", 4, "ends inside its header"},
        {"MMPD\x09\0\0\0", 8, "no event data"},
        {"MMPD\x09\0\0\0\0\xff\xff\xff\x7f", 13, "page of 2147483647 bytes"},
        {"MMPD\x09\0\0\0\x07\0\0\0\0", 13, "unknown kind, 7"},
        {"MMPD\x09\0\0\0\0\x27\0\0\0MMES\x09\0\0\0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 52,
         "no string data"},
        {"MMPX\x09\0\0\0", 8, "neither"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[64];
        struct told told = {0};
        struct lam_error err = LAM_ERROR_INIT;
        struct profile_sink sink = told_sink(&told);
        struct strbuf file = {0};
        strbuf_add_bytes(&file, rows[i].bytes, rows[i].size);
        made_write(&file, path);
        assert_true(input_read((const char *const[]){path}, 1, &sink, &err) < 0);
        if (!strstr(err.msg, rows[i].says) || !strstr(err.msg, path))
            fail_msg("row %zu: %s", i, err.msg);
        unlink(path);
        strbuf_free(&file);
        told_free(&told);
    }
}

static void strings_that_loop_or_run_out(void **state)
{
    (void)state;
    static const char *const says[] = {"refers to itself", "refers to itself", "past the end",
                                       "has no end", "nested too deeply"};
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        struct made made;
        struct told told = {.wants = {.args = true}};
        struct lam_error err = LAM_ERROR_INIT;
        made_begin(&made, 9);
        made_metadata(&made);
        uint64_t kind = made_text(&made, "Query"), id = kind;
        uint64_t next = made.streams[1].length + PROFDATA_FIRST_ADDRESS_ID;
        if (i == 0)
            id = made_reference(&made, next, "");
        if (i == 1) {
            id = made_reference(&made, next + 10, "");
            made_reference(&made, next, "");
        }
        if (i == 2)
            id = UINT64_MAX - 5;
        for (size_t k = 0; i == 4 && k < 1000; k++)
            id = made_reference(&made, id, "x");
        made_event(&made, kind, i == 3 ? next : id, 1, 0, 10);
        if (i == 3)
            made_bytes(&made, "abc", 3);
        assert_int_equal(read_made(&made, 4096, &told, &err), LAM_OK);
        assert_int_equal(told.intervals.count, 1);
        assert_int_equal(told.end.damaged_streams, 1);
        if (!strstr(told.end.faults.texts[0], says[i]))
            fail_msg("row %zu: %s", i, told.end.faults.texts[0]);
        told_free(&told);
        made_free(&made);
    }
}

/* Each string is the one before it twice: 2^60 bytes in a few hundred. */
static void strings_that_explode(void **state)
{
    (void)state;
    struct made made;
    struct told told = {.wants = {.args = true}};
    struct lam_error err = LAM_ERROR_INIT;
    made_begin(&made, 9);
    made_metadata(&made);
    uint64_t kind = made_text(&made, "Query"), id = kind;
    for (int i = 0; i < 60; i++) {
        uint64_t twice = made_bytes(&made, "\xfe", 1);
        made_id(&made, &made.streams[1], id);
        id = twice;
        made_reference(&made, made.streams[1].length ? id : 0, ""); /* and itself: never reached */
        made.streams[1].length -= 10;
        made_bytes(&made, "\xfe", 1);
        made_id(&made, &made.streams[1], i ? id - 19 : kind);
        made_bytes(&made, "\xff", 1);
    }
    made_event(&made, kind, id, 1, 0, 10);
    assert_int_equal(read_made(&made, 4096, &told, &err), LAM_OK);
    assert_int_equal(told.end.damaged_streams, 1);
    told_free(&told);
    made_free(&made);
}

static void metadata_as_programs_write_it(void **state)
{
    (void)state;
    struct profdata_metadata meta;
    static const char odd[] =
        "{ \"start_time\": 5, \"process_id\": 7, \"cmd\": "
        "\"a \\'b\\' \\u{e9}\\u{1f600} \\\\x \\\" \\u{1b} --crate-name c d \" }";
    assert_true(profdata_metadata_parse(&meta, odd, sizeof odd - 1));
    assert_string_equal(strbuf_text(&meta.command),
                        "a 'b' \xc3\xa9\xf0\x9f\x98\x80 \\x \" \x1b --crate-name c d");
    assert_int_equal(profdata_crate_name(&meta).size, 1);
    assert_int_equal(meta.measure, PROFILE_MEASURE_TIME);
    profdata_metadata_free(&meta);
    static const char counter[] = "{\"start_time\":5,\"process_id\":7,\"cmd\":\"\",\"counter\":{"
                                  "\"name\":\"instructions:u\",\"units\":[[\"instructions\",1]]}}";
    assert_true(profdata_metadata_parse(&meta, counter, sizeof counter - 1));
    assert_int_equal(meta.measure, PROFILE_MEASURE_INSTRUCTIONS);
    profdata_metadata_free(&meta);
    static const char *const bad[] = {
        "", "{", "[]", "{\"start_time\": -1}", "{} {}", "{\"cmd\": \"\\u{"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(profdata_metadata_parse(&meta, bad[i], strlen(bad[i])));
        profdata_metadata_free(&meta);
    }
}

static void a_profile_without_metadata_says_so(void **state)
{
    (void)state;
    struct made made;
    struct told told = {0};
    struct lam_error err = LAM_ERROR_INIT;
    made_begin(&made, 9);
    uint64_t kind = made_text(&made, "Query");
    made_map(&made, 3, kind);
    made_event(&made, kind, 3, 1, 0, 10);
    assert_int_equal(read_made(&made, 4096, &told, &err), LAM_OK);
    assert_int_equal(told.intervals.count, 1);
    assert_non_null(strstr(told.end.faults.texts[0], "metadata"));
    told_free(&told);
    made_free(&made);
}

/* ---- nesting ---- */

static void shared_edges(void **state)
{
    (void)state;
    static const struct spec specs[] = {{"B", 1, 0, 20},  {"A", 1, 0, 20},  {"C", 1, 20, 20},
                                        {"E", 1, 25, 25}, {"D", 1, 20, 30}, {"T", 2, 0, 20}};
    static const char *const paths[][2] = {{"B", "A;B"}, {"C", "C"}, {"E", "D;E"}, {"T", "T"}};
    /* The second time the events are in another order, as far as that carries no meaning. */
    static const unsigned orders[][6] = {{0, 1, 2, 3, 4, 5}, {4, 2, 5, 3, 0, 1}};
    for (unsigned k = 0; k < 2; k++) {
        struct spec shuffled[6];
        struct made made;
        struct told told = {.wants = {.paths = true}};
        struct lam_error err = LAM_ERROR_INIT;
        for (unsigned i = 0; i < 6; i++)
            shuffled[i] = specs[orders[k][i]];
        make_intervals(&made, 9, shuffled, 6);
        assert_int_equal(read_made(&made, 4096, &told, &err), LAM_OK);
        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
            char text[256];
            path_text(&told, find(&told, paths[i][0])->interval.path, text, sizeof text);
            assert_string_equal(text, paths[i][1]);
        }
        assert_int_equal(find(&told, "A")->interval.self_ns, 0);
        assert_int_equal(find(&told, "D")->interval.self_ns, 10);
        assert_int_equal(told.end.overlapping_intervals, 0);
        told_free(&told);
        made_free(&made);
    }
}

static void overlap_and_backward(void **state)
{
    (void)state;
    static const struct spec specs[] = {
        {"A", 1, 0, 100}, {"B", 1, 50, 150}, {"bad", 2, 2000, 1000}, {"x", 3, 10, 60},
        {"y", 3, 40, 90}, {"in", 3, 92, 95}, {"out", 3, 0, 100}};
    struct made made;
    struct told told = {0};
    struct lam_error err = LAM_ERROR_INIT;
    make_intervals(&made, 9, specs, sizeof specs / sizeof *specs);
    assert_int_equal(read_made(&made, 4096, &told, &err), LAM_OK);
    assert_int_equal(find(&told, "A")->interval.self_ns, 100);
    assert_int_equal(find(&told, "B")->interval.self_ns, 100);
    assert_int_equal(find(&told, "B")->interval.flags, PROFILE_INTERVAL_OVERLAPS);
    assert_int_equal(find(&told, "bad")->interval.flags, PROFILE_INTERVAL_BACKWARD);
    assert_int_equal(find(&told, "bad")->interval.active_ns, 0);
    assert_int_equal(find(&told, "bad")->interval.end_ns - find(&told, "bad")->interval.start_ns, 0);
    assert_int_equal(find(&told, "out")->interval.self_ns, 100 - 50 - 3); /* y is nobody's child */
    assert_int_equal(find(&told, "y")->interval.flags, PROFILE_INTERVAL_OVERLAPS);
    assert_int_equal(told.end.backward_intervals, 1);
    assert_int_equal(told.end.overlapping_intervals, 2);
    told_free(&told);
    made_free(&made);
}

static void very_deep(void **state)
{
    (void)state;
    enum { DEEP = 200000 };
    for (int order = PROFILE_ORDER_ANY; order <= PROFILE_ORDER_START; order++) {
        struct made made;
        struct told told = {.wants = {.order = (enum profile_order)order}};
        struct lam_error err = LAM_ERROR_INIT;
        made_begin(&made, 9);
        made_metadata(&made);
        uint64_t kind = made_text(&made, "Query"), label = made_text(&made, "f");
        for (uint64_t i = DEEP; i-- > 0;)
            made_event(&made, kind, label, 1, i, 2 * DEEP - i);
        assert_int_equal(read_made(&made, 1 << 18, &told, &err), LAM_OK);
        assert_int_equal(told.intervals.count, DEEP);
        assert_int_equal(told.intervals.items[DEEP - 1].interval.depth,
                         order == PROFILE_ORDER_START ? DEEP - 1 : 0);
        uint64_t self_ns = 0, recursive = 0;
        for (size_t i = 0; i < DEEP; i++) {
            self_ns += told.intervals.items[i].interval.self_ns;
            recursive += (told.intervals.items[i].interval.flags & PROFILE_INTERVAL_RECURSIVE) != 0;
        }
        assert_int_equal(recursive, DEEP - 1);
        if (order == PROFILE_ORDER_ANY)
            assert_int_equal(self_ns, 2 * DEEP);
        told_free(&told);
        made_free(&made);
    }
}

/* Random nests: both orders tell the same intervals with the same depth and flags, and self times add up. */
static void make_nest(struct made *made, uint64_t *seed, uint64_t kind, const uint64_t *labels,
                      uint32_t tid, uint64_t start, uint64_t end, unsigned depth)
{
    uint64_t at = start;
    while (depth < 12 && at < end) {
        *seed = hash_u64(*seed + 1);
        uint64_t from = at + *seed % 50, to = from + (*seed >> 20) % ((end - start) / 2 + 2);
        if (to > end)
            break;
        if (*seed >> 60 == 0)
            made_event(made, kind, labels[0], tid, from, PROFDATA_INSTANT);
        else
            make_nest(made, seed, kind, labels, tid, from, to, depth + 1);
        at = to + *seed % 3;
    }
    made_event(made, kind, labels[*seed >> 8 & 7], tid, start, end);
}

static int by_place(const void *left, const void *right)
{
    const struct profile_interval *a = &((const struct told_interval *)left)->interval;
    const struct profile_interval *b = &((const struct told_interval *)right)->interval;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static void both_orders_agree(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 12; round++) {
        struct made made;
        struct told told[2] = {{.wants = {.order = PROFILE_ORDER_ANY}},
                               {.wants = {.order = PROFILE_ORDER_START}}};
        uint64_t labels[8], seed = round;
        made_begin(&made, round % 2 ? 8 : 9);
        made_metadata(&made);
        uint64_t kind = made_text(&made, "Query");
        for (unsigned i = 0; i < 8; i++)
            labels[i] = made_text(&made, (char[]){(char)('a' + i), '\0'});
        for (uint32_t tid = 1; tid <= 3; tid++)
            make_nest(&made, &seed, kind, labels, tid, 10, 10 + (UINT64_C(200) << round), 0);
        for (unsigned i = 0; i < 2; i++) {
            struct lam_error err = LAM_ERROR_INIT;
            assert_int_equal(read_made(&made, 1000, &told[i], &err), LAM_OK);
            assert_int_equal(told[i].end.clamped_times, 0);
            assert_int_equal(told[i].end.overlapping_intervals, 0);
        }
        int64_t last_ns[4] = {0};
        for (size_t i = 0; i < told[1].intervals.count; i++) {
            const struct profile_interval *interval = &told[1].intervals.items[i].interval;
            assert_true(interval->start_ns >= last_ns[interval->thread]);
            last_ns[interval->thread] = interval->start_ns;
        }
        assert_int_equal(told[0].intervals.count, told[1].intervals.count);
        assert_int_equal(told[0].instants.count, told[1].instants.count);
        uint64_t self_ns = 0, roots_ns = 0;
        for (unsigned i = 0; i < 2; i++)
            array_sort(&told[i].intervals, by_place);
        for (size_t i = 0; i < told[0].intervals.count; i++) {
            const struct profile_interval *a = &told[0].intervals.items[i].interval;
            const struct profile_interval *b = &told[1].intervals.items[i].interval;
            assert_int_equal(a->thread, b->thread);
            assert_int_equal(a->start_ns, b->start_ns);
            assert_int_equal(a->end_ns, b->end_ns);
            assert_int_equal(a->depth, b->depth);
            if (a->start_ns < a->end_ns) { /* empty ones at one time have no order among them */
                assert_string_equal(told[0].intervals.items[i].name, told[1].intervals.items[i].name);
                assert_int_equal(a->flags, b->flags);
            }
            self_ns += a->self_ns;
            roots_ns += a->depth == 0 ? a->active_ns : 0;
        }
        assert_int_equal(self_ns, roots_ns);
        told_free(&told[0]);
        told_free(&told[1]);
        made_free(&made);
    }
}

/* ---- several files ---- */

/* The rules of interval_nest.h, the plain way, for intervals that are not empty and have times of their own. */
static bool holds(const struct spec *outer, const struct spec *inner)
{
    return outer != inner && outer->tid == inner->tid && outer->start <= inner->start &&
           inner->end <= outer->end;
}

static bool is_cut(const struct spec *specs, unsigned count, const struct spec *inner,
                   const struct spec *outer)
{
    for (unsigned i = 0; i < count; i++) {
        const struct spec *other = &specs[i];
        if (holds(outer, other) && other->tid == inner->tid && other->start < inner->start &&
            inner->start < other->end && other->end < inner->end)
            return true;
    }
    return false;
}

static uint64_t plain_self(const struct spec *specs, unsigned count, const struct spec *outer)
{
    uint64_t self = outer->end - outer->start;
    for (unsigned i = 0; i < count; i++) {
        const struct spec *inner = &specs[i], *shortest = outer;
        for (unsigned k = 0; k < count; k++)
            if (holds(&specs[k], inner) &&
                specs[k].end - specs[k].start < shortest->end - shortest->start)
                shortest = &specs[k];
        if (shortest == outer && holds(outer, inner) && !is_cut(specs, count, inner, outer))
            self -= inner->end - inner->start;
    }
    return self;
}

static void self_times_by_the_rules(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        enum { MOST = 24 };
        static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h",
                                            "i", "j", "k", "l", "m", "n", "o", "p",
                                            "q", "r", "s", "t", "u", "v", "w", "x"};
        struct spec specs[MOST];
        unsigned seed = round, count = 3 + round % (MOST - 2);
        for (unsigned i = 0; i < count; i++) { /* lengths differ: no two are equally short */
            uint64_t start = (unsigned)rand_r(&seed) % 100000;
            uint64_t length =
                (uint64_t)((unsigned)rand_r(&seed) % (1 + (unsigned)rand_r(&seed) % 999)) * MOST * 4 +
                i + 1;
            specs[i] = (struct spec){names[i], 1 + i % 2, start, start + length};
        }
        struct made made;
        struct told told = {.wants = {.order = PROFILE_ORDER_ANY}};
        struct lam_error err = LAM_ERROR_INIT;
        make_intervals(&made, 9, specs, count);
        assert_int_equal(read_made(&made, 4096, &told, &err), LAM_OK);
        for (unsigned i = 0; i < count; i++)
            assert_int_equal(find(&told, specs[i].name)->interval.self_ns,
                             plain_self(specs, count, &specs[i]));
        told_free(&told);
        made_free(&made);
    }
}

/* So many that overlap at once must not take for ever, and all of them are told. */
static void stairs(void **state)
{
    (void)state;
    enum { STEPS = 20000 };
    struct made made;
    struct told told = {.wants = {.order = PROFILE_ORDER_ANY}};
    struct lam_error err = LAM_ERROR_INIT;
    made_begin(&made, 9);
    made_metadata(&made);
    uint64_t kind = made_text(&made, "Query"), name = made_text(&made, "step");
    for (uint64_t i = 0; i < STEPS; i++)
        made_event(&made, kind, name, 1, i, i + STEPS);
    assert_int_equal(read_made(&made, 65536, &told, &err), LAM_OK);
    assert_int_equal(told.intervals.count, STEPS);
    assert_int_equal(told.end.overlapping_intervals, STEPS - 1);
    for (size_t i = 0; i < STEPS; i++)
        assert_int_equal(told.intervals.items[i].interval.self_ns, STEPS);
    told_free(&told);
    made_free(&made);
}

/* Whatever overlaps whatever, a chain can be drawn as a row. */
static void chains_never_cross(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 400; round++) {
        enum { MOST = 60 };
        static const char *const names[] = {"a", "b", "c"};
        struct spec specs[MOST];
        unsigned seed = round, count = 5 + round % (MOST - 5), span = 8u << round % 6;
        for (unsigned i = 0; i < count; i++) {
            uint64_t start = (unsigned)rand_r(&seed) % span;
            uint64_t length = (unsigned)rand_r(&seed) % ((unsigned)rand_r(&seed) % span + 1);
            specs[i] = (struct spec){names[i % 3], 1 + i % 2, start, start + length};
        }
        for (unsigned order = 0; order < 2; order++) {
            struct made made;
            struct told told = {.wants = {.order = order ? PROFILE_ORDER_START : PROFILE_ORDER_ANY}};
            struct lam_error err = LAM_ERROR_INIT;
            struct chains chains = {.count = 0};
            make_intervals(&made, 9, specs, count);
            assert_int_equal(read_made(&made, 4096, &told, &err), LAM_OK);
            assert_int_equal(told.intervals.count, count);
            for (size_t i = 0; i < told.intervals.count; i++)
                assert_int_equal(chains_add(&chains, &told.intervals.items[i].interval), LAM_OK);
            assert_int_equal(chains.count, count);
            if (chains_cross(&chains))
                fail_msg("round %u, order %u: some of a chain cross each other", round, order);
            array_free(&chains);
            told_free(&told);
            made_free(&made);
        }
    }
}

static void many_files_and_a_bad_one(void **state)
{
    (void)state;
    struct made made;
    struct told told = {0};
    struct lam_error err = LAM_ERROR_INIT;
    static const struct spec specs[] = {{"in", 1, 10, 20}};
    char paths[3][64], link[80];
    make_intervals(&made, 9, specs, 1);
    made_write(made_file(&made, 4096), paths[0]);
    made_write(made_file(&made, 4096), paths[1]);
    strbuf_clear(&made.file);
    strbuf_add(&made.file, "MMPD");
    made_write(&made.file, paths[2]);
    snprintf(link, sizeof link, "%s-link", paths[0]);
    assert_int_equal(symlink(paths[0], link), 0);
    struct profile_sink sink = told_sink(&told);
    assert_int_equal(
        input_read((const char *const[]){paths[0], paths[2], link, paths[1], paths[1], paths[2]}, 6,
                   &sink, &err),
        LAM_OK);
    assert_int_equal(told.processes, 2);
    assert_int_equal(told.intervals.count, 2);
    assert_int_equal(told.end.unreadable_streams, 1);
    assert_int_equal(told.end.duplicate_streams, 3); /* a link, and two that are given twice */
    assert_int_equal(told.end.faults.count, 1);
    assert_non_null(strstr(told.end.faults.texts[0], paths[2]));
    for (unsigned i = 0; i < 3; i++)
        unlink(paths[i]);
    unlink(link);
    told_free(&told);
    made_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_versions_and_any_pages),
        cmocka_unit_test(other_versions_are_named),
        cmocka_unit_test(virtual_ids_and_arguments),
        cmocka_unit_test(instants_and_integers),
        cmocka_unit_test(a_file_cut_anywhere_is_read_or_refused),
        cmocka_unit_test(pages_that_lie),
        cmocka_unit_test(strings_that_loop_or_run_out),
        cmocka_unit_test(strings_that_explode),
        cmocka_unit_test(metadata_as_programs_write_it),
        cmocka_unit_test(a_profile_without_metadata_says_so),
        cmocka_unit_test(shared_edges),
        cmocka_unit_test(overlap_and_backward),
        cmocka_unit_test(very_deep),
        cmocka_unit_test(both_orders_agree),
        cmocka_unit_test(self_times_by_the_rules),
        cmocka_unit_test(stairs),
        cmocka_unit_test(chains_never_cross),
        cmocka_unit_test(many_files_and_a_bad_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
