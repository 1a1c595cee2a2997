/* Test support: pages of instrumented programs, made in memory beside those of stream_make_test.h, without the recorder. */
#ifndef LAMELLA_READER_EVENT_MAKE_TEST_H
#define LAMELLA_READER_EVENT_MAKE_TEST_H

#include "reader/stream_make_test.h"

enum { EVENT_MAKE_LANES = 16 };

struct event_make {
    struct make *make;
    struct make_writer lanes[EVENT_MAKE_LANES]; /* EVENTS */
    struct make_writer records;
    struct make_writer trees[EVENT_MAKE_LANES];
    uint32_t tree_nodes[EVENT_MAKE_LANES];
    uint32_t owner[EVENT_MAKE_LANES];
    uint64_t base[EVENT_MAKE_LANES];
};

/* A stream of the library, at a tick. */
static inline struct event_make event_make_open(uint32_t pid, uint64_t start_ticks)
{
    struct event_make em = {.make = make_open(pid, 1, start_ticks)};
    make_header(em.make)->producer = STREAM_PRODUCER_LIBRARY;
    return em;
}

static inline void event_make_record(struct event_make *em, uint32_t type, uint32_t aux,
                                     const void *fixed, size_t fixed_bytes, const void *text,
                                     size_t text_bytes)
{
    em->records.kind = STREAM_PAGE_RECORDS;
    em->records.thread = 1;
    make_append(em->make, &em->records, type, aux, fixed, fixed_bytes, text, text_bytes);
}

static inline void event_make_string_n(struct event_make *em, uint32_t id, const char *text,
                                       size_t size)
{
    size_t at = 0;
    do {
        size_t piece = size - at < 3000 ? size - at : 3000;
        struct stream_rec_string rec = {(uint32_t)size, (uint32_t)at, (uint32_t)piece, 0};
        event_make_record(em, STREAM_REC_STRING, id, &rec, sizeof rec, text + at, piece);
        at += piece;
    } while (at < size);
}

static inline void event_make_string(struct event_make *em, uint32_t id, const char *text)
{
    event_make_string_n(em, id, text, strlen(text));
}

static inline void event_make_composed(struct event_make *em, uint32_t id, uint32_t flags,
                                       const uint32_t *parts, uint32_t count)
{
    struct stream_rec_composed rec = {count, flags};
    event_make_record(em, STREAM_REC_COMPOSED, id, &rec, sizeof rec, parts, count * sizeof *parts);
}

static inline void event_make_kind(struct event_make *em, uint32_t number, uint32_t name,
                                   uint32_t label, uint32_t space, uint32_t weight, uint32_t flags)
{
    struct stream_rec_kind rec = {name, label, space, weight, flags, 0};
    event_make_record(em, STREAM_REC_KIND, number, &rec, sizeof rec, NULL, 0);
}

static inline void event_make_name(struct event_make *em, uint32_t space, uint32_t id,
                                   const char *text)
{
    uint32_t size = (uint32_t)strlen(text);
    struct stream_rec_names rec = {1, size};
    char tail[512];
    if (size > sizeof tail - 8)
        abort();
    memcpy(tail, &id, 4);
    memcpy(tail + 4, &size, 4);
    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): its length stands beside it
    memcpy(tail + 8, text, size);
    event_make_record(em, STREAM_REC_NAMES, space, &rec, sizeof rec, tail, size + 8);
}

static inline void event_make_map(struct event_make *em, uint32_t space, uint32_t id, uint32_t string)
{
    struct stream_rec_map rec = {1, 0};
    uint32_t pair[2] = {id, string};
    event_make_record(em, STREAM_REC_MAP, space, &rec, sizeof rec, pair, sizeof pair);
}

static inline void event_make_track(struct event_make *em, uint32_t track, uint64_t ticks,
                                    uint32_t name)
{
    struct stream_rec_track rec = {ticks, name, 0};
    event_make_record(em, STREAM_REC_TRACK, track, &rec, sizeof rec, NULL, 0);
}

static inline uint64_t event_make_raw(struct event_make *em, uint32_t lane, uint64_t head,
                                      uint64_t rest)
{
    struct make_writer *writer = &em->lanes[lane];
    writer->kind = STREAM_PAGE_EVENTS;
    writer->thread = lane;
    uint64_t slot[2] = {head, rest};
    memcpy(make_slot(em->make, writer, sizeof slot), slot, sizeof slot);
    return (uint64_t)(writer->sequence - 1) << 16 | (writer->used - sizeof slot) / sizeof slot;
}

/* A slot; returns its ref. A new page begins with its owner, as the format demands. */
static inline uint64_t event_make_slot(struct event_make *em, uint32_t lane, uint32_t id,
                                       uint32_t code, uint64_t ticks, uint64_t payload)
{
    struct make_writer *writer = &em->lanes[lane];
    bool is_new = !writer->page || writer->size - writer->used < 2 * sizeof(struct stream_slot);
    if (is_new && writer->page) /* the rest of the page stays empty */
        writer->used = writer->size;
    em->make->now = ticks;
    if (is_new && em->owner[lane] && code != STREAM_SLOT_OWNER)
        event_make_raw(em, lane, stream_slot_head(em->owner[lane], STREAM_SLOT_OWNER, 0),
                       stream_slot_rest(0, 100 + em->owner[lane]));
    if (!is_new && ticks < em->base[lane]) {
        event_make_raw(em, lane, stream_slot_head(0, STREAM_SLOT_BASE, 0), ticks);
        em->base[lane] = ticks;
    }
    if (is_new)
        em->base[lane] = ticks;
    uint64_t time = ticks - em->base[lane];
    return event_make_raw(em, lane, stream_slot_head(id, code, time),
                          stream_slot_rest(time, payload));
}

/* More about the slot before. bits: of word 0 from 40 on. */
static inline void event_make_more(struct event_make *em, uint32_t lane, uint32_t id, uint32_t code,
                                   uint32_t bits, uint64_t value)
{
    event_make_raw(em, lane, stream_slot_head(id, code, bits), value);
}

/* Threads have the tid 100 + index. */
static inline void event_make_owner(struct event_make *em, uint32_t lane, uint32_t thread,
                                    uint64_t ticks)
{
    em->owner[lane] = thread;
    event_make_slot(em, lane, thread, STREAM_SLOT_OWNER, ticks, 100 + thread);
}

/* An interval with its end in place; end UINT64_MAX: without. */
static inline uint64_t event_make_interval(struct event_make *em, uint32_t lane, uint32_t kind,
                                           uint32_t id, uint64_t start, uint64_t end)
{
    return event_make_slot(em, lane, id, kind, start, end == UINT64_MAX ? 0 : end - start + 1);
}

static inline void event_make_text_arg(struct event_make *em, uint32_t lane, uint32_t name,
                                       const char *text)
{
    size_t size = strlen(text);
    event_make_more(em, lane, name, STREAM_SLOT_ARG, STREAM_ARG_TEXT, size);
    for (size_t at = 0; at < size; at += STREAM_TEXT_BYTES) {
        unsigned char bytes[STREAM_TEXT_BYTES] = {0};
        memcpy(bytes, text + at, size - at < sizeof bytes ? size - at : sizeof bytes);
        uint64_t head = (uint64_t)STREAM_SLOT_TEXT << STREAM_SLOT_CODE_SHIFT, rest = 0;
        for (unsigned i = 0; i < 4; i++)
            head |= (uint64_t)bytes[i] << (8 * i);
        for (unsigned i = 4; i < 7; i++)
            head |= (uint64_t)bytes[i] << (8 * (i + 1));
        for (unsigned i = 0; i < 8; i++)
            rest |= (uint64_t)bytes[7 + i] << (8 * i);
        event_make_raw(em, lane, head, rest);
    }
}

static inline void event_make_fold(struct event_make *em, uint32_t lane, uint32_t kind, uint32_t id,
                                   uint64_t ticks, uint64_t ref, uint64_t count, uint64_t total,
                                   uint64_t self)
{
    event_make_slot(em, lane, id, STREAM_SLOT_FOLD, ticks, ref);
    event_make_more(em, lane, kind, STREAM_SLOT_KIND, 0, ref ? lane : 0);
    event_make_more(em, lane, 0, STREAM_SLOT_COUNT, 0, count);
    event_make_more(em, lane, 0, STREAM_SLOT_TOTAL, 0, total);
    event_make_more(em, lane, 0, STREAM_SLOT_SELF, 0, self);
}

/* A node of a lane's tree (the first page only); returns its number. */
static inline uint32_t event_make_node(struct event_make *em, uint32_t lane,
                                       struct stream_tree_node node)
{
    struct make_writer *writer = &em->trees[lane];
    writer->kind = STREAM_PAGE_TREE;
    writer->thread = lane;
    memcpy(make_slot(em->make, writer, sizeof node), &node, sizeof node);
    return ++em->tree_nodes[lane];
}

static inline void event_make_thread(struct event_make *em, uint32_t thread, uint64_t ticks,
                                     const char *name)
{
    struct stream_rec_thread rec = {
        .ticks = ticks, .tid = 100 + thread, .origin = 2, .name_bytes = (uint8_t)strlen(name)};
    event_make_record(em, STREAM_REC_THREAD, thread, &rec, sizeof rec, name, strlen(name));
}

#endif
