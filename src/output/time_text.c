#include "output/time_text.h"

#define LEADING_ZEROS(n)  ((n) < 10 ? 2 : (n) < 100 ? 1 : 0)
#define FRACTION_BYTES(n) ((n) == 0 ? 0 : (n) % 10 ? 4 : (n) % 100 ? 3 : 2)
#define DIGITS(n)                                               \
    {                                                           \
        {'0' + (n) / 100, '0' + (n) / 10 % 10, '0' + (n) % 10}, \
            LEADING_ZEROS(n) | FRACTION_BYTES(n) << 4           \
    }
#define TEN(n)                                                                            \
    DIGITS(n), DIGITS(n + 1), DIGITS(n + 2), DIGITS(n + 3), DIGITS(n + 4), DIGITS(n + 5), \
        DIGITS(n + 6), DIGITS(n + 7), DIGITS(n + 8), DIGITS(n + 9)
#define HUNDRED(n)                                                                        \
    TEN(n), TEN(n + 10), TEN(n + 20), TEN(n + 30), TEN(n + 40), TEN(n + 50), TEN(n + 60), \
        TEN(n + 70), TEN(n + 80), TEN(n + 90)

_Static_assert(sizeof(struct time_digits) == 4, "written four bytes at a time");
const struct time_digits time_digits[1000] = {
    HUNDRED(0),   HUNDRED(100), HUNDRED(200), HUNDRED(300), HUNDRED(400),
    HUNDRED(500), HUNDRED(600), HUNDRED(700), HUNDRED(800), HUNDRED(900)};

char *put_decimal(char *at, uint64_t value)
{
    return put_digits(at, value);
}

/* fraction / 1,000,000, without its trailing zeros */
static char *put_millionths(char *at, uint64_t fraction)
{
    enum { DIGITS = 6 };
    if (!fraction)
        return at;
    *at++ = '.';
    for (unsigned i = DIGITS; i-- > 0; fraction /= 10)
        at[i] = (char)('0' + fraction % 10);
    at += DIGITS;
    while (at[-1] == '0')
        at--;
    return at;
}

static char *put_sign(char *at, int64_t ns, uint64_t *magnitude)
{
    *magnitude = ns < 0 ? (uint64_t)0 - (uint64_t)ns : (uint64_t)ns;
    if (ns < 0)
        *at++ = '-';
    return at;
}

char *put_microseconds(char *at, int64_t ns)
{
    uint64_t value;
    at = put_sign(at, ns, &value);
    return put_thousandth(at, value);
}

char *put_milliseconds(char *at, int64_t ns)
{
    uint64_t value;
    at = put_sign(at, ns, &value);
    at = put_decimal(at, value / 1000000);
    return put_millionths(at, value % 1000000);
}

const char *export_measure_name(enum profile_measure measure)
{
    switch (measure) {
    case PROFILE_MEASURE_TIME:
    case PROFILE_MEASURE_CPU_TIME:
        return "nanoseconds";
    case PROFILE_MEASURE_INSTRUCTIONS:
    case PROFILE_MEASURE_INSTRUCTIONS_MINUS_IRQS:
        return "instructions";
    case PROFILE_MEASURE_CYCLES:
        return "cycles";
    case PROFILE_MEASURE_OTHER:
        break;
    }
    return "events";
}
