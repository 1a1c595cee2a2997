/* Self-profiles told to branches of a sink, on all cores: parts of files, each by whichever worker is free. What the branches make of them
 * is taken in the order of the parts, so that it is the same whoever did which; a worker whose branch is full waits for its turn. Of
 * each file the last part comes first, or the first one for a sink that wants the order of starts. One thread tells the same parts. */
#include <stdatomic.h>

#include "base/memory.h"
#include "input/profdata_part.h"

enum {
    BRANCHES_BYTES = 16 << 20, /* what all branches hold */
    BRANCH_BYTES_MAX = 2 << 20,
    BRANCH_BYTES_TAKE =
        1 << 18, /* taken on the way, while still in the cache, when it is the part's turn */
};

struct part_file {
    struct profdata_walk *walk;
    struct profdata_shared_labels labels;
    size_t first_item;             /* its parts are the items from here on */
    struct profdata_faults faults; /* of all parts; what is told of them is of the first part that had some */
    size_t fault_item;
};

struct worker {
    struct parts *parts;
    struct part_file *file; /* that `part` is open for; NULL */
    struct profdata_part part;
    struct profile_branch branch;
    size_t item; /* that it is at */
};

struct parts {
    const struct profile_sink *sink;
    struct part_file *files;
    size_t file_count;
    struct worker *workers;
    pthread_mutex_t label_lock; /* of all that finds labels, of all files */
    pthread_mutex_t lock;       /* of what follows, and of files' faults and totals */
    pthread_cond_t has_moved;
    _Atomic size_t turn; /* the part whose output comes next; changed under the lock */
    bool is_ended;       /* nothing behind the turn is wanted: */
    int failed;          /* the first failure */
};

/* ---- turns ---- */

static bool is_turn(const struct worker *worker)
{
    /* acquire: pairs with the release in pass_turn(): what was taken before is in the sink */
    return atomic_load_explicit(&worker->parts->turn, memory_order_acquire) == worker->item;
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

static int take(void *ctx)
{
    struct worker *worker = ctx;
    const struct profile_sink *sink = worker->parts->sink;
    int rc = wait_for_turn(worker);
    return rc < 0 ? rc : sink->branches->take(sink->ctx, &worker->branch);
}

/* Takes on the way what others need not wait for. */
static int take_early(void *ctx)
{
    struct worker *worker = ctx;
    if (!is_turn(worker) || worker->branch.held_bytes(worker->branch.ctx) < BRANCH_BYTES_TAKE)
        return LAM_OK;
    return take(worker);
}

/* ---- parts ---- */

static struct part_file *file_of(const struct parts *parts, size_t item)
{
    struct part_file *file = &parts->files[parts->file_count - 1];
    while (file->first_item > item)
        file--;
    return file;
}

static int open_file(struct worker *worker, struct part_file *file)
{
    if (worker->file == file)
        return LAM_OK;
    profdata_part_close(&worker->part);
    worker->file = file;
    pthread_mutex_lock(&worker->parts->label_lock); /* who finds labels may find faults of the file's */
    int rc = profdata_part_open(&worker->part, file->walk, &file->labels);
    pthread_mutex_unlock(&worker->parts->label_lock);
    return rc;
}

/* All that was told is taken, and counts. */
static int take_part(struct worker *worker)
{
    int rc = take(worker);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&worker->parts->lock);
    nest_totals_add(&worker->file->walk->totals, &worker->part.walk.totals);
    pthread_mutex_unlock(&worker->parts->lock);
    pass_turn(worker->parts);
    return LAM_OK;
}

/* Of a part whose output is not wanted as well: shared strings are found wrong once. */
static void add_faults(struct worker *worker)
{
    struct part_file *file = worker->file;
    const struct profdata_faults *found = &worker->part.file.faults;
    if (!found->all.count)
        return;
    pthread_mutex_lock(&worker->parts->lock);
    uint64_t count = file->faults.all.count + found->all.count;
    if (!file->faults.all.count || worker->item < file->fault_item) {
        file->faults = *found;
        file->fault_item = worker->item;
    }
    file->faults.all.count = count;
    pthread_mutex_unlock(&worker->parts->lock);
}

static int tell_part(void *ctx, size_t item, unsigned number)
{
    struct parts *parts = ctx;
    struct worker *worker = &parts->workers[number];
    struct part_file *file = file_of(parts, item);
    size_t chunk = item - file->first_item;
    worker->item = item;
    int rc = open_file(worker, file);
    if (rc >= 0) {
        rc = profdata_part_tell(&worker->part, worker->part.is_forward
                                                   ? chunk
                                                   : file->walk->skeleton.chunks - 1 - chunk);
        if (rc >= 0)
            rc = take_part(worker);
        add_faults(worker);
    }
    if (rc < 0)
        end_all(parts, rc);
    return rc;
}

/* ---- workers ---- */

static int open_worker(struct worker *worker, struct parts *parts, size_t max_bytes)
{
    const struct profile_sink *sink = parts->sink;
    worker->parts = parts;
    worker->part.branch = &worker->branch;
    worker->part.between = take_early;
    worker->part.ctx = worker;
    int rc = sink->branches->open(sink->ctx, max_bytes, &worker->branch);
    worker->branch.make_room = take;
    worker->branch.room_ctx = worker;
    return rc;
}

static void close_worker(struct worker *worker)
{
    if (!worker->parts)
        return;
    const struct profile_sink *sink = worker->parts->sink;
    sink->branches->close(sink->ctx, &worker->branch);
    profdata_part_close(&worker->part);
}

/* Counts what is wrong, and describes what the first part found first, if nothing is described yet: who finds the rest is luck. */
static void tell_faults(const struct part_file *file)
{
    struct profdata_faults *faults = &file->walk->file->faults;
    uint64_t count = faults->all.count + file->faults.all.count;
    if (!faults->all.count && file->faults.all.count) {
        *faults = file->faults;
        faults->all.kept = 1;
    }
    faults->all.count = count;
}

static int tell_parts(struct parts *parts, size_t count, struct pool *pool)
{
    size_t threads = pool_threads(pool);
    size_t max_bytes = BRANCHES_BYTES / threads;
    parts->workers = mem_zalloc(threads, sizeof *parts->workers);
    int rc = parts->workers ? LAM_OK : LAM_E_NOMEM;
    max_bytes = max_bytes < BRANCH_BYTES_MAX ? max_bytes : BRANCH_BYTES_MAX;
    for (size_t i = 0; rc >= 0 && i < threads; i++)
        rc = open_worker(&parts->workers[i], parts, max_bytes);
    if (rc >= 0 && pool_run(pool, count, tell_part, parts) < 0)
        rc = parts->failed; /* others were cancelled by it */
    for (size_t i = 0; i < parts->file_count; i++)
        tell_faults(&parts->files[i]);
    for (size_t i = 0; parts->workers && i < threads; i++)
        close_worker(&parts->workers[i]);
    mem_free(parts->workers);
    return rc;
}

bool profdata_fits_parts(const struct profdata_walk *walk, const struct profdata_order *order)
{
    bool is_by_start = walk->sink->wants.order == PROFILE_ORDER_START;
    return walk->skeleton.chunks && !order->events && (walk->skeleton.is_timed || !is_by_start);
}

int profdata_walk_parts(struct profdata_walk *const *walks, size_t count, struct pool *pool)
{
    struct parts parts = {.sink = walks[0]->sink, .file_count = count};
    size_t items = 0;
    parts.files = mem_zalloc(count, sizeof *parts.files);
    if (!parts.files)
        return LAM_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        parts.files[i].walk = walks[i];
        parts.files[i].first_item = items;
        parts.files[i].labels = (struct profdata_shared_labels){
            .labels = walks[i]->labels, .strings = walks[i]->strings, .lock = &parts.label_lock};
        items += walks[i]->skeleton.chunks;
    }
    pthread_mutex_init(&parts.label_lock, NULL);
    pthread_mutex_init(&parts.lock, NULL);
    pthread_cond_init(&parts.has_moved, NULL);
    int rc = tell_parts(&parts, items, pool);
    pthread_cond_destroy(&parts.has_moved);
    pthread_mutex_destroy(&parts.lock);
    pthread_mutex_destroy(&parts.label_lock);
    mem_free(parts.files);
    return rc;
}
