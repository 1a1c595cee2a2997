/* What must be known of an instrumented program's events before they are read one after the other: ends that are stored
 * elsewhere, pauses, folded calls, and intervals that were stored when they were over. One pass over all slots; memory grows
 * with these exceptions and not with events: an interval whose end lies in its own slot leaves nothing here. */
#ifndef LAMELLA_READER_EVENT_INDEX_H
#define LAMELLA_READER_EVENT_INDEX_H

#include "base/array.h"
#include "base/map.h"
#include "reader/event_names.h"
#include "reader/event_pages.h"

struct event_mark { /* something about an interval, stored elsewhere */
    uint64_t where; /* of its slot: sequence of its page << 16 | slots from the page's start */
    uint64_t time;
    uint32_t lane;
    uint32_t thread; /* that stored it */
    uint32_t code;   /* END, PAUSE, RESUME, FOLD, CALLS */
    uint32_t fold;   /* index. END: of its counters, behind 1; 0: none */
    uint64_t self; /* END: the interval's as it was measured; UINT64_MAX: not told. CALLS: theirs */
    uint64_t active; /* the same */
};

struct event_fold {
    uint64_t time;
    uint32_t kind, id, thread;
    uint64_t count, total, self;
};

/* An interval that was stored when it was over. Most began not long before, and are found when the
 * lane is read; the index has the others alone. */
struct event_later {
    uint64_t start;
    uint32_t lane, segment; /* how manieth stretch of one thread in its lane */
    uint32_t page;          /* index in file->pages */
    uint32_t slot;
};

struct event_thread {
    uint32_t thread, tid;
    uint32_t segments; /* stretches in lanes */
    uint64_t last;     /* the latest time */
    bool has_lane;     /* no other thread came after it: it may live on */
};

struct event_stint { /* a track runs on a thread */
    uint32_t track, thread;
    uint64_t from, to;
    uint64_t before; /* how long it ran before */
};

struct event_lane_info {
    uint32_t lane;
    struct stream_page_span pages;
    size_t first_mark, end_mark;
    size_t first_later, end_later; /* those that began long before they were stored */
    uint32_t segments;
    bool has_later; /* any */
};

struct event_index {
    LAM_ARRAY(struct event_lane_info) lanes; /* by number */
    LAM_ARRAY(struct event_mark) marks;      /* by lane, where, time */
    LAM_ARRAY(struct event_fold) folds;
    LAM_ARRAY(struct event_end_counters) end_counters;
    LAM_ARRAY(struct event_later) later;    /* by lane, segment, start */
    LAM_ARRAY(struct event_thread) threads; /* as they come */
    struct map thread_at;                   /* number → index in threads */
    LAM_ARRAY(struct event_stint) stints;   /* by track, from; only when wanted */
    uint64_t slots;                         /* in use */
    uint64_t last;                          /* the latest time of all */
    bool has_tracks, has_pauses;
};

/* All-zero first. Damage is counted. LAM_OK or LAM_E_NOMEM. */
int event_index_build(struct event_index *index, const struct stream_file *file,
                      const struct event_names *names, bool wants_stints,
                      struct stream_faults *faults);
/* After marks were added to it. */
void event_index_sort_marks(struct event_index *index);
void event_index_free(struct event_index *index);

/* The marks of one slot, in the order of time. */
struct event_marks {
    const struct event_mark *items;
    size_t count;
};
struct event_marks event_index_marks(const struct event_index *index,
                                     const struct event_lane_info *lane, uint64_t where);

/* How long a track ran between two times. */
uint64_t event_index_ran(const struct event_index *index, uint32_t track, uint64_t from, uint64_t to);

/* A FOLD slot with those behind it; false when some are missing. *lane: that its ref is in. */
bool event_fold_decode(const struct event_page *page, uint32_t slot, uint64_t time, uint32_t thread,
                       struct event_fold *fold, uint32_t *lane);

/* Whether the file has the page that a ref names. */
bool event_ref_is_there(const struct stream_file *file, uint32_t lane, uint64_t where);

/* How far a lane had come by the end of the page before the one before: whatever is stored in a page and began later is found
 * in time by looking one page ahead. Both the index and the lane keep it, slot by slot, and so agree on what is far. */
struct event_floor {
    uint64_t written,
        before;     /* the latest time at which a slot was stored, up to here and up to this page */
    uint64_t floor; /* what began before it goes into the index */
};

static inline void event_floor_page(struct event_floor *floor)
{
    floor->floor = floor->before;
    floor->before = floor->written;
}

static inline void event_floor_slot(struct event_floor *floor, uint64_t written)
{
    if (written > floor->written)
        floor->written = written;
}

/* The order in which they go out: by lane, segment, start, place. For qsort. */
int event_later_compare(const void *left, const void *right);

/* Of a slot with code 255 the kind is in the slot behind it, else the code is its number. 0: it is missing. */
uint32_t event_slot_kind(const struct event_page *page, uint32_t slot, uint32_t code);

#endif
