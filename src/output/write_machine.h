/* The machine in the report: what it is, how busy it was over time, and what memory the command's processes held. */
#ifndef LAMELLA_OUTPUT_WRITE_MACHINE_H
#define LAMELLA_OUTPUT_WRITE_MACHINE_H

#include "base/json_write.h"
#include "base/table.h"
#include "output/report_rows.h"

/* The members "machine", "settings", "timeline", "memory_peak", and with by_memory "memory". */
void write_machine_json(struct json_writer *json, const struct report *report,
                        const struct report_view *view);

/* A table of who held memory when most was held. term NULL: Markdown. LAM_E_NOMEM. */
int write_memory(const struct report *report, const struct report_view *view,
                 const struct term *term, struct strbuf *out);

#endif
