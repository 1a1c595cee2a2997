/* labels.c: interned strings.
 *
 * 64 shards by hash, each an open-addressing table of pointers to entries that never move and never change. Looking up takes
 * no lock: a slot is filled once, with release, and a table that grows is replaced by a copy while the old one stays as it is
 * for whoever is still in it. Something new is added under the shard's lock with signals blocked, and is written to the stream
 * before its id is given to anybody. */
#include "recorder/recorder_state.h"

#include "core/bytes.h"

enum {
    FIRST_CAPACITY = 64,
    ARENA_BYTES = 64 * 1024,
    LABEL_BYTES_MAX = 1 << 30,
    PARTS_MAX = 1000,
    PIECE_MAX = STREAM_PAGE_MAX / 2, /* of a string in one record; a multiple of 8 */
};

struct label_entry {
    uint64_t hash;
    uint32_t id;
    uint32_t size; /* of the bytes; of a composed one, of its ids */
    uint32_t is_composed;
    uint32_t flags; /* enum stream_composed_flag */
    uint8_t bytes[];
};

struct label_table {
    uint64_t mask;
    struct label_entry *slots[];
};

struct label_key {
    const uint8_t *bytes;
    uint32_t size;
    uint32_t is_composed;
    uint32_t flags;
    uint64_t hash;
};

static uint64_t hash_bytes(const uint8_t *bytes, size_t size, uint64_t seed)
{
    uint64_t hash = seed ^ size * 0x9e3779b97f4a7c15ull;
    while (size >= 8) {
        uint64_t word;
        __builtin_memcpy(&word, bytes, 8);
        hash = (hash ^ word) * 0xff51afd7ed558ccdull;
        hash ^= hash >> 29;
        bytes += 8;
        size -= 8;
    }
    uint64_t rest = 0;
    for (size_t i = 0; i < size; i++)
        rest |= (uint64_t)bytes[i] << 8 * i;
    hash = (hash ^ rest) * 0xc4ceb9fe1a85ec53ull;
    return hash ^ hash >> 32;
}

static int is_same(const struct label_entry *entry, const struct label_key *key)
{
    return entry->hash == key->hash && entry->size == key->size &&
           entry->is_composed == key->is_composed && entry->flags == key->flags &&
           __builtin_memcmp(entry->bytes, key->bytes, key->size) == 0;
}

static struct label_shard *shard_of(struct lam_recorder *rec, uint64_t hash, uint32_t *number)
{
    *number = (uint32_t)(hash >> 58);
    return &rec->lexicon->shards[*number];
}

static const struct label_entry *look_up(const struct label_shard *shard, const struct label_key *key)
{
    /* acquire: pairs with the releases in grow() and insert(). */
    const struct label_table *table = __atomic_load_n(&shard->table, __ATOMIC_ACQUIRE);
    if (!table)
        return NULL;
    for (uint64_t at = key->hash & table->mask;; at = (at + 1) & table->mask) {
        const struct label_entry *entry = __atomic_load_n(&table->slots[at], __ATOMIC_ACQUIRE);
        if (!entry || is_same(entry, key))
            return entry;
    }
}

static void insert(struct label_table *table, struct label_entry *entry)
{
    uint64_t at = entry->hash & table->mask;
    while (table->slots[at])
        at = (at + 1) & table->mask;
    __atomic_store_n(&table->slots[at], entry, __ATOMIC_RELEASE);
}

/* At most half full. */
static int grow(struct label_shard *shard)
{
    struct label_table *old = shard->table;
    uint64_t capacity = old ? (old->mask + 1) * 2 : FIRST_CAPACITY;
    struct label_table *table = lexicon_memory(sizeof *table + capacity * sizeof table->slots[0]);
    if (!table)
        return LAM_E_NOMEM;
    table->mask = capacity - 1;
    for (uint64_t i = 0; old && i <= old->mask; i++)
        if (old->slots[i])
            insert(table, old->slots[i]);
    __atomic_store_n(&shard->table, table, __ATOMIC_RELEASE);
    return LAM_OK;
}

/* One word says what is left: a fork in the middle of this, by another thread, leaves the child one of its two values. */
static void *take_from_arena(struct label_shard *shard, uint32_t bytes)
{
    uint32_t left = __atomic_load_n(&shard->arena_left, __ATOMIC_RELAXED);
    if (bytes > left) {
        uint8_t *arena = lexicon_memory(ARENA_BYTES);
        if (!arena)
            return NULL;
        /* release: the child never has the new arena's end with more left than is there. */
        __atomic_store_n(&shard->arena_left, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&shard->arena_end, arena + ARENA_BYTES, __ATOMIC_RELEASE);
        left = ARENA_BYTES;
    }
    __atomic_store_n(&shard->arena_left, left - bytes, __ATOMIC_RELEASE);
    return shard->arena_end - left;
}

static struct label_entry *new_entry(struct label_shard *shard, const struct label_key *key)
{
    size_t bytes = (sizeof(struct label_entry) + key->size + 7) & ~(size_t)7;
    struct label_entry *entry;
    if (bytes > ARENA_BYTES / 4) {
        entry = lexicon_memory(bytes);
    } else {
        entry = take_from_arena(shard, (uint32_t)bytes);
    }
    if (!entry)
        return NULL;
    entry->hash = key->hash;
    entry->size = key->size;
    entry->is_composed = key->is_composed;
    entry->flags = key->flags;
    __builtin_memcpy(entry->bytes, key->bytes, key->size);
    return entry;
}

/* ---- the stream ---- */

static void tell_composed(struct lane *lane, const struct label_entry *entry, uint64_t now)
{
    struct stream_rec_composed record = {.count = entry->size / 4, .flags = entry->flags};
    struct stream_piece pieces[] = {{&record, sizeof record}, {entry->bytes, entry->size}};
    lane_append(lane, STREAM_REC_COMPOSED, entry->id, pieces, 2, now);
}

static void tell(struct lane *lane, const struct label_entry *entry, uint64_t now)
{
    if (entry->is_composed) {
        tell_composed(lane, entry, now);
        return;
    }
    uint32_t offset = 0;
    do {
        uint32_t bytes =
            entry->size - offset > PIECE_MAX ? (uint32_t)PIECE_MAX : entry->size - offset;
        struct stream_rec_string record = {
            .total_bytes = entry->size, .offset = offset, .piece_bytes = bytes};
        struct stream_piece pieces[] = {{&record, sizeof record}, {entry->bytes + offset, bytes}};
        lane_append(lane, STREAM_REC_STRING, entry->id, pieces, 2, now);
        offset += bytes;
    } while (offset < entry->size);
}

void labels_tell(struct lane *lane)
{
    struct lexicon *lexicon = lane->rec->lexicon;
    uint64_t now = clock_ticks(lane->rec->stream.use_counter);
    for (uint32_t i = 0; i < RECORDER_SHARDS; i++) {
        /* The lock: what a thread was adding for the recorder that was open before is there when it is passed. */
        futex_lock(&lexicon->locks->shard[i]);
        const struct label_table *table = lexicon->shards[i].table;
        for (uint64_t at = 0; table && at <= table->mask; at++) {
            const struct label_entry *entry = __atomic_load_n(&table->slots[at], __ATOMIC_ACQUIRE);
            if (entry)
                tell(lane, entry, now);
        }
        futex_unlock(&lexicon->locks->shard[i]);
    }
}

/* ---- interning ---- */

/* Under the shard's lock. Returns 0 when there is no memory, or the recorder was closed meanwhile. */
static uint32_t add(struct lane *lane, struct label_shard *shard, const struct label_key *key)
{
    const struct label_entry *known = look_up(shard, key);
    if (known)
        return known->id;
    /* A label that was told to a closed recording would have no text in the next one. */
    if (lane->generation != recorder_generation(lane->rec))
        return 0;
    if (!shard->table || shard->count * 2ull > shard->table->mask)
        if (grow(shard) < 0)
            return 0;
    struct label_entry *entry = new_entry(shard, key);
    if (!entry)
        return 0;
    entry->id = __atomic_add_fetch(&lane->rec->lexicon->next_label, 1, __ATOMIC_RELAXED);
    tell(lane, entry, clock_ticks(lane->rec->stream.use_counter));
    insert(shard->table, entry);
    shard->count++;
    return entry->id;
}

static uint32_t intern(struct lam_recorder *rec, const struct label_key *key)
{
    uint32_t number;
    struct label_shard *shard = shard_of(rec, key->hash, &number);
    const struct label_entry *known = look_up(shard, key);
    if (known)
        return known->id;
    struct lane *lane = lane_of(rec->is_default ? LAM_DEFAULT : rec);
    if (!lane)
        return 0;
    uint64_t signals = signals_block();
    uint32_t id = 0;
    /* Busy with its records already: a handler of a fault came in between. */
    if (!lane->changing) {
        lane->changing = 1;
        uint32_t *lock = &lane->rec->lexicon->locks->shard[number];
        futex_lock(lock);
        id = add(lane, shard, key);
        futex_unlock(lock);
        lane->changing = 0;
    }
    signals_restore(signals);
    return id;
}

uint32_t label_intern_id(struct lam_recorder *rec, const char *bytes, size_t size)
{
    rec = recorder_of(rec);
    if (size == 0 || !rec->lexicon)
        return 0;
    struct label_key key = {.bytes = (const uint8_t *)bytes,
                            .size = size > LABEL_BYTES_MAX ? (uint32_t)LABEL_BYTES_MAX
                                                           : (uint32_t)size};
    key.hash = hash_bytes(key.bytes, key.size, 0);
    return intern(rec, &key);
}

struct lam_label lam_label_intern(struct lam_recorder *rec, const char *bytes, size_t size)
{
    struct lam_label none = {0};
    if (lam_is_off(rec) || (!bytes && size))
        return none;
    return (struct lam_label){label_intern_id(rec, bytes, size)};
}

struct lam_label lam_label_compose(struct lam_recorder *rec, const struct lam_label *parts,
                                   size_t count, enum lam_compose how)
{
    struct lam_label none = {0};
    if (lam_is_off(rec) || !recorder_of(rec)->lexicon || !count || count > PARTS_MAX)
        return none;
    rec = recorder_of(rec);
    uint32_t known = __atomic_load_n(&rec->lexicon->next_label, __ATOMIC_RELAXED);
    for (size_t i = 0; i < count; i++)
        if (parts[i].id > known)
            return none; /* of another recorder: it would refer forward */
    struct label_key key = {
        .bytes = (const uint8_t *)parts,
        .size = (uint32_t)(count * sizeof *parts),
        .is_composed = 1,
        .flags = how == LAM_COMPOSE_ARGS ? (uint32_t)STREAM_COMPOSED_ARGS : 0,
    };
    key.hash = hash_bytes(key.bytes, key.size, 1 + key.flags);
    return (struct lam_label){intern(rec, &key)};
}
