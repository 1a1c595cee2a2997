/* Compilations that went through a cache's program: who is the unit, and what class it has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analysis/cache_hits.h"
#include "analysis/made_units_test.h"

#define SCCACHE "/usr/bin/sccache", "/w"
#define CCACHE  "/usr/bin/ccache", "/w"
#define CRATE(name, n) \
    "--crate-name " name " src/lib.rs " LIB "-C metadata=" n " -C extra-filename=-" n

enum { A_ASKED, A_COMPILED, A_AGAIN, B_ASKED, SERVER, C_ASKED, C_COMPILED, D, E, COUNT };

static const struct made_unit made[COUNT] = {
    [A_ASKED] = {SCCACHE, "/x/bin/rustc " CRATE("a", "1"), 0, 100, 0},
    [A_COMPILED] = {RUSTC, CRATE("a", "1"), 20, 80, 0}, /* by a server that nobody recorded */
    [A_AGAIN] = {SCCACHE, "/x/bin/rustc " CRATE("a", "1"), 200, 260, 0},
    [B_ASKED] = {SCCACHE, "/x/bin/rustc " CRATE("b", "2"), 300, 400, 0},
    [SERVER] = {SCCACHE, "", 305, 900, B_ASKED + 1}, /* started by the one that came first */
    [C_ASKED] = {SCCACHE, "/x/bin/rustc " CRATE("c", "3"), 490, 610, 0},
    [C_COMPILED] = {RUSTC, CRATE("c", "3"), 500, 600, SERVER + 1},
    [D] = {RUSTC, CRATE("d", "4") " --extern b=/t/deps/libb-2.rmeta --extern std", 650, 700, 0},
    [E] = {RUSTC,
           CRATE("e", "5") " --extern b=/t/deps/libb-2.rmeta --extern my_z=/t/deps/libmy_z-9.rmeta",
           650, 700, 0},
};

static void open_all(struct feed *feed)
{
    open_feed(feed);
    push_session(feed, 10000, 9700, 4);
    for (uint32_t i = 0; i < COUNT; i++)
        push_unit(feed, i + 1, &made[i]);
    for (uint32_t i = 0; i < COUNT; i++)
        push_process_end(feed, i + 1, made[i].end_ms, 1, 0);
    finish_feed(feed);
}

/* Ccache has no server: whatever it needs runs below it. */
#define CC1           "/usr/lib/gcc/cc1", "/w"
#define GCC           "/usr/bin/gcc", "/w"
#define ASKED(source) "gcc -O1 -c -o x.o " source

enum {
    FROM_SOURCE, /* had by what the files are: nothing runs */
    PREPROCESSED,
    PREPROCESS_DRIVER,
    PREPROCESS,
    MISS,
    MISS_DRIVER,
    MISS_COMPILED,
    ELSEWHERE,
    ELSEWHERE_CLIENT,
    UNABLE,
    UNABLE_DRIVER,
    UNABLE_COMPILED,
    FAILED,
    SAME_BESIDE, /* under sccache: another one compiles a file of that name in another place */
    SAME_BESIDE_COMPILED, /* by a server of before */
    LINK,
    C_COUNT
};

static const struct made_unit made_c[C_COUNT] = {
    [FROM_SOURCE] = {CCACHE, ASKED("a.c"), 0, 5, 0},
    [PREPROCESSED] = {CCACHE, ASKED("b.c"), 10, 40, 0},
    [PREPROCESS_DRIVER] = {GCC, "-E b.c", 11, 35, PREPROCESSED + 1},
    [PREPROCESS] = {CC1, "-E -quiet b.c", 12, 34, PREPROCESS_DRIVER + 1},
    [MISS] = {CCACHE, ASKED("c.c"), 50, 100, 0},
    [MISS_DRIVER] = {GCC, "-c -o c.o c.c", 60, 95, MISS + 1},
    [MISS_COMPILED] = {CC1, "-quiet c.c -o /tmp/ccAbCdEf.s", 62, 90, MISS_DRIVER + 1},
    [ELSEWHERE] = {CCACHE, ASKED("d.c"), 110, 150, 0},
    [ELSEWHERE_CLIENT] = {"/usr/bin/distcc", "/w", "gcc -c d.c", 112, 148, ELSEWHERE + 1},
    [UNABLE] = {CCACHE, ASKED("e.c"), 160, 161, 0}, /* becomes the compiler, with the same pid */
    [UNABLE_DRIVER] = {GCC, "-c e.c", 161, 190, 0},
    [UNABLE_COMPILED] = {CC1, "-quiet e.c", 165, 189, UNABLE_DRIVER + 1},
    [FAILED] = {CCACHE, ASKED("f.c"), 200, 205, 0},
    [SAME_BESIDE] = {SCCACHE, ASKED("g.c"), 210, 300, 0},
    [SAME_BESIDE_COMPILED] = {"/usr/lib/gcc/cc1", "/other", "-quiet g.c", 220, 290, 0},
    [LINK] = {"/usr/bin/ld", "/w", "-o app x.o", 400, 500, 0},
};

static void open_c(struct feed *feed)
{
    open_feed(feed);
    push_session(feed, 10000, 9700, 4);
    for (uint32_t i = 0; i < C_COUNT; i++)
        push_unit(feed, i + 1, &made_c[i]);
    for (uint32_t i = 0; i < C_COUNT; i++) {
        struct profile_process_end end = {.process = i + 1,
                                          .end_ns = made_c[i].end_ms * (int64_t)MS,
                                          .cpu_ns = MS,
                                          .exit_code = i == FAILED};
        assert_int_equal(feed->sink.ops->process_end(feed->sink.ctx, &end), LAM_OK);
    }
    feed->report->processes.items[UNABLE_DRIVER].pid = feed->report->processes.items[UNABLE].pid;
    finish_feed(feed);
}

static const struct report_unit *unit_at(const struct feed *feed, uint32_t process)
{
    uint32_t unit = unit_of(feed, process + 1);
    return unit == REPORT_NO_UNIT ? NULL : &feed->report->units.items[unit];
}

static void a_hit_is_what_nobody_compiled(void **unused)
{
    static const struct {
        uint32_t process;
        const char *capture; /* NULL: it is no unit */
    } rows[] = {{A_ASKED, NULL}, {A_COMPILED, "clean"}, {A_AGAIN, "cached"},  {B_ASKED, "cached"},
                {SERVER, NULL},  {C_ASKED, NULL},       {C_COMPILED, "clean"}};
    struct feed feed;
    (void)unused;
    open_all(&feed);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct report_unit *unit = unit_at(&feed, rows[i].process);
        const char *capture = unit ? unit->capture : NULL;
        if (!capture != !rows[i].capture || (capture && strcmp(capture, rows[i].capture) != 0))
            fail_msg("process %u: %s", rows[i].process, capture ? capture : "no unit");
    }
    struct cache_counts counts = cache_hits_count(feed.report);
    assert_int_equal(counts.hits, 2);
    assert_int_equal(counts.asked, 4);
    assert_string_equal(counts.program, "sccache");
    assert_string_equal(feed.report->processes.items[A_ASKED].title, "sccache");
    /* What a server compiles is no part of the unit that started it. */
    assert_int_equal(feed.report->graph.nodes.items[unit_of(&feed, C_COMPILED + 1)].inside,
                     GRAPH_NONE);
    close_feed(&feed);
}

static void what_ccache_does_for_c(void **unused)
{
    static const struct {
        uint32_t process;
        const char *capture, *title; /* NULL: it is no unit */
    } rows[] = {
        {FROM_SOURCE, "cached", "a.c"},
        {PREPROCESSED, "cached", "b.c"},
        {PREPROCESS, "clean", "b.c (preprocess)"},
        {MISS, NULL, NULL},
        {MISS_COMPILED, "clean", "c.c"},
        {ELSEWHERE, NULL, NULL},
        {UNABLE, NULL, NULL},
        {UNABLE_COMPILED, "clean", "e.c"},
        {FAILED, NULL, NULL},
        {SAME_BESIDE, "cached", NULL},
        {SAME_BESIDE_COMPILED, "clean", NULL},
    };
    struct feed feed;
    (void)unused;
    open_c(&feed);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct report_unit *unit = unit_at(&feed, rows[i].process);
        const char *capture = unit ? unit->capture : NULL;
        if (!capture != !rows[i].capture || (capture && strcmp(capture, rows[i].capture) != 0))
            fail_msg("process %u: %s", rows[i].process, capture ? capture : "no unit");
        if (unit && rows[i].title)
            assert_string_equal(unit->title, rows[i].title);
    }
    struct cache_counts counts = cache_hits_count(feed.report);
    assert_int_equal(counts.hits, 3);
    assert_int_equal(counts.asked, 7);
    /* What the compiler would have been called with is not known, nor is what stands on it. */
    assert_null(unit_at(&feed, FROM_SOURCE)->class_id);
    assert_non_null(unit_at(&feed, MISS_COMPILED)->class_id);
    assert_non_null(unit_at(&feed, LINK)->class_missing);
    assert_null(unit_at(&feed, LINK)->class_id);
    close_feed(&feed);
}

static void a_class_needs_all_below_it(void **unused)
{
    struct feed feed;
    (void)unused;
    open_all(&feed);
    assert_string_equal(unit_at(&feed, A_COMPILED)->class_id, unit_at(&feed, A_AGAIN)->class_id);
    assert_non_null(unit_at(&feed, D)->class_id); /* a hit below is known as well as a compilation */
    assert_null(unit_at(&feed, D)->class_missing);
    assert_null(unit_at(&feed, E)->class_id);
    assert_string_equal(unit_at(&feed, E)->class_missing, "my_z");
    close_feed(&feed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hit_is_what_nobody_compiled),
        cmocka_unit_test(what_ccache_does_for_c),
        cmocka_unit_test(a_class_needs_all_below_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
