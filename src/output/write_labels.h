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
struct unit_text labels_measured(enum profile_measure measure, uint64_t amount);
/* NAME_s where time was measured, else NAME_units; the other one is null, and both where it is not known. */
void labels_amount_json(struct json_writer *json, const char *name, int64_t amount, bool is_time,
                        bool is_known);
const char *labels_measure_name(enum profile_measure measure); /* "time", "instructions" */
bool labels_measure_is_time(enum profile_measure measure);

/* What a process is called; NULL for LABELS_ALL. */
const char *labels_unit_title(const struct report *report, uint32_t process);

double labels_share(uint64_t part, uint64_t whole); /* 0 of nothing */
/* Of labels->whole_ns. */
double labels_share_of_all(const struct labels *labels, uint64_t part);

/* Tables of the text and of Markdown are the same but for their look: the first builds, the second prints. */
struct labels_table {
    struct table table;
    const char *heading;
    const char *heading_text; /* of outside origin, behind it; NULL */
    size_t hidden;            /* rows left out */
    const char *hidden_what;  /* one of them, without its plural */
    uint64_t hidden_amount;   /* PROFILE_UNKNOWN: not worth saying */
    const char *notes[2];     /* what a reader must know of it; NULL */
};
struct labels_tables LAM_ARRAY_BODY(struct labels_table);

/* width: columns of the terminal, 0 for no end: then nothing is shortened. LAM_OK or LAM_E_NOMEM. */
int labels_tables_make(const struct report *report, const struct report_view *view, size_t width,
                       bool is_markdown, struct labels_tables *tables);
void labels_tables_free(struct labels_tables *tables);

/* "1,234 intervals and 5 instants on 3 threads, self time 1.2 s, ..." */
void labels_summary_text(const struct report_view *view, struct strbuf *out);

#endif
