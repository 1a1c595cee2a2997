#include "output/chrome_counts.h"

#include "base/error.h"

/* Of a label that has no sum yet. */
static int begin_sum(struct chrome_counts *counts, uint32_t label)
{
    size_t wanted = (size_t)label + label / 2 + 64;
    if (label >= counts->sums.count &&
        (array_resize(&counts->sums, wanted) < 0 || array_resize(&counts->is_set, wanted) < 0))
        return LAM_E_NOMEM;
    counts->is_set.items[label] = true;
    counts->sums.items[label] = 0;
    return array_push(&counts->labels, label);
}

int chrome_counts_end(struct chrome_counts *counts, chrome_counts_put put, void *ctx)
{
    int rc = LAM_OK;
    array_each(&counts->labels, label)
    {
        counts->is_set.items[*label] = false;
        if (rc < 0)
            continue;
        struct profile_instant instant = counts->place;
        instant.label = *label;
        instant.value = counts->sums.items[*label];
        instant.args = NULL;
        instant.argc = instant.args_id = 0;
        rc = put(ctx, &instant);
    }
    array_clear(&counts->labels);
    return rc;
}

static bool belongs(const struct chrome_counts *counts, const struct profile_instant *instant)
{
    const struct profile_instant *place = &counts->place;
    return counts->labels.count == 0 ||
           (place->thread == instant->thread && place->at_ns == instant->at_ns &&
            place->process == instant->process && place->track == instant->track);
}

int chrome_counts_add(struct chrome_counts *counts, const struct profile_instant *instant,
                      chrome_counts_put put, void *ctx)
{
    if (!instant->is_undated)
        return put(ctx, instant);
    uint32_t label = instant->label;
    int rc = belongs(counts, instant) ? LAM_OK : chrome_counts_end(counts, put, ctx);
    if (rc >= 0 && (label >= counts->sums.count || !counts->is_set.items[label]))
        rc = begin_sum(counts, label);
    if (rc < 0)
        return rc;
    if (counts->labels.count == 1)
        counts->place = *instant;
    counts->sums.items[label] += instant->value;
    return LAM_OK;
}

void chrome_counts_free(struct chrome_counts *counts)
{
    array_free(&counts->labels);
    array_free(&counts->sums);
    array_free(&counts->is_set);
}
