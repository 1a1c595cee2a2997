/* empty_handler [HZ [ROUNDS]]: what an interruption costs that does nothing, for each way of interrupting a thread after so much
 * of its CPU time. Fixed work with and without interruptions, in turns; the difference of the medians, by interruption. One JSON
 * object on stdout; null for a way that is not permitted. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WORK_NS = 40000000, ROUNDS_MAX = 201 };

static volatile sig_atomic_t hits;

/* Signal handler. */
static void count_hit(int sig)
{
    (void)sig;
    hits++;
}

static uint64_t cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void work(uint64_t loops)
{
    for (uint64_t i = 0; i < loops; i++)
        __asm__ volatile("" ::: "memory");
}

/* ---- ways ---- */

static int event = -1;
static timer_t timer;
static uint64_t period_ns;

static int perf_open(int with_sigtrap)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = period_ns,
        .disabled = 1,
    };
#ifdef PERF_ATTR_SIZE_VER7
    if (with_sigtrap) {
        attr.sigtrap = 1;
        attr.remove_on_exec = 1;
    }
#else
    if (with_sigtrap)
        return -1;
#endif
    event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (event < 0) {
        attr.exclude_kernel = 1;
        event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
    return event < 0 ? -1 : 0;
}

static int open_trap(void)
{
    return perf_open(1);
}

static int open_silent(void)
{
    return perf_open(0);
}

static int open_directed(void)
{
    if (perf_open(0) < 0)
        return -1;
    struct {
        int type;
        pid_t pid;
    } owner = {F_OWNER_TID, (pid_t)syscall(SYS_gettid)};
    if (fcntl(event, F_SETFL, O_ASYNC) < 0 || fcntl(event, F_SETSIG, SIGTRAP) < 0 ||
        fcntl(event, F_SETOWN_EX, &owner) < 0)
        return -1;
    return 0;
}

static void switch_event(int on)
{
    ioctl(event, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

static int open_timer(void)
{
    struct sigevent notify = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGTRAP};
    notify._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    return timer_create(CLOCK_THREAD_CPUTIME_ID, &notify, &timer);
}

static void switch_timer(int on)
{
    struct itimerspec spec = {{0, 0}, {0, 0}};
    if (on)
        spec.it_interval.tv_nsec = spec.it_value.tv_nsec = (long)period_ns;
    timer_settime(timer, 0, &spec, NULL);
}

static const struct {
    const char *name;
    int (*open)(void);
    void (*turn)(int on);
    int is_silent;
} ways[] = {
    {"timer_without_signal", open_silent, switch_event, 1},
    {"sigtrap", open_trap, switch_event, 0},
    {"thread_perf", open_directed, switch_event, 0},
    {"cpu_timer", open_timer, switch_timer, 0},
};

/* ---- measuring ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

static double run(uint64_t loops)
{
    uint64_t start = cpu_ns();
    work(loops);
    return (double)(cpu_ns() - start);
}

/* Nanoseconds an interruption; *each_ns is the CPU time from one to the next. */
static double measure(unsigned way, unsigned rounds, uint64_t loops, double *each_ns)
{
    double with[ROUNDS_MAX], without[ROUNDS_MAX];
    double hits_sum = 0;
    for (unsigned i = 0; i < rounds; i++) {
        without[i] = run(loops);
        hits = 0;
        ways[way].turn(1);
        with[i] = run(loops);
        ways[way].turn(0);
        hits_sum += ways[way].is_silent ? with[i] / (double)period_ns : (double)hits;
    }
    double used = median(with, rounds), base = median(without, rounds), count = hits_sum / rounds;
    *each_ns = used / count;
    return (used - base) / count;
}

int main(int argc, char **argv)
{
    unsigned hz = argc > 1 ? (unsigned)atoi(argv[1]) : 4999,
             rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 25;
    if (hz < 1 || hz > 20000 || rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: %s [HZ up to 20000 [ROUNDS up to %d]]\n", argv[0], ROUNDS_MAX);
        return 2;
    }
    period_ns = 1000000000u / hz;
    struct sigaction action = {.sa_handler = count_hit};
    sigaction(SIGTRAP, &action, NULL);
    uint64_t loops = 10000000;
    run(loops); /* the clock speeds up */
    loops = (uint64_t)((double)loops * WORK_NS / run(loops));
    printf("{\"hz\": %u, \"rounds\": %u", hz, rounds);
    for (unsigned way = 0; way < sizeof ways / sizeof *ways; way++) {
        double each_ns;
        if (ways[way].open() < 0) {
            printf(", \"%s\": null", ways[way].name);
        } else {
            double cost = measure(way, rounds, loops, &each_ns);
            printf(", \"%s\": {\"cost_ns\": %.0f, \"interval_ns\": %.0f}", ways[way].name, cost,
                   each_ns);
        }
        if (event >= 0)
            close(event);
        event = -1;
    }
    printf("}\n");
    return 0;
}
