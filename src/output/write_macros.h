/* Procedural macros in the report. */
#ifndef LAMELLA_OUTPUT_WRITE_MACROS_H
#define LAMELLA_OUTPUT_WRITE_MACROS_H

#include "base/json_write.h"
#include "base/table.h"
#include "output/report_rows.h"

/* A table of macro crates, the dearest first, of the chosen units; nothing when there are none,
 * or when nobody asked and they took less than a thousandth. LAM_E_NOMEM. */
int write_macros_text(const struct report *report, const struct report_view *view,
                      const struct term *term, struct strbuf *out);

/* The member "macros". */
int write_macros_json(struct json_writer *json, const struct report *report,
                      const struct report_view *view);

#endif
