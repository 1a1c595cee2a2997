/* Who calls whom as tables of a page: `call_functions`, `call_pairs` and `call_tree`, of events and of samples. The figures are those of
 * `lamella report --around`; what a page has no room for is counted. */
#ifndef LAMELLA_OUTPUT_PAGE_CALLS_H
#define LAMELLA_OUTPUT_PAGE_CALLS_H

#include "output/call_names.h"
#include "output/page_call_choice.h"
#include "output/page_columns.h"

enum { PAGE_CALL_SOURCES = 2 };

/* All-zero is empty and valid. */
struct page_calls {
    const struct calls *sources[PAGE_CALL_SOURCES]; /* NULL: there is none */
    struct page_call_choice choices[PAGE_CALL_SOURCES];
};

/* Chooses what is kept of calls that outlive it; either may be NULL. LAM_OK or LAM_E_NOMEM. */
int page_calls_choose(struct page_calls *page, const struct calls *events,
                      const struct calls *samples, const struct page_call_bounds *bounds);

/* The lists as members of the report's JSON, which page_report_tables() reads. */
void page_calls_json(const struct page_calls *page, struct json_writer *json);

/* Member `calls` of the header. */
void page_describe_calls(const struct page_calls *page, struct json_writer *json);
void page_calls_free(struct page_calls *page);

#endif
