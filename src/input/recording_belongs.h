/* Whether what lies outside a recording is of processes that are in it: by pid and time, and by what else both know of them. */
#ifndef LAMELLA_INPUT_RECORDING_BELONGS_H
#define LAMELLA_INPUT_RECORDING_BELONGS_H

#include "input/profdata_metadata.h"
#include "input/recording.h"

/* What only the recording itself can answer for: samples, or CPU time that the kernel charged. */
bool recording_has_account(const struct recording *rec);

/* Whether every stream of `events` is of a process of `rec`. Both linked. */
bool recording_holds_all_of(const struct recording *rec, const struct recording *events);

/* Whether a process of it wrote the self-profile that says this; false when it does not say who did. */
bool recording_holds_writer(const struct recording *rec, const struct profdata_metadata *meta);

#endif
