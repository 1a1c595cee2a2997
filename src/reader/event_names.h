/* What the events of one instrumented program are called: its RECORDS pages read into strings, kinds and names of virtual
 * ids. A text is whole when it is asked for, whatever pieces it was stored in; what was lost reads as #number. */
#ifndef LAMELLA_READER_EVENT_NAMES_H
#define LAMELLA_READER_EVENT_NAMES_H

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "reader/stream_walk.h"

struct event_string { /* bytes NULL: composed of parts, or not there */
    char *bytes;
    const uint32_t *parts; /* count of them in size */
    uint32_t size;
    uint32_t filled; /* bytes that its pieces gave */
    uint8_t is_there, is_composed, has_args;
};

struct event_kind {
    uint32_t name, label, space, weight, flags; /* strings; enum stream_kind_flag */
    bool is_there;
};

struct event_counter {
    uint32_t name, measure;
};

struct event_track {
    uint64_t ticks;
    uint32_t track, name;
};

struct event_name {    /* of a virtual id: a text, or a string */
    const char *bytes; /* NULL: string is it */
    uint32_t size;
    uint32_t string;
};

struct event_names {
    LAM_ARRAY(struct event_string) strings; /* by id */
    struct event_kind kinds[256];           /* by number; all others in more_kinds */
    LAM_ARRAY(struct event_kind) more_kinds;
    struct map more_by_number;
    LAM_ARRAY(struct event_counter) counters; /* by number */
    LAM_ARRAY(struct event_track) tracks;     /* as they come */
    struct map thread_ends;                   /* thread → ticks */
    uint64_t last_ticks;                      /* the latest time that a record tells */
    LAM_ARRAY(struct event_name) names;
    struct map by_id; /* space << 32 | id → index in names */
    struct arena arena;
    uint64_t budget_bytes;     /* what strings may still claim: no more than the file can hold */
    uint64_t expansion_bytes;  /* what composed texts may still grow to, all together */
    LAM_ARRAY(uint32_t) stack; /* parts still to be written */
};

/* All-zero first. What contradicts itself is counted in faults. LAM_OK or LAM_E_NOMEM. */
int event_names_load(struct event_names *names, const struct stream_file *file,
                     struct stream_faults *faults);
void event_names_free(struct event_names *names);

/* The kind of a number. A lost one has no name, and ids that are strings. Never NULL; lives as long as the names. */
const struct event_kind *event_names_kind(const struct event_names *names, uint32_t number);

/* The text of a string, of a composed one put together: parts one behind the other, or label(argument, argument). */
void event_names_add_string(struct event_names *names, uint32_t string, struct strbuf *out);

/* What events with this kind and id are called, and what their kind is called. */
void event_names_add_label(struct event_names *names, uint32_t kind, uint32_t id, struct strbuf *out);
void event_names_add_kind(struct event_names *names, uint32_t kind, struct strbuf *out);

/* The arguments that the id brings along: what a virtual id of a kind with a label is named, or the arguments of a composed
 * string. Appended to texts one behind the other, with the end of each in ends. */
struct event_args {
    struct strbuf texts;
    LAM_ARRAY(size_t) ends;
};
void event_args_clear(struct event_args *args);
void event_args_free(struct event_args *args);

int event_names_add_args(struct event_names *names, uint32_t kind, uint32_t id,
                         struct event_args *args);

/* The arguments in the slots behind an event: "name=value", or the value alone. LAM_OK or LAM_E_NOMEM. */
int event_names_add_slots(struct event_names *names, const struct stream_slot *slots, size_t count,
                          struct event_args *args);

enum { EVENT_COUNTERS_MAX = 4 };

/* What the counters beside the clock stood at when an interval ended, by their number less 1. */
struct event_end_counters {
    uint32_t known; /* bits */
    uint64_t value[EVENT_COUNTERS_MAX];
};

/* What was counted beside the clock in an interval that has ended, by the slots behind it: "cpu time=1200 ns". at_end: what an END
 * elsewhere says, NULL. */
int event_names_add_counters(struct event_names *names, const struct stream_slot *slots, size_t count,
                             const struct event_end_counters *at_end, struct event_args *args);

/* The same as numbers: value[n - 1] of counter n, with its bit in known. Those beyond EVENT_COUNTERS_MAX are left out. */
struct event_end_counters event_counted(const struct stream_slot *slots, size_t count,
                                        const struct event_end_counters *at_end);

#endif
