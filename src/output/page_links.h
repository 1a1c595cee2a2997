/* Members of a page's header that are about others: where findings show in the charts, and what columns mean. */
#ifndef LAMELLA_OUTPUT_PAGE_LINKS_H
#define LAMELLA_OUTPUT_PAGE_LINKS_H

#include "analysis/report.h"
#include "output/page_columns.h"

/* Member `links`: a list for each of the report's findings, in their order. */
void page_put_links(const struct report *report, struct json_writer *json);

/* Member `meanings`, of the tables and columns there are. */
void page_put_meanings(const struct page_columns *data, struct json_writer *json);

#endif
