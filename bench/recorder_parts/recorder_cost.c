/* What the recorder costs: each mode prints lines NAME VALUE. bench/recorder compiles and runs it.
 *
 *   recorder_cost MODE FILE.lam COUNT [THREADS, of sums and switches: NANOSECONDS]
 *
 * All loops have the same shape; figures are nanoseconds for one round: of the monotonic clock, and (cpu_ns) of the CPU clocks of the
 * threads, which say more on a machine that is busy. */
#include <lamella/lamella.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct lam_kind kind;
static struct lam_label label;
static uint64_t rounds;
static const char *file;

static double read_ns(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return (uint64_t)now_ns();
#endif
}

/* ---- loops ---- */

/* Two time stamps and a store of 16 bytes, to memory that is in the cache and stays. */
static void loop_floor(uint64_t count)
{
    static _Thread_local uint64_t ring[2 * 16384];
    uint64_t at = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t start = ticks();
        uint64_t end = ticks();
        ((volatile uint64_t *)ring)[at] = start;
        ((volatile uint64_t *)ring)[at + 1] = end;
        at = (at + 2) % (2 * 16384);
    }
}

static void loop_interval(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct lam_handle handle = lam_begin(LAM_DEFAULT, kind, label);
        __asm__ volatile("" ::: "memory");
        lam_end(LAM_DEFAULT, handle);
    }
}

static void loop_scope(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        LAM_SCOPE("scope");
        __asm__ volatile("" ::: "memory");
    }
}

static void loop_empty(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        __asm__ volatile("" ::: "memory");
}

static void loop_instant(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        lam_instant(LAM_DEFAULT, kind, label);
}

static void loop_args(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct lam_arg arg = {{0}, LAM_ARG_U64, {i}, NULL};
        lam_end(LAM_DEFAULT, lam_begin_args(LAM_DEFAULT, kind, label, &arg, 1));
    }
}

/* Eight functions, four deep: what an interpreter does. */
static void loop_calls(uint64_t count)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct lam_label labels[8];
    for (int i = 0; i < 8; i++)
        labels[i] = lam_label_intern(LAM_DEFAULT, names[i], 1);
    for (uint64_t i = 0; i < count; i += 4) {
        uint64_t pick = i >> 2;
        lam_call_enter(LAM_DEFAULT, labels[pick & 1]);
        lam_call_enter(LAM_DEFAULT, labels[2 + (pick >> 1 & 1)]);
        lam_call_enter(LAM_DEFAULT, labels[4]);
        lam_call_exit(LAM_DEFAULT, labels[4]);
        lam_call_exit(LAM_DEFAULT, labels[2 + (pick >> 1 & 1)]);
        lam_call_enter(LAM_DEFAULT, labels[5 + pick % 3]);
        lam_call_exit(LAM_DEFAULT, labels[5 + pick % 3]);
        lam_call_exit(LAM_DEFAULT, labels[pick & 1]);
    }
}

/* ---- modes ---- */

static void open_with(const char *text)
{
    struct lam_options options;
    lam_options_init(&options);
    if (lam_options_parse(&options, text) < 0)
        exit(2);
    options.path = file;
    int rc = lam_open(&options);
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", file, lam_error_text(rc));
        exit(1);
    }
    kind = lam_kind_intern(LAM_DEFAULT, "Bench");
    label = lam_label_intern(LAM_DEFAULT, "interval", 8);
}

struct worker {
    pthread_t thread;
    void (*loop)(uint64_t);
    double cpu_ns;
};

static pthread_barrier_t ready;

static void *work(void *arg)
{
    struct worker *worker = arg;
    worker->loop(rounds / 100);
    pthread_barrier_wait(&ready);
    double start = read_ns(CLOCK_THREAD_CPUTIME_ID);
    worker->loop(rounds);
    worker->cpu_ns = read_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    return NULL;
}

/* Best of three for one thread; for several, all of them together. */
static void measure(const char *name, void (*loop)(uint64_t), int threads)
{
    double best = 1e300, best_cpu = 1e300;
    for (int run = 0; run < (threads > 1 ? 1 : 3); run++) {
        struct worker workers[64];
        pthread_barrier_init(&ready, NULL, (unsigned)threads + 1);
        for (int i = 0; i < threads; i++) {
            workers[i].loop = loop;
            pthread_create(&workers[i].thread, NULL, work, &workers[i]);
        }
        pthread_barrier_wait(&ready);
        double start = now_ns();
        double cpu = 0;
        for (int i = 0; i < threads; i++) {
            pthread_join(workers[i].thread, NULL);
            cpu += workers[i].cpu_ns / ((double)rounds * threads);
        }
        double ns = (now_ns() - start) / ((double)rounds * threads);
        pthread_barrier_destroy(&ready);
        best = ns < best ? ns : best;
        best_cpu = cpu < best_cpu ? cpu : best_cpu;
    }
    printf("%s_ns %.3f\n%s_cpu_ns %.3f\n", name, best, name, best_cpu);
}

/* VmHWM: ru_maxrss would be that of whoever started us, when that was more. */
static long peak_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    if (status)
        fclose(status);
    return kib;
}

static void print_file(uint64_t events)
{
    struct lam_stats stats = {.size = sizeof stats};
    lam_recorder_stats(LAM_DEFAULT, &stats);
    printf("file_bytes %llu\n", (unsigned long long)stats.file_bytes);
    printf("bytes_each %.3f\n", (double)stats.file_bytes / (double)events);
    printf("lost %llu\n", (unsigned long long)stats.lost_events);
    printf("peak_kib %ld\n", peak_kib());
}

static void mode_names(void)
{
    open_with("");
    struct lam_space space = lam_space_create(LAM_DEFAULT);
    struct lam_name *names = calloc(rounds, sizeof *names);
    char *texts = malloc(rounds * 40);
    for (uint64_t i = 0; i < rounds; i++) {
        int length = snprintf(texts + i * 40, 40, "core::slice::index[%llu]", (unsigned long long)i);
        names[i] = (struct lam_name){(uint32_t)i, (uint32_t)length, texts + i * 40};
    }
    struct lam_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    lam_recorder_stats(LAM_DEFAULT, &before);
    double start = now_ns();
    lam_name_ids(LAM_DEFAULT, space, names, rounds);
    printf("names_ns %.3f\n", (now_ns() - start) / (double)rounds);
    lam_recorder_stats(LAM_DEFAULT, &after);
    uint64_t text = 0;
    for (uint64_t i = 0; i < rounds; i++)
        text += names[i].text_bytes;
    printf("names_bytes %.3f\n", (double)(after.file_bytes - before.file_bytes) / (double)rounds);
    printf("names_text_bytes %.3f\n", (double)text / (double)rounds);
}

static void mode_labels(void)
{
    open_with("");
    char name[40];
    double start = now_ns();
    for (uint64_t i = 0; i < rounds; i++)
        lam_label_intern(LAM_DEFAULT, name,
                         (size_t)snprintf(name, sizeof name, "label %llu", (unsigned long long)i));
    printf("label_new_ns %.3f\n", (now_ns() - start) / (double)rounds);
    start = now_ns();
    for (uint64_t i = 0; i < rounds; i++)
        lam_label_intern(LAM_DEFAULT, name,
                         (size_t)snprintf(name, sizeof name, "label %llu", (unsigned long long)i));
    printf("label_known_ns %.3f\n", (now_ns() - start) / (double)rounds);
}

static void *one_scope(void *arg)
{
    LAM_SCOPE("thread");
    return arg;
}

static void mode_threads(void)
{
    open_with("");
    double start = now_ns();
    for (uint64_t i = 0; i < rounds; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, one_scope, NULL);
        pthread_join(thread, NULL);
    }
    printf("thread_ns %.1f\n", (now_ns() - start) / (double)rounds);
}

/* How near a policy's totals come: five functions of other lengths each, some of which call others, timed by this program
 * itself at the same time. Their lengths vary from call to call, as those of real functions do. */
enum { TIMED = 5 };
static struct lam_label timed_labels[TIMED];
static uint64_t timed_ticks[TIMED];
static uint64_t random_state = 88172645463325252u;

static void timed_call(int function)
{
    uint64_t start = ticks();
    lam_call_enter(LAM_DEFAULT, timed_labels[function]);
    random_state ^= random_state << 13, random_state ^= random_state >> 7,
        random_state ^= random_state << 17;
    for (uint64_t i = 0, turns = 4000u * (unsigned)(function + 1) + random_state % 20000; i < turns;
         i++)
        __asm__ volatile("" ::: "memory");
    if (function > 1)
        timed_call(function - 2);
    lam_call_exit(LAM_DEFAULT, timed_labels[function]);
    timed_ticks[function] += ticks() - start;
}

static void mode_totals(void)
{
    static const char *const names[TIMED] = {"t0", "t1", "t2", "t3", "t4"};
    for (int i = 0; i < TIMED; i++)
        timed_labels[i] = lam_label_intern(LAM_DEFAULT, names[i], 2);
    double start_ns = now_ns();
    uint64_t start = ticks();
    for (uint64_t i = 0; i < rounds; i++)
        timed_call((int)(i % TIMED));
    double tick_ns = (now_ns() - start_ns) / (double)(ticks() - start);
    for (int i = 0; i < TIMED; i++)
        printf("%s %.0f\n", names[i], (double)timed_ticks[i] * tick_ns);
}

/* Do self times add up to the time that passed? Calls of one length, a third of which make two more. */
static uint64_t spin_turns;

static void spin(void)
{
    for (uint64_t i = 0; i < spin_turns; i++)
        __asm__ volatile("" ::: "memory");
}

/* Spins for so long: by the best of some tries, before which the processor may have been slower. */
static void set_spin(uint64_t length_ns)
{
    double best = 1e300;
    for (int run = 0; run < 5; run++) {
        spin_turns = 2000000;
        double start = now_ns();
        spin();
        double turn_ns = (now_ns() - start) / (double)spin_turns;
        best = turn_ns < best ? turn_ns : best;
    }
    spin_turns = (uint64_t)((double)length_ns / best);
}

static void short_call(struct lam_label label_of_call)
{
    lam_call_enter(LAM_DEFAULT, label_of_call);
    spin();
    lam_call_exit(LAM_DEFAULT, label_of_call);
}

/* with_switches: one of the inner calls is another track's. */
static void mode_sums(uint64_t length_ns, int with_switches)
{
    struct lam_label outer = lam_label_intern(LAM_DEFAULT, "outer", 5);
    struct lam_label inner = lam_label_intern(LAM_DEFAULT, "inner", 5);
    struct lam_track own = {0}, other = {0};
    if (with_switches) {
        own = lam_track_create(LAM_DEFAULT, outer);
        other = lam_track_create(LAM_DEFAULT, inner);
        lam_track_switch(LAM_DEFAULT, own);
    }
    set_spin(length_ns);
    double start = now_ns(), start_cpu = read_ns(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < rounds / 3; i++) {
        lam_call_enter(LAM_DEFAULT, outer);
        spin();
        short_call(inner);
        if (with_switches)
            lam_track_switch(LAM_DEFAULT, other);
        short_call(inner);
        if (with_switches)
            lam_track_switch(LAM_DEFAULT, own);
        lam_call_exit(LAM_DEFAULT, outer);
    }
    printf("passed_cpu_ns %.0f\n", read_ns(CLOCK_THREAD_CPUTIME_ID) - start_cpu);
    printf("passed_ns %.0f\n", now_ns() - start);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    const char *mode = argv[1];
    file = argv[2];
    rounds = strtoull(argv[3], NULL, 10);
    int threads = argc > 4 ? atoi(argv[4]) : 1;
    if (strcmp(mode, "floor") == 0) {
        measure("floor", loop_floor, threads);
    } else if (strcmp(mode, "off") == 0) {
        measure("empty", loop_empty, 1);
        measure("off", loop_scope, 1);
    } else if (strcmp(mode, "names") == 0) {
        mode_names();
    } else if (strcmp(mode, "labels") == 0) {
        mode_labels();
    } else if (strcmp(mode, "threads") == 0) {
        mode_threads();
        print_file(rounds);
    } else if (strncmp(mode, "calls=", 6) == 0) {
        open_with(mode);
        double start = now_ns();
        loop_calls(rounds);
        printf("calls_ns %.3f\n", (now_ns() - start) / (double)rounds);
        print_file(rounds);
    } else if (strncmp(mode, "totals:", 7) == 0) {
        open_with(mode + 7);
        mode_totals();
    } else if (strncmp(mode, "sums:", 5) == 0) {
        open_with(mode + 5);
        mode_sums((uint64_t)threads, 0);
    } else if (strncmp(mode, "switches:", 9) == 0) {
        open_with(mode + 9);
        mode_sums((uint64_t)threads, 1);
    } else {
        open_with("");
        if (strcmp(mode, "interval") == 0)
            measure("interval", loop_interval, threads);
        else if (strcmp(mode, "scope") == 0)
            measure("scope", loop_scope, threads);
        else if (strcmp(mode, "instant") == 0)
            measure("instant", loop_instant, threads);
        else if (strcmp(mode, "args") == 0)
            measure("args", loop_args, threads);
        else
            return 2;
        print_file((uint64_t)((double)rounds * 1.01 * threads) * (threads > 1 ? 1 : 3));
    }
    return 0;
}
