#include "base/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

static void rows(void **state)
{
    static const struct {
        const char *text;
        size_t taken;
        double value;
        bool is_integer;
        uint64_t magnitude;
    } table[] = {
        {"0", 1, 0, true, 0},
        {"-0", 2, -0.0, true, 0},
        {"12,", 2, 12, true, 12},
        {"01", 1, 0, true, 0}, /* what follows is the caller's to refuse */
        {"-9223372036854775808", 20, -0x1p63, true, UINT64_C(1) << 63},
        {"18446744073709551615", 20, 0x1p64, true, UINT64_MAX},
        {"18446744073709551616", 20, 0x1p64, false, 0},
        {"184467440737095516150", 21, 184467440737095516150.0, false, 0},
        {"1.5", 3, 1.5, false, 0},
        {"0.1", 3, 0.1, false, 0},
        {"1e3", 3, 1000, false, 0},
        {"1E-2", 4, 0.01, false, 0},
        {"9007199254740993", 16, 9007199254740992.0, true, 9007199254740993},
        {"123456789012345678901234567890", 30, 123456789012345678901234567890.0, false, 0},
        {"1e400", 5, HUGE_VAL, false, 0},
        {"-1e400", 6, -HUGE_VAL, false, 0},
        {"1e-400", 6, 0, false, 0},
        {"1e99999999999999999999", 22, HUGE_VAL, false, 0},
        {"", 0, 0, false, 0},
        {"-", 0, 0, false, 0},
        {"1.", 0, 0, false, 0},
        {".5", 0, 0, false, 0},
        {"1e", 0, 0, false, 0},
        {"1e+", 0, 0, false, 0},
        {"+1", 0, 0, false, 0},
        {"nan", 0, 0, false, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct number number = {0};
        size_t taken = number_parse(table[i].text, strlen(table[i].text), &number);
        if (taken != table[i].taken)
            fail_msg("%s: %zu bytes taken", table[i].text, taken);
        if (!taken)
            continue;
        if (number.value != table[i].value || number.is_integer != table[i].is_integer ||
            number.magnitude != table[i].magnitude)
            fail_msg("%s: reads as %.17g, integer %d %llu", table[i].text, number.value,
                     number.is_integer, (unsigned long long)number.magnitude);
    }
}

/* Against strtod, on numbers of all shapes. */
static void agrees_with_the_library(void **state)
{
    uint64_t random = 3;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        char text[64];
        struct number number;
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t digits = random >> (random & 63);
        switch (random >> 8 & 3) {
        case 0:
            snprintf(text, sizeof text, "%llu", (unsigned long long)digits);
            break;
        case 1:
            snprintf(text, sizeof text, "%llu.%06llu", (unsigned long long)digits % 100000,
                     (unsigned long long)(random >> 40) % 1000000);
            break;
        case 2:
            snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits,
                     (int)(random >> 50 & 63) - 32);
            break;
        default:
            snprintf(text, sizeof text, "%.17g", (double)digits / 1e9);
        }
        assert_int_equal(number_parse(text, strlen(text), &number), strlen(text));
        double expected = strtod(text, NULL);
        if (number.value != expected)
            fail_msg("%s: %.17g, strtod %.17g", text, number.value, expected);
    }
}

static void long_numbers(void **state)
{
    char text[3000];
    struct number number;
    (void)state;
    memset(text, '1', sizeof text);
    text[1] = '.';
    assert_int_equal(number_parse(text, sizeof text, &number), sizeof text);
    assert_true(number.value == 10.0 / 9);
    mem_fail_after(0);
    assert_int_equal(number_parse(text, sizeof text, &number), sizeof text);
    mem_fail_after(UINT64_MAX);
    assert_true(fabs(number.value - 10.0 / 9) < 1e-15);
}

static void point(void **state)
{
    char text[] = "1,5";
    (void)state;
    number_fix_point(text); /* the locale's point is a point here */
    assert_string_equal(text, "1,5");
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        return; /* not installed */
    number_fix_point(text);
    struct number number;
    assert_int_equal(number_parse("12345678901234567890.5", 22, &number), 22);
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(text, "1.5");
    assert_true(number.value == 12345678901234567890.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(agrees_with_the_library),
        cmocka_unit_test(long_numbers),
        cmocka_unit_test(point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
