/* flight.c: the flight recorder uses the oldest EVENTS pages again.
 *
 * Every EVENTS page has an entry, in the order of the claims. A hand goes round over them, and takes the first page that
 * its lane has left: pages come back in the order in which they were filled, but for those that a slow thread still holds. */
#include "recorder/recorder_state.h"

#include <errno.h>
#include <sys/mman.h>

#include "core/bytes.h"

enum flight_state { FLIGHT_NONE, FLIGHT_HELD, FLIGHT_LEFT };

int flight_init(struct lam_recorder *rec)
{
    rec->flight_hand = 0;
    rec->flight_count = 0;
    if (rec->mode != LAM_MODE_FLIGHT)
        return LAM_OK;
    uint64_t most = rec->max_bytes / STREAM_PAGE_MIN + 1;
    if (!rec->flight || most > rec->flight_capacity) {
        /* Memory is used as it is touched: with pages of 256 KiB a sixtieth of this. */
        void *map = sys_mmap(NULL, most * sizeof *rec->flight, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (most > UINT32_MAX || sys_is_error(map))
            return LAM_E_NOMEM;
        rec->flight = map;
        rec->flight_capacity = (uint32_t)most;
        return LAM_OK;
    }
    for (uint32_t i = 0; i < rec->flight_capacity && rec->flight[i].state; i++)
        rec->flight[i].state = FLIGHT_NONE;
    return LAM_OK;
}

void flight_note_page(struct lane *lane, uint64_t offset, uint32_t size)
{
    struct lam_recorder *rec = lane->rec;
    flight_leave_page(lane);
    if (rec->mode != LAM_MODE_FLIGHT)
        return;
    uint32_t entry = __atomic_fetch_add(&rec->flight_count, 1, __ATOMIC_RELAXED);
    if (entry >= rec->flight_capacity)
        return; /* never used again */
    rec->flight[entry].offset = offset;
    rec->flight[entry].size = size;
    /* release: pairs with the exchange of whoever takes the page over. */
    __atomic_store_n(&rec->flight[entry].state, FLIGHT_HELD, __ATOMIC_RELEASE);
    lane->flight_entry = entry + 1;
}

void flight_leave_page(struct lane *lane)
{
    if (!lane->flight_entry)
        return;
    uint32_t entry = lane->flight_entry - 1;
    lane->flight_entry = 0;
    if (lane->generation && lane->generation != recorder_generation(lane->rec))
        return; /* the table is another recording's by now */
    if (lane->busy > 1)
        return; /* interrupted code may still write to it: never used again */
    /* release: what was written to the page is there before another lane empties it. */
    __atomic_store_n(&lane->rec->flight[entry].state, FLIGHT_LEFT, __ATOMIC_RELEASE);
}

/* An entry in state LEFT, which is HELD by us now; UINT32_MAX: none in two rounds. */
static uint32_t turn_hand(struct lam_recorder *rec)
{
    uint32_t count = __atomic_load_n(&rec->flight_count, __ATOMIC_RELAXED);
    if (count > rec->flight_capacity)
        count = rec->flight_capacity;
    for (uint64_t step = 0; count && step < 2 * (uint64_t)count; step++) {
        uint32_t entry = __atomic_fetch_add(&rec->flight_hand, 1, __ATOMIC_RELAXED) % count;
        uint32_t left = FLIGHT_LEFT;
        if (__atomic_compare_exchange_n(&rec->flight[entry].state, &left, FLIGHT_HELD, 0,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return entry;
    }
    return UINT32_MAX;
}

uint32_t flight_take_place(struct lam_recorder *rec, uint32_t size, uint64_t *offset)
{
    /* Pages of other sizes are from the beginnings of lanes. They are as old, and are given up: 252 KiB a lane at most. */
    for (;;) {
        uint32_t entry = turn_hand(rec);
        if (entry == UINT32_MAX)
            return entry;
        *offset = rec->flight[entry].offset;
        if (rec->flight[entry].size == size)
            return entry;
        static const uint8_t kind_void = STREAM_PAGE_VOID;
        claim_write(&rec->stream.file, *offset + offsetof(struct stream_page, kind), &kind_void, 1);
        if (rec->stream.header)
            __atomic_fetch_add(&rec->stream.header->counts[STREAM_COUNT_RECYCLED_PAGES], 1,
                               __ATOMIC_RELAXED);
    }
}

void flight_give_place(struct lam_recorder *rec, uint32_t entry, uint64_t offset, uint32_t size,
                       int is_written)
{
    if (entry != UINT32_MAX) {
        __atomic_store_n(&rec->flight[entry].state, FLIGHT_LEFT, __ATOMIC_RELEASE);
        if (is_written && rec->stream.header)
            __atomic_fetch_add(&rec->stream.header->counts[STREAM_COUNT_RECYCLED_PAGES], 1,
                               __ATOMIC_RELAXED);
        return;
    }
    if (!is_written)
        return;
    entry = __atomic_fetch_add(&rec->flight_count, 1, __ATOMIC_RELAXED);
    if (entry >= rec->flight_capacity)
        return;
    rec->flight[entry].offset = offset;
    rec->flight[entry].size = size;
    __atomic_store_n(&rec->flight[entry].state, FLIGHT_LEFT, __ATOMIC_RELEASE);
}

struct stream_page *flight_take_page(struct lane *lane, struct stream_page *fields)
{
    struct lam_recorder *rec = lane->rec;
    /* The page that is being left is the newest, but may be the only one. */
    uint32_t entry = turn_hand(rec);
    if (entry == UINT32_MAX)
        return NULL;
    struct flight_page *flight = &rec->flight[entry];
    struct stream_page *page =
        sys_mmap(NULL, flight->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                 rec->stream.file.fd, flight->offset);
    if (sys_is_error(page)) {
        __atomic_store_n(&flight->state, FLIGHT_LEFT, __ATOMIC_RELEASE);
        return NULL;
    }
    /* Void while it is emptied, so that no reader of what a kill leaves takes old slots for new ones. release: before the
     * first of them is gone. */
    __atomic_store_n(&page->kind, STREAM_PAGE_VOID, __ATOMIC_RELEASE);
    __builtin_memset(page + 1, 0, flight->size - sizeof *page);
    fields->size_bytes = flight->size;
    fields->self_offset = flight->offset;
    page->thread = fields->thread;
    page->base_ticks = fields->base_ticks;
    page->sequence = fields->sequence;
    page->tid = fields->tid;
    __atomic_store_n(&page->kind, fields->kind, __ATOMIC_RELEASE);
    flight_leave_page(lane);
    lane->flight_entry = entry + 1;
    lane_count(lane, STREAM_COUNT_RECYCLED_PAGES);
    return page;
}
