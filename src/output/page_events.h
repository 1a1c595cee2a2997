/* The intervals of instrumented programs and self-profiles as tables of a page: `events`, `labels` and `event_tracks`. A sink; memory is that
 * of PAGE_EVENTS_MAX intervals, twice: of more than that many the shortest are left out, and counted. */
#ifndef LAMELLA_OUTPUT_PAGE_EVENTS_H
#define LAMELLA_OUTPUT_PAGE_EVENTS_H

#include "output/page_columns.h"
#include "profile/sink.h"

enum { PAGE_EVENTS_MAX = 100000 };

struct page_event {
    int64_t start_ns;
    uint64_t length_ns;
    uint32_t thread; /* index, in the order in which threads came */
    uint32_t label, depth;
    uint32_t track; /* the input's id; 0: the thread's own */
};

struct page_label { /* by the input's id; texts in the arena */
    uint32_t kind;
    struct profile_text text;
};

struct page_events {
    enum profile_measure measure;
    uint32_t threads;
    LAM_ARRAY(uint32_t) thread_of; /* the input's id → index */
    LAM_ARRAY(struct page_label) labels;
    LAM_ARRAY(struct profile_text) tracks; /* names, by the input's id; in the arena */
    LAM_ARRAY(struct page_event) items;
    uint64_t seen, least_ns; /* intervals pushed; shorter ones are left out */
    struct arena arena;
};

/* All-zero is empty. */
struct profile_sink page_events_sink(struct page_events *events);

/* The tables, where there is something and it is measured in time; redacts: labels without the directories in them. LAM_OK or
 * LAM_E_NOMEM. Sorts the events. */
int page_events_put(struct page_events *events, bool redacts, struct page_columns *data);

/* Member `events` of the header. */
void page_describe_events(const struct page_events *events, struct json_writer *json);
void page_events_free(struct page_events *events);

#endif
