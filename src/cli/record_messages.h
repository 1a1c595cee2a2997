/* The list that cargo writes with --message-format=json, kept with the recording. Nothing stands between cargo and its stdout:
 * the list is read where it went, when the command has ended. */
#ifndef LAMELLA_CLI_RECORD_MESSAGES_H
#define LAMELLA_CLI_RECORD_MESSAGES_H

#include <stdbool.h>
#include <sys/types.h>

#include "session/record.h"

struct record_messages { /* all-zero: there is no list */
    const char *file;    /* --cargo-messages; borrowed; NULL */
    bool in_stdout;      /* our stdout is a file, and cargo's list goes there */
    off_t stdout_start;  /* where it begins */
};

/* Before the command. lists: its stdout is such a list. A pipe or a terminal cannot be read twice, and is left alone. */
void record_messages_begin(struct record_messages *messages, const char *file, bool lists);
int record_messages_attach(const struct record_messages *messages, const char *recording,
                           const struct record_window *window,
                           struct session_attachments *attachments, struct lam_error *err);

#endif
