/* Adds up how often and how long each stack was there, from intervals or from samples: what folded stacks, flame graphs and
 * pprof are made of. A sink; memory is the number of different stacks, not of events. */
#ifndef LAMELLA_OUTPUT_STACK_TOTALS_H
#define LAMELLA_OUTPUT_STACK_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "output/export_tables.h"
#include "output/exporter.h"
#include "output/mixed_stacks.h"

#define STACK_GROUP_NONE UINT32_MAX

struct stack_total {
    uint32_t group; /* the program's name, in group_names */
    uint32_t node;  /* a path, or a stack when the totals are of samples; 0: outside of any */
    uint64_t count; /* intervals or samples that ended here */
    uint64_t value; /* their self time, or CPU time */
};

struct stack_total_list LAM_ARRAY_BODY(struct stack_total);

struct stack_path {
    uint32_t parent, label;
};

struct stack_totals {
    struct export_options options;
    struct intern group_names;
    LAM_ARRAY(uint32_t) groups; /* process → group; STACK_GROUP_NONE: left out */
    bool (*wants_process)(void *ctx, const struct profile_process *process); /* NULL: all */
    void *wants_ctx;
    bool takes_sums; /* the numbers of paths mean nothing to whoever reads them: set before the push */
    struct export_labels labels;
    struct export_frames frames;
    LAM_ARRAY(struct stack_path) paths;
    struct mixed_stacks mixed;
    struct map index; /* (group, node) → row of list + 1; of intervals and of samples */
    struct map sample_index;
    struct stack_total_list intervals, samples;
    enum profile_measure measure;
    int64_t started_at_unix_ns;
    uint64_t elapsed_ns;
    uint32_t period_ns; /* of the last sample */
    uint64_t instants;  /* have no duration and are in no stack */
};

int stack_totals_open(struct stack_totals **totals, const struct export_options *options,
                      struct lam_error *err);
struct profile_sink stack_totals_sink(struct stack_totals *totals);

/* Before the push: only the processes that wants() says. */
void stack_totals_only(struct stack_totals *totals,
                       bool (*wants)(void *ctx, const struct profile_process *process), void *ctx);

/* The node around a node, and its name's label or frame (one is 0). */
struct stack_step {
    uint32_t parent, label, frame;
};
struct stack_step stack_totals_step(const struct stack_totals *totals, uint32_t node);

/* After the push: whether the totals are of samples, and the rows, sorted by group and node. Notes what is left out. */
bool stack_totals_of_samples(const struct stack_totals *totals);
const struct stack_total_list *stack_totals_rows(struct stack_totals *totals);

void stack_totals_close(struct stack_totals **totals); /* NULL and *totals NULL are fine */

#endif
