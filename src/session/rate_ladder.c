#include "session/rate_ladder.h"

#include <stddef.h>

enum {
    /* Of each second of CPU, what samples may take: the budget is 2%, a tenth of it is left for the agent's start, the account
     * and the launcher's poll. */
    SAMPLE_SHARE_PPM = 18000,
    /* ... and what a process of ADULT_MS may have cost, so that some is left for those that die younger. */
    ADULT_SHARE_PPM = 16000,
    ADULT_MS = 1000,
    /* Unwinding and storing, beyond the interruption: 8 µs with warm caches (4999 Hz), 15 µs or more with cold ones (999 Hz). */
    HANDLER_NS = 12000,
    /* A program loses more by an interruption than the time until it goes on: its caches, its address translations and its
     * branch predictions are gone. Whole compilations were measured to lose 80 to 100 µs a sample where an empty interruption
     * takes 15 µs. The kernel's tick comes anyway, whether it brings a signal or not. */
    INTERRUPTION_WEIGHT = 5,
    PERIOD_MIN_NS = 250000, /* finer than 4 kHz tells nothing more about a compilation */
    PERIOD_FIRST_NS =
        1750000, /* the first step is never coarser: 0.2 s of CPU get 100 samples, with some to spare */
    PERIOD_LAST_NS =
        8000000, /* no step is coarser than 125 Hz: shorter threads would not be seen at all */
    YOUNG_SAMPLES = 200, /* stay on a step until so many samples were due ... */
    YOUNG_MIN_MS = 300,  /* ... and on the first one so long, where that is within the budget ... */
    YOUNG_DEAR_MS = 230, /* ... and so long where it is not */
    ADAPT_MIN_CPU_MS = 3000, /* so much has to be known of a build before anything is made of it */
    ADAPT_MAX = 8,
};

static uint32_t clamp_u32(double value, uint32_t low, uint32_t high)
{
    return value < low ? low : value > high ? high : (uint32_t)value;
}

static uint32_t rate_of_period(uint32_t period_ns)
{
    return (1000000000u + period_ns / 2) / period_ns;
}

/* A period that is a multiple of a quarter millisecond keeps step with programs that work by the clock, and then looks
 * always at the same thing. */
static uint32_t off_the_beat(uint32_t period_ns)
{
    return period_ns + (period_ns % 250000u < 1000u ? 7001u : 0u);
}

static uint32_t whole_ticks(uint32_t period_ns, uint32_t tick_ns)
{
    return (period_ns + tick_ns - 1) / tick_ns * tick_ns;
}

static double share_cost_ms(const struct rate_ladder *ladder, double samples)
{
    return samples * ladder->sample_cost_ns * 1e-6;
}

/* The second step's period where the first one exceeds the budget: such that at ADULT_MS all is paid back. */
static double paying_period_ns(const struct rate_ladder *ladder, uint32_t young_ms)
{
    double allowed_ms = ADULT_MS * (ADULT_SHARE_PPM * 1e-6);
    double left_ms = allowed_ms - share_cost_ms(ladder, young_ms * 1e6 / ladder->period_ns[0]);
    if (left_ms <= 0)
        return PERIOD_LAST_NS;
    return (double)ladder->sample_cost_ns * (ADULT_MS - young_ms) / left_ms;
}

static void add_steps(struct rate_ladder *ladder, uint32_t young_ms, double second_ns,
                      uint32_t tick_ns)
{
    uint64_t due_ms = young_ms;
    ladder->step_cpu_ms[0] = young_ms;
    for (int i = 1; i < RATE_STEPS; i++) {
        uint32_t last = ladder->period_ns[i - 1];
        double wanted = i == 1 && second_ns > 2.0 * last ? second_ns : 2.0 * last;
        ladder->period_ns[i] = clamp_u32(wanted, last, last > PERIOD_LAST_NS ? last : PERIOD_LAST_NS);
        if (tick_ns)
            ladder->period_ns[i] = whole_ticks(ladder->period_ns[i], tick_ns);
        /* each step lasts for twice the samples of the one before */
        due_ms += (uint64_t)YOUNG_SAMPLES * ladder->period_ns[i] / 1000000u << i;
        ladder->step_cpu_ms[i] = i + 1 < RATE_STEPS ? (uint32_t)due_ms : 0;
    }
}

struct rate_ladder rate_ladder_auto(uint32_t interruption_ns, uint32_t tick_ns)
{
    struct rate_ladder ladder = {.is_auto = true};
    ladder.sample_cost_ns = interruption_ns * (tick_ns ? 1u : INTERRUPTION_WEIGHT) + HANDLER_NS;
    double affordable_ns = ladder.sample_cost_ns * 1e6 / SAMPLE_SHARE_PPM;
    uint32_t first = off_the_beat(clamp_u32(affordable_ns, PERIOD_MIN_NS, PERIOD_FIRST_NS));
    ladder.period_ns[0] = tick_ns ? whole_ticks(first, tick_ns) : first;
    ladder.rate_hz = rate_of_period(ladder.period_ns[0]);
    if (affordable_ns > ladder.period_ns[0] + 1.0) {
        add_steps(&ladder, YOUNG_DEAR_MS, paying_period_ns(&ladder, YOUNG_DEAR_MS), tick_ns);
    } else {
        uint32_t young_ms = (uint32_t)((uint64_t)YOUNG_SAMPLES * ladder.period_ns[0] / 1000000u);
        add_steps(&ladder, young_ms < YOUNG_MIN_MS ? YOUNG_MIN_MS : young_ms, 0, tick_ns);
    }
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

double rate_ladder_samples(const struct rate_ladder *ladder, uint64_t cpu_ns)
{
    double at_ns = 0, samples = 0;
    for (int i = 0; i < RATE_STEPS && at_ns < (double)cpu_ns && ladder->period_ns[i]; i++) {
        double end_ns = (double)cpu_ns;
        if (ladder->is_auto && ladder->step_cpu_ms[i] && ladder->step_cpu_ms[i] * 1e6 < end_ns)
            end_ns = ladder->step_cpu_ms[i] * 1e6;
        if (end_ns > at_ns)
            samples += (end_ns - at_ns) / ladder->period_ns[i];
        at_ns = end_ns > at_ns ? end_ns : at_ns;
    }
    return samples;
}

struct rate_ladder rate_ladder_adapt(const struct rate_ladder *first, const struct rate_spent *spent)
{
    struct rate_ladder ladder = *first;
    if (!first->is_auto || spent->cpu_ns < ADAPT_MIN_CPU_MS * 1e6)
        return ladder;
    double share_ppm = spent->samples * first->sample_cost_ns / spent->cpu_ns * 1e6;
    double factor = share_ppm / SAMPLE_SHARE_PPM;
    if (factor <= 1)
        return ladder;
    if (factor > ADAPT_MAX)
        factor = ADAPT_MAX;
    for (int i = 0; i < RATE_STEPS; i++) {
        uint32_t last = ladder.period_ns[i] > PERIOD_LAST_NS ? ladder.period_ns[i] : PERIOD_LAST_NS;
        ladder.period_ns[i] = clamp_u32(ladder.period_ns[i] * factor, ladder.period_ns[i], last);
    }
    return ladder;
}
