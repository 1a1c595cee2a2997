#include "input/profdata_events.h"

#include <string.h>

#include "base/memory.h"

enum {
    CHUNK_EVENTS_MAX = 1 << 18, /* that one thread looks at in one go: 8 MiB */
    CHUNK_EVENTS_MIN = 1 << 13,
    CHUNKS = 64,             /* of a file, within these bounds */
    EDGES_MAX = 1 << 14,     /* of a chunk: beyond, intervals lie in one another by thousands */
    EDGES_MIN = 1 << 6,      /* that each chunk may have, */
    EDGES_ALL_MAX = 1 << 19, /* although there are many */
    NODES_MAX = 1 << 18,     /* of all chunks */
    PLACES_MAX = 1 << 20,    /* chunks × threads */
};

uint64_t profdata_event_count(const struct profdata_file *file)
{
    uint64_t size = file->streams[PROFDATA_EVENTS].size;
    return size > PROFDATA_HEADER_BYTES ? (size - PROFDATA_HEADER_BYTES) / file->event_bytes : 0;
}

static uint64_t address_of(const struct profdata_file *file, uint64_t index)
{
    return PROFDATA_HEADER_BYTES + index * file->event_bytes;
}

uint64_t profdata_event_offset(const struct profdata_file *file, uint64_t index)
{
    return profdata_offset_of(file, PROFDATA_EVENTS, address_of(file, index));
}

void profdata_run_at(const struct profdata_file *file, uint64_t index, struct profdata_run *run)
{
    const struct profdata_extents *stream = &file->streams[PROFDATA_EVENTS];
    uint64_t size = file->event_bytes, address = address_of(file, index);
    size_t at = profdata_extent_of(stream, address);
    const struct profdata_extent *extent = &stream->extents.items[at];
    uint64_t begin = extent->address;
    uint64_t end = at + 1 < stream->extents.count ? extent[1].address : stream->size;
    if (end - address < size) {
        profdata_copy(file, PROFDATA_EVENTS, address, run->whole, size);
        run->first = index;
        run->count = 1;
        run->bytes = run->whole;
        return;
    }
    run->first =
        begin <= PROFDATA_HEADER_BYTES ? 0 : (begin - PROFDATA_HEADER_BYTES + size - 1) / size;
    run->count = (end - address_of(file, run->first)) / size;
    run->bytes = file->bytes + extent->offset + (address_of(file, run->first) - begin);
}

/* ---- the first look ---- */

struct edge_list LAM_ARRAY_BODY(struct profdata_edge);

struct chunk { /* what it was found to hold */
    struct profdata_threads threads;
    struct edge_list edges; /* in the order of the file; threads are the chunk's own */
    bool is_deep;           /* there are more */
};

struct look {
    const struct profdata_file *file;
    uint64_t events, chunk_events;
    struct chunk *chunks;
    size_t count;
    size_t edges_max; /* of a chunk; 0: none are wanted */
};

int profdata_thread_add(struct profdata_threads *threads, uint32_t tid, size_t max,
                        struct profdata_thread **out)
{
    if (threads->items.count && threads->last_tid == tid) {
        *out = &threads->items.items[threads->last_index];
        return LAM_OK;
    }
    bool added;
    *out = NULL;
    if (threads->items.count >= max && !map_get(&threads->by_tid, tid, NULL))
        return LAM_OK;
    uint64_t *index = map_slot(&threads->by_tid, tid, threads->items.count, &added);
    if (!index)
        return LAM_E_NOMEM;
    threads->last_tid = tid;
    threads->last_index = (uint32_t)*index;
    if (added) {
        struct profdata_thread fresh = {.tid = tid,
                                        .is_ordered = true,
                                        .is_timed = true,
                                        .start = UINT64_MAX,
                                        .interval_start = UINT64_MAX,
                                        .first_time = UINT64_MAX};
        int rc = array_push(&threads->items, fresh);
        if (rc < 0)
            return rc;
    }
    *out = &threads->items.items[threads->last_index];
    return LAM_OK;
}

/* Whether an interval may follow another one of its thread: ends do not fall, and of those with the same end the inner ones
 * come first. Where an empty one stands among them does not matter. */
static bool may_follow(uint64_t start, uint64_t end, uint64_t next_start, uint64_t next_end)
{
    return next_end > end || (next_end == end && (next_start <= start || next_start == next_end));
}

static inline void look_at(struct profdata_thread *thread, struct profdata_event *event)
{
    if (event->end >= PROFDATA_INTEGER) {
        if (event->end == PROFDATA_INTEGER) {
            thread->integers++;
            return;
        }
        thread->instants++;
        thread->is_timed &= event->start >= thread->last_end && event->start >= thread->end;
        thread->first_time = thread->first_time == UINT64_MAX ? event->start : thread->first_time;
        thread->start = event->start < thread->start ? event->start : thread->start;
        thread->end = event->start > thread->end ? event->start : thread->end;
        return;
    }
    thread->backward += profdata_mend_backward(event);
    if (thread->intervals++ == 0) {
        thread->first_start = event->start;
        thread->first_end = event->end;
        thread->first_time = thread->first_time == UINT64_MAX ? event->end : thread->first_time;
    } else if (!may_follow(thread->last_start, thread->last_end, event->start, event->end)) {
        thread->is_ordered = false;
    } else if (event->end == thread->first_end && thread->first_start == thread->first_end) {
        thread->first_start = event->start; /* so far there were empty ones */
    }
    thread->is_timed &= event->end >= thread->end;
    bool is_empty_again = event->start == event->end && event->end == thread->last_end;
    if (!is_empty_again)
        thread->last_start = event->start;
    thread->last_end = event->end;
    thread->interval_end = event->end > thread->interval_end ? event->end : thread->interval_end;
}

static int add_edge(struct chunk *chunk, const struct profdata_event *event, size_t max)
{
    chunk->is_deep = chunk->is_deep || chunk->edges.count == max;
    if (chunk->is_deep || event->start == event->end)
        return LAM_OK;
    struct profdata_edge edge = {chunk->threads.last_index, event->start, event->end, event->kind,
                                 event->id};
    return array_push(&chunk->edges, edge);
}

static inline __attribute__((always_inline)) int look_run(struct chunk *chunk, const uint8_t *bytes,
                                                          uint64_t count, bool is_wide,
                                                          size_t edges_max)
{
    struct profdata_thread *thread = NULL;
    int rc = LAM_OK;
    for (uint64_t i = 0; rc >= 0 && i < count; i++, bytes += is_wide ? 32 : 24) {
        struct profdata_event event = profdata_event_read(bytes, is_wide);
        if (!thread || thread->tid != event.thread) {
            rc = profdata_thread_add(&chunk->threads, event.thread, PROFDATA_CHUNK_THREADS_MAX,
                                     &thread);
            if (rc < 0)
                return rc;
        }
        if (!thread) {
            chunk->threads.left_out++;
            continue;
        }
        look_at(thread, &event);
        if (event.start <= thread->interval_start && event.end < PROFDATA_INTEGER) {
            thread->interval_start = event.start;
            rc = edges_max ? add_edge(chunk, &event, edges_max) : LAM_OK;
        }
    }
    return rc;
}

static int look_chunk(void *ctx, size_t item, unsigned worker)
{
    (void)worker;
    const struct look *look = ctx;
    struct chunk *chunk = &look->chunks[item];
    uint64_t at = (uint64_t)item * look->chunk_events;
    uint64_t end = look->events - at < look->chunk_events ? look->events : at + look->chunk_events;
    bool is_wide = look->file->is_wide;
    int rc = LAM_OK;
    while (rc >= 0 && at < end) {
        struct profdata_run run;
        profdata_run_at(look->file, at, &run);
        uint64_t skip = at - run.first, count = run.count - skip;
        count = count < end - at ? count : end - at;
        const uint8_t *bytes = run.bytes + skip * look->file->event_bytes;
        rc = is_wide ? look_run(chunk, bytes, count, true, look->edges_max)
                     : look_run(chunk, bytes, count, false, look->edges_max);
        at += count;
    }
    return rc;
}

static uint64_t max_time(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Adds what the next chunk found of a thread. */
static void add_chunk(struct profdata_thread *sum, const struct profdata_thread *next)
{
    if (next->intervals) {
        if (sum->intervals == 0) {
            sum->first_start = next->first_start;
            sum->first_end = next->first_end;
        } else if (!may_follow(sum->last_start, sum->last_end, next->first_start, next->first_end)) {
            sum->is_ordered = false;
        }
        bool is_empty_again = next->last_start == next->last_end && next->last_end == sum->last_end;
        if (!is_empty_again || sum->intervals == 0)
            sum->last_start = next->last_start;
        sum->last_end = next->last_end;
    }
    sum->is_ordered = sum->is_ordered && next->is_ordered;
    if ((next->intervals && next->first_end < sum->end) ||
        (next->instants && next->start < max_time(sum->interval_end, sum->end)))
        sum->is_timed = false;
    sum->is_timed = sum->is_timed && next->is_timed;
    sum->start = next->start < sum->start ? next->start : sum->start;
    sum->end = next->end > sum->end ? next->end : sum->end;
    if (next->interval_start < sum->interval_start)
        sum->interval_start = next->interval_start;
    if (next->interval_end > sum->interval_end)
        sum->interval_end = next->interval_end;
    sum->intervals += next->intervals;
    sum->instants += next->instants;
    sum->integers += next->integers;
    sum->backward += next->backward;
}

/* Times of all kinds of events together; 0 where there are none. */
static void finish_thread(struct profdata_thread *thread)
{
    if (thread->interval_start < thread->start)
        thread->start = thread->interval_start;
    if (thread->interval_end > thread->end)
        thread->end = thread->interval_end;
    if (thread->intervals + thread->instants == 0)
        thread->start = 0;
}

void profdata_threads_finish(struct profdata_threads *threads)
{
    array_each(&threads->items, thread) finish_thread(thread);
    /* The last look-up may have been of a thread that was found only now, or of none. */
    bool has_any = threads->items.items && threads->items.count;
    threads->last_tid = has_any ? threads->items.items[0].tid : 0;
    threads->last_index = has_any ? 0 : PROFDATA_NO_THREAD;
}

static int join(struct profdata_threads *threads, const struct look *look)
{
    for (size_t i = 0; i < look->count; i++) {
        threads->left_out += look->chunks[i].threads.left_out;
        array_each(&look->chunks[i].threads.items, found)
        {
            struct profdata_thread *thread;
            int rc = profdata_thread_add(threads, found->tid, PROFDATA_THREADS_MAX, &thread);
            if (rc < 0)
                return rc;
            if (thread)
                add_chunk(thread, found);
            else
                threads->left_out += found->intervals + found->instants + found->integers;
        }
    }
    profdata_threads_finish(threads);
    return LAM_OK;
}

/* ---- the skeleton ---- */

/* Enough of them that no thread waits long for the last one. They do not depend on how many threads there are: of a chunk only so many of
 * the file's threads are told apart. */
static uint64_t events_of_chunk(uint64_t events)
{
    uint64_t size = events / CHUNKS;
    size = size < CHUNK_EVENTS_MIN ? CHUNK_EVENTS_MIN : size;
    return size > CHUNK_EVENTS_MAX ? CHUNK_EVENTS_MAX : size;
}

static size_t edges_of_chunk(size_t chunks)
{
    size_t share = EDGES_ALL_MAX / chunks;
    return share < EDGES_MIN ? EDGES_MIN : share > EDGES_MAX ? EDGES_MAX : share;
}

/* The last end of each thread, up to each chunk's own. */
static void fill_ends(struct profdata_skeleton *skeleton, const struct look *look,
                      struct profdata_threads *threads)
{
    size_t count = skeleton->threads;
    for (size_t i = 0; i < look->count; i++) {
        uint64_t *ends = skeleton->ends + i * count;
        if (i > 0)
            memcpy(ends, ends - count, count * sizeof *ends);
        array_each(&look->chunks[i].threads.items, found)
        {
            uint32_t index = profdata_thread_index(threads, found->tid);
            if (index != PROFDATA_NO_THREAD && found->intervals)
                ends[index] = found->last_end;
        }
    }
}

/* The time of the event that follows, of each thread. */
static void fill_afters(struct profdata_skeleton *skeleton, const struct look *look,
                        struct profdata_threads *threads)
{
    size_t count = skeleton->threads;
    uint64_t *afters = skeleton->afters + look->count * count;
    for (size_t i = 0; i < count; i++)
        *--afters = UINT64_MAX;
    for (size_t i = look->count; i-- > 1;) {
        memcpy(afters - count, afters, count * sizeof *afters);
        afters -= count;
        array_each(&look->chunks[i].threads.items, found)
        {
            uint32_t index = profdata_thread_index(threads, found->tid);
            if (index != PROFDATA_NO_THREAD && found->first_time != UINT64_MAX)
                afters[index] = found->first_time;
        }
    }
}

/* The innermost node that began before `end`, + 1. Each one lies in the one before it. */
static uint32_t under_way(const struct profdata_skeleton *skeleton, uint32_t top, uint64_t end)
{
    while (top && skeleton->nodes.items[top - 1].start >= end)
        top = skeleton->nodes.items[top - 1].parent;
    return top;
}

/* From a chunk's end to its beginning: what ends there is left behind, what reaches on into earlier ones comes up. */
static int cross_chunk(struct profdata_skeleton *skeleton, const struct look *look,
                       struct profdata_threads *threads, size_t chunk)
{
    size_t count = skeleton->threads;
    const uint64_t *ends = skeleton->ends + (chunk - 1) * count;
    uint32_t *tops = skeleton->tops + (chunk - 1) * count;
    const struct chunk *found = &look->chunks[chunk];
    for (size_t i = 0; i < count; i++)
        tops[i] = under_way(skeleton, tops[count + i], ends[i]);
    for (size_t i = found->edges.count; i-- > 0;) {
        const struct profdata_edge *edge = &found->edges.items[i];
        uint32_t index = profdata_thread_index(threads, found->threads.items.items[edge->thread].tid);
        if (index == PROFDATA_NO_THREAD || edge->start >= ends[index])
            continue;
        struct profdata_node node = {.start = edge->start,
                                     .end = edge->end,
                                     .kind = edge->kind,
                                     .id = edge->id,
                                     .parent = tops[index],
                                     .thread = index};
        if (array_push(&skeleton->nodes, node) < 0)
            return LAM_E_NOMEM;
        tops[index] = (uint32_t)skeleton->nodes.count;
    }
    return LAM_OK;
}

static int make_skeleton(struct profdata_skeleton *skeleton, const struct look *look,
                         struct profdata_threads *threads)
{
    size_t count = threads->items.count, places = count * look->count;
    size_t least =
        skeleton->chunk_events ? 1 : 2; /* where its size is not asked for, one chunk is none */
    bool is_fit = count > 0 && look->count >= least && count <= PLACES_MAX / look->count;
    for (size_t i = 0; is_fit && i < look->count; i++)
        is_fit = !look->chunks[i].is_deep;
    skeleton->is_timed = true;
    array_each(&threads->items, thread)
    {
        is_fit = is_fit && thread->is_ordered;
        skeleton->is_timed = skeleton->is_timed && thread->is_timed;
    }
    if (!is_fit)
        return LAM_OK;
    skeleton->chunk_events = look->chunk_events;
    skeleton->threads = count;
    skeleton->ends = mem_zalloc(places, sizeof *skeleton->ends);
    skeleton->afters = mem_zalloc(places, sizeof *skeleton->afters);
    skeleton->tops = mem_zalloc(places, sizeof *skeleton->tops);
    if (!skeleton->ends || !skeleton->afters || !skeleton->tops)
        return LAM_E_NOMEM;
    fill_ends(skeleton, look, threads);
    fill_afters(skeleton, look, threads);
    for (size_t i = look->count; i-- > 1;) {
        int rc = cross_chunk(skeleton, look, threads, i);
        if (rc < 0 || skeleton->nodes.count > NODES_MAX)
            return rc;
    }
    skeleton->chunks = look->count;
    return LAM_OK;
}

int profdata_skeleton_enter(const struct profdata_skeleton *skeleton, size_t chunk, uint32_t thread,
                            struct profdata_under_way *nodes)
{
    array_clear(nodes);
    for (uint32_t top = skeleton->tops[chunk * skeleton->threads + thread]; top;) {
        const struct profdata_node *node = &skeleton->nodes.items[top - 1];
        if (array_push(nodes, node) < 0)
            return LAM_E_NOMEM;
        top = node->parent;
    }
    for (size_t low = 0, high = nodes->count; low + 1 < high;) {
        const struct profdata_node *outer = nodes->items[--high];
        nodes->items[high] = nodes->items[low];
        nodes->items[low++] = outer;
    }
    return LAM_OK;
}

void profdata_skeleton_free(struct profdata_skeleton *skeleton)
{
    array_free(&skeleton->nodes);
    mem_free(skeleton->ends);
    mem_free(skeleton->afters);
    mem_free(skeleton->tops);
    *skeleton = (struct profdata_skeleton){.chunks = 0};
}

int profdata_look(const struct profdata_file *file, struct pool *pool,
                  struct profdata_threads *threads, struct profdata_skeleton *skeleton)
{
    struct look look = {.file = file, .events = profdata_event_count(file)};
    bool wants_edges = skeleton && (pool_threads(pool) > 1 || skeleton->chunk_events);
    look.chunk_events =
        skeleton && skeleton->chunk_events ? skeleton->chunk_events : events_of_chunk(look.events);
    look.count = (size_t)((look.events + look.chunk_events - 1) / look.chunk_events);
    *threads = (struct profdata_threads){.last_index = 0};
    if (look.count == 0)
        return LAM_OK;
    look.edges_max = wants_edges ? edges_of_chunk(look.count) : 0;
    look.chunks = mem_zalloc(look.count, sizeof *look.chunks);
    int rc = look.chunks ? pool_run(pool, look.count, look_chunk, &look) : LAM_E_NOMEM;
    if (rc >= 0)
        rc = join(threads, &look);
    if (rc >= 0 && wants_edges)
        rc = make_skeleton(skeleton, &look, threads);
    for (size_t i = 0; look.chunks && i < look.count; i++) {
        profdata_threads_free(&look.chunks[i].threads);
        array_free(&look.chunks[i].edges);
    }
    mem_free(look.chunks);
    if (rc < 0)
        profdata_threads_free(threads);
    return rc;
}

void profdata_threads_free(struct profdata_threads *threads)
{
    array_free(&threads->items);
    map_free(&threads->by_tid);
    *threads = (struct profdata_threads){.last_index = 0};
}
