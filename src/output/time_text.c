#include "output/time_text.h"

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

char *put_decimal(char *at, uint64_t value)
{
    char digits[20];
    size_t first = sizeof digits;
    while (value >= 100) {
        first -= 2;
        memcpy(digits + first, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        first -= 2;
        memcpy(digits + first, pairs + value * 2, 2);
    } else {
        digits[--first] = (char)('0' + value);
    }
    return put_bytes(at, digits + first, sizeof digits - first);
}

/* value / 10^digits, digits being 3 or 6. */
static char *put_fraction(char *at, uint64_t fraction, unsigned digits)
{
    if (!fraction)
        return at;
    *at++ = '.';
    for (unsigned i = digits; i-- > 0; fraction /= 10)
        at[i] = (char)('0' + fraction % 10);
    at += digits;
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
    at = put_decimal(at, value / 1000);
    return put_fraction(at, value % 1000, 3);
}

char *put_milliseconds(char *at, int64_t ns)
{
    uint64_t value;
    at = put_sign(at, ns, &value);
    at = put_decimal(at, value / 1000000);
    return put_fraction(at, value % 1000000, 6);
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
