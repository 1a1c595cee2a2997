/* lane.c: lanes, which threads take and give back, and their pages. */
#include "recorder/flight.h"
#include "recorder/slots.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "core/bytes.h"

enum { FRESH_LANES = 64 };

/* A clock that is this much behind lags; more, and it is another clock (another thread's CPU time). */
#define LAG_TICKS ((uint64_t)1 << 32)

static pthread_key_t thread_key;
static int has_key;

/* ---- counts ---- */

void lane_count(struct lane *lane, enum stream_count what)
{
    struct stream_header *header = lane->rec->stream.header;
    if (header)
        __atomic_fetch_add(&header->counts[what], 1, __ATOMIC_RELAXED);
}

void lane_count_lost(struct lam_recorder *rec, enum stream_loss cause)
{
    if (rec->stream.header)
        __atomic_fetch_add(&rec->stream.header->lost[cause], 1, __ATOMIC_RELAXED);
}

uint64_t lane_other_clock(struct lane *lane)
{
    if (lane->clock >= LAM_CLOCK_INSTRUCTIONS)
        return counter_read(&lane->clock_counter);
    /* Through libc, whose vDSO costs a tenth of a system call; async-signal-safe. */
    struct timespec ts = {0, 0};
    clock_gettime(lane->clock == LAM_CLOCK_CPU_TIME ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- pages; all with signals blocked and `changing` set ---- */

static void unmap_page(struct lane *lane, const struct old_page *page)
{
    sys_munmap(page->map, page->size);
    flight_unmapped(lane, page->flight_entry, page->flight_owner);
}

/* Those that were left while an event was being stored in them: they are older than the page, and go before it. */
static void unmap_old(struct lane *lane)
{
    for (uint32_t i = 0; i < lane->old_count; i++)
        unmap_page(lane, &lane->old[i]);
    lane->old_count = 0;
}

/* The page is no longer written to. While an event is being stored (by whom a handler of ours interrupted) it stays mapped. */
static void leave_page(struct lane *lane)
{
    if (!lane->page)
        return;
    struct old_page left = {(void *)lane->page, lane->size, lane->flight_entry,
                            lane->flight_owner}; // NOLINT(performance-no-int-to-ptr)
    lane->next = lane->limit = 0;
    lane->page_ref = 0; /* no end is stored in it any more, by whichever thread has the lane next */
    lane->page = 0;
    lane->flight_entry = 0;
    if (lane->busy > 1) {
        /* A list that is full: that one stays mapped for good, which costs memory and nothing else. */
        if (lane->old_count < LANE_OLD_PAGES)
            lane->old[lane->old_count++] = left;
        return;
    }
    unmap_old(lane);
    unmap_page(lane, &left);
}

static void put_slot(struct lane *lane, uint32_t id, uint32_t code, uint64_t payload)
{
    struct slot_place place = {
        .slot = (struct stream_slot *)lane->next}; // NOLINT(performance-no-int-to-ptr)
    lane->next += sizeof(struct stream_slot);
    slot_store(&place, id, code, payload);
}

static void put_base(struct lane *lane, uint64_t base)
{
    struct stream_slot *slot = (struct stream_slot *)lane->next; // NOLINT(performance-no-int-to-ptr)
    lane->next += sizeof *slot;
    LANE_STORE(slot->rest, base);
    __atomic_store_n(&slot->head, stream_slot_head(0, STREAM_SLOT_BASE, 0), __ATOMIC_RELEASE);
    lane->base = base;
}

static void put_owner(struct lane *lane)
{
    put_slot(lane, lane->thread, STREAM_SLOT_OWNER, lane->tid);
    if (lane->track)
        put_slot(lane, lane->track, STREAM_SLOT_TRACK_SWITCH, 0);
}

/* A flight recorder's events fill what they can get, so the room for a tree of calls is kept for it. */
static uint64_t kept_for_tree(const struct lam_recorder *rec)
{
    if (!rec->flight_page || !(rec->calls & (LAM_CALLS_TREE | LAM_CALLS_AUTO)))
        return 0;
    uint64_t taken = __atomic_load_n(&rec->live->tree_bytes, __ATOMIC_RELAXED);
    return rec->tree_bytes > taken ? rec->tree_bytes - taken : 0;
}

int lane_has_budget(const struct lam_recorder *rec, uint32_t size)
{
    uint64_t used = __atomic_load_n(&rec->stream.header->next_offset, __ATOMIC_RELAXED);
    return !rec->max_bytes || used + size + kept_for_tree(rec) <= rec->max_bytes - rec->max_bytes / 8;
}

/* flight_entry: of a flight recorder's. */
static struct stream_page *claim_page(struct lane *lane, uint32_t size, uint32_t least,
                                      uint64_t base, uint32_t *flight_entry)
{
    struct lam_recorder *rec = lane->rec;
    struct stream_page fields = {
        .kind = STREAM_PAGE_EVENTS,
        .thread = lane->number,
        .base_ticks = base,
        .sequence = lane->sequence,
        .tid = lane->tid,
    };
    int rc = -EFBIG;
    struct stream_page *page = NULL;
    *flight_entry = 0;
    /* What is left of the budget, in smaller pages. */
    while (!rec->flight_page && size > least && !lane_has_budget(rec, size))
        size /= 2;
    fields.size_bytes = size;
    if (rec->flight_page)
        page = flight_claim_page(lane, &fields, flight_entry, &rc);
    else if (lane_has_budget(rec, size))
        page = stream_claim_page_as(&rec->stream, &fields, &rc);
    if (page)
        return page;
    lane->loss = (uint32_t)stream_loss_of(rc);
    /* What has no room is tried again now and then: somebody may delete a file. The budget is final. */
    lane->retry_ticks = clock_ticks(rec->stream.use_counter) + rec->time_every / 64;
    return NULL;
}

/* The lane writes to `page` from now on. */
static void begin_page(struct lane *lane, struct stream_page *page, uint64_t base)
{
    lane->retry_ticks = 0;
    lane->size = page->size_bytes;
    lane->next_size =
        lane->rec->flight_page || lane->size >= STREAM_PAGE_MAX ? lane->size : lane->size * 2;
    lane->base = base;
    lane->page_ref = ((uint64_t)lane->number << LANE_SEQUENCE_BITS |
                      (lane->sequence & ((1u << LANE_SEQUENCE_BITS) - 1)))
                     << LANE_SLOT_BITS;
    lane->sequence++;
    lane->page = (uint64_t)(uintptr_t)page;
    lane->next = lane->page + STREAM_PAGE_HEADER_BYTES;
    put_owner(lane);
    lane->limit = lane->page + lane->size;
}

/* Copies the page to its place in the file. A flight recorder that has no place for it goes without. 0 or a negative errno. */
static int copy_page(struct lane *lane, const struct stream_page *page)
{
    struct lam_recorder *rec = lane->rec;
    if (!rec->flight_page) {
        int rc = 0;
        if (!lane->copy_place)
            rc = lane_has_budget(rec, lane->size)
                     ? claim_offset(&rec->stream.file, lane->size, &lane->copy_place)
                     : -EFBIG;
        if (rc == 0)
            rc = stream_copy_page(&rec->stream, page, lane->copy_place, 0);
        if (rc == 0)
            lane->copy_place = 0;
        return rc; /* a disk that is full: the same place again, later */
    }
    uint64_t offset = 0;
    uint32_t entry;
    int is_over_old;
    int rc = flight_take_place(lane, &entry, &offset, &is_over_old);
    if (rc == 0) {
        rc = stream_copy_page(&rec->stream, page, offset, is_over_old);
        if (rc == 0)
            flight_put_place(lane, entry);
        else
            lane_count_lost(rec, stream_loss_of(rc));
    }
    if (rc < 0)
        lane_count(lane, STREAM_COUNT_RECYCLED_PAGES); /* newer events are worth more */
    return 0;
}

/* A page of the full size is not left for another: it is copied to its place in the file, which costs the kernel a third of
 * mapping a new one, and used again. After a kill there are, at worst, both: the same page twice, of which readers drop one. */
static int turn_over(struct lane *lane, uint64_t base)
{
    struct stream_page *page = (struct stream_page *)lane->page; // NOLINT(performance-no-int-to-ptr)
    unmap_old(lane);
    int rc = copy_page(lane, page);
    if (rc < 0) {
        lane->loss = (uint32_t)stream_loss_of(rc);
        lane->retry_ticks = clock_ticks(lane->rec->stream.use_counter) + lane->rec->time_every / 64;
        return -1;
    }
    lane->next = lane->limit = 0;
    /* release: void before the first slot is gone, and all of them gone before it is a page of events again. */
    __atomic_store_n(&page->kind, STREAM_PAGE_VOID, __ATOMIC_RELEASE);
    __builtin_memset(page + 1, 0, lane->size - sizeof *page);
    page->base_ticks = base;
    page->sequence = lane->sequence;
    page->tid = lane->tid;
    __atomic_store_n(&page->kind, STREAM_PAGE_EVENTS, __ATOMIC_RELEASE);
    begin_page(lane, page, base);
    return 0;
}

static int next_page(struct lane *lane, uint32_t need, uint64_t base)
{
    if (lane->retry_ticks && clock_ticks(lane->rec->stream.use_counter) < lane->retry_ticks)
        return -1;
    uint32_t fixed = lane->rec->flight_page, full = fixed ? fixed : (uint32_t)STREAM_PAGE_MAX;
    /* While a handler's event is being stored on top of another, that one may still write to the old page. */
    if (lane->page && lane->size == full && lane->busy <= 1 && need < full / 2 &&
        (fixed || lane_has_budget(lane->rec, lane->size)))
        return turn_over(lane, base);
    uint32_t least = fixed ? fixed : (uint32_t)STREAM_PAGE_MIN;
    need += 3 * (uint32_t)sizeof(struct stream_slot); /* owner, track, base */
    while (least < STREAM_PAGE_MAX && least - STREAM_PAGE_HEADER_BYTES < need)
        least *= 2;
    uint32_t size = lane->next_size > least ? lane->next_size : least, flight_entry;
    if (fixed && size != fixed) {
        lane->loss = STREAM_LOSS_FILE_LIMIT; /* an event that fits no page of a flight recorder */
        return -1;
    }
    struct stream_page *page = claim_page(lane, size, least, base, &flight_entry);
    if (!page)
        return -1;
    leave_page(lane);
    lane->flight_entry = flight_entry;
    begin_page(lane, page, base);
    return 0;
}

/* The page has room, so `time` does not fit its base: it lies far away from it, or before it. Or a handler that came since it
 * was read has begun the page, and the clock is only read again. Returns 1 when the clock lags behind the base. */
static int change_base(struct lane *lane, uint64_t time, int is_past)
{
    if (!is_past) {
        time = lane_now(lane);
        if ((time - lane->base) >> STREAM_SLOT_TIME_BITS == 0)
            return 0;
    }
    if (!is_past && lane->base - time < LAG_TICKS) {
        lane_count(lane, STREAM_COUNT_CLAMPED_TIMES);
        return 1;
    }
    if (lane->limit - lane->next < sizeof(struct stream_slot))
        return next_page(lane, sizeof(struct stream_slot), time);
    put_base(lane, time);
    return 0;
}

/* ---- switches of tracks that are not told (the tree) ----
 * Such a lane has a page and the limit 0: whatever event comes next finds no room, and the switch is told before it, with
 * the time that it had: the thread may have slept since. */

static int is_switch_untold(const struct lane *lane)
{
    return lane->page && !lane->limit;
}

/* The usual case, without a system call: the page has room and the time fits. Its slot is taken and the end of the page put back
 * in one instruction, which fails if a handler recorded something since `next` was read. Returns 0 if it must be done the long way. */
static int tell_switch_quickly(struct lane *lane)
{
    uint64_t next = LANE_LOAD(lane->next);
    HANDLER_FENCE();
    uint64_t base = LANE_LOAD(lane->base), at = LANE_LOAD(lane->switched_at);
    uint64_t end = LANE_LOAD(lane->page) + lane->size;
    uint32_t track = LANE_LOAD(lane->track);
    if (at == LANE_TIME_OF_EVENT)
        at = lane_now(lane);
    if (at < base)
        at = base;
    if (end - next < 2 * sizeof(struct stream_slot) || (at - base) >> STREAM_SLOT_TIME_BITS ||
        !exchange_pair_locally(&lane->next, next, next + sizeof(struct stream_slot), end))
        return 0;
    struct slot_place place = {.slot = (struct stream_slot *)next, // NOLINT(performance-no-int-to-ptr)
                               .since = at - base};
    slot_store(&place, track, STREAM_SLOT_TRACK_SWITCH, 0);
    lane->switch_told = at;
    HANDLER_FENCE();
    /* A handler has switched, which stores nothing, before our slot was taken: that is told next. */
    if (LANE_LOAD(lane->track) != track)
        LANE_STORE(lane->limit, 0);
    return 1;
}

static int tell_switch(struct lane *lane)
{
    uint64_t at = lane->switched_at == LANE_TIME_OF_EVENT ? lane_now(lane) : lane->switched_at;
    if (at < lane->base)
        at = lane->base;
    lane->limit = lane->page + lane->size;
    if (lane->limit - lane->next < 2 * sizeof(struct stream_slot)) {
        if (next_page(lane, 2 * sizeof(struct stream_slot), at) < 0)
            return -1;
    } else if ((at - lane->base) >> STREAM_SLOT_TIME_BITS) {
        put_base(lane, at);
    }
    struct slot_place place = {
        .slot = (struct stream_slot *)lane->next, // NOLINT(performance-no-int-to-ptr)
        .since = at > lane->base ? at - lane->base : 0};
    lane->next += sizeof(struct stream_slot);
    slot_store(&place, lane->track, STREAM_SLOT_TRACK_SWITCH, 0);
    lane->switch_told = at;
    return 0;
}

/* There was no place for a page, and it is too early to try again: nothing is to be changed, as it would be with signals blocked. */
static int is_to_be_lost(const struct lane *lane, uint32_t size)
{
    return lane->retry_ticks && !is_switch_untold(lane) && !(lane->rec->calls & LAM_CALLS_AUTO) &&
           lane->limit - lane->next < size &&
           clock_ticks(lane->rec->stream.use_counter) < lane->retry_ticks;
}

static void lose_event(struct lane *lane)
{
    lane_count_lost(lane->rec, lane->loss);
    if (lane->rec->calls & LAM_CALLS_AUTO && lane->loss == STREAM_LOSS_FILE_LIMIT)
        calls_change_over(lane);
}

/* Closed since the caller took its lane (or a child that a handler forked): as if the event had come later. */
static int is_open(const struct lane *lane)
{
    return lane->generation && lane->generation == recorder_generation(lane->rec);
}

int lane_make_room(struct lane *lane, uint32_t size, uint64_t time, int is_past)
{
    int rc = -1;
    if (is_open(lane) && !lane->changing) {
        if (is_switch_untold(lane) && tell_switch_quickly(lane))
            return 0;
        if (is_to_be_lost(lane, size)) {
            lane_count_lost(lane->rec, lane->loss);
            return -1;
        }
    }
    uint64_t signals = signals_block();
    /* Set: a handler of a signal that cannot be blocked came while this was going on. */
    if (is_open(lane) && lane->changing) {
        lane_count_lost(lane->rec, STREAM_LOSS_IN_HANDLER);
    } else if (is_open(lane)) {
        lane->changing = 1;
        if (is_switch_untold(lane)) {
            rc = tell_switch(lane);
        } else if (lane->limit - lane->next < size) {
            rc = next_page(lane, size, time);
            lane_tell_time(lane);
        } else {
            rc = change_base(lane, time, is_past);
        }
        lane->changing = 0;
        if (rc < 0)
            lose_event(lane);
    }
    signals_restore(signals);
    return rc;
}

/* ---- taking and giving back ---- */

static struct lane *fresh_lane(struct lam_recorder *rec)
{
    struct live *live = rec->live;
    if (!live->fresh_count) {
        size_t bytes = FRESH_LANES * sizeof(struct lane);
        live->fresh_lanes = lexicon_wiped_memory(bytes);
        if (!live->fresh_lanes)
            return NULL;
        live->fresh_count = FRESH_LANES;
    }
    if (__atomic_load_n(&rec->lane_numbers, __ATOMIC_RELAXED) + 1 >= 1u << LANE_NUMBER_BITS)
        return NULL;
    struct lane *lane = live->fresh_lanes + (FRESH_LANES - live->fresh_count--);
    lane->number = __atomic_add_fetch(&rec->lane_numbers, 1, __ATOMIC_RELAXED);
    stream_cursor_init(&lane->records, STREAM_PAGE_RECORDS, lane->number, 0);
    return lane;
}

/* NULL: no memory (counted), or closed: who closes takes the same lock. */
static struct lane *take_lane(struct lam_recorder *rec, uint32_t generation)
{
    struct live *live = rec->live;
    struct lane *lane = NULL;
    futex_lock(&live->lock);
    if (generation == recorder_generation(rec)) {
        lane = live->free_lanes;
        if (lane)
            live->free_lanes = lane->next_free;
        else
            lane = fresh_lane(rec);
        if (!lane)
            lane_count_lost(rec, STREAM_LOSS_NO_MEMORY);
    }
    if (lane) {
        lane->next_free = NULL;
        lane->thread = ++live->threads;
        if (++live->used_lanes > live->most_lanes)
            live->most_lanes = live->used_lanes;
    }
    futex_unlock(&live->lock);
    return lane;
}

/* The thread's records, and whose events follow. */
static void begin_thread(struct lane *lane)
{
    struct lam_recorder *rec = lane->rec;
    char name[17] = "";
    prctl(PR_GET_NAME, name, 0, 0, 0);
    struct stream_rec_thread record = {
        .ticks = clock_ticks(rec->stream.use_counter),
        .cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID),
        .tid = lane->tid,
        .origin = lane->tid == rec->pid ? STREAM_THREAD_MAIN : STREAM_THREAD_FOUND,
        .name_bytes = (uint8_t)bytes_length(name),
    };
    lane->records.tid = lane->tid;
    struct stream_piece pieces[] = {{&record, sizeof record}, {name, record.name_bytes}};
    lane_append_thread(lane, STREAM_REC_THREAD, pieces, 2, record.ticks);
    lane->told_ticks = record.ticks;
    if (lane->limit - lane->next < 2 * sizeof(struct stream_slot)) {
        lane->limit = lane->next; /* the next page begins with its owner */
        return;
    }
    uint64_t now = lane_now(lane);
    if ((now - lane->base) >> STREAM_SLOT_TIME_BITS)
        put_base(lane, now);
    struct slot_place place = {
        .slot = (struct stream_slot *)lane->next, // NOLINT(performance-no-int-to-ptr)
        .since = now - lane->base};
    lane->next += sizeof(struct stream_slot);
    slot_store(&place, lane->thread, STREAM_SLOT_OWNER, lane->tid);
}

static void end_thread(struct lane *lane)
{
    struct stream_rec_thread_end record = {
        .ticks = clock_ticks(lane->rec->stream.use_counter),
        .cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID),
        .run_ns = UINT64_MAX,
        .core_wait_ns = UINT64_MAX,
        .tid = lane->tid,
    };
    struct stream_piece piece = {&record, sizeof record};
    lane_append_thread(lane, STREAM_REC_THREAD_END, &piece, 1, record.ticks);
}

/* Under the lock. The descriptor of a recorder that was closed is closed when no lane is left that might use it. */
void lane_close_file(struct live *live)
{
    if (live->closed_fd && !live->used_lanes) {
        sys_close(live->closed_fd - 1);
        live->closed_fd = 0;
    }
}

static void give_back(struct lane *lane)
{
    struct lam_recorder *rec = lane->rec;
    uint32_t generation = lane->generation;
    if (!generation)
        return; /* wiped: it was a parent's */
    if (generation == recorder_generation(rec) && !lane->changing)
        calls_write_loose(lane);
    if (is_switch_untold(lane))
        lane->limit = lane->page + lane->size;
    lane->switch_told = 0;
    lane->changing = 1;
    calls_leave_thread(lane);
    int is_current = generation == recorder_generation(rec);
    lane->busy = 0;
    if (is_current) {
        end_thread(lane);
        if (flight_end_thread(lane))
            leave_page(lane);
    } else {
        leave_page(lane);
        stream_cursor_close(&lane->records);
    }
    counters_close(lane);
    lane->track = 0;
    lane->generation = lane->plain = 0;
    lane->changing = 0;
    struct live *live = lane->live;
    futex_lock(&live->lock);
    live->used_lanes--;
    if (is_current) { /* lanes of a recording that is closed are not used again */
        lane->next_free = live->free_lanes;
        live->free_lanes = lane;
    }
    lane_close_file(live);
    futex_unlock(&live->lock);
}

static void forget(struct lane *lane)
{
    struct lane **at = &thread_state.all;
    while (*at && *at != lane)
        at = &(*at)->next_of_thread;
    if (*at)
        *at = lane->next_of_thread;
    if (thread_state.main == lane)
        thread_state.main = NULL;
    if (thread_state.lane == lane) {
        thread_state.lane = NULL;
        thread_state.rec = NULL;
    }
}

/* The thread's lane for `rec`; those of recordings that were closed, or of a parent, are let go on the way. */
static struct lane *find_lane(struct lam_recorder *rec)
{
    struct lane *found = NULL;
    for (struct lane *lane = thread_state.all, *next; lane; lane = next) {
        /* Wiped lanes have lost their links too: nothing behind one can be reached, and nothing need be. */
        next = lane->next_of_thread;
        if (lane->generation && lane->generation == recorder_generation(lane->rec)) {
            if (lane->rec == rec)
                found = lane;
            continue;
        }
        /* What a handler of ours interrupted still writes to its page. */
        if (lane->generation && (lane->busy || lane->changing))
            continue;
        forget(lane);
        give_back(lane);
    }
    return found;
}

static void remember(struct lam_recorder *rec, struct lane *lane)
{
    if (rec->is_default) {
        thread_state.main = lane;
    } else {
        thread_state.lane = lane;
        thread_state.rec = rec;
    }
}

struct lane *lane_new(struct lam_recorder *rec, uint32_t generation)
{
    struct lane *lane = take_lane(rec, generation);
    if (!lane)
        return NULL;
    lane->changing = 1;
    lane->rec = rec;
    lane->live = rec->live;
    lane->tid = (uint32_t)sys_gettid();
    lane->clock = rec->clock;
    lane->counters = rec->counter_count;
    flight_begin_thread(lane);
    if (counters_open(lane) < 0) {
        /* Of this thread there will be no values; its intervals read zero. */
        lane_count_lost(rec, STREAM_LOSS_NO_COUNTER);
    }
    begin_thread(lane);
    lane->next_of_thread = thread_state.all;
    thread_state.all = lane;
    lane->generation = generation;
    lane->plain = lane->clock || lane->counters || rec->calls ? 0 : generation;
    lane->changing = 0;
    if (has_key && !pthread_getspecific(thread_key))
        pthread_setspecific(thread_key, &thread_state);
    return lane;
}

struct lane *lane_attach(struct lam_recorder *rec)
{
    uint32_t generation = recorder_generation(rec);
    if (!generation || thread_state.attaching)
        return NULL;
    /* acquire: pairs with the release in open_default(). */
    if (rec->is_default && !__atomic_load_n(&lam_on, __ATOMIC_ACQUIRE) && !thread_state.opening)
        return NULL;
    uint64_t signals = signals_block();
    thread_state.attaching = 1;
    struct lane *lane = NULL;
    if (__atomic_load_n(&rec->live->alive, __ATOMIC_ACQUIRE) || recorder_begin_child(rec) == 0) {
        lane = find_lane(rec);
        if (!lane)
            lane = lane_new(rec, generation);
        if (lane)
            remember(rec, lane);
    }
    thread_state.attaching = 0;
    signals_restore(signals);
    return lane;
}

void lane_detach(struct lam_recorder *rec)
{
    uint64_t signals = signals_block();
    struct lane *lane = find_lane(rec);
    if (lane) {
        forget(lane);
        give_back(lane);
    }
    signals_restore(signals);
}

/* The thread ends. Other destructors may still record: then it is registered once more, and this runs again. */
static void end_of_thread(void *value)
{
    (void)value;
    uint64_t signals = signals_block();
    while (thread_state.all) {
        struct lane *lane = thread_state.all;
        forget(lane);
        give_back(lane);
    }
    signals_restore(signals);
}

int lane_init_threads(void)
{
    if (has_key)
        return LAM_OK;
    pin_code(); /* the key's destructor is called whenever a thread ends */
    if (pthread_key_create(&thread_key, end_of_thread) != 0)
        return LAM_E_NOMEM;
    has_key = 1;
    return LAM_OK;
}

/* ---- public ---- */

int lam_thread_register(struct lam_recorder *rec)
{
    if (lam_is_off(rec))
        return LAM_E_CLOSED;
    return lane_of(rec) ? LAM_OK : LAM_E_CLOSED;
}

int lam_thread_name(struct lam_recorder *rec, const char *name)
{
    struct lane *lane = lam_is_off(rec) ? NULL : lane_of(rec);
    if (!lane)
        return LAM_E_CLOSED;
    size_t length = bytes_length(name);
    struct stream_rec_name record = {.ticks = clock_ticks(lane->rec->stream.use_counter),
                                     .tid = lane->tid,
                                     .name_bytes = length > 255 ? 255 : (uint32_t)length};
    struct stream_piece pieces[] = {{&record, sizeof record}, {name, record.name_bytes}};
    uint64_t signals = signals_block();
    int rc = lane_append(lane, STREAM_REC_THREAD_NAME, lane->thread, pieces, 2, record.ticks);
    signals_restore(signals);
    return rc < 0 ? LAM_E_FULL : LAM_OK;
}
