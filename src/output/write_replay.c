#include "output/write_replay.h"

#include <math.h>

#include "base/units.h"

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static double error_of(const struct replay_answers *answers)
{
    return answers->measured_s > 0 ? answers->replayed_s / answers->measured_s - 1 : NAN;
}

void write_replay_json(struct json_writer *json, const struct replay_answers *answers)
{
    json_member_object(json, "replay");
    json_member_fixed(json, "measured_s", answers->measured_s, 9);
    json_member_fixed(json, "replayed_s", answers->replayed_s, 9);
    if (isfinite(error_of(answers)))
        json_member_double(json, "error", error_of(answers));
    else
        json_member_null(json, "error");
    json_member_double(json, "cores", answers->cores);
    json_member_double(json, "other_threads", answers->others);
    if (isfinite(answers->other_share))
        json_member_double(json, "other_share", answers->other_share);
    else
        json_member_null(json, "other_share");
    json_member_u64(json, "jobs", answers->jobs);
    json_member_bool(json, "jobs_seen", answers->jobs_are_seen);
    json_member_fixed(json, "latency_s", answers->latency_s, 9);
    json_put_end(json);
    json_member_array(json, "what_if");
    array_each(&answers->rows, row)
    {
        json_put_object(json);
        json_member_str(json, "change", row->change);
        json_member_fixed(json, "wall_s", row->wall_s, 9);
        json_member_fixed(json, "saved_s", row->saved_s, 9);
        json_put_end(json);
    }
    json_put_end(json);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void add_quality(const struct replay_answers *answers, struct strbuf *out)
{
    strbuf_addf(out, "The replay takes %s for the %s that the build took (%s), with %s cores",
                unit_seconds(answers->replayed_s).text, unit_seconds(answers->measured_s).text,
                unit_percent_signed(error_of(answers)).text, unit_cores(answers->cores).text);
    if (isfinite(answers->other_share))
        strbuf_addf(out, " (of which other programs had %s)",
                    unit_percent(answers->other_share).text);
    else if (answers->others >= 0.05)
        strbuf_addf(out, " (which %s threads of other programs wanted too)",
                    unit_cores(answers->others).text);
    strbuf_addf(out, " and %s%u job%s.", answers->jobs_are_seen ? "at most " : "", answers->jobs,
                unit_plural(answers->jobs));
}

int write_replay_text(const struct replay_answers *answers, const struct term *term,
                      struct strbuf *out)
{
    static const char heading[] = "What if …";
    if (!answers || !answers->is_there)
        return LAM_OK;
    strbuf_add(out, term ? "\n" : "\n## ");
    if (term)
        style_add(out, term, STYLE_BOLD, heading);
    else
        strbuf_add(out, heading);
    strbuf_add(out, term ? "\n  " : "\n\n");
    add_quality(answers, out);
    strbuf_add(out, term ? "\n" : "\n\n");
    struct table table = {.indent = term ? 2 : 0};
    table_column(&table, "change", TABLE_LEFT, 0);
    table_column(&table, "replay", TABLE_RIGHT, 0);
    table_column(&table, "saves", TABLE_RIGHT, 0);
    table_column(&table, "", TABLE_RIGHT, 0);
    array_each(&answers->rows, row)
    {
        double saved_s =
            fabs(row->saved_s) < 1e-6 ? 0 : row->saved_s; /* what it rounds away is no change */
        if (row->units > 1) /* bat is bat, bat (bin) and bat build script */
            table_cellf(&table, "%s, %s units", row->change, unit_count(row->units).text);
        else
            table_cell(&table, row->change);
        table_cell(&table, unit_seconds(row->wall_s).text);
        table_cellf(&table, "%s%s", saved_s < 0 ? "-" : "", unit_seconds(fabs(saved_s)).text);
        table_cell(&table, unit_percent_signed(row->wall_s / answers->replayed_s - 1).text);
    }
    int rc = term ? table_print(&table, term, out) : table_print_markdown(&table, out);
    table_free(&table);
    return rc;
}
