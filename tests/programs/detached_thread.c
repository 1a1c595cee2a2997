/* detached_thread [COUNT]: COUNT (8) detached threads burn 20 ms each; main ends while one more is still at work. */
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include "spin.h"

static sem_t done;

static void *work(void *unused)
{
    spin_ms(20);
    sem_post(&done);
    return unused;
}

static int work_c11(void *unused)
{
    (void)unused;
    spin_ms(20);
    return 5;
}

static void *work_for_ever(void *unused)
{
    for (;;)
        spin_ms(10);
    return unused;
}

int main(int argc, char **argv)
{
    unsigned long count = number_argument(argc, argv, 1, 8);
    pthread_attr_t attributes;
    pthread_t thread;
    thrd_t other;
    int code = 0;
    sem_init(&done, 0, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (unsigned long i = 0; i < count; i++)
        if (pthread_create(&thread, &attributes, work, NULL))
            unprepared("pthread_create");
    if (pthread_create(&thread, &attributes, work_for_ever, NULL) ||
        thrd_create(&other, work_c11, NULL) != thrd_success)
        unprepared("thrd_create");
    thrd_join(other, &code);
    for (unsigned long i = 0; i < count; i++)
        while (sem_wait(&done))
            ;
    printf("threads=%lu c11=%d\n", count, code);
    return 0;
}
