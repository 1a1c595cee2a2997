/* call_shadow.h: the calls that a plug-in believes to be open on one line of execution, by an address that the interpreter has for
 * each: what it leaves without a word (errors) is taken off when the next event shows other addresses. */
#ifndef LAMELLA_PLUGINS_CALL_SHADOW_H
#define LAMELLA_PLUGINS_CALL_SHADOW_H

#include <stdbool.h>
#include <stdlib.h>

#include "lamella/lamella.h"

enum { SHADOW_FIRST = 4 }; /* coroutines are many and shallow */

struct shadow {
    const void *call;          /* the interpreter's */
    struct lam_open_call open; /* label 0: not recorded */
};

struct shadow_stack {
    struct shadow *top;
    struct shadow *frames; /* frames[0] stands below the first call */
    struct shadow *end;
};

/* Room for `more` calls; the first time, the one below them. False without memory. */
static __attribute__((noinline, unused)) bool shadow_grow(struct shadow_stack *stack, size_t more)
{
    size_t used = stack->frames ? (size_t)(stack->top - stack->frames) + 1 : 0;
    size_t size = stack->frames ? (size_t)(stack->end - stack->frames) : SHADOW_FIRST;
    while (size < used + more + 1)
        size *= 2;
    struct shadow *frames = realloc(stack->frames, size * sizeof *frames);
    if (!frames)
        return false;
    if (!used)
        *frames = (struct shadow){.call = NULL};
    *stack = (struct shadow_stack){frames + (used ? used - 1 : 0), frames, frames + size};
    return true;
}

static inline bool shadow_is_empty(const struct shadow_stack *stack)
{
    return stack->top == stack->frames;
}

/* Without memory a call is not seen; its end will find nothing. */
static inline void shadow_push(struct shadow_stack *stack, const void *call,
                               struct lam_callee *callee, uint16_t host)
{
    if (__builtin_expect(stack->top + 1 == stack->end, 0) && !shadow_grow(stack, 1))
        return;
    struct shadow *around = stack->top++;
    around[1].call = call;
    around[1].open.host = host;
    lam_callee_enter(LAM_DEFAULT, callee, &around->open, &around[1].open);
}

static inline void shadow_pop(struct shadow_stack *stack)
{
    lam_callee_exit(LAM_DEFAULT, &(stack->top--)->open);
}

static inline void shadow_pop_to(struct shadow_stack *stack, const struct shadow *frame)
{
    while (stack->top > frame)
        shadow_pop(stack);
}

/* NULL: it is not there. frames[0] counts. */
static inline struct shadow *shadow_find(const struct shadow_stack *stack, const void *call)
{
    struct shadow *frame = stack->top;
    while (frame > stack->frames && frame->call != call)
        frame--;
    return frame->call == call ? frame : NULL;
}

/* Another recording has begun, which knows nothing of these calls. */
static inline void shadow_forget(struct shadow_stack *stack)
{
    for (struct shadow *frame = stack->frames; frame <= stack->top; frame++)
        frame->open.told = 0;
}

static inline void shadow_tell_again(struct shadow_stack *stack)
{
    for (struct shadow *frame = stack->frames + 1; frame <= stack->top; frame++) {
        struct lam_callee callee = {.label = frame->open.label};
        lam_callee_enter(LAM_DEFAULT, &callee, &frame[-1].open, &frame->open);
    }
}

#endif
