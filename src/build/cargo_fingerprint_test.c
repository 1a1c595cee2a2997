/* Fingerprints, their causes, and what is noted of them: on directories made here. */
#include "build/cargo_fingerprint.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "build/cargo_notes.h"

static char root[] = "/tmp/lamella-fingerprint-XXXXXX";

static void put(const char *name, const void *bytes, size_t size, int64_t at_s)
{
    char path[512], *slash;
    snprintf(path, sizeof path, "%s/%s", root, name);
    slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(dir_make_all(path, NULL), LAM_OK);
    *slash = '/';
    assert_int_equal(file_write_all(path, bytes, size, NULL), LAM_OK);
    const struct timespec times[2] = {{at_s, 0}, {at_s, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

#define PLACE "target/debug/.fingerprint/"

/* As cargo writes them: what it was built with, its own value, when it was begun, its sources. */
static void put_unit(const char *dir, const char *unit, const char *json, const char *value,
                     const char *source, int64_t at_s)
{
    char name[256];
    uint8_t inputs[256] = {1, 0, 0, 0, 0xff, 1, 1, 0, 0, 0, 0};
    size_t size = 11, length = strlen(source);
    memcpy(inputs + size, &(uint32_t){(uint32_t)length}, 4);
    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): its length stands before it
    memcpy(inputs + size + 4, source, length);
    size += 4 + length + 5;
    snprintf(name, sizeof name, PLACE "%s/%s.json", dir, unit);
    put(name, json, strlen(json), at_s + 1);
    snprintf(name, sizeof name, PLACE "%s/%s", dir, unit);
    put(name, value, strlen(value), at_s + 1);
    snprintf(name, sizeof name, PLACE "%s/dep-%s", dir, unit);
    put(name, inputs, size, at_s);
    snprintf(name, sizeof name, PLACE "%s/invoked.timestamp", dir);
    put(name, "", 0, at_s);
}

#define SETTINGS(features, deps, rest)                                              \
    "{\"rustc\":1,\"features\":\"" features                                         \
    "\",\"target\":2,\"profile\":3,\"path\":4,\"deps\":[" deps "],\"local\":[" rest \
    "],\"rustflags\":[],\"config\":5,\"compile_kind\":0}"
#define FILES(paths) \
    "{\"RerunIfChanged\":{\"output\":\"debug/build/x/output\",\"paths\":[" paths "]}}"
#define ENV(value) "{\"RerunIfEnvChanged\":{\"var\":\"MODE\",\"val\":\"" value "\"}}"

static const char value_a[] = "0100000000000000", value_b[] = "0200000000000000",
                  value_c[] = "0300000000000000", value_script[] = "0400000000000000";

/* The run of a build script has neither a list of sources nor a time of its beginning. */
static void put_run(const char *dir, const char *paths, int64_t at_s)
{
    char name[256], json[512];
    snprintf(json, sizeof json, SETTINGS("[]", "", FILES("%s")), paths);
    snprintf(name, sizeof name, PLACE "%s/run-build-script-x.json", dir);
    put(name, json, strlen(json), at_s);
    snprintf(name, sizeof name, PLACE "%s/run-build-script-x", dir);
    put(name, value_c, strlen(value_c), at_s);
}

static const struct build_cause *cause_of(const struct build_causes *causes, const char *package)
{
    array_each(&causes->items, cause)
    {
        if (strcmp(cause->package, package) == 0)
            return cause;
    }
    return NULL;
}

static void expect(const struct build_causes *causes, const char *package, enum cargo_status status,
                   const char *reason)
{
    const struct build_cause *cause = cause_of(causes, package);
    if (!cause || cause->status != status || strcmp(cause->reason ? cause->reason : "-", reason) != 0)
        fail_msg("%s: %d '%s'", package, cause ? (int)cause->status : -1,
                 cause && cause->reason ? cause->reason : "-");
}

static void make_before(void)
{
    put("a/src/lib.rs", "", 0, 900);
    put("b/src/lib.rs", "", 0, 900);
    put_unit("a-00000000000000aa", "lib-a", SETTINGS("[]", "", ""), value_a, "src/lib.rs", 1000);
    put_unit("b-00000000000000bb", "lib-b", SETTINGS("[]", "[9,\"a\",false,1]", ""), value_b,
             "src/lib.rs", 1001);
    put_unit("c-c-00000000000000cc", "lib-c", SETTINGS("[]", "", ""), value_c, "src/lib.rs", 1001);
    put_unit("d-00000000000000dd", "lib-d", SETTINGS("[]", "", ENV("fast")), value_c, "src/lib.rs",
             1001);
    put_unit("e-00000000000000ee", "lib-e", SETTINGS("[]", "", ""), "", "src/lib.rs", 1001);
    put_unit("same-00000000000000ff", "lib-same", SETTINGS("[]", "", ""), value_c, "src/lib.rs",
             1001);
    put_run("s-00000000000000aa", "\"there.txt\",\"gone.txt\"", 1001);
    put_run("t-00000000000000aa", "\"same.txt\",\"data\",\"x.proto\"", 1001);
    put_run("u-00000000000000aa", "\"u.txt\"", 1001); /* of no package here */
    put_unit("v-00000000000000aa", "lib-v",
             SETTINGS("[]", "[9,\"build_script_build\",false,4]", ""), value_b, "src/lib.rs", 1001);
    put_unit("v-00000000000000ab", "run-build-script-build-script-build", SETTINGS("[]", "", ""),
             value_script, "build.rs", 1001);
    put(PLACE "no-hash/lib-x.json", "{}", 2, 1000);
    put(PLACE "half-00000000000000ab/lib-half.json", "{\"rustc\":", 9, 1000);
    put("target/x86_64-unknown-linux-gnu/release/.fingerprint/f-00000000000000aa/lib-f.json", "{}",
        2, 1000);
}

static void make_after(void)
{
    put("a/src/lib.rs", "x", 1, 2000);
    put_unit("a-00000000000000aa", "lib-a", SETTINGS("[]", "", ""), value_a, "src/lib.rs", 3000);
    put_unit("b-00000000000000bb", "lib-b", SETTINGS("[]", "[9,\"a\",false,1]", ""), value_b,
             "src/lib.rs", 3001);
    put_unit("c-c-00000000000000cc", "lib-c", SETTINGS("[\\\"x]y\\\"]", "", ""), value_c,
             "src/lib.rs", 3001);
    put_unit("d-00000000000000dd", "lib-d", SETTINGS("[]", "", ENV("slow")), value_c, "src/lib.rs",
             3001);
    put_unit("e-00000000000000ee", "lib-e", SETTINGS("[]", "", ""), value_c, "src/lib.rs", 3001);
    put_unit("fresh-00000000000000aa", "lib-fresh", SETTINGS("[]", "", ""), value_c, "src/lib.rs",
             3001);
    put("s/there.txt", "", 0, 2000);
    put("t/same.txt", "", 0, 900);
    put("t/data/below/new.txt", "", 0, 2000);
    put("t/x.proto", "", 0, 2000);
    put_run("s-00000000000000aa", "\"there.txt\",\"gone.txt\"", 3001);
    put_run("t-00000000000000aa", "\"same.txt\",\"data\",\"x.proto\"", 3001);
    put_run("u-00000000000000aa", "\"u.txt\"", 3001);
    put_unit("v-00000000000000aa", "lib-v",
             SETTINGS("[]", "[9,\"build_script_build\",false,4]", ""), value_b, "src/lib.rs", 3001);
    put_unit("v-00000000000000ab", "run-build-script-build-script-build", SETTINGS("[]", "", ""),
             value_script, "build.rs", 3001);
    /* The same but for the profile, so that its files are called otherwise. */
    put_unit("same-00000000000000fe", "lib-same",
             "{\"rustc\":1,\"features\":\"[]\",\"target\":2,\"profile\":33,\"path\":4,\"deps\":[],"
             "\"local\":[],\"rustflags\":[],\"config\":5,\"compile_kind\":0}",
             value_c, "src/lib.rs", 3001);
}

static void test_causes(void **state)
{
    (void)state;
    char target[256], a[256], b[256], script[256], other[256];
    snprintf(target, sizeof target, "%s/target", root);
    snprintf(a, sizeof a, "%s/a", root);
    snprintf(b, sizeof b, "%s/b", root);
    snprintf(script, sizeof script, "%s/s", root);
    snprintf(other, sizeof other, "%s/t", root);
    struct package_dir dirs[] = {{"a", a}, {"b", b}, {"a", "/nowhere"}, {"s", script}, {"t", other}};
    struct package_dirs list = {dirs, 5, 5};
    struct fingerprints before, after;
    struct build_causes causes;
    make_before();
    assert_int_equal(fingerprints_read(&before, target), LAM_OK);
    assert_int_equal(before.items.count, 13);
    make_after();
    assert_int_equal(fingerprints_read(&after, target), LAM_OK);
    assert_int_equal(build_causes_find(&causes, &before, &after, &list), LAM_OK);
    assert_int_equal(causes.items.count, 12);
    expect(&causes, "a", CARGO_STATUS_DIRTY, "src/lib.rs changed");
    expect(&causes, "b", CARGO_STATUS_DIRTY, "its dependency a was built");
    assert_string_equal(cause_of(&causes, "b")->dependency, "a");
    expect(&causes, "c-c", CARGO_STATUS_DIRTY, "its features changed");
    expect(&causes, "d", CARGO_STATUS_DIRTY, "MODE in the environment changed");
    expect(&causes, "e", CARGO_STATUS_DIRTY, "its last build was not finished");
    expect(&causes, "s", CARGO_STATUS_DIRTY, "gone.txt is missing");
    expect(&causes, "t", CARGO_STATUS_DIRTY, "data, x.proto changed");
    expect(&causes, "u", CARGO_STATUS_DIRTY, "-");
    expect(&causes, "v", CARGO_STATUS_DIRTY, "its build script was run");
    assert_string_equal(cause_of(&causes, "v")->dependency, "its build script");
    expect(&causes, "fresh", CARGO_STATUS_NEW, "-");
    expect(&causes, "same", CARGO_STATUS_NEW, "the profile's settings changed");
    build_causes_free(&causes);
    fingerprints_free(&before);
    fingerprints_free(&after);
    assert_int_equal(dir_remove_all(root, NULL), LAM_OK);
}

static void test_no_directory(void **state)
{
    (void)state;
    struct fingerprints none;
    assert_int_equal(fingerprints_read(&none, "/nowhere/at/all"), LAM_OK);
    assert_int_equal(none.items.count, 0);
    fingerprints_free(&none);
}

static void test_inputs(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size, files;
    } rows[] = {
        {"", 0, 0},
        {"\1\0\0", 3, 0},
        {"\1\0\0\0\0\1\0\0\0a", 10, 1}, /* before there was a version */
        {"\2\0\0\0\0\1\0\0\0a\1\1\0\0\0b", 16, 2},
        {"\1\0\0\0\xff\1\1\0\0\0\0\1\0\0\0a\0\0\0\0\0", 21, 1},
        {"\1\0\0\0\xff\2\1\0\0\0\0\1\0\0\0a\0\0\0\0\0", 21, 0}, /* of a later version */
        {"\1\0\0\0\xff\1\1\0\0\0\0\1\0\0\0a\1", 17, 0},         /* with a checksum */
        {"\1\0\0\0\xff\1\377\377\377\377\0\1\0\0\0a\0", 17, 1}, /* fewer than it says */
        {"\1\0\0\0\xff\1\1\0\0\0\0\377\377\377\377a", 16, 0},
        {"\1\0\0\0\xff", 5, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct fingerprint item = {.inputs = (const uint8_t *)rows[i].bytes,
                                         .input_bytes = rows[i].size};
        struct fingerprint_inputs inputs = fingerprint_inputs(&item);
        struct fingerprint_input input;
        size_t files = 0;
        while (fingerprint_next_input(&inputs, &input))
            files++;
        if (files != rows[i].files)
            fail_msg("row %zu: %zu files", i, files);
    }
}

static void test_notes(void **state)
{
    (void)state;
    struct cargo_notes notes = {
        .known_before = 7, .target_dir = "/w/target", .timings = "/w/\"x.html"};
    struct cargo_cause cause = {"debug",         "a", "00aa", "lib-a", CARGO_STATUS_DIRTY,
                                "src/x changed", NULL};
    struct strbuf text = {0};
    assert_int_equal(array_push(&notes.causes, cause), LAM_OK);
    assert_int_equal(cargo_notes_write(&notes, &text, NULL), LAM_OK);
    cargo_notes_free(&notes);
    assert_int_equal(cargo_notes_parse(&notes, text.data, text.length, "cargo.json", NULL), LAM_OK);
    assert_int_equal(notes.known_before, 7);
    assert_string_equal(notes.timings, "/w/\"x.html");
    assert_null(notes.workspace_root);
    assert_int_equal(notes.causes.count, 1);
    assert_string_equal(notes.causes.items[0].reason, "src/x changed");
    assert_int_equal(notes.causes.items[0].status, CARGO_STATUS_DIRTY);
    assert_null(notes.causes.items[0].dependency);
    cargo_notes_free(&notes);
    for (size_t size = 0; size + 1 < text.length; size++) {
        struct lam_error err = LAM_ERROR_INIT;
        assert_true(cargo_notes_parse(&notes, text.data, size, "cargo.json", &err) < 0);
        assert_non_null(strstr(err.msg, "cargo.json"));
    }
    strbuf_free(&text);
    static const char *const bad[] = {"{}", "[]", "{\"format\":\"x\"}", "{\"causes\":[1]}",
                                      "{\"known_before\":-1}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_true(cargo_notes_parse(&notes, bad[i], strlen(bad[i]), "cargo.json", NULL) < 0);
}

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    return dir_remove_all(root, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_no_directory),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_notes),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
