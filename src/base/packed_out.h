/* Bytes to a descriptor, as they are or compressed on the way: a byteout_fn with a state of its own. */
#ifndef LAMELLA_BASE_PACKED_OUT_H
#define LAMELLA_BASE_PACKED_OUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

/* What the end of a name asks for: ".gz", ".zst", else none. */
enum packing packing_of(const char *name);

struct packed_out;

/* fd stays the caller's and outlives it. The same bytes in give the same bytes out: no time, no name is stored. Both
 * compress on threads of their own, as many as pool_default_threads() says, up to 16 (gzip) and 4 (zstd). Memory: up to 1.4 MB (gzip),
 * some 5 MB (zstd) for each. LAM_OK or LAM_E_NOMEM. */
int packed_out_open(struct packed_out **packed, int fd, enum packing packing, struct lam_error *err);

/* Says that fd is a new file which nobody else writes: blocks may be reserved, and bytes wait until they are a quarter of a megabyte. */
void packed_out_owns_file(struct packed_out *packed);

/* For byteout_init(out, packed_out_write, packed). */
int packed_out_write(void *packed, const void *bytes, size_t length);

/* Describes why packed_out_write() failed with rc; returns the code. */
int packed_out_failure(const struct packed_out *packed, int rc, const char *name,
                       struct lam_error *err);
bool packed_out_pipe_closed(const struct packed_out *packed); /* its reader had enough */

/* Writes what is still inside and the end of the compressed stream; nothing may be written afterwards. */
int packed_out_finish(struct packed_out *packed, const char *name, struct lam_error *err);

void packed_out_close(struct packed_out **packed); /* NULL and *packed NULL are fine; finishes nothing */

#endif
