/* What an INPUT of a command is, found in its content and never in its name, and one way to read any of them. */
#ifndef LAMELLA_INPUT_INPUT_KIND_H
#define LAMELLA_INPUT_INPUT_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "profile/sink.h"

enum input_kind {
    INPUT_RECORDING,    /* a recording's directory */
    INPUT_STREAM,       /* one stream file of a recording (.lam) */
    INPUT_PROFDATA,     /* one .mm_profdata file */
    INPUT_PROFDATA_DIR, /* a directory of them */
    INPUT_REPORT_JSON, /* a report that `lamella report --format json` wrote; it has no events to read */
    INPUT_KINDS
};

/* "a recording", "a self-profile (.mm_profdata)": for messages. */
const char *input_kind_text(enum input_kind kind);

/* Looks at the path; "-" is standard input, which is a self-profile or a report. Codes: NOTFOUND, PERM, IO, NOMEM; UNSUPPORTED for what is none of them, with a message that says what
 * was found there instead; TRUNCATED for an empty file. */
int input_kind_of(const char *path, enum input_kind *kind, struct lam_error *err);

/* Reads one or several inputs as one push, with the times of all of them relative to the earliest start.
 *
 * Inputs may be many, recordings, self-profiles and directories of them mixed; what belongs to the processes of a recording is read as
 * part of it (input_groups.h), and an account of CPU time is told of one recording alone. Each other file of self-profiles is a
 * process (pid and command line from its metadata; comm is the crate's name, or the file's). In PROFILE_ORDER_ANY the
 * events of a self-profile come from its end to its beginning, across its threads.
 * What cannot be read is counted and told in the session's end (damaged_streams, unreadable_streams, faults); it is
 * an error only when no event of any input can be read.
 * Codes: those of input_kind_of() and read_recording(); CORRUPT, TRUNCATED, UNSUPPORTED with file and offset; UNSUPPORTED
 * also for inputs that cannot be read as one, and for a report; or what the sink returned. */
int input_read(const char *const *paths, size_t count, const struct profile_sink *sink,
               struct lam_error *err);

#endif
