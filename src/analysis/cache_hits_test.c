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
        cmocka_unit_test(a_class_needs_all_below_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
