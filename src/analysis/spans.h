/* Spans: consecutive samples of one thread in one phase. One builder a thread; finished spans go to a callback. */
#ifndef LAMELLA_ANALYSIS_SPANS_H
#define LAMELLA_ANALYSIS_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#define SPAN_GAP_MIN_NS \
    10000000u /* a gap of this or of three periods, whichever is longer, ends a span */

struct span {
    int64_t start_ns, end_ns;
    uint64_t samples, cpu_ns;
    uint32_t phase; /* index of classifier_phase() */
    uint32_t group; /* whatever else the caller tells apart: another one ends a span as another phase does */
    uint64_t gap_ns; /* the longest time without a sample that its last sample allowed before it */
    bool continues;  /* begins where the span before it ended: no gap lies between */
};

struct span_builder { /* all-zero is empty */
    struct span open;
    bool is_open;
};

/* The longest time without a sample inside a span, for samples `period_ns` apart. */
uint64_t span_gap_ns(uint32_t period_ns);

struct span_sample {
    uint32_t phase, group;
    int64_t at_ns;
    uint64_t cpu_ns; /* that it stands for, and that the span counts */
    uint64_t late_ns; /* used by the thread before it as well, but not known to be spent there: no gap, and not counted */
    uint32_t period_ns;
};

/* A sample. True when it ended the span before, which is then in *done. A sample stands for CPU time before it: the span
 * starts that much earlier, but not before the thread's last sample. */
bool span_add(struct span_builder *builder, const struct span_sample *sample, struct span *done);

/* The thread ended: true when a span was open, which is then in *done. */
bool span_finish(struct span_builder *builder, struct span *done);

#endif
