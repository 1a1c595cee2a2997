/* recorder_state.h: what a recorder consists of.
 *
 * Memory that the kernel wipes on fork (MADV_WIPEONFORK) holds the `live` part and all lanes: in a forked child, however it
 * came about, every lane has generation 0, so that no event goes to the parent's pages, and `alive` is 0, so that whoever
 * notices begins a stream of the child's own. Labels and kinds are ordinary memory: the child keeps their ids and tells
 * them again in its stream.
 *
 * A lane is a writer: one thread's at a time, and only that thread (and its signal handlers) touches it. */
#ifndef LAMELLA_RECORDER_RECORDER_STATE_H
#define LAMELLA_RECORDER_RECORDER_STATE_H

#include "core/clock.h"
#include "lamella/lamella.h"
#include "recorder/futex_lock.h"
#include "stream/writer.h"

enum {
    LANE_NUMBER_BITS = 24, /* of a reference in memory: lane, sequence of the page, slot in the page */
    LANE_SEQUENCE_BITS = 26,
    LANE_SLOT_BITS = 14,
    LANE_OLD_PAGES = 8,
    RECORDER_SHARDS = 64,
    RECORDER_KINDS = 65536,
    RECORDER_PATH_MAX = 4096,
    KINDS_FILTER_BYTES = 512,
};

struct old_page {
    void *map;
    uint32_t size;
    uint32_t flight_entry, flight_owner;
};

struct perf_event_value { /* one hardware event of one thread */
    int fd;               /* plus 1; 0: none */
    void *page;           /* struct perf_event_mmap_page; NULL: read by system call */
};

struct perf_counter {
    uint32_t which; /* enum lam_counter */
    struct perf_event_value main;
    struct perf_event_value irqs; /* what is subtracted */
};

struct calls;
struct pick;

struct lane {
    /* What an event touches: one cache line. */
    uint32_t generation; /* the recorder's when the lane was taken; 0: wiped by a fork, or given back */
    uint32_t busy;       /* how many events are being stored: slots.h */
    uint64_t base;       /* times are relative to it */
    /* Address of the next free slot, and end of the page; no page: both 0; the end alone: a switch of tracks is untold. Changed in one
     * instruction, or with signals blocked. */
    uint64_t next __attribute__((aligned(16)));
    uint64_t limit;
    uint64_t page;     /* address */
    uint64_t page_ref; /* number << 40 | sequence << 14 */
    uint32_t plain; /* as `generation`, when the clock is the time stamp counter, there are no counters, and every call an event */
    uint32_t clock; /* 0: the time stamp counter, else enum lam_clock */

    uint32_t counters; /* how many are recorded with each interval */

    struct lam_recorder *rec;
    struct live *live;           /* the recorder's, when the lane was taken */
    struct lane *next_of_thread; /* other recorders' */
    struct lane *next_free;
    uint32_t number;
    uint32_t thread; /* index in the stream */
    uint32_t tid;
    uint32_t track;
    uint32_t sequence; /* of the page claimed next */
    uint32_t size;     /* of the page */
    uint32_t next_size;
    uint32_t changing; /* multi-word state is in the middle of a change: a handler must leave it alone */
    uint32_t flight_entry; /* of the page, plus 1 */
    uint32_t flight_owner; /* of the thread; 0: none yet */
    uint32_t old_count;
    struct old_page old[LANE_OLD_PAGES];
    uint32_t loss;        /* enum stream_loss: why there was no page */
    uint64_t retry_ticks; /* no space: not tried again before */
    uint64_t copy_place;  /* claimed for the page, which did not fit on the disk; 0: none */
    uint64_t told_ticks;  /* last TIME record of this lane */
    uint64_t switch_told; /* when a switch of tracks was told last, in the lane's clock */
    uint32_t idle_switches;
    uint64_t switched_at; /* when one was made that is not told yet */
    struct stream_cursor records;
    struct calls *calls; /* of the track that runs, or the thread's own */
    struct calls *own_calls;
    struct pick *picks;       /* one in N, by label: of all tracks that this thread runs */
    struct pick *quick_picks; /* the same while that is all that is done; NULL: not */
    uint64_t random;
    uint32_t clock_cost; /* what reading the clock takes, plus 1; 0: not measured yet */
    uint64_t looked_at;  /* one in N: when it was last asked how long the thread did not run */
    uint64_t look_every; /* ... and how often that is asked; 0: never */
    uint64_t long_call;  /* ... own time of a call from which on that is of interest; 0: none */
    uint64_t looked_wall, looked_cpu, looked_waits; /* what the kernel said then */
    struct call_tree *tree;
    struct perf_counter clock_counter;
    struct perf_counter counter[4];
} __attribute__((aligned(64)));

struct live { /* wiped on fork */
    uint32_t alive;
    uint32_t begin_lock; /* the child's stream */
    uint32_t lock;       /* lanes, stacks of tracks */
    uint32_t failed;     /* the child's stream could not be made */
    uint32_t first_lane; /* smaller numbers are a parent's */
    uint32_t threads;
    uint32_t most_lanes, used_lanes;
    int closed_fd; /* plus 1: of a recorder that is closed, for the last lane to close */
    struct calls *free_stacks;
    struct lane *free_lanes;
    struct lane *fresh_lanes; /* memory that was never used */
    uint32_t fresh_count;
    uint32_t tree_over;  /* automatic call policy: the tree has begun */
    uint64_t tree_bytes; /* claimed for trees */
    uint32_t flight_lock;
    uint32_t records_lock;        /* of `records` */
    struct stream_cursor records; /* flight recorder: all lanes' */
    uint64_t thread_bytes;        /* ... of records about threads */
    uint64_t told_ticks;          /* ... last TIME record */
};

struct label_table;

struct label_shard {
    struct label_table *table; /* atomic; replaced when it grows */
    uint32_t count;
    uint32_t arena_left;
    uint8_t *arena_end;
};

#define KIND_FAILED UINT32_MAX /* not filtered out, but closed or without room */

enum kind_flavor {
    KIND_PLAIN,
    KIND_DETACHED,
    KIND_INSTANT,
    KIND_INTEGER,
    KIND_PAST,
    KIND_WEIGHTED,
    KIND_PAST_WEIGHTED,
    KIND_FLAVORS,
};

struct kind_entry {
    uint32_t name; /* string */
    uint32_t label;
    uint32_t space;
    uint32_t weight;
    uint32_t flags;
    uint32_t flavor[KIND_FLAVORS]; /* numbers of the same kind for other sorts of events; 0: not made yet */
};

struct lexicon_locks { /* wiped on fork */
    uint32_t shard[RECORDER_SHARDS];
    uint32_t kinds;
};

/* What the program holds numbers of. The default recorder is another one each time it is opened, and all of them have the same
 * lexicon: labels and kinds keep their numbers. Whoever adds to it does so under one of the locks, with a lane of the
 * recorder that is open, and tells its stream; the opening of the next one passes all locks, so that it tells the rest. */
struct lexicon {
    struct lexicon_locks *locks;
    struct label_shard *shards; /* RECORDER_SHARDS of them */
    uint32_t next_label;        /* atomic */
    struct kind_entry *kinds;
    uint32_t next_kind; /* atomic; entries below it are complete */
    uint32_t next_space;
    uint32_t next_track;
};

struct flight;

/* One opening. It is never freed and, once it has begun, never opened again: a call that is late finds what it expects. */
struct lam_recorder {
    uint32_t generation; /* 0: closed. Of the default recorder the same as lam_on */
    uint32_t is_default;
    uint32_t clock;    /* as in a lane */
    uint32_t measure;  /* enum stream_measure */
    uint32_t counters; /* enum lam_counter */
    uint32_t counter_count;
    uint32_t wants_names, wants_args;
    struct live *live;
    struct stream stream;
    uint64_t max_bytes;
    uint32_t mode;
    uint32_t calls; /* enum lam_calls */
    uint32_t one_in;
    uint64_t threshold; /* in what events count */
    uint64_t tree_bytes, auto_bytes;
    uint64_t tick_rate_hz;
    uint64_t session_id;
    uint64_t start_ticks;
    uint64_t time_every; /* ticks between two TIME records of a lane */
    uint32_t pid;
    uint32_t lane_numbers; /* given out (atomic); a child goes on where its parent was */

    struct lexicon *lexicon;
    struct calls ***tracks; /* stacks of calls by track, in chunks (atomic pointers) */
    uint32_t call_kind, names_kind;
    uint32_t names_label;

    uint32_t flight_page;  /* LAM_MODE_FLIGHT: size of every EVENTS page; else 0 */
    struct flight *flight; /* ... who has which */

    char kinds_filter[KINDS_FILTER_BYTES];
    char directory[RECORDER_PATH_MAX]; /* of streams; empty: a single file */
    char file[RECORDER_PATH_MAX];      /* the single file as asked for */
    char path[RECORDER_PATH_MAX + 64]; /* of the stream */
};

struct thread_state {
    struct lane *main;        /* the default recorder's */
    struct lam_recorder *rec; /* another one, used last */
    struct lane *lane;
    struct lane *all;
    uint32_t attaching; /* a handler meanwhile gets no lane */
    uint32_t opening; /* it is in begin(): of the default recorder, nobody else gets a lane before lam_on is set */
};

/* initial-exec: no call of the loader, which may allocate, in a signal handler. */
extern __thread struct thread_state thread_state __attribute__((tls_model("initial-exec")));
/* The one that LAM_DEFAULT stands for: open, or opened last. Never NULL. */
extern struct lam_recorder *default_recorder;

/* The recorder behind an argument. acquire: pairs with the release in open_default(). */
static inline struct lam_recorder *recorder_of(struct lam_recorder *rec)
{
    return rec ? rec : __atomic_load_n(&default_recorder, __ATOMIC_ACQUIRE);
}

/* acquire: pairs with the release in begin(). */
static inline uint32_t recorder_generation(const struct lam_recorder *rec)
{
    return __atomic_load_n(&rec->generation, __ATOMIC_ACQUIRE);
}

/* ---- recorder_open.c ---- */

/* Begins the stream of a forked child. Returns 0 when there is one. */
int recorder_begin_child(struct lam_recorder *rec);
/* Takes a new lane for the calling thread, whatever it has. lane.c */
struct lane *lane_new(struct lam_recorder *rec, uint32_t generation);
void recorder_write_time(struct lam_recorder *rec, struct lane *lane);

/* ---- lexicon.c ---- */

/* Memory that the kernel wipes on fork; NULL: none. */
void *lexicon_wiped_memory(size_t bytes);
/* Zeroed memory of whole pages, which a child keeps; NULL: none. */
void *lexicon_memory(size_t bytes);
/* NULL: no memory. */
struct lexicon *lexicon_new(void);

/* ---- pin_code.c ---- */

/* From now on the object that this code is in is never unloaded. Not signal-safe. */
void pin_code(void);

/* ---- recorder_options.c ---- */

/* What no recorder can be opened with, in words; NULL: nothing. */
const char *options_fault(const struct lam_options *options);

/* ---- open_error.c: all under the lock of opening ---- */

void open_error_clear(void);
/* "WHAT: WHY"; returns the code. */
int open_error_set(int code, const char *what, const char *why);
/* A failure that nobody has said anything about is said with its path, or NULL. Returns the code. */
int open_error_keep(int code, const char *path);
/* Writes the error to a stream that has begun, and ends it. */
void open_error_tell(struct lam_recorder *rec, int code);

/* ---- recorder_session.c ---- */

/* Sorts `path` into directory or file, absolute. */
int session_find(struct lam_recorder *rec, const char *path);
/* Makes the directory and its session.json where there is none. */
int session_prepare(const struct lam_recorder *rec);
/* Name number `attempt` for a stream of this process, into rec->path. Returns 0 when there are no more. */
int session_stream_name(struct lam_recorder *rec, int is_child, uint64_t mono_ns, uint32_t attempt);
uint64_t session_kernel_start(void);
void session_write_process(struct lam_recorder *rec, struct lane *lane, int is_child);
void session_write_end(struct lam_recorder *rec, struct lane *lane);

/* ---- recorder_clock.c ---- */

/* Which clock ticks are of, and its nominal rate. */
int clock_is_invariant(void);
uint64_t clock_counter_rate(void);
void clock_read_three(int use_counter, struct stream_rec_time *out);

/* ---- lane.c ---- */

/* The calling thread's lane for this recorder, found the long way: registered, begun in a child. NULL: closed, no memory. */
struct lane *lane_attach(struct lam_recorder *rec);

/* Makes room for `size` bytes of slots whose time is `time`: the next page, or another base. is_past: the time is not now, so
 * that one before the base is no clock that lags. Returns 0; 1 when the clock lags and the base is to be taken; -1 with the event
 * counted as lost. */
int lane_make_room(struct lane *lane, uint32_t size, uint64_t time, int is_past);
void lane_count_lost(struct lam_recorder *rec, enum stream_loss cause);
void lane_close_file(struct live *live);
/* Is there room for that much more? The last eighth of the budget is for records: names, threads, the end. */
int lane_has_budget(const struct lam_recorder *rec, uint32_t size);
/* Threads end: the pthread key. Once a process. */
int lane_init_threads(void);
/* Gives back the calling thread's lane for `rec`, if it has one. */
void lane_detach(struct lam_recorder *rec);
void lane_count(struct lane *lane, enum stream_count what);
uint64_t lane_other_clock(struct lane *lane);

static inline struct lane *lane_of(struct lam_recorder *rec)
{
    if (__builtin_expect(!rec, 1)) {
        struct lane *lane = thread_state.main;
        uint32_t on = __atomic_load_n(&lam_on, __ATOMIC_RELAXED);
        if (__builtin_expect(lane && on && lane->generation == on, 1))
            return lane;
        return lane_attach(recorder_of(LAM_DEFAULT));
    }
    struct lane *lane = thread_state.lane;
    uint32_t generation = recorder_generation(rec);
    if (lane && thread_state.rec == rec && generation && lane->generation == generation)
        return lane;
    return lane_attach(rec);
}

/* ---- lane_records.c ---- */

/* Appends a record; with signals blocked. 0, or -1 (counted). */
int lane_append(struct lane *lane, uint32_t type, uint32_t aux, const struct stream_piece *pieces,
                size_t count, uint64_t now);
/* The cursor to append to, between the two. */
struct stream_cursor *lane_lock_records(struct lane *lane);
void lane_unlock_records(struct lane *lane);
/* The same for what is told of each thread: a flight recorder's threads come and go for ever, and not all of them are told. */
void lane_append_thread(struct lane *lane, uint32_t type, const struct stream_piece *pieces,
                        size_t count, uint64_t now);
/* The three clocks, when they were not told for a while. */
void lane_tell_time(struct lane *lane);

/* ---- labels.c ---- */

/* Writes all labels to the stream of `lane`. */
void labels_tell(struct lane *lane);
uint32_t label_intern_id(struct lam_recorder *rec, const char *bytes, size_t size);

/* ---- kinds.c ---- */

void kinds_tell(struct lane *lane);
uint32_t kind_intern(struct lam_recorder *rec, const char *name, uint32_t flags);
uint32_t kind_flavor(struct lam_recorder *rec, uint32_t kind, enum kind_flavor flavor);
/* Does the list of kinds let `name` pass? */
int filter_passes(const char *filter, const char *name);

/* ---- counters.c ---- */

/* 0, or a negative lam_code with nothing left open. */
int counters_open(struct lane *lane);
void counters_close(struct lane *lane);
uint64_t counter_read(const struct perf_counter *counter);
/* Can this machine's threads have them? */
int counters_probe(uint32_t clock, uint32_t counters);
uint32_t counters_list(uint32_t bits, enum lam_counter out[4]);

/* ---- events.c ---- */

/* An interval, with its counters, that is in no stack of calls. The handle is empty when there is no room. */
struct lam_handle lane_begin_event(struct lane *lane, uint32_t kind, uint32_t id);
/* The end of an interval: in its place, or elsewhere. active: its active time, if it was measured; else UINT64_MAX. */
int lane_end_event(struct lane *lane, struct lam_handle handle, uint64_t now, uint64_t active);
/* An end that is not stored in its place: that page was left, or is another lane's, or the event has no room for its active time. */
int lane_end_elsewhere(struct lane *lane, struct lam_handle handle, uint64_t active);

/* ---- scopes.c: where calls are recorded by a policy, intervals stand in the stack of calls ---- */

/* The node of the call that an interval begins in, and the lane whose tree it is in; 0: none. */
uint32_t scope_node_around(struct lane *lane, uint32_t *tree);
/* It has begun. */
void scope_enter(struct lane *lane, uint64_t ref, uint64_t time, uint32_t kind, uint32_t id);
/* It ends now. Returns its active time, where a track makes that another than its time; else UINT64_MAX. */
uint64_t scope_leave(struct lane *lane, uint64_t ref, uint64_t now);

/* ---- calls.c ---- */

/* Automatic mode: the tree begins. */
void calls_change_over(struct lane *lane);
/* Are there calls without an event of their own, in the tree, in others' events or in no place? */
static inline int calls_are_folded(const struct lam_recorder *rec)
{
    return (rec->calls & (LAM_CALLS_TREE | LAM_CALLS_THRESHOLD | LAM_CALLS_ONE_IN)) ||
           ((rec->calls & LAM_CALLS_AUTO) && __atomic_load_n(&rec->live->tree_over, __ATOMIC_RELAXED));
}
/* From the stack that the lane has to another (NULL: made when it is needed). now: when the switch was recorded. */
void calls_switch_track(struct lane *lane, struct calls *next, uint64_t now);
void calls_end_track(struct lane *lane, uint32_t track);
/* What the thread's tracks folded into no call. */
void calls_write_loose(struct lane *lane);
void calls_leave_thread(struct lane *lane);
void calls_tell(struct lane *lane);

#endif
