/* Bounded byte cursor. After an overrun it yields zeros and remembers it, so a parser checks once a
 * record, not once a field: if (cursor_failed(&cur)) return lam_error_at(err, LAM_E_TRUNCATED,
 * cursor_offset(&cur), …). */
#ifndef LAMELLA_BASE_CURSOR_H
#define LAMELLA_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
    const uint8_t *begin;
    const uint8_t *at;
    const uint8_t *end;
    bool failed; /* something was asked for beyond the end; at == end from then on */
    bool is_big; /* integers are big-endian */
};

static inline struct cursor cursor_over(const void *bytes, size_t length)
{
    static const uint8_t nothing[1];
    const uint8_t *begin = bytes ? (const uint8_t *)bytes : nothing;
    return (struct cursor){.begin = begin, .at = begin, .end = begin + (bytes ? length : 0)};
}

static inline bool cursor_failed(const struct cursor *cur)
{
    return cur->failed;
}

static inline size_t cursor_left(const struct cursor *cur)
{
    return (size_t)(cur->end - cur->at);
}

static inline uint64_t cursor_offset(const struct cursor *cur)
{
    return (uint64_t)(cur->at - cur->begin);
}

static inline void cursor_fail(struct cursor *cur)
{
    cur->failed = true;
    cur->at = cur->end;
}

/* The next length bytes in place, or NULL (and failed) when fewer are left. */
static inline const uint8_t *cursor_bytes(struct cursor *cur, size_t length)
{
    if (length > cursor_left(cur) || cur->failed) {
        cursor_fail(cur);
        return NULL;
    }
    const uint8_t *bytes = cur->at;
    cur->at += length;
    return bytes;
}

static inline void cursor_skip(struct cursor *cur, uint64_t length)
{
    if (length > cursor_left(cur) || cur->failed)
        cursor_fail(cur);
    else
        cur->at += length;
}

/* Goes to an offset from the begin, in either direction; beyond the end fails. A failed cursor
 * stays failed. */
static inline void cursor_seek(struct cursor *cur, uint64_t offset)
{
    if (offset > (uint64_t)(cur->end - cur->begin) || cur->failed)
        cursor_fail(cur);
    else
        cur->at = cur->begin + offset;
}

static inline uint8_t cursor_u8(struct cursor *cur)
{
    const uint8_t *bytes = cursor_bytes(cur, 1);
    return bytes ? *bytes : 0;
}

static inline uint16_t cursor_u16(struct cursor *cur)
{
    const uint8_t *bytes = cursor_bytes(cur, sizeof(uint16_t));
    uint16_t value = 0;
    if (bytes)
        memcpy(&value, bytes, sizeof value);
    return cur->is_big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? __builtin_bswap16(value) : value;
}

static inline uint32_t cursor_u32(struct cursor *cur)
{
    const uint8_t *bytes = cursor_bytes(cur, sizeof(uint32_t));
    uint32_t value = 0;
    if (bytes)
        memcpy(&value, bytes, sizeof value);
    return cur->is_big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? __builtin_bswap32(value) : value;
}

static inline uint64_t cursor_u64(struct cursor *cur)
{
    const uint8_t *bytes = cursor_bytes(cur, sizeof(uint64_t));
    uint64_t value = 0;
    if (bytes)
        memcpy(&value, bytes, sizeof value);
    return cur->is_big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? __builtin_bswap64(value) : value;
}

/* LEB128. A value that does not fit 64 bits fails. */
uint64_t cursor_uleb(struct cursor *cur);
int64_t cursor_sleb(struct cursor *cur);

/* A string ended by NUL, in place; its length without the NUL in *length (may be NULL). "" and
 * failed when no NUL follows. */
const char *cursor_str(struct cursor *cur, size_t *length);

/* A cursor over the next length bytes with its own begin (offsets start at 0), the outer one moves
 * past them. When they are not there both have failed. */
struct cursor cursor_sub(struct cursor *cur, uint64_t length);

#endif
