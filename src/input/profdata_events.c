#include "input/profdata_events.h"

#include <string.h>

#include "base/memory.h"

enum { CHUNK_EVENTS = 1 << 18 }; /* that one thread looks at in one go: 8 MiB */

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

struct look {
    const struct profdata_file *file;
    uint64_t events;
    struct profdata_threads *chunks; /* what each chunk found */
};

/* *out is NULL for one beyond `max`. */
static int thread_of(struct profdata_threads *threads, uint32_t tid, size_t max,
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
        struct profdata_thread fresh = {.tid = tid, .is_ordered = true, .start = UINT64_MAX};
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

static inline void look_at(struct profdata_thread *thread, struct profdata_event event)
{
    if (event.end >= PROFDATA_INTEGER) {
        if (event.end == PROFDATA_INTEGER) {
            thread->integers++;
            return;
        }
        thread->instants++;
        event.end = event.start;
    } else {
        thread->backward += profdata_mend_backward(&event);
        if (thread->intervals++ == 0) {
            thread->first_start = event.start;
            thread->first_end = event.end;
        } else if (!may_follow(thread->last_start, thread->last_end, event.start, event.end)) {
            thread->is_ordered = false;
        }
        bool is_empty_again = event.start == event.end && event.end == thread->last_end;
        if (!is_empty_again)
            thread->last_start = event.start;
        thread->last_end = event.end;
    }
    thread->has_times = true;
    thread->start = event.start < thread->start ? event.start : thread->start;
    thread->end = event.end > thread->end ? event.end : thread->end;
}

static inline __attribute__((always_inline)) int look_run(struct profdata_threads *threads,
                                                          const uint8_t *bytes, uint64_t count,
                                                          bool is_wide)
{
    struct profdata_thread *thread = NULL;
    for (uint64_t i = 0; i < count; i++, bytes += is_wide ? 32 : 24) {
        struct profdata_event event = profdata_event_read(bytes, is_wide);
        if (!thread || thread->tid != event.thread) {
            int rc = thread_of(threads, event.thread, PROFDATA_CHUNK_THREADS_MAX, &thread);
            if (rc < 0)
                return rc;
        }
        if (thread)
            look_at(thread, event);
        else
            threads->left_out++;
    }
    return LAM_OK;
}

static int look_chunk(void *ctx, size_t item, unsigned worker)
{
    (void)worker;
    const struct look *look = ctx;
    uint64_t at = (uint64_t)item * CHUNK_EVENTS;
    uint64_t end = look->events - at < CHUNK_EVENTS ? look->events : at + CHUNK_EVENTS;
    int rc = LAM_OK;
    while (rc >= 0 && at < end) {
        struct profdata_run run;
        profdata_run_at(look->file, at, &run);
        uint64_t skip = at - run.first, count = run.count - skip;
        count = count < end - at ? count : end - at;
        const uint8_t *bytes = run.bytes + skip * look->file->event_bytes;
        rc = look->file->is_wide ? look_run(&look->chunks[item], bytes, count, true)
                                 : look_run(&look->chunks[item], bytes, count, false);
        at += count;
    }
    return rc;
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
        sum->last_start = next->last_start;
        sum->last_end = next->last_end;
    }
    sum->is_ordered = sum->is_ordered && next->is_ordered;
    sum->has_times = sum->has_times || next->has_times;
    sum->start = next->start < sum->start ? next->start : sum->start;
    sum->end = next->end > sum->end ? next->end : sum->end;
    sum->intervals += next->intervals;
    sum->instants += next->instants;
    sum->integers += next->integers;
    sum->backward += next->backward;
}

static int join(struct profdata_threads *threads, const struct look *look, size_t chunks)
{
    for (size_t i = 0; i < chunks; i++) {
        threads->left_out += look->chunks[i].left_out;
        array_each(&look->chunks[i].items, found)
        {
            struct profdata_thread *thread;
            int rc = thread_of(threads, found->tid, PROFDATA_THREADS_MAX, &thread);
            if (rc < 0)
                return rc;
            if (thread)
                add_chunk(thread, found);
            else
                threads->left_out += found->intervals + found->instants + found->integers;
        }
    }
    array_each(&threads->items, thread)
    {
        if (!thread->has_times)
            thread->start = 0;
    }
    /* The last look-up may have been of a thread that was found only now, or of none. */
    bool has_any = threads->items.items && threads->items.count;
    threads->last_tid = has_any ? threads->items.items[0].tid : 0;
    threads->last_index = has_any ? 0 : PROFDATA_NO_THREAD;
    return LAM_OK;
}

int profdata_look(const struct profdata_file *file, struct pool *pool,
                  struct profdata_threads *threads)
{
    struct look look = {.file = file, .events = profdata_event_count(file)};
    size_t chunks = (size_t)((look.events + CHUNK_EVENTS - 1) / CHUNK_EVENTS);
    *threads = (struct profdata_threads){.last_index = 0};
    if (chunks == 0)
        return LAM_OK;
    look.chunks = mem_zalloc(chunks, sizeof *look.chunks);
    int rc = look.chunks ? pool_run(pool, chunks, look_chunk, &look) : LAM_E_NOMEM;
    if (rc >= 0)
        rc = join(threads, &look, chunks);
    for (size_t i = 0; look.chunks && i < chunks; i++)
        profdata_threads_free(&look.chunks[i]);
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
