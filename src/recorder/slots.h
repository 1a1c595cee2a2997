/* slots.h: room for an event, and its first word. The hot path: everything here is inline.
 *
 * One thread and its signal handlers use a lane. A handler may come between any two instructions, record events of its own
 * and leave the page full or exchanged for another; so the place is taken by one instruction that compares and exchanges
 * `next`, after everything that depends on the page was read. It fails when a handler recorded in between, and all is read
 * again: slots lie strictly in the order of their times.
 *
 * While `busy` is above 1, whoever exchanges the page was called by a handler that interrupted another event, which may still
 * write to the old page: it stays mapped. `busy` is saved and put back by plain stores, which are cheaper than an increment
 * and a decrement. (A handler that leaves by longjmp leaves it too high: then old pages stay mapped, and nothing else.) */
#ifndef LAMELLA_RECORDER_SLOTS_H
#define LAMELLA_RECORDER_SLOTS_H

#include "recorder/recorder_state.h"

/* Compared and exchanged in one instruction: atomic towards signal handlers on this thread, which is all there is. No lock
 * prefix: no other thread looks. */
static inline int exchange_locally(uint64_t *word, uint64_t expected, uint64_t desired)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__clang_analyzer__)
    uint8_t done;
    __asm__ volatile("cmpxchgq %3, %1"
                     : "=@ccz"(done), "+m"(*word), "+a"(expected)
                     : "r"(desired)
                     : "memory");
    return done;
#else
    return __atomic_compare_exchange_n(word, &expected, desired, 0, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
#endif
}

/* The same for a word and the one behind it, of which the second is 0; aligned to both. Returns 0, also where that is not to be had. */
static inline int exchange_pair_locally(uint64_t *words, uint64_t expected, uint64_t desired,
                                        uint64_t second)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__clang_analyzer__)
    uint8_t done;
    uint64_t zero = 0;
    __asm__ volatile("cmpxchg16b %1"
                     : "=@ccz"(done), "+m"(*(uint64_t(*)[2])words), "+a"(expected), "+d"(zero)
                     : "b"(desired), "c"(second)
                     : "memory");
    return done;
#else
    (void)words, (void)expected, (void)desired, (void)second;
    return 0;
#endif
}

/* Loads that must be done anew, and in this order, as a handler sees them. */
#define LANE_LOAD(field)         __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define LANE_STORE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define HANDLER_FENCE()          __atomic_signal_fence(__ATOMIC_SEQ_CST)

static inline uint32_t lane_enter(struct lane *lane)
{
    uint32_t before = LANE_LOAD(lane->busy);
    LANE_STORE(lane->busy, before + 1);
    HANDLER_FENCE();
    return before;
}

static inline void lane_leave(struct lane *lane, uint32_t before)
{
    HANDLER_FENCE();
    LANE_STORE(lane->busy, before);
}

static inline uint64_t lane_now(struct lane *lane)
{
    return __builtin_expect(lane->clock == 0, 1) ? clock_counter() : lane_other_clock(lane);
}

struct slot_place {
    struct stream_slot *slot; /* NULL: no room (counted) */
    uint64_t ref;
    uint64_t time;  /* in the recorder's clock */
    uint64_t since; /* the same, relative to the page's base */
};

/* Takes `size` bytes. at: when it happened; UINT64_MAX: now. Between lane_enter() and lane_leave(). */
static inline struct slot_place slot_reserve(struct lane *lane, uint32_t size, uint64_t at)
{
    for (;;) {
        uint64_t next = LANE_LOAD(lane->next);
        HANDLER_FENCE();
        struct slot_place place = {(struct stream_slot *)next, 0, 0,
                                   0}; // NOLINT(performance-no-int-to-ptr)
        place.time = at == UINT64_MAX ? lane_now(lane) : at;
        place.since = place.time - lane->base;
        place.ref = lane->page_ref + ((next - lane->page) >> 4);
        if (__builtin_expect(next + size > lane->limit || place.since >> STREAM_SLOT_TIME_BITS, 0)) {
            int rc = lane_make_room(lane, size, place.time, at != UINT64_MAX);
            if (rc < 0)
                return (struct slot_place){NULL, 0, 0, 0};
            if (rc > 0) /* the clock lags: now is the base */
                at = lane->base;
            continue;
        }
        if (__builtin_expect(exchange_locally(&lane->next, next, next + size), 1))
            return place;
    }
}

/* The lane goes over to a track; the next event tells. now: LANE_TIME_OF_EVENT: at that event's time, before which nothing was on
 * that track or the one before. */
#define LANE_TIME_OF_EVENT UINT64_MAX
static inline void lane_set_track(struct lane *lane, uint32_t track, uint64_t now)
{
    LANE_STORE(lane->switched_at, now);
    /* The track before the limit: a handler that tells the switch tells the right one. */
    LANE_STORE(lane->track, track);
    HANDLER_FENCE();
    LANE_STORE(lane->limit, 0);
}

/* One try of slot_reserve() with the time stamp counter: 0 when a handler came in between, or the page has no room, or the time
 * does not fit its base. */
static inline int slot_try(struct lane *lane, uint32_t size, struct slot_place *place)
{
    uint64_t next = LANE_LOAD(lane->next);
    HANDLER_FENCE();
    place->time = clock_counter();
    place->since = place->time - lane->base;
    place->ref = lane->page_ref + ((next - lane->page) >> 4);
    place->slot = (struct stream_slot *)next; // NOLINT(performance-no-int-to-ptr)
    if (__builtin_expect(next + size > lane->limit || place->since >> STREAM_SLOT_TIME_BITS, 0))
        return 0;
    return exchange_locally(&lane->next, next, next + size);
}

/* Stores an event's words. release: the first word makes the slot count; a reader of the live file that sees it sees the
 * rest, as does one that reads what a kill left. */
static inline void slot_store(const struct slot_place *place, uint32_t id, uint32_t code,
                              uint64_t payload)
{
    LANE_STORE(place->slot->rest, stream_slot_rest(place->since, payload));
    __atomic_store_n(&place->slot->head, stream_slot_head(id, code, place->since), __ATOMIC_RELEASE);
}

/* One slot, now. Returns LAM_OK or LAM_E_FULL. */
static inline int slot_put(struct lane *lane, uint32_t id, uint32_t code, uint64_t payload)
{
    uint32_t before = lane_enter(lane);
    struct slot_place place = slot_reserve(lane, sizeof(struct stream_slot), UINT64_MAX);
    if (place.slot)
        slot_store(&place, id, code, payload);
    lane_leave(lane, before);
    return place.slot ? LAM_OK : LAM_E_FULL;
}

/* What stands behind an event in the same page; stored before it. */
static inline void slot_more(struct stream_slot *slot, uint32_t id, uint32_t code, uint32_t bits,
                             uint64_t value)
{
    LANE_STORE(slot->rest, value);
    LANE_STORE(slot->head, stream_slot_head(id, code, bits));
}

/* A reference on disk: which slot of which page of its lane. */
static inline uint64_t ref_on_disk(uint64_t ref)
{
    uint64_t sequence = ref >> LANE_SLOT_BITS & ((1u << LANE_SEQUENCE_BITS) - 1);
    return sequence << 16 | (ref & ((1u << LANE_SLOT_BITS) - 1));
}

static inline uint32_t ref_lane(uint64_t ref)
{
    return (uint32_t)(ref >> (LANE_SEQUENCE_BITS + LANE_SLOT_BITS));
}

#endif
