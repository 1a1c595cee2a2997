/* Labels of events for one of several threads that tell a self-profile side by side. What it has found it knows; what it has not is
 * found with the tables that all share (profdata_labels.h), by one thread at a time, which tells the sink of new labels. */
#ifndef LAMELLA_INPUT_PROFDATA_FINDER_H
#define LAMELLA_INPUT_PROFDATA_FINDER_H

#include <pthread.h>

#include "input/profdata_labels.h"

enum { PROFDATA_FINDER_KINDS = 32, PROFDATA_FINDER_KNOWN = 1 << 10 };

struct profdata_shared_labels {
    struct profdata_labels *labels;
    struct profdata_strings *strings;
    pthread_mutex_t *lock; /* the same for all files of a push */
};

struct profdata_found {
    uint32_t label;
    bool has_args;
};

struct profdata_finder {
    struct profdata_shared_labels *shared;
    struct profdata_faults *faults; /* of this thread: what is found wrong with the shared strings is added */

    /* Inside. */
    struct {
        uint64_t id; /* string of a kind */
        bool is_set;
        LAM_ARRAY(uint32_t) by_name; /* label; 0: not found yet */
    } kinds[PROFDATA_FINDER_KINDS];
    struct {
        uint64_t kind, id; /* an event whose name is in no table; label 0: nothing is here */
        struct profdata_found found;
    } known[PROFDATA_FINDER_KNOWN];
};

int profdata_finder_slow(struct profdata_finder *finder, uint64_t kind, uint64_t id,
                         struct profdata_found *found);
void profdata_finder_free(struct profdata_finder *finder); /* an all-zero one is fine */

/* Where a kind is, or would be; PROFDATA_FINDER_KINDS when all places are taken by others. Real profiles have a dozen. */
static inline size_t profdata_finder_kind(const struct profdata_finder *finder, uint64_t kind)
{
    size_t at = (kind ^ kind >> 4) % PROFDATA_FINDER_KINDS;
    for (size_t i = 0; i < PROFDATA_FINDER_KINDS; i++) {
        if (finder->kinds[at].id == kind || !finder->kinds[at].is_set)
            return at;
        at = (at + 1) % PROFDATA_FINDER_KINDS;
    }
    return PROFDATA_FINDER_KINDS;
}

/* LAM_OK, LAM_E_NOMEM, LAM_E_FULL or the sink's code. */
static inline int profdata_find(struct profdata_finder *finder, uint64_t kind, uint64_t id,
                                struct profdata_found *found)
{
    const struct profdata_strings *strings = finder->shared->strings;
    size_t place = profdata_finder_kind(finder, kind);
    if (id < strings->virtual_count && place < PROFDATA_FINDER_KINDS) {
        uint32_t name = strings->virtual_names[id];
        if (name < finder->kinds[place].by_name.count && finder->kinds[place].by_name.items[name]) {
            found->label = finder->kinds[place].by_name.items[name];
            found->has_args = strings->virtual_args[id / 64] >> id % 64 & 1;
            return LAM_OK;
        }
    }
    return profdata_finder_slow(finder, kind, id, found);
}

#endif
