#include "output/time_text.h"

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

/* Four digits at once, so that one division does not wait for the other. */
static inline void put_four(char *at, uint32_t value)
{
    memcpy(at, pairs + value / 100 * 2, 2);
    memcpy(at + 2, pairs + value % 100 * 2, 2);
}

char *put_decimal(char *at, uint64_t value)
{
    char digits[24];
    size_t first = sizeof digits;
    while (value >= 10000) {
        first -= 4;
        put_four(digits + first, (uint32_t)(value % 10000));
        value /= 10000;
    }
    first -= 4;
    put_four(digits + first, (uint32_t)value);
    first += value < 10 ? 3 : value < 100 ? 2 : value < 1000;
    return put_bytes(at, digits + first, sizeof digits - first);
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

/* fraction / 1000, without a loop */
static char *put_thousandths(char *at, uint32_t fraction)
{
    uint32_t hundreds = fraction / 100, rest = fraction % 100;
    at[0] = '.';
    at[1] = (char)('0' + hundreds);
    memcpy(at + 2, pairs + rest * 2, 2);
    return at + (fraction == 0 ? 0 : rest == 0 ? 2 : rest % 10 == 0 ? 3 : 4);
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
    at = put_decimal(at, value / 1000);
    return put_thousandths(at, (uint32_t)(value % 1000));
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
