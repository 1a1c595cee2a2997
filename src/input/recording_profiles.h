/* Self-profiles that compilers wrote into a recording (`lamella record --self-profile`): found, joined to the processes that
 * wrote them, and pushed among what else is known of these. */
#ifndef LAMELLA_INPUT_RECORDING_PROFILES_H
#define LAMELLA_INPUT_RECORDING_PROFILES_H

#include "base/pool.h"
#include "input/profdata_push.h"
#include "input/recording.h"

/* Finds the profiles of a recording directory and reads what they say of themselves. What is missing, unreadable or of no
 * process here is counted as unreadable. After recording_link(). LAM_OK or LAM_E_NOMEM. */
int recording_profiles_find(struct recording *rec);
void recording_profiles_free(struct recording *rec);

/* What a push has of its own; ids go on from those that were given. */
struct profile_pusher {
    const struct profile_sink *sink;
    struct label_merge *label_ids;
    struct interval_paths *paths;
    uint32_t *threads; /* ids given so far */
    struct profile_session_end *totals;

    /* Inside: all-zero at first. */
    struct profdata_labels labels;
    struct pool *pool;
};

/* The profiles of one image; its process has been pushed, its end has not. */
int recording_profiles_push(struct profile_pusher *pusher, struct recording *rec,
                            const struct image *image);
void profile_pusher_free(struct profile_pusher *pusher);

#endif
