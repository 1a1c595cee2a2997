#include "input/profdata_push.h"

#include <stdio.h>

#include "reader/stream_file.h" /* enum stream_damage */

int profdata_push_look(struct profdata_walk *walk, struct pool *pool)
{
    struct profdata_file *file = walk->file;
    uint64_t size = file->streams[PROFDATA_EVENTS].size;
    if (size > PROFDATA_HEADER_BYTES && (size - PROFDATA_HEADER_BYTES) % file->event_bytes != 0)
        profdata_fault(file, LAM_E_TRUNCATED, profdata_offset_of(file, PROFDATA_EVENTS, size - 1),
                       "the event data ends inside an event; the %llu before it are read",
                       (unsigned long long)profdata_event_count(file));
    int rc = profdata_look(file, pool, walk->threads);
    if (walk->threads->left_out)
        profdata_fault(file, LAM_E_TOOBIG, file->size,
                       "more than %d threads; %llu events of others are left out",
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

static int push_ends(const struct profdata_walk *walk)
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

int profdata_push_events(struct profdata_walk *walk)
{
    struct profdata_order order;
    int rc = profdata_sort(walk->file, walk->threads, &order);
    if (rc >= 0)
        rc = walk->sink->wants.order == PROFILE_ORDER_START ? profdata_walk_forward(walk, &order)
                                                            : profdata_walk_backward(walk, &order);
    profdata_order_free(&order);
    return rc < 0 ? rc : push_ends(walk);
}

void profdata_push_totals(const struct profdata_walk *walk, struct profile_session_end *totals)
{
    uint64_t faults = walk->file->faults.count;
    totals->damaged_streams += faults > 0;
    totals->damage[STREAM_DAMAGE_RECORDS] += faults;
    totals->clamped_times += walk->totals.clamped;
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
