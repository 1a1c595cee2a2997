/* What of an input could not be read: how many faults, and the first of them in words. */
#ifndef LAMELLA_PROFILE_FAULTS_H
#define LAMELLA_PROFILE_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

enum {
    PROFILE_FAULTS_KEPT = 8,
    PROFILE_FAULTS_OF_ONE = 3 /* of many files */,
    PROFILE_FAULT_BYTES = 256
};

/* All-zero is none. */
struct profile_faults {
    uint64_t count;
    uint32_t kept;
    char texts[PROFILE_FAULTS_KEPT][PROFILE_FAULT_BYTES]; /* which file, where, what; NUL-ended */
};

/* Counts one; described where there is room. */
void profile_faults_add(struct profile_faults *faults, const char *text);

/* Counts those of one more file, of which at most `most` are described: one bad file must not hide the others. */
void profile_faults_join(struct profile_faults *sum, const struct profile_faults *file,
                         uint32_t most);

/* The first faults with `between` after each but the last, then "and 3 more" where there are more. */
void profile_faults_text(const struct profile_faults *faults, const char *between,
                         struct strbuf *out);

/* How many files that means: "1 of 3 files", "the file", "none of the 3 files could be read whole". what: "file". */
void profile_damage_text(uint64_t damaged, uint64_t files, const char *what, struct strbuf *out);

#endif
