/* Stacks as one tree of names: what has the same names on the way is one node, whatever its addresses. */
#ifndef LAMELLA_OUTPUT_STACK_TREE_H
#define LAMELLA_OUTPUT_STACK_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/map.h"
#include "output/stack_totals.h"

struct stack_tree_node {
    uint32_t parent; /* parents come before their children; the root is 0 and has no name */
    uint32_t name;   /* in names */
    uint32_t first_child, next; /* 0: none; set by stack_tree_finish(), children sorted by name */
    uint32_t depth;             /* the root has 0 */
    uint64_t count;
    uint64_t self, total;             /* total is set by stack_tree_finish() */
    uint64_t other_self, other_total; /* of the totals that are compared with */
};

/* All-zero is empty and valid. */
struct stack_tree {
    struct intern names;
    LAM_ARRAY(struct stack_tree_node) nodes;
    struct map children; /* (parent, name) → node */
};

/* Adds the stacks of totals below their programs' names; is_other: as what is compared with. */
int stack_tree_add(struct stack_tree *tree, struct stack_totals *totals, bool is_other);

/* The node for a name below a parent, made when it is not there. */
int stack_tree_child(struct stack_tree *tree, uint32_t parent, uint32_t name, uint32_t *node);

/* Sums up totals and links the children; once, after all was added. */
int stack_tree_finish(struct stack_tree *tree);

/* The same stacks, leaves first, into an empty tree. Nodes below min_value are not followed further, nor levels beyond
 * max_depth: what would lie above them is not there. Finished. */
int stack_tree_invert(const struct stack_tree *tree, uint64_t min_value, uint32_t max_depth,
                      struct stack_tree *inverted);

void stack_tree_free(struct stack_tree *tree);

#endif
