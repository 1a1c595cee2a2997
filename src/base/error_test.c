#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

static void texts(void **state)
{
    static const struct {
        int code;
        const char *name, *text;
    } rows[] = {
        {LAM_OK, "OK", "success"},
        {7, "OK", "success"},
        {LAM_E_NOMEM, "NOMEM", "out of memory"},
        {LAM_E_BUSY, "BUSY", "in use, or open already"},
        {-99, "UNKNOWN", "unknown error"},
        {INT32_MIN, "UNKNOWN", "unknown error"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(lam_code_name(rows[i].code), rows[i].name);
        assert_string_equal(lam_code_text(rows[i].code), rows[i].text);
    }
}

static void messages(void **state)
{
    static const struct {
        const char *given, *shown;
    } rows[] = {
        {"plain", "plain"},
        {"two\nlines\tand \x1b[31m", "two\\nlines\\tand \\x1b[31m"},
        {"caf\xc3\xa9 \xff", "caf\xc3\xa9 \\xff"},
        {"\xc2\x85", "\\xc2\\x85"}, /* a control character of C1 */
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lam_error err = LAM_ERROR_INIT;
        errno = 5;
        assert_int_equal(lam_error_at(&err, LAM_E_IO, 9, "%s", rows[i].given), LAM_E_IO);
        assert_string_equal(err.msg, rows[i].shown);
        assert_int_equal(err.code, LAM_E_IO);
        assert_int_equal(err.offset, 9);
        assert_int_equal(errno, 5);
    }
    assert_int_equal(lam_error_set(NULL, LAM_E_INVAL, "nobody cares"), LAM_E_INVAL);
}

/* Every length around the limit: never more than fits, never half a character. */
static void long_messages(void **state)
{
    char text[700];
    (void)state;
    for (size_t length = 240; length < 300; length++) {
        struct lam_error err = LAM_ERROR_INIT;
        for (size_t i = 0; i < length; i++)
            memcpy(text + 2 * i, "\xc3\xa9", 2);
        text[2 * length] = 0;
        lam_error_set(&err, LAM_E_IO, "%s%s", length % 2 ? "x" : "", text);
        size_t got = strlen(err.msg);
        assert_true(got < sizeof err.msg && got > sizeof err.msg - 8);
        assert_string_equal(err.msg + got - 3, "...");
        assert_int_equal((got - 3 - length % 2) % 2, 0);
        assert_int_equal(err.offset, LAM_NO_OFFSET);
    }
    for (size_t length = 250; length < 260; length++) {
        struct lam_error err = LAM_ERROR_INIT;
        memset(text, 'a', length);
        text[length] = 0;
        lam_error_set(&err, LAM_E_IO, "%s", text);
        assert_int_equal(strlen(err.msg), length < 256 ? length : 255);
        assert_true((strstr(err.msg, "...") != NULL) == (length > 255));
    }
}

static void prefix_of_itself(void **state)
{
    struct lam_error err = LAM_ERROR_INIT;
    (void)state;
    lam_error_set(&err, LAM_E_IO, "inner");
    lam_error_set(&err, LAM_E_IO, "outer: %s", err.msg);
    assert_string_equal(err.msg, "outer: inner");
}

static void errnos(void **state)
{
    static const struct {
        int errnum, code;
    } rows[] = {
        {ENOENT, LAM_E_NOTFOUND}, {EACCES, LAM_E_PERM}, {EPERM, LAM_E_PERM},
        {EEXIST, LAM_E_EXISTS},   {ENOSPC, LAM_E_FULL}, {EDQUOT, LAM_E_FULL},
        {EFBIG, LAM_E_FULL},      {EIO, LAM_E_IO},      {ENOMEM, LAM_E_NOMEM},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lam_error err = LAM_ERROR_INIT;
        assert_int_equal(lam_error_errno(&err, rows[i].errnum, "file %d", 3), rows[i].code);
        assert_memory_equal(err.msg, "file 3: ", 8);
        assert_true(strlen(err.msg) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),         cmocka_unit_test(messages),
        cmocka_unit_test(long_messages), cmocka_unit_test(prefix_of_itself),
        cmocka_unit_test(errnos),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
