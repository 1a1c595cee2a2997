/* Rows for intervals that nest with nothing: each lane holds intervals one after the other. */
#ifndef LAMELLA_OUTPUT_LANES_H
#define LAMELLA_OUTPUT_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

struct lane {
    int64_t first_ns, last_ns; /* of what it holds; nothing else may lie between */
};

/* All-zero is empty and valid. */
struct lanes {
    LAM_ARRAY(struct lane) items;
    uint32_t next; /* where the search begins: long stairs of intervals would make it slow otherwise */
};

/* The lane for an interval; a new one when none of those looked at has room. in_order: intervals come by start, and a lane
 * must not go back in time; else before or after all others of the lane will do. LAM_OK or LAM_E_NOMEM. */
int lanes_place(struct lanes *lanes, int64_t start_ns, int64_t end_ns, bool in_order, uint32_t *lane);

static inline void lanes_free(struct lanes *lanes)
{
    array_free(&lanes->items);
}

#endif
