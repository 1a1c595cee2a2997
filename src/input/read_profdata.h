/* Self-profiles (.mm_profdata, docs/profdata.md) into a sink: one process a file. */
#ifndef LAMELLA_INPUT_READ_PROFDATA_H
#define LAMELLA_INPUT_READ_PROFDATA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "profile/sink.h"

/* Pushes files and directories of files (those that begin as a self-profile does, or are named *.mm_profdata) in the order
 * of their starts. See input_read() for what is pushed and for the codes. */
int read_profdata(const char *const *paths, size_t count, const struct profile_sink *sink,
                  struct lam_error *err);

bool profdata_is_magic(const void *bytes, size_t size);
bool read_profdata_probe(const char *path); /* whether a regular file begins with it */

#endif
