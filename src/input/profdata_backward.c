/* From the end of a self-profile to its beginning, by all rules: parents come before their children, who leave complete. What only has
 * to be added up and nests goes another way (profdata_nested.h), and so does what branches are told (profdata_part.h). */
#include <string.h>

#include "base/memory.h"
#include "input/profdata_sums.h"
#include "input/profdata_walk.h"

#define NO_PARENT UINT32_MAX
#define NOT_OPEN  UINT64_MAX

enum {
    AHEAD = 12, /* events whose names are fetched before they are needed: a cache miss each otherwise */
    BLOCK = 256, /* events whose labels are found in one go */
    CHAINS_MAX = 64,
    OVERLAPS_MAX = 64, /* under way at once in a thread */
    LOOKED_AT =
        1024, /* of those under way, where some overlap: all of a deep nest would take for ever */
    CHAIN_NONE = UINT16_MAX,
};

struct profdata_open {   /* an interval under way */
    uint64_t start, end; /* in the file's time */
    uint64_t children, children_time;
    uint64_t id;       /* of its string, for arguments */
    uint64_t was_open; /* what `open` said of its label before */
    uint32_t label;
    uint32_t path;   /* told to the sink */
    uint32_t parent; /* index in the stack, or NO_PARENT */
    uint16_t flags;  /* of the interval */
    uint16_t chain;  /* not kept for sums, which have none */
};

/* What of a thread is under way at the time where the walk is. While nothing overlaps, each lies inside the one below. */
struct profdata_lane {
    LAM_ARRAY(struct profdata_open) stack; /* by falling ends */
    LAM_ARRAY(uint64_t)
    chains; /* beside the thread's own: start of the last that began it, the earliest so far */
    bool is_tangled;   /* some overlap: any of them may hold what comes */
    uint32_t overlaps; /* how many of them do */
    uint64_t last;     /* time of the event that came last */
};

struct profdata_backward {
    struct profdata_walk *walk;
    struct profdata_sums *sums;  /* NULL: each event is told to the sink */
    struct profdata_lane *lanes; /* by thread index */
    struct profdata_threads *threads;
    /* Label → lane << 32 | index in its stack, of the last one that was begun: a hint that tells at once, mostly, whether an
     * ancestor has the label. */
    LAM_ARRAY(uint64_t) open;
};

static uint64_t length_of(const struct profdata_open *item)
{
    return item->end - item->start;
}

/* ---- labels among the ancestors ---- */

static bool is_among_ancestors(const struct profdata_lane *lane, uint32_t parent, uint32_t label)
{
    for (; parent != NO_PARENT; parent = lane->stack.items[parent].parent) {
        if (lane->stack.items[parent].label == label)
            return true;
    }
    return false;
}

static bool is_recursive(const struct profdata_lane *lane, uint32_t lane_index, uint64_t open,
                         uint32_t parent, uint32_t label)
{
    uint32_t at = (uint32_t)open;
    if (!lane->is_tangled && open >> 32 == lane_index && at <= parent &&
        lane->stack.items[at].label == label)
        return true;
    return is_among_ancestors(lane, parent, label); /* it is open elsewhere, or the hint is old */
}

static int know_label(struct profdata_backward *back, uint32_t label)
{
    size_t known = back->open.count;
    if (label < known)
        return LAM_OK;
    size_t count =
        back->sums ? back->sums->capacity : (size_t)label_merge_last(back->walk->labels->ids) + 1;
    int rc = array_resize(&back->open, count);
    if (rc >= 0)
        memset(back->open.items + known, 0xff, (back->open.count - known) * sizeof *back->open.items);
    return rc;
}

/* ---- leaving ---- */

static uint32_t depth_of(const struct profdata_lane *lane, uint32_t parent)
{
    if (!lane->is_tangled)
        return parent == NO_PARENT ? 0 : parent + 1;
    uint32_t depth = 0;
    for (; parent != NO_PARENT; parent = lane->stack.items[parent].parent)
        depth++;
    return depth;
}

static uint64_t self_of(const struct profdata_open *item)
{
    uint64_t length = length_of(item);
    return length - (item->children_time < length ? item->children_time : length);
}

static int tell_sink(struct profdata_backward *back, uint32_t lane_index,
                     const struct profdata_open *item)
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
        .self_ns = self_of(item),
        .children = item->children,
        .depth = depth_of(&back->lanes[lane_index], item->parent),
        .weight = 1,
        .chain = item->chain == CHAIN_NONE ? PROFILE_CHAIN_NONE : item->chain,
        .flags = item->flags,
        .end_thread = walk->first_thread + lane_index,
        .args_id = profdata_walk_args_id(walk, item->id),
    };
    int rc = profdata_walk_args(walk, item->id, told.args_id, &told.args, &told.argc);
    return rc < 0 ? rc : walk->sink->ops->interval(walk->sink->ctx, &told);
}

static inline __attribute__((always_inline)) int add_to_sums(struct profdata_backward *back,
                                                             uint32_t lane_index,
                                                             const struct profdata_open *item)
{
    struct profdata_lane_sum *lane = &back->sums->lanes[lane_index];
    struct profdata_sum *sum = &back->sums->sums[item->label];
    uint64_t length = length_of(item), self = self_of(item);
    lane->self += self;
    lane->backward += (item->flags & PROFILE_INTERVAL_BACKWARD) != 0;
    lane->overlapping += (item->flags & PROFILE_INTERVAL_OVERLAPS) != 0;
    sum->inner += length - self;
    return profdata_sum_add(sum, length, (item->flags & PROFILE_INTERVAL_RECURSIVE) != 0);
}

static inline __attribute__((always_inline)) int tell(struct profdata_backward *back,
                                                      uint32_t lane_index,
                                                      const struct profdata_open *item,
                                                      bool is_summing)
{
    return is_summing ? add_to_sums(back, lane_index, item) : tell_sink(back, lane_index, item);
}

static inline void close_label(struct profdata_backward *back, uint32_t lane_index, uint32_t index,
                               const struct profdata_open *item)
{
    uint64_t here = (uint64_t)lane_index << 32 | index;
    if (item->label < back->open.count && back->open.items[item->label] == here)
        back->open.items[item->label] = item->was_open;
}

static inline __attribute__((always_inline)) int finish_top(struct profdata_backward *back,
                                                            uint32_t lane_index, bool is_summing)
{
    struct profdata_lane *lane = &back->lanes[lane_index];
    const struct profdata_open *item = &lane->stack.items[--lane->stack.count];
    close_label(back, lane_index, (uint32_t)lane->stack.count, item);
    return tell(back, lane_index, item, is_summing);
}

/* ---- overlaps ---- */

/* Where some overlap, those that are looked at: of many the innermost. */
static size_t first_looked_at(const struct profdata_lane *lane)
{
    return lane->stack.count > LOOKED_AT ? lane->stack.count - LOOKED_AT : 0;
}

/* Nothing overlaps, and each lies in the one below. */
static bool is_plain(const struct profdata_lane *lane)
{
    if (lane->overlaps || first_looked_at(lane) > 0)
        return false;
    for (size_t i = 0; i < lane->stack.count; i++) {
        const struct profdata_open *item = &lane->stack.items[i];
        if (item->parent != (i ? (uint32_t)i - 1 : NO_PARENT) || (i && item->start < item[-1].start))
            return false;
    }
    return true;
}

/* What it holds and is still under way is nobody's child from here on. */
static void remove_at(struct profdata_lane *lane, size_t index)
{
    lane->overlaps -= (lane->stack.items[index].flags & PROFILE_INTERVAL_OVERLAPS) != 0;
    memmove(lane->stack.items + index, lane->stack.items + index + 1,
            (lane->stack.count - index - 1) * sizeof *lane->stack.items);
    lane->stack.count--;
    for (size_t i = index; i < lane->stack.count; i++) {
        uint32_t *parent = &lane->stack.items[i].parent;
        if (*parent == index)
            *parent = NO_PARENT;
        else if (*parent != NO_PARENT && *parent > index)
            --*parent;
    }
}

static int finish_at(struct profdata_backward *back, uint32_t lane_index, size_t index)
{
    struct profdata_lane *lane = &back->lanes[lane_index];
    struct profdata_open item = lane->stack.items[index];
    close_label(back, lane_index, (uint32_t)index, &item);
    int rc = tell(back, lane_index, &item, back->sums != NULL);
    remove_at(lane, index);
    return rc;
}

/* Those that nothing earlier can lie in may be anywhere; children lie above their parents. One overlap too many leaves early, with
 * what it has held so far. */
static int finish_tangled(struct profdata_backward *back, uint32_t lane_index, uint64_t until)
{
    struct profdata_lane *lane = &back->lanes[lane_index];
    size_t first = first_looked_at(lane);
    int rc = LAM_OK;
    for (size_t i = lane->stack.count; rc >= 0 && i-- > first;) {
        if (lane->stack.items[i].start >= until)
            rc = finish_at(back, lane_index, i);
    }
    for (size_t i = first; rc >= 0 && lane->overlaps > OVERLAPS_MAX && i < lane->stack.count;) {
        if (lane->stack.items[i].flags & PROFILE_INTERVAL_OVERLAPS)
            rc = finish_at(back, lane_index, i);
        else
            i++;
    }
    lane->is_tangled = !is_plain(lane);
    return rc;
}

/* One in which nothing lies between item's start and its end. Stairs of overlaps must not take for ever: what finds none is in no chain. */
static uint16_t find_chain(struct profdata_lane *lane, const struct profdata_open *item)
{
    size_t i = 0;
    while (i < lane->chains.count && lane->chains.items[i] < item->end)
        i++;
    if (i == CHAINS_MAX || (i == lane->chains.count && array_push(&lane->chains, 0) < 0))
        return CHAIN_NONE;
    lane->chains.items[i] = item->start;
    return (uint16_t)(i + 1);
}

/* With all that it holds: children lie above their parents. What it held and has left ends after all that can cut it. */
static void begin_chain(struct profdata_lane *lane, struct profdata_open *item)
{
    item->chain = find_chain(lane, item);
    struct profdata_open *all = lane->stack.items, *end = all + lane->stack.count;
    for (struct profdata_open *inner = item + 1; inner < end; inner++) {
        if (inner->parent != NO_PARENT && all + inner->parent >= item &&
            all[inner->parent].chain == item->chain)
            inner->chain = item->chain;
    }
}

/* Takes an interval that begins inside [start, end] and ends after it from its parent. What lies in it stays its own. */
static void mark_overlap(struct profdata_lane *lane, struct profdata_open *item)
{
    struct profdata_open *parent =
        item->parent == NO_PARENT ? NULL : &lane->stack.items[item->parent];
    if (parent) {
        parent->children--;
        parent->children_time -= length_of(item);
    }
    item->parent = NO_PARENT;
    lane->overlaps++;
    item->flags = (uint16_t)((item->flags | PROFILE_INTERVAL_OVERLAPS) & ~PROFILE_INTERVAL_RECURSIVE);
    begin_chain(lane, item);
}

/* The shortest one that holds [start, end], and the marks on those that it cuts. */
static uint32_t place_tangled(struct profdata_lane *lane, uint64_t start, uint64_t end)
{
    uint32_t best = NO_PARENT;
    for (size_t i = first_looked_at(lane); i < lane->stack.count; i++) {
        struct profdata_open *item = &lane->stack.items[i];
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
static uint32_t parent_of_empty(struct profdata_lane *lane, uint64_t at)
{
    if (lane->is_tangled)
        return place_tangled(lane, at, at);
    size_t index = lane->stack.count;
    while (index > 0 && lane->stack.items[index - 1].end == at)
        index--;
    return index ? (uint32_t)index - 1 : NO_PARENT;
}

static inline uint32_t parent_of(struct profdata_lane *lane, uint64_t start, uint64_t end)
{
    size_t count = lane->stack.count;
    if (!lane->is_tangled && (count == 0 || lane->stack.items[count - 1].start <= start))
        return count ? (uint32_t)count - 1 : NO_PARENT;
    return place_tangled(lane, start, end);
}

static int path_under(struct profdata_backward *back, const struct profdata_lane *lane,
                      struct profdata_open *item)
{
    uint32_t above = item->parent == NO_PARENT ? 0 : lane->stack.items[item->parent].path;
    return interval_paths_step(back->walk->paths, back->walk->sink, above, item->label, &item->path);
}

static inline __attribute__((always_inline)) int finish_before(struct profdata_backward *back,
                                                               uint32_t lane_index, uint64_t end,
                                                               bool is_summing)
{
    struct profdata_lane *lane = &back->lanes[lane_index];
    int rc = LAM_OK;
    if (lane->is_tangled)
        rc = finish_tangled(back, lane_index, end);
    while (rc >= 0 && lane->stack.count && array_last(&lane->stack).start >= end)
        rc = finish_top(back, lane_index, is_summing);
    return rc;
}

static inline int label_of(struct profdata_backward *back, uint64_t kind, uint64_t id, uint32_t *label)
{
    int rc = back->sums ? profdata_sums_label(back->sums, kind, id, label)
                        : profdata_label(back->walk->labels, back->walk->strings, kind, id, label);
    return rc < 0 || *label < back->open.count ? rc : know_label(back, *label);
}

static void sum_mark(struct profdata_backward *back, const struct profdata_event *event,
                     uint32_t label)
{
    if (event->end == PROFDATA_INTEGER)
        profdata_sums_integer(back->sums, label, event->start);
    else
        profdata_sums_instant(back->sums, label);
}

/* The interval is made in its place above the stack, which it takes unless it is empty. */
static inline __attribute__((always_inline)) int add_interval(struct profdata_backward *back,
                                                              const struct profdata_event *event,
                                                              uint32_t lane_index, uint32_t label,
                                                              uint32_t flags, bool is_summing)
{
    struct profdata_lane *lane = &back->lanes[lane_index];
    int rc = finish_before(back, lane_index, event->end, is_summing);
    if (rc >= 0 && lane->stack.count == lane->stack.capacity)
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
    uint64_t *open = &back->open.items[label];
    struct profdata_open *item = &lane->stack.items[lane->stack.count];
    item->start = event->start;
    item->end = event->end;
    item->children = item->children_time = 0;
    item->id = event->id;
    item->was_open = *open;
    item->label = label;
    item->path = 0;
    item->parent = parent;
    item->flags = (uint16_t)flags;
    item->chain = !is_summing && parent != NO_PARENT ? lane->stack.items[parent].chain : 0;
    if (*open != NOT_OPEN && parent != NO_PARENT &&
        is_recursive(lane, lane_index, *open, parent, label))
        item->flags |= PROFILE_INTERVAL_RECURSIVE;
    if (!is_summing && back->walk->sink->wants.paths)
        rc = path_under(back, lane, item);
    if (rc < 0 || is_empty)
        return rc < 0 ? rc : tell(back, lane_index, item, is_summing);
    *open = (uint64_t)lane_index << 32 | lane->stack.count;
    lane->stack.count++;
    return LAM_OK;
}

/* Its label, where it was found before; it is found here for a sink that takes events. */
static inline __attribute__((always_inline)) int add_event(struct profdata_backward *back,
                                                           struct profdata_event event,
                                                           uint32_t label, bool is_summing)
{
    uint32_t lane_index = profdata_thread_index(back->threads, event.thread);
    if (lane_index == PROFDATA_NO_THREAD)
        return LAM_OK;
    struct profdata_lane *lane = &back->lanes[lane_index];
    if (!profdata_is_interval(&event) && is_summing) {
        sum_mark(back, &event, label);
        return LAM_OK;
    }
    if (!profdata_is_interval(&event)) {
        if (event.end == PROFDATA_INSTANT)
            lane->last = event.start;
        return profdata_walk_instant(back->walk, &event, lane_index, lane->last);
    }
    uint32_t flags = profdata_mend_backward(&event) ? (uint32_t)PROFILE_INTERVAL_BACKWARD : 0;
    lane->last = event.end;
    int rc = is_summing ? LAM_OK : label_of(back, event.kind, event.id, &label);
    return rc < 0 ? rc : add_interval(back, &event, lane_index, label, flags, is_summing);
}

/* Labels first, since one look-up need not wait for another: then their sums are on their way when they are needed. */
static inline __attribute__((always_inline)) int sum_block(struct profdata_backward *back,
                                                           const uint8_t *bytes, uint64_t count,
                                                           bool is_wide)
{
    size_t size = is_wide ? 32 : 24;
    uint32_t labels[BLOCK];
    int rc = LAM_OK;
    for (uint64_t i = count; rc >= 0 && i-- > 0;) {
        struct profdata_event event = profdata_event_read(bytes + i * size, is_wide);
        if (i >= AHEAD)
            profdata_strings_prefetch(back->walk->strings,
                                      profdata_event_read(bytes + (i - AHEAD) * size, is_wide).id);
        rc = profdata_sums_label(back->sums, event.kind, event.id, &labels[i]);
    }
    if (rc >= 0 && back->sums->count > back->open.count)
        rc = know_label(back, back->sums->count - 1);
    for (uint64_t i = count; rc >= 0 && i-- > 0;)
        rc = add_event(back, profdata_event_read(bytes + i * size, is_wide), labels[i], true);
    return rc;
}

static inline __attribute__((always_inline)) int sum_run(struct profdata_backward *back,
                                                         const uint8_t *bytes, uint64_t count,
                                                         bool is_wide)
{
    size_t size = is_wide ? 32 : 24;
    int rc = LAM_OK;
    while (rc >= 0 && count > 0) {
        uint64_t some = count < BLOCK ? count : BLOCK;
        count -= some;
        rc = sum_block(back, bytes + count * size, some, is_wide);
    }
    return rc;
}

static inline __attribute__((always_inline)) int tell_run(struct profdata_backward *back,
                                                          const uint8_t *bytes, uint64_t count,
                                                          bool is_wide)
{
    size_t size = is_wide ? 32 : 24;
    int rc = LAM_OK;
    while (rc >= 0 && count-- > 0) {
        const uint8_t *at = bytes + count * size;
        if (count >= AHEAD)
            profdata_strings_prefetch(back->walk->strings,
                                      profdata_event_read(at - AHEAD * size, is_wide).id);
        rc = add_event(back, profdata_event_read(at, is_wide), 0, false);
    }
    return rc;
}

static int walk_run(struct profdata_backward *back, const uint8_t *bytes, uint64_t count)
{
    if (back->sums)
        return back->walk->file->is_wide ? sum_run(back, bytes, count, true)
                                         : sum_run(back, bytes, count, false);
    return back->walk->file->is_wide ? tell_run(back, bytes, count, true)
                                     : tell_run(back, bytes, count, false);
}

static int walk_range(struct profdata_backward *back, uint64_t first, uint64_t end)
{
    const struct profdata_file *file = back->walk->file;
    int rc = LAM_OK;
    while (rc >= 0 && end > first) {
        struct profdata_run run;
        profdata_run_at(file, end - 1, &run);
        uint64_t from = run.first > first ? run.first : first;
        rc = walk_run(back, run.bytes + (from - run.first) * file->event_bytes, end - from);
        end = from;
    }
    return rc;
}

static int walk_sorted(struct profdata_backward *back, const struct profdata_order *order)
{
    const struct profdata_file *file = back->walk->file;
    int rc = LAM_OK;
    for (uint64_t i = order->count; rc >= 0 && i-- > 0;) {
        struct profdata_run run;
        profdata_run_at(file, order->events[i], &run);
        rc = walk_run(back, run.bytes + (order->events[i] - run.first) * file->event_bytes, 1);
    }
    return rc;
}

/* ---- the walk ---- */

static int open_walk(struct profdata_backward *back, struct profdata_walk *walk)
{
    size_t count = walk->threads->items.count;
    back->walk = walk;
    back->threads = walk->threads;
    back->lanes = mem_zalloc(count + 1, sizeof *back->lanes);
    for (size_t i = 0; back->lanes && i < count; i++)
        back->lanes[i].last = walk->threads->items.items[i].end;
    return back->lanes ? LAM_OK : LAM_E_NOMEM;
}

static void free_lane(struct profdata_lane *lane)
{
    array_free(&lane->stack);
    array_free(&lane->chains);
}

static void close_walk(struct profdata_backward *back)
{
    for (size_t i = 0; back->lanes && i < back->walk->threads->items.count; i++)
        free_lane(&back->lanes[i]);
    mem_free(back->lanes);
    back->lanes = NULL;
    array_free(&back->open);
}

static int finish_all(struct profdata_backward *back)
{
    size_t count = back->walk->threads->items.count;
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < count; i++)
        while (rc >= 0 && back->lanes[i].stack.count)
            rc = finish_top(back, (uint32_t)i, back->sums != NULL);
    return rc;
}

static int walk_whole(struct profdata_backward *back, const struct profdata_order *order)
{
    int rc = order->events ? walk_sorted(back, order) : walk_range(back, 0, order->count);
    return rc < 0 ? rc : finish_all(back);
}

int profdata_walk_backward(struct profdata_walk *walk, const struct profdata_order *order)
{
    struct profdata_backward back = {.walk = walk};
    int rc = open_walk(&back, walk);
    if (rc >= 0)
        rc = walk_whole(&back, order);
    close_walk(&back);
    return rc;
}

int profdata_walk_sums(struct profdata_walk *walk, const struct profdata_order *order,
                       struct profdata_sums *sums)
{
    struct profdata_backward back = {.walk = walk, .sums = sums};
    int rc = open_walk(&back, walk);
    if (rc >= 0)
        rc = walk_whole(&back, order);
    close_walk(&back);
    return rc;
}
