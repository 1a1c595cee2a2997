/* Totals of intervals by path: the tree of labels from the outermost to each event. Memory: one node a distinct path. */
#ifndef LAMELLA_ANALYSIS_LABEL_PATHS_H
#define LAMELLA_ANALYSIS_LABEL_PATHS_H

#include <stdbool.h>

#include "base/array.h"
#include "profile/sink.h"

struct label_path {
    uint32_t parent; /* index in nodes; 0: outermost */
    uint32_t name;   /* index in labels.names */
    uint32_t row;    /* the same, of the row that its events are in: a query's, of a part of it */
    bool is_part;    /* its events do not count as events of the row */
    uint32_t depth;  /* 0: outermost */
    bool is_pushed;  /* else nobody said what it is: ids may have gaps */
    uint64_t count, self_ns, time_ns; /* time: active, that of folds after label_paths_finish() */
    uint64_t folded_self_ns,
        folded_ns, /* what folds have said of these; a time of 0 inside of calls of the same label */
        below_ns;  /* time of folds one further inside */
    uint32_t first_child, next; /* children, most time first, after label_paths_finish(); 0: none */
};

/* All-zero is empty and valid. nodes[0] stands for all: its children are the outermost labels, its sums are those of all. */
struct label_paths {
    LAM_ARRAY(struct label_path) nodes; /* by the input's path id */
};

/* Of *is, the names are taken. LAM_OK, LAM_E_NOMEM, or LAM_E_INVAL for a path that was not pushed, or whose parent was not. */
int label_paths_node(struct label_paths *paths, const struct profile_path *path,
                     const struct label_path *is);
int label_paths_add(struct label_paths *paths, const struct profile_interval *interval);
int label_paths_fold(struct label_paths *paths, const struct profile_fold *fold);
/* Links children in order. LAM_OK or LAM_E_NOMEM. */
int label_paths_finish(struct label_paths *paths);
void label_paths_free(struct label_paths *paths);

#endif
