/* calls.c: calls of an interpreter, by policy. */
#include "recorder/calls.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { BUDGET_LOOK = 32 };

/* A stack begins with its first frames behind it: programs have tens of thousands of coroutines, most of them shallow. */
enum { STACK_BYTES = 1024, SLAB_BYTES = 1 << 16 };
enum { FIRST_FRAMES = (STACK_BYTES - sizeof(struct calls)) / sizeof(struct frame) };

struct pick { /* one in N: a block of N calls of a label, of which the one at `chosen` is recorded */
    uint32_t seen, chosen;
};

/* ---- stacks ---- */

static struct frame *first_frames(struct calls *calls)
{
    return (struct frame *)((uint8_t *)calls + STACK_BYTES - FIRST_FRAMES * sizeof(struct frame));
}

/* A block for a stack. Under the recorder's lock. NULL: no memory. */
static struct calls *take_stack(struct live *live)
{
    if (!live->free_stacks) {
        uint8_t *slab =
            sys_mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (sys_is_error(slab))
            return NULL;
        for (uint32_t at = SLAB_BYTES; at > 0; at -= STACK_BYTES) {
            struct calls *calls = (struct calls *)(slab + at - STACK_BYTES);
            calls->next_free = live->free_stacks;
            live->free_stacks = calls;
        }
    }
    struct calls *calls = live->free_stacks;
    live->free_stacks = calls->next_free;
    return calls;
}

static struct calls *new_calls(struct lam_recorder *rec, uint32_t track)
{
    uint64_t signals = signals_block();
    futex_lock(&rec->live->lock);
    struct calls *calls = take_stack(rec->live);
    futex_unlock(&rec->live->lock);
    signals_restore(signals);
    if (!calls)
        return NULL;
    *calls = (struct calls){.capacity = FIRST_FRAMES, .track = track};
    calls->frames = first_frames(calls);
    calls->frames[0] = (struct frame){.label = 0};
    return calls;
}

static void free_calls(struct lam_recorder *rec, struct calls *calls)
{
    if (calls->frames != first_frames(calls))
        sys_munmap(calls->frames, calls->mapped);
    if (calls->pool)
        sys_munmap(calls->pool, calls->pool_size * sizeof *calls->pool);
    uint64_t signals = signals_block();
    futex_lock(&rec->live->lock);
    calls->next_free = rec->live->free_stacks;
    rec->live->free_stacks = calls;
    futex_unlock(&rec->live->lock);
    signals_restore(signals);
}

int calls_grow(struct calls *calls)
{
    if (calls->capacity >= CALLS_DEPTH_MAX)
        return -1;
    size_t size = calls->mapped ? calls->mapped * 2 : 4096;
    void *map = sys_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_is_error(map))
        return -1;
    __builtin_memcpy(map, calls->frames, calls->capacity * sizeof *calls->frames);
    if (calls->mapped)
        sys_munmap(calls->frames, calls->mapped);
    calls->frames = map;
    calls->mapped = size;
    calls->capacity = (uint32_t)(size / sizeof *calls->frames);
    return 0;
}

/* As calls_place(), made if need be; NULL: no memory. */
static struct calls **make_place(struct lam_recorder *rec, uint32_t track)
{
    if (track / TRACK_CHUNK >= TRACK_CHUNKS)
        return NULL;
    uint64_t signals = signals_block();
    futex_lock(&rec->live->lock);
    void *map = rec->tracks;
    if (!map)
        map = sys_mmap(NULL, TRACK_CHUNKS * sizeof *rec->tracks, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!sys_is_error(map)) {
        __atomic_store_n(&rec->tracks, map, __ATOMIC_RELEASE);
        struct calls ***chunk = &rec->tracks[track / TRACK_CHUNK];
        map = *chunk;
        if (!map)
            map = sys_mmap(NULL, TRACK_CHUNK * sizeof **chunk, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (!sys_is_error(map))
            __atomic_store_n(chunk, map, __ATOMIC_RELEASE);
    }
    futex_unlock(&rec->live->lock);
    signals_restore(signals);
    return sys_is_error(map) ? NULL : &((struct calls **)map)[track % TRACK_CHUNK];
}

struct calls *calls_of(struct lane *lane)
{
    if (__builtin_expect(lane->calls != NULL, 1))
        return lane->calls;
    if (!lane->track) {
        if (!lane->own_calls)
            lane->own_calls = new_calls(lane->rec, 0);
        return lane->calls = lane->own_calls;
    }
    struct calls **place = calls_place(lane->rec, lane->track);
    if (!place)
        place = make_place(lane->rec, lane->track);
    if (place && !*place)
        *place = new_calls(lane->rec, lane->track);
    return lane->calls = place ? *place : NULL;
}

struct recorded {      /* of a call, one in N; weight and share 0: it is not even timed */
    uint32_t weight;   /* how many calls it stands for */
    uint8_t share;     /* how many of the direct calls of the one around */
    uint8_t is_inside; /* of another call of its function */
};

/* ---- what all policies share ---- */

/* Which policy a call that begins now is under: one bit, or 0. */
static uint32_t mode_of(struct lane *lane, struct calls *calls)
{
    struct lam_recorder *rec = lane->rec;
    if (rec->calls & LAM_CALLS_TREE)
        return LAM_CALLS_TREE;
    if (rec->calls & LAM_CALLS_AUTO) {
        if (!__atomic_load_n(&rec->live->tree_over, __ATOMIC_RELAXED) && calls->ticks-- == 0) {
            calls->ticks = BUDGET_LOOK;
            if (__atomic_load_n(&rec->stream.header->next_offset, __ATOMIC_RELAXED) >= rec->auto_bytes)
                calls_change_over(lane);
        }
        if (__atomic_load_n(&rec->live->tree_over, __ATOMIC_RELAXED)) {
            lane->quick_picks = NULL;
            return LAM_CALLS_TREE;
        }
    }
    return rec->calls & (LAM_CALLS_ONE_IN | LAM_CALLS_THRESHOLD);
}

void calls_change_over(struct lane *lane)
{
    struct lam_recorder *rec = lane->rec;
    if (__atomic_exchange_n(&rec->live->tree_over, 1, __ATOMIC_RELAXED))
        return;
    struct stream_rec_policy record = {.ticks = clock_ticks(rec->stream.use_counter),
                                       .auto_bytes = rec->auto_bytes,
                                       .tree_bytes = rec->tree_bytes,
                                       .thread = lane->thread};
    struct stream_piece piece = {&record, sizeof record};
    uint64_t signals = signals_block();
    if (!lane->changing)
        lane_append(lane, STREAM_REC_POLICY, STREAM_CALLS_AUTO | STREAM_CALLS_TREE, &piece, 1,
                    record.ticks);
    signals_restore(signals);
}

/* ---- everything ---- */

/* The event's time is read again, now that all but its first words is stored: what recording a call takes must not count with the
 * call's weight. Not where a handler has recorded behind it: slots lie in the order of their times. `more`: behind the last one. */
static void begin_late(struct lane *lane, struct slot_place *place, const struct stream_slot *more)
{
    uint64_t now = lane_now(lane), since = place->since + (now - place->time);
    HANDLER_FENCE();
    if (now <= place->time || since >> STREAM_SLOT_TIME_BITS ||
        LANE_LOAD(lane->next) != (uint64_t)(uintptr_t)more)
        return;
    place->time = now;
    place->since = since;
}

static void enter_all(struct lane *lane, const struct calls *calls, struct frame *frame)
{
    struct lam_handle handle = lane_begin_event(lane, lane->rec->call_kind, frame->label);
    frame->ref = handle.ref;
    frame->began = handle.start;
    frame->start = calls_active(calls, handle.start);
}

static struct lam_recorder *argument_of(struct lam_recorder *rec)
{
    return rec->is_default ? LAM_DEFAULT : rec;
}

static void leave_all(struct lane *lane, const struct calls *calls, const struct frame *frame)
{
    struct lam_handle handle = {frame->ref, frame->began};
    if (!frame->ref)
        return;
    if (!lane->rec->calls) {
        lam_end_event(argument_of(lane->rec), handle);
        return;
    }
    calls_tell_inside(lane, frame);
    /* Since the tree began not every switch of tracks is told: the active time is, and there is room for it with an END. */
    if (calls->track && calls_are_folded(lane->rec))
        lane_end_elsewhere(lane, handle, calls_active(calls, lane_now(lane)) - frame->start);
    else
        lane_end_event(lane, handle, lane_now(lane), UINT64_MAX);
}

/* The event of a call that a policy measures, which began at `at` (UINT64_MAX: now), with room for its self time; in a track, or where
 * the reader cannot tell the track from where it stands, with its active time. */
static struct slot_place put_measured(struct lane *lane, const struct calls *calls,
                                      struct frame *frame, uint32_t kind, uint64_t at, int with_self)
{
    /* Stored when it is long under way: it may have begun after a switch that was never told. */
    int is_astray = at != UINT64_MAX && LANE_LOAD(lane->switched_at);
    frame->has_active = calls->track || is_astray;
    uint32_t far = kind > STREAM_SLOT_KIND_MAX;
    uint32_t slots = 1 + far + (uint32_t)(with_self != 0) + frame->has_active;
    uint32_t before = lane_enter(lane);
    struct slot_place place = slot_reserve(lane, slots * (uint32_t)sizeof(struct stream_slot), at);
    if (place.slot) {
        struct stream_slot *more = place.slot + 1;
        if (far)
            slot_more(more++, kind, STREAM_SLOT_KIND, 0, 0);
        if (with_self)
            slot_more(more++, 0, STREAM_SLOT_SELF, frame->is_inside * STREAM_SELF_INSIDE, 0);
        if (frame->has_active)
            slot_more(more++, calls->track, STREAM_SLOT_ACTIVE, 0, 0);
        if (at == UINT64_MAX && frame->weight > 1)
            begin_late(lane, &place, more);
        slot_store(&place, frame->label, far ? STREAM_SLOT_KIND_ELSEWHERE : kind, 0);
    }
    lane_leave(lane, before);
    return place;
}

/* ---- what recording takes ----
 * A call that is recorded for N, and what it calls directly, takes longer for it than others do, and would count with that N times.
 * So what recording took is measured, by readings of the clock around it, and left out of the times of all calls around: `spent` of
 * the stack is what has been left out so far. Around a call that stands for itself and is in no other that stands for more, it is
 * the readings alone: the rest is time that passed, and once. */

enum { CLOCK_READINGS = 15 };

/* The median of some. */
static __attribute__((noinline)) uint64_t measure_clock(struct lane *lane)
{
    uint32_t took[CLOCK_READINGS];
    uint64_t before = lane_now(lane);
    for (uint32_t count = 0; count < CLOCK_READINGS; count++) {
        uint64_t now = lane_now(lane);
        uint32_t at = count, one = now - before < UINT32_MAX / 2 ? (uint32_t)(now - before) : 0;
        for (; at > 0 && took[at - 1] > one; at--)
            took[at] = took[at - 1];
        took[at] = one;
        before = now;
    }
    lane->clock_cost = took[CLOCK_READINGS / 2] + 1;
    if (lane->rec->measure == STREAM_MEASURE_TICKS && lane->rec->one_in > 1) {
        lane->look_every = lane->rec->time_every / 1000;
        lane->long_call = lane->rec->time_every / 10000;
    }
    return lane->clock_cost - 1;
}

/* What one reading of the clock takes. */
static inline uint64_t clock_cost(struct lane *lane)
{
    return __builtin_expect(lane->clock_cost != 0, 1) ? lane->clock_cost - 1 : measure_clock(lane);
}

/* ---- pauses ----
 * When the thread is not let run (other programs have its core) in a call that is recorded for N, that time would count N times: right
 * in the mean, but one turn of 4 ms of another program is then four seconds. So it is left out, as with clock=cpu. What a call took of its
 * own in which it did not run the kernel tells, who is asked when a call was long, and before: when one that is timed begins, or the
 * thread goes over to another track, and it was not asked for a millisecond. So a longer pause is never taken for one of another call
 * or another stack. Where the thread gave its core up by itself, meanwhile, it waited, which is part of what it does. */

static uint64_t read_clock(clockid_t clock)
{
    struct timespec ts = {0, 0};
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Not for signal handlers, as all of calls. errno stays: neither call fails. */
static __attribute__((noinline)) void look_at_thread(struct lane *lane, struct calls *calls,
                                                     uint64_t now)
{
    struct rusage usage = {.ru_nvcsw = 0};
    uint64_t wall = read_clock(CLOCK_MONOTONIC), cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
    (void)getrusage(RUSAGE_THREAD, &usage);
    uint64_t waits = (uint64_t)usage.ru_nvcsw;
    uint64_t passed = wall - lane->looked_wall, ran = cpu - lane->looked_cpu;
    if (lane->looked_at && waits == lane->looked_waits && passed > ran) {
        uint64_t ticks =
            (uint64_t)((unsigned __int128)(passed - ran) * lane->rec->tick_rate_hz / 1000000000u);
        /* Short ones are in the times of short calls, which are not asked about. */
        calls->paused += ticks > lane->long_call ? ticks : 0;
    }
    lane->looked_at = now;
    lane->looked_wall = wall;
    lane->looked_cpu = cpu;
    lane->looked_waits = waits;
}

static inline int is_to_look(const struct lane *lane, uint64_t now)
{
    return now - lane->looked_at > lane->look_every - 1;
}

/* Does what recording it takes count for more than itself? */
static int is_dear(const struct frame *frame)
{
    return frame->mode & LAM_CALLS_ONE_IN &&
           (frame->weight > 1 || (frame[-1].is_picked && frame[-1].weight > 1));
}

/* Before a call that is timed is recorded. */
static uint64_t spend_from(struct lane *lane, struct calls *calls, const struct frame *frame)
{
    (void)clock_cost(lane);
    if (!is_dear(frame))
        return 0;
    uint64_t now = lane_now(lane);
    /* Before the event's time, or it would count with the call's weight. */
    if (__builtin_expect(is_to_look(lane, now), 0))
        look_at_thread(lane, calls, now);
    return now;
}

/* ... and after. from: of the above. What it took until the event's time is around the call, the rest inside of it. */
static void spent_since(struct lane *lane, struct calls *calls, struct frame *frame, uint64_t from)
{
    if (from && frame->began > from)
        calls->spent += frame->began - from;
    frame->spent = calls->spent;
    frame->start = calls_active(calls, frame->began);
    int is_late = from && frame->ref;
    if (__builtin_expect(is_to_look(lane, frame->began), 0)) {
        look_at_thread(lane, calls, frame->began);
        is_late = 1;
    }
    frame->paused = calls->paused;
    uint64_t until = is_late ? lane_now(lane) : 0;
    if (until > frame->began)
        calls->spent += until - frame->began;
}

/* With one in 1, which is how calls are recorded by a clock of the thread's, no call stands for more: nothing is left out. */
static int is_sampled(const struct lane *lane, const struct frame *frame)
{
    return frame->mode & LAM_CALLS_ONE_IN && lane->rec->one_in > 1;
}

/* What of a call's time until its end was not its own. */
static uint64_t spent_inside(struct lane *lane, const struct calls *calls, const struct frame *frame)
{
    return calls->spent - frame->spent + (is_sampled(lane, frame) ? clock_cost(lane) : 0);
}

/* Its end, at `now`, is recorded. One reading is in the call's time, one around it. */
static void spent_after(struct lane *lane, struct calls *calls, const struct frame *frame,
                        uint64_t now)
{
    if (!is_sampled(lane, frame))
        return;
    calls->spent += 2 * clock_cost(lane);
    uint64_t until = is_dear(frame) ? lane_now(lane) : now;
    if (until > now)
        calls->spent += until - now;
}

/* ---- one in N ---- */

static uint32_t draw(struct lane *lane, uint32_t below)
{
    if (!lane->random)
        lane->random = clock_counter() | 1;
    lane->random ^= lane->random << 13;
    lane->random ^= lane->random >> 7;
    lane->random ^= lane->random << 17;
    return (uint32_t)(lane->random >> 32) % below;
}

/* The first N calls of a function are recorded, each for itself; then one of every N, at a place in its block that is drawn, so
 * that no rhythm of the program's falls in with ours. Returns the weight; 0: not this one. */
static uint32_t pick(struct lane *lane, uint32_t label)
{
    uint32_t n = lane->rec->one_in;
    if (!lane->picks) {
        void *map = sys_mmap(NULL, PICK_COUNTERS * sizeof *lane->picks, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (sys_is_error(map))
            return 0;
        lane->picks = map;
        if ((lane->rec->calls & ~(uint32_t)LAM_CALLS_AUTO) == LAM_CALLS_ONE_IN &&
            lane->rec->one_in > 1)
            lane->quick_picks = lane->picks;
    }
    struct pick *pick = &lane->picks[label % PICK_COUNTERS];
    uint32_t at = pick->seen++;
    if (at < n)
        return 1;
    at -= n;
    if (at == 0) {
        pick->chosen = draw(lane, n);
    }
    if (at == n - 1)
        pick->seen = n;
    return at == pick->chosen ? n : 0;
}

/* Is a call of `label` that stands for more in another one of it? That one would count the time as well, and need not be recorded:
 * nobody else can tell. Looked for among the nearest, which are all that there are, or hold it, in nearly any program. */
static uint8_t is_inside_own(const struct calls *calls, const struct frame *top, uint32_t label)
{
    const struct frame *last = top - calls->frames > AROUND_MAX ? top - AROUND_MAX : calls->frames;
    while (top > last && (top->label != label || top->mode == FRAME_SCOPE))
        top--;
    return top > last;
}

/* Is the topmost call recorded? */
static int is_in_picked(const struct calls *calls)
{
    return calls->depth < calls->capacity && calls->frames[calls->depth].is_picked;
}

/* The self time of a recorded call is its own time without that of its direct calls. So these are timed: each at first, which is
 * all that most calls have; of a loop that makes millions one of a block, at a place that is drawn, for the whole block. One that is
 * recorded itself is timed anyway and counts for itself alone, wherever it stands: so a few long ones behind many short ones, which are
 * among the first of their function, are not missed. Of a block the drawn one counts then for those that are not recorded.
 * Returns how many calls the next one in the topmost is timed for, if it is not recorded. */
static uint8_t share_of_child(struct lane *lane, const struct calls *calls)
{
    if (!is_in_picked(calls))
        return 0;
    struct frame *around = &calls->frames[calls->depth];
    uint32_t at = around->children++;
    if (at < CHILDREN_TIMED)
        return 1;
    if (at % CHILDREN_BLOCK == 0)
        around->chosen = (uint8_t)draw(lane, CHILDREN_BLOCK);
    return at % CHILDREN_BLOCK == around->chosen ? CHILDREN_BLOCK : 0;
}

static void enter_one_in(struct lane *lane, struct calls *calls, struct frame *frame,
                         struct recorded what)
{
    uint32_t weight = what.weight;
    frame->is_picked = weight != 0;
    frame->share = what.share;
    frame->is_inside = what.is_inside;
    frame->is_timed = frame->is_picked || frame->share;
    frame->weight = weight;
    if (!frame->is_timed)
        return;
    uint64_t from = spend_from(lane, calls, frame);
    if (weight) {
        uint32_t kind = lane->rec->call_kind;
        if (weight > 1)
            kind = kind_flavor(lane->rec, kind, KIND_WEIGHTED);
        struct slot_place place = put_measured(lane, calls, frame, kind, UINT64_MAX, 1);
        frame->ref = place.ref;
        frame->began = place.slot ? place.time : lane_now(lane);
    } else {
        frame->began = lane_now(lane);
    }
    spent_since(lane, calls, frame, from);
}

/* ---- events that bring times measured here ---- */

struct measured {
    uint64_t self; /* UINT64_MAX: as the reader finds it */
    uint64_t active;
    uint32_t track;
    uint32_t has_active;
    uint32_t spent; /* on recording, which both are without */
};

/* The values of the slots that stand there for them, or of new ones. */
static void store_measured(struct stream_slot *slot, const struct frame *frame,
                           const struct measured *measured)
{
    if (measured->self != UINT64_MAX)
        slot_more(slot++, measured->spent, STREAM_SLOT_SELF,
                  STREAM_SELF_KNOWN | frame->is_inside * STREAM_SELF_INSIDE, measured->self);
    if (measured->has_active)
        slot_more(slot, measured->track, STREAM_SLOT_ACTIVE, 1, measured->active);
}

/* In place while the page is there, else behind an END. */
static void end_measured(struct lane *lane, const struct frame *frame, uint64_t now,
                         const struct measured *measured)
{
    uint32_t before = lane_enter(lane);
    uint64_t page = LANE_LOAD(lane->page);
    uint64_t duration = now > frame->began ? now - frame->began : 0;
    HANDLER_FENCE();
    if ((frame->ref ^ LANE_LOAD(lane->page_ref)) >> LANE_SLOT_BITS == 0 &&
        duration < STREAM_SLOT_PAYLOAD_MAX) {
        uint64_t offset = (frame->ref & ((1u << LANE_SLOT_BITS) - 1)) << 4;
        struct stream_slot *slot =
            (struct stream_slot *)(page + offset); // NOLINT(performance-no-int-to-ptr)
        uint32_t far = stream_slot_code(slot) == STREAM_SLOT_KIND_ELSEWHERE;
        store_measured(slot + 1 + far, frame, measured);
        /* release: who sees the end sees the times. */
        __atomic_store_n(&slot->rest,
                         (slot->rest & 0xffff) | (duration + 1) << STREAM_SLOT_PAYLOAD_SHIFT,
                         __ATOMIC_RELEASE);
    } else {
        struct measured all = *measured;
        uint32_t has_self = all.self != UINT64_MAX;
        all.has_active |=
            has_self && all.spent; /* where the event is, there is no room to tell what was spent */
        uint32_t slots = 1 + has_self + all.has_active;
        struct slot_place place =
            slot_reserve(lane, slots * (uint32_t)sizeof(struct stream_slot), UINT64_MAX);
        if (place.slot) {
            store_measured(place.slot + 1, frame, &all);
            slot_store(&place, ref_lane(frame->ref), STREAM_SLOT_END, ref_on_disk(frame->ref));
        }
    }
    lane_leave(lane, before);
}

/* The call was long: it, and all around it, is without what of its own time was a pause. */
static __attribute__((noinline)) struct measured without_pause(struct lane *lane, struct calls *calls,
                                                               const struct frame *frame,
                                                               uint64_t now, struct measured measured)
{
    look_at_thread(lane, calls, now);
    uint64_t paused = calls->paused - frame->paused;
    if (paused >> 63) /* calls inside are without more than there was since */
        return measured;
    paused = paused < measured.self ? paused : measured.self;
    calls->spent += paused;
    calls->paused -= paused;
    uint64_t spent = measured.spent + paused;
    measured.spent = spent < UINT32_MAX ? (uint32_t)spent : UINT32_MAX;
    measured.self -= paused;
    measured.active -= paused;
    return measured;
}

/* Of a call that is timed, which ends now. */
static struct measured measure_call(struct lane *lane, const struct calls *calls,
                                    const struct frame *frame, uint64_t now)
{
    uint64_t active = calls_active(calls, now) - frame->start;
    uint64_t spent = spent_inside(lane, calls, frame);
    active = active > spent ? active - spent : 0;
    return (struct measured){
        .self = active > frame->inner ? active - frame->inner : 0,
        .active = active,
        .track = calls->track,
        .has_active = frame->has_active,
        .spent = spent < UINT32_MAX ? (uint32_t)spent : UINT32_MAX,
    };
}

static inline int is_long(const struct lane *lane, const struct measured *measured)
{
    return measured->self > lane->long_call - 1;
}

static void leave_one_in(struct lane *lane, struct calls *calls, struct frame *frame)
{
    if (!frame->is_timed)
        return;
    uint64_t now = lane_now(lane);
    struct measured measured = measure_call(lane, calls, frame, now);
    if (__builtin_expect(is_long(lane, &measured), 0))
        measured = without_pause(lane, calls, frame, now, measured);
    if (frame->share)
        frame[-1].inner += measured.active * frame->share;
    if (frame->ref) {
        calls_tell_inside(lane, frame);
        end_measured(lane, frame, now, &measured);
    }
    spent_after(lane, calls, frame, now);
}

/* ---- only long ones ---- */

void calls_write_open(struct lane *lane, struct calls *calls, struct frame *frame)
{
    struct frame *at = frame;
    while (at > calls->frames && !(at->ref && at->mode & LAM_CALLS_THRESHOLD))
        at--;
    for (at++; at <= frame; at++) {
        if (at == calls->frames || !(at->mode & LAM_CALLS_THRESHOLD) || !at->is_picked || at->ref)
            continue;
        uint32_t is_weighted = at->weight > 1;
        uint32_t kind = kind_flavor(lane->rec, lane->rec->call_kind,
                                    is_weighted ? KIND_PAST_WEIGHTED : KIND_PAST);
        at->ref = put_measured(lane, calls, at, kind, at->began, (int)is_weighted).ref;
    }
}

/* Can an event be stored now that may be taken back? Not where it would bring a switch of tracks with it that is left out, or
 * where there was no room just now. */
static int is_room_for_call(const struct lane *lane)
{
    uint64_t limit = LANE_LOAD(lane->limit);
    if (LANE_LOAD(lane->next) + 4 * sizeof(struct stream_slot) <= limit)
        return 1;
    return !lane->retry_ticks && (limit || !LANE_LOAD(lane->page));
}

/* It has its event from the beginning, so that it is seen as open if nothing more is heard; a short one's is taken back. */
static void enter_threshold(struct lane *lane, struct calls *calls, struct frame *frame)
{
    frame->weight = frame->mode & LAM_CALLS_ONE_IN ? pick(lane, frame->label) : 1;
    frame->is_picked = frame->weight != 0;
    frame->is_timed = frame->is_picked || frame[-1].is_picked;
    if (!frame->is_timed)
        return;
    if (frame->weight > 1)
        frame->is_inside = is_inside_own(calls, frame - 1, frame->label);
    struct slot_place place = {NULL, 0, 0, 0};
    uint64_t from = frame->mode & LAM_CALLS_ONE_IN ? spend_from(lane, calls, frame) : 0;
    if (frame->is_picked && is_room_for_call(lane)) {
        uint32_t kind = lane->rec->call_kind;
        if (frame->weight > 1)
            kind = kind_flavor(lane->rec, kind, KIND_WEIGHTED);
        place = put_measured(lane, calls, frame, kind, UINT64_MAX, frame->weight > 1);
    }
    frame->ref = place.ref;
    frame->began = place.slot ? place.time : lane_now(lane);
    if (frame->mode & LAM_CALLS_ONE_IN) {
        spent_since(lane, calls, frame, from);
    } else {
        frame->spent = calls->spent;
        frame->start = calls_active(calls, frame->began);
    }
    /* One that is long already and has none gets it now. */
    struct frame *outer = calls_around(calls, frame);
    if (outer > calls->frames && !outer->ref && frame->start - outer->start >= lane->rec->threshold)
        calls_write_open(lane, calls, outer);
}

/* Empties the slots of a call's event and, if nothing was stored behind them, gives them back. 0: its page was left, or something
 * refers to it: it stays. */
static int take_back(struct lane *lane, const struct frame *frame)
{
    int rc = 0;
    uint32_t before = lane_enter(lane);
    uint64_t page = LANE_LOAD(lane->page);
    HANDLER_FENCE();
    if (!frame->is_kept && (frame->ref ^ LANE_LOAD(lane->page_ref)) >> LANE_SLOT_BITS == 0) {
        uint64_t at = page + ((frame->ref & ((1u << LANE_SLOT_BITS) - 1)) << 4);
        struct stream_slot *slot = (struct stream_slot *)at; // NOLINT(performance-no-int-to-ptr)
        uint32_t slots = 1 + (uint32_t)(stream_slot_code(slot) == STREAM_SLOT_KIND_ELSEWHERE) +
                         (uint32_t)(frame->weight > 1) + frame->has_active;
        uint64_t end = at + slots * sizeof *slot;
        for (uint32_t i = 0; i < slots; i++) {
            LANE_STORE(slot[i].head, 0);
            LANE_STORE(slot[i].rest, 0);
        }
        HANDLER_FENCE();
        (void)exchange_locally(&lane->next, end, at);
        rc = 1;
    }
    lane_leave(lane, before);
    return rc;
}

/* What is folded is written now and then, so that a kill loses no more than an eighth of a second of it: what lies in no call,
 * and what lies in calls and intervals that are open, up to the `depth`th: a call that is being left is folded already. */
static void write_sometimes(struct lane *lane, struct calls *calls, uint32_t depth, uint64_t now)
{
    if (calls->flushed && now - calls->flushed <= lane->rec->time_every / 8)
        return;
    if (calls->flushed) {
        depth = depth < calls->capacity ? depth : calls->capacity - 1;
        calls_write_open(lane, calls, &calls->frames[depth]);
        for (uint32_t at = 0; at <= depth; at++)
            if (calls->frames[at].folds && (at == 0 || calls->frames[at].ref))
                folds_write(lane, calls, &calls->frames[at]);
    }
    calls->flushed = now;
}

/* It is stored: long enough, or already referred to. */
static void end_long(struct lane *lane, struct calls *calls, struct frame *frame, uint64_t now,
                     struct measured *measured)
{
    if (!frame->ref)
        calls_write_open(lane, calls, frame);
    if (!frame->ref)
        return;
    folds_write(lane, calls, frame);
    calls_tell_inside(lane, frame);
    if (frame->weight <= 1)
        measured->self = UINT64_MAX;
    measured->has_active = frame->has_active;
    end_measured(lane, frame, now, measured);
}

static void end_threshold(struct lane *lane, struct calls *calls, struct frame *frame, uint64_t now)
{
    struct measured measured = measure_call(lane, calls, frame, now);
    if (__builtin_expect(is_long(lane, &measured), 0))
        measured = without_pause(lane, calls, frame, now, measured);
    if (frame[-1].is_picked)
        frame[-1].inner += measured.active;
    if (!frame->is_picked)
        return;
    if (measured.active >= lane->rec->threshold || (frame->ref && !take_back(lane, frame))) {
        end_long(lane, calls, frame, now, &measured);
        return;
    }
    struct frame *outer = calls_around(calls, frame);
    folds_move(lane, calls, frame, calls, outer);
    fold_add(lane, calls, outer, frame->label, frame->weight,
             frame->is_inside ? 0 : measured.active * frame->weight, measured.self * frame->weight);
    write_sometimes(lane, calls, (uint32_t)(frame - calls->frames) - 1, now);
}

static void leave_threshold(struct lane *lane, struct calls *calls, struct frame *frame)
{
    if (!frame->is_timed)
        return;
    uint64_t now = lane_now(lane);
    end_threshold(lane, calls, frame, now);
    spent_after(lane, calls, frame, now);
}

/* ---- the tree ---- */

static void enter_tree(struct lane *lane, struct calls *calls, struct frame *frame)
{
    frame->began = lane_now(lane);
    frame->start = calls_active(calls, frame->began);
    tree_enter(lane, calls, frame);
}

static void leave_tree(struct lane *lane, struct calls *calls, struct frame *frame)
{
    tree_leave(lane, calls, frame, calls_active(calls, lane_now(lane)));
}

/* ---- enter and exit ---- */

static void enter(struct lane *lane, struct calls *calls, uint32_t label, uint32_t mode,
                  struct recorded what)
{
    calls->busy = 1;
    HANDLER_FENCE();
    if (calls->depth + 1 >= calls->capacity && calls_grow(calls) < 0) {
        calls->depth++;
        calls->busy = 0;
        lane_count(lane, STREAM_COUNT_UNTOLD_CALLS);
        return;
    }
    struct frame *frame = &calls->frames[++calls->depth];
    *frame = (struct frame){.label = label, .mode = (uint8_t)mode};
    if (frame->mode & LAM_CALLS_TREE)
        enter_tree(lane, calls, frame);
    else if (frame->mode & LAM_CALLS_THRESHOLD)
        enter_threshold(lane, calls, frame);
    else if (frame->mode & LAM_CALLS_ONE_IN)
        enter_one_in(lane, calls, frame, what);
    else
        enter_all(lane, calls, frame);
    HANDLER_FENCE();
    calls->busy = 0;
}

/* A call that has an event, or may have: from before the tree began, if there is one. */
static void leave_event(struct lane *lane, struct calls *calls, struct frame *frame)
{
    if (calls->tree && frame->node)
        tree_leave_scope(frame, calls_active(calls, lane_now(lane)));
    if (frame->mode & LAM_CALLS_THRESHOLD)
        leave_threshold(lane, calls, frame);
    else if (frame->mode & LAM_CALLS_ONE_IN)
        leave_one_in(lane, calls, frame);
    else
        leave_all(lane, calls, frame);
}

/* The topmost frame goes: a call, or an interval that nobody has ended. */
static void leave(struct lane *lane, struct calls *calls)
{
    struct frame *frame = calls_top(calls);
    calls->busy = 1;
    HANDLER_FENCE();
    if (frame && frame->mode == FRAME_SCOPE) {
        scope_drop(lane, calls, lane_now(lane));
    } else {
        if (frame && frame->mode == LAM_CALLS_TREE)
            leave_tree(lane, calls, frame);
        else if (frame)
            leave_event(lane, calls, frame);
        calls->depth--;
    }
    scopes_drop_ended(calls);
    HANDLER_FENCE();
    calls->busy = 0;
}

/* The same for a call, one in N: its end is read from the clock as soon as can be. */
static inline void leave_sampled(struct lane *lane, struct calls *calls, struct frame *frame)
{
    calls->busy = 1;
    HANDLER_FENCE();
    leave_one_in(lane, calls, frame);
    calls->depth--;
    scopes_drop_ended(calls);
    HANDLER_FENCE();
    calls->busy = 0;
}

/* Sets mode, and is_timed, is_picked and fold_count to 0, by one store: leaving reads several of them by one load, which would have
 * to wait for several stores. */
static inline void set_mode(struct frame *frame, uint8_t mode)
{
    const uint8_t bytes[4] = {mode, 0, 0, 0};
    __builtin_memcpy((char *)frame + offsetof(struct frame, mode), bytes, sizeof bytes);
}

/* What most calls are, in a few instructions: one that is recorded by itself with the time stamp counter; or, with one in N, one
 * that is not recorded, in one that is not either. Fields of a frame that its policy does not look at keep what they had.
 * Returns 0, with nothing changed, when it is neither. */
static inline int enter_quickly(struct lane *lane, struct calls *calls, uint32_t label)
{
    const struct lam_recorder *rec = lane->rec;
    struct frame *frame = &calls->frames[calls->depth + 1];
    if (calls->depth + 1 >= calls->capacity)
        return 0;
    if (rec->calls == 0 && lane->plain && rec->call_kind - 1 < STREAM_SLOT_KIND_MAX) {
        uint32_t before = lane_enter(lane);
        struct slot_place place;
        int done = slot_try(lane, sizeof(struct stream_slot), &place);
        if (done)
            slot_store(&place, label, rec->call_kind, 0);
        lane_leave(lane, before);
        frame->ref = place.ref;
        frame->began = place.time;
        frame->label = label;
        set_mode(frame, 0);
        calls->depth += (uint32_t)done;
        return done;
    }
    if (lane->quick_picks && !frame[-1].is_picked) {
        struct pick *pick = &lane->quick_picks[label % PICK_COUNTERS];
        uint32_t at = pick->seen - rec->one_in;
        if (at - 1 >= rec->one_in - 2 || at == pick->chosen)
            return 0; /* at an end of its block, or the one */
        pick->seen++;
        calls->depth++; /* first: an interval of a handler goes on top of it */
        HANDLER_FENCE();
        frame->ref = 0;
        frame->label = label;
        set_mode(frame, LAM_CALLS_ONE_IN);
        return 1;
    }
    return 0;
}

static void enter_by_label(struct lane *lane, struct calls *calls, uint32_t label)
{
    uint32_t mode = mode_of(lane, calls);
    struct recorded what = {0, 0, 0};
    if (mode == LAM_CALLS_ONE_IN) {
        what.weight = pick(lane, label);
        what.share = share_of_child(lane, calls);
        if (what.weight && is_in_picked(calls))
            what.share = 1;
        if (what.weight > 1 && calls->depth < calls->capacity)
            what.is_inside = is_inside_own(calls, &calls->frames[calls->depth], label);
    }
    enter(lane, calls, label, mode, what);
}

static inline int leave_quickly(struct lane *lane, struct calls *calls, uint32_t label)
{
    if (calls->depth - 1 >= calls->capacity - 1) /* none, or one without a frame */
        return 0;
    const struct frame *frame = &calls->frames[calls->depth];
    if (frame->label != label)
        return 0;
    if (frame->mode == 0 && !lane->rec->calls)
        leave_all(lane, calls, frame);
    else if (frame->mode != LAM_CALLS_ONE_IN || frame->is_timed)
        return 0;
    calls->depth--;
    return 1;
}

void lam_call_enter_event(struct lam_recorder *rec, uint32_t label)
{
    struct lane *lane = lane_of(rec);
    if (__builtin_expect(lane && lane->calls && enter_quickly(lane, lane->calls, label), 1))
        return;
    struct calls *calls = lane && lane->rec->call_kind ? calls_of(lane) : NULL;
    if (calls)
        enter_by_label(lane, calls, label);
}

/* As pick(), with the counters in the host's hands. How many calls come before the next one that is recorded is known as soon
 * as the one before it is. */
static uint32_t pick_callee(struct lane *lane, struct lam_callee *callee)
{
    uint32_t n = lane->rec->one_in, rest = 0, is_first = callee->seen < n;
    if (is_first && ++callee->seen < n)
        return 1;
    if (is_first && n > 1)
        callee->seen = UINT32_MAX;   /* lam_callee_is_sampled() */
    if (!is_first && callee->skip) { /* asked only since the call around it is recorded */
        callee->skip--;
        return 0;
    }
    if (!is_first)
        rest = n - 1 - callee->chosen;
    callee->chosen = draw(lane, n);
    callee->skip = rest + callee->chosen;
    return is_first ? 1 : n;
}

/* Out of how many the nth that is timed was chosen. The more there were, the less one of them matters. */
static uint8_t block_of_timed(uint32_t n)
{
    return n < CHILDREN_TIMED       ? 1
           : n < 2 * CHILDREN_TIMED ? CHILDREN_BLOCK
           : n < 4 * CHILDREN_TIMED ? CHILDREN_BLOCK * 2
           : n < 8 * CHILDREN_TIMED ? CHILDREN_BLOCK * 4
                                    : CHILDREN_BLOCK * 8;
}

/* As share_of_child(), for a call in `around` that is told since its turn has come. The host counts down to the next one. */
static uint8_t share_of_callee(struct lane *lane, const struct calls *calls,
                               struct lam_open_call *around)
{
    around->handle.start = 1;
    if (!is_in_picked(calls))
        return 0;
    uint32_t before = calls->frames[calls->depth].children++;
    uint8_t block = block_of_timed(before);
    if (before + 1 < CHILDREN_TIMED)
        return 1;
    uint64_t rest = block == 1 ? 0 : block - 1 - around->handle.ref;
    around->handle.ref = draw(lane, block_of_timed(before + 1)); /* its place in the next block */
    around->handle.start = rest + around->handle.ref + 1;
    return (uint8_t)block; /* at most 64 */
}

static __attribute__((noinline)) void enter_callee(struct lane *lane, struct lam_callee *callee,
                                                   struct lam_open_call *around,
                                                   struct lam_open_call *call)
{
    struct calls *calls = lane->rec->call_kind ? calls_of(lane) : NULL;
    uint32_t is_inside = (call->told & LAM_TOLD_INSIDE) != 0;
    call->told = 0;
    if (!calls)
        return;
    if ((lane->rec->calls & ~(uint32_t)LAM_CALLS_AUTO) != LAM_CALLS_ONE_IN ||
        mode_of(lane, calls) != LAM_CALLS_ONE_IN) {
        callee->skip = 0;
        enter_by_label(lane, calls, callee->label);
        call->told = LAM_TOLD_CALL;
        return;
    }
    struct recorded what = {.weight = pick_callee(lane, callee)};
    if (around->told & LAM_TOLD_RECORDED && !around->handle.start)
        what.share = share_of_callee(lane, calls, around);
    if (around->told & LAM_TOLD_RECORDED && what.weight && is_in_picked(calls))
        what.share = 1;
    what.is_inside = what.weight > 1 && is_inside;
    if (!what.weight && !what.share)
        return;
    enter(lane, calls, callee->label, LAM_CALLS_ONE_IN, what);
    call->told = LAM_TOLD_CALL;
    if (what.weight) {
        call->told |= LAM_TOLD_RECORDED;
        call->handle = (struct lam_handle){0, 1};
    }
}

/* Every call, the long way. */
static __attribute__((noinline)) void begin_callee(struct lane *lane, struct lam_open_call *call)
{
    call->handle = lane_begin_event(lane, lane->rec->call_kind, call->label);
    call->told = call->handle.ref ? LAM_TOLD_HANDLE : 0;
}

void lam_callee_enter_event(struct lam_recorder *rec, struct lam_callee *callee,
                            struct lam_open_call *around, struct lam_open_call *call)
{
    struct lane *lane = lane_of(rec);
    if (__builtin_expect(!lane || !call->label, 0)) {
        call->told = 0;
        return;
    }
    const struct lam_recorder *own = lane->rec;
    if (__builtin_expect(own->calls != 0 || !own->call_kind, 0)) {
        enter_callee(lane, callee, around, call);
        return;
    }
    if (__builtin_expect(!lane->plain || own->call_kind > STREAM_SLOT_KIND_MAX, 0)) {
        begin_callee(lane, call);
        return;
    }
    struct slot_place place;
    uint32_t before = lane_enter(lane);
    int done = slot_try(lane, sizeof(struct stream_slot), &place);
    if (__builtin_expect(done, 1))
        slot_store(&place, call->label, own->call_kind, 0);
    lane_leave(lane, before);
    if (__builtin_expect(!done, 0)) {
        begin_callee(lane, call);
        return;
    }
    call->handle = (struct lam_handle){place.ref, place.time};
    call->told = LAM_TOLD_HANDLE;
}

/* Depth of the innermost call of that label; 0: there is none. */
static uint32_t find_call(const struct calls *calls, uint32_t label)
{
    uint32_t depth = calls->depth < calls->capacity ? calls->depth : calls->capacity - 1;
    while (depth && (calls->frames[depth].label != label || calls->frames[depth].mode == FRAME_SCOPE))
        depth--;
    return depth;
}

void lam_call_exit_event(struct lam_recorder *rec, uint32_t label)
{
    struct lane *lane = lane_of(rec);
    if (__builtin_expect(lane && lane->calls && leave_quickly(lane, lane->calls, label), 1))
        return;
    struct calls *calls = lane && lane->rec->call_kind ? calls_of(lane) : NULL;
    if (!calls)
        return;
    struct frame *top = calls_top(calls);
    if (__builtin_expect(!top || top->label != label || top->mode == FRAME_SCOPE || !calls->depth, 0)) {
        /* Above the frames there is no telling which call it is: the innermost. */
        uint32_t depth = top ? find_call(calls, label) : calls->depth;
        if (!depth) {
            lane_count(lane, STREAM_COUNT_UNBALANCED_EXITS);
            return;
        }
        for (; calls->depth > depth; leave(lane, calls)) {
            const struct frame *frame = calls_top(calls);
            if (!frame || frame->mode != FRAME_SCOPE)
                lane_count(lane, STREAM_COUNT_UNBALANCED_EXITS);
        }
    }
    if (top && top->mode == LAM_CALLS_ONE_IN && !calls->tree)
        leave_sampled(lane, calls, top);
    else
        leave(lane, calls);
}

uint32_t lam_call_depth(struct lam_recorder *rec)
{
    struct lane *lane = lam_is_off(rec) ? NULL : lane_of(rec);
    struct calls *calls = lane && lane->rec->call_kind ? calls_of(lane) : NULL;
    return calls ? calls->depth - calls->scopes : 0;
}

void lam_call_unwind(struct lam_recorder *rec, uint32_t depth)
{
    struct lane *lane = lam_is_off(rec) ? NULL : lane_of(rec);
    struct calls *calls = lane && lane->rec->call_kind ? calls_of(lane) : NULL;
    while (calls && calls->depth - calls->scopes > depth)
        leave(lane, calls);
}

/* ---- threads and tracks ---- */

/* What a track folded into no call becomes the thread's, to be told once for all of its tracks. Returns the thread's stack. */
static struct calls *gather_loose(struct lane *lane, struct calls *from)
{
    if (!lane->own_calls)
        lane->own_calls = new_calls(lane->rec, 0);
    struct calls *own = lane->own_calls;
    if (own && from && from != own)
        folds_move(lane, from, from->frames, own, own->frames);
    return own;
}

void calls_write_loose(struct lane *lane)
{
    if (!lane->calls && !lane->own_calls)
        return;
    struct calls *own = gather_loose(lane, lane->calls);
    if (own)
        folds_write(lane, own, own->frames);
}

void calls_switch_track(struct lane *lane, struct calls *next, uint64_t now)
{
    struct calls *left = lane->calls;
    if (left && left->track) {
        struct calls *own = left->frames->folds ? gather_loose(lane, left) : NULL;
        if (own)
            write_sometimes(lane, own, own->depth, now);
        left->left_at = now;
        tree_pause(left, now);
    }
    if (left && is_to_look(lane, now))
        look_at_thread(lane, left, now);
    lane->calls = next;
    if (next && next->left_at) {
        /* What threads count goes on from where another one's was, larger or smaller: by wrapping. A time that lags does not. */
        if (now > next->left_at || lane->rec->measure)
            next->away += now - next->left_at;
        next->left_at = 0;
        tree_resume(next);
    }
}

void calls_end_track(struct lane *lane, uint32_t track)
{
    struct calls **place = track ? calls_place(lane->rec, track) : NULL;
    if (!place || !*place)
        return;
    struct calls *calls = *place;
    *place = NULL;
    free_calls(lane->rec, calls);
}

/* The process ends in an orderly way: what is folded into open calls is written, and open calls get their events. The stack
 * stays as it is, for calls that are made after this. */
void calls_tell(struct lane *lane)
{
    calls_write_loose(lane);
    struct calls *stacks[] = {lane->own_calls, lane->calls == lane->own_calls ? NULL : lane->calls};
    for (int i = 0; i < 2; i++) {
        struct calls *calls = stacks[i];
        uint32_t depth = !calls                           ? 0
                         : calls->depth < calls->capacity ? calls->depth
                                                          : calls->capacity - 1;
        if (depth)
            calls_write_open(lane, calls, &calls->frames[depth]);
        for (uint32_t at = 1; calls && at <= depth; at++)
            if (calls->frames[at].ref)
                folds_write(lane, calls, &calls->frames[at]);
    }
}

/* The thread ends, or its recording is closed: its open calls stay open in it. */
void calls_leave_thread(struct lane *lane)
{
    struct calls *own = lane->own_calls;
    if (own) {
        tree_pause(own, lane_now(lane));
        free_calls(lane->rec, own);
    }
    if (lane->calls && lane->calls != own && lane->calls->track) {
        lane->calls->left_at = lane_now(lane);
        tree_pause(lane->calls, lane->calls->left_at);
    }
    lane->own_calls = lane->calls = NULL;
    if (lane->picks)
        sys_munmap(lane->picks, PICK_COUNTERS * sizeof *lane->picks);
    lane->picks = lane->quick_picks = NULL;
    lane->clock_cost = 0; /* the lane's next thread measures anew */
    lane->look_every = lane->long_call = lane->looked_at = 0;
}
