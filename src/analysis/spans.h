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
    bool continues; /* begins where the span before it ended: no gap lies between */
};

struct span_builder { /* all-zero is empty */
    struct span open;
    bool is_open;
};

/* The longest time without a sample inside a span, for samples `period_ns` apart. */
uint64_t span_gap_ns(uint32_t period_ns);

/* A sample. True when it ended the span before, which is then in *done. A sample stands for CPU time before it: the span
 * starts that much earlier, but not before the thread's last sample. */
bool span_add(struct span_builder *builder, uint32_t phase, int64_t at_ns, uint64_t cpu_ns,
              uint32_t period_ns, struct span *done);

/* The thread ended: true when a span was open, which is then in *done. */
bool span_finish(struct span_builder *builder, struct span *done);

#endif
