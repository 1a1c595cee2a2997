#include "base/deflate_loop.h"

#include <limits.h>
#include <stdint.h>

#include "base/error.h"

int deflate_loop(z_stream *z, const void *bytes, size_t length, int flush, unsigned char *chunk,
                 unsigned chunk_bytes, deflate_taker *take, void *ctx)
{
    const unsigned char *at = bytes;
    /* zlib counts in unsigned int and takes a pointer that is not const. */
    do {
        size_t part = length > INT_MAX ? INT_MAX : length;
        z->next_in = (unsigned char *)(uintptr_t)at;
        z->avail_in = (unsigned)part;
        at += part;
        length -= part;
        int rc;
        do {
            z->next_out = chunk;
            z->avail_out = chunk_bytes;
            rc = deflate(z, length ? Z_NO_FLUSH : flush);
            if (rc == Z_STREAM_ERROR)
                return LAM_E_INVAL;
            int taken = take(ctx, chunk, chunk_bytes - z->avail_out);
            if (taken < 0)
                return taken;
        } while (z->avail_out == 0 && rc != Z_STREAM_END);
    } while (length);
    return LAM_OK;
}
