/* The events of one instrumented program into a sink: labels, tracks, nested intervals, instants, integers and folds. */
#ifndef LAMELLA_INPUT_PROCESS_EVENTS_H
#define LAMELLA_INPUT_PROCESS_EVENTS_H

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "input/interval_nest.h"
#include "input/label_merge.h"
#include "input/sample_queue.h"
#include "profile/sink.h"
#include "reader/event_read.h"
#include "reader/tick_clock.h"
#include "reader/tree_nodes.h"

enum { EVENT_LABEL_CACHE = 4096 };

struct event_label_slot {
    uint64_t key;   /* kind << 32 | id */
    uint32_t label; /* 0: empty */
};

struct event_line { /* a thread, or a track, while its events are read */
    struct interval_nest nest;
    uint32_t thread; /* in the sink */
    uint32_t segments_left;
    uint64_t last; /* time */
    struct arena folds;
};

struct tree_node;

struct process_tree { /* of a lane */
    uint32_t lane;
    struct tree_nodes nodes;
    struct tree_node *info; /* by number */
    bool is_named;          /* labels and paths are known */
};

struct process_events {
    /* Filled in by the caller. */
    const struct profile_sink *sink;
    struct label_merge *labels;
    struct interval_paths *paths;
    struct tick_clock *clock;
    struct sample_queue *samples; /* NULL: the sink does not want to know where they were */
    uint32_t process;
    uint32_t first_track; /* id in the sink of its first track */

    /* Out. */
    uint32_t tracks; /* pushed */
    struct nest_totals totals;

    /* Inside. */
    const struct stream_file *file;
    struct event_names names;
    struct event_index index;
    struct map thread_ids; /* number in the file → id in the sink */
    struct map track_ids;
    struct map thread_lines, track_lines; /* → index in lines + 1 */
    LAM_ARRAY(struct event_line *) lines;
    LAM_ARRAY(uint32_t) free_lines;
    struct event_label_slot *cache;
    struct event_args args;
    LAM_ARRAY(struct profile_text) texts;
    struct profile_counted counters[PROFILE_COUNTERS_MAX]; /* by number: their names and measures */
    struct arena counter_names;
    struct strbuf text;
    LAM_ARRAY(struct event_line *)
    unsettled; /* what they were told last waits for others with its start */
    bool uses_stints, is_merged;
    LAM_ARRAY(struct process_tree) trees;
    uint64_t last; /* the latest time known of the process, in the file's measure */
};

/* Reads what must be known before threads are pushed. The file must stay open until close. LAM_OK or LAM_E_NOMEM. */
int process_events_open(struct process_events *events, const struct stream_file *file,
                        struct stream_faults *faults);

/* Says which thread of the sink a thread of the file is; every one in index.threads must be told before the push. */
int process_events_thread(struct process_events *events, uint32_t thread, uint32_t id);

/* Pushes all. LAM_OK, LAM_E_NOMEM or the sink's code. */
int process_events_push(struct process_events *events);

void process_events_close(struct process_events *events);

/* ---- process_trees.c ---- */

/* Reads the trees: their threads join those of the index, and intervals that are open learn what calls in them took. */
int process_trees_open(struct process_events *events, struct stream_faults *faults);
/* As folds; part of the push. */
int process_trees_push(struct process_events *events);
/* The path of a lane's node. 1; 0: there is no such node; or a code. */
int process_trees_path(struct process_events *events, uint32_t lane, uint32_t number, uint32_t *path);
void process_trees_close(struct process_events *events);

/* For the trees: a label's id, a track's id (told when it is new), and a time. */
int process_events_label(struct process_events *events, uint32_t kind, uint32_t id, uint32_t *out);
int process_events_track(struct process_events *events, uint32_t track, uint32_t *out);
int64_t process_events_ns(struct process_events *events, uint64_t time);

#endif
