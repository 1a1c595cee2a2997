/* One of several writers of a Perfetto trace's events, each with bytes of its own that are put together in order (struct profile_branch).
 * Each stretch stands for itself: it begins with the packet that clears its sequence's state and names the strings that it uses. So
 * what is in it does not depend on who wrote those before. */
#ifndef LAMELLA_OUTPUT_PERFETTO_BRANCH_H
#define LAMELLA_OUTPUT_PERFETTO_BRANCH_H

#include "base/strbuf.h"
#include "profile/sink.h"

/* What a branch asks of the trace that it is a part of; callable by any thread. LAM_OK or a negative code. */
struct perfetto_trunk {
    void *ctx;
    int64_t base_ns;
    bool redacts;
    struct profile_text start; /* the packets that a stretch begins with; it outlives the branch */
    int (*track)(void *ctx, uint32_t process, uint32_t thread, uint64_t *track);
    /* Adds a label's text to one that is empty; *kind: the label of its kind. */
    int (*label)(void *ctx, uint32_t label, uint32_t *kind, struct strbuf *text);
};

/* An integer: its counter's track is made by the trunk, in the order of what is taken. */
struct perfetto_count {
    uint32_t process, thread, label;
    int64_t at_ns;
    uint64_t value;
};

/* What a branch holds: whole packets, and counts. Gone with the next event. */
struct perfetto_held {
    struct profile_text packets;
    const struct perfetto_count *counts; /* of a stretch that has ended */
    size_t count;
    uint64_t clamped; /* times before the trace's start */
};

enum { PERFETTO_STRETCHES = 2 }; /* their sequence; the trunk's is 1 */

int perfetto_branch_open(const struct perfetto_trunk *trunk, size_t max_bytes,
                         struct profile_branch *branch);
void perfetto_branch_close(struct profile_branch *branch);

struct perfetto_held perfetto_branch_take(struct profile_branch *branch);

#endif
