/* session.json: what the launcher knows of a recording. docs/session-json.md has its keys. */
#ifndef LAMELLA_SESSION_SESSION_JSON_H
#define LAMELLA_SESSION_SESSION_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "session/engine_probe.h"
#include "session/launch.h"
#include "session/machine_info.h"
#include "session/rate_ladder.h"
#include "session/session_clock.h"
#include "session/tree_poll.h"

#define SESSION_JSON_NAME "session.json"

enum { SESSION_TIMES_MAX = 4096 };

/* Resolves the addresses that were hit and writes the symbol sidecar into a recording whose streams are all there. It reads
 * streams and programs, which is above this directory: whoever calls in passes it along. ctx is NULL when a recording is
 * recovered. */
typedef int (*session_symbols_fn)(void *ctx, const char *recording, struct lam_error *err);

struct session_times LAM_ARRAY_BODY(struct clock_reading);
struct session_warnings LAM_ARRAY_BODY(char *);

/* Everything that is written. Pointers are borrowed. */
struct session_facts {
    uint64_t session_id;
    bool complete;
    char *const *command; /* NULL-ended */
    char *const *environment;
    const char *cwd;
    const char *directory;
    const char *scratch; /* NULL: the streams lie in the recording */
    bool with_tsc;
    uint64_t tick_rate_hz;
    struct clock_reading start;
    struct session_times times;
    bool has_end; /* the next four are known */
    uint64_t elapsed_ns;
    int exit_code;
    int status;
    uint64_t charged_cpu_ns;
    uint32_t launcher_pid;
    uint64_t launcher_start; /* kernel_start of the launcher: its pid may be used again */
    uint32_t command_pid;
    uint32_t wanted_engine, engine;
    const char *engine_note;  /* NULL: none */
    const char *command_note; /* why the command itself is not sampled; NULL */
    bool kernel_mode;
    struct rate_ladder ladder;
    uint32_t sample_cost_ns;
    uint32_t interruption_ns;
    uint64_t max_bytes;
    const char *const *only;
    size_t only_count;
    const char *const *skip;
    size_t skip_count;
    const struct machine_info *machine;
    const struct reaped_list *reaped;
    const struct tree_poll *poll; /* NULL: none yet */
    const struct map *recorded;   /* pids that have a stream: their argv is there; NULL */
    struct session_warnings warnings;
    uint64_t launcher_cpu_ns;
};

/* Writes dir/session.json anew in one step. */
int session_json_write(const char *dir, const struct session_facts *facts, struct lam_error *err);

/* What a later command needs to know of a recording to list, recover or remove it. */
struct session_stub {
    bool complete;
    bool recovered;
    char *format;
    char *session_id;
    char *directory; /* NULL: not said */
    char *scratch;   /* NULL: none */
    char *command;   /* one line, quoted for a shell */
    int64_t started_at_unix_ns;
    uint64_t elapsed_ns; /* 0: not known */
    uint32_t launcher_pid;
    uint64_t launcher_start;
};
/* Codes: those of reading; CORRUPT when it is not the session.json of a recording. */
int session_stub_read(const char *dir, struct session_stub *stub, struct lam_error *err);
void session_stub_free(struct session_stub *stub);

/* Copies from/session.json to to/session.json as it is, unless there is one of the same session. EXISTS: there is another. */
int session_json_adopt(const char *from, const char *to, struct lam_error *err);

/* Copies from/session.json to to/session.json with the key "scratch" left out and, if recovered is set, "recovered": true. */
int session_json_settle(const char *from, const char *to, bool recovered, struct lam_error *err);

#endif
