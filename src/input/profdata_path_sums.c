#include "input/profdata_path_sums.h"

#include "base/memory.h"

int profdata_path_sums_open(struct profdata_path_sums *paths, size_t max)
{
    paths->max = max;
    return array_push(&paths->nodes, ((struct profdata_path_sum){.parent = 0}));
}

void profdata_path_sums_free(struct profdata_path_sums *paths)
{
    array_free(&paths->nodes);
    map_free(&paths->steps);
    *paths = (struct profdata_path_sums){.max = 0};
}

int profdata_path_step_slow(struct profdata_path_sums *paths, uint32_t parent, uint32_t label,
                            uint32_t *node)
{
    bool is_new;
    size_t count = paths->nodes.count;
    uint64_t *slot = map_slot(&paths->steps, (uint64_t)parent << 32 | label, count, &is_new);
    if (!slot)
        return LAM_E_NOMEM;
    *node = (uint32_t)*slot;
    if (is_new && count >= paths->max)
        return LAM_E_UNSUPPORTED;
    if (is_new && array_push(&paths->nodes,
                             ((struct profdata_path_sum){.parent = parent, .label = label})) < 0)
        return LAM_E_NOMEM;
    paths->nodes.items[parent].last = *node;
    return LAM_OK;
}

int profdata_path_sums_merge(struct profdata_path_sums *into, const struct profdata_path_sums *from,
                             const uint32_t *labels)
{
    uint32_t *places = mem_zalloc(from->nodes.count + 1, sizeof *places);
    int rc = places ? LAM_OK : LAM_E_NOMEM;
    for (size_t i = 1; rc >= 0 && i < from->nodes.count; i++) {
        const struct profdata_path_sum *sum = &from->nodes.items[i];
        rc = profdata_path_step(into, places[sum->parent], labels[sum->label], &places[i]);
        if (rc < 0)
            break;
        into->nodes.items[places[i]].count += sum->count;
        into->nodes.items[places[i]].total += sum->total;
    }
    mem_free(places);
    return rc;
}
