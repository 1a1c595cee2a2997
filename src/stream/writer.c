#include "stream/writer.h"

#include "core/bytes.h"
#include "core/sys.h"
#include "core/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum stream_loss stream_loss_of(int rc)
{
    if (rc == -ENOSPC || rc == -EDQUOT)
        return STREAM_LOSS_NO_SPACE;
    return rc == -EFBIG ? STREAM_LOSS_FILE_LIMIT : STREAM_LOSS_IO;
}

static void count_loss(struct stream *stream, int rc)
{
    if (stream->header)
        __atomic_fetch_add(&stream->header->lost[stream_loss_of(rc)], 1, __ATOMIC_RELAXED);
}

static int map_header(struct stream *stream, const struct stream_header *header)
{
    /* The header's own grain is claimed like any other stretch, through a cursor that starts at zero. */
    uint64_t start = 0, offset = 0;
    void *map = NULL;
    stream->file.cursor = &start;
    int rc = claim_stretch(&stream->file, STREAM_HEADER_BYTES, &offset, &map);
    if (rc < 0)
        return rc;
    stream->header = map;
    bytes_copy(stream->header, header, sizeof *header);
    stream->header->next_offset = STREAM_HEADER_BYTES;
    stream->file.cursor = &stream->header->next_offset;
    bytes_copy(stream->header->magic, STREAM_MAGIC, sizeof stream->header->magic);
    return 0;
}

int stream_create(struct stream *stream, int dir_fd, const char *path,
                  const struct stream_header *header, uint64_t max_bytes)
{
    int fd = sys_openat(dir_fd, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fd;
    fd = claim_move_high(fd);
    struct stat st;
    int rc = sys_fstat(fd, &st);
    if (rc >= 0) {
        stream->file = (struct claim_file){
            .fd = fd, .device = st.st_dev, .inode = st.st_ino, .max_bytes = max_bytes};
        rc = map_header(stream, header);
    }
    if (rc < 0) {
        sys_close(fd);
        sys_call3(SYS_unlinkat, dir_fd, path, 0);
        stream->header = NULL;
        return rc;
    }
    stream->use_counter = header->clock == STREAM_CLOCK_TSC;
    return 0;
}

void stream_forget(struct stream *stream)
{
    if (stream->header) {
        sys_munmap(stream->header, STREAM_HEADER_BYTES);
        sys_close(stream->file.fd);
    }
    stream->header = NULL;
    stream->file.fd = -1;
}

void stream_cursor_init(struct stream_cursor *cur, uint32_t kind, uint32_t thread, uint32_t tid)
{
    *cur = (struct stream_cursor){.kind = kind, .thread = thread, .tid = tid};
}

void stream_begin_page(struct stream_page *page, const struct stream_page *fields)
{
    int watched = watch_begin(page, fields->size_bytes);
    page->kind = fields->kind;
    page->size_bytes = fields->size_bytes;
    page->thread = fields->thread;
    page->self_offset = fields->self_offset;
    page->base_ticks = fields->base_ticks;
    page->sequence = fields->sequence;
    page->tid = fields->tid;
    /* release: a reader of the live file that sees the magic sees the other fields. */
    __atomic_store_n(&page->magic, STREAM_PAGE_MAGIC, __ATOMIC_RELEASE);
    watch_end(watched);
}

static int next_page(struct stream *stream, struct stream_cursor *cur, uint32_t need, uint64_t now)
{
    if (!stream->header)
        return -1;
    uint32_t torn = __atomic_load_n(&stream->torn, __ATOMIC_RELAXED);
    uint32_t size = cur->next_size ? cur->next_size : STREAM_PAGE_MIN;
    while (size < STREAM_PAGE_MAX && size - STREAM_PAGE_HEADER_BYTES < need)
        size *= 2;
    uint64_t offset = 0;
    void *map = NULL;
    int rc = claim_stretch(&stream->file, size, &offset, &map);
    /* Near the end of a budget: a smaller one, if it holds what is to be stored. */
    while (rc == -EFBIG && size > STREAM_PAGE_MIN && size / 2 - STREAM_PAGE_HEADER_BYTES >= need) {
        size /= 2;
        rc = claim_stretch(&stream->file, size, &offset, &map);
    }
    if (rc < 0) {
        count_loss(stream, rc);
        return -1;
    }
    stream_cursor_close(cur);
    struct stream_page fields = {
        .kind = (uint8_t)cur->kind,
        .size_bytes = size,
        .thread = cur->thread,
        .self_offset = offset,
        .base_ticks = now,
        .sequence = cur->sequence++,
        .tid = cur->tid,
    };
    stream_begin_page(map, &fields);
    cur->page = map;
    cur->used = STREAM_PAGE_HEADER_BYTES;
    cur->size = size;
    cur->base_ticks = now;
    cur->torn = torn;
    cur->next_size = size < STREAM_PAGE_MAX ? size * 2 : size;
    return 0;
}

void *stream_reserve(struct stream *stream, struct stream_cursor *cur, uint32_t size, uint64_t now)
{
    /* relaxed: a page that is gone is found by its fault, this only spares the others theirs. */
    if (!cur->page || cur->size - cur->used < size ||
        cur->torn != __atomic_load_n(&stream->torn, __ATOMIC_RELAXED))
        if (next_page(stream, cur, size, now) < 0)
            return NULL;
    void *slot = cur->page + cur->used;
    cur->used += size;
    return slot;
}

int stream_append(struct stream *stream, struct stream_cursor *cur, uint32_t type, uint32_t aux,
                  const struct stream_piece *pieces, size_t count, uint64_t now)
{
    size_t size = sizeof(struct stream_record);
    for (size_t i = 0; i < count; i++)
        size += pieces[i].size;
    size = (size + 7) & ~(size_t)7;
    if (size > STREAM_PAGE_MAX - STREAM_PAGE_HEADER_BYTES) {
        count_loss(stream, -EMSGSIZE);
        return -1;
    }
    struct stream_record *rec = stream_reserve(stream, cur, (uint32_t)size, now);
    if (!rec)
        return -1;
    uint8_t *body = (uint8_t *)(rec + 1);
    for (size_t i = 0; i < count; i++) {
        bytes_copy(body, pieces[i].bytes, pieces[i].size);
        body += pieces[i].size;
    }
    rec->aux = aux;
    /* release: pairs with the reader of a live file; after a kill the kernel keeps every store anyway. */
    __atomic_store_n(&rec->head, stream_record_head(type, (uint32_t)(size / 8)), __ATOMIC_RELEASE);
    return 0;
}

static int sample_slot(struct stream *stream, struct stream_cursor *cur, uint32_t stack,
                       uint32_t cpu_ns, uint64_t ticks, uint16_t flags)
{
    /* 48 bits are a day at 3 GHz: a page that old is left and the next one has a new base. A time before the base
     * (the counter of another core lags) is stored as the base. */
    if (cur->page && (ticks - cur->base_ticks) >> 48 && ticks > cur->base_ticks)
        cur->used = cur->size;
    struct stream_sample *slot = stream_reserve(stream, cur, sizeof *slot, ticks);
    if (!slot)
        return -1;
    uint64_t rel = ticks > cur->base_ticks ? ticks - cur->base_ticks : 0;
    slot->cpu_ns = cpu_ns;
    slot->ticks_lo = (uint32_t)rel;
    slot->ticks_hi = (uint16_t)(rel >> 32);
    slot->flags = flags;
    /* release: the slot counts from here on; zero before. */
    __atomic_store_n(&slot->stack, stack, __ATOMIC_RELEASE);
    return 0;
}

int stream_append_sample(struct stream *stream, struct stream_cursor *cur, uint32_t stack,
                         uint64_t cpu_ns, uint64_t ticks, uint16_t flags)
{
    /* A carry must stand in the same page as its sample: without room for both the page is left. */
    if (cpu_ns >> 32) {
        if (cur->page && cur->size - cur->used < 2 * sizeof(struct stream_sample))
            cur->used = cur->size;
        if (sample_slot(stream, cur, STREAM_STACK_CARRY, (uint32_t)(cpu_ns >> 32), ticks, flags) < 0)
            return -1;
    }
    return sample_slot(stream, cur, stack, (uint32_t)cpu_ns, ticks, flags);
}

struct stream_page *stream_claim_page_as(struct stream *stream, const struct stream_page *fields,
                                         int *rc)
{
    *rc = -EBADF;
    if (!stream->header)
        return NULL;
    struct stream_page begun = *fields;
    void *map = NULL;
    *rc = claim_stretch(&stream->file, fields->size_bytes, &begun.self_offset, &map);
    if (*rc < 0)
        return NULL;
    stream_begin_page(map, &begun);
    return map;
}

struct stream_page *stream_claim_page(struct stream *stream, uint32_t kind, uint32_t size,
                                      uint32_t sequence, uint64_t now)
{
    if (!stream->header)
        return NULL;
    int rc;
    struct stream_page fields = {
        .kind = (uint8_t)kind, .size_bytes = size, .base_ticks = now, .sequence = sequence};
    struct stream_page *page = stream_claim_page_as(stream, &fields, &rc);
    if (!page)
        count_loss(stream, rc);
    return page;
}

int stream_copy_page(struct stream *stream, const struct stream_page *page, uint64_t offset,
                     int is_over_old)
{
    const struct claim_file *file = &stream->file;
    struct stream_page header = *page;
    header.self_offset = offset;
    int rc;
    if (is_over_old) {
        header.kind = STREAM_PAGE_VOID;
        rc = claim_write(file, offset, &header, sizeof header);
    } else {
        /* First the end, so that the file is never shorter than what was claimed. */
        rc = claim_write(file, offset + page->size_bytes - 1, "", 1);
    }
    if (rc == 0)
        rc = claim_write(file, offset + sizeof header, page + 1, page->size_bytes - sizeof header);
    header.kind = page->kind;
    if (rc == 0)
        return claim_write(file, offset, &header, sizeof header);
    /* What was written before the disk was full is no page. Where not even this has room there is nothing. */
    header.kind = STREAM_PAGE_VOID;
    (void)claim_write(file, offset, &header, sizeof header);
    return rc;
}

void stream_abandon_pages(struct stream *stream)
{
    __atomic_fetch_add(&stream->torn, 1, __ATOMIC_RELAXED);
}

void stream_void_page(struct stream_page *page)
{
    uint32_t size = page->size_bytes;
    page->kind = STREAM_PAGE_VOID;
    sys_munmap(page, size);
}

void stream_cursor_close(struct stream_cursor *cur)
{
    /* Forgotten first: a fork by another thread in between must not leave the child a page that is not mapped. */
    uint8_t *page = cur->page;
    cur->page = NULL;
    if (page)
        sys_munmap(page, cur->size);
}
