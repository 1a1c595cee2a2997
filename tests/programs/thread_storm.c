/* thread_storm [COUNT] [in-turn|at-once]: COUNT (2000) threads of 1 ms each, 16 at a time or all at the same time. */
#include <pthread.h>

#include "spin.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned long started;
static unsigned long finished;
static unsigned long wanted;
static int at_once;

static void *work(void *unused)
{
    pthread_mutex_lock(&mutex);
    started++;
    pthread_cond_broadcast(&changed);
    while (at_once && started < wanted)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    spin_ms(1);
    pthread_mutex_lock(&mutex);
    finished++;
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(int argc, char **argv)
{
    wanted = number_argument(argc, argv, 1, 2000);
    at_once = !strcmp(word_argument(argc, argv, 2, "in-turn"), "at-once");
    unsigned long batch = at_once ? wanted : 16;
    pthread_t *threads = calloc(batch, sizeof *threads);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    for (unsigned long done = 0; done < wanted; done += batch) {
        unsigned long now = wanted - done < batch ? wanted - done : batch;
        for (unsigned long i = 0; i < now; i++)
            if (pthread_create(&threads[i], &attributes, work, NULL))
                unprepared("pthread_create");
        for (unsigned long i = 0; i < now; i++)
            pthread_join(threads[i], NULL);
    }
    printf("threads=%lu\n", finished);
    free(threads);
    return finished != wanted;
}
