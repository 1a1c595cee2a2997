/* Replays of made builds whose schedules can be done by hand, and what changes do to them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/made_units_test.h"
#include "analysis/replay_answers.h"

static void opens(struct replay *replay, const struct feed *feed)
{
    struct lam_error err = LAM_ERROR_INIT;
    if (replay_open(replay, feed->report, &err) < 0)
        fail_msg("%s", err.msg);
}

static void takes(const struct replay *replay, const char *text, double seconds)
{
    struct what_if change;
    struct arena arena = {0};
    struct lam_error err = LAM_ERROR_INIT;
    double wall_s = NAN;
    if (text && (what_if_parse(&change, text, &arena, &err) < 0 ||
                 what_if_check(&change, replay->report, &err) < 0))
        fail_msg("%s: %s", text, err.msg);
    assert_int_equal(replay_run(replay, text ? &change : NULL, &wall_s), LAM_OK);
    if (!(fabs(wall_s - seconds) < 2e-3))
        fail_msg("%s: %f s, wanted %f s", text ? text : "as it was", wall_s, seconds);
    if (text)
        what_if_free(&change);
    arena_free(&arena);
}

#define EXTERN(name, hash, kind) "--extern " name "=/t/deps/lib" name "-" hash "." kind " "

/* On two jobs: a 0-4 with its metadata at 1; b, which needs that, 1-3; c, which waits for a job, 3-5; the program, which needs all
 * of a, 5-7. */
static const struct made_unit four[] = {
    {RUSTC, "--crate-name a a/src/lib.rs " LIB "-C extra-filename=-1", 0, 4000, 0},
    {RUSTC, "--crate-name b b/src/lib.rs " LIB "-C extra-filename=-2 " EXTERN("a", "1", "rmeta"),
     1000, 3000, 0},
    {RUSTC, "--crate-name c c/src/lib.rs " LIB "-C extra-filename=-3", 3000, 5000, 0},
    {RUSTC,
     "--crate-name app src/main.rs --crate-type bin --emit=link --out-dir /t/deps " EXTERN(
         "b", "2", "rlib") EXTERN("c", "3", "rlib"),
     5000, 7000, 0},
};

static void a_schedule_by_hand(void **unused)
{
    (void)unused;
    struct feed feed;
    struct replay replay;
    open_made(&feed, four, 4);
    opens(&replay, &feed);
    assert_int_equal(replay.jobs, 2);
    assert_true(replay.jobs_are_seen);
    assert_true(replay.latency_s == 0);
    assert_true(replay.trail_s == 3); /* of 10 s */
    /* c could have begun at once: nothing that was recorded says why it did not. The program then waits for a, at 4. */
    takes(&replay, NULL, 3 + 6);
    takes(&replay, "jobs=1", 3 + 4 + 2 + 2 + 2);
    takes(&replay, "jobs=all", 3 + 4 + 2);
    takes(&replay, "unit=a", 3 + 2 + 2);
    takes(&replay, "unit=a:2x", 3 + 6); /* b has a job only when a or c ends, at 2 */
    takes(&replay, "unit=a:2x,jobs=3", 3 + 2.5 + 2);
    takes(&replay, "unit=a,unit=app", 3 + 2);
    takes(&replay, "split=app", 3 + 4 + 1);
    takes(&replay, "unit=*", 3);
    takes(&replay, "link=2x", 3 + 6); /* none was seen */
    replay_close(&replay);
    close_feed(&feed);
}

static void a_link_inside_a_unit(void **unused)
{
    (void)unused;
    static const struct made_unit units[] = {
        {RUSTC, "--crate-name app src/main.rs --crate-type bin --out-dir /t/deps", 0, 4000, 0},
        {"/usr/bin/ld", "/w", "-o /t/deps/app a.o", 1000, 3000, 1},
    };
    struct feed feed;
    struct replay replay;
    open_made(&feed, units, 2);
    opens(&replay, &feed);
    assert_int_equal(replay.tasks.count, 1);
    takes(&replay, NULL, 10);
    takes(&replay, "unit=app:4x", 6 + 1);
    takes(&replay, "link=2x", 10 - 1);
    replay_close(&replay);
    close_feed(&feed);
}

/* One rustc: a second of frontend, then a second in which one thread feeds four workers; the linker takes half a second. */
static void push_compilation(struct feed *feed)
{
    push_stacks(feed);
    push_process(feed, 1, "/x/bin/rustc", "app", PROFILE_SAMPLED_YES, 0);
    push_thread(feed, 1, 1, 1001, "rustc", 0);
    push_samples(feed, 1, 1, TYPECK, 0, 1000);
    push_samples(feed, 1, 1, BUILD_IR, 1000, 1200);
    push_thread_end(feed, 1, 2500, 1200, 0);
    for (uint32_t i = 0; i < 4; i++) {
        int64_t start_ms = i < 2 ? 1000 : 1500;
        push_thread(feed, 2 + i, 1, 2000 + i, "opt cgu.1", start_ms);
        push_samples(feed, 1, 2 + i, OPTIMIZE, start_ms, start_ms + 500);
        push_thread_end(feed, 2 + i, start_ms + 500, 500, 0);
    }
    push_process(feed, 2, "/usr/bin/ld", "app", PROFILE_SAMPLED_YES, 2000);
    push_thread(feed, 6, 2, 1002, "ld", 2000);
    push_samples(feed, 2, 6, MACHINE, 2000, 2500);
    push_thread_end(feed, 6, 2500, 500, 0);
    push_process_end(feed, 2, 2500, 500, 0);
    push_process_end(feed, 1, 2500, 3200, 0);
}

static void a_compilation_of_three_stages(void **unused)
{
    (void)unused;
    struct feed feed;
    struct replay replay;
    open_feed(&feed);
    push_session(&feed, 2500, 3700, 4);
    push_compilation(&feed);
    finish_feed(&feed);
    opens(&replay, &feed);
    const struct replay_task *task = &replay.tasks.items[0];
    assert_true(fabs(task->before.seconds - 1) < 1e-3);
    assert_true(fabs(task->code_s - 2.2) < 1e-3);
    assert_true(fabs(task->floor_s - 0.5) < 1e-3);
    assert_true(fabs(task->after.seconds - 0.5) < 1e-3);
    assert_true(task->link_share == 1);
    assert_int_equal(task->most_threads, 5);
    assert_int_equal(replay.jobs, 3); /* threads at once: nobody said how many jobs there were */
    assert_true(fabs(task->gain - 0.6) < 1e-2); /* 2.2 threads were busy where 3 could have been */
    assert_true(task->drag == 1);
    takes(&replay, NULL, 2.5);
    takes(&replay, "link=2x", 2.25);
    takes(&replay, "unit=app:2x", 1.25);
    takes(&replay, "jobs=1", 1 + 2.2 + 0.5);
    takes(&replay, "jobs=all", 1 + 2.2 / (1 + 0.6 * 3.4) + 0.5);
    takes(&replay, "codegen-units=1", 1 + 2.2 / (1 + 0.6 * 0.1) + 0.5);
    takes(&replay, "cores=1,jobs=3", 1 + 2.2 + 0.5);
    replay_close(&replay);
    close_feed(&feed);
}

/* On one core: a unit that had a quarter of it for 4 s; half a second in which the build tool did nothing; one that had all of it
 * for a second. Other programs slow each down as they did, and the build tool's own time not at all. */
static void other_programs_come_and_go(void **unused)
{
    (void)unused;
    struct feed feed;
    struct replay replay;
    open_feed(&feed);
    push_session(&feed, 5500, 2000, 1);
    push_stacks(&feed);
    push_process(&feed, 1, "/x/bin/rustc", "first", PROFILE_SAMPLED_YES, 0);
    push_thread(&feed, 1, 1, 1001, "rustc", 0);
    for (int64_t at = 4; at <= 4000; at += 4)
        push_samples(&feed, 1, 1, TYPECK, at - 1, at);
    push_thread_end(&feed, 1, 4000, 1000, 3000);
    push_process_end(&feed, 1, 4000, 1000, 0);
    push_process(&feed, 3, "/x/bin/rustc", "second", PROFILE_SAMPLED_YES, 4500);
    push_thread(&feed, 2, 3, 1002, "rustc", 4500);
    push_samples(&feed, 3, 2, TYPECK, 4500, 5500);
    push_thread_end(&feed, 2, 5500, 1000, 0);
    push_process_end(&feed, 3, 5500, 1000, 0);
    finish_feed(&feed);
    opens(&replay, &feed);
    assert_true(fabs(replay.others - 1.5) < 1e-2); /* over both */
    assert_true(fabs(replay.latency_s - 0.5) < 1e-3);
    takes(&replay, NULL, 5.5);
    takes(&replay, "cores=2,jobs=1", 1.985 + 0.5 + 1);
    replay_close(&replay);
    close_feed(&feed);
}

/* Two compilations side by side on two cores, for each of which other programs left a quarter of one. */
static void push_two_that_wait(struct feed *feed)
{
    push_session(feed, 4000, 2000, 2);
    push_stacks(feed);
    for (uint32_t i = 1; i <= 3; i += 2) { /* neither is the other's child */
        push_process(feed, i, "/x/bin/rustc", i == 1 ? "first" : "second", PROFILE_SAMPLED_YES, 0);
        push_thread(feed, i, i, 1000 + i, "rustc", 0);
        for (int64_t at = 4; at <= 4000; at += 4)
            push_samples(feed, i, i, TYPECK, at - 1, at);
        push_thread_end(feed, i, 4000, 1000, 3000);
        push_process_end(feed, i, 4000, 1000, 0);
    }
    finish_feed(feed);
}

/* By thread, one alone has two of eight; by group, as much of its core as both had of both, but for what the others' group does not
 * want of the first core: 1 + 3 / 2 times as long as alone. */
static void by_thread_and_by_group(void **unused)
{
    (void)unused;
    static const struct {
        const char *shares;
        double with_one_job, on_four_cores;
    } rows[] = {{NULL, 2 * 3.5, 2},
                {"threads", 2 * 3.5, 2},
                {"sessions", 2 * 2.5, 2.5},
                {"groups", 2 * 2.5, 2.5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct feed feed;
        struct replay replay;
        open_feed(&feed);
        push_two_that_wait(&feed);
        feed.report->machine.cpu_shares = rows[i].shares;
        opens(&replay, &feed);
        takes(&replay, NULL, 4);
        takes(&replay, "jobs=1", rows[i].with_one_job);
        takes(&replay, "cores=4,jobs=2", rows[i].on_four_cores);
        replay_close(&replay);
        close_feed(&feed);
    }
}

/* Nobody told this compiler how many threads it may have: eight make code on two cores, beside seven threads of other programs. Each
 * works for half a second and has 2 of 15; before that one alone had 2 of 8. */
static void a_compiler_by_hand_beside_others(void **unused)
{
    (void)unused;
    struct feed feed;
    struct replay replay;
    open_feed(&feed);
    push_session(&feed, 4750, 4250, 2);
    push_stacks(&feed);
    push_process(&feed, 1, "/x/bin/rustc", "app", PROFILE_SAMPLED_YES, 0);
    push_thread(&feed, 1, 1, 1001, "rustc", 0);
    for (int64_t at = 4; at <= 1000; at += 4)
        push_samples(&feed, 1, 1, TYPECK, at - 1, at);
    push_thread_end(&feed, 1, 4750, 250, 750);
    for (uint32_t i = 0; i < 8; i++) {
        push_thread(&feed, 2 + i, 1, 2000 + i, "opt cgu.1", 1000);
        for (int64_t at = 1005; at <= 4750; at += 5)
            push_samples(&feed, 1, 2 + i, OPTIMIZE, at - 1, at);
        push_thread_end(&feed, 2 + i, 4750, 500, 3250);
    }
    push_process_end(&feed, 1, 4750, 4250, 0);
    finish_feed(&feed);
    opens(&replay, &feed);
    assert_int_equal(replay.jobs, 2);
    double wall_s;
    assert_int_equal(replay_run(&replay, NULL, &wall_s), LAM_OK);
    if (fabs(wall_s - 4.75) > 0.1) /* of 0.25 s in the front end the mean of the build counts for 0.02 */
        fail_msg("%f s, and it took 4.75 s", wall_s);
    replay_close(&replay);
    close_feed(&feed);
}

static void changes_in_words(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        int code;
    } rows[] = {
        {"", LAM_E_USAGE},
        {"unit", LAM_E_USAGE},
        {"unit=", LAM_E_USAGE},
        {"link=0", LAM_E_USAGE},
        {"link=x", LAM_E_USAGE},
        {"link=-2x", LAM_E_USAGE},
        {"cores=0", LAM_E_USAGE},
        {"cores=many", LAM_E_USAGE},
        {"codegen-units=1e9", LAM_E_USAGE},
        {"codegen-units=all", LAM_E_USAGE},
        {"speed=2", LAM_E_USAGE},
        {"cores=8,", LAM_OK},
        {"cores=8,,", LAM_E_USAGE},
        {"unit=a b,split=*,link=1.5x,cores=all,jobs=3,codegen-units=4", LAM_OK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct what_if change;
        struct arena arena = {0};
        struct lam_error err = LAM_ERROR_INIT;
        int rc = what_if_parse(&change, rows[i].text, &arena, &err);
        if (rc != rows[i].code)
            fail_msg("%s: %d, wanted %d", rows[i].text, rc, rows[i].code);
        what_if_free(&change);
        arena_free(&arena);
    }
}

static void names_and_answers(void **unused)
{
    (void)unused;
    struct feed feed;
    struct replay_answers answers;
    struct lam_error err = LAM_ERROR_INIT;
    open_made(&feed, four, 4);
    const struct report_unit serde = {.title = "serde 1.0.2"};
    assert_true(what_if_names(&(struct what_if_unit){.pattern = "serde"}, &serde));
    assert_true(what_if_names(&(struct what_if_unit){.pattern = "serde 1.0.2"}, &serde));
    assert_true(what_if_names(&(struct what_if_unit){.pattern = "s*2"}, &serde));
    assert_false(what_if_names(&(struct what_if_unit){.pattern = "ser"}, &serde));
    static const char *const unknown[] = {"unit=nobody"};
    assert_int_equal(replay_answers_make(&answers, feed.report, unknown, 1, &err), LAM_E_NOTFOUND);
    replay_answers_free(&answers);

    assert_int_equal(replay_answers_make(&answers, feed.report, NULL, 0, &err), LAM_OK);
    assert_true(answers.is_there);
    assert_true(answers.measured_s == 10);
    for (size_t i = 0; i < answers.rows.count; i++)
        assert_true(answers.rows.items[i].saved_s >= 0);
    assert_string_equal(answers.rows.items[0].change, "cores=8");
    replay_answers_free(&answers);
    close_feed(&feed);

    open_feed(&feed);
    push_session(&feed, 1000, 900, 2);
    finish_feed(&feed);
    assert_int_equal(replay_answers_make(&answers, feed.report, NULL, 0, &err), LAM_OK);
    assert_false(answers.is_there);
    replay_answers_free(&answers);
    close_feed(&feed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schedule_by_hand),
        cmocka_unit_test(a_link_inside_a_unit),
        cmocka_unit_test(a_compilation_of_three_stages),
        cmocka_unit_test(other_programs_come_and_go),
        cmocka_unit_test(by_thread_and_by_group),
        cmocka_unit_test(a_compiler_by_hand_beside_others),
        cmocka_unit_test(changes_in_words),
        cmocka_unit_test(names_and_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
