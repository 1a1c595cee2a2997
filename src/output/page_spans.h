/* The spans of a report as columns of a page: times in whole quanta, so that neighbours still meet and sums still hold. */
#ifndef LAMELLA_OUTPUT_PAGE_SPANS_H
#define LAMELLA_OUTPUT_PAGE_SPANS_H

#include "analysis/report.h"
#include "output/page_columns.h"

enum { PAGE_PAUSE_QUANTA = 5 }; /* a pause between spans is a number of these steps */

/* What times are rounded to: a tenth of the sampling period or a little less, so that a second holds a whole number of them. */
uint64_t page_quantum_ns(const struct report *report);

/* CPU time that a sample mostly stands for, in quanta. */
int64_t page_usual_cpu(const struct report *report, uint64_t quantum_ns);

/* Table `spans`, and the column `spans` of `threads`. */
int page_spans(struct page_columns *data, const struct report *report, uint64_t quantum_ns);

#endif
