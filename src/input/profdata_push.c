#include "input/profdata_push.h"

#include <stdio.h>

#include "base/memory.h"
#include "input/profdata_overlaps.h"
#include "input/profdata_sums.h"
#include "reader/stream_file.h" /* enum stream_damage */

enum { STRAIGHT_EVENTS_MAX = 1 << 20 }; /* 32 MB */

static bool has_branches(const struct profile_sink *sink)
{
    return sink->branches && !sink->wants.sums && !sink->wants.paths;
}

static bool adds_up(const struct profdata_walk *walk)
{
    return walk->sink->wants.sums || walk->sink->wants.path_sums;
}

/* 0: the sink wants none. */
static size_t max_paths(const struct profdata_walk *walk)
{
    if (!walk->sink->wants.path_sums)
        return 0;
    return walk->pool ? PROFDATA_PATHS_MAX : PROFDATA_PATHS_OF_ONE;
}

/* Looking and adding up in one go takes the least time of all cores together, many at once the least until it is done. */
static bool goes_straight(const struct profdata_walk *walk)
{
    return adds_up(walk) && (pool_threads(walk->pool) == 1 ||
                             profdata_event_count(walk->file) <= STRAIGHT_EVENTS_MAX);
}

/* UNSUPPORTED, and nothing has been done, where the file needs more than that; with faults in its strings, too: see ready_sums(). */
static int look_and_add(struct profdata_walk *walk)
{
    struct profdata_faults faults = walk->file->faults;
    struct profdata_added **added = &walk->ready.sums;
    *added = profdata_added_new(walk->strings, 0, max_paths(walk));
    if (!*added)
        return LAM_E_NOMEM;
    int rc = profdata_walk_straight(walk, &(*added)->sums, walk->threads);
    if (rc >= 0 && walk->file->faults.all.count != faults.all.count) {
        profdata_threads_free(walk->threads);
        rc = LAM_E_UNSUPPORTED;
    }
    if (rc < 0)
        profdata_added_free(added);
    if (rc == LAM_E_UNSUPPORTED)
        walk->file->faults = faults;
    return rc;
}

int profdata_push_look(struct profdata_walk *walk)
{
    struct profdata_file *file = walk->file;
    uint64_t size = file->streams[PROFDATA_EVENTS].size;
    if (size > PROFDATA_HEADER_BYTES && (size - PROFDATA_HEADER_BYTES) % file->event_bytes != 0)
        profdata_fault(file, LAM_E_TRUNCATED, profdata_offset_of(file, PROFDATA_EVENTS, size - 1),
                       "the event data ends inside an event; events read before it: %llu",
                       (unsigned long long)profdata_event_count(file));
    bool is_in_parts = has_branches(walk->sink), is_straight = goes_straight(walk);
    int rc = is_straight ? look_and_add(walk) : LAM_E_UNSUPPORTED;
    if (rc != LAM_E_UNSUPPORTED)
        return rc;
    /* In the order of starts a part is put down first: 80 bytes an event. */
    uint64_t part_events = walk->sink->wants.order == PROFILE_ORDER_START
                               ? PROFDATA_FORWARD_PART_EVENTS
                               : PROFDATA_PART_EVENTS;
    walk->skeleton.chunk_events = is_in_parts ? part_events : 0;
    bool has_chunks = is_in_parts || (adds_up(walk) && !is_straight);
    rc = profdata_look(file, walk->pool, walk->threads, has_chunks ? &walk->skeleton : NULL);
    if (walk->threads->left_out)
        profdata_fault(file, LAM_E_TOOBIG, file->size,
                       "more than %d threads; events of others left out: %llu",
                       PROFDATA_CHUNK_THREADS_MAX, (unsigned long long)walk->threads->left_out);
    return rc;
}

int profdata_push_threads(const struct profdata_walk *walk, uint8_t origin, const char *name)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && walk->sink->ops->thread && i < walk->threads->items.count; i++) {
        const struct profdata_thread *found = &walk->threads->items.items[i];
        char text[64];
        int size = name ? snprintf(text, sizeof text, "%s %u", name, found->tid) : 0;
        struct profile_thread thread = {
            .thread = walk->first_thread + (uint32_t)i,
            .process = walk->process,
            .tid = found->tid,
            .start_ns = profdata_walk_time(walk, found->start),
            .origin = origin,
            .name = {name ? text : "", (size_t)size},
        };
        rc = walk->sink->ops->thread(walk->sink->ctx, &thread);
    }
    return rc;
}

int profdata_push_ends(const struct profdata_walk *walk)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && walk->sink->ops->thread_end && i < walk->threads->items.count; i++) {
        struct profile_thread_end end = {
            .thread = walk->first_thread + (uint32_t)i,
            .end_ns = profdata_walk_time(walk, walk->threads->items.items[i].end),
            .cpu_ns = PROFILE_UNKNOWN,
            .run_ns = PROFILE_UNKNOWN,
            .core_wait_ns = PROFILE_UNKNOWN,
            .handler_ns = PROFILE_UNKNOWN,
        };
        rc = walk->sink->ops->thread_end(walk->sink->ctx, &end);
    }
    return rc;
}

/* ---- sums ---- */

static int push_thread_sums(struct profdata_walk *walk, const struct profdata_sums *sums)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < walk->threads->items.count; i++) {
        const struct profdata_thread *thread = &walk->threads->items.items[i];
        const struct profdata_lane_sum *lane = &sums->lanes[i];
        walk->totals.intervals += thread->intervals;
        walk->totals.instants += thread->instants + thread->integers;
        walk->totals.backward += lane->backward;
        walk->totals.overlapping += lane->overlapping;
        struct profile_thread_sum sum = {
            .process = walk->process,
            .thread = walk->first_thread + (uint32_t)i,
            .intervals = thread->intervals,
            .self_ns = lane->self,
            .start_ns = profdata_walk_time(walk, thread->interval_start),
            .end_ns = profdata_walk_time(walk, thread->interval_end),
            .backward = lane->backward,
            .overlapping = lane->overlapping,
        };
        if (walk->sink->ops->thread_sum && thread->intervals)
            rc = walk->sink->ops->thread_sum(walk->sink->ctx, &sum);
    }
    return rc;
}

/* By all threads, if the file allows it. What is wrong with its strings is found and told in the order of one walk alone; so that
 * decides where something is. */
static int ready_sums(struct profdata_walk *walk)
{
    const struct profdata_order *order = &walk->ready.order;
    struct profdata_added **added = &walk->ready.sums;
    struct profdata_faults faults = walk->file->faults;
    size_t threads = walk->threads->items.count;
    *added = profdata_added_new(walk->strings, threads, max_paths(walk));
    if (*added && !order->events && walk->skeleton.chunks > 1) {
        int rc = profdata_walk_chunks(walk, &walk->skeleton, walk->pool, &(*added)->sums);
        if (rc != LAM_E_UNSUPPORTED && walk->file->faults.all.count == faults.all.count)
            return rc;
        walk->file->faults = faults;
        profdata_added_free(added);
        *added = profdata_added_new(walk->strings, threads, 0);
    }
    if (*added && walk->sink->wants.path_sums) {
        profdata_added_free(added); /* its events are told */
        return LAM_OK;
    }
    return *added ? profdata_walk_sums(walk, order, &(*added)->sums) : LAM_E_NOMEM;
}

static int push_sums(struct profdata_walk *walk)
{
    const struct profdata_sums *sums = &walk->ready.sums->sums;
    int rc = push_thread_sums(walk, sums);
    if (rc >= 0 && walk->sink->wants.path_sums)
        return profdata_sums_push_paths(sums, walk->labels, walk->paths, walk->sink, walk->process);
    return rc < 0 ? rc : profdata_sums_push(sums, walk->labels, walk->sink, walk->process);
}

/* ---- events ---- */

static int ready_parts(struct profdata_walk *walk)
{
    if (!profdata_fits_parts(walk, &walk->ready.order))
        return LAM_OK;
    return profdata_check_overlaps(walk->file, walk->threads, &walk->skeleton, walk->pool,
                                   &walk->ready.is_in_parts);
}

int profdata_push_ready(struct profdata_walk *walk)
{
    int rc = profdata_sort(walk->file, walk->threads, &walk->ready.order);
    if (rc >= 0 && adds_up(walk))
        return walk->ready.sums ? rc : ready_sums(walk);
    return rc >= 0 && has_branches(walk->sink) ? ready_parts(walk) : rc;
}

static int walk_events(struct profdata_walk *walk)
{
    const struct profdata_order *order = &walk->ready.order;
    if (walk->ready.sums)
        return push_sums(walk);
    if (walk->ready.is_in_parts)
        return profdata_walk_parts(&walk, 1, walk->pool);
    return walk->sink->wants.order == PROFILE_ORDER_START ? profdata_walk_forward(walk, order)
                                                          : profdata_walk_backward(walk, order);
}

int profdata_push_events(struct profdata_walk *walk)
{
    int rc = walk_events(walk);
    return rc < 0 ? rc : profdata_push_ends(walk);
}

void profdata_push_free(struct profdata_walk *walk)
{
    profdata_order_free(&walk->ready.order);
    profdata_added_free(&walk->ready.sums);
    profdata_walk_free(walk);
}

void profdata_push_totals(const struct profdata_walk *walk, uint32_t most_faults,
                          struct profile_session_end *totals)
{
    uint64_t faults = walk->file->faults.all.count;
    totals->damaged_streams += faults > 0;
    totals->damage[STREAM_DAMAGE_RECORDS] += faults;
    profile_faults_join(&totals->faults, &walk->file->faults.all, most_faults);
    totals->clamped_times += walk->totals.clamped;
    totals->cut_texts += walk->totals.cut_texts;
    totals->intervals += walk->totals.intervals;
    totals->instants += walk->totals.instants;
    totals->backward_intervals += walk->totals.backward;
    totals->overlapping_intervals += walk->totals.overlapping;
}

int64_t profdata_push_end_ns(const struct profdata_walk *walk)
{
    int64_t latest = walk->zero_ns;
    array_each(&walk->threads->items, thread)
    {
        int64_t end_ns = profdata_walk_time(walk, thread->end);
        latest = end_ns > latest ? end_ns : latest;
    }
    return latest;
}
