#include "build/cargo_messages.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "build/cargo_unit.h"

#define ARTIFACT(id, kind, name, profile, features, files, fresh)                                  \
    "{\"reason\":\"compiler-artifact\",\"package_id\":\"" id                                       \
    "\",\"manifest_path\":\"/w/Cargo.toml\","                                                      \
    "\"target\":{\"kind\":[\"" kind "\"],\"crate_types\":[\"bin\"],\"name\":\"" name               \
    "\",\"src_path\":\"/w/x.rs\",\"edition\":\"2021\",\"test\":true},\"profile\":{" profile        \
    "},\"features\":[" features "],\"filenames\":[" files "],\"executable\":null,\"fresh\":" fresh \
    "}\n"
#define DEV "\"opt_level\":\"0\",\"debuginfo\":2,\"debug_assertions\":true,\"test\":false"
#define LIBRARY                                                                              \
    ARTIFACT("path+file:///w-0123456789abcdef/core#core-lib@1.0.0", "lib", "core_lib", DEV,  \
             "\"x]y\",\"a\"",                                                                \
             "\"/w-0123456789abcdef/target/debug/libcore_lib.rlib\","                        \
             "\"/w-0123456789abcdef/target/debug/deps/libcore_lib-cd18a5f920caef38.rmeta\"", \
             "true")
#define PROGRAM                                                                          \
    ARTIFACT("path+file:///w/app#2.0.0", "bin", "app",                                   \
             "\"opt_level\":\"s\",\"debuginfo\":\"line-tables-only\",\"test\":true", "", \
             "\"/w/target/debug/deps/app-0123456789abcde0\"", "false")
#define SCRIPT                                                                                \
    ARTIFACT("app 2.0.0 (path+file:///w/app)", "custom-build", "build-script-build", DEV, "", \
             "\"/w/target/debug/build/app-26df14e7118b3fde/build-script-build\"", "false")
#define SCRIPT_RUN                                                                       \
    "{\"reason\":\"build-script-executed\",\"package_id\":\"path+file:///w/app#2.0.0\"," \
    "\"linked_libs\":[],\"env\":[[\"TOKEN\",\"secret\"]],\"out_dir\":\"/w/target/out\"}\n"
#define CHECKED                                                                        \
    ARTIFACT("registry+https://index.example/#serde@1.0.229", "lib", "serde", DEV, "", \
             "\"/t/deps/libserde-0123456789abcde1.rmeta\"", "false")
#define SAID                                                                                \
    "{\"reason\":\"compiler-message\",\"package_id\":\"a\",\"message\":{\"rendered\":\"my " \
    "source\"}}\n"
#define END "{\"reason\":\"build-finished\",\"success\":true}\n"

static const char list[] =
    "{\"not\":\"cargo's\"}\n" LIBRARY SAID PROGRAM SCRIPT SCRIPT_RUN CHECKED END
    "test result: ok\n";

static int parse(struct cargo_record *record, const char *text, size_t size, struct lam_error *err)
{
    char *copy = mem_alloc(size + !size); /* of its own size, so that a byte too many is found */
    assert_non_null(copy);
    memcpy(copy, text, size);
    int rc = cargo_messages_parse(record, copy, size, "list", err);
    mem_free(copy);
    return rc;
}

static void a_list_is_read(void **unused)
{
    (void)unused;
    struct cargo_record record;
    assert_int_equal(parse(&record, list, sizeof list - 1, NULL), LAM_OK);
    assert_int_equal(record.units.count, 5);
    assert_true(record.has_success && record.success && record.has_messages);
    assert_int_equal(record.fresh, 1);
    assert_int_equal(record.dirty, 3);
    assert_string_equal(record.damage, "");
    const struct cargo_unit *unit = record.units.items;
    assert_string_equal(unit->package, "core-lib");
    assert_string_equal(unit->version, "1.0.0");
    assert_int_equal(unit->status, CARGO_STATUS_FRESH);
    assert_string_equal(unit->hash, "cd18a5f920caef38"); /* the file's, not the user's directory's */
    assert_string_equal(unit->files, "libcore_lib.rlib,libcore_lib-cd18a5f920caef38.rmeta");
    assert_string_equal(unit->debug_info, "2");
    assert_int_equal(unit->feature_count, 2);
    assert_string_equal(unit->features[1], "x]y");
    assert_true(isnan(unit->start_s) && !unit->is_built);
    unit++;
    assert_string_equal(unit->mode, "test");
    assert_string_equal(unit->opt_level, "s");
    assert_string_equal(unit->debug_info, "line-tables-only");
    assert_true(unit->is_built);
    unit++;
    assert_string_equal(unit->kind, "build-script");
    assert_string_equal(unit->package, "app");
    assert_string_equal(unit->version, "2.0.0");
    assert_string_equal(unit->hash, "26df14e7118b3fde");
    unit++;
    assert_int_equal(unit->job, CARGO_JOB_RUN_SCRIPT);
    assert_int_equal(unit->status, CARGO_STATUS_UNKNOWN);
    assert_string_equal(unit[1].mode, "check");
    cargo_record_free(&record);
}

static void what_is_kept_reads_the_same(void **unused)
{
    (void)unused;
    struct strbuf kept = {0};
    struct cargo_record record;
    assert_int_equal(cargo_messages_keep(list, sizeof list - 1, &kept), LAM_OK);
    assert_null(strstr(strbuf_text(&kept), "my source"));
    assert_null(strstr(strbuf_text(&kept), "secret"));
    assert_null(strstr(strbuf_text(&kept), "test result"));
    assert_int_equal(parse(&record, strbuf_text(&kept), kept.length, NULL), LAM_OK);
    assert_int_equal(record.units.count, 5);
    assert_true(record.success);
    cargo_record_free(&record);
    strbuf_clear(&kept);
    assert_int_equal(cargo_messages_keep("a\nb", 3, &kept), LAM_E_NOTFOUND);
    strbuf_free(&kept);
}

static void damage_is_named(void **unused)
{
    static const struct {
        const char *text;
        int code;
        size_t units;
        bool is_cut;
        const char *says;
    } rows[] = {
        {"", LAM_E_CORRUPT, 0, false, "no message"},
        {"{\"reason\":", LAM_E_CORRUPT, 0, false, "no message"},
        {LIBRARY "{\"reason\":\"compiler-artifact\",\"packa", LAM_OK, 1, true, "line 2"},
        {LIBRARY "{\"reason\":\"compiler-artifact\",\"features\":[1]}\n" END, LAM_OK, 1, false,
         "line 2"},
        {"{\"reason\":\"build-finished\",\"success\":7}\n", LAM_E_CORRUPT, 0, false, "line 1"},
        {"{\"reason\":\"compiler-artifact\"}\n" END, LAM_OK, 0, false, ""}, /* of no package */
        {"{\"reason\":\"of-tomorrow\",\"x\":[}\n" END, LAM_OK, 0, false, ""},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cargo_record record;
        struct lam_error err = LAM_ERROR_INIT;
        int rc = parse(&record, rows[i].text, strlen(rows[i].text), &err);
        const char *said = rc < 0 ? err.msg : record.damage;
        if (rc != rows[i].code || !strstr(said, rows[i].says) ||
            record.units.count != rows[i].units || record.is_cut != rows[i].is_cut)
            fail_msg("row %zu: %d, %s", i, rc, said);
        cargo_record_free(&record);
    }
}

/* A record with times: a library twice with the same names, and one that is alone. */
static void a_record_learns_what_was_fresh(void **unused)
{
    static const char both[] = ARTIFACT("path+file:///w/twice#1.0.0", "lib", "twice", DEV, "",
                                        "\"/t/libtwice-0123456789abcde2.rlib\"", "true")
        ARTIFACT("path+file:///w/twice#1.0.0", "lib", "twice", DEV, "",
                 "\"/t/libtwice-0123456789abcde3.rlib\"", "false") LIBRARY END;
    struct cargo_record messages, record;
    const char *features[] = {"a", "x]y"};
    (void)unused;
    assert_int_equal(parse(&messages, both, sizeof both - 1, NULL), LAM_OK);
    cargo_record_init(&record);
    for (int i = 0; i < 4; i++) {
        struct cargo_unit *unit = cargo_record_add(&record);
        assert_non_null(unit);
        unit->package = i < 2 ? "twice" : "core-lib";
        unit->version = "1.0.0";
        unit->has_features = true;
        unit->features = features;
        unit->feature_count = i == 2 ? 2 : 0;
        cargo_unit_settle(unit);
    }
    assert_int_equal(cargo_record_take_messages(&record, &messages), LAM_OK);
    for (int i = 0; i < 2; i++) { /* which of them was fresh cannot be told by their names */
        assert_int_equal(record.units.items[i].status, CARGO_STATUS_UNKNOWN);
        assert_true(!record.units.items[i].is_built && !record.units.items[i].hash);
    }
    assert_int_equal(record.units.items[2].status, CARGO_STATUS_FRESH);
    assert_string_equal(record.units.items[2].hash, "cd18a5f920caef38");
    assert_int_equal(record.units.items[3].status, CARGO_STATUS_UNKNOWN); /* other features */
    assert_true(record.has_messages && record.success);
    cargo_record_free(&record);
    cargo_record_free(&messages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_read),
        cmocka_unit_test(what_is_kept_reads_the_same),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(a_record_learns_what_was_fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
