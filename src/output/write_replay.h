/* The build replayed, and what it would take with a change, in the report. */
#ifndef LAMELLA_OUTPUT_WRITE_REPLAY_H
#define LAMELLA_OUTPUT_WRITE_REPLAY_H

#include "base/json_write.h"
#include "base/table.h"
#include "output/report_rows.h"

/* How far the replay is from the build, then the answers; NULL term: as Markdown. LAM_E_NOMEM. */
int write_replay_text(const struct replay_answers *answers, const struct term *term,
                      struct strbuf *out);

/* The members "replay" and "what_if". */
void write_replay_json(struct json_writer *json, const struct replay_answers *answers);

#endif
