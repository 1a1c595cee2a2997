#include "base/deflate64.h"

#include <limits.h>
#include <stdint.h>
#include <zlib.h>

#include "base/deflate_loop.h"
#include "base/memory.h"

/* Level 9 looks longest for repetitions; a trial of a column that will be written anyway needs no more than the ratio. */
enum { LEVEL = 9, TRIAL_LEVEL = 6, WINDOW_BITS = 15, MEMORY_LEVEL = 9, CHUNK_BYTES = 1 << 15 };

struct deflate64 {
    z_stream z;
    struct byteout *out;
    unsigned held_count; /* bytes that wait for the rest of their three */
    unsigned char held[3];
    unsigned char chunk[CHUNK_BYTES];
};

int deflate64_open(struct deflate64 **out, struct byteout *to, struct lam_error *err)
{
    struct deflate64 *stream = mem_zalloc(1, sizeof *stream);
    if (!stream || deflateInit2(&stream->z, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
                                Z_DEFAULT_STRATEGY) != Z_OK) {
        mem_free(stream);
        return lam_error_set(err, LAM_E_NOMEM, "compressing: out of memory");
    }
    stream->out = to;
    *out = stream;
    return LAM_OK;
}

static void put_three(struct byteout *out, const unsigned char *in, unsigned count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = byteout_room(out, 4);
    unsigned bits = (unsigned)in[0] << 16 | (count > 1 ? (unsigned)in[1] << 8 : 0) |
                    (count > 2 ? (unsigned)in[2] : 0);
    text[0] = digits[bits >> 18];
    text[1] = digits[bits >> 12 & 63];
    text[2] = count > 1 ? digits[bits >> 6 & 63] : '=';
    text[3] = count > 2 ? digits[bits & 63] : '=';
    byteout_advance(out, 4);
}

static int put_base64(void *ctx, const unsigned char *bytes, size_t length)
{
    struct deflate64 *stream = ctx;
    for (size_t i = 0; i < length; i++) {
        stream->held[stream->held_count++] = bytes[i];
        if (stream->held_count == 3) {
            put_three(stream->out, stream->held, 3);
            stream->held_count = 0;
        }
    }
    return LAM_OK;
}

static int press(struct deflate64 *stream, const void *bytes, size_t length, int flush)
{
    return deflate_loop(&stream->z, bytes, length, flush, stream->chunk, CHUNK_BYTES, put_base64,
                        stream);
}

int deflate64_write(struct deflate64 *stream, const void *bytes, size_t length)
{
    return length ? press(stream, bytes, length, Z_NO_FLUSH) : LAM_OK;
}

int deflate64_finish(struct deflate64 *stream)
{
    int rc = press(stream, NULL, 0, Z_FINISH);
    if (rc == LAM_OK && stream->held_count)
        put_three(stream->out, stream->held, stream->held_count);
    stream->held_count = 0;
    return rc;
}

void deflate64_close(struct deflate64 **stream)
{
    if (!stream || !*stream)
        return;
    deflateEnd(&(*stream)->z);
    mem_free(*stream);
    *stream = NULL;
}

size_t deflated_size(const void *bytes, size_t length)
{
    z_stream z = {0};
    unsigned char chunk[4096];
    if (length > INT_MAX || deflateInit2(&z, TRIAL_LEVEL, Z_DEFLATED, -WINDOW_BITS, MEMORY_LEVEL,
                                         Z_DEFAULT_STRATEGY) != Z_OK)
        return SIZE_MAX;
    z.next_in = (unsigned char *)(uintptr_t)bytes;
    z.avail_in = (unsigned)length;
    do {
        z.next_out = chunk;
        z.avail_out = sizeof chunk;
    } while (deflate(&z, Z_FINISH) == Z_OK || z.avail_out == 0);
    size_t size = z.total_out;
    deflateEnd(&z);
    return size;
}
