/* sink.h: what every input pushes and every view takes.
 *
 * A reader of any format calls the functions below in this order: session; then, for each process, the process, its
 * modules, threads, frames and stacks before they are referred to, and its samples and waits in time order within
 * each thread; process_end; finally session_end. Ids are dense, start at 1 and never change within one push, so a
 * sink can index arrays with them; 0 means "none". Times are nanoseconds since the session's start (they may be
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

#define PROFILE_UNKNOWN UINT64_MAX /* "not measured": printed as absent or null, never as zero */

struct profile_text { /* bytes of outside origin: any value, not NUL-ended */
    const char *bytes;
    size_t size;
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
    uint32_t engine; /* enum stream_engine, of most processes */
    uint32_t kernel_mode;
    uint32_t rate_hz; /* step 0 of the ladder; rate_auto says whether it steps down */
    bool rate_auto;
    uint32_t cores;
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

struct profile_thread {
    uint32_t thread, process;
    uint32_t tid;
    int64_t start_ns;
    uint8_t origin; /* enum stream_thread_origin */
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

struct profile_session_end {
    uint64_t streams, damaged_streams; /* files read; files in which something could not be read */
    uint64_t unreadable_streams; /* files that are no streams at all, or could not be opened */
    uint64_t lost_records;
    uint64_t clamped_times;
    uint64_t damage[8];     /* enum stream_damage, of all streams */
    char first_damage[256]; /* which file, where, what; empty when nothing is damaged */
    uint64_t unidentified_cpu_ns; /* charged, and found in no process: descendants that nobody saw; PROFILE_UNKNOWN when
                                     the charge is not known */
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
    int (*wait)(void *ctx, const struct profile_wait *wait);
    int (*thread_end)(void *ctx, const struct profile_thread_end *end);
    int (*notice)(void *ctx, const struct profile_notice *notice);
    int (*process_end)(void *ctx, const struct profile_process_end *end);
    int (*session_end)(void *ctx, const struct profile_session_end *end);
};

struct profile_sink {
    void *ctx;
    const struct profile_sink_ops *ops;
};

#endif
