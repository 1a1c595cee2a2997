/* A row of the unwind table in 64 bits, and the cache from address to such a rule.
 *
 * The compact form says where the caller's stack pointer, return address, frame pointer and one more register are (rbx,
 * which the loader's resolver takes as its base; x19 on aarch64): enough for all but a fraction of the rows that
 * compilers make. Other preserved registers are not followed; where a rule needs one after all, the stack is unwound a
 * second time with all of them. What does not fit is RULE_SLOW and evaluated from the table each time. */
#ifndef LAM_UNWIND_RULE_H
#define LAM_UNWIND_RULE_H

#include "unwind/cfi.h"

#include <stdatomic.h>
#include <stddef.h>

enum rule_kind {
    RULE_NONE = 0,  /* not a rule: an empty cache entry */
    RULE_FRAME = 1, /* the compact form below */
    RULE_END = 2,   /* the return address is undefined: the thread's first function */
    RULE_SLOW = 3,
    RULE_MISSING = 4, /* the module has no rule for the address */
};

/*  bits  what
 *   0-2  kind
 *   3    the CFA is the word at register + offset, not the sum
 *   4-8  register of the CFA
 *   9-28 offset / 8, signed
 *  29-38 frame pointer, 39-48 the other register, 49-58 return address: where each is, as below */
typedef uint64_t unwind_rule;

enum {
    RULE_KIND_BITS = 3,
    RULE_DEREF_AT = 3,
    RULE_REG_AT = 4,
    RULE_OFFSET_AT = 9,
    RULE_OFFSET_BITS = 20,
    RULE_FP_AT = 29,
    RULE_BX_AT = 39,
    RULE_RA_AT = 49,
    RULE_PLACE_BITS = 10,
    /* A place: 0 unchanged (the return address: in the link register), 1 to 1000 saved at CFA - 8 * place. */
    RULE_PLACE_SAME = 0,
    RULE_PLACE_MAX = 1000,
    RULE_PLACE_AT_FP =
        1022, /* saved where the frame pointer points: functions that realign their stack */
    RULE_PLACE_LOST = 1023,
};

static inline enum rule_kind rule_kind(unwind_rule rule)
{
    return (enum rule_kind)(rule & ((1u << RULE_KIND_BITS) - 1));
}

static inline unsigned rule_reg(unwind_rule rule)
{
    return (unsigned)(rule >> RULE_REG_AT) & 31;
}

static inline int64_t rule_offset(unwind_rule rule)
{
    return ((int64_t)(rule << (64 - RULE_OFFSET_AT - RULE_OFFSET_BITS)) >> (64 - RULE_OFFSET_BITS)) *
           8;
}

static inline unsigned rule_place(unwind_rule rule, unsigned at)
{
    return (unsigned)(rule >> at) & ((1u << RULE_PLACE_BITS) - 1);
}

/* The compact rule of a row, RULE_END or RULE_SLOW. pc: the program counter exactly, for rows that depend on it (those
 * of PLT stubs), or NULL where only an address near it is known. */
unwind_rule rule_from_row(const struct unwind_arch *arch, const struct cfi_fde *fde,
                          const struct cfi_row *row, const uint64_t *pc);

/* An entry holds pc ^ mix(rule, generation) beside rule. The two words are written and read one by one without order:
 * when a reader gets halves of two entries (another thread's, or its own handler came in between) they do not fit
 * together and the look-up misses. So threads may share a cache, and no store needs a lock. */
struct rule_entry {
    _Atomic uint64_t key;
    _Atomic uint64_t rule;
};

struct rule_cache {
    struct rule_entry *entries; /* 1 << bits of them, zeroed at first, aligned to 32 */
    uint8_t bits;               /* at least 1 */
};

/* 512 KiB, touched where it is used; a process needs one for all its threads. Of a rustc build 6.3% of look-ups miss
 * (2^14: 6.9%; one of 2^14 for each thread: 9.7%), 1.2 us each. */
enum { RULE_CACHE_BITS = 15 };

static inline uint64_t rule_mix(unwind_rule rule, uint32_t generation)
{
    /* Odd constants: a bijection, in which every bit of the rule reaches the high bits. With them a mixed-up pair would
     * only fit an address that does not exist. */
    return (rule + generation * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
}

/* Two entries that an address may be in: the one it hashes to and its neighbour in the same half cache line. */
static inline size_t rule_slot(const struct rule_cache *cache, uint64_t pc)
{
    return (size_t)(pc * 0x9e3779b97f4a7c15u >> (64 - cache->bits));
}

static inline unwind_rule rule_entry_get(struct rule_entry *entry, uint64_t pc, uint32_t generation)
{
    uint64_t key = atomic_load_explicit(&entry->key, memory_order_relaxed);
    uint64_t rule = atomic_load_explicit(&entry->rule, memory_order_relaxed);
    return (key ^ rule_mix(rule, generation)) == pc ? rule : RULE_NONE;
}

/* RULE_NONE when it is not there. Async-signal-safe, wait-free. */
static inline unwind_rule rule_cache_get(const struct rule_cache *cache, uint64_t pc,
                                         uint32_t generation)
{
    size_t slot = rule_slot(cache, pc);
    unwind_rule rule = rule_entry_get(&cache->entries[slot], pc, generation);
    return rule != RULE_NONE ? rule : rule_entry_get(&cache->entries[slot ^ 1], pc, generation);
}

/* Entries put under an older generation are not found any more: raise it when code is unmapped. */
static inline void rule_cache_put(const struct rule_cache *cache, uint64_t pc, uint32_t generation,
                                  unwind_rule rule)
{
    struct rule_entry *entry = &cache->entries[rule_slot(cache, pc)];
    struct rule_entry *other = &cache->entries[rule_slot(cache, pc) ^ 1];
    /* What was here moves over, so that two busy addresses can share the pair. */
    uint64_t key = atomic_load_explicit(&entry->key, memory_order_relaxed);
    uint64_t old = atomic_load_explicit(&entry->rule, memory_order_relaxed);
    atomic_store_explicit(&other->key, key, memory_order_relaxed);
    atomic_store_explicit(&other->rule, old, memory_order_relaxed);
    atomic_store_explicit(&entry->key, pc ^ rule_mix(rule, generation), memory_order_relaxed);
    atomic_store_explicit(&entry->rule, rule, memory_order_relaxed);
}

#endif
