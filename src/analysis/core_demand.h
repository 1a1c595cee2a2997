/* How many threads of the build wanted a core, over time: those on one, and those that waited for one. A thread that waits for long
 * is in no stretch of work meanwhile, so what it ran and waited is spread over its stretches. */
#ifndef LAMELLA_ANALYSIS_CORE_DEMAND_H
#define LAMELLA_ANALYSIS_CORE_DEMAND_H

#include "base/array.h"

#include <stdint.h>

struct core_demand_point {
    int64_t at_ns;
    double level; /* threads, from here on; while points are added: by how much it changes */
    double sum_s; /* thread-seconds up to here */
};

struct core_demand { /* all-zero: none; add, then sort once, then ask */
    LAM_ARRAY(struct core_demand_point) points;
};

/* `threads`: what a thread ran and waited for a core, over the length of its stretches. LAM_E_NOMEM. */
int core_demand_add(struct core_demand *demand, int64_t start_ns, int64_t end_ns, double threads);
void core_demand_sort(struct core_demand *demand);
/* The mean over a time; 0 of an empty one. */
double core_demand_mean(const struct core_demand *demand, int64_t start_ns, int64_t end_ns);
void core_demand_free(struct core_demand *demand);

#endif
