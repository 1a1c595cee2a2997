#include "base/file_steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/memory.h"

enum { BYTES = 7 << 20 };

static uint32_t seed;

static size_t any(size_t below)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 8) % below;
}

/* A place that is on a disk more likely than not. */
static int open_here(void)
{
    char path[] = "/var/tmp/lamella-steps-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    return fd;
}

static void check_file(const unsigned char *wanted, size_t largest, uint64_t cached_bytes,
                       bool is_short)
{
    int fd = open_here();
    struct file_steps steps;
    static unsigned char got[BYTES + 1];
    file_steps_begin(&steps, fd, cached_bytes);
    mem_fail_after(is_short ? any(2) : UINT64_MAX);
    for (size_t at = 0, size; at < BYTES; at += size) {
        size = any(largest) + any(2);
        size = size < BYTES - at ? size : BYTES - at;
        assert_int_equal(file_steps_write(&steps, wanted + at, size), LAM_OK);
    }
    assert_int_equal(file_steps_end(&steps), LAM_OK);
    mem_fail_after(UINT64_MAX);
    file_steps_free(&steps);
    assert_int_equal(pread(fd, got, sizeof got, 0), BYTES);
    assert_memory_equal(got, wanted, BYTES);
    close(fd);
}

/* Whatever the file system does of it, and however short memory is. */
static void a_file_has_what_was_written(void **state)
{
    (void)state;
    static const size_t largest[] = {100000, 1 << 18, 3 << 20};
    static const uint64_t cached[] = {0, 3 << 20, UINT64_MAX};
    static unsigned char wanted[BYTES];
    for (size_t i = 0; i < BYTES; i++)
        wanted[i] = (unsigned char)any(256);
    for (size_t i = 0; i < 18; i++)
        check_file(wanted, largest[i % 3], cached[i / 3 % 3], i >= 9);
}

static void what_cannot_be_written_is_told(void **state)
{
    (void)state;
    static const char bytes[1 << 19];
    FILE *full = fopen("/dev/full", "w");
    struct file_steps steps;
    assert_non_null(full);
    file_steps_begin(&steps, fileno(full), 0);
    assert_int_equal(file_steps_write(&steps, bytes, 10), LAM_OK);
    assert_int_equal(file_steps_end(&steps), LAM_E_FULL);
    assert_int_equal(file_steps_write(&steps, bytes, sizeof bytes), LAM_E_FULL);
    assert_true(steps.errnum != 0);
    file_steps_free(&steps);
    fclose(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_has_what_was_written),
        cmocka_unit_test(what_cannot_be_written_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
