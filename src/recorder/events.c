/* events.c: the functions that record. */
#include "recorder/slots.h"

#include "core/bytes.h"

__thread struct thread_state thread_state __attribute__((tls_model("initial-exec")));
uint32_t lam_on;

/* ---- counters beside the clock ---- */

static struct stream_slot *store_counters(struct lane *lane, struct stream_slot *slot)
{
    for (uint32_t i = 0; i < lane->counters; i++)
        slot_more(slot++, i + 1, STREAM_SLOT_COUNTER, 0, counter_read(&lane->counter[i]));
    return slot;
}

/* The values at the start, in the slots behind the event, become differences. A handle of nowhere may name any slot of the page:
 * what lies behind the last one that was taken is not looked at. */
static void settle_counters(struct lane *lane, struct stream_slot *slot)
{
    const struct stream_slot *end =
        (const struct stream_slot *)LANE_LOAD(lane->next); // NOLINT(performance-no-int-to-ptr)
    if (slot < end && stream_slot_code(slot) == STREAM_SLOT_KIND)
        slot++;
    for (uint32_t i = 0; i < lane->counters; i++, slot++) {
        if (slot >= end || stream_slot_code(slot) != STREAM_SLOT_COUNTER)
            return;
        uint64_t value = counter_read(&lane->counter[i]);
        slot_more(slot, i + 1, STREAM_SLOT_COUNTER, 1, value - slot->rest);
    }
}

/* ---- events of more than one slot ---- */

/* What follows an event: nothing, or `fill` slots that `fill` writes. */
struct tail {
    uint32_t slots;
    struct stream_slot *(*fill)(struct stream_slot *slot, const void *what);
    const void *what;
};

/* An event whose kind has a large number, with counters, with arguments or a wide value. */
static struct slot_place put_wide(struct lane *lane, uint32_t kind, uint32_t id, uint64_t payload,
                                  uint64_t at, uint32_t counters, const struct tail *tail)
{
    uint32_t far = kind > STREAM_SLOT_KIND_MAX;
    uint32_t slots = 1 + far + counters + (tail ? tail->slots : 0);
    struct slot_place place = slot_reserve(lane, slots * (uint32_t)sizeof(struct stream_slot), at);
    if (!place.slot)
        return place;
    struct stream_slot *more = place.slot + 1;
    if (far)
        slot_more(more++, kind, STREAM_SLOT_KIND, 0, 0);
    if (counters)
        more = store_counters(lane, more);
    if (tail && tail->fill)
        tail->fill(more, tail->what);
    slot_store(&place, id, far ? STREAM_SLOT_KIND_ELSEWHERE : kind, payload);
    return place;
}

static inline int is_simple(const struct lane *lane, uint32_t kind)
{
    return kind <= STREAM_SLOT_KIND_MAX && !lane->counters;
}

static inline struct lam_handle begin(struct lane *lane, uint32_t kind, uint32_t id)
{
    struct slot_place place;
    uint32_t before = lane_enter(lane);
    if (is_simple(lane, kind)) {
        place = slot_reserve(lane, sizeof(struct stream_slot), UINT64_MAX);
        if (__builtin_expect(place.slot != NULL, 1))
            slot_store(&place, id, kind, 0);
    } else {
        place = put_wide(lane, kind, id, 0, UINT64_MAX, lane->counters, NULL);
    }
    lane_leave(lane, before);
    return (struct lam_handle){place.ref, place.time};
}

struct lam_handle lane_begin_event(struct lane *lane, uint32_t kind, uint32_t id)
{
    return begin(lane, kind, id);
}

/* What follows the slot of an interval among calls that are recorded by a policy: in a track room for its active time, in a call of
 * the tree the call's node, and the rest. */
struct among_calls {
    uint32_t track, node, lane;
    const struct tail *tail;
};

static struct stream_slot *fill_among_calls(struct stream_slot *slot, const void *what)
{
    const struct among_calls *in = what;
    if (in->track)
        slot_more(slot++, in->track, STREAM_SLOT_ACTIVE, 0, 0);
    if (in->node)
        slot_more(slot++, in->node, STREAM_SLOT_NODE, 0, in->lane);
    return in->tail ? in->tail->fill(slot, in->tail->what) : slot;
}

/* One that calls and other intervals may be inside of. */
static struct lam_handle begin_nested(struct lane *lane, uint32_t kind, uint32_t id,
                                      const struct tail *tail)
{
    if (!lane->rec->calls && !tail)
        return begin(lane, kind, id);
    struct among_calls in = {.tail = tail};
    if (lane->rec->calls) {
        in.node = scope_node_around(lane, &in.lane);
        in.track = lane->track;
    }
    struct tail with = {(in.track ? 1u : 0) + (in.node ? 1u : 0) + (tail ? tail->slots : 0),
                        fill_among_calls, &in};
    uint32_t before = lane_enter(lane);
    struct slot_place place = put_wide(lane, kind, id, 0, UINT64_MAX, lane->counters, &with);
    lane_leave(lane, before);
    if (place.slot && lane->rec->calls)
        scope_enter(lane, place.ref, place.time, kind, id);
    return (struct lam_handle){place.ref, place.time};
}

/* ---- the fast paths ----
 * One try of what begin() and lam_end_event_slowly() do, with nothing in them that calls a function: no registers are saved. What
 * does not fit (no lane yet, another recorder, a full page, another clock) is done again the long way. */

/* The default recorder's lane, with the time stamp counter as clock and no counters; or NULL. */
static inline struct lane *plain_lane(const struct lam_recorder *rec)
{
    struct lane *lane = thread_state.main;
    uint32_t on = __atomic_load_n(&lam_on, __ATOMIC_RELAXED);
    if (__builtin_expect(rec || !lane, 0))
        return NULL;
    return __builtin_expect(lane->plain == on && on, 1) ? lane : NULL;
}

static __attribute__((noinline)) struct lam_handle begin_slowly(struct lam_recorder *rec,
                                                                uint32_t kind, uint32_t id)
{
    struct lane *lane = kind ? lane_of(rec) : NULL;
    return lane ? begin_nested(lane, kind, id, NULL) : lam_no_handle();
}

struct lam_handle lam_begin_event(struct lam_recorder *rec, uint32_t kind, uint32_t id)
{
    struct lane *lane = plain_lane(rec);
    if (__builtin_expect(!lane || kind - 1 >= STREAM_SLOT_KIND_MAX, 0))
        return begin_slowly(rec, kind, id);
    uint32_t before = lane_enter(lane);
    struct slot_place place;
    int done = slot_try(lane, sizeof(struct stream_slot), &place);
    if (__builtin_expect(done, 1))
        slot_store(&place, id, kind, 0);
    lane_leave(lane, before);
    if (__builtin_expect(!done, 0))
        return begin_slowly(rec, kind, id);
    return (struct lam_handle){place.ref, place.time};
}

struct lam_handle lam_begin_detached_event(struct lam_recorder *rec, uint32_t kind, uint32_t id)
{
    struct lane *lane = kind ? lane_of(rec) : NULL;
    if (!lane)
        return lam_no_handle();
    kind = kind_flavor(lane->rec, kind, KIND_DETACHED);
    return kind ? begin(lane, kind, id) : lam_no_handle();
}

/* ---- ends ---- */

static int is_of_this_process(const struct lam_recorder *rec, uint32_t number)
{
    return number && number >= rec->live->first_lane &&
           number <= __atomic_load_n(&rec->lane_numbers, __ATOMIC_RELAXED);
}

int lane_end_elsewhere(struct lane *lane, struct lam_handle handle, uint64_t active)
{
    uint32_t of = ref_lane(handle.ref);
    if (!is_of_this_process(lane->rec, of)) {
        lane_count(lane, STREAM_COUNT_FOREIGN_ENDS);
        return LAM_E_INVAL;
    }
    uint32_t before = lane_enter(lane);
    uint32_t slots = 1 + lane->counters + (active != UINT64_MAX);
    struct slot_place place =
        slot_reserve(lane, slots * (uint32_t)sizeof(struct stream_slot), UINT64_MAX);
    if (place.slot) {
        struct stream_slot *more = store_counters(lane, place.slot + 1);
        if (active != UINT64_MAX)
            slot_more(more, lane->track, STREAM_SLOT_ACTIVE, 1, active);
        slot_store(&place, of, STREAM_SLOT_END, ref_on_disk(handle.ref));
    }
    lane_leave(lane, before);
    return place.slot ? LAM_OK : LAM_E_FULL;
}

static inline int is_in_page(struct lane *lane, uint64_t ref)
{
    return (ref ^ LANE_LOAD(lane->page_ref)) >> LANE_SLOT_BITS == 0;
}

/* The active time, in the slot for it behind the event, if there is one. */
static void settle_active(struct lane *lane, struct stream_slot *slot, uint64_t active)
{
    const struct stream_slot *end =
        (const struct stream_slot *)LANE_LOAD(lane->next); // NOLINT(performance-no-int-to-ptr)
    for (; slot < end; slot++) {
        uint32_t code = stream_slot_code(slot);
        if (code < STREAM_SLOT_KIND || code >= STREAM_SLOT_KIND_MIN)
            return;
        if (code == STREAM_SLOT_ACTIVE) {
            slot_more(slot, stream_slot_id(slot), STREAM_SLOT_ACTIVE, 1, active);
            return;
        }
    }
}

/* The slot is in the lane's page, or `page` is not what it was and the reference tells: `page` is read before page_ref, both
 * while busy, so when the two references agree `page` is mapped and the right one. */
static inline int end_in_place(struct lane *lane, uint64_t page, struct lam_handle handle,
                               uint64_t now, uint64_t active)
{
    uint64_t offset = (handle.ref & ((1u << LANE_SLOT_BITS) - 1)) << 4;
    struct stream_slot *slot =
        (struct stream_slot *)(page + offset); // NOLINT(performance-no-int-to-ptr)
    uint64_t duration = now - handle.start;
    if (__builtin_expect(duration >= STREAM_SLOT_PAYLOAD_MAX, 0)) {
        if (now >= handle.start)
            return 1; /* as long as that: an END slot tells it */
        lane_count(lane, STREAM_COUNT_CLAMPED_TIMES);
        duration = 0;
    }
    /* Of a page of this size there is no such slot: a handle of nowhere. */
    uint64_t rest = offset - STREAM_PAGE_HEADER_BYTES < lane->size - STREAM_PAGE_HEADER_BYTES
                        ? LANE_LOAD(slot->rest)
                        : UINT64_MAX;
    if (__builtin_expect(rest >> STREAM_SLOT_PAYLOAD_SHIFT != 0, 0)) {
        lane_count(lane, STREAM_COUNT_REPEATED_ENDS);
        return LAM_E_INVAL;
    }
    if (__builtin_expect(lane->counters != 0, 0))
        settle_counters(lane, slot + 1);
    if (__builtin_expect(active != UINT64_MAX, 0))
        settle_active(lane, slot + 1, active);
    /* release: who sees the end sees the counters and the active time. */
    __atomic_store_n(&slot->rest, rest | (duration + 1) << STREAM_SLOT_PAYLOAD_SHIFT,
                     __ATOMIC_RELEASE);
    return LAM_OK;
}

int lane_end_event(struct lane *lane, struct lam_handle handle, uint64_t now, uint64_t active)
{
    uint32_t before = lane_enter(lane);
    uint64_t page = LANE_LOAD(lane->page);
    HANDLER_FENCE();
    int rc = 1;
    if (is_in_page(lane, handle.ref))
        rc = end_in_place(lane, page, handle, now, active);
    lane_leave(lane, before);
    return rc <= 0 ? rc : lane_end_elsewhere(lane, handle, active);
}

static __attribute__((noinline)) int end_slowly(struct lam_recorder *rec, struct lam_handle handle)
{
    struct lane *lane = lane_of(rec);
    if (!lane)
        return LAM_E_CLOSED;
    uint64_t now = lane_now(lane);
    uint64_t active = lane->rec->calls ? scope_leave(lane, handle.ref, now) : UINT64_MAX;
    return lane_end_event(lane, handle, now, active);
}

/* As end_in_place(), or nothing. */
int lam_end_event(struct lam_recorder *rec, struct lam_handle handle)
{
    struct lane *lane = plain_lane(rec);
    if (__builtin_expect(!lane, 0))
        return end_slowly(rec, handle);
    uint64_t duration = clock_counter() - handle.start;
    uint64_t offset = (handle.ref & ((1u << LANE_SLOT_BITS) - 1)) << 4;
    int done = 0;
    uint32_t before = lane_enter(lane);
    uint64_t page = LANE_LOAD(lane->page);
    HANDLER_FENCE();
    if (__builtin_expect(is_in_page(lane, handle.ref) && duration < STREAM_SLOT_PAYLOAD_MAX &&
                             offset - STREAM_PAGE_HEADER_BYTES < lane->size - STREAM_PAGE_HEADER_BYTES,
                         1)) {
        struct stream_slot *slot =
            (struct stream_slot *)(page + offset); // NOLINT(performance-no-int-to-ptr)
        uint64_t rest = LANE_LOAD(slot->rest);
        done = rest >> STREAM_SLOT_PAYLOAD_SHIFT == 0;
        if (__builtin_expect(done, 1))
            LANE_STORE(slot->rest, rest | (duration + 1) << STREAM_SLOT_PAYLOAD_SHIFT);
    }
    lane_leave(lane, before);
    return __builtin_expect(done, 1) ? LAM_OK : end_slowly(rec, handle);
}

int lam_pause_event(struct lam_recorder *rec, struct lam_handle handle, int resume)
{
    struct lane *lane = lane_of(rec);
    if (!lane)
        return LAM_E_CLOSED;
    uint32_t of = ref_lane(handle.ref);
    if (!is_of_this_process(lane->rec, of)) {
        lane_count(lane, STREAM_COUNT_FOREIGN_ENDS);
        return LAM_E_INVAL;
    }
    return slot_put(lane, of, resume ? STREAM_SLOT_RESUME : STREAM_SLOT_PAUSE,
                    ref_on_disk(handle.ref));
}

/* ---- points, values, and intervals that are over ---- */

static int put_event(struct lane *lane, uint32_t kind, uint32_t id, uint64_t payload, uint64_t at,
                     const struct tail *tail)
{
    if (!kind)
        return LAM_E_FULL;
    uint32_t before = lane_enter(lane);
    struct slot_place place = put_wide(lane, kind, id, payload, at, 0, tail);
    lane_leave(lane, before);
    return place.slot ? LAM_OK : LAM_E_FULL;
}

int lam_instant_event(struct lam_recorder *rec, uint32_t kind, uint32_t id)
{
    if (!kind)
        return LAM_OK;
    struct lane *lane = lane_of(rec);
    if (!lane)
        return LAM_E_CLOSED;
    return put_event(lane, kind_flavor(lane->rec, kind, KIND_INSTANT), id, 0, UINT64_MAX, NULL);
}

static struct stream_slot *fill_value(struct stream_slot *slot, const void *what)
{
    slot_more(slot, 0, STREAM_SLOT_VALUE, 0, *(const uint64_t *)what);
    return slot + 1;
}

int lam_integer_event(struct lam_recorder *rec, uint32_t kind, uint32_t id, uint64_t value)
{
    if (!kind)
        return LAM_OK;
    struct lane *lane = lane_of(rec);
    if (!lane)
        return LAM_E_CLOSED;
    struct tail wide = {1, fill_value, &value};
    int is_wide = value >= STREAM_SLOT_PAYLOAD_MAX;
    return put_event(lane, kind_flavor(lane->rec, kind, KIND_INTEGER), id,
                     is_wide ? STREAM_SLOT_PAYLOAD_MAX : value, UINT64_MAX, is_wide ? &wide : NULL);
}

int lam_past_event(struct lam_recorder *rec, uint32_t kind, uint32_t id, uint64_t start, uint64_t end)
{
    if (!kind)
        return LAM_OK;
    struct lane *lane = lane_of(rec);
    if (!lane)
        return LAM_E_CLOSED;
    if (end < start) {
        lane_count(lane, STREAM_COUNT_CLAMPED_TIMES);
        end = start;
    }
    uint64_t duration = end - start;
    if (duration >= STREAM_SLOT_PAYLOAD_MAX)
        duration = STREAM_SLOT_PAYLOAD_MAX - 1;
    if (start == UINT64_MAX)
        start--;
    return put_event(lane, kind_flavor(lane->rec, kind, KIND_PAST), id, duration + 1, start, NULL);
}

uint64_t lam_now(struct lam_recorder *rec)
{
    if (lam_is_off(rec))
        return 0;
    struct lane *lane = lane_of(rec);
    return lane ? lane_now(lane) : 0;
}

/* ---- arguments ---- */

enum {
    ARGS_MAX = 100,
    ARGS_TEXT_MAX = 4000,
    ARGS_SLOTS_MAX = 240, /* where pages of a flight recorder have 4 KiB */
};

struct args {
    struct lam_recorder *rec;
    const struct lam_arg *args;
    size_t count;
    uint8_t is_interned[ARGS_MAX]; /* its text did not fit the event */
    uint32_t label[ARGS_MAX];
};

static uint32_t text_slots(size_t bytes)
{
    return (uint32_t)((bytes + STREAM_TEXT_BYTES - 1) / STREAM_TEXT_BYTES);
}

/* How many slots the arguments take; long texts are interned before the place is reserved. */
static uint32_t measure_args(struct args *args)
{
    uint32_t slots = 0, slots_max = ARGS_MAX + ARGS_MAX + text_slots(ARGS_TEXT_MAX);
    if (args->rec->flight_page == STREAM_PAGE_MIN)
        slots_max = ARGS_SLOTS_MAX;
    size_t text = 0;
    for (size_t i = 0; i < args->count; i++) {
        const struct lam_arg *arg = &args->args[i];
        slots++;
        args->is_interned[i] = 0;
        if (arg->type != LAM_ARG_TEXT)
            continue;
        /* Each of those behind it takes a slot at least. */
        if (arg->value.text_bytes > ARGS_TEXT_MAX - text ||
            slots + text_slots(arg->value.text_bytes) + (args->count - 1 - i) > slots_max) {
            args->is_interned[i] = 1;
            args->label[i] = label_intern_id(args->rec, arg->text, arg->value.text_bytes);
            continue;
        }
        text += arg->value.text_bytes;
        slots += text_slots(arg->value.text_bytes);
    }
    return slots;
}

/* 15 bytes around the slot's code. */
static void store_text(struct stream_slot *slot, const uint8_t *bytes, size_t size)
{
    uint64_t word[2] = {0, 0};
    for (size_t i = 0; i < size && i < STREAM_TEXT_BYTES; i++) {
        if (i < 4)
            word[0] |= (uint64_t)bytes[i] << 8 * i;
        else if (i < 7)
            word[0] |= (uint64_t)bytes[i] << (8 * i + 8);
        else
            word[1] |= (uint64_t)bytes[i] << 8 * (i - 7);
    }
    LANE_STORE(slot->rest, word[1]);
    LANE_STORE(slot->head, word[0] | (uint64_t)STREAM_SLOT_TEXT << STREAM_SLOT_CODE_SHIFT);
}

static struct stream_slot *fill_args(struct stream_slot *slot, const void *what)
{
    const struct args *args = what;
    for (size_t i = 0; i < args->count; i++) {
        const struct lam_arg *arg = &args->args[i];
        if (args->is_interned[i]) {
            slot_more(slot++, arg->name.id, STREAM_SLOT_ARG, STREAM_ARG_STRING, args->label[i]);
            continue;
        }
        uint64_t value = arg->type == LAM_ARG_LABEL ? arg->value.label.id : arg->value.u64;
        slot_more(slot++, arg->name.id, STREAM_SLOT_ARG, arg->type & 0xff, value);
        for (size_t at = 0; arg->type == LAM_ARG_TEXT && at < arg->value.text_bytes;
             at += STREAM_TEXT_BYTES)
            store_text(slot++, (const uint8_t *)arg->text + at, arg->value.text_bytes - at);
    }
    return slot;
}

static int prepare_args(struct args *args, struct lam_recorder *rec, const struct lam_arg *list,
                        size_t count, struct tail *tail)
{
    args->rec = rec;
    args->args = list;
    args->count = !rec->wants_args ? 0 : count > ARGS_MAX ? ARGS_MAX : count;
    *tail = (struct tail){measure_args(args), fill_args, args};
    return tail->slots > 0;
}

struct lam_handle lam_begin_args(struct lam_recorder *rec, struct lam_kind kind,
                                 struct lam_label label, const struct lam_arg *list, size_t count)
{
    struct lane *lane = lam_is_off(rec) || !kind.id ? NULL : lane_of(rec);
    if (!lane)
        return lam_no_handle();
    struct args args;
    struct tail tail;
    int has_args = prepare_args(&args, lane->rec, list, count, &tail);
    return begin_nested(lane, kind.id, label.id, has_args ? &tail : NULL);
}

int lam_instant_args(struct lam_recorder *rec, struct lam_kind kind, struct lam_label label,
                     const struct lam_arg *list, size_t count)
{
    if (lam_is_off(rec))
        return LAM_E_CLOSED;
    if (!kind.id)
        return LAM_OK;
    struct lane *lane = lane_of(rec);
    if (!lane)
        return LAM_E_CLOSED;
    struct args args;
    struct tail tail;
    prepare_args(&args, lane->rec, list, count, &tail);
    return put_event(lane, kind_flavor(lane->rec, kind.id, KIND_INSTANT), label.id, 0, UINT64_MAX,
                     &tail);
}

/* ---- call sites ---- */

static __attribute__((noinline)) uint64_t site_find(struct lam_site *site, uint32_t on,
                                                    const char *kind, const char *label)
{
    uint32_t kind_id = kind_intern(LAM_DEFAULT, kind, 0);
    uint32_t label_id = kind_id ? label_intern_id(LAM_DEFAULT, label, bytes_length(label)) : 0;
    /* Closed meanwhile: the next recording must not have an event without its name. */
    if (kind_id == KIND_FAILED || (!label_id && __atomic_load_n(&lam_on, __ATOMIC_RELAXED) != on))
        return 0;
    uint64_t cache = (uint64_t)on << 48 | (uint64_t)kind_id << 32 | label_id;
    __atomic_store_n(&site->cache, cache, __ATOMIC_RELAXED);
    return cache;
}

/* generation << 48 | kind << 32 | label: one word, so that threads that fill it at once write the same, and who reads it
 * meets one of the two states. Kind 0: filtered out. */
static inline uint64_t site_resolve(struct lam_site *site, const char *kind, const char *label)
{
    uint32_t on = __atomic_load_n(&lam_on, __ATOMIC_RELAXED);
    uint64_t cache = __atomic_load_n(&site->cache, __ATOMIC_RELAXED);
    return __builtin_expect(cache >> 48 == on, 1) ? cache : site_find(site, on, kind, label);
}

struct lam_handle lam_site_begin_event(struct lam_site *site, const char *kind, const char *label)
{
    uint64_t what = site_resolve(site, kind, label);
    return lam_begin_event(LAM_DEFAULT, what >> 32 & 0xffff, (uint32_t)what);
}

void lam_site_instant_event(struct lam_site *site, const char *kind, const char *label)
{
    uint64_t what = site_resolve(site, kind, label);
    lam_instant_event(LAM_DEFAULT, what >> 32 & 0xffff, (uint32_t)what);
}
