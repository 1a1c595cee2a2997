#include "analysis/worker_sweep.h"

int work_stretch_add(struct work_stretches *list, struct work_stretch stretch, size_t *last)
{
    if (*last < list->count && list->items[*last].end_ns == stretch.start_ns) {
        list->items[*last].end_ns = stretch.end_ns;
        return LAM_OK;
    }
    *last = list->count;
    return array_push(list, stretch);
}

static int compare_edges(const void *left, const void *right)
{
    const struct work_edge *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return (int)b->is_end - (int)a->is_end;
}

int work_sweep_open(struct work_sweep *sweep, const struct work_stretches *list)
{
    *sweep = (struct work_sweep){0};
    int rc = array_reserve(&sweep->edges, 2 * list->count);
    for (size_t i = 0; rc >= 0 && i < list->count; i++) {
        const struct work_stretch *it = &list->items[i];
        if (it->end_ns <= it->start_ns)
            continue; /* no time */
        (void)array_push(&sweep->edges, ((struct work_edge){it->start_ns, it->worker, false}));
        (void)array_push(&sweep->edges, ((struct work_edge){it->end_ns, it->worker, true}));
    }
    array_sort(&sweep->edges, compare_edges);
    return rc;
}

/* Where one works, the sum of ids is its id. */
static void take(struct work_sweep *sweep, const struct work_edge *edge)
{
    if (edge->is_end) {
        sweep->working--;
        sweep->ids -= edge->worker;
    } else {
        sweep->working++;
        sweep->ids += edge->worker;
    }
}

bool work_sweep_next(struct work_sweep *sweep, struct work_step *step)
{
    if (sweep->at >= sweep->edges.count)
        return false;
    int64_t start_ns = sweep->edges.items[sweep->at].at_ns;
    while (sweep->at < sweep->edges.count && sweep->edges.items[sweep->at].at_ns == start_ns)
        take(sweep, &sweep->edges.items[sweep->at++]);
    if (sweep->at >= sweep->edges.count)
        return false;
    *step = (struct work_step){.start_ns = start_ns,
                               .end_ns = sweep->edges.items[sweep->at].at_ns,
                               .working = sweep->working,
                               .only = sweep->working == 1 ? (uint32_t)sweep->ids : 0};
    return true;
}

void work_sweep_rewind(struct work_sweep *sweep)
{
    sweep->at = 0;
    sweep->working = sweep->ids = 0;
}

void work_sweep_close(struct work_sweep *sweep)
{
    array_free(&sweep->edges);
}
