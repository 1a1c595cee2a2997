/* build: -lm */
/* state_kept [MS]: what an interrupted instruction stream may rely on: errno, rounding mode, vector registers, flags, red zone.
 *
 * Each kind is checked in a loop for MS (300) of CPU; a sampler that leaves a trace is counted. */
#include <fenv.h>

#include "spin.h"

#if defined __x86_64__
typedef uint64_t vector __attribute__((vector_size(32)));
#define VECTOR_TARGET __attribute__((noinline, target("avx2")))
#define HAS_VECTORS   __builtin_cpu_supports("avx2")
#else
typedef uint64_t vector __attribute__((vector_size(16)));
#define VECTOR_TARGET __attribute__((noinline))
#define HAS_VECTORS   1
#endif

VECTOR_TARGET unsigned long vectors_changed(void)
{
    vector value = {0};
    for (size_t lane = 0; lane < sizeof value / 8; lane++)
        value[lane] = 0x0123456789abcdefu * (lane + 1);
    vector kept = value;
    for (int i = 0; i < 200000; i++)
        __asm__ volatile("" : "+x"(value), "+x"(kept));
    unsigned long changed = 0;
    for (size_t lane = 0; lane < sizeof value / 8; lane++)
        changed += value[lane] != 0x0123456789abcdefu * (lane + 1) || kept[lane] != value[lane];
    return changed;
}

__attribute__((noinline)) unsigned long errno_changed(void)
{
    errno = 77;
    for (int i = 0; i < 200000; i++)
        __asm__ volatile("" ::: "memory");
    return errno != 77;
}

__attribute__((noinline)) unsigned long rounding_changed(void)
{
    volatile double one = 1.0, three = 3.0;
    fesetround(FE_UPWARD);
    double up = one / three;
    unsigned long changed = 0;
    for (int i = 0; i < 50000; i++)
        changed += one / three != up;
    changed += fegetround() != FE_UPWARD;
    fesetround(FE_TONEAREST);
    return changed;
}

/* A leaf keeps its locals below the stack pointer. */
__attribute__((noinline)) unsigned long red_zone_changed(unsigned long seed)
{
    volatile unsigned long local[12];
    unsigned long changed = 0;
    for (int round = 0; round < 3000; round++) {
        for (unsigned long i = 0; i < 12; i++)
            local[i] = seed + i;
        for (unsigned long i = 0; i < 12; i++)
            changed += local[i] != seed + i;
    }
    return changed;
}

int main(int argc, char **argv)
{
    uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + number_argument(argc, argv, 1, 300) * 1000000u;
    unsigned long vectors = 0, codes = 0, rounding = 0, red_zone = 0;
    do {
        vectors += HAS_VECTORS ? vectors_changed() : 0;
        codes += errno_changed();
        rounding += rounding_changed();
        red_zone += red_zone_changed(end);
    } while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end);
    printf("vectors=%lu errno=%lu rounding=%lu red-zone=%lu\n", vectors, codes, rounding, red_zone);
    return vectors || codes || rounding || red_zone;
}
