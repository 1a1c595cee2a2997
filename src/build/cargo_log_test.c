#include "build/cargo_log.h"

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
#include "base/strbuf.h"

#define LINE(run, reason, rest)                                                               \
    "{\"run_id\":\"" run "\",\"timestamp\":\"2026-11-30T06:51:42.500Z\",\"reason\":\"" reason \
    "\"" rest "}\n"
#define START(run)                                                                                 \
    LINE(                                                                                          \
        run, "build-started",                                                                      \
        ",\"command\":[\"cargo\",\"build\"],\"cwd\":\"/w\",\"host\":\"x86_64-unknown-linux-gnu\"," \
        "\"jobs\":2,\"num_cpus\":4,\"profile\":\"dev\","                                           \
        "\"rustc_version_verbose\":\"rustc 1.97.0 (e50aa6fba 2026-05-19)\\nbinary: rustc\\n\","    \
        "\"target_dir\":\"/w/target\",\"workspace_root\":\"/w\"")
#define UNIT(run, index, id, kind, rest)                                                 \
    LINE(run, "unit-registered",                                                         \
         ",\"package_id\":\"" id "\",\"target\":{\"name\":\"core_lib\",\"kind\":\"" kind \
         "\"},\"mode\":\"build\",\"platform\":\"x86_64-unknown-linux-gnu\",\"index\":" index rest)

static const char log_text[] = START("one") LINE("one", "resolution-started", ",\"elapsed\":0.1") LINE(
    "one", "resolution-finished",
    ",\"elapsed\":0.2") UNIT("one", "0", "path+file:///w/app#0.1.0", "bin",
                             ",\"requested\":true,\"dependencies\":[1,2]")
    UNIT("one", "1", "path+file:///w/core#core-lib@0.2.0", "lib", ",\"features\":[\"x]y\",\"a\"]") UNIT(
        "one", "2", "registry+https://index.example/#serde@1.0.229", "lib",
        "") LINE("one", "unit-graph-finished", ",\"elapsed\":0.25")
        LINE("one", "unit-fingerprint",
             ",\"index\":0,\"status\":\"dirty\",\"cause\":{\"dirty_reason\":"
             "\"fs-status-outdated\",\"fs_status\":\"stale-dep-fingerprint\",\"unit\":1}")
            LINE("one", "unit-fingerprint",
                 ",\"index\":1,\"status\":\"dirty\",\"cause\":{\"dirty_reason\":"
                 "\"fs-status-outdated\",\"fs_status\":\"stale-item\",\"stale_item\":\"changed-"
                 "file\","
                 "\"stale\":\"/w/core/src/lib.rs\",\"stale_mtime\":1.5}")
                LINE("one", "unit-fingerprint", ",\"index\":2,\"status\":\"fresh\"") LINE(
                    "one", "a-reason-of-tomorrow", ",\"index\":77,\"new\":{\"a\":[1]}")
                    LINE("one", "unit-started", ",\"index\":1,\"elapsed\":0.3") LINE(
                        "one", "unit-section-started",
                        ",\"index\":1,\"elapsed\":0.39,\"section\":\"codegen\"")
                        LINE("one", "unit-rmeta-finished",
                             ",\"index\":1,\"elapsed\":0.4,\"unblocked\":[0]")
                            LINE("one", "unit-section-finished",
                                 ",\"index\":1,\"elapsed\":0.5,\"section\":\"codegen\"")
                                LINE("one", "unit-section-started",
                                     ",\"index\":1,\"elapsed\":0.5,\"section\":\"link\"")
                                    LINE("one", "unit-section-finished",
                                         ",\"index\":1,\"elapsed\":0.55,\"section\":\"link\"")
                                        LINE("one", "unit-started", ",\"index\":0,\"elapsed\":0.4")
                                            LINE("one", "unit-finished",
                                                 ",\"index\":1,\"elapsed\":0.6,\"unblocked\":[]");

static int parse(struct cargo_runs *runs, const char *text, size_t size, struct lam_error *err)
{
    char *copy = mem_alloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    int rc = cargo_log_parse(runs, copy, size, "log.jsonl", err);
    mem_free(copy);
    return rc;
}

static void near(double found, double expected)
{
    if (fabs(found - expected) > 1e-9)
        fail_msg("%.12f instead of %.12f", found, expected);
}

static void test_build(void **state)
{
    (void)state;
    struct cargo_runs runs;
    assert_int_equal(parse(&runs, log_text, sizeof log_text - 1, NULL), LAM_OK);
    assert_int_equal(runs.count, 1);
    const struct cargo_record *run = &runs.items[0];
    assert_string_equal(run->damage, "");
    assert_string_equal(run->rustc, "rustc 1.97.0 (e50aa6fba 2026-05-19)");
    assert_string_equal(run->target_dir, "/w/target");
    assert_int_equal(run->cores, 4);
    assert_int_equal(run->fresh, 1);
    assert_int_equal(run->dirty, 2);
    assert_int_equal(run->started_at_unix_ns, 1796021502400000000); /* stamp less elapsed */
    near(run->resolve_end_s, 0.2);
    near(run->duration_s, 0.6);
    assert_int_equal(run->units.count, 3);

    const struct cargo_unit *core = &run->units.items[0], *app = &run->units.items[1],
                            *serde = &run->units.items[2];
    assert_string_equal(core->package, "core-lib");
    assert_string_equal(core->version, "0.2.0");
    assert_string_equal(core->features[1], "x]y");
    assert_string_equal(core->reason, "src/lib.rs changed");
    near(core->start_s, 0.3);
    near(core->end_s, 0.6);
    near(core->rmeta_s, 0.1);
    near(core->frontend_s, 0.09); /* up to its first section */
    near(core->codegen_s, 0.11);
    near(core->link_s, 0.05);
    assert_true(core->is_finished);
    assert_int_equal(core->unblocked_rmeta.items[0], 1);

    assert_string_equal(app->package, "app");
    assert_string_equal(app->version, "0.1.0");
    assert_true(app->is_requested);
    assert_int_equal(app->reason_unit, 0);
    assert_string_equal(app->reason, "its dependency core-lib was built");
    assert_false(app->is_finished); /* up to the end */
    assert_true(isnan(app->end_s));
    assert_int_equal(app->deps.count, 2);

    assert_string_equal(serde->package, "serde");
    assert_int_equal(serde->status, CARGO_STATUS_FRESH);
    assert_true(isnan(serde->start_s));

    /* Counted from the units: app is ready at the metadata of core, and starts at once. */
    assert_true(run->is_concurrency_derived);
    assert_int_equal(array_last(&run->concurrency).active, 1);
    cargo_runs_free(&runs);
}

static void test_runs_apart(void **state)
{
    (void)state;
    struct strbuf text = {0};
    struct cargo_runs runs;
    strbuf_add(&text, log_text);
    strbuf_add(&text, START("two") UNIT("two", "0", "path+file:///w/app#0.1.0", "bin", "")
                          LINE("two", "unit-started", ",\"index\":0,\"elapsed\":0.4"));
    assert_int_equal(parse(&runs, text.data, text.length, NULL), LAM_OK);
    assert_int_equal(runs.count, 2);
    assert_int_equal(runs.items[0].units.count, 3);
    assert_int_equal(runs.items[1].units.count, 1);
    assert_string_equal(runs.items[1].run_id, "two");
    cargo_runs_free(&runs);
    strbuf_free(&text);
}

static void test_damaged_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int rc;
        const char *says; /* in the damage, or the error */
        size_t units;
        bool is_cut;
    } rows[] = {
        {"", LAM_E_CORRUPT, "no build", 0, false},
        {"\n\n", LAM_E_CORRUPT, "no build", 0, false},
        {"not JSON\n", LAM_E_CORRUPT, "line 1", 0, false},
        {START("r") "{\"run_id\":\"r\",\"reason\":\"unit-regi", LAM_OK, "line 2", 0, true},
        {START("r") "{}\nnull\n" UNIT("r", "0", "a#1.0.0", "lib", ""), LAM_OK, "line 3", 1, false},
        {START("r") LINE("r", "unit-started", ",\"index\":\"x\""), LAM_OK, "line 2", 0, false},
        {START("r") LINE("r", "unit-started", ",\"index\":5,\"elapsed\":1"), LAM_OK, "", 0, false},
        {START("r") LINE("r", "unit-registered", ",\"index\":4294967295"), LAM_OK, "", 0, false},
        {START("r") LINE("r", "unit-registered", ",\"index\":1")
             LINE("r", "unit-registered", ",\"index\":1,\"package_id\":\"#@#\""),
         LAM_OK, "", 1, false},
        {START("r") LINE("r", "unit-registered", ",\"index\":1,\"dependencies\":[1,7,4294967295]")
             LINE("r", "unit-started", ",\"index\":1,\"elapsed\":3")
                 LINE("r", "unit-finished", ",\"index\":1,\"elapsed\":1"),
         LAM_OK, "", 1, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cargo_runs runs;
        struct lam_error err = LAM_ERROR_INIT;
        int rc = parse(&runs, rows[i].text, strlen(rows[i].text), &err);
        const char *said = rc < 0 ? err.msg : runs.items[0].damage;
        if (rc != rows[i].rc || !strstr(said, rows[i].says) || (!*rows[i].says && *said))
            fail_msg("row %zu: %d, '%s'", i, rc, said);
        if (rc == LAM_OK &&
            (runs.items[0].units.count != rows[i].units || runs.items[0].is_cut != rows[i].is_cut))
            fail_msg("row %zu: %zu units", i, runs.items[0].units.count);
        cargo_runs_free(&runs);
    }
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof log_text; size++) {
        struct cargo_runs runs;
        int rc = parse(&runs, log_text, size, NULL);
        assert_true(rc == LAM_OK || rc == LAM_E_CORRUPT || rc == LAM_E_TRUNCATED);
        cargo_runs_free(&runs);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    for (uint64_t after = 0;; after++) {
        struct cargo_runs runs;
        mem_fail_after(after);
        int rc = cargo_log_parse(&runs, log_text, sizeof log_text - 1, "log.jsonl", NULL);
        mem_fail_after(UINT64_MAX);
        cargo_runs_free(&runs);
        if (rc == LAM_OK)
            break;
        assert_int_equal(rc, LAM_E_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build),         cmocka_unit_test(test_runs_apart),
        cmocka_unit_test(test_damaged_lines), cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
