/* Cuts the tree of stacks place by place: what a place (a thread in a slot of time, a process, the whole) saw too seldom goes
 * to the node above. How seldom grows with the root of what the place saw, so that a small unit has a flame graph too and a
 * large one has more of it. */
#ifndef LAMELLA_OUTPUT_PAGE_STACK_FOLD_H
#define LAMELLA_OUTPUT_PAGE_STACK_FOLD_H

#include "output/page_stack_tree.h"

enum {
    STACK_LEVELS_A_ROOT =
        16, /* a node of a place with n samples is kept from level * sqrt(n) / this on */
    STACK_LEVEL_MAX = 1 << 16,
};

enum stack_grain { STACK_BY_THREAD, STACK_BY_PROCESS, STACK_WHOLE };

struct stack_places {
    enum stack_grain grain; /* what .thread of a row is: an index of threads, of processes, 0 */
    unsigned shift;         /* 2^shift slots are one */
};

struct stack_folder {
    const struct page_stack_tree *from;
    struct slice_rows rows; /* of the places; sorted by thread, slot, stack and phase, as are those below */
    size_t places;
    /* By node, of the place in hand. */
    LAM_ARRAY(uint64_t) total;
    LAM_ARRAY(uint32_t) kept; /* the nearest node that is kept, itself or above */
    LAM_ARRAY(uint32_t) met;  /* nodes that the place has samples at or below, in their order */
    struct slice_rows folded; /* after stack_fold() */
    uint64_t cut_samples;     /* that stand above their node */
    uint64_t kept_frames;     /* sum over samples: how deep they stand */
};

int stack_folder_open(struct stack_folder *folder, const struct page_stack_tree *from);
void stack_folder_close(struct stack_folder *folder);

/* Sets the places. LAM_OK or LAM_E_NOMEM, as below. */
int stack_folder_places(struct stack_folder *folder, const struct report *report,
                        struct stack_places places);

/* How many rows there will be, by the level: counts[0] to counts[STACK_LEVEL_MAX]. At level 0 nothing is cut. */
int stack_fold_counts(struct stack_folder *folder, size_t *counts);

/* folder->folded: the rows at that level. folder->kept is that of the last place. */
int stack_fold(struct stack_folder *folder, uint32_t level);

/* The fewest samples that keep a node, where a place has that many. */
uint64_t stack_fold_least(uint64_t place_samples, uint32_t level);

#endif
