/* recorder_clock.c: which clock, and how fast it runs. */
#include "recorder/recorder_state.h"

#include <time.h>

#include "core/bytes.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static int has_invariant_counter(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d = 0;
    /* "TscInvariant", AMD64 manual volume 3, Fn8000_0007_EDX */
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8);
#else
    return 1; /* CNTVCT_EL0 is */
#endif
}

/* The kernel takes "tsc" off this list when it found the counters of two cores apart or the rate unsteady. */
static int kernel_trusts_counter(void)
{
#if defined(__x86_64__)
    char text[256];
    const char *path = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    long got = sys_read(fd, text, sizeof text - 1);
    sys_close(fd);
    text[got > 0 ? got : 0] = 0;
    for (const char *at = text; (at = text_find(at, "tsc")); at += 3)
        if ((at == text || at[-1] == ' ') && (at[3] == ' ' || at[3] == '\n' || !at[3]))
            return 1;
    return 0;
#else
    return 1;
#endif
}

int clock_is_invariant(void)
{
    return has_invariant_counter() && kernel_trusts_counter();
}

void clock_read_three(int use_counter, struct stream_rec_time *out)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 4; i++) {
        uint64_t before = clock_read_ns(CLOCK_MONOTONIC);
        uint64_t ticks = clock_ticks(use_counter);
        uint64_t wall = clock_read_ns(CLOCK_REALTIME);
        uint64_t after = clock_read_ns(CLOCK_MONOTONIC);
        if (after - before >= best)
            continue;
        best = after - before;
        out->mono_ns = before + best / 2;
        out->ticks = use_counter ? ticks : out->mono_ns;
        out->wall_ns = wall;
    }
}

/* Measured in 2 ms, to some 20 parts in a million: readers convert with the TIME records and use this for what lies
 * outside of them. */
uint64_t clock_counter_rate(void)
{
#if defined(__aarch64__)
    uint64_t rate;
    __asm__("mrs %0, cntfrq_el0" : "=r"(rate));
    return rate;
#else
    struct stream_rec_time first = {0}, last = {0};
    clock_read_three(1, &first);
    do
        clock_read_three(1, &last);
    while (last.mono_ns - first.mono_ns < 2000000u);
    return (uint64_t)((double)(last.ticks - first.ticks) * 1e9 /
                          (double)(last.mono_ns - first.mono_ns) +
                      0.5);
#endif
}
