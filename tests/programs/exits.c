/* exits CASE: burns 30 ms in two threads and ends in the way that CASE names.
 *
 * return 3, exit 4, _exit 5, quick_exit 6, syscall 7 (exit_group), thread 8 (exit in a thread), thread_syscall 9,
 * pthread_exit 0 (main leaves, the other thread ends the process), main_exit_syscall 0 (the same by a bare SYS_exit),
 * abort, kill (SIGKILL), term, hang_up (all by signal), exec_fails 11 (exec of a missing file, then exit) */
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

static const char *how;

static void at_end(void)
{
    spin_ms(5);
    printf("at end\n");
}

static void *beside(void *unused)
{
    spin_ms(30);
    if (!strcmp(how, "thread"))
        exit(8);
    if (!strcmp(how, "thread_syscall"))
        syscall(SYS_exit_group, 9);
    if (!strcmp(how, "pthread_exit") || !strcmp(how, "main_exit_syscall"))
        spin_ms(60); /* main is gone by then */
    return unused;
}

static void leave(void)
{
    if (!strcmp(how, "exit"))
        exit(4);
    if (!strcmp(how, "_exit"))
        _exit(5);
    if (!strcmp(how, "quick_exit"))
        quick_exit(6);
    if (!strcmp(how, "syscall"))
        syscall(SYS_exit_group, 7);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    if (!strcmp(how, "term"))
        kill(getpid(), SIGTERM);
    if (!strcmp(how, "hang_up"))
        pthread_kill(pthread_self(), SIGHUP);
    if (!strcmp(how, "pthread_exit"))
        pthread_exit(NULL);
    if (!strcmp(how, "main_exit_syscall"))
        syscall(SYS_exit, 0);
    if (!strcmp(how, "exec_fails")) {
        execl("/nonexistent/program", "program", (char *)NULL);
        spin_ms(30);
        exit(errno == ENOENT ? 11 : EXIT_UNPREPARED);
    }
}

int main(int argc, char **argv)
{
    how = word_argument(argc, argv, 1, "return");
    atexit(at_end);
    printf("started\n");
    fflush(stdout);
    pthread_t thread;
    if (pthread_create(&thread, NULL, beside, NULL))
        unprepared("pthread_create");
    spin_ms(30);
    if (!strncmp(how, "thread", 6))
        pthread_join(thread, NULL);
    leave();
    if (strcmp(how, "return"))
        return EXIT_UNPREPARED;
    pthread_join(thread, NULL);
    return 3;
}
