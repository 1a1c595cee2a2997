#include "analysis/activity_grid.h"

#include "base/error.h"
#include "base/memory.h"

enum { CELL_MIN_NS = 1000000 }; /* finer says nothing: samples are about that far apart */

int activity_init(struct activity_grid *grid, uint64_t length_ns)
{
    uint64_t cell = length_ns / ACTIVITY_CELLS + 1;
    if (length_ns > (uint64_t)INT64_MAX)
        cell = CELL_MIN_NS;
    grid->cell_ns = cell < CELL_MIN_NS ? CELL_MIN_NS : (int64_t)cell;
    grid->change = mem_zalloc(ACTIVITY_CELLS + 1, sizeof *grid->change);
    grid->change_ids = mem_zalloc(ACTIVITY_CELLS + 1, sizeof *grid->change_ids);
    if (grid->change && grid->change_ids)
        return LAM_OK;
    activity_free(grid);
    return LAM_E_NOMEM;
}

static int32_t cell_of(const struct activity_grid *grid, int64_t at_ns)
{
    if (at_ns <= 0)
        return 0;
    int64_t cell = at_ns / grid->cell_ns;
    return cell < ACTIVITY_CELLS ? (int32_t)cell : ACTIVITY_CELLS - 1;
}

void activity_add(struct activity_grid *grid, uint32_t thread, int64_t start_ns, int64_t end_ns,
                  int32_t *last_cell)
{
    int32_t first = cell_of(grid, start_ns), last = cell_of(grid, end_ns);
    if (first <= *last_cell)
        first = *last_cell + 1;
    if (first > last)
        return;
    grid->change[first]++;
    grid->change_ids[first] += thread;
    grid->change[last + 1]--;
    grid->change_ids[last + 1] -= thread;
    *last_cell = last;
}

bool activity_next(const struct activity_grid *grid, struct activity_walk *walk,
                   struct activity_cell *cell)
{
    if (walk->at >= ACTIVITY_CELLS)
        return false;
    walk->threads += grid->change[walk->at];
    walk->ids += grid->change_ids[walk->at];
    cell->start_ns = (int64_t)walk->at * grid->cell_ns;
    cell->end_ns = cell->start_ns + grid->cell_ns;
    cell->threads = walk->threads > 0 ? (uint32_t)walk->threads : 0;
    cell->only_thread = walk->threads == 1 ? (uint32_t)walk->ids : 0;
    walk->at++;
    return true;
}

void activity_free(struct activity_grid *grid)
{
    mem_free(grid->change);
    mem_free(grid->change_ids);
    grid->change = NULL;
    grid->change_ids = NULL;
}
