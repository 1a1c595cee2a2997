#include "base/gzip_blocks.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"

enum {
    BLOCK_BYTES = 1 << 18,
    DICTIONARY_BYTES = 1 << 15, /* as far as deflate looks back */
    LEVEL = 5,
    RAW_WINDOW = -15, /* deflate alone: head and end are ours */
    MEMORY_LEVEL = 8,
    FLUSH_BYTES = 64, /* more than a block's end may take */
    THREADS_MAX = 16,
    SLOTS_A_THREAD = 2, /* one is filled or written while the other is compressed */
};

struct slot {
    unsigned char *in; /* the dictionary, then the block */
    size_t dictionary, used;
    unsigned char *out;
    size_t out_bytes;
    uLong crc; /* of the block */
    bool is_last, is_done;
    int failed;
};

struct worker {
    struct gzip_blocks *blocks;
    pthread_t thread;
    z_stream z;
};

/* A block's slot is its number modulo slot_count. Slots from `claimed` on are the caller's own or wait; those before belong to who
 * claimed them until they are done. */
struct gzip_blocks {
    gzip_taker *take;
    void *ctx;
    unsigned slot_count;
    struct slot *slots;
    size_t out_capacity;
    struct worker *workers; /* [0] is the caller's, without a thread */
    unsigned wanted, started;
    bool is_begun;
    uint64_t written; /* blocks */
    int failed;       /* nothing more is taken */
    uLong crc;        /* of what is written */
    uint64_t total_bytes;

    pthread_mutex_t lock; /* of what follows, and of is_done */
    pthread_cond_t has_work, has_done;
    uint64_t filled, claimed; /* blocks */
    bool is_closing;
};

/* ---- one block ---- */

static int open_deflate(z_stream *z)
{
    return deflateInit2(z, LEVEL, Z_DEFLATED, RAW_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK
               ? LAM_OK
               : LAM_E_NOMEM;
}

static void compress_slot(z_stream *z, struct slot *slot, size_t out_capacity)
{
    unsigned char *block = slot->in + DICTIONARY_BYTES;
    slot->crc = crc32(0, block, (unsigned)slot->used);
    bool is_ready = deflateReset(z) == Z_OK;
    if (is_ready && slot->dictionary)
        is_ready =
            deflateSetDictionary(z, block - slot->dictionary, (unsigned)slot->dictionary) == Z_OK;
    z->next_in = block;
    z->avail_in = (unsigned)slot->used;
    z->next_out = slot->out;
    z->avail_out = (unsigned)out_capacity;
    int rc = is_ready ? deflate(z, slot->is_last ? Z_FINISH : Z_SYNC_FLUSH) : Z_STREAM_ERROR;
    bool is_whole =
        rc == (slot->is_last ? Z_STREAM_END : Z_OK) && z->avail_in == 0 && z->avail_out > 0;
    slot->out_bytes = out_capacity - z->avail_out;
    slot->failed = is_whole ? LAM_OK : LAM_E_INVAL;
}

/* With the lock held, which is let go meanwhile. False: nothing waits. */
static bool compress_next(struct gzip_blocks *blocks, z_stream *z)
{
    if (blocks->claimed == blocks->filled)
        return false;
    struct slot *slot = &blocks->slots[blocks->claimed++ % blocks->slot_count];
    pthread_mutex_unlock(&blocks->lock);
    compress_slot(z, slot, blocks->out_capacity);
    pthread_mutex_lock(&blocks->lock);
    slot->is_done = true;
    pthread_cond_signal(&blocks->has_done);
    return true;
}

static void *worker_main(void *arg)
{
    struct worker *worker = arg;
    struct gzip_blocks *blocks = worker->blocks;
    pthread_mutex_lock(&blocks->lock);
    while (!blocks->is_closing)
        if (!compress_next(blocks, &worker->z))
            pthread_cond_wait(&blocks->has_work, &blocks->lock);
    pthread_mutex_unlock(&blocks->lock);
    return NULL;
}

/* Once, with all signals blocked; fewer when the system refuses. */
static void start_threads(struct gzip_blocks *blocks)
{
    sigset_t all, before;
    if (blocks->started == blocks->wanted)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; blocks->started < blocks->wanted; blocks->started++) {
        struct worker *worker = &blocks->workers[blocks->started];
        worker->blocks = blocks;
        if (open_deflate(&worker->z) < 0)
            break;
        if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0) {
            deflateEnd(&worker->z);
            break;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    blocks->wanted = blocks->started;
}

/* ---- in order ---- */

static int put_head(struct gzip_blocks *blocks)
{
    static const unsigned char head[10] = {0x1f, 0x8b, Z_DEFLATED, 0, 0, 0, 0, 0, 0, 3 /* Unix */};
    blocks->is_begun = true;
    return blocks->take(blocks->ctx, head, sizeof head);
}

static int put_end(struct gzip_blocks *blocks)
{
    unsigned char end[8];
    for (unsigned i = 0; i < 4; i++) {
        end[i] = (unsigned char)(blocks->crc >> 8 * i);
        end[4 + i] = (unsigned char)(blocks->total_bytes >> 8 * i);
    }
    return blocks->take(blocks->ctx, end, sizeof end);
}

/* Writes the oldest block, when it is done; helps until then. */
static int write_oldest(struct gzip_blocks *blocks)
{
    struct slot *slot = &blocks->slots[blocks->written % blocks->slot_count];
    pthread_mutex_lock(&blocks->lock);
    while (!slot->is_done)
        if (!compress_next(blocks, &blocks->workers[0].z))
            pthread_cond_wait(&blocks->has_done, &blocks->lock);
    slot->is_done = false;
    pthread_mutex_unlock(&blocks->lock);
    if (slot->failed < 0)
        return slot->failed;
    blocks->written++;
    blocks->crc = crc32_combine(blocks->crc, slot->crc, (z_off_t)slot->used);
    blocks->total_bytes += slot->used;
    int rc = blocks->is_begun ? LAM_OK : put_head(blocks);
    return rc < 0 ? rc : blocks->take(blocks->ctx, slot->out, slot->out_bytes);
}

static int make_slot(const struct gzip_blocks *blocks, struct slot *slot)
{
    if (slot->in)
        return LAM_OK;
    slot->in = mem_alloc(DICTIONARY_BYTES + BLOCK_BYTES);
    slot->out = mem_alloc(blocks->out_capacity);
    return slot->in && slot->out ? LAM_OK : LAM_E_NOMEM;
}

static struct slot *current(struct gzip_blocks *blocks)
{
    return &blocks->slots[blocks->filled % blocks->slot_count];
}

/* Gives the current block away and begins the next one, in a slot that is free. */
static int end_block(struct gzip_blocks *blocks, bool is_last)
{
    struct slot *full = current(blocks);
    full->is_last = is_last;
    if (!is_last)
        start_threads(blocks);
    pthread_mutex_lock(&blocks->lock);
    blocks->filled++;
    pthread_cond_signal(&blocks->has_work);
    pthread_mutex_unlock(&blocks->lock);
    int rc = LAM_OK;
    while (rc >= 0 && blocks->filled - blocks->written >= (is_last ? 1 : blocks->slot_count))
        rc = write_oldest(blocks);
    if (rc < 0 || is_last)
        return rc;
    struct slot *next = current(blocks);
    rc = make_slot(blocks, next);
    if (rc < 0)
        return rc;
    /* A whole block's end, which is longer than that. The slot may be the same one. */
    memmove(next->in, full->in + BLOCK_BYTES, DICTIONARY_BYTES);
    next->dictionary = DICTIONARY_BYTES;
    next->used = 0;
    return LAM_OK;
}

int gzip_blocks_write(struct gzip_blocks *blocks, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    while (blocks->failed >= 0 && length) {
        struct slot *slot = current(blocks);
        size_t part = BLOCK_BYTES - slot->used;
        part = length < part ? length : part;
        memcpy(slot->in + DICTIONARY_BYTES + slot->used, at, part);
        slot->used += part;
        at += part;
        length -= part;
        if (slot->used == BLOCK_BYTES)
            blocks->failed = end_block(blocks, false);
    }
    return blocks->failed;
}

int gzip_blocks_finish(struct gzip_blocks *blocks)
{
    if (blocks->failed < 0)
        return blocks->failed;
    int rc = end_block(blocks, true);
    return rc < 0 ? rc : put_end(blocks);
}

/* ---- life ---- */

static int set_up(struct gzip_blocks *blocks)
{
    blocks->slots = mem_zalloc(blocks->slot_count, sizeof *blocks->slots);
    blocks->workers = mem_zalloc(blocks->wanted, sizeof *blocks->workers);
    if (!blocks->slots || !blocks->workers || open_deflate(&blocks->workers[0].z) < 0)
        return LAM_E_NOMEM;
    blocks->started = 1;
    blocks->out_capacity = deflateBound(&blocks->workers[0].z, BLOCK_BYTES) + FLUSH_BYTES;
    return make_slot(blocks, &blocks->slots[0]);
}

int gzip_blocks_open(struct gzip_blocks **blocks, unsigned threads, gzip_taker *take, void *ctx)
{
    struct gzip_blocks *made = mem_zalloc(1, sizeof *made);
    if (!made)
        return LAM_E_NOMEM;
    threads = threads < 1 ? 1 : threads > THREADS_MAX ? THREADS_MAX : threads;
    made->take = take;
    made->ctx = ctx;
    made->wanted = threads;
    made->slot_count = threads == 1 ? 1 : SLOTS_A_THREAD * threads;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->has_work, NULL);
    pthread_cond_init(&made->has_done, NULL);
    int rc = set_up(made);
    *blocks = made;
    if (rc < 0)
        gzip_blocks_close(blocks);
    return rc;
}

static void end_threads(struct gzip_blocks *blocks)
{
    pthread_mutex_lock(&blocks->lock);
    blocks->is_closing = true;
    pthread_cond_broadcast(&blocks->has_work);
    pthread_mutex_unlock(&blocks->lock);
    for (unsigned i = 0; i < blocks->started; i++) {
        if (i > 0)
            pthread_join(blocks->workers[i].thread, NULL);
        deflateEnd(&blocks->workers[i].z);
    }
}

void gzip_blocks_close(struct gzip_blocks **blocks)
{
    struct gzip_blocks *closed = blocks ? *blocks : NULL;
    if (!closed)
        return;
    end_threads(closed);
    for (unsigned i = 0; closed->slots && i < closed->slot_count; i++) {
        mem_free(closed->slots[i].in);
        mem_free(closed->slots[i].out);
    }
    pthread_cond_destroy(&closed->has_done);
    pthread_cond_destroy(&closed->has_work);
    pthread_mutex_destroy(&closed->lock);
    mem_free(closed->slots);
    mem_free(closed->workers);
    mem_free(closed);
    *blocks = NULL;
}
