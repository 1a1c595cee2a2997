/* session.json: what the launcher knows of a recording. docs/session-json.md has its keys. */
#ifndef LAMELLA_SESSION_SESSION_FILE_H
#define LAMELLA_SESSION_SESSION_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/map.h"
#include "session/engine_probe.h"
#include "session/launch.h"
#include "session/machine_info.h"
#include "session/profile_request.h"
#include "session/rate_ladder.h"
#include "session/session_clock.h"
#include "session/tree_poll.h"

#define SESSION_JSON_NAME "session.json"

enum { SESSION_TIMES_MAX = 4096 };

struct session_times LAM_ARRAY_BODY(struct clock_reading);
struct session_warnings LAM_ARRAY_BODY(char *);

/* What stands beside the streams in a recording: a build tool's own record, what was noted of it. */
struct session_attachment {
    const char *kind; /* "cargo_timings" */
    const char *file; /* in the recording */
    char *from;       /* where it was copied from, for mem_free(); NULL: made by the launcher */
};
struct session_attachments LAM_ARRAY_BODY(struct session_attachment);

/* Everything that is written. Pointers are borrowed. */
struct session_facts {
    uint64_t session_id;
    char *const *command;       /* NULL-ended; as it was given */
    const char *added_argument; /* what was started with one more; NULL */
    const struct session_attachments *attachments;
    char *const *environment;
    const char *cwd;
    const char *directory;
    const char *scratch; /* NULL: the streams lie in the recording */
    uint64_t tick_rate_hz;
    struct clock_reading start;
    struct session_times times;
    uint64_t elapsed_ns; /* as exit_code, status and charged_cpu_ns: known with has_end */
    uint64_t charged_cpu_ns;
    uint64_t launcher_cpu_ns;
    uint64_t launcher_start;  /* kernel_start of the launcher: its pid may be used again */
    const char *engine_note;  /* NULL or empty: none */
    unsigned command_why_not; /* enum stream_unsampled */
    const char *command_note; /* why the command itself is not sampled; NULL or empty */
    uint64_t max_bytes;
    const char *const *only;
    size_t only_count;
    const char *const *skip;
    size_t skip_count;
    const struct machine_info *machine;
    const struct profile_request *profiles; /* NULL: no self-profiles are asked for */
    const struct reaped_list *reaped;       /* NULL: none yet */
    const struct tree_poll *poll;           /* NULL: none yet */
    const struct map *recorded;             /* pids that have a stream: their argv is there; NULL */
    const struct dir_entries *files; /* of the recording, when all streams are in it; NULL before */
    struct session_warnings warnings;
    struct rate_ladder ladder;
    int exit_code;
    int status;
    uint32_t launcher_pid;
    uint32_t command_pid;
    uint32_t wanted_engine, engine;
    uint32_t sample_cost_ns;
    uint32_t interruption_ns;
    bool complete;
    bool with_tsc;
    bool has_end;
    bool kernel_mode;
};

/* Writes dir/session.json anew in one step. */
int session_json_write(const char *dir, const struct session_facts *facts, struct lam_error *err);

#endif
