/* Who is inside whom: the intervals of one thread (or of one track) come in the order of their starts and leave for the sink
 * with depth, path, children, active and self time.
 *
 * The rules, for every view the same:
 *  - An interval is the child of the shortest one that holds it whole: start <= its start, its end <= end.
 *  - Of several with the same start the longer ones are outside, whatever their order; with the same end too, the one that
 *    came first is outside.
 *  - An empty interval holds nothing, and is held by what began before it and ends after it only: at the edge of another
 *    one it stands beside it.
 *  - An interval that begins inside another and ends after it OVERLAPS: unless a third one holds it, it is nobody's child.
 *    It nests its own children, in a chain of their own (see struct profile_interval).
 *  - One that never ended (OPEN) holds all that begins after it.
 *  - A DETACHED one takes no part.
 *
 * Memory grows with depth, never with the number of intervals; nothing recurses. */
#ifndef LAMELLA_INPUT_INTERVAL_NEST_H
#define LAMELLA_INPUT_INTERVAL_NEST_H

#include "base/array.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "profile/sink.h"

/* end_ns of an interval without an end, where the last time of its thread is not known yet. */
#define INTERVAL_NEST_OPEN INT64_MAX

/* Overlapping intervals that may be under way at once, each with all that it holds; one that begins then has no children. */
enum { INTERVAL_NEST_CHAINS = 64 };

/* The tree of labels of a whole push. */
struct interval_paths {
    struct map by_step; /* parent << 32 | label → path */
    uint32_t count;
};

void interval_paths_free(struct interval_paths *paths);

/* The path of a label below a path (0: outermost), told to the sink before it returns. *out is 0 when the sink wants neither paths nor those of folds.
 * LAM_OK, LAM_E_NOMEM, LAM_E_FULL or the sink's code. */
int interval_paths_step(struct interval_paths *paths, const struct profile_sink *sink,
                        uint32_t parent, uint32_t label, uint32_t *out);

struct nest_counted {
    struct profile_counted own; /* self: not yet known */
    bool is_own;                /* else only what is inside was counted */
    uint64_t inside;
};

struct nest_args { /* an interval's arguments, and what was counted in it, kept until it ends */
    struct nest_counted counted[PROFILE_COUNTERS_MAX]; /* by number */
    bool has_counted;
    LAM_ARRAY(struct profile_text) texts;
    LAM_ARRAY(size_t) offsets;
    struct strbuf bytes;
};

struct nest_item {
    int64_t start_ns, end_ns;
    uint64_t away_ns;   /* of the lane, when it began */
    uint64_t active_ns; /* as given; PROFILE_UNKNOWN: from the lane's absences */
    uint64_t self_ns;   /* as given; PROFILE_UNKNOWN: active without children_ns */
    uint64_t children_ns, children;
    const struct profile_fold *folds;
    size_t fold_count;
    uint32_t label, path, weight, flags;
    uint32_t thread, end_thread;
    uint64_t args_id; /* as given */
    uint32_t call_path;
    bool is_in_call;   /* of call_path */
    uint32_t args;     /* index + 1 in the nest's args; 0: none */
    uint32_t sequence; /* among those with the same start */
};

/* What is under way, each inside the one before. The first chain is the thread's; others began with an interval that
 * overlaps. */
struct nest_chain {
    LAM_ARRAY(struct nest_item) items;
    LAM_ARRAY(uint32_t) labels; /* of the items: many are compared at once */
    struct map deep;            /* label → how often among the items beyond the first few */
};

struct nest_totals {
    uint64_t intervals, instants, folds;
    uint64_t open, backward, overlapping;
    uint64_t clamped; /* starts that ran backwards and were moved forward */
    uint64_t cut_texts;
};

void nest_totals_add(struct nest_totals *into, const struct nest_totals *from);

struct interval_nest {
    const struct profile_sink *sink;
    struct interval_paths *paths;
    uint32_t process, track;
    struct nest_totals totals;

    /* Inside. */
    LAM_ARRAY(struct nest_chain) chains;
    size_t chain_count; /* those up to the last that is in use */
    LAM_ARRAY(struct nest_item)
    pending; /* the same start each; who is outside shows when the next start comes */
    LAM_ARRAY(struct nest_args) args;
    LAM_ARRAY(uint32_t) free_args;
    int64_t now_ns;  /* the last start */
    int64_t last_ns; /* the latest time seen */
    uint64_t away_ns;
    int64_t away_since_ns;
    bool is_away;
};

/* Begins a lane; a nest that was finished can begin another one, and keeps its memory and totals. All-zero before the first
 * time. track: 0 for a thread's lane. */
void interval_nest_begin(struct interval_nest *nest, const struct profile_sink *sink,
                         struct interval_paths *paths, uint32_t process, uint32_t track);
void interval_nest_free(struct interval_nest *nest);

/* The next interval. Taken from *in: thread, end_thread, label, start_ns, end_ns, weight, args, counted (names live until the lane is
 * finished) and
 *  active_ns   PROFILE_UNKNOWN: wall without the lane's absences
 *  self_ns     PROFILE_UNKNOWN: active without the children. Known where its children were picked on their own: then what
 *              it stands for, weight times self, and not its active time, is what its parent is without
 *  flags       OPEN: end_ns is INTERVAL_NEST_OPEN, or the last time of the lane; DETACHED; BACKWARD. An end before the start
 *              is made BACKWARD here. RECURSIVE: one around it that is not among these has its label.
 * For a sink with PROFILE_ORDER_START active_ns must be known unless the lane is never away, and the end always.
 * A start before the last one is moved up to it, and counted. LAM_OK, LAM_E_NOMEM or the sink's code. */
int interval_nest_add(struct interval_nest *nest, const struct profile_interval *in);

/* The same with calls in it that were not stored: they are pushed once its path is known, and its self time is without
 * theirs. folds must live until an interval with a later start was added, or the lane is finished; of each, process, track and path are filled in here. */
int interval_nest_add_folded(struct interval_nest *nest, const struct profile_interval *in,
                             const struct profile_fold *folds, size_t fold_count);

/* The same, inside of a call that was not stored but has that path: the call is without its time, and so is what is around
 * the call, already. A fold with the count 0 is time of such calls. */
int interval_nest_add_in_call(struct interval_nest *nest, const struct profile_interval *in,
                              const struct profile_fold *folds, size_t fold_count,
                              uint32_t call_path);

/* An instant, an integer: pushed at its place. */
int interval_nest_instant(struct interval_nest *nest, const struct profile_instant *in);

/* Nothing more begins before at_ns: what was waiting for others with its own start is told, so that it comes before what other
 * lanes tell next. */
int interval_nest_settle(struct interval_nest *nest, int64_t at_ns);

/* Calls that were not stored, and no interval around them is known: below a path. */
int interval_nest_fold_at(struct interval_nest *nest, const struct profile_fold *in, uint32_t path);

/* The lane goes away (its track is switched out) and returns. Twice the same is once. */
int interval_nest_leave(struct interval_nest *nest, int64_t at_ns);
int interval_nest_return(struct interval_nest *nest, int64_t at_ns);

/* The path of the innermost interval at a time behind the last start and not behind the next; 0: none. LAM_OK, LAM_E_NOMEM or the
 * sink's code. */
int interval_nest_path_at(struct interval_nest *nest, int64_t at_ns, uint32_t *path);

/* Ends the lane: what is open ends at last_ns, or at the latest time that was seen. */
int interval_nest_finish(struct interval_nest *nest, int64_t last_ns);

#endif
