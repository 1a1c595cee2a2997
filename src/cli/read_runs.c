#include "cli/read_runs.h"

#include <string.h>

#include "base/file.h"
#include "cli/read_report.h"

static int read_stored(struct run_matrix *matrix, const char *input, struct lam_error *err)
{
    struct file_map map = {0};
    int rc = file_map(input, &map, err);
    if (rc == LAM_OK)
        rc = run_matrix_add_json(matrix, map.data, map.size_bytes, input, err);
    file_unmap(&map);
    return rc;
}

static void note_damage(struct run_damage *damage, const struct profile_session_end *end)
{
    damage->files = end->streams;
    damage->damaged = end->damaged_streams + end->unreadable_streams;
    memcpy(damage->first, end->first_damage, sizeof damage->first);
}

static int read_events(struct run_matrix *matrix, const char *input, struct classifier *cls,
                       struct run_damage *damage, struct lam_error *err)
{
    struct report_reading reading = {0};
    struct report_reading_options options = {.cls = cls};
    int rc = report_reading_open(&reading, &input, 1, &options, err);
    if (rc == LAM_OK) {
        note_damage(damage, &reading.report->end);
        rc = run_matrix_add_report(matrix, reading.report, reading.labels);
        if (rc < 0)
            lam_error_set(err, rc, "%s: %s", input, lam_code_text(rc));
    }
    report_reading_close(&reading);
    return rc;
}

int read_run(struct run_matrix *matrix, const char *input, uint32_t side, struct classifier *cls,
             struct run_damage *damage, struct lam_error *err)
{
    enum input_kind kind;
    *damage = (struct run_damage){.files = 1};
    int rc = input_kind_of(input, &kind, err);
    if (rc < 0)
        return rc;
    rc = run_matrix_begin(matrix, input, side);
    if (rc < 0)
        return lam_error_set(err, rc, "%s: %s", input, lam_code_text(rc));
    rc = kind == INPUT_REPORT_JSON ? read_stored(matrix, input, err)
                                   : read_events(matrix, input, cls, damage, err);
    if (rc < 0)
        run_matrix_drop(matrix);
    return rc;
}
