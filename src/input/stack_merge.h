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

struct merge_stack {
    uint32_t parent, frame;
};

/* Open addressing. A slot is id | hash << 32, 0 when free: with the hash beside it an id is looked at only when it is most
 * likely the one, which spares a cache miss at every other one on the way. */
struct merge_index {
    uint64_t *slots;
    uint32_t mask;
};

struct stack_merge {
    const struct profile_sink *sink;
    struct intern modules;                /* identity → id */
    LAM_ARRAY(struct merge_frame) frames; /* by id - 1 */
    LAM_ARRAY(struct merge_stack) stacks;
    struct merge_index frame_index, stack_index;
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

enum { FRAME_CACHE_SLOTS = 8192 };

struct frame_cache_slot {
    uint64_t key; /* address and epoch, plus 1; 0: empty */
    uint32_t frame;
};

struct process_stacks {
    struct stack_merge *merge;
    struct stream_nodes nodes;
    uint32_t *stack_of; /* by node id: in the sink; 0: not yet, NODE_BUSY: on the way up */
    LAM_ARRAY(struct address_range) ranges; /* by start */
    LAM_ARRAY(uint32_t) path;
    struct frame_cache_slot *cache;
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
