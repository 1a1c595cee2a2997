/* Sizes of the files that the units of a recording wrote: looked at while it is read for its symbols, at the command's end. */
#ifndef LAMELLA_CLI_RECORD_ARTIFACTS_H
#define LAMELLA_CLI_RECORD_ARTIFACTS_H

#include "build/unit_artifacts.h"
#include "profile/sink.h"
#include "session/record.h"

/* A process of a recording: when it is a unit, its files go to the list. LAM_E_NOMEM. */
int record_artifacts_add(struct artifact_list *list, const struct profile_process *process,
                         int64_t started_at_unix_ns);

/* artifacts.json; nothing when there are none. */
int record_artifacts_attach(const struct artifact_list *list, const char *recording,
                            struct session_attachments *attachments, struct lam_error *err);

#endif
