/* The report on a terminal, as JSON and as Markdown. */
#ifndef LAMELLA_OUTPUT_WRITE_REPORT_H
#define LAMELLA_OUTPUT_WRITE_REPORT_H

#include "base/byteout.h"
#include "base/table.h"
#include "output/report_rows.h"

/* For people: short, at most as wide as the terminal. LAM_E_NOTFOUND when view->unit matches nothing; LAM_E_NOMEM. */
int write_report_text(const struct report *report, const struct report_view *view,
                      const struct term *term, struct strbuf *out, struct lam_error *err);

/* The same for a merge request or a wiki. */
int write_report_markdown(const struct report *report, const struct report_view *view,
                          struct strbuf *out, struct lam_error *err);

/* docs/report-json.md: a stable interface. view->top, percent_above and unit choose units; totals are those of the selection
 * of units. */
int write_report_json(const struct report *report, const struct report_view *view,
                      struct byteout *out, struct lam_error *err);

/* Pieces that text and Markdown share. */
int report_command_text(const struct report *report,
                        struct strbuf *text); /* the command line, printable */
void report_rate_text(const struct report *report,
                      struct strbuf *text); /* "999 Hz, sigtrap, with kernel" */
void report_memory_text(const struct report *report,
                        struct strbuf *text); /* the peak of all: "50 MB private, 296 MB resident" */

#endif
