/* What the launcher kept of a cargo build, for the report. */
#ifndef LAMELLA_CLI_READ_CARGO_H
#define LAMELLA_CLI_READ_CARGO_H

#include "analysis/report.h"

/* Gives the report what lies in a recording: cargo's session log, its page of timings, the launcher's notes, sizes of what was built. What is not there is no
 * failure, and what cannot be read is said and left out: the rest of the report stands without. After the input's last call. */
int read_cargo(struct report *report, const char *recording, struct lam_error *err);

#endif
