#include "analysis/core_demand.h"

int core_demand_add(struct core_demand *demand, int64_t start_ns, int64_t end_ns, double threads)
{
    struct core_demand_point begin = {.at_ns = start_ns, .level = threads},
                             end = {.at_ns = end_ns, .level = -threads};
    int rc = array_push(&demand->points, begin);
    return rc < 0 ? rc : array_push(&demand->points, end);
}

static int compare_points(const void *left, const void *right)
{
    const struct core_demand_point *a = left, *b = right;
    return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

void core_demand_sort(struct core_demand *demand)
{
    struct core_demand_point *points = demand->points.items;
    array_sort(&demand->points, compare_points);
    for (size_t i = 1; i < demand->points.count; i++) {
        points[i].sum_s = points[i - 1].sum_s +
                          points[i - 1].level * (double)(points[i].at_ns - points[i - 1].at_ns) / 1e9;
        points[i].level += points[i - 1].level;
    }
}

/* Thread-seconds up to a time. */
static double sum_at(const struct core_demand *demand, int64_t at_ns)
{
    size_t low = 0, high = demand->points.count; /* the first point after it */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (demand->points.items[middle].at_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    const struct core_demand_point *point = &demand->points.items[low - 1];
    return point->sum_s + point->level * (double)(at_ns - point->at_ns) / 1e9;
}

double core_demand_mean(const struct core_demand *demand, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns)
        return 0;
    return (sum_at(demand, end_ns) - sum_at(demand, start_ns)) / ((double)(end_ns - start_ns) / 1e9);
}

void core_demand_free(struct core_demand *demand)
{
    array_free(&demand->points);
}
