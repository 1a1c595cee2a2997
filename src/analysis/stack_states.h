/* The stacks of an input with what they mean: names are looked up once a frame, states are made once a stack. Sinks that
 * classify samples hold one of these and pass modules, frames and stacks on to it. */
#ifndef LAMELLA_ANALYSIS_STACK_STATES_H
#define LAMELLA_ANALYSIS_STACK_STATES_H

#include "base/array.h"
#include "phase/classifier.h"
#include "profile/sink.h"

enum { FRAME_NAMES_MAX = 32 };

/* Where names come from: the symbol sidecar, or an importer's own table. Members may be NULL. */
struct frame_names {
    void *ctx;
    /* A module, before its frames. */
    int (*module)(void *ctx, const struct profile_module *module);
    /* Short names at a frame's address, innermost inlined function first, at most FRAME_NAMES_MAX; they live until the next
     * call. *count 0: no symbol. *is_stripped: because its module has no symbol table (initially false). */
    int (*names)(void *ctx, const struct profile_frame *frame, struct classifier_name *names,
                 size_t *count, bool *is_stripped);
};

struct frame_info {
    uint32_t frame_class;
    uint32_t module; /* the input's id */
    bool is_unresolved;
    bool is_stripped; /* its module has no symbol table */
};

struct stack_info {
    uint32_t state;
    uint16_t depth_frames;      /* saturated */
    uint16_t unresolved_frames; /* of them without a symbol, saturated */
    uint32_t leaf_frame;
};

struct stack_states {
    struct classifier *cls;
    struct frame_names names;
    LAM_ARRAY(uint32_t) modules; /* the input's module id → the classifier's */
    LAM_ARRAY(struct frame_info) frames;
    LAM_ARRAY(struct stack_info) stacks;
};

void stack_states_init(struct stack_states *states, struct classifier *cls,
                       const struct frame_names *names);
int stack_states_module(struct stack_states *states, const struct profile_module *module);
int stack_states_frame(struct stack_states *states, const struct profile_frame *frame);
int stack_states_stack(struct stack_states *states, const struct profile_stack *stack);

/* All zero for stack 0 and for one that was never pushed. */
struct stack_info stack_states_get(const struct stack_states *states, uint32_t stack);

/* The innermost frame of a stack; without a symbol where there is none. */
struct frame_info stack_states_leaf(const struct stack_states *states, struct stack_info stack);

void stack_states_free(struct stack_states *states);

#endif
