/* build: -shared -fPIC */
/* clock_back.so, to be preloaded: every hundredth clock_gettime of the program goes back by 1 ms.
 *
 * Only the wall clock and the monotonic clock step back: CPU clocks are what the programs themselves measure with. */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static atomic_ulong calls;
    long rc = syscall(SYS_clock_gettime, clock, time);
    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) &&
        atomic_fetch_add(&calls, 1) % 100 == 99) {
        time->tv_nsec -= 1000000;
        if (time->tv_nsec < 0) {
            time->tv_nsec += 1000000000;
            time->tv_sec--;
        }
    }
    return (int)rc;
}
