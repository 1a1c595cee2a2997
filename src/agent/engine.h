/* engine.h: what interrupts threads. Three engines behind one struct; the first that the machine permits is used. */
#ifndef LAMELLA_AGENT_ENGINE_H
#define LAMELLA_AGENT_ENGINE_H

#include <signal.h>
#include <stdint.h>

struct agent_thread;

struct engine {
    uint32_t id; /* enum stream_engine */

    /* Starts interrupting the calling thread, and (sigtrap) all that it creates later. Returns 0 or a negative errno;
     * on an error nothing is left running. */
    int (*start)(void);

    /* Engines with a timer a thread: for each thread, from that thread. May run in a signal handler. NULL: not needed. */
    int (*thread_start)(struct agent_thread *self);
    void (*thread_end)(struct agent_thread *self);

    /* After agent.level changed: for the process (sigtrap, by the thread that changed it), or for the calling thread. */
    void (*set_level)(struct agent_thread *self, uint32_t old_level, uint32_t level);

    /* Around exec: no signal may be on its way when the program is replaced. */
    void (*pause)(void);
    void (*resume)(void);

    /* Is this signal ours? Async-signal-safe. `self` may be NULL. */
    int (*owns)(const siginfo_t *info, const struct agent_thread *self);

    /* Are the descriptors still ours and working? Opens them again where not: 0 fine, 1 reopened, negative errno. */
    int (*check)(struct agent_thread *self);

    /* 1: its signal can end a blocking system call early, so wrappers hold it back during one. */
    int interrupts_calls;
};

extern const struct engine engine_sigtrap;
extern const struct engine engine_thread_perf;
extern const struct engine engine_cpu_timer;

/* Is this a signal that any of them sends? */
int engine_any_owns(const siginfo_t *info);

/* Starts the engine that the control page asks for, or the best that works. Sets agent.engine (NULL: none) and
 * agent.engine_errno. */
void engine_choose(void);

#endif
