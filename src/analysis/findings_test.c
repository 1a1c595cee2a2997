/* Findings that a real build would take too long, or too much of a machine, to show: made reports in which they must appear, and
 * the nearest ones in which they must not. tests/findings_builds.py has real builds for the others. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_links),
        cmocka_unit_test(a_link_that_nothing_waits_for),
        cmocka_unit_test(memory_that_limits),
        cmocka_unit_test(one_unit_with_much_memory),
        cmocka_unit_test(a_unit_that_others_wait_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
