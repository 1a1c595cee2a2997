/* flight.c: which page a flight recorder overwrites.
 *
 * All EVENTS pages have one size, so that any of them can take the place of any other. A page is held by the lane that writes to
 * it, or left: full, and on the list of the thread that wrote it, its *owner*. Who needs a place gets, in this order,
 *
 *  1. the oldest page of a thread that has more than the last ones that are kept for each, the threads met in the order in which
 *     their pages were filled: so what is left reaches about equally far back for all;
 *  2. a page of the thread that ended first;
 *  3. the page that a short thread left in a free lane;
 *  4. the oldest page of its own;
 *  5. any page that is left.
 *
 * Kept are the page that a thread writes to and a full one before it; of a thread that has ended its last two. All of it is done
 * once a page, under a lock, with signals blocked. */
#include "recorder/flight.h"

#include <errno.h>
#include <sys/mman.h>

#include "core/bytes.h"

enum { FLIGHT_PAGES_WANTED = 128, KEPT_OF_LIVING = 1, KEPT_OF_ENDED = 2 };

#define NO_ENTRY UINT32_MAX

struct flight_page {
    uint64_t offset;
    uint32_t owner; /* whose list it is on; 0: held, or on the list of free places */
    uint32_t next;  /* on that list, plus 1 */
};

struct flight_owner {     /* there are not more than pages: each has one */
    uint32_t first, last; /* of the pages it left, the oldest first; plus 1 */
    uint32_t count;       /* of them */
    uint32_t held;        /* pages that are written to, or may be */
    uint64_t ended;       /* how manieth thread to end; 0: it lives, or is none */
    uint32_t next_free;
};

struct flight {
    uint32_t capacity;
    uint32_t count; /* pages */
    uint32_t hand;
    uint32_t free_places; /* plus 1 */
    uint32_t free_owners;
    uint32_t owner_count; /* from 1; those that were ever used */
    uint64_t ended;
    struct flight_owner *owners;
    struct flight_page pages[];
};

uint32_t flight_page_bytes(uint64_t max_bytes)
{
    uint64_t share = (max_bytes - max_bytes / 8) / FLIGHT_PAGES_WANTED;
    uint32_t size = STREAM_PAGE_MIN;
    while (size < STREAM_PAGE_MAX && size * 2 <= share)
        size *= 2;
    return size;
}

int flight_init(struct lam_recorder *rec)
{
    if (rec->mode != LAM_MODE_FLIGHT) {
        rec->flight_page = 0;
        return LAM_OK;
    }
    rec->flight_page = flight_page_bytes(rec->max_bytes);
    uint64_t most = rec->max_bytes / rec->flight_page + 1;
    size_t bytes = sizeof(struct flight) + most * sizeof(struct flight_page) +
                   (most + 1) * sizeof(struct flight_owner);
    /* Anew each time: that of a recording that was closed may still be looked at. Used as it is touched. */
    struct flight *flight = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (most >= NO_ENTRY || sys_is_error(flight))
        return LAM_E_NOMEM;
    flight->capacity = (uint32_t)most;
    flight->owners = (struct flight_owner *)(void *)(flight->pages + most);
    rec->flight = flight;
    return LAM_OK;
}

/* ---- lists; under the lock ---- */

static uint32_t new_owner(struct flight *flight)
{
    uint32_t owner = flight->free_owners;
    if (owner)
        flight->free_owners = flight->owners[owner].next_free;
    else
        owner = ++flight->owner_count;
    flight->owners[owner] = (struct flight_owner){.held = 0};
    return owner;
}

static void drop_unused_owner(struct flight *flight, uint32_t number)
{
    struct flight_owner *owner = &flight->owners[number];
    if (owner->count || owner->held)
        return;
    *owner = (struct flight_owner){.next_free = flight->free_owners};
    flight->free_owners = number;
}

/* A held page is full: the newest of its owner's. */
static void leave(struct flight *flight, uint32_t entry, uint32_t number)
{
    struct flight_owner *owner = &flight->owners[number];
    flight->pages[entry].owner = number;
    flight->pages[entry].next = 0;
    if (owner->last)
        flight->pages[owner->last - 1].next = entry + 1;
    else
        owner->first = entry + 1;
    owner->last = entry + 1;
    owner->count++;
}

static uint32_t take_oldest(struct flight *flight, uint32_t number)
{
    struct flight_owner *owner = &flight->owners[number];
    uint32_t entry = owner->first - 1;
    owner->first = flight->pages[entry].next;
    if (!owner->first)
        owner->last = 0;
    owner->count--;
    flight->pages[entry].owner = 0;
    drop_unused_owner(flight, number);
    return entry;
}

static uint32_t take_in_turn(struct flight *flight, int spares)
{
    for (uint32_t step = 0; step < flight->count; step++) {
        uint32_t number = flight->pages[flight->hand].owner;
        flight->hand = flight->hand + 1 < flight->count ? flight->hand + 1 : 0;
        const struct flight_owner *owner = &flight->owners[number];
        uint32_t kept = !spares ? 0 : owner->ended ? KEPT_OF_ENDED : KEPT_OF_LIVING;
        if (number && owner->count > kept)
            return take_oldest(flight, number);
    }
    return NO_ENTRY;
}

static uint32_t take_of_ended(struct flight *flight)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i <= flight->owner_count; i++) {
        const struct flight_owner *owner = &flight->owners[i];
        if (owner->ended && owner->count && (!first || owner->ended < flight->owners[first].ended))
            first = i;
    }
    return first ? take_oldest(flight, first) : NO_ENTRY;
}

/* A page that a short thread left with its lane. */
static uint32_t take_of_free_lane(struct lam_recorder *rec)
{
    struct flight *flight = rec->flight;
    uint32_t entry = NO_ENTRY;
    futex_lock(&rec->live->lock);
    for (struct lane *lane = rec->live->free_lanes; lane; lane = lane->next_free) {
        if (!lane->flight_entry)
            continue;
        entry = lane->flight_entry - 1;
        sys_munmap((void *)lane->page, lane->size); // NOLINT(performance-no-int-to-ptr)
        lane->page = lane->page_ref = lane->next = lane->limit = 0;
        flight->owners[lane->flight_owner].held--;
        drop_unused_owner(flight, lane->flight_owner);
        lane->flight_entry = lane->flight_owner = 0;
        break;
    }
    futex_unlock(&rec->live->lock);
    return entry;
}

static uint32_t take_used(struct lane *lane)
{
    struct flight *flight = lane->rec->flight;
    uint32_t own = lane->flight_owner;
    uint32_t entry = take_in_turn(flight, 1);
    if (entry == NO_ENTRY)
        entry = take_of_ended(flight);
    if (entry == NO_ENTRY)
        entry = take_of_free_lane(lane->rec);
    if (entry == NO_ENTRY && own && flight->owners[own].count)
        entry = take_oldest(flight, own);
    if (entry == NO_ENTRY)
        entry = take_in_turn(flight, 0);
    if (entry != NO_ENTRY)
        lane_count(lane, STREAM_COUNT_RECYCLED_PAGES);
    return entry;
}

static uint32_t take_place(struct lane *lane)
{
    struct flight *flight = lane->rec->flight;
    uint32_t entry = flight->free_places;
    if (!entry)
        return take_used(lane);
    flight->free_places = flight->pages[entry - 1].next;
    return entry - 1;
}

/* A place that nobody had; NO_ENTRY: the budget is used up. */
static uint32_t add_place(struct flight *flight, uint64_t offset)
{
    if (flight->count >= flight->capacity)
        return NO_ENTRY;
    flight->pages[flight->count] = (struct flight_page){.offset = offset};
    return flight->count++;
}

/* ---- for lanes ---- */

static void lock(struct lam_recorder *rec)
{
    futex_lock(&rec->live->flight_lock);
}

static void unlock(struct lam_recorder *rec)
{
    futex_unlock(&rec->live->flight_lock);
}

static int is_current(const struct lane *lane)
{
    /* 0: a lane that is being taken. Else the table is another recording's by now. */
    return !lane->generation || lane->generation == recorder_generation(lane->rec);
}

static void hold(struct lane *lane)
{
    if (!lane->flight_owner)
        lane->flight_owner = new_owner(lane->rec->flight);
    lane->rec->flight->owners[lane->flight_owner].held++;
}

/* An old page, begun as a new one. */
static struct stream_page *begin_again(const struct lam_recorder *rec, uint64_t offset,
                                       struct stream_page *fields)
{
    struct stream_page *page = sys_mmap(NULL, fields->size_bytes, PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_POPULATE, rec->stream.file.fd, offset);
    if (sys_is_error(page))
        return page;
    /* Void while it is emptied, so that no reader of what a kill leaves takes old slots for new ones. release: before the
     * first of them is gone. */
    __atomic_store_n(&page->kind, STREAM_PAGE_VOID, __ATOMIC_RELEASE);
    __builtin_memset(page + 1, 0, fields->size_bytes - sizeof *page);
    fields->self_offset = offset;
    page->thread = fields->thread;
    page->base_ticks = fields->base_ticks;
    page->sequence = fields->sequence;
    page->tid = fields->tid;
    __atomic_store_n(&page->kind, fields->kind, __ATOMIC_RELEASE);
    return page;
}

struct stream_page *flight_claim_page(struct lane *lane, struct stream_page *fields, uint32_t *held,
                                      int *rc)
{
    struct lam_recorder *rec = lane->rec;
    struct stream_page *page = NULL;
    uint32_t entry = NO_ENTRY;
    *rc = -EFBIG;
    *held = 0;
    lock(rec);
    if (lane_has_budget(rec, fields->size_bytes))
        page = stream_claim_page_as(&rec->stream, fields, rc);
    if (page)
        entry = add_place(rec->flight, page->self_offset);
    else if (*rc == -EFBIG)
        entry = take_place(lane);
    if (entry != NO_ENTRY) {
        *held = entry + 1;
        hold(lane);
    }
    unlock(rec);
    if (page || entry == NO_ENTRY)
        return page;
    page = begin_again(rec, rec->flight->pages[entry].offset, fields);
    if (!sys_is_error(page))
        return page;
    *rc = (int)(intptr_t)page;
    lock(rec);
    rec->flight->owners[lane->flight_owner].held--;
    drop_unused_owner(rec->flight, lane->flight_owner);
    rec->flight->pages[entry].next = rec->flight->free_places;
    rec->flight->free_places = entry + 1;
    unlock(rec);
    lane->flight_owner = lane->flight_entry ? lane->flight_owner : 0;
    return NULL;
}

int flight_take_place(struct lane *lane, uint32_t *entry, uint64_t *offset, int *is_over_old)
{
    struct lam_recorder *rec = lane->rec;
    int rc = -EFBIG;
    *entry = NO_ENTRY;
    *is_over_old = 0;
    lock(rec);
    if (lane_has_budget(rec, lane->size))
        rc = claim_offset(&rec->stream.file, lane->size, offset);
    if (rc == 0) {
        *entry = add_place(rec->flight, *offset);
    } else if (rc == -EFBIG) {
        *entry = take_place(lane);
        *is_over_old = 1;
    }
    unlock(rec);
    if (*entry == NO_ENTRY)
        return rc < 0 ? rc : -EFBIG;
    *offset = rec->flight->pages[*entry].offset;
    return 0;
}

void flight_put_place(struct lane *lane, uint32_t entry)
{
    lock(lane->rec);
    leave(lane->rec->flight, entry, lane->flight_owner);
    unlock(lane->rec);
}

void flight_unmapped(struct lane *lane, uint32_t entry, uint32_t owner)
{
    if (!entry || !is_current(lane))
        return;
    lock(lane->rec);
    lane->rec->flight->owners[owner].held--;
    leave(lane->rec->flight, entry - 1, owner);
    unlock(lane->rec);
}

int flight_end_thread(struct lane *lane)
{
    struct lam_recorder *rec = lane->rec;
    if (!rec->flight_page || !lane->flight_owner)
        return 0;
    lock(rec);
    struct flight_owner *owner = &rec->flight->owners[lane->flight_owner];
    owner->ended = ++rec->flight->ended;
    int is_short =
        lane->page && !owner->count && owner->held == 1 && lane->next - lane->page < lane->size / 4;
    unlock(rec);
    return !is_short;
}

void flight_begin_thread(struct lane *lane)
{
    if (!lane->rec->flight_page)
        return;
    if (!lane->page)
        lane->flight_owner = 0;
    if (!lane->flight_owner)
        return;
    lock(lane->rec);
    lane->rec->flight->owners[lane->flight_owner].ended = 0;
    unlock(lane->rec);
}
