/* The events of one lane, in the order of their starts within each thread, with ends, pauses and folds joined to the
 * intervals they belong to. */
#ifndef LAMELLA_READER_EVENT_READ_H
#define LAMELLA_READER_EVENT_READ_H

#include "reader/event_index.h"

enum event_type {
    EVENT_INTERVAL,
    EVENT_INSTANT,
    EVENT_INTEGER,
    EVENT_FOLD,      /* calls that were not stored, whose interval is gone or was none */
    EVENT_OWNER,     /* the lane serves this thread from now on; the one before is done here */
    EVENT_TRACK,     /* the thread runs `track` from now on, 0: none */
    EVENT_TRACK_END, /* `track` will not run again */
    EVENT_PAGE,      /* inside: the lane goes on with another page */
};

struct event {
    enum event_type type;
    uint32_t lane, thread, tid;
    uint32_t kind, id;      /* as event_names takes them */
    uint32_t flags, weight; /* of the kind */
    uint32_t track;
    uint64_t start, end; /* as stored, in the file's measure */
    bool is_open;        /* it has no end: end is its start */
    uint32_t end_thread;
    bool has_self, has_active, has_own_track;
    uint64_t self, active;    /* as the recorder measured them */
    bool is_inside;           /* of a call of the same label, which may not be there */
    uint32_t spent;           /* what recording took of it, which these are without */
    uint32_t node, node_lane; /* of the call in a tree that it is in; 0: none */
    uint32_t own_track;       /* as it says itself */
    uint64_t value;           /* of an integer */
    const struct event_fold *fold;
    struct event_marks marks; /* pauses and folds among them; live as long as the index */
    const struct event_end_counters *at_end; /* of one whose end its own thread stored elsewhere; else NULL */
    const struct stream_slot *more; /* arguments, counters, …; until the next event */
    uint32_t more_count;
    uint64_t offset; /* in the file as recorded */
};

/* It ended on another thread, by a counter that says nothing about that of the thread where it began: how long it was is known only
 * where the recorder measured it. */
static inline bool event_has_foreign_end(const struct stream_file *file, const struct event *event)
{
    return file->header.measure != STREAM_MEASURE_TICKS && !event->is_open && event->end_thread &&
           event->end_thread != event->thread;
}

struct event_lane {
    const struct event_names *names;
    const struct event_index *index;
    const struct event_lane_info *info;
    struct event_pages pages, later_pages;
    uint32_t thread, tid, track; /* of the event given out last */

    /* Inside. */
    const struct stream_file *file;
    size_t next_page;
    struct event_page page;
    uint32_t slot;
    uint64_t base;
    uint32_t owner;
    bool has_owner, page_has_marks;
    size_t later; /* in the index */
    LAM_ARRAY(struct event_later)
    near; /* not in the index: of the page being read and the next one, in order; those before near_at are out */
    size_t near_at;
    size_t scan_page; /* the next one to be looked through for them */
    uint32_t scan_owner, scan_segment;
    bool scan_has_owner;
    struct event_floor floor;
    uint64_t written[2]; /* up to the end of the pages with an even and an odd index that were looked through last */
    uint32_t segment; /* of the event given out last */
    struct event held; /* the next one as they lie, while earlier ones that were stored later go first */
    bool has_held;
    struct event_fold fold;
};

/* file, names and index must outlive the lane. */
void event_lane_open(struct event_lane *lane, const struct stream_file *file,
                     const struct event_names *names, const struct event_index *index,
                     const struct event_lane_info *info);

/* What could not be read is in pages.faults and was counted by the index already. */
void event_lane_close(struct event_lane *lane);

/* 1 and the next event; 0 at the end; LAM_E_NOMEM. */
int event_lane_next(struct event_lane *lane, struct event *event);

/* How long an interval was paused by itself, or by its track where one is given: of [start, end] what it was not running.
 * Needs an index with stints for a track. */
uint64_t event_paused(const struct event_index *index, const struct event *event, uint32_t track,
                      uint64_t end);

#endif
