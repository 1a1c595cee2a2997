/* What `cargo metadata --no-deps` prints: texts and what is made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "build/cargo_metadata.h"

static int parse(struct cargo_metadata *metadata, const char *text, struct lam_error *err)
{
    return cargo_metadata_parse(metadata, text, strlen(text), err);
}

static void a_workspace(void **unused)
{
    (void)unused;
    static const char text[] =
        "{\"packages\":[{\"name\":\"app\",\"version\":\"0.1.0\",\"id\":\"path+file:///w/"
        "app#0.1.0\",\"dependencies\":["
        "{\"name\":\"serde\",\"source\":\"registry+x\",\"req\":\"^1\"},{\"name\":\"base\",\"path\":"
        "\"/elsewhere/base\"},"
        "{\"name\":\"base\",\"kind\":\"dev\",\"path\":\"/elsewhere/base\"}],"
        "\"targets\":[{\"kind\":[\"bin\"],\"name\":\"app\"}],\"manifest_path\":\"/w/app/"
        "Cargo.toml\"},"
        "{\"manifest_path\":\"/w/\\u00e9 b/Cargo.toml\",\"dependencies\":[],\"name\":\"b\"},"
        "{\"name\":\"nowhere\",\"manifest_path\":\"Cargo.toml\"},{\"manifest_path\":\"/w/nameless/"
        "Cargo.toml\"}],"
        "\"workspace_members\":[\"path+file:///w/"
        "app#0.1.0\"],\"resolve\":null,\"target_directory\":\"/t\","
        "\"build_directory\":\"/b\",\"version\":1,\"workspace_root\":\"/"
        "w\",\"metadata\":{\"packages\":[1]}}";
    static const struct package_dir dirs[] = {
        {"base", "/elsewhere/base"}, /* once, though two kinds of dependency name it */
        {"app", "/w/app"},
        {"b", "/w/\xc3\xa9 b"},
    };
    struct cargo_metadata metadata;
    struct lam_error err = LAM_ERROR_INIT;
    if (parse(&metadata, text, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(metadata.target_dir, "/t");
    assert_string_equal(metadata.build_dir, "/b");
    assert_string_equal(metadata.workspace_root, "/w");
    assert_int_equal(metadata.packages.count, sizeof dirs / sizeof dirs[0]);
    for (size_t i = 0; i < metadata.packages.count; i++) {
        assert_string_equal(metadata.packages.items[i].package, dirs[i].package);
        assert_string_equal(metadata.packages.items[i].dir, dirs[i].dir);
    }
    cargo_metadata_free(&metadata);
}

static void what_an_older_cargo_does_not_say(void **unused)
{
    (void)unused;
    struct cargo_metadata metadata;
    assert_int_equal(parse(&metadata,
                           "{\"target_directory\":\"/t\",\"build_directory\":null,\"packages\":[]}",
                           NULL),
                     LAM_OK);
    assert_string_equal(metadata.target_dir, "/t");
    assert_null(metadata.build_dir);
    assert_null(metadata.workspace_root);
    assert_int_equal(metadata.packages.count, 0);
    cargo_metadata_free(&metadata);
}

static void damaged_texts_are_errors(void **unused)
{
    (void)unused;
    static const char *const rows[] = {
        "",
        "[]",
        "error: could not find `Cargo.toml`",
        "{\"target_directory\":7}",
        "{\"packages\":{}}",
        "{\"packages\":[\"app\"]}",
        "{\"packages\":[{\"name\":[]}]}",
        "{\"packages\":[{\"name\":\"app\",\"dependencies\":[1]}]}",
        "{\"packages\":[{\"name\":\"app\",\"manifest_path\":\"/w/Cargo.toml\"}",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cargo_metadata metadata;
        struct lam_error err = LAM_ERROR_INIT;
        if (parse(&metadata, rows[i], &err) >= 0)
            fail_msg("'%s' is taken", rows[i]);
        assert_non_null(strstr(err.msg, "cargo metadata"));
        assert_null(metadata.target_dir);
        assert_int_equal(metadata.packages.count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_workspace),
        cmocka_unit_test(what_an_older_cargo_does_not_say),
        cmocka_unit_test(damaged_texts_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
