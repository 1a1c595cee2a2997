/* A sink in front of an exporter that makes long timelines shorter without lying: intervals below a duration that follow
 * each other inside the same parent become one interval of the label "(merged)", which says how many they were and how long
 * they took; what lies inside a merged one is merged with it. Adjacent samples of a thread become one at what their stacks
 * have in common. Memory is threads × depth. */
#ifndef LAMELLA_OUTPUT_MERGE_SMALL_H
#define LAMELLA_OUTPUT_MERGE_SMALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/byteout.h"
#include "base/error.h"
#include "output/duration_counts.h"
#include "profile/sink.h"

struct merge_small;

struct merge_counts {
    uint64_t intervals, instants, samples; /* merged into others */
    uint64_t into;                         /* how many those are */
};

/* Passes on to `to`, whose wants it takes over but for the order, which is by start. Durations of min_ns and more stay as
 * they are. merges_all: points and samples are merged as well, samples until they weigh min_ns. */
int merge_small_open(struct merge_small **merge, const struct profile_sink *to, uint64_t min_ns,
                     bool merges_all, struct lam_error *err);

/* Counts the durations of all that comes in, merged or not; the counts stay the caller's. */
void merge_small_count(struct merge_small *merge, struct duration_counts *durations);

/* Nothing is passed on any more once `out`, where what is passed on is written, has more than `most_bytes`: nobody wants to know what
 * it would have had but roughly. Where nothing is counted either the sink returns LAM_E_TOOBIG then. */
void merge_small_limit(struct merge_small *merge, const struct byteout *out, uint64_t most_bytes);

/* How many events came in, and how many of them before it had too much (0: it never had). */
struct merge_progress {
    uint64_t events, before_full;
};
struct merge_progress merge_small_progress(const struct merge_small *merge);

struct profile_sink merge_small_sink(struct merge_small *merge);
struct merge_counts merge_small_counts(const struct merge_small *merge);
void merge_small_close(struct merge_small **merge); /* NULL and *merge NULL are fine */

#endif
