/* agent.h: the state of the sampling agent inside one process, and what its parts offer each other.
 *
 * The agent lives in somebody else's program. Three rules hold everywhere below:
 *  - no malloc, no stdio, no lock that anybody waits for; memory comes from mmap, once a process or a thread;
 *  - what both the sampling handler and ordinary code touch is touched by ordinary code only while all signals are
 *    blocked in that thread (agent_mask_signals), so the handler never sees it half-done;
 *  - in a child of vfork, which runs on its parent's memory, nothing is written but one SPAWN record.
 */
#ifndef LAMELLA_AGENT_AGENT_H
#define LAMELLA_AGENT_AGENT_H

#include "agent/engine.h"
#include "agent/stacks.h"
#include "core/clock.h"
#include "stream/layout.h"
#include "stream/writer.h"
#include "unwind/unwind.h"

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#define AGENT_EXPORT __attribute__((visibility("default")))

enum {
    AGENT_FRAMES_MAX = 1024, /* deepest stack stored whole; of a deeper one the leaf's side is kept */
    AGENT_DIR_MAX = 1024,
    AGENT_PATH_MAX = 4096,
    AGENT_ALTSTACK_BYTES =
        64 * 1024, /* of the signal stack that a thread with a small stack gets from us */
};

/* One thread of the process. Taken from mmap when the thread is first met, reused by later threads. */
struct agent_thread {
    struct agent_thread *next;      /* in the list of all, which only grows */
    struct agent_thread *next_free; /* in the stack of reusable ones */
    uint32_t live;                  /* 1 from attach to detach (atomic) */
    uint32_t index;
    uint32_t tid;
    uint32_t origin; /* enum stream_thread_origin */

    struct stream_cursor samples; /* the handler's, or ordinary code's with signals blocked */
    struct stream_cursor meta;    /* ordinary code's, with signals blocked */

    uint64_t seen_cpu_ns; /* its CPU clock when first met */
    uint64_t last_cpu_ns; /* ... at its last sample */
    uint64_t last_ticks;
    uint64_t sampled_cpu_ns;
    uint64_t handler_ticks;
    uint32_t sample_count;
    uint32_t interrupt_count;
    uint32_t no_stack_count;
    uint32_t level; /* step of the ladder its own timer is set to (engines with one a thread) */
    int perf_fd;
    int timer_id;
    uint32_t detach_rounds;

    /* The call that it is in, for whoever ends the process meanwhile; enum stream_wait_call, 0: none. Relaxed: read in the middle
     * of a change it is a wait more or less. */
    uint32_t wait_call;
    int wait_fd; /* where one byte is read; -1 */
    uint64_t wait_ticks;

    /* Whether the program itself blocks the sampling signal, which really is never blocked, and what it then has
     * pending. */
    uint32_t blocks_signal;
    uint32_t signal_pending;
    siginfo_t pending_info;
    struct mask_call *mask_call; /* the call with a mask of its own that the thread is in; NULL */
    uintptr_t handler_frame;     /* of the program's handler for it that is running; 0 */

    /* pthread_create's arguments, for the new thread. */
    void *(*start)(void *);
    int (*start_c11)(void *);
    void *start_arg;
    void *own_altstack;
    /* Its own stack as far as it is surely one readable stretch while the thread's stack pointer is in it; empty when not
     * known. Saves a system call for each page that is looked at. */
    uint64_t stack_low, stack_high;
    size_t stack_bytes; /* of the new thread's stack; SIZE_MAX: the default */

    struct stack_path path; /* the previous sample's stack */
    uint64_t frames[AGENT_FRAMES_MAX];
    struct unwind_scratch scratch;
};

struct agent {
    uint32_t active; /* 1: this process records; 0: inert, every wrapper only passes on (atomic) */
    int pid;
    uint64_t *wiped; /* a page the kernel zeroes in a forked child; holds 1 here */
    const struct control_page *control;
    char dir[AGENT_DIR_MAX]; /* the recording */
    char exe[AGENT_PATH_MAX];
    int argc;
    char **argv;

    struct stream stream;
    uint32_t torn; /* 1: pages of the stream are gone and its opening must be written again (atomic) */
    uint32_t torn_records;  /* how many are known to be lost with them (atomic) */
    uint32_t stream_wanted; /* 1: a forked child that has not written anything yet (atomic) */
    uint64_t start_ticks;
    uint64_t handler_max_ticks; /* a longer stay in the handler held another program's turn on the core */
    uint64_t start_cpu_ns;
    uint64_t start_thread_cpu_ns;
    uint32_t forked;
    uint32_t ppid;
    int pthread_key;
    uint32_t key_ready;

    const struct engine *engine;
    int engine_errno;
    enum stream_unsampled why_not; /* without an engine: why */
    int signal_ready;
    uint32_t kernel_mode;
    uint32_t period_ns[4];
    uint32_t level; /* step in force (atomic) */
    uint64_t step_cpu_ns[4];
    uint64_t total_cpu_ns; /* of all samples so far (atomic add) */

    uint32_t next_thread;         /* index (atomic) */
    struct agent_thread *threads; /* all ever made (atomic, push only) */
    uint64_t free_threads;        /* tagged pointer (atomic) */
    uint32_t ended;
};

extern struct agent agent;
extern __thread struct agent_thread *agent_self __attribute__((tls_model("initial-exec")));

/* The value of agent_self after a thread's end: it is not met again. */
#define AGENT_THREAD_GONE ((struct agent_thread *)1)

static inline int agent_is_active(void)
{
    return (int)__atomic_load_n(&agent.active, __ATOMIC_RELAXED);
}

static inline uint64_t agent_now(void)
{
    return clock_ticks(agent.stream.use_counter);
}

/* ---- agent_life.c ---- */
/* Called at the head of each wrapper that records: 1 when this process records (a forked child is set up first, when
 * its fork went past us), 0 when the wrapper must only pass on (inert, or a child of vfork). */
int agent_enter(void);
void agent_start_child(void); /* in a new child of fork */
void agent_process_end(enum stream_end_how how, int code);
void agent_withdraw(void); /* before the program puts itself under a system-call filter */
/* Opens the stream of a forked child that has put it off. Signals blocked. */
void agent_want_stream(void);

/* As agent_enter, for wrappers of signal functions: 1 when the sampling signal is taken, so that the program is shown
 * what it would be without us. */
static inline int agent_enter_signals(void)
{
    return agent_enter() && agent.signal_ready;
}

/* ---- thread.c ---- */
struct agent_thread *thread_alloc(void);
void thread_give_back(struct agent_thread *thread); /* one from thread_alloc that came to nothing */
/* Makes the calling thread known. Async-signal-safe. NULL: no memory, or its end was already recorded. */
struct agent_thread *thread_attach(struct agent_thread *prepared, enum stream_thread_origin origin);
/* Notes the bounds of the calling thread's stack: `frame` is an address near its outermost frame, size_bytes what the stack
 * was made with (SIZE_MAX: the default). */
void thread_know_stack(struct agent_thread *self, uint64_t frame, size_t size_bytes);
struct agent_thread *thread_self(void); /* the calling thread's state, attached if need be; NULL */
void thread_detach(void);               /* at the thread's end */
void thread_write_end(struct agent_thread *thread, struct stream_cursor *cur, int at_process_end);
void thread_forget_all(void); /* after fork, in the child */

/* ---- sampling.c ---- */
void sampling_handler(int sig, siginfo_t *info, void *context);
/* Stack of the calling code without the agent's own frames; 0 when there is none. Signals blocked. */
uint32_t sampling_stack_here(struct agent_thread *self, int *truncated);
/* A sample at the return of a long call, weighing what the call used. */
void sampling_at_return(uint64_t cpu_before);
uint64_t sampling_period_ns(void);
extern const char agent_text_start[], agent_text_end[];

/* ---- virtual_signal.c: the sampling signal as the program sees it ---- */
enum { AGENT_SIGNAL = SIGTRAP };
int virtual_signal_init(void);
void virtual_signal_deliver(int sig, siginfo_t *info, void *context);
int virtual_mask_blocks(void);
void virtual_mask_at_interrupt(struct agent_thread *self, void *context);
void virtual_signal_before_exec(void);
void virtual_signal_after_exec(void);
void virtual_signal_before_vfork_exec(void);
/* 1: a signal that the program ignores is really ignored from here on; 0: it is ours again. */
void virtual_signal_ignore(int really);

/* A signal stack of ours for a thread whose own stack is small; virtual_sigaltstack hides it from the program. */
void virtual_altstack_install(struct agent_thread *self, size_t stack_bytes);
void virtual_altstack_remove(void *altstack);

/* ---- virtual_bus.c: SIGBUS, which tells that a page of ours is gone ---- */
void bus_init(void);
void bus_note_stream(void); /* the stream's header is complete */
int bus_is_taken(void);
void bus_get(struct sigaction *out);
void bus_set(const struct sigaction *action);
void bus_ignore(int really); /* as virtual_signal_ignore */
void bus_before_vfork_exec(void);

/* Blocks every signal but SIGBUS in the calling thread; `saved` goes to agent_unmask_signals. Raw system calls. */
void agent_mask_signals(uint64_t *saved);
void agent_unmask_signals(const uint64_t *saved);

/* ---- modules.c ---- */
void modules_init(void);
void modules_note(uint64_t address); /* async-signal-safe; writes a MODULE record for a module not seen before */
struct stream_cursor *modules_cursor(void);
void modules_write_again(void); /* records are gone from the stream. Async-signal-safe */
void modules_after_dlclose(void);
void modules_after_dlopen(void);
uint16_t modules_epoch(void);
/* Raised whenever code was unmapped: the unwinder's cached rules of before then count no longer. */
extern _Atomic uint32_t modules_generation;
int modules_find(void *ctx, uint64_t pc, struct unwind_module *out);

/* ---- account.c ---- */
void account_write_process(struct agent_thread *self);
void account_write_config(struct agent_thread *self);
void account_write_time(struct agent_thread *self);
void account_write_end(struct agent_thread *self, enum stream_end_how how, int code);
struct rusage;
void account_usage(struct stream_usage *out, const struct rusage *from);
void account_child_exit(int pid, int status, const struct rusage *usage);
void account_notice(enum stream_notice kind, uint64_t value);
uint64_t account_kernel_start(void);
int account_is_traced(void);
void account_schedstat(uint32_t tid, uint64_t *run_ns, uint64_t *wait_ns);

/* ---- fds.c: descriptors of ours ---- */
void fds_protect(int fd);
void fds_release(int fd);
int fds_is_ours(int fd);
/* Descriptors of the program's from signalfd() with the sampling signal in their set. */
void fds_note_signalfd(int fd, int wants);
int fds_is_signalfd(int fd);
int signalfd_take(int fd, void *out, size_t size);

#endif
