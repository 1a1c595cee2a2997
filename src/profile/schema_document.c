/* docs/report-json.md from the schema. */
#include "profile/schema.h"

#include <stdbool.h>
#include <string.h>

static const char head[] =
    "# The JSON report\n"
    "\n"
    "<!-- Made from src/profile/schema.c by the test profile/schema_test; LAMELLA_UPDATE=1 writes "
    "it anew. -->\n"
    "\n"
    "`lamella report --format json RECORDING` prints one object. It is a stable interface: keys "
    "keep their names and meanings,\n"
    "and new ones may come. What is not known is `null` or absent, never 0.\n"
    "\n"
    "- Durations and times are seconds, as numbers; times count from the start of the session. "
    "Sizes are bytes.\n"
    "- CPU time and wall time are never mixed: `cpu_s` and all that comes from samples is CPU "
    "time; `wall_s`, `start_s`, `end_s` and\n"
    "  the cargo sections are wall clock; waits and `lifetime_s` are wall clock summed over "
    "threads.\n"
    "- Text that is not UTF-8 is escaped as `\\xNN` inside of the string.\n"
    "- Of inputs that are not of one build there is a report each: `{\"format\": "
    "\"lamella-reports\", \"version\": 1, \"reports\": [...]}` "
    "([self-profiles.md](self-profiles.md) says what\n"
    "  belongs together).\n"
    "\n"
    "| key | what |\n"
    "| --- | --- |\n"
    "| `format` | text: `lamella-report` |\n"
    "| `version` | integer: 1; changes when a key changes its meaning |\n";

static bool is_in(const struct schema_table *table, uint8_t place)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].place & place)
            return true;
    }
    return false;
}

static void add_type(struct strbuf *out, const struct schema_column *column)
{
    strbuf_add(out, schema_type_name(column->type));
    if (column->type == SCHEMA_LIST)
        strbuf_addf(out, " of [%s](#%s)", column->unit, column->unit);
    else if (column->unit[0])
        strbuf_addf(out, ", %s", strcmp(column->unit, "1") == 0 ? "0 to 1" : column->unit);
}

static void add_columns(struct strbuf *out, const struct schema_table *table, uint8_t place)
{
    strbuf_add(out, "\n| name | type | meaning |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < table->column_count; i++) {
        const struct schema_column *column = &table->columns[i];
        if (!(column->place & place))
            continue;
        strbuf_addf(out, "| `%s` | ", column->name);
        add_type(out, column);
        strbuf_addf(out, " | %s", column->meaning);
        /* All keys of the report are there: report_json_keys compares. */
        if (column->since > 1 && !(column->place & SCHEMA_IN_REPORT))
            strbuf_addf(out, "%s*not filled yet*", column->meaning[0] ? "; " : "");
        strbuf_add(out, " |\n");
    }
}

void schema_write_document(struct strbuf *out)
{
    strbuf_add(out, head);
    for (size_t i = 0; i < schema_table_count; i++) {
        const struct schema_table *table = &schema_tables[i];
        if (table->report_key)
            strbuf_addf(out, "| `%s` | [%s](#%s)%s%s%s%s |\n", table->report_key,
                        table->report_is_list ? "list, one " : "object", table->name,
                        table->report_is_list ? "per " : "", table->report_is_list ? table->row : "",
                        table->report_when ? "; only where " : "",
                        table->report_when ? table->report_when : "");
    }
    for (size_t i = 0; i < schema_table_count; i++) {
        const struct schema_table *table = &schema_tables[i];
        if (!is_in(table, SCHEMA_IN_REPORT))
            continue;
        strbuf_addf(out, "\n## %s\n\nOne per %s.\n", table->name, table->row);
        add_columns(out, table, SCHEMA_IN_REPORT);
    }
    strbuf_add(out, "\n# Tables\n\nWhat `lamella tables` will write, one row per what is said. "
                    "They have the meanings above where names are the "
                    "same.\n");
    for (size_t i = 0; i < schema_table_count; i++) {
        const struct schema_table *table = &schema_tables[i];
        if (!is_in(table, SCHEMA_IN_TABLE))
            continue;
        strbuf_addf(out, "\n## Table %s\n\nOne row per %s.\n", table->name, table->row);
        add_columns(out, table, SCHEMA_IN_TABLE);
    }
}
