/* For tests: the events of a self-profile added up three ways, which must agree: one by one as a sink is told of them, by one walk
 * into sums, and by many walks of a chunk each. */
#ifndef LAMELLA_INPUT_PROFDATA_TALLY_TEST_H
#define LAMELLA_INPUT_PROFDATA_TALLY_TEST_H

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "input/profdata_rig_test.h"
#include "input/profdata_sums.h"

struct tally_label {
    uint64_t intervals, self_ns, time_ns, wall_ns, min_ns, max_ns, bucket_sum;
    uint64_t instants, values, value_sum;
};

struct tally {
    LAM_ARRAY(struct tally_label) labels; /* by label of the push */
    uint64_t backward, overlapping, self_ns;
};

static inline struct tally_label *tally_label(struct tally *tally, uint32_t label)
{
    if (label >= tally->labels.count && array_resize(&tally->labels, (size_t)label + 1) < 0)
        abort();
    return &tally->labels.items[label];
}

static inline int tally_interval(void *ctx, const struct profile_interval *it)
{
    struct tally *tally = ctx;
    struct tally_label *to = tally_label(tally, it->label);
    uint64_t wall = (uint64_t)(it->end_ns - it->start_ns);
    to->min_ns = to->intervals == 0 || wall < to->min_ns ? wall : to->min_ns;
    to->max_ns = wall > to->max_ns ? wall : to->max_ns;
    to->intervals++;
    to->self_ns += it->self_ns;
    to->wall_ns += wall;
    to->time_ns += it->flags & PROFILE_INTERVAL_RECURSIVE ? 0 : wall;
    to->bucket_sum += duration_bucket(wall);
    tally->self_ns += it->self_ns;
    tally->backward += (it->flags & PROFILE_INTERVAL_BACKWARD) != 0;
    tally->overlapping += (it->flags & PROFILE_INTERVAL_OVERLAPS) != 0;
    return LAM_OK;
}

static inline int tally_instant(void *ctx, const struct profile_instant *it)
{
    struct tally_label *to = tally_label(ctx, it->label);
    to->instants++;
    to->values += it->has_value;
    to->value_sum += it->has_value ? it->value : 0;
    return LAM_OK;
}

static inline int tally_sum(void *ctx, const struct profile_sum *it)
{
    struct tally_label *to = tally_label(ctx, it->label);
    bool is_first = to->intervals == 0;
    if (it->intervals) {
        to->min_ns = is_first || it->min_ns < to->min_ns ? it->min_ns : to->min_ns;
        to->max_ns = it->max_ns > to->max_ns ? it->max_ns : to->max_ns;
    }
    to->intervals += it->intervals;
    to->self_ns += it->self_ns;
    to->wall_ns += it->wall_ns;
    to->time_ns += it->time_ns;
    for (unsigned i = 0; i < it->durations->size; i++)
        to->bucket_sum += it->durations->counts[i] * (it->durations->first + i);
    to->instants += it->instants;
    to->values += it->values;
    to->value_sum += it->value_sum;
    return LAM_OK;
}

/* Walks into sums, in chunks of so many events (0: all alone); false where chunks cannot be told from one another. */
static inline bool tally_sums(struct profdata_walk *walk, struct profdata_order *order,
                              uint64_t chunk_events, struct pool *pool, struct tally *tally)
{
    static const struct profile_sink_ops ops = {.sum = tally_sum};
    struct profile_sink sink = {.ctx = tally, .ops = &ops};
    struct profdata_names names = {.strings = walk->strings};
    struct profdata_sums *sums = calloc(1, sizeof *sums);
    struct profdata_threads threads;
    struct profdata_skeleton skeleton = {.chunk_events = chunk_events};
    int rc = LAM_OK;
    pthread_mutex_init(&names.lock, NULL);
    if (!sums || profdata_sums_open(sums, &names, walk->threads->items.count) < 0 ||
        profdata_look(walk->file, pool, &threads, &skeleton) < 0)
        abort();
    if (chunk_events)
        rc = skeleton.chunks > 1 && !order->events
                 ? profdata_walk_chunks(walk, &skeleton, pool, sums)
                 : LAM_E_UNSUPPORTED;
    else
        rc = profdata_walk_sums(walk, order, sums);
    if (rc < 0 && rc != LAM_E_UNSUPPORTED)
        abort();
    if (rc >= 0 && profdata_sums_push(sums, walk->labels, &sink, 1) < 0)
        abort();
    for (size_t i = 0; i < sums->lane_count; i++) {
        tally->backward += sums->lanes[i].backward;
        tally->overlapping += sums->lanes[i].overlapping;
        tally->self_ns += sums->lanes[i].self;
    }
    profdata_skeleton_free(&skeleton);
    profdata_threads_free(&threads);
    profdata_sums_free(sums);
    free(sums);
    pthread_mutex_destroy(&names.lock);
    return rc >= 0;
}

static inline bool tally_equal(const struct tally *a, const struct tally *b)
{
    static const struct tally_label none;
    size_t count = a->labels.count > b->labels.count ? a->labels.count : b->labels.count;
    for (size_t i = 0; i < count; i++) {
        const struct tally_label *left = i < a->labels.count ? &a->labels.items[i] : &none,
                                 *right = i < b->labels.count ? &b->labels.items[i] : &none;
        if (memcmp(left, right, sizeof none) != 0)
            return false;
    }
    return a->backward == b->backward && a->overlapping == b->overlapping && a->self_ns == b->self_ns;
}

/* How many of the sizes of chunks could be used; -1 when something did not agree. */
static inline int tally_check(struct profdata_file *file, struct pool *pool,
                              const uint64_t *chunk_events, size_t sizes)
{
    static const struct profile_sink_ops ops = {.interval = tally_interval, .instant = tally_instant};
    struct tally told = {.backward = 0};
    struct profile_sink sink = {.ctx = &told, .ops = &ops};
    struct profdata_rig rig;
    profdata_rig_open(&rig, file, &sink, NULL, 0);
    if (profdata_walk_backward(&rig.walk, &rig.order) < 0)
        abort();
    int used = 0;
    for (size_t i = 0; used >= 0 && i <= sizes; i++) {
        struct tally sums = {.backward = 0};
        bool is_done = tally_sums(&rig.walk, &rig.order, i ? chunk_events[i - 1] : 0, pool, &sums);
        if (is_done && !tally_equal(&told, &sums))
            used = -1;
        else
            used += i > 0 && is_done;
        array_free(&sums.labels);
    }
    array_free(&told.labels);
    profdata_rig_close(&rig);
    return used;
}

#endif
