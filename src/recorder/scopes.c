/* scopes.c: intervals among calls that are recorded by a policy.
 *
 * Where calls become figures, the place of an interval among them and that of calls inside an interval cannot be told from times.
 * So an interval has a frame in the stack of calls, from its beginning to its end: calls inside are folded into it, or have their
 * nodes below one of its own; and the call around it is without its time. A signal handler may record intervals in the middle of
 * all this; while the stack is being changed (`busy`) such an interval has no frame. */
#include "recorder/calls.h"

void calls_tell_inside(struct lane *lane, const struct frame *frame)
{
    if (!frame->in_tree || !frame->ref)
        return;
    uint32_t before = lane_enter(lane);
    struct slot_place place =
        slot_reserve(lane, 2 * (uint32_t)sizeof(struct stream_slot), UINT64_MAX);
    if (place.slot) {
        slot_more(place.slot + 1, 0, STREAM_SLOT_TOTAL, 0, frame->in_tree);
        slot_store(&place, ref_lane(frame->ref), STREAM_SLOT_CALLS, ref_on_disk(frame->ref));
    }
    lane_leave(lane, before);
}

uint32_t scope_node_around(struct lane *lane, uint32_t *tree)
{
    struct calls *calls = lane->calls;
    const struct frame *frame = calls && !calls->busy ? calls_top(calls) : NULL;
    /* Above what found no room in the tree. */
    while (frame && frame->mode == LAM_CALLS_TREE && !frame->node_id && frame > calls->frames)
        frame--;
    if (!frame || frame == calls->frames || frame->mode != LAM_CALLS_TREE)
        return 0;
    *tree = tree_lane(calls); /* its track may have come from another thread just now */
    return frame->node_id;
}

void scope_enter(struct lane *lane, uint64_t ref, uint64_t time, uint32_t kind, uint32_t id)
{
    struct calls *calls = calls_of(lane);
    if (!calls || calls->busy || calls->scopes >= SCOPES_MAX)
        return;
    calls->busy = 1;
    HANDLER_FENCE();
    if (calls->depth + 1 < calls->capacity || calls_grow(calls) == 0) {
        struct frame *frame = &calls->frames[calls->depth + 1];
        *frame = (struct frame){.start = calls_active(calls, time),
                                .inner = calls_active(calls, time),
                                .spent = calls->spent,
                                .began = time,
                                .ref = ref,
                                .label = id,
                                .weight = kind,
                                .mode = FRAME_SCOPE,
                                .is_timed = 1};
        calls->depth++;
        calls->scopes++;
        if (frame[-1].mode == LAM_CALLS_TREE && frame - 1 != calls->frames)
            tree_enter(lane, calls, frame);
    }
    HANDLER_FENCE();
    calls->busy = 0;
}

/* It ends: what it held is told, and what is around it is without its time. */
static void settle(struct lane *lane, struct calls *calls, struct frame *frame, uint64_t now)
{
    uint64_t end = calls_active(calls, now);
    uint64_t duration = end > frame->start ? end - frame->start : 0;
    if (frame->node)
        tree_leave_scope(frame, end);
    if (frame->folds)
        folds_write(lane, calls, frame);
    calls_tell_inside(lane, frame);
    scope_take_from_around(calls, frame, duration);
}

void scope_drop(struct lane *lane, struct calls *calls, uint64_t now)
{
    struct frame *frame = &calls->frames[calls->depth];
    if (frame->ref)
        settle(lane, calls, frame, now);
    calls->depth--;
    calls->scopes--;
}

uint64_t scope_leave(struct lane *lane, uint64_t ref, uint64_t now)
{
    struct calls *calls = lane->calls;
    uint64_t active = UINT64_MAX;
    if (!calls || !calls->scopes || calls->busy)
        return active;
    calls->busy = 1;
    HANDLER_FENCE();
    struct frame *top = calls_top(calls), *frame = top;
    if (!frame) /* above what has frames */
        frame = &calls->frames[calls->capacity - 1];
    while (frame > calls->frames && (frame->mode != FRAME_SCOPE || frame->ref != ref))
        frame--;
    if (frame > calls->frames) {
        uint64_t end = calls_active(calls, now);
        if (calls->track)
            active = end > frame->inner ? end - frame->inner : 0;
        settle(lane, calls, frame, now);
        frame->ref = 0; /* one that is not on top goes with what is above it */
        if (frame == top)
            scopes_drop_ended(calls);
    }
    HANDLER_FENCE();
    calls->busy = 0;
    return active;
}
