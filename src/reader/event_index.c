#include "reader/event_index.h"

#include <string.h>

struct build {
    struct event_index *index;
    const struct stream_file *file;
    const struct event_names *names;
    struct event_pages pages;
    bool wants_stints;
    bool is_plain[256]; /* a code whose slot says all about itself */
    bool has_end[256];  /* an interval's: its end may lie in the slot */

    /* Of the lane being read. */
    struct event_lane_info *lane;
    struct event_thread *owner;
    uint32_t track; /* that the owner runs */
    uint64_t track_since;
    uint64_t base;
    struct event_floor floor;
};

static int owner_is(struct build *build, uint32_t thread, uint32_t tid)
{
    struct event_index *index = build->index;
    bool added;
    uint64_t *at = map_slot(&index->thread_at, thread, index->threads.count, &added);
    if (!at)
        return LAM_E_NOMEM;
    size_t position = (size_t)*at;
    if (added &&
        array_push(&index->threads, ((struct event_thread){.thread = thread, .tid = tid})) < 0)
        return LAM_E_NOMEM;
    build->owner = &index->threads.items[position];
    build->owner->segments++;
    build->lane->segments++;
    return LAM_OK;
}

static void seen(struct build *build, uint64_t time)
{
    if (time > build->owner->last)
        build->owner->last = time;
    if (time > build->index->last)
        build->index->last = time;
}

/* The owner runs another track from now on, or none. */
static int track_is(struct build *build, uint32_t track, uint64_t time)
{
    int rc = LAM_OK;
    if (track == build->track)
        return rc;
    build->index->has_tracks = true;
    if (build->wants_stints && build->track && time > build->track_since)
        rc = array_push(&build->index->stints, ((struct event_stint){.track = build->track,
                                                                     .thread = build->owner->thread,
                                                                     .from = build->track_since,
                                                                     .to = time}));
    build->track = track;
    build->track_since = time;
    return rc;
}

bool event_ref_is_there(const struct stream_file *file, uint32_t lane, uint64_t where)
{
    struct stream_page_span span = stream_pages_of(file, STREAM_PAGE_EVENTS, lane);
    uint64_t sequence = where >> 16;
    while (span.first < span.end) {
        size_t mid = span.first + (span.end - span.first) / 2;
        uint32_t there = file->pages.items[mid].sequence;
        if (there == sequence)
            return where != 0;
        if (there < sequence)
            span.first = mid + 1;
        else
            span.end = mid;
    }
    return false;
}

uint32_t event_slot_kind(const struct event_page *page, uint32_t slot, uint32_t code)
{
    if (code != STREAM_SLOT_KIND_ELSEWHERE && code != STREAM_SLOT_FOLD)
        return code;
    uint32_t behind = event_slots_behind(page, slot + 1);
    for (uint32_t i = 0; i < behind; i++) {
        struct stream_slot more = event_slot_load(&page->slots[slot + 1 + i]);
        if (stream_slot_code(&more) == STREAM_SLOT_KIND)
            return stream_slot_id(&more);
    }
    return 0;
}

/* An event whose kind must be looked at: was it stored when it was over? */
static int on_event(struct build *build, const struct event_page *page, uint32_t slot,
                    uint64_t time, uint32_t code)
{
    uint32_t kind = event_slot_kind(page, slot, code);
    if (kind < STREAM_SLOT_KIND_MIN) {
        stream_faults_add(&build->pages.faults, STREAM_DAMAGE_RECORDS,
                          event_slot_offset(page->ref, slot), 1);
        return LAM_OK;
    }
    uint32_t flags = event_names_kind(build->names, kind)->flags;
    uint64_t payload = stream_slot_payload(&page->slots[slot]);
    if (!(flags & (STREAM_KIND_INSTANT | STREAM_KIND_INTEGER)) && payload)
        seen(build, time + payload - 1);
    if (!(flags & STREAM_KIND_LATER)) {
        event_floor_slot(&build->floor, time);
        return LAM_OK;
    }
    build->lane->has_later = true;
    event_floor_slot(&build->floor, payload ? time + payload - 1 : time);
    if (time >= build->floor.floor)
        return LAM_OK;
    struct event_later later = {
        .start = time,
        .lane = build->lane->lane,
        .segment = build->lane->segments,
        .page = (uint32_t)(page->ref - build->file->pages.items),
        .slot = slot,
    };
    return array_push(&build->index->later, later);
}

static int on_mark(struct build *build, const struct stream_slot *slot, uint64_t time,
                   uint32_t lane, uint32_t fold, const struct event_mark *measured)
{
    struct event_mark mark = {
        .where = stream_slot_payload(slot),
        .time = time,
        .lane = lane,
        .thread = build->owner->thread,
        .code = stream_slot_code(slot),
        .fold = fold,
        .self = measured ? measured->self : UINT64_MAX,
        .active = measured ? measured->active : UINT64_MAX,
    };
    build->index->has_pauses |= mark.code == STREAM_SLOT_PAUSE;
    return array_push(&build->index->marks, mark);
}

/* What the slots behind an END say of the interval: its times as they were measured, and its counters. */
static int on_end(struct build *build, const struct event_page *page, uint32_t at,
                  const struct stream_slot *slot, uint64_t time)
{
    struct event_mark measured = {.self = UINT64_MAX, .active = UINT64_MAX};
    struct event_end_counters counters = {0};
    uint32_t behind = event_slots_behind(page, at + 1);
    for (uint32_t i = 0; i < behind; i++) {
        struct stream_slot more = event_slot_load(&page->slots[at + 1 + i]);
        uint32_t code = stream_slot_code(&more), number = stream_slot_id(&more) - 1;
        bool is_set = more.head >> STREAM_SLOT_TIME_SHIFT & 1;
        if (code == STREAM_SLOT_SELF && is_set)
            measured.self = more.rest;
        else if (code == STREAM_SLOT_ACTIVE && is_set)
            measured.active = more.rest;
        else if (code == STREAM_SLOT_COUNTER && number < EVENT_COUNTERS_MAX) {
            counters.known |= 1u << number;
            counters.value[number] = more.rest;
        }
    }
    if (counters.known && array_push(&build->index->end_counters, counters) < 0)
        return LAM_E_NOMEM;
    uint32_t at_end = counters.known ? (uint32_t)build->index->end_counters.count : 0;
    return on_mark(build, slot, time, stream_slot_id(slot), at_end, &measured);
}

/* What calls of the tree took inside of an interval. */
static int on_calls(struct build *build, const struct event_page *page, uint32_t at,
                    const struct stream_slot *slot, uint64_t time)
{
    struct event_mark measured = {.self = UINT64_MAX, .active = UINT64_MAX};
    uint32_t behind = event_slots_behind(page, at + 1);
    for (uint32_t i = 0; i < behind; i++) {
        struct stream_slot more = event_slot_load(&page->slots[at + 1 + i]);
        if (stream_slot_code(&more) == STREAM_SLOT_TOTAL)
            measured.self = more.rest;
    }
    if (measured.self == UINT64_MAX) {
        stream_faults_add(&build->pages.faults, STREAM_DAMAGE_RECORDS,
                          event_slot_offset(page->ref, at), 1);
        return LAM_OK;
    }
    return on_mark(build, slot, time, stream_slot_id(slot), 0, &measured);
}

bool event_fold_decode(const struct event_page *page, uint32_t slot, uint64_t time, uint32_t thread,
                       struct event_fold *fold, uint32_t *lane)
{
    *fold =
        (struct event_fold){.time = time, .id = (uint32_t)page->slots[slot].head, .thread = thread};
    *lane = 0;
    uint32_t behind = event_slots_behind(page, slot + 1);
    bool has_kind = false, has_count = false;
    for (uint32_t i = 0; i < behind; i++) {
        struct stream_slot more = event_slot_load(&page->slots[slot + 1 + i]);
        switch (stream_slot_code(&more)) {
        case STREAM_SLOT_KIND:
            fold->kind = stream_slot_id(&more);
            *lane = more.rest > UINT32_MAX ? 0 : (uint32_t)more.rest;
            has_kind = true;
            break;
        case STREAM_SLOT_COUNT:
            fold->count = more.rest;
            has_count = true;
            break;
        case STREAM_SLOT_TOTAL:
            fold->total = more.rest;
            break;
        case STREAM_SLOT_SELF:
            fold->self = more.rest;
            break;
        default:
            break;
        }
    }
    return has_kind && has_count;
}

/* One without an interval around it is read where it stands. */
static int on_fold(struct build *build, const struct event_page *page, uint32_t at,
                   const struct stream_slot *slot, uint64_t time)
{
    struct event_fold fold;
    uint32_t lane;
    if (!event_fold_decode(page, at, time, build->owner->thread, &fold, &lane)) {
        stream_faults_add(&build->pages.faults, STREAM_DAMAGE_RECORDS,
                          event_slot_offset(page->ref, at), 1);
        return LAM_OK;
    }
    if (!event_ref_is_there(build->file, lane, stream_slot_payload(slot)))
        return LAM_OK;
    uint32_t number = (uint32_t)build->index->folds.count;
    int rc = array_push(&build->index->folds, fold);
    return rc < 0 ? rc : on_mark(build, slot, time, lane, number, NULL);
}

static int on_owner(struct build *build, const struct stream_slot *slot, uint64_t time)
{
    uint32_t thread = stream_slot_id(slot);
    if (build->owner && build->owner->thread == thread)
        return LAM_OK;
    int rc = build->owner ? track_is(build, 0, build->owner->last) : LAM_OK;
    if (rc >= 0)
        rc = owner_is(build, thread, (uint32_t)stream_slot_payload(slot));
    build->track_since = time;
    return rc;
}

/* The codes below 16, and the events that are not plain. */
static int on_slot(struct build *build, const struct event_page *page, uint32_t at,
                   const struct stream_slot *slot, uint64_t time)
{
    uint32_t code = stream_slot_code(slot);
    switch (code) {
    case STREAM_SLOT_OWNER:
        return on_owner(build, slot, time);
    case STREAM_SLOT_BASE:
        build->base = slot->rest;
        return LAM_OK;
    case STREAM_SLOT_END:
        return on_end(build, page, at, slot, time);
    case STREAM_SLOT_PAUSE:
    case STREAM_SLOT_RESUME:
        return on_mark(build, slot, time, stream_slot_id(slot), 0, NULL);
    case STREAM_SLOT_TRACK_SWITCH:
        return track_is(build, stream_slot_id(slot), time);
    case STREAM_SLOT_TRACK_END:
        return build->track == stream_slot_id(slot) ? track_is(build, 0, time) : LAM_OK;
    case STREAM_SLOT_FOLD:
        return on_fold(build, page, at, slot, time);
    case STREAM_SLOT_CALLS:
        return on_calls(build, page, at, slot, time);
    default:
        return code >= STREAM_SLOT_KIND_MIN ? on_event(build, page, at, time, code) : LAM_OK;
    }
}

static int read_page(struct build *build, const struct event_page *page)
{
    build->base = page->ref->base_ticks;
    event_floor_page(&build->floor);
    uint64_t used = 0;
    for (uint32_t i = 0; i < page->count; i++) {
        struct stream_slot slot = event_slot_load(&page->slots[i]);
        uint32_t code = stream_slot_code(&slot);
        if (code == STREAM_SLOT_NONE)
            continue;
        used++;
        if (code >= STREAM_SLOT_KIND && code < STREAM_SLOT_KIND_MIN)
            continue;
        uint64_t time = build->base + stream_slot_time(&slot);
        if (code != STREAM_SLOT_OWNER && !build->owner && owner_is(build, 0, page->ref->tid) < 0)
            return LAM_E_NOMEM;
        if (build->is_plain[code]) {
            event_floor_slot(&build->floor, time);
        } else {
            int rc = on_slot(build, page, i, &slot, time);
            if (rc < 0)
                return rc;
        }
        uint64_t payload = build->has_end[code] ? stream_slot_payload(&slot) : 0;
        if (code != STREAM_SLOT_BASE)
            seen(build, payload ? time + payload - 1 : time);
    }
    build->index->slots += used;
    return LAM_OK;
}

static int read_lane(struct build *build, size_t *page)
{
    const struct stream_file *file = build->file;
    uint32_t lane = file->pages.items[*page].thread;
    build->lane = array_add(&build->index->lanes);
    if (!build->lane)
        return LAM_E_NOMEM;
    build->lane->lane = lane;
    build->lane->pages = stream_pages_of(file, STREAM_PAGE_EVENTS, lane);
    build->owner = NULL;
    build->track = 0;
    build->floor = (struct event_floor){0};
    int rc = LAM_OK;
    for (size_t i = build->lane->pages.first; rc >= 0 && i < build->lane->pages.end; i++) {
        struct event_page view;
        rc = event_pages_get(&build->pages, i, &view);
        if (rc > 0)
            rc = read_page(build, &view);
    }
    if (build->owner)
        build->owner->has_lane = true;
    if (rc >= 0 && build->owner)
        rc = track_is(build, 0, build->owner->last);
    *page = build->lane->pages.end;
    return rc;
}

/* ---- order ---- */

static int compare_marks(const void *left, const void *right)
{
    const struct event_mark *a = left, *b = right;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->where != b->where)
        return a->where < b->where ? -1 : 1;
    return a->time < b->time ? -1 : a->time > b->time;
}

int event_later_compare(const void *left, const void *right)
{
    const struct event_later *a = left, *b = right;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->segment != b->segment)
        return a->segment < b->segment ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->page != b->page)
        return a->page < b->page ? -1 : 1;
    return a->slot < b->slot ? -1 : a->slot > b->slot;
}

static int compare_stints(const void *left, const void *right)
{
    const struct event_stint *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* Two threads cannot run one track at once: where clocks say so, the later one begins when the earlier one ends. */
static void add_up_stints(struct event_index *index)
{
    array_sort(&index->stints, compare_stints);
    for (size_t i = 1; i < index->stints.count; i++) {
        const struct event_stint *before = &index->stints.items[i - 1];
        struct event_stint *stint = &index->stints.items[i];
        if (stint->track != before->track)
            continue;
        if (stint->from < before->to)
            stint->from = before->to;
        if (stint->to < stint->from)
            stint->to = stint->from;
        stint->before = before->before + (before->to - before->from);
    }
}

void event_index_sort_marks(struct event_index *index)
{
    array_sort(&index->marks, compare_marks);
    size_t mark = 0;
    array_each(&index->lanes, lane)
    {
        while (mark < index->marks.count && index->marks.items[mark].lane < lane->lane)
            mark++;
        lane->first_mark = mark;
        while (mark < index->marks.count && index->marks.items[mark].lane == lane->lane)
            mark++;
        lane->end_mark = mark;
    }
}

static void put_in_order(struct event_index *index)
{
    array_sort(&index->later, event_later_compare);
    add_up_stints(index);
    event_index_sort_marks(index);
    size_t later = 0;
    array_each(&index->lanes, lane)
    {
        lane->first_later = later;
        while (later < index->later.count && index->later.items[later].lane == lane->lane)
            later++;
        lane->end_later = later;
    }
}

int event_index_build(struct event_index *index, const struct stream_file *file,
                      const struct event_names *names, bool wants_stints,
                      struct stream_faults *faults)
{
    struct build build = {.index = index, .file = file, .names = names, .wants_stints = wants_stints};
    for (uint32_t code = STREAM_SLOT_KIND_MIN; code < STREAM_SLOT_KIND_ELSEWHERE; code++) {
        uint32_t flags = event_names_kind(names, code)->flags;
        build.is_plain[code] = !(flags & STREAM_KIND_LATER);
        build.has_end[code] = !(flags & (STREAM_KIND_INSTANT | STREAM_KIND_INTEGER));
    }
    event_pages_init(&build.pages, file);
    struct stream_page_span all = stream_pages_of_kind(file, STREAM_PAGE_EVENTS);
    int rc = LAM_OK;
    for (size_t page = all.first; rc >= 0 && page < all.end;)
        rc = read_lane(&build, &page);
    put_in_order(index);
    stream_faults_merge(faults, &build.pages.faults);
    event_pages_close(&build.pages);
    return rc < 0 ? rc : LAM_OK;
}

void event_index_free(struct event_index *index)
{
    array_free(&index->lanes);
    array_free(&index->marks);
    array_free(&index->folds);
    array_free(&index->end_counters);
    array_free(&index->later);
    array_free(&index->threads);
    map_free(&index->thread_at);
    array_free(&index->stints);
    *index = (struct event_index){0};
}

struct event_marks event_index_marks(const struct event_index *index,
                                     const struct event_lane_info *lane, uint64_t where)
{
    size_t low = lane->first_mark, high = lane->end_mark;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (index->marks.items[mid].where < where)
            low = mid + 1;
        else
            high = mid;
    }
    size_t end = low;
    while (end < lane->end_mark && index->marks.items[end].where == where)
        end++;
    return (struct event_marks){low < end ? &index->marks.items[low] : NULL, end - low};
}

/* How long it had run at a time, with the first stint that ends behind it found by halving. */
static uint64_t ran_until(const struct event_index *index, uint32_t track, uint64_t at)
{
    size_t low = 0, high = index->stints.count;
    while (low < high) { /* the first stint of this track or behind it that begins at `at` or later */
        size_t mid = low + (high - low) / 2;
        const struct event_stint *stint = &index->stints.items[mid];
        if (stint->track < track || (stint->track == track && stint->from < at))
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0 || index->stints.items[low - 1].track != track)
        return 0;
    const struct event_stint *stint = &index->stints.items[low - 1];
    return stint->before + ((at < stint->to ? at : stint->to) - stint->from);
}

uint64_t event_index_ran(const struct event_index *index, uint32_t track, uint64_t from, uint64_t to)
{
    return from < to ? ran_until(index, track, to) - ran_until(index, track, from) : 0;
}
