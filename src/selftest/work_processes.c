/* Many short processes, started anew and forked. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftest/known_work.h"

enum { SHORT_NS = 10000000, FORK_NS = 3000000 };

KNOWN_FUNCTION void st_short_seven(uint64_t ns)
{
    known_spin(ns);
}

KNOWN_FUNCTION void st_short_three(uint64_t ns)
{
    known_spin(ns);
}

static void timed(const char *name, void (*run)(uint64_t ns), uint64_t ns)
{
    uint64_t start = known_cpu_ns();
    run(ns);
    known_fact("function", name, known_cpu_ns() - start);
}

/* Ten milliseconds, in an order that changes from one process to the next. */
int work_short_child(long number)
{
    uint64_t start = known_cpu_ns();
    if (number & 1)
        timed("st_short_seven", st_short_seven, SHORT_NS / 10 * 7);
    timed("st_short_three", st_short_three, SHORT_NS / 10 * 3);
    if (!(number & 1))
        timed("st_short_seven", st_short_seven, SHORT_NS / 10 * 7);
    known_fact_id("process", getpid(), known_cpu_ns() - start);
    return 0;
}

static void wait_for(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) != pid || status)
        known_fail("child");
}

int work_short_processes(void)
{
    extern char **environ;
    char work[] = "short-child", zero[] = "0", number[24];
    for (uint64_t i = 0; i < known_request.amount_ns / SHORT_NS; i++) {
        pid_t pid;
        snprintf(number, sizeof number, "%llu", (unsigned long long)i);
        char *argv[] = {work, work, (char *)(uintptr_t)known_request.facts, number, zero, NULL};
        errno = posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ);
        if (errno)
            known_fail("spawn");
        wait_for(pid);
    }
    return 0;
}

KNOWN_FUNCTION void st_fork_child(uint64_t ns)
{
    known_spin(ns);
}

KNOWN_FUNCTION void st_fork_parent(uint64_t ns)
{
    known_spin(ns);
}

/* Each child forks one of its own, so that half of them are grandchildren. */
static void fork_pair(int depth)
{
    pid_t pid = fork();
    if (pid < 0)
        known_fail("fork");
    if (pid == 0) {
        uint64_t start = known_cpu_ns();
        timed("st_fork_child", st_fork_child, FORK_NS);
        uint64_t used = known_cpu_ns() - start;
        if (depth < 1)
            fork_pair(depth + 1);
        known_fact_id("process", getpid(), used);
        _exit(0);
    }
    wait_for(pid);
}

int work_forks(void)
{
    for (uint64_t i = 0; i < known_request.amount_ns / (3 * FORK_NS); i++) {
        fork_pair(0);
        timed("st_fork_parent", st_fork_parent, FORK_NS);
    }
    return 0;
}
