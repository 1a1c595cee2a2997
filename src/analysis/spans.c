#include "analysis/spans.h"

uint64_t span_gap_ns(uint32_t period_ns)
{
    uint64_t three = 3 * (uint64_t)period_ns;
    return three > SPAN_GAP_MIN_NS ? three : SPAN_GAP_MIN_NS;
}

bool span_add(struct span_builder *builder, uint32_t phase, int64_t at_ns, uint64_t cpu_ns,
              uint32_t period_ns, struct span *done)
{
    struct span *open = &builder->open;
    bool was_open = builder->is_open;
    if (was_open && at_ns < open->end_ns)
        at_ns = open->end_ns; /* a clock that stepped back: no time, but the weight stays */
    /* CPU time is at most wall time on one thread; a weight without end would reach before the session. */
    uint64_t reach = cpu_ns < (uint64_t)INT64_MAX / 2 ? cpu_ns : 0;
    int64_t begin = at_ns - (int64_t)reach;
    if (was_open && begin < open->end_ns)
        begin = open->end_ns;
    bool is_gap = !was_open || (uint64_t)(at_ns - open->end_ns) > span_gap_ns(period_ns) + reach;
    if (was_open && !is_gap && open->phase == phase) {
        open->end_ns = at_ns;
        open->samples++;
        open->cpu_ns += cpu_ns;
        return false;
    }
    if (was_open)
        *done = *open;
    *open = (struct span){.phase = phase,
                          .start_ns = is_gap ? begin : open->end_ns,
                          .end_ns = at_ns,
                          .samples = 1,
                          .cpu_ns = cpu_ns,
                          .continues = !is_gap};
    builder->is_open = true;
    return was_open;
}

bool span_finish(struct span_builder *builder, struct span *done)
{
    if (!builder->is_open)
        return false;
    *done = builder->open;
    builder->is_open = false;
    return true;
}
