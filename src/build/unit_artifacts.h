/* The files that a unit wrote, by what its command line says: looked at when it has ended, and stored beside the recording. */
#ifndef LAMELLA_BUILD_UNIT_ARTIFACTS_H
#define LAMELLA_BUILD_UNIT_ARTIFACTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "build/unit.h"

#define ARTIFACTS_NAME "artifacts.json" /* in a recording */

struct unit_artifact { /* texts in an arena */
    const char *file;  /* its name, without the directory */
    const char *kind; /* "rmeta", "rlib", "obj", "exe", "shared", "archive", "dwo", "asm", "file" */
    uint64_t bytes;
};

struct unit_artifacts {
    const struct unit_artifact *items;
    size_t count;
};

/* Files of a unit that are there now and were written since since_ns (1970); cwd: where relative names begin, NULL: nowhere. LAM_E_NOMEM. */
int unit_artifacts_find(const struct unit *unit, const char *cwd, int64_t since_ns,
                        struct arena *arena, struct unit_artifacts *artifacts);

/* All units' of a recording. */
struct artifact_row {
    uint32_t pid;
    int64_t start_ns; /* of the process: with pid it names the unit */
    struct unit_artifact artifact;
};
struct artifact_list {
    struct arena arena;
    LAM_ARRAY(struct artifact_row) rows;
};
int artifact_list_write(const struct artifact_list *list, struct strbuf *text, struct lam_error *err);
/* *list is initialised here, and empty after a failure. */
int artifact_list_parse(struct artifact_list *list, const char *text, size_t size, const char *name,
                        struct lam_error *err);
void artifact_list_free(struct artifact_list *list);

#endif
