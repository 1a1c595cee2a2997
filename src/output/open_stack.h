/* The intervals of one row that are open, for formats of begins and ends: events come by start, parents first. */
#ifndef LAMELLA_OUTPUT_OPEN_STACK_H
#define LAMELLA_OUTPUT_OPEN_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

struct open_interval {
    int64_t end_ns;
    uint32_t label;
    uint32_t depth;
};

struct open_stack LAM_ARRAY_BODY(struct open_interval);

#define OPEN_STACK_INSTANT \
    UINT32_MAX /* depth of what nests inside anything that is still there at its time */

/* Takes off the innermost interval if it ends before something that starts then, at that depth; else false. Of what ends
 * just when the other starts, the depth says whether it is around it. */
static inline bool open_stack_ended(struct open_stack *stack, int64_t start_ns, uint32_t depth,
                                    struct open_interval *ended)
{
    if (!stack->count)
        return false;
    const struct open_interval *top = &array_last(stack);
    if (top->end_ns > start_ns || (top->end_ns == start_ns && top->depth < depth))
        return false;
    *ended = array_pop(stack);
    return true;
}

/* Takes off the innermost one, whenever it ends. */
static inline bool open_stack_last(struct open_stack *stack, struct open_interval *ended)
{
    if (!stack->count)
        return false;
    *ended = array_pop(stack);
    return true;
}

#endif
