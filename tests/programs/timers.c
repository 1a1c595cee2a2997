/* timers [MS] [count]: the program's own interval timers, all the kinds that end in a signal, while it burns MS (500) for each.
 *
 * A kind is right when at least half of the signals that its period promises have come, and no more than it promises
 * and a tenth. `count` prints the hits on stderr. */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "spin.h"

#define PERIOD_MS 20

static volatile sig_atomic_t hits;

static void count(int number)
{
    (void)number;
    hits++;
}

static int by_itimer(int which, int is_on)
{
    long period_us = is_on ? PERIOD_MS * 1000 : 0;
    struct itimerval value = {.it_interval = {.tv_usec = period_us},
                              .it_value = {.tv_usec = period_us}};
    return setitimer(which, &value, NULL);
}

static int by_timer(clockid_t clock, int is_on)
{
    static timer_t timer;
    if (!is_on)
        return timer_delete(timer);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    struct itimerspec value = {.it_interval = {.tv_nsec = PERIOD_MS * 1000000},
                               .it_value = {.tv_nsec = PERIOD_MS * 1000000}};
    return timer_create(clock, &event, &timer) || timer_settime(timer, 0, &value, NULL);
}

static int profile_timer(int is_on)
{
    return by_itimer(ITIMER_PROF, is_on);
}

static int virtual_timer(int is_on)
{
    return by_itimer(ITIMER_VIRTUAL, is_on);
}

static int real_timer(int is_on)
{
    return by_itimer(ITIMER_REAL, is_on);
}

static int process_timer(int is_on)
{
    return by_timer(CLOCK_PROCESS_CPUTIME_ID, is_on);
}

static int thread_timer(int is_on)
{
    return by_timer(CLOCK_THREAD_CPUTIME_ID, is_on);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*set)(int is_on);
        clockid_t clock;
    } kinds[] = {
        {"prof", profile_timer, CLOCK_PROCESS_CPUTIME_ID},
        {"virtual", virtual_timer, CLOCK_PROCESS_CPUTIME_ID},
        {"real", real_timer, CLOCK_MONOTONIC},
        {"process-cpu", process_timer, CLOCK_PROCESS_CPUTIME_ID},
        {"thread-cpu", thread_timer, CLOCK_THREAD_CPUTIME_ID},
    };
    uint64_t ms = number_argument(argc, argv, 1, 500);
    int is_counting = !strcmp(word_argument(argc, argv, 2, ""), "count");
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    sigaction(SIGVTALRM, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    int wrong = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        hits = 0;
        uint64_t start = clock_ns(kinds[i].clock);
        if (kinds[i].set(1))
            unprepared(kinds[i].name);
        spin_ms(ms);
        kinds[i].set(0);
        uint64_t promised = (clock_ns(kinds[i].clock) - start) / (PERIOD_MS * 1000000u);
        int is_right =
            (uint64_t)hits * 2 >= promised && (uint64_t)hits <= promised + promised / 10 + 1;
        if (is_counting)
            fprintf(stderr, "%s hits=%d promised=%llu\n", kinds[i].name, (int)hits,
                    (unsigned long long)promised);
        printf("%s right=%d\n", kinds[i].name, is_right);
        wrong += !is_right;
    }
    return wrong;
}
