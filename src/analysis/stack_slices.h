/* Stacks by thread, phase and time: what a flame graph of any part of a recording is made of. Filled from two sides in one
 * push: the sink below takes modules, frames and stacks, the report tells its samples with what they mean.
 *
 *     stack_slices_init(&slices);
 *     report options: .sampled = stack_slices_sampled, .sampled_ctx = &slices
 *     push into the report's sink and stack_slices_sink(&slices)
 *     stack_slices_finish(&slices)
 *
 * Memory: 40 bytes a different (thread, slot, phase, stack), at most twice as many while it is filled. */
#ifndef LAMELLA_ANALYSIS_STACK_SLICES_H
#define LAMELLA_ANALYSIS_STACK_SLICES_H

#include "analysis/report.h"
#include "base/intern.h"

enum { STACK_SLOTS = 512 }; /* of a recording whose length is known */

struct stack_slice {
    uint32_t thread; /* index in report.threads */
    uint32_t slot;   /* of slot_ns each, from the session's start */
    uint32_t phase;  /* classifier_phase() */
    uint32_t stack;  /* the input's id */
    uint64_t samples, cpu_ns;
};

struct stack_node { /* by the input's stack id */
    uint32_t parent, frame;
};

struct stack_slices {
    uint64_t slot_ns;
    LAM_ARRAY(struct stack_slice)
    rows;          /* after stack_slices_finish(): sorted as the members stand, all different */
    size_t merged; /* rows that are known to be so */
    LAM_ARRAY(struct stack_node) stacks;
    LAM_ARRAY(struct profile_frame) frames; /* by the input's frame id */
    LAM_ARRAY(uint32_t) modules;            /* base name in `names`, by the input's module id */
    struct intern names;
};

void stack_slices_init(struct stack_slices *slices);
struct profile_sink stack_slices_sink(struct stack_slices *slices);
int stack_slices_sampled(void *slices, const struct report_sampled *sampled);

/* Nothing may be added afterwards. */
void stack_slices_finish(struct stack_slices *slices);
void stack_slices_free(struct stack_slices *slices);

/* Rows sorted as their members stand, equal ones as one. */
size_t stack_slices_merge(struct stack_slice *rows, size_t count);

#endif
