/* Pieces of a Chrome trace's events: what is the same each time, escaped once and copied fast. */
#ifndef LAMELLA_OUTPUT_CHROME_PIECES_H
#define LAMELLA_OUTPUT_CHROME_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "output/time_text.h"

enum { CHROME_COPY_BYTES = 32, CHROME_HEAD_BYTES = 96 }; /* pieces are copied in steps of so many */

struct chrome_piece {
    const char *text; /* CHROME_HEAD_BYTES more may be read of it */
    uint32_t size;
};

#define CHROME_COMPLETE ",\"ph\":\"X\",\"ts\":"
#define CHROME_INSTANT  ",\"ph\":\"i\",\"s\":\"t\",\"ts\":"
#define CHROME_COUNTER  ",\"ph\":\"C\",\"ts\":"

/* Keeps what is in `text`, which gets longer by it. LAM_OK or LAM_E_NOMEM. */
static inline int chrome_piece_keep(struct arena *arena, struct strbuf *text,
                                    struct chrome_piece *piece)
{
    static const char after[CHROME_HEAD_BYTES];
    if (!strbuf_ok(text))
        return LAM_E_NOMEM;
    size_t size = text->length;
    strbuf_add_bytes(text, after, sizeof after);
    piece->text = strbuf_ok(text) ? arena_strndup(arena, text->data, text->length) : NULL;
    piece->size = (uint32_t)size;
    return piece->text ? LAM_OK : LAM_E_NOMEM;
}

/* So that a call for each piece is not most of the work: up to CHROME_COPY_BYTES are written behind it, and read behind the piece. */
static inline char *chrome_piece_copy(char *at, const struct chrome_piece *piece)
{
    for (uint32_t done = 0; done < piece->size; done += CHROME_COPY_BYTES)
        memcpy(at + done, piece->text + done, CHROME_COPY_BYTES);
    return at + piece->size;
}

/* The same of one that is mostly as long as CHROME_HEAD_BYTES or shorter, without a branch that depends on it. */
static inline char *chrome_piece_copy_head(char *at, const struct chrome_piece *piece)
{
    memcpy(at, piece->text, CHROME_HEAD_BYTES);
    for (uint32_t done = CHROME_HEAD_BYTES; done < piece->size; done += CHROME_COPY_BYTES)
        memcpy(at + done, piece->text + done, CHROME_COPY_BYTES);
    return at + piece->size;
}

static inline void chrome_add_json(struct strbuf *text, struct profile_text value)
{
    strbuf_add_char(text, '"');
    strbuf_add_json_escaped(text, value.bytes, value.size);
    strbuf_add_char(text, '"');
}

#endif
