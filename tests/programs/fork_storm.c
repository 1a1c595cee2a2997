/* fork_storm [COUNT] [in-row|at-once|exec|exec-at-once]: COUNT (100) children that live for a moment.
 *
 * A child burns 1 ms and ends with its number modulo 7, or becomes `true`. The sum of the codes is printed. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

static void child(unsigned long number, int execs)
{
    if (execs) {
        execlp("true", "true", (char *)NULL);
        _exit(EXIT_UNPREPARED);
    }
    spin_ms(1);
    _exit((int)(number % 7));
}

static unsigned long reap(void)
{
    int status;
    pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0)
        unprepared("waitpid");
    return WIFEXITED(status) ? (unsigned long)WEXITSTATUS(status) : 1000;
}

int main(int argc, char **argv)
{
    unsigned long count = number_argument(argc, argv, 1, 100);
    const char *how = word_argument(argc, argv, 2, "in-row");
    int at_once = strstr(how, "at-once") != NULL;
    int execs = !strncmp(how, "exec", 4);
    int gate[2];
    if (pipe(gate))
        unprepared("pipe");
    unsigned long sum = 0;
    for (unsigned long i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid < 0)
            unprepared("fork");
        if (!pid) {
            char byte;
            close(gate[1]);
            /* All wait for the gate: they then exist at the same time. */
            if (at_once && read(gate[0], &byte, 1) != 0)
                _exit(EXIT_UNPREPARED);
            child(i, execs);
        }
        if (!at_once)
            sum += reap();
    }
    close(gate[1]);
    for (unsigned long i = 0; at_once && i < count; i++)
        sum += reap();
    printf("children=%lu codes=%lu\n", count, sum);
    return 0;
}
