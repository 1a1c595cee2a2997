/* Whether what lies outside a recording is of processes that are in it: by pid and time, and by what else both know of them. */
#ifndef LAMELLA_INPUT_RECORDING_BELONGS_H
#define LAMELLA_INPUT_RECORDING_BELONGS_H

#include "input/profdata_metadata.h"
#include "input/recording.h"

/* What only the recording itself can answer for: samples, or CPU time that the kernel charged. */
bool recording_has_account(const struct recording *rec);

/* Whether every stream of `events` is of a process of `rec`. Both linked. */
bool recording_holds_all_of(const struct recording *rec, const struct recording *events);

/* Who wrote a self-profile. */
struct profile_writer {
    struct profdata_metadata meta;
};

/* False when the file does not say it. */
bool profile_writer_of(const char *path, struct profile_writer *writer);
void profile_writer_free(struct profile_writer *writer); /* all-zero is fine */

bool recording_holds_writer(const struct recording *rec, const struct profile_writer *writer);

#endif
