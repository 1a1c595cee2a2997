#include "input/profdata_nested.h"

#include "base/memory.h"

enum {
    BLOCK = 256, /* events that are taken together */
    BOTTOM = 2,  /* of a stack, which need not be asked whether it is empty */
    LEAST_DEPTH = 13,
    FETCHED_BYTES = 2048, /* of events ahead: backwards, over the ends of pages, nobody else does it */
};

/* Events of one thread, the last one first. */
struct block {
    size_t count, intervals, marks;
    struct block_item {
        uint64_t start, end;
        uint32_t label;
    } items[BLOCK]; /* intervals from the front, instants and integers from the back */
};

/* ---- stacks ---- */

static struct profdata_nested_open *stack_of(const struct profdata_nested_lane *lane)
{
    return lane->bottom + BOTTOM;
}

static int reserve(struct profdata_nested_lane *lane, size_t more)
{
    size_t wanted = lane->count + more;
    if (wanted <= lane->capacity)
        return LAM_OK;
    size_t capacity = wanted > 2 * (size_t)lane->capacity ? wanted : 2 * (size_t)lane->capacity;
    capacity = capacity > LEAST_DEPTH ? capacity : LEAST_DEPTH;
    struct profdata_nested_open *grown =
        capacity < UINT32_MAX ? mem_realloc(lane->bottom, (capacity + BOTTOM) * sizeof *grown) : NULL;
    if (!grown)
        return LAM_E_NOMEM;
    for (size_t i = 0; i < BOTTOM; i++)
        grown[i] = (struct profdata_nested_open){.start = -1};
    lane->bottom = grown;
    lane->capacity = (uint32_t)capacity;
    return LAM_OK;
}

/* How many of a stack began before `end`. */
static size_t count_before(const struct profdata_nested_open *stack, size_t count, uint64_t end)
{
    while (count && stack[count - 1].start >= (int64_t)end)
        count--;
    return count;
}

/* Leaves in `sum` where the outermost interval of this label is in the stack; it is at `count` if there is none. Until a thread whose
 * stack has it asks in between, it stays right when intervals end: with the outermost one all have ended, and its place is
 * another's or above the stack. */
static void find_outermost(struct profdata_sum *sum, uint32_t lane_index,
                           const struct profdata_nested_open *stack, size_t count, uint32_t label)
{
    size_t at = 0;
    while (at < count && stack[at].label != label)
        at++;
    sum->open_lane = lane_index;
    sum->open_at = (uint32_t)at;
}

/* Whether there is one of this label among the first `within` of a stack of `count`. */
static inline bool was_met(struct profdata_sum *sum, uint32_t lane_index,
                           const struct profdata_nested_open *stack, size_t count, size_t within,
                           uint32_t label)
{
    if (__builtin_expect(sum->open_lane != lane_index, 0))
        find_outermost(sum, lane_index, stack, count, label);
    uint32_t at = sum->open_at;
    bool is_open = at < count && stack[at].label == label;
    sum->open_at = is_open ? at : (uint32_t)count;
    return is_open && at < within;
}

/* ---- adding up ---- */

static inline void push(struct profdata_nested_open *place, uint64_t start, uint64_t end,
                        uint32_t label)
{
    place->start = (int64_t)start;
    place->end = end;
    place->label = label;
}

/* One more interval of a label in what is under way at `around`. */
static inline int add_path(struct profdata_nested *nested, uint32_t around, uint32_t label,
                           uint64_t length, uint32_t *path)
{
    int rc = profdata_path_step(&nested->sums->paths, around, label, path);
    if (rc >= 0)
        profdata_path_add(&nested->sums->paths, *path, length);
    return rc;
}

/* An empty interval holds nothing, and lies in nothing that it only touches. */
static inline __attribute__((always_inline)) int add_empty(struct profdata_nested *nested,
                                                           uint32_t lane_index,
                                                           const struct block_item *item,
                                                           size_t count, bool has_paths)
{
    struct profdata_nested_lane *lane = &nested->lanes.items[lane_index];
    const struct profdata_nested_open *stack = stack_of(lane);
    struct profdata_sum *sum = &nested->sums->sums[item->label];
    size_t within = count;
    while (within > 0 && stack[within - 1].end == item->end)
        within--;
    lane->backward += item->start > item->end;
    lane->interval_start = item->end < lane->interval_start ? item->end : lane->interval_start;
    int rc = has_paths
                 ? add_path(nested, stack[(ptrdiff_t)within - 1].path, item->label, 0, &(uint32_t){0})
                 : LAM_OK;
    if (rc < 0)
        return rc;
    return profdata_sum_add(sum, 0, was_met(sum, lane_index, stack, count, within, item->label));
}

/* What was pushed last is the top, so its start is at hand, and that of the one below it is whenever the top was not left: no number has
 * to be waited for to know which of the two goes on, and only to leave more than one takes a branch. */
static inline __attribute__((always_inline)) int add_intervals(struct profdata_nested *nested,
                                                               uint32_t lane_index,
                                                               const struct block *block,
                                                               bool has_paths)
{
    struct profdata_nested_lane *lane = &nested->lanes.items[lane_index];
    struct profdata_sum *sums = nested->sums->sums;
    int rc = reserve(lane, block->intervals);
    if (rc < 0 || block->intervals == 0)
        return rc;
    struct profdata_nested_open *stack = stack_of(lane);
    size_t count = lane->count;
    uint64_t last_end = lane->last_end;
    int64_t top = stack[(ptrdiff_t)count - 1].start, below = stack[(ptrdiff_t)count - 2].start;
    lane->intervals += block->intervals;
    for (size_t i = 0; rc >= 0 && i < block->intervals; i++) {
        const struct block_item item = block->items[i];
        const int64_t end = (int64_t)item.end;
        if (item.end > last_end)
            return LAM_E_UNSUPPORTED;
        last_end = item.end;
        count -= top >= end;
        top = top >= end ? below : top;
        if (top >= end) {
            count = count_before(stack, count, item.end);
            top = stack[(ptrdiff_t)count - 1].start;
        }
        if (item.start >= item.end) {
            rc = add_empty(nested, lane_index, &item, count, has_paths);
            below = stack[(ptrdiff_t)count - 2].start;
            continue;
        }
        if (top > (int64_t)item.start)
            return LAM_E_UNSUPPORTED;
        uint64_t length = item.end - item.start;
        if (count) {
            sums[stack[count - 1].label].inner += length;
        } else {
            lane->self += length; /* all of what lies in it is self time of somebody */
            lane->interval_start =
                item.start < lane->interval_start ? item.start : lane->interval_start;
        }
        struct profdata_sum *sum = &sums[item.label];
        bool is_recursive = was_met(sum, lane_index, stack, count, count, item.label);
        rc = profdata_sum_add(sum, length, is_recursive);
        if (has_paths && rc >= 0)
            rc = add_path(nested, stack[(ptrdiff_t)count - 1].path, item.label, length,
                          &stack[count].path);
        push(&stack[count++], item.start, item.end, item.label);
        below = top;
        top = (int64_t)item.start;
    }
    if (lane->interval_end == 0)
        lane->interval_end = block->items[0].end; /* ends fall */
    lane->last_end = last_end;
    lane->count = (uint32_t)count;
    return rc;
}

/* Each by itself, so that what most ask for is as short as it can be. */
static __attribute__((noinline)) int add_with_paths(struct profdata_nested *nested,
                                                    uint32_t lane_index, const struct block *block)
{
    return add_intervals(nested, lane_index, block, true);
}

static int add_without_paths(struct profdata_nested *nested, uint32_t lane_index,
                             const struct block *block)
{
    return add_intervals(nested, lane_index, block, false);
}

static void add_marks(struct profdata_nested *nested, uint32_t lane_index, const struct block *block)
{
    struct profdata_nested_lane *lane = &nested->lanes.items[lane_index];
    for (size_t i = 0; i < block->marks; i++) {
        const struct block_item *item = &block->items[BLOCK - 1 - i];
        if (item->end == PROFDATA_INTEGER) {
            profdata_sums_integer(nested->sums, item->label, item->start);
            lane->integers++;
            continue;
        }
        profdata_sums_instant(nested->sums, item->label);
        lane->instants++;
        lane->instant_start = item->start < lane->instant_start ? item->start : lane->instant_start;
        lane->instant_end = item->start > lane->instant_end ? item->start : lane->instant_end;
    }
}

/* ---- reading ---- */

/* The last of `count` events. Labels, since one look-up need not wait for another; and what is an interval goes where it can be taken without asking. */
static inline __attribute__((always_inline)) int read_block(const struct profdata_nested *nested,
                                                            const uint8_t *bytes, uint64_t count,
                                                            bool is_wide, struct block *block)
{
    size_t size = is_wide ? 32 : 24, intervals = 0, marks = 0, i = 0;
    const size_t most = count < BLOCK ? (size_t)count : BLOCK;
    const uint8_t *end = bytes + count * size;
    const uint32_t tid = profdata_event_read(end - size, is_wide).thread;
    for (; i < most; i++) {
        const uint8_t *at = end - (i + 1) * size;
        struct profdata_event event = profdata_event_read(at, is_wide);
        uint32_t label;
        if (event.thread != tid)
            break;
        if (at - bytes >= FETCHED_BYTES)
            __builtin_prefetch(at - FETCHED_BYTES);
        int rc = profdata_sums_label(nested->sums, event.kind, event.id, &label);
        if (rc < 0)
            return rc;
        bool is_interval = profdata_is_interval(&event);
        block->items[is_interval ? intervals : BLOCK - 1 - marks] =
            (struct block_item){event.start, event.end, label};
        intervals += is_interval;
        marks += !is_interval;
    }
    block->count = i;
    block->intervals = intervals;
    block->marks = marks;
    return LAM_OK;
}

static int add_lane(struct profdata_nested *nested)
{
    struct profdata_nested_lane fresh = {.last_end = UINT64_MAX,
                                         .first_event = UINT64_MAX,
                                         .interval_start = UINT64_MAX,
                                         .instant_start = UINT64_MAX};
    return array_push(&nested->lanes, fresh);
}

static int lane_of(struct profdata_nested *nested, uint32_t tid, uint32_t *index)
{
    struct profdata_thread *thread;
    if (!nested->finds_threads) {
        *index = profdata_thread_index(nested->threads, tid);
        return *index == PROFDATA_NO_THREAD ? LAM_E_UNSUPPORTED : LAM_OK;
    }
    int rc = profdata_thread_add(nested->threads, tid, PROFDATA_CHUNK_THREADS_MAX, &thread);
    *index = nested->threads->last_index;
    if (rc >= 0 && !thread)
        return LAM_E_UNSUPPORTED;
    return rc < 0 || *index < nested->lanes.count ? rc : add_lane(nested);
}

static inline __attribute__((always_inline)) int walk_run(struct profdata_nested *nested,
                                                          const uint8_t *bytes, uint64_t first,
                                                          uint64_t count, bool is_wide)
{
    size_t size = is_wide ? 32 : 24;
    struct block block;
    int rc = LAM_OK;
    while (rc >= 0 && count > 0) {
        const uint8_t *last = bytes + (count - 1) * size;
        uint32_t lane_index;
        rc = lane_of(nested, profdata_event_read(last, is_wide).thread, &lane_index);
        if (rc >= 0)
            rc = read_block(nested, bytes, count, is_wide, &block);
        if (rc >= 0)
            rc = profdata_path_sums_wanted(&nested->sums->paths)
                     ? add_with_paths(nested, lane_index, &block)
                     : add_without_paths(nested, lane_index, &block);
        if (rc < 0)
            return rc;
        add_marks(nested, lane_index, &block);
        count -= block.count;
        nested->lanes.items[lane_index].first_event = first + count;
    }
    return rc;
}

int profdata_nested_range(struct profdata_nested *nested, uint64_t first, uint64_t end)
{
    const struct profdata_file *file = nested->walk->file;
    int rc = LAM_OK;
    while (rc >= 0 && end > first) {
        struct profdata_run run;
        profdata_run_at(file, end - 1, &run);
        uint64_t from = run.first > first ? run.first : first;
        const uint8_t *bytes = run.bytes + (from - run.first) * file->event_bytes;
        rc = file->is_wide ? walk_run(nested, bytes, from, end - from, true)
                           : walk_run(nested, bytes, from, end - from, false);
        end = from;
    }
    return rc;
}

/* ---- parts of a file ---- */

void profdata_nested_clear(struct profdata_nested_lane *lane)
{
    lane->count = 0;
    lane->last_end = UINT64_MAX;
}

int profdata_nested_enter(struct profdata_nested *nested, uint32_t lane_index, uint64_t start,
                          uint64_t end, uint32_t label)
{
    struct profdata_nested_lane *lane = &nested->lanes.items[lane_index];
    int rc = reserve(lane, 1);
    if (rc < 0)
        return rc;
    struct profdata_nested_open *stack = stack_of(lane);
    was_met(&nested->sums->sums[label], lane_index, stack, lane->count, lane->count, label);
    if (profdata_path_sums_wanted(&nested->sums->paths))
        rc = profdata_path_step(&nested->sums->paths, stack[(ptrdiff_t)lane->count - 1].path, label,
                                &stack[lane->count].path);
    push(&stack[lane->count++], start, end, label);
    return rc;
}

void profdata_nested_until(struct profdata_nested_lane *lane, uint64_t end)
{
    if (lane->count)
        lane->count = (uint32_t)count_before(stack_of(lane), lane->count, end);
}

const struct profdata_nested_open *profdata_nested_items(const struct profdata_nested_lane *lane)
{
    return lane->count ? stack_of(lane) : NULL;
}

/* ---- all of it ---- */

int profdata_nested_open(struct profdata_nested *nested, struct profdata_walk *walk,
                         struct profdata_sums *sums, struct profdata_threads *threads)
{
    int rc = LAM_OK;
    nested->walk = walk;
    nested->sums = sums;
    nested->threads = threads;
    while (rc >= 0 && nested->lanes.count < threads->items.count)
        rc = add_lane(nested);
    return rc;
}

void profdata_nested_close(struct profdata_nested *nested)
{
    array_each(&nested->lanes, lane) mem_free(lane->bottom);
    array_free(&nested->lanes);
}

void profdata_nested_add_lanes(const struct profdata_nested *nested, struct profdata_sums *sums)
{
    for (size_t i = 0; i < nested->lanes.count && i < sums->lane_count; i++) {
        sums->lanes[i].self += nested->lanes.items[i].self;
        sums->lanes[i].backward += nested->lanes.items[i].backward;
    }
}
