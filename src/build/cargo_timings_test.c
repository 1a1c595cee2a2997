#include "build/cargo_timings.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

#define TABLE                                                                                      \
    "<h1>Cargo Build Timings</h1>\n<table>\n<tr>\n<td>Profile:</td><td>dev</td>\n"                 \
    "<td>Fresh units:</td><td>3</td>\n<td>Dirty units:</td><td>4</td>\n"                           \
    "<td>Max concurrency:</td><td>2 (jobs=7 ncpu=2)</td>\n"                                        \
    "<td>Build start:</td><td>2026-11-30T06:51:41.805960744Z</td>\n"                               \
    "<td>rustc:</td><td>rustc 1.95.0 (59807616e 2026-04-14)<br>Host: x86_64-unknown-linux-gnu<br>" \
    "Target: x86_64-unknown-linux-gnu</td>\n</tr>\n"

#define SCRIPT                                                                               \
    "{\"i\": 5, \"name\": \"script\", \"version\": \"0.1.0\", \"mode\": \"todo\", "          \
    "\"target\": \" build-script\", \"features\": [], \"start\": 0.06, \"duration\": 0.14, " \
    "\"unblocked_units\": [6], \"unblocked_rmeta_units\": [], \"sections\": null}"
#define RUN                                                                                       \
    "{\"i\": 6, \"name\": \"script\", \"version\": \"0.1.0\", \"mode\": \"run-custom-build\", "   \
    "\"target\": \" build-script (run)\", \"features\": [], \"start\": 0.21, \"duration\": 0.0, " \
    "\"unblocked_units\": [], \"unblocked_rmeta_units\": [], \"sections\": null}"
#define LIBRARY                                                                                   \
    "{\"i\": 2, \"name\": \"core-lib\", \"version\": \"0.1.0\", \"mode\": \"todo\", "             \
    "\"target\": \"\", \"features\": [\"x]y\", \"default\", \"x]y\"], \"start\": 0.05, "          \
    "\"duration\": 0.5, \"unblocked_units\": [9, 99], \"unblocked_rmeta_units\": [5, 6], "        \
    "\"sections\": [[\"frontend\", {\"start\": 0.0, \"end\": 0.2}], "                             \
    "[\"codegen\", {\"start\": 0.2, \"end\": 0.4}], [\"link\", {\"start\": 0.4, \"end\": 0.5}], " \
    "[\"codegen\", {\"start\": 0.4, \"end\": 0.5}]]}"
#define TEST_UNIT                                                                       \
    "{\"i\": 9, \"name\": \"app\", \"version\": \"0.1.0\", \"mode\": \"todo\", "        \
    "\"target\": \" app \\\"bin\\\" (check-test)\", \"features\": [], \"start\": 0.6, " \
    "\"duration\": 0.1, \"unblocked_units\": [], \"unblocked_rmeta_units\": [], "       \
    "\"sections\": [[\"frontend\", {\"start\": 0.0, \"end\": -0.01}]], \"new_key\": [{}, 1]}"

#define REST                                                                                      \
    "const CONCURRENCY_DATA = [{\"t\": 0.06, \"active\": 2, \"waiting\": 1, \"inactive\": 7}];\n" \
    "const CPU_USAGE = [[0.2, 100.0], [0.3, 50.5, 1]];\n</script>"

static const char page[] = TABLE "<script>\nDURATION = 1;\nconst UNIT_DATA = [" SCRIPT ", " RUN
                                 ", " LIBRARY ", " TEST_UNIT "];\n" REST;

static int parse(struct cargo_record *record, const char *text, struct lam_error *err)
{
    /* A copy of its own size, so that a byte too many is found. */
    char *copy = mem_alloc(strlen(text));
    assert_non_null(copy);
    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): its length goes with it
    memcpy(copy, text, strlen(text));
    int rc = cargo_timings_parse(record, copy, strlen(text), "page.html", err);
    mem_free(copy);
    return rc;
}

static void near(double found, double expected)
{
    if (fabs(found - expected) > 1e-9)
        fail_msg("%.12f instead of %.12f", found, expected);
}

static void test_page(void **state)
{
    (void)state;
    struct cargo_record record;
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(parse(&record, page, &err), LAM_OK);
    assert_false(record.is_cut);
    assert_string_equal(record.profile, "dev");
    assert_string_equal(record.host, "x86_64-unknown-linux-gnu");
    assert_string_equal(record.rustc, "rustc 1.95.0 (59807616e 2026-04-14)");
    assert_int_equal(record.jobs, 7);
    assert_int_equal(record.cores, 2);
    assert_int_equal(record.fresh, 3);
    assert_int_equal(record.dirty, 4);
    assert_true(record.has_started_at);
    assert_int_equal(record.started_at_unix_ns, 1796021501805960744);
    assert_int_equal(record.concurrency.count, 1);
    assert_int_equal(record.concurrency.items[0].inactive, 7);
    assert_int_equal(record.cpu.count, 2);
    near(record.cpu.items[1].percent, 50.5);
    near(record.duration_s, 0.7);
    assert_int_equal(record.units.count, 4);

    /* By start: the library, the script, its run, the test. */
    const struct cargo_unit *lib = &record.units.items[0];
    assert_string_equal(lib->package, "core-lib");
    assert_string_equal(lib->kind, "lib");
    assert_string_equal(lib->mode, "build");
    assert_null(lib->target);
    assert_int_equal(lib->feature_count, 2);
    assert_string_equal(lib->features[0], "default");
    assert_string_equal(lib->features[1], "x]y");
    near(lib->frontend_s, 0.2);
    near(lib->rmeta_s, 0.2);
    near(lib->codegen_s, 0.3); /* a section that comes twice */
    near(lib->link_s, 0.1);
    assert_true(isnan(lib->other_s));
    assert_int_equal(lib->unblocked.count, 1); /* there is no unit 99 */
    assert_int_equal(lib->unblocked.items[0], 3);
    assert_int_equal(lib->unblocked_rmeta.count, 2);
    assert_int_equal(lib->unblocked_rmeta.items[1], 2);

    assert_string_equal(record.units.items[1].kind, "build-script");
    assert_int_equal(record.units.items[1].job, CARGO_JOB_COMPILE);
    assert_int_equal(record.units.items[2].job, CARGO_JOB_RUN_SCRIPT);
    const struct cargo_unit *test = &record.units.items[3];
    assert_string_equal(test->target, "app");
    assert_string_equal(test->kind, "bin");
    assert_string_equal(test->mode, "check-test");
    near(test->frontend_s, -0.01); /* as measured */
    assert_string_equal(cargo_unit_title(test, &record.arena),
                        "app v0.1.0 app \"bin\" (check-test)");
    assert_string_equal(cargo_unit_title(lib, &record.arena), "core-lib v0.1.0");
    assert_string_equal(cargo_unit_title(&record.units.items[2], &record.arena),
                        "script v0.1.0 build script (run)");
    cargo_record_free(&record);
}

/* Before there were sections and features. */
static void test_old_page(void **state)
{
    (void)state;
    struct cargo_record record;
    assert_int_equal(
        parse(&record,
              "<td>Build start:</td><td>2019-10-08T23:10:38Z</td>\nconst UNIT_DATA = [{\"i\":0,"
              "\"name\":\"a\",\"version\":\"1.0.0\",\"mode\":\"build\",\"target\":\"\","
              "\"start\":1.0,\"duration\":3.5,\"rmeta_time\":2.0,\"unblocked_units\":[],"
              "\"unblocked_rmeta_units\":[]},{\"i\":1,\"name\":\"b\",\"version\":\"1.0.0\","
              "\"mode\":\"test\",\"target\":\" b \\\"lib\\\" (test)\",\"start\":0.5,"
              "\"duration\":1.0,\"rmeta_time\":null,\"unblocked_units\":[0]}];\n",
              NULL),
        LAM_OK);
    assert_true(record.is_cut); /* the other lists are not there */
    assert_int_equal(record.started_at_unix_ns, 1570576238000000000);
    assert_int_equal(record.units.count, 2);
    const struct cargo_unit *a = &record.units.items[1], *b = &record.units.items[0];
    near(a->rmeta_s, 2.0);
    near(a->frontend_s, 2.0);
    near(a->codegen_s, 1.5);
    assert_false(a->has_features);
    assert_true(isnan(b->rmeta_s));
    assert_string_equal(b->mode, "test");
    assert_int_equal(b->unblocked.items[0], 1);
    cargo_record_free(&record);
}

/* Cargo 1.65, Debian 12's: the kind first, and another word for who waits. */
static void test_kinds_first(void **state)
{
    (void)state;
    static const struct {
        const char *description, *target, *kind, *mode;
    } rows[] = {
        {" bin \\\"app\\\"", "app", "bin", "build"},
        {" bin \\\"bin\\\"", "bin", "bin", "build"},
        {" integration-test \\\"all\\\" (test)", "all", "integration-test", "test"},
        {" test \\\"bin\\\"", "test", "bin", "build"}, /* today's: the program is called test */
        {" build script", NULL, "build-script", "build"},
        {" build script (run)", NULL, "build-script", "build"},
        {"", NULL, "lib", "build"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "\nconst UNIT_DATA = [{\"i\":0,\"name\":\"a\",\"version\":\"1.0.0\",\"mode\":\"todo\","
            "\"target\":\"%s\",\"start\":1,\"duration\":1,\"unlocked_units\":[1]},"
            "{\"i\":1,\"name\":\"b\",\"version\":\"1.0.0\",\"mode\":\"todo\",\"target\":\"\","
            "\"start\":2,"
            "\"duration\":1,\"unlocked_rmeta_units\":[0]}];\n",
            rows[i].description);
        struct cargo_record record;
        assert_int_equal(parse(&record, text, NULL), LAM_OK);
        const struct cargo_unit *unit = &record.units.items[0];
        if (rows[i].target)
            assert_string_equal(unit->target, rows[i].target);
        else
            assert_null(unit->target);
        assert_string_equal(unit->kind, rows[i].kind);
        if (!strstr(rows[i].description, "(run)"))
            assert_string_equal(unit->mode, rows[i].mode);
        assert_int_equal(unit->unblocked.count, 1);
        assert_int_equal(record.units.items[1].unblocked_rmeta.count, 1);
        cargo_record_free(&record);
    }
}

static void test_damaged(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int rc;
        size_t units; /* what is whole before the damage */
    } rows[] = {
        {"", LAM_E_CORRUPT, 0},
        {"<html>", LAM_E_CORRUPT, 0},
        {"x const UNIT_DATA = [];", LAM_E_CORRUPT, 0}, /* not at the start of a line */
        {"\nconst UNIT_DATA = ", LAM_OK, 0},
        {"\nconst UNIT_DATA = null;", LAM_OK, 0},
        {"\nconst UNIT_DATA = [1];", LAM_OK, 0},
        {"\nconst UNIT_DATA = [" SCRIPT, LAM_OK, 1},
        {"\nconst UNIT_DATA = [" SCRIPT ", {\"i\": 7, \"na", LAM_OK, 1},
        {"\nconst UNIT_DATA = [" SCRIPT ", {\"i\": -7}];", LAM_OK, 1},
        {"\nconst UNIT_DATA = [" SCRIPT ", {\"name\": [1]}];", LAM_OK, 1},
        {"\nconst UNIT_DATA = [" SCRIPT ", {\"sections\": [[1]]}];", LAM_OK, 1},
        {"\nconst UNIT_DATA = [" SCRIPT ", {\"sections\": {}}];", LAM_OK, 1},
        {"\nconst UNIT_DATA = [" SCRIPT ", {\"features\": [1]}];", LAM_OK, 1},
        {"\nconst UNIT_DATA = [" SCRIPT ", {\"unblocked_units\": [\"1\"]}];", LAM_OK, 1},
        {"\nconst UNIT_DATA = [" SCRIPT "];\nconst CPU_USAGE = [[1]];\n", LAM_OK, 1},
        {"\nconst UNIT_DATA = [" SCRIPT "];\nconst CONCURRENCY_DATA = [[1]];\n", LAM_OK, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cargo_record record;
        struct lam_error err = LAM_ERROR_INIT;
        int rc = parse(&record, rows[i].text, &err);
        if (rc != rows[i].rc || record.units.count != rows[i].units)
            fail_msg("row %zu: %d and %zu units", i, rc, record.units.count);
        if (rc == LAM_OK && (!record.is_cut || !strstr(record.damage, "page.html")))
            fail_msg("row %zu: says nothing of its damage", i);
        if (rc < 0)
            assert_non_null(strstr(err.msg, "page.html"));
        cargo_record_free(&record);
    }
}

/* At every byte: an error, or what came before. */
static void test_cut_anywhere(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof page - 1; size++) {
        struct cargo_record record;
        char *copy = mem_alloc(size + 1);
        assert_non_null(copy);
        memcpy(copy, page, size);
        int rc = cargo_timings_parse(&record, copy, size, "page.html", NULL);
        mem_free(copy);
        assert_true(rc == LAM_OK || rc == LAM_E_CORRUPT);
        assert_true(rc < 0 || record.is_cut || size >= sizeof page - 12);
        cargo_record_free(&record);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    for (uint64_t after = 0;; after++) {
        struct cargo_record record;
        mem_fail_after(after);
        int rc = cargo_timings_parse(&record, page, sizeof page - 1, "page.html", NULL);
        mem_fail_after(UINT64_MAX);
        if (rc == LAM_OK && record.units.count == 4 && record.profile && record.rustc) {
            cargo_record_free(&record);
            break;
        }
        assert_true(rc == LAM_E_NOMEM || rc == LAM_OK);
        cargo_record_free(&record);
    }
}

static void test_times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        int64_t ns;
    } rows[] = {
        {"1970-01-01T00:00:00Z", true, 0},
        {"1970-01-01T00:00:01.5Z", true, 1500000000},
        {"2026-11-30T06:51:41.805960744Z", true, 1796021501805960744},
        {"2026-11-30T06:51:41.8059607449Z", true, 1796021501805960744},
        {"2026-11-30T06:51:41", false, 0},
        {"2026-13-30T06:51:41Z", false, 0},
        {"2026-11-30 06:51:41Z", false, 0},
        {"2026-11-30T06:51:4xZ", false, 0},
        {"9999-11-30T06:51:41Z", false, 0},
        {"", false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t ns = 0;
        if (cargo_time_parse(rows[i].text, strlen(rows[i].text), &ns) != rows[i].ok ||
            (rows[i].ok && ns != rows[i].ns))
            fail_msg("'%s': %lld", rows[i].text, (long long)ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page),         cmocka_unit_test(test_old_page),
        cmocka_unit_test(test_kinds_first),  cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_cut_anywhere), cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
