/* Two LTTng-UST events for one interval, since it has no other: lttng_cost COUNT THREADS, in a session that bench/recorder sets
 * up. Without the session it is what a disabled tracepoint costs. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_cost.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned long count;

static void *run(void *arg)
{
    for (unsigned long i = 0; i < count; i++) {
        lttng_ust_tracepoint(lamella_cost, begin, 7);
        lttng_ust_tracepoint(lamella_cost, end);
    }
    return arg;
}

static double now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    count = strtoul(argv[1], NULL, 10);
    int threads = atoi(argv[2]);
    pthread_t workers[64];
    double start = now_ns();
    for (int i = 0; i < threads; i++)
        pthread_create(&workers[i], NULL, run, NULL);
    for (int i = 0; i < threads; i++)
        pthread_join(workers[i], NULL);
    printf("interval_ns %.3f\n", (now_ns() - start) / (double)count / threads);
    return 0;
}
