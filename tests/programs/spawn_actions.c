/* spawn_actions: posix_spawn with the file actions and attributes that could take a sampler's descriptors, signals or stack away. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

extern char **environ;
static char *arguments[] = {"spawn_actions", "child", NULL};

static int child(void)
{
    sigset_t mask;
    int open_files = 0;
    spin_ms(40);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int file = 3; file < 256; file++)
        open_files += fcntl(file, F_GETFD) >= 0;
    return sigismember(&mask, SIGTRAP) + 2 * sigismember(&mask, SIGPROF) + 4 * (open_files > 0) +
           8 * (getsid(0) == getpid()) + 16 * (getpgrp() == getpid());
}

static int start(const char *name, posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes)
{
    pid_t pid;
    int status = -1;
    int rc = posix_spawn(&pid, "/proc/self/exe", actions, attributes, arguments, environ);
    if (!rc)
        waitpid(pid, &status, 0);
    printf("%s: rc=%d child=%d\n", name, rc, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return rc;
}

static int low_top(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur > 4096 ? 4096 : (int)limit.rlim_cur;
}

static void with_actions(void)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    start("closefrom", &actions, NULL);
    posix_spawn_file_actions_destroy(&actions);

    posix_spawn_file_actions_init(&actions);
    for (int file = 3; file < low_top(); file++)
        posix_spawn_file_actions_addclose(&actions, file);
    start("close each", &actions, NULL);
    posix_spawn_file_actions_destroy(&actions);

    posix_spawn_file_actions_init(&actions);
    for (int file = 3; file < 200; file++)
        posix_spawn_file_actions_adddup2(&actions, 2, file);
    posix_spawn_file_actions_addopen(&actions, 200, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addchdir_np(&actions, "/");
    start("dup2 and chdir", &actions, NULL);
    posix_spawn_file_actions_destroy(&actions);
}

static void with_attributes(void)
{
    posix_spawnattr_t attributes;
    sigset_t full;
    sigfillset(&full);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&attributes, &full);
    posix_spawnattr_setsigdefault(&attributes, &full);
    start("mask and group", NULL, &attributes);
    posix_spawnattr_destroy(&attributes);

    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_RESETIDS);
    start("session", NULL, &attributes);
    posix_spawnattr_destroy(&attributes);
}

int main(int argc, char **argv)
{
    if (!strcmp(word_argument(argc, argv, 1, ""), "child"))
        return child();
    spin_ms(20);
    with_actions();
    with_attributes();
    pid_t pid = 77;
    int rc = posix_spawn(&pid, "/nonexistent/program", NULL, NULL, arguments, environ);
    printf("missing: rc=%d\n", rc);
    return 0;
}
