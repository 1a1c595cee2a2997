#include "analysis/cache_hits.h"

#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"

static uint64_t hash_text(uint64_t seed, const char *text)
{
    return hash_bytes_seed(text ? text : "", text ? strlen(text) : 0, seed);
}

/* What the same compilation has on both command lines: cargo's hash, else the source file and where it is looked for. */
static uint64_t key_of(const struct unit *unit)
{
    uint64_t key = hash_text(1, unit->crate);
    key = hash_text(key, unit->mode);
    key = hash_text(key, unit->metadata);
    key = hash_text(key, unit->extra_filename);
    return unit->metadata ? key : hash_text(hash_text(key, unit->source), unit->cwd);
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

/* What is known of each process, by its index. */
struct look {
    uint32_t top; /* of itself and those above it the child of a cache's program; REPORT_NO_UNIT */
    bool is_explained; /* such a child: it only asked what the source looks like without macros */
    bool has_compiled; /* a cache's program: somebody below it made what it was asked for, or may have */
    bool is_followed_by; /* it became another program */
};

static const struct unit *unit_info(const struct report *report, uint32_t process)
{
    uint32_t unit = report->processes.items[process].unit;
    return unit == REPORT_NO_UNIT ? NULL : &report->units.items[unit].info;
}

static bool is_preprocess(const struct unit *unit)
{
    return unit->mode && strcmp(unit->mode, "preprocess") == 0;
}

/* A server below the program that started it works for everybody. */
static uint32_t top_of(const struct report *report, const struct look *looks, uint32_t index)
{
    const struct report_process *process = &report->processes.items[index];
    if (process->parent >= index) /* none: parents come first */
        return REPORT_NO_UNIT;
    const struct unit *above = unit_info(report, process->parent);
    uint32_t top = above && above->is_cache ? index : looks[process->parent].top;
    if (top == REPORT_NO_UNIT)
        return top;
    uint32_t asked = report->processes.items[top].parent;
    bool is_server = strcmp(process->exe, report->processes.items[asked].exe) == 0;
    return is_server ? REPORT_NO_UNIT : top;
}

static int look_at_images(const struct report *report, struct look *looks)
{
    struct map last_of = {0};
    int rc = LAM_OK;
    for (uint32_t i = 0; i < report->processes.count && rc == LAM_OK; i++) {
        const struct report_process *process = &report->processes.items[i];
        uint64_t last = map_get_or(&last_of, process->pid, REPORT_NO_UNIT);
        if (last != REPORT_NO_UNIT &&
            report->processes.items[last].kernel_start == process->kernel_start)
            looks[last].is_followed_by = true;
        rc = map_put(&last_of, process->pid, i);
    }
    map_free(&last_of);
    return rc;
}

static void look_below(const struct report *report, struct look *looks)
{
    for (uint32_t i = 0; i < report->processes.count; i++) {
        const struct unit *unit = unit_info(report, i);
        uint32_t top = looks[i].top = top_of(report, looks, i);
        if (top == REPORT_NO_UNIT || !unit || unit->is_cache)
            continue;
        if (is_preprocess(unit))
            looks[top].is_explained = true;
        else
            looks[report->processes.items[top].parent].has_compiled = true;
    }
    /* A compiler that runs on another machine: its program here is no compiler. */
    for (uint32_t i = 0; i < report->processes.count; i++) {
        if (looks[i].top != i || looks[i].is_explained)
            continue;
        uint32_t asked = report->processes.items[i].parent;
        const struct unit *unit = unit_info(report, asked);
        looks[asked].has_compiled |= unit && unit->runs_compiler;
    }
}

/* Whether a compiler did it while the cache's program waited. */
static bool was_compiled(const struct report *report, const uint64_t *keys, size_t asked)
{
    const struct report_process *program =
        &report->processes.items[report->units.items[asked].process];
    for (size_t i = 0; i < report->units.count; i++) {
        const struct report_unit *unit = &report->units.items[i];
        int64_t start_ns = report->processes.items[unit->process].start_ns;
        if (keys[i] == keys[asked] && unit->info.kind == report->units.items[asked].info.kind &&
            !unit->info.is_cache && start_ns >= program->start_ns &&
            (!program->has_end || start_ns <= program->end_ns))
            return true;
    }
    return false;
}

static bool is_hit(const struct report *report, const struct look *looks, const uint64_t *keys,
                   size_t asked)
{
    const struct report_unit *unit = &report->units.items[asked];
    const struct report_process *program = &report->processes.items[unit->process];
    const struct look *look = &looks[unit->process];
    if (program->exit_code > 0 || program->signal > 0 || look->is_followed_by || look->has_compiled)
        return false;
    return unit->info.runs_compiler || !was_compiled(report, keys, asked);
}

static void settle(struct report *report, const struct look *looks, const uint64_t *keys)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->units.count; i++) /* indexes stay as they are until all is decided */
        if (report->units.items[i].info.is_cache && !is_hit(report, looks, keys, i))
            report->processes.items[report->units.items[i].process].unit = REPORT_NO_UNIT;
    for (size_t i = 0; i < report->units.count; i++) {
        struct report_unit unit = report->units.items[i];
        struct report_process *process = &report->processes.items[unit.process];
        report->cache_asked += unit.info.is_cache;
        if (process->unit == REPORT_NO_UNIT) {
            drop_unit(process);
            continue;
        }
        if (unit.info.is_cache && !unit.info.runs_compiler)
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
    struct look *looks = mem_zalloc(report->processes.count, sizeof *looks);
    int rc = keys && looks ? look_at_images(report, looks) : LAM_E_NOMEM;
    if (rc == LAM_OK) {
        for (size_t i = 0; i < report->units.count; i++)
            keys[i] = key_of(&report->units.items[i].info);
        look_below(report, looks);
        settle(report, looks, keys);
    }
    mem_free(keys);
    mem_free(looks);
    return rc;
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
