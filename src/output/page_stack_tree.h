/* The stacks of a recording as one tree of names, and its samples as rows at nodes of it. */
#ifndef LAMELLA_OUTPUT_PAGE_STACK_TREE_H
#define LAMELLA_OUTPUT_PAGE_STACK_TREE_H

#include "analysis/stack_slices.h"
#include "output/stack_tree.h"

struct slice_rows LAM_ARRAY_BODY(struct stack_slice);

struct page_stack_tree {
    struct stack_tree tree; /* nodes are in preorder; self and total: samples; the first level are programs */
    struct slice_rows rows; /* .stack is a node; sorted as the members stand, all different */
};

/* LAM_OK or LAM_E_NOMEM; page_stack_tree_free() in both cases. */
int page_stack_tree_make(struct page_stack_tree *made, const struct report *report,
                         const struct stack_slices *slices, const struct frame_names *names);
void page_stack_tree_free(struct page_stack_tree *made);

#endif
