/* The JSON report as tables of a page: whatever is a list of objects there becomes a table here, without a list of keys that
 * would have to be kept. */
#ifndef LAMELLA_OUTPUT_PAGE_REPORT_H
#define LAMELLA_OUTPUT_PAGE_REPORT_H

#include "output/page_columns.h"

/* Reads the report's text. Lists become tables; each other member, and `findings`, is handed on as its JSON text, to stand in
 * the header. */
typedef void (*page_member_fn)(void *ctx, const char *key, const char *json, size_t length);

int page_report_tables(struct page_columns *data, const char *report, size_t length,
                       page_member_fn member, void *ctx, struct lam_error *err);

#endif
