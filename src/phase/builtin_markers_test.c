#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "phase/builtin_markers.h"

static void table_is_sorted_and_ended(void **state)
{
    (void)state;
    for (size_t i = 0; i < lam_builtin_markers_count; i++) {
        assert_non_null(lam_builtin_markers[i].name);
        if (i > 0)
            assert_true(strcmp(lam_builtin_markers[i - 1].name, lam_builtin_markers[i].name) < 0);
    }
    assert_null(lam_builtin_markers[lam_builtin_markers_count].name);
}

static void texts_are_the_files(void **state)
{
    (void)state;
    for (const struct marker_file *file = lam_builtin_markers; file->name; file++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/markers/%s", getenv("LAMELLA_SRC"), file->name);
        FILE *stream = fopen(path, "rb");
        assert_non_null(stream);
        char *text = malloc(file->size_bytes + 2);
        assert_non_null(text);
        /* One more than there should be, so that a longer file is noticed. */
        assert_int_equal(fread(text, 1, file->size_bytes + 1, stream), file->size_bytes);
        fclose(stream);
        assert_memory_equal(text, file->text, file->size_bytes);
        assert_int_equal(file->text[file->size_bytes], 0);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_sorted_and_ended),
        cmocka_unit_test(texts_are_the_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
