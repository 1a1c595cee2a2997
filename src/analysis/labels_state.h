/* Inside of label_totals.c and labels_finish.c: what the sink keeps beside the totals. */
#ifndef LAMELLA_ANALYSIS_LABELS_STATE_H
#define LAMELLA_ANALYSIS_LABELS_STATE_H

#include "analysis/label_totals.h"
#include "base/map.h"
#include "profile/duration_histogram.h"

/* What an event of a kind is to the row of its label. */
enum label_part {
    PART_OWN, /* one of the row's own events */
    PART_BLOCKED,
    PART_LOAD,
    PART_HASHING,
    PART_CACHE_HIT,       /* an instant */
    PART_CACHE_HIT_COUNT, /* an integer: how many */
    PART_ARTIFACT,        /* an integer: bytes */
};

/* By the input's label id. */
struct label_info {
    uint32_t name;     /* index in labels.names, of the row; helpers have their query's */
    uint32_t own_name; /* of this kind and label itself, for instants; LABELS_ALL until it is needed */
    uint32_t kind, text;
    uint8_t part;
    bool is_known;
};

/* Totals of one label in one process: what on_interval() writes. */
struct label_slot {
    uint64_t events; /* intervals, for `touched`; count has weights */
    uint64_t count;
    uint64_t self_ns, active_ns, time_ns, wall_ns;
    uint64_t min_ns, max_ns;
    struct duration_histogram histogram;
    uint64_t open, folded;
    uint64_t marks, values, sum, min_value, max_value;
    bool has_last;
    int64_t last_at_ns;
    uint64_t last_value;
};

/* Processes come one after another, so one of these is used again and again; more where an input mixes them. */
struct open_process {
    struct open_process *next;
    uint32_t process;                   /* the input's id; 0: free */
    uint32_t index;                     /* in labels.processes */
    LAM_ARRAY(struct label_slot) slots; /* by label id */
    LAM_ARRAY(uint32_t) touched;        /* label ids */
};

struct label_total {
    struct label_row row;
    struct duration_histogram histogram;
    bool is_touched;
    bool has_percentiles; /* of the only process so far */
};

/* What is added up of one process before it joins the totals. */
struct process_row {
    struct label_row row;
    uint64_t hit_marks, hit_counts;
    bool has_hit_counts;
    struct label_slot *own;
};

struct labels_state {
    struct labels labels; /* first: labels are a labels_state */
    struct labels_options options;
    LAM_ARRAY(struct label_info) infos;
    struct map name_ids;                  /* kind and text → name */
    LAM_ARRAY(struct label_total) totals; /* by name */
    LAM_ARRAY(struct label_mark) marks;   /* by name */
    struct open_process *open;            /* all of them; few */
    struct open_process *current;
    LAM_ARRAY(uint32_t) process_of; /* the input's process id → index + 1 */
    LAM_ARRAY(struct label_thread)
    threads; /* by the input's thread id; until the end without what their tracks did */
    LAM_ARRAY(struct label_stretch) in_tracks; /* the same of their tracks alone */
    LAM_ARRAY(struct label_track) tracks;      /* by the input's track id; thread: the input's */
    LAM_ARRAY(struct process_row) process_rows;
    LAM_ARRAY(uint32_t)
    process_row_of;          /* by name: index + 1 in process_rows, all 0 between flushes */
    struct map kind_ids;     /* text → index in labels.kinds */
    struct map artifact_ids; /* process and text → index in labels.artifacts */
    struct map counter_ids;  /* name and text → index in labels.counters */
};

static inline struct labels_state *labels_state(struct labels *labels)
{
    return (struct labels_state *)labels;
}

/* Name of a kind and a text, made when it is new. */
int labels_name(struct labels_state *state, uint32_t kind, uint32_t text, uint32_t *name);

/* Adds what an open process holds to the totals, and empties it. */
int labels_flush(struct labels_state *state, struct open_process *open);

#endif
