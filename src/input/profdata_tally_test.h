/* For tests: the events of a self-profile added up four ways, which must agree: one by one as a sink is told of them, by the walk that
 * knows all rules into sums, straight into sums, and by many walks of a chunk each; paths the same three ways (the walk that knows all
 * rules makes no sums of them). */
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

struct tally_path {
    uint64_t names, count, self_ns; /* names: hash of the labels on the way */
};

struct tally {
    LAM_ARRAY(struct tally_path) paths; /* by path of the push */
    bool has_paths;
    LAM_ARRAY(struct tally_label) labels; /* by label of the push */
    LAM_ARRAY(uint64_t) self_ns;          /* by thread of the push */
    uint64_t backward, overlapping;
};

enum { TALLY_ALONE, TALLY_STRAIGHT }; /* or so many events in each chunk */

static inline struct tally_label *tally_label(struct tally *tally, uint32_t label)
{
    if (label >= tally->labels.count && array_resize(&tally->labels, (size_t)label + 1) < 0)
        abort();
    return &tally->labels.items[label];
}

static inline void tally_self(struct tally *tally, size_t thread, uint64_t self_ns)
{
    if (thread >= tally->self_ns.count && array_resize(&tally->self_ns, thread + 1) < 0)
        abort();
    tally->self_ns.items[thread] += self_ns;
}

static inline void tally_free(struct tally *tally)
{
    array_free(&tally->labels);
    array_free(&tally->self_ns);
    array_free(&tally->paths);
}

static inline struct tally_path *tally_path(struct tally *tally, uint32_t path)
{
    if (path >= tally->paths.count && array_resize(&tally->paths, (size_t)path + 1) < 0)
        abort();
    return &tally->paths.items[path];
}

static inline int tally_on_path(void *ctx, const struct profile_path *path)
{
    uint64_t around = tally_path(ctx, path->parent)->names;
    tally_path(ctx, path->path)->names = hash_combine(around + 1, path->label);
    return LAM_OK;
}

static inline int tally_fold(void *ctx, const struct profile_fold *it)
{
    struct tally_path *path = tally_path(ctx, it->path);
    path->count += it->count;
    path->self_ns += it->self_ns;
    return LAM_OK;
}

/* Whatever their order. */
static inline uint64_t tally_paths_sum(const struct tally *tally)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < tally->paths.count; i++) {
        const struct tally_path *path = &tally->paths.items[i];
        if (path->count)
            sum += hash_combine(hash_combine(path->names, path->count), path->self_ns);
    }
    return sum;
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
    tally_self(tally, it->thread - 1, it->self_ns);
    tally_fold(tally, &(struct profile_fold){.path = it->path, .count = 1, .self_ns = it->self_ns});
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

/* Threads as two looks saw them. */
static inline bool tally_same_threads(const struct profdata_threads *a,
                                      const struct profdata_threads *b)
{
    bool is_same = a->items.count == b->items.count;
    for (size_t i = 0; is_same && i < a->items.count; i++) {
        const struct profdata_thread *left = &a->items.items[i], *right = &b->items.items[i];
        is_same = left->tid == right->tid && left->is_ordered == right->is_ordered &&
                  left->start == right->start && left->end == right->end &&
                  left->interval_start == right->interval_start &&
                  left->interval_end == right->interval_end &&
                  left->intervals == right->intervals && left->instants == right->instants &&
                  left->integers == right->integers && left->backward == right->backward;
    }
    return is_same;
}

static inline int tally_straight(struct profdata_walk *walk, struct profdata_sums *sums)
{
    struct profdata_threads found;
    int rc = profdata_walk_straight(walk, sums, &found);
    if (rc >= 0 && !tally_same_threads(&found, walk->threads))
        abort();
    profdata_threads_free(&found);
    return rc;
}

static inline int tally_chunks(struct profdata_walk *walk, struct profdata_order *order,
                               uint64_t chunk_events, struct pool *pool, struct profdata_sums *sums)
{
    struct profdata_threads threads;
    struct profdata_skeleton skeleton = {.chunk_events = chunk_events};
    if (profdata_look(walk->file, pool, &threads, &skeleton) < 0)
        abort();
    int rc = skeleton.chunks > 1 && !order->events
                 ? profdata_walk_chunks(walk, &skeleton, pool, sums)
                 : LAM_E_UNSUPPORTED;
    profdata_skeleton_free(&skeleton);
    profdata_threads_free(&threads);
    return rc;
}

/* Walks into sums one of the ways; false where that cannot be. */
static inline bool tally_sums(struct profdata_walk *walk, struct profdata_order *order, int way,
                              uint64_t chunk_events, struct pool *pool, struct tally *tally)
{
    static const struct profile_sink_ops ops = {
        .sum = tally_sum, .path = tally_on_path, .fold = tally_fold};
    struct profile_sink sink = {.ctx = tally, .ops = &ops, .wants = {.paths = true}};
    struct interval_paths paths = {.count = 0};
    tally->has_paths = chunk_events || way == TALLY_STRAIGHT;
    struct profdata_added *added = profdata_added_new(walk->strings, walk->threads->items.count,
                                                      tally->has_paths ? PROFDATA_PATHS_MAX : 0);
    if (!added)
        abort();
    struct profdata_sums *sums = &added->sums;
    int rc = chunk_events            ? tally_chunks(walk, order, chunk_events, pool, sums)
             : way == TALLY_STRAIGHT ? tally_straight(walk, sums)
                                     : profdata_walk_sums(walk, order, sums);
    if (rc < 0 && rc != LAM_E_UNSUPPORTED)
        abort();
    if (rc >= 0 && (profdata_sums_push(sums, walk->labels, &sink, 1) < 0 ||
                    profdata_sums_push_paths(sums, walk->labels, &paths, &sink, 1) < 0))
        abort();
    interval_paths_free(&paths);
    for (size_t i = 0; i < sums->lane_count; i++) {
        tally->backward += sums->lanes[i].backward;
        tally->overlapping += sums->lanes[i].overlapping;
        if (sums->lanes[i].self)
            tally_self(tally, i, sums->lanes[i].self);
    }
    profdata_added_free(&added);
    return rc >= 0;
}

static inline bool tally_same_self(const struct tally *a, const struct tally *b)
{
    bool is_same = true;
    for (size_t i = 0; i < a->self_ns.count || i < b->self_ns.count; i++)
        is_same = is_same && (i < a->self_ns.count ? a->self_ns.items[i] : 0) ==
                                 (i < b->self_ns.count ? b->self_ns.items[i] : 0);
    return is_same;
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
    if (a->has_paths && b->has_paths && tally_paths_sum(a) != tally_paths_sum(b))
        return false;
    return a->backward == b->backward && a->overlapping == b->overlapping && tally_same_self(a, b);
}

/* How many of the sizes of chunks could be used; -1 when something did not agree. *straight: whether it could go straight; NULL. */
static inline int tally_check(struct profdata_file *file, struct pool *pool,
                              const uint64_t *chunk_events, size_t sizes, bool *straight)
{
    static const struct profile_sink_ops ops = {
        .interval = tally_interval, .instant = tally_instant, .path = tally_on_path};
    struct tally told = {.has_paths = true};
    struct profile_sink sink = {.ctx = &told, .ops = &ops, .wants = {.paths = true}};
    struct profdata_rig rig;
    profdata_rig_open(&rig, file, &sink, NULL, 0);
    if (profdata_walk_backward(&rig.walk, &rig.order) < 0)
        abort();
    int used = 0;
    for (size_t i = 0; used >= 0 && i < sizes + 2; i++) {
        struct tally sums = {.backward = 0};
        uint64_t events = i < 2 ? 0 : chunk_events[i - 2];
        bool is_done = tally_sums(&rig.walk, &rig.order, (int)i, events, pool, &sums);
        if (straight && i == TALLY_STRAIGHT)
            *straight = is_done;
        if (is_done && !tally_equal(&told, &sums))
            used = -1;
        else
            used += i > TALLY_STRAIGHT && is_done;
        tally_free(&sums);
    }
    tally_free(&told);
    profdata_rig_close(&rig);
    return used;
}

#endif
