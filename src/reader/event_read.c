#include "reader/event_read.h"

#include <string.h>

void event_lane_open(struct event_lane *lane, const struct stream_file *file,
                     const struct event_names *names, const struct event_index *index,
                     const struct event_lane_info *info)
{
    *lane = (struct event_lane){
        .names = names,
        .index = index,
        .info = info,
        .file = file,
        .next_page = info->pages.first,
        .scan_page = info->pages.first,
        .later = info->first_later,
    };
    event_pages_init(&lane->pages, file);
    event_pages_init(&lane->later_pages, file);
}

void event_lane_close(struct event_lane *lane)
{
    event_pages_close(&lane->pages);
    event_pages_close(&lane->later_pages);
    array_free(&lane->near);
    *lane = (struct event_lane){0};
}

static uint64_t where_of(const struct event_page *page, uint32_t slot)
{
    return (uint64_t)page->ref->sequence << 16 | (slot + EVENT_SLOTS_BEFORE);
}

/* What the slots behind say about the event itself. */
static void add_more(struct event *event, const struct event_page *page, uint32_t slot)
{
    event->more = page->slots + slot + 1;
    event->more_count = event_slots_behind(page, slot + 1);
    for (uint32_t i = 0; i < event->more_count; i++) {
        struct stream_slot more = event_slot_load(&event->more[i]);
        switch (stream_slot_code(&more)) {
        case STREAM_SLOT_VALUE:
            if (event->value == STREAM_SLOT_PAYLOAD_MAX)
                event->value = more.rest;
            break;
        case STREAM_SLOT_SELF:
            event->has_self = more.head >> STREAM_SLOT_TIME_SHIFT & STREAM_SELF_KNOWN;
            event->is_inside = more.head >> STREAM_SLOT_TIME_SHIFT & STREAM_SELF_INSIDE;
            event->self = more.rest;
            event->spent = event->has_self ? stream_slot_id(&more) : 0;
            break;
        case STREAM_SLOT_ACTIVE:
            event->has_active = more.head >> STREAM_SLOT_TIME_SHIFT & 1;
            event->active = more.rest;
            event->has_own_track = true;
            event->own_track = stream_slot_id(&more);
            break;
        case STREAM_SLOT_NODE:
            event->node = stream_slot_id(&more);
            event->node_lane = more.rest > UINT32_MAX ? 0 : (uint32_t)more.rest;
            break;
        default:
            break;
        }
    }
}

/* An end that lies in the slot, else the first of its END slots. */
static void set_end(struct event *event, uint64_t payload, const struct event_index *index)
{
    event->is_open = payload == 0;
    event->end = payload ? event->start + payload - 1 : event->start;
    for (size_t i = 0; event->is_open && i < event->marks.count; i++) {
        const struct event_mark *mark = &event->marks.items[i];
        if (mark->code != STREAM_SLOT_END)
            continue;
        event->is_open = false;
        event->end = mark->time;
        event->end_thread = mark->thread;
        event->at_end = mark->fold ? &index->end_counters.items[mark->fold - 1] : NULL;
        if (mark->self != UINT64_MAX) {
            event->has_self = true;
            event->self = mark->self;
        }
        if (mark->active != UINT64_MAX) {
            event->has_active = true;
            event->active = mark->active;
        }
    }
}

/* The event at a slot; false when it is none. */
static bool decode(const struct event_lane *lane, const struct event_page *page, uint32_t at,
                   const struct stream_slot *slot, uint64_t start, struct event *event)
{
    uint32_t code = stream_slot_code(slot);
    uint32_t number = event_slot_kind(page, at, code);
    if (number < STREAM_SLOT_KIND_MIN)
        return false;
    const struct event_kind *kind = event_names_kind(lane->names, number);
    *event = (struct event){
        .type = kind->flags & STREAM_KIND_INSTANT   ? EVENT_INSTANT
                : kind->flags & STREAM_KIND_INTEGER ? EVENT_INTEGER
                                                    : EVENT_INTERVAL,
        .lane = lane->info->lane,
        .kind = number,
        .id = stream_slot_id(slot),
        .flags = kind->flags,
        .weight = kind->weight,
        .start = start,
        .end = start,
        .value = stream_slot_payload(slot),
        .offset = event_slot_offset(page->ref, at),
    };
    add_more(event, page, at);
    if (event->type != EVENT_INTERVAL)
        return true;
    if (lane->page_has_marks || page != &lane->page)
        event->marks = event_index_marks(lane->index, lane->info, where_of(page, at));
    set_end(event, stream_slot_payload(slot), lane->index);
    if (event->spent && !event->has_active && !event->is_open) {
        uint64_t wall = event->end - event->start;
        event->has_active = true;
        event->active = wall > event->spent ? wall - event->spent : 0;
    }
    return true;
}

static void simple(const struct event_lane *lane, enum event_type type, uint64_t time,
                   struct event *event)
{
    *event = (struct event){.type = type, .lane = lane->info->lane, .start = time, .end = time};
}

static bool on_owner(struct event_lane *lane, uint32_t thread, uint32_t tid, uint64_t time,
                     struct event *event)
{
    if (lane->has_owner && lane->owner == thread)
        return false;
    lane->owner = thread;
    lane->has_owner = true;
    simple(lane, EVENT_OWNER, time, event);
    event->thread = thread;
    event->tid = tid;
    return true;
}

/* A fold below an interval that is there comes with it. */
static bool on_fold(struct event_lane *lane, uint32_t at, const struct stream_slot *slot,
                    uint64_t time, struct event *event)
{
    uint32_t ref_lane;
    if (!event_fold_decode(&lane->page, at, time, lane->owner, &lane->fold, &ref_lane) ||
        event_ref_is_there(lane->file, ref_lane, stream_slot_payload(slot)))
        return false;
    simple(lane, EVENT_FOLD, time, event);
    event->fold = &lane->fold;
    event->kind = lane->fold.kind;
    event->id = lane->fold.id;
    return true;
}

/* Whether the slot is an event that goes out where it stands. */
static bool on_slot(struct event_lane *lane, uint32_t at, const struct stream_slot *slot,
                    uint64_t time, struct event *event)
{
    uint32_t code = stream_slot_code(slot);
    switch (code) {
    case STREAM_SLOT_OWNER:
        return on_owner(lane, stream_slot_id(slot), (uint32_t)stream_slot_payload(slot), time, event);
    case STREAM_SLOT_BASE:
        lane->base = slot->rest;
        return false;
    case STREAM_SLOT_TRACK_SWITCH:
    case STREAM_SLOT_TRACK_END:
        simple(lane, code == STREAM_SLOT_TRACK_END ? EVENT_TRACK_END : EVENT_TRACK, time, event);
        event->track = stream_slot_id(slot);
        return true;
    case STREAM_SLOT_FOLD:
        return on_fold(lane, at, slot, time, event);
    default:
        return code >= STREAM_SLOT_KIND_MIN && decode(lane, &lane->page, at, slot, time, event) &&
               !(event->flags & STREAM_KIND_LATER);
    }
}

static int next_page(struct event_lane *lane)
{
    while (lane->next_page < lane->info->pages.end) {
        int rc = event_pages_get(&lane->pages, lane->next_page++, &lane->page);
        if (rc < 0)
            return rc;
        if (rc == 0)
            continue;
        lane->slot = 0;
        lane->base = lane->page.ref->base_ticks;
        const struct event_index *index = lane->index;
        uint64_t from = (uint64_t)lane->page.ref->sequence << 16, to = from + (1u << 16);
        size_t low = lane->info->first_mark, high = lane->info->end_mark;
        while (low < high) {
            size_t mid = low + (high - low) / 2;
            if (index->marks.items[mid].where < from)
                low = mid + 1;
            else
                high = mid;
        }
        lane->page_has_marks = low < lane->info->end_mark && index->marks.items[low].where < to;
        return 1;
    }
    lane->page.count = lane->slot = 0;
    return 0;
}

/* ---- what was stored when it was over ---- */

static void scan_owner(struct event_lane *lane, uint32_t thread)
{
    if (lane->scan_has_owner && lane->scan_owner == thread)
        return;
    lane->scan_owner = thread;
    lane->scan_has_owner = true;
    lane->scan_segment++;
}

/* Looks through one page for intervals that were stored when they were over. */
static int scan_page(struct event_lane *lane, const struct event_page *page, uint32_t index)
{
    uint64_t base = page->ref->base_ticks;
    event_floor_page(&lane->floor);
    for (uint32_t at = 0; at < page->count; at++) {
        struct stream_slot slot = event_slot_load(&page->slots[at]);
        uint32_t code = stream_slot_code(&slot);
        if (code == STREAM_SLOT_NONE || (code >= STREAM_SLOT_KIND && code < STREAM_SLOT_KIND_MIN))
            continue;
        if (code == STREAM_SLOT_OWNER)
            scan_owner(lane, stream_slot_id(&slot));
        else if (!lane->scan_has_owner)
            scan_owner(lane, 0);
        if (code == STREAM_SLOT_BASE)
            base = slot.rest;
        if (code < STREAM_SLOT_KIND_MIN)
            continue;
        uint32_t kind = event_slot_kind(page, at, code);
        uint64_t start = base + stream_slot_time(&slot), payload = stream_slot_payload(&slot);
        if (kind < STREAM_SLOT_KIND_MIN)
            continue;
        if (!(event_names_kind(lane->names, kind)->flags & STREAM_KIND_LATER)) {
            event_floor_slot(&lane->floor, start);
            continue;
        }
        event_floor_slot(&lane->floor, payload ? start + payload - 1 : start);
        struct event_later later = {.start = start,
                                    .lane = lane->info->lane,
                                    .segment = lane->scan_segment,
                                    .page = index,
                                    .slot = at};
        if (start >= lane->floor.floor && array_push(&lane->near, later) < 0)
            return LAM_E_NOMEM;
    }
    lane->written[index & 1] = lane->floor.written;
    return LAM_OK;
}

/* The page being read and the one behind it are looked through: what is stored further on began later than both, or is in the
 * index. */
static int scan_ahead(struct event_lane *lane)
{
    size_t end = lane->next_page < lane->info->pages.end ? lane->next_page + 1 : lane->next_page;
    if (lane->scan_page >= end)
        return LAM_OK;
    if (lane->near_at) {
        memmove(lane->near.items, lane->near.items + lane->near_at,
                (lane->near.count - lane->near_at) * sizeof *lane->near.items);
        lane->near.count -= lane->near_at;
        lane->near_at = 0;
    }
    while (lane->scan_page < end) {
        struct event_page page;
        int rc = event_pages_get(&lane->pages, lane->scan_page, &page);
        if (rc > 0)
            rc = scan_page(lane, &page, (uint32_t)lane->scan_page);
        if (rc < 0)
            return rc;
        lane->scan_page++;
    }
    array_sort(&lane->near, event_later_compare);
    return LAM_OK;
}

/* The next event as they lie in the lane. */
static int next_in_lane(struct event_lane *lane, struct event *event)
{
    for (;;) {
        if (lane->slot >= lane->page.count) {
            int rc = next_page(lane);
            if (rc <= 0)
                return rc;
            if (!lane->info->has_later)
                continue;
            /* Whatever began before the last page's end is known once the one after this is looked through. */
            uint64_t done = lane->written[lane->next_page & 1];
            simple(lane, EVENT_PAGE, done, event);
            return scan_ahead(lane) < 0 ? LAM_E_NOMEM : 1;
        }
        uint32_t at = lane->slot++;
        struct stream_slot slot = event_slot_load(&lane->page.slots[at]);
        uint32_t code = stream_slot_code(&slot);
        if (code == STREAM_SLOT_NONE || (code >= STREAM_SLOT_KIND && code < STREAM_SLOT_KIND_MIN))
            continue;
        uint64_t time = lane->base + stream_slot_time(&slot);
        if (!lane->has_owner && code != STREAM_SLOT_OWNER) { /* as in the index */
            lane->slot--;
            (void)on_owner(lane, 0, lane->page.ref->tid, time, event);
            return 1;
        }
        if (on_slot(lane, at, &slot, time, event))
            return 1;
    }
}

/* The first of those that are left, from the index or from near. */
static const struct event_later *first_later(const struct event_lane *lane, bool *is_near)
{
    const struct event_later *far =
        lane->later < lane->info->end_later ? &lane->index->later.items[lane->later] : NULL;
    const struct event_later *near =
        lane->near_at < lane->near.count ? &lane->near.items[lane->near_at] : NULL;
    *is_near = near && (!far || event_later_compare(near, far) < 0);
    return *is_near ? near : far;
}

/* The next of them, if it belongs to the stretch being given out and began no later than what is held. 1, 0 or
 * LAM_E_NOMEM. */
static int next_later(struct event_lane *lane, struct event *event)
{
    bool is_over = !lane->has_held || lane->held.type == EVENT_OWNER;
    const struct event_later *later;
    bool is_near;
    while ((later = first_later(lane, &is_near))) {
        if (later->segment > lane->segment ||
            (later->segment == lane->segment && !is_over && later->start > lane->held.start))
            return 0;
        *(is_near ? &lane->near_at : &lane->later) += 1;
        struct event_page page;
        int rc = event_pages_get(is_near ? &lane->pages : &lane->later_pages, later->page, &page);
        if (rc < 0)
            return rc;
        if (rc == 0 || later->slot >= page.count)
            continue;
        struct stream_slot slot = event_slot_load(&page.slots[later->slot]);
        if (decode(lane, &page, later->slot, &slot, later->start, event))
            return 1;
    }
    return 0;
}

/* Who recorded it shows when it goes out: the lane was read ahead. Whether it is one that goes out. */
static bool give_out(struct event_lane *lane, struct event *event)
{
    switch (event->type) {
    case EVENT_PAGE:
        return false;
    case EVENT_OWNER:
        lane->thread = event->thread;
        lane->tid = event->tid;
        lane->track = 0;
        lane->segment++;
        return true;
    case EVENT_TRACK:
    case EVENT_TRACK_END:
        event->thread = lane->thread;
        event->tid = lane->tid;
        if (event->type == EVENT_TRACK && event->track == lane->track)
            return false; /* told again on a new page */
        if (event->type == EVENT_TRACK || event->track == lane->track)
            lane->track = event->type == EVENT_TRACK ? event->track : 0;
        return true;
    default:
        event->thread = lane->thread;
        event->tid = lane->tid;
        event->track = event->has_own_track ? event->own_track : lane->track;
        if (!event->end_thread)
            event->end_thread = lane->thread;
        if (event->end_thread != event->thread) /* which has counters of its own */
            event->at_end = NULL;
        return true;
    }
}

/* The next one in the order of starts: as they lie, or before that one what was stored later. */
static int next_merged(struct event_lane *lane, struct event *event)
{
    int rc = lane->has_held ? 1 : next_in_lane(lane, &lane->held);
    if (rc < 0)
        return rc;
    lane->has_held = rc > 0;
    rc = next_later(lane, event);
    if (rc != 0 || !lane->has_held)
        return rc;
    *event = lane->held;
    lane->has_held = false;
    return 1;
}

int event_lane_next(struct event_lane *lane, struct event *event)
{
    bool has_later = lane->info->has_later;
    int rc;
    do {
        rc = has_later ? next_merged(lane, event) : next_in_lane(lane, event);
    } while (rc > 0 && !give_out(lane, event));
    return rc;
}

static uint64_t ran(const struct event_index *index, uint32_t track, uint64_t from, uint64_t to)
{
    if (to <= from)
        return 0;
    return track ? event_index_ran(index, track, from, to) : to - from;
}

uint64_t event_paused(const struct event_index *index, const struct event *event, uint32_t track,
                      uint64_t end)
{
    if (end <= event->start)
        return 0;
    /* As it was measured, which its track's pauses are in, and its own are not. */
    uint64_t wall = end - event->start;
    uint64_t active = ran(index, track, event->start, end);
    if (event->has_active)
        active = event->active < wall ? event->active : wall;
    uint64_t since = 0;
    bool is_paused = false;
    for (size_t i = 0; i <= event->marks.count; i++) {
        const struct event_mark *mark = i < event->marks.count ? &event->marks.items[i] : NULL;
        uint64_t at = mark && mark->time < end ? mark->time : end;
        if (is_paused && (!mark || mark->code == STREAM_SLOT_RESUME || at == end)) {
            uint64_t away = ran(index, track, since, at);
            active -= away < active ? away : active;
            is_paused = false;
        }
        if (mark && mark->code == STREAM_SLOT_PAUSE && !is_paused && at < end) {
            is_paused = true;
            since = at > event->start ? at : event->start;
        }
    }
    return wall - active;
}
