#include "input/profdata_sums.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static_assert(sizeof(struct profdata_sum) == 64, "an interval adds to one cache line");

enum { LABELS_MAX = 1u << 28, FIRST_LABELS = 256 };

int profdata_sums_open(struct profdata_sums *sums, struct profdata_names *names, size_t threads)
{
    sums->names = names;
    sums->lane_count = threads;
    sums->lanes = mem_zalloc(threads + 1, sizeof *sums->lanes);
    return sums->lanes ? LAM_OK : LAM_E_NOMEM;
}

void profdata_sums_free(struct profdata_sums *sums)
{
    for (uint32_t i = 0; i < sums->count; i++)
        duration_histogram_free(&sums->sums[i].durations);
    mem_free(sums->sums);
    mem_free(sums->marks);
    mem_free(sums->keys);
    mem_free(sums->lanes);
    for (size_t i = 0; i < PROFDATA_SUMS_KINDS; i++)
        array_free(&sums->tables[i]);
    map_free(&sums->kinds);
    map_free(&sums->pairs);
    *sums = (struct profdata_sums){.names = NULL};
}

/* ---- labels ---- */

static int grow(struct profdata_sums *sums)
{
    uint32_t capacity = sums->capacity ? 2 * sums->capacity : FIRST_LABELS;
    if (capacity > LABELS_MAX)
        return LAM_E_FULL;
    /* On lines of their own; there is no such reallocation. */
    struct profdata_sum *grown = aligned_alloc(64, (size_t)capacity * sizeof *grown);
    struct profdata_marks *marks = mem_realloc(sums->marks, capacity * sizeof *marks);
    sums->marks = marks ? marks : sums->marks;
    struct profdata_key *keys = mem_realloc(sums->keys, capacity * sizeof *keys);
    sums->keys = keys ? keys : sums->keys;
    if (!grown || !marks || !keys) {
        mem_free(grown);
        return LAM_E_NOMEM;
    }
    if (sums->count)
        memcpy(grown, sums->sums, sums->count * sizeof *grown);
    mem_free(sums->sums);
    sums->sums = grown;
    sums->capacity = capacity;
    return LAM_OK;
}

static int new_label(struct profdata_sums *sums, uint64_t kind, uint64_t id, uint32_t *label)
{
    int rc = sums->count == sums->capacity ? grow(sums) : LAM_OK;
    if (rc < 0)
        return rc;
    *label = sums->count++;
    sums->sums[*label] = (struct profdata_sum){.min = UINT64_MAX};
    sums->marks[*label] = (struct profdata_marks){.min = UINT64_MAX};
    sums->keys[*label] = (struct profdata_key){kind, id};
    return LAM_OK;
}

static int shared_name(struct profdata_sums *sums, uint64_t id, uint32_t *name)
{
    pthread_mutex_lock(&sums->names->lock);
    int rc = profdata_strings_name(sums->names->strings, id, name);
    pthread_mutex_unlock(&sums->names->lock);
    return rc;
}

/* The name of an event's string. Those of the table are read as they are; others mostly come again soon. */
static int name_of(struct profdata_sums *sums, uint64_t id, uint32_t *name)
{
    const struct profdata_strings *strings = sums->names->strings;
    if (id < strings->virtual_count && strings->virtual_names[id] != INTERN_NONE) {
        *name = strings->virtual_names[id];
        return LAM_OK;
    }
    size_t slot = (id ^ id >> 10) % PROFDATA_SUMS_NAMES;
    if (id == 0 || sums->known[slot].id != id) {
        int rc = shared_name(sums, id, &sums->known[slot].name);
        sums->known[slot].id = rc < 0 ? 0 : id;
        if (rc < 0)
            return rc;
    }
    *name = sums->known[slot].name;
    return LAM_OK;
}

static int table_of(struct profdata_sums *sums, uint64_t kind, uint32_t *table)
{
    size_t slot = (kind ^ kind >> 4) % PROFDATA_SUMS_CACHE;
    if (!sums->cache[slot].is_set || sums->cache[slot].id != kind) {
        uint32_t name;
        int rc = shared_name(sums, kind, &name);
        uint64_t *known = rc < 0 ? NULL : map_slot(&sums->kinds, name, sums->kinds.count, NULL);
        if (!known)
            return rc < 0 ? rc : LAM_E_NOMEM;
        sums->cache[slot].id = kind;
        sums->cache[slot].table = (uint32_t)*known;
        sums->cache[slot].is_set = true;
    }
    *table = sums->cache[slot].table;
    return LAM_OK;
}

int profdata_sums_label_slow(struct profdata_sums *sums, uint64_t kind, uint64_t id, uint32_t *label)
{
    uint32_t table, name;
    int rc = table_of(sums, kind, &table);
    if (rc >= 0)
        rc = name_of(sums, id, &name);
    if (rc < 0)
        return rc;
    if (table >= PROFDATA_SUMS_KINDS) {
        bool added;
        uint64_t *known = map_slot(&sums->pairs, (uint64_t)table << 32 | name, 0, &added);
        if (!known)
            return LAM_E_NOMEM;
        rc = added ? new_label(sums, kind, id, label) : LAM_OK;
        if (rc >= 0 && added)
            *known = *label;
        *label = (uint32_t)*known;
        return rc;
    }
    if (name >= sums->tables[table].count &&
        array_resize(&sums->tables[table], (size_t)name + name / 2 + 64) < 0)
        return LAM_E_NOMEM;
    uint32_t *place = &sums->tables[table].items[name];
    if (*place == 0) {
        rc = new_label(sums, kind, id, label);
        if (rc < 0)
            return rc;
        *place = *label + 1;
    }
    *label = *place - 1;
    return LAM_OK;
}

/* ---- adding up ---- */

static void add_values(struct profdata_marks *to, const struct profdata_marks *from)
{
    to->instants += from->instants;
    to->values += from->values;
    to->sum += from->sum;
    to->min = from->min < to->min ? from->min : to->min;
    to->max = from->max > to->max ? from->max : to->max;
}

void profdata_sums_integer(struct profdata_sums *sums, uint32_t label, uint64_t value)
{
    struct profdata_marks one = {1, 1, value, value, value};
    add_values(&sums->marks[label], &one);
}

int profdata_sums_merge(struct profdata_sums *into, const struct profdata_sums *from)
{
    int rc = LAM_OK;
    for (uint32_t i = 0; rc >= 0 && i < from->count; i++) {
        const struct profdata_sum *sum = &from->sums[i];
        uint32_t label;
        rc = profdata_sums_label(into, from->keys[i].kind, from->keys[i].id, &label);
        if (rc < 0)
            return rc;
        struct profdata_sum *to = &into->sums[label];
        to->intervals += sum->intervals;
        to->self += sum->self;
        to->time += sum->time;
        to->wall += sum->wall;
        to->min = sum->min < to->min ? sum->min : to->min;
        to->max = sum->max > to->max ? sum->max : to->max;
        add_values(&into->marks[label], &from->marks[i]);
        rc = duration_histogram_merge(&to->durations, &sum->durations);
    }
    for (size_t i = 0; i < from->lane_count && i < into->lane_count; i++) {
        into->lanes[i].self += from->lanes[i].self;
        into->lanes[i].backward += from->lanes[i].backward;
        into->lanes[i].overlapping += from->lanes[i].overlapping;
    }
    return rc;
}

/* ---- telling ---- */

int profdata_sums_push(const struct profdata_sums *sums, struct profdata_labels *labels,
                       const struct profile_sink *sink, uint32_t process)
{
    int rc = LAM_OK;
    for (uint32_t i = 0; rc >= 0 && i < sums->count; i++) {
        const struct profdata_sum *sum = &sums->sums[i];
        const struct profdata_marks *marks = &sums->marks[i];
        struct profile_sum told = {
            .process = process,
            .intervals = sum->intervals,
            .self_ns = sum->self,
            .time_ns = sum->time,
            .wall_ns = sum->wall,
            .min_ns = sum->intervals ? sum->min : 0,
            .max_ns = sum->max,
            .durations = &sum->durations,
            .instants = marks->instants,
            .values = marks->values,
            .value_sum = marks->sum,
            .value_min = marks->values ? marks->min : 0,
            .value_max = marks->max,
        };
        rc = profdata_label(labels, sums->names->strings, sums->keys[i].kind, sums->keys[i].id,
                            &told.label);
        if (rc >= 0 && sink->ops->sum && told.intervals + told.instants > 0)
            rc = sink->ops->sum(sink->ctx, &told);
    }
    return rc;
}
