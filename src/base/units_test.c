#include "base/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include <math.h>

static void seconds(void **state)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0, "0 s"},
        {6.4e-7, "640 ns"},
        {1e-9, "1 ns"},
        {1.234e-5, "12.3 µs"},
        {0.456, "456 ms"},
        {0.00999, "9.99 ms"},
        {0.9994, "999 ms"},
        {0.9996, "1.00 s"},
        {1.234, "1.23 s"},
        {9.994, "9.99 s"},
        {9.996, "10.0 s"},
        {12.34, "12.3 s"},
        {59.94, "59.9 s"},
        {59.96, "1 min 00 s"},
        {125, "2 min 05 s"},
        {3599.4, "59 min 59 s"},
        {3599.6, "1 h 00 min"},
        {11220, "3 h 07 min"},
        {360000, "100 h 00 min"},
        {-1.5, "-1.50 s"},
        {(double)NAN, "-"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(unit_seconds(rows[i].value).text, rows[i].text);
    assert_non_null(unit_seconds(HUGE_VAL).text);
}

static void sizes(void **state)
{
    static const struct {
        double value;
        const char *bytes, *count;
    } rows[] = {
        {0, "0 B", "0"},
        {512, "512 B", "512"},
        {999, "999 B", "999"},
        {1000, "1.00 kB", "1.00k"},
        {1234, "1.23 kB", "1.23k"},
        {12345, "12.3 kB", "12.3k"},
        {999499, "999 kB", "999k"},
        {999501, "1.00 MB", "1.00M"},
        {1.234e9, "1.23 GB", "1.23G"},
        {1.5e12, "1.50 TB", "1.50T"},
        {-2000, "-2.00 kB", "-2.00k"},
        {2.5, "2.50 B", "2.50"},
        {(double)NAN, "-", "-"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(unit_bytes(rows[i].value).text, rows[i].bytes);
        assert_string_equal(unit_count_short(rows[i].value).text, rows[i].count);
    }
    assert_non_null(unit_bytes(1e300).text);
}

static void counts(void **state)
{
    (void)state;
    assert_string_equal(unit_count(0).text, "0");
    assert_string_equal(unit_count(999).text, "999");
    assert_string_equal(unit_count(1000).text, "1,000");
    assert_string_equal(unit_count(1234567).text, "1,234,567");
    assert_string_equal(unit_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
    assert_string_equal(unit_plural(0), "s");
    assert_string_equal(unit_plural(1), "");
    assert_string_equal(unit_plural(2), "s");
    assert_string_equal(unit_number(1234.5, 1).text, "1,234.5");
    assert_string_equal(unit_number(-123456, 0).text, "-123,456");
    assert_string_equal(unit_number(-1234.25, 2).text, "-1,234.25");
    assert_string_equal(unit_number((double)NAN, 2).text, "-");
    assert_string_equal(unit_number(12.3456, 9).text, "12.345600000");
    assert_string_equal(unit_cores(1.64).text, "1.6");
    assert_string_equal(unit_cores(0.1).text, "0.1");
    assert_string_equal(unit_cores(0.042).text, "0.04");
    assert_string_equal(unit_cores(0.001).text, "<0.01");
    assert_string_equal(unit_cores(0).text, "0.0");
    assert_string_equal(unit_cores((double)NAN).text, "-");
}

static void percents(void **state)
{
    static const struct {
        double share;
        const char *text, *with_sign;
    } rows[] = {
        {0, "0%", "0.0%"},           {0.456, "45.6%", "+45.6%"},   {0.0001, "<0.1%", "0.0%"},
        {1, "100%", "+100.0%"},      {0.9999, "99.9%", "+100.0%"}, {1.5, "150.0%", "+150.0%"},
        {-0.25, "-25.0%", "-25.0%"}, {(double)NAN, "-", "-"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(unit_percent(rows[i].share).text, rows[i].text);
        assert_string_equal(unit_percent_signed(rows[i].share).text, rows[i].with_sign);
    }
}

static void dates(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    assert_string_equal(unit_date(0).text, "1970-01-01 00:00:00");
    assert_string_equal(unit_date(1796078934).text, "2026-11-30 22:48:54");
    assert_string_equal(unit_date(INT64_MAX).text, "-");
}

static void parses_seconds(void **state)
{
    static const struct {
        const char *text;
        bool is_right;
        double value;
    } rows[] = {
        {"10", true, 10},        {"10s", true, 10},       {"1.5 ms", true, 0.0015},
        {"250us", true, 250e-6}, {"250µs", true, 250e-6}, {"3m", true, 180},
        {"3min", true, 180},     {"2h", true, 7200},      {"1e3s", true, 1000},
        {".5", true, 0.5},       {"007", true, 7},        {"0", true, 0},
        {"00.5s", true, 0.5},    {"", false, 0},          {"s", false, 0},
        {"-1", false, 0},        {"1x", false, 0},        {"1s ", false, 0},
        {"1.2.3", false, 0},     {"inf", false, 0},       {"1e999", false, 0},
        {"0x10", false, 0},      {"1 2", false, 0},       {"1e", false, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double value = 0;
        if (unit_parse_seconds(rows[i].text, &value) != rows[i].is_right ||
            fabs(value - rows[i].value) > 1e-12)
            fail_msg("'%s' reads as %g", rows[i].text, value);
    }
}

static void parses_bytes(void **state)
{
    static const struct {
        const char *text;
        bool is_right;
        uint64_t value;
    } rows[] = {
        {"4096", true, 4096},
        {"64k", true, 64000},
        {"64kB", true, 64000},
        {"64KiB", true, 65536},
        {"1.5M", true, 1500000},
        {"2GiB", true, UINT64_C(2) << 30},
        {"1 T", true, 1000000000000},
        {"0", true, 0},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"99999999T", false, 0},
        {"-1", false, 0},
        {"", false, 0},
        {"k", false, 0},
        {"1Q", false, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t value = 0;
        if (unit_parse_bytes(rows[i].text, &value) != rows[i].is_right || value != rows[i].value)
            fail_msg("'%s' reads as %llu", rows[i].text, (unsigned long long)value);
    }
}

static void parses_numbers(void **state)
{
    uint64_t whole = 5;
    double value = 5;
    (void)state;
    assert_true(unit_parse_u64("0012", &whole));
    assert_int_equal(whole, 12);
    assert_false(unit_parse_u64("", &whole));
    assert_false(unit_parse_u64(" 1", &whole));
    assert_false(unit_parse_u64("1.0", &whole));
    assert_false(unit_parse_u64("18446744073709551616", &whole));
    assert_int_equal(whole, 12);
    assert_true(unit_parse_double("-1.5e2", &value));
    assert_true(value == -150);
    assert_true(unit_parse_double("+2", &value));
    assert_false(unit_parse_double("--2", &value));
    assert_false(unit_parse_double("2x", &value));
    assert_false(unit_parse_double("nan", &value));
    assert_true(value == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds),      cmocka_unit_test(sizes),
        cmocka_unit_test(counts),       cmocka_unit_test(percents),
        cmocka_unit_test(dates),        cmocka_unit_test(parses_seconds),
        cmocka_unit_test(parses_bytes), cmocka_unit_test(parses_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
