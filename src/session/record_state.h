/* The inside of `lamella record`, shared by what prepares a recording and what runs and ends it. */
#ifndef LAMELLA_SESSION_RECORD_STATE_H
#define LAMELLA_SESSION_RECORD_STATE_H

#include "session/collect.h"
#include "session/engine_probe.h"
#include "session/launch.h"
#include "session/machine_info.h"
#include "session/record.h"
#include "session/session_file.h"
#include "session/tree_poll.h"
#include "stream/layout.h"

struct recording {
    const struct record_settings *settings;
    struct record_outcome *outcome;
    struct session_facts facts;
    struct machine_info machine;
    struct engine_probe probe;
    struct launch launch;
    struct launch_signals signals;
    bool holds_signals;
    struct tree_poll *poll;
    struct control_page *control;
    int held_event;
    char *agent;    /* where it is */
    char *preload;  /* what the loader is told: the agent, or a link to it */
    char *link_dir; /* of that link; NULL */
    char *directory;
    char *scratch;
    bool is_memory;
    uint64_t free_bytes; /* in the scratch place, at the start */
    uint64_t keep_bytes; /* scratch may hold so much before finished streams are brought over */
    char *cwd;
    char engine_note[256];
    unsigned command_why_not; /* enum stream_unsampled */
    char command_note[256];
    char **environment; /* of the command */
    char *out_variable, *preload_variable;
    uint64_t children_before_ns;
    uint64_t next_times_ns, next_save_ns, next_room_ns, next_rate_ns;
    struct collect_result collected;
    struct session_attachments attachments;
};

/* Everything before the command starts: the directory, the scratch place, the engine, the control page, session.json, the
 * command's environment. Holds back signals (launch_signals_hold) from some point on, which holds_signals says.
 * What was made by the time of a failure is named in rec, for the caller to discard. */
int record_prepare(struct recording *rec, struct lam_error *err);

/* Adds a line to what the user is told at the end. */
void record_warn(struct recording *rec, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
