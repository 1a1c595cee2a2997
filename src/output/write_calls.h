/* The parts of a report that say who calls whom: around one function, by pair, by function. */
#ifndef LAMELLA_OUTPUT_WRITE_CALLS_H
#define LAMELLA_OUTPUT_WRITE_CALLS_H

#include "base/json_write.h"
#include "base/table.h"
#include "output/call_names.h"
#include "output/report_rows.h"

/* Modules and functions of samples, where the view asks for them. term NULL: Markdown. LAM_OK or LAM_E_NOMEM. */
int write_functions(const struct report_view *view, const struct term *term, struct strbuf *out);

/* Pairs and what is around a function, as far as the view asks for them. term NULL: Markdown. LAM_E_NOTFOUND, described, when view->around is nobody's name;
 * LAM_E_NOMEM. */
int write_calls(const struct report_view *view, const struct term *term, struct strbuf *out,
                struct lam_error *err);

/* The members "around", "calls" and "functions", as far as the view asks for them. Codes as above. */
int write_calls_json(struct json_writer *json, const struct report_view *view, struct lam_error *err);

/* ---- what the two share ---- */

/* What is called so in one of the calls of the view (of events, of samples). */
struct calls_found {
    const struct calls *calls;
    struct call_names names;
};
struct calls_found_both {
    struct calls_found items[2];
    size_t count;
};

/* LAM_E_NOTFOUND, described with the names that are most like it. */
int calls_found_make(const struct report_view *view, struct calls_found_both *found,
                     struct lam_error *err);
void calls_found_free(struct calls_found_both *found);

/* Functions by self time, the largest first. */
int calls_by_self(const struct calls *calls, struct call_names *names);

#endif
