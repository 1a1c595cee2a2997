#include "reader/stream_file.h"

#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "reader/stream_records.h"

void stream_faults_add(struct stream_faults *faults, enum stream_damage kind, uint64_t offset,
                       uint64_t amount)
{
    uint64_t *count = &faults->counts[kind];
    *count = amount > UINT64_MAX - *count ? UINT64_MAX : *count + amount;
    if (faults->kept < STREAM_FAULTS_KEPT)
        faults->first[faults->kept++] = (struct stream_fault){kind, offset, amount};
}

void stream_faults_merge(struct stream_faults *into, const struct stream_faults *from)
{
    for (unsigned i = 0; i < STREAM_DAMAGE_KINDS; i++) {
        uint64_t *count = &into->counts[i];
        *count = from->counts[i] > UINT64_MAX - *count ? UINT64_MAX : *count + from->counts[i];
    }
    for (unsigned i = 0; i < from->kept && into->kept < STREAM_FAULTS_KEPT; i++)
        into->first[into->kept++] = from->first[i];
}

bool stream_faults_are_damage(const struct stream_faults *faults)
{
    return faults->counts[STREAM_DAMAGE_MISSING_BYTES] || faults->counts[STREAM_DAMAGE_PAGES] ||
           faults->counts[STREAM_DAMAGE_GAPS] || faults->counts[STREAM_DAMAGE_RECORDS];
}

bool stream_is_magic(const void *bytes, size_t size_bytes)
{
    return size_bytes >= 8 && memcmp(bytes, STREAM_MAGIC, 8) == 0;
}

/* A run of grains that hold no page: what a kill left, or damage. Told once, with its beginning. */
struct gap {
    uint64_t begin, bytes;
    bool is_damage; /* something is written there */
};

static void gap_end(struct stream_file *file, struct gap *gap)
{
    if (gap->bytes && gap->is_damage)
        stream_faults_add(&file->faults, STREAM_DAMAGE_PAGES, gap->begin, 1);
    else if (gap->bytes)
        stream_faults_add(&file->faults, STREAM_DAMAGE_UNBEGUN_BYTES, gap->begin, gap->bytes);
    gap->bytes = 0;
    gap->is_damage = false;
}

static void gap_add(struct gap *gap, uint64_t offset, uint64_t bytes, bool is_damage)
{
    if (!gap->bytes)
        gap->begin = offset;
    gap->bytes += bytes;
    gap->is_damage |= is_damage;
}

static bool is_page_size(uint32_t size_bytes)
{
    return size_bytes >= STREAM_PAGE_MIN && size_bytes <= STREAM_PAGE_MAX &&
           size_bytes % STREAM_PAGE_GRAIN == 0;
}

/* The 64 bytes at an offset in our byte order. The magic is loaded first, with acquire: the process may still be writing,
 * and it stores the magic last, with release. */
static void load_page_header(const struct stream_file *file, uint64_t offset, struct stream_page *page)
{
    const uint8_t *at = file->bytes + offset;
    uint32_t magic;
    if (((uintptr_t)at & 3) == 0)
        magic = __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);
    else
        memcpy(&magic, at, sizeof magic);
    memcpy(page, at, sizeof *page);
    page->magic = magic;
    if (file->is_swapped)
        stream_fields_swap(stream_page_fields, stream_page_field_count, page);
}

static bool is_known_kind(uint8_t kind)
{
    return (kind >= STREAM_PAGE_META && kind <= STREAM_PAGE_MODULES) ||
           (kind >= STREAM_PAGE_EVENTS && kind <= STREAM_PAGE_TREE);
}

/* Keeps a page, or counts why not. */
static int take_page(struct stream_file *file, const struct stream_page *page, uint64_t body_offset,
                     uint32_t body_bytes, uint32_t packed_bytes)
{
    if (page->kind == STREAM_PAGE_VOID)
        return LAM_OK;
    if (!is_known_kind(page->kind)) {
        stream_faults_add(&file->faults, STREAM_DAMAGE_UNKNOWN_PAGES, page->self_offset, 1);
        return LAM_OK;
    }
    bool is_chunk = page->kind == STREAM_PAGE_STACKS;
    bool is_numbered = is_chunk || page->kind == STREAM_PAGE_TREE;
    if (is_numbered && page->size_bytes != stream_chunk_bytes(page->sequence)) {
        stream_faults_add(&file->faults, STREAM_DAMAGE_PAGES, page->self_offset, 1);
        return LAM_OK;
    }
    struct stream_page_ref ref = {
        .body_offset = body_offset,
        .self_offset = page->self_offset,
        .base_ticks = page->base_ticks,
        .body_bytes = body_bytes,
        .packed_bytes = packed_bytes,
        .thread = is_chunk ? 0 : page->thread, /* chunks are of the process, whoever claimed them */
        .tid = page->tid,
        .sequence = page->sequence,
        .size_bytes = page->size_bytes,
        .kind = page->kind,
    };
    return array_push(&file->pages, ref);
}

static bool has_losses(const struct stream_header *header)
{
    for (unsigned i = 0; i < STREAM_LOSS_KINDS; i++) {
        if (header->lost[i])
            return true;
    }
    return false;
}

/* The look at a page's header brings in what lies around it: a quarter of the file. It is let go of, piece by piece. */
enum { LEAVE_BEHIND_BYTES = 16 << 20 };

static void leave_behind(const struct stream_file *file, uint64_t offset, uint64_t *left)
{
    if (!file->map.is_mapped || offset < *left + LEAVE_BEHIND_BYTES)
        return;
    uint64_t end = offset & ~(uint64_t)(STREAM_PAGE_GRAIN - 1);
    (void)madvise((void *)(uintptr_t)(file->bytes + *left), end - *left, MADV_DONTNEED);
    *left = end;
}

/* Raw: pages lie at multiples of a grain and name their own offset. */
static int scan_raw(struct stream_file *file)
{
    const struct stream_header *header = &file->header;
    uint64_t size = file->size_bytes;
    uint64_t claimed = header->next_offset;
    bool is_sane = claimed >= STREAM_HEADER_BYTES && claimed % STREAM_PAGE_GRAIN == 0;
    if (!is_sane) {
        stream_faults_add(&file->faults, STREAM_DAMAGE_PAGES,
                          __builtin_offsetof(struct stream_header, next_offset), 1);
        claimed = size;
    }
    struct gap gap = {0};
    uint64_t offset = STREAM_HEADER_BYTES, left = 0;
    while (offset < size && size - offset >= STREAM_PAGE_HEADER_BYTES) {
        struct stream_page page;
        leave_behind(file, offset, &left);
        load_page_header(file, offset, &page);
        bool is_page = page.magic == STREAM_PAGE_MAGIC && page.self_offset == offset &&
                       is_page_size(page.size_bytes);
        if (!is_page) {
            /* Beyond the last claim there is nothing, unless the claim counter itself is wrong. */
            if (page.magic != 0 || offset < claimed)
                gap_add(&gap, offset, STREAM_PAGE_GRAIN, page.magic != 0);
            offset += STREAM_PAGE_GRAIN;
            continue;
        }
        gap_end(file, &gap);
        uint64_t there = size - offset < page.size_bytes ? size - offset : page.size_bytes;
        int rc = take_page(file, &page, offset + STREAM_PAGE_HEADER_BYTES,
                           (uint32_t)there - STREAM_PAGE_HEADER_BYTES, 0);
        if (rc < 0)
            return rc;
        offset += page.size_bytes;
        if (claimed < offset)
            claimed = offset;
    }
    gap_end(file, &gap);
    /* A claim that the disk refused leaves the counter ahead of the file; the writer then counted losses. */
    if (claimed > size)
        stream_faults_add(&file->faults,
                          has_losses(header) ? STREAM_DAMAGE_UNBEGUN_BYTES
                                             : STREAM_DAMAGE_MISSING_BYTES,
                          size, claimed - size);
    return LAM_OK;
}

static bool is_packed_page(const struct stream_page *page)
{
    return page->magic == STREAM_PACKED_MAGIC && is_page_size(page->size_bytes) &&
           page->used_bytes <= page->size_bytes - STREAM_PAGE_HEADER_BYTES &&
           (page->used_bytes == 0) == (page->packed_bytes == 0);
}

/* Packed: pages follow one another at multiples of 8. */
static int scan_packed(struct stream_file *file)
{
    for (unsigned i = 0; i < STREAM_DAMAGE_KINDS; i++)
        file->faults.counts[i] = file->header.damage[i];
    uint64_t size = file->size_bytes;
    uint64_t offset = STREAM_PACKED_HEADER_BYTES, left = 0;
    uint64_t broken_from = 0;
    while (offset < size && size - offset >= STREAM_PAGE_HEADER_BYTES) {
        struct stream_page page;
        leave_behind(file, offset, &left);
        load_page_header(file, offset, &page);
        uint64_t room = size - offset - STREAM_PAGE_HEADER_BYTES;
        if (!is_packed_page(&page) || page.packed_bytes > room) {
            if (!broken_from && !(is_packed_page(&page) && file->header.next_offset > size)) {
                broken_from = offset;
                stream_faults_add(&file->faults, STREAM_DAMAGE_PAGES, offset, 1);
            }
            offset += 8;
            continue;
        }
        broken_from = 0;
        int rc = take_page(file, &page, offset + STREAM_PAGE_HEADER_BYTES, page.used_bytes,
                           page.packed_bytes);
        if (rc < 0)
            return rc;
        offset += STREAM_PAGE_HEADER_BYTES + (((uint64_t)page.packed_bytes + 7) & ~(uint64_t)7);
    }
    if (file->header.next_offset > size)
        stream_faults_add(&file->faults, STREAM_DAMAGE_MISSING_BYTES, size,
                          file->header.next_offset - size);
    return LAM_OK;
}

static int compare_pages(const void *left, const void *right)
{
    const struct stream_page_ref *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return a->self_offset < b->self_offset ? -1 : a->self_offset > b->self_offset;
}

/* A page of events is copied to its place in the file before its thread empties it for what comes next: a kill in between
 * leaves both, the same to the byte. */
static bool is_copy(const struct stream_file *file, const struct stream_page_ref *a,
                    const struct stream_page_ref *b)
{
    uint32_t there = a->packed_bytes ? a->packed_bytes : a->body_bytes;
    return a->kind == STREAM_PAGE_EVENTS && a->body_bytes == b->body_bytes &&
           a->packed_bytes == b->packed_bytes &&
           memcmp(file->bytes + a->body_offset, file->bytes + b->body_offset, there) == 0;
}

/* Puts each writer's pages in sequence, drops second copies, counts holes. */
static void sort_pages(struct stream_file *file)
{
    array_sort(&file->pages, compare_pages);
    size_t kept = 0;
    struct stream_faults holes = {0};
    for (size_t i = 0; i < file->pages.count; i++) {
        struct stream_page_ref *page = &file->pages.items[i];
        struct stream_page_ref *before = kept ? &file->pages.items[kept - 1] : NULL;
        bool same_writer = before && before->kind == page->kind && before->thread == page->thread;
        if (same_writer && before->sequence == page->sequence) {
            if (!is_copy(file, before, page))
                stream_faults_add(&file->faults, STREAM_DAMAGE_PAGES, page->self_offset, 1);
            continue;
        }
        uint32_t due = same_writer ? before->sequence + 1 : 0;
        /* A flight recorder uses its oldest pages again: what is gone is counted in the header. */
        bool may_be_gone =
            page->kind == STREAM_PAGE_EVENTS && (file->header.flags & STREAM_FLAG_FLIGHT);
        if (page->sequence > due && !may_be_gone)
            stream_faults_add(&holes, STREAM_DAMAGE_GAPS, page->self_offset, page->sequence - due);
        file->pages.items[kept++] = *page;
    }
    file->pages.count = kept;
    /* The packer of this file stored the holes it met, and they are still there. */
    if (holes.counts[STREAM_DAMAGE_GAPS] > file->faults.counts[STREAM_DAMAGE_GAPS]) {
        file->faults.counts[STREAM_DAMAGE_GAPS] = 0;
        stream_faults_merge(&file->faults, &holes);
    }
}

static int read_header(struct stream_file *file, struct lam_error *err)
{
    if (file->size_bytes < 8 || !stream_is_magic(file->bytes, 8))
        return lam_error_at(err, file->size_bytes < 8 ? LAM_E_TRUNCATED : LAM_E_CORRUPT, 0,
                            "%s: not a Lamella stream (its first 8 bytes are not the magic)",
                            file->name);
    if (file->size_bytes < STREAM_PACKED_HEADER_BYTES)
        return lam_error_at(err, LAM_E_TRUNCATED, file->size_bytes,
                            "%s: ends at byte %llu, inside its header", file->name,
                            (unsigned long long)file->size_bytes);
    memcpy(&file->header, file->bytes, STREAM_PACKED_HEADER_BYTES);
    struct stream_header *header = &file->header;
    uint32_t order = header->byte_order;
    if (order != STREAM_BYTE_ORDER && order != __builtin_bswap32(STREAM_BYTE_ORDER))
        return lam_error_at(err, LAM_E_CORRUPT, 8, "%s: byte order mark 0x%08x at byte 8 is none",
                            file->name, order);
    file->is_swapped = order != STREAM_BYTE_ORDER;
    if (file->is_swapped)
        stream_fields_swap(stream_header_fields, stream_header_field_count, header);
    if (header->version_major != STREAM_VERSION_MAJOR)
        return lam_error_at(err, LAM_E_UNSUPPORTED, 12,
                            "%s: format version %u.%u, this lamella reads version %u", file->name,
                            header->version_major, header->version_minor,
                            (unsigned)STREAM_VERSION_MAJOR);
    file->is_packed = (header->flags & STREAM_FLAG_PACKED) != 0;
    if (!file->is_packed)
        memset(header->damage, 0, sizeof header->damage);
    return LAM_OK;
}

static int read_all(struct stream_file *file, struct lam_error *err)
{
    int rc = read_header(file, err);
    if (rc < 0)
        return rc;
    rc = file->is_packed ? scan_packed(file) : scan_raw(file);
    if (rc < 0)
        return lam_error_set(err, rc, "%s: out of memory", file->name);
    sort_pages(file);
    return LAM_OK;
}

/* map: owned from here on, also on failure; all-zero: the bytes are the caller's. */
static int open_over(struct stream_file **out, const void *bytes, size_t size_bytes,
                     const char *name, struct file_map map, struct lam_error *err)
{
    struct stream_file *file = mem_zalloc(1, sizeof *file);
    int rc = LAM_E_NOMEM;
    if (!file) {
        file_unmap(&map);
        return lam_error_set(err, rc, "%s: out of memory", name);
    }
    file->map = map;
    if (!(file->name = mem_strdup(name))) {
        lam_error_set(err, rc, "%s: out of memory", name);
        goto fail;
    }
    file->bytes = bytes;
    file->size_bytes = size_bytes;
    rc = read_all(file, err);
    if (rc < 0)
        goto fail;
    *out = file;
    return LAM_OK;
fail:
    stream_close(&file);
    return rc;
}

int stream_open_memory(struct stream_file **out, const void *bytes, size_t size_bytes,
                       const char *name, struct lam_error *err)
{
    return open_over(out, bytes, size_bytes, name, (struct file_map){0}, err);
}

int stream_open(struct stream_file **out, const char *path, struct lam_error *err)
{
    struct file_map map = {0};
    int rc = file_map(path, &map, err);
    return rc < 0 ? rc : open_over(out, map.data, map.size_bytes, path, map, err);
}

void stream_close(struct stream_file **file)
{
    if (!file || !*file)
        return;
    array_free(&(*file)->pages);
    file_unmap(&(*file)->map);
    mem_free((*file)->name);
    mem_free(*file);
    *file = NULL;
}

/* The first page at or behind (kind, thread). */
static size_t lower_bound(const struct stream_file *file, unsigned kind, uint64_t thread)
{
    size_t low = 0, high = file->pages.count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct stream_page_ref *page = &file->pages.items[mid];
        if (page->kind < kind || (page->kind == kind && page->thread < thread))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct stream_page_span stream_pages_of(const struct stream_file *file, enum stream_page_kind kind,
                                        uint32_t thread)
{
    return (struct stream_page_span){lower_bound(file, kind, thread),
                                     lower_bound(file, kind, (uint64_t)thread + 1)};
}

struct stream_page_span stream_pages_of_kind(const struct stream_file *file,
                                             enum stream_page_kind kind)
{
    return (struct stream_page_span){lower_bound(file, kind, 0), lower_bound(file, kind + 1u, 0)};
}

uint32_t stream_last_thread(const struct stream_file *file)
{
    uint32_t last = 0;
    for (size_t i = 0; i < file->pages.count; i++)
        last = file->pages.items[i].thread > last ? file->pages.items[i].thread : last;
    return last;
}
