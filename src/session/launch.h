/* Starts the command and stays until it has ended: passes signals on, adopts and reaps what the command leaves behind, and
 * lets a callback work ten times a second. */
#ifndef LAMELLA_SESSION_LAUNCH_H
#define LAMELLA_SESSION_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/error.h"
#include "session/proc_parse.h"

struct reaped_process {
    uint32_t pid;
    bool has_stat; /* kernel_start and comm are known */
    uint64_t kernel_start;
    uint8_t comm_bytes;
    char comm[PROC_COMM_BYTES];
    int status; /* as from waitpid */
    uint64_t mono_ns;
    struct rusage usage; /* its own and that of the children it had waited for */
};
struct reaped_list LAM_ARRAY_BODY(struct reaped_process);

/* What the launcher holds back while the command runs; and how it was before, which the command gets. */
struct launch_signals {
    sigset_t old_mask;
    struct sigaction old_child;
    struct rlimit old_files; /* how many may be open: we need some ourselves */
};

struct launch {
    pid_t pid;
    uint64_t start_mono_ns, end_mono_ns;
    bool has_ended;
    int status;
    bool was_interrupted; /* a SIGINT, SIGQUIT, SIGTERM or SIGHUP came meanwhile */
    struct reaped_list reaped;
    uint64_t not_kept; /* reaped and not stored, because memory was short */
};

/* Blocks the signals that the wait takes in by itself, so that nothing can end us while the command runs, and makes us the
 * reaper of orphans; raises the number of files that we may have open, where it is small. launch_signals_restore() undoes it. */
void launch_signals_hold(struct launch_signals *signals);
void launch_signals_restore(const struct launch_signals *signals);

/* Starts argv with the environment envp, with the dispositions and the mask that we had been given, in our process group and
 * session. LAM_OK: it runs (launch->pid). A program that could not be started is a code, and *errnum tells why. */
int launch_start(struct launch *launch, const struct launch_signals *signals, char *const *argv,
                 char *const *envp, int *errnum, struct lam_error *err);

/* Called when it is due; returns the CLOCK_MONOTONIC time at which it is due again. */
typedef uint64_t (*launch_tick_fn)(void *ctx);

/* Waits until the command has ended, and then a moment for other children, which may be dying with it; those that go on are
 * daemons. SIGTERM and SIGHUP go to the command, unless the terminal sent them to all of us; SIGINT and SIGQUIT are left to
 * the terminal's group. tick is called at once, and when it asked for it, until the command's end. */
void launch_wait(struct launch *launch, launch_tick_fn tick, void *ctx);

/* Waits for what has ended by now. */
void launch_reap(struct launch *launch);

/* The exit status that a shell would give: the code, or 128 + signal. */
int launch_exit_code(int status);

#endif
