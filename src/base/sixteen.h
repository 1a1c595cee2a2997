/* Sixteen bytes at once, for scans. */
#ifndef LAMELLA_BASE_SIXTEEN_H
#define LAMELLA_BASE_SIXTEEN_H

#include <stdint.h>
#include <string.h>

typedef unsigned char sixteen __attribute__((vector_size(16)));

static inline sixteen sixteen_load(const void *from)
{
    sixteen bytes;
    memcpy(&bytes, from, sizeof bytes);
    return bytes;
}

/* The first byte that is not zero, of what a comparison gave: 0xff where it holds. 16: there is none. */
static inline unsigned sixteen_first(sixteen found)
{
#if defined __SSE2__
    typedef char signed_sixteen __attribute__((vector_size(16)));
    unsigned bits = (unsigned)__builtin_ia32_pmovmskb128((signed_sixteen)found);
    return bits ? (unsigned)__builtin_ctz(bits) : 16;
#else
    uint64_t half[2];
    memcpy(half, &found, sizeof half);
    if (!(half[0] | half[1]))
        return 16;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    half[0] = __builtin_bswap64(half[0]);
    half[1] = __builtin_bswap64(half[1]);
#endif
    return (unsigned)(half[0] ? __builtin_ctzll(half[0]) : 64 + __builtin_ctzll(half[1])) / 8;
#endif
}

#endif
