/* by_clock_test.h: for tests of recorded calls: by a clock of the test's own, so that figures can be told beforehand. */
#ifndef LAMELLA_RECORDER_BY_CLOCK_TEST_H
#define LAMELLA_RECORDER_BY_CLOCK_TEST_H

#include "lamella/lamella.h"
#include "recorder/recording_test.h"

#include <sys/resource.h>
#include <time.h>

static uint64_t fake_ns, clock_reads;
static uint64_t reading_takes;      /* each reading, of the time */
static uint64_t not_run_ns, waited; /* of the time, in all; how often by the thread's own doing */

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    uint64_t ns = clock == CLOCK_THREAD_CPUTIME_ID ? fake_ns - not_run_ns : fake_ns;
    clock_reads++;
    ts->tv_sec = (time_t)(ns / 1000000000u);
    ts->tv_nsec = (long)(ns % 1000000000u);
    fake_ns += reading_takes;
    return 0;
}

int getrusage(__rusage_who_t who, struct rusage *usage)
{
    (void)who;
    *usage = (struct rusage){.ru_nvcsw = (long)waited};
    return 0;
}

/* With options as LAMELLA_OPTIONS has them. */
static inline void begin_by_clock(const char *text)
{
    char whole[256];
    snprintf(whole, sizeof whole, "clock=monotonic%s%s", *text ? "," : "", text);
    begin_with(whole);
}

static inline void enter(const char *name, uint64_t after)
{
    fake_ns += after;
    lam_call_enter(LAM_DEFAULT, label(name));
}

static inline void leave(const char *name, uint64_t after)
{
    fake_ns += after;
    lam_call_exit(LAM_DEFAULT, label(name));
}

#endif
