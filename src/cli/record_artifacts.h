/* Sizes of the files that the units of a recording wrote: looked at while it is read for its symbols, at the command's end. */
#ifndef LAMELLA_CLI_RECORD_ARTIFACTS_H
#define LAMELLA_CLI_RECORD_ARTIFACTS_H

#include "build/header_costs.h"
#include "build/unit_artifacts.h"
#include "profile/sink.h"
#include "session/record.h"

struct record_artifacts { /* all-zero is empty */
    struct artifact_list files;
    char *ninja_dir; /* where a ninja ran, the first; NULL: none did */
    int64_t ninja_since_ns;
    struct header_costs headers; /* from traces of clang's, where -ftime-trace was asked for */
};

/* A process of a recording: when it is a unit, its files go to the lists. LAM_E_NOMEM. */
int record_artifacts_add(struct record_artifacts *artifacts, const struct profile_process *process,
                         int64_t started_at_unix_ns);

/* artifacts.json, headers.json, ninja.log; nothing when there are none. */
int record_artifacts_attach(struct record_artifacts *artifacts, const char *recording,
                            struct session_attachments *attachments, struct lam_error *err);
void record_artifacts_free(struct record_artifacts *artifacts);

#endif
