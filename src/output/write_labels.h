/* The part of a report that speaks of intervals: called by the report's writers, where there are any. */
#ifndef LAMELLA_OUTPUT_WRITE_LABELS_H
#define LAMELLA_OUTPUT_WRITE_LABELS_H

#include "base/json_write.h"
#include "base/table.h"
#include "base/units.h"
#include "output/report_rows.h"

/* Whether the report has events to speak of. */
bool labels_are_shown(const struct report_view *view);

/* Tables that the view asks for. LAM_OK or LAM_E_NOMEM. */
int write_labels_text(const struct report *report, const struct report_view *view,
                      const struct term *term, struct strbuf *out);
int write_labels_markdown(const struct report *report, const struct report_view *view,
                          struct strbuf *out);

/* Members of the report's object: `intervals` and what goes with it, and always `activities`. */
void write_labels_json(struct json_writer *json, const struct report *report,
                       const struct report_view *view);

/* ---- what the three share ---- */

/* A time, or a count of whatever was measured. */
struct unit_text labels_amount(const struct labels *labels, uint64_t amount);
const char *labels_measure_name(enum profile_measure measure); /* "time", "instructions" */
bool labels_measure_is_time(enum profile_measure measure);

/* What a process is called; NULL for LABELS_ALL. */
const char *labels_unit_title(const struct report *report, uint32_t process);

double labels_share(uint64_t part, uint64_t whole); /* 0 of nothing */
/* Of the time of all threads and, beside them, of what was detached. */
double labels_share_of_all(const struct labels *labels, uint64_t part);

/* Tables of the text and of Markdown are the same but for their look: the first builds, the second prints. */
struct labels_table {
    struct table table;
    const char *heading;
    size_t hidden; /* rows left out */
    const char *hidden_what;
    uint64_t hidden_amount; /* PROFILE_UNKNOWN: not worth saying */
};
struct labels_tables LAM_ARRAY_BODY(struct labels_table);

/* width: columns of the terminal, 0 for no end. LAM_OK or LAM_E_NOMEM. */
int labels_tables_make(const struct report *report, const struct report_view *view, size_t width,
                       struct labels_tables *tables);
void labels_tables_free(struct labels_tables *tables);

/* "1,234 events on 3 threads: 1.2 s of 1.3 s ..." */
void labels_summary_text(const struct report_view *view, struct strbuf *out);

#endif
