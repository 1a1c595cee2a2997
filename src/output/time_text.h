/* Numbers as text, fast: what a trace of millions of events is made of. */
#ifndef LAMELLA_OUTPUT_TIME_TEXT_H
#define LAMELLA_OUTPUT_TIME_TEXT_H

#include <stdint.h>
#include <string.h>

#include "profile/sink.h"

enum {
    TIME_TEXT_BYTES = 32
}; /* what any of these writes at most, bytes behind the text among them */

/* Each writes at `at` and returns what follows; no NUL. */
char *put_decimal(char *at, uint64_t value);
char *put_microseconds(char *at, int64_t ns); /* "-1.5", "12", "0.001": exact, no trailing zeros */
char *put_milliseconds(char *at, int64_t ns);

#define put_literal(at, text) put_bytes((at), (text), sizeof(text) - 1)
static inline char *put_bytes(char *at, const char *text, size_t size)
{
    memcpy(at, text, size);
    return at + size;
}

/* Eight digits of a number below 10^8, the first one in the lowest byte, each 0 … 9. Halves, then quarters, then digits are
 * parted side by side: 10486 / 2^20 is 1/100 for numbers below 10^4, 103 / 2^10 is 1/10 for those below 100. */
static inline __attribute__((always_inline)) uint64_t eight_digits(uint32_t value)
{
    uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
    uint64_t hundreds = (fours * 10486 >> 20) & UINT64_C(0x7f0000007f);
    uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
    uint64_t tens = (twos * 103 >> 10) & UINT64_C(0xf000f000f000f);
    return tens | (twos - 10 * tens) << 8;
}

/* The lowest byte first, whatever the machine's order. Always eight bytes. */
static inline void put_eight(char *at, uint64_t digits)
{
    digits |= UINT64_C(0x3030303030303030);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    digits = __builtin_bswap64(digits);
#endif
    memcpy(at, &digits, sizeof digits);
}

/* Below 10^8, without a branch. */
static inline __attribute__((always_inline)) char *put_short(char *at, uint32_t value)
{
    uint64_t digits = eight_digits(value);
    unsigned zeros = (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 56) / 8;
    put_eight(at, digits >> 8 * zeros);
    return at + 8 - zeros;
}

static inline __attribute__((always_inline)) char *put_digits(char *at, uint64_t value)
{
    const uint64_t limit = 100000000;
    if (value < limit)
        return put_short(at, (uint32_t)value);
    uint64_t upper = value / limit;
    if (upper < limit) {
        at = put_short(at, (uint32_t)upper);
    } else {
        at = put_short(at, (uint32_t)(upper / limit));
        put_eight(at, eight_digits((uint32_t)(upper % limit)));
        at += 8;
    }
    put_eight(at, eight_digits((uint32_t)(value % limit)));
    return at + 8;
}

/* value / 1000 with up to three decimals, as put_microseconds(). */
static inline __attribute__((always_inline)) char *put_thousandth(char *at, uint64_t value)
{
    at = put_digits(at, value / 1000);
    uint32_t rest = (uint32_t)(value % 1000), tenths = rest / 10;
    uint32_t digits = tenths / 10 | tenths % 10 << 8 | rest % 10 << 16;
    uint32_t size = digits ? 2 + (31 - (uint32_t)__builtin_clz(digits)) / 8
                           : 0; /* up to the last that is no zero */
    at[0] = '.';
    at[1] = (char)('0' + (digits & 15));
    at[2] = (char)('0' + (digits >> 8 & 15));
    at[3] = (char)('0' + (digits >> 16));
    return at + size;
}

/* "nanoseconds", "instructions", …; what the input counts is "events" when it has another name. */
const char *export_measure_name(enum profile_measure measure);

#endif
