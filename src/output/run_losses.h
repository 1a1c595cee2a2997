/* Which of several runs lost or overwrote events: what they lack looks like a change. */
#ifndef LAMELLA_OUTPUT_RUN_LOSSES_H
#define LAMELLA_OUTPUT_RUN_LOSSES_H

#include "analysis/run_matrix.h"
#include "base/json_write.h"
#include "base/strbuf.h"

/* A sentence for each, with its line end. */
void run_losses_text(const struct run_matrix *matrix, struct strbuf *out);

/* "lossy": their names. */
void run_losses_json(const struct run_matrix *matrix, struct json_writer *json);

#endif
