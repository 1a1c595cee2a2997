/* What every command does before it opens a recording. */
#ifndef LAMELLA_CLI_RECORDING_READY_H
#define LAMELLA_CLI_RECORDING_READY_H

#include "input/input_groups.h"

/* Finishes a recording whose launcher has died, so that it can be read, and says so on stderr. One that is still being made
 * is left alone, and is read as far as it has come; so is whatever is no recording. */
void recording_make_ready(const char *path);

/* input_groups_find(), with recording_make_ready() done for all inputs; on stderr, which were given twice. */
int recording_groups_find(struct input_groups *groups, const char *const *paths, size_t count,
                          struct lam_error *err);

#endif
