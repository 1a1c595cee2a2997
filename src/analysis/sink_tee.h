/* One push into two sinks: a report of samples and totals of intervals from one pass over the input. */
#ifndef LAMELLA_ANALYSIS_SINK_TEE_H
#define LAMELLA_ANALYSIS_SINK_TEE_H

#include "profile/sink.h"

struct sink_tee {
    struct profile_sink first, second;
    struct profile_sink_ops ops; /* what neither takes is NULL: the input need not make it */
};

/* Each call goes to the first sink, then to the second; a failure of the first ends it. Both must take the same order of
 * events: that of the second is asked for. The tee must stay where it is while its sink is used. */
struct profile_sink sink_tee(struct sink_tee *tee, const struct profile_sink *first,
                             const struct profile_sink *second);

#endif
