/* vfork_actions: children of vfork that reset every signal, as shells and build tools do, between two looks at the parent's own.
 *
 * A child has actions and a mask of its own, but its parent's memory: what it sets must reach the program it starts and
 * must not be seen in the parent. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

static volatile sig_atomic_t hits;
static char *arguments[] = {"vfork_actions", "started", NULL};

static void count(int number)
{
    (void)number;
    hits++;
}

static int started(void)
{
    sigset_t mask;
    struct sigaction action;
    spin_ms(20);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    sigaction(SIGTRAP, NULL, &action);
    return sigismember(&mask, SIGTRAP) + 2 * (action.sa_handler == SIG_IGN) +
           4 * (action.sa_handler == SIG_DFL);
}

enum what { NOTHING, RESETS, IGNORES, BLOCKS };

static void run(const char *name, enum what what)
{
    int status = -1;
    spin_ms(10);
    pid_t pid = vfork();
    if (!pid) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, SIGTRAP);
        if (what == RESETS)
            for (int number = 1; number < 32; number++)
                signal(number, SIG_DFL);
        else if (what == IGNORES)
            signal(SIGTRAP, SIG_IGN);
        else if (what == BLOCKS)
            sigprocmask(SIG_BLOCK, &one, NULL);
        execv("/proc/self/exe", arguments);
        _exit(EXIT_UNPREPARED);
    }
    waitpid(pid, &status, 0);
    hits = 0;
    raise(SIGTRAP);
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    printf("%s: child=%d parent-hits=%d parent-blocks=%d\n", name, WEXITSTATUS(status), (int)hits,
           sigismember(&mask, SIGTRAP));
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return started();
    signal(SIGTRAP, count);
    run("nothing", NOTHING);
    run("resets", RESETS);
    run("ignores", IGNORES);
    run("blocks", BLOCKS);
    run("nothing again", NOTHING);
    signal(SIGTRAP, SIG_IGN);
    run("ignored by the parent", NOTHING);
    run("reset by the child", RESETS);
    return 0;
}
