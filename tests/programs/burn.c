/* burn [MS] [THREADS]: uses MS milliseconds of CPU (200) in each of THREADS threads (1); prints nothing. */
#include <pthread.h>

#include "spin.h"

static uint64_t ms;

__attribute__((noinline)) void burn(void)
{
    spin_ms(ms);
    __asm__ volatile(""); /* no tail call: burn stays on the stack */
}

static void *burn_thread(void *unused)
{
    burn();
    return unused;
}

int main(int argc, char **argv)
{
    ms = number_argument(argc, argv, 1, 200);
    unsigned long count = number_argument(argc, argv, 2, 1);
    pthread_t threads[256];
    if (count < 1 || count > 257)
        return EXIT_UNPREPARED;
    for (unsigned long i = 1; i < count; i++)
        if (pthread_create(&threads[i - 1], NULL, burn_thread, NULL))
            unprepared("pthread_create");
    burn();
    for (unsigned long i = 1; i < count; i++)
        pthread_join(threads[i - 1], NULL);
    return 0;
}
