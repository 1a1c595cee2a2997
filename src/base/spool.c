#include "base/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"

/* A block starts small, for the many streams that stay so, and doubles with each that follows. All that waits in memory
 * is written out when it is more than the total. */
enum { BLOCK_MIN = 256, BLOCK_MAX = 1 << 16, TOTAL_BYTES = 12 << 20, NAME_BYTES = 4096 };

struct spool_block {
    uint64_t offset;
    uint32_t length;
};

struct spool_stream {
    LAM_ARRAY(struct spool_block) blocks; /* in the file */
    unsigned char *tail;                  /* what follows them */
    uint32_t used, capacity;
    uint64_t bytes;
};

struct spool {
    LAM_ARRAY(struct spool_stream) streams;
    char *dir;
    int fd; /* -1: nothing was written out yet */
    int failed, errnum;
    uint64_t file_bytes;
    size_t held_bytes; /* capacity of all tails */
    unsigned char *chunk;
    size_t chunk_capacity;
};

int spool_open(struct spool **spool, const char *dir, struct lam_error *err)
{
    struct spool *made = mem_zalloc(1, sizeof *made);
    const char *place = *dir ? dir : getenv("TMPDIR");
    if (made) {
        made->fd = -1;
        made->dir = mem_strdup(place && *place ? place : "/var/tmp");
    }
    if (!made || !made->dir) {
        spool_close(&made);
        return lam_error_set(err, LAM_E_NOMEM, "temporary file: out of memory");
    }
    *spool = made;
    return LAM_OK;
}

static int spool_fail(struct spool *spool, int code, int errnum)
{
    if (spool->failed == LAM_OK) {
        spool->failed = code;
        spool->errnum = errnum;
    }
    return spool->failed;
}

static int open_file(struct spool *spool)
{
    spool->fd = open(spool->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (spool->fd >= 0)
        return LAM_OK;
    char name[NAME_BYTES];
    int length = snprintf(name, sizeof name, "%s/lamella-XXXXXX", spool->dir);
    if (length < 0 || (size_t)length >= sizeof name)
        return spool_fail(spool, LAM_E_IO, ENAMETOOLONG);
    spool->fd = mkostemp(name, O_CLOEXEC);
    if (spool->fd < 0)
        return spool_fail(spool, lam_code_from_errno(errno), errno);
    unlink(name);
    return LAM_OK;
}

static int write_out(struct spool *spool, struct spool_stream *stream)
{
    if (!stream->used)
        return LAM_OK;
    if (spool->fd < 0 && open_file(spool) < 0)
        return spool->failed;
    struct spool_block block = {spool->file_bytes, stream->used};
    if (array_push(&stream->blocks, block) < 0)
        return spool_fail(spool, LAM_E_NOMEM, 0);
    for (uint32_t at = 0; at < stream->used;) {
        ssize_t written =
            pwrite(spool->fd, stream->tail + at, stream->used - at, (off_t)(spool->file_bytes + at));
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return spool_fail(spool, lam_code_from_errno(errno), errno);
        at += (uint32_t)written;
    }
    spool->file_bytes += stream->used;
    stream->used = 0;
    return LAM_OK;
}

static void give_back(struct spool *spool, struct spool_stream *stream)
{
    spool->held_bytes -= stream->capacity;
    mem_free(stream->tail);
    stream->tail = NULL;
    stream->capacity = 0;
}

static int write_all_out(struct spool *spool)
{
    array_each(&spool->streams, stream)
    {
        if (write_out(spool, stream) < 0)
            return spool->failed;
        give_back(spool, stream);
    }
    return LAM_OK;
}

/* Room in the tail: it grows to its largest size, then it is written out. */
static int make_room(struct spool *spool, struct spool_stream *stream)
{
    if (stream->capacity == BLOCK_MAX)
        return write_out(spool, stream);
    if (spool->held_bytes >= TOTAL_BYTES && write_all_out(spool) < 0)
        return spool->failed;
    uint32_t capacity = stream->capacity ? stream->capacity * 2 : BLOCK_MIN;
    unsigned char *tail = mem_realloc(stream->tail, capacity);
    if (!tail)
        return spool_fail(spool, LAM_E_NOMEM, 0);
    spool->held_bytes += capacity - stream->capacity;
    stream->tail = tail;
    stream->capacity = capacity;
    return LAM_OK;
}

void spool_add(struct spool *spool, uint32_t id, const void *bytes, size_t length)
{
    if (spool->failed < 0)
        return;
    if (id >= spool->streams.count && array_resize(&spool->streams, (size_t)id + 1) < 0) {
        spool_fail(spool, LAM_E_NOMEM, 0);
        return;
    }
    struct spool_stream *stream = &spool->streams.items[id];
    const unsigned char *at = bytes;
    stream->bytes += length;
    while (length) {
        size_t room = stream->capacity - stream->used;
        if (!room) {
            if (make_room(spool, stream) < 0)
                return;
            continue;
        }
        size_t part = length < room ? length : room;
        memcpy(stream->tail + stream->used, at, part);
        stream->used += (uint32_t)part;
        at += part;
        length -= part;
    }
}

int spool_status(struct spool *spool, struct lam_error *err)
{
    if (spool->failed == LAM_OK)
        return LAM_OK;
    if (spool->errnum)
        return lam_error_errno(err, spool->errnum, "temporary file in %s", spool->dir);
    return lam_error_set(err, spool->failed, "temporary file in %s: %s", spool->dir,
                         lam_code_text(spool->failed));
}

uint64_t spool_bytes(const struct spool *spool, uint32_t stream)
{
    return stream < spool->streams.count ? spool->streams.items[stream].bytes : 0;
}

void spool_read(struct spool *spool, uint32_t stream, struct spool_reader *reader)
{
    *reader = (struct spool_reader){.spool = spool, .stream = stream};
}

static int load_block(struct spool *spool, const struct spool_block *block)
{
    if (block->length > spool->chunk_capacity) {
        unsigned char *chunk = mem_realloc(spool->chunk, block->length);
        if (!chunk)
            return spool_fail(spool, LAM_E_NOMEM, 0);
        spool->chunk = chunk;
        spool->chunk_capacity = block->length;
    }
    for (uint32_t at = 0; at < block->length;) {
        ssize_t got =
            pread(spool->fd, spool->chunk + at, block->length - at, (off_t)(block->offset + at));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return spool_fail(spool, LAM_E_IO, got < 0 ? errno : EIO);
        at += (uint32_t)got;
    }
    return LAM_OK;
}

static int next_block(struct spool_reader *reader)
{
    struct spool *spool = reader->spool;
    if (reader->stream >= spool->streams.count)
        return LAM_E_TRUNCATED;
    const struct spool_stream *stream = &spool->streams.items[reader->stream];
    if (reader->block > stream->blocks.count ||
        (reader->block == stream->blocks.count && !stream->used))
        return LAM_E_TRUNCATED;
    if (reader->block == stream->blocks.count) {
        reader->next = stream->tail;
        reader->left = stream->used;
    } else {
        const struct spool_block *block = &stream->blocks.items[reader->block];
        if (load_block(spool, block) < 0)
            return spool->failed;
        reader->next = spool->chunk;
        reader->left = block->length;
    }
    reader->block++;
    return LAM_OK;
}

int spool_take(struct spool_reader *reader, void *to, size_t length)
{
    unsigned char *out = to;
    while (length) {
        if (!reader->left) {
            int rc = next_block(reader);
            if (rc < 0)
                return rc;
            continue;
        }
        size_t part = length < reader->left ? length : reader->left;
        if (out) {
            memcpy(out, reader->next, part);
            out += part;
        }
        reader->next += part;
        reader->left -= part;
        length -= part;
    }
    return LAM_OK;
}

int spool_skip(struct spool_reader *reader, size_t length)
{
    return spool_take(reader, NULL, length);
}

void spool_close(struct spool **spool)
{
    if (!spool || !*spool)
        return;
    array_each(&(*spool)->streams, stream)
    {
        array_free(&stream->blocks);
        mem_free(stream->tail);
    }
    array_free(&(*spool)->streams);
    if ((*spool)->fd >= 0)
        close((*spool)->fd);
    mem_free((*spool)->chunk);
    mem_free((*spool)->dir);
    mem_free(*spool);
    *spool = NULL;
}
