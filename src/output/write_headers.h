/* What headers cost, in the report: from clang's own traces. */
#ifndef LAMELLA_OUTPUT_WRITE_HEADERS_H
#define LAMELLA_OUTPUT_WRITE_HEADERS_H

#include "base/json_write.h"
#include "base/table.h"
#include "output/report_rows.h"

/* The dearest headers; nothing when there are no traces, or parts of the report were asked for. LAM_E_NOMEM. */
int write_headers_text(const struct report *report, const struct report_view *view,
                       const struct term *term, struct strbuf *out);

/* The member "headers"; nothing when there are no traces. */
void write_headers_json(struct json_writer *json, const struct report *report);

#endif
