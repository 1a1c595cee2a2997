/* Finds out what sampling engine works here and what a sample costs, by trying: each trial runs in a child process of its
 * own, so that a kernel that answers with a deadly signal kills nothing of ours. */
#ifndef LAMELLA_SESSION_ENGINE_PROBE_H
#define LAMELLA_SESSION_ENGINE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "stream/layout.h"

enum engine_verdict {
    ENGINE_UNTRIED,
    ENGINE_WORKS,
    ENGINE_REFUSED,    /* errnum says why */
    ENGINE_SILENT,     /* opened, but no signal arrived */
    ENGINE_DIED,       /* the trial was killed: errnum is the signal */
    ENGINE_BAD_KERNEL, /* this kernel is known to kill programs that block the trap */
};

struct engine_trial {
    uint32_t engine; /* enum stream_engine */
    bool kernel_mode;
    enum engine_verdict verdict;
    int errnum;
    uint32_t sample_cost_ns; /* an interruption with an empty handler; 0 when it does not work */
    uint32_t interval_ns;    /* CPU time from signal to signal that was reached */
};

/* Tries one engine. Takes 5 to 25 ms of CPU. kernel_mode is ignored for the CPU timer, which always counts it. */
struct engine_trial engine_try(uint32_t engine, bool kernel_mode);

enum { ENGINE_TRIALS = 5 };
struct engine_probe {
    struct engine_trial trials[ENGINE_TRIALS]; /* best first */
    size_t count;
    size_t best; /* index; count when none works */
};

/* Tries engines from the best on until one works, or all of them. wanted: STREAM_ENGINE_AUTO, or the only one to try. */
void engine_probe_run(uint32_t wanted, bool want_kernel, bool try_all, struct engine_probe *probe);

/* The one that works best, or NULL. */
const struct engine_trial *engine_probe_best(const struct engine_probe *probe);

/* "sigtrap", "thread_perf", "cpu_timer", "none", "auto". */
const char *engine_name(uint32_t engine);

/* One sentence without a full stop on how a trial went: "not permitted (perf_event_paranoid is 3)". */
void engine_verdict_text(const struct engine_trial *trial, char *text, size_t capacity);

/* The value of /proc/sys/kernel/perf_event_paranoid; INT32_MIN when it cannot be read. */
int engine_paranoid(void);

/* Opens one event on this process and leaves it open until the returned descriptor is closed: the kernel patches itself at
 * the first event of the machine, which takes 15 to 23 ms, and undoes it after the last. -1 when not permitted. */
int engine_hold_open(void);

#endif
