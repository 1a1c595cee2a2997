/* Stacks as tables of a page, cut so that they keep to a size: `frames` is one tree, `stacks_whole` says how often each node was
 * seen in all, `stacks` when and where. Small branches end early; where that is not enough time is taken in coarser slots, then
 * threads of a process as one, then all its time. No sample is left out: what is cut stands at the frame above. */
#ifndef LAMELLA_OUTPUT_PAGE_STACKS_H
#define LAMELLA_OUTPUT_PAGE_STACKS_H

#include "analysis/stack_slices.h"
#include "output/page_columns.h"

struct page_stacks_options {
    const struct report *report;
    const struct stack_slices *slices; /* finished */
    struct frame_names names;
    uint64_t quantum_ns;
    int64_t usual_cpu; /* page_usual_cpu() */
    size_t max_bytes;  /* deflated; 0: nothing is cut */
};

struct page_stacks_cut {
    uint64_t samples;
    size_t frames, cut_frames; /* nodes that are kept, and not */
    double mean_depth;         /* of a sample: frames of its stack */
    /* A frame with fewer samples in the whole recording was cut; how many samples stand above their innermost frame, and how
     * many frames a sample has left. */
    uint64_t min_samples, cut_samples;
    double kept_depth;
    /* The same of `stacks`, within each thread or process and slot. */
    uint64_t parts_cut_samples;
    double parts_kept_depth;
    uint64_t slot_ns;  /* UINT64_MAX: all time is one */
    bool is_by_thread; /* else by process */
};

/* No tables without samples. LAM_OK or LAM_E_NOMEM. */
int page_stacks(struct page_columns *data, const struct page_stacks_options *options,
                struct page_stacks_cut *cut);

/* Member `stacks` of the header. */
void page_describe_stacks(const struct page_stacks_cut *cut, struct json_writer *json);

#endif
