/* Recordings whose launcher did not live to finish them: telling, listing, finishing. */
#ifndef LAMELLA_SESSION_RECOVER_H
#define LAMELLA_SESSION_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "session/session_stub.h"

enum session_state {
    SESSION_FINISHED,
    SESSION_RECORDING, /* its launcher runs */
    SESSION_ORPHANED,  /* its launcher has died; streams wait in the scratch place */
    SESSION_GONE,      /* ... and the scratch place is not there any more */
};
enum session_state session_state_of(const char *dir, const struct session_stub *stub);
const char *session_state_name(enum session_state state);

#define SESSION_RECOVERED 1

/* Finishes an orphaned recording: packs its streams into it, writes its symbols (symbols may be NULL), removes the scratch
 * place. To be called by
 * every command before it opens a recording; nothing happens to a directory that is finished, or that is none.
 * LAM_OK: there was nothing to do. SESSION_RECOVERED: done now. BUSY: it is being recorded, or (not with force) processes of
 * it still run. NOTFOUND: the scratch place is gone and the recording holds no stream. FULL, PERM, IO: could not be written. */
int session_recover(const char *dir, bool force, session_symbols_fn symbols, struct lam_error *err);

/* The same, beginning at a scratch directory: makes the recording it belongs to anew when that is gone. *directory is that
 * recording, for mem_free(). */
int session_recover_scratch(const char *scratch, bool force, session_symbols_fn symbols,
                            char **directory, struct lam_error *err);

/* A scratch directory whose launcher has died. */
struct orphan {
    char *path;
    char *recording; /* where it belongs; NULL: not said */
    char *command;
    uint64_t bytes;
    int64_t started_at_unix_ns;
};
struct orphan_list LAM_ARRAY_BODY(struct orphan);

/* Finds them in all places where scratch directories are made. LAM_OK or LAM_E_NOMEM. */
int orphans_find(struct orphan_list *orphans);
void orphans_free(struct orphan_list *orphans);

/* Whether a launcher still runs. */
bool session_launcher_runs(const struct session_stub *stub);

#endif
