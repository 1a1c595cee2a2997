/* by hand: gcc -g -fsanitize=thread SOURCE -o OUTPUT */
/* Two threads and an interceptor for nearly every function that a sampler wraps as well. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void *work(void *unused)
{
    for (long i = 0; i < 200000; i++) {
        pthread_mutex_lock(&mutex);
        sum += i;
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    signal(SIGPROF, SIG_DFL);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("tsan: %ld\n", sum);
    return 0;
}
