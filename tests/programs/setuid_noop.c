/* setuid_noop [UID]: calls that touch the process's identity between two stretches of work; as root it becomes UID at last. */
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "spin.h"

static void *beside(void *unused)
{
    spin_ms(80);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, beside,
                       NULL)) /* libc tells the change to each thread by a signal of its own */
        unprepared("pthread_create");
    spin_ms(20);
    int failed = setuid(getuid()) + setgid(getgid()) + setresuid(-1, getuid(), -1) +
                 setresgid(-1, getgid(), -1);
    spin_ms(20);
    failed += prctl(PR_SET_DUMPABLE, 0);
    spin_ms(20);
    unsigned long uid = number_argument(argc, argv, 1, getuid());
    failed += setuid((uid_t)uid);
    spin_ms(40);
    pthread_join(thread, NULL);
    printf("failed=%d changed=%d\n", failed, getuid() == uid && geteuid() == uid);
    return failed != 0;
}
