#include "analysis/feeder_limit.h"

#include <string.h>

bool feeder_limit_of(const struct report *report, uint32_t process, struct feeder_limit *limit)
{
    *limit = (struct feeder_limit){0};
    struct report_cells cells = report_cells(report, process);
    for (size_t i = 0; i < cells.count; i++) {
        const struct report_cell *cell = &cells.items[i];
        struct phase_bucket place = classifier_bucket(report->cls, cell->bucket);
        if (place.segment != SEGMENT_BACKEND || strcmp(place.phase_name, "lto") == 0)
            continue;
        if (cell->role == ROLE_SERIAL && strcmp(place.phase_name, "ir_build") == 0)
            limit->feed_ns += cell->amount.cpu_ns;
        else if (cell->role == ROLE_OPT || cell->role == ROLE_CODEGEN)
            limit->work_ns += cell->amount.cpu_ns;
    }
    if (limit->feed_ns == 0 || limit->work_ns == 0)
        return false;
    limit->busy_threads = 1 + (double)limit->work_ns / (double)limit->feed_ns;
    return true;
}
