#include "output/write_headers.h"

#include "base/units.h"

enum { HEADERS_SHOWN = 10 };

int write_headers_text(const struct report *report, const struct report_view *view,
                       const struct term *term, struct strbuf *out)
{
    const struct header_costs *costs = &report->headers;
    struct table table = {.indent = 2};
    struct strbuf heading = {0};
    if (costs->items.count == 0 || view->unit || !view->by_unit)
        return LAM_OK;
    strbuf_addf(&heading, "Headers by cost, from clang's traces of %s unit%s (wall, not CPU)",
                unit_count(costs->units).text, unit_plural(costs->units));
    strbuf_add_char(out, '\n');
    style_add(out, term, STYLE_BOLD, strbuf_text(&heading));
    strbuf_add_char(out, '\n');
    strbuf_free(&heading);
    table_column(&table, "header", TABLE_LEFT, 60);
    table_column(&table, "read", TABLE_RIGHT, 0);
    table_column(&table, "with what it includes", TABLE_RIGHT, 0);
    table_column(&table, "without", TABLE_RIGHT, 0);
    for (size_t i = 0; i < costs->items.count && i < HEADERS_SHOWN; i++) {
        const struct header_cost *cost = &costs->items.items[i];
        table_cell(&table, cost->file);
        table_cellf(&table, "%s time%s", unit_count(cost->count).text, unit_plural(cost->count));
        table_cell(&table, unit_seconds(cost->total_s).text);
        table_cell(&table, unit_seconds(cost->self_s).text);
    }
    int rc = table_print(&table, term, out);
    table_free(&table);
    return rc;
}

void write_headers_json(struct json_writer *json, const struct report *report)
{
    if (report->headers.items.count == 0)
        return;
    json_member_array(json, "headers");
    array_each(&report->headers.items, cost)
    {
        json_put_object(json);
        json_member_str(json, "file", cost->file);
        json_member_u64(json, "count", cost->count);
        json_member_fixed(json, "total_s", cost->total_s, 9);
        json_member_fixed(json, "self_s", cost->self_s, 9);
        json_member_fixed(json, "max_s", cost->max_s, 9);
        json_put_end(json);
    }
    json_put_end(json);
}
