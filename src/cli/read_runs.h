/* Inputs as runs of the same work, for diff and aggregate. */
#ifndef LAMELLA_CLI_READ_RUNS_H
#define LAMELLA_CLI_READ_RUNS_H

#include "analysis/run_matrix.h"

/* Reads one input (a recording, a self-profile, a directory of self-profiles as one, a stored report) as a run of the given
 * side. also, which may be NULL, takes its events as well (a stored report has none). After a failure the matrix is as it was
 * before. */
int read_run(struct run_matrix *matrix, const char *input, uint32_t side, struct classifier *cls,
             const struct profile_sink *also, struct lam_error *err);

#endif
