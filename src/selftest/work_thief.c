/* Does with the sampling signals what a program may do with a signal, and checks that it is alone with them. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "selftest/known_work.h"

enum { SENDS = 25 };

static const int signals[] = {SIGTRAP, SIGPROF};
static volatile sig_atomic_t hits;

/* Signal handler. */
static void count_hit(int sig)
{
    (void)sig;
    hits++;
}

KNOWN_FUNCTION void st_thief_handles(uint64_t ns)
{
    known_spin(ns);
}

KNOWN_FUNCTION void st_thief_blocks(uint64_t ns)
{
    known_spin(ns);
}

KNOWN_FUNCTION void st_thief_ignores(uint64_t ns)
{
    known_spin(ns);
}

static uint64_t timed(void (*run)(uint64_t ns))
{
    uint64_t start = known_cpu_ns();
    run(known_length(known_request.slice_ns));
    return known_cpu_ns() - start;
}

/* Its own handler runs for what it sends to itself, and for nothing else. */
static uint64_t handle(int sig, uint64_t *wrong)
{
    struct sigaction action = {.sa_handler = count_hit}, seen;
    sigaction(sig, &action, NULL);
    hits = 0;
    uint64_t used = timed(st_thief_handles);
    for (int i = 0; i < SENDS; i++)
        raise(sig);
    *wrong += (uint64_t)(hits > SENDS ? hits - SENDS : SENDS - hits);
    *wrong += sigaction(sig, NULL, &seen) != 0 || seen.sa_handler != count_hit;
    return used;
}

/* With every signal blocked none is pending, until it sends one, and waiting for it gets that one and no other. */
static uint64_t block(int sig, uint64_t *wrong)
{
    sigset_t all, before, pending;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    uint64_t used = timed(st_thief_blocks);
    sigpending(&pending);
    *wrong += sigismember(&pending, sig) == 1;
    struct timespec soon = {.tv_nsec = 1000000};
    *wrong += sigtimedwait(&all, NULL, &soon) >= 0;
    raise(sig);
    used += timed(st_thief_blocks);
    sigpending(&pending);
    *wrong += sigismember(&pending, sig) != 1;
    *wrong += sigtimedwait(&all, NULL, &soon) != sig;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return used;
}

static uint64_t ignore(int sig, uint64_t *wrong)
{
    signal(sig, SIG_IGN);
    hits = 0;
    raise(sig);
    uint64_t used = timed(st_thief_ignores);
    *wrong += hits != 0;
    *wrong += signal(sig, SIG_DFL) != SIG_IGN;
    return used;
}

int work_thief(void)
{
    uint64_t handled = 0, blocked = 0, ignored = 0, wrong = 0;
    while (handled + blocked + ignored < known_request.amount_ns)
        for (int i = 0; i < 2; i++) {
            handled += handle(signals[i], &wrong);
            blocked += block(signals[i], &wrong);
            ignored += ignore(signals[i], &wrong);
        }
    known_fact("function", "st_thief_handles", handled);
    known_fact("function", "st_thief_blocks", blocked);
    known_fact("function", "st_thief_ignores", ignored);
    known_fact("wrong", "signals", wrong);
    return 0;
}
