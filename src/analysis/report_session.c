/* What the launcher wrote beside the streams, as far as a report wants it: the timeline. */
#include <math.h>
#include <stddef.h>

#include "analysis/report_state.h"
#include "input/session_json.h"

static const struct {
    const char *name;
    size_t offset;
} columns[] = {
    {"processes", offsetof(struct report_timeline_row, processes)},
    {"threads", offsetof(struct report_timeline_row, threads)},
    {"tree_busy", offsetof(struct report_timeline_row, tree_busy)},
    {"cpu_busy", offsetof(struct report_timeline_row, cpu_busy)},
    {"load1", offsetof(struct report_timeline_row, load1)},
    {"psi_cpu", offsetof(struct report_timeline_row, psi_cpu)},
    {"psi_io", offsetof(struct report_timeline_row, psi_io)},
    {"psi_mem", offsetof(struct report_timeline_row, psi_mem)},
    {"rss_bytes", offsetof(struct report_timeline_row, rss_bytes)},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static double value_at(const struct session_timeline *from, size_t row, size_t column)
{
    return column < from->columns.count ? from->values.items[row * from->columns.count + column]
                                        : NAN;
}

/* Rows whose time is not known, or is before that of the row above, are left out. */
static int read_timeline(struct report *report, const struct session_timeline *from)
{
    size_t places[COLUMNS], time = session_timeline_column(from, "t_ns");
    for (size_t i = 0; i < COLUMNS; i++)
        places[i] = session_timeline_column(from, columns[i].name);
    int64_t last_ns = 0;
    for (size_t i = 0; i < from->rows; i++) {
        double t_ns = value_at(from, i, time);
        if (!(t_ns >= (double)last_ns) || !(t_ns < 1e18))
            continue;
        struct report_timeline_row *row = array_add(&report->timeline);
        if (!row)
            return LAM_E_NOMEM;
        row->t_ns = (int64_t)t_ns;
        row->span_ns = (uint64_t)(row->t_ns - last_ns);
        row->running = row->waiting = row->inactive = row->threads_busy = NAN;
        last_ns = row->t_ns;
        for (size_t column = 0; column < COLUMNS; column++)
            *(double *)((char *)row + columns[column].offset) = value_at(from, i, places[column]);
    }
    return LAM_OK;
}

int report_read_session(struct report_state *state)
{
    struct report *report = &state->report;
    struct session_json session;
    if (!report->session.session_json ||
        session_json_load(&session, report->session.session_json, NULL) < 0)
        return LAM_OK; /* the input has said what is wrong with it */
    int rc = read_timeline(report, &session.timeline);
    session_json_free(&session);
    return rc;
}
