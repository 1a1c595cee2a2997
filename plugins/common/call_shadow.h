/* call_shadow.h: the calls that a plug-in believes to be open on one line of execution, each by an address that the interpreter has
 * for it, or by its place on the interpreter's stack. What it leaves without a word (errors) is taken off when the next event shows
 * that it is gone: by places also where not every call is there. */
#ifndef LAMELLA_PLUGINS_CALL_SHADOW_H
#define LAMELLA_PLUGINS_CALL_SHADOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "lamella/lamella.h"

enum { SHADOW_FIRST = 4 }; /* coroutines are many and shallow */
enum {
    SHADOW_AROUND = 256
}; /* calls around a recorded one among which its own function is looked for */

struct shadow {
    union {
        const void *call; /* the interpreter's */
        uintptr_t place;  /* the larger the further inside */
    };
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

static inline bool shadow_has_room(struct shadow_stack *stack)
{
    return __builtin_expect(stack->top + 1 != stack->end, 1) || shadow_grow(stack, 1);
}

/* Is the next call of a function, which will be recorded for others too, made inside of another call of it? Its time is in that
 * one's. Every call has a frame. */
static __attribute__((noinline, unused)) bool shadow_is_inside_own(const struct shadow_stack *stack,
                                                                   const struct lam_callee *callee)
{
    const struct shadow *frame = stack->top;
    for (int left = SHADOW_AROUND; left > 0 && frame > stack->frames; left--, frame--)
        if (frame->open.label == callee->label)
            return true;
    return false;
}

/* Without memory a call is not seen; its end will find nothing. */
static inline void shadow_push(struct shadow_stack *stack, const void *call,
                               struct lam_callee *callee, uint16_t host)
{
    if (!shadow_has_room(stack))
        return;
    struct shadow *around = stack->top, *frame = around + 1;
    frame->call = call;
    frame->open.host = host;
    if (!lam_callee_skips(callee, &around->open, &frame->open) && !lam_is_off(LAM_DEFAULT)) {
        if (lam_callee_is_picked(callee) && shadow_is_inside_own(stack, callee))
            frame->open.told = LAM_TOLD_INSIDE;
        lam_callee_enter_event(LAM_DEFAULT, callee, &around->open, &frame->open);
    }
    stack->top = frame;
}

/* Where calls have places: one that the recorder need not be told of, since it is not the one in N, leaves no trace; but the first
 * does, so that its end is seen. is_direct: it is made by the call on top, not by one that left no trace. is_inside: of another call of
 * its function; asked only where it is recorded for others too. */
static inline void shadow_push_told(struct shadow_stack *stack, uintptr_t place, bool is_direct,
                                    bool is_inside, struct lam_callee *callee)
{
    if (!shadow_has_room(stack))
        return;
    struct shadow *around = is_direct ? stack->top : stack->frames, *frame = stack->top + 1;
    bool skips = lam_callee_skips(callee, &around->open, &frame->open);
    if (skips && !shadow_is_empty(stack))
        return;
    frame->place = place;
    stack->top = frame;
    if (skips || lam_is_off(LAM_DEFAULT))
        return;
    frame->open.told = is_inside ? LAM_TOLD_INSIDE : 0;
    lam_callee_enter_event(LAM_DEFAULT, callee, &around->open, &frame->open);
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

/* What stands there, or further inside, is over. */
static inline void shadow_pop_from(struct shadow_stack *stack, uintptr_t place)
{
    while (!shadow_is_empty(stack) && stack->top->place >= place)
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
