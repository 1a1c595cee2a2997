/* long_waits [MS]: one blocking call of MS (40) of each kind, in a function named after it; nothing else takes time.
 *
 * lock: mutex, condition, bare futex. child: waitpid. io: read of a pipe, poll of a pipe, flock. sleep: nanosleep, poll of nothing. */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

static uint64_t wait_ns;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t condition_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t is_held, semaphore;
static int word, is_ready;
static int ends[2];

static void sleep_ns(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u),
                            .tv_nsec = (long)(ns % 1000000000u)};
    while (nanosleep(&time, &time) && errno == EINTR)
        ;
}

/* The other side: holds or ends what the named function waits for. */
static void *helper(void *which)
{
    long number = (long)which;
    if (number == 0)
        pthread_mutex_lock(&mutex);
    sem_post(&is_held);
    sleep_ns(wait_ns);
    uint64_t one = 1;
    switch (number) {
    case 0:
        pthread_mutex_unlock(&mutex);
        break;
    case 1:
        pthread_mutex_lock(&condition_mutex);
        is_ready = 1;
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&condition_mutex);
        break;
    case 2:
        __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        break;
    case 3:
        sem_post(&semaphore);
        break;
    default:
        if (write(ends[1], &one, 1) != 1)
            unprepared("write");
    }
    return NULL;
}

__attribute__((noinline)) void wait_mutex(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) void wait_condition(void)
{
    pthread_mutex_lock(&condition_mutex);
    while (!is_ready)
        pthread_cond_wait(&condition, &condition_mutex);
    pthread_mutex_unlock(&condition_mutex);
}

__attribute__((noinline)) void wait_futex(void)
{
    while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

__attribute__((noinline)) void wait_semaphore(void)
{
    while (sem_wait(&semaphore))
        ;
}

__attribute__((noinline)) void wait_read(void)
{
    char byte;
    while (read(ends[0], &byte, 1) < 0)
        ;
}

__attribute__((noinline)) void wait_poll(void)
{
    struct pollfd file = {.fd = ends[0], .events = POLLIN};
    while (poll(&file, 1, -1) < 0)
        ;
    wait_read();
}

__attribute__((noinline)) void wait_join(pthread_t thread)
{
    pthread_join(thread, NULL);
}

__attribute__((noinline)) void wait_child(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

__attribute__((noinline)) void wait_flock(int file)
{
    while (flock(file, LOCK_EX) && errno == EINTR)
        ;
}

__attribute__((noinline)) void wait_sleep(void)
{
    sleep_ns(wait_ns);
}

static void with_helper(long number, void (*wait)(void))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, helper, (void *)number))
        unprepared("pthread_create");
    while (sem_wait(&is_held))
        ;
    wait();
    pthread_join(thread, NULL);
}

static void *sleeper(void *unused)
{
    sleep_ns(wait_ns);
    return unused;
}

static void wait_for_flock(void)
{
    int gate[2];
    char name[] = "/tmp/long-waits-XXXXXX";
    int file = mkostemp(name, O_CLOEXEC);
    if (file < 0 || pipe2(gate, O_CLOEXEC))
        unprepared(name);
    pid_t pid = fork();
    if (!pid) {
        int other = open(name, O_RDWR | O_CLOEXEC);
        flock(other, LOCK_EX);
        if (write(gate[1], "", 1) != 1)
            _exit(EXIT_UNPREPARED);
        sleep_ns(wait_ns);
        _exit(0);
    }
    char byte;
    if (read(gate[0], &byte, 1) != 1)
        unprepared("read");
    wait_flock(file);
    unlink(name);
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    wait_ns = number_argument(argc, argv, 1, 40) * 1000000u;
    sem_init(&is_held, 0, 0);
    sem_init(&semaphore, 0, 0);
    if (pipe2(ends, O_CLOEXEC))
        unprepared("pipe2");
    with_helper(0, wait_mutex);
    with_helper(1, wait_condition);
    with_helper(2, wait_futex);
    with_helper(3, wait_semaphore);
    with_helper(4, wait_read);
    with_helper(5, wait_poll);
    pthread_t thread;
    if (pthread_create(&thread, NULL, sleeper, NULL))
        unprepared("pthread_create");
    wait_join(thread);
    pid_t pid = fork();
    if (!pid) {
        sleep_ns(wait_ns);
        _exit(0);
    }
    wait_child(pid);
    wait_for_flock();
    wait_sleep();
    printf("waits=10\n");
    return 0;
}
