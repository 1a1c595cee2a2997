/* ctest: TIMEOUT 120 */
/* Handlers that unwind at a high rate in threads that load and unload libraries, walk the loader's list, allocate, unwind
 * by themselves and come and go. Nothing may crash or hang, and the stacks reach their roots. */
#include "unwind/find_object.h"
#include "unwind/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { MAX_FRAMES = 256, WATCHDOG_S = 60, INTERVAL_NS = 250000 };

struct worker {
    const char *name;
    void (*work)(void);
    bool by_snapshot;
    pthread_t thread;
    _Atomic uint64_t rounds, samples, roots, frames, guessed, ends[UNWIND_END_COUNT];
    struct unwind_scratch scratch;
    struct unwind_space space;
    uint64_t stack[MAX_FRAMES];
};

static struct unwind_finder finder;
static struct unwind_snapshot snapshot;
static struct rule_entry entries[1 << 12] __attribute__((aligned(64)));
static const struct rule_cache cache = {entries, 12}; /* shared by all threads */
static _Atomic uint32_t generation;
static _Atomic bool stop;
static _Thread_local struct worker *self;
static _Thread_local volatile int sink;

static void on_sample(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    struct worker *worker = self;
    struct unwind_result result;
    if (!worker)
        return;
    int error = errno;
    unwind_regs_from_ucontext(&worker->scratch.top, context);
    enum unwind_end end =
        unwind_stack(&worker->space, &worker->scratch.top, worker->stack, MAX_FRAMES, &result);
    worker->samples++;
    worker->roots += end == UNWIND_ROOT;
    worker->frames += result.depth;
    worker->guessed += result.guessed;
    worker->ends[end]++;
    errno = error;
}

/* --- what the threads do --- */

static void loads(void)
{
    static const char *const names[] = {"libBrokenLocale.so.1", "libanl.so.1", "libnsl.so.1",
                                        "libmvec.so.1", "libresolv.so.2"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!library)
            continue;
        unwind_snapshot_refresh(&snapshot);
        sink += dlsym(library, "_fini") != NULL;
        atomic_fetch_add_explicit(&generation, 1, memory_order_release);
        dlclose(library);
        unwind_snapshot_refresh(&snapshot);
    }
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)arg;
    return (int)(info->dlpi_phnum + size) < 0;
}

static void lists(void)
{
    for (int i = 0; i < 100; i++)
        sink += dl_iterate_phdr(look, NULL);
}

static void allocates(void)
{
    static const size_t sizes[] = {1, 24, 200, 4000, 70000, 200000};
    for (unsigned i = 0; i < 60; i++) {
        char *block = malloc(sizes[i % 6]);
        if (!block)
            continue;
        block[0] = (char)i;
        sink += block[0];
        free(block);
    }
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void sorts(void)
{
    int numbers[200];
    for (int i = 0; i < 200; i++)
        numbers[i] = (i * 7919) % 1009;
    qsort(numbers, 200, sizeof *numbers, compare);
    sink += numbers[7];
}

static void cleanup(void *arg)
{
    sink += arg != NULL;
}

static __attribute__((noinline)) void leave_from_deep(int n)
{
    pthread_cleanup_push(cleanup, NULL);
    if (n > 0)
        leave_from_deep(n - 1);
    else if (sink != INT_MIN)
        pthread_exit(NULL); /* unwinds the stack, as a throw does */
    pthread_cleanup_pop(0);
}

/* Samples for the calling thread. */
static timer_t arm(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    struct itimerspec spec = {{0, INTERVAL_NS}, {0, INTERVAL_NS}};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        abort();
    timer_settime(timer, 0, &spec, NULL);
    return timer;
}

static void disarm(void *timer)
{
    timer_delete(*(timer_t *)timer);
}

static void *short_life(void *arg)
{
    self = arg; /* its samples count for its parent, which waits meanwhile and takes none */
    timer_t timer = arm();
    pthread_cleanup_push(disarm, &timer);
    for (int i = 0; i < 10; i++)
        sorts();
    leave_from_deep(100);
    pthread_cleanup_pop(1);
    return NULL;
}

static void spawns(void)
{
    pthread_t thread;
    struct worker *mine = self;
    self = NULL;
    if (pthread_create(&thread, NULL, short_life, mine) == 0)
        pthread_join(thread, NULL);
    self = mine;
    sorts();
}

static struct worker workers[] = {
    {.name = "dlopen, dlclose", .work = loads},
    {.name = "by snapshot", .work = loads, .by_snapshot = true},
    {.name = "dl_iterate_phdr", .work = lists},
    {.name = "malloc, free", .work = allocates},
    {.name = "qsort by snapshot", .work = sorts, .by_snapshot = true},
    {.name = "pthread_exit", .work = spawns},
};
enum { WORKERS = sizeof workers / sizeof *workers, CPU_LEAST_S = 3 };

static void *run(void *arg)
{
    self = arg;
    unwind_space_self(&self->space, &self->scratch,
                      self->by_snapshot ? unwind_snapshot_find : unwind_finder_find,
                      self->by_snapshot ? (void *)&snapshot : (void *)&finder);
    self->space.cache = &cache;
    self->space.generation = &generation;
    timer_t timer = arm();
    while (!stop) {
        self->work();
        self->rounds++;
    }
    timer_delete(timer);
    self = NULL;
    return NULL;
}

/* On a busy machine the time that was given holds too little work for a single sample of each: then it goes on, up to half of
 * what the watchdog allows. */
static void wait_for_work(time_t seconds)
{
    struct timespec left = {seconds, 0}, used;
    while (nanosleep(&left, &left) != 0) {
    }
    for (unsigned waited_ms = 0; waited_ms < WATCHDOG_S * 500; waited_ms += 100) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        if (used.tv_sec >= CPU_LEAST_S)
            return;
        struct timespec pause = {0, 100000000};
        nanosleep(&pause, NULL);
    }
}

static void all_at_once(void **state)
{
    (void)state;
    const char *seconds = getenv("LAMELLA_STRESS_S");
    signal(SIGALRM, SIG_DFL);
    signal(SIGSEGV, SIG_DFL); /* the runner would try to go on, in another thread than it thinks */
    alarm(WATCHDOG_S);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run, &workers[i]), 0);
    wait_for_work(seconds ? strtol(seconds, NULL, 10) : 3);
    stop = true;
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    alarm(0);
    for (unsigned i = 0; i < WORKERS; i++) {
        struct worker *worker = &workers[i];
        printf("%-18s %7llu rounds, %6llu samples, %6llu to the root, %5.1f frames a sample, "
               "guessed %llu",
               worker->name, (unsigned long long)worker->rounds,
               (unsigned long long)worker->samples, (unsigned long long)worker->roots,
               worker->samples ? (double)worker->frames / (double)worker->samples : 0.0,
               (unsigned long long)worker->guessed);
        for (unsigned end = 1; end < UNWIND_END_COUNT; end++)
            if (worker->ends[end])
                printf(", %s %llu", unwind_end_name(end), (unsigned long long)worker->ends[end]);
        printf("\n");
        assert_true(worker->rounds > 0 && worker->samples > 20);
#ifdef __SANITIZE_THREAD__
        continue; /* it calls handlers later than the registers it hands them were true */
#endif
        assert_true((double)worker->roots >= 0.99 * (double)worker->samples);
    }
}

/* Its own writers and readers, without signals: a reader sees one list or another, never half of two. */
static _Atomic uint64_t found, not_found;

static void *find_all_the_time(void *arg)
{
    struct unwind_module module;
    uint64_t here = (uint64_t)(uintptr_t)find_all_the_time;
    (void)arg;
    while (!stop) {
        if (unwind_snapshot_find(&snapshot, here, &module) == 0 && module.start <= here &&
            here < module.end && module.hdr_addr != 0)
            found++;
        else
            not_found++;
    }
    return NULL;
}

static void *refresh_all_the_time(void *arg)
{
    (void)arg;
    while (!stop)
        unwind_snapshot_refresh(&snapshot);
    return NULL;
}

static void snapshots_are_whole(void **state)
{
    (void)state;
    pthread_t readers[2], writers[2];
    stop = false;
    for (int i = 0; i < 2; i++) {
        pthread_create(&readers[i], NULL, find_all_the_time, NULL);
        pthread_create(&writers[i], NULL, refresh_all_the_time, NULL);
    }
    struct timespec left = {1, 0};
    nanosleep(&left, NULL);
    stop = true;
    for (int i = 0; i < 2; i++) {
        pthread_join(readers[i], NULL);
        pthread_join(writers[i], NULL);
    }
    printf("%llu found, %llu given up while the list changed\n", (unsigned long long)found,
           (unsigned long long)not_found);
    assert_true(found > 1000 && not_found < found / 10);
}

static void room_for_few(void **state)
{
    (void)state;
    static struct unwind_snapshot small;
    static struct unwind_module modules[2];
    struct unwind_module module;
    unwind_snapshot_init(&small, modules, 1);
    assert_int_equal(unwind_snapshot_find(&small, (uint64_t)(uintptr_t)room_for_few, &module), -1);
    unwind_snapshot_refresh(&small);
    assert_true(small.missed > 0);
    assert_int_equal(unwind_snapshot_find(&small, modules[1].start, &module), 0);
    assert_int_equal(unwind_snapshot_find(&small, modules[1].end, &module), -1);
    assert_int_equal(unwind_snapshot_find(&small, 0, &module), -1);
}

int main(void)
{
    void *memory = calloc(1, unwind_snapshot_bytes(256));
    unwind_snapshot_init(&snapshot, memory, 256);
    unwind_snapshot_refresh(&snapshot);
    unwind_finder_init(&finder, &snapshot);
    struct sigaction action = {.sa_sigaction = on_sample, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGURG, &action, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_at_once),
        cmocka_unit_test(snapshots_are_whole),
        cmocka_unit_test(room_for_few),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(memory);
    return failed;
}
