/* Test support: makes stream files in memory, whole or with faults, without the writer's code. Allocation failures abort. */
#ifndef LAMELLA_READER_STREAM_MAKE_TEST_H
#define LAMELLA_READER_STREAM_MAKE_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/stream_records.h"
#include "stream/layout.h"

struct make_writer { /* one writer's open page */
    uint32_t kind, thread, tid;
    uint64_t page; /* offset; 0: none */
    uint32_t used, size, next_size, sequence;
    uint64_t base_ticks;
};

enum { MAKE_THREADS = 4096 };

struct make {
    uint8_t *bytes;
    size_t size, capacity;
    struct make_writer meta[MAKE_THREADS], samples[MAKE_THREADS];
    struct make_writer modules;
    uint64_t chunks[65536]; /* offsets of the chunks' pages */
    uint32_t chunk_count;
    uint32_t nodes; /* made so far */
    uint64_t now;   /* ticks: base of pages that begin */
};

static inline struct stream_header *make_header(struct make *make)
{
    return (struct stream_header *)(void *)make->bytes;
}

static inline void make_grow(struct make *make, size_t size)
{
    if (size > make->capacity) {
        size_t capacity = make->capacity ? make->capacity * 2 : 65536;
        while (capacity < size)
            capacity *= 2;
        make->bytes = realloc(make->bytes, capacity);
        if (!make->bytes)
            abort();
        memset(make->bytes + make->capacity, 0, capacity - make->capacity);
        make->capacity = capacity;
    }
    if (size > make->size)
        make->size = size;
}

/* All times in the tests are ticks of 2 GHz: 2 a nanosecond. */
enum { MAKE_TICKS_PER_NS = 2 };

static inline struct make *make_open(uint32_t pid, uint32_t ppid, uint64_t start_ticks)
{
    struct make *make = calloc(1, sizeof *make);
    if (!make)
        abort();
    make->now = start_ticks;
    make_grow(make, STREAM_HEADER_BYTES);
    struct stream_header *header = make_header(make);
    memcpy(header->magic, STREAM_MAGIC, 8);
    header->byte_order = STREAM_BYTE_ORDER;
    header->version_major = STREAM_VERSION_MAJOR;
    header->version_minor = STREAM_VERSION_MINOR;
    header->arch = 62;
    header->producer = STREAM_PRODUCER_AGENT;
    header->clock = STREAM_CLOCK_TSC;
    header->tick_rate_hz = 1000000000ull * MAKE_TICKS_PER_NS;
    header->start_ticks = start_ticks;
    header->start_mono_ns = start_ticks / MAKE_TICKS_PER_NS;
    header->start_wall_ns = 1700000000000000000ull + header->start_mono_ns;
    header->pid = pid;
    header->ppid = ppid;
    header->kernel_start = 1000 + pid;
    header->next_offset = STREAM_HEADER_BYTES;
    return make;
}

static inline void make_close(struct make *make)
{
    if (make)
        free(make->bytes);
    free(make);
}

/* Claims size bytes and begins the page when `begins`; returns its offset. */
static inline uint64_t make_page(struct make *make, uint32_t kind, uint32_t thread, uint32_t tid,
                                 uint32_t sequence, uint32_t size, bool begins)
{
    uint64_t offset = make->size;
    make_grow(make, make->size + size);
    make_header(make)->next_offset = make->size;
    if (begins) {
        struct stream_page page = {
            .magic = STREAM_PAGE_MAGIC,
            .kind = (uint8_t)kind,
            .size_bytes = size,
            .thread = thread,
            .self_offset = offset,
            .base_ticks = make->now,
            .sequence = sequence,
            .tid = tid,
        };
        memcpy(make->bytes + offset, &page, sizeof page);
    }
    return offset;
}

static inline uint8_t *make_slot(struct make *make, struct make_writer *writer, uint32_t bytes)
{
    if (!writer->page || writer->size - writer->used < bytes) {
        uint32_t size = writer->next_size ? writer->next_size : STREAM_PAGE_MIN;
        while (size - STREAM_PAGE_HEADER_BYTES < bytes)
            size *= 2;
        writer->page = make_page(make, writer->kind, writer->thread, writer->tid,
                                 writer->sequence++, size, true);
        writer->size = size;
        writer->used = STREAM_PAGE_HEADER_BYTES;
        writer->base_ticks = make->now;
        writer->next_size = size < STREAM_PAGE_MAX ? size * 2 : size;
    }
    uint8_t *slot = make->bytes + writer->page + writer->used;
    writer->used += bytes;
    return slot;
}

static inline void make_append(struct make *make, struct make_writer *writer, uint32_t type,
                               uint32_t aux, const void *fixed, size_t fixed_bytes,
                               const void *text, size_t text_bytes)
{
    size_t bytes = (8 + fixed_bytes + text_bytes + 7) & ~(size_t)7;
    uint8_t *slot = make_slot(make, writer, (uint32_t)bytes);
    uint32_t head = stream_record_head(type, (uint32_t)(bytes / 8));
    memcpy(slot, &head, 4);
    memcpy(slot + 4, &aux, 4);
    memcpy(slot + 8, fixed, fixed_bytes);
    if (text_bytes)
        memcpy(slot + 8 + fixed_bytes, text, text_bytes);
}

/* A record into a thread's META pages. */
static inline void make_record(struct make *make, uint32_t thread, uint32_t type, uint32_t aux,
                               const void *fixed, size_t fixed_bytes, const void *text,
                               size_t text_bytes)
{
    struct make_writer *writer = &make->meta[thread];
    writer->kind = STREAM_PAGE_META;
    writer->thread = thread;
    writer->tid = thread ? make_header(make)->pid + thread - 1 : 0;
    make_append(make, writer, type, aux, fixed, fixed_bytes, text, text_bytes);
}

static inline void make_sample(struct make *make, uint32_t thread, uint64_t ticks, uint32_t stack,
                               uint64_t cpu_ns, uint16_t flags)
{
    struct make_writer *writer = &make->samples[thread];
    writer->kind = STREAM_PAGE_SAMPLES;
    writer->thread = thread;
    writer->tid = make_header(make)->pid + thread - 1;
    make->now = ticks;
    unsigned slots = cpu_ns >> 32 ? 2 : 1;
    for (unsigned i = 0; i < slots; i++) {
        struct stream_sample *slot =
            (struct stream_sample *)(void *)make_slot(make, writer, sizeof *slot);
        uint64_t rel = ticks - writer->base_ticks;
        bool is_carry = slots == 2 && i == 0;
        slot->stack = is_carry ? STREAM_STACK_CARRY : stack;
        slot->cpu_ns = (uint32_t)(is_carry ? cpu_ns >> 32 : cpu_ns);
        slot->ticks_lo = (uint32_t)rel;
        slot->ticks_hi = (uint16_t)(rel >> 32);
        slot->flags = is_carry ? 0 : flags;
    }
}

/* A node; returns its id. */
static inline uint32_t make_node(struct make *make, uint32_t parent, uint64_t address, uint16_t epoch)
{
    uint32_t id = ++make->nodes;
    uint32_t rest = id - 1, chunk = 0;
    while (rest >= stream_chunk_nodes(chunk))
        rest -= stream_chunk_nodes(chunk++);
    while (make->chunk_count <= chunk) {
        uint32_t at = make->chunk_count++;
        make->chunks[at] =
            make_page(make, STREAM_PAGE_STACKS, 0, 0, at, stream_chunk_bytes(at), true);
    }
    struct stream_node node = {parent + 1, (uint32_t)address, (uint16_t)(address >> 32), epoch};
    memcpy(make->bytes + make->chunks[chunk] + STREAM_PAGE_HEADER_BYTES + (size_t)rest * sizeof node,
           &node, sizeof node);
    return id;
}

static inline void make_module(struct make *make, uint32_t index, uint64_t start, uint64_t end,
                               uint64_t bias, uint16_t epoch, const char *path,
                               const void *build_id, uint16_t build_id_bytes)
{
    make->modules.kind = STREAM_PAGE_MODULES;
    size_t path_bytes = strlen(path);
    struct stream_rec_module module = {
        .ticks = make->now,
        .start = start,
        .end = end,
        .bias = bias,
        .inode = 77,
        .device = 5,
        .epoch = epoch,
        .path_bytes = (uint16_t)path_bytes,
        .build_id_bytes = build_id_bytes,
    };
    char text[4096];
    if (path_bytes + build_id_bytes > sizeof text)
        abort();
    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): lengths stand beside it
    memcpy(text, path, path_bytes);
    if (build_id_bytes)
        memcpy(text + path_bytes, build_id, build_id_bytes);
    make_append(make, &make->modules, STREAM_REC_MODULE, index, &module, sizeof module, text,
                path_bytes + build_id_bytes);
}

/* PROCESS and ARGV; the arguments are each ended by NUL. */
static inline void make_process(struct make *make, const char *exe, const char *cwd,
                                const char *comm, const char *argv, size_t argv_bytes,
                                uint64_t exec_cpu_ns, uint64_t image_cpu_ns)
{
    struct stream_rec_process process = {
        .ticks = make->now,
        .exec_cpu_ns = exec_cpu_ns,
        .image_cpu_ns = image_cpu_ns,
        .uid = 1000,
        .exe_bytes = (uint16_t)strlen(exe),
        .cwd_bytes = (uint16_t)strlen(cwd),
        .comm_bytes = (uint16_t)strlen(comm),
    };
    char text[4096];
    int length = snprintf(text, sizeof text, "%s%s%s", exe, cwd, comm);
    make_record(make, 0, STREAM_REC_PROCESS, 0, &process, sizeof process, text, (size_t)length);
    /* In two pieces, as a long list would be. */
    size_t half = argv_bytes / 2;
    struct stream_rec_blob blob = {0, (uint32_t)argv_bytes};
    make_record(make, 0, STREAM_REC_ARGV, (uint32_t)half, &blob, sizeof blob, argv, half);
    blob.index = 1;
    make_record(make, 0, STREAM_REC_ARGV, (uint32_t)(argv_bytes - half), &blob, sizeof blob,
                argv + half, argv_bytes - half);
}

static inline void make_config(struct make *make, uint32_t engine, uint32_t period_ns)
{
    struct stream_rec_config config = {
        .ticks = make->now,
        .period_ns = {period_ns, 2 * period_ns, 4 * period_ns, 8 * period_ns},
        .kernel_mode = 1,
        .signal = 5,
        .wanted_engine = engine,
    };
    make_record(make, 0, STREAM_REC_CONFIG, engine, &config, sizeof config, NULL, 0);
}

static inline void make_thread(struct make *make, uint32_t thread, uint8_t origin, const char *name)
{
    struct stream_rec_thread rec = {
        .ticks = make->now,
        .tid = make_header(make)->pid + thread - 1,
        .origin = origin,
        .name_bytes = (uint8_t)strlen(name),
    };
    make_record(make, thread, STREAM_REC_THREAD, thread, &rec, sizeof rec, name, strlen(name));
}

static inline void make_thread_end(struct make *make, uint32_t thread, uint64_t ticks,
                                   uint64_t cpu_ns, uint32_t samples)
{
    struct stream_rec_thread_end end = {
        .ticks = ticks,
        .cpu_ns = cpu_ns,
        .sampled_cpu_ns = cpu_ns,
        .run_ns = cpu_ns,
        .core_wait_ns = UINT64_MAX,
        .samples = samples,
        .interrupts = samples,
        .tid = make_header(make)->pid + thread - 1,
    };
    make_record(make, thread, STREAM_REC_THREAD_END, thread, &end, sizeof end, NULL, 0);
}

static inline void make_wait(struct make *make, uint32_t thread, uint64_t start, uint64_t duration,
                             uint32_t stack, uint16_t kind)
{
    struct stream_rec_wait wait = {start, duration, stack, kind, 0, 1000};
    make_record(make, thread, STREAM_REC_WAIT, thread, &wait, sizeof wait, NULL, 0);
}

static inline void make_spawn(struct make *make, uint32_t thread, uint32_t kind, uint64_t ticks,
                              uint32_t child, int rc, uint16_t why_not, const char *path,
                              const char *argv, size_t argv_bytes, uint64_t cpu_ns)
{
    struct stream_rec_spawn spawn = {
        .ticks = ticks,
        .child_pid = child,
        .rc = rc,
        .why_not = why_not,
        .path_bytes = (uint16_t)strlen(path),
        .argv_bytes = (uint32_t)argv_bytes,
        .cpu_ns = cpu_ns,
    };
    char text[4096];
    size_t path_bytes = strlen(path);
    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): lengths stand beside it
    memcpy(text, path, path_bytes);
    if (argv_bytes)
        memcpy(text + path_bytes, argv, argv_bytes);
    make_record(make, thread, STREAM_REC_SPAWN, kind, &spawn, sizeof spawn, text,
                path_bytes + argv_bytes);
}

static inline void make_child_exit(struct make *make, uint32_t thread, uint64_t ticks, uint32_t pid,
                                   int status, uint64_t cpu_ns)
{
    struct stream_rec_child_exit rec = {.ticks = ticks, .status = status};
    rec.usage.user_ns = cpu_ns - cpu_ns / 4;
    rec.usage.sys_ns = cpu_ns / 4;
    rec.usage.max_rss_bytes = 1 << 20;
    make_record(make, thread, STREAM_REC_CHILD_EXIT, pid, &rec, sizeof rec, NULL, 0);
}

static inline void make_process_end(struct make *make, uint32_t how, uint64_t ticks,
                                    uint64_t cpu_ns, uint64_t children_ns, int code)
{
    struct stream_rec_process_end end = {
        .ticks = ticks, .cpu_ns = cpu_ns, .live_threads = 1, .code = code};
    end.self.user_ns = cpu_ns - cpu_ns / 4;
    end.self.sys_ns = cpu_ns / 4;
    end.self.max_rss_bytes = 3 << 20;
    end.children.user_ns = children_ns - children_ns / 4;
    end.children.sys_ns = children_ns / 4;
    make_record(make, 0, STREAM_REC_PROCESS_END, how, &end, sizeof end, NULL, 0);
}

/* Turns the whole file into the other byte order. Damage is kept as far as pages and records can be told. */
static inline void make_swap(struct make *make)
{
    uint64_t offset = STREAM_HEADER_BYTES;
    while (offset < make->size) {
        struct stream_page *page = (struct stream_page *)(void *)(make->bytes + offset);
        if (page->magic != STREAM_PAGE_MAGIC) {
            offset += STREAM_PAGE_GRAIN;
            continue;
        }
        uint32_t size = page->size_bytes;
        uint8_t *at = make->bytes + offset + STREAM_PAGE_HEADER_BYTES;
        const uint8_t *end = make->bytes + offset + size;
        if (page->kind == STREAM_PAGE_SAMPLES) {
            for (; at < end; at += sizeof(struct stream_sample)) {
                struct stream_sample *slot = (struct stream_sample *)(void *)at;
                *slot = (struct stream_sample){
                    __builtin_bswap32(slot->stack), __builtin_bswap32(slot->cpu_ns),
                    __builtin_bswap32(slot->ticks_lo), __builtin_bswap16(slot->ticks_hi),
                    __builtin_bswap16(slot->flags)};
            }
        } else if (page->kind == STREAM_PAGE_STACKS) {
            for (; end - at >= (ptrdiff_t)sizeof(struct stream_node);
                 at += sizeof(struct stream_node)) {
                struct stream_node *node = (struct stream_node *)(void *)at;
                *node = (struct stream_node){
                    __builtin_bswap32(node->parent_plus_1), __builtin_bswap32(node->address_lo),
                    __builtin_bswap16(node->address_hi), __builtin_bswap16(node->epoch)};
            }
        } else {
            while (end - at >= 8) {
                struct stream_record *rec = (struct stream_record *)(void *)at;
                uint32_t head = rec->head, words = head >> 16;
                const struct stream_record_row *row = stream_record_row(head & 0xffff);
                if (!words || words * 8 > end - at)
                    break;
                if (row)
                    stream_fields_swap(row->fields, row->field_count, at + 8);
                rec->head = __builtin_bswap32(head);
                rec->aux = __builtin_bswap32(rec->aux);
                at += words * 8;
            }
        }
        stream_fields_swap(stream_page_fields, stream_page_field_count, page);
        offset += size;
    }
    stream_fields_swap(stream_header_fields, stream_header_field_count, make->bytes);
}

static inline bool make_save(const struct make *make, const char *path)
{
    FILE *out = fopen(path, "wb");
    bool ok = out && fwrite(make->bytes, 1, make->size, out) == make->size;
    return out && fclose(out) == 0 && ok;
}

#endif
