/* real.h: the functions that ours stand in front of.
 *
 * They are found by walking the link map behind this library, as RTLD_NEXT would, without dlsym: that takes locks and
 * may allocate, and allocators that are themselves being loaded call functions we wrap. The list is data: one row a
 * function.
 */
#ifndef LAMELLA_AGENT_REAL_H
#define LAMELLA_AGENT_REAL_H

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>

/* X(return type, name, parameters) */
#define REAL_FUNCTIONS(X)                                                                           \
    /* programs */                                                                                  \
    X(int, execve, (const char *, char *const[], char *const[]))                                    \
    X(int, execvpe, (const char *, char *const[], char *const[]))                                   \
    X(int, fexecve, (int, char *const[], char *const[]))                                            \
    X(int, execveat, (int, const char *, char *const[], char *const[], int))                        \
    X(int, posix_spawn,                                                                             \
      (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,        \
       char *const[], char *const[]))                                                               \
    X(int, posix_spawnp,                                                                            \
      (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,        \
       char *const[], char *const[]))                                                               \
    X(pid_t, fork, (void))                                                                          \
    X(pid_t, _Fork, (void))                                                                         \
    X(void, _exit, (int))                                                                           \
    X(void, quick_exit, (int))                                                                      \
    X(void, abort, (void))                                                                          \
    /* threads and libraries */                                                                     \
    X(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))        \
    X(int, thrd_create, (thrd_t *, thrd_start_t, void *))                                           \
    X(int, pthread_setname_np, (pthread_t, const char *))                                           \
    X(int, prctl, (int, unsigned long, unsigned long, unsigned long, unsigned long))                \
    X(int, dlclose, (void *))                                                                       \
    /* signals */                                                                                   \
    X(int, sigaction, (int, const struct sigaction *, struct sigaction *))                          \
    X(sighandler_t, signal, (int, sighandler_t))                                                    \
    X(sighandler_t, __sysv_signal, (int, sighandler_t))                                             \
    X(int, sigprocmask, (int, const sigset_t *, sigset_t *))                                        \
    X(int, pthread_sigmask, (int, const sigset_t *, sigset_t *))                                    \
    X(int, sigsuspend, (const sigset_t *))                                                          \
    X(int, sigwait, (const sigset_t *, int *))                                                      \
    X(int, sigwaitinfo, (const sigset_t *, siginfo_t *))                                            \
    X(int, sigtimedwait, (const sigset_t *, siginfo_t *, const struct timespec *))                  \
    X(int, sigpending, (sigset_t *))                                                                \
    X(int, signalfd, (int, const sigset_t *, int))                                                  \
    X(int, raise, (int))                                                                            \
    X(int, pthread_kill, (pthread_t, int))                                                          \
    X(int, tgkill, (pid_t, pid_t, int))                                                             \
    X(int, sigaltstack, (const stack_t *, stack_t *))                                               \
    /* descriptors */                                                                               \
    X(int, close, (int))                                                                            \
    X(void, closefrom, (int))                                                                       \
    X(int, close_range, (unsigned, unsigned, int))                                                  \
    X(int, dup2, (int, int))                                                                        \
    X(int, dup3, (int, int, int))                                                                   \
    /* calls that wait */                                                                           \
    X(long, syscall, (long, ...))                                                                   \
    X(pid_t, wait4, (pid_t, int *, int, struct rusage *))                                           \
    X(int, waitid, (idtype_t, id_t, siginfo_t *, int))                                              \
    X(ssize_t, read, (int, void *, size_t))                                                         \
    X(ssize_t, __read_chk, (int, void *, size_t, size_t))                                           \
    X(ssize_t, readv, (int, const struct iovec *, int))                                             \
    X(ssize_t, pread64, (int, void *, size_t, off64_t))                                             \
    X(ssize_t, write, (int, const void *, size_t))                                                  \
    X(ssize_t, writev, (int, const struct iovec *, int))                                            \
    X(ssize_t, pwrite64, (int, const void *, size_t, off64_t))                                      \
    X(ssize_t, recv, (int, void *, size_t, int))                                                    \
    X(ssize_t, recvfrom, (int, void *, size_t, int, struct sockaddr *, socklen_t *))                \
    X(ssize_t, recvmsg, (int, struct msghdr *, int))                                                \
    X(ssize_t, send, (int, const void *, size_t, int))                                              \
    X(ssize_t, sendmsg, (int, const struct msghdr *, int))                                          \
    X(int, accept, (int, struct sockaddr *, socklen_t *))                                           \
    X(int, accept4, (int, struct sockaddr *, socklen_t *, int))                                     \
    X(int, connect, (int, const struct sockaddr *, socklen_t))                                      \
    X(int, poll, (struct pollfd *, nfds_t, int))                                                    \
    X(int, __poll_chk, (struct pollfd *, nfds_t, int, size_t))                                      \
    X(int, ppoll, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))             \
    X(int, select, (int, fd_set *, fd_set *, fd_set *, struct timeval *))                           \
    X(int, pselect, (int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *)) \
    X(int, epoll_wait, (int, struct epoll_event *, int, int))                                       \
    X(int, epoll_pwait, (int, struct epoll_event *, int, int, const sigset_t *))                    \
    X(int, nanosleep, (const struct timespec *, struct timespec *))                                 \
    X(int, clock_nanosleep, (clockid_t, int, const struct timespec *, struct timespec *))           \
    X(int, usleep, (unsigned))                                                                      \
    X(unsigned, sleep, (unsigned))                                                                  \
    X(int, pause, (void))                                                                           \
    X(int, flock, (int, int))                                                                       \
    X(int, fsync, (int))                                                                            \
    X(int, fdatasync, (int))                                                                        \
    X(int, sem_wait, (sem_t *))                                                                     \
    X(int, sem_timedwait, (sem_t *, const struct timespec *))                                       \
    X(int, sem_clockwait, (sem_t *, clockid_t, const struct timespec *))                            \
    X(int, pthread_join, (pthread_t, void **))                                                      \
    X(int, pthread_timedjoin_np, (pthread_t, void **, const struct timespec *))                     \
    X(int, pthread_cond_wait, (pthread_cond_t *, pthread_mutex_t *))                                \
    X(int, pthread_cond_timedwait, (pthread_cond_t *, pthread_mutex_t *, const struct timespec *))  \
    X(int, pthread_cond_clockwait,                                                                  \
      (pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *))                    \
    X(int, pthread_mutex_lock, (pthread_mutex_t *))                                                 \
    X(int, pthread_mutex_trylock, (pthread_mutex_t *))                                              \
    X(int, pthread_mutex_timedlock, (pthread_mutex_t *, const struct timespec *))                   \
    X(int, pthread_rwlock_rdlock, (pthread_rwlock_t *))                                             \
    X(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t *))                                          \
    X(int, pthread_rwlock_wrlock, (pthread_rwlock_t *))                                             \
    X(int, pthread_rwlock_trywrlock, (pthread_rwlock_t *))                                          \
    X(int, pthread_barrier_wait, (pthread_barrier_t *))                                             \
    X(void *, mmap64, (void *, size_t, int, int, int, off64_t))                                     \
    X(int, munmap, (void *, size_t))                                                                \
    X(int, madvise, (void *, size_t, int))

enum real_id {
#define REAL_ENUM(ret, name, params) REAL_##name,
    REAL_FUNCTIONS(REAL_ENUM)
#undef REAL_ENUM
        REAL_COUNT
};

#define REAL_TYPE(ret, name, params) typedef ret real_##name##_fn params;
REAL_FUNCTIONS(REAL_TYPE)
#undef REAL_TYPE

extern void *real_pointers[REAL_COUNT];

/* libc's syscall(), for syscall_stub.S; NULL until our constructor has run. */
extern void *syscall_real __attribute__((visibility("hidden")));

/* Finds all of them; quick and idempotent. Called by our constructor, and by a wrapper that runs before it. */
void real_resolve(void);

/* An address in this library's own constructor order: NULL until found, for a function this libc does not have. */
static inline void *real_get(enum real_id id)
{
    if (__builtin_expect(!real_pointers[id], 0))
        real_resolve();
    return real_pointers[id];
}

#define REAL(name) ((real_##name##_fn *)real_get(REAL_##name))

#endif
