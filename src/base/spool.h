/* Many streams of bytes that grow side by side and are read one after the other, in one temporary file without a name:
 * for formats that want their data by column or by thread. Memory does not grow with what is written, but for 16 bytes a
 * block. */
#ifndef LAMELLA_BASE_SPOOL_H
#define LAMELLA_BASE_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct spool;

/* dir is where the file goes once memory does not suffice: "" takes $TMPDIR, else /var/tmp. */
int spool_open(struct spool **spool, const char *dir, struct lam_error *err);

/* Appends to stream 0, 1, …; streams come into being as they are named. A failure is remembered and comes back from
 * spool_status(). */
void spool_add(struct spool *spool, uint32_t stream, const void *bytes, size_t length);
int spool_status(struct spool *spool, struct lam_error *err);

uint64_t spool_bytes(const struct spool *spool, uint32_t stream);

/* A reader of one stream, from its start; one at a time, and nothing may be added meanwhile. */
struct spool_reader {
    struct spool *spool;
    uint32_t stream;
    size_t block;              /* next one to load */
    const unsigned char *next; /* not yet given out */
    size_t left;
};

void spool_read(struct spool *spool, uint32_t stream, struct spool_reader *reader);

/* The next length bytes into to. LAM_OK; LAM_E_TRUNCATED at the end of the stream; or the failure of the file, which
 * spool_status() describes. */
int spool_take(struct spool_reader *reader, void *to, size_t length);
int spool_skip(struct spool_reader *reader, size_t length);

void spool_close(struct spool **spool); /* NULL and *spool NULL are fine */

#endif
