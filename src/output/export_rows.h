/* Rows of a timeline: one a thread, one a track, and more beside them for intervals that nest with nothing. Gives each
 * process and each row a number that no other one has, which is the real pid and tid wherever those are not taken. */
#ifndef LAMELLA_OUTPUT_EXPORT_ROWS_H
#define LAMELLA_OUTPUT_EXPORT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "output/lanes.h"
#include "profile/sink.h"

struct export_process {
    uint32_t pid;
    uint32_t shown_pid; /* pid, unless an earlier process has it */
    struct profile_text name;
    int64_t start_ns;
};

struct export_row {
    uint32_t process, thread, track;
    uint32_t beside; /* 0: the thread's or track's own; else its n-th row beside */
    uint32_t tid;    /* the thread's */
    uint32_t shown_tid;
    struct profile_text name; /* the thread's or track's, perhaps empty */
};

/* What a thread or a track has. */
struct export_place {
    bool is_known;
    uint32_t process, tid;
    struct profile_text name;
    uint32_t row;                   /* + 1; 0: none yet */
    uint32_t beside;                /* how many rows beside it */
    LAM_ARRAY(uint32_t) chain_rows; /* of chain n at n - 1, as `row` */
    struct lanes lanes;
    LAM_ARRAY(uint32_t) lane_rows;
};

/* All-zero is empty and valid. */
struct export_rows {
    bool in_order;    /* intervals come by start (PROFILE_ORDER_START) */
    bool names_units; /* a process is its program and what it works on (comm): self-profiles */
    const uint32_t *shared; /* thread → the one whose row it shares; NULL */
    size_t shared_count;
    LAM_ARRAY(struct export_process) processes; /* by id */
    LAM_ARRAY(struct export_place) threads;
    LAM_ARRAY(struct export_place) tracks;
    LAM_ARRAY(struct export_row) rows;
    struct map taken; /* pids, and (process, tid) */
    uint32_t spare;   /* last number given to a row or process without a real one */
    struct arena text;
};

int export_rows_process(struct export_rows *rows, const struct profile_process *process);
int export_rows_thread(struct export_rows *rows, const struct profile_thread *thread);
int export_rows_thread_name(struct export_rows *rows, const struct profile_thread_name *name);
int export_rows_track(struct export_rows *rows, const struct profile_track *track);

/* The row of a thread (track 0) or a track; *is_new says that it was not there before. */
int export_rows_own(struct export_rows *rows, uint32_t process, uint32_t thread, uint32_t track,
                    uint32_t *row, bool *is_new);

/* The row of an interval: one beside when it is detached, or in another chain than the thread's own. */
int export_rows_interval(struct export_rows *rows, const struct profile_interval *interval,
                         uint32_t *row, bool *is_new);

/* For a row that is no thread's: the process itself. */
int export_rows_extra(struct export_rows *rows, uint32_t process, uint32_t *shown_tid);

/* All zero when the id was never pushed. */
struct export_process export_rows_process_of(const struct export_rows *rows, uint32_t process);

/* "NAME", "NAME (beside 2)", "thread 12"; as bytes of outside origin, into buf. */
struct strbuf;
void export_rows_title(const struct export_row *row, struct strbuf *buf);

void export_rows_free(struct export_rows *rows);

#endif
