/* fork_variants: children by every route that libc and the kernel offer; each burns 20 ms and ends with 5.
 *
 * At the end nobody is left to wait for: a sampler must not have had children in the program's name. */
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

extern char **environ;
static char clone_stack[262144] __attribute__((aligned(16)));
static char *self_arguments[] = {"fork_variants", "child", NULL};

__attribute__((noinline)) void child_burns(void)
{
    spin_ms(20);
    _exit(5);
}

static pid_t by_fork(void)
{
    pid_t pid = fork();
    if (!pid)
        child_burns();
    return pid;
}

static pid_t by__Fork(void)
{
    pid_t pid = _Fork();
    if (!pid)
        child_burns();
    return pid;
}

static pid_t by_raw_clone(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (!pid)
        child_burns();
    return pid;
}

static pid_t by_raw_clone3(void)
{
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    if (!pid)
        child_burns();
    return pid;
}

static pid_t by_vfork_exec(void)
{
    pid_t pid = vfork();
    if (!pid) {
        execv("/proc/self/exe", self_arguments);
        _exit(EXIT_UNPREPARED);
    }
    return pid;
}

static pid_t by_vfork_exit(void)
{
    pid_t pid = vfork();
    if (!pid)
        _exit(5);
    return pid;
}

static int exec_self(void *unused)
{
    (void)unused;
    execv("/proc/self/exe", self_arguments);
    _exit(EXIT_UNPREPARED);
}

static pid_t by_clone_vfork(void)
{
    return clone(exec_self, clone_stack + sizeof clone_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
}

static int burn_in_clone(void *unused)
{
    (void)unused;
    child_burns();
    return 0;
}

static pid_t by_clone_copy(void)
{
    return clone(burn_in_clone, clone_stack + sizeof clone_stack, SIGCHLD, NULL);
}

static pid_t by_posix_spawn(void)
{
    pid_t pid;
    return posix_spawn(&pid, "/proc/self/exe", NULL, NULL, self_arguments, environ) ? -1 : pid;
}

/* A child that forks in turn and never becomes another program: its frames have the grandparent's maps. */
static pid_t by_two_forks(void)
{
    pid_t pid = fork();
    if (!pid) {
        int status = 0;
        pid_t inner = fork();
        if (!inner)
            child_burns();
        spin_ms(10);
        waitpid(inner, &status, 0);
        _exit(WEXITSTATUS(status));
    }
    return pid;
}

static void *fork_in_thread(void *pid)
{
    *(pid_t *)pid = by_fork();
    return NULL;
}

static pid_t by_thread(void)
{
    pthread_t thread;
    pid_t pid = -1;
    if (pthread_create(&thread, NULL, fork_in_thread, &pid))
        unprepared("pthread_create");
    pthread_join(thread, NULL);
    return pid;
}

static const struct {
    const char *name;
    pid_t (*start)(void);
} ways[] = {
    {"fork", by_fork},
    {"_Fork", by__Fork},
    {"raw clone", by_raw_clone},
    {"raw clone3", by_raw_clone3},
    {"vfork exec", by_vfork_exec},
    {"vfork _exit", by_vfork_exit},
    {"clone vfork", by_clone_vfork},
    {"clone copy", by_clone_copy},
    {"posix_spawn", by_posix_spawn},
    {"two forks", by_two_forks},
    {"thread forks", by_thread},
};

int main(int argc, char **argv)
{
    if (!strcmp(word_argument(argc, argv, 1, ""), "child"))
        child_burns();
    spin_ms(20);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        int status = -1;
        fflush(stdout);
        pid_t pid = ways[i].start();
        if (pid < 0)
            unprepared(ways[i].name);
        spin_ms(5);
        pid_t reaped = waitpid(pid, &status, 0);
        printf("%s=%d\n", ways[i].name,
               reaped == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
    fflush(stdout);
    int rc = system("exit 5");
    FILE *reader = popen("echo read", "r");
    char line[16] = "";
    if (!reader || !fgets(line, sizeof line, reader))
        unprepared("popen");
    printf("system=%d popen=%d %s", WEXITSTATUS(rc), pclose(reader), line);
    printf("no child left=%d\n", waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    return 0;
}
