/* What cargo lists of a build on its stdout when it is asked to (`--message-format=json`): one JSON object a line for each unit
 * that was built or is fresh, among its messages to people and what programs print. */
#ifndef LAMELLA_BUILD_CARGO_MESSAGES_H
#define LAMELLA_BUILD_CARGO_MESSAGES_H

#include "base/strbuf.h"
#include "build/cargo_record.h"

#define CARGO_MESSAGES_NAME "cargo-messages.jsonl" /* in a recording */

/* The units of the list, without times. Lines that are not cargo's are passed over; of cargo's that cannot be read the first
 * is named in record->damage, and a last one without an end sets is_cut. A list without any of cargo's lines is
 * LAM_E_CORRUPT. *record is initialised here, and empty after a failure. */
int cargo_messages_parse(struct cargo_record *record, const char *text, size_t size,
                         const char *name, struct lam_error *err);
int cargo_messages_load(struct cargo_record *record, const char *path, struct lam_error *err);

/* Appends to *kept the lines that tell of units: not what compilers said, nor what build scripts set in the environment.
 * LAM_E_NOTFOUND when there are none; LAM_E_NOMEM. */
int cargo_messages_keep(const char *text, size_t size, struct strbuf *kept);

/* What the list knows goes into a record of the same build that has times: which units were fresh, their hashes and settings. */
int cargo_record_take_messages(struct cargo_record *record, const struct cargo_record *messages);

#endif
