/* Writes a stream of a program that recorded itself, for bench/instrumented: make_events FILE INTERVALS LANES DEPTH SHAPE
 * SHAPE: scopes (an end in each slot), later (stored when they are over), tracks (each lane switches among 100 of them).
 * Trees of calls as deep as DEPTH, 100 labels, an argument at each hundredth. It writes what the format says, and nothing of
 * the recorder: what is measured is reading. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/layout.h"

static FILE *out;
static uint64_t written = STREAM_HEADER_BYTES;

struct lane {
    uint32_t number, sequence, used;
    uint32_t track;
    uint64_t base;
    uint64_t root; /* when the outermost call began: nothing that is stored later began before */
    uint8_t page[STREAM_PAGE_MAX];
};

static void flush_page(struct lane *lane)
{
    if (!lane->used)
        return;
    struct stream_page head = {
        .magic = STREAM_PAGE_MAGIC,
        .kind = STREAM_PAGE_EVENTS,
        .size_bytes = STREAM_PAGE_MAX,
        .thread = lane->number,
        .self_offset = written,
        .base_ticks = lane->base,
        .sequence = lane->sequence++,
        .tid = 1000 + lane->number,
    };
    memcpy(lane->page, &head, sizeof head);
    if (fwrite(lane->page, 1, sizeof lane->page, out) != sizeof lane->page)
        exit(1);
    memset(lane->page, 0, sizeof lane->page);
    written += STREAM_PAGE_MAX;
    lane->used = 0;
}

static void put(struct lane *lane, uint32_t id, uint32_t code, uint64_t time, uint64_t payload);

/* Room for one slot; a new page begins with its owner and its track. */
static void make_room(struct lane *lane, uint64_t time)
{
    if (lane->used && lane->used + 32 <= STREAM_PAGE_MAX)
        return;
    flush_page(lane);
    lane->used = STREAM_PAGE_HEADER_BYTES;
    lane->base = lane->root < time ? lane->root : time;
    put(lane, lane->number, STREAM_SLOT_OWNER, lane->base, 1000 + lane->number);
    if (lane->track)
        put(lane, lane->track, STREAM_SLOT_TRACK_SWITCH, lane->base, 0);
}

static void put(struct lane *lane, uint32_t id, uint32_t code, uint64_t time, uint64_t payload)
{
    struct stream_slot slot = {stream_slot_head(id, code, time - lane->base),
                               stream_slot_rest(time - lane->base, payload)};
    memcpy(lane->page + lane->used, &slot, sizeof slot);
    lane->used += (uint32_t)sizeof slot;
}

static void put_event(struct lane *lane, uint32_t id, uint32_t code, uint64_t start, uint64_t end)
{
    make_room(lane, start);
    put(lane, id, code, start, end - start + 1);
}

struct shape {
    int is_later, has_tracks;
    uint32_t depth;
};

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t most)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % most;
}

/* A call with calls in it, `left` of them at most; returns its end. */
static uint64_t call(struct lane *lane, const struct shape *shape, uint32_t level, uint64_t start,
                     uint64_t *left)
{
    static uint64_t ends[64];
    uint32_t label = 3 + random_below(100);
    uint64_t at = start + 20 + random_below(50);
    --*left;
    /* Its length is known before it is written: children take 200 ticks each below, times what they may have. */
    uint64_t room = 100;
    for (uint32_t i = level; i < shape->depth; i++)
        room *= 3;
    ends[level] = start + room;
    if (!shape->is_later)
        put_event(lane, label, 32, start, ends[level]);
    for (int i = 0; i < 2 && level < shape->depth && *left; i++) {
        if (random_below(4))
            at = call(lane, shape, level + 1, at, left) + 5;
    }
    if (shape->is_later)
        put_event(lane, label, 33, start, ends[level]);
    return ends[level];
}

static void record(uint8_t *page, uint32_t *used, uint32_t type, uint32_t aux, const void *fixed,
                   uint32_t fixed_bytes, const char *text)
{
    uint32_t bytes = (8 + fixed_bytes + (uint32_t)strlen(text) + 7) & ~7u;
    uint32_t head[2] = {stream_record_head(type, bytes / 8), aux};
    memcpy(page + *used, head, sizeof head);
    memcpy(page + *used + 8, fixed, fixed_bytes);
    memcpy(page + *used + 8 + fixed_bytes, text, strlen(text));
    *used += bytes;
}

static void put_names(void)
{
    static uint8_t page[16384];
    uint32_t used = STREAM_PAGE_HEADER_BYTES;
    for (uint32_t id = 1; id <= 102; id++) {
        char text[32];
        int size = snprintf(text, sizeof text,
                            id == 1   ? "Call"
                            : id == 2 ? "item"
                                      : "function_%u",
                            id);
        struct stream_rec_string string = {(uint32_t)size, 0, (uint32_t)size, 0};
        record(page, &used, STREAM_REC_STRING, id, &string, sizeof string, text);
    }
    struct stream_rec_kind kind = {.name = 1, .weight = 1};
    record(page, &used, STREAM_REC_KIND, 32, &kind, sizeof kind, "");
    kind.flags = STREAM_KIND_LATER;
    record(page, &used, STREAM_REC_KIND, 33, &kind, sizeof kind, "");
    struct stream_page head = {.magic = STREAM_PAGE_MAGIC,
                               .kind = STREAM_PAGE_RECORDS,
                               .size_bytes = sizeof page,
                               .thread = 1,
                               .self_offset = written};
    memcpy(page, &head, sizeof head);
    fwrite(page, 1, sizeof page, out);
    written += sizeof page;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    uint64_t intervals = strtoull(argv[2], NULL, 10);
    uint32_t lanes = (uint32_t)atoi(argv[3]);
    struct shape shape = {strcmp(argv[5], "later") == 0, strcmp(argv[5], "tracks") == 0,
                          (uint32_t)atoi(argv[4])};
    if (lanes == 0 || shape.depth > 20)
        return 2;
    out = fopen(argv[1], "wb");
    static struct stream_header header;
    header = (struct stream_header){
        .byte_order = STREAM_BYTE_ORDER,
        .version_major = STREAM_VERSION_MAJOR,
        .version_minor = STREAM_VERSION_MINOR,
        .arch = 62,
        .producer = STREAM_PRODUCER_LIBRARY,
        .clock = STREAM_CLOCK_TSC,
        .tick_rate_hz = 2000000000,
        .start_ticks = 1000000,
        .start_mono_ns = 500000,
        .pid = 1000,
    };
    memcpy(header.magic, STREAM_MAGIC, 8);
    if (!out || fwrite(&header, 1, sizeof header, out) != sizeof header)
        return 1;
    put_names();
    struct lane *all = calloc(lanes, sizeof *all);
    uint64_t *now = calloc(lanes, sizeof *now);
    if (!all || !now)
        return 1;
    for (uint32_t i = 0; i < lanes; i++) {
        all[i].number = i + 1;
        now[i] = 2000000;
    }
    for (uint64_t left = intervals, turn = 0; left > 0; turn++) {
        uint32_t i = (uint32_t)(turn % lanes);
        struct lane *lane = &all[i];
        if (shape.has_tracks) {
            make_room(lane, now[i]);
            lane->track = (uint32_t)(1 + (turn * 7 + i) % (100 * lanes) / lanes * lanes + i);
            put(lane, lane->track, STREAM_SLOT_TRACK_SWITCH, now[i], 0);
        }
        lane->root = now[i];
        now[i] = call(lane, &shape, 0, now[i] + 10, &left) + 100;
    }
    for (uint32_t i = 0; i < lanes; i++)
        flush_page(&all[i]);
    header.next_offset = written;
    if (fseek(out, 0, SEEK_SET) || fwrite(&header, 1, sizeof header, out) != sizeof header)
        return 1;
    free(all);
    free(now);
    return fclose(out) != 0;
}
