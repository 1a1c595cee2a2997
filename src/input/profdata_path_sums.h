/* How often each path of labels was there in a self-profile, and how long: what a walk into sums (profdata_nested.h) adds up beside
 * them for a sink that wants path_sums. */
#ifndef LAMELLA_INPUT_PROFDATA_PATH_SUMS_H
#define LAMELLA_INPUT_PROFDATA_PATH_SUMS_H

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"

/* Of all walks of a file together, at some 80 bytes each; of one of many files that are made ready at once. */
enum { PROFDATA_PATHS_MAX = 1 << 18, PROFDATA_PATHS_OF_ONE = 1 << 14 };

struct profdata_path_sum {
    uint64_t count, total; /* of its intervals, with what is in them */
    uint32_t parent, label;
    uint32_t last; /* child that was asked for last; 0: none was */
};

/* All-zero: nobody wants them. */
struct profdata_path_sums {
    LAM_ARRAY(struct profdata_path_sum)
    nodes;            /* 0: outside of all; parents before their children */
    struct map steps; /* parent << 32 | label → node */
    size_t max;       /* of nodes */
};

/* LAM_OK or LAM_E_NOMEM. */
int profdata_path_sums_open(struct profdata_path_sums *paths, size_t max);
void profdata_path_sums_free(struct profdata_path_sums *paths);

static inline bool profdata_path_sums_wanted(const struct profdata_path_sums *paths)
{
    return paths->max > 0;
}

int profdata_path_step_slow(struct profdata_path_sums *paths, uint32_t parent, uint32_t label,
                            uint32_t *node);

/* The node of a label below a node. LAM_OK, LAM_E_NOMEM; LAM_E_UNSUPPORTED when there are too many of them. */
static inline int profdata_path_step(struct profdata_path_sums *paths, uint32_t parent,
                                     uint32_t label, uint32_t *node)
{
    uint32_t last = paths->nodes.items[parent].last;
    if (last && paths->nodes.items[last].label == label) {
        *node = last;
        return LAM_OK;
    }
    return profdata_path_step_slow(paths, parent, label, node);
}

static inline void profdata_path_add(struct profdata_path_sums *paths, uint32_t node, uint64_t length)
{
    paths->nodes.items[node].count++;
    paths->nodes.items[node].total += length;
}

/* Adds those of another walk, whose labels are labels[…] here. Codes as above. */
int profdata_path_sums_merge(struct profdata_path_sums *into, const struct profdata_path_sums *from,
                             const uint32_t *labels);

#endif
