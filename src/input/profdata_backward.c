/* From the end of a self-profile to its beginning: parents come before their children, who leave complete. */
#include <string.h>

#include "base/memory.h"
#include "input/profdata_walk.h"

#define NO_PARENT UINT32_MAX
#define NOT_OPEN  UINT64_MAX

enum {
    AHEAD = 12
}; /* events whose names are fetched before they are needed: a cache miss each otherwise */

struct open_interval {
    uint64_t start, end; /* in the file's time */
    uint64_t children, children_time;
    uint64_t id;       /* of its string, for arguments */
    uint64_t was_open; /* what `open` said of its label before */
    uint32_t label, path;
    uint32_t parent; /* index in the stack, or NO_PARENT */
    uint32_t flags;
};

/* What of a thread is under way at the time where the walk is. While nothing overlaps, each lies inside the one below. */
struct lane {
    LAM_ARRAY(struct open_interval) stack; /* by falling ends */
    bool is_tangled;                       /* some overlap: any of them may hold what comes */
    uint64_t last;                         /* time of the event that came last */
};

struct backward {
    struct profdata_walk *walk;
    struct lane *lanes; /* by thread index */
    /* Label → lane << 32 | index in its stack, of the last one that was begun: a hint that tells at once, mostly, whether an
     * ancestor has the label. */
    LAM_ARRAY(uint64_t) open;
};

static uint64_t length_of(const struct open_interval *item)
{
    return item->end - item->start;
}

/* ---- labels among the ancestors ---- */

static bool is_among_ancestors(const struct lane *lane, uint32_t parent, uint32_t label)
{
    for (; parent != NO_PARENT; parent = lane->stack.items[parent].parent) {
        if (lane->stack.items[parent].label == label)
            return true;
    }
    return false;
}

static bool is_recursive(const struct backward *back, uint32_t lane_index, uint32_t parent,
                         uint32_t label)
{
    const struct lane *lane = &back->lanes[lane_index];
    uint64_t open = back->open.items[label];
    if (open == NOT_OPEN || parent == NO_PARENT)
        return false;
    uint32_t at = (uint32_t)open;
    if (!lane->is_tangled && open >> 32 == lane_index && at <= parent &&
        lane->stack.items[at].label == label)
        return true;
    return is_among_ancestors(lane, parent, label); /* it is open elsewhere, or the hint is old */
}

static int know_label(struct backward *back, uint32_t label)
{
    size_t known = back->open.count;
    if (label < known)
        return LAM_OK;
    int rc = array_resize(&back->open, (size_t)label_merge_last(back->walk->labels->ids) + 1);
    if (rc >= 0)
        memset(back->open.items + known, 0xff, (back->open.count - known) * sizeof *back->open.items);
    return rc;
}

/* ---- leaving ---- */

static uint32_t depth_of(const struct lane *lane, uint32_t parent)
{
    if (!lane->is_tangled)
        return parent == NO_PARENT ? 0 : parent + 1;
    uint32_t depth = 0;
    for (; parent != NO_PARENT; parent = lane->stack.items[parent].parent)
        depth++;
    return depth;
}

static int tell(struct backward *back, uint32_t lane_index, const struct open_interval *item)
{
    struct profdata_walk *walk = back->walk;
    uint64_t length = length_of(item);
    walk->totals.intervals++;
    walk->totals.backward += (item->flags & PROFILE_INTERVAL_BACKWARD) != 0;
    walk->totals.overlapping += (item->flags & PROFILE_INTERVAL_OVERLAPS) != 0;
    if (!walk->sink->ops->interval)
        return LAM_OK;
    struct profile_interval told = {
        .process = walk->process,
        .thread = walk->first_thread + lane_index,
        .label = item->label,
        .path = item->path,
        .start_ns = profdata_walk_time(walk, item->start),
        .end_ns = profdata_walk_time(walk, item->end),
        .active_ns = length,
        .self_ns = length - (item->children_time < length ? item->children_time : length),
        .children = item->children,
        .depth = depth_of(&back->lanes[lane_index], item->parent),
        .weight = 1,
        .flags = item->flags,
        .end_thread = walk->first_thread + lane_index,
        .args_id = profdata_walk_args_id(item->id),
    };
    int rc = walk->sink->wants.args ? profdata_walk_args(walk, item->id, &told.args, &told.argc)
                                    : LAM_OK;
    return rc < 0 ? rc : walk->sink->ops->interval(walk->sink->ctx, &told);
}

static void close_label(struct backward *back, uint32_t lane_index, uint32_t index,
                        const struct open_interval *item)
{
    uint64_t here = (uint64_t)lane_index << 32 | index;
    if (item->label < back->open.count && back->open.items[item->label] == here)
        back->open.items[item->label] = item->was_open;
}

static int finish_top(struct backward *back, uint32_t lane_index)
{
    struct lane *lane = &back->lanes[lane_index];
    const struct open_interval *item = &lane->stack.items[--lane->stack.count];
    close_label(back, lane_index, (uint32_t)lane->stack.count, item);
    return tell(back, lane_index, item);
}

/* ---- overlaps ---- */

static bool is_nested(const struct lane *lane)
{
    for (size_t i = 1; i < lane->stack.count; i++) {
        if (lane->stack.items[i].start < lane->stack.items[i - 1].start)
            return false;
    }
    return true;
}

static void remove_at(struct lane *lane, size_t index)
{
    memmove(lane->stack.items + index, lane->stack.items + index + 1,
            (lane->stack.count - index - 1) * sizeof *lane->stack.items);
    lane->stack.count--;
    for (size_t i = index; i < lane->stack.count; i++) {
        uint32_t *parent = &lane->stack.items[i].parent;
        if (*parent != NO_PARENT && *parent > index)
            --*parent;
    }
}

/* Where some overlap, those that nothing earlier can lie in may be anywhere; children lie above their parents. */
static int finish_tangled(struct backward *back, uint32_t lane_index, uint64_t until)
{
    struct lane *lane = &back->lanes[lane_index];
    int rc = LAM_OK;
    for (size_t i = lane->stack.count; rc >= 0 && i-- > 0;) {
        struct open_interval item = lane->stack.items[i];
        if (item.start < until)
            continue;
        close_label(back, lane_index, (uint32_t)i, &item);
        rc = tell(back, lane_index, &item);
        remove_at(lane, i);
    }
    /* Nested again, but perhaps with a parent that is not the next one below: those keep the lane tangled. */
    bool is_plain = is_nested(lane);
    for (size_t i = 0; is_plain && i < lane->stack.count; i++)
        is_plain = lane->stack.items[i].parent == (i ? (uint32_t)i - 1 : NO_PARENT);
    lane->is_tangled = !is_plain;
    return rc;
}

/* Takes an interval that begins inside [start, end] and ends after it from its parent. What lies in it stays its own. */
static void mark_overlap(struct lane *lane, struct open_interval *item)
{
    struct open_interval *parent =
        item->parent == NO_PARENT ? NULL : &lane->stack.items[item->parent];
    if (parent) {
        parent->children--;
        parent->children_time -= length_of(item);
    }
    item->parent = NO_PARENT;
    item->flags = (item->flags | PROFILE_INTERVAL_OVERLAPS) & ~(uint32_t)PROFILE_INTERVAL_RECURSIVE;
}

/* The shortest one that holds [start, end], and the marks on those that it cuts. */
static uint32_t place_tangled(struct lane *lane, uint64_t start, uint64_t end)
{
    uint32_t best = NO_PARENT;
    for (size_t i = 0; i < lane->stack.count; i++) {
        struct open_interval *item = &lane->stack.items[i];
        bool is_inside = start < end ? item->start <= start && end <= item->end
                                     : item->start < start && end < item->end;
        if (is_inside) {
            if (best == NO_PARENT || length_of(item) <= length_of(&lane->stack.items[best]))
                best = (uint32_t)i;
        } else if (start < item->start && item->end > end &&
                   !(item->flags & PROFILE_INTERVAL_OVERLAPS)) {
            bool is_parent_cut =
                item->parent != NO_PARENT && lane->stack.items[item->parent].start > start;
            if (!is_parent_cut)
                mark_overlap(lane, item);
            lane->is_tangled = true;
        }
    }
    return best;
}

/* ---- coming in ---- */

/* An empty interval holds nothing, and lies in nothing that it only touches. */
static uint32_t parent_of_empty(struct lane *lane, uint64_t at)
{
    if (lane->is_tangled)
        return place_tangled(lane, at, at);
    size_t index = lane->stack.count;
    while (index > 0 && lane->stack.items[index - 1].end == at)
        index--;
    return index ? (uint32_t)index - 1 : NO_PARENT;
}

static inline uint32_t parent_of(struct lane *lane, uint64_t start, uint64_t end)
{
    size_t count = lane->stack.count;
    if (!lane->is_tangled && (count == 0 || lane->stack.items[count - 1].start <= start))
        return count ? (uint32_t)count - 1 : NO_PARENT;
    return place_tangled(lane, start, end);
}

static int path_under(struct backward *back, const struct lane *lane, struct open_interval *item)
{
    uint32_t above = item->parent == NO_PARENT ? 0 : lane->stack.items[item->parent].path;
    return interval_paths_step(back->walk->paths, back->walk->sink, above, item->label, &item->path);
}

/* Ends what began at `end` or later: nothing that is still to come lies in it. */
static inline int finish_before(struct backward *back, uint32_t lane_index, uint64_t end)
{
    struct lane *lane = &back->lanes[lane_index];
    int rc = LAM_OK;
    if (lane->is_tangled)
        rc = finish_tangled(back, lane_index, end);
    while (rc >= 0 && lane->stack.count && array_last(&lane->stack).start >= end)
        rc = finish_top(back, lane_index);
    return rc;
}

/* The interval is made in its place above the stack, which it takes unless it is empty. */
static inline __attribute__((always_inline)) int add_interval(struct backward *back,
                                                              const struct profdata_event *event,
                                                              uint32_t lane_index, uint32_t flags)
{
    struct lane *lane = &back->lanes[lane_index];
    uint32_t label;
    int rc = finish_before(back, lane_index, event->end);
    if (rc >= 0)
        rc = profdata_label(back->walk->labels, back->walk->strings, event->kind, event->id, &label);
    if (rc >= 0)
        rc = know_label(back, label);
    if (rc >= 0)
        rc = array_reserve(&lane->stack, lane->stack.count + 1);
    if (rc < 0)
        return rc;
    bool is_empty = event->start == event->end;
    uint32_t parent =
        is_empty ? parent_of_empty(lane, event->end) : parent_of(lane, event->start, event->end);
    if (parent != NO_PARENT) {
        lane->stack.items[parent].children++;
        lane->stack.items[parent].children_time += event->end - event->start;
    }
    struct open_interval *item = &lane->stack.items[lane->stack.count];
    item->start = event->start;
    item->end = event->end;
    item->children = item->children_time = 0;
    item->id = event->id;
    item->was_open = back->open.items[label];
    item->label = label;
    item->path = 0;
    item->parent = parent;
    item->flags = flags;
    if (is_recursive(back, lane_index, parent, label))
        item->flags |= PROFILE_INTERVAL_RECURSIVE;
    rc = back->walk->sink->wants.paths ? path_under(back, lane, item) : LAM_OK;
    if (rc < 0 || is_empty)
        return rc < 0 ? rc : tell(back, lane_index, item);
    back->open.items[label] = (uint64_t)lane_index << 32 | lane->stack.count;
    lane->stack.count++;
    return LAM_OK;
}

static inline __attribute__((always_inline)) int add_event(struct backward *back,
                                                           struct profdata_event event)
{
    uint32_t lane_index = profdata_thread_index(back->walk->threads, event.thread);
    if (lane_index == PROFDATA_NO_THREAD)
        return LAM_OK;
    struct lane *lane = &back->lanes[lane_index];
    if (!profdata_is_interval(&event)) {
        if (event.end == PROFDATA_INSTANT)
            lane->last = event.start;
        return profdata_walk_instant(back->walk, &event, lane_index, lane->last);
    }
    uint32_t flags = profdata_mend_backward(&event) ? (uint32_t)PROFILE_INTERVAL_BACKWARD : 0;
    lane->last = event.end;
    return add_interval(back, &event, lane_index, flags);
}

static inline __attribute__((always_inline)) int walk_run(struct backward *back,
                                                          const struct profdata_run *run,
                                                          uint64_t count, bool is_wide)
{
    size_t size = is_wide ? 32 : 24;
    int rc = LAM_OK;
    while (rc >= 0 && count-- > 0) {
        const uint8_t *at = run->bytes + count * size;
        if (count >= AHEAD)
            profdata_strings_prefetch(back->walk->strings,
                                      profdata_event_read(at - AHEAD * size, is_wide).id);
        rc = add_event(back, profdata_event_read(at, is_wide));
    }
    return rc;
}

static int walk_all(struct backward *back)
{
    const struct profdata_file *file = back->walk->file;
    int rc = LAM_OK;
    for (uint64_t end = profdata_event_count(file); rc >= 0 && end > 0;) {
        struct profdata_run run;
        profdata_run_at(file, end - 1, &run);
        uint64_t count = end - run.first;
        rc = file->is_wide ? walk_run(back, &run, count, true) : walk_run(back, &run, count, false);
        end = run.first;
    }
    return rc;
}

static int walk_sorted(struct backward *back, const struct profdata_order *order)
{
    const struct profdata_file *file = back->walk->file;
    int rc = LAM_OK;
    for (uint64_t i = order->count; rc >= 0 && i-- > 0;) {
        struct profdata_run run;
        profdata_run_at(file, order->events[i], &run);
        const uint8_t *bytes = run.bytes + (order->events[i] - run.first) * file->event_bytes;
        rc = add_event(back, profdata_event_read(bytes, file->is_wide));
    }
    return rc;
}

static int finish_lane(struct backward *back, uint32_t lane_index)
{
    struct lane *lane = &back->lanes[lane_index];
    int rc = LAM_OK;
    while (rc >= 0 && lane->stack.count)
        rc = finish_top(back, lane_index);
    return rc;
}

int profdata_walk_backward(struct profdata_walk *walk, const struct profdata_order *order)
{
    size_t count = walk->threads->items.count;
    struct backward back = {.walk = walk};
    back.lanes = mem_zalloc(count + 1, sizeof *back.lanes);
    int rc = back.lanes ? LAM_OK : LAM_E_NOMEM;
    for (size_t i = 0; rc >= 0 && i < count; i++)
        back.lanes[i].last = walk->threads->items.items[i].end;
    if (rc >= 0)
        rc = order->events ? walk_sorted(&back, order) : walk_all(&back);
    for (size_t i = 0; rc >= 0 && i < count; i++)
        rc = finish_lane(&back, (uint32_t)i);
    for (size_t i = 0; back.lanes && i < count; i++)
        array_free(&back.lanes[i].stack);
    mem_free(back.lanes);
    array_free(&back.open);
    return rc;
}
