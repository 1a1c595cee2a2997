/* env_clear CASE: starts `burn`, which lies beside it, with an environment that a sampler would not find its own words in.
 *
 * clearenv    the environment is emptied, then execv
 * unsetenv    LD_PRELOAD alone is taken out, then execv
 * custom      execve with an array of its own
 * empty       execve with an empty array
 * none        execve with NULL
 * spawned     posix_spawn with an array of its own
 * through_sh  `env -i` in a shell
 * putenv      LD_PRELOAD is overwritten by the program and taken out again */
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

extern char **environ;
static char path[4096];
static char *arguments[] = {"burn", "60", NULL};
static char *own_environment[] = {"ONLY=this", "PATH=/usr/bin:/bin", NULL};

static void find_burn(void)
{
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 8);
    char *slash = length > 0 ? memrchr(path, '/', (size_t)length) : NULL;
    if (!slash)
        unprepared("/proc/self/exe");
    strcpy(slash + 1, "burn");
}

static int case_clearenv(int argc, char **argv)
{
    (void)argc, (void)argv;
    clearenv();
    execv(path, arguments);
    unprepared(path);
}

static int case_unsetenv(int argc, char **argv)
{
    (void)argc, (void)argv;
    unsetenv("LD_PRELOAD");
    execv(path, arguments);
    unprepared(path);
}

static int case_custom(int argc, char **argv)
{
    (void)argc, (void)argv;
    execve(path, arguments, own_environment);
    unprepared(path);
}

static int case_empty(int argc, char **argv)
{
    (void)argc, (void)argv;
    char *nothing[] = {NULL};
    execve(path, arguments, nothing);
    unprepared(path);
}

static int case_none(int argc, char **argv)
{
    (void)argc, (void)argv;
    char **volatile nothing = NULL; /* Linux takes it as empty */
    execve(path, arguments, nothing);
    unprepared(path);
}

static int case_spawned(int argc, char **argv)
{
    (void)argc, (void)argv;
    pid_t pid;
    int status = -1;
    if (posix_spawn(&pid, path, NULL, NULL, arguments, own_environment))
        unprepared(path);
    waitpid(pid, &status, 0);
    return status != 0;
}

static int case_through_sh(int argc, char **argv)
{
    (void)argc, (void)argv;
    setenv("BURN", path, 1);
    execlp("sh", "sh", "-c", "exec env -i \"$BURN\" 60", (char *)NULL);
    unprepared("sh");
}

static int case_putenv(int argc, char **argv)
{
    (void)argc, (void)argv;
    static char text[] = "LD_PRELOAD=/nonexistent/library.so";
    putenv(text);
    spin_ms(5);
    unsetenv("LD_PRELOAD");
    execve(path, arguments, environ);
    unprepared(path);
}

static const struct spin_case cases[] = {
    {"clearenv", case_clearenv},
    {"unsetenv", case_unsetenv},
    {"custom", case_custom},
    {"empty", case_empty},
    {"none", case_none},
    {"spawned", case_spawned},
    {"putenv", case_putenv},
    {"through_sh", case_through_sh},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    find_burn();
    spin_ms(20);
    return run_case(cases, argc, argv, "clearenv");
}
