#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "unwind/find_object.h"
#include "unwind/stack_memory.h"

#include <link.h>
#include <stdbool.h>
#include <string.h>

size_t unwind_snapshot_bytes(uint32_t capacity)
{
    return 2 * sizeof(struct unwind_module) * (size_t)capacity;
}

void unwind_snapshot_init(struct unwind_snapshot *snapshot, void *memory, uint32_t capacity)
{
    memset(snapshot, 0, sizeof *snapshot);
    snapshot->tables[0] = memory;
    snapshot->tables[1] = (struct unwind_module *)memory + capacity;
    snapshot->capacity = capacity;
}

struct filling {
    struct unwind_module *table;
    uint32_t count, capacity, missed;
};

/* Insertion keeps the table sorted; a process has tens of modules, seldom hundreds. */
static int add_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    struct filling *filling = arg;
    struct unwind_module module;
    (void)unwind_module_from_phdrs(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, &module);
    if (module.start >= module.end)
        return 0;
    /* The loader keeps the module for as long as it calls us. */
    module.cookie = module.hdr_addr ? unwind_load(module.hdr_addr) : 0;
    if (filling->count == filling->capacity) {
        filling->missed++;
        return 0;
    }
    uint32_t at = filling->count++;
    for (; at > 0 && filling->table[at - 1].start > module.start; at--)
        filling->table[at] = filling->table[at - 1];
    filling->table[at] = module;
    return 0;
}

static void refresh_once(struct unwind_snapshot *snapshot)
{
    uint32_t version = atomic_load_explicit(&snapshot->version, memory_order_relaxed);
    uint32_t next = version + 1 ? version + 1 : 2; /* 0 is kept for "nothing yet" */
    /* A reader may still be in this table, from two versions ago. It looks at the version again after it has copied; our
     * last store to the version must be before any to the table, or it would take a mixture for whole. A read-modify-write
     * with acquire lets no later store pass, and comes after the earlier release on the same thread. */
    (void)atomic_fetch_add_explicit(&snapshot->version, 0, memory_order_acq_rel);
    struct filling filling = {snapshot->tables[next & 1], 0, snapshot->capacity, 0};
    dl_iterate_phdr(add_module, &filling);
    atomic_store_explicit(&snapshot->counts[next & 1], filling.count, memory_order_relaxed);
    atomic_store_explicit(&snapshot->missed, filling.missed, memory_order_relaxed);
    /* release: pairs with the acquire in unwind_snapshot_find(); the table is complete before it is named. */
    atomic_store_explicit(&snapshot->version, next, memory_order_release);
}

void unwind_snapshot_refresh(struct unwind_snapshot *snapshot)
{
    /* Whoever raises the count from 0 works until it has served every caller that came meanwhile: no lock to wait for. */
    uint32_t seen = atomic_fetch_add_explicit(&snapshot->writers, 1, memory_order_acq_rel);
    if (seen != 0)
        return;
    seen = 1;
    do
        refresh_once(snapshot);
    while (!atomic_compare_exchange_strong_explicit(&snapshot->writers, &seen, 0,
                                                    memory_order_acq_rel, memory_order_acquire));
}

/* May read entries that are being replaced; what it copied then is thrown away. Not for the race detector to judge. */
static __attribute__((noinline)) UNWIND_RAW int table_find(const struct unwind_module *table,
                                                           uint32_t count, uint64_t pc,
                                                           struct unwind_module *out)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (table[middle].start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || pc >= table[low - 1].end)
        return -1;
    *out = table[low - 1];
    return 0;
}

/* A module of the list may be gone, and another may be in its place: unloaded from within libc, or since the last refresh.
 * Its table's first 8 bytes hold the distance to .eh_frame and tell nearly all modules apart. */
static bool still_there(const struct unwind_module *module)
{
    return module->hdr_addr == 0 ||
           (unwind_readable(module->hdr_addr) && unwind_load(module->hdr_addr) == module->cookie);
}

int unwind_snapshot_find(void *ctx, uint64_t pc, struct unwind_module *out)
{
    struct unwind_snapshot *snapshot = ctx;
    /* Twice at most: a reader that two refreshes overtook starts again; a third time means that modules come and go
     * faster than we can look, and the frame is given up. */
    for (int try = 0; try < 2; try++) {
        /* acquire: pairs with the release in refresh_once(). */
        uint32_t version = atomic_load_explicit(&snapshot->version, memory_order_acquire);
        if (version == 0)
            return -1;
        uint32_t count = atomic_load_explicit(&snapshot->counts[version & 1], memory_order_relaxed);
        if (count > snapshot->capacity)
            continue;
        struct unwind_module module;
        int found = table_find(snapshot->tables[version & 1], count, pc, &module);
        /* release: no load of the copy comes after this (pairs with the read-modify-write in refresh_once()). Only when no
         * second refresh had begun is the copy whole. */
        if (atomic_fetch_add_explicit(&snapshot->version, 0, memory_order_acq_rel) != version)
            continue;
        if (found < 0 || !still_there(&module))
            return -1;
        *out = module;
        return 0;
    }
    return -1;
}
