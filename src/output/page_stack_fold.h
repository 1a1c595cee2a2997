/* Cuts the tree of stacks place by place: where a place (a thread in a slot of time, a process, the whole) saw a node less
 * often than a minimum, its samples go to the node above. */
#ifndef LAMELLA_OUTPUT_PAGE_STACK_FOLD_H
#define LAMELLA_OUTPUT_PAGE_STACK_FOLD_H

#include "output/page_stack_tree.h"

enum stack_grain { STACK_BY_THREAD, STACK_BY_PROCESS, STACK_WHOLE };

struct stack_places {
    enum stack_grain grain; /* what .thread of a row is: an index of threads, of processes, 0 */
    unsigned shift;         /* 2^shift slots are one */
};

struct stack_folder {
    const struct page_stack_tree *from;
    struct slice_rows rows; /* of the places; sorted by thread and slot */
    size_t places;
    /* By node, of the place in hand. */
    LAM_ARRAY(uint64_t) total;
    LAM_ARRAY(uint32_t) kept; /* the nearest node that is kept, itself or above */
    LAM_ARRAY(uint32_t) met;  /* nodes that the place has samples at or below */
    struct slice_rows folded; /* after stack_fold() */
    uint64_t cut_samples;     /* that stand above their node */
};

int stack_folder_open(struct stack_folder *folder, const struct page_stack_tree *from);
void stack_folder_close(struct stack_folder *folder);

/* Sets the places. LAM_OK or LAM_E_NOMEM, as below. */
int stack_folder_places(struct stack_folder *folder, const struct report *report,
                        struct stack_places places);

/* How many rows there will be, by the minimum: counts[n] for n from 1 to most. */
int stack_fold_counts(struct stack_folder *folder, size_t *counts, size_t most);

/* folder->folded: the rows with that minimum. folder->kept is that of the last place. */
int stack_fold(struct stack_folder *folder, uint64_t min_samples);

#endif
