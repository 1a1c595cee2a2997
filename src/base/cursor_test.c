#include "base/cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void reads_little_and_big(void **state)
{
    static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    (void)state;
    struct cursor cur = cursor_over(bytes, sizeof bytes);
    assert_int_equal(cursor_u8(&cur), 1);
    assert_int_equal(cursor_u16(&cur), 0x0302);
    assert_int_equal(cursor_u32(&cur), 0x07060504);
    assert_int_equal(cursor_u64(&cur), 0x0f0e0d0c0b0a0908);
    assert_int_equal(cursor_left(&cur), 0);
    assert_false(cursor_failed(&cur));
    cursor_seek(&cur, 1);
    cur.is_big = true;
    assert_int_equal(cursor_u16(&cur), 0x0203);
    assert_int_equal(cursor_u32(&cur), 0x04050607);
    assert_int_equal(cursor_u64(&cur), 0x08090a0b0c0d0e0f);
    assert_int_equal(cursor_offset(&cur), 15);
    assert_false(cursor_failed(&cur));
}

static void remembers_an_overrun(void **state)
{
    static const uint8_t bytes[] = {0xff, 0xff, 0xff};
    (void)state;
    struct cursor cur = cursor_over(bytes, sizeof bytes);
    assert_int_equal(cursor_u32(&cur), 0);
    assert_true(cursor_failed(&cur));
    assert_int_equal(cursor_u8(&cur), 0); /* zeros from then on, though bytes were left */
    assert_null(cursor_bytes(&cur, 0));
    cursor_seek(&cur, 0);
    assert_int_equal(cursor_u8(&cur), 0);
    assert_true(cursor_failed(&cur));

    cur = cursor_over(bytes, sizeof bytes);
    cursor_skip(&cur, UINT64_MAX);
    assert_true(cursor_failed(&cur));
    cur = cursor_over(bytes, sizeof bytes);
    cursor_seek(&cur, 4);
    assert_true(cursor_failed(&cur));
    cur = cursor_over(bytes, sizeof bytes);
    cursor_seek(&cur, 3);
    assert_false(cursor_failed(&cur));
    assert_non_null(cursor_bytes(&cur, 0));
    cur = cursor_over(NULL, 10);
    assert_int_equal(cursor_u8(&cur), 0);
    assert_true(cursor_failed(&cur));
}

static void leb128(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        bool fails;
        uint64_t u;
        int64_t s;
    } rows[] = {
        {"\x00", 1, false, 0, 0},
        {"\x7f", 1, false, 127, -1},
        {"\x3f", 1, false, 63, 63},
        {"\x80\x01", 2, false, 128, 128},
        {"\xe5\x8e\x26", 3, false, 624485, 624485},
        {"\xff\x7e", 2, false, 16255, -129},
        {"\x80\x80\x00", 3, false, 0, 0}, /* padded */
        {"", 0, true, 0, 0},
        {"\x80", 1, true, 0, 0},
        {"\xff\xff", 2, true, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cursor cur = cursor_over(rows[i].bytes, rows[i].length);
        assert_int_equal(cursor_uleb(&cur), rows[i].u);
        assert_int_equal(cursor_failed(&cur), rows[i].fails);
        cur = cursor_over(rows[i].bytes, rows[i].length);
        assert_int_equal(cursor_sleb(&cur), rows[i].s);
        assert_int_equal(cursor_failed(&cur), rows[i].fails);
    }
}

static void leb128_limits(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        bool is_signed, fails;
        uint64_t value;
    } rows[] = {
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, false, false, UINT64_MAX},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, false, true, 0},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11, false, false, UINT64_MAX},
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, false, true, 0},
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10, true, false, (uint64_t)INT64_MIN},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 10, true, false, INT64_MAX},
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10, true, true, 0},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11, true, false, UINT64_MAX},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 11, true, true, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cursor cur = cursor_over(rows[i].bytes, rows[i].length);
        uint64_t value = rows[i].is_signed ? (uint64_t)cursor_sleb(&cur) : cursor_uleb(&cur);
        if (value != rows[i].value || cursor_failed(&cur) != rows[i].fails)
            fail_msg("row %zu: %llx", i, (unsigned long long)value);
    }
}

static void strings_and_parts(void **state)
{
    static const char bytes[] = "one\0two"; /* the literal's own NUL ends "two" */
    size_t length;
    (void)state;
    struct cursor cur = cursor_over(bytes, sizeof bytes);
    assert_string_equal(cursor_str(&cur, &length), "one");
    assert_int_equal(length, 3);
    assert_string_equal(cursor_str(&cur, NULL), "two");
    assert_false(cursor_failed(&cur));
    assert_string_equal(cursor_str(&cur, &length), "");
    assert_int_equal(length, 0);
    assert_true(cursor_failed(&cur));

    cur = cursor_over(bytes, 3); /* no NUL within */
    assert_string_equal(cursor_str(&cur, NULL), "");
    assert_true(cursor_failed(&cur));

    cur = cursor_over(bytes, sizeof bytes);
    cursor_skip(&cur, 1);
    struct cursor sub = cursor_sub(&cur, 3);
    assert_int_equal(cursor_u8(&sub), 'n');
    assert_int_equal(cursor_offset(&sub), 1);
    assert_int_equal(cursor_u32(&sub), 0);
    assert_true(cursor_failed(&sub));
    assert_false(cursor_failed(&cur));
    assert_int_equal(cursor_u8(&cur), 't');
    sub = cursor_sub(&cur, 100);
    assert_true(cursor_failed(&sub));
    assert_true(cursor_failed(&cur));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_little_and_big),
        cmocka_unit_test(remembers_an_overrun),
        cmocka_unit_test(leb128),
        cmocka_unit_test(leb128_limits),
        cmocka_unit_test(strings_and_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
