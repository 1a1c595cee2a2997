/* interpose_signal.c: functions that could see or disturb the sampling signal. */
#include "agent/agent.h"
#include "agent/real.h"
#include "agent/virtual_signal.h"
#include "agent/waits.h"
#include "core/bytes.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/signalfd.h>

/* ---- handlers ---- */

/* What the program's mask for a signal said about ours, a bit a signal: given back when it asks. */
static uint64_t mask_had_ours;

static void remember_mask(int sig, int had)
{
    uint64_t bit = (uint64_t)1 << (sig - 1);
    if (had)
        __atomic_fetch_or(&mask_had_ours, bit, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(&mask_had_ours, ~bit, __ATOMIC_RELAXED);
}

/* A handler on an alternate stack runs with ours held back, since there may be no room on that stack for another frame
 * and our handler; any other is sampled, whatever its mask says. */
static int set_other(int sig, const struct sigaction *action, struct sigaction *old)
{
    struct sigaction changed;
    int had_before = (int)(__atomic_load_n(&mask_had_ours, __ATOMIC_RELAXED) >> (sig - 1) & 1);
    if (action) {
        changed = *action;
        if (changed.sa_flags & SA_ONSTACK)
            sigaddset(&changed.sa_mask, AGENT_SIGNAL);
        else
            sigdelset(&changed.sa_mask, AGENT_SIGNAL);
    }
    int rc = REAL(sigaction)(sig, action ? &changed : NULL, old);
    if (rc == 0 && old) {
        if (had_before)
            sigaddset(&old->sa_mask, AGENT_SIGNAL);
        else
            sigdelset(&old->sa_mask, AGENT_SIGNAL);
    }
    if (rc == 0 && action && sys_getpid() == agent.pid)
        remember_mask(sig, sigismember(&action->sa_mask, AGENT_SIGNAL) == 1);
    return rc;
}

/* Those that have a handler of ours in front: what the program set is kept, and shown to it. */
static int set_shared(int sig, const struct sigaction *action, struct sigaction *old)
{
    struct sigaction before, wanted;
    if (action)
        wanted = *action; /* old may be the same place */
    if (sig == SIGBUS)
        bus_get(&before);
    else
        virtual_signal_get(&before);
    /* A child of vfork has actions of its own, but its parent's memory: it sets them really. Many reset every signal. */
    if (action && sys_getpid() != agent.pid)
        REAL(sigaction)(sig, &wanted, NULL);
    else if (action && sig == SIGBUS)
        bus_set(&wanted);
    else if (action)
        virtual_signal_set(&wanted);
    if (old)
        *old = before;
    return 0;
}

static int is_shared(int sig)
{
    return (sig == AGENT_SIGNAL && agent.signal_ready) || (sig == SIGBUS && bus_is_taken());
}

AGENT_EXPORT int sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
    if (!agent_enter() || sig < 1 || sig > 64)
        return REAL(sigaction)(sig, action, old);
    if (is_shared(sig))
        return set_shared(sig, action, old);
    return agent.signal_ready ? set_other(sig, action, old) : REAL(sigaction)(sig, action, old);
}

static sighandler_t signal_with(int sig, sighandler_t handler, int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
    sigemptyset(&action.sa_mask);
    if (flags & SA_RESTART)
        sigaddset(&action.sa_mask, sig);
    return sigaction(sig, &action, &old) < 0 ? SIG_ERR : old.sa_handler;
}

AGENT_EXPORT sighandler_t signal(int sig, sighandler_t handler)
{
    if (!agent_enter() || !is_shared(sig))
        return REAL(signal)(sig, handler);
    return signal_with(sig, handler, SA_RESTART);
}

AGENT_EXPORT sighandler_t __sysv_signal(int sig, sighandler_t handler)
{
    if (!agent_enter() || !is_shared(sig))
        return REAL(__sysv_signal)(sig, handler);
    return signal_with(sig, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

/* ---- the same by other names, and System V's and BSD's ways, which libc builds from parts we do not see ---- */

AGENT_EXPORT int __sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
    return sigaction(sig, action, old);
}

AGENT_EXPORT sighandler_t bsd_signal(int sig, sighandler_t handler)
{
    return signal(sig, handler);
}

AGENT_EXPORT sighandler_t ssignal(int sig, sighandler_t handler)
{
    return signal(sig, handler);
}

AGENT_EXPORT sighandler_t sysv_signal(int sig, sighandler_t handler)
{
    return __sysv_signal(sig, handler);
}

static int block_one(int how, int sig, int *was_blocked)
{
    sigset_t set, old;
    if (sigemptyset(&set) < 0 || sigaddset(&set, sig) < 0 || sigprocmask(how, &set, &old) < 0)
        return -1;
    *was_blocked = sigismember(&old, sig);
    return 0;
}

AGENT_EXPORT int sighold(int sig)
{
    int was_blocked;
    return block_one(SIG_BLOCK, sig, &was_blocked);
}

AGENT_EXPORT int sigrelse(int sig)
{
    int was_blocked;
    return block_one(SIG_UNBLOCK, sig, &was_blocked);
}

AGENT_EXPORT int sigignore(int sig)
{
    struct sigaction action = {.sa_handler = SIG_IGN};
    return sigaction(sig, &action, NULL);
}

AGENT_EXPORT sighandler_t sigset(int sig, sighandler_t disposition)
{
    struct sigaction action = {.sa_handler = disposition}, old;
    int is_hold = disposition == SIG_HOLD, was_blocked;
    if (disposition == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
    if (sigaction(sig, is_hold ? NULL : &action, &old) < 0 ||
        block_one(is_hold ? SIG_BLOCK : SIG_UNBLOCK, sig, &was_blocked) < 0)
        return SIG_ERR;
    return was_blocked ? SIG_HOLD : old.sa_handler;
}

static int mask_by_word(int how, int word)
{
    sigset_t set, old;
    unsigned bits = (unsigned)word, before = 0;
    sigemptyset(&set);
    for (int sig = 1; sig <= 32; sig++)
        if (bits >> (sig - 1) & 1)
            sigaddset(&set, sig);
    sigprocmask(how, &set, &old);
    for (int sig = 1; sig <= 32; sig++)
        before |= (unsigned)(sigismember(&old, sig) == 1) << (sig - 1);
    return (int)before;
}

AGENT_EXPORT int sigblock(int word)
{
    return mask_by_word(SIG_BLOCK, word);
}

AGENT_EXPORT int sigsetmask(int word)
{
    return mask_by_word(SIG_SETMASK, word);
}

/* ---- masks ---- */

static int change_mask(real_sigprocmask_fn *real, int how, const sigset_t *set, sigset_t *old)
{
    sigset_t changed;
    int blocked = virtual_mask_blocks(), had = 0;
    if (set) {
        changed = *set;
        had = sigismember(set, AGENT_SIGNAL) == 1;
        if (had && sys_getpid() != agent.pid)
            return real(how, set,
                        old); /* a child of vfork: its mask is its own, and nothing samples it */
        if (how != SIG_UNBLOCK)
            sigdelset(&changed, AGENT_SIGNAL);
    }
    int rc = real(how, set ? &changed : NULL, old);
    if (rc != 0)
        return rc;
    if (old) {
        if (blocked)
            sigaddset(old, AGENT_SIGNAL);
        else
            sigdelset(old, AGENT_SIGNAL);
    }
    if (set && (had || how == SIG_SETMASK))
        virtual_mask_set(how == SIG_UNBLOCK ? 0 : had);
    return 0;
}

AGENT_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    if (!agent_enter_signals())
        return REAL(sigprocmask)(how, set, old);
    return change_mask(REAL(sigprocmask), how, set, old);
}

AGENT_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    if (!agent_enter_signals())
        return REAL(pthread_sigmask)(how, set, old);
    return change_mask(REAL(pthread_sigmask), how, set, old);
}

AGENT_EXPORT int sigsuspend(const sigset_t *mask)
{
    struct mask_call call;
    /* A pending one that the mask lets through ends the wait at once: its handler runs as the mask is set. */
    int ends =
        agent_enter_signals() && virtual_mask_pending() && sigismember(mask, AGENT_SIGNAL) == 0;
    const sigset_t *used = mask_call_begin(&call, mask);
    int rc = -1;
    if (ends)
        errno = EINTR;
    else
        rc = REAL(sigsuspend)(used);
    mask_call_end(&call);
    return rc;
}

/* ---- waiting for signals ---- */

/* The real calls wait on the set without ours. One of ours that is not a sample arrives in the handler meanwhile, is put
 * aside as pending because the caller blocks it, and ends the call with EINTR. */
static int wait_for(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    sigset_t others = *set;
    siginfo_t mine;
    int wants_ours = sigismember(set, AGENT_SIGNAL) == 1;
    sigdelset(&others, AGENT_SIGNAL);
    for (int waited = 0;; waited = 1) {
        if (wants_ours && virtual_mask_take(&mine)) {
            /* libc's functions say "by a process" of a signal that raise sent to the thread. */
            if (mine.si_code == SI_TKILL)
                mine.si_code = SI_USER;
            if (info)
                *info = mine;
            return AGENT_SIGNAL;
        }
        if (waited) {
            errno = EINTR;
            return -1;
        }
        struct wait_scope scope;
        wait_begin(&scope, STREAM_WAIT_CALL_sigwait);
        if (wants_ours && scope.held) { /* it must come through to be put aside */
            sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &scope.saved_mask, NULL, 8);
            scope.held = 0;
        }
        int rc =
            timeout ? REAL(sigtimedwait)(&others, info, timeout) : REAL(sigwaitinfo)(&others, info);
        wait_end(&scope, STREAM_WAIT_CALL_sigwait, STREAM_WAIT_OTHER);
        if (rc >= 0 || errno != EINTR || !wants_ours)
            return rc;
    }
}

AGENT_EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    return agent_enter_signals() ? wait_for(set, info, NULL) : REAL(sigwaitinfo)(set, info);
}

AGENT_EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    return agent_enter_signals() ? wait_for(set, info, timeout)
                                 : REAL(sigtimedwait)(set, info, timeout);
}

AGENT_EXPORT int sigwait(const sigset_t *set, int *sig)
{
    if (!agent_enter_signals())
        return REAL(sigwait)(set, sig);
    int rc;
    do
        rc = wait_for(set, NULL, NULL);
    while (rc < 0 && errno == EINTR);
    if (rc < 0)
        return errno;
    *sig = rc;
    return 0;
}

AGENT_EXPORT int sigpending(sigset_t *set)
{
    int rc = REAL(sigpending)(set);
    if (rc == 0 && agent_enter_signals()) {
        if (virtual_mask_pending())
            sigaddset(set, AGENT_SIGNAL);
        else
            sigdelset(set, AGENT_SIGNAL);
    }
    return rc;
}

/* A signalfd with ours in its set would take samples out of the queue: it gets the others, and is remembered so that a
 * read from it can give what is not a sample. That it is readable then is not seen by poll. */
AGENT_EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
    if (!agent_enter_signals())
        return REAL(signalfd)(fd, set, flags);
    sigset_t others = *set;
    sigdelset(&others, AGENT_SIGNAL);
    int rc = REAL(signalfd)(fd, &others, flags);
    if (rc >= 0)
        fds_note_signalfd(rc, sigismember(set, AGENT_SIGNAL) == 1);
    return rc;
}

/* For read(): 1 when the descriptor is such a signalfd and one was pending, now in `out`. */
int signalfd_take(int fd, void *out, size_t size)
{
    siginfo_t info;
    if (!fds_is_signalfd(fd) || size < sizeof(struct signalfd_siginfo) || !virtual_mask_take(&info))
        return 0;
    struct signalfd_siginfo told = {
        .ssi_signo = AGENT_SIGNAL,
        .ssi_errno = info.si_errno,
        .ssi_code = info.si_code,
        .ssi_pid = (uint32_t)info.si_pid,
        .ssi_uid = (uint32_t)info.si_uid,
        .ssi_int = info.si_value.sival_int,
        .ssi_ptr = (uint64_t)(uintptr_t)info.si_value.sival_ptr,
    };
    bytes_copy(out, &told, sizeof told);
    return 1;
}

/* ---- sending ---- */

/* A signal of which one is pending for a thread is not queued again: a sample on its way would swallow what the program
 * sends. So nothing is on its way meanwhile. */
#define SEND(name, params, args)                                              \
    AGENT_EXPORT int name params                                              \
    {                                                                         \
        if (sig != AGENT_SIGNAL || !agent_enter_signals() || !agent.engine || \
            sys_getpid() != agent.pid)                                        \
            return REAL(name) args;                                           \
        agent.engine->pause();                                                \
        int rc = REAL(name) args;                                             \
        int error = errno;                                                    \
        agent.engine->resume();                                               \
        errno = error;                                                        \
        return rc;                                                            \
    }

SEND(raise, (int sig), (sig))
SEND(pthread_kill, (pthread_t thread, int sig), (thread, sig))
SEND(tgkill, (pid_t pid, pid_t tid, int sig), (pid, tid, sig))

/* ---- alternate stacks ---- */

/* Where the thread runs with an alternate stack of ours, the program sees none until it sets its own. */
AGENT_EXPORT int sigaltstack(const stack_t *stack, stack_t *old)
{
    struct agent_thread *self = agent_enter() ? agent_self : NULL;
    if (!self || self == AGENT_THREAD_GONE || !self->own_altstack)
        return REAL(sigaltstack)(stack, old);
    stack_t before;
    int rc = REAL(sigaltstack)(stack, &before);
    if (rc < 0)
        return rc;
    if (before.ss_sp == self->own_altstack)
        before = (stack_t){.ss_flags = SS_DISABLE};
    if (stack && stack->ss_flags & SS_DISABLE)
        virtual_altstack_restore(self);
    if (old)
        *old = before;
    return 0;
}
