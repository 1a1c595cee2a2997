/* The events of one self-profile into a sink, nested. An interval is stored when it ends, so that a walk from the file's end
 * meets parents before their children: one stack of open intervals a thread is all it needs, and an interval leaves it
 * complete. Sinks that want the order of starts get a walk forward with a bounded window (profdata_forward.c).
 *
 * Who is inside whom is decided as interval_nest.h says. */
#ifndef LAMELLA_INPUT_PROFDATA_WALK_H
#define LAMELLA_INPUT_PROFDATA_WALK_H

#include "input/interval_nest.h"
#include "input/profdata_events.h"
#include "input/profdata_labels.h"

/* The order of the ends of all events, inner ones first: how programs write them. */
struct profdata_order {
    uint64_t *events; /* indexes; NULL where the file needs no sorting */
    uint64_t count;
};

struct profdata_walk {
    const struct profile_sink *sink;
    struct profdata_file *file;
    struct profdata_strings *strings;
    struct profdata_labels *labels;
    struct interval_paths *paths;
    struct profdata_threads *threads; /* profdata_push_look() fills it */
    uint32_t process, first_thread; /* ids of the push: thread i of `threads` is first_thread + i */
    int64_t zero_ns;                /* of the file's own times, in the session's */
    struct nest_totals totals;
    struct profdata_skeleton skeleton; /* for profdata_push_ready(), of a sink that wants sums or has branches */
    struct pool *pool;                 /* NULL: one thread */
    struct {                           /* of profdata_push_ready() */
        struct profdata_order order;
        struct profdata_added *sums; /* for a sink that wants them; the look has made them already if it could */
        bool is_in_parts; /* branches are told */
    } ready;

    /* Inside: the arguments of one event. */
    struct strbuf text;
    LAM_ARRAY(struct profile_text) args;
    bool has_plain_args;
};

/* Takes 8 bytes an event where it has to sort. LAM_OK or LAM_E_NOMEM. */
int profdata_sort(const struct profdata_file *file, const struct profdata_threads *threads,
                  struct profdata_order *order);
void profdata_order_free(struct profdata_order *order);

/* PROFILE_ORDER_ANY: from the end to the beginning, complete. */
int profdata_walk_backward(struct profdata_walk *walk, const struct profdata_order *order);

/* The same into sums that were opened for its threads. */
struct profdata_sums;
int profdata_walk_sums(struct profdata_walk *walk, const struct profdata_order *order,
                       struct profdata_sums *sums);

/* The same of a file in which nothing overlaps, and that needs no sorting. Its threads are found on the way, as profdata_look() does;
 * the sums are opened for none. UNSUPPORTED: another walk can do it, and the sums are worth nothing. */
int profdata_walk_straight(struct profdata_walk *walk, struct profdata_sums *sums,
                           struct profdata_threads *threads);

/* The same on all of the pool's threads, for a file that needs no sorting and has a skeleton. UNSUPPORTED: only a walk by one
 * alone can do it, and the sums are worth nothing. */
int profdata_walk_chunks(struct profdata_walk *walk, struct profdata_skeleton *skeleton,
                         struct pool *pool, struct profdata_sums *sums);

/* Several files of one sink to its branches, one after the other: files that fit, and whose intervals nest.
 * The sink knows their processes and threads. */
enum { PROFDATA_PART_EVENTS = 1 << 13, PROFDATA_FORWARD_PART_EVENTS = 1 << 12 };
bool profdata_fits_parts(const struct profdata_walk *walk, const struct profdata_order *order);
int profdata_walk_parts(struct profdata_walk *const *walks, size_t count, struct pool *pool);

/* PROFILE_ORDER_START. */
int profdata_walk_forward(struct profdata_walk *walk, const struct profdata_order *order);

void profdata_walk_free(struct profdata_walk *walk);

/* ---- for both ---- */

/* What a string is called in args_id; 0: it has no arguments, or nobody asks. */
static inline uint64_t profdata_walk_args_id(const struct profdata_walk *walk, uint64_t id)
{
    return walk->sink->wants.args && profdata_strings_has_args(walk->strings, id) ? id + 1 : 0;
}

/* The arguments of an event's id; they live until the next call. None without an args_id, and for a sink that has kept them. */
int profdata_walk_args(struct profdata_walk *walk, uint64_t id, uint64_t args_id,
                       const struct profile_text **args, size_t *argc);

/* An instant or an integer; at: its time, of an integer that of its surroundings. */
int profdata_walk_make_instant(struct profdata_walk *walk, const struct profdata_event *event,
                               uint32_t thread, uint64_t at, struct profile_instant *out);
int profdata_walk_instant(struct profdata_walk *walk, const struct profdata_event *event,
                          uint32_t thread, uint64_t at);

static inline int64_t profdata_walk_time(const struct profdata_walk *walk, uint64_t time)
{
    return walk->zero_ns + (int64_t)time;
}

#endif
