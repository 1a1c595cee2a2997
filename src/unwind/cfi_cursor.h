/* A cursor over bytes of an unwind table: past the end it yields zero and remembers that it did, so that one check per
 * record is enough. Async-signal-safe. */
#ifndef LAM_UNWIND_CFI_CURSOR_H
#define LAM_UNWIND_CFI_CURSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct cfi_cursor {
    const uint8_t *at, *end;
    bool overrun;
};

static inline uint64_t cfi_left(const struct cfi_cursor *cur)
{
    return (uint64_t)(cur->end - cur->at);
}

static inline void cfi_fail(struct cfi_cursor *cur)
{
    cur->at = cur->end;
    cur->overrun = true;
}

static inline void cfi_skip(struct cfi_cursor *cur, uint64_t size)
{
    if (size > cfi_left(cur))
        cfi_fail(cur);
    else
        cur->at += size;
}

static inline uint8_t cfi_u8(struct cfi_cursor *cur)
{
    if (cur->at == cur->end) {
        cfi_fail(cur);
        return 0;
    }
    return *cur->at++;
}

/* Little endian, as both architectures are; size at most 8. */
static inline uint64_t cfi_uint(struct cfi_cursor *cur, unsigned size)
{
    uint64_t value = 0;
    if (size > cfi_left(cur)) {
        cfi_fail(cur);
        return 0;
    }
    memcpy(&value, cur->at, size);
    cur->at += size;
    return value;
}

static inline int64_t cfi_sint(struct cfi_cursor *cur, unsigned size)
{
    unsigned unused = 64 - 8 * size;
    return (int64_t)(cfi_uint(cur, size) << unused) >> unused;
}

/* Bits above the 64th are dropped; ten bytes at most, more is damage. */
static inline uint64_t cfi_uleb(struct cfi_cursor *cur)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = cfi_u8(cur);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    cfi_fail(cur);
    return 0;
}

static inline int64_t cfi_sleb(struct cfi_cursor *cur)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = cfi_u8(cur);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            if ((byte & 0x40) && shift + 7 < 64)
                value |= UINT64_MAX << (shift + 7);
            return (int64_t)value;
        }
    }
    cfi_fail(cur);
    return 0;
}

#endif
