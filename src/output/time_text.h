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

/* A number below 1000: three digits, how many leading zeros those have (the last digit is none), and above that what "." and
 * they take without trailing zeros: nothing for 0. */
struct time_digits {
    char digits[3];
    unsigned char sizes;
};
extern const struct time_digits time_digits[1000];

/* Each of them always writes four bytes. */
static inline char *put_three(char *at, uint32_t below_1000)
{
    memcpy(at, &time_digits[below_1000], 4);
    return at + 3;
}

static inline char *put_leading(char *at, uint32_t below_1000)
{
    unsigned zeros = time_digits[below_1000].sizes & 15u;
    memcpy(at, (const char *)time_digits + 4 * (size_t)below_1000 + zeros, 4);
    return at + 3 - zeros;
}

static inline char *put_fraction(char *at, uint32_t below_1000)
{
    at[0] = '.';
    memcpy(at + 1, &time_digits[below_1000], 4);
    return at + (time_digits[below_1000].sizes >> 4);
}

/* value / 1000 with up to three decimals, as put_microseconds(). Most lengths have one group of digits; a time of a
 * profile has as many as the one before it. */
static inline __attribute__((always_inline)) char *put_thousandth(char *at, uint64_t value)
{
    const uint64_t limit = UINT64_C(1000000000);
    uint64_t whole = value / 1000;
    uint32_t rest = (uint32_t)(value - whole * 1000), low = (uint32_t)whole;
    if (__builtin_expect(whole >= limit, 0))
        return put_fraction(put_digits(at, whole), rest);
    if (low < 1000)
        return put_fraction(put_leading(at, low), rest);
    uint32_t high = low / 1000, highest = high / 1000;
    at = highest ? put_three(put_leading(at, highest), high - highest * 1000) : put_leading(at, high);
    return put_fraction(put_three(at, low - high * 1000), rest);
}

/* "nanoseconds", "instructions", …; what the input counts is "events" when it has another name. */
const char *export_measure_name(enum profile_measure measure);

#endif
