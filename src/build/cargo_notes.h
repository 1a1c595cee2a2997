/* cargo.json of a recording: what the launcher saw of a cargo build from outside, before and after it. */
#ifndef LAMELLA_BUILD_CARGO_NOTES_H
#define LAMELLA_BUILD_CARGO_NOTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "build/cargo_record.h"

#define CARGO_NOTES_NAME "cargo.json"

struct cargo_cause { /* a unit that was built, from cargo's fingerprints */
    const char *place, *package, *hash, *unit; /* see struct fingerprint */
    enum cargo_status status;
    const char *reason, *dependency; /* NULL */
};

struct cargo_notes { /* texts in the arena, or borrowed when it is to be written; NULL: not known */
    struct arena arena;
    const char *target_dir, *workspace_root;
    const char *timings; /* the page that was copied: its path */
    const char *log;     /* the session log that was copied */
    LAM_ARRAY(struct cargo_cause) causes;
    uint64_t known_before; /* fingerprints in the target directory before the build; UINT64_MAX: not looked */
};

int cargo_notes_write(const struct cargo_notes *notes, struct strbuf *text, struct lam_error *err);

/* *notes is initialised here, and empty after a failure. */
int cargo_notes_parse(struct cargo_notes *notes, const char *text, size_t size, const char *name,
                      struct lam_error *err);
int cargo_notes_load(struct cargo_notes *notes, const char *path, struct lam_error *err);
void cargo_notes_free(struct cargo_notes *notes);

#endif
