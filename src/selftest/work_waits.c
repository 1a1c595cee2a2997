/* Calls that block for a known time, of each kind, in the main thread. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftest/known_work.h"

enum { WAIT_NS = 12000000 };

static int to_helper[2], from_helper[2];
static int tokens[2]; /* the jobserver's pipe */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void sleep_a_while(void)
{
    struct timespec ts = {.tv_nsec = WAIT_NS};
    while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
        continue;
}

static void send_byte(int fd)
{
    if (write(fd, "x", 1) != 1)
        known_fail("pipe");
}

/* 'l': takes the lock, says so, and keeps it for a while. 'r', 'j': writes into a pipe after a while. */
static void *helper_main(void *unused)
{
    char order;
    while (read(to_helper[0], &order, 1) == 1) {
        if (order == 'l') {
            pthread_mutex_lock(&lock);
            send_byte(from_helper[1]);
            sleep_a_while();
            pthread_mutex_unlock(&lock);
        } else {
            sleep_a_while();
            send_byte(order == 'j' ? tokens[1] : from_helper[1]);
        }
    }
    return unused;
}

static void order_helper(char order)
{
    if (write(to_helper[1], &order, 1) != 1)
        known_fail("pipe");
}

static void read_byte(int fd)
{
    char byte;
    if (read(fd, &byte, 1) != 1)
        known_fail("pipe");
}

static void wait_lock(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void wait_io(void)
{
    read_byte(from_helper[0]);
}

static void wait_token(void)
{
    read_byte(tokens[0]);
}

static pid_t child;

static void wait_child(void)
{
    if (waitpid(child, NULL, 0) != child)
        known_fail("child");
}

static uint64_t timed(void (*run)(void))
{
    uint64_t start = known_clock_ns(CLOCK_MONOTONIC);
    run();
    return known_clock_ns(CLOCK_MONOTONIC) - start;
}

static void start_child(void)
{
    child = fork();
    if (child < 0)
        known_fail("fork");
    if (child == 0) {
        sleep_a_while();
        _exit(0);
    }
}

/* The environment says which pipe the jobserver's is, as make does; it must be there when the program begins. */
static void become_jobserver_client(void)
{
    if (getenv("MAKEFLAGS"))
        return;
    char flags[64];
    snprintf(flags, sizeof flags, " -j2 --jobserver-auth=%d,%d", tokens[0], tokens[1]);
    setenv("MAKEFLAGS", flags, 1);
    char work[] = "waits", slice[24], amount[24];
    snprintf(slice, sizeof slice, "%llu", (unsigned long long)known_request.slice_ns / 1000);
    snprintf(amount, sizeof amount, "%llu", (unsigned long long)known_request.amount_ns / 1000000);
    char *argv[] = {work, work, (char *)(uintptr_t)known_request.facts, slice, amount, NULL};
    execv("/proc/self/exe", argv);
    known_fail("exec");
}

static void find_tokens(void)
{
    const char *flags = getenv("MAKEFLAGS");
    // NOLINTNEXTLINE(cert-err34-c): the pattern is our own launcher's, the count is looked at
    if (flags && sscanf(flags, " -j2 --jobserver-auth=%d,%d", &tokens[0], &tokens[1]) == 2)
        return;
    unsetenv("MAKEFLAGS"); /* somebody else's */
    if (pipe(tokens) < 0)
        known_fail("pipe");
    become_jobserver_client();
}

int work_waits(void)
{
    find_tokens();
    pthread_t helper;
    if (pipe(to_helper) < 0 || pipe(from_helper) < 0)
        known_fail("pipe");
    errno = pthread_create(&helper, NULL, helper_main, NULL);
    if (errno)
        known_fail("thread");
    uint64_t lock_ns = 0, io_ns = 0, token_ns = 0, child_ns = 0, sleep_ns = 0;
    for (uint64_t done = 0; done < known_request.amount_ns; done += 5 * WAIT_NS) {
        order_helper('l');
        /* This read can be long enough to count as well. */
        io_ns += timed(wait_io);
        lock_ns += timed(wait_lock);
        order_helper('r');
        io_ns += timed(wait_io);
        order_helper('j');
        token_ns += timed(wait_token);
        start_child();
        child_ns += timed(wait_child);
        sleep_ns += timed(sleep_a_while);
    }
    known_fact("wait", "lock", lock_ns);
    known_fact("wait", "io", io_ns);
    known_fact("wait", "jobserver", token_ns);
    known_fact("wait", "child", child_ns);
    known_fact("wait", "sleep", sleep_ns);
    close(to_helper[1]);
    pthread_join(helper, NULL);
    return 0;
}
