#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

static void joins(void **state)
{
    static const struct {
        const char *dir, *name, *joined;
    } rows[] = {
        {"a", "b", "a/b"},         {"a/", "b", "a/b"}, {"", "b", "b"},
        {"a", "/b", "/b"},         {"/", "b", "/b"},   {"a", "", "a/"},
        {"a b", "c\n", "a b/c\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *joined = path_join(rows[i].dir, rows[i].name);
        assert_string_equal(joined, rows[i].joined);
        mem_free(joined);
    }
    mem_fail_after(0);
    assert_null(path_join("a", "b"));
    mem_fail_after(UINT64_MAX);
}

static void parts(void **state)
{
    static const struct {
        const char *path, *dir, *name;
    } rows[] = {
        {"a/b.c", "a", "b.c"}, {"/a", "/", "a"},  {"a", ".", "a"},    {"a/", "a", ""},
        {"/", "/", ""},        {"//a", "/", "a"}, {"a//b", "a", "b"}, {"/x/y/z", "/x/y", "z"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *dir = path_dir(rows[i].path);
        assert_string_equal(dir, rows[i].dir);
        assert_string_equal(path_name(rows[i].path), rows[i].name);
        mem_free(dir);
    }
    assert_true(text_ends_with("a.lamella", ".lamella"));
    assert_false(text_ends_with("lamella", ".lamella"));
    assert_true(text_ends_with("a", ""));
    assert_true(text_starts_with("abc", "ab"));
    assert_false(text_starts_with("ab", "abc"));
}

static void directories(void **state)
{
    char dir[] = "/tmp/lamella-path-test-XXXXXX";
    struct dir_entries entries = {0};
    struct lam_error err = LAM_ERROR_INIT;
    (void)state;
    assert_non_null(mkdtemp(dir));
    char *deep = path_join(dir, "x/y//z/");
    char *file = path_join(dir, "b file");
    char *odd = path_join(dir, "\xff\n");
    char *link = path_join(dir, "a-link");
    assert_int_equal(dir_make_all(deep, &err), LAM_OK);
    assert_int_equal(dir_make_all(deep, &err), LAM_OK);
    assert_true(path_is_dir(deep));
    assert_int_equal(file_write_all(file, "1", 1, &err), LAM_OK);
    assert_int_equal(file_write_all(odd, "1", 1, &err), LAM_OK);
    assert_int_equal(symlink("/", link), 0);
    assert_int_equal(dir_list(dir, &entries, &err), LAM_OK);
    static const struct {
        const char *name;
        enum dir_kind kind;
    } rows[] = {{"a-link", DIR_KIND_LINK},
                {"b file", DIR_KIND_FILE},
                {"x", DIR_KIND_DIR},
                {"\xff\n", DIR_KIND_FILE}};
    assert_int_equal(entries.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(entries.items[i].name, rows[i].name);
        assert_int_equal(entries.items[i].kind, rows[i].kind);
    }
    dir_entries_free(&entries);
    for (uint64_t after = 0; after < 5; after++) {
        mem_fail_after(after);
        int rc = dir_list(dir, &entries, NULL);
        mem_fail_after(UINT64_MAX);
        assert_int_equal(rc, after < 5 ? LAM_E_NOMEM : LAM_OK);
    }
    char *below = path_join(file, "x");
    assert_int_equal(dir_make_all(file, &err), LAM_E_EXISTS);
    assert_int_equal(dir_make_all(below, &err), LAM_E_NOTFOUND);
    assert_int_equal(dir_list(below, &entries, &err), LAM_E_NOTFOUND);
    mem_free(below);
    assert_int_equal(dir_remove_all(dir, &err), LAM_OK);
    assert_false(path_exists(dir));
    assert_true(path_is_dir("/")); /* the link was not followed */
    assert_int_equal(dir_remove_all(dir, &err), LAM_OK);
    assert_int_equal(dir_remove_all("", &err), LAM_E_INVAL);
    mem_free(deep);
    mem_free(file);
    mem_free(odd);
    mem_free(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins),
        cmocka_unit_test(parts),
        cmocka_unit_test(directories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
