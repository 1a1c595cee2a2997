/* decode_test.h: reads a stream file of the library back, for its tests: by the book (docs/format.md) and by nothing else of
 * ours but the structures. */
#ifndef LAMELLA_RECORDER_DECODE_TEST_H
#define LAMELLA_RECORDER_DECODE_TEST_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "stream/layout.h"

struct decoded_event {
    uint32_t lane, thread, tid, track, sequence, slot;
    uint32_t code; /* control code, or 32 and up: number of the kind */
    uint32_t id;
    uint64_t start;
    uint64_t payload;
    uint64_t end; /* intervals; 0: open */
    int ended_elsewhere;
    uint32_t end_thread;
    const struct stream_slot *more; /* the slots behind it */
    uint32_t more_count;
    const struct stream_slot *end_more; /* behind the END slot, of one that ended elsewhere */
};

struct decoded {
    uint8_t *bytes;
    size_t size;
    const struct stream_header *header;
    struct decoded_event *events;
    size_t count, capacity;
    uint32_t pages[20]; /* by kind */
};

static const struct stream_page *decoded_page(const struct decoded *in, size_t at)
{
    const struct stream_page *page = (const struct stream_page *)(const void *)(in->bytes + at);
    if (at + sizeof *page > in->size || page->magic != STREAM_PAGE_MAGIC || page->self_offset != at ||
        page->size_bytes % 4096 || page->size_bytes < 4096 || page->size_bytes > STREAM_PAGE_MAX)
        return NULL;
    return page;
}

static inline int is_more(uint32_t code)
{
    return code >= 16 && code < 32;
}

static inline void decode_slots(struct decoded *in, const struct stream_page *page)
{
    const struct stream_slot *slots = (const struct stream_slot *)(const void *)page;
    uint64_t base = page->base_ticks;
    uint32_t thread = 0, tid = 0, track = 0, end = page->size_bytes / 16;
    struct decoded_event *last = NULL;
    assert_int_equal(stream_slot_code(&slots[4]), STREAM_SLOT_OWNER);
    for (uint32_t i = 4; i < end; i++) {
        uint32_t code = stream_slot_code(&slots[i]);
        if (is_more(code)) {
            if (last && !last->more_count++)
                last->more = &slots[i];
            if (last && code == STREAM_SLOT_KIND && last->code == STREAM_SLOT_KIND_ELSEWHERE)
                last->code = stream_slot_id(&slots[i]);
            continue;
        }
        last = NULL;
        if (code == STREAM_SLOT_BASE)
            base = slots[i].rest;
        if (code == STREAM_SLOT_NONE || code == STREAM_SLOT_BASE)
            continue;
        uint32_t id = stream_slot_id(&slots[i]);
        if (code == STREAM_SLOT_OWNER) {
            thread = id;
            tid = (uint32_t)stream_slot_payload(&slots[i]);
            track = 0;
        }
        if (code == STREAM_SLOT_TRACK_SWITCH)
            track = id;
        if (in->count == in->capacity) {
            in->capacity = in->capacity ? in->capacity * 2 : 256;
            in->events = realloc(in->events, in->capacity * sizeof *in->events);
        }
        last = &in->events[in->count++];
        memset(last, 0, sizeof *last);
        last->lane = page->thread;
        last->sequence = page->sequence;
        last->slot = i;
        last->thread = thread;
        last->tid = tid;
        last->track = track;
        last->code = code;
        last->id = id;
        last->start = base + stream_slot_time(&slots[i]);
        last->payload = stream_slot_payload(&slots[i]);
        if (code >= 32 && last->payload)
            last->end = last->start + last->payload - 1;
    }
}

static inline int by_place(const void *left, const void *right)
{
    const struct decoded_event *a = left, *b = right;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return a->slot < b->slot ? -1 : a->slot > b->slot;
}

static inline struct decoded_event *decoded_ref(struct decoded *in, uint32_t lane, uint64_t ref)
{
    struct decoded_event key = {
        .lane = lane, .sequence = (uint32_t)(ref >> 16), .slot = (uint32_t)(ref & 0xffff)};
    return in->count ? bsearch(&key, in->events, in->count, sizeof key, by_place) : NULL;
}

static inline void decode(struct decoded *in, const char *path)
{
    struct stat st;
    memset(in, 0, sizeof *in);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    in->size = (size_t)st.st_size;
    in->bytes = malloc(in->size);
    for (size_t at = 0; at < in->size;) {
        ssize_t got = read(fd, in->bytes + at, in->size - at);
        assert_true(got > 0);
        at += (size_t)got;
    }
    close(fd);
    in->header = (const struct stream_header *)(const void *)in->bytes;
    assert_memory_equal(in->header->magic, STREAM_MAGIC, 8);
    assert_int_equal(in->header->producer, STREAM_PRODUCER_LIBRARY);
    for (size_t at = 4096; at < in->size;) {
        const struct stream_page *page = decoded_page(in, at);
        if (page && page->kind < 20)
            in->pages[page->kind]++;
        if (page && page->kind == STREAM_PAGE_EVENTS)
            decode_slots(in, page);
        at += page ? page->size_bytes : 4096;
    }
    if (in->count)
        qsort(in->events, in->count, sizeof *in->events, by_place);
    for (size_t i = 0; i < in->count; i++) {
        struct decoded_event *end = &in->events[i];
        struct decoded_event *of =
            end->code == STREAM_SLOT_END ? decoded_ref(in, end->id, end->payload) : NULL;
        if (of && !of->end) {
            of->end = end->start;
            of->ended_elsewhere = 1;
            of->end_more = end->more;
            of->end_thread = end->thread;
        }
    }
}

static inline void decoded_free(struct decoded *in)
{
    free(in->bytes);
    free(in->events);
    memset(in, 0, sizeof *in);
}

/* The nth record of a type for which `match` (NULL: all) is true. */
static inline const struct stream_record *decoded_record(const struct decoded *in, uint32_t type,
                                                         uint32_t aux, unsigned nth)
{
    for (size_t at = 4096; at < in->size;) {
        const struct stream_page *page = decoded_page(in, at);
        size_t end = at + (page ? page->size_bytes : 4096);
        for (size_t rec_at = at + 64;
             page && page->kind == STREAM_PAGE_RECORDS && rec_at + 8 <= end;) {
            const struct stream_record *rec =
                (const struct stream_record *)(const void *)(in->bytes + rec_at);
            if (!rec->head)
                break;
            assert_true((rec->head >> 16) * 8 <= end - rec_at);
            if ((rec->head & 0xffff) == type && (aux == UINT32_MAX || rec->aux == aux) && nth-- == 0)
                return rec;
            rec_at += (rec->head >> 16) * (size_t)8;
        }
        at = end;
    }
    return NULL;
}

/* The text of a string, in pieces or composed; static storage. "" for none. */
static inline const char *decoded_string(const struct decoded *in, uint32_t id)
{
    static char text[2 << 20];
    size_t used = 0;
    text[0] = 0;
    const struct stream_record *composed = decoded_record(in, STREAM_REC_COMPOSED, id, 0);
    if (composed) {
        const struct stream_rec_composed *body = (const void *)(composed + 1);
        const uint32_t *parts = (const uint32_t *)(body + 1);
        char all[4096] = "";
        for (uint32_t i = 0; i < body->count; i++) {
            assert_true(parts[i] < id);
            if (i && body->flags & STREAM_COMPOSED_ARGS)
                strcat(all, "|");
            strcat(all, decoded_string(in, parts[i]));
        }
        return strcpy(text, all);
    }
    for (unsigned n = 0;; n++) {
        const struct stream_record *rec = decoded_record(in, STREAM_REC_STRING, id, n);
        if (!rec)
            break;
        const struct stream_rec_string *piece = (const void *)(rec + 1);
        memcpy(text + piece->offset, piece + 1, piece->piece_bytes);
        used += piece->piece_bytes;
        text[used] = 0;
        if (used >= piece->total_bytes)
            break;
    }
    return text;
}

static inline const struct stream_rec_kind *decoded_kind(const struct decoded *in, uint32_t number)
{
    const struct stream_record *rec = decoded_record(in, STREAM_REC_KIND, number, 0);
    return rec ? (const struct stream_rec_kind *)(const void *)(rec + 1) : NULL;
}

/* What an event is called. */
static inline const char *decoded_name(const struct decoded *in, const struct decoded_event *event)
{
    const struct stream_rec_kind *kind = decoded_kind(in, event->code);
    if (!kind)
        return "(no kind)";
    return decoded_string(in, kind->space ? kind->label : event->id);
}

static inline struct decoded_event *decoded_find(struct decoded *in, const char *name, unsigned nth)
{
    for (size_t i = 0; in->events && i < in->count; i++)
        if (in->events[i].code >= 32 && strcmp(decoded_name(in, &in->events[i]), name) == 0 &&
            nth-- == 0)
            return &in->events[i];
    return NULL;
}

/* A file of the name under /dev/shm that no other test has. */
static inline const char *scratch_file(const char *suffix)
{
    static char path[96];
    static unsigned number;
    snprintf(path, sizeof path, "/dev/shm/lamella-recorder-%d-%u%s", (int)getpid(), number++, suffix);
    return path;
}

#endif
