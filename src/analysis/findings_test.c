/* Findings that a real build would take too long, or too much of a machine, to show: made reports in which they must appear, and
 * the nearest ones in which they must not. tests/findings_builds.py and tests/findings_recordings.py have real builds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/made_units_test.h"

#define GB UINT64_C(1000000000)

static const struct report_finding *find(const struct report *report, const char *id)
{
    array_each(&report->findings, finding) if (strcmp(finding->id, id) == 0) return finding;
    return NULL;
}

/* The findings anew, after the test has changed the report. */
static const struct report_finding *find_again(struct report *report, const char *id)
{
    array_clear(&report->findings);
    assert_int_equal(report_find(report), LAM_OK);
    return find(report, id);
}

/* A program whose compiler waits for its linker for `link_ms`, after `before_ms`. */
static void open_linked(struct feed *feed, const char *linker, int64_t before_ms, int64_t link_ms)
{
    const struct made_unit units[] = {
        {RUSTC, "--crate-name app src/main.rs --crate-type bin --emit=link --out-dir /t/deps", 0,
         before_ms + link_ms, 0},
        {linker, "/w", "-o /t/deps/app a.o", before_ms, before_ms + link_ms, 1},
    };
    open_made(feed, units, 2);
}

static void slow_links(void **unused)
{
    (void)unused;
    static const struct {
        const char *linker, *advice; /* NULL: none is found */
        int64_t before_ms, link_ms;
    } rows[] = {
        {"/usr/bin/ld", "Try lld or mold", 100, 6000},
        {"/usr/bin/ld.lld", "split-debuginfo", 100, 6000},
        {"/usr/bin/mold", "split-debuginfo", 100, 6000},
        {"/usr/bin/ld", NULL, 9200, 800}, /* less than a second */
        {"/usr/bin/ld", NULL, 100, 950},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct feed feed;
        open_linked(&feed, rows[i].linker, rows[i].before_ms, rows[i].link_ms);
        const struct report_finding *finding = find(feed.report, "link_time");
        if (!finding != !rows[i].advice)
            fail_msg("row %zu: %s", i, finding ? finding->text : "nothing found");
        if (finding && rows[i].advice) {
            assert_non_null(strstr(finding->text, rows[i].advice));
            assert_true(finding->seconds == 6);
            assert_int_equal(finding->unit, unit_of(&feed, 2));
        }
        close_feed(&feed);
    }
}

/* A link beside a longer chain is nobody's loss. */
static void a_link_that_nothing_waits_for(void **unused)
{
    (void)unused;
    static const struct made_unit units[] = {
        {RUSTC, "--crate-name app src/main.rs --crate-type bin --emit=link --out-dir /t/deps", 0,
         6000, 0},
        {"/usr/bin/ld", "/w", "-o /t/deps/app a.o", 100, 6000, 1},
        {RUSTC, "--crate-name big src/lib.rs " LIB, 0, 10000, 0},
    };
    struct feed feed;
    open_made(&feed, units, 3);
    assert_null(find(feed.report, "link_time"));
    close_feed(&feed);
}

static void hold(struct report *report, uint32_t process, uint64_t bytes)
{
    struct report_memory memory = {.process = process, .rss_bytes = bytes, .anon_bytes = bytes};
    assert_int_equal(array_push(&report->memory_peak.holders, memory), LAM_OK);
    report->memory_peak.anon_bytes += bytes;
}

static void set_memory(struct report *report, uint64_t machine_bytes, uint64_t available_bytes)
{
    struct report_timeline_row row = {.t_ns = 1000 * (int64_t)MS,
                                      .span_ns = 1000 * MS,
                                      .psi_mem = 0,
                                      .mem_available_bytes = (double)available_bytes};
    report->machine.mem_bytes = machine_bytes;
    assert_int_equal(array_push(&report->timeline, row), LAM_OK);
}

static void memory_that_limits(void **unused)
{
    (void)unused;
    static const struct made_unit units[] = {
        {RUSTC, "--crate-name a src/lib.rs " LIB, 0, 9000, 0},
        {RUSTC, "--crate-name b src/lib.rs " LIB, 0, 9000, 0},
        {RUSTC, "--crate-name c src/lib.rs " LIB, 0, 9000, 0},
    };
    struct feed feed;
    open_made(&feed, units, 3);
    struct report *report = feed.report;
    assert_null(find(report, "memory_limit"));
    report->memory_peak.anon_bytes = 0;
    hold(report, 0, 5 * GB);
    hold(report, 1, 4 * GB);
    hold(report, 2, 2 * GB);
    set_memory(report, 12 * GB, GB / 2);
    const struct report_finding *finding = find_again(report, "memory_limit");
    assert_non_null(finding);
    assert_non_null(strstr(finding->text, "-j2")); /* 5 and 4 of 9 GB that it may use */
    assert_int_equal(finding->unit, unit_of(&feed, 1));

    report->timeline.items[0].mem_available_bytes = 4e9; /* there was room */
    assert_null(find_again(report, "memory_limit"));
    report->timeline.items[0].psi_mem = 0.9; /* of one second: too little of ten */
    assert_null(find_again(report, "memory_limit"));
    report->timeline.items[0].span_ns = 5000 * MS;
    assert_non_null(find_again(report, "memory_limit"));
    report->machine.mem_bytes = 64 * GB; /* another program fills it */
    report->timeline.items[0].mem_available_bytes = 0;
    assert_null(find_again(report, "memory_limit"));
    report->machine.mem_bytes = PROFILE_UNKNOWN;
    assert_null(find_again(report, "memory_limit"));
    close_feed(&feed);
}

static void one_unit_with_much_memory(void **unused)
{
    (void)unused;
    static const struct made_unit units[] = {
        {RUSTC, "--crate-name a src/lib.rs " LIB, 0, 9000, 0},
    };
    struct feed feed;
    open_made(&feed, units, 1);
    struct report *report = feed.report;
    struct report_process *process = &report->processes.items[0];
    process->has_usage = true;
    process->usage.max_rss_bytes = 19 * GB / 10;
    report->machine.mem_bytes = 64 * GB;
    assert_null(find_again(report, "memory_peak"));
    process->usage.max_rss_bytes = 21 * GB / 10;
    assert_non_null(find_again(report, "memory_peak"));
    process->usage.max_rss_bytes = GB;
    report->machine.mem_bytes = 3 * GB; /* a third of the machine's */
    assert_non_null(find_again(report, "memory_peak"));
    process->usage.max_rss_bytes = PROFILE_UNKNOWN;
    assert_null(find_again(report, "memory_peak"));
    close_feed(&feed);
}

/* a alone while b, c and d wait for it; with something beside it, or with nobody waiting, nothing is said. */
static void a_unit_that_others_wait_for(void **unused)
{
    (void)unused;
#define NEEDS_A "--crate-type bin --emit=link --out-dir /t/deps --extern a=/t/deps/liba-1.rlib"
    static const struct made_unit units[] = {
        {RUSTC, "--crate-name a src/lib.rs " LIB "-C extra-filename=-1", 0, 5000, 0},
        {RUSTC, "--crate-name b src/b.rs " NEEDS_A, 5000, 9000, 0},
        {RUSTC, "--crate-name c src/c.rs " NEEDS_A, 5000, 9000, 0},
        {RUSTC, "--crate-name d src/d.rs " NEEDS_A, 5000, 9000, 0},
        {RUSTC, "--crate-name e src/e.rs " LIB "-C extra-filename=-2", 0, 4800, 0},
    };
    static const struct {
        size_t count;
        bool is_found;
    } rows[] = {{4, true}, {2, false}, {1, false}, {5, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct feed feed;
        open_made(&feed, units, rows[i].count);
        const struct report_finding *finding = find(feed.report, "gating_unit");
        if (!finding == rows[i].is_found)
            fail_msg("%zu units: %s", rows[i].count, finding ? finding->text : "nothing found");
        if (finding) {
            assert_int_equal(finding->unit, unit_of(&feed, 1));
            assert_true(finding->seconds == 5);
            assert_non_null(strstr(finding->text, "3 units"));
        }
        close_feed(&feed);
    }
}

/* Two threads of a compiler for ran_ms each, at the same time, and what they waited for a core; 10 s in all, on `cores`. */
static void open_threads(struct feed *feed, uint32_t cores, int64_t ran_ms, uint64_t waited_ms)
{
    open_feed(feed);
    push_session(feed, 10000, 2 * (uint64_t)ran_ms, cores);
    push_stacks(feed);
    push_process(feed, 1, "/x/bin/rustc", "a", PROFILE_SAMPLED_YES, 0);
    for (uint32_t i = 1; i <= 2; i++) {
        push_thread(feed, i, 1, 7000 + i, i == 1 ? "rustc" : "opt cgu.0", 0);
        push_samples(feed, 1, i, i == 1 ? BUILD_IR : OPTIMIZE, 0, ran_ms);
        push_thread_end(feed, i, 10000, (uint64_t)ran_ms, waited_ms);
    }
    push_process_end(feed, 1, 10000, 2 * (uint64_t)ran_ms, 0);
    finish_feed(feed);
}

/* Cores are idle when nobody asks for them: a thread that waits for one, whoever has it, does ask. */
static void idle_cores_are_those_that_nobody_asked_for(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t cores;
        int64_t ran_ms;
        uint64_t waited_ms; /* of each of two threads, of 10 s */
        const char *idle;   /* NULL: it is not said */
        bool is_core_wait;
    } rows[] = {
        {4, 5000, 0, "1.0 of 4 cores were used on average", false},
        {4, 9000, 0, "1.8 of 4 cores", false},
        {2, 9000, 0, NULL, false},
        {2, 2000, 7000, NULL, true}, /* others had the machine, and it asked for 1.8 of 2 */
        {4, 2000, 7000, "and no more than 1.8 asked for", true},
        {1, 1000, 0, NULL, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct feed feed;
        open_threads(&feed, rows[i].cores, rows[i].ran_ms, rows[i].waited_ms);
        const struct report_finding *idle = find(feed.report, "idle_cores");
        if (!idle != !rows[i].idle || (idle && rows[i].idle && !strstr(idle->text, rows[i].idle)))
            fail_msg("row %zu: %s", i, idle ? idle->text : "nothing found");
        assert_true(!find(feed.report, "core_wait") == !rows[i].is_core_wait);
        close_feed(&feed);
    }
}

/* By what it costs, not by how long it lasted beside the others. */
static void a_unit_that_costs_most(void **unused)
{
    (void)unused;
    static const struct made_unit units[] = {
        {RUSTC, "--crate-name a src/lib.rs " LIB, 0, 9000, 0},
        {RUSTC, "--crate-name b src/lib.rs " LIB, 0, 9000, 0},
        {RUSTC, "--crate-name c src/lib.rs " LIB, 0, 9000, 0},
        {RUSTC, "--crate-name d src/lib.rs " LIB, 0, 9000, 0},
    };
    static const struct {
        size_t units;
        uint64_t charged_ms, cpu_ms;
        const char *text;
    } rows[] = {
        {4, 9700, 9400, "takes 9.40 s of CPU, 96.9% of all"},
        {4, 9700, 3300, "takes 3.30 s of CPU, 34.0% of all"},
        {4, 9700, 3200, NULL},
        {4, 1200, 990, NULL}, /* nobody would notice */
        {3, 9700, 9400, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct feed feed;
        open_made(&feed, units, rows[i].units);
        struct report *report = feed.report;
        report->coverage.charged_ns = rows[i].charged_ms * MS;
        report->processes.items[report->units.items[0].process].cpu_ns = rows[i].cpu_ms * MS;
        const struct report_finding *finding = find_again(report, "dominant_unit");
        if (!finding != !rows[i].text ||
            (finding && rows[i].text && !strstr(finding->text, rows[i].text)))
            fail_msg("row %zu: %s", i, finding ? finding->text : "nothing found");
        close_feed(&feed);
    }
}

/* A trailing stretch in which hardly anybody works is a wait, and no serial work. */
static void a_tail_without_work(void **unused)
{
    (void)unused;
    for (int is_idle = 0; is_idle <= 1; is_idle++) {
        struct feed feed;
        open_feed(&feed);
        push_session(&feed, 10000, 9000, 4);
        push_stacks(&feed);
        push_process(&feed, 1, "/x/bin/rustc", "a", PROFILE_SAMPLED_YES, 0);
        push_thread(&feed, 1, 1, 7001, "rustc", 0);
        push_thread(&feed, 2, 1, 7002, "opt cgu.0", 0);
        push_samples(&feed, 1, 1, BUILD_IR, 0, 4000);
        push_samples(&feed, 1, 2, OPTIMIZE, 0, 4000);
        push_samples(&feed, 1, 1, TYPECK, is_idle ? 9500 : 5000, 10000);
        push_process_end(&feed, 1, 10000, 9000, 0);
        finish_feed(&feed);
        const struct report_finding *tail = find(feed.report, "serial_tail");
        assert_non_null(tail);
        assert_non_null(strstr(tail->text, is_idle
                                               ? "and for 5.50 s none at all (a worked for 500 ms)"
                                               : "most of it in a (5.00 s)"));
        close_feed(&feed);
    }
}

/* What a linker waits for a core while others have the machine is no time of linking. */
static void a_linker_that_waits_for_a_core(void **unused)
{
    (void)unused;
    struct feed feed;
    open_linked(&feed, "/usr/bin/ld", 100, 6000);
    assert_non_null(find(feed.report, "link_time"));
    feed.report->processes.items[1].main_ledger.core_wait_ns = 5100 * MS;
    assert_null(find_again(feed.report, "link_time"));
    feed.report->processes.items[1].main_ledger.core_wait_ns = 3000 * MS;
    const struct report_finding *finding = find_again(feed.report, "link_time");
    assert_non_null(finding);
    assert_non_null(strstr(finding->text, "Linking takes 3.00 s"));
    assert_non_null(strstr(finding->text, "about 1.50 s shorter"));
    close_feed(&feed);
}

/* What was not seen, and what can be done about the largest part of it. */
static void what_is_not_seen_and_why(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t startup_ms, tail_ms, late_ms; /* of 1000 */
        const char *part, *advice;             /* NULL: coverage is not low */
    } rows[] = {
        {0, 90, 0, NULL, NULL},
        {200, 100, 0, "200 ms in starting processes", "Many short programs"},
        {50, 200, 0, "200 ms in threads that ended", "--rate 4999"},
        {50, 60, 300, "300 ms in samples that came late", "lamella doctor"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct feed feed;
        open_threads(&feed, 2, 500, 0);
        struct report_coverage *cov = &feed.report->coverage;
        cov->startup_ns = rows[i].startup_ms * MS;
        cov->tail_ns = rows[i].tail_ms * MS;
        cov->late_ns = rows[i].late_ms * MS;
        cov->sampled_ns = cov->charged_ns - cov->startup_ns - cov->tail_ns - cov->late_ns;
        cov->ratio = (double)cov->sampled_ns / (double)cov->charged_ns;
        const struct report_finding *finding = find_again(feed.report, "low_coverage");
        if (!finding != !rows[i].part)
            fail_msg("row %zu: %s", i, finding ? finding->text : "nothing found");
        if (finding && rows[i].part) {
            assert_non_null(strstr(finding->text, rows[i].part));
            assert_non_null(strstr(finding->text, rows[i].advice));
        }
        close_feed(&feed);
    }
}

/* At which end nothing was sampled. */
static void samples_of_a_part_of_the_time(void **unused)
{
    (void)unused;
    static const struct {
        int64_t start_ms, end_ms; /* of the only process with samples, in 10 s */
        const char *where;
    } rows[] = {{0, 9000, NULL}, {0, 7000, "in its last 3.00 s"}, {4000, 9500, "in its first 4.00 s"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct feed feed;
        open_feed(&feed);
        push_session(&feed, 10000, 9000, 2);
        push_stacks(&feed);
        push_process(&feed, 1, "/x/bin/rustc", "a", PROFILE_SAMPLED_YES, rows[i].start_ms);
        push_thread(&feed, 1, 1, 7001, "rustc", rows[i].start_ms);
        push_samples(&feed, 1, 1, TYPECK, rows[i].start_ms, rows[i].end_ms);
        push_process_end(&feed, 1, rows[i].end_ms, 9000, 0);
        finish_feed(&feed);
        const struct report_finding *finding = find(feed.report, "short_span");
        if (!finding != !rows[i].where || (finding && !strstr(finding->text, rows[i].where)))
            fail_msg("row %zu: %s", i, finding ? finding->text : "nothing found");
        close_feed(&feed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_links),
        cmocka_unit_test(a_link_that_nothing_waits_for),
        cmocka_unit_test(memory_that_limits),
        cmocka_unit_test(one_unit_with_much_memory),
        cmocka_unit_test(a_unit_that_others_wait_for),
        cmocka_unit_test(idle_cores_are_those_that_nobody_asked_for),
        cmocka_unit_test(a_unit_that_costs_most),
        cmocka_unit_test(a_tail_without_work),
        cmocka_unit_test(a_linker_that_waits_for_a_core),
        cmocka_unit_test(what_is_not_seen_and_why),
        cmocka_unit_test(samples_of_a_part_of_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
