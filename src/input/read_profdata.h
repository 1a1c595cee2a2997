/* Self-profiles (.mm_profdata, docs/profdata.md) into a sink: one process a file. */
#ifndef LAMELLA_INPUT_READ_PROFDATA_H
#define LAMELLA_INPUT_READ_PROFDATA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/array.h"
#include "base/error.h"
#include "profile/sink.h"

/* Pushes files and directories of files (those that begin as a self-profile does, or are named *.mm_profdata) in the order
 * of their starts; a file that is there twice, by whatever names, once (duplicate_streams). "-" is standard input. See input_read() for what is pushed and for the codes. */
int read_profdata(const char *const *paths, size_t count, const struct profile_sink *sink,
                  struct lam_error *err);

/* Files of a directory that are taken for self-profiles, in the order of their names, and pipes, sockets and devices, of which nobody
 * knows what is in them: they count as unreadable. Each and the array are the caller's to free,
 * also after a failure. */
struct profile_files LAM_ARRAY_BODY(char *);
int read_profdata_files(const char *dir, struct profile_files *files, struct lam_error *err);

bool profdata_is_magic(const void *bytes, size_t size);
bool read_profdata_probe(const char *path); /* whether a regular file begins with it */

/* Whether a file in a directory is taken for a self-profile, by content or by its name: a damaged one has no content left to go by. */
bool read_profdata_takes(const char *path);

#endif
