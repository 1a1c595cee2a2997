/* Several inputs as one push: recordings, and self-profiles. Each is read by itself; what it numbers is numbered on behind the one
 * before, labels and paths of the same name are one, and times count from the earliest start. */
#ifndef LAMELLA_INPUT_JOINED_INPUTS_H
#define LAMELLA_INPUT_JOINED_INPUTS_H

#include <stddef.h>

#include "base/error.h"
#include "profile/sink.h"

/* One of them: pushes into a sink what ctx stands for, as input_read() does. */
struct joined_part {
    int (*read)(const struct joined_part *part, const struct profile_sink *sink,
                struct lam_error *err);
    const void *ctx;
    const char *name; /* for messages */
    uint32_t recording; /* of those with samples: which one's modules it has (profile_module.recording) */
};

/* Reads each part twice: the first time up to its session. What one of them alone can say (its command, the CPU time that was
 * charged to it) is left out of the session. UNSUPPORTED where two count different things; else the codes of the parts and of
 * the sink. */
int joined_inputs_read(const struct joined_part *parts, size_t count,
                       const struct profile_sink *sink, struct lam_error *err);

#endif
