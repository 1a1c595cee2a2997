/* Units of a made build against a made record of cargo's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analysis/cargo_join.h"
#include "analysis/made_units_test.h"

enum { NOT_SEEN = 0 };

#define SESSION_AT_NS INT64_C(1800000000000000000)

/* A unit as cargo has it; NULL: not said. */
struct said {
    const char *package, *target, *kind, *mode;
    const char *features; /* one; "" is none; NULL: the record does not say */
    double start_s, end_s;
    enum cargo_job job;
    const char *platform;
    uint32_t process; /* number of the process that it must be, from 1; 0: NOT_SEEN */
};

/* unblocks: for each, the place of the one that waited for its metadata, from 1; 0: nobody did. NULL: nobody. */
static void fill_record_of(struct cargo_record *record, const struct said *said, size_t count,
                           const uint32_t *unblocks)
{
    cargo_record_init(record);
    record->source = CARGO_FROM_TIMINGS;
    record->host = "x86_64-unknown-linux-gnu";
    for (size_t i = 0; i < count; i++) {
        struct cargo_unit *unit = cargo_record_add(record);
        assert_non_null(unit);
        unit->number = i;
        unit->package = said[i].package;
        unit->version = "0.1.0";
        unit->target = said[i].target;
        unit->kind = said[i].kind ? said[i].kind : "lib";
        unit->mode = said[i].mode ? said[i].mode : "build";
        unit->platform = said[i].platform;
        unit->job = said[i].job;
        unit->start_s = said[i].start_s;
        unit->end_s = said[i].end_s;
        unit->has_features = said[i].features != NULL;
        if (unblocks && unblocks[i]) {
            uint32_t *id = arena_array(&record->arena, 1, sizeof *id);
            assert_non_null(id);
            *id = unblocks[i] - 1;
            unit->unblocked_rmeta = (struct cargo_ids){id, 1};
        }
        if (said[i].features && *said[i].features) {
            unit->features = &said[i].features;
            unit->feature_count = 1;
        }
    }
    assert_int_equal(cargo_record_finish(record), LAM_OK);
}

static void fill_record(struct cargo_record *record, const struct said *said, size_t count)
{
    fill_record_of(record, said, count, NULL);
}

/* As open_made(), with a record, notes and the time at which the session began. */
static void open_joined(struct feed *feed, const struct made_unit *units, size_t count,
                        struct cargo_record *record, struct cargo_notes *notes)
{
    struct profile_session session = {.command = "cargo build",
                                      .elapsed_ns = 10000 * MS,
                                      .charged_cpu_ns = 9700 * MS,
                                      .started_at_unix_ns = SESSION_AT_NS,
                                      .complete = true,
                                      .cores = 4,
                                      .engine = 1};
    open_feed(feed);
    assert_int_equal(feed->sink.ops->session(feed->sink.ctx, &session), LAM_OK);
    for (uint32_t i = 0; i < count; i++)
        push_unit(feed, i + 1, &units[i]);
    for (uint32_t i = 0; i < count; i++)
        push_process_end(feed, i + 1, units[i].end_ms, 1, 0);
    if (record)
        assert_int_equal(report_take_cargo(feed->report, record), LAM_OK);
    if (notes)
        assert_int_equal(report_take_notes(feed->report, notes), LAM_OK);
    finish_feed(feed);
    assert_int_equal(feed->report->units.count, count);
}

/* By process: which unit of the record's it is. Those of said are found by their place in the list before it was sorted. */
static void is_joined(const struct feed *feed, const struct said *said, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t found = 0;
        for (uint32_t process = 1; process <= feed->report->units.count; process++) {
            const struct report_unit *unit = &feed->report->units.items[unit_of(feed, process)];
            const struct cargo_unit *cargo = report_cargo_unit(feed->report, unit);
            if (cargo && cargo->number == i)
                found = process;
        }
        if (found != said[i].process)
            fail_msg("%s %s (%zu) is process %u, wanted %u", said[i].package,
                     said[i].kind ? said[i].kind : "lib", i, found, said[i].process);
    }
}

/* ---- which is which ---- */

static const struct made_unit build[] = {
    {RUSTC, "--crate-name my_lib my-lib/src/lib.rs --cfg feature=\"std\" " LIB "-C extra-filename=-1",
     3010, 4000, 0},
    {RUSTC,
     "--crate-name my_lib my-lib/src/lib.rs --cfg feature=\"alloc\" " LIB "-C extra-filename=-2",
     3012, 4000, 0},
    {RUSTC,
     "--crate-name build_script_build native/build.rs --crate-type bin --emit=dep-info,link "
     "--out-dir "
     "/t/build/native-0123456789abcdef -C extra-filename=-3",
     3020, 3300, 0},
    {"/t/build/native-0123456789abcdef/build-script-build", "/w/native", "", 3310, 3400, 0},
    {RUSTC, "--crate-name twice twice/src/lib.rs " LIB "-C extra-filename=-4", 3500, 3600, 0},
    {RUSTC, "--crate-name twice twice/src/lib.rs " LIB "-C extra-filename=-5", 5000, 5100, 0},
    {RUSTC, "--crate-name app app/src/lib.rs " LIB "-C extra-filename=-6", 6000, 6500, 0},
    {RUSTC, "--crate-name app app/src/main.rs --crate-type bin --emit=dep-info,link --out-dir /t/deps -C extra-filename=-7",
     6001, 6500, 0},
    {RUSTC, "--crate-name app app/src/lib.rs --test --emit=dep-info,link --out-dir /t/deps -C extra-filename=-8",
     6002, 6500, 0},
    {RUSTC,
     "--crate-name app app/src/lib.rs --target wasm32-unknown-unknown " LIB "-C extra-filename=-9",
     6003, 6500, 0},
};

/* Cargo's times are 3 s before the session's, and those of the last package agree for all its units: the rest must tell. */
static const struct said record_of_build[] = {
    {"my-lib", NULL, "lib", NULL, "alloc", 0.001, 1.0, CARGO_JOB_COMPILE, NULL, 2},
    {"my-lib", NULL, "lib", NULL, "std", 0.002, 1.0, CARGO_JOB_COMPILE, NULL, 1},
    {"native", "build-script-build", "build-script", NULL, NULL, 0.01, 0.3, CARGO_JOB_COMPILE, NULL,
     3},
    {"native", "build-script-build", "build-script", "run-custom-build", NULL, 0.3, 0.4,
     CARGO_JOB_RUN_SCRIPT, NULL, 4},
    {"twice", NULL, "lib", NULL, NULL, 2.0, 2.1, CARGO_JOB_COMPILE, NULL, 6},
    {"twice", NULL, "lib", NULL, NULL, 0.5, 0.6, CARGO_JOB_COMPILE, NULL, 5},
    {"app", "app", "bin", NULL, NULL, 3.0, 3.5, CARGO_JOB_COMPILE, NULL, 8},
    {"app", NULL, "lib", "test", NULL, 3.0, 3.5, CARGO_JOB_COMPILE, NULL, 9},
    {"app", NULL, "lib", NULL, NULL, 3.0, 3.5, CARGO_JOB_COMPILE, "wasm32-unknown-unknown", 10},
    {"app", NULL, "lib", NULL, NULL, 3.0, 3.5, CARGO_JOB_COMPILE, "x86_64-unknown-linux-gnu", 7},
    {"app", NULL, "bin", NULL, NULL, 3.0, 3.4, CARGO_JOB_DOC, NULL, NOT_SEEN},
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void units_are_told_apart(void **unused)
{
    (void)unused;
    struct cargo_record record;
    struct feed feed;
    fill_record(&record, record_of_build, COUNT(record_of_build));
    open_joined(&feed, build, COUNT(build), &record, NULL);
    assert_null(feed.report->cargo_note);
    is_joined(&feed, record_of_build, COUNT(record_of_build));

    /* Cargo's zero is measured: half of the processes begin 3.0 s or less after cargo's note of them, half later. */
    assert_in_range(feed.report->cargo_zero_ns, 2995 * MS, 3015 * MS);
    assert_int_equal(report_cargo_ns(feed.report, 1.5),
                     feed.report->cargo_zero_ns + (int64_t)(1500 * MS));
    assert_int_equal(report_cargo_ns(feed.report, 1e300), INT64_MAX);

    assert_int_equal(feed.report->cargo_unseen.count, 1);
    assert_int_equal(feed.report->cargo->units.items[feed.report->cargo_unseen.items[0]].number, 10);
    struct cargo_around around = cargo_around(feed.report);
    assert_true(fabs(around.before_s - 3.01) < 1e-9);
    assert_true(fabs(around.after_s - 3.5) < 1e-9);
    close_feed(&feed);
}

/* Two versions of one package, compiled at the same moment: whom each unblocked tells, since the command lines of those name files. By the
 * clock each would be the other one. */
static void two_of_a_kind_at_once(void **unused)
{
    (void)unused;
    static const struct made_unit units[] = {
        {RUSTC, "--crate-name util util/src/lib.rs " LIB "-C extra-filename=-1", 1000, 1500, 0},
        {RUSTC, "--crate-name util util2/src/lib.rs " LIB "-C extra-filename=-2", 1001, 1500, 0},
        {RUSTC,
         "--crate-name core core/src/lib.rs " LIB
         "-C extra-filename=-3 --extern util=/t/deps/libutil-2.rmeta",
         1400, 1600, 0},
        {RUSTC,
         "--crate-name app app/src/lib.rs " LIB
         "-C extra-filename=-4 --extern core=/t/deps/libcore-3.rmeta --extern "
         "other=/t/deps/libutil-1.rmeta",
         1500, 1700, 0},
    };
    static const struct said said[] = {
        {"util", NULL, "lib", NULL, NULL, 1.0, 1.5, CARGO_JOB_COMPILE, NULL, 2},
        {"util", NULL, "lib", NULL, NULL, 1.001, 1.5, CARGO_JOB_COMPILE, NULL, 1},
        {"core", NULL, "lib", NULL, NULL, 1.4, 1.6, CARGO_JOB_COMPILE, NULL, 3},
        {"app", NULL, "lib", NULL, NULL, 1.5, 1.7, CARGO_JOB_COMPILE, NULL, 4},
    };
    /* The second util's metadata was the last that app waited for, or core's. */
    static const uint32_t unblocks[][COUNT(said)] = {{3, 4, 0, 0}, {3, 0, 4, 0}};
    const char *classes[2];
    struct feed feeds[2];
    for (size_t i = 0; i < COUNT(feeds); i++) {
        struct cargo_record record;
        fill_record_of(&record, said, COUNT(said), unblocks[i]);
        open_joined(&feeds[i], units, COUNT(units), &record, NULL);
        is_joined(&feeds[i], said, COUNT(said));
        classes[i] = feeds[i].report->units.items[unit_of(&feeds[i], 4)].class_id;
    }
    assert_non_null(classes[0]);
    assert_string_equal(classes[0], classes[1]);
    for (size_t i = 0; i < COUNT(feeds); i++)
        close_feed(&feeds[i]);
}

/* A library that needs another one whole waits for what that needs, too, when it comes last: in one build and not in the next. */
static void who_came_last_is_no_part_of_a_class(void **unused)
{
    (void)unused;
    static const struct made_unit units[] = {
        {RUSTC, "--crate-name base base/src/lib.rs " LIB "-C extra-filename=-1", 1000, 2000, 0},
        {RUSTC,
         "--crate-name mid mid/src/lib.rs " LIB
         "-C extra-filename=-2 --extern base=/t/deps/libbase-1.rmeta",
         1400, 1600, 0},
        {RUSTC,
         "--crate-name mac mac/src/lib.rs --crate-type proc-macro --emit=dep-info,link --out-dir "
         "/t/deps -C extra-filename=-3 --extern mid=/t/deps/libmid-2.rlib",
         2100, 2200, 0},
    };
    static const struct said said[] = {
        {"base", NULL, "lib", NULL, NULL, 1.0, 2.0, CARGO_JOB_COMPILE, NULL, 1},
        {"mid", NULL, "lib", NULL, NULL, 1.4, 1.6, CARGO_JOB_COMPILE, NULL, 2},
        {"mac", NULL, "proc-macro", NULL, NULL, 2.1, 2.2, CARGO_JOB_COMPILE, NULL, 3},
    };
    static const uint32_t unblocks[][COUNT(said)] = {{3, 0, 0}, {0, 3, 0}};
    const char *classes[2];
    struct feed feeds[2];
    for (size_t i = 0; i < COUNT(feeds); i++) {
        struct cargo_record record;
        fill_record_of(&record, said, COUNT(said), unblocks[i]);
        open_joined(&feeds[i], units, COUNT(units), &record, NULL);
        classes[i] = feeds[i].report->units.items[unit_of(&feeds[i], 3)].class_id;
    }
    assert_non_null(classes[0]);
    assert_string_equal(classes[0], classes[1]);
    for (size_t i = 0; i < COUNT(feeds); i++)
        close_feed(&feeds[i]);
}

/* ---- what was not seen to run ---- */

static const struct made_unit one_of_four[] = {
    {RUSTC, "--crate-name app app/src/lib.rs " LIB "-C extra-filename=-1", 1000, 2000, 0},
};

static const struct said with_fresh[] = {
    {"app", NULL, "lib", NULL, NULL, 1.0, 2.0, CARGO_JOB_COMPILE, NULL, 1},
    {"old", NULL, "lib", NULL, NULL, 0.9, 0.91, CARGO_JOB_COMPILE, NULL, NOT_SEEN}, /* fresh */
    {"cached", NULL, "lib", NULL, NULL, 0.9, 0.905, CARGO_JOB_COMPILE, NULL,
     NOT_SEEN}, /* its fingerprint changed */
    {"slow", NULL, "lib", NULL, NULL, 0.9, 2.9, CARGO_JOB_COMPILE, NULL,
     NOT_SEEN}, /* nothing fresh takes 2 s */
    {"app", NULL, "lib", "doctest", NULL, 1.0, 1.0, CARGO_JOB_COMPILE, NULL,
     NOT_SEEN}, /* cargo counts it among the fresh ones */
    {"later", NULL, "lib", NULL, NULL, NAN, NAN, CARGO_JOB_COMPILE, NULL, NOT_SEEN}, /* never begun */
};

/* The page of a failed build has what it did not get to from 0 to 0, as what is fresh. */
static void what_was_not_begun_is_not_unseen(void **unused)
{
    (void)unused;
    static const struct said failed[] = {
        {"app", NULL, "lib", NULL, NULL, 1.0, 4.0, CARGO_JOB_COMPILE, NULL, 1},
        {"slow", NULL, "lib", NULL, NULL, 2.0, 3.0, CARGO_JOB_COMPILE, NULL, NOT_SEEN},
        {"one", NULL, "lib", NULL, NULL, 0, 0, CARGO_JOB_COMPILE, NULL, NOT_SEEN},
        {"two", NULL, "lib", NULL, NULL, 0, 0, CARGO_JOB_COMPILE, NULL, NOT_SEEN},
        {"three", NULL, "lib", NULL, NULL, 0, 0, CARGO_JOB_COMPILE, NULL, NOT_SEEN},
    };
    struct cargo_record record;
    struct feed feed;
    fill_record(&record, failed, COUNT(failed));
    record.fresh = 1;
    open_joined(&feed, one_of_four, 1, &record, NULL);
    assert_int_equal(feed.report->cargo_unseen.count, 1);
    assert_int_equal(feed.report->cargo->units.items[feed.report->cargo_unseen.items[0]].number, 1);
    assert_int_equal(feed.report->cargo_not_begun, 2);
    close_feed(&feed);
}

/* Cargo's page says how many units were fresh, and not which. */
static void fresh_units_are_not_unseen(void **unused)
{
    (void)unused;
    static const struct cargo_cause causes[] = {
        {"debug", "cached", "0123456789abcdef", "lib-cached", CARGO_STATUS_DIRTY,
         "src/lib.rs changed", NULL},
        {"debug", "old", "1123456789abcdef", "build-script-build-script-build", CARGO_STATUS_DIRTY,
         "build.rs changed", NULL},
    };
    static const struct {
        uint64_t fresh;
        bool has_notes;
        const char *unseen; /* packages */
    } rows[] = {
        {UINT64_MAX, true, "cached old slow "}, /* the page does not say */
        {0, true, "cached old slow "},
        {1, true, "cached old slow "}, /* the documentation test's */
        {2, true, "cached slow "},     /* the cause is another unit's of the package */
        {2, false, "old slow "},       /* nothing but the time tells */
        {4, false, "slow "},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cargo_record record;
        struct cargo_notes notes = {.known_before = UINT64_MAX};
        struct feed feed;
        char unseen[100] = "";
        fill_record(&record, with_fresh, COUNT(with_fresh));
        record.fresh = rows[i].fresh;
        for (size_t k = 0; rows[i].has_notes && k < COUNT(causes); k++)
            assert_int_equal(array_push(&notes.causes, causes[k]), LAM_OK);
        open_joined(&feed, one_of_four, 1, &record, rows[i].has_notes ? &notes : NULL);
        static const char *const packages[] = {"app", "cached", "later", "old", "slow"};
        for (size_t k = 0; k < COUNT(packages); k++)
            array_each(&feed.report->cargo_unseen,
                       index) if (strcmp(feed.report->cargo->units.items[*index].package,
                                         packages[k]) == 0)
                snprintf(unseen + strlen(unseen), sizeof unseen - strlen(unseen), "%s ", packages[k]);
        if (strcmp(unseen, rows[i].unseen) != 0)
            fail_msg("row %zu: not seen are %s, wanted %s", i, unseen, rows[i].unseen);
        close_feed(&feed);
    }
}

/* ---- a record of another build ---- */

static void records_of_other_builds_are_left_out(void **unused)
{
    (void)unused;
    static const struct said other[] = {
        {"app", NULL, "lib", NULL, NULL, 1.0, 2.0, CARGO_JOB_COMPILE, NULL, NOT_SEEN},
        {"a", NULL, "lib", NULL, NULL, 1.0, 2.0, CARGO_JOB_COMPILE, NULL, NOT_SEEN},
        {"b", NULL, "lib", NULL, NULL, 1.0, 2.0, CARGO_JOB_COMPILE, NULL, NOT_SEEN},
    };
    static const struct made_unit units[] = {
        {RUSTC, "--crate-name app app/src/lib.rs " LIB "-C extra-filename=-1", 1000, 2000, 0},
        {RUSTC, "--crate-name x x/src/lib.rs " LIB "-C extra-filename=-2", 1000, 2000, 0},
        {RUSTC, "--crate-name y y/src/lib.rs " LIB "-C extra-filename=-3", 1000, 2000, 0},
    };
    static const struct {
        size_t units; /* of those above */
        int64_t at_ns; /* of cargo's zero, after the session's start; INT64_MIN: the record does not say */
        const char *why; /* in the note; NULL: it is taken */
    } rows[] = {
        {1, INT64_MIN, NULL},
        {1, 50 * INT64_C(1000000), NULL},
        {1, -50 * INT64_C(1000000), NULL},                       /* clocks differ by as much */
        {1, -200 * INT64_C(1000000), "another time"},            /* an older page */
        {1, -1999 * INT64_C(1000000) - 1000000, NULL},           /* a page in whole seconds */
        {1, 11 * INT64_C(1000000000) + 1000000, "another time"}, /* after the recording's end */
        {3, INT64_MIN, "not seen to run"},                       /* one of three */
        {2, INT64_MIN, NULL},                                    /* one of two */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cargo_record record;
        struct feed feed;
        fill_record(&record, other, COUNT(other));
        record.has_started_at = rows[i].at_ns != INT64_MIN;
        if (record.has_started_at)
            record.started_at_unix_ns = SESSION_AT_NS + rows[i].at_ns;
        open_joined(&feed, units, rows[i].units, &record, NULL);
        const char *note = feed.report->cargo_note;
        if (!rows[i].why != !note || (note && !strstr(note, rows[i].why)))
            fail_msg("row %zu: the note is %s", i, note ? note : "none");
        if (note) {
            assert_null(feed.report->cargo);
            assert_null(report_cargo_unit(feed.report, &feed.report->units.items[0]));
        }
        close_feed(&feed);
    }
}

/* ---- why ---- */

static void causes_are_of_their_units(void **unused)
{
    (void)unused;
    static const struct cargo_cause causes[] = {
        {"debug", "my-lib", "1", "lib-my-lib", CARGO_STATUS_NEW, NULL, NULL},
        {"debug", "my-lib", "2", "lib-my-lib", CARGO_STATUS_DIRTY, "a dependency was rebuilt", "base"},
        {"debug", "native", "ffffffffffffffff", "run-build-script-build-script-build",
         CARGO_STATUS_DIRTY, "build.rs changed", NULL},
        {"debug", "twice", "44", "lib-twice", CARGO_STATUS_NEW, NULL, NULL}, /* -4 is not -44 */
    };
    struct cargo_notes notes = {.known_before = UINT64_MAX};
    for (size_t i = 0; i < COUNT(causes); i++)
        assert_int_equal(array_push(&notes.causes, causes[i]), LAM_OK);
    struct feed feed;
    open_joined(&feed, build, COUNT(build), NULL, &notes);
    const struct report_unit *units = feed.report->units.items;
    assert_int_equal(units[unit_of(&feed, 1)].status, CARGO_STATUS_NEW);
    assert_int_equal(units[unit_of(&feed, 2)].status, CARGO_STATUS_DIRTY);
    assert_string_equal(units[unit_of(&feed, 2)].reason, "a dependency was rebuilt");
    assert_string_equal(units[unit_of(&feed, 2)].reason_dep, "base");
    assert_int_equal(units[unit_of(&feed, 3)].status, CARGO_STATUS_UNKNOWN); /* compiled, not run */
    assert_string_equal(units[unit_of(&feed, 4)].reason, "build.rs changed");
    assert_int_equal(units[unit_of(&feed, 5)].status, CARGO_STATUS_UNKNOWN);
    close_feed(&feed);
}

/* What has no hash in its command line is told by its name; what has one never is. */
static void a_library_for_c_has_its_cause(void **unused)
{
    (void)unused;
    static const struct made_unit units[] = {
        {RUSTC, "--crate-name my_plugin plugin/src/lib.rs --crate-type cdylib -C metadata=1 --emit=dep-info,link --out-dir /t/deps",
         0, 100, 0},
        {RUSTC, "--crate-name my_plugin plugin/src/lib.rs --test --emit=dep-info,link --out-dir /t/deps -C extra-filename=-2",
         0, 100, 0},
        {RUSTC, "--crate-name other other/src/lib.rs --crate-type cdylib --emit=dep-info,link --out-dir /t/deps",
         0, 100, 0},
    };
    static const struct cargo_cause cause = {
        "debug", "my-plugin", "1", "lib-my_plugin", CARGO_STATUS_DIRTY, "src/lib.rs changed", NULL};
    struct cargo_notes notes = {.known_before = UINT64_MAX};
    struct feed feed;
    assert_int_equal(array_push(&notes.causes, cause), LAM_OK);
    open_joined(&feed, units, COUNT(units), NULL, &notes);
    assert_string_equal(feed.report->units.items[unit_of(&feed, 1)].reason, "src/lib.rs changed");
    assert_int_equal(feed.report->units.items[unit_of(&feed, 2)].status, CARGO_STATUS_UNKNOWN);
    assert_int_equal(feed.report->units.items[unit_of(&feed, 3)].status, CARGO_STATUS_UNKNOWN);
    close_feed(&feed);
}

/* Cargo's own word counts before what the fingerprints tell. */
static void the_session_log_knows_better(void **unused)
{
    (void)unused;
    static const struct cargo_cause cause = {"debug",          "app", "1", "lib-app",
                                             CARGO_STATUS_NEW, NULL,  NULL};
    static const struct said said[] = {
        {"app", NULL, "lib", NULL, NULL, 1.0, 2.0, CARGO_JOB_COMPILE, NULL, 1},
        {"base", NULL, "lib", NULL, NULL, NAN, NAN, CARGO_JOB_COMPILE, NULL, NOT_SEEN},
    };
    struct cargo_record record;
    struct cargo_notes notes = {.known_before = UINT64_MAX};
    struct feed feed;
    assert_int_equal(array_push(&notes.causes, cause), LAM_OK);
    fill_record(&record, said, COUNT(said));
    record.source = CARGO_FROM_LOG;
    record.units.items[0].status = CARGO_STATUS_DIRTY;
    record.units.items[0].reason = "the dependency base was rebuilt";
    record.units.items[0].reason_unit = 1;
    record.units.items[1].status = CARGO_STATUS_FRESH;
    open_joined(&feed, one_of_four, 1, &record, &notes);
    const struct report_unit *unit = &feed.report->units.items[0];
    assert_int_equal(unit->status, CARGO_STATUS_DIRTY);
    assert_string_equal(unit->reason, "the dependency base was rebuilt");
    assert_string_equal(unit->reason_dep, "base");
    assert_int_equal(feed.report->cargo_unseen.count, 0);
    close_feed(&feed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_told_apart),
        cmocka_unit_test(two_of_a_kind_at_once),
        cmocka_unit_test(who_came_last_is_no_part_of_a_class),
        cmocka_unit_test(fresh_units_are_not_unseen),
        cmocka_unit_test(what_was_not_begun_is_not_unseen),
        cmocka_unit_test(records_of_other_builds_are_left_out),
        cmocka_unit_test(causes_are_of_their_units),
        cmocka_unit_test(a_library_for_c_has_its_cause),
        cmocka_unit_test(the_session_log_knows_better),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
