/* sink.h: what every input pushes and every view takes.
 *
 * A reader of any format calls the functions below in this order: session; then, for each process, the process, its
 * modules, threads, frames and stacks before they are referred to, and its samples and waits in time order within
 * each thread; process_end; finally session_end. Ids are dense, start at 1 and never change within one push, so a
 * sink can index arrays with them; 0 means "none". Instrumented programs add tracks, texts and labels, each before it is
 * referred to, and intervals, instants, integers and folds in an order that the sink may choose (`wants`). Times are nanoseconds since the session's start (they may be
 * negative: a clock was set back before the recording, never after). A pointer is valid during the call only.
 *
 * Ownership  the sink keeps nothing it did not copy.
 * Threads    one thread pushes.
 * Returns    LAM_OK to go on; a negative code stops the reader, which returns it.
 * A member that is NULL is skipped.
 */
#ifndef LAMELLA_PROFILE_SINK_H
#define LAMELLA_PROFILE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/faults.h"

#define PROFILE_UNKNOWN UINT64_MAX /* "not measured": printed as absent or null, never as zero */

struct duration_histogram; /* profile/duration_histogram.h */

struct profile_text { /* bytes of outside origin: any value, not NUL-ended */
    const char *bytes;
    size_t size;
};

/* What intervals are measured in: a "_ns" of theirs is this unit. */
enum profile_measure {
    PROFILE_MEASURE_TIME,         /* nanoseconds of wall time */
    PROFILE_MEASURE_CPU_TIME,     /* nanoseconds of the thread's CPU clock */
    PROFILE_MEASURE_INSTRUCTIONS, /* retired in user mode */
    PROFILE_MEASURE_INSTRUCTIONS_MINUS_IRQS,
    PROFILE_MEASURE_CYCLES,
    PROFILE_MEASURE_OTHER, /* a counter that the input names otherwise */
};

struct profile_session {
    const char *command; /* NUL-ended, printable form is the view's business */
    const char *directory;
    const char *tool_version;
    const char *host;
    int64_t started_at_unix_ns;
    uint64_t elapsed_ns;     /* PROFILE_UNKNOWN: the launcher did not live to say */
    uint64_t charged_cpu_ns; /* what the kernel charged to the tree (RUSAGE_CHILDREN of the launcher) */
    int exit_code;           /* the command's; 128 + n for a signal; -1 unknown */
    bool complete;           /* the launcher saw the end */
    bool has_samples, has_intervals;
    enum profile_measure measure; /* of the intervals' starts, ends and durations */
    uint32_t engine;              /* enum stream_engine, of most processes */
    uint32_t kernel_mode;
    uint32_t rate_hz; /* step 0 of the ladder; rate_auto says whether it steps down */
    bool rate_auto;
    uint32_t cores;
    const char *self_profile; /* the events that compilers were asked for, empty: their own choice; NULL: not asked */
    bool rustc_bootstrap; /* RUSTC_BOOTSTRAP=1 was set for compilations, so that they could be asked */
    const char *session_json; /* path of the rest, for views that want the timeline and the machine; NULL. Read it with
                                 session_json_load() (input/session_json.h). */
};

struct profile_usage {
    uint64_t user_ns, sys_ns, max_rss_bytes, minor_faults, major_faults, switches_voluntary,
        switches_forced, blocks_in, blocks_out;
};

enum profile_sampled { PROFILE_SAMPLED_YES, PROFILE_SAMPLED_ACCOUNT_ONLY, PROFILE_SAMPLED_NO };

struct profile_process { /* one program image: exec begins a new one */
    uint32_t process;
    uint32_t pid, ppid;
    uint32_t parent;   /* process id of the image that started it; 0 = the launcher or unknown */
    uint32_t previous; /* the image that exec replaced (same pid); 0 */
    int64_t start_ns;  /* the image's start as far as known */
    int64_t agent_start_ns;
    struct profile_text exe, cwd, comm;
    const struct profile_text *argv;
    size_t argc;
    bool argv_cut;         /* the list was too long to be stored whole */
    const char *stream;    /* the name of its stream file; NULL: it has none */
    uint64_t kernel_start; /* clock ticks since boot; 0 when not known */
    enum profile_sampled sampled;
    uint32_t why_not;        /* enum stream_unsampled */
    uint64_t startup_cpu_ns; /* from exec to the agent's start */
    uint32_t engine;
    uint32_t period_ns[4];
    uint8_t kernel_mode;
    bool forked; /* began by a fork without exec */
};

struct profile_process_end {
    uint32_t process;
    int64_t end_ns;
    int exit_code; /* -1 unknown or killed */
    int signal;    /* 0 */
    uint32_t how;  /* enum stream_end_how; 0: the agent never said (killed, or still running) */
    bool running;  /* a daemon: alive when the recording ended */
    bool has_usage;
    struct profile_usage own; /* without its waited children; max_rss is its own VmHWM, PROFILE_UNKNOWN if not known */
    uint64_t cpu_ns; /* own CPU as the kernel charged it, whole life of the image; PROFILE_UNKNOWN */
    uint64_t tail_cpu_ns;        /* after the agent's end; PROFILE_UNKNOWN */
    uint64_t lost[8];            /* enum stream_loss */
    uint64_t incomplete_records; /* pages or records that a killed process left half-made */
    uint64_t damage[8];          /* enum stream_damage */
    bool is_damaged; /* something in its stream could not be read; normal remains of a kill are not damage */
    uint64_t clamped_times; /* times that ran backwards within a thread and were moved forward */
};

/* In profile_thread.origin, beside enum stream_thread_origin: what has events and no account. No thread of the kernel's but a
 * number in a self-profile that a sampled process wrote; `tid` is that number, and the same thread may be there by its tid as
 * well. Or a thread once more: what another recorder of the process recorded on it in the meantime, with its own nesting. */
#define PROFILE_THREAD_NUMBERED 255u
#define PROFILE_THREAD_AGAIN    254u

struct profile_thread {
    uint32_t thread, process;
    uint32_t tid;
    int64_t start_ns;
    uint8_t origin; /* enum stream_thread_origin, PROFILE_THREAD_NUMBERED or _AGAIN */
    struct profile_text name;
};

struct profile_thread_name {
    uint32_t thread;
    int64_t at_ns;
    struct profile_text name;
};

struct profile_thread_end {
    uint32_t thread;
    int64_t end_ns;
    uint64_t cpu_ns, run_ns, core_wait_ns, handler_ns; /* each PROFILE_UNKNOWN when not known */
    uint32_t samples, interrupts;
    bool at_process_end;
};

struct profile_module {
    uint32_t module;
    uint32_t recording; /* of several recordings that are read as one, in whose sidecar its names are: 0, 1, … */
    struct profile_text path;
    uint8_t build_id[32];
    uint8_t build_id_bytes;
    bool is_vdso;
    uint64_t device, inode; /* of the file that was mapped; 0: not known */
    bool has_mapped_at;
    int64_t mapped_at_ns; /* when it was first seen mapped: without a build id, a file that was changed later is another */
};

/* A frame is an address inside a module, relative to the file (its own virtual addresses), the same for all
 * processes. It lies inside the instruction that was executing: look it up as it is. Only where an input knows no
 * better (a format that stores return addresses) is_return is set: look up offset - 1. */
struct profile_frame {
    uint32_t frame;
    uint32_t module; /* 0: no module held the address; `offset` is the address itself */
    uint64_t offset;
    bool is_return;
};

struct profile_stack { /* a node of the merged trie; parents are pushed before their children */
    uint32_t stack;
    uint32_t parent; /* 0: this frame is the outermost */
    uint32_t frame;
};

/* In profile_sample.flags, beside enum stream_sample_flag: not a look at the thread but its last stretch, from its last
 * sample to its end and shorter than a period or so, put on that sample's stack. Counts as time, never as a sample. */
#define PROFILE_SAMPLE_CLOSING 64u

struct profile_sample {
    uint32_t process, thread;
    uint32_t stack; /* 0: none */
    int64_t at_ns;
    uint64_t cpu_ns;
    uint64_t late_ns;   /* of cpu_ns, what is not known to be spent where the stack points */
    uint32_t period_ns; /* in force */
    uint16_t flags;     /* enum stream_sample_flag */
    uint16_t merged;
};

struct profile_wait {
    uint32_t process, thread, stack;
    int64_t start_ns;
    uint64_t duration_ns, cpu_ns;
    uint16_t kind, call;
};

struct profile_notice {
    uint32_t process;
    int64_t at_ns;
    uint32_t kind; /* enum stream_notice */
    uint64_t value;
};

/* ---- instrumented programs ---- */

struct profile_track { /* a line of execution that the program schedules itself */
    uint32_t track, process;
    int64_t start_ns;
    struct profile_text name;
};

struct profile_label { /* what events are called, within their kind; the same for all processes of a push */
    uint32_t label;
    uint32_t kind; /* label of the kind's own name, whose kind is 0 */
    struct profile_text text;
};

/* A way to get somewhere through intervals: a node of the tree of labels. Pushed before its first event, and only to a
 * sink that wants paths, whose memory is then the number of distinct paths. */
struct profile_path {
    uint32_t path;
    uint32_t parent; /* 0: outermost */
    uint32_t label;
};

enum profile_interval_flag {
    PROFILE_INTERVAL_OPEN =
        1, /* it never ended: end_ns is the last time known of its thread, or, where the thread is not
                                  known to have ended, of its process */
    PROFILE_INTERVAL_DETACHED =
        2, /* it belongs to no thread's nesting: not in its parent's children, self is active */
    PROFILE_INTERVAL_OVERLAPS =
        4, /* it begins inside another one of its thread and ends after it: nobody's child */
    PROFILE_INTERVAL_RECURSIVE =
        8, /* one of its ancestors has the same label, or a call that was not recorded: not counted in that label's total time */
    PROFILE_INTERVAL_BACKWARD =
        16, /* it was stored with an end before its start, and is counted as empty */
};

/* What is in one chain of a thread (a track) nests, or follows one another. Chain 0 is the thread's own; one that begins inside
 * another and ends after it begins another chain with all that it holds. */
#define PROFILE_CHAIN_NONE UINT32_MAX /* it may cross anything */

enum { PROFILE_COUNTERS_MAX = 4 };

/* What a counter beside the clock counted in an interval. */
struct profile_counted {
    uint32_t number; /* of the counter in its process; below PROFILE_COUNTERS_MAX */
    struct profile_text name;
    enum profile_measure measure; /* OTHER: none of these */
    uint64_t value;
    uint64_t self; /* without what it counted in the intervals inside that have it too */
};

/* One thing that went on for a while. wall = end - start; active = wall without the time its track was switched away or
 * itself was paused; self = active without the active time of its children. The input does the nesting, once for all
 * views: an interval is the child of the shortest one of its thread (its track, if it has one) that holds it whole. */
struct profile_interval {
    uint32_t process, thread, track;
    uint32_t label;
    uint32_t path; /* 0 unless the sink wants paths */
    int64_t start_ns, end_ns;
    uint64_t active_ns;
    uint64_t self_ns;  /* PROFILE_UNKNOWN in PROFILE_ORDER_START, where children follow */
    uint64_t children; /* how many; PROFILE_UNKNOWN in PROFILE_ORDER_START */
    uint32_t depth;    /* 0: outermost */
    uint32_t weight;   /* how many it stands for: 1, or more where one call in N is recorded */
    uint32_t chain;    /* of a timeline a row of its own; not of DETACHED ones, which are in none */
    uint32_t flags;    /* enum profile_interval_flag */
    uint32_t end_thread;             /* thread that ended it; differs from thread when DETACHED */
    const struct profile_text *args; /* without the label; only for a sink that wants arguments */
    size_t argc;
    bool has_plain_args; /* ASCII without control characters, quotes and backslashes; false: not known */
    uint64_t args_id; /* 0, or the same for the same label's text and arguments within a process: knows_args() */
    const struct profile_counted *counted; /* only for a sink that wants it */
    size_t counted_count;
};

struct profile_instant {
    uint32_t process, thread, track;
    uint32_t label;
    int64_t at_ns;
    bool has_value;  /* an integer: a value at a time */
    bool is_undated; /* the input stores no time of it: at_ns is that of its surroundings */
    uint64_t value;
    const struct profile_text *args;
    size_t argc;
    uint64_t args_id; /* as an interval's */
};

/* A sample once more, with the innermost interval that its thread was in: for sinks that want it, after all samples of the process
 * and among its intervals. In the order of time within a thread. */
struct profile_sample_path {
    struct profile_sample sample;
    uint32_t track; /* that its thread ran; 0: none */
    uint32_t path;  /* 0: it was in no interval */
};

/* Calls that were not stored one by one: how many, and how long they took together. */
struct profile_fold {
    uint32_t process, thread, track;
    uint32_t label;
    uint32_t path; /* 0 unless the sink wants paths, or those of folds */
    int64_t at_ns;
    int64_t until_ns; /* of its thread (its track): the calls that are folded there lay between at_ns and then. at_ns: not known */
    uint64_t count;
    uint64_t open; /* of them, calls that have not ended: their time is up to the last one known */
    uint64_t total_ns; /* of outermost calls */
    uint64_t self_ns;
};

/* What the intervals, instants and integers of one label came to in one process: instead of each of them, to a sink that
 * wants sums, from an input that can add up faster than it can tell. Weights are 1, active times wall times. */
struct profile_sum {
    uint32_t process, label;
    uint64_t intervals;
    uint64_t self_ns;
    uint64_t time_ns; /* of those without PROFILE_INTERVAL_RECURSIVE */
    uint64_t wall_ns; /* of all */
    uint64_t min_ns, max_ns;
    const struct duration_histogram *durations;       /* wall times */
    uint64_t instants;                                /* integers among them */
    uint64_t values, value_sum, value_min, value_max; /* of the integers */
};

/* The intervals of one thread, beside the sums of labels. */
struct profile_thread_sum {
    uint32_t process, thread;
    uint64_t intervals; /* 1 or more */
    uint64_t self_ns;
    int64_t start_ns, end_ns; /* of the first and the last */
    uint64_t backward, overlapping;
};

enum profile_order {
    PROFILE_ORDER_ANY, /* as the input has it; each interval once its children are known */
    PROFILE_ORDER_START, /* within a thread (a track) by start, parents before children, instants among them */
};

struct profile_wants {
    enum profile_order order;
    bool args;     /* texts of arguments */
    bool counters; /* and of what was counted beside the clock, behind them */
    bool counted;  /* the same as numbers; not in PROFILE_ORDER_START */
    bool paths;    /* profile_path, and path ids in events */
    bool fold_paths; /* the same for folds alone: of programs with millions of paths, few lead to a fold */
    bool sample_paths; /* profile_sample_path; only with `paths` */
    bool path_sums; /* only with `paths`: a profile_fold for each path of a process, of all its threads together (thread 0), instead of
                     intervals and instants, where the input can */
    bool sums; /* profile_sum and profile_thread_sum instead of intervals and instants, where the input can; never with
                  args or paths */
};

struct profile_session_end {
    uint64_t streams, damaged_streams; /* files read; files in which something could not be read */
    uint64_t unreadable_streams; /* files that are no streams at all, could not be opened, or are listed and not there */
    uint64_t duplicate_streams; /* copies of a stream that was read: left out */
    uint64_t lost_records;
    uint64_t clamped_times;
    uint64_t overwritten_pages; /* of events, by flight recorders: what was in them is gone */
    uint64_t unbalanced_exits; /* calls that were closed without an exit of their own, exits without a call */
    uint64_t refused_ends; /* of intervals that had ended already, or are a forked parent's */
    uint64_t untold_calls; /* that found no room in a full tree of calls: they are in no fold */
    uint64_t cut_texts; /* arguments of events, of which only the beginning was told, with the length */
    uint64_t refused_recorders; /* processes that were asked to record themselves, and could not */
    char first_refusal[256];    /* why the first of them could not */
    uint64_t damage[8];         /* enum stream_damage, of all streams */
    struct profile_faults faults; /* of damaged and unreadable files */
    char session_damage[256]; /* why session.json was left out; empty when it was read, or is not there */
    uint64_t self_profiles; /* of streams: self-profiles of processes that are in the recording */
    uint64_t self_profile_events;   /* in them */
    uint64_t intervals, instants;   /* pushed */
    uint64_t open_intervals;        /* of them, without an end */
    uint64_t backward_intervals;    /* of them, stored with an end before their start */
    uint64_t overlapping_intervals; /* of them, nested in no proper way */
    uint64_t unidentified_cpu_ns; /* charged, and found in no process: descendants that nobody saw; PROFILE_UNKNOWN when
                                     the charge is not known */
};

/* One of several that events are told to side by side: each gets stretches of them, and what it makes of them is taken up in the
 * order of the stretches. A stretch is of one process. */
struct profile_branch {
    void *ctx; /* of the functions below; set by open() */
    int (*interval)(void *ctx, const struct profile_interval *interval);
    int (*instant)(void *ctx, const struct profile_instant *instant);
    /* In the order of starts: the innermost interval of the thread that is under way ends, which may have begun in another stretch. */
    int (*interval_end)(void *ctx, uint32_t process, uint32_t thread, int64_t at_ns);
    int (*end)(void *ctx);           /* of a stretch: what comes next may be any other */
    size_t (*held_bytes)(void *ctx); /* what it has made and nobody has taken */
    /* Set by the input before the first event: the branch calls it when it is full, and it returns when all that the branch held has been
     * taken. */
    int (*make_room)(void *room_ctx);
    void *room_ctx;
};

/* For an input that can tell intervals and instants side by side. All of a process come this way or none, and none that overlaps or is
 * detached; the path, self time, children, depth and recursion of these intervals are not known, and integers come without their
 * arguments.
 *
 * In PROFILE_ORDER_ANY a branch hears them by the falling ends of a thread's intervals, parents before their children where both have
 * the same times. In PROFILE_ORDER_START it hears where each of a thread's begins and where it ends, with instants between, which may
 * come before an interval that began earlier; stretches go on from a process's beginning to its end.
 *
 * Several processes may be told side by side: the sink hears of them and of their threads first, one after the other, then of all
 * events, the stretches of one process before those of the next, then of their ends. Labels are told meanwhile, one at a time, by
 * whichever thread found one; nothing else is. */
struct profile_branch_ops {
    int (*open)(void *ctx, size_t max_bytes, struct profile_branch *branch);
    int (*take)(void *ctx,
                struct profile_branch *branch); /* one at a time, in the order of what was told */
    void (*close)(void *ctx, struct profile_branch *branch); /* what was not taken is lost */
};

struct profile_sink_ops {
    int (*session)(void *ctx, const struct profile_session *session);
    int (*process)(void *ctx, const struct profile_process *process);
    int (*module)(void *ctx, const struct profile_module *module);
    int (*frame)(void *ctx, const struct profile_frame *frame);
    int (*stack)(void *ctx, const struct profile_stack *stack);
    int (*thread)(void *ctx, const struct profile_thread *thread);
    int (*thread_name)(void *ctx, const struct profile_thread_name *name);
    int (*sample)(void *ctx, const struct profile_sample *sample);
    int (*sample_path)(void *ctx, const struct profile_sample_path *sample);
    int (*wait)(void *ctx, const struct profile_wait *wait);
    int (*track)(void *ctx, const struct profile_track *track);
    int (*label)(void *ctx, const struct profile_label *label);
    int (*path)(void *ctx, const struct profile_path *path);
    int (*interval)(void *ctx, const struct profile_interval *interval);
    int (*instant)(void *ctx, const struct profile_instant *instant);
    int (*fold)(void *ctx, const struct profile_fold *fold);
    int (*sum)(void *ctx, const struct profile_sum *sum);
    int (*thread_sum)(void *ctx, const struct profile_thread_sum *sum);
    /* Whether the sink has kept what an args_id of this process stands for, and will have until the process's end: args may
     * then be left out (argc 0) of what has this id. */
    bool (*knows_args)(void *ctx, uint32_t process, uint64_t args_id);
    int (*thread_end)(void *ctx, const struct profile_thread_end *end);
    int (*notice)(void *ctx, const struct profile_notice *notice);
    int (*process_end)(void *ctx, const struct profile_process_end *end);
    int (*session_end)(void *ctx, const struct profile_session_end *end);
};

struct profile_sink {
    void *ctx;
    const struct profile_sink_ops *ops;
    struct profile_wants wants;
    const struct profile_branch_ops *branches; /* NULL: it has none */
};

#endif
