/* A self-profile into sums, straight (profdata_nested.h): by one thread, which finds the file's threads on the way, or on all cores.
 * Then the skeleton (profdata_events.h) says for each chunk which intervals of later chunks are under way at its end; so every chunk can
 * be walked by itself, and what is added up does not depend on who did which. */
#include <stdlib.h>

#include "base/memory.h"
#include "input/profdata_nested.h"

/* ---- by one ---- */

struct seen {
    uint64_t first_event;
    size_t index; /* of a thread, as they were found */
};

static int compare_seen(const void *left, const void *right)
{
    uint64_t a = ((const struct seen *)left)->first_event,
             b = ((const struct seen *)right)->first_event;
    return a < b ? -1 : a > b;
}

/* What a look at all events would have said. */
static void fill_thread(struct profdata_thread *thread, const struct profdata_nested_lane *lane)
{
    thread->start = lane->instant_start;
    thread->end = lane->instant_end;
    thread->interval_start = lane->interval_start;
    thread->interval_end = lane->interval_end;
    thread->intervals = lane->intervals;
    thread->instants = lane->instants;
    thread->integers = lane->integers;
    thread->backward = lane->backward;
}

static int list_threads(struct profdata_nested *nested, const struct seen *seen,
                        struct profdata_threads *threads)
{
    struct profdata_sums *sums = nested->sums;
    int rc = profdata_sums_lanes(sums, nested->lanes.count);
    for (size_t i = 0; rc >= 0 && i < nested->lanes.count; i++) {
        struct profdata_thread *thread;
        const struct profdata_nested_lane *lane = &nested->lanes.items[seen[i].index];
        rc = profdata_thread_add(threads, nested->threads->items.items[seen[i].index].tid,
                                 PROFDATA_THREADS_MAX, &thread);
        if (rc < 0)
            return rc;
        fill_thread(thread, lane);
        sums->lanes[i].self = lane->self;
        sums->lanes[i].backward = lane->backward;
    }
    profdata_threads_finish(threads);
    return rc;
}

/* In the order of their first events, as all look-ups find them. */
static int sort_threads(struct profdata_nested *nested, struct profdata_threads *threads)
{
    size_t count = nested->lanes.count;
    struct seen *seen = mem_alloc((count + 1) * sizeof *seen);
    if (!seen)
        return LAM_E_NOMEM;
    for (size_t i = 0; i < count; i++)
        seen[i] = (struct seen){nested->lanes.items[i].first_event, i};
    qsort(seen, count, sizeof *seen, compare_seen);
    int rc = list_threads(nested, seen, threads);
    mem_free(seen);
    return rc;
}

int profdata_walk_straight(struct profdata_walk *walk, struct profdata_sums *sums,
                           struct profdata_threads *threads)
{
    struct profdata_threads found = {.last_index = 0};
    struct profdata_nested nested = {.finds_threads = true};
    int rc = profdata_nested_open(&nested, walk, sums, &found);
    if (rc >= 0)
        rc = profdata_nested_range(&nested, 0, profdata_event_count(walk->file));
    *threads = (struct profdata_threads){.last_index = 0};
    if (rc >= 0)
        rc = sort_threads(&nested, threads);
    if (rc < 0)
        profdata_threads_free(threads);
    profdata_nested_close(&nested);
    profdata_threads_free(&found);
    return rc;
}

/* ---- by many ---- */

struct worker {
    struct profdata_nested nested;
    struct profdata_sums sums;
    struct profdata_threads threads; /* what a look-up remembers is the worker's own */
    struct profdata_under_way nodes;
};

struct chunks {
    struct profdata_walk *walk;
    struct profdata_skeleton *skeleton;
    struct worker *workers;
};

static int enter_node(struct worker *worker, uint32_t lane, const struct profdata_node *node)
{
    uint32_t label;
    int rc = profdata_sums_label(&worker->sums, node->kind, node->id, &label);
    return rc < 0 ? rc : profdata_nested_enter(&worker->nested, lane, node->start, node->end, label);
}

static int enter_chunk(const struct chunks *chunks, struct worker *worker, size_t chunk)
{
    int rc = LAM_OK;
    for (uint32_t i = 0; rc >= 0 && i < chunks->skeleton->threads; i++) {
        profdata_nested_clear(&worker->nested.lanes.items[i]);
        rc = profdata_skeleton_enter(chunks->skeleton, chunk, i, &worker->nodes);
        for (size_t k = 0; rc >= 0 && k < worker->nodes.count; k++)
            rc = enter_node(worker, i, worker->nodes.items[k]);
    }
    return rc;
}

/* Whether what reaches on into earlier chunks is just what the skeleton has: else the file is not as it seemed. */
static bool is_as_told(const struct profdata_skeleton *skeleton,
                       const struct profdata_nested_lane *lane, uint32_t top)
{
    const struct profdata_nested_open *items = profdata_nested_items(lane);
    for (size_t i = lane->count; i-- > 0;) {
        const struct profdata_node *node = top ? &skeleton->nodes.items[top - 1] : NULL;
        if (!node || (int64_t)node->start != items[i].start || node->end != items[i].end)
            return false;
        top = node->parent;
    }
    return top == 0;
}

static int leave_chunk(const struct chunks *chunks, struct worker *worker, size_t chunk)
{
    const struct profdata_skeleton *skeleton = chunks->skeleton;
    size_t before = (chunk - 1) * skeleton->threads; /* of what is read for a chunk behind another */
    for (uint32_t i = 0; i < skeleton->threads; i++) {
        struct profdata_nested_lane *lane = &worker->nested.lanes.items[i];
        profdata_nested_until(lane, chunk ? skeleton->ends[before + i] : 0);
        if (!is_as_told(skeleton, lane, chunk ? skeleton->tops[before + i] : 0))
            return LAM_E_UNSUPPORTED;
    }
    return LAM_OK;
}

static int walk_chunk(void *ctx, size_t item, unsigned number)
{
    const struct chunks *chunks = ctx;
    struct worker *worker = &chunks->workers[number];
    uint64_t size = chunks->skeleton->chunk_events, events = profdata_event_count(chunks->walk->file);
    size_t chunk = chunks->skeleton->chunks - 1 - item; /* the file's end first, as a walk alone */
    uint64_t first = chunk * size, end = events - first < size ? events : first + size;
    int rc = enter_chunk(chunks, worker, chunk);
    if (rc >= 0)
        rc = profdata_nested_range(&worker->nested, first, end);
    return rc < 0 ? rc : leave_chunk(chunks, worker, chunk);
}

static int open_worker(struct worker *worker, const struct chunks *chunks,
                       struct profdata_names *names, size_t max_paths)
{
    int rc = profdata_sums_open(&worker->sums, names, 0);
    if (rc >= 0 && max_paths)
        rc = profdata_path_sums_open(&worker->sums.paths, max_paths);
    worker->threads = *chunks->walk->threads; /* borrowed: items and map are only read */
    return rc < 0
               ? rc
               : profdata_nested_open(&worker->nested, chunks->walk, &worker->sums, &worker->threads);
}

static void close_worker(struct worker *worker)
{
    profdata_nested_close(&worker->nested);
    profdata_sums_free(&worker->sums);
    array_free(&worker->nodes);
}

int profdata_walk_chunks(struct profdata_walk *walk, struct profdata_skeleton *skeleton,
                         struct pool *pool, struct profdata_sums *sums)
{
    size_t count = pool_threads(pool);
    struct chunks chunks = {.walk = walk, .skeleton = skeleton};
    chunks.workers = mem_zalloc(count, sizeof *chunks.workers);
    int rc = chunks.workers ? LAM_OK : LAM_E_NOMEM;
    for (size_t i = 0; rc >= 0 && i < count; i++)
        rc = open_worker(&chunks.workers[i], &chunks, sums->names, sums->paths.max / count);
    if (rc >= 0)
        rc = pool_run(pool, skeleton->chunks, walk_chunk, &chunks);
    for (size_t i = 0; rc >= 0 && i < count; i++) {
        rc = profdata_sums_merge(sums, &chunks.workers[i].sums);
        profdata_nested_add_lanes(&chunks.workers[i].nested, sums);
    }
    for (size_t i = 0; chunks.workers && i < count; i++)
        close_worker(&chunks.workers[i]);
    mem_free(chunks.workers);
    return rc;
}
