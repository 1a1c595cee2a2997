#include "output/chrome_counts.h"

/* Of a label that has no sum yet. */
int chrome_counts_grow(struct chrome_counts *counts, uint32_t label)
{
    size_t wanted = (size_t)label + label / 2 + 64;
    if (label >= counts->sums.count &&
        (array_resize(&counts->sums, wanted) < 0 || array_resize(&counts->is_set, wanted) < 0))
        return LAM_E_NOMEM;
    counts->is_set.items[label] = true;
    counts->sums.items[label] = 0;
    return array_push(&counts->labels, label);
}

void chrome_counts_get(const struct chrome_counts *counts, size_t index,
                       struct profile_instant *instant)
{
    *instant = counts->place;
    instant->label = counts->labels.items[index];
    instant->value = counts->sums.items[instant->label];
    instant->args = NULL;
    instant->argc = instant->args_id = 0;
}

void chrome_counts_clear(struct chrome_counts *counts)
{
    array_each(&counts->labels, label) counts->is_set.items[*label] = false;
    array_clear(&counts->labels);
}

void chrome_counts_free(struct chrome_counts *counts)
{
    array_free(&counts->labels);
    array_free(&counts->sums);
    array_free(&counts->is_set);
}
