/* tracer [PROGRAM ARGUMENTS ...]: runs PROGRAM (burn, beside it) under ptrace and passes its signals on, as a debugger does. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

static char path[4096];

static char *burn_beside(void)
{
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 8);
    char *slash = length > 0 ? memrchr(path, '/', (size_t)length) : NULL;
    if (!slash)
        unprepared("/proc/self/exe");
    strcpy(slash + 1, "burn");
    return path;
}

int main(int argc, char **argv)
{
    char *standard[] = {burn_beside(), "100", "2", NULL};
    char **program = argc > 1 ? argv + 1 : standard;
    pid_t pid = fork();
    if (pid < 0)
        unprepared("fork");
    if (!pid) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execvp(program[0], program);
        _exit(EXIT_UNPREPARED);
    }
    int status, stops = 0, signals = 0;
    for (;;) {
        if (waitpid(pid, &status, 0) != pid)
            unprepared("waitpid");
        if (!WIFSTOPPED(status))
            break;
        int number = WSTOPSIG(status);
        /* The first stop is exec's own, not a signal to pass on. */
        int passed = stops++ == 0 && number == SIGTRAP ? 0 : number;
        signals += passed != 0;
        ptrace(PTRACE_CONT, pid, NULL, (void *)(long)passed);
    }
    printf("signals=%d code=%d killed-by=%d\n", signals,
           WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return 0;
}
