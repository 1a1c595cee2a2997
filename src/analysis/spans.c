#include "analysis/spans.h"

uint64_t span_gap_ns(uint32_t period_ns)
{
    uint64_t three = 3 * (uint64_t)period_ns;
    return three > SPAN_GAP_MIN_NS ? three : SPAN_GAP_MIN_NS;
}

/* CPU time is at most wall time on one thread; a weight without end would reach before the session. */
static uint64_t reach_of(const struct span_sample *sample)
{
    uint64_t most = (uint64_t)INT64_MAX / 4;
    return sample->cpu_ns < most && sample->late_ns < most ? sample->cpu_ns + sample->late_ns : 0;
}

bool span_add(struct span_builder *builder, const struct span_sample *sample, struct span *done)
{
    struct span *open = &builder->open;
    bool was_open = builder->is_open;
    int64_t at_ns = sample->at_ns;
    if (was_open && at_ns < open->end_ns)
        at_ns = open->end_ns; /* a clock that stepped back: no time, but the weight stays */
    uint64_t reach = reach_of(sample), gap_ns = span_gap_ns(sample->period_ns);
    int64_t begin = at_ns - (int64_t)reach;
    if (was_open && begin < open->end_ns)
        begin = open->end_ns;
    bool is_gap = !was_open || (uint64_t)(at_ns - open->end_ns) > gap_ns + reach;
    if (was_open && !is_gap && open->phase == sample->phase && open->group == sample->group) {
        open->end_ns = at_ns;
        open->gap_ns = gap_ns;
        open->samples++;
        open->cpu_ns += sample->cpu_ns;
        return false;
    }
    if (was_open)
        *done = *open;
    *open = (struct span){.phase = sample->phase,
                          .group = sample->group,
                          .start_ns = is_gap ? begin : open->end_ns,
                          .end_ns = at_ns,
                          .samples = 1,
                          .cpu_ns = sample->cpu_ns,
                          .gap_ns = gap_ns,
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
