#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "base/units.h"
#include "cli/selftest_case.h"
#include "session/engine_probe.h"

/* ---- text ---- */

static void cell_value(struct table *table, enum selftest_unit unit, double value)
{
    switch (unit) {
    case SELFTEST_SHARE:
        table_cellf(table, "%.2f%%", value * 100);
        break;
    case SELFTEST_COUNT:
        table_cell(table, unit_number(value, 0).text);
        break;
    case SELFTEST_SECONDS:
        table_cell(table, unit_seconds(value).text);
        break;
    }
}

static void cell_difference(struct table *table, const struct selftest_row *row)
{
    double difference = row->seen - row->known;
    switch (row->unit) {
    case SELFTEST_SHARE:
        table_cellf(table, "%+.2f", difference * 100);
        break;
    case SELFTEST_COUNT:
        table_cellf(table, "%+.0f", difference);
        break;
    case SELFTEST_SECONDS:
        table_cellf(table, "%+.1f ms", difference * 1e3);
        break;
    }
}

static void cell_allowed(struct table *table, const struct selftest_row *row)
{
    if (isnan(row->low)) {
        table_cell(table, "");
        return;
    }
    double scale = row->unit == SELFTEST_SHARE ? 100 : row->unit == SELFTEST_SECONDS ? 1e3 : 1;
    if (row->low == 0 && row->high == 0)
        table_cell(table, "0");
    else
        table_cellf(table, "%+.1f to %+.1f", row->low * scale, row->high * scale);
}

static int write_rows(const struct selftest_engine *engine, const struct term *term,
                      struct strbuf *text)
{
    struct table table = {.indent = 2};
    table_column(&table, "program", TABLE_LEFT, 0);
    table_column(&table, "what", TABLE_LEFT, 0);
    table_column(&table, "known", TABLE_RIGHT, 0);
    table_column(&table, "seen", TABLE_RIGHT, 0);
    table_column(&table, "off by", TABLE_RIGHT, 0);
    table_column(&table, "allowed", TABLE_RIGHT, 0);
    table_column(&table, "", TABLE_LEFT, 0);
    const char *program = "";
    array_each(&engine->rows, row)
    {
        table_cell(&table, strcmp(program, row->program) != 0 ? row->program : "");
        program = row->program;
        table_cell(&table, row->what);
        cell_value(&table, row->unit, row->known);
        cell_value(&table, row->unit, row->seen);
        cell_difference(&table, row);
        cell_allowed(&table, row);
        table_cell(&table, row->is_good ? "" : "OUTSIDE");
        if (!row->is_good)
            table_style(&table, STYLE_RED);
    }
    int rc = table_print(&table, term, text);
    table_free(&table);
    return rc;
}

static void write_cost(const struct selftest_cost *cost, struct strbuf *text)
{
    strbuf_addf(text, "  a sample costs   %s in our handler, warm", unit_seconds(cost->warm).text);
    strbuf_addf(text, " (%.0f frames, %s each)", cost->warm_depth,
                unit_seconds(cost->warm_frame).text);
    strbuf_addf(text, "; %s cold", unit_seconds(cost->cold).text);
    strbuf_addf(text, " (%.0f frames, %s each)\n", cost->cold_depth,
                unit_seconds(cost->cold_frame).text);
    strbuf_addf(text, "  on top of        %s for the interruption itself (an empty handler)\n",
                unit_seconds(cost->floor).text);
}

int selftest_write_text(const struct selftest_engines *engines, const struct term *term,
                        struct strbuf *text)
{
    size_t failures = 0;
    array_each(engines, engine)
    {
        strbuf_addf(text, "%s%s, %s sample%s\n", engine_name(engine->engine),
                    engine->kernel_mode ? "" : " without kernel mode",
                    unit_count(engine->samples).text, unit_plural(engine->samples));
        int rc = write_rows(engine, term, text);
        if (rc < 0)
            return rc;
        write_cost(&engine->cost, text);
        strbuf_add_char(text, '\n');
        failures += engine->failures;
    }
    if (failures)
        strbuf_addf(text, "%zu of the above %s outside what is allowed.\n", failures,
                    unit_either(failures, "is", "are"));
    else
        strbuf_add(text, "Everything is within what is allowed.\n");
    return strbuf_ok(text) ? LAM_OK : LAM_E_NOMEM;
}

/* ---- JSON ---- */

static void put_row(struct json_writer *json, const struct selftest_row *row)
{
    static const char *const units[] = {"share", "count", "seconds"};
    json_put_object(json);
    json_member_str(json, "program", row->program);
    json_member_str(json, "what", row->what);
    json_member_str(json, "unit", units[row->unit]);
    json_member_double(json, "known", row->known);
    json_member_double(json, "seen", row->seen);
    json_member_double(json, "allowed_below", row->low);
    json_member_double(json, "allowed_above", row->high);
    json_member_bool(json, "good", row->is_good);
    json_put_end(json);
}

static void put_engine(struct json_writer *json, const struct selftest_engine *engine)
{
    json_put_object(json);
    json_member_str(json, "engine", engine_name(engine->engine));
    json_member_bool(json, "kernel_mode", engine->kernel_mode);
    json_member_u64(json, "samples", engine->samples);
    json_member_u64(json, "failures", engine->failures);
    json_member_object(json, "cost");
    json_member_double(json, "floor_s", engine->cost.floor);
    json_member_double(json, "warm_sample_s", engine->cost.warm);
    json_member_double(json, "warm_frame_s", engine->cost.warm_frame);
    json_member_double(json, "warm_depth_frames", engine->cost.warm_depth);
    json_member_double(json, "cold_sample_s", engine->cost.cold);
    json_member_double(json, "cold_frame_s", engine->cost.cold_frame);
    json_member_double(json, "cold_depth_frames", engine->cost.cold_depth);
    json_put_end(json);
    json_member_array(json, "rows");
    array_each(&engine->rows, row) put_row(json, row);
    json_put_end(json);
    json_put_end(json);
}

int selftest_write_json(const struct selftest_engines *engines, struct byteout *out,
                        struct lam_error *err)
{
    struct json_writer json;
    json_writer_init(&json, out, 2);
    json_put_object(&json);
    json_member_str(&json, "format", "lamella-selftest");
    json_member_u64(&json, "version", 1);
    json_member_array(&json, "engines");
    array_each(engines, engine) put_engine(&json, engine);
    json_put_end(&json);
    json_put_end(&json);
    return json_writer_finish(&json, "selftest", err);
}
