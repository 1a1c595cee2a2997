/* The session log of cargo's `-Z build-analysis`: one JSON object a line, of one build or of several one after another. */
#ifndef LAMELLA_BUILD_CARGO_LOG_H
#define LAMELLA_BUILD_CARGO_LOG_H

#include "build/cargo_record.h"

#define CARGO_LOG_NAME "cargo-log.jsonl" /* in a recording */

struct cargo_runs LAM_ARRAY_BODY(struct cargo_record);

/* The builds in the log, each its own record, in order. A line that cannot be read is left out, and damage of the build it stands
 * in names its number; a last line without an end is such a line, and is_cut is set. Reasons that are not known are skipped. No
 * build at all is LAM_E_CORRUPT. *runs is initialised here, and empty after a failure. */
int cargo_log_parse(struct cargo_runs *runs, const char *text, size_t size, const char *name,
                    struct lam_error *err);
int cargo_log_load(struct cargo_runs *runs, const char *path, struct lam_error *err);
void cargo_runs_free(struct cargo_runs *runs);

#endif
