/* A recording (a directory, or one stream file) into a sink: every process that is known to have run, sampled or not, with
 * its threads, samples and waits. */
#ifndef LAMELLA_INPUT_READ_RECORDING_H
#define LAMELLA_INPUT_READ_RECORDING_H

#include <stdbool.h>

#include "base/error.h"
#include "profile/sink.h"

/* Pushes the whole recording. Processes come in the order of their start. Damage is counted and told in the ends, never an
 * error, unless nothing can be read at all.
 * Codes: NOTFOUND (no such path, or nothing of a recording in it), CORRUPT, TRUNCATED, UNSUPPORTED with the place, PERM, IO,
 * NOMEM, or what the sink returned. */
int read_recording(const char *path, const struct profile_sink *sink, struct lam_error *err);

/* The same, with what lies elsewhere and is of its processes: it is read as if it lay in the recording. */
struct recording_more; /* input/recording.h */
int read_recording_with(const char *path, const struct recording_more *more,
                        const struct profile_sink *sink, struct lam_error *err);

/* Whether a path looks like something that read_recording() reads: a directory with a session.json or a stream in it, or a
 * file that begins as a stream does. */
bool read_recording_probe(const char *path);

#endif
