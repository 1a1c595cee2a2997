/* calls.h: the stack of calls of a thread or a track, and what each policy keeps of them.
 *
 * A frame's times are *active* times: the clock less what its track was switched away, so that what is measured here (folds, trees,
 * self times) needs no correction. Where an event is stored, its start is the clock's. */
#ifndef LAMELLA_RECORDER_CALLS_H
#define LAMELLA_RECORDER_CALLS_H

#include <assert.h>
#include <stddef.h>

#include "recorder/slots.h"

enum {
    CALLS_DEPTH_MAX = 1 << 20, /* deeper calls are counted as untold */
    FRAME_FOLDS = 64,          /* labels folded into one frame at a time; then the oldest is told */
    TRACK_CHUNK = 4096,        /* tracks whose stacks are kept in one table */
    TRACK_CHUNKS = 4096,
    PICK_COUNTERS = 1 << 16, /* one in N: labels that are told apart */
    CHILDREN_TIMED = 1 << 12, /* one in N: direct calls of a recorded call that are timed each; then */
    CHILDREN_BLOCK = 8,       /* one of so many */
    AROUND_MAX =
        256, /* one in N: calls around a recorded one among which its own function is looked for */
    FRAME_SCOPE = 16,     /* a frame's mode: an interval, no call */
    SCOPES_MAX = 1 << 12, /* frames for intervals that nobody ends, in a stack */
};

struct frame {
    uint64_t start; /* active time */
    uint64_t began; /* the clock's */
    uint64_t ref;   /* of its event; 0: none yet */
    uint64_t inner; /* active time of its direct calls, as far as they were timed. Of an interval, the time when it began */
    uint64_t spent, paused; /* the stack's when it began */
    uint64_t in_tree; /* of its direct calls' time, what is in the tree, where the frame itself is not */
    struct stream_tree_node *node;
    uint32_t label;
    uint32_t node_id;
    uint32_t weight; /* how many calls it stands for. Of an interval, its kind */
    uint32_t folds;  /* first of a list in the stack's pool, plus 1 */
    uint8_t mode;    /* enum lam_calls, one bit or 0: the policy when it was entered */
    uint8_t is_timed;
    uint8_t is_picked;
    uint8_t fold_count;
    uint8_t is_kept;    /* something that is stored refers to its event */
    uint8_t has_active; /* there is a slot behind its event for its track and active time */
    uint8_t share; /* one in N: how many calls of the one around, which is recorded, it was timed for */
    uint8_t chosen;    /* which one of its next block of direct calls is timed */
    uint32_t children; /* how many it has had */
    uint8_t is_inside; /* one in N: of a call of the same label, which may not be recorded */
};
static_assert(offsetof(struct frame, mode) % 4 == 0 &&
                  offsetof(struct frame, fold_count) == offsetof(struct frame, mode) + 3,
              "these four are written at once");

struct fold {
    uint32_t label;
    uint32_t next; /* plus 1 */
    uint64_t count, total, self;
};

struct calls {
    struct calls *next_free;
    struct frame *frames; /* frames[0] is the stack's bottom and no call */
    uint64_t mapped;      /* bytes of `frames`; 0: they lie behind this structure */
    uint32_t depth;       /* calls open, and intervals; beyond `capacity` they have no frame */
    uint32_t scopes;      /* of them, intervals */
    uint32_t busy;        /* being changed: an interval of a handler gets no frame */
    uint32_t capacity;
    uint32_t track;
    struct fold *pool;
    uint32_t pool_size, pool_free; /* plus 1 */
    uint64_t away;                 /* how long the track was switched away altogether */
    uint64_t left_at;              /* when it was; 0: it runs */
    uint64_t spent; /* one in N: what recording took of its active time, and what was paused */
    uint64_t paused; /* ... how long the thread was not let run, as far as no call is without it yet */
    uint64_t flushed;       /* when the bottom's folds were written last */
    struct call_tree *tree; /* that the frames' nodes are in */
    uint32_t root;          /* node of this stack in it */
    struct stream_tree_node *root_node;
    uint32_t ticks; /* calls until the budget is looked at */
};

/* Where the stack of a track is kept, if it ever had one: without a lock. acquire: pairs with the releases in make_place(). */
static inline struct calls **calls_place(struct lam_recorder *rec, uint32_t track)
{
    struct calls ***chunks = __atomic_load_n(&rec->tracks, __ATOMIC_ACQUIRE);
    struct calls **chunk = chunks && track / TRACK_CHUNK < TRACK_CHUNKS
                               ? __atomic_load_n(&chunks[track / TRACK_CHUNK], __ATOMIC_ACQUIRE)
                               : NULL;
    return chunk ? &chunk[track % TRACK_CHUNK] : NULL;
}

/* ---- call_folds.c ---- */

void fold_add(struct lane *lane, struct calls *calls, struct frame *into, uint32_t label,
              uint64_t count, uint64_t total, uint64_t self);
/* The folds of a frame that is folded itself become those of the frame around it; those of one stack's bottom, another's. */
void folds_move(struct lane *lane, struct calls *calls, struct frame *from, struct calls *others,
                struct frame *into);
/* Writes them, as part of the frame's event. */
void folds_write(struct lane *lane, struct calls *calls, struct frame *frame);
/* Gives every open call below `frame`, and itself, its event. calls.c */
void calls_write_open(struct lane *lane, struct calls *calls, struct frame *frame);

/* ---- call_tree.c ---- */

/* The node of `frame` below that of the frame under it; NULL: no room. The call, or interval, is open in it. */
void tree_enter(struct lane *lane, struct calls *calls, struct frame *frame);
/* now: active time. */
void tree_leave(struct lane *lane, struct calls *calls, struct frame *frame, uint64_t now);
void tree_leave_scope(const struct frame *frame, uint64_t now);
/* The number of the lane whose tree the stack's nodes are in. */
uint32_t tree_lane(const struct calls *calls);
/* The stack's track runs again, or no longer (now: of the clock). */
void tree_resume(struct calls *calls);
void tree_pause(struct calls *calls, uint64_t now);
/* The frame around a frame was taken `duration` by a call of the tree. */
static inline void take_from_around(struct calls *calls, struct frame *around, uint64_t duration)
{
    if (around == calls->frames)
        return;
    if (around->mode != LAM_CALLS_TREE)
        around->in_tree += duration;
    if (around->mode != FRAME_SCOPE)
        around->inner += duration;
}

/* ---- calls.c ---- */

/* The stack of what the lane runs; NULL: no memory. */
struct calls *calls_of(struct lane *lane);
int calls_grow(struct calls *calls);
static inline uint64_t calls_active(const struct calls *calls, uint64_t now)
{
    return now - calls->away;
}

static inline struct frame *calls_top(struct calls *calls)
{
    return calls->depth < calls->capacity ? &calls->frames[calls->depth] : NULL;
}

/* The frame around that is recorded or may yet be. */
static inline struct frame *calls_around(struct calls *calls, struct frame *frame)
{
    for (frame--; frame > calls->frames && !frame->is_picked && frame->mode != FRAME_SCOPE; frame--)
        continue;
    return frame;
}

/* ---- scopes.c ---- */

/* What calls of the tree took inside of an event's interval. */
void calls_tell_inside(struct lane *lane, const struct frame *frame);
/* An interval took `duration`: what measures the call around it leaves it out, and an event's self time is found without. What
 * recording took meanwhile is left out already. */
static inline void scope_take_from_around(struct calls *calls, const struct frame *frame,
                                          uint64_t duration)
{
    struct frame *around = &calls->frames[frame - calls->frames - 1];
    uint64_t spent = calls->spent - frame->spent;
    if (around != calls->frames && (around->mode == LAM_CALLS_TREE || around->is_picked))
        around->inner += duration > spent ? duration - spent : 0;
}
/* Takes the topmost frame, an interval, off; and intervals below it that have ended already. */
void scope_drop(struct lane *lane, struct calls *calls, uint64_t now);
static inline void scopes_drop_ended(struct calls *calls)
{
    const struct frame *frame;
    while (calls->scopes && (frame = calls_top(calls)) && frame->mode == FRAME_SCOPE && !frame->ref) {
        calls->depth--;
        calls->scopes--;
    }
}

#endif
