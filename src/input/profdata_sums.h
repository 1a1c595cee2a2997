/* What the events of a self-profile come to, by label and by thread, added up by one worker of its walk. Labels are numbered
 * as the worker meets them; profdata_sums_push() finds out what they are called. Many workers add up on their own and are then
 * added to one. */
#ifndef LAMELLA_INPUT_PROFDATA_SUMS_H
#define LAMELLA_INPUT_PROFDATA_SUMS_H

#include <pthread.h>

#include "input/profdata_labels.h"
#include "profile/duration_histogram.h"

/* What the workers of one file share: names that no table gives at once are found by one at a time. */
struct profdata_names {
    struct profdata_strings *strings;
    pthread_mutex_t lock;
};

enum { PROFDATA_SUMS_KINDS = 24, PROFDATA_SUMS_CACHE = 16, PROFDATA_SUMS_NAMES = 1 << 10 };

/* A cache line: what every interval adds to. */
struct profdata_sum {
    uint64_t intervals, self, time, wall, min, max;
    struct duration_histogram durations;
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
        uint64_t id; /* string of a kind */
        uint32_t table;
        bool is_set;
    } cache[PROFDATA_SUMS_CACHE];
    struct {
        uint64_t id; /* string of an event that no table knows, and its name */
        uint32_t name;
    } known[PROFDATA_SUMS_NAMES];
    LAM_ARRAY(uint32_t) tables[PROFDATA_SUMS_KINDS]; /* by name: label + 1 */
    struct map kinds;                                /* name of a kind → its table */
    struct map pairs; /* table << 32 | name → label, of further kinds */
};

/* An all-zero one is empty, and may be freed. LAM_OK or LAM_E_NOMEM. */
int profdata_sums_open(struct profdata_sums *sums, struct profdata_names *names, size_t threads);
void profdata_sums_free(struct profdata_sums *sums);

int profdata_sums_label_slow(struct profdata_sums *sums, uint64_t kind, uint64_t id, uint32_t *label);

/* Which of them an event adds to. LAM_OK, LAM_E_NOMEM or LAM_E_FULL. */
static inline int profdata_sums_label(struct profdata_sums *sums, uint64_t kind, uint64_t id,
                                      uint32_t *label)
{
    const struct profdata_strings *strings = sums->names->strings;
    size_t slot = (kind ^ kind >> 4) % PROFDATA_SUMS_CACHE;
    if (id < strings->virtual_count && sums->cache[slot].is_set && sums->cache[slot].id == kind &&
        sums->cache[slot].table < PROFDATA_SUMS_KINDS) {
        uint32_t name = strings->virtual_names[id], table = sums->cache[slot].table;
        if (name < sums->tables[table].count && sums->tables[table].items[name]) {
            *label = sums->tables[table].items[name] - 1;
            return LAM_OK;
        }
    }
    return profdata_sums_label_slow(sums, kind, id, label);
}

/* One more interval, of a length without and with what is inside of it. LAM_OK or LAM_E_NOMEM. */
static inline int profdata_sums_interval(struct profdata_sums *sums, uint32_t label,
                                         uint64_t length, uint64_t self, bool is_recursive)
{
    struct profdata_sum *sum = &sums->sums[label];
    sum->intervals++;
    sum->self += self;
    sum->time += is_recursive ? 0 : length;
    sum->wall += length;
    sum->min = length < sum->min ? length : sum->min;
    sum->max = length > sum->max ? length : sum->max;
    return duration_histogram_add(&sum->durations, length, 1);
}

static inline void profdata_sums_instant(struct profdata_sums *sums, uint32_t label)
{
    sums->marks[label].instants++;
}

void profdata_sums_integer(struct profdata_sums *sums, uint32_t label, uint64_t value);

/* Adds all of another worker's. LAM_OK, LAM_E_NOMEM or LAM_E_FULL. */
int profdata_sums_merge(struct profdata_sums *into, const struct profdata_sums *from);

/* Tells the sink. LAM_OK, LAM_E_NOMEM or the sink's code. */
int profdata_sums_push(const struct profdata_sums *sums, struct profdata_labels *labels,
                       const struct profile_sink *sink, uint32_t process);

#endif
