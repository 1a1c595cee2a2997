/* The spans of a report as columns of a page: times in whole quanta, so that neighbours still meet and sums still hold. */
#ifndef LAMELLA_OUTPUT_PAGE_SPANS_H
#define LAMELLA_OUTPUT_PAGE_SPANS_H

#include "analysis/report.h"
#include "output/page_columns.h"

/* What times are rounded to: the largest of 1, 2, 5, 10, … microseconds that is no more than a tenth of the sampling period. */
uint64_t page_quantum_ns(const struct report *report);

/* CPU time that a sample mostly stands for, in quanta. */
int64_t page_usual_cpu(const struct report *report, uint64_t quantum_ns);

/* Table `spans`, and the column `spans` of `threads`. */
int page_spans(struct page_columns *data, const struct report *report, uint64_t quantum_ns);

#endif
