/* Who worked when, in memory that does not grow: a fixed number of cells over the session's length. A thread's busy
 * stretches are added in time order; asked are the number of threads that worked in a cell and, where it was one, which. */
#ifndef LAMELLA_ANALYSIS_ACTIVITY_GRID_H
#define LAMELLA_ANALYSIS_ACTIVITY_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ACTIVITY_CELLS = 32768 };

struct activity_grid {
    int64_t cell_ns;
    int32_t *change; /* threads that begin less those that ended, by cell */
    int64_t *change_ids; /* the same with thread ids in place of ones: where one works, the sum is its id */
};

/* length_ns: of the session; what lies beyond it counts in the last cell. LAM_E_NOMEM. */
int activity_init(struct activity_grid *grid, uint64_t length_ns);

/* Last cell that the thread already counts in; start with ACTIVITY_NEVER, one variable a thread. */
#define ACTIVITY_NEVER INT32_MIN
void activity_add(struct activity_grid *grid, uint32_t thread, int64_t start_ns, int64_t end_ns,
                  int32_t *last_cell);

struct activity_cell {
    int64_t start_ns, end_ns;
    uint32_t threads;
    uint32_t only_thread; /* where threads == 1 */
};

/* Walks the cells in order: struct activity_walk walk = {0}; while (activity_next(&grid, &walk, &cell)) … */
struct activity_walk {
    size_t at;
    int64_t threads, ids;
};
bool activity_next(const struct activity_grid *grid, struct activity_walk *walk,
                   struct activity_cell *cell);

void activity_free(struct activity_grid *grid);

#endif
