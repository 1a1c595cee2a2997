/* interpose_wait.c: calls that block, each a row: measured, and stored when they lasted.
 *
 * Each wrapper calls libc's own function, so that cancellation points stay ones; a cancelled call is not stored.
 */
#include "agent/agent.h"
#include "agent/real.h"
#include "agent/virtual_signal.h"
#include "agent/waits.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* WAIT(return type, name, parameters, arguments, number, kind) */
#define WAIT(ret, name, params, args, call, kind)                      \
    AGENT_EXPORT ret name params                                       \
    {                                                                  \
        struct wait_scope scope;                                       \
        wait_begin(&scope, STREAM_WAIT_CALL_##call);                   \
        ret rc = REAL(name) args;                                      \
        wait_end(&scope, STREAM_WAIT_CALL_##call, STREAM_WAIT_##kind); \
        return rc;                                                     \
    }

/* IO(return type, name, parameters, arguments, number, descriptor, size asked for); POLL: the descriptor is in memory that may
 * not be there before the call has said so */
#define IO_CALL(ret, name, params, args, call, fd, fd_before, size)       \
    AGENT_EXPORT ret name params                                          \
    {                                                                     \
        struct wait_scope scope;                                          \
        uint64_t asked = (uint64_t)(size);                                \
        wait_begin_fd(&scope, STREAM_WAIT_CALL_##call, fd_before, asked); \
        ret rc = REAL(name) args;                                         \
        wait_end_fd(&scope, STREAM_WAIT_CALL_##call, fd, asked);          \
        return rc;                                                        \
    }
#define IO(ret, name, params, args, call, fd, size) \
    IO_CALL(ret, name, params, args, call, fd, fd, size)
#define POLL(ret, name, params, args, fd) IO_CALL(ret, name, params, args, poll, fd, -1, 0)

/* clang-format off */
IO(ssize_t, __read_chk, (int fd, void *buf, size_t n, size_t room), (fd, buf, n, room), read, fd, n)
IO(ssize_t, readv, (int fd, const struct iovec *iov, int n), (fd, iov, n), read, fd, WAIT_LARGE_IO)
IO(ssize_t, pread64, (int fd, void *buf, size_t n, off64_t at), (fd, buf, n, at), read, fd, n)
IO(ssize_t, write, (int fd, const void *buf, size_t n), (fd, buf, n), write, fd, n)
IO(ssize_t, writev, (int fd, const struct iovec *iov, int n), (fd, iov, n), write, fd, WAIT_LARGE_IO)
IO(ssize_t, pwrite64, (int fd, const void *buf, size_t n, off64_t at), (fd, buf, n, at), write, fd, n)
IO(ssize_t, recv, (int fd, void *buf, size_t n, int flags), (fd, buf, n, flags), recv, fd, n)
IO(ssize_t, recvfrom, (int fd, void *restrict buf, size_t n, int flags, struct sockaddr *restrict from, socklen_t *restrict len), (fd, buf, n, flags, from, len), recv, fd, n)
IO(ssize_t, recvmsg, (int fd, struct msghdr *msg, int flags), (fd, msg, flags), recv, fd, WAIT_LARGE_IO)
IO(ssize_t, send, (int fd, const void *buf, size_t n, int flags), (fd, buf, n, flags), send, fd, n)
IO(ssize_t, sendmsg, (int fd, const struct msghdr *msg, int flags), (fd, msg, flags), send, fd, WAIT_LARGE_IO)
POLL(int, poll, (struct pollfd *fds, nfds_t n, int timeout), (fds, n, timeout), n == 1 ? fds[0].fd : -1)
POLL(int, __poll_chk, (struct pollfd *fds, nfds_t n, int timeout, size_t room), (fds, n, timeout, room), n == 1 ? fds[0].fd : -1)
WAIT(int, accept, (int fd, struct sockaddr *restrict addr, socklen_t *restrict len), (fd, addr, len), accept, IO)
WAIT(int, accept4, (int fd, struct sockaddr *restrict addr, socklen_t *restrict len, int flags), (fd, addr, len, flags), accept, IO)
WAIT(int, connect, (int fd, const struct sockaddr *addr, socklen_t len), (fd, addr, len), connect, IO)
WAIT(int, select, (int n, fd_set *restrict r, fd_set *restrict w, fd_set *restrict e, struct timeval *restrict t), (n, r, w, e, t), select, IO)
WAIT(int, epoll_wait, (int fd, struct epoll_event *events, int max, int timeout), (fd, events, max, timeout), epoll_wait, IO)
WAIT(int, nanosleep, (const struct timespec *want, struct timespec *left), (want, left), nanosleep, SLEEP)
WAIT(int, clock_nanosleep, (clockid_t id, int flags, const struct timespec *want, struct timespec *left), (id, flags, want, left), nanosleep, SLEEP)
WAIT(int, usleep, (useconds_t us), (us), nanosleep, SLEEP)
WAIT(unsigned, sleep, (unsigned s), (s), nanosleep, SLEEP)
WAIT(int, pause, (void), (), pause, OTHER)
WAIT(int, flock, (int fd, int op), (fd, op), flock, LOCK)
WAIT(int, fsync, (int fd), (fd), fsync, IO)
WAIT(int, fdatasync, (int fd), (fd), fsync, IO)
WAIT(int, sem_wait, (sem_t *sem), (sem), sem_wait, LOCK)
WAIT(int, sem_timedwait, (sem_t *restrict sem, const struct timespec *restrict until), (sem, until), sem_wait, LOCK)
WAIT(int, sem_clockwait, (sem_t *restrict sem, clockid_t id, const struct timespec *restrict until), (sem, id, until), sem_wait, LOCK)
WAIT(int, pthread_join, (pthread_t thread, void **value), (thread, value), pthread_join, LOCK)
WAIT(int, pthread_timedjoin_np, (pthread_t thread, void **value, const struct timespec *until), (thread, value, until), pthread_join, LOCK)
WAIT(int, pthread_cond_wait, (pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex), (cond, mutex), pthread_cond_wait, LOCK)
WAIT(int, pthread_cond_timedwait, (pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex, const struct timespec *restrict until), (cond, mutex, until), pthread_cond_timedwait, LOCK)
WAIT(int, pthread_cond_clockwait, (pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex, clockid_t id, const struct timespec *restrict until), (cond, mutex, id, until), pthread_cond_timedwait, LOCK)
WAIT(int, pthread_mutex_timedlock, (pthread_mutex_t *restrict mutex, const struct timespec *restrict until), (mutex, until), pthread_mutex_lock, LOCK)
WAIT(int, pthread_barrier_wait, (pthread_barrier_t *barrier), (barrier), pthread_barrier_wait, LOCK)
/* clang-format on */

AGENT_EXPORT ssize_t read(int fd, void *buf, size_t size)
{
    struct wait_scope scope;
    if (agent_is_active() && signalfd_take(fd, buf, size))
        return sizeof(struct signalfd_siginfo);
    wait_begin_fd(&scope, STREAM_WAIT_CALL_read, fd, size);
    ssize_t rc = REAL(read)(fd, buf, size);
    wait_end_fd(&scope, STREAM_WAIT_CALL_read, fd, size);
    return rc;
}

/* ---- locks: free ones, nearly all, are taken without looking at a clock ---- */

#define LOCK(name, try_name, type, call)                             \
    AGENT_EXPORT int name(type *lock)                                \
    {                                                                \
        if (!agent_is_active())                                      \
            return REAL(name)(lock);                                 \
        int rc = REAL(try_name)(lock);                               \
        if (rc != EBUSY && rc != EAGAIN)                             \
            return rc;                                               \
        struct wait_scope scope;                                     \
        wait_begin(&scope, STREAM_WAIT_CALL_##call);                 \
        rc = REAL(name)(lock);                                       \
        wait_end(&scope, STREAM_WAIT_CALL_##call, STREAM_WAIT_LOCK); \
        return rc;                                                   \
    }

LOCK(pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_t, pthread_mutex_lock)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t, pthread_rwlock_rdlock)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_t, pthread_rwlock_wrlock)

/* ---- calls with a mask of their own ---- */

#define MASKED(ret, name, params, args, call)                      \
    AGENT_EXPORT ret name params                                   \
    {                                                              \
        struct wait_scope scope;                                   \
        struct mask_call masks;                                    \
        const sigset_t *used = mask_call_begin(&masks, mask);      \
        wait_begin(&scope, STREAM_WAIT_CALL_##call);               \
        ret rc = REAL(name) args;                                  \
        wait_end(&scope, STREAM_WAIT_CALL_##call, STREAM_WAIT_IO); \
        mask_call_end(&masks);                                     \
        return rc;                                                 \
    }

/* clang-format off */
MASKED(int, ppoll, (struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask), (fds, n, t, used), poll)
MASKED(int, pselect, (int n, fd_set *restrict r, fd_set *restrict w, fd_set *restrict e, const struct timespec *restrict t, const sigset_t *restrict mask), (n, r, w, e, t, used), select)
MASKED(int, epoll_pwait, (int fd, struct epoll_event *events, int max, int timeout, const sigset_t *mask), (fd, events, max, timeout, used), epoll_wait)
/* clang-format on */

/* ---- memory calls that can be long: only their CPU time matters ---- */

#define LONG_CALL(ret, name, params, args, size)                                           \
    AGENT_EXPORT ret name params                                                           \
    {                                                                                      \
        enum { LARGE_MEMORY = 1024 * 1024 };                                               \
        if ((size) < LARGE_MEMORY || !agent.engine || agent.kernel_mode || !agent_enter()) \
            return REAL(name) args;                                                        \
        uint64_t cpu_before = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);                      \
        ret rc = REAL(name) args;                                                          \
        int error = errno;                                                                 \
        sampling_at_return(cpu_before);                                                    \
        errno = error;                                                                     \
        return rc;                                                                         \
    }

/* clang-format off */
LONG_CALL(void *, mmap64, (void *addr, size_t size, int prot, int flags, int fd, off64_t at), (addr, size, prot, flags, fd, at), size)
LONG_CALL(int, munmap, (void *addr, size_t size), (addr, size), size)
LONG_CALL(int, madvise, (void *addr, size_t size, int advice), (addr, size, advice), size)
/* clang-format on */

AGENT_EXPORT void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t at)
{
    return mmap64(addr, size, prot, flags, fd, at);
}

AGENT_EXPORT ssize_t pread(int fd, void *buf, size_t size, off_t at)
{
    return pread64(fd, buf, size, at);
}

AGENT_EXPORT ssize_t pwrite(int fd, const void *buf, size_t size, off_t at)
{
    return pwrite64(fd, buf, size, at);
}

/* ---- children: their end, status and usage ---- */

static pid_t wait_child(pid_t pid, int *status, int options, struct rusage *usage)
{
    struct wait_scope scope;
    struct rusage own;
    int own_status = 0;
    wait_begin(&scope, STREAM_WAIT_CALL_wait);
    pid_t rc = REAL(wait4)(pid, &own_status, options, &own);
    int error = errno;
    wait_end(&scope, STREAM_WAIT_CALL_wait, STREAM_WAIT_CHILD);
    if (rc > 0) {
        if (scope.active && sys_getpid() == agent.pid &&
            (WIFEXITED(own_status) || WIFSIGNALED(own_status)))
            account_child_exit(rc, own_status, &own);
        if (status)
            *status = own_status;
        if (usage)
            *usage = own;
    }
    errno = error;
    return rc;
}

AGENT_EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    return wait_child(pid, status, options, usage);
}

AGENT_EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
    return wait_child(-1, status, options, usage);
}

AGENT_EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
    return wait_child(pid, status, options, NULL);
}

AGENT_EXPORT pid_t wait(int *status)
{
    return wait_child(-1, status, 0, NULL);
}

static int status_of(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return W_EXITCODE(info->si_status, 0);
    return W_EXITCODE(0, info->si_status) | (info->si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

/* libc's waitid gives no usage; the system call's fifth argument does. It is a cancellation point in libc, so libc's own
 * is called first, without reaping, and then the child is taken by the raw call. */
AGENT_EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    struct wait_scope scope;
    siginfo_t own = {0};
    struct rusage usage;
    wait_begin(&scope, STREAM_WAIT_CALL_wait);
    int reaps = scope.active && options & WEXITED && !(options & WNOWAIT);
    int rc = REAL(waitid)(type, id, reaps ? &own : info, options | (reaps ? WNOWAIT : 0));
    int error = errno;
    wait_end(&scope, STREAM_WAIT_CALL_wait, STREAM_WAIT_CHILD);
    errno = error;
    if (rc != 0 || !reaps)
        return rc;
    if (own.si_pid == 0) { /* WNOHANG, and none has changed */
        if (info)
            *info = own;
        return rc;
    }
    if (own.si_code != CLD_EXITED && own.si_code != CLD_KILLED && own.si_code != CLD_DUMPED) {
        if (info)
            *info = own;
        sys_call5(SYS_waitid, P_PID, own.si_pid, &own,
                  (options & (WSTOPPED | WCONTINUED)) | WNOHANG, NULL);
        errno = error;
        return 0;
    }
    long taken = sys_call5(SYS_waitid, P_PID, own.si_pid, &own, WEXITED | WNOHANG, &usage);
    if (taken < 0 || own.si_pid == 0)
        return REAL(waitid)(type, id, info, options); /* another thread was faster */
    if (sys_getpid() == agent.pid)
        account_child_exit(own.si_pid, status_of(&own), &usage);
    if (info)
        *info = own;
    errno = error;
    return 0;
}

/* ---- system calls made through syscall(): Rust's standard library waits in futex this way ---- */

static long raw_result(long rc)
{
    if (rc < 0 && rc >= -4095) {
        errno = (int)-rc;
        return -1;
    }
    return rc;
}

static int futex_waits(int op)
{
    op &= FUTEX_CMD_MASK;
    return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI ||
           op == FUTEX_LOCK_PI2 || op == FUTEX_WAIT_REQUEUE_PI;
}

/* The calls that syscall_stub.S sends here instead of libc's syscall(). */
__attribute__((used, visibility("hidden"))) long syscall_noticed(long nr, long a, long b, long c,
                                                                 long d, long e, long f)
{
    struct wait_scope scope;
    if (nr == SYS_futex && futex_waits((int)b)) {
        wait_begin(&scope, STREAM_WAIT_CALL_futex);
        long rc = sys_call6(nr, a, b, c, d, e, f);
        wait_end(&scope, STREAM_WAIT_CALL_futex, STREAM_WAIT_LOCK);
        return raw_result(rc);
    }
    if (nr == SYS_close && agent_is_active() && fds_is_ours((int)a))
        return raw_result(-EBADF);
    if (nr == SYS_close_range)
        return close_range((unsigned)a, (unsigned)b, (int)c);
    if (nr == SYS_execve)
        return execve((const char *)a, (char *const *)b, (char *const *)c);
    if (nr == SYS_execveat)
        return execveat((int)a, (const char *)b, (char *const *)c, (char *const *)d, (int)e);
    if (nr == SYS_seccomp)
        agent_withdraw();
    if (nr == SYS_exit_group)
        agent_process_end(STREAM_END__EXIT, (int)a);
    return raw_result(sys_call6(nr, a, b, c, d, e, f));
}
