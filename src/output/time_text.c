#include "output/time_text.h"

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
