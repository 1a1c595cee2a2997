/* Hash map from u64 to u64, open addressing; and the hash functions everything uses. */
#ifndef LAMELLA_BASE_MAP_H
#define LAMELLA_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot;

/* All-zero is an empty, valid map. Every key and every value is allowed. One writer, or any number
 * of readers. */
struct map {
    struct map_slot *slots;
    size_t mask;  /* slots - 1; a power of two minus 1 */
    size_t count; /* keys present */
    size_t used;  /* slots taken, tomb stones of removed keys included */
};

/* Sets key to value, replacing what was there. LAM_OK or LAM_E_NOMEM (map unchanged). */
int map_put(struct map *map, uint64_t key, uint64_t value);

/* Looks a key up; *value is written only when it is found. value may be NULL. */
bool map_get(const struct map *map, uint64_t key, uint64_t *value);

/* The value of key, or `otherwise`. */
uint64_t map_get_or(const struct map *map, uint64_t key, uint64_t otherwise);

/* A pointer to the value of key, which is added with the value `initial` when it is absent; NULL
 * when memory is short. Lives until the next put, slot or remove. *added (may be NULL) says whether
 * it was new. */
uint64_t *map_slot(struct map *map, uint64_t key, uint64_t initial, bool *added);

/* Removes a key; false when it was not there. */
bool map_remove(struct map *map, uint64_t key);

/* Room for `count` keys without growing again. LAM_OK or LAM_E_NOMEM. */
int map_reserve(struct map *map, size_t count);

/* Walks all pairs in no order: size_t at = 0; while (map_next(&map, &at, &key, &value)) … The map
 * must not change. */
bool map_next(const struct map *map, size_t *at, uint64_t *key, uint64_t *value);

/* Forgets the pairs, keeps the memory. */
void map_clear(struct map *map);

/* Gives the memory back; the map is empty and valid afterwards. */
void map_free(struct map *map);

/* Hashes; the same on every machine and in every run (so they may decide orders in output), not
 * against an attacker who chooses keys. hash_u64() is a bijection. */
uint64_t hash_u64(uint64_t value);
uint64_t hash_bytes(const void *bytes, size_t length);
uint64_t hash_bytes_seed(const void *bytes, size_t length, uint64_t seed);
uint64_t hash_combine(uint64_t hash, uint64_t value);

#endif
