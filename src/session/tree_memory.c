#include "session/tree_memory.h"

#include <stdbool.h>

enum { STEP_MIN_BYTES = 1 << 20, STEP_SHIFT = 4, COARSEST = STEP_SHIFT - 1 };

static bool differs(uint64_t before, uint64_t after, unsigned coarseness)
{
    uint64_t step = before >> (STEP_SHIFT - coarseness),
             change = after > before ? after - before : before - after;
    return change >= step && change >= STEP_MIN_BYTES;
}

/* Of every two readings the larger one stays. */
static void halve(struct memory_series *series)
{
    size_t out = 0;
    struct memory_reading *items = series->readings.items;
    for (size_t i = 0; i + 1 < series->readings.count; i += 2)
        items[out++] = items[i].rss_bytes > items[i + 1].rss_bytes ? items[i] : items[i + 1];
    series->readings.count = out;
    if (series->coarseness < COARSEST)
        series->coarseness++;
}

int memory_series_add(struct memory_series *series, struct memory_reading reading)
{
    if (series->readings.count > 0) {
        const struct memory_reading *last = &array_last(&series->readings);
        if (!differs(last->rss_bytes, reading.rss_bytes, series->coarseness) &&
            !differs(last->anon_bytes, reading.anon_bytes, series->coarseness))
            return LAM_OK;
    }
    if (series->readings.count >= MEMORY_READINGS_MAX)
        halve(series);
    return array_push(&series->readings, reading);
}

void memory_series_free(struct memory_series *series)
{
    array_free(&series->readings);
}
