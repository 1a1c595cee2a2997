/* pointer_map.h: what a plug-in knows about an object of its interpreter, by the object's address. Open addressing, grown to
 * twice its size when half full. One thread at a time (the interpreter's own lock). */
#ifndef LAMELLA_PLUGINS_POINTER_MAP_H
#define LAMELLA_PLUGINS_POINTER_MAP_H

#include <stdint.h>
#include <stdlib.h>

struct pointer_slot {
    const void *key; /* NULL: free */
    void *value;
    uint32_t number, more;
};

struct pointer_map { /* all zero: empty */
    struct pointer_slot *slots;
    uint32_t mask, count;
};

static inline uint32_t pointer_map_home(const struct pointer_map *map, const void *key)
{
    return (uint32_t)((uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15ull >> 32) & map->mask;
}

/* NULL: it is not there. The slot is good until something is added or removed. */
static inline struct pointer_slot *pointer_map_find(const struct pointer_map *map, const void *key)
{
    if (!map->slots)
        return NULL;
    for (uint32_t at = pointer_map_home(map, key);; at = (at + 1) & map->mask) {
        struct pointer_slot *slot = &map->slots[at];
        if (slot->key == key)
            return slot;
        if (!slot->key)
            return NULL;
    }
}

static inline struct pointer_slot *pointer_map_place(struct pointer_map *map, const void *key)
{
    uint32_t at = pointer_map_home(map, key);
    while (map->slots[at].key)
        at = (at + 1) & map->mask;
    return &map->slots[at];
}

/* Adds a key that is not there; its words are zero. NULL: no memory. */
static inline struct pointer_slot *pointer_map_add(struct pointer_map *map, const void *key)
{
    if (!map->slots || map->count * 2 > map->mask) {
        uint32_t mask = map->slots ? map->mask * 2 + 1 : 255;
        struct pointer_map larger = {calloc((size_t)mask + 1, sizeof *map->slots), mask, map->count};
        if (!larger.slots)
            return NULL;
        for (uint32_t i = 0; map->slots && i <= map->mask; i++)
            if (map->slots[i].key)
                *pointer_map_place(&larger, map->slots[i].key) = map->slots[i];
        free(map->slots);
        *map = larger;
    }
    struct pointer_slot *slot = pointer_map_place(map, key);
    *slot = (struct pointer_slot){key, NULL, 0, 0};
    map->count++;
    return slot;
}

/* Those behind it move up, so that no search ends too early. */
static inline void pointer_map_remove(struct pointer_map *map, struct pointer_slot *slot)
{
    uint32_t hole = (uint32_t)(slot - map->slots);
    map->count--;
    for (uint32_t at = hole;;) {
        at = (at + 1) & map->mask;
        if (!map->slots[at].key)
            break;
        uint32_t home = pointer_map_home(map, map->slots[at].key);
        if (((at - home) & map->mask) < ((at - hole) & map->mask))
            continue;
        map->slots[hole] = map->slots[at];
        hole = at;
    }
    map->slots[hole] = (struct pointer_slot){NULL, NULL, 0, 0};
}

#define pointer_map_each(map, slot)                                                            \
    for (struct pointer_slot *slot = (map)->slots; slot && slot <= (map)->slots + (map)->mask; \
         slot++)                                                                               \
        if (slot->key)

static inline void pointer_map_clear(struct pointer_map *map)
{
    free(map->slots);
    *map = (struct pointer_map){NULL, 0, 0};
}

#endif
