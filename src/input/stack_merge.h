/* The stacks of all processes as one trie over (module, offset): what every process calls its own is told to the sink
 * once. Memory grows with what is different, not with samples. */
#ifndef LAMELLA_INPUT_STACK_MERGE_H
#define LAMELLA_INPUT_STACK_MERGE_H

#include <stdint.h>

#include "base/array.h"
#include "base/intern.h"
#include "profile/sink.h"
#include "reader/stream_walk.h"

struct merge_frame {
    uint64_t offset;
    uint32_t module;
};

/* A node's first few children are a list: whoever makes a new branch then finds its parent still in the cache, and needs no
 * look into a large table. What more there are stands in the index. */
struct merge_stack {
    uint32_t frame;
    uint32_t first_child, next_sibling; /* 0: none */
};
enum { MERGE_LISTED_CHILDREN = 4 };

struct merge_child { /* one that is in the index */
    uint32_t parent, stack;
};

/* Open addressing. A slot is id | hash << 32, 0 when free: with the hash beside it an id is looked at only when it is most
 * likely the one, which spares a cache miss at every other one on the way. */
struct merge_index {
    uint64_t *slots;
    uint32_t mask;
};

enum { FRAME_CACHE_SLOTS = 32768 };

struct frame_cache_slot {
    uint64_t key; /* address and epoch */
    uint32_t frame;
    uint32_t generation; /* 0: empty */
};

struct stack_merge {
    const struct profile_sink *sink;
    struct intern modules;                /* identity → id */
    LAM_ARRAY(struct merge_frame) frames; /* by id - 1 */
    LAM_ARRAY(struct merge_stack) stacks;
    LAM_ARRAY(struct merge_child) children; /* by id of child_index - 1 */
    uint32_t first_root;                    /* roots are children of nothing */
    struct merge_index frame_index, child_index;
    struct frame_cache_slot *cache;
    uint32_t generation; /* of the process being read, for the cache */
};

void stack_merge_free(struct stack_merge *merge);

/* One process's addresses while it is read. */
struct address_range {
    uint64_t start, end, bias;
    uint32_t epoch;  /* from this one on */
    uint32_t module; /* in the sink */
    uint32_t order;  /* of its record */
    uint64_t reach;  /* the largest end of this range and all before it */
};

struct process_stacks {
    struct stack_merge *merge;
    struct stream_nodes nodes;
    uint32_t *stack_of; /* by node id: in the sink; 0: not yet, NODE_BUSY: on the way up */
    LAM_ARRAY(struct address_range) ranges; /* by start */
    LAM_ARRAY(uint32_t) path;
    struct stream_faults *faults;
};

/* Loads nodes and modules of a file. faults takes what cannot be read, until close. LAM_OK, LAM_E_NOMEM or the sink's code. */
int process_stacks_open(struct process_stacks *stacks, struct stack_merge *merge,
                        const struct stream_file *file, struct stream_faults *faults);
void process_stacks_close(struct process_stacks *stacks);

/* The sink's id of a node's stack, told to the sink before it returns; 0 for none. A chain that is broken gives the part that
 * is there. *out is written on success. LAM_OK, LAM_E_NOMEM or the sink's code. */
int process_stacks_get(struct process_stacks *stacks, uint32_t node, uint32_t *out);

#endif
