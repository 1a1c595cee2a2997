#include "session/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "session/session_clock.h"
#include "session/tree_poll.h"

/* After the command's end its tree gets a moment, so that processes which are dying with it (the workers of a pool, a pipe's
 * other end) are not called daemons: longer when all of them were told to stop. Only spent while there are any. */
enum { GRACE_NS = 200000000, GRACE_INTERRUPTED_NS = 500000000, GRACE_STEP_NS = 2000000 };

enum { FILES_OWN = 64 };

/* The last three are not waited for: blocked, a closed pipe, a background terminal and the file-size limit are errors. */
static sigset_t held_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    const int held[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGTTOU, SIGXFSZ};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        sigaddset(&set, held[i]);
    return set;
}

/* More for us where the soft limit is small. */
static void raise_files(struct rlimit *old)
{
    if (getrlimit(RLIMIT_NOFILE, old) < 0) {
        *old = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
        return;
    }
    struct rlimit files = *old;
    files.rlim_cur = files.rlim_max < FILES_OWN ? files.rlim_max : FILES_OWN;
    if (old->rlim_cur < files.rlim_cur)
        (void)setrlimit(RLIMIT_NOFILE, &files);
}

static void restore_files(const struct rlimit *old)
{
    if (old->rlim_cur < FILES_OWN)
        (void)setrlimit(RLIMIT_NOFILE, old);
}

void launch_signals_hold(struct launch_signals *signals)
{
    /* Were SIGCHLD ignored, as an ancestor may have left it, children would vanish without a status. */
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t held = held_signals();
    sigprocmask(SIG_BLOCK, &held, &signals->old_mask);
    sigaction(SIGCHLD, &plain, &signals->old_child);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    raise_files(&signals->old_files);
}

void launch_signals_restore(const struct launch_signals *signals)
{
    struct timespec at_once = {0};
    sigset_t held = held_signals();
    while (sigtimedwait(&held, NULL, &at_once) > 0) {
        /* what came too late to matter */
    }
    sigaction(SIGCHLD, &signals->old_child, NULL);
    sigprocmask(SIG_SETMASK, &signals->old_mask, NULL);
    restore_files(&signals->old_files);
}

/* In the child. Only async-signal-safe calls would be needed by a threaded launcher; ours has one thread here. */
static _Noreturn void become(const struct launch_signals *signals, char *const *argv,
                             char *const *envp, int report)
{
    sigaction(SIGCHLD, &signals->old_child, NULL);
    sigprocmask(SIG_SETMASK, &signals->old_mask, NULL);
    restore_files(&signals->old_files);
    execvpe(argv[0], argv, envp);
    int errnum = errno;
    ssize_t rc = write(report, &errnum, sizeof errnum); /* 4 bytes into an empty pipe go in whole */
    _exit(rc == (ssize_t)sizeof errnum ? 127 : 125);
}

int launch_start(struct launch *launch, const struct launch_signals *signals, char *const *argv,
                 char *const *envp, int *errnum, struct lam_error *err)
{
    int report[2];
    *errnum = 0;
    if (pipe2(report, O_CLOEXEC) < 0)
        return lam_error_errno(err, errno, "cannot make a pipe");
    launch->start_mono_ns = session_mono_ns();
    pid_t pid = fork();
    if (pid < 0) {
        int rc = lam_error_errno(err, errno, "cannot start a process");
        close(report[0]);
        close(report[1]);
        return rc;
    }
    if (pid == 0)
        become(signals, argv, envp, report[1]);
    close(report[1]);
    /* Ends without bytes as soon as the exec closes the other end. */
    ssize_t got;
    while ((got = read(report[0], errnum, sizeof *errnum)) < 0 && errno == EINTR) {
    }
    close(report[0]);
    if (got != (ssize_t)sizeof *errnum) {
        launch->pid = pid;
        *errnum = 0;
        return LAM_OK;
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    return lam_error_errno(err, *errnum, "%s", argv[0]);
}

static void note_reaped(struct launch *launch, pid_t pid, int status, const struct rusage *usage,
                        const struct proc_stat *stat)
{
    struct reaped_process reaped = {
        .pid = (uint32_t)pid,
        .status = status,
        .mono_ns = session_mono_ns(),
        .usage = *usage,
    };
    if (stat) {
        reaped.has_stat = true;
        reaped.kernel_start = stat->kernel_start;
        reaped.comm_bytes = stat->comm_bytes;
        memcpy(reaped.comm, stat->comm, stat->comm_bytes);
    }
    if (pid == launch->pid && !launch->has_ended) {
        launch->has_ended = true;
        launch->status = status;
        launch->end_mono_ns = reaped.mono_ns;
    }
    if (array_push(&launch->reaped, reaped) < 0)
        launch->not_kept++;
}

void launch_reap(struct launch *launch)
{
    for (;;) {
        siginfo_t info = {0};
        struct proc_stat stat;
        struct rusage usage;
        int status;
        /* Look before it is gone: a zombie still has its name and its start. __WALL: adopted children may have been made by a
         * clone() that sends no SIGCHLD. */
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 || info.si_pid == 0)
            return;
        bool has_stat = tree_poll_peek(info.si_pid, &stat);
        pid_t pid = wait4(info.si_pid, &status, WNOHANG | __WALL, &usage);
        if (pid <= 0)
            return;
        note_reaped(launch, pid, status, &usage, has_stat ? &stat : NULL);
    }
}

/* Waits for one of the held signals or the time; passes on what is for the command. */
static void take_signal(struct launch *launch, uint64_t until_ns)
{
    sigset_t held = held_signals();
    uint64_t now_ns = session_mono_ns();
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec left = {(time_t)(left_ns / 1000000000u), (long)(left_ns % 1000000000u)};
    siginfo_t info;
    int sig = sigtimedwait(&held, &info, &left);
    if (sig == SIGINT || sig == SIGQUIT || sig == SIGTERM || sig == SIGHUP)
        launch->was_interrupted = true;
    /* From the kernel itself (SI_KERNEL: the terminal hung up) the signal went to the whole group. */
    if ((sig == SIGTERM || sig == SIGHUP) && info.si_code != SI_KERNEL && !launch->has_ended)
        kill(launch->pid, sig);
}

static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

static void settle(struct launch *launch)
{
    uint64_t grace_ns =
        launch->was_interrupted || WIFSIGNALED(launch->status) ? GRACE_INTERRUPTED_NS : GRACE_NS;
    uint64_t until_ns = session_mono_ns() + grace_ns;
    while (has_children() && session_mono_ns() < until_ns) {
        struct timespec pause = {0, GRACE_STEP_NS};
        nanosleep(&pause, NULL);
        launch_reap(launch);
    }
}

void launch_wait(struct launch *launch, launch_tick_fn tick, void *ctx)
{
    uint64_t due_ns = session_mono_ns();
    for (;;) {
        launch_reap(launch);
        if (launch->has_ended)
            break;
        if (session_mono_ns() >= due_ns)
            due_ns = tick(ctx);
        take_signal(launch, due_ns);
    }
    settle(launch);
}

int launch_exit_code(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
