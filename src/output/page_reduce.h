/* What is coarser in a page than in the report, so that it keeps its size: done to columns that hold the report's figures. */
#ifndef LAMELLA_OUTPUT_PAGE_REDUCE_H
#define LAMELLA_OUTPUT_PAGE_REDUCE_H

#include "output/page_columns.h"

/* Takes a column out; nothing when it is not there. */
void page_drop(struct page_table *table, const char *column);

/* Whole quanta, halves away from zero. */
int64_t page_quanta(int64_t ns, uint64_t quantum_ns);

enum page_rounding {
    PAGE_ROUND_EACH,
    PAGE_ROUND_SUMS, /* the running sums are rounded, so that those of neighbours hold */
};

/* Whole nanoseconds (per 1e9) become whole quanta; another column is left alone. */
void page_round(struct page_column *column, uint64_t quantum_ns, enum page_rounding rounding);

/* Whole numbers without a unit become multiples of a power of two, the largest that is no more than 1/parts of the largest
 * of them. */
void page_round_numbers(struct page_column *column, uint64_t parts);

/* Doubles become whole parts, `per` to the unit, when all lie within reach. */
void page_round_real(struct page_column *column, uint64_t per);

/* Sorts the rows by these columns (names, ended by NULL), by their numbers; equal rows keep their order. LAM_E_NOMEM. */
int page_sort(struct page_table *table, const char *const *by);

/* As many neighbouring rows as needed become one, so that `most` are left: the columns named in `last` (ended by NULL) and those
 * that hold no numbers keep the last of theirs, the others the mean of what is known. Returns how many rows each holds: 1 when
 * nothing was done. */
size_t page_thin(struct page_table *table, size_t most, const char *const *last);

#endif
