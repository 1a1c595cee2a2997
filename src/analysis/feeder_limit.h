/* How many threads one rustc can keep busy while it makes code: one thread builds the IR of all codegen units, one after the
 * other, and the workers live on what it has built. For each second that it builds, the workers get so many seconds of work;
 * with more cores than that the rest of them wait for the builder, whatever -C codegen-units says. That is neither a lack of
 * work nor of jobs. */
#ifndef LAMELLA_ANALYSIS_FEEDER_LIMIT_H
#define LAMELLA_ANALYSIS_FEEDER_LIMIT_H

#include "analysis/report.h"

struct feeder_limit {
    uint64_t feed_ns; /* CPU time of the one thread that builds IR */
    uint64_t work_ns; /* CPU time of the workers on it, LTO apart: that begins when all is built */
    double busy_threads; /* at most so many are busy while IR is built, the builder among them */
};

/* False where no IR was built on one thread for others. */
bool feeder_limit_of(const struct report *report, uint32_t process, struct feeder_limit *limit);

#endif
