/* Labels of self-profiles: (kind, name) pairs become label ids of the push, told to the sink before they are used. */
#ifndef LAMELLA_INPUT_PROFDATA_LABELS_H
#define LAMELLA_INPUT_PROFDATA_LABELS_H

#include "input/label_merge.h"
#include "input/profdata_strings.h"
#include "profile/sink.h"

enum { PROFDATA_KIND_CACHE = 16, PROFDATA_KIND_TABLES = 24 };

struct profdata_labels {
    struct label_merge *ids; /* of the whole push: gives the numbers, and tells the sink */
    struct intern names;     /* of kinds and labels, of all files */

    /* Inside. */
    struct map kinds; /* name of a kind → its table + 1, or 0 beyond the tables; and the label of its own name above */
    struct map pairs; /* kind's name << 32 | name → label, for kinds without a table */
    struct {
        uint32_t kind, label;        /* name; label of the kind itself */
        LAM_ARRAY(uint32_t) by_name; /* label; 0: not told yet */
    } tables[PROFDATA_KIND_TABLES];  /* real profiles have a dozen kinds */
    uint32_t table_count;
    struct { /* of one file: string of a kind → its place */
        uint64_t id;
        uint32_t table, kind, label;
        bool is_set;
    } cache[PROFDATA_KIND_CACHE];
};

/* Forgets the strings of the last file. */
void profdata_labels_next_file(struct profdata_labels *labels);
void profdata_labels_free(struct profdata_labels *labels);

int profdata_label_slow(struct profdata_labels *labels, struct profdata_strings *strings,
                        uint64_t kind_id, uint32_t name, uint32_t *label);

/* The label of an event. LAM_OK, LAM_E_NOMEM, LAM_E_FULL or the sink's code. */
static inline int profdata_label(struct profdata_labels *labels, struct profdata_strings *strings,
                                 uint64_t kind_id, uint64_t event_id, uint32_t *label)
{
    uint32_t name;
    int rc = profdata_strings_name(strings, event_id, &name);
    if (rc < 0)
        return rc;
    size_t slot = (kind_id ^ kind_id >> 4) % PROFDATA_KIND_CACHE;
    if (labels->cache[slot].is_set && labels->cache[slot].id == kind_id &&
        labels->cache[slot].table < PROFDATA_KIND_TABLES) {
        uint32_t table = labels->cache[slot].table;
        if (name < labels->tables[table].by_name.count &&
            (*label = labels->tables[table].by_name.items[name]) != 0)
            return LAM_OK;
    }
    return profdata_label_slow(labels, strings, kind_id, name, label);
}

#endif
