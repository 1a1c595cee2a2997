/* What each procedural macro's crate costs: the CPU time of the samples inside its library, and the waits begun there. A macro
 * crate is known by the file that the compiler loads, so this works on any compiler. */
#ifndef LAMELLA_ANALYSIS_MACRO_COSTS_H
#define LAMELLA_ANALYSIS_MACRO_COSTS_H

#include "analysis/report.h"

struct macro_use { /* of one crate by one process */
    uint32_t process;
    uint64_t samples, cpu_ns, waits, wait_ns;
};

struct macro_cost {
    const char *crate; /* lives as long as the classifier */
    uint64_t samples, cpu_ns, waits, wait_ns;
    uint32_t first_use, use_count; /* in macro_costs.uses, the dearest first */
};

struct macro_costs {
    LAM_ARRAY(struct macro_cost) crates; /* the dearest first */
    LAM_ARRAY(struct macro_use) uses;
};

/* wanted: asked for each process that used a macro; NULL: all count. LAM_E_NOMEM. */
int macro_costs_make(const struct report *report, bool (*wanted)(void *ctx, uint32_t process),
                     void *ctx, struct macro_costs *costs);
void macro_costs_free(struct macro_costs *costs);

#endif
