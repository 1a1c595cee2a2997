/* eintr_check [ROUNDS]: blocking calls that a sampling signal could cut short, each right after CPU was burnt.
 *
 * A second thread burns all the time, so that a signal to the process or to blocked threads would show as well. Prints
 * how many calls gave EINTR and how many came back before their time; names them on stderr. Without a sampler both are 0. */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

#define WAIT_NS 3000000

static const struct timespec wait_time = {.tv_nsec = WAIT_NS};
static int quiet[2]; /* a pipe that nobody writes to */
static int pair[2];
static int epoll_file;
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static atomic_int is_over;

static struct timespec deadline(clockid_t clock)
{
    uint64_t at = clock_ns(clock) + WAIT_NS;
    return (struct timespec){.tv_sec = (time_t)(at / 1000000000u),
                             .tv_nsec = (long)(at % 1000000000u)};
}

static int wait_poll(void)
{
    struct pollfd poll_file = {.fd = quiet[0], .events = POLLIN};
    return poll(&poll_file, 1, WAIT_NS / 1000000);
}

static int wait_ppoll(void)
{
    struct pollfd poll_file = {.fd = quiet[0], .events = POLLIN};
    sigset_t mask;
    sigemptyset(&mask);
    return ppoll(&poll_file, 1, &wait_time, &mask);
}

static int wait_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(quiet[0], &set);
    struct timeval time = {.tv_usec = WAIT_NS / 1000};
    return select(quiet[0] + 1, &set, NULL, NULL, &time);
}

static int wait_pselect(void)
{
    fd_set set;
    sigset_t mask;
    FD_ZERO(&set);
    FD_SET(quiet[0], &set);
    sigemptyset(&mask);
    return pselect(quiet[0] + 1, &set, NULL, NULL, &wait_time, &mask);
}

static int wait_epoll(void)
{
    struct epoll_event event;
    return epoll_wait(epoll_file, &event, 1, WAIT_NS / 1000000);
}

static int wait_epoll_pwait(void)
{
    struct epoll_event event;
    sigset_t mask;
    sigemptyset(&mask);
    return epoll_pwait(epoll_file, &event, 1, WAIT_NS / 1000000, &mask);
}

static int wait_nanosleep(void)
{
    return nanosleep(&wait_time, NULL);
}

static int wait_clock_nanosleep(void)
{
    struct timespec end = deadline(CLOCK_MONOTONIC);
    errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
    return errno ? -1 : 0;
}

static int wait_usleep(void)
{
    return usleep(WAIT_NS / 1000);
}

static int wait_sem_timedwait(void)
{
    struct timespec end = deadline(CLOCK_REALTIME);
    return sem_timedwait(&semaphore, &end);
}

static int wait_sem_clockwait(void)
{
    struct timespec end = deadline(CLOCK_MONOTONIC);
    return sem_clockwait(&semaphore, CLOCK_MONOTONIC, &end);
}

static int wait_futex(void)
{
    static int word;
    return (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &wait_time, NULL, 0);
}

static int wait_condition(void)
{
    struct timespec end = deadline(CLOCK_REALTIME);
    pthread_mutex_lock(&mutex);
    errno = pthread_cond_timedwait(&condition, &mutex, &end);
    pthread_mutex_unlock(&mutex);
    return errno ? -1 : 0;
}

static int wait_sigtimedwait(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigtimedwait(&set, NULL, &wait_time);
}

static int wait_receive(void)
{
    char byte;
    return (int)recv(pair[0], &byte, 1, 0); /* SO_RCVTIMEO is set */
}

static int wait_accept(void)
{
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    struct timeval time = {.tv_usec = WAIT_NS / 1000};
    sa_family_t family = AF_UNIX;
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    if (bind(listener, (struct sockaddr *)&family, sizeof family) || listen(listener, 1))
        unprepared("listen");
    int rc = accept(listener, NULL, NULL);
    int kept = errno;
    close(listener);
    errno = kept;
    return rc;
}

static int wait_timerfd(void)
{
    uint64_t ticks;
    int file = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec time = {.it_value = wait_time};
    timerfd_settime(file, 0, &time, NULL);
    int rc = (int)read(file, &ticks, sizeof ticks);
    int kept = errno;
    close(file);
    errno = kept;
    return rc;
}

static int wait_semtimedop(void)
{
    static int id = -1;
    if (id < 0) {
        id = semget(IPC_PRIVATE, 1, 0600);
        if (id < 0)
            return 0; /* no System V semaphores in this sandbox */
    }
    struct sembuf take = {.sem_op = -1};
    int rc = semtimedop(id, &take, 1, &wait_time);
    int kept = errno;
    if (is_over)
        semctl(id, 0, IPC_RMID);
    errno = kept;
    return rc;
}

/* Somebody else ends these waits: a child or a thread that sleeps first. */
static void *write_later(void *file)
{
    struct timespec time = wait_time;
    while (nanosleep(&time, &time) && errno == EINTR)
        ;
    uint64_t one = 1;
    ssize_t put = write(*(int *)file, &one, sizeof one);
    return put < 0 ? file : NULL;
}

static int with_writer(int read_file, int write_file)
{
    pthread_t thread;
    uint64_t value;
    if (pthread_create(&thread, NULL, write_later, &write_file))
        unprepared("pthread_create");
    ssize_t got = read(read_file, &value, sizeof value);
    int kept = errno;
    pthread_join(thread, NULL);
    if (got < 0 && kept == EINTR) /* the byte is still there */
        while (read(read_file, &value, sizeof value) < 0 && errno == EINTR)
            ;
    errno = kept;
    return (int)got;
}

static int wait_pipe(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        unprepared("pipe2");
    int rc = with_writer(ends[0], ends[1]);
    int kept = errno;
    close(ends[0]);
    close(ends[1]);
    errno = kept;
    return rc;
}

static int wait_eventfd(void)
{
    int file = eventfd(0, EFD_CLOEXEC);
    int rc = with_writer(file, file);
    int kept = errno;
    close(file);
    errno = kept;
    return rc;
}

static pid_t child_that_sleeps(int held_file)
{
    pid_t pid = fork();
    if (pid < 0)
        unprepared("fork");
    if (!pid) {
        if (held_file >= 0)
            flock(held_file, LOCK_EX);
        struct timespec time = {.tv_nsec = 2 * WAIT_NS};
        while (nanosleep(&time, &time) && errno == EINTR)
            ;
        _exit(0);
    }
    return pid;
}

static int wait_child(void)
{
    pid_t pid = child_that_sleeps(-1);
    int rc = waitpid(pid, NULL, 0);
    int kept = errno;
    while (rc < 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    errno = kept;
    return rc;
}

static int wait_waitid(void)
{
    siginfo_t info;
    pid_t pid = child_that_sleeps(-1);
    int rc = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    int kept = errno;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    errno = kept;
    return rc;
}

/* The time that a call must last at least; 0 where another process decides, which may have been quick. */
static const struct {
    const char *name;
    int (*wait)(void);
    uint64_t least_ns;
} calls[] = {
    {"poll", wait_poll, WAIT_NS},
    {"ppoll", wait_ppoll, WAIT_NS},
    {"select", wait_select, WAIT_NS},
    {"pselect", wait_pselect, WAIT_NS},
    {"epoll_wait", wait_epoll, WAIT_NS},
    {"epoll_pwait", wait_epoll_pwait, WAIT_NS},
    {"nanosleep", wait_nanosleep, WAIT_NS},
    {"clock_nanosleep", wait_clock_nanosleep, WAIT_NS},
    {"usleep", wait_usleep, WAIT_NS},
    {"sem_timedwait", wait_sem_timedwait, WAIT_NS},
    {"sem_clockwait", wait_sem_clockwait, WAIT_NS},
    {"futex", wait_futex, WAIT_NS},
    {"pthread_cond_timedwait", wait_condition, WAIT_NS},
    {"sigtimedwait", wait_sigtimedwait, WAIT_NS},
    {"recv", wait_receive, WAIT_NS},
    {"accept", wait_accept, WAIT_NS},
    {"timerfd", wait_timerfd, WAIT_NS},
    {"semtimedop", wait_semtimedop, 0},
    {"pipe read", wait_pipe, 0},
    {"eventfd read", wait_eventfd, 0},
    {"waitpid", wait_child, 0},
    {"waitid", wait_waitid, 0},
};
#define CALL_COUNT (sizeof calls / sizeof *calls)

static void *burn_beside(void *unused)
{
    while (!is_over)
        spin_ms(1);
    return unused;
}

static void prepare(void)
{
    struct timeval time = {.tv_usec = WAIT_NS / 1000};
    struct epoll_event event = {.events = EPOLLIN};
    epoll_file = epoll_create1(EPOLL_CLOEXEC);
    if (pipe2(quiet, O_CLOEXEC) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || epoll_file < 0)
        unprepared("eintr_check");
    epoll_ctl(epoll_file, EPOLL_CTL_ADD, quiet[0], &event);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    sem_init(&semaphore, 0, 0);
}

int main(int argc, char **argv)
{
    unsigned long rounds = number_argument(argc, argv, 1, 10);
    unsigned long interrupted = 0;
    unsigned long early = 0;
    pthread_t burner;
    prepare();
    if (pthread_create(&burner, NULL, burn_beside, NULL))
        unprepared("pthread_create");
    for (unsigned long round = 0; round < rounds; round++) {
        for (size_t i = 0; i < CALL_COUNT; i++) {
            spin_ns(200000 + (round * CALL_COUNT + i) * 37111 % 1500000);
            uint64_t start = clock_ns(CLOCK_MONOTONIC);
            int rc = calls[i].wait();
            int code = errno;
            uint64_t took = clock_ns(CLOCK_MONOTONIC) - start;
            int is_interrupted = rc < 0 && code == EINTR;
            int is_early = !is_interrupted && took < calls[i].least_ns;
            if (is_interrupted || is_early)
                fprintf(stderr, "%s: %s after %.2f ms\n", calls[i].name,
                        is_interrupted ? "EINTR" : "early", (double)took / 1e6);
            interrupted += (unsigned long)is_interrupted;
            early += (unsigned long)is_early;
        }
    }
    is_over = 1;
    pthread_join(burner, NULL);
    wait_semtimedop(); /* removes its semaphore */
    printf("calls=%zu eintr=%lu early=%lu\n", CALL_COUNT, interrupted, early);
    return interrupted || early;
}
