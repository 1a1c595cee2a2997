#include "base/file_reserve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Whatever the file system does of it, the file is as long as what was written, and takes no more room than that. */
static void a_file_is_as_long_as_what_was_written(void **state)
{
    (void)state;
    static char bytes[300000];
    static const size_t writes[] = {0, 1, 3, 4, 9, 40};
    memset(bytes, 'x', sizeof bytes);
    for (size_t row = 0; row < sizeof writes / sizeof *writes; row++) {
        FILE *file = tmpfile();
        struct file_reserve reserve;
        struct stat st;
        assert_non_null(file);
        file_reserve_begin(&reserve, fileno(file));
        for (size_t i = 0; i < writes[row]; i++) {
            file_reserve_more(&reserve, sizeof bytes);
            assert_int_equal(write(fileno(file), bytes, sizeof bytes), sizeof bytes);
        }
        file_reserve_end(&reserve);
        assert_int_equal(fstat(fileno(file), &st), 0);
        assert_int_equal(st.st_size, writes[row] * sizeof bytes);
        assert_true((size_t)st.st_blocks * 512 <= writes[row] * sizeof bytes + (1 << 20));
        fclose(file);
    }
}

static void nothing_is_reserved_of_what_is_no_file(void **state)
{
    (void)state;
    struct file_reserve reserve;
    file_reserve_begin(&reserve, -1);
    file_reserve_more(&reserve, 100 << 20);
    assert_int_equal(reserve.reserved, 0);
    file_reserve_end(&reserve);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_as_long_as_what_was_written),
        cmocka_unit_test(nothing_is_reserved_of_what_is_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
