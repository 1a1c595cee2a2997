/* session.json again, as a later command needs it: to list, recover or remove a recording. Outside data. */
#ifndef LAMELLA_SESSION_SESSION_STUB_H
#define LAMELLA_SESSION_SESSION_STUB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Resolves the addresses that were hit and writes the symbol sidecar into a recording whose streams are all there. It reads
 * streams and programs, which is above this directory: whoever calls in passes it along. ctx is NULL when a recording is
 * recovered. */
typedef int (*session_symbols_fn)(void *ctx, const char *recording, struct lam_error *err);

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

/* Codes: those of reading; CORRUPT when it is not the session.json of a recording. *stub is empty after a failure. */
int session_stub_read(const char *dir, struct session_stub *stub, struct lam_error *err);
void session_stub_free(struct session_stub *stub); /* an all-zero one is fine; all-zero afterwards */

/* Copies from/session.json to to/session.json as it is, unless there is one of the same session. EXISTS: there is another. */
int session_json_adopt(const char *from, const char *to, struct lam_error *err);

/* Copies from/session.json to to/session.json with the key "scratch" left out and, if recovered is set, "recovered": true. */
int session_json_settle(const char *from, const char *to, bool recovered, struct lam_error *err);

#endif
