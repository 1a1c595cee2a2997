#include "session/session_clock.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/memory.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts = {0};
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t session_mono_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t session_thread_cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

#if defined(__x86_64__)
static uint64_t counter(void)
{
    unsigned aux;
    return __builtin_ia32_rdtscp(&aux); /* waits for earlier loads, so the reading is not moved forward */
}

static bool has_invariant_counter(void)
{
    unsigned a, b, c, d = 0;
    if (!__get_cpuid(0x80000007u, &a, &b, &c, &d))
        return false;
    return (d & 1u << 8) != 0; /* "TscInvariant", AMD64 manual volume 3, Fn8000_0007_EDX */
}
#else
static uint64_t counter(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static bool has_invariant_counter(void)
{
    return false;
}
#endif

/* The kernel takes "tsc" off this list when it found the counters of two cores apart or the rate unsteady. */
static bool kernel_trusts_tsc(void)
{
    char *text;
    size_t length;
    const char *path = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    if (file_read_all(path, 4096, &text, &length, NULL) < 0)
        return false;
    bool listed = false;
    for (char *save = NULL, *word = strtok_r(text, " \n", &save); word;
         word = strtok_r(NULL, " \n", &save))
        listed |= strcmp(word, "tsc") == 0;
    mem_free(text);
    return listed;
}

bool session_tsc_usable(void)
{
    return has_invariant_counter() && kernel_trusts_tsc();
}

struct clock_reading session_clock_read(bool with_tsc)
{
    struct clock_reading best = {0};
    uint64_t best_width = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        uint64_t before = session_mono_ns();
        uint64_t ticks = with_tsc ? counter() : 0;
        uint64_t wall = clock_ns(CLOCK_REALTIME);
        uint64_t after = session_mono_ns();
        if (after - before >= best_width)
            continue;
        best_width = after - before;
        best.mono_ns = before + best_width / 2;
        best.ticks = with_tsc ? ticks : best.mono_ns;
        best.wall_ns = wall;
    }
    return best;
}

uint64_t session_tick_rate(const struct clock_reading *from, const struct clock_reading *to)
{
    uint64_t ns = to->mono_ns - from->mono_ns;
    uint64_t ticks = to->ticks - from->ticks;
    if (to->mono_ns <= from->mono_ns || to->ticks <= from->ticks)
        return 1000000000u;
    return (uint64_t)((double)ticks * 1e9 / (double)ns + 0.5);
}
