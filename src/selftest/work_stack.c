/* Deep stacks, and what one sample costs: with everything in the caches, and with nothing. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "selftest/known_work.h"

KNOWN_FUNCTION void st_depth_50(uint64_t ns)
{
    known_spin(ns);
}

KNOWN_FUNCTION void st_depth_500(uint64_t ns)
{
    known_spin(ns);
}

KNOWN_FUNCTION void st_depth_5000(uint64_t ns)
{
    known_spin(ns);
}

static volatile unsigned sink;

KEPT_WHOLE static void descend(unsigned depth, void (*leaf)(uint64_t ns), uint64_t ns)
{
    if (depth == 0)
        leaf(ns);
    else
        descend(depth - 1, leaf, ns);
    sink = depth; /* after the call, so that it is one */
}

int work_recursion(void)
{
    struct {
        const char *name;
        void (*leaf)(uint64_t ns);
        unsigned depth;
        uint64_t used;
    } all[] = {{"st_depth_50", st_depth_50, 50, 0},
               {"st_depth_500", st_depth_500, 500, 0},
               {"st_depth_5000", st_depth_5000, 5000, 0}};
    for (uint64_t total = 0; total < known_request.amount_ns;) {
        for (unsigned i = 0; i < 3; i++) {
            uint64_t start = known_cpu_ns();
            descend(all[i].depth, all[i].leaf, known_length(known_request.slice_ns));
            uint64_t took = known_cpu_ns() - start;
            all[i].used += took;
            total += took;
        }
    }
    for (unsigned i = 0; i < 3; i++)
        known_fact("function", all[i].name, all[i].used);
    return 0;
}

/* ---- cost ---- */

KNOWN_FUNCTION void st_warm(uint64_t ns)
{
    known_spin(ns);
}

int work_warm(void)
{
    uint64_t start = known_cpu_ns();
    descend(18, st_warm, known_request.amount_ns);
    known_fact("function", "st_warm", known_cpu_ns() - start);
    return 0;
}

enum { COLD_BYTES = 96 << 20, CACHE_LINE = 64 };

/* Writes to every line of more memory than caches hold: what the sampler uses is gone when it is interrupted next. */
KNOWN_FUNCTION void st_cold(uint64_t ns)
{
    unsigned char *memory =
        mmap(NULL, COLD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        known_fail("memory");
    uint64_t end = known_cpu_ns() + ns;
    while (known_cpu_ns() < end)
        for (size_t i = 0; i < COLD_BYTES; i += CACHE_LINE)
            memory[i]++;
    munmap(memory, COLD_BYTES);
}

int work_cold(void)
{
    uint64_t start = known_cpu_ns();
    descend(18, st_cold, known_request.amount_ns);
    known_fact("function", "st_cold", known_cpu_ns() - start);
    return 0;
}
