/* What `lamella record` does around a command of cargo's beside recording it: it asks cargo for its own record of the build,
 * looks at the target directory before and after, and keeps both with the recording. */
#ifndef LAMELLA_CLI_RECORD_CARGO_H
#define LAMELLA_CLI_RECORD_CARGO_H

#include <stdbool.h>

#include "build/cargo_command.h"
#include "build/cargo_fingerprint.h"
#include "build/cargo_metadata.h"
#include "session/record.h"

struct record_cargo { /* all-zero: no command of cargo's */
    struct cargo_command command;
    struct cargo_metadata metadata;
    struct fingerprints before;
    bool has_before;
    bool is_asked;    /* it is a build of cargo's, and there is something to look for at its end */
    char *target_dir; /* where the page goes */
    char *build_dir;  /* where fingerprints are */
    char **argv;      /* what is to be run instead; NULL */
};

/* Before the command is started. Sets what it changes in *settings: command, shown_command. Whatever goes wrong, the
 * command is recorded as it is. adds_argument: --timings may be added. */
void record_cargo_begin(struct record_cargo *cargo, struct record_settings *settings,
                        bool adds_argument);
/* After the command: what it left behind goes into the recording. */
int record_cargo_attach(const struct record_cargo *cargo, const char *recording,
                        const struct record_window *window, struct session_attachments *attachments,
                        struct lam_error *err);
void record_cargo_free(struct record_cargo *cargo);

#endif
