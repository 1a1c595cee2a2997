#include "agent/real.h"

#include "core/bytes.h"

#include <elf.h>
#include <link.h>

void *real_pointers[REAL_COUNT];
void *syscall_real;

static const char *const names[REAL_COUNT] = {
#define REAL_NAME(ret, name, params) #name,
    REAL_FUNCTIONS(REAL_NAME)
#undef REAL_NAME
};

/* The dynamic tables of one loaded object, as the loader has them (addresses already relocated in glibc's link map,
 * except in the vdso, which has none of our functions). */
struct object {
    uint64_t bias;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash;
    const ElfW(Half) * versions;
};

static int read_object(const struct link_map *map, struct object *out)
{
    *out = (struct object){.bias = map->l_addr};
    for (const ElfW(Dyn) *dyn = map->l_ld; dyn && dyn->d_tag != DT_NULL; dyn++) {
        const void *ptr = (const void *)dyn->d_un.d_ptr;
        if (dyn->d_tag == DT_SYMTAB)
            out->symbols = ptr;
        else if (dyn->d_tag == DT_STRTAB)
            out->strings = ptr;
        else if (dyn->d_tag == DT_GNU_HASH)
            out->gnu_hash = ptr;
        else if (dyn->d_tag == DT_VERSYM)
            out->versions = ptr;
    }
    /* An unrelocated (small) address is the vdso's. */
    return out->symbols && out->strings && out->gnu_hash && (uintptr_t)out->symbols > 0x10000 ? 0
                                                                                              : -1;
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t h = 5381;
    for (; *name; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

/* Where the symbol's code is. An indirect function (the string functions are; none of ours is known to be) is asked. */
static void *symbol_address(const struct object *object, const ElfW(Sym) * symbol)
{
    uintptr_t at = object->bias + symbol->st_value;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
        return ((void *(*)(void))at)();
    return (void *)at;
}

static void *find_in_object(const struct object *object, const char *name)
{
    uint32_t hash = gnu_hash(name);
    uint32_t buckets = object->gnu_hash[0], first = object->gnu_hash[1], words = object->gnu_hash[2];
    uint32_t shift = object->gnu_hash[3];
    const ElfW(Addr) *bloom = (const ElfW(Addr) *)&object->gnu_hash[4];
    const uint32_t *bucket = (const uint32_t *)&bloom[words];
    const uint32_t *chain = &bucket[buckets];
    if (!buckets || !words)
        return NULL;
    ElfW(Addr) word = bloom[hash / 64 % words];
    if (!(word >> hash % 64 & 1) || !(word >> (hash >> shift) % 64 & 1))
        return NULL;
    uint32_t at = bucket[hash % buckets];
    if (at < first)
        return NULL;
    for (;; at++) {
        uint32_t have = chain[at - first];
        const ElfW(Sym) *symbol = &object->symbols[at];
        /* The default version is the one whose index is not hidden. */
        int hidden = object->versions && object->versions[at] & 0x8000;
        if ((have | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF && !hidden &&
            text_equal(object->strings + symbol->st_name, name))
            return symbol_address(object, symbol);
        if (have & 1)
            return NULL;
    }
}

void real_resolve(void)
{
    const struct link_map *map = _r_debug.r_map;
    void *found[REAL_COUNT] = {0};
    int behind_us = 0;
    for (; map; map = map->l_next) {
        struct object object;
        if (!behind_us) {
            behind_us = map->l_ld == _DYNAMIC;
            continue;
        }
        if (read_object(map, &object) < 0)
            continue;
        for (int i = 0; i < REAL_COUNT; i++)
            if (!found[i])
                found[i] = find_in_object(&object, names[i]);
    }
    for (int i = 0; i < REAL_COUNT; i++)
        if (found[i])
            __atomic_store_n(&real_pointers[i], found[i], __ATOMIC_RELAXED);
}
