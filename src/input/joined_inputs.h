/* Several inputs as one push: recordings of instrumented programs, and self-profiles. Each is read by itself; what it numbers is
 * numbered on behind the one before, labels and paths of the same name are one, and times count from the earliest start. */
#ifndef LAMELLA_INPUT_JOINED_INPUTS_H
#define LAMELLA_INPUT_JOINED_INPUTS_H

#include <stddef.h>

#include "base/error.h"
#include "profile/sink.h"

/* One of them: reads paths into a sink, as input_read() does. */
struct joined_part {
    int (*read)(const char *const *paths, size_t count, const struct profile_sink *sink,
                struct lam_error *err);
    const char *const *paths;
    size_t count;
};

/* Reads each part twice: the first time up to its session. UNSUPPORTED for one that has samples, whose account of CPU time covers
 * itself alone, and where two count different things; else the codes of the parts and of the sink. */
int joined_inputs_read(const struct joined_part *parts, size_t count,
                       const struct profile_sink *sink, struct lam_error *err);

#endif
