/* Which tables of a page are coarser than the report, by how much, and the sentences that say so in the page. */
#ifndef LAMELLA_OUTPUT_PAGE_RULES_H
#define LAMELLA_OUTPUT_PAGE_RULES_H

#include "output/page_columns.h"

/* usual_cpu: see page_usual_cpu(). LAM_OK or LAM_E_NOMEM. */
int page_apply_rules(struct page_columns *data, uint64_t quantum_ns, int64_t usual_cpu);

/* Member `rounding` of the header. */
void page_describe_rules(const struct page_columns *data, uint64_t quantum_ns,
                         struct json_writer *json);

#endif
