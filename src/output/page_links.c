#include "output/page_links.h"

#include <string.h>

#include "profile/schema.h"

/* Where a finding shows, if not at its unit. */
static const struct {
    const char *id, *view;
} views[] = {
    {"serial_tail", "timeline"},
    {"idle_cores", "timeline"},
    {"core_wait", "timeline"},
    {"cpu_busy", "timeline"},
    {"short_span", "timeline"},
    {"memory_limit", "timeline"},
    {"memory_peak", "timeline"},
    {"gating_unit", "critical_path"},
    {"jobserver", "waits"},
    {"feeder_limit", "waits"},
    {"unknown", "phases"},
    {"debug_info", "phases"},
    {"link_time", "phases"},
    {"macro_time", "phases"},
    {"one_codegen_unit", "units"},
    {"duplicate_versions", "units"},
    {"low_coverage", "coverage"},
    {"no_symbols", "coverage"},
    {"no_names", "coverage"},
    {"unsampled", "coverage"},
    {"virtual_threads", "coverage"},
    {"lost_records", "coverage"},
    {"truncated", "coverage"},
    {"unaccounted", "coverage"},
    {"still_running", "coverage"},
    {"damaged_streams", "coverage"},
    {"session_damaged", "coverage"},
    {"duplicate_streams", "coverage"},
    {"overwritten_events", "coverage"},
    {"untold_calls", "coverage"},
    {"cut_texts", "coverage"},
    {"recorder_refused", "coverage"},
};

static const char *view_of(const struct report_finding *finding)
{
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        if (strcmp(views[i].id, finding->id) == 0)
            return views[i].view;
    }
    return finding->unit == REPORT_NO_UNIT ? NULL : "units";
}

static void put_link(const struct report *report, const struct report_finding *finding,
                     struct json_writer *json)
{
    const char *view = view_of(finding);
    if (!view)
        return;
    json_put_object(json);
    json_member_str(json, "view", view);
    if (finding->unit != REPORT_NO_UNIT)
        json_member_u64(json, "unit", finding->unit);
    if (strcmp(finding->id, "serial_tail") == 0) {
        json_member_double(json, "from_s", (double)report->tail_start_ns / 1e9);
        json_member_double(json, "to_s", (double)report->tail_start_ns / 1e9 + finding->seconds);
    }
    json_put_end(json);
}

void page_put_links(const struct report *report, struct json_writer *json)
{
    json_member_array(json, "links");
    array_each(&report->findings, finding)
    {
        json_put_array(json);
        put_link(report, finding, json);
        json_put_end(json);
    }
    json_put_end(json);
}

/* ---- meanings ---- */

/* The schema's table of a page's table: that of the report's list, or of a list inside its rows. */
static const struct schema_table *schema_of(const char *name)
{
    const char *dot = strchr(name, '.');
    char outer[64];
    if (!dot)
        return schema_report_part(name);
    if ((size_t)(dot - name) >= sizeof outer)
        return NULL;
    memcpy(outer, name, (size_t)(dot - name));
    outer[dot - name] = '\0';
    const struct schema_table *table = schema_report_part(outer);
    const struct schema_column *column = table ? schema_column(table, dot + 1) : NULL;
    return column && column->type == SCHEMA_LIST ? schema_table(column->unit) : NULL;
}

static void put_columns(const struct page_table *table, const struct schema_table *schema,
                        struct json_writer *json)
{
    json_member_object(json, table->name);
    for (const struct page_column *column = table->columns; column; column = column->next) {
        const struct schema_column *known = schema_column(schema, column->name);
        if (!known)
            continue;
        json_member_object(json, column->name);
        if (*known->unit)
            json_member_str(json, "unit", known->unit);
        json_member_str(json, "meaning", known->meaning);
        json_put_end(json);
    }
    json_put_end(json);
}

/* Objects of the report, which are members of the header as they are. */
static void put_object(const char *name, struct json_writer *json)
{
    const struct schema_table *schema = schema_report_part(name);
    json_member_object(json, name);
    for (size_t i = 0; schema && i < schema->column_count; i++) {
        const struct schema_column *column = &schema->columns[i];
        if (!(column->place & SCHEMA_IN_REPORT))
            continue;
        json_member_object(json, column->name);
        if (*column->unit)
            json_member_str(json, "unit", column->unit);
        json_member_str(json, "meaning", column->meaning);
        json_put_end(json);
    }
    json_put_end(json);
}

void page_put_meanings(const struct page_columns *data, struct json_writer *json)
{
    json_member_object(json, "meanings");
    put_object("session", json);
    put_object("coverage", json);
    for (const struct page_table *table = data->tables; table; table = table->next) {
        const struct schema_table *schema = table->rows ? schema_of(table->name) : NULL;
        if (schema)
            put_columns(table, schema, json);
    }
    json_put_end(json);
}
