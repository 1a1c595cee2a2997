/* Bytes as base64 of a zlib stream, on their way to an output: what a script element of a page holds. And how large
 * bytes would become, for those who choose between ways to write the same. */
#ifndef LAMELLA_BASE_DEFLATE64_H
#define LAMELLA_BASE_DEFLATE64_H

#include <stddef.h>

#include "base/byteout.h"
#include "base/error.h"

struct deflate64;

/* Writes through out, which stays the caller's and outlives it. The same bytes in give the same bytes out. Memory: 0.4 MB. */
int deflate64_open(struct deflate64 **stream, struct byteout *out, struct lam_error *err);

/* A failure of the output is remembered there (byteout_failed()). LAM_OK or LAM_E_NOMEM. */
int deflate64_write(struct deflate64 *stream, const void *bytes, size_t length);

int deflate64_finish(struct deflate64 *stream);
void deflate64_close(struct deflate64 **stream); /* NULL and *stream NULL are fine; finishes nothing */

/* Bytes that `length` bytes take deflated; SIZE_MAX when memory is short. */
size_t deflated_size(const void *bytes, size_t length);

#endif
