#include "base/cursor.h"

uint64_t cursor_uleb(struct cursor *cur)
{
    uint64_t value = 0;
    unsigned shift = 0;
    for (;; shift += 7) {
        uint8_t byte = cursor_u8(cur);
        uint64_t bits = byte & 0x7f;
        /* Padding with zero bytes is allowed, a bit beyond the 64th is not. */
        if (shift < 64 && bits << shift >> shift == bits)
            value |= bits << shift;
        else if (bits)
            cursor_fail(cur);
        if (cursor_failed(cur))
            return 0;
        if (!(byte & 0x80))
            return value;
    }
}

int64_t cursor_sleb(struct cursor *cur)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = cursor_u8(cur);
        uint64_t bits = byte & 0x7f;
        if (shift < 63) {
            value |= bits << shift;
        } else if (shift == 63) {
            /* one bit of value left, the other six must repeat it */
            if (bits != 0 && bits != 0x7f)
                cursor_fail(cur);
            value |= bits << 63;
        } else if (bits != (value >> 63 ? 0x7fu : 0u)) {
            cursor_fail(cur);
        }
        if (cursor_failed(cur))
            return 0;
        shift += 7;
    } while (byte & 0x80);
    if (shift < 64 && (byte & 0x40))
        value |= UINT64_MAX << shift;
    return (int64_t)value;
}

const char *cursor_str(struct cursor *cur, size_t *length)
{
    const uint8_t *nul =
        cur->failed || !cursor_left(cur) ? NULL : memchr(cur->at, 0, cursor_left(cur));
    if (!nul) {
        cursor_fail(cur);
        if (length)
            *length = 0;
        return "";
    }
    const char *text = (const char *)cur->at;
    if (length)
        *length = (size_t)(nul - cur->at);
    cur->at = nul + 1;
    return text;
}

struct cursor cursor_sub(struct cursor *cur, uint64_t length)
{
    struct cursor sub = cursor_over(cur->at, 0);
    sub.is_big = cur->is_big;
    if (length > cursor_left(cur) || cur->failed) {
        cursor_fail(cur);
        sub.failed = true;
        return sub;
    }
    sub.end = sub.begin + length;
    cur->at += length;
    return sub;
}
