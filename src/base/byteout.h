/* Buffered byte output to a FILE, a descriptor, a string or a callback. Every text and binary
 * writer goes through it. The first failure is remembered and later writes do nothing; it comes
 * back from byteout_flush(). */
#ifndef LAMELLA_BASE_BYTEOUT_H
#define LAMELLA_BASE_BYTEOUT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"

/* Takes all the bytes or returns a negative code. */
typedef int (*byteout_fn)(void *ctx, const void *bytes, size_t length);

struct byteout {
    byteout_fn write;
    void *ctx;
    int fd;
    int failed; /* the first failure's code, 0 while there is none */
    int errnum; /* its errno, 0 when it came from a callback */
    size_t used;
    uint64_t total_bytes; /* given to write so far; byteout_offset() adds what is still buffered */
    char buffer[32768];
};

void byteout_init(struct byteout *out, byteout_fn write, void *ctx);
void byteout_init_file(struct byteout *out,
                       FILE *file); /* file stays the caller's; byteout_flush() flushes it too */
void byteout_init_fd(struct byteout *out, int fd); /* fd stays the caller's */
void byteout_init_strbuf(struct byteout *out, struct strbuf *buf);

void byteout_write_slow(struct byteout *out, const void *bytes,
                        size_t length); /* inside: what has no room */
void byteout_text(struct byteout *out, const char *text);
void byteout_printf(struct byteout *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Whether anything failed so far. */
static inline bool byteout_failed(const struct byteout *out)
{
    return out->failed < 0;
}

/* Hands over what is buffered; for byteout_room(). */
void byteout_drain(struct byteout *out);

static inline void byteout_write(struct byteout *out, const void *bytes, size_t length)
{
    if (length > sizeof out->buffer - out->used) {
        byteout_write_slow(out, bytes, length);
        return;
    }
    if (length)
        memcpy(out->buffer + out->used, bytes, length);
    out->used += length;
}

static inline void byteout_char(struct byteout *out, char c)
{
    if (out->used == sizeof out->buffer)
        byteout_drain(out);
    out->buffer[out->used++] = c;
}

/* Room for length bytes (at most 4096) to write into directly; byteout_advance() says how many were. The pointer lives
 * until the next call. */
static inline char *byteout_room(struct byteout *out, size_t length)
{
    if (length > sizeof out->buffer - out->used)
        byteout_drain(out);
    return out->buffer + out->used;
}

static inline void byteout_advance(struct byteout *out, size_t length)
{
    out->used += length;
}

/* Bytes written so far, the buffered ones included. */
uint64_t byteout_offset(const struct byteout *out);

/* Hands over what is buffered; returns LAM_OK or the first failure of all, described with name
 * ("out.json"). What goes to standard output is called so whatever the name, and it is no failure when its reader has had enough. */
int byteout_flush(struct byteout *out, const char *name, struct lam_error *err);

#endif
