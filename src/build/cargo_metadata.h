/* What `cargo metadata --no-deps` says of a workspace: where it is, where it builds, and which packages are in it. */
#ifndef LAMELLA_BUILD_CARGO_METADATA_H
#define LAMELLA_BUILD_CARGO_METADATA_H

#include <stddef.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "build/cargo_fingerprint.h"

struct cargo_metadata { /* texts in the arena; NULL: not said */
    struct arena arena;
    const char *target_dir;
    const char *build_dir; /* where what is in between goes; NULL: target_dir */
    const char *workspace_root;
    struct package_dirs packages; /* members, and what they depend on by a path */
};

/* *metadata is initialised here, and empty after a failure. */
int cargo_metadata_parse(struct cargo_metadata *metadata, const char *text, size_t size,
                         struct lam_error *err);
void cargo_metadata_free(struct cargo_metadata *metadata);

#endif
