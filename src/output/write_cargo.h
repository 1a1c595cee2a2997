/* What cargo knew of the build, in the report: why it was built, time around the units, units without a process. */
#ifndef LAMELLA_OUTPUT_WRITE_CARGO_H
#define LAMELLA_OUTPUT_WRITE_CARGO_H

#include "base/json_write.h"
#include "base/table.h"
#include "output/report_rows.h"

/* Nothing when no cargo command was recorded, or parts of it were asked for. LAM_E_NOMEM. */
int write_cargo_text(const struct report *report, const struct report_view *view,
                     const struct term *term, struct strbuf *out);

/* The member "cargo"; nothing when cargo's record is not there. */
void write_cargo_json(struct json_writer *json, const struct report *report);

#endif
