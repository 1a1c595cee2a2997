/* When threads were in phases, in the report. */
#ifndef LAMELLA_OUTPUT_WRITE_SPANS_H
#define LAMELLA_OUTPUT_WRITE_SPANS_H

#include "base/json_write.h"
#include "base/table.h"
#include "output/report_rows.h"

/* A table of the longest spans of the chosen units. term NULL: Markdown. LAM_E_NOMEM. */
int write_spans(const struct report *report, const struct report_view *view,
                const struct term *term, struct strbuf *out);

/* The member "phase_spans": all of them, by thread and start. */
void write_spans_json(struct json_writer *json, const struct report *report,
                      const struct report_view *view);

#endif
