/* `lamella record`: a recording from its beginning to its end. */
#ifndef LAMELLA_SESSION_RECORD_H
#define LAMELLA_SESSION_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "session/profile_request.h"
#include "session/session_file.h"
#include "session/session_stub.h"
#include "session/tree_poll.h"
#include "stream/layout.h" /* enum stream_engine */

/* When the command ran, for who looks for what it left behind. */
struct record_window {
    int64_t start_unix_ns, end_unix_ns;
};

/* Puts files beside the streams of a recording whose command has ended, and names them. A failure is told by *err and does the
 * recording no harm. */
typedef int (*record_attach_fn)(void *ctx, const char *recording, const struct record_window *window,
                                struct session_attachments *attachments, struct lam_error *err);

struct record_settings {
    const char *output; /* NULL: lamella-DATE-TIME.lamella in the current directory */
    uint32_t engine;    /* enum stream_engine; AUTO: the best that works */
    bool kernel_mode;   /* interrupt in kernel mode too, where permitted */
    bool is_quiet;      /* does not say, on a terminal, that finding an engine takes long */
    bool rate_auto;
    uint32_t rate_hz; /* without rate_auto; 0: account only */
    const char *const *only;
    size_t only_count;
    const char *const *skip;
    size_t skip_count;
    uint64_t max_bytes;               /* of a process's stream; 0: no limit */
    struct profile_request *profiles; /* what compilers are asked for; NULL: nothing */
    char *const *command;             /* NULL-ended, at least one */
    char *const *shown_command;       /* what is said of it: as the user gave it; NULL: command */
    const char *added_argument;       /* what command has and shown_command has not; NULL */
    char *const *environment;         /* NULL-ended */
    session_symbols_fn symbols;       /* NULL: no sidecar is written */
    void *symbols_ctx;
    record_attach_fn attach; /* NULL: nothing is attached */
    void *attach_ctx;
    /* Called with each row of the poll, at most ten times a second, while the command runs; NULL: not. */
    void (*progress)(void *ctx, uint64_t elapsed_ns, const struct timeline_row *row);
    /* Called once when the command has ended and the recording is being finished; NULL: not. */
    void (*finishing)(void *ctx);
    void *ctx;
};

struct record_warnings LAM_ARRAY_BODY(char *);

struct record_outcome {
    int exit_code;   /* the command's, 128 + signal, or 125 to 127 when it never ran */
    bool has_run;    /* the command was started */
    char *directory; /* the recording; NULL when none is left */
    char *scratch; /* the streams are still there, because they could not be brought over; NULL normally */
    uint64_t elapsed_ns, charged_cpu_ns;
    size_t daemons; /* processes of the tree that still run */
    uint64_t packed_bytes;
    char engine_note[384]; /* what is sampled with, and why with nothing better; empty: the best */
    struct record_warnings warnings; /* one line each */
};

/* Records a command. LAM_OK: outcome is all there. A failure before the command has started is a code, with outcome->exit_code
 * 125, 126 or 127 and nothing left on the disk; the command has not run then. A failure after it has ended is a code too, with
 * has_run set: the command's exit code is outcome->exit_code all the same.
 * Uses fork, the child-subreaper flag and the signal mask of the calling process: call it with one thread running. */
int record_run(const struct record_settings *settings, struct record_outcome *outcome,
               struct lam_error *err);
void record_outcome_free(struct record_outcome *outcome);

/* Whether this process runs inside a recording that still goes on: then the command is to be started as it is, and is
 * recorded there. *directory is that recording, for mem_free(). */
bool record_is_nested(char **directory);

#endif
