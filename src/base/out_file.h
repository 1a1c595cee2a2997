/* A file that is written from start to end and is there only once it is whole: a temporary file beside it, then rename. */
#ifndef LAMELLA_BASE_OUT_FILE_H
#define LAMELLA_BASE_OUT_FILE_H

#include <stdbool.h>

#include "base/byteout.h"
#include "base/error.h"
#include "base/packed_out.h"

struct out_file;

/* path "-" is standard output; a pipe, a device, or a descriptor (/dev/stdout, /dev/fd/N) is written to in place. LAM_E_EXISTS when a file is there and may not be replaced (replaces false). */
int out_file_open(struct out_file **file, const char *path, enum packing packing, bool replaces,
                  struct lam_error *err);

/* LAM_E_EXISTS when the file at `path` is one of the inputs, or lies in one of them: replacing it would destroy what is to be
 * read. Fine when there is no such file yet. */
int out_file_spares(const char *path, const char *const *inputs, size_t count, struct lam_error *err);

/* Everything goes nowhere and is only counted. */
int out_file_open_nowhere(struct out_file **file, struct lam_error *err);

/* Where to write; lives as long as the file. */
struct byteout *out_file_bytes(struct out_file *file);

/* The directory of the file, for scratch files beside it; "" for a pipe, a device or standard output. */
const char *out_file_dir(const struct out_file *file);

/* Flushes, ends the compression and puts the file in its place. Nothing may be written afterwards. LAM_E_EXISTS when
 * somebody else made the file in the meantime and it may not be replaced. *is_pipe_closed (may be NULL): the reader of a
 * pipe had enough. */
int out_file_commit(struct out_file *file, bool *is_pipe_closed, struct lam_error *err);

void out_file_close(struct out_file **file); /* without a commit nothing is left; NULL and *file NULL are fine */

#endif
