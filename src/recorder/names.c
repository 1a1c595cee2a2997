/* names.c: names of virtual ids, one or a million at a time. */
#include "recorder/slots.h"

#include "core/bytes.h"

enum {
    CHUNK_NAMES = 8192, /* in one record */
    CHUNK_BYTES = STREAM_PAGE_MAX / 2,
    NAME_BYTES_MAX = 65535,
};

int lam_wants_names(struct lam_recorder *rec)
{
    if (lam_is_off(rec))
        return 0;
    rec = recorder_of(rec);
    return recorder_generation(rec) && rec->wants_names;
}

static uint32_t name_bytes(const struct lam_name *name)
{
    return name->text_bytes > NAME_BYTES_MAX ? (uint32_t)NAME_BYTES_MAX : name->text_bytes;
}

/* How many of the names fit one record, and their text. */
static size_t chunk_of(const struct lam_name *names, size_t count, uint32_t *text_bytes)
{
    size_t n = 0;
    uint32_t bytes = 0;
    while (n < count && n < CHUNK_NAMES) {
        uint32_t more = name_bytes(&names[n]);
        if (n && bytes + more > CHUNK_BYTES)
            break;
        bytes += more;
        n++;
    }
    *text_bytes = bytes;
    return n;
}

/* A record whose body is written in place: reserved, filled, and only then given its head. Without room the cursor is unlocked
 * again. */
static struct stream_record *begin_record(struct lane *lane, size_t body_bytes, uint32_t *words)
{
    size_t size = (sizeof(struct stream_record) + body_bytes + 7) & ~(size_t)7;
    *words = (uint32_t)(size / 8);
    struct lam_recorder *rec = lane->rec;
    struct stream_record *record = stream_reserve(
        &rec->stream, lane_lock_records(lane), (uint32_t)size, clock_ticks(rec->stream.use_counter));
    if (!record)
        lane_unlock_records(lane);
    return record;
}

static void end_record(struct lane *lane, struct stream_record *record, uint32_t type, uint32_t aux,
                       uint32_t words)
{
    record->aux = aux;
    /* release: what is in the record is there before it counts. */
    __atomic_store_n(&record->head, stream_record_head(type, words), __ATOMIC_RELEASE);
    lane_unlock_records(lane);
}

static int put_names(struct lane *lane, uint32_t space, const struct lam_name *names, size_t count,
                     uint32_t text_bytes)
{
    uint32_t words;
    struct stream_rec_names *body;
    struct stream_record *record =
        begin_record(lane, sizeof *body + count * 2 * sizeof(uint32_t) + text_bytes, &words);
    if (!record)
        return LAM_E_FULL;
    body = (struct stream_rec_names *)(record + 1);
    body->count = (uint32_t)count;
    body->text_bytes = text_bytes;
    uint32_t *ids = (uint32_t *)(body + 1), *ends = ids + count, end = 0;
    uint8_t *text = (uint8_t *)(ends + count);
    for (size_t i = 0; i < count; i++) {
        uint32_t bytes = name_bytes(&names[i]);
        ids[i] = names[i].id;
        __builtin_memcpy(text + end, names[i].text, bytes);
        end += bytes;
        ends[i] = end;
    }
    end_record(lane, record, STREAM_REC_NAMES, space, words);
    return LAM_OK;
}

static int put_map(struct lane *lane, uint32_t space, const uint32_t *ids,
                   const struct lam_label *labels, size_t count)
{
    uint32_t words;
    struct stream_rec_map *body;
    struct stream_record *record =
        begin_record(lane, sizeof *body + count * 2 * sizeof(uint32_t), &words);
    if (!record)
        return LAM_E_FULL;
    body = (struct stream_rec_map *)(record + 1);
    body->count = (uint32_t)count;
    uint32_t *pair = (uint32_t *)(body + 1);
    for (size_t i = 0; i < count; i++) {
        *pair++ = ids[i];
        *pair++ = labels[i].id;
    }
    end_record(lane, record, STREAM_REC_MAP, space, words);
    return LAM_OK;
}

struct batch {
    uint32_t space;
    const struct lam_name *names; /* or, when NULL, the two others */
    const uint32_t *ids;
    const struct lam_label *labels;
    size_t count;
};

static int put_batch(struct lane *lane, const struct batch *batch)
{
    int rc = LAM_OK;
    for (size_t at = 0; at < batch->count && rc == LAM_OK;) {
        uint32_t text_bytes = 0;
        size_t n = batch->count - at < CHUNK_NAMES ? batch->count - at : (size_t)CHUNK_NAMES;
        if (batch->names)
            n = chunk_of(batch->names + at, batch->count - at, &text_bytes);
        uint64_t signals = signals_block();
        if (lane->changing)
            rc = LAM_E_FULL;
        else if (batch->names)
            rc = put_names(lane, batch->space, batch->names + at, n, text_bytes);
        else
            rc = put_map(lane, batch->space, batch->ids + at, batch->labels + at, n);
        signals_restore(signals);
        at += n;
    }
    return rc;
}

static int map_batch(struct lam_recorder *rec, const struct batch *batch)
{
    if (lam_is_off(rec))
        return LAM_E_CLOSED;
    if (!batch->space)
        return LAM_E_INVAL;
    struct lane *lane = lane_of(rec);
    if (!lane)
        return LAM_E_CLOSED;
    struct lam_recorder *own = lane->rec;
    if (!own->wants_names)
        return LAM_OK;
    struct lam_handle interval = lam_no_handle();
    if (batch->count > 1)
        interval = lam_begin_event(rec, own->names_kind, own->names_label);
    int rc = put_batch(lane, batch);
    lam_end(rec, interval);
    return rc;
}

int lam_name_ids(struct lam_recorder *rec, struct lam_space space, const struct lam_name *names,
                 size_t count)
{
    struct batch batch = {.space = space.id, .names = names, .count = count};
    return map_batch(rec, &batch);
}

int lam_map_ids(struct lam_recorder *rec, struct lam_space space, const uint32_t *ids,
                const struct lam_label *labels, size_t count)
{
    struct batch batch = {.space = space.id, .ids = ids, .labels = labels, .count = count};
    return map_batch(rec, &batch);
}
