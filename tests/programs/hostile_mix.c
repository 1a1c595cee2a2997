/* hostile_mix [MS] [WORKER ...]: threads that keep busy for MS (1000) inside what a signal handler must not touch.
 *
 * dlopen, phdr, malloc, unwind (forced, by cancellation) and threads; all of them when none is named. Every thread must
 * have done something at the end. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "spin.h"

static uint64_t end_ns;

static int is_time_left(void)
{
    return clock_ns(CLOCK_MONOTONIC) < end_ns;
}

static void *loop_dlopen(void *rounds)
{
    while (is_time_left()) {
        void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
        if (!library)
            return NULL;
        double (*cosine)(double) = (double (*)(double))dlsym(library, "cos");
        for (int i = 0; i < 2000 && cosine; i++)
            cosine(i);
        dlclose(library);
        ++*(unsigned long *)rounds;
    }
    return NULL;
}

static int see_module(struct dl_phdr_info *info, size_t size, void *sum)
{
    (void)size;
    *(unsigned long *)sum += info->dlpi_phnum;
    return 0;
}

static void *loop_phdr(void *rounds)
{
    unsigned long sum = 0;
    while (is_time_left()) {
        for (int i = 0; i < 100; i++)
            dl_iterate_phdr(see_module, &sum);
        ++*(unsigned long *)rounds;
    }
    return sum ? NULL : rounds;
}

static void *loop_malloc(void *rounds)
{
    void *kept[64] = {NULL};
    uint32_t state = 1;
    while (is_time_left()) {
        for (int i = 0; i < 200; i++) {
            state = state * 1664525 + 1013904223;
            void **slot = &kept[state >> 26];
            free(*slot);
            *slot = malloc(state % 200000);
            if (*slot)
                memset(*slot, 1, state % 200000 ? 1 : 0);
        }
        ++*(unsigned long *)rounds;
    }
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    return NULL;
}

static void count_cleanup(void *count)
{
    ++*(unsigned long *)count;
}

/* Behind a pointer, since the compiler would else see that the recursion below never returns. */
static void (*volatile leave_thread)(void *) = pthread_exit;

__attribute__((noinline)) void leave_from_below(int depth, unsigned long *count)
{
    pthread_cleanup_push(count_cleanup, count);
    if (depth)
        leave_from_below(depth - 1, count);
    else
        leave_thread(NULL); /* unwinds all frames, as a thrown exception would */
    pthread_cleanup_pop(0);
}

static void *unwound(void *count)
{
    leave_from_below(40, count);
    return NULL;
}

static void *loop_unwind(void *rounds)
{
    while (is_time_left()) {
        pthread_t thread;
        unsigned long count = 0;
        if (pthread_create(&thread, NULL, unwound, &count))
            break;
        pthread_join(thread, NULL);
        *(unsigned long *)rounds += count == 41;
    }
    return NULL;
}

static void *nothing(void *unused)
{
    return unused;
}

static void *loop_threads(void *rounds)
{
    while (is_time_left()) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, nothing, NULL))
            break;
        pthread_join(thread, NULL);
        ++*(unsigned long *)rounds;
    }
    return NULL;
}

static const struct {
    const char *name;
    void *(*loop)(void *rounds);
} workers[] = {
    {"dlopen", loop_dlopen}, {"phdr", loop_phdr},       {"malloc", loop_malloc},
    {"unwind", loop_unwind}, {"threads", loop_threads},
};
#define WORKER_COUNT (sizeof workers / sizeof *workers)

static int is_wanted(int argc, char **argv, const char *name)
{
    for (int i = 2; i < argc; i++)
        if (!strcmp(argv[i], name))
            return 1;
    return argc <= 2;
}

int main(int argc, char **argv)
{
    pthread_t threads[WORKER_COUNT];
    unsigned long rounds[WORKER_COUNT] = {0};
    uint64_t ms = number_argument(argc, argv, 1, 1000);
    end_ns = clock_ns(CLOCK_MONOTONIC) + ms * 1000000;
    alarm((unsigned)(ms / 1000 * 2 + 15)); /* a deadlock ends by SIGALRM */
    for (size_t i = 0; i < WORKER_COUNT; i++)
        if (is_wanted(argc, argv, workers[i].name) &&
            pthread_create(&threads[i], NULL, workers[i].loop, &rounds[i]))
            unprepared("pthread_create");
    int idle = 0;
    for (size_t i = 0; i < WORKER_COUNT; i++)
        if (is_wanted(argc, argv, workers[i].name)) {
            pthread_join(threads[i], NULL);
            printf("%s worked=%d\n", workers[i].name, rounds[i] > 0);
            idle += rounds[i] == 0;
        }
    return idle;
}
