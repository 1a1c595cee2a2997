/* When things ran: spans, concurrency, timeline. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/made_units_test.h"
#include "analysis/report_feed_test.h"
#include "analysis/report_state.h"
#include "base/file.h"

static uint32_t next_random(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

static void push_random_thread(struct feed *feed, uint32_t process, uint32_t thread, uint32_t *random)
{
    static const char *const names[] = {"rustc", "opt cgu.1", "opt cgu.2",  "codegen cgu.1",
                                        "copy",  "lto cgu.1", "coordinator"};
    int64_t at_ns = next_random(random, 1000) * (int64_t)MS;
    struct profile_sample sample = {0};
    push_thread(feed, thread, process, 7000 + thread, "rustc", 0);
    for (int i = 0; i < 2000; i++) {
        at_ns += next_random(random, 100) == 0 ? next_random(random, 40) * (int64_t)MS : 0;
        if (next_random(random, 30) == 0) {
            struct profile_thread_name name = {
                .thread = thread, .at_ns = at_ns, .name = text_of(names[next_random(random, 7)])};
            assert_int_equal(feed->sink.ops->thread_name(feed->sink.ctx, &name), LAM_OK);
        }
        uint64_t cpu_ns = next_random(random, 3) * (MS / 2);
        sample = (struct profile_sample){.process = process,
                                         .thread = thread,
                                         .stack = TYPECK + next_random(random, 6),
                                         .at_ns = at_ns += next_random(random, 2000) * 1000,
                                         .cpu_ns = cpu_ns,
                                         .late_ns = next_random(random, 10) ? 0 : cpu_ns + 5,
                                         .period_ns = (uint32_t)MS};
        assert_int_equal(feed->sink.ops->sample(feed->sink.ctx, &sample), LAM_OK);
    }
    sample.flags = PROFILE_SAMPLE_CLOSING;
    sample.cpu_ns = 300000;
    if (next_random(random, 2))
        assert_int_equal(feed->sink.ops->sample(feed->sink.ctx, &sample), LAM_OK);
    if (next_random(random, 4)) /* the others are ended by report_finish() */
        push_thread_end(feed, thread, at_ns / (int64_t)MS + 1, 1, 0);
}

static void open_random(struct feed *feed, uint32_t seed)
{
    uint32_t random = seed, thread = 0;
    open_feed(feed);
    push_session(feed, 10000, 9700, 4);
    push_stacks(feed);
    for (uint32_t process = 1; process <= 4; process++) {
        push_process(feed, process, "/x/bin/rustc", "big", PROFILE_SAMPLED_YES, 0);
        for (int i = 0; i < 4; i++)
            push_random_thread(feed, process, ++thread, &random);
        push_process_end(feed, process, 10000, 9000, 0);
    }
    finish_feed(feed);
}

static bool is_of(const struct report_span *span, const struct report *report,
                  const struct report_cell *cell)
{
    bool same_cgu =
        (!span->cgu && !cell->cgu) || (span->cgu && cell->cgu && strcmp(span->cgu, cell->cgu) == 0);
    return span->process == cell->process && span->role == cell->role && same_cgu &&
           span->phase == classifier_bucket(report->cls, cell->bucket).phase;
}

/* Counts and weights over the spans of a process, role, codegen unit and phase are those of its cells. */
static void spans_hold_what_the_totals_hold(void **unused)
{
    (void)unused;
    for (uint32_t seed = 1; seed <= 4; seed++) {
        struct feed feed;
        open_random(&feed, seed);
        const struct report *report = feed.report;
        struct report_amount all = {0};
        assert_true(report->spans.count > 100 && report->cells.count > 10);
        array_each(&report->cells, like)
        {
            struct report_amount cells = {0}, spans = {0};
            struct report_span probe = {.process = like->process,
                                        .role = like->role,
                                        .cgu = like->cgu,
                                        .phase = classifier_bucket(report->cls, like->bucket).phase};
            array_each(&report->cells, cell) if (is_of(&probe, report, cell))
            {
                cells.samples += cell->amount.samples;
                cells.cpu_ns += cell->amount.cpu_ns;
            }
            array_each(&report->spans, span) if (is_of(span, report, like))
            {
                spans.samples += span->samples;
                spans.cpu_ns += span->cpu_ns;
            }
            assert_int_equal(spans.samples, cells.samples);
            assert_int_equal(spans.cpu_ns, cells.cpu_ns);
        }
        array_each(&report->spans, span)
        {
            all.samples += span->samples;
            all.cpu_ns += span->cpu_ns;
        }
        assert_int_equal(all.samples, report->total.samples);
        assert_int_equal(all.cpu_ns, report->total.cpu_ns);
        close_feed(&feed);
    }
}

static void spans_are_in_order_and_do_not_overlap(void **unused)
{
    (void)unused;
    struct feed feed;
    open_random(&feed, 7);
    const struct report *report = feed.report;
    for (size_t i = 0; i < report->spans.count; i++) {
        const struct report_span *span = &report->spans.items[i];
        assert_true(span->start_ns <= span->end_ns);
        assert_int_equal(span->process, report->threads.items[span->thread].process);
        assert_int_equal(span->gap_ns, 10 * MS);
        if (i > 0 && span[-1].thread == span->thread)
            assert_true(span[-1].end_ns <= span->start_ns);
        else if (i > 0)
            assert_true(span[-1].thread < span->thread);
    }
    close_feed(&feed);
}

static void spans_are_not_kept_unasked(void **unused)
{
    (void)unused;
    struct feed feed;
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(classifier_open(&feed.cls, NULL, &err), LAM_OK);
    struct report_options options = {.cls = feed.cls, .names = {.names = fake_names}};
    assert_int_equal(report_open(&feed.report, &options, &err), LAM_OK);
    feed.sink = report_sink(feed.report);
    push_session(&feed, 1000, 1000, 1);
    push_stacks(&feed);
    push_process(&feed, 1, "/x/bin/rustc", "a", PROFILE_SAMPLED_YES, 0);
    push_thread(&feed, 1, 1, 7001, "rustc", 0);
    push_samples(&feed, 1, 1, TYPECK, 0, 100);
    finish_feed(&feed);
    assert_int_equal(feed.report->spans.count, 0);
    assert_int_equal(feed.report->peak_threads, 1);
    close_feed(&feed);
}

/* Not one thread at a time in a grid of some cell, but at any moment. */
static void the_peak_is_that_of_moments(void **unused)
{
    (void)unused;
    struct feed feed;
    open_feed(&feed);
    push_session(&feed, 100000, 1000, 4);
    push_stacks(&feed);
    push_process(&feed, 1, "/x/bin/rustc", "a", PROFILE_SAMPLED_YES, 0);
    for (uint32_t i = 0; i < 3; i++) { /* one after another: 0-20, 20-40, 40-60 ms */
        push_thread(&feed, i + 1, 1, 7001 + i, "rustc", 0);
        push_samples(&feed, 1, i + 1, TYPECK, 20 * i, 20 * i + 20);
    }
    push_thread(&feed, 4, 1, 7004, "rustc", 0);
    push_samples(&feed, 1, 4, TYPECK, 35, 45);
    finish_feed(&feed);
    assert_int_equal(feed.report->peak_threads, 2);
    assert_int_equal(feed.report->tail_start_ns, 45 * (int64_t)MS);
    assert_int_equal(feed.report->tail_ns, (100000 - 45) * MS);
    assert_int_equal(feed.report->tail_process_ns, 15 * MS);
    close_feed(&feed);
}

/* ---- ledger ------------------------------------------------------------------------------------------------------ */

static void check_closed(const struct report_ledger *ledger)
{
    uint64_t waits = 0;
    for (size_t i = 0; i < REPORT_WAIT_KINDS; i++)
        waits += ledger->waits.ns[i];
    assert_int_equal(ledger->lifetime_ns, ledger->run_ns + ledger->core_wait_ns + ledger->blocked_ns);
    assert_true(ledger->residual_ns >= 0);
    assert_int_equal(ledger->blocked_ns, waits + (uint64_t)ledger->residual_ns);
}

static void push_random_life(struct feed *feed, uint32_t process, uint32_t thread, uint32_t *random)
{
    push_thread(feed, thread, process, thread % 4 == 1 ? 1000 + process : 7000 + thread, "rustc", 0);
    uint32_t waits = next_random(random, 20);
    for (uint32_t i = 0; i < waits; i++) {
        struct profile_wait wait = {.process = process,
                                    .thread = thread,
                                    .duration_ns = next_random(random, 200) * MS + 1,
                                    .cpu_ns = next_random(random, 300) * MS,
                                    .kind = (uint16_t)next_random(random, 9)};
        assert_int_equal(feed->sink.ops->wait(feed->sink.ctx, &wait), LAM_OK);
    }
    struct profile_thread_end end = {
        .thread = thread,
        .end_ns = next_random(random, 1000) * (int64_t)MS,
        .cpu_ns = next_random(random, 1200) * MS,
        .run_ns = next_random(random, 4) ? next_random(random, 1200) * MS : PROFILE_UNKNOWN,
        .core_wait_ns = next_random(random, 4) ? next_random(random, 1200) * MS : PROFILE_UNKNOWN,
        .handler_ns = PROFILE_UNKNOWN};
    if (next_random(random, 10))
        assert_int_equal(feed->sink.ops->thread_end(feed->sink.ctx, &end), LAM_OK);
}

/* Whatever the kernel and the clocks say, every thread's, process's and main thread's time is split without a rest. */
static void ledgers_close_whatever_was_measured(void **unused)
{
    (void)unused;
    for (uint32_t seed = 1; seed <= 50; seed++) {
        uint32_t random = seed, thread = 0;
        struct feed feed;
        open_feed(&feed);
        push_session(&feed, 1000, 1000, 2);
        push_stacks(&feed);
        for (uint32_t process = 1; process <= 4; process++) {
            push_process(&feed, process, "/x/bin/rustc", "a", PROFILE_SAMPLED_YES, 0);
            for (int i = 0; i < 4; i++)
                push_random_life(&feed, process, ++thread, &random);
            push_process_end(&feed, process, 1000, 900, 0);
        }
        finish_feed(&feed);
        array_each(&feed.report->threads, it) check_closed(&it->ledger);
        array_each(&feed.report->processes, it)
        {
            uint64_t lifetimes = 0;
            check_closed(&it->ledger);
            check_closed(&it->main_ledger);
            array_each(&feed.report->threads, own) if (&feed.report->processes.items[own->process] ==
                                                       it) lifetimes += own->ledger.lifetime_ns;
            assert_int_equal(it->ledger.lifetime_ns, lifetimes);
        }
        close_feed(&feed);
    }
}

/* 100 ms of life: 20 on a core, 30 waiting for one, and waits of 75 ms: 25 of these are waits for a core after a wait. */
static void waits_for_a_core_after_a_wait_count_once(void **unused)
{
    (void)unused;
    struct feed feed;
    open_feed(&feed);
    push_session(&feed, 100, 20, 1);
    push_process(&feed, 1, "/x/bin/rustc", "a", PROFILE_SAMPLED_YES, 0);
    push_thread(&feed, 1, 1, 1001, "rustc", 0);
    struct profile_wait lock = {.process = 1, .thread = 1, .duration_ns = 50 * MS, .kind = 1},
                        io = {.process = 1, .thread = 1, .duration_ns = 25 * MS, .kind = 4};
    assert_int_equal(feed.sink.ops->wait(feed.sink.ctx, &lock), LAM_OK);
    assert_int_equal(feed.sink.ops->wait(feed.sink.ctx, &io), LAM_OK);
    push_thread_end(&feed, 1, 100, 20, 30);
    finish_feed(&feed);
    const struct report_ledger *ledger = &feed.report->processes.items[0].main_ledger;
    check_closed(ledger);
    assert_int_equal(ledger->blocked_ns, 50 * MS);
    assert_true(ledger->waits.ns[1] > 33 * MS && ledger->waits.ns[1] < 34 * MS);
    assert_true(ledger->waits.ns[4] > 16 * MS && ledger->waits.ns[4] < 17 * MS);
    assert_true(ledger->residual_ns < 10);
    close_feed(&feed);
}

/* ---- timeline ---------------------------------------------------------------------------------------------------- */

static const char session_text[] =
    "{\"format\":\"lamella-session\",\"version\":1,\"timeline\":{\"columns\":[\"t_ns\","
    "\"processes\","
    "\"cpu_busy\",\"load1\",\"psi_mem\",\"rss_bytes\"],\"rows\":["
    "[100000000,1,null,0.5,null,1000],[200000000,3,1.5,0.6,0.25,9000],[150000000,9,9,9,9,9],"
    "[300000000,2,2,0.6,0,4000]]}}";

static void feed_timeline(struct feed *feed, const char *path, const char *text)
{
    assert_int_equal(file_write_all(path, text, strlen(text), NULL), LAM_OK);
    struct profile_session session = {.elapsed_ns = 300 * MS,
                                      .charged_cpu_ns = 300 * MS,
                                      .complete = true,
                                      .has_samples = true,
                                      .cores = 2,
                                      .session_json = path};
    open_feed(feed);
    assert_int_equal(feed->sink.ops->session(feed->sink.ctx, &session), LAM_OK);
    push_stacks(feed);
    push_process(feed, 1, "/x/bin/rustc", "a", PROFILE_SAMPLED_YES, 50);
    push_thread(feed, 1, 1, 7001, "rustc", 50);
    push_samples(feed, 1, 1, TYPECK, 50, 250);
    push_process_end(feed, 1, 260, 200, 0);
    push_process(feed, 2, "/x/bin/ld", "a", PROFILE_SAMPLED_YES, 120); /* started by the first */
    push_thread(feed, 2, 2, 7002, "ld", 120);
    push_samples(feed, 2, 2, TYPECK, 150, 200);
    push_process_end(feed, 2, 230, 50, 0);
    finish_feed(feed);
}

static void the_timeline_says_what_ran(void **unused)
{
    (void)unused;
    char path[] = "/tmp/lamella-timeline-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    struct feed feed;
    feed_timeline(&feed, path, session_text);
    const struct report *report = feed.report;
    assert_int_equal(report->units.count, 2);
    assert_int_equal(report->timeline.count, 3); /* the row that steps back is left out */
    const struct report_timeline_row *rows = report->timeline.items;
    assert_int_equal(rows[1].t_ns, 200 * (int64_t)MS);
    assert_int_equal(rows[1].span_ns, 100 * MS);
    assert_true(isnan(rows[0].cpu_busy) && isnan(rows[0].waiting) && isnan(rows[0].tree_busy));
    assert_float_equal(rows[1].cpu_busy, 1.5, 1e-9);
    assert_float_equal(rows[1].rss_bytes, 9000, 1e-9);
    assert_float_equal(rows[0].running, 1, 0);
    assert_float_equal(rows[1].running, 1, 0); /* the linker runs in the compiler's place */
    assert_float_equal(rows[2].running, 0, 0);
    assert_float_equal(rows[0].threads_busy, 0.5, 1e-9);
    assert_float_equal(rows[1].threads_busy, 1.5, 1e-9);
    assert_float_equal(rows[2].threads_busy, 0.5, 1e-9);
    close_feed(&feed);
    unlink(path);
}

/* One sampled thread busy for 4 of 5 s; the machine is said to have had `busy` cores busy, the kernel to have charged
 * charged_ms. */
static void feed_busy(struct feed *feed, double busy, uint64_t charged_ms)
{
    char path[] = "/tmp/lamella-busy-XXXXXX", text[512];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    int length =
        snprintf(text, sizeof text,
                 "{\"version\":1,\"timeline\":{\"columns\":[\"t_ns\",\"cpu_busy\"],\"rows\":["
                 "[100000000,null],[2500000000,%g],[5000000000,%g]]}}",
                 busy, busy);
    assert_int_equal(file_write_all(path, text, (size_t)length, NULL), LAM_OK);
    struct profile_session session = {.elapsed_ns = 5000 * MS,
                                      .charged_cpu_ns = charged_ms * MS,
                                      .complete = true,
                                      .has_samples = true,
                                      .cores = 2,
                                      .rate_hz = 1000,
                                      .session_json = path};
    open_feed(feed);
    assert_int_equal(feed->sink.ops->session(feed->sink.ctx, &session), LAM_OK);
    push_stacks(feed);
    push_process(feed, 1, "/x/bin/rustc", "a", PROFILE_SAMPLED_YES, 0);
    push_thread(feed, 1, 1, 7001, "rustc", 0);
    push_samples(feed, 1, 1, TYPECK, 500, 4500);
    push_process_end(feed, 1, 5000, 4000, 0);
    finish_feed(feed);
    unlink(path);
}

static const struct report_finding *busy_finding(const struct feed *feed)
{
    array_each(&feed->report->findings, it) if (strcmp(it->id, "cpu_busy") == 0) return it;
    return NULL;
}

static void the_machine_is_the_check(void **unused)
{
    (void)unused;
    struct feed feed;
    feed_busy(&feed, 0.85, 4000); /* 2.5 points of 2 cores more */
    assert_float_equal(feed.report->cpu_busy_mean, 0.85, 1e-9);
    assert_null(busy_finding(&feed));
    close_feed(&feed);
    feed_busy(&feed, 1.5, 4000);
    assert_non_null(busy_finding(&feed));
    assert_string_equal(busy_finding(&feed)->text,
                        "1.5 of the machine's 2 cores were busy on average: 0.8 in samples of the "
                        "command, 0.7 in other programs, or in descendants that nobody saw.");
    assert_float_equal(busy_finding(&feed)->seconds, 3.5, 0.01);
    close_feed(&feed);
    feed_busy(&feed, 1.5, 7000);
    assert_non_null(busy_finding(&feed));
    assert_non_null(strstr(busy_finding(&feed)->text, "without samples"));
    close_feed(&feed);
    feed_busy(&feed, 0.5, 4000);
    assert_non_null(busy_finding(&feed));
    assert_int_equal(busy_finding(&feed)->severity, REPORT_WARNING);
    close_feed(&feed);
}

static const char memory_text[] =
    "{\"version\":1,\"machine\":{\"cores\":2,\"mem_bytes\":9000,\"os\":\"Debian\"},"
    "\"settings\":[{\"key\":\"RUSTFLAGS\",\"value\":\"-Cx\"}],"
    "\"seen\":[{\"pid\":1001,\"memory\":[[40000000,10,5],[200000000,900,700]]},"
    "{\"pid\":1002,\"memory\":[[130000000,600,500]]},{\"pid\":77,\"memory\":[[1,2,3]]}],"
    "\"memory_peak\":{\"t_ns\":200000000,\"rss_bytes\":1500,\"anon_bytes\":1200,"
    "\"holders\":[[1,600,500],[0,900,700],[2,1,1],[3,1,1]]}}";

static void memory_belongs_to_units(void **unused)
{
    (void)unused;
    char path[] = "/tmp/lamella-memory-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    struct feed feed;
    feed_timeline(&feed, path, memory_text);
    const struct report *report = feed.report;
    const struct report_memory_peak *peak = &report->memory_peak;
    assert_int_equal(report->memory.count, 3);
    assert_int_equal(report->memory.items[1].process, 0);
    assert_int_equal(report->memory.items[1].anon_bytes, 700);
    assert_int_equal(peak->anon_bytes, 1200);
    assert_int_equal(peak->holders.count, 2); /* those of nobody that is known are left out */
    assert_int_equal(peak->holders.items[0].process, 0);
    assert_int_equal(peak->holders.items[1].rss_bytes, 600);
    assert_int_equal(report->machine.mem_bytes, 9000);
    assert_string_equal(report->machine.os, "Debian");
    assert_null(report->machine.virt);
    assert_int_equal(report->settings.count, 1);
    assert_string_equal(report->settings.items[0].value, "-Cx");
    assert_true(isnan(report->cpu_busy_mean));
    close_feed(&feed);
    unlink(path);
}

/* Without cargo's own counts: by the graph, units wait from when all they need is there. */
static void what_waits_is_told_by_the_graph(void **unused)
{
    (void)unused;
    static const struct made_unit units[] = {
        {RUSTC, "--crate-name base base/src/lib.rs " LIB "-C extra-filename=-1", 0, 500, 0},
        {RUSTC, "--crate-name other other/src/lib.rs " LIB "-C extra-filename=-7", 600, 700, 0},
        {RUSTC,
         "--crate-name app src/main.rs --crate-type bin --emit=dep-info,link --out-dir /t/deps -C "
         "extra-filename=-6 --extern base=/t/deps/libbase-1.rlib",
         800, 900, 0},
    };
    static const struct {
        int64_t t_ms;
        double waiting, inactive;
    } wanted[] = {{100, 1, 1}, {550, 2, 0}, {650, 1, 0}, {850, 0, 0}};
    struct feed feed;
    open_made(&feed, units, sizeof units / sizeof units[0]);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_int_equal(
            array_push(&feed.report->timeline,
                       ((struct report_timeline_row){.t_ns = wanted[i].t_ms * (int64_t)MS})),
            LAM_OK);
    assert_int_equal(report_measure_waiting(feed.report), LAM_OK);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        assert_float_equal(feed.report->timeline.items[i].waiting, wanted[i].waiting, 0);
        assert_float_equal(feed.report->timeline.items[i].inactive, wanted[i].inactive, 0);
    }
    close_feed(&feed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_hold_what_the_totals_hold),
        cmocka_unit_test(spans_are_in_order_and_do_not_overlap),
        cmocka_unit_test(spans_are_not_kept_unasked),
        cmocka_unit_test(the_peak_is_that_of_moments),
        cmocka_unit_test(ledgers_close_whatever_was_measured),
        cmocka_unit_test(waits_for_a_core_after_a_wait_count_once),
        cmocka_unit_test(the_timeline_says_what_ran),
        cmocka_unit_test(what_waits_is_told_by_the_graph),
        cmocka_unit_test(the_machine_is_the_check),
        cmocka_unit_test(memory_belongs_to_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
