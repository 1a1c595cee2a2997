/* Stacks that begin with a program's intervals and go on with the frames that were sampled inside of the innermost one: of an
 * interpreted program, the functions of the script and then those of C that they ran in.
 *
 * Inside of an interval nothing of an interpreter's own frames is shown: what a sample's stack holds up to the innermost call of an interpreter's
 * loop is what the intervals tell better. */
#ifndef LAMELLA_OUTPUT_MIXED_STACKS_H
#define LAMELLA_OUTPUT_MIXED_STACKS_H

#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "output/export_tables.h"

/* Nodes that are frames have this bit; others are paths of the input. */
#define MIXED_NODE 0x80000000u

struct mixed_node {
    uint32_t parent; /* a path, a node, or 0 */
    uint32_t frame;
};

/* All-zero is empty and valid. */
struct mixed_stacks {
    LAM_ARRAY(struct mixed_node) nodes;
    struct map by_step;        /* parent << 32 | frame → index in nodes */
    struct map is_loop;        /* frame → enum mixed_frame */
    LAM_ARRAY(uint32_t) inner; /* frames of one stack, innermost first */
};

/* The node of a stack below a path. LAM_OK or LAM_E_NOMEM. */
int mixed_stacks_node(struct mixed_stacks *mixed, struct export_frames *frames, uint32_t path,
                      uint32_t stack, uint32_t *node);

const struct mixed_node *mixed_stacks_get(const struct mixed_stacks *mixed, uint32_t node);

void mixed_stacks_free(struct mixed_stacks *mixed);

#endif
