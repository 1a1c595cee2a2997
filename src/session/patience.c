#include "session/patience.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void wait_and_say(unsigned delay_ms, const char *line)
{
    struct timespec delay = {.tv_sec = delay_ms / 1000, .tv_nsec = (long)(delay_ms % 1000) * 1000000};
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody is left to end it then */
    if (nanosleep(&delay, NULL) == 0 && write(STDERR_FILENO, line, strlen(line)) < 0)
        _exit(1);
    _exit(0);
}

pid_t patience_begin(unsigned delay_ms, const char *line)
{
    if (!isatty(STDERR_FILENO) || tcgetpgrp(STDERR_FILENO) != getpgrp())
        return -1;
    pid_t waiter = fork();
    if (waiter == 0)
        wait_and_say(delay_ms, line);
    return waiter;
}

void patience_end(pid_t waiter)
{
    if (waiter <= 0)
        return;
    kill(waiter, SIGKILL);
    while (waitpid(waiter, NULL, 0) < 0 && errno == EINTR) {
    }
}
