/* Bytes through gzip on several threads. What comes out is one member with one stream, which any reader takes: many viewers read
 * the first member alone. The bytes are cut into blocks, each compressed by itself with the end of the one before as its dictionary,
 * up to a byte's end. */
#ifndef LAMELLA_BASE_GZIP_BLOCKS_H
#define LAMELLA_BASE_GZIP_BLOCKS_H

#include <stddef.h>

#include "base/error.h"

struct gzip_blocks;

/* Takes a piece, in order and on the caller's thread. LAM_OK or a negative code. */
typedef int gzip_taker(void *ctx, const unsigned char *bytes, size_t length);

/* threads: how many compress, the caller among them, at most 16; they start with the second block. The output is the same with any
 * number. Memory: up to 1.4 MB a thread. LAM_OK or LAM_E_NOMEM. */
int gzip_blocks_open(struct gzip_blocks **blocks, unsigned threads, gzip_taker *take, void *ctx);

/* LAM_OK, LAM_E_NOMEM or the taker's code. */
int gzip_blocks_write(struct gzip_blocks *blocks, const void *bytes, size_t length);

/* The rest; nothing may be written afterwards. */
int gzip_blocks_finish(struct gzip_blocks *blocks);

void gzip_blocks_close(struct gzip_blocks **blocks); /* NULL and *blocks NULL are fine; finishes nothing */

#endif
