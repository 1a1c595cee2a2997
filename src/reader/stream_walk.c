#include "reader/stream_walk.h"

#include <string.h>
#include <zstd.h>

#include "base/memory.h"
#include "reader/stream_transpose.h"

void stream_walk_init(struct stream_walk *walk, const struct stream_file *file)
{
    *walk = (struct stream_walk){.file = file};
}

void stream_walk_close(struct stream_walk *walk)
{
    mem_free(walk->scratch);
    ZSTD_freeDCtx(walk->unpacker);
    *walk = (struct stream_walk){0};
}

void stream_walk_begin(struct stream_walk *walk, struct stream_page_span pages)
{
    walk->next_page = pages.first;
    walk->end_page = pages.end;
    walk->page = NULL;
    walk->at = walk->body_bytes = 0;
    walk->has_carry = false;
}

const uint8_t *stream_page_body(const struct stream_file *file, const struct stream_page_ref *page,
                                void *unpacker, uint8_t *into, uint8_t *spare,
                                struct stream_faults *faults)
{
    const uint8_t *at = file->bytes + page->body_offset;
    if (!page->packed_bytes)
        return at;
    uint32_t width =
        file->header.flags & STREAM_FLAG_TRANSPOSED ? stream_record_width(page->kind) : 0;
    uint8_t *unpacked = width ? spare : into;
    size_t got = ZSTD_decompressDCtx(unpacker, unpacked, page->body_bytes, at, page->packed_bytes);
    if (ZSTD_isError(got) || got != page->body_bytes) {
        stream_faults_add(faults, STREAM_DAMAGE_PAGES, page->body_offset, 1);
        return NULL;
    }
    if (width)
        stream_transpose_back(into, unpacked, page->body_bytes, width);
    return into;
}

/* 1: the next page that can be read; 0: there is none; LAM_E_NOMEM. */
static int next_page(struct stream_walk *walk)
{
    while (walk->next_page < walk->end_page) {
        walk->page = &walk->file->pages.items[walk->next_page++];
        walk->at = 0;
        walk->body_bytes = walk->page->body_bytes;
        if (walk->page->packed_bytes && !walk->scratch) {
            walk->scratch = mem_alloc(2 * (size_t)STREAM_PAGE_MAX);
            if (!walk->scratch)
                return LAM_E_NOMEM;
        }
        if (walk->page->packed_bytes && !walk->unpacker && !(walk->unpacker = ZSTD_createDCtx()))
            return LAM_E_NOMEM;
        walk->body =
            stream_page_body(walk->file, walk->page, walk->unpacker, walk->scratch,
                             walk->scratch ? walk->scratch + STREAM_PAGE_MAX : NULL, &walk->faults);
        if (walk->body && walk->body_bytes)
            return 1;
        walk->body_bytes = 0;
    }
    return 0;
}

static uint64_t record_offset(const struct stream_walk *walk, uint32_t at)
{
    return walk->page->self_offset + STREAM_PAGE_HEADER_BYTES + at;
}

/* The first word of a record, which its writer stores last with release: acquire, so that the rest is there when it is. */
static uint32_t load_first(const struct stream_walk *walk, uint32_t at)
{
    const uint8_t *from = walk->body + at;
    uint32_t word;
    if (((uintptr_t)from & 3) == 0)
        word = __atomic_load_n((const uint32_t *)(const void *)from, __ATOMIC_ACQUIRE);
    else
        memcpy(&word, from, sizeof word);
    return walk->file->is_swapped ? __builtin_bswap32(word) : word;
}

static uint32_t load_u32(const struct stream_walk *walk, uint32_t at)
{
    uint32_t word;
    memcpy(&word, walk->body + at, sizeof word);
    return walk->file->is_swapped ? __builtin_bswap32(word) : word;
}

/* Decodes fixed part and texts; false when the lengths do not fit the record. */
static bool decode_body(const struct stream_walk *walk, uint32_t at, uint32_t body_bytes,
                        struct stream_record_view *record)
{
    const struct stream_record_row *row = record->row;
    if (body_bytes < row->fixed_bytes)
        return false;
    memcpy(&record->body, walk->body + at, row->fixed_bytes);
    if (walk->file->is_swapped)
        stream_fields_swap(row->fields, row->field_count, &record->body);
    uint64_t text_at = row->fixed_bytes;
    for (uint32_t i = 0; i < row->text_count; i++) {
        int field = row->texts[i].length_field;
        uint64_t length = field == STREAM_LENGTH_IS_AUX
                              ? record->aux
                              : stream_field_get(&row->fields[field], &record->body, 0);
        if (length > body_bytes - text_at)
            return false;
        record->text[i] =
            (struct stream_text){(const char *)walk->body + at + text_at, (size_t)length};
        text_at += length;
    }
    record->tail = (struct stream_text){(const char *)walk->body + at + text_at,
                                        (size_t)(body_bytes - text_at)};
    return true;
}

/* The record at walk->at. 1: in *record; 0: it contradicts itself, was counted and is behind us; -1: no more in this page. */
static int record_in_page(struct stream_walk *walk, struct stream_record_view *record)
{
    uint32_t at = walk->at;
    uint32_t left = walk->body_bytes - at;
    if (left < sizeof(struct stream_record))
        return -1;
    uint32_t head = load_first(walk, at);
    if (head == 0)
        return -1;
    uint32_t bytes = (head >> 16) * 8;
    if (bytes == 0 || bytes > left) {
        /* A file cut in the middle of a record is told as bytes that are missing. */
        bool is_cut = bytes > left &&
                      bytes <= walk->page->size_bytes - STREAM_PAGE_HEADER_BYTES - at &&
                      !walk->page->packed_bytes;
        if (!is_cut)
            stream_faults_add(&walk->faults, STREAM_DAMAGE_RECORDS, record_offset(walk, at), 1);
        return -1;
    }
    walk->at = at + bytes;
    record->offset = record_offset(walk, at);
    record->type = head & 0xffff;
    record->aux = load_u32(walk, at + 4);
    record->row = stream_record_row(record->type);
    if (!record->row || decode_body(walk, at + (uint32_t)sizeof(struct stream_record),
                                    bytes - (uint32_t)sizeof(struct stream_record), record))
        return 1;
    stream_faults_add(&walk->faults, STREAM_DAMAGE_RECORDS, record->offset, 1);
    return 0;
}

int stream_next_record(struct stream_walk *walk, struct stream_record_view *record)
{
    for (;;) {
        int rc = record_in_page(walk, record);
        if (rc > 0)
            return 1;
        if (rc == 0)
            continue;
        rc = next_page(walk);
        if (rc <= 0) {
            walk->body_bytes = walk->at = 0;
            return rc;
        }
    }
}

/* The span has ended: CPU time whose sample never came is a loss worth telling. */
static int samples_end(struct stream_walk *walk)
{
    if (walk->has_carry)
        stream_faults_add(&walk->faults, STREAM_DAMAGE_RECORDS, record_offset(walk, walk->at), 1);
    walk->has_carry = false;
    walk->body_bytes = walk->at = 0;
    return 0;
}

int stream_next_sample(struct stream_walk *walk, struct stream_sample_view *sample)
{
    for (;;) {
        uint32_t at = walk->at;
        uint32_t stack =
            walk->body_bytes - at >= sizeof(struct stream_sample) ? load_first(walk, at) : 0;
        if (stack == 0) {
            int rc = next_page(walk);
            if (rc < 0)
                return rc;
            if (rc == 0)
                return walk->page ? samples_end(walk) : 0;
            continue;
        }
        struct stream_sample slot;
        memcpy(&slot, walk->body + at, sizeof slot);
        if (walk->file->is_swapped) {
            slot.cpu_ns = __builtin_bswap32(slot.cpu_ns);
            slot.ticks_lo = __builtin_bswap32(slot.ticks_lo);
            slot.ticks_hi = __builtin_bswap16(slot.ticks_hi);
            slot.flags = __builtin_bswap16(slot.flags);
        }
        walk->at = at + (uint32_t)sizeof slot;
        if (stack == STREAM_STACK_CARRY) {
            if (walk->has_carry) /* the sample of the first one is missing */
                stream_faults_add(&walk->faults, STREAM_DAMAGE_RECORDS, record_offset(walk, at), 1);
            walk->has_carry = true;
            walk->carry_high = slot.cpu_ns;
            continue;
        }
        *sample = (struct stream_sample_view){
            .offset = record_offset(walk, at),
            .ticks = walk->page->base_ticks + ((uint64_t)slot.ticks_hi << 32 | slot.ticks_lo),
            .cpu_ns = (walk->has_carry ? (uint64_t)walk->carry_high << 32 : 0) | slot.cpu_ns,
            .stack = stack,
            .flags = slot.flags,
        };
        walk->has_carry = false;
        return 1;
    }
}

/* ---- the stack trie ---- */

#define CHUNK_NODES(chunk)                                                 \
    ((uint32_t)((STREAM_PAGE_MIN << (chunk)) - STREAM_PAGE_HEADER_BYTES) / \
     (uint32_t)sizeof(struct stream_node))
enum {
    CHUNK_1 = CHUNK_NODES(0),
    CHUNK_2 = CHUNK_1 + CHUNK_NODES(1),
    CHUNK_3 = CHUNK_2 + CHUNK_NODES(2),
    CHUNK_4 = CHUNK_3 + CHUNK_NODES(3),
    CHUNK_5 = CHUNK_4 + CHUNK_NODES(4),
    CHUNK_6 = CHUNK_5 + CHUNK_NODES(5),
};
/* Nodes before each of the chunks that grow, and before the first that does not. */
static const uint32_t chunk_base[STREAM_CHUNKS_SMALL + 1] = {0,       CHUNK_1, CHUNK_2, CHUNK_3,
                                                             CHUNK_4, CHUNK_5, CHUNK_6};

static uint32_t nodes_before_chunk(uint32_t chunk)
{
    if (chunk <= STREAM_CHUNKS_SMALL)
        return chunk_base[chunk];
    return CHUNK_6 + (chunk - STREAM_CHUNKS_SMALL) * CHUNK_NODES(STREAM_CHUNKS_SMALL);
}

uint32_t stream_node_chunk(uint32_t id, uint32_t *index)
{
    uint32_t rest = id - 1;
    if (rest >= CHUNK_6) {
        *index = (rest - CHUNK_6) % CHUNK_NODES(STREAM_CHUNKS_SMALL);
        return STREAM_CHUNKS_SMALL + (rest - CHUNK_6) / CHUNK_NODES(STREAM_CHUNKS_SMALL);
    }
    uint32_t chunk = 0;
    while (rest >= chunk_base[chunk + 1])
        chunk++;
    *index = rest - chunk_base[chunk];
    return chunk;
}

/* Ids are 32 bits wide, and a chunk that never began leaves a hole; more holes than pages are a wrong number in a header. */
static uint32_t chunk_limit(size_t pages)
{
    uint32_t most = (UINT32_MAX - 2) / CHUNK_NODES(STREAM_CHUNKS_SMALL);
    size_t sane = 2 * pages + 256;
    return sane < most ? (uint32_t)sane : most;
}

static int unpack_chunk(const struct stream_file *file, const struct stream_page_ref *page,
                        struct stream_nodes *nodes, ZSTD_DCtx *unpacker, uint8_t *spare,
                        struct stream_faults *faults)
{
    uint8_t *into = NULL;
    if (page->packed_bytes) {
        into = nodes->owned[page->sequence] = mem_alloc(page->body_bytes);
        if (!into || !unpacker || !spare)
            return LAM_E_NOMEM;
    }
    nodes->chunks[page->sequence] = stream_page_body(file, page, unpacker, into, spare, faults);
    nodes->chunk_nodes[page->sequence] = page->body_bytes / (uint32_t)sizeof(struct stream_node);
    return LAM_OK;
}

static int unpack_chunks(const struct stream_file *file, struct stream_page_span span,
                         struct stream_nodes *nodes, struct stream_faults *faults)
{
    ZSTD_DCtx *unpacker = file->is_packed ? ZSTD_createDCtx() : NULL;
    uint8_t *spare = file->is_packed ? mem_alloc(STREAM_PAGE_MAX) : NULL;
    int rc = LAM_OK;
    for (size_t i = span.first; rc >= 0 && i < span.end; i++) {
        const struct stream_page_ref *page = &file->pages.items[i];
        if (page->sequence >= nodes->chunk_count)
            break;
        rc = unpack_chunk(file, page, nodes, unpacker, spare, faults);
    }
    ZSTD_freeDCtx(unpacker);
    mem_free(spare);
    return rc;
}

int stream_nodes_load(const struct stream_file *file, struct stream_nodes *nodes,
                      struct stream_faults *faults)
{
    *nodes = (struct stream_nodes){.is_swapped = file->is_swapped};
    struct stream_page_span span = stream_pages_of_kind(file, STREAM_PAGE_STACKS);
    if (span.first == span.end)
        return LAM_OK;
    uint32_t limit = chunk_limit(span.end - span.first);
    for (size_t i = span.first; i < span.end; i++) {
        const struct stream_page_ref *page = &file->pages.items[i];
        if (page->sequence < limit)
            nodes->chunk_count = page->sequence + 1;
        else
            stream_faults_add(faults, STREAM_DAMAGE_PAGES, page->self_offset, 1);
    }
    if (!nodes->chunk_count)
        return LAM_OK;
    nodes->chunks = mem_zalloc(nodes->chunk_count, sizeof *nodes->chunks);
    nodes->chunk_nodes = mem_zalloc(nodes->chunk_count, sizeof *nodes->chunk_nodes);
    nodes->owned = mem_zalloc(nodes->chunk_count, sizeof *nodes->owned);
    int rc = LAM_E_NOMEM;
    if (nodes->chunks && nodes->chunk_nodes && nodes->owned)
        rc = unpack_chunks(file, span, nodes, faults);
    if (rc < 0) {
        stream_nodes_free(nodes);
        return rc;
    }
    uint32_t last = nodes->chunk_count - 1;
    nodes->last_id = nodes_before_chunk(last) + nodes->chunk_nodes[last];
    return LAM_OK;
}

void stream_nodes_free(struct stream_nodes *nodes)
{
    for (uint32_t i = 0; nodes->owned && i < nodes->chunk_count; i++)
        mem_free(nodes->owned[i]);
    mem_free(nodes->owned);
    mem_free(nodes->chunks);
    mem_free(nodes->chunk_nodes);
    *nodes = (struct stream_nodes){0};
}

bool stream_node_get(const struct stream_nodes *nodes, uint32_t id, struct stream_node *node)
{
    if (id == 0 || id > nodes->last_id)
        return false;
    uint32_t index;
    uint32_t chunk = stream_node_chunk(id, &index);
    if (chunk >= nodes->chunk_count || !nodes->chunks[chunk] || index >= nodes->chunk_nodes[chunk])
        return false;
    /* Not acquire: whoever found this id in a sample got it through that sample's release. */
    memcpy(node, nodes->chunks[chunk] + (size_t)index * sizeof *node, sizeof *node);
    if (nodes->is_swapped) {
        node->parent_plus_1 = __builtin_bswap32(node->parent_plus_1);
        node->address_lo = __builtin_bswap32(node->address_lo);
        node->address_hi = __builtin_bswap16(node->address_hi);
        node->epoch = __builtin_bswap16(node->epoch);
    }
    return node->parent_plus_1 != 0;
}
