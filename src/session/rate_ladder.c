#include "session/rate_ladder.h"

#include <string.h>

enum {
    /* Of each second of CPU, what samples may take: the budget is 2%, a tenth of it is left for the agent's start, the account
     * and the launcher's poll. */
    SAMPLE_SHARE_PPM = 18000,
    /* Unwinding and storing, beyond the empty interruption: 8 µs with warm caches (4999 Hz), 15 µs or more with cold ones
     * (999 Hz). `auto` runs between the two. */
    HANDLER_NS = 12000,
    PERIOD_MIN_NS = 250000, /* finer than 4 kHz tells nothing more about a compilation */
    PERIOD_MAX_NS = 10000000, /* the first step is never coarser than 100 Hz; a machine so slow pays */
    PERIOD_LAST_NS = 16000000, /* no step is coarser than 60 Hz, unless the first one is */
    YOUNG_SAMPLES = 1000,      /* stay on a step until so many samples were due ... */
    YOUNG_MIN_MS =
        1500, /* ... and on the first one so long: most compilations never leave it. What a thread uses after its
                          * last sample is half a period and belongs to no function; a compiler ends a dozen threads. */
};

uint32_t rate_sample_cost_ns(uint32_t interruption_ns)
{
    return interruption_ns + HANDLER_NS;
}

static uint32_t clamp_u32(uint64_t value, uint32_t low, uint32_t high)
{
    return value < low ? low : value > high ? high : (uint32_t)value;
}

static uint32_t rate_of_period(uint32_t period_ns)
{
    return (1000000000u + period_ns / 2) / period_ns;
}

/* A period that divides or is a multiple of the millisecond keeps step with programs that work by the clock, and then looks
 * always at the same thing. */
static uint32_t off_the_beat(uint32_t period_ns)
{
    return period_ns + (period_ns % 250000u < 1000u ? 7001u : 0u);
}

struct rate_ladder rate_ladder_auto(uint32_t interruption_ns, uint32_t tick_ns)
{
    struct rate_ladder ladder = {.is_auto = true};
    uint64_t wanted = (uint64_t)rate_sample_cost_ns(interruption_ns) * 1000000u / SAMPLE_SHARE_PPM;
    uint32_t first = off_the_beat(clamp_u32(wanted, PERIOD_MIN_NS, PERIOD_MAX_NS));
    if (tick_ns && tick_ns < PERIOD_MAX_NS) /* whole ticks, rounded up: the budget holds */
        first = (first + tick_ns - 1) / tick_ns * tick_ns;
    uint64_t due_ms = 0;
    for (int i = 0; i < RATE_STEPS; i++) {
        ladder.period_ns[i] =
            clamp_u32((uint64_t)first << i, first, first > PERIOD_LAST_NS ? first : PERIOD_LAST_NS);
        uint64_t stay_ms = (uint64_t)YOUNG_SAMPLES * ladder.period_ns[i] / 1000000u
                           << i; /* each step lasts longer than the one before */
        due_ms += i == 0 && stay_ms < YOUNG_MIN_MS ? YOUNG_MIN_MS : stay_ms;
        ladder.step_cpu_ms[i] = i + 1 < RATE_STEPS ? (uint32_t)due_ms : 0;
    }
    ladder.rate_hz = rate_of_period(first);
    return ladder;
}

struct rate_ladder rate_ladder_fixed(uint32_t rate_hz)
{
    struct rate_ladder ladder = {.rate_hz = rate_hz};
    if (rate_hz)
        for (int i = 0; i < RATE_STEPS; i++)
            ladder.period_ns[i] = rate_of_period(rate_hz) << i;
    return ladder;
}
