#include "base/number.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static inline bool is_digit(const char *at, const char *end)
{
    return at < end && (unsigned)(*at - '0') <= 9;
}

static locale_t plain_locale;
static pthread_once_t plain_once = PTHREAD_ONCE_INIT;

static void make_plain_locale(void)
{
    plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* The slow, always right way. */
static double convert_long(const char *text, size_t length)
{
    char small[128];
    char *copy = length < sizeof small ? small : mem_alloc(length + 1);
    if (!copy) {
        /* Digits beyond the hundredth change nothing but the last bit of a number that long. */
        copy = small;
        length = sizeof small - 1;
    }
    memcpy(copy, text, length);
    copy[length] = 0;
    pthread_once(&plain_once, make_plain_locale);
    double value = plain_locale ? strtod_l(copy, NULL, plain_locale) : strtod(copy, NULL);
    if (copy != small)
        mem_free(copy);
    return value;
}

/* What has been read of a number. */
struct scan {
    uint64_t digits; /* all digits as one integer, while they fit */
    bool fits;
    int64_t exponent; /* of ten, to apply to digits */
};

static inline const char *scan_digits(const char *at, const char *end, struct scan *scan)
{
    uint64_t digits = scan->digits;
    for (; is_digit(at, end); at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (__builtin_expect(digits < UINT64_MAX / 10, 1))
            digits = digits * 10 + digit;
        else
            scan->fits = scan->fits && !__builtin_mul_overflow(digits, 10u, &digits) &&
                         !__builtin_add_overflow(digits, digit, &digits);
    }
    scan->digits = digits;
    return at;
}

/* The exponent's digits; saturates where every double is 0 or infinite already. */
static const char *scan_exponent(const char *at, const char *end, struct scan *scan)
{
    bool is_minus = at < end && *at == '-';
    int64_t value = 0;
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    if (!is_digit(at, end))
        return NULL;
    for (; is_digit(at, end); at++) {
        if (value < 100000)
            value = value * 10 + (*at - '0');
    }
    scan->exponent += is_minus ? -value : value;
    return at;
}

/* An integer up to 2^53 times or divided by a power of ten up to 22 is one correctly rounded
 * operation, for both are exact doubles (Clinger 1990). Tells whether it applies. */
static inline bool convert_short(const struct scan *scan, double *value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (!scan->fits || scan->digits > UINT64_C(1) << 53 || scan->exponent < -22 || scan->exponent > 22)
        return false;
    double digits = (double)scan->digits;
    *value = scan->exponent < 0 ? digits / powers[-scan->exponent] : digits * powers[scan->exponent];
    return true;
}

size_t number_parse(const char *text, size_t length, struct number *number)
{
    const char *at = text;
    const char *end = text + length;
    struct scan scan = {.fits = true};
    bool is_integer = true;
    number->is_negative = at < end && *at == '-';
    at += number->is_negative;
    if (!is_digit(at, end))
        return 0;
    at = *at == '0' ? at + 1 : scan_digits(at, end, &scan);
    if (at < end && *at == '.') {
        const char *fraction = at + 1;
        if (!is_digit(fraction, end))
            return 0;
        is_integer = false;
        at = scan_digits(fraction, end, &scan);
        scan.exponent -= at - fraction;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        is_integer = false;
        at = scan_exponent(at + 1, end, &scan);
        if (!at)
            return 0;
    }
    number->is_integer = is_integer && scan.fits;
    number->magnitude = number->is_integer ? scan.digits : 0;
    if (number->is_integer)
        number->value = (double)scan.digits; /* one rounding, correct */
    else if (!convert_short(&scan, &number->value))
        number->value =
            convert_long(text + number->is_negative, (size_t)(at - text) - number->is_negative);
    if (number->is_negative)
        number->value = -number->value;
    return (size_t)(at - text);
}

void number_fix_point(char *text)
{
    const char *point = localeconv()->decimal_point;
    if (point[0] == '.' || !point[0])
        return;
    char *at = strstr(text, point);
    if (!at)
        return;
    size_t length = strlen(point);
    *at = '.';
    memmove(at + 1, at + length, strlen(at + length) + 1);
}
