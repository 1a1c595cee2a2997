#include "base/map.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/memory.h"

/* Linear probing over 16-byte slots. Two keys mean "free" and "removed" inside a slot; the caller's
 * keys of these values live in two extra slots behind the table, so that every key is allowed and a
 * slot needs no state beside it. */
struct map_slot {
    uint64_t key;
    uint64_t value;
};

#define KEY_FREE    UINT64_C(0)
#define KEY_REMOVED UINT64_MAX

/* The extra slots hold {1, value} when their key is present. */
enum { EXTRA_FREE, EXTRA_REMOVED, EXTRA_COUNT };

static bool is_reserved(uint64_t key)
{
    return key == KEY_FREE || key == KEY_REMOVED;
}

static struct map_slot *extra_slot(const struct map *map, uint64_t key)
{
    return &map->slots[map->mask + 1 + (key == KEY_FREE ? EXTRA_FREE : EXTRA_REMOVED)];
}

/* Fibonacci hashing with the high half folded in: enough for ids, addresses and multiples of large
 * powers of two. */
static inline size_t slot_of(uint64_t key, size_t mask)
{
    uint64_t mixed = (key ^ (key >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed ^ (mixed >> 32)) & mask;
}

/* The slot that holds key, or the free one where the probe ends. */
static inline struct map_slot *find(const struct map *map, uint64_t key)
{
    size_t at = slot_of(key, map->mask);
    while (map->slots[at].key != key && map->slots[at].key != KEY_FREE)
        at = (at + 1) & map->mask;
    return &map->slots[at];
}

/* Every access to a large table goes to another page: with small pages the address translation
 * costs as much as the data (measured at 10 M random keys: 11 M inserts a second without, 16 M
 * with). */
static void ask_for_huge_pages(void *table, size_t size_bytes)
{
    const uintptr_t huge_bytes = 2u << 20;
    uintptr_t begin = ((uintptr_t)table + huge_bytes - 1) & ~(huge_bytes - 1);
    uintptr_t end = ((uintptr_t)table + size_bytes) & ~(huge_bytes - 1);
    int saved_errno = errno;
    if (size_bytes >= 2 * huge_bytes && end > begin)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE); /* NOLINT: only a wish */
    errno = saved_errno;
}

static int rehash(struct map *map, size_t slots)
{
    struct map grown = {.mask = slots - 1, .count = map->count};
    grown.slots = mem_zalloc(slots + EXTRA_COUNT, sizeof *grown.slots);
    if (!grown.slots)
        return LAM_E_NOMEM;
    ask_for_huge_pages(grown.slots, slots * sizeof *grown.slots);
    for (size_t i = 0; map->slots && i <= map->mask; i++) {
        if (is_reserved(map->slots[i].key))
            continue;
        *find(&grown, map->slots[i].key) = map->slots[i];
        grown.used++;
    }
    if (map->slots)
        memcpy(grown.slots + slots, map->slots + map->mask + 1, EXTRA_COUNT * sizeof *grown.slots);
    mem_free(map->slots);
    *map = grown;
    return LAM_OK;
}

/* At most 5/8 full: probes stay short with linear probing. */
static bool is_full(const struct map *map, size_t used)
{
    return !map->slots || used > (map->mask + 1) / 8 * 5;
}

int map_reserve(struct map *map, size_t count)
{
    if (count > SIZE_MAX / 2 / sizeof(struct map_slot) / 2)
        return LAM_E_NOMEM;
    size_t slots = 16;
    while (slots / 8 * 5 < count)
        slots *= 2;
    if (map->slots && slots <= map->mask + 1)
        return LAM_OK;
    return rehash(map, slots);
}

/* Room for one more key. Many removed keys are swept out in place of growing. */
static int make_room(struct map *map)
{
    if (!is_full(map, map->used + 1))
        return LAM_OK;
    size_t slots = map->slots ? map->mask + 1 : 8;
    return rehash(map, map->count >= slots / 4 ? slots * 2 : slots < 16 ? 16 : slots);
}

static uint64_t *reserved_slot(struct map *map, uint64_t key, uint64_t initial, bool *is_new)
{
    struct map_slot *slot = extra_slot(map, key);
    *is_new = !slot->key;
    if (!slot->key) {
        *slot = (struct map_slot){.key = 1, .value = initial};
        map->count++;
    }
    return &slot->value;
}

uint64_t *map_slot(struct map *map, uint64_t key, uint64_t initial, bool *added)
{
    bool is_new = false;
    uint64_t *value;
    if (make_room(map) < 0)
        return NULL;
    if (is_reserved(key)) {
        value = reserved_slot(map, key, initial, &is_new);
    } else {
        struct map_slot *slot = find(map, key);
        if (slot->key == KEY_FREE) {
            *slot = (struct map_slot){.key = key, .value = initial};
            map->count++;
            map->used++;
            is_new = true;
        }
        value = &slot->value;
    }
    if (added)
        *added = is_new;
    return value;
}

int map_put(struct map *map, uint64_t key, uint64_t value)
{
    uint64_t *slot = map_slot(map, key, value, NULL);
    if (!slot)
        return LAM_E_NOMEM;
    *slot = value;
    return LAM_OK;
}

bool map_get(const struct map *map, uint64_t key, uint64_t *value)
{
    if (!map->slots)
        return false;
    const struct map_slot *slot;
    if (is_reserved(key)) {
        slot = extra_slot(map, key);
        if (!slot->key)
            return false;
    } else {
        slot = find(map, key);
        if (slot->key == KEY_FREE)
            return false;
    }
    if (value)
        *value = slot->value;
    return true;
}

uint64_t map_get_or(const struct map *map, uint64_t key, uint64_t otherwise)
{
    map_get(map, key, &otherwise);
    return otherwise;
}

bool map_remove(struct map *map, uint64_t key)
{
    if (!map->slots)
        return false;
    struct map_slot *slot;
    if (is_reserved(key)) {
        slot = extra_slot(map, key);
        if (!slot->key)
            return false;
        slot->key = 0;
    } else {
        slot = find(map, key);
        if (slot->key == KEY_FREE)
            return false;
        slot->key = KEY_REMOVED; /* still counts as used until the next rehash */
    }
    map->count--;
    return true;
}

bool map_next(const struct map *map, size_t *at, uint64_t *key, uint64_t *value)
{
    if (!map->slots)
        return false;
    for (; *at <= map->mask; ++*at) {
        const struct map_slot *slot = &map->slots[*at];
        if (is_reserved(slot->key))
            continue;
        *key = slot->key;
        *value = slot->value;
        ++*at;
        return true;
    }
    for (; *at < map->mask + 1 + EXTRA_COUNT; ++*at) {
        const struct map_slot *slot = &map->slots[*at];
        if (!slot->key)
            continue;
        *key = *at == map->mask + 1 + EXTRA_FREE ? KEY_FREE : KEY_REMOVED;
        *value = slot->value;
        ++*at;
        return true;
    }
    return false;
}

void map_clear(struct map *map)
{
    if (map->slots)
        memset(map->slots, 0, (map->mask + 1 + EXTRA_COUNT) * sizeof *map->slots);
    map->count = 0;
    map->used = 0;
}

void map_free(struct map *map)
{
    mem_free(map->slots);
    *map = (struct map){0};
}

/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014), a bijection with full avalanche. */
uint64_t hash_u64(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

uint64_t hash_combine(uint64_t hash, uint64_t value)
{
    return hash_u64((hash << 23 | hash >> 41) + UINT64_C(0x9e3779b97f4a7c15) + value);
}

static inline uint64_t load_le64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

/* Both halves of the 128-bit product, folded. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes_seed(const void *bytes, size_t length, uint64_t seed)
{
    static const uint64_t k0 = UINT64_C(0x9e3779b97f4a7c15), k1 = UINT64_C(0xd1b54a32d192ed03);
    const uint8_t *at = bytes;
    uint64_t hash = seed ^ k0;
    size_t left = length;
    for (; left >= 16; left -= 16, at += 16)
        hash = mix(load_le64(at) ^ k1, load_le64(at + 8) ^ hash);
    uint64_t low = 0, high = 0;
    if (left >= 8) {
        low = load_le64(at);
        high = load_le64(at + left - 8); /* overlaps; the length tells them apart */
    } else {
        for (size_t i = 0; i < left; i++)
            low |= (uint64_t)at[i] << (8 * i);
    }
    hash = mix(low ^ k1, high ^ hash);
    return hash_u64(hash ^ (uint64_t)length * k0);
}

uint64_t hash_bytes(const void *bytes, size_t length)
{
    return hash_bytes_seed(bytes, length, 0);
}
