#include "base/intern.h"

#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"

struct intern_entry {
    const char *text;
    uint32_t length;
    uint32_t hash; /* the low half: enough to refuse nearly all wrong candidates and to rehash */
};

#define SLOTS_MIN 64u

static uint32_t hash_of(const char *text, size_t length)
{
    return (uint32_t)hash_bytes(text, length);
}

/* The slot that holds the text, or the free one where the probe ends. */
static uint32_t *find_slot(const struct intern *intern, const char *text, size_t length, uint32_t hash)
{
    uint32_t at = hash & intern->mask;
    for (;; at = (at + 1) & intern->mask) {
        uint32_t *slot = &intern->slots[at];
        if (!*slot)
            return slot;
        const struct intern_entry *entry = &intern->entries[*slot - 1];
        if (entry->hash == hash && entry->length == length && memcmp(entry->text, text, length) == 0)
            return slot;
    }
}

static int grow_slots(struct intern *intern)
{
    if (intern->slots && intern->count < intern->mask / 4 * 3)
        return LAM_OK;
    size_t slots = intern->slots ? ((size_t)intern->mask + 1) * 2 : SLOTS_MIN;
    if (slots > (size_t)UINT32_MAX + 1)
        return intern->count < INTERN_NONE - 1 ? LAM_OK : LAM_E_FULL;
    uint32_t *grown = mem_zalloc(slots, sizeof *grown);
    if (!grown)
        return LAM_E_NOMEM;
    uint32_t mask = (uint32_t)(slots - 1);
    for (uint32_t id = 0; id < intern->count; id++) {
        uint32_t at = intern->entries[id].hash & mask;
        while (grown[at])
            at = (at + 1) & mask;
        grown[at] = id + 1;
    }
    mem_free(intern->slots);
    intern->slots = grown;
    intern->mask = mask;
    return LAM_OK;
}

static int grow_entries(struct intern *intern)
{
    if (intern->count < intern->capacity)
        return LAM_OK;
    if (intern->count >= INTERN_NONE - 1)
        return LAM_E_FULL;
    size_t capacity = intern->capacity ? (size_t)intern->capacity * 2 : SLOTS_MIN;
    if (capacity > INTERN_NONE)
        capacity = INTERN_NONE;
    struct intern_entry *grown = mem_realloc(intern->entries, capacity * sizeof *grown);
    if (!grown)
        return LAM_E_NOMEM;
    intern->entries = grown;
    intern->capacity = (uint32_t)capacity;
    return LAM_OK;
}

static int add_hashed(struct intern *intern, const char *text, size_t length, uint32_t hash,
                      uint32_t *id)
{
    int rc = grow_slots(intern);
    if (rc < 0)
        return rc;
    uint32_t *slot = find_slot(intern, text, length, hash);
    if (*slot) {
        *id = *slot - 1;
        return LAM_OK;
    }
    rc = grow_entries(intern);
    if (rc < 0)
        return rc;
    const char *copy = arena_strndup(&intern->text, text, length);
    if (!copy)
        return LAM_E_NOMEM;
    intern->entries[intern->count] =
        (struct intern_entry){.text = copy, .length = (uint32_t)length, .hash = hash};
    *id = intern->count++;
    *slot = intern->count;
    return LAM_OK;
}

int intern_add(struct intern *intern, const char *text, size_t length, uint32_t *id)
{
    if (length > UINT32_MAX)
        return LAM_E_TOOBIG;
    if (intern->count == 0) {
        uint32_t empty;
        int rc = add_hashed(intern, "", 0, hash_of("", 0), &empty);
        if (rc < 0)
            return rc;
    }
    if (length == 0) {
        *id = INTERN_EMPTY;
        return LAM_OK;
    }
    return add_hashed(intern, text, length, hash_of(text, length), id);
}

int intern_add_str(struct intern *intern, const char *text, uint32_t *id)
{
    return intern_add(intern, text, strlen(text), id);
}

uint32_t intern_find(const struct intern *intern, const char *text, size_t length)
{
    if (length == 0)
        return INTERN_EMPTY;
    if (!intern->slots || length > UINT32_MAX)
        return INTERN_NONE;
    const uint32_t *slot = find_slot(intern, text, length, hash_of(text, length));
    return *slot ? *slot - 1 : INTERN_NONE;
}

uint32_t intern_find_str(const struct intern *intern, const char *text)
{
    return intern_find(intern, text, strlen(text));
}

const char *intern_text(const struct intern *intern, uint32_t id, size_t *length)
{
    bool is_known = id < intern->count;
    if (length)
        *length = is_known ? intern->entries[id].length : 0;
    return is_known ? intern->entries[id].text : "";
}

uint32_t intern_count(const struct intern *intern)
{
    return intern->count ? intern->count : 1;
}

size_t intern_bytes(const struct intern *intern)
{
    size_t slots = intern->slots ? (size_t)intern->mask + 1 : 0;
    return intern->text.used_bytes + intern->capacity * sizeof *intern->entries +
           slots * sizeof *intern->slots;
}

void intern_free(struct intern *intern)
{
    arena_free(&intern->text);
    mem_free(intern->entries);
    mem_free(intern->slots);
    *intern = (struct intern){0};
}
