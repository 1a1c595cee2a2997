/* What a page keeps of who calls whom: whole functions, pairs and branches, the largest, within bounds. Their figures stay what they are;
 * what is left out is counted, and follows from the sums. */
#ifndef LAMELLA_OUTPUT_PAGE_CALL_CHOICE_H
#define LAMELLA_OUTPUT_PAGE_CALL_CHOICE_H

#include "analysis/call_graph.h"

#define PAGE_CALL_NO_ROW UINT32_MAX

struct page_call_bounds {
    size_t functions, pairs, nodes;
};

struct page_call_function {
    uint32_t name;
    uint64_t calls_of_itself;
    uint32_t callers, callees; /* how many it has, kept or not */
};

struct page_call_node {
    uint32_t node;  /* of the graph */
    uint32_t depth; /* 1: outermost */
    struct call_amount total;
};

/* All-zero is empty and valid. */
struct page_call_choice {
    LAM_ARRAY(struct page_call_function) functions; /* most total first */
    LAM_ARRAY(uint32_t) row_of;                     /* by the graph's name; PAGE_CALL_NO_ROW */
    LAM_ARRAY(uint32_t)
    pairs; /* the graph's edges, by the row of the callee; calls of itself are none */
    LAM_ARRAY(struct page_call_node) tree; /* in preorder, the largest branch first */
    size_t functions_left, pairs_left, nodes_left;
};

/* After call_graph_finish(). Each function keeps its largest callers and callees, as many as there is room for, but one of each.
 * LAM_OK or LAM_E_NOMEM. */
int page_call_choose(struct page_call_choice *choice, const struct call_graph *graph,
                     const struct page_call_bounds *bounds);
void page_call_choice_free(struct page_call_choice *choice);

#endif
