/* lamella.h: record what a program does, cheaply enough to leave it compiled in.
 *
 *     LAM_SCOPE("parse file");                 an interval from here to the end of the block
 *
 * Nothing is recorded until a recorder is open: the environment variable LAMELLA_OUT opens the default one before main,
 * lam_open() opens it by call. Off, a scope is the test of one exported word. `docs/recorder.md` is the tutorial.
 *
 * What holds for every function unless it says otherwise:
 *
 * Recorder  the first argument; LAM_DEFAULT (NULL) is the default recorder. With a recorder that is off, closed or full, calls
 *           do nothing (full: counted) and return an empty handle, label or kind, or a negative code.
 * Threads   any, concurrently. A thread is registered by its first event (or by lam_thread_register()) and leaves by itself when
 *           it ends.
 * Signals   functions marked *signal-safe* may be called in a signal handler that interrupts anything, also one of these
 *           functions, on a thread that is registered already.
 * Fork      a child writes to a stream of its own from its first event on. Handles of its parent's intervals are refused (counted).
 * Memory    nothing is kept that was passed in: texts are copied or written before the call returns. errno is left alone.
 * Errors    negative enum lam_code; lam_error_text() has words for them.
 *
 * With LAMELLA_DISABLE defined before the header is included, macros and event functions compile to nothing.
 *
 * ABI: structures below never change their size or layout within one soname, but for struct lam_options and struct lam_stats,
 * which begin with their size and only ever grow at their end. Functions keep their meaning; new ones get a new version
 * node. */
#ifndef LAMELLA_LAMELLA_H
#define LAMELLA_LAMELLA_H

#include <stddef.h>
#include <stdint.h>

#include "lamella/codes.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LAM_API __attribute__((visibility("default")))

struct lam_recorder; /* opaque */
#define LAM_DEFAULT ((struct lam_recorder *)0)

/* ---- what events are called ---- */

/* An interned text. Ids are those of one recorder; 0 is the empty label. */
struct lam_label {
    uint32_t id;
};

/* The family an event belongs to ("Query", "GenericActivity", ...). 0: filtered out, events of it are not recorded. */
struct lam_kind {
    uint32_t id;
};

/* A set of virtual ids: numbers of the program's own that get their names later. */
struct lam_space {
    uint32_t id;
};

/* A line of execution that the program schedules itself: a coroutine, a green thread. 0: none. */
struct lam_track {
    uint32_t id;
};

/* An interval that has begun. Two words, to be passed by value and kept anywhere; {0, 0} is none. */
struct lam_handle {
    uint64_t ref;
    uint64_t start; /* in the recorder's clock */
};

/* ---- opening and closing ---- */

/* With a clock that counts a thread's own, an interval that another thread ends has no length that is known, unless it is in a track. */
enum lam_clock {
    LAM_CLOCK_AUTO = 0, /* the time stamp counter where it is invariant, else the monotonic clock */
    LAM_CLOCK_TSC = 1,  /* LAM_E_UNSUPPORTED where it is not invariant */
    LAM_CLOCK_MONOTONIC = 2,    /* CLOCK_MONOTONIC */
    LAM_CLOCK_CPU_TIME = 3,     /* intervals count the CPU time of their thread */
    LAM_CLOCK_INSTRUCTIONS = 4, /* ... its instructions in user mode, by a hardware counter */
    LAM_CLOCK_INSTRUCTIONS_MINUS_IRQS = 5, /* ... less what the hardware counts for interrupts */
    LAM_CLOCK_CYCLES = 6,                  /* ... its cycles in user mode */
};

/* Counters recorded beside the clock, for each interval: 16 more bytes each. Bits of lam_options.counters. */
enum lam_counter {
    LAM_COUNTER_CPU_TIME = 1,
    LAM_COUNTER_INSTRUCTIONS = 2,
    LAM_COUNTER_INSTRUCTIONS_MINUS_IRQS = 4,
    LAM_COUNTER_CYCLES = 8,
};

enum lam_mode {
    LAM_MODE_STOP = 0, /* at max_bytes: no more events, the lost ones are counted */
    LAM_MODE_FLIGHT =
        1, /* at max_bytes: the oldest events are overwritten. Of every thread the newest stay, a full page at
                            least, for 60 threads at a time (fewer below 600 KiB, more above 64 MiB); docs/recorder.md */
};

/* How lam_call_enter() and lam_call_exit() record. Bits of lam_options.calls; 0 records every call. ONE_IN and THRESHOLD go over
 * to the tree as well, when three quarters of `max_bytes` are used (in LAM_MODE_STOP). */
enum lam_calls {
    LAM_CALLS_ONE_IN =
        1, /* one call in `one_in` of each function, with its weight; combines with THRESHOLD */
    LAM_CALLS_THRESHOLD =
        2, /* calls shorter than `threshold_ns` become count and time in their caller's record */
    LAM_CALLS_TREE =
        4, /* no call by itself: counts and times of each path of calls, in `tree_bytes` at most */
    LAM_CALLS_AUTO = 8, /* as the other bits say, and the tree once the file has `auto_bytes` */
};

struct lam_options {
    size_t size; /* of this structure; set by lam_options_init() */
    const char *path; /* a recording directory (made if need be), or a file ending in ".lam"; NULL: $LAMELLA_OUT */
    const char *kinds; /* "Query,GenericActivity": only these; "-QueryCacheHit,-keys": all but these. Letter case, `-` and `_`
                           inside of a name do not matter. "keys" are the names of virtual ids, "args" arguments. NULL: all */
    uint64_t max_bytes; /* of the file; 0: no bound, else at least 64 KiB. With LAM_MODE_STOP a thread that records for long takes
                           508 KiB before its pages have their full size */
    uint64_t threshold_ns; /* LAM_CALLS_THRESHOLD; with a clock that is no time, in what it counts */
    uint64_t tree_bytes;   /* LAM_CALLS_TREE; 0: 4 MiB */
    uint64_t auto_bytes;   /* LAM_CALLS_AUTO; 0: half of max_bytes, or 64 MiB without */
    uint32_t clock;        /* enum lam_clock */
    uint32_t mode;         /* enum lam_mode */
    uint32_t counters;     /* enum lam_counter, added up */
    uint32_t calls;        /* enum lam_calls, added up */
    uint32_t one_in;       /* LAM_CALLS_ONE_IN; 0: 64 */
    uint32_t reserved;
};

/* Sets everything to its default. */
LAM_API void lam_options_init(struct lam_options *options);

/* Changes options as a text says: `max_bytes=64M,mode=flight,clock=cpu,kinds=Query+-keys,calls=one_in:100+threshold:10us`; the
 * form of $LAMELLA_OPTIONS and a fit value for an option of the program's own. Keys are the members; within a value `+` separates.
 * `text` must outlive the options (kinds points into a copy of 512 bytes that the library holds for each thread).
 * Returns LAM_OK; LAM_E_INVAL with nothing changed for a text that it does not understand. */
LAM_API int lam_options_parse(struct lam_options *options, const char *text);

/* What is wrong with such a text, or with what it asks for, in words: "max_bytes: `64q` should be a number: ...", cut to `size` bytes with the
 * NUL; "" when nothing is. Returns LAM_OK or LAM_E_INVAL. */
LAM_API int lam_options_explain(const char *text, char *why, size_t size);

/* Opens the default recorder. options NULL: path and options from the environment.
 * Threads  one call at a time; events of other threads are recorded from some point during the call on.
 * Returns  LAM_OK; LAM_E_BUSY when it is open already (also through LAMELLA_OUT); LAM_E_NOTFOUND without a path, or without the directory
 *          above it; LAM_E_EXISTS when it is there and no directory; LAM_E_TOOBIG for a path that is too long; LAM_E_INVAL; LAM_E_PERM,
 *          LAM_E_FULL or LAM_E_IO when the file cannot be made; LAM_E_UNSUPPORTED for a clock or counter that this machine does
 *          not have, LAM_E_PERM for one that it does not give (perf_event_paranoid). lam_open_error() has it in words. */
LAM_API int lam_open(const struct lam_options *options);

/* Why the last opening of a recorder in this process failed, in words and with the option or the path: "LAMELLA_OPTIONS: `64q`
 * should be ..."; "" when it did not, or nothing was asked for. Also of the one that LAMELLA_OUT asked for before main, where the
 * library, which never prints, could not tell anybody. Valid until the next opening; not while one is going on. */
LAM_API const char *lam_open_error(void);

/* Closes it. Calls that other threads have begun end as they would have, or do nothing as those that begin later (and are not
 * counted as lost). Intervals that are open stay open in the recording. May be opened again, also while others record: a new
 * file, in which labels, kinds and spaces have the numbers that they had. Not needed at the end of a process. */
LAM_API void lam_close(void);

/* The same for a recorder of one's own. `path` is needed. The caller's pointer is set, and set to NULL by close. What the
 * recorder used in memory (its labels and some pages) stays until the process ends, so that a late call through a copy of the
 * pointer is harmless. */
LAM_API int lam_recorder_open(struct lam_recorder **rec, const struct lam_options *options);
LAM_API void lam_recorder_close(struct lam_recorder **rec);

struct lam_stats {
    size_t size;               /* in: of this structure */
    uint64_t file_bytes;       /* claimed so far */
    uint64_t lost_events;      /* no space, budget, other errors */
    uint64_t clamped_times;    /* clock readings before the one they must not precede */
    uint64_t unbalanced_exits; /* calls closed without an exit of their own, exits without a call */
    uint64_t refused_ends; /* of intervals that had ended, or of handles and tracks that are not this process's */
    uint64_t recycled_pages; /* flight recorder */
    uint64_t untold_calls;   /* no room in the tree */
    uint32_t labels;         /* distinct */
    uint32_t lanes;          /* most threads at a time */
};

LAM_API int lam_recorder_stats(struct lam_recorder *rec, struct lam_stats *stats);

/* Not 0 while the default recorder is open. Only for the inline functions below; do not write to it. */
extern LAM_API uint32_t lam_on;

/* "out of memory" and so on; never NULL. Signal-safe. */
LAM_API const char *lam_error_text(int code);
/* "0.1.0" */
LAM_API const char *lam_version(void);

/* ---- labels and kinds ---- */

/* The label of a text of any bytes, up to 1 GiB (longer ones are cut). The same text has the same label.
 * Signal-safe; lock-free when the text is known already. */
LAM_API struct lam_label lam_label_intern(struct lam_recorder *rec, const char *bytes, size_t size);

enum lam_compose {
    LAM_COMPOSE_TEXT = 0, /* the parts' texts one behind the other */
    LAM_COMPOSE_ARGS = 1, /* part 0 is the label, the others are its arguments */
};

/* A label made of others, stored as a few words by reference. At most 1000 parts. Signal-safe. */
LAM_API struct lam_label lam_label_compose(struct lam_recorder *rec, const struct lam_label *parts,
                                           size_t count, enum lam_compose how);

/* The kind of that name. At most some 65,000 kinds of all sorts a recorder. The first 222 cost 16 bytes an event, later ones
 * 32. Signal-safe. Keep what it returns: it looks the kind up. */
LAM_API struct lam_kind lam_kind_intern(struct lam_recorder *rec, const char *name);

/* ---- events: all of them signal-safe and wait-free but for the moment when a thread's page is full ---- */

/* What the inline functions below call. */
LAM_API struct lam_handle lam_begin_event(struct lam_recorder *rec, uint32_t kind, uint32_t id);
LAM_API struct lam_handle lam_begin_detached_event(struct lam_recorder *rec, uint32_t kind,
                                                   uint32_t id);
LAM_API int lam_end_event(struct lam_recorder *rec, struct lam_handle handle);
LAM_API int lam_instant_event(struct lam_recorder *rec, uint32_t kind, uint32_t id);
LAM_API int lam_integer_event(struct lam_recorder *rec, uint32_t kind, uint32_t id, uint64_t value);
LAM_API int lam_past_event(struct lam_recorder *rec, uint32_t kind, uint32_t id, uint64_t start,
                           uint64_t end);
LAM_API int lam_pause_event(struct lam_recorder *rec, struct lam_handle handle, int resume);

static inline int lam_is_off(const struct lam_recorder *rec)
{
#ifdef LAMELLA_DISABLE
    (void)rec;
    return 1;
#else
    return __builtin_expect(rec == LAM_DEFAULT, 1) &&
           __builtin_expect(__atomic_load_n(&lam_on, __ATOMIC_RELAXED) == 0, 1);
#endif
}

static inline struct lam_handle lam_no_handle(void)
{
    struct lam_handle none = {0, 0};
    return none;
}

/* Begins an interval. It ends with lam_end(); until then it is open, and stays so in the recording if the process is killed. */
static inline struct lam_handle lam_begin(struct lam_recorder *rec, struct lam_kind kind,
                                          struct lam_label label)
{
    return lam_is_off(rec) ? lam_no_handle() : lam_begin_event(rec, kind.id, label.id);
}

/* Ends an interval, begun by lam_begin() or one of its relatives with the same recorder. An empty handle is ignored.
 * Threads  usually the one that began it. Another one may: readers then see where it ended, but only a detached interval (or one of
 *          a track) is not expected to nest.
 * Returns  LAM_OK; LAM_E_INVAL when it had ended already or is no interval of this process (counted; of an interval whose page its
 *          thread has left, readers use the first end); LAM_E_FULL (counted). */
static inline int lam_end(struct lam_recorder *rec, struct lam_handle handle)
{
#ifdef LAMELLA_DISABLE
    (void)rec, (void)handle;
    return LAM_OK;
#else
    return __builtin_expect(handle.ref == 0, 0) ? LAM_OK : lam_end_event(rec, handle);
#endif
}

/* An interval that is no part of its thread's nesting and may end on another thread. */
static inline struct lam_handle lam_begin_detached(struct lam_recorder *rec, struct lam_kind kind,
                                                   struct lam_label label)
{
    return lam_is_off(rec) ? lam_no_handle() : lam_begin_detached_event(rec, kind.id, label.id);
}

/* Records an interval that is over.
 * start, end  of lam_now(); an end before the start is taken for the start (counted)
 * Returns     LAM_OK, LAM_E_FULL (counted) or LAM_E_CLOSED */
static inline int lam_interval(struct lam_recorder *rec, struct lam_kind kind,
                               struct lam_label label, uint64_t start, uint64_t end)
{
    return lam_is_off(rec) ? (int)LAM_E_CLOSED : lam_past_event(rec, kind.id, label.id, start, end);
}

/* A point in time; a value at a point in time. Returns as lam_interval(). */
static inline int lam_instant(struct lam_recorder *rec, struct lam_kind kind, struct lam_label label)
{
    return lam_is_off(rec) ? (int)LAM_E_CLOSED : lam_instant_event(rec, kind.id, label.id);
}

static inline int lam_integer(struct lam_recorder *rec, struct lam_kind kind,
                              struct lam_label label, uint64_t value)
{
    return lam_is_off(rec) ? (int)LAM_E_CLOSED : lam_integer_event(rec, kind.id, label.id, value);
}

/* Pauses one interval, and lets it go on: what lies between counts as wall time and not as active time. The interval is still
 * ended by lam_end(). */
static inline int lam_pause(struct lam_recorder *rec, struct lam_handle handle)
{
    return lam_is_off(rec) || handle.ref == 0 ? LAM_OK : lam_pause_event(rec, handle, 0);
}

static inline int lam_resume(struct lam_recorder *rec, struct lam_handle handle)
{
    return lam_is_off(rec) || handle.ref == 0 ? LAM_OK : lam_pause_event(rec, handle, 1);
}

/* The recorder's clock, as lam_interval() takes it; 0 when it is off. Signal-safe. */
LAM_API uint64_t lam_now(struct lam_recorder *rec);

/* ---- events with arguments ---- */

enum lam_arg_type {
    LAM_ARG_U64 = 1,
    LAM_ARG_I64 = 2,
    LAM_ARG_DOUBLE = 3,
    LAM_ARG_LABEL = 4, /* an interned text: for what repeats itself */
    LAM_ARG_TEXT =
        5, /* bytes, stored in the event: for what does not. Up to 4000 bytes in all arguments (2000 in a flight recorder of
              less than 1.2 MiB); longer ones are interned */
};

struct lam_arg {
    struct lam_label name; /* 0: none */
    uint32_t type;         /* enum lam_arg_type */
    union {
        uint64_t u64;
        int64_t i64;
        double number;
        struct lam_label label;
        size_t text_bytes;
    } value;
    const char *text;
};

/* As lam_begin() and lam_instant(), with up to 100 arguments (those beyond are left out): 16 bytes each more, and of a text as many
 * as it is long. */
LAM_API struct lam_handle lam_begin_args(struct lam_recorder *rec, struct lam_kind kind,
                                         struct lam_label label, const struct lam_arg *args,
                                         size_t count);
LAM_API int lam_instant_args(struct lam_recorder *rec, struct lam_kind kind, struct lam_label label,
                             const struct lam_arg *args, size_t count);

/* ---- late names ----
 * An event can carry a number of the program's own (a query's key, a node's index) for a name that is made later or never: 16
 * bytes, no look-up. What was never named reads as `#number`. */

/* A new set of such numbers. Any 32-bit number may be used in it; it collides with nothing else. */
LAM_API struct lam_space lam_space_create(struct lam_recorder *rec);

/* The kind of events called `label` in the family `name` whose numbers are of `space`. With label NULL events are called what
 * their number is named. */
LAM_API struct lam_kind lam_kind_keyed(struct lam_recorder *rec, const char *name,
                                       const char *label, struct lam_space space);

/* lam_begin() and lam_instant() for such a kind. */
static inline struct lam_handle lam_begin_id(struct lam_recorder *rec, struct lam_kind kind,
                                             uint32_t id)
{
    return lam_is_off(rec) ? lam_no_handle() : lam_begin_event(rec, kind.id, id);
}

static inline int lam_instant_id(struct lam_recorder *rec, struct lam_kind kind, uint32_t id)
{
    return lam_is_off(rec) ? (int)LAM_E_CLOSED : lam_instant_event(rec, kind.id, id);
}

/* Does anybody want names of virtual ids? 0 when off, or filtered out by "-keys": spare the work of making them. Signal-safe. */
LAM_API int lam_wants_names(struct lam_recorder *rec);

struct lam_name {
    uint32_t id;
    uint32_t text_bytes; /* at most 65,535; longer ones are cut */
    const char *text;
};

/* Names a virtual id, or many: at any time, also long after the events. Many at once take some 8 bytes and the text each, and are
 * recorded as an interval of their own (kind "Lamella", label "name ids"). Of two names the first counts.
 * Returns LAM_OK (also when nobody wants names); LAM_E_CLOSED; LAM_E_FULL (counted). Not signal-safe. */
LAM_API int lam_name_ids(struct lam_recorder *rec, struct lam_space space,
                         const struct lam_name *names, size_t count);
static inline int lam_name_id(struct lam_recorder *rec, struct lam_space space, uint32_t id,
                              const char *text, size_t text_bytes)
{
    struct lam_name name = {id, text_bytes > 65535 ? 65535u : (uint32_t)text_bytes, text};
    return lam_is_off(rec) ? (int)LAM_E_CLOSED : lam_name_ids(rec, space, &name, 1);
}

/* The same with labels (composed ones, or such that are there already): 8 bytes each. */
LAM_API int lam_map_ids(struct lam_recorder *rec, struct lam_space space, const uint32_t *ids,
                        const struct lam_label *labels, size_t count);

/* ---- tracks ----
 * For programs that schedule lines of execution themselves. While a track runs on no thread, all its open intervals are paused, at
 * the cost of one event a switch. A track may run on one thread after the other. */

/* name  may be the empty label */
LAM_API struct lam_track lam_track_create(struct lam_recorder *rec, struct lam_label name);
/* The calling thread runs `track` from now on ({0}: none, the thread itself). Signal-safe.
 * Returns  LAM_OK; LAM_E_INVAL for a track that was never made (counted): the thread goes on in the one it was in; LAM_E_FULL. */
LAM_API int lam_track_switch(struct lam_recorder *rec, struct lam_track track);
/* It will not run again; a thread that was running it runs none. LAM_E_INVAL as above; {0} is ignored. */
LAM_API int lam_track_end(struct lam_recorder *rec, struct lam_track track);

/* ---- calls at volume ----
 * For interpreters that see every call. What becomes of them is up to lam_options.calls, and is told in the recording. Each thread,
 * and each track, has a stack of calls. Not signal-safe. Kind "Call". */

LAM_API void lam_call_enter_event(struct lam_recorder *rec, uint32_t label);
LAM_API void lam_call_exit_event(struct lam_recorder *rec, uint32_t label);

static inline void lam_call_enter(struct lam_recorder *rec, struct lam_label label)
{
    if (!lam_is_off(rec))
        lam_call_enter_event(rec, label.id);
}

/* Ends the innermost call of that label; calls inside of it that had no exit (an exception, a longjmp, a tail call) end with it and
 * are counted. An exit whose call is not there is counted and does nothing. */
static inline void lam_call_exit(struct lam_recorder *rec, struct lam_label label)
{
    if (!lam_is_off(rec))
        lam_call_exit_event(rec, label.id);
}

/* How many calls are open, and back to that many: for a host that knows where an exception lands. Not counted as unbalanced. */
LAM_API uint32_t lam_call_depth(struct lam_recorder *rec);
LAM_API void lam_call_unwind(struct lam_recorder *rec, uint32_t depth);

/* The same, cheaper, for a host that knows its functions and has a frame for each open call: whether a call is one in N is found
 * without calling anything, and where every call is recorded the recorder keeps no stack. Calls of both sorts may be mixed; these are
 * not counted by lam_call_depth(), where every call is recorded. */
struct lam_callee { /* a function; used by one thread at a time */
    uint32_t label; /* the rest is zero at first */
    uint32_t skip;  /* inside: how many of its next calls are not recorded */
    uint32_t seen, chosen;
};
enum lam_told {
    LAM_TOLD_CALL = 1,     /* its end must be told */
    LAM_TOLD_RECORDED = 2, /* one in N: it is; so what it calls itself must be told */
    LAM_TOLD_HANDLE = 4,   /* it ends by its handle */
    LAM_TOLD_INSIDE =
        8, /* set by the host, before it is told: it is made inside of another call of the function */
};
struct lam_open_call { /* set by lam_callee_enter() but for `host`. INSIDE: between lam_callee_skips() and lam_callee_enter_event() */
    uint32_t label;
    uint16_t told; /* enum lam_told, added up; 0: nothing is told of its end either */
    uint16_t host; /* for the host's own use */
    struct lam_handle handle; /* RECORDED: .start is how many of its direct calls there are to the next one that must be told */
};
LAM_API void lam_callee_enter_event(struct lam_recorder *rec, struct lam_callee *callee,
                                    struct lam_open_call *around, struct lam_open_call *call);

/* One in N: most of its calls are not recorded any more. */
static inline int lam_callee_is_sampled(const struct lam_callee *callee)
{
    return callee->seen == UINT32_MAX;
}

/* One in N: the next call of it is one that is recorded and stands for others as well. */
static inline int lam_callee_is_picked(const struct lam_callee *callee)
{
    return !callee->skip && lam_callee_is_sampled(callee);
}

/* One call of it that need not be told: then `call` is set, and all is done. */
static inline int lam_callee_skips(struct lam_callee *callee, struct lam_open_call *around,
                                   struct lam_open_call *call)
{
    call->label = callee->label;
    call->told = 0;
    if (around->told & LAM_TOLD_RECORDED) {
        if (around->handle.start)
            around->handle.start--;
        if (!around->handle.start)
            return 0;
    }
    if (!callee->skip)
        return 0;
    callee->skip--;
    return 1;
}

/* around  the call that it is made from; told 0 if there is none */
static inline void lam_callee_enter(struct lam_recorder *rec, struct lam_callee *callee,
                                    struct lam_open_call *around, struct lam_open_call *call)
{
    if (!lam_callee_skips(callee, around, call) && !lam_is_off(rec))
        lam_callee_enter_event(rec, callee, around, call);
}

/* Calls end in the opposite order of their beginnings. */
static inline void lam_callee_exit(struct lam_recorder *rec, const struct lam_open_call *call)
{
    if (call->told & LAM_TOLD_HANDLE)
        lam_end_event(rec, call->handle);
    else if (call->told && !lam_is_off(rec))
        lam_call_exit_event(rec, call->label);
}

/* ---- threads ---- */

/* So that event functions are signal-safe on this thread. Returns LAM_OK, LAM_E_CLOSED, LAM_E_NOMEM. */
LAM_API int lam_thread_register(struct lam_recorder *rec);
/* Names the calling thread; without it the kernel's name when it was registered is used. Up to 255 bytes. */
LAM_API int lam_thread_name(struct lam_recorder *rec, const char *name);

/* ---- scopes, for the default recorder ---- */

/* A call site's memory of what its label is; zero. */
struct lam_site {
    uint64_t cache;
};

LAM_API struct lam_handle lam_site_begin_event(struct lam_site *site, const char *kind,
                                               const char *label);
LAM_API void lam_site_instant_event(struct lam_site *site, const char *kind, const char *label);

static inline struct lam_handle lam_site_begin(struct lam_site *site, const char *kind,
                                               const char *label)
{
    return lam_is_off(LAM_DEFAULT) ? lam_no_handle() : lam_site_begin_event(site, kind, label);
}

static inline void lam_scope_end(struct lam_handle *handle)
{
    lam_end(LAM_DEFAULT, *handle);
}

#define LAM_JOIN2(a, b) a##b
#define LAM_JOIN(a, b)  LAM_JOIN2(a, b)

#ifdef LAMELLA_DISABLE
#define LAM_SCOPE_OF(kind, label)   ((void)0)
#define LAM_INSTANT_OF(kind, label) ((void)0)
#else
#define LAM_SCOPE_AT(n, kind, label)                                                            \
    static struct lam_site LAM_JOIN(lam_site_, n);                                              \
    struct lam_handle LAM_JOIN(lam_scope_, n) __attribute__((cleanup(lam_scope_end), unused)) = \
        lam_site_begin(&LAM_JOIN(lam_site_, n), kind, label)
/* An interval from here to the end of the enclosing block, however it is left (but for longjmp). The texts must be the same
 * each time the line is reached. */
#define LAM_SCOPE_OF(kind, label) LAM_SCOPE_AT(__COUNTER__, kind, label)
#define LAM_INSTANT_OF(kind, label)                              \
    do {                                                         \
        static struct lam_site lam_site_here;                    \
        if (!lam_is_off(LAM_DEFAULT))                            \
            lam_site_instant_event(&lam_site_here, kind, label); \
    } while (0)
#endif
#define LAM_SCOPE(label)   LAM_SCOPE_OF("GenericActivity", label)
#define LAM_INSTANT(label) LAM_INSTANT_OF("GenericActivity", label)
#define LAM_FUNCTION()     LAM_SCOPE_OF("Function", __func__)

#ifdef __cplusplus
}
#endif
#endif
