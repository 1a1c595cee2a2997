#include "analysis/report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/report_feed_test.h"

/* cargo for 10 s; a rustc from 0.1 to 9 s whose serial thread works from 1 to 3 s and whose worker works from 2 to 9 s; a static
 * program for 0.5 s. */
static void feed_build(struct feed *feed)
{
    open_feed(feed);
    push_session(feed, 10000, 9700, 4);
    push_stacks(feed);
    push_process(feed, 1, "/x/bin/cargo", "a", PROFILE_SAMPLED_YES, 0);
    push_thread(feed, 1, 1, 1001, "cargo", 0);
    push_process(feed, 2, "/x/bin/rustc", "big", PROFILE_SAMPLED_YES, 100);
    push_thread(feed, 2, 2, 7002, "rustc", 100);
    push_thread(feed, 3, 2, 7003, "coordinator", 1900);
    struct profile_thread_name rename = {
        .thread = 3, .at_ns = 1900 * (int64_t)MS, .name = text_of("opt cgu.1")};
    assert_int_equal(feed->sink.ops->thread_name(feed->sink.ctx, &rename), LAM_OK);
    push_process(feed, 3, "/bin/static", "x", PROFILE_SAMPLED_NO, 500);
    push_samples(feed, 1, 1, 1, 10, 110);
    push_samples(feed, 2, 2, TYPECK, 1000, 2000);
    push_samples(feed, 2, 2, BORROWCK, 2000, 3000);
    push_samples(feed, 2, 3, OPTIMIZE, 2000, 4000);
    push_samples(feed, 2, 3, MACHINE, 4000, 9000);
    struct profile_wait wait = {
        .process = 2, .thread = 2, .start_ns = 3000 * (int64_t)MS, .duration_ns = 6000 * MS, .kind = 1};
    assert_int_equal(feed->sink.ops->wait(feed->sink.ctx, &wait), LAM_OK);
    push_thread_end(feed, 1, 10000, 110, 0);
    push_thread_end(feed, 2, 9000, 2000, 400);
    push_thread_end(feed, 3, 9000, 7000, 0);
    push_process_end(feed, 1, 10000, 120, 5);
    push_process_end(feed, 2, 9000, 9030, 10);
    push_process_end(feed, 3, 1000, 500, 0);
    finish_feed(feed);
}

static const struct report_finding *finding(const struct report *report, const char *id)
{
    array_each(&report->findings, it) if (strcmp(it->id, id) == 0) return it;
    return NULL;
}

static uint64_t phase_ms(const struct report *report, uint32_t process, const char *name)
{
    static struct report_amount amounts[256];
    report_by_phase(report, process, amounts);
    for (uint32_t i = 0; i < classifier_phase_count(report->cls); i++)
        if (strcmp(classifier_phase(report->cls, i).phase_name, name) == 0)
            return amounts[i].cpu_ns / MS;
    return UINT64_MAX;
}

static void totals_are_those_of_the_samples(void **unused)
{
    (void)unused;
    struct feed feed;
    feed_build(&feed);
    const struct report *report = feed.report;
    assert_int_equal(report->total.samples, 100 + 2000 + 7000);
    assert_int_equal(report->total.cpu_ns, 9100 * MS);
    assert_int_equal(phase_ms(report, REPORT_NO_UNIT, "type_check"), 1000);
    assert_int_equal(phase_ms(report, REPORT_NO_UNIT, "borrowck"), 1000);
    assert_int_equal(phase_ms(report, REPORT_NO_UNIT, "optimize"), 2000);
    assert_int_equal(phase_ms(report, REPORT_NO_UNIT, "machine_code"), 5000);
    assert_int_equal(phase_ms(report, REPORT_NO_UNIT, "driver"), 100);
    assert_int_equal(phase_ms(report, 0, "type_check"), 0); /* cargo */
    struct report_amount segments[SEGMENT_COUNT], roles[ROLE_COUNT];
    report_by_segment(report, 1, segments);
    assert_int_equal(segments[SEGMENT_FRONTEND].cpu_ns, 2000 * MS);
    assert_int_equal(segments[SEGMENT_BACKEND].samples, 7000);
    report_by_role(report, REPORT_NO_UNIT, roles);
    assert_int_equal(roles[ROLE_SERIAL].cpu_ns, 2000 * MS);
    assert_int_equal(roles[ROLE_OPT].cpu_ns, 7000 * MS);
    assert_int_equal(roles[ROLE_PROCESS].cpu_ns, 100 * MS);
    struct report_cells cells = report_cells(report, 1);
    assert_int_equal(cells.count, 4);
    assert_string_equal(cells.items[0].cgu, "cgu.1");
    assert_string_equal(report->threads.items[2].name, "opt cgu.1");
    close_feed(&feed);
}

static void units_and_processes_are_told_apart(void **unused)
{
    (void)unused;
    struct feed feed;
    feed_build(&feed);
    const struct report *report = feed.report;
    assert_int_equal(report->units.count, 1);
    assert_string_equal(report->units.items[0].title, "big");
    assert_int_equal(report->processes.items[1].unit, 0);
    assert_int_equal(report->processes.items[0].unit, REPORT_NO_UNIT);
    assert_int_equal(report->processes.items[1].parent, 0);
    assert_string_equal(report->processes.items[2].title, "static");
    close_feed(&feed);
}

static void the_parts_of_the_charge_add_up(void **unused)
{
    (void)unused;
    struct feed feed;
    feed_build(&feed);
    const struct report_coverage *cov = &feed.report->coverage;
    assert_int_equal(cov->sampled_ns, 9100 * MS);
    assert_int_equal(cov->startup_ns, 10 * MS);
    /* cargo: 120 - 100 - 5 - 5 = 10 behind its last sample; rustc: 9030 - 9000 - 5 - 10 = 15 */
    assert_int_equal(cov->tail_ns, (5 + 10 + 10 + 15) * MS);
    assert_int_equal(cov->unsampled_ns, 500 * MS);
    assert_int_equal(report_unaccounted_ns(feed.report), (9700 - 9100 - 10 - 40 - 500) * MS);
    assert_true(fabs(cov->ratio - 9100.0 / 9700) < 1e-9);
    assert_int_equal(cov->sampled_span_ns, 9000 * MS);
    assert_int_equal(cov->frames, 100 + 2 * 9000);
    close_feed(&feed);
}

/* After an interrupt, say: nobody was charged for a process that still runs, but its samples are here. */
static void what_still_runs_counts_as_used(void **unused)
{
    (void)unused;
    struct feed feed;
    open_feed(&feed);
    push_session(&feed, 1000, 10, 2);
    push_stacks(&feed);
    push_process(&feed, 1, "/x/bin/rustc", "a", PROFILE_SAMPLED_YES, 0);
    push_thread(&feed, 1, 1, 7001, "rustc", 0);
    push_samples(&feed, 1, 1, TYPECK, 10, 90);
    struct profile_process_end end = {
        .process = 1, .running = true, .cpu_ns = 90 * MS, .tail_cpu_ns = PROFILE_UNKNOWN};
    assert_int_equal(feed.sink.ops->process_end(feed.sink.ctx, &end), LAM_OK);
    finish_feed(&feed);
    const struct report_coverage *cov = &feed.report->coverage;
    assert_int_equal(cov->sampled_ns, 80 * MS);
    assert_int_equal(cov->startup_ns, 5 * MS);
    assert_int_equal(cov->running_ns, 90 * MS);
    assert_int_equal(cov->running_seen_ns, 85 * MS);
    assert_int_equal(report_used_ns(feed.report), 100 * MS);
    assert_int_equal(report_unaccounted_ns(feed.report), 10 * MS);
    assert_true(fabs(cov->ratio - 0.8) < 1e-9);
    close_feed(&feed);
}

static void late_weight_is_not_coverage(void **unused)
{
    (void)unused;
    struct feed feed;
    open_feed(&feed);
    push_session(&feed, 1000, 100, 1);
    push_stacks(&feed);
    push_process(&feed, 1, "/x/bin/rustc", "a", PROFILE_SAMPLED_YES, 0);
    push_thread(&feed, 1, 1, 7001, "rustc", 0);
    struct profile_sample sample = {.process = 1,
                                    .thread = 1,
                                    .stack = TYPECK,
                                    .at_ns = 60 * (int64_t)MS,
                                    .cpu_ns = 50 * MS,
                                    .late_ns = 49 * MS,
                                    .period_ns = (uint32_t)MS,
                                    .merged = 49};
    assert_int_equal(feed.sink.ops->sample(feed.sink.ctx, &sample), LAM_OK);
    finish_feed(&feed);
    assert_int_equal(feed.report->coverage.sampled_ns, 1 * MS);
    assert_int_equal(feed.report->coverage.late_ns, 49 * MS);
    assert_int_equal(feed.report->coverage.merged_samples, 49);
    assert_true(fabs(feed.report->coverage.expected_samples - 50) < 1e-9);
    close_feed(&feed);
}

static void ledgers_close(void **unused)
{
    (void)unused;
    struct feed feed;
    feed_build(&feed);
    const struct report_ledger *serial = &feed.report->threads.items[1].ledger;
    assert_int_equal(serial->lifetime_ns, 8900 * MS);
    assert_int_equal(serial->run_ns, 2000 * MS);
    assert_int_equal(serial->core_wait_ns, 400 * MS);
    assert_int_equal(serial->blocked_ns, 6500 * MS);
    assert_int_equal(serial->waits.ns[1], 6000 * MS);
    assert_int_equal(serial->residual_ns, 500 * (int64_t)MS);
    const struct report_ledger *unit = &feed.report->processes.items[1].ledger;
    assert_int_equal(unit->lifetime_ns, unit->run_ns + unit->core_wait_ns + unit->blocked_ns);
    assert_int_equal(feed.report->processes.items[0].main_ledger.lifetime_ns, 10000 * MS);
    close_feed(&feed);
}

static void the_serial_tail_and_its_worker_are_found(void **unused)
{
    (void)unused;
    struct feed feed;
    feed_build(&feed);
    const struct report *report = feed.report;
    /* two threads work until 3 s, one until 9 s, none after that */
    assert_true(report->tail_start_ns >= 3000 * (int64_t)MS &&
                report->tail_start_ns <= 3003 * (int64_t)MS);
    assert_int_equal(report->tail_process, 1);
    assert_int_equal(report->peak_threads, 2);
    const struct report_finding *tail = finding(report, "serial_tail");
    assert_non_null(tail);
    assert_true(fabs(tail->seconds - 7) < 0.01);
    assert_int_equal(tail->unit, 0);
    assert_non_null(strstr(tail->text, "big"));
    close_feed(&feed);
}

static void says_what_was_not_sampled(void **unused)
{
    (void)unused;
    struct feed feed;
    feed_build(&feed);
    const struct report_finding *unsampled = finding(feed.report, "unsampled");
    assert_non_null(unsampled);
    assert_non_null(strstr(unsampled->text, "static"));
    assert_non_null(strstr(unsampled->text, "statically linked"));
    assert_null(finding(feed.report, "no_symbols"));
    assert_null(finding(feed.report, "incomplete"));
    close_feed(&feed);
}

/* One thread that waited for a core for twice as long as it ran: what it says of the command's own parallelism is nothing. */
static void other_programs_had_the_machine(void **unused)
{
    (void)unused;
    struct feed feed;
    open_feed(&feed);
    push_session(&feed, 6000, 2000, 2);
    push_stacks(&feed);
    push_process(&feed, 1, "/usr/bin/rustc", "a", PROFILE_SAMPLED_YES, 0);
    push_thread(&feed, 1, 1, 7001, "rustc", 0);
    push_samples(&feed, 1, 1, 2, 0, 2000);
    push_thread_end(&feed, 1, 6000, 2000, 4000);
    push_process_end(&feed, 1, 6000, 2000, 0);
    finish_feed(&feed);
    const struct report_finding *waits = finding(feed.report, "core_wait");
    assert_non_null(waits);
    assert_non_null(strstr(waits->text, "other programs had the machine"));
    assert_null(finding(feed.report, "serial_tail"));
    close_feed(&feed);
}

/* A command that is over at once has few samples, and they say nothing of where they lie. */
static void a_handful_of_samples_names_nobody(void **unused)
{
    (void)unused;
    struct feed feed;
    open_feed(&feed);
    push_session(&feed, 40, 40, 1);
    push_stacks(&feed);
    push_process(&feed, 1, "/usr/bin/rustc", "a", PROFILE_SAMPLED_YES, 0);
    push_thread(&feed, 1, 1, 7001, "rustc", 0);
    push_samples(&feed, 1, 1, UNRESOLVED, 0, 40);
    finish_feed(&feed);
    assert_null(finding(feed.report, "no_symbols"));
    assert_null(finding(feed.report, "unknown"));
    close_feed(&feed);
}

static void a_stripped_toolchain_is_named(void **unused)
{
    (void)unused;
    struct feed feed;
    open_feed(&feed);
    push_session(&feed, 1000, 1000, 1);
    push_stacks(&feed);
    push_process(&feed, 1, "/usr/bin/rustc", "a", PROFILE_SAMPLED_YES, 0);
    push_thread(&feed, 1, 1, 7001, "rustc", 0);
    push_samples(&feed, 1, 1, UNRESOLVED, 0, 900);
    finish_feed(&feed);
    assert_int_equal(feed.report->coverage.samples_without_symbols, 900);
    const struct report_finding *symbols = finding(feed.report, "no_symbols");
    assert_non_null(symbols);
    assert_int_equal(symbols->severity, REPORT_WARNING);
    assert_non_null(strstr(symbols->text, "librustc_driver-0123456789abcdef.so"));
    assert_null(finding(feed.report, "unknown")); /* one reason is enough */
    close_feed(&feed);
}

static void samples_without_a_name_are_no_compiler_doing_nothing(void **unused)
{
    (void)unused;
    struct feed feed;
    open_feed(&feed);
    push_session(&feed, 1000, 1000, 1);
    push_stacks(&feed);
    push_process(&feed, 1, "/x/bin/rustc", "a", PROFILE_SAMPLED_YES, 0);
    push_thread(&feed, 1, 1, 7001, "rustc", 0);
    push_samples(&feed, 1, 1, NAMELESS, 0, 900);
    finish_feed(&feed);
    assert_int_equal(feed.report->coverage.samples_without_symbols, 900);
    const struct report_finding *names = finding(feed.report, "no_names");
    assert_non_null(names);
    assert_int_equal(names->severity, REPORT_WARNING);
    assert_non_null(strstr(names->text, "100%"));
    assert_null(finding(feed.report, "no_symbols"));
    assert_null(finding(feed.report, "unknown"));
    close_feed(&feed);
}

static void files_that_cannot_be_read_are_named(void **unused)
{
    (void)unused;
    struct feed feed;
    open_feed(&feed);
    push_session(&feed, 1000, 1000, 1);
    push_process(&feed, 1, "/x/bin/rustc", "a", PROFILE_SAMPLED_YES, 0);
    struct profile_session_end end = {
        .streams = 7,
        .damaged_streams = 1,
        .unreadable_streams = 2,
        .faults = {.count = 10,
                   .kept = 2,
                   .texts = {"a.lam: cannot open: Permission denied", "b.lam: at byte 5: 1 page"}}};
    assert_int_equal(feed.sink.ops->session_end(feed.sink.ctx, &end), LAM_OK);
    assert_int_equal(report_finish(feed.report, NULL), LAM_OK);
    const struct report_finding *damaged = finding(feed.report, "damaged_streams");
    assert_non_null(damaged);
    assert_int_equal(damaged->severity, REPORT_WARNING);
    assert_non_null(strstr(damaged->text, "3 of 9 stream files"));
    assert_non_null(strstr(damaged->text, "a.lam: cannot open: Permission denied"));
    assert_null(finding(feed.report, "lost_records"));
    close_feed(&feed);
}

/* The reason that most records were lost for. */
static void lost_records_have_a_reason(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t no_space, budget;
        const char *text;
    } rows[] = {
        {0, 1, "1 record was lost: the file-size limit"},
        {5, 0, "5 records were lost: no space on the disk."},
        {2, 1000, "1,002 records were lost, most of them for one reason: the file-size limit"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct feed feed;
        open_feed(&feed);
        push_session(&feed, 1000, 1000, 1);
        push_process(&feed, 1, "/x/bin/toy", "a", PROFILE_SAMPLED_NO, 0);
        struct profile_process_end end = {.process = 1, .lost = {rows[i].no_space, rows[i].budget}};
        assert_int_equal(feed.sink.ops->process_end(feed.sink.ctx, &end), LAM_OK);
        finish_feed(&feed);
        const struct report_finding *found = finding(feed.report, "lost_records");
        assert_non_null(found);
        assert_ptr_equal(strstr(found->text, rows[i].text), found->text);
        close_feed(&feed);
    }
}

/* Of processes that record themselves, those that nobody in the recording started. */
static void a_command_that_ran_twice_is_told(void **unused)
{
    (void)unused;
    for (uint32_t runs = 1; runs <= 3; runs++)
        for (int is_sampled = 0; is_sampled < 2; is_sampled++) {
            struct feed feed;
            open_feed(&feed);
            struct profile_session session = {.elapsed_ns = PROFILE_UNKNOWN,
                                              .charged_cpu_ns = PROFILE_UNKNOWN,
                                              .has_intervals = true,
                                              .has_samples = is_sampled};
            assert_int_equal(feed.sink.ops->session(feed.sink.ctx, &session), LAM_OK);
            struct profile_text argv[] = {text_of("./toy"), text_of("a.toy")};
            for (uint32_t id = 1; id <= 2 * runs + 1;
                 id++) { /* each run with a child; one of another command */
                struct profile_process process = {.process = id,
                                                  .pid = id,
                                                  .parent = id % 2 ? 0 : id - 1,
                                                  .argv = argv,
                                                  .argc = id > 2 * runs ? 1 : 2};
                assert_int_equal(feed.sink.ops->process(feed.sink.ctx, &process), LAM_OK);
            }
            finish_feed(&feed);
            const struct report_finding *found = finding(feed.report, "repeated_runs");
            if (runs == 1 || is_sampled)
                assert_null(found);
            else
                assert_non_null(strstr(found->text, runs == 2 ? "ran 2 times" : "ran 3 times"));
            close_feed(&feed);
        }
}

static void what_recorders_counted_is_told(void **unused)
{
    (void)unused;
    static const struct {
        const char *id, *text;
        size_t offset;
        uint64_t count;
    } rows[] = {
        {"overwritten_events", "1,234 pages of events were",
         offsetof(struct profile_session_end, overwritten_pages), 1234},
        {"untold_calls", "1 call found", offsetof(struct profile_session_end, untold_calls), 1},
        {"unbalanced_exits", "2 calls were closed",
         offsetof(struct profile_session_end, unbalanced_exits), 2},
        {"refused_ends", "3 ends of", offsetof(struct profile_session_end, refused_ends), 3},
        {"clamped_times", "4 timestamps", offsetof(struct profile_session_end, clamped_times), 4},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    for (size_t i = 0; i <= ROWS; i++) { /* the last time nothing was counted */
        struct feed feed;
        open_feed(&feed);
        push_session(&feed, 1000, 1000, 1);
        struct profile_session_end end = {.streams = 1};
        if (i < ROWS)
            memcpy((char *)&end + rows[i].offset, &rows[i].count, sizeof rows[i].count);
        assert_int_equal(feed.sink.ops->session_end(feed.sink.ctx, &end), LAM_OK);
        assert_int_equal(report_finish(feed.report, NULL), LAM_OK);
        for (size_t at = 0; at < ROWS; at++) {
            const struct report_finding *found = finding(feed.report, rows[at].id);
            if (at != i)
                assert_null(found);
            else if (!found || strncmp(found->text, rows[at].text, strlen(rows[at].text)) != 0)
                fail_msg("%s: %s", rows[at].id, found ? found->text : "not found");
            else if (rows[at].offset == offsetof(struct profile_session_end, untold_calls))
                assert_non_null(strstr(found->text, "calls=tree:64M")); /* what helps */
        }
        close_feed(&feed);
    }
}

static void what_is_not_known_stays_so(void **unused)
{
    (void)unused;
    struct feed feed;
    open_feed(&feed);
    struct profile_session session = {
        .elapsed_ns = PROFILE_UNKNOWN, .charged_cpu_ns = PROFILE_UNKNOWN, .exit_code = -1};
    assert_int_equal(feed.sink.ops->session(feed.sink.ctx, &session), LAM_OK);
    push_process(&feed, 1, "/x/bin/rustc", "a", PROFILE_SAMPLED_YES, 0);
    finish_feed(&feed);
    assert_true(isnan(feed.report->coverage.ratio));
    assert_true(isnan(feed.report->cores_used));
    assert_int_equal(report_unaccounted_ns(feed.report), PROFILE_UNKNOWN);
    assert_true(isnan(report_process_wall_s(&feed.report->processes.items[0])));
    assert_non_null(finding(feed.report, "incomplete"));
    close_feed(&feed);
}

static void an_input_that_breaks_the_order_is_refused(void **unused)
{
    (void)unused;
    struct feed feed;
    open_feed(&feed);
    push_session(&feed, 10, 10, 1);
    struct profile_sample sample = {.process = 1, .thread = 1};
    struct profile_thread thread = {.thread = 1, .process = 9};
    struct profile_wait wait = {.thread = 4};
    struct profile_process_end end = {.process = 77};
    struct profile_module module = {.module = UINT32_MAX};
    assert_int_equal(feed.sink.ops->sample(feed.sink.ctx, &sample), LAM_E_INVAL);
    assert_int_equal(feed.sink.ops->thread(feed.sink.ctx, &thread), LAM_E_INVAL);
    assert_int_equal(feed.sink.ops->wait(feed.sink.ctx, &wait), LAM_E_INVAL);
    assert_int_equal(feed.sink.ops->process_end(feed.sink.ctx, &end), LAM_E_INVAL);
    assert_int_equal(feed.sink.ops->module(feed.sink.ctx, &module), LAM_E_INVAL);
    finish_feed(&feed);
    assert_int_equal(feed.report->processes.count, 0);
    close_feed(&feed);
}

/* Sixteen codegen units, three busy threads: one of them makes the work of the others. */
static const struct report_finding *feed_units(struct feed *feed, uint32_t cores,
                                               uint64_t jobserver_ms)
{
    open_feed(feed);
    push_session(feed, 6000, 12000, cores);
    push_stacks(feed);
    push_process(feed, 1, "/x/bin/rustc", "wide", PROFILE_SAMPLED_YES, 0);
    push_thread(feed, 1, 1, 7001, "rustc", 0);
    push_thread(feed, 2, 1, 7002, "opt cgu.0", 1000);
    push_thread(feed, 3, 1, 7003, "opt cgu.1", 1000);
    push_samples(feed, 1, 1, BUILD_IR, 1000, 5000);
    push_samples(feed, 1, 2, MACHINE, 1000, 5000);
    push_samples(feed, 1, 3, OPTIMIZE, 1000, 5000);
    struct profile_wait wait = {
        .process = 1, .thread = 2, .duration_ns = jobserver_ms * MS, .kind = REPORT_WAIT_JOBSERVER};
    assert_int_equal(feed->sink.ops->wait(feed->sink.ctx, &wait), LAM_OK);
    for (uint32_t i = 1; i <= 3; i++)
        push_thread_end(feed, i, 5000, i == 2 ? 4000 - jobserver_ms : 4000, 0);
    push_process_end(feed, 1, 6000, 12000, 0);
    finish_feed(feed);
    return finding(feed->report, "feeder_limit");
}

static void one_thread_that_feeds_the_others_is_told(void **unused)
{
    (void)unused;
    struct feed feed;
    const struct report_finding *limit = feed_units(&feed, 16, 0);
    assert_non_null(limit);
    assert_true(limit->seconds > 3.9 && limit->seconds < 4.1);
    assert_non_null(strstr(limit->text, "wide"));
    assert_non_null(strstr(limit->text, "3.0 of 16 cores"));
    close_feed(&feed);
    assert_null(feed_units(&feed, 3, 0)); /* there are no more cores to keep busy */
    close_feed(&feed);
    assert_null(feed_units(&feed, 16, 3000)); /* the jobserver held the workers back */
    close_feed(&feed);
}

/* With idle cores a larger -j helps; with full ones it does not. */
static void waiting_for_a_job_is_told_where_cores_are_idle(void **unused)
{
    (void)unused;
    struct feed feed;
    assert_null(feed_units(&feed, 16, 3000));
    assert_non_null(finding(feed.report, "jobserver"));
    assert_non_null(strstr(finding(feed.report, "jobserver")->text, "2.0 of 16 cores"));
    close_feed(&feed);
    assert_null(feed_units(&feed, 2, 3000));
    assert_null(finding(feed.report, "jobserver"));
    close_feed(&feed);
}

/* A wait belongs to what its stack was doing. */
static void waits_have_a_place(void **unused)
{
    (void)unused;
    struct feed feed;
    open_feed(&feed);
    push_session(&feed, 1000, 1000, 1);
    push_stacks(&feed);
    push_process(&feed, 1, "/x/bin/rustc", "a", PROFILE_SAMPLED_YES, 0);
    push_thread(&feed, 1, 1, 7001, "rustc", 0);
    push_samples(&feed, 1, 1, TYPECK, 0, 10);
    struct profile_wait wait = {
        .process = 1, .thread = 1, .stack = TYPECK, .duration_ns = 50 * MS, .cpu_ns = MS, .kind = 4};
    assert_int_equal(feed.sink.ops->wait(feed.sink.ctx, &wait), LAM_OK);
    assert_int_equal(feed.sink.ops->wait(feed.sink.ctx, &wait), LAM_OK);
    finish_feed(&feed);
    assert_int_equal(feed.report->wait_cells.count, 1);
    const struct report_wait_cell *cell = &feed.report->wait_cells.items[0];
    assert_int_equal(cell->count, 2);
    assert_int_equal(cell->ns, 98 * MS);
    assert_string_equal(classifier_bucket(feed.cls, cell->bucket).phase_name, "type_check");
    close_feed(&feed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_are_those_of_the_samples),
        cmocka_unit_test(units_and_processes_are_told_apart),
        cmocka_unit_test(the_parts_of_the_charge_add_up),
        cmocka_unit_test(what_still_runs_counts_as_used),
        cmocka_unit_test(late_weight_is_not_coverage),
        cmocka_unit_test(ledgers_close),
        cmocka_unit_test(the_serial_tail_and_its_worker_are_found),
        cmocka_unit_test(says_what_was_not_sampled),
        cmocka_unit_test(other_programs_had_the_machine),
        cmocka_unit_test(a_handful_of_samples_names_nobody),
        cmocka_unit_test(a_stripped_toolchain_is_named),
        cmocka_unit_test(samples_without_a_name_are_no_compiler_doing_nothing),
        cmocka_unit_test(files_that_cannot_be_read_are_named),
        cmocka_unit_test(what_recorders_counted_is_told),
        cmocka_unit_test(what_is_not_known_stays_so),
        cmocka_unit_test(lost_records_have_a_reason),
        cmocka_unit_test(a_command_that_ran_twice_is_told),
        cmocka_unit_test(an_input_that_breaks_the_order_is_refused),
        cmocka_unit_test(one_thread_that_feeds_the_others_is_told),
        cmocka_unit_test(waiting_for_a_job_is_told_where_cores_are_idle),
        cmocka_unit_test(waits_have_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
