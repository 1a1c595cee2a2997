/* bounded_text.h: a text put together in memory of a fixed size. NUL-ended as long as it fits. */
#ifndef LAMELLA_RECORDER_BOUNDED_TEXT_H
#define LAMELLA_RECORDER_BOUNDED_TEXT_H

#include "core/bytes.h"

struct bounded_text {
    char *bytes;
    size_t used, size; /* used == size: it did not fit */
};

static inline void text_add_bytes(struct bounded_text *text, const char *bytes, size_t size)
{
    if (size >= text->size - text->used) {
        text->used = text->size;
        return;
    }
    __builtin_memcpy(text->bytes + text->used, bytes, size);
    text->used += size;
    text->bytes[text->used] = 0;
}

static inline void text_add(struct bounded_text *text, const char *more)
{
    if (text->used < text->size)
        text_add_bytes(text, more, bytes_length(more));
}

/* As much of it as there is room for. */
static inline void text_add_cut(struct bounded_text *text, const char *bytes, size_t size)
{
    size_t room = text->size - text->used;
    if (room > 1)
        text_add_bytes(text, bytes, size < room ? size : room - 1);
}

static inline void text_add_u64(struct bounded_text *text, uint64_t value)
{
    char digits[21];
    text_from_u64(digits, value);
    text_add(text, digits);
}

#endif
