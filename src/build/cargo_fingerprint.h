/* Cargo's notes of what it built, and with what: `.fingerprint` in a target directory. Read before a build and after it, they
 * say on any cargo which units were built, and why. */
#ifndef LAMELLA_BUILD_CARGO_FINGERPRINT_H
#define LAMELLA_BUILD_CARGO_FINGERPRINT_H

#include "base/arena.h"
#include "base/array.h"
#include "base/cursor.h"
#include "base/error.h"
#include "build/cargo_record.h"

struct fingerprint { /* one unit; texts in the arena */
    const char *place; /* directory below the target directory: "debug", "x86_64-unknown-linux-gnu/release" */
    const char *package; /* name */
    const char *hash;    /* 16 digits: those of the unit's file names */
    const char *unit; /* "lib-serde", "build-script-build-script-build", "run-build-script-…"; "" when it never was built whole */
    const char *json; /* what it was built with; "" when it never was built whole */
    size_t json_bytes;
    uint64_t value;        /* its own, by which those that depend on it name it; 0: unfinished */
    int64_t built_ns;      /* since 1970: when it was last begun */
    const uint8_t *inputs; /* the list of its source files, encoded */
    size_t input_bytes;
    int64_t inputs_ns; /* files changed later make it dirty; 0: there is no list */
};

struct fingerprints {
    struct arena arena;
    LAM_ARRAY(struct fingerprint) items; /* by place, package, hash, unit */
    bool is_cut;                         /* there are more than FINGERPRINTS_MAX */
};

enum { FINGERPRINTS_MAX = 20000 };

/* Those below a target directory; none is no failure. LAM_E_NOMEM only. */
int fingerprints_read(struct fingerprints *list, const char *target_dir);
void fingerprints_free(struct fingerprints *list);

/* Why a unit was built. */
struct build_cause {
    const char *place, *package, *hash, *unit; /* as of the fingerprint, whose list must outlive it */
    enum cargo_status status;                  /* NEW or DIRTY */
    const char *reason;     /* for people, "src/lib.rs changed"; NULL: not known */
    const char *dependency; /* package of the dependency that was rebuilt and took it along; NULL */
};

struct package_dir { /* where a package's files are */
    const char *package, *dir;
};
struct package_dirs LAM_ARRAY_BODY(struct package_dir);

struct build_causes {
    struct arena arena;
    LAM_ARRAY(struct build_cause) items;
};

/* What was built between two readings. dirs: of the packages that lie in paths; others' files do not change. */
int build_causes_find(struct build_causes *causes, const struct fingerprints *before,
                      const struct fingerprints *after, const struct package_dirs *dirs);
void build_causes_free(struct build_causes *causes);

/* The source files of a unit, one after another. False at the end, or where the list breaks its form. */
struct fingerprint_input {
    const char *path; /* not NUL-ended */
    size_t length;
    bool is_of_package; /* relative to the package's directory; else to the target directory */
};
struct fingerprint_inputs {
    struct cursor cur;
    uint32_t left;
    bool is_new;
};
struct fingerprint_inputs fingerprint_inputs(const struct fingerprint *item);
bool fingerprint_next_input(struct fingerprint_inputs *inputs, struct fingerprint_input *input);

#endif
