/* call_folds.c: calls that are not stored one by one, as count and time in the event of the call around them. */
#include "recorder/calls.h"

#include <sys/mman.h>

enum { FIRST_FOLDS = 128, FOLD_SLOTS = 5 };

static int grow_pool(struct calls *calls)
{
    uint32_t size = calls->pool_size ? calls->pool_size * 2 : FIRST_FOLDS;
    void *map = sys_mmap(NULL, size * sizeof(struct fold), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_is_error(map))
        return -1;
    struct fold *pool = map;
    if (calls->pool) {
        __builtin_memcpy(pool, calls->pool, calls->pool_size * sizeof *pool);
        sys_munmap(calls->pool, calls->pool_size * sizeof *pool);
    }
    for (uint32_t i = calls->pool_size; i < size; i++) {
        pool[i].next = calls->pool_free;
        calls->pool_free = i + 1;
    }
    calls->pool = pool;
    calls->pool_size = size;
    return 0;
}

static void write_one(struct lane *lane, const struct calls *calls, struct frame *frame,
                      const struct fold *fold)
{
    uint32_t before = lane_enter(lane);
    struct slot_place place =
        slot_reserve(lane, FOLD_SLOTS * (uint32_t)sizeof(struct stream_slot), UINT64_MAX);
    if (place.slot) {
        int is_bottom = frame == calls->frames;
        frame->is_kept = 1;
        uint32_t kind = lane->rec->call_kind;
        slot_more(place.slot + 1, kind, STREAM_SLOT_KIND, 0, is_bottom ? 0 : ref_lane(frame->ref));
        slot_more(place.slot + 2, 0, STREAM_SLOT_COUNT, 0, fold->count);
        slot_more(place.slot + 3, 0, STREAM_SLOT_TOTAL, 0, fold->total);
        slot_more(place.slot + 4, 0, STREAM_SLOT_SELF, 1, fold->self);
        slot_store(&place, fold->label, STREAM_SLOT_FOLD, is_bottom ? 0 : ref_on_disk(frame->ref));
    }
    lane_leave(lane, before);
}

/* What lies in no call belongs to the stack's own track, or to none, whichever runs. Returns the one that does. */
static uint32_t begin_writing(struct lane *lane, const struct calls *calls, const struct frame *frame)
{
    uint32_t track = lane->track;
    if (frame == calls->frames && track != calls->track)
        lane_set_track(lane, calls->track, lane_now(lane));
    return track;
}

static void end_writing(struct lane *lane, uint32_t track)
{
    if (track != lane->track)
        lane_set_track(lane, track, lane_now(lane));
}

static void release(struct calls *calls, struct frame *frame, uint32_t *link)
{
    uint32_t at = *link;
    struct fold *fold = &calls->pool[at - 1];
    *link = fold->next;
    fold->next = calls->pool_free;
    calls->pool_free = at;
    frame->fold_count--;
}

/* The first one in the list, the oldest, is written to make room: the frame's event must be there for that. */
static void evict(struct lane *lane, struct calls *calls, struct frame *frame)
{
    calls_write_open(lane, calls, frame);
    uint32_t *link = &frame->folds;
    while (calls->pool[*link - 1].next)
        link = &calls->pool[*link - 1].next;
    uint32_t track = begin_writing(lane, calls, frame);
    write_one(lane, calls, frame, &calls->pool[*link - 1]);
    end_writing(lane, track);
    release(calls, frame, link);
}

void fold_add(struct lane *lane, struct calls *calls, struct frame *into, uint32_t label,
              uint64_t count, uint64_t total, uint64_t self)
{
    struct fold *fold = NULL;
    for (uint32_t at = into->folds; at; at = calls->pool[at - 1].next)
        if (calls->pool[at - 1].label == label) {
            fold = &calls->pool[at - 1];
            break;
        }
    if (!fold) {
        if (into->fold_count >= FRAME_FOLDS)
            evict(lane, calls, into);
        if (!calls->pool_free && grow_pool(calls) < 0) {
            lane_count(lane, STREAM_COUNT_UNTOLD_CALLS);
            return;
        }
        uint32_t at = calls->pool_free;
        fold = &calls->pool[at - 1];
        calls->pool_free = fold->next;
        *fold = (struct fold){.label = label, .next = into->folds};
        into->folds = at;
        into->fold_count++;
    }
    fold->count += count;
    fold->total += total;
    fold->self += self;
}

void folds_move(struct lane *lane, struct calls *calls, struct frame *from, struct calls *others,
                struct frame *into)
{
    while (from->folds) {
        struct fold fold = calls->pool[from->folds - 1];
        release(calls, from, &from->folds);
        if (fold.label == from->label)
            fold.total = 0; /* of outermost calls only */
        fold_add(lane, others, into, fold.label, fold.count, fold.total, fold.self);
    }
}

void folds_write(struct lane *lane, struct calls *calls, struct frame *frame)
{
    if (!frame->folds)
        return;
    uint32_t track = begin_writing(lane, calls, frame);
    while (frame->folds) {
        write_one(lane, calls, frame, &calls->pool[frame->folds - 1]);
        release(calls, frame, &frame->folds);
    }
    end_writing(lane, track);
}
