/* The periods between samples. docs/rates.md explains the formula and its figures. */
#ifndef LAMELLA_SESSION_RATE_LADDER_H
#define LAMELLA_SESSION_RATE_LADDER_H

#include <stdbool.h>
#include <stdint.h>

enum { RATE_STEPS = 4, RATE_MAX_HZ = 50000 };

struct rate_ladder {
    bool is_auto;
    uint32_t rate_hz;               /* on step 0; 0: no samples */
    uint32_t period_ns[RATE_STEPS]; /* CPU time between samples */
    uint32_t step_cpu_ms[RATE_STEPS]; /* step i+1 is taken after this much CPU time of a process; 0: never */
    uint32_t sample_cost_ns; /* what a sample is taken to cost the program, all told; 0: not known */
};

/* interruption_ns  what one interruption with an empty handler was measured to take
 * tick_ns          when the engine is served at the kernel's tick only, its length; else 0 */
struct rate_ladder rate_ladder_auto(uint32_t interruption_ns, uint32_t tick_ns);

/* One rate for the life of every process; 0 is an account without samples. rate_hz at most RATE_MAX_HZ. */
struct rate_ladder rate_ladder_fixed(uint32_t rate_hz);

/* Samples that a process gets in so much CPU time. */
double rate_ladder_samples(const struct rate_ladder *ladder, uint64_t cpu_ns);

/* What has been sampled so far, by the ladder that the session began with. */
struct rate_spent {
    double samples;
    double cpu_ns;
};

/* The ladder for processes that start from now on: coarser than the first one as far as the processes so far cost more than
 * the budget, never finer. Only for an automatic one. */
struct rate_ladder rate_ladder_adapt(const struct rate_ladder *first, const struct rate_spent *spent);

#endif
