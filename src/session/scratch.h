/* The scratch place: where the stream files lie while the command runs. Memory-backed storage where there is room (a page
 * fault on a disk's file system costs each process milliseconds), else a directory inside the recording. */
#ifndef LAMELLA_SESSION_SCRATCH_H
#define LAMELLA_SESSION_SCRATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"

#define SCRATCH_PREFIX     "lamella-rec." /* of a directory name, in memory-backed storage */
#define SCRATCH_INSIDE     ".scratch"     /* name inside a recording */
#define SCRATCH_ROOM_BYTES (512ull << 20) /* at least so much free, or it is not used */

struct scratch_place {
    char *path;          /* a directory in which a scratch directory can be made; for mem_free() */
    bool is_memory;      /* tmpfs or ramfs */
    uint64_t free_bytes; /* to us, now */
    bool is_writable;
};
struct scratch_places LAM_ARRAY_BODY(struct scratch_place);

/* The candidates in the order in which they are tried, usable or not. LAM_OK or LAM_E_NOMEM. */
int scratch_candidates(struct scratch_places *places);
void scratch_places_free(struct scratch_places *places);

/* Whether recordings go there. */
bool scratch_is_good(const struct scratch_place *place);

/* Makes a new directory that only we can enter, in the first good place, else as `recording`/.scratch. *path is absolute, for
 * mem_free(). *is_memory says what it is. */
int scratch_create(const char *recording, char **path, bool *is_memory, struct lam_error *err);

/* What is left of the storage that holds path; 0 when that cannot be told. */
uint64_t scratch_free_bytes(const char *path);

/* Removes a scratch directory and what is in it. Refuses a path that scratch_create() cannot have made. */
int scratch_remove(const char *path, struct lam_error *err);

/* Whether a path has the form of a scratch directory: a session.json of unknown origin must not make us remove others. */
bool scratch_has_form(const char *path);

#endif
