/* bytes.h: memory and strings without libc's (which a program may interpose, and whose ifuncs may not be ready).
 * All async-signal-safe. */
#ifndef LAMELLA_CORE_BYTES_H
#define LAMELLA_CORE_BYTES_H

#include <stddef.h>
#include <stdint.h>

static inline void bytes_copy(void *to, const void *from, size_t size)
{
#if defined(__clang_analyzer__)
    __builtin_memcpy(to, from, size); /* it does not see what the instruction writes */
#elif defined(__x86_64__)
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
#else
    volatile uint8_t *out = to;
    const uint8_t *in = from;
    for (size_t i = 0; i < size; i++)
        out[i] = in[i];
#endif
}

static inline void bytes_zero(void *to, size_t size)
{
    volatile uint8_t *out = to;
    for (size_t i = 0; i < size; i++)
        out[i] = 0;
}

static inline size_t bytes_length(const char *text)
{
    /* volatile: or the compiler makes a call of strlen out of the loop. */
    const volatile char *at = text;
    size_t n = 0;
    while (at[n])
        n++;
    return n;
}

static inline int bytes_equal(const void *a, const void *b, size_t size)
{
    const uint8_t *x = a, *y = b;
    for (size_t i = 0; i < size; i++)
        if (x[i] != y[i])
            return 0;
    return 1;
}

static inline int text_equal(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* Does `text` start with `prefix`? */
static inline int text_starts(const char *text, const char *prefix)
{
    while (*prefix)
        if (*text++ != *prefix++)
            return 0;
    return 1;
}

/* First place of `needle` in `hay`, or NULL. */
static inline const char *text_find(const char *hay, const char *needle)
{
    for (; *hay; hay++)
        if (text_starts(hay, needle))
            return hay;
    return NULL;
}

/* Decimal digits of `value`, NUL-ended, into `out` (at least 21 bytes). Returns their count. */
static inline size_t text_from_u64(char *out, uint64_t value)
{
    char digits[20];
    size_t n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    for (size_t i = 0; i < n; i++)
        out[i] = digits[n - 1 - i];
    out[n] = 0;
    return n;
}

/* Reads decimal digits at *text and moves it behind them; 0 where there are none. */
static inline uint64_t text_to_u64(const char **text)
{
    uint64_t value = 0;
    while (**text >= '0' && **text <= '9')
        value = value * 10 + (uint64_t)(*(*text)++ - '0');
    return value;
}

#endif
