/* The order of events in runs that should do the same: which labels' events differ in number or in order, and where the main
 * thread went another way first. Memory: the labels, and 4 bytes for each of the first four million events of the first run's
 * main thread.
 *
 * Two runs agree in a label's order when each of its events stands at the same depth behind an event of the same label: a sum
 * of hashes of such pairs, so threads may be matched to work in any order. On a thread other than a process's first one, what
 * an outermost event follows does not count: workers take their work as it comes. */
#ifndef LAMELLA_ANALYSIS_SEQUENCES_H
#define LAMELLA_ANALYSIS_SEQUENCES_H

#include <stdbool.h>

#include "base/array.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "profile/sink.h"

enum { SEQUENCE_REFERENCE_EVENTS = 1 << 22 };

struct sequence_cell {
    uint32_t run;
    uint64_t count, order;
    bool is_folded; /* calls were stored as sums: their number is known, their order is not */
};

struct sequence_row {
    uint32_t kind, label;                  /* texts */
    LAM_ARRAY(struct sequence_cell) cells; /* in order of runs; a run without the label has none */
};

/* Where the main thread of a run, alone in its process, left the way of the first run's. */
struct sequence_run {
    uint64_t events; /* of the main thread */
    uint32_t processes;
    bool has_difference;
    bool is_folded;       /* calls were stored as sums: whose turn they were is not known */
    uint64_t position;    /* event of the main thread, from 0 */
    int64_t at_ns;        /* its start */
    uint32_t here, there; /* rows: what came, what the first run has there; UINT32_MAX: it had ended */
};

enum sequence_what { SEQUENCE_COUNT, SEQUENCE_ORDER };

struct sequence_difference {
    uint32_t row;
    enum sequence_what what; /* the number of events differs, or only their order */
    uint64_t least, most;    /* events in a run */
};

/* All-zero is empty and valid. */
struct sequences {
    struct intern texts;
    LAM_ARRAY(struct sequence_row) rows;
    LAM_ARRAY(struct sequence_run) runs;
    LAM_ARRAY(struct sequence_difference)
    differences; /* after sequences_finish(): most events first */
    struct map row_ids;
    LAM_ARRAY(uint32_t) reference; /* rows, of the first run's main thread */
    /* Of the run that is being read. */
    LAM_ARRAY(uint32_t) row_of;       /* by label id: row + 1 */
    LAM_ARRAY(uint32_t) kind_of;      /* by label id: text, of a kind its own */
    LAM_ARRAY(uint64_t) last;         /* by thread: hash of the event before */
    LAM_ARRAY(uint32_t) first_thread; /* by process; 0: none yet */
};

/* Begins a run and gives the sink for its input. LAM_OK or LAM_E_NOMEM. */
int sequences_begin(struct sequences *sequences, struct profile_sink *sink);
void sequences_drop(struct sequences *sequences); /* takes the last run away: its input could not be read */
int sequences_finish(struct sequences *sequences);
void sequences_free(struct sequences *sequences);

#endif
