/* Bytes through zlib's deflate(), however many there are, to whoever takes what comes out. */
#ifndef LAMELLA_BASE_DEFLATE_LOOP_H
#define LAMELLA_BASE_DEFLATE_LOOP_H

#include <stddef.h>
#include <zlib.h>

/* Takes a piece; a negative code ends the loop. */
typedef int deflate_taker(void *ctx, const unsigned char *bytes, size_t length);

/* `flush` (Z_NO_FLUSH, Z_FINISH, …) counts for the last byte. The chunk is space for one piece. LAM_OK, LAM_E_INVAL for a
 * stream in disorder, or the taker's code. */
int deflate_loop(z_stream *z, const void *bytes, size_t length, int flush, unsigned char *chunk,
                 unsigned chunk_bytes, deflate_taker *take, void *ctx);

#endif
