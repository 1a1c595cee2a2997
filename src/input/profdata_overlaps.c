#include "input/profdata_overlaps.h"

#include <stdatomic.h>

#include "base/memory.h"

enum {
    BLOCK = 32
}; /* events of one thread that are looked at in one go: a file may have many threads */

struct span {
    uint64_t start, end;
};

struct lane { /* of a thread: each lies inside the one below */
    LAM_ARRAY(struct span) stack;
};

struct worker {
    struct profdata_threads threads; /* borrowed: what a look-up remembers is the worker's own */
    struct lane *lanes;
    struct profdata_under_way nodes;
};

struct check {
    const struct profdata_file *file;
    const struct profdata_skeleton *skeleton;
    struct worker *workers;
    atomic_bool is_wrong;
};

static int enter_chunk(const struct check *check, struct worker *worker, size_t chunk)
{
    int rc = LAM_OK;
    for (uint32_t i = 0; rc >= 0 && i < check->skeleton->threads; i++) {
        struct lane *lane = &worker->lanes[i];
        array_clear(&lane->stack);
        rc = profdata_skeleton_enter(check->skeleton, chunk, i, &worker->nodes);
        for (size_t k = 0; rc >= 0 && k < worker->nodes.count; k++) {
            const struct profdata_node *node = worker->nodes.items[k];
            rc = array_push(&lane->stack, ((struct span){node->start, node->end}));
        }
    }
    return rc;
}

static inline size_t count_before(const struct span *items, size_t count, uint64_t end)
{
    while (count && items[count - 1].start >= end)
        count--;
    return count;
}

/* The last event first, as long as they are of one thread; *count is how many are left then. */
static inline __attribute__((always_inline)) int check_thread(struct lane *lane,
                                                              const uint8_t *bytes, uint64_t *count,
                                                              bool is_wide, bool *is_nested)
{
    size_t size = is_wide ? 32 : 24, under_way = lane->stack.count;
    uint64_t left = *count, end = left > BLOCK ? left - BLOCK : 0;
    uint32_t tid = profdata_event_read(bytes + (left - 1) * size, is_wide).thread;
    if (array_reserve(&lane->stack, under_way + BLOCK) < 0)
        return LAM_E_NOMEM;
    struct span *items = lane->stack.items;
    for (; left > end && *is_nested; left--) {
        struct profdata_event event = profdata_event_read(bytes + (left - 1) * size, is_wide);
        if (event.thread != tid)
            break;
        if (!profdata_is_interval(&event))
            continue;
        under_way = count_before(items, under_way, event.end);
        if (event.start >= event.end)
            continue; /* holds nothing */
        *is_nested = !under_way || items[under_way - 1].start <= event.start;
        items[under_way++] = (struct span){event.start, event.end};
    }
    lane->stack.count = under_way;
    *count = left;
    return LAM_OK;
}

static inline __attribute__((always_inline)) int check_run(struct worker *worker,
                                                           const uint8_t *bytes, uint64_t count,
                                                           bool is_wide, bool *is_nested)
{
    int rc = LAM_OK;
    while (rc >= 0 && count > 0 && *is_nested) {
        const uint8_t *last = bytes + (count - 1) * (is_wide ? 32 : 24);
        uint32_t index =
            profdata_thread_index(&worker->threads, profdata_event_read(last, is_wide).thread);
        if (index == PROFDATA_NO_THREAD)
            count--;
        else
            rc = check_thread(&worker->lanes[index], bytes, &count, is_wide, is_nested);
    }
    return rc;
}

static int check_range(const struct check *check, struct worker *worker, uint64_t first,
                       uint64_t end, bool *is_nested)
{
    const struct profdata_file *file = check->file;
    int rc = LAM_OK;
    while (rc >= 0 && *is_nested && end > first) {
        struct profdata_run run;
        profdata_run_at(file, end - 1, &run);
        uint64_t from = run.first > first ? run.first : first;
        const uint8_t *bytes = run.bytes + (from - run.first) * file->event_bytes;
        rc = file->is_wide ? check_run(worker, bytes, end - from, true, is_nested)
                           : check_run(worker, bytes, end - from, false, is_nested);
        end = from;
    }
    return rc;
}

/* Whether what reaches on into earlier chunks is just what the skeleton says they are entered with. */
static bool is_as_told(const struct profdata_skeleton *skeleton, const struct lane *lane, uint32_t top)
{
    for (size_t i = lane->stack.count; i-- > 0;) {
        const struct span *span = &lane->stack.items[i];
        const struct profdata_node *node = top ? &skeleton->nodes.items[top - 1] : NULL;
        if (!node || node->start != span->start || node->end != span->end)
            return false;
        top = node->parent;
    }
    return top == 0;
}

static bool leave_chunk(const struct check *check, struct worker *worker, size_t chunk)
{
    const struct profdata_skeleton *skeleton = check->skeleton;
    bool is_right = true;
    for (uint32_t i = 0; is_right && chunk && i < skeleton->threads; i++) {
        size_t before = (chunk - 1) * skeleton->threads + i;
        struct lane *lane = &worker->lanes[i];
        lane->stack.count =
            count_before(lane->stack.items, lane->stack.count, skeleton->ends[before]);
        is_right = is_as_told(skeleton, lane, skeleton->tops[before]);
    }
    return is_right;
}

static int check_chunk(void *ctx, size_t chunk, unsigned number)
{
    struct check *check = ctx;
    struct worker *worker = &check->workers[number];
    uint64_t size = check->skeleton->chunk_events, events = profdata_event_count(check->file);
    uint64_t first = chunk * size, end = events - first < size ? events : first + size;
    bool is_nested = true;
    int rc = enter_chunk(check, worker, chunk);
    if (rc >= 0)
        rc = check_range(check, worker, first, end, &is_nested);
    if (rc >= 0 && !(is_nested && leave_chunk(check, worker, chunk))) {
        /* relaxed: read when all have ended */
        atomic_store_explicit(&check->is_wrong, true, memory_order_relaxed);
        return LAM_E_UNSUPPORTED; /* nothing more is to be found out */
    }
    return rc;
}

int profdata_check_overlaps(const struct profdata_file *file, const struct profdata_threads *threads,
                            const struct profdata_skeleton *skeleton, struct pool *pool,
                            bool *is_nested)
{
    size_t count = pool_threads(pool);
    struct check check = {.file = file, .skeleton = skeleton};
    check.workers = mem_zalloc(count, sizeof *check.workers);
    int rc = check.workers ? LAM_OK : LAM_E_NOMEM;
    for (size_t i = 0; rc >= 0 && i < count; i++) {
        check.workers[i].threads = *threads;
        check.workers[i].lanes = mem_zalloc(skeleton->threads + 1, sizeof *check.workers[i].lanes);
        rc = check.workers[i].lanes ? LAM_OK : LAM_E_NOMEM;
    }
    if (rc >= 0)
        rc = pool_run(pool, skeleton->chunks, check_chunk, &check);
    for (size_t i = 0; check.workers && i < count; i++) {
        for (size_t k = 0; check.workers[i].lanes && k < skeleton->threads; k++)
            array_free(&check.workers[i].lanes[k].stack);
        mem_free(check.workers[i].lanes);
        array_free(&check.workers[i].nodes);
    }
    mem_free(check.workers);
    /* relaxed: the pool's end has published it */
    bool is_wrong = atomic_load_explicit(&check.is_wrong, memory_order_relaxed);
    *is_nested = !is_wrong;
    return is_wrong ? LAM_OK : rc;
}
