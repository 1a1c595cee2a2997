/* The session's clock as the launcher reads it: the same ticks as the agents', whose reading code lives in other processes
 * and is not linked here. */
#ifndef LAMELLA_SESSION_SESSION_CLOCK_H
#define LAMELLA_SESSION_SESSION_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct clock_reading { /* three clocks, read together */
    uint64_t ticks;
    uint64_t mono_ns;
    uint64_t wall_ns; /* since 1970 */
};

/* Whether the processor's counter runs at one rate, in all states and on all cores, and the kernel trusts it. */
bool session_tsc_usable(void);

uint64_t session_mono_ns(void);
uint64_t session_thread_cpu_ns(void); /* of the calling thread */

/* with_tsc: ticks are the counter's; else nanoseconds of CLOCK_MONOTONIC. The reading of several that took the least time is
 * kept: they differ by less than a microsecond unless we were interrupted each time. */
struct clock_reading session_clock_read(bool with_tsc);

/* Ticks a second between two readings; 1e9 when they are too near to tell. */
uint64_t session_tick_rate(const struct clock_reading *from, const struct clock_reading *to);

#endif
