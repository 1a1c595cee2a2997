#include "build/unit_artifacts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"

static void put(const char *dir, const char *name, size_t size)
{
    static const char bytes[64];
    char *path = path_join(dir, name);
    assert_int_equal(file_write_all(path, bytes, size, NULL), LAM_OK);
    mem_free(path);
}

static const struct unit_artifact *find(const struct unit_artifacts *files, const char *kind)
{
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->items[i].kind, kind) == 0)
            return &files->items[i];
    return NULL;
}

static void test_files(void **state)
{
    (void)state;
    char dir[] = "/tmp/lamella-artifacts-XXXXXX";
    struct arena arena = {0};
    struct unit_artifacts files;
    assert_non_null(mkdtemp(dir));
    put(dir, "libserde-1.rlib", 10);
    put(dir, "libserde-1.rmeta", 20);
    put(dir, "app-2", 30);
    put(dir, "x.o", 40);
    struct unit library = {
        .kind = UNIT_RUSTC, .crate = "serde", .extra_filename = "-1", .output = dir};
    assert_int_equal(unit_artifacts_find(&library, NULL, 0, &arena, &files), LAM_OK);
    assert_int_equal(files.count, 2);
    assert_int_equal(find(&files, "rlib")->bytes, 10);
    assert_string_equal(find(&files, "rmeta")->file, "libserde-1.rmeta");
    struct unit program = {.kind = UNIT_RUSTC, .crate = "app", .extra_filename = "-2", .output = "."};
    assert_int_equal(unit_artifacts_find(&program, dir, 0, &arena, &files), LAM_OK);
    assert_int_equal(find(&files, "exe")->bytes, 30);
    struct unit object = {.kind = UNIT_COMPILE, .output = "x.o"};
    assert_int_equal(unit_artifacts_find(&object, dir, 0, &arena, &files), LAM_OK);
    assert_int_equal(find(&files, "obj")->bytes, 40);
    /* Older than the unit; a relative name without a place; a directory; nothing said. */
    assert_int_equal(unit_artifacts_find(&object, dir, INT64_MAX, &arena, &files), LAM_OK);
    assert_int_equal(files.count, 0);
    assert_int_equal(unit_artifacts_find(&object, NULL, 0, &arena, &files), LAM_OK);
    assert_int_equal(files.count, 0);
    object.output = dir;
    assert_int_equal(unit_artifacts_find(&object, NULL, 0, &arena, &files), LAM_OK);
    assert_int_equal(files.count, 0);
    object.output = NULL;
    assert_int_equal(unit_artifacts_find(&object, NULL, 0, &arena, &files), LAM_OK);
    assert_int_equal(files.count, 0);
    arena_free(&arena);
    assert_int_equal(dir_remove_all(dir, NULL), LAM_OK);
}

static void test_list(void **state)
{
    (void)state;
    struct artifact_list list = {0};
    struct artifact_row row = {7, -5, {"a\"b.o", "obj", 123}};
    struct strbuf text = {0};
    assert_int_equal(array_push(&list.rows, row), LAM_OK);
    assert_int_equal(artifact_list_write(&list, &text, NULL), LAM_OK);
    artifact_list_free(&list);
    assert_int_equal(artifact_list_parse(&list, text.data, text.length, "a", NULL), LAM_OK);
    assert_int_equal(list.rows.count, 1);
    assert_int_equal(list.rows.items[0].start_ns, -5);
    assert_string_equal(list.rows.items[0].artifact.file, "a\"b.o");
    artifact_list_free(&list);
    for (size_t size = 0; size + 1 < text.length; size++)
        assert_true(artifact_list_parse(&list, text.data, size, "a", NULL) < 0);
    strbuf_free(&text);
    assert_true(artifact_list_parse(&list, "{\"artifacts\":[1]}", 17, "a", NULL) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files), cmocka_unit_test(test_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
