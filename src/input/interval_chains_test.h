/* For tests: the intervals of a push, and whether those of one chain of a thread cross each other. */
#ifndef LAMELLA_INPUT_INTERVAL_CHAINS_TEST_H
#define LAMELLA_INPUT_INTERVAL_CHAINS_TEST_H

#include <stdlib.h>

#include "base/array.h"
#include "profile/sink.h"

struct chained {
    uint32_t thread, chain;
    int64_t start_ns, end_ns;
};

struct chains LAM_ARRAY_BODY(struct chained);

static inline int chains_add(struct chains *chains, const struct profile_interval *it)
{
    struct chained kept = {it->thread, it->chain, it->start_ns, it->end_ns};
    if (it->chain == PROFILE_CHAIN_NONE || it->flags & PROFILE_INTERVAL_DETACHED)
        return LAM_OK;
    return array_push(chains, kept);
}

/* Every pair is looked at: for a few hundred. */
static inline bool chains_cross(const struct chains *chains)
{
    for (size_t i = 0; i < chains->count; i++) {
        for (size_t k = 0; k < chains->count; k++) {
            const struct chained *a = &chains->items[i], *b = &chains->items[k];
            if (a->thread == b->thread && a->chain == b->chain && a->start_ns < b->start_ns &&
                b->start_ns < a->end_ns && a->end_ns < b->end_ns)
                return true;
        }
    }
    return false;
}

#endif
