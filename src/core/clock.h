/* clock.h: raw clocks. All async-signal-safe. */
#ifndef LAMELLA_CORE_CLOCK_H
#define LAMELLA_CORE_CLOCK_H

#include "core/sys.h"

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read_ns(int clock)
{
    struct timespec ts = {0, 0};
    sys_call2(SYS_clock_gettime, clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The invariant counter that user mode can read. No fence: an interval of a few instructions' skew is far below what
 * anybody asks of these figures, and a fence would cost more than the read. */
static inline uint64_t clock_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

/* Ticks of the session's clock: the counter where it is invariant, else nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t clock_ticks(int use_counter)
{
    return use_counter ? clock_counter() : clock_read_ns(CLOCK_MONOTONIC);
}

#endif
