/* Whether the intervals of a self-profile nest: every one lies within another one of its thread or apart from it. */
#ifndef LAMELLA_INPUT_PROFDATA_OVERLAPS_H
#define LAMELLA_INPUT_PROFDATA_OVERLAPS_H

#include "input/profdata_events.h"

/* Of a file that needs no sorting and has a skeleton, which is found wrong then where it does not fit. With the pool's threads (NULL: alone).
 * LAM_OK or LAM_E_NOMEM. */
int profdata_check_overlaps(const struct profdata_file *file, const struct profdata_threads *threads,
                            const struct profdata_skeleton *skeleton, struct pool *pool,
                            bool *is_nested);

#endif
