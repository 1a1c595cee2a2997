#include "analysis/cache_hits.h"

#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"

static uint64_t hash_text(uint64_t seed, const char *text)
{
    return hash_bytes_seed(text ? text : "", text ? strlen(text) : 0, seed);
}

/* What the same compilation has on both command lines: cargo's hash, else the source file. */
static uint64_t key_of(const struct unit *unit)
{
    uint64_t key = hash_text(1, unit->crate);
    key = hash_text(key, unit->mode);
    key = hash_text(key, unit->metadata);
    key = hash_text(key, unit->extra_filename);
    return unit->metadata ? key : hash_text(key, unit->source);
}

/* The server that a cache's program leaves behind serves all: what it runs is no part of that one unit. */
static void detach_children(struct report *report, uint32_t process)
{
    array_each(&report->processes, child)
    {
        if (child->parent == process)
            child->parent = report->processes.items[process].parent;
    }
}

static void drop_unit(struct report_process *process)
{
    process->unit = REPORT_NO_UNIT;
    process->role = "other";
    process->title = path_name(process->exe);
}

/* Whether a compiler did it while the cache's program waited. */
static bool was_compiled(const struct report *report, const uint64_t *keys, size_t asked)
{
    const struct report_process *program =
        &report->processes.items[report->units.items[asked].process];
    for (size_t i = 0; i < report->units.count; i++) {
        const struct report_unit *unit = &report->units.items[i];
        int64_t start_ns = report->processes.items[unit->process].start_ns;
        if (keys[i] == keys[asked] && unit->info.kind == UNIT_RUSTC && !unit->info.is_cache &&
            start_ns >= program->start_ns && (!program->has_end || start_ns <= program->end_ns))
            return true;
    }
    return false;
}

static void settle(struct report *report, const uint64_t *keys)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->units.count; i++) /* indexes stay as they are until all is decided */
        if (report->units.items[i].info.is_cache && was_compiled(report, keys, i))
            report->processes.items[report->units.items[i].process].unit = REPORT_NO_UNIT;
    for (size_t i = 0; i < report->units.count; i++) {
        struct report_unit unit = report->units.items[i];
        struct report_process *process = &report->processes.items[unit.process];
        report->cache_asked += unit.info.is_cache;
        if (process->unit == REPORT_NO_UNIT) {
            drop_unit(process);
            continue;
        }
        if (unit.info.is_cache)
            detach_children(report, unit.process);
        process->unit = (uint32_t)kept;
        report->units.items[kept++] = unit;
    }
    report->units.count = kept;
}

int cache_hits_settle(struct report *report)
{
    bool has_any = false;
    array_each(&report->units, unit) has_any |= unit->info.is_cache;
    if (!has_any)
        return LAM_OK;
    uint64_t *keys = mem_zalloc(report->units.count, sizeof *keys);
    if (!keys)
        return LAM_E_NOMEM;
    for (size_t i = 0; i < report->units.count; i++)
        keys[i] = key_of(&report->units.items[i].info);
    settle(report, keys);
    mem_free(keys);
    return LAM_OK;
}

struct cache_counts cache_hits_count(const struct report *report)
{
    struct cache_counts counts = {.asked = report->cache_asked};
    array_each(&report->units, unit)
    {
        if (!unit->info.is_cache)
            continue;
        counts.hits++;
        counts.program = path_name(report->processes.items[unit->process].exe);
    }
    return counts;
}
