/* A self-profile told to branches of a sink, on all cores: parts of the file, the last one first, each by whichever worker is free. What
 * the branches make of them is taken in that order, so that it is the same whoever did which; a worker whose branch is full
 * waits for its turn. The skeleton (profdata_events.h) says what is under way at each part's end.
 *
 * An interval is told where nothing that is still to come can lie in it: by the part in which it began. So one that overlaps
 * another is found before either is told. Then the parts end, and the walk goes on from there alone (profdata_backward.c), which
 * knows what to do with it. One thread walks the same parts, so that the output does not depend on how many there are. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "input/profdata_backward.h"
#include "input/profdata_finder.h"

enum {
    AHEAD = 24, /* events whose names are fetched before they are needed; the steps of their texts are */
    AHEAD_STRING = 16,
    AHEAD_ARGUMENT = 8,
    BRANCHES_BYTES = 16 << 20, /* what all branches hold */
    BRANCH_BYTES_MAX = 2 << 20,
    BRANCH_BYTES_TAKE =
        1 << 18, /* taken on the way, while still in the cache, when it is the part's turn */
    EVENTS_A_LOOK = 256, /* told between looks whether it is */
};

#define HAS_ARGS (UINT32_C(1) << 31) /* in flags, beside enum profile_interval_flag */

struct open_interval {
    uint64_t start, end, id;
    uint32_t label, flags;
};

struct part_lane { /* of a thread, as struct profdata_lane: each lies inside the one below */
    LAM_ARRAY(struct open_interval) stack;
    uint64_t last;
};

struct worker {
    struct parts *parts;
    struct profdata_walk walk; /* its own, of arguments and totals, with its own: */
    struct profile_sink sink;
    struct profdata_file file; /* for its faults; the bytes are the walk's */
    struct profdata_strings strings;
    struct profdata_threads threads;
    struct profdata_finder finder;
    struct profile_branch branch;
    struct part_lane *lanes;
    struct profile_interval told;
    struct nest_totals totals;     /* of the parts whose output was wanted */
    struct profdata_faults faults; /* of all */
    size_t part;                   /* that it is at */
    size_t fault_part;             /* that had the first fault */
    LAM_ARRAY(uint32_t) nodes;
};

struct parts {
    struct profdata_walk *walk;
    struct profdata_skeleton *skeleton;
    struct profdata_shared_labels labels;
    struct worker *workers;
    pthread_mutex_t lock;
    pthread_cond_t has_moved;
    _Atomic size_t turn; /* the part whose output comes next; changed under the lock */
    bool is_ended; /* nothing behind the turn is wanted: a failure, or the rest is walked alone */
    int failed;
    struct worker *rest_of; /* what the walk alone goes on from; NULL */
    uint64_t rest_end;      /* with the events before this one */
};

/* ---- turns ---- */

static bool is_turn(const struct worker *worker)
{
    /* acquire: pairs with the release in pass_turn(): what was taken before is in the sink */
    return atomic_load_explicit(&worker->parts->turn, memory_order_acquire) == worker->part;
}

/* CANCELLED: nothing of this part is wanted any more. */
static int wait_for_turn(struct worker *worker)
{
    struct parts *parts = worker->parts;
    if (is_turn(worker))
        return LAM_OK;
    pthread_mutex_lock(&parts->lock);
    while (!is_turn(worker) && !parts->is_ended)
        pthread_cond_wait(&parts->has_moved, &parts->lock);
    int rc = is_turn(worker) ? LAM_OK : LAM_E_CANCELLED;
    pthread_mutex_unlock(&parts->lock);
    return rc;
}

static void pass_turn(struct parts *parts)
{
    pthread_mutex_lock(&parts->lock);
    /* release: pairs with is_turn() */
    atomic_store_explicit(&parts->turn, parts->turn + 1, memory_order_release);
    pthread_cond_broadcast(&parts->has_moved);
    pthread_mutex_unlock(&parts->lock);
}

static void end_all(struct parts *parts, int failed)
{
    pthread_mutex_lock(&parts->lock);
    if (!parts->is_ended)
        parts->failed = failed;
    parts->is_ended = true;
    pthread_cond_broadcast(&parts->has_moved);
    pthread_mutex_unlock(&parts->lock);
}

static int take(struct worker *worker)
{
    const struct profile_sink *sink = worker->parts->walk->sink;
    int rc = wait_for_turn(worker);
    return rc < 0 ? rc : sink->branches->take(sink->ctx, &worker->branch);
}

static int make_room(void *ctx)
{
    return take(ctx);
}

/* All that the branch was told is wanted: it is taken, and counts. */
static int take_part(struct worker *worker)
{
    int rc = worker->branch.end(worker->branch.ctx);
    if (rc >= 0)
        rc = take(worker);
    if (rc >= 0)
        nest_totals_add(&worker->totals, &worker->walk.totals);
    return rc;
}

/* Of a part whose output is not wanted as well: shared strings are found wrong once. */
static void add_faults(struct worker *worker)
{
    const struct profdata_faults *faults = &worker->file.faults;
    uint64_t before = worker->faults.count;
    if (faults->count && !before) {
        worker->faults = *faults;
        worker->fault_part = worker->part;
    } else {
        worker->faults.count = before + faults->count;
    }
}

/* Hands over what the branch holds and gives the rest to a walk alone: events before `end`. */
static int give_up(struct worker *worker, uint64_t end)
{
    struct parts *parts = worker->parts;
    int rc = take_part(worker);
    if (rc < 0)
        return rc;
    parts->rest_of = worker;
    parts->rest_end = end;
    end_all(parts, LAM_OK);
    return LAM_E_CANCELLED;
}

/* ---- telling ---- */

static int tell_args(struct worker *worker, uint64_t id)
{
    struct profile_interval *told = &worker->told;
    told->args_id = id + 1;
    int rc = profdata_walk_args(&worker->walk, id, told->args_id, &told->args, &told->argc);
    told->has_plain_args = worker->walk.has_plain_args;
    return rc;
}

static inline int tell(struct worker *worker, uint32_t lane_index, const struct open_interval *item)
{
    const struct profdata_walk *walk = &worker->walk;
    struct profile_interval *told = &worker->told;
    told->thread = told->end_thread = walk->first_thread + lane_index;
    told->label = item->label;
    told->start_ns = profdata_walk_time(walk, item->start);
    told->end_ns = profdata_walk_time(walk, item->end);
    told->active_ns = item->end - item->start;
    told->flags = item->flags & ~HAS_ARGS;
    worker->walk.totals.intervals++;
    if (__builtin_expect(!(item->flags & HAS_ARGS), 1))
        return worker->branch.interval(worker->branch.ctx, told);
    int rc = tell_args(worker, item->id);
    if (rc >= 0)
        rc = worker->branch.interval(worker->branch.ctx, told);
    told->args_id = told->argc = 0;
    return rc;
}

static int tell_instant(struct worker *worker, const struct profdata_event *event,
                        uint32_t lane_index, struct part_lane *lane,
                        const struct profdata_found *found)
{
    const struct profdata_walk *walk = &worker->walk;
    bool has_value = event->end == PROFDATA_INTEGER;
    if (!has_value)
        lane->last = event->start;
    struct profile_instant told = {
        .process = walk->process,
        .thread = walk->first_thread + lane_index,
        .label = found->label,
        .at_ns = profdata_walk_time(walk, lane->last),
        .has_value = has_value,
        .is_undated = has_value,
        .value = has_value ? event->start : 0,
        .args_id = found->has_args && !has_value && walk->sink->wants.args ? event->id + 1 : 0,
    };
    int rc = profdata_walk_args(&worker->walk, event->id, told.args_id, &told.args, &told.argc);
    worker->walk.totals.instants++;
    return rc < 0 ? rc : worker->branch.instant(worker->branch.ctx, &told);
}

/* ---- nesting ---- */

/* Tells what began at `end` or later: nothing that is still to come lies in it. Of those with the same times the outer one first. */
static inline int finish_before(struct worker *worker, uint32_t lane_index, uint64_t end)
{
    struct part_lane *lane = &worker->lanes[lane_index];
    const struct open_interval *items = lane->stack.items;
    size_t count = lane->stack.count;
    int rc = LAM_OK;
    while (rc >= 0 && count && items[count - 1].start >= end) {
        const struct open_interval *top = &items[count - 1];
        size_t first = count - 1;
        while (first > 0 && items[first - 1].start == top->start && items[first - 1].end == top->end)
            first--;
        for (size_t i = first; rc >= 0 && i < count; i++)
            rc = tell(worker, lane_index, &items[i]);
        count = first;
    }
    lane->stack.count = count;
    return rc;
}

/* The walk alone takes over before this event where it begins before what it ends in. */
static inline int add_interval(struct worker *worker, struct profdata_event event,
                               uint32_t lane_index, struct part_lane *lane,
                               const struct profdata_found *found, uint64_t index)
{
    uint32_t flags = profdata_mend_backward(&event) ? (uint32_t)PROFILE_INTERVAL_BACKWARD : 0;
    flags |= found->has_args && worker->walk.sink->wants.args ? HAS_ARGS : 0;
    int rc = finish_before(worker, lane_index, event.end);
    if (rc < 0)
        return rc;
    lane->last = event.end;
    struct open_interval item = {event.start, event.end, event.id, found->label, flags};
    if (event.start == event.end) { /* holds nothing */
        worker->walk.totals.backward += flags & PROFILE_INTERVAL_BACKWARD ? 1 : 0;
        return tell(worker, lane_index, &item);
    }
    if (lane->stack.count && array_last(&lane->stack).start > event.start)
        return give_up(worker, index + 1);
    return array_push(&lane->stack, item);
}

static inline void fetch_texts(struct worker *worker, const uint8_t *at, uint64_t count, bool is_wide)
{
    static const struct {
        unsigned ahead;
        enum profdata_fetch step;
    } steps[] = {{AHEAD, PROFDATA_FETCH_PLACE},
                 {AHEAD_STRING, PROFDATA_FETCH_STRING},
                 {AHEAD_ARGUMENT, PROFDATA_FETCH_ARGUMENT}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (count < steps[i].ahead)
            continue;
        const struct profdata_event event =
            profdata_event_read(at - steps[i].ahead * (is_wide ? 32 : 24), is_wide);
        if (event.end != PROFDATA_INTEGER)
            profdata_args_fetch(&worker->strings, event.id, steps[i].step);
    }
}

static inline __attribute__((always_inline)) int walk_run(struct worker *worker,
                                                          const uint8_t *bytes, uint64_t first,
                                                          uint64_t count, bool is_wide)
{
    size_t size = is_wide ? 32 : 24;
    bool has_texts = worker->strings.has_arguments && worker->strings.has_addresses;
    int rc = LAM_OK;
    while (rc >= 0 && count-- > 0) {
        const uint8_t *at = bytes + count * size;
        struct profdata_found found;
        if (count >= AHEAD)
            profdata_strings_prefetch(&worker->strings,
                                      profdata_event_read(at - AHEAD * size, is_wide).id);
        if (has_texts)
            fetch_texts(worker, at, count, is_wide);
        struct profdata_event event = profdata_event_read(at, is_wide);
        uint32_t lane_index = profdata_thread_index(&worker->threads, event.thread);
        if (lane_index == PROFDATA_NO_THREAD)
            continue;
        rc = profdata_find(&worker->finder, event.kind, event.id, &found);
        if (rc < 0)
            break;
        struct part_lane *lane = &worker->lanes[lane_index];
        rc = profdata_is_interval(&event)
                 ? add_interval(worker, event, lane_index, lane, &found, first + count)
                 : tell_instant(worker, &event, lane_index, lane, &found);
    }
    return rc;
}

/* Takes on the way what others need not wait for. */
static int take_early(struct worker *worker)
{
    if (!is_turn(worker) || worker->branch.held_bytes(worker->branch.ctx) < BRANCH_BYTES_TAKE)
        return LAM_OK;
    return take(worker);
}

static int walk_range(struct worker *worker, uint64_t first, uint64_t end)
{
    const struct profdata_file *file = worker->walk.file;
    int rc = LAM_OK;
    while (rc >= 0 && end > first) {
        struct profdata_run run;
        profdata_run_at(file, end - 1, &run);
        uint64_t from = run.first > first ? run.first : first;
        from = end - from > EVENTS_A_LOOK ? end - EVENTS_A_LOOK : from;
        const uint8_t *bytes = run.bytes + (from - run.first) * file->event_bytes;
        rc = file->is_wide ? walk_run(worker, bytes, from, end - from, true)
                           : walk_run(worker, bytes, from, end - from, false);
        if (rc >= 0)
            rc = take_early(worker);
        end = from;
    }
    return rc;
}

/* ---- parts ---- */

static int enter_node(struct worker *worker, uint32_t lane_index, uint32_t node)
{
    const struct profdata_node *entered = &worker->parts->skeleton->nodes.items[node - 1];
    struct profdata_found found;
    int rc = profdata_find(&worker->finder, entered->kind, entered->id, &found);
    if (rc < 0)
        return rc;
    uint32_t flags = found.has_args && worker->walk.sink->wants.args ? HAS_ARGS : 0;
    return array_push(
        &worker->lanes[lane_index].stack,
        ((struct open_interval){entered->start, entered->end, entered->id, found.label, flags}));
}

/* What is under way at the part's end, the outermost first. */
static int enter_part(struct worker *worker, size_t chunk)
{
    const struct profdata_skeleton *skeleton = worker->parts->skeleton;
    const struct profdata_thread *threads = worker->walk.threads->items.items;
    size_t before = chunk * skeleton->threads;
    int rc = LAM_OK;
    for (uint32_t i = 0; i < skeleton->threads; i++) {
        uint64_t after = skeleton->afters[before + i];
        worker->lanes[i].last = after != UINT64_MAX ? after : threads[i].end;
        array_clear(&worker->lanes[i].stack);
        array_clear(&worker->nodes);
        for (uint32_t node = skeleton->tops[before + i]; rc >= 0 && node;
             node = skeleton->nodes.items[node - 1].parent)
            rc = array_push(&worker->nodes, node);
        for (size_t at = worker->nodes.count; rc >= 0 && at-- > 0;)
            rc = enter_node(worker, i, worker->nodes.items[at]);
    }
    return rc;
}

/* Whether what reaches on into earlier parts is just what the skeleton says they are entered with. */
static bool is_as_told(const struct profdata_skeleton *skeleton, const struct part_lane *lane,
                       uint32_t top)
{
    for (size_t i = lane->stack.count; i-- > 0;) {
        const struct open_interval *item = &lane->stack.items[i];
        const struct profdata_node *node = top ? &skeleton->nodes.items[top - 1] : NULL;
        if (!node || node->start != item->start || node->end != item->end)
            return false;
        top = node->parent;
    }
    return top == 0;
}

static int leave_part(struct worker *worker, size_t chunk, uint64_t first)
{
    const struct profdata_skeleton *skeleton = worker->parts->skeleton;
    size_t before = (chunk - 1) * skeleton->threads; /* of what is read for a part behind another */
    bool is_right = true;
    int rc = LAM_OK;
    for (uint32_t i = 0; rc >= 0 && i < skeleton->threads; i++) {
        rc = finish_before(worker, i, chunk ? skeleton->ends[before + i] : 0);
        is_right = is_right &&
                   is_as_told(skeleton, &worker->lanes[i], chunk ? skeleton->tops[before + i] : 0);
    }
    if (rc >= 0 && !is_right)
        return give_up(worker, first);
    if (rc >= 0)
        rc = take_part(worker);
    if (rc >= 0)
        pass_turn(worker->parts);
    return rc;
}

static int walk_part(void *ctx, size_t item, unsigned number)
{
    struct parts *parts = ctx;
    struct worker *worker = &parts->workers[number];
    uint64_t size = parts->skeleton->chunk_events, events = profdata_event_count(parts->walk->file);
    size_t chunk = parts->skeleton->chunks - 1 - item;
    uint64_t first = chunk * size, end = events - first < size ? events : first + size;
    worker->part = item;
    worker->walk.totals = (struct nest_totals){.intervals = 0};
    worker->file.faults = (struct profdata_faults){.count = 0};
    int rc = enter_part(worker, chunk);
    if (rc >= 0)
        rc = walk_range(worker, first, end);
    if (rc >= 0)
        rc = leave_part(worker, chunk, first);
    add_faults(worker);
    if (rc < 0)
        end_all(parts, rc);
    return rc;
}

/* ---- workers ---- */

static const struct profile_sink_ops no_ops;

static int open_worker(struct worker *worker, struct parts *parts, size_t max_bytes)
{
    const struct profdata_walk *walk = parts->walk;
    const struct profile_sink *sink = walk->sink;
    worker->parts = parts;
    worker->sink = (struct profile_sink){.ops = &no_ops, .wants = sink->wants};
    worker->file = *walk->file;
    profdata_strings_share(&worker->strings, walk->strings, &worker->file);
    worker->threads = *walk->threads; /* borrowed: items and map are only read */
    worker->finder.shared = &parts->labels;
    worker->finder.faults = &worker->file.faults;
    worker->walk = (struct profdata_walk){
        .sink = &worker->sink,
        .file = &worker->file,
        .strings = &worker->strings,
        .threads = &worker->threads,
        .process = walk->process,
        .first_thread = walk->first_thread,
        .zero_ns = walk->zero_ns,
    };
    worker->told = (struct profile_interval){.process = walk->process,
                                             .weight = 1,
                                             .self_ns = PROFILE_UNKNOWN,
                                             .children = PROFILE_UNKNOWN};
    worker->lanes = mem_zalloc(parts->skeleton->threads + 1, sizeof *worker->lanes);
    if (!worker->lanes)
        return LAM_E_NOMEM;
    int rc = sink->branches->open(sink->ctx, max_bytes, &worker->branch);
    worker->branch.make_room = make_room;
    worker->branch.room_ctx = worker;
    return rc;
}

static void close_worker(struct worker *worker)
{
    const struct parts *parts = worker->parts;
    if (!parts)
        return;
    parts->walk->sink->branches->close(parts->walk->sink->ctx, &worker->branch);
    for (size_t i = 0; worker->lanes && i < parts->skeleton->threads; i++)
        array_free(&worker->lanes[i].stack);
    mem_free(worker->lanes);
    array_free(&worker->nodes);
    profdata_finder_free(&worker->finder);
    profdata_strings_unshare(&worker->strings);
    profdata_walk_free(&worker->walk);
}

/* Counts what they told; the first fault is that of the first part that had one. */
static void add_workers(struct parts *parts, size_t count)
{
    struct profdata_faults *faults = &parts->walk->file->faults;
    const struct worker *first = NULL;
    uint64_t before = faults->count;
    for (size_t i = 0; i < count; i++) {
        const struct worker *worker = &parts->workers[i];
        nest_totals_add(&parts->walk->totals, &worker->totals);
        if (!worker->faults.count)
            continue;
        faults->count += worker->faults.count;
        if (!first || worker->fault_part < first->fault_part)
            first = worker;
    }
    if (first && before == 0) {
        before = faults->count;
        *faults = first->faults;
        faults->count = before;
    }
}

/* From where a worker gave up to the beginning. */
static int walk_rest(struct parts *parts)
{
    struct profdata_backward back = {.walk = parts->walk};
    int rc = profdata_backward_open(&back, parts->walk);
    for (uint32_t i = 0; rc >= 0 && i < parts->skeleton->threads; i++) {
        const struct part_lane *lane = &parts->rest_of->lanes[i];
        back.lanes[i].last = lane->last;
        for (size_t at = 0; rc >= 0 && at < lane->stack.count; at++) {
            const struct open_interval *item = &lane->stack.items[at];
            rc = profdata_backward_resume(&back, i, item->start, item->end, item->id, item->label);
        }
    }
    if (rc >= 0)
        rc = profdata_backward_range(&back, 0, parts->rest_end);
    if (rc >= 0)
        rc = profdata_backward_finish(&back);
    profdata_backward_close(&back);
    return rc;
}

static int walk_parts(struct parts *parts, struct pool *pool)
{
    size_t count = pool_threads(pool);
    size_t max_bytes = BRANCHES_BYTES / count;
    parts->workers = mem_zalloc(count, sizeof *parts->workers);
    int rc = parts->workers ? LAM_OK : LAM_E_NOMEM;
    max_bytes = max_bytes < BRANCH_BYTES_MAX ? max_bytes : BRANCH_BYTES_MAX;
    for (size_t i = 0; rc >= 0 && i < count; i++)
        rc = open_worker(&parts->workers[i], parts, max_bytes);
    if (rc >= 0) {
        rc = pool_run(pool, parts->skeleton->chunks, walk_part, parts);
        rc = rc < 0 && parts->failed < 0 ? parts->failed : rc;
        add_workers(parts, count);
    }
    if (parts->rest_of && parts->failed == LAM_OK)
        rc = walk_rest(parts);
    for (size_t i = 0; parts->workers && i < count; i++)
        close_worker(&parts->workers[i]);
    mem_free(parts->workers);
    return rc;
}

int profdata_walk_parts(struct profdata_walk *walk, struct profdata_skeleton *skeleton,
                        struct pool *pool)
{
    struct parts parts = {.walk = walk, .skeleton = skeleton};
    parts.labels.labels = walk->labels;
    parts.labels.strings = walk->strings;
    if (walk->sink->wants.args) {
        int rc = profdata_strings_load(walk->strings);
        if (rc < 0)
            return rc;
    }
    pthread_mutex_init(&parts.labels.lock, NULL);
    pthread_mutex_init(&parts.lock, NULL);
    pthread_cond_init(&parts.has_moved, NULL);
    int rc = walk_parts(&parts, pool);
    pthread_cond_destroy(&parts.has_moved);
    pthread_mutex_destroy(&parts.lock);
    pthread_mutex_destroy(&parts.labels.lock);
    return rc;
}
