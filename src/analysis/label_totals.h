/* Totals of intervals by label: what `lamella report` says of instrumented programs and self-profiles. A sink; its memory is
 * the number of distinct labels (and threads, and processes), whatever the number of events. Totals by process and label, by
 * argument and by path are kept on request, and need what they are named after.
 *
 *     labels_open(&labels, &options, err);
 *     rc = read_recording(…, labels_sink(labels), err);
 *     if (rc == LAM_OK) rc = labels_finish(labels, err);
 *     …
 *     labels_close(&labels);
 *
 * rustc's self-profiles store helpers of a query under kinds of their own: QueryBlocked, QueryCacheHit, QueryCacheHitCount,
 * IncrementalLoadResult, IncrementalResultHashing. They are columns of the query's row here and have no rows. ArtifactSize is a
 * table of its own. */
#ifndef LAMELLA_ANALYSIS_LABEL_TOTALS_H
#define LAMELLA_ANALYSIS_LABEL_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/label_arguments.h"
#include "analysis/label_paths.h"
#include "base/array.h"
#include "base/error.h"
#include "base/intern.h"
#include "profile/sink.h"

#define LABELS_ALL UINT32_MAX /* instead of a process: of all together */

/* A name and the family it belongs to. */
struct label_name {
    uint32_t kind, label; /* texts: labels_text() */
};

/* One label, of one process or of all. Times are in the unit of labels.session.measure. */
struct label_row {
    uint32_t process;   /* index in labels.processes, or LABELS_ALL */
    uint32_t name;      /* index in labels.names */
    uint64_t count;     /* events; helpers of queries do not count */
    uint64_t self_ns;   /* active less the active time of children, helpers included */
    uint64_t active_ns; /* outermost: an event inside one of the same label does not count again */
    uint64_t time_ns;   /* wall, outermost; hashing lies inside its query and is not added */
    uint64_t wall_ns;   /* wall of every event, recursion counted again */
    uint64_t blocked_ns, load_ns, hashing_ns;
    uint64_t cache_hits;
    uint64_t min_ns, p50_ns, p90_ns, p99_ns,
        max_ns;      /* active time of one event; 0 when none was stored singly */
    uint64_t open;   /* of count: never ended */
    uint64_t folded; /* of count: stored together with others, so not in the percentiles */
};

/* Instants and integers of one kind and label, of all processes. */
struct label_mark {
    uint32_t name;
    uint64_t count;
    uint64_t values, sum, min, max; /* of those with a value: how many, and the values */
    bool has_last;                  /* the input knows when they were */
    int64_t last_at_ns;
    uint64_t last; /* value */
};

/* What a counter beside the clock counted in the intervals of a label, of all processes. */
struct label_counter {
    uint32_t name;
    uint32_t counter; /* text */
    enum profile_measure measure;
    uint64_t count; /* intervals in which it counted */
    uint64_t self;  /* without what it counted in intervals inside */
    uint64_t total; /* outermost: an interval inside one of the same label does not count again */
    uint64_t max;   /* of one interval */
};

/* Bytes of an artifact, by the name that the program gave it. */
struct label_artifact {
    uint32_t process, label;
    uint64_t bytes;
};

struct label_kind {
    uint32_t kind; /* text; helpers of queries under their own */
    uint64_t count, self_ns;
};

enum { LABEL_TOP_COUNT = 3 };

struct label_process {
    uint32_t process; /* the input's id; rows are in the order of the push */
    uint32_t pid;
    bool is_wanted;
    uint64_t events;    /* intervals, folded ones included */
    uint64_t self_ns;   /* of all labels */
    uint64_t thread_ns; /* of its threads: from the first start to the last end of an interval */
    uint32_t threads;   /* with intervals; one that several recorders watched counts once */
    uint32_t top[LABEL_TOP_COUNT]; /* names with the most self time; UINT32_MAX */
    uint64_t top_ns[LABEL_TOP_COUNT];
};

/* Intervals that follow one another or nest: when, how many, how long. */
struct label_stretch {
    int64_t start_ns, end_ns; /* of the first and the last */
    uint64_t events, self_ns;
    uint64_t folded; /* of the events, calls that were stored as sums */
};

struct label_thread {
    uint32_t process; /* index */
    uint32_t tid;
    uint32_t name;            /* text */
    struct label_stretch all; /* after labels_finish(): what its tracks did on it included */
    struct label_stretch own; /* outside of tracks */
    bool is_again;            /* what another recorder recorded on a thread that is there already */
};

/* A line of execution that the program schedules itself: a coroutine, a task. */
struct label_track {
    uint32_t thread; /* index in labels.threads: where it ran first */
    uint32_t name;   /* text */
    bool has_moved;  /* it ran on others as well */
    struct label_stretch all;
};

struct label_row_list LAM_ARRAY_BODY(struct label_row);

struct labels {
    struct profile_session session; /* without its texts */
    struct profile_session_end end;
    struct intern texts;
    LAM_ARRAY(struct label_name) names;
    struct label_row_list rows;         /* of all processes, most self time first */
    struct label_row_list unit_rows;    /* by process, most self time first; only with by_unit */
    LAM_ARRAY(struct label_kind) kinds; /* most self time first */
    LAM_ARRAY(struct label_mark) marks; /* by kind and label */
    LAM_ARRAY(struct label_counter) counters; /* by counter, most self first */
    LAM_ARRAY(struct label_artifact)
    artifacts; /* of all (process LABELS_ALL), largest first; then by process with by_unit */
    LAM_ARRAY(struct label_process) processes;
    LAM_ARRAY(struct label_thread) threads; /* with intervals */
    LAM_ARRAY(struct label_track) tracks;   /* with intervals */
    struct label_arguments arguments;
    struct label_paths paths;
    uint32_t rows_again; /* of threads */
    uint64_t events,
        marks_seen;  /* intervals with those that are parts of queries or were folded; instants */
    uint64_t folded; /* of the events: stored as sums, not one by one */
    uint32_t one_in; /* the most that one stored interval stands for; 1: each for itself */
    uint64_t open, backward, overlapping;
    uint64_t self_ns; /* of all labels */
    uint64_t thread_ns; /* of all threads, first start to last end: the upstream tools' "total cpu time" */
    uint64_t detached_ns; /* self time of detached intervals, which belong to no thread and run beside them */
    /* What shares are of, everywhere: of each thread its span or, where that is more, its self time; and detached_ns. Calls that
     * were stored as sums have no first and last, so the span lacks them; without them (and without overlaps) it is the larger. */
    uint64_t whole_ns;
};

struct labels_options {
    bool by_unit, by_argument, by_path;
    /* Whether a process's events count; NULL: all do. */
    bool (*wants_process)(void *ctx, const struct profile_process *process);
    void *ctx;
};

int labels_open(struct labels **labels, const struct labels_options *options, struct lam_error *err);
struct profile_sink labels_sink(struct labels *labels);

/* After the input's last call. */
int labels_finish(struct labels *labels, struct lam_error *err);
void labels_close(struct labels **labels);

/* Never NULL; length may be NULL. */
const char *labels_text(const struct labels *labels, uint32_t text, size_t *length);

/* Rows of one process in unit_rows. */
struct label_rows_of {
    const struct label_row *items;
    size_t count;
};
struct label_rows_of labels_of_process(const struct labels *labels, uint32_t process);

#endif
