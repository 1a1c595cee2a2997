/* daemonizer [MS] [quiet|keeps]: leaves a daemon of MS (2000) behind, in a session of its own, and ends at once.
 *
 * quiet  the daemon's standard files are /dev/null
 * keeps  it keeps those it was given, as a careless one does */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

static void serve(uint64_t ms)
{
    struct timespec time = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    spin_ms(100);
    while (nanosleep(&time, &time) && errno == EINTR)
        ;
    _exit(0);
}

int main(int argc, char **argv)
{
    uint64_t ms = number_argument(argc, argv, 1, 2000);
    int is_quiet = strcmp(word_argument(argc, argv, 2, "quiet"), "keeps");
    pid_t pid = fork();
    if (pid < 0)
        unprepared("fork");
    if (!pid) {
        setsid();
        if (fork())
            _exit(0);
        if (is_quiet) {
            int file = open("/dev/null", O_RDWR);
            for (int i = 0; i < 3; i++)
                dup2(file, i);
            closefrom(3);
        }
        serve(ms);
    }
    waitpid(pid, NULL, 0);
    printf("started\n");
    return 0;
}
