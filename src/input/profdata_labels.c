#include "input/profdata_labels.h"

#include <string.h>

static int tell(struct profdata_labels *labels, uint32_t kind_label, uint32_t name, uint32_t *label)
{
    size_t length;
    const char *text = intern_text(&labels->names, name, &length);
    return label_merge_get(labels->ids, kind_label, text, length, label);
}

/* Finds a kind's table and its own label, and remembers both under its string. */
static int find_kind(struct profdata_labels *labels, struct profdata_strings *strings,
                     uint64_t kind_id, size_t slot)
{
    uint32_t kind;
    bool added;
    int rc = profdata_strings_name(strings, kind_id, &kind);
    if (rc < 0)
        return rc;
    uint64_t *known = map_slot(&labels->kinds, kind, 0, &added);
    if (!known)
        return LAM_E_NOMEM;
    if (added) {
        uint32_t table = labels->table_count, label;
        if (table < PROFDATA_KIND_TABLES)
            labels->table_count++;
        rc = tell(labels, 0, kind, &label);
        if (rc < 0)
            return rc;
        *known = (uint64_t)label << 32 | table;
    }
    labels->cache[slot].id = kind_id;
    labels->cache[slot].kind = kind;
    labels->cache[slot].table = (uint32_t)*known;
    labels->cache[slot].label = (uint32_t)(*known >> 32);
    labels->cache[slot].is_set = true;
    return LAM_OK;
}

/* Where the label of a name of this kind is kept; NULL when memory is short. */
static int place_in_table(struct profdata_labels *labels, uint32_t table, uint32_t name,
                          uint32_t **place)
{
    uint32_t known = intern_count(&labels->names);
    if (name >= labels->tables[table].by_name.count &&
        array_resize(&labels->tables[table].by_name, name < known ? known : (size_t)name + 1) < 0)
        return LAM_E_NOMEM;
    *place = &labels->tables[table].by_name.items[name];
    return LAM_OK;
}

int profdata_label_slow(struct profdata_labels *labels, struct profdata_strings *strings,
                        uint64_t kind_id, uint32_t name, uint32_t *label)
{
    size_t slot = (kind_id ^ kind_id >> 4) % PROFDATA_KIND_CACHE;
    int rc = LAM_OK;
    if (!labels->cache[slot].is_set || labels->cache[slot].id != kind_id)
        rc = find_kind(labels, strings, kind_id, slot);
    if (rc < 0)
        return rc;
    uint32_t table = labels->cache[slot].table, kind_label = labels->cache[slot].label;
    if (table < PROFDATA_KIND_TABLES) {
        uint32_t *place;
        rc = place_in_table(labels, table, name, &place);
        if (rc >= 0 && *place == 0)
            rc = tell(labels, kind_label, name, place);
        if (rc >= 0)
            *label = *place;
        return rc;
    }
    uint64_t *known =
        map_slot(&labels->pairs, (uint64_t)labels->cache[slot].kind << 32 | name, 0, NULL);
    if (!known)
        return LAM_E_NOMEM;
    if (*known == 0) {
        rc = tell(labels, kind_label, name, label);
        *known = *label;
    }
    *label = (uint32_t)*known;
    return rc;
}

void profdata_labels_next_file(struct profdata_labels *labels)
{
    memset(labels->cache, 0, sizeof labels->cache);
}

void profdata_labels_free(struct profdata_labels *labels)
{
    for (size_t i = 0; i < PROFDATA_KIND_TABLES; i++)
        array_free(&labels->tables[i].by_name);
    map_free(&labels->kinds);
    map_free(&labels->pairs);
    intern_free(&labels->names);
}
