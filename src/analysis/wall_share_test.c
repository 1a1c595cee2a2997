/* Shares of the wall time add up to it, whatever the spans; idle stretches of a made build. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/report_feed_test.h"

static uint32_t next_random(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

static void push_random_samples(struct feed *feed, uint32_t process, uint32_t thread, uint32_t *random)
{
    int64_t at_ns = next_random(random, 3000) * (int64_t)MS;
    push_thread(feed, thread, process, 7000 + thread, "rustc", 0);
    for (int i = 0; i < 300; i++) {
        at_ns += next_random(random, 20) == 0 ? next_random(random, 100) * (int64_t)MS : 0;
        at_ns += next_random(random, 3000) * 1000 + 1;
        struct profile_sample sample = {.process = process,
                                        .thread = thread,
                                        .stack = TYPECK + next_random(random, 6),
                                        .at_ns = at_ns,
                                        .cpu_ns = next_random(random, 3) * (MS / 2),
                                        .period_ns = (uint32_t)MS};
        assert_int_equal(feed->sink.ops->sample(feed->sink.ctx, &sample), LAM_OK);
    }
    push_thread_end(feed, thread, at_ns / (int64_t)MS + 1, 1, 0);
}

static void push_random_process(struct feed *feed, uint32_t id, uint32_t *random)
{
    static const char *const programs[] = {"/x/bin/rustc", "/usr/bin/ld", "/x/bin/cargo"};
    bool is_sampled = next_random(random, 4) != 0;
    struct profile_text argv[] = {text_of("x"), text_of("a.o"), text_of("-o"), text_of("out")};
    struct profile_process process = {.process = id,
                                      .pid = 1000 + id,
                                      .parent = next_random(random, id),
                                      .start_ns = next_random(random, 2000) * (int64_t)MS,
                                      .exe = text_of(programs[next_random(random, 3)]),
                                      .cwd = text_of("/w"),
                                      .comm = text_of(""),
                                      .argv = argv,
                                      .argc = 4,
                                      .sampled =
                                          is_sampled ? PROFILE_SAMPLED_YES : PROFILE_SAMPLED_NO};
    assert_int_equal(feed->sink.ops->process(feed->sink.ctx, &process), LAM_OK);
    for (uint32_t i = 0; is_sampled && i < 3; i++)
        push_random_samples(feed, id, id * 10 + i, random);
    push_process_end(feed, id, 2000 + next_random(random, 4000), next_random(random, 3000), 0);
}

/* Every nanosecond of the run, some of which lie outside of all units and some of the units outside of it. */
static void shares_add_up_to_the_wall_time(void **unused)
{
    (void)unused;
    uint32_t random = 3;
    for (int round = 0; round < 40; round++) {
        struct feed feed;
        open_feed(&feed);
        push_session(&feed, 1 + next_random(&random, 6000), 9700, 4);
        push_stacks(&feed);
        for (uint32_t id = 1; id <= 6; id++)
            push_random_process(&feed, id, &random);
        finish_feed(&feed);
        const struct report *report = feed.report;
        const struct wall_shares *shares = &report->shares;
        uint64_t sum = 0, by_unit = wall_share_of_unit(shares, GRAPH_NONE),
                 by_phase = wall_share_of_phase(shares, WALL_NO_PHASE);
        array_each(&shares->items, share) sum += share->ns;
        for (uint32_t i = 0; i < report->units.count; i++)
            by_unit += wall_share_of_unit(shares, i);
        for (uint32_t i = 0; i < classifier_phase_count(report->cls); i++)
            by_phase += wall_share_of_phase(shares, i);
        if (report->spans.count > 0) {
            assert_int_equal(shares->whole_ns, report->session.elapsed_ns);
            assert_int_equal(sum, report->session.elapsed_ns);
        }
        assert_int_equal(by_unit, sum);
        assert_int_equal(by_phase, sum);
        close_feed(&feed);
    }
}

/* Two compilations side by side for a second, then one of them alone for another, of which the last half it sleeps. */
static void made_shares_and_idle_time(void **unused)
{
    (void)unused;
    struct feed feed;
    open_feed(&feed);
    push_session(&feed, 2500, 2500, 2);
    push_stacks(&feed);
    for (uint32_t i = 1; i <= 2; i++) {
        struct profile_text argv[] = {text_of("rustc"), text_of("--crate-name"),
                                      text_of(i == 1 ? "a" : "b"), text_of("src/lib.rs")};
        struct profile_process process = {.process = i,
                                          .pid = i,
                                          .exe = text_of("/x/bin/rustc"),
                                          .cwd = text_of("/w"),
                                          .comm = text_of(""),
                                          .argv = argv,
                                          .argc = 4,
                                          .sampled = PROFILE_SAMPLED_YES};
        assert_int_equal(feed.sink.ops->process(feed.sink.ctx, &process), LAM_OK);
        push_thread(&feed, i, i, i, "rustc", 0);
        push_samples(&feed, i, i, TYPECK, 0, 1000);
    }
    push_samples(&feed, 2, 2, OPTIMIZE, 1000, 1500);
    push_thread_end(&feed, 1, 1000, 1000, 0);
    push_process_end(&feed, 1, 1000, 1000, 0);
    push_thread_end(&feed, 2, 2000, 1500, 0);
    push_process_end(&feed, 2, 2000, 1500, 0);
    finish_feed(&feed);
    const struct report *report = feed.report;
    uint32_t a = report->processes.items[0].unit, b = report->processes.items[1].unit;
    assert_int_equal(wall_share_of_unit(&report->shares, a), 500 * MS);
    assert_int_equal(wall_share_of_unit(&report->shares, b), (500 + 500 + 500) * MS);
    assert_int_equal(wall_share_of_unit(&report->shares, GRAPH_NONE), 500 * MS);
    assert_int_equal(wall_share_of_phase(&report->shares, WALL_NO_PHASE), 1000 * MS);

    assert_int_equal(report->idle.items.count, 1);
    const struct idle_stretch *idle = &report->idle.items.items[0];
    assert_int_equal(idle->start_ns, 1000 * MS);
    assert_int_equal(idle->end_ns, 2000 * MS);
    assert_int_equal(idle->running, 1);
    assert_int_equal(idle->unit, b);
    assert_true(fabs(idle->idle_core_s - 1.5) < 1e-9);
    assert_int_equal(idle->blocked, 0);
    assert_int_equal(idle->next, GRAPH_NONE);
    close_feed(&feed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_add_up_to_the_wall_time),
        cmocka_unit_test(made_shares_and_idle_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
