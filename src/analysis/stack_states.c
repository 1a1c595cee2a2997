#include "analysis/stack_states.h"

#include <string.h>

#include "base/error.h"

/* Ids are dense; one far beyond what was pushed is damage, not a reason to allocate. */
enum { ID_MAX = 1u << 30 };

void stack_states_init(struct stack_states *states, struct classifier *cls,
                       const struct frame_names *names)
{
    memset(states, 0, sizeof *states);
    states->cls = cls;
    if (names)
        states->names = *names;
}

int stack_states_module(struct stack_states *states, const struct profile_module *module)
{
    if (module->module > ID_MAX)
        return LAM_E_INVAL;
    uint32_t id;
    int rc = classifier_module(states->cls, module->path.bytes, module->path.size, &id);
    if (rc == LAM_OK && module->module >= states->modules.count)
        rc = array_resize(&states->modules, (size_t)module->module + 1);
    if (rc < 0)
        return rc;
    states->modules.items[module->module] = id;
    return states->names.module ? states->names.module(states->names.ctx, module) : LAM_OK;
}

int stack_states_frame(struct stack_states *states, const struct profile_frame *frame)
{
    if (frame->frame > ID_MAX)
        return LAM_E_INVAL;
    struct classifier_name names[FRAME_NAMES_MAX];
    size_t count = 0;
    struct frame_info info = {.module = frame->module};
    int rc = LAM_OK;
    if (states->names.names)
        rc = states->names.names(states->names.ctx, frame, names, &count, &info.is_stripped);
    info.is_unresolved = count == 0;
    uint32_t module =
        frame->module < states->modules.count ? states->modules.items[frame->module] : 0;
    if (rc == LAM_OK)
        rc = classifier_frame(states->cls, module, names, count, &info.frame_class);
    if (rc == LAM_OK && frame->frame >= states->frames.count)
        rc = array_resize(&states->frames, (size_t)frame->frame + 1);
    if (rc == LAM_OK)
        states->frames.items[frame->frame] = info;
    return rc;
}

static uint16_t add_saturated(uint16_t value, bool one)
{
    return (uint16_t)(value < UINT16_MAX && one ? value + 1 : value);
}

int stack_states_stack(struct stack_states *states, const struct profile_stack *stack)
{
    if (stack->stack == 0 || stack->stack > ID_MAX)
        return LAM_E_INVAL;
    struct stack_info parent = stack_states_get(states, stack->parent);
    struct frame_info frame =
        stack_states_leaf(states, (struct stack_info){.leaf_frame = stack->frame});
    struct stack_info info = {.leaf_frame = stack->frame,
                              .depth_frames = add_saturated(parent.depth_frames, true),
                              .unresolved_frames =
                                  add_saturated(parent.unresolved_frames, frame.is_unresolved)};
    int rc = classifier_push(states->cls, parent.state, frame.frame_class, &info.state);
    if (rc == LAM_OK && stack->stack >= states->stacks.count)
        rc = array_resize(&states->stacks, (size_t)stack->stack + 1);
    if (rc == LAM_OK)
        states->stacks.items[stack->stack] = info;
    return rc;
}

struct stack_info stack_states_get(const struct stack_states *states, uint32_t stack)
{
    return stack < states->stacks.count ? states->stacks.items[stack] : (struct stack_info){0};
}

struct frame_info stack_states_leaf(const struct stack_states *states, struct stack_info stack)
{
    return stack.leaf_frame < states->frames.count ? states->frames.items[stack.leaf_frame]
                                                   : (struct frame_info){.is_unresolved = true};
}

void stack_states_free(struct stack_states *states)
{
    array_free(&states->modules);
    array_free(&states->frames);
    array_free(&states->stacks);
}
