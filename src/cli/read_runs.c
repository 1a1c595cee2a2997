#include "cli/read_runs.h"

#include <string.h>

#include "base/file_input.h"
#include "cli/launcher_talk.h"
#include "cli/read_report.h"

static int read_stored(struct run_matrix *matrix, const char *input, struct lam_error *err)
{
    struct file_map map = {0};
    int rc = file_input_map(input, &map, err);
    if (rc == LAM_OK)
        rc = run_matrix_add_json(matrix, map.data, map.size_bytes, input, err);
    file_unmap(&map);
    return rc;
}

static void note_damage(struct run_damage *damage, const struct profile_session_end *end)
{
    damage->files = end->streams + end->unreadable_streams;
    damage->damaged = end->damaged_streams + end->unreadable_streams;
    damage->faults = end->faults;
}

/* A fault of a file says its name; one of a recording's stream says that one's. */
void run_damage_text(const struct run_damage *damage, const char *input, const char *what,
                     struct strbuf *out)
{
    const char *fault = damage->faults.kept ? damage->faults.texts[0] : "";
    size_t length = strlen(input);
    if (text_starts_with(fault, input) && text_starts_with(fault + length, ": "))
        fault += length + 2;
    strbuf_addf(out, "%s: %s%s%s", input, what, *fault ? ": " : "", fault);
}

void run_damage_warn(const struct run_damage *damage, const char *input)
{
    struct strbuf text = {0};
    run_damage_text(damage, input, "not all of it could be read", &text);
    launcher_say("warning: %s", strbuf_text(&text));
    strbuf_free(&text);
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
    rc = run_matrix_begin(matrix, file_input_name(input), side);
    if (rc < 0)
        return lam_error_set(err, rc, "%s: %s", input, lam_code_text(rc));
    rc = kind == INPUT_REPORT_JSON ? read_stored(matrix, input, err)
                                   : read_events(matrix, input, cls, damage, err);
    if (rc < 0)
        run_matrix_drop(matrix);
    return rc;
}
