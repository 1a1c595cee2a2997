/* Where cores were idle in a made build, what ran then, and who waited for it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/made_units_test.h"

enum { A = 1, B, C, D, E, UNITS, CORES = 4 };

/* b and c need a's metadata, e needs b; d could have begun at once. Nothing fills the cores but the second second. */
static const struct made_unit build[] = {
    {RUSTC, "--crate-name a a/src/lib.rs " LIB "-C extra-filename=-1", 0, 1000, 0},
    {RUSTC, "--crate-name b b/src/lib.rs " LIB "-C extra-filename=-2 --extern a=/t/deps/liba-1.rlib",
     1001, 2000, 0},
    {RUSTC, "--crate-name c c/src/lib.rs " LIB "-C extra-filename=-3 --extern a=/t/deps/liba-1.rlib",
     1002, 2000, 0},
    {RUSTC, "--crate-name d d/src/lib.rs " LIB "-C extra-filename=-4", 1000, 2000, 0},
    {RUSTC, "--crate-name e e/src/lib.rs " LIB "-C extra-filename=-5 --extern b=/t/deps/libb-2.rlib",
     2000, 2040, 0},
};

/* Threads of a unit that compute all its life. */
static const unsigned threads_of[UNITS] = {[A] = 1, [B] = 2, [C] = 1, [D] = 1, [E] = 1};

static void open_build(struct feed *feed, uint32_t cores, bool is_sampled)
{
    open_feed(feed);
    push_session(feed, 10000, 9700, cores);
    push_stacks(feed);
    for (uint32_t i = 0; i + 1 < UNITS; i++)
        push_unit_as(feed, i + 1, &build[i], is_sampled ? PROFILE_SAMPLED_YES : PROFILE_SAMPLED_NO);
    uint32_t thread = 0;
    for (uint32_t unit = A; unit < UNITS; unit++)
        for (unsigned i = 0; is_sampled && i < threads_of[unit]; i++) {
            int64_t start_ms = build[unit - 1].start_ms, end_ms = build[unit - 1].end_ms;
            thread++;
            push_thread(feed, thread, unit, 1000 * unit + i, "rustc", start_ms);
            push_samples(feed, unit, thread, TYPECK, start_ms, end_ms);
            push_thread_end(feed, thread, end_ms, (uint64_t)(end_ms - start_ms), 0);
        }
    for (uint32_t i = 0; i + 1 < UNITS; i++)
        push_process_end(feed, i + 1, build[i].end_ms,
                         (uint64_t)(build[i].end_ms - build[i].start_ms), 0);
    finish_feed(feed);
}

static void near(double value, double wanted, double within, const char *what)
{
    if (!(fabs(value - wanted) <= within))
        fail_msg("%s is %g, wanted %g", what, value, wanted);
}

static void a_unit_that_all_wait_for(void **unused)
{
    (void)unused;
    struct feed feed;
    open_build(&feed, CORES, true);
    const struct idle_stretches *idle = &feed.report->idle;
    assert_int_equal(idle->items.count, 1); /* 40 ms of e alone are not worth a line */
    const struct idle_stretch *stretch = &idle->items.items[0];
    assert_int_equal(stretch->start_ns, 0);
    assert_int_equal(stretch->end_ns, 1000 * MS);
    near(stretch->idle_core_s, 3.0, 0.02, "idle core-seconds of the stretch");
    assert_int_equal(stretch->running, 1);
    assert_int_equal(stretch->unit, unit_of(&feed, A));
    assert_int_equal(stretch->blocked, 3);              /* b, c, and e behind b */
    assert_int_equal(stretch->ready, 1);                /* d */
    assert_int_equal(stretch->next, unit_of(&feed, B)); /* began before c */
    near(idle->idle_core_s, 3.0 + 3 * 0.04, 0.03,
         "idle core-seconds"); /* e's are counted all the same */
    near(idle->seconds, 1.04, 0.02, "seconds with an idle core");
    close_feed(&feed);
}

/* Of a process that was not sampled nobody knows when it computed: it counts as one thread that did. */
static void units_that_were_not_sampled_fill_a_core(void **unused)
{
    (void)unused;
    struct feed feed;
    open_build(&feed, CORES, false);
    near(feed.report->idle.idle_core_s, 3 * 1.04 + 1, 0.02,
         "idle core-seconds"); /* b, c and d leave one core */
    near(feed.report->idle.seconds, 2.04, 0.01, "seconds");
    close_feed(&feed);
}

/* One core cannot be idle beside another; an unknown number of them is none to count with. */
static void without_cores_there_is_nothing_to_say(void **unused)
{
    (void)unused;
    for (uint32_t cores = 0; cores < 2; cores++) {
        struct feed feed;
        open_build(&feed, cores, true);
        assert_int_equal(feed.report->idle.items.count, 0);
        near(feed.report->idle.idle_core_s, 0, 0, "idle core-seconds");
        close_feed(&feed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_that_all_wait_for),
        cmocka_unit_test(units_that_were_not_sampled_fill_a_core),
        cmocka_unit_test(without_cores_there_is_nothing_to_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
