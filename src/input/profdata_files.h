/* The self-profiles of a push, one process each. Small ones are made ready several at once, as far as that needs no sink; the sink is told of
 * one after the other, in their order. Large ones are read on all cores each. */
#ifndef LAMELLA_INPUT_PROFDATA_FILES_H
#define LAMELLA_INPUT_PROFDATA_FILES_H

#include "base/pool.h"
#include "input/profdata_container.h"
#include "input/profdata_metadata.h"
#include "profile/sink.h"

struct profdata_source {
    char *path;
    uint64_t bytes;
    struct profdata_metadata meta;
};

struct profdata_files {
    const struct profile_sink *sink;
    const struct profdata_source *sources;
    size_t count;
    struct profdata_file *opened; /* the first of them, opened already: it is taken; NULL */
    uint64_t start_unix_ns;       /* the session's zero */
    struct pool *pool;
    struct profile_session_end *totals; /* what is in them is added */
};

/* From the first process to the end of the last one. LAM_OK, the sink's code, or that of a file that cannot be read any more. */
int profdata_files_push(const struct profdata_files *files, struct lam_error *err);

#endif
