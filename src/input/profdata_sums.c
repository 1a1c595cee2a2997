#include "input/profdata_sums.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "input/interval_nest.h"

static_assert(sizeof(struct profdata_sum) == 64, "an interval adds to one cache line");

enum { LABELS_MAX = 1u << 28, FIRST_LABELS = 256 };

int profdata_sums_open(struct profdata_sums *sums, struct profdata_names *names, size_t threads)
{
    sums->names = names;
    return profdata_sums_lanes(sums, threads);
}

int profdata_sums_lanes(struct profdata_sums *sums, size_t threads)
{
    mem_free(sums->lanes);
    sums->lanes = mem_zalloc(threads + 1, sizeof *sums->lanes);
    sums->lane_count = sums->lanes ? threads : 0;
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
    profdata_path_sums_free(&sums->paths);
    *sums = (struct profdata_sums){.names = NULL};
}

struct profdata_added *profdata_added_new(struct profdata_strings *strings, size_t threads,
                                          size_t max_paths)
{
    struct profdata_added *added = mem_zalloc(1, sizeof *added);
    if (!added)
        return NULL;
    added->names.strings = strings;
    pthread_mutex_init(&added->names.lock, NULL);
    int rc = profdata_sums_open(&added->sums, &added->names, threads);
    if (rc >= 0 && max_paths)
        rc = profdata_path_sums_open(&added->sums.paths, max_paths);
    if (rc < 0)
        profdata_added_free(&added);
    return added;
}

void profdata_added_free(struct profdata_added **added)
{
    if (!*added)
        return;
    profdata_sums_free(&(*added)->sums);
    pthread_mutex_destroy(&(*added)->names.lock);
    mem_free(*added);
    *added = NULL;
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
    sums->sums[*label] = (struct profdata_sum){.min = UINT64_MAX, .open_lane = PROFDATA_NO_THREAD};
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

/* The name of an event's string: those of the table are read as they are. */
static int name_of(struct profdata_sums *sums, uint64_t id, uint32_t *name)
{
    const struct profdata_strings *strings = sums->names->strings;
    if (id >= strings->virtual_count || strings->virtual_names[id] == INTERN_NONE)
        return shared_name(sums, id, name);
    *name = strings->virtual_names[id];
    return LAM_OK;
}

/* Kinds of this table find it where it is now. */
static void cache_table(struct profdata_sums *sums, uint32_t table)
{
    for (size_t i = 0; i < PROFDATA_SUMS_CACHE; i++) {
        if (sums->cache[i].table_and_1 != table + 1)
            continue;
        bool has_table = table < PROFDATA_SUMS_KINDS;
        sums->cache[i].count = has_table ? (uint32_t)sums->tables[table].count : 0;
        sums->cache[i].labels_and_1 = has_table ? sums->tables[table].items : NULL;
    }
}

static int table_of(struct profdata_sums *sums, uint64_t kind, uint32_t *table)
{
    size_t slot = (kind ^ kind >> 4) % PROFDATA_SUMS_CACHE;
    if (!sums->cache[slot].table_and_1 || sums->cache[slot].id != kind) {
        uint32_t name;
        int rc = shared_name(sums, kind, &name);
        uint64_t *known = rc < 0 ? NULL : map_slot(&sums->kinds, name, sums->kinds.count, NULL);
        if (!known)
            return rc < 0 ? rc : LAM_E_NOMEM;
        sums->cache[slot].id = kind;
        sums->cache[slot].table_and_1 = (uint32_t)*known + 1;
        cache_table(sums, (uint32_t)*known);
    }
    *table = sums->cache[slot].table_and_1 - 1;
    return LAM_OK;
}

static int label_of_pair(struct profdata_sums *sums, const struct profdata_key *key, uint32_t table,
                         uint32_t name, uint32_t *label)
{
    bool added;
    uint64_t *known = map_slot(&sums->pairs, (uint64_t)table << 32 | name, 0, &added);
    if (!known)
        return LAM_E_NOMEM;
    int rc = added ? new_label(sums, key->kind, key->id, label) : LAM_OK;
    if (rc >= 0 && added)
        *known = *label;
    *label = (uint32_t)*known;
    return rc;
}

static int label_of_table(struct profdata_sums *sums, const struct profdata_key *key,
                          uint32_t table, uint32_t name, uint32_t *label)
{
    if (name >= sums->tables[table].count) {
        int rc = array_resize(&sums->tables[table], (size_t)name + name / 2 + 64);
        cache_table(sums, table);
        if (rc < 0)
            return rc;
    }
    uint32_t *place = &sums->tables[table].items[name];
    int rc = *place ? LAM_OK : new_label(sums, key->kind, key->id, label);
    if (rc < 0)
        return rc;
    *place = *place ? *place : *label + 1;
    *label = *place - 1;
    return LAM_OK;
}

int profdata_sums_label_slow(struct profdata_sums *sums, uint64_t kind, uint64_t id, uint32_t *label)
{
    const struct profdata_key key = {kind, id};
    uint32_t table, name;
    int rc = table_of(sums, kind, &table);
    if (rc >= 0)
        rc = name_of(sums, id, &name);
    if (rc >= 0)
        rc = table < PROFDATA_SUMS_KINDS ? label_of_table(sums, &key, table, name, label)
                                         : label_of_pair(sums, &key, table, name, label);
    if (rc >= 0 && id >= sums->names->strings->virtual_count) {
        size_t place = profdata_sums_slot(id);
        sums->known[place].kind = kind;
        sums->known[place].id = id;
        sums->known[place].label_and_1 = *label + 1;
    }
    return rc;
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

int profdata_sums_merge(struct profdata_sums *into, const struct profdata_sums *from)
{
    uint32_t *labels = mem_zalloc((size_t)from->count + 1, sizeof *labels);
    int rc = labels ? LAM_OK : LAM_E_NOMEM;
    for (uint32_t i = 0; rc >= 0 && i < from->count; i++) {
        const struct profdata_sum *sum = &from->sums[i];
        uint32_t label = 0;
        rc = profdata_sums_label(into, from->keys[i].kind, from->keys[i].id, &label);
        if (rc < 0)
            break;
        labels[i] = label;
        struct profdata_sum *to = &into->sums[label];
        to->wall += sum->wall;
        to->inner += sum->inner;
        to->recursive += sum->recursive;
        to->min = sum->min < to->min ? sum->min : to->min;
        to->max = sum->max > to->max ? sum->max : to->max;
        add_values(&into->marks[label], &from->marks[i]);
        rc = duration_histogram_merge(&to->durations, &sum->durations);
    }
    if (rc >= 0 && profdata_path_sums_wanted(&into->paths))
        rc = profdata_path_sums_merge(&into->paths, &from->paths, labels);
    mem_free(labels);
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
        uint64_t intervals = duration_histogram_count(&sum->durations);
        struct profile_sum told = {
            .process = process,
            .intervals = intervals,
            .self_ns = sum->wall - sum->inner,
            .time_ns = sum->wall - sum->recursive,
            .wall_ns = sum->wall,
            .min_ns = intervals ? sum->min : 0,
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

/* Of each path's time what its children have is theirs. */
static uint64_t *self_of_paths(const struct profdata_path_sums *paths)
{
    uint64_t *self = mem_zalloc(paths->nodes.count + 1, sizeof *self);
    for (size_t i = 1; self && i < paths->nodes.count; i++) {
        const struct profdata_path_sum *sum = &paths->nodes.items[i];
        self[i] += sum->total;
        self[sum->parent] -= sum->total;
    }
    return self;
}

int profdata_sums_push_paths(const struct profdata_sums *sums, struct profdata_labels *labels,
                             struct interval_paths *paths, const struct profile_sink *sink,
                             uint32_t process)
{
    size_t count = sums->paths.nodes.count;
    uint64_t *self = self_of_paths(&sums->paths);
    uint32_t *ids = mem_zalloc(count + 1, sizeof *ids);
    int rc = self && ids ? LAM_OK : LAM_E_NOMEM;
    for (size_t i = 1; rc >= 0 && i < count; i++) {
        const struct profdata_path_sum *sum = &sums->paths.nodes.items[i];
        const struct profdata_key *key = &sums->keys[sum->label];
        struct profile_fold told = {
            .process = process, .count = sum->count, .total_ns = sum->total, .self_ns = self[i]};
        rc = profdata_label(labels, sums->names->strings, key->kind, key->id, &told.label);
        if (rc >= 0)
            rc = interval_paths_step(paths, sink, ids[sum->parent], told.label, &ids[i]);
        told.path = ids[i];
        if (rc >= 0 && sink->ops->fold && told.count)
            rc = sink->ops->fold(sink->ctx, &told);
    }
    mem_free(self);
    mem_free(ids);
    return rc;
}
