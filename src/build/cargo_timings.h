/* The page that `cargo build --timings` writes: the data inside its script, and the table above it. */
#ifndef LAMELLA_BUILD_CARGO_TIMINGS_H
#define LAMELLA_BUILD_CARGO_TIMINGS_H

#include "build/cargo_record.h"

#define CARGO_TIMINGS_NAME "cargo-timings.html" /* in a recording */

/* Reads a page's text. A page without its list of units is LAM_E_CORRUPT, described; one whose lists break off gives what came
 * before, with is_cut and damage set. Nothing in it is trusted. *record is initialised here, and empty after a failure. */
int cargo_timings_parse(struct cargo_record *record, const char *text, size_t size,
                        const char *name, struct lam_error *err);
int cargo_timings_load(struct cargo_record *record, const char *path, struct lam_error *err);

#endif
