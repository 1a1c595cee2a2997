/* All that a walk over one .mm_profdata file needs, as tests and fuzz targets set it up. */
#ifndef LAMELLA_INPUT_PROFDATA_RIG_TEST_H
#define LAMELLA_INPUT_PROFDATA_RIG_TEST_H

#include <stdlib.h>

#include "input/profdata_walk.h"

struct profdata_rig {
    struct profdata_strings strings;
    struct profdata_threads threads;
    struct profdata_order order;
    struct label_merge label_ids;
    struct profdata_labels labels;
    struct interval_paths paths;
    struct profdata_walk walk;
};

/* Aborts without memory: nothing in a file keeps it from being looked at. With part_events the walk has a skeleton of parts of so
 * many events, looked at with the pool's threads. The sink and the file must stay. */
static inline void profdata_rig_open(struct profdata_rig *rig, struct profdata_file *file,
                                     const struct profile_sink *sink, struct pool *pool,
                                     uint64_t part_events)
{
    *rig = (struct profdata_rig){.label_ids = {.sink = sink}, .labels = {.ids = &rig->label_ids}};
    rig->walk = (struct profdata_walk){.sink = sink,
                                       .file = file,
                                       .strings = &rig->strings,
                                       .labels = &rig->labels,
                                       .paths = &rig->paths,
                                       .threads = &rig->threads,
                                       .process = 1,
                                       .first_thread = 1,
                                       .skeleton = {.chunk_events = part_events}};
    if (profdata_strings_open(&rig->strings, file, &rig->labels.names, sink->wants.args, NULL) < 0 ||
        profdata_look(file, pool, &rig->threads, part_events ? &rig->walk.skeleton : NULL) < 0 ||
        profdata_sort(file, &rig->threads, &rig->order) < 0)
        abort();
}

static inline void profdata_rig_close(struct profdata_rig *rig)
{
    profdata_order_free(&rig->order);
    profdata_walk_free(&rig->walk);
    interval_paths_free(&rig->paths);
    profdata_threads_free(&rig->threads);
    profdata_strings_close(&rig->strings);
    profdata_labels_free(&rig->labels);
    label_merge_free(&rig->label_ids);
}

#endif
