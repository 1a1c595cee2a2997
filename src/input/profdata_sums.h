/* What the events of a self-profile come to, by label and by thread, added up by one worker of its walk. Labels are numbered
 * as the worker meets them; profdata_sums_push() finds out what they are called. Many workers add up on their own and are then
 * added to one. */
#ifndef LAMELLA_INPUT_PROFDATA_SUMS_H
#define LAMELLA_INPUT_PROFDATA_SUMS_H

#include <pthread.h>

#include "input/profdata_events.h"
#include "input/profdata_labels.h"
#include "input/profdata_path_sums.h"
#include "profile/duration_histogram.h"

/* What the workers of one file share: names that no table gives at once are found by one at a time. */
struct profdata_names {
    struct profdata_strings *strings;
    pthread_mutex_t lock;
};

enum { PROFDATA_SUMS_KINDS = 24, PROFDATA_SUMS_CACHE = 16, PROFDATA_SUMS_NAMES = 1 << 10 };

/* A cache line: what every interval adds to. */
struct profdata_sum {
    uint64_t wall;      /* of all, */
    uint64_t inner;     /* of their children: the rest is self time */
    uint64_t recursive; /* of those inside another one of the label */
    uint64_t min, max;
    struct duration_histogram durations; /* counts them, too */
    /* Where a walk straight into sums met the label; lane PROFDATA_NO_THREAD: nowhere. */
    uint32_t open_lane, open_at;
};

struct profdata_marks { /* instants and integers of a label */
    uint64_t instants, values, sum, min, max;
};

struct profdata_lane_sum { /* of a thread */
    uint64_t self, backward, overlapping;
};

struct profdata_sums {
    struct profdata_names *names;
    struct profdata_sum *sums; /* by label */
    struct profdata_marks *marks;
    struct profdata_key { /* an event that has the label */
        uint64_t kind, id;
    } * keys;
    uint32_t count, capacity;
    struct profdata_lane_sum *lanes; /* by thread index */
    size_t lane_count;

    /* Inside: how an event's label is found. */
    struct {
        uint64_t id;          /* string of a kind */
        uint32_t table_and_1; /* 0: nothing is here */
        uint32_t count;       /* of the table as it is now; further kinds have none */
        const uint32_t *labels_and_1;
    } cache[PROFDATA_SUMS_CACHE];
    struct {
        uint64_t kind, id; /* an event whose name is in no table */
        uint32_t label_and_1;
    } known[PROFDATA_SUMS_NAMES];
    LAM_ARRAY(uint32_t) tables[PROFDATA_SUMS_KINDS]; /* by name: label + 1 */
    struct map kinds;                                /* name of a kind → its table */
    struct map pairs; /* table << 32 | name → label, of further kinds */

    struct profdata_path_sums paths; /* where they are wanted */
};

/* An all-zero one is empty, and may be freed. LAM_OK or LAM_E_NOMEM. */
int profdata_sums_open(struct profdata_sums *sums, struct profdata_names *names, size_t threads);
void profdata_sums_free(struct profdata_sums *sums);

/* Makes its threads so many. LAM_OK or LAM_E_NOMEM. */
int profdata_sums_lanes(struct profdata_sums *sums, size_t threads);

/* Sums with what they need, of a whole file. */
struct profdata_added {
    struct profdata_names names;
    struct profdata_sums sums;
};

/* Opened for so many threads, with so many paths (0: none are wanted); NULL when memory is short. */
struct profdata_added *profdata_added_new(struct profdata_strings *strings, size_t threads,
                                          size_t max_paths);
void profdata_added_free(struct profdata_added **added); /* NULL in it is fine */

int profdata_sums_label_slow(struct profdata_sums *sums, uint64_t kind, uint64_t id, uint32_t *label);

static inline size_t profdata_sums_slot(uint64_t id)
{
    return (id ^ id >> 10) % PROFDATA_SUMS_NAMES;
}

/* Which of them an event adds to. LAM_OK, LAM_E_NOMEM or LAM_E_FULL. */
static inline int profdata_sums_label(struct profdata_sums *sums, uint64_t kind, uint64_t id,
                                      uint32_t *label)
{
    const struct profdata_strings *strings = sums->names->strings;
    size_t slot = (kind ^ kind >> 4) % PROFDATA_SUMS_CACHE, place = profdata_sums_slot(id);
    if (id < strings->virtual_count) {
        uint32_t name = strings->virtual_names[id], label_and_1;
        if (sums->cache[slot].id == kind && name < sums->cache[slot].count &&
            (label_and_1 = sums->cache[slot].labels_and_1[name]) != 0) {
            *label = label_and_1 - 1;
            return LAM_OK;
        }
    } else if (sums->known[place].id == id && sums->known[place].kind == kind &&
               sums->known[place].label_and_1) {
        *label = sums->known[place].label_and_1 - 1;
        return LAM_OK;
    }
    return profdata_sums_label_slow(sums, kind, id, label);
}

/* One more interval, of a length. LAM_OK or LAM_E_NOMEM. */
static inline int profdata_sum_add(struct profdata_sum *sum, uint64_t length, bool is_recursive)
{
    sum->wall += length;
    sum->recursive += length & -(uint64_t)is_recursive;
    if (__builtin_expect(length < sum->min, 0)) /* rarely: what is looked at need not be stored */
        sum->min = length;
    if (__builtin_expect(length > sum->max, 0))
        sum->max = length;
    return duration_histogram_add(&sum->durations, length, 1);
}

static inline void profdata_sums_instant(struct profdata_sums *sums, uint32_t label)
{
    sums->marks[label].instants++;
}

static inline void profdata_sums_integer(struct profdata_sums *sums, uint32_t label, uint64_t value)
{
    struct profdata_marks *marks = &sums->marks[label];
    marks->instants++;
    marks->values++;
    marks->sum += value;
    marks->min = value < marks->min ? value : marks->min;
    marks->max = value > marks->max ? value : marks->max;
}

/* Adds another worker's, by label; what threads came to is not kept here while there are workers (profdata_nested.h). LAM_OK, LAM_E_NOMEM or LAM_E_FULL. */
int profdata_sums_merge(struct profdata_sums *into, const struct profdata_sums *from);

/* Tells the sink. LAM_OK, LAM_E_NOMEM or the sink's code. */
int profdata_sums_push(const struct profdata_sums *sums, struct profdata_labels *labels,
                       const struct profile_sink *sink, uint32_t process);

/* Tells the paths, as folds. Codes as above, and LAM_E_FULL. */
struct interval_paths;
int profdata_sums_push_paths(const struct profdata_sums *sums, struct profdata_labels *labels,
                             struct interval_paths *paths, const struct profile_sink *sink,
                             uint32_t process);

#endif
