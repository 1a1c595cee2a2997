/* In the order of starts. Intervals are stored when they end, so the start of a long one is far from its place in the file.
 * A look backward finds the long ones: those with more than `window` events of their thread between their start and their
 * end. They are few (events × depth / window) and are kept. All others are in their place after a walk forward with a buffer
 * of two windows a thread: an event that lies a window behind the last one read ended before anything that is still to come,
 * the long ones apart, begins. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "input/profdata_walk.h"

enum { WINDOW_MAX = 8192, WINDOW_MIN = 256, WAITING_ALL = 1 << 18 };

struct waiting {
    struct profdata_event event; /* mended; an instant's end is PROFDATA_INSTANT, … */
    uint64_t at;                 /* its start; an integer's place in time */
    uint64_t position;           /* in the file, or in its sorted order */
    bool was_backward;
};

struct waiting_list LAM_ARRAY_BODY(struct waiting);

struct open_span { /* of the look backward */
    struct waiting waiting;
    uint64_t seen; /* events of the thread before it */
};

struct lane {
    LAM_ARRAY(struct open_span) stack;
    uint64_t seen;
    struct waiting_list longs; /* by start; next_long of them are told */
    size_t next_long;
    struct waiting_list buffer; /* in the order of the file */
    struct waiting_list ready;  /* in the order of starts */
    uint64_t last;              /* the latest end */
    struct interval_nest nest;
};

struct forward {
    struct profdata_walk *walk;
    const struct profdata_order *order;
    struct lane *lanes;
    LAM_ARRAY(uint64_t) long_positions; /* rising */
    size_t window;
    struct profdata_run run;
};

static uint64_t end_of(const struct waiting *waiting)
{
    return profdata_is_interval(&waiting->event) ? waiting->event.end : waiting->at;
}

static struct profdata_event read_event(struct forward *fwd, uint64_t position)
{
    const struct profdata_file *file = fwd->walk->file;
    uint64_t index = fwd->order->events ? fwd->order->events[position] : position;
    if (index - fwd->run.first >= fwd->run.count) /* also when it lies before: that is a huge number */
        profdata_run_at(file, index, &fwd->run);
    return profdata_event_read(fwd->run.bytes + (index - fwd->run.first) * file->event_bytes,
                               file->is_wide);
}

/* In the order of starts, outer ones first; what has no length comes behind what begins with it. */
static int compare_waiting(const void *left, const void *right)
{
    const struct waiting *a = left, *b = right;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    uint64_t a_end = end_of(a), b_end = end_of(b);
    if (a_end != b_end)
        return a_end > b_end ? -1 : 1;
    bool a_is = profdata_is_interval(&a->event), b_is = profdata_is_interval(&b->event);
    if (a_is != b_is)
        return a_is ? -1 : 1;
    if (!a_is) /* instants as they were stored, intervals the other way: the outer one ends last */
        return a->position < b->position ? -1 : a->position > b->position;
    return a->position > b->position ? -1 : a->position < b->position;
}

static int compare_positions(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* ---- the look backward ---- */

static int close_span(struct forward *fwd, struct lane *lane)
{
    struct open_span span = array_pop(&lane->stack);
    if (lane->seen - span.seen <= fwd->window)
        return LAM_OK;
    int rc = array_push(&lane->longs, span.waiting);
    return rc < 0 ? rc : array_push(&fwd->long_positions, span.waiting.position);
}

static int look_back(struct forward *fwd, struct profdata_event event, uint64_t position)
{
    uint32_t lane_index = profdata_thread_index(fwd->walk->threads, event.thread);
    if (lane_index == PROFDATA_NO_THREAD)
        return LAM_OK;
    struct lane *lane = &fwd->lanes[lane_index];
    if (event.end == PROFDATA_INTEGER) {
        lane->seen++; /* it takes room in the buffer */
        return LAM_OK;
    }
    bool is_interval = profdata_is_interval(&event);
    bool was_backward = is_interval && profdata_mend_backward(&event);
    uint64_t end = is_interval ? event.end : event.start;
    int rc = LAM_OK;
    while (rc >= 0 && lane->stack.count && array_last(&lane->stack).waiting.at >= end)
        rc = close_span(fwd, lane);
    lane->seen++;
    if (rc < 0 || !is_interval || event.start == event.end)
        return rc;
    struct open_span span = {{event, event.start, position, was_backward}, lane->seen};
    return array_push(&lane->stack, span);
}

static int find_long(struct forward *fwd)
{
    int rc = LAM_OK;
    for (uint64_t i = fwd->order->count; rc >= 0 && i-- > 0;)
        rc = look_back(fwd, read_event(fwd, i), i);
    for (size_t i = 0; rc >= 0 && i < fwd->walk->threads->items.count; i++) {
        struct lane *lane = &fwd->lanes[i];
        while (rc >= 0 && lane->stack.count)
            rc = close_span(fwd, lane);
        array_sort(&lane->longs, compare_waiting);
        array_free(&lane->stack);
    }
    array_sort(&fwd->long_positions, compare_positions);
    return rc;
}

/* ---- the walk forward ---- */

static int tell_interval(struct forward *fwd, uint32_t lane_index, const struct waiting *waiting)
{
    struct profdata_walk *walk = fwd->walk;
    const struct profdata_event *event = &waiting->event;
    struct profile_interval told = {
        .thread = walk->first_thread + lane_index,
        .end_thread = walk->first_thread + lane_index,
        .start_ns = profdata_walk_time(walk, event->start),
        .end_ns = profdata_walk_time(walk, event->end),
        .active_ns = PROFILE_UNKNOWN,
        .weight = 1,
        .flags = waiting->was_backward ? (uint32_t)PROFILE_INTERVAL_BACKWARD : 0,
        .args_id = profdata_walk_args_id(walk, event->id),
    };
    int rc = profdata_label(walk->labels, walk->strings, event->kind, event->id, &told.label);
    if (rc >= 0)
        rc = profdata_walk_args(walk, event->id, told.args_id, &told.args, &told.argc);
    return rc < 0 ? rc : interval_nest_add(&fwd->lanes[lane_index].nest, &told);
}

static int tell_waiting(struct forward *fwd, uint32_t lane_index, const struct waiting *waiting)
{
    struct profdata_walk *walk = fwd->walk;
    if (profdata_is_interval(&waiting->event))
        return tell_interval(fwd, lane_index, waiting);
    struct profile_instant told;
    int rc = profdata_walk_make_instant(walk, &waiting->event, lane_index, waiting->at, &told);
    return rc < 0 ? rc : interval_nest_instant(&fwd->lanes[lane_index].nest, &told);
}

/* Whether nothing that is still to come begins before it. */
static bool is_due(const struct waiting *waiting, uint64_t until)
{
    return waiting->at < until || (waiting->at == until && end_of(waiting) == waiting->at);
}

/* Tells what begins before `until`, long ones among the others. */
static int flush(struct forward *fwd, uint32_t lane_index, uint64_t until)
{
    struct lane *lane = &fwd->lanes[lane_index];
    size_t kept = 0;
    int rc = LAM_OK;
    array_clear(&lane->ready);
    for (size_t i = 0; rc >= 0 && i < lane->buffer.count; i++) {
        if (is_due(&lane->buffer.items[i], until))
            rc = array_push(&lane->ready, lane->buffer.items[i]);
        else
            lane->buffer.items[kept++] = lane->buffer.items[i];
    }
    lane->buffer.count = kept;
    array_sort(&lane->ready, compare_waiting);
    for (size_t i = 0; rc >= 0;) {
        const struct waiting *next = i < lane->ready.count ? &lane->ready.items[i] : NULL;
        const struct waiting *other =
            lane->next_long < lane->longs.count ? &lane->longs.items[lane->next_long] : NULL;
        if (other && !is_due(other, until))
            other = NULL;
        if (!next && !other)
            break;
        bool is_long = !next || (other && compare_waiting(other, next) < 0);
        rc = tell_waiting(fwd, lane_index, is_long ? other : next);
        lane->next_long += is_long;
        i += !is_long;
    }
    return rc;
}

static int take(struct forward *fwd, struct profdata_event event, uint64_t position)
{
    uint32_t lane_index = profdata_thread_index(fwd->walk->threads, event.thread);
    if (lane_index == PROFDATA_NO_THREAD)
        return LAM_OK;
    struct lane *lane = &fwd->lanes[lane_index];
    struct waiting waiting = {.position = position};
    bool is_interval = profdata_is_interval(&event);
    if (is_interval)
        waiting.was_backward = profdata_mend_backward(&event);
    waiting.event = event;
    waiting.at = event.end == PROFDATA_INTEGER ? lane->last : event.start;
    if (end_of(&waiting) > lane->last)
        lane->last = end_of(&waiting);
    int rc = array_push(&lane->buffer, waiting);
    if (rc < 0 || lane->buffer.count < 2 * fwd->window)
        return rc;
    return flush(fwd, lane_index, end_of(&lane->buffer.items[lane->buffer.count - fwd->window - 1]));
}

static int walk_forward(struct forward *fwd)
{
    size_t next_long = 0;
    int rc = LAM_OK;
    for (uint64_t i = 0; rc >= 0 && i < fwd->order->count; i++) {
        if (next_long < fwd->long_positions.count && fwd->long_positions.items[next_long] == i)
            next_long++;
        else
            rc = take(fwd, read_event(fwd, i), i);
    }
    return rc;
}

static int finish_lane(struct forward *fwd, uint32_t lane_index)
{
    struct lane *lane = &fwd->lanes[lane_index];
    struct nest_totals *sum = &fwd->walk->totals;
    const struct nest_totals *totals = &lane->nest.totals;
    int rc = flush(fwd, lane_index, UINT64_MAX);
    if (rc >= 0)
        rc = interval_nest_finish(&lane->nest, profdata_walk_time(fwd->walk, lane->last));
    sum->intervals += totals->intervals;
    sum->instants += totals->instants;
    sum->backward += totals->backward;
    sum->overlapping += totals->overlapping;
    sum->clamped += totals->clamped;
    return rc;
}

static void free_lanes(struct forward *fwd, size_t count)
{
    for (size_t i = 0; fwd->lanes && i < count; i++) {
        struct lane *lane = &fwd->lanes[i];
        array_free(&lane->stack);
        array_free(&lane->longs);
        array_free(&lane->buffer);
        array_free(&lane->ready);
        interval_nest_free(&lane->nest);
    }
    mem_free(fwd->lanes);
    array_free(&fwd->long_positions);
}

int profdata_walk_forward(struct profdata_walk *walk, const struct profdata_order *order)
{
    size_t count = walk->threads->items.count;
    struct forward fwd = {.walk = walk, .order = order};
    fwd.window = count ? WAITING_ALL / count : WINDOW_MAX;
    fwd.window = fwd.window > WINDOW_MAX ? WINDOW_MAX : fwd.window;
    fwd.window = fwd.window < WINDOW_MIN ? WINDOW_MIN : fwd.window;
    fwd.lanes = mem_zalloc(count + 1, sizeof *fwd.lanes);
    int rc = fwd.lanes ? LAM_OK : LAM_E_NOMEM;
    for (size_t i = 0; rc >= 0 && i < count; i++) {
        fwd.lanes[i].last = walk->threads->items.items[i].start;
        interval_nest_begin(&fwd.lanes[i].nest, walk->sink, walk->paths, walk->process, 0);
    }
    if (rc >= 0)
        rc = find_long(&fwd);
    if (rc >= 0)
        rc = walk_forward(&fwd);
    for (size_t i = 0; rc >= 0 && i < count; i++)
        rc = finish_lane(&fwd, (uint32_t)i);
    free_lanes(&fwd, count);
    return rc;
}
