/* What waited for what, in the report: the critical path, and the edges of the graph. */
#ifndef LAMELLA_OUTPUT_WRITE_GRAPH_H
#define LAMELLA_OUTPUT_WRITE_GRAPH_H

#include "base/json_write.h"
#include "base/table.h"
#include "output/report_rows.h"

/* The longest chain of units; NULL term: as Markdown. Nothing when no unit waited for another. LAM_E_NOMEM. */
int write_graph_text(const struct report *report, const struct report_view *view,
                     const struct term *term, struct strbuf *out);

/* Members of a unit's object. */
void write_graph_unit_json(struct json_writer *json, const struct report *report, uint32_t unit);

/* The members "critical_path" and "unit_deps". */
void write_graph_json(struct json_writer *json, const struct report *report,
                      const struct report_view *view);

#endif
