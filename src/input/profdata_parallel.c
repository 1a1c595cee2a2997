/* A self-profile on all cores, into sums. The skeleton (profdata_events.h) says for each chunk which intervals of later chunks are
 * under way at its end; so every chunk can be walked by itself, and what is added up does not depend on who did which. */
#include <stdatomic.h>

#include "base/memory.h"
#include "input/profdata_backward.h"

struct worker {
    struct profdata_backward back;
    struct profdata_sums sums;
    struct profdata_threads threads; /* what a look-up remembers is the worker's own */
    LAM_ARRAY(uint32_t) nodes;
};

struct chunks {
    struct profdata_walk *walk;
    struct profdata_skeleton *skeleton;
    struct worker *workers;
};

/* What is under way at the chunk's end, the outermost first. */
static int enter_chunk(const struct chunks *chunks, struct worker *worker, size_t chunk)
{
    const struct profdata_skeleton *skeleton = chunks->skeleton;
    const uint32_t *tops = skeleton->tops + chunk * skeleton->threads;
    int rc = LAM_OK;
    for (uint32_t i = 0; i < skeleton->threads; i++) {
        array_clear(&worker->nodes);
        for (uint32_t node = tops[i]; rc >= 0 && node; node = skeleton->nodes.items[node - 1].parent)
            rc = array_push(&worker->nodes, node);
        for (size_t at = worker->nodes.count; rc >= 0 && at-- > 0;)
            rc = profdata_backward_enter(&worker->back, i, worker->nodes.items[at]);
    }
    return rc;
}

/* Hands what reaches on into earlier chunks to the skeleton. It must be just what that has: else the file is not as it seemed. */
static int hand_over(struct profdata_skeleton *skeleton, const struct profdata_lane *lane,
                     uint32_t top)
{
    for (size_t i = lane->stack.count; i-- > 0;) {
        const struct profdata_open *item = &lane->stack.items[i];
        if (!top || (item->node && item->node != top))
            return LAM_E_UNSUPPORTED;
        struct profdata_node *node = &skeleton->nodes.items[top - 1];
        if (node->start != item->start || node->end != item->end || node->id != item->id)
            return LAM_E_UNSUPPORTED;
        if (!item->node)
            node->flags = item->flags; /* only the walk of its own chunk comes here */
        /* relaxed: a sum, which is read when all walks have ended */
        atomic_fetch_add_explicit(&node->children_time, item->children_time, memory_order_relaxed);
        top = node->parent;
    }
    return top ? LAM_E_UNSUPPORTED : LAM_OK;
}

static int leave_chunk(const struct chunks *chunks, struct worker *worker, size_t chunk)
{
    struct profdata_skeleton *skeleton = chunks->skeleton;
    size_t before = (chunk - 1) * skeleton->threads; /* of what is read for a chunk behind another */
    int rc = LAM_OK;
    for (uint32_t i = 0; rc >= 0 && i < skeleton->threads; i++) {
        rc = profdata_backward_until(&worker->back, i, chunk ? skeleton->ends[before + i] : 0);
        if (rc >= 0)
            rc = hand_over(skeleton, &worker->back.lanes[i], chunk ? skeleton->tops[before + i] : 0);
        profdata_backward_leave(&worker->back, i);
    }
    return rc;
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
        rc = profdata_backward_range(&worker->back, first, end);
    return rc < 0 ? rc : leave_chunk(chunks, worker, chunk);
}

static int open_worker(struct worker *worker, const struct chunks *chunks,
                       struct profdata_names *names)
{
    worker->back.sums = &worker->sums;
    worker->back.skeleton = chunks->skeleton;
    int rc = profdata_sums_open(&worker->sums, names, chunks->skeleton->threads);
    if (rc >= 0)
        rc = profdata_backward_open(&worker->back, chunks->walk);
    worker->threads = *chunks->walk->threads; /* borrowed: items and map are only read */
    worker->back.threads = &worker->threads;
    return rc;
}

static void close_worker(struct worker *worker)
{
    if (worker->back.walk)
        profdata_backward_close(&worker->back);
    profdata_sums_free(&worker->sums);
    array_free(&worker->nodes);
}

/* Intervals that several chunks have a share in are told once all have been walked. */
static int add_nodes(const struct profdata_skeleton *skeleton, struct profdata_sums *sums)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < skeleton->nodes.count; i++) {
        const struct profdata_node *node = &skeleton->nodes.items[i];
        uint64_t length = node->end - node->start;
        /* relaxed: the pool's end has published it */
        uint64_t children = atomic_load_explicit(&node->children_time, memory_order_relaxed);
        uint64_t self = length - (children < length ? children : length);
        uint32_t label;
        rc = profdata_sums_label(sums, node->kind, node->id, &label);
        if (rc >= 0)
            rc = profdata_sums_interval(sums, label, length, self,
                                        (node->flags & PROFILE_INTERVAL_RECURSIVE) != 0);
        sums->lanes[node->thread].self += self;
    }
    return rc;
}

int profdata_walk_chunks(struct profdata_walk *walk, struct profdata_skeleton *skeleton,
                         struct pool *pool, struct profdata_sums *sums)
{
    size_t count = pool_threads(pool);
    struct chunks chunks = {.walk = walk, .skeleton = skeleton};
    chunks.workers = mem_zalloc(count, sizeof *chunks.workers);
    int rc = chunks.workers ? LAM_OK : LAM_E_NOMEM;
    for (size_t i = 0; rc >= 0 && i < count; i++)
        rc = open_worker(&chunks.workers[i], &chunks, sums->names);
    if (rc >= 0)
        rc = pool_run(pool, skeleton->chunks, walk_chunk, &chunks);
    for (size_t i = 0; rc >= 0 && i < count; i++)
        rc = profdata_sums_merge(sums, &chunks.workers[i].sums);
    if (rc >= 0)
        rc = add_nodes(skeleton, sums);
    for (size_t i = 0; chunks.workers && i < count; i++)
        close_worker(&chunks.workers[i]);
    mem_free(chunks.workers);
    return rc;
}
