/* Inputs as runs of the same work, for diff and aggregate. */
#ifndef LAMELLA_CLI_READ_RUNS_H
#define LAMELLA_CLI_READ_RUNS_H

#include "analysis/run_matrix.h"
#include "input/input_kind.h"

/* What of an input could not be read. */
struct run_damage {
    uint64_t files, damaged; /* that there are; of them not read, or not as a whole */
    struct profile_faults faults;
};

/* "x.mm_profdata: WHAT: at byte 5: …": its first fault, with the input's name once. */
void run_damage_text(const struct run_damage *damage, const char *input, const char *what,
                     struct strbuf *out);

/* That not all of an input of several files could be read, on stderr. */
void run_damage_warn(const struct run_damage *damage, const char *input);

/* Reads one input (a recording, a self-profile, a directory of self-profiles as one, a stored report) as a run of the given
 * side. After a failure the matrix is as it was before. */
int read_run(struct run_matrix *matrix, const char *input, uint32_t side, struct classifier *cls,
             struct run_damage *damage, struct lam_error *err);

#endif
