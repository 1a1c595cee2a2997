#include "output/write_graph.h"

#include <math.h>

#include "base/units.h"

static double seconds_of(int64_t ns)
{
    return (double)ns / 1e9;
}

static const char *title_of(const struct report *report, uint32_t unit)
{
    return report->units.items[unit].title;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_seconds(struct json_writer *json, const char *key, bool is_known, int64_t ns)
{
    if (is_known)
        json_member_fixed(json, key, seconds_of(ns), 9);
    else
        json_member_null(json, key);
}

/* A unit by its name, which others may share, and its process, which none does at its time. */
static void put_unit(struct json_writer *json, const struct report *report, const char *key,
                     const char *pid_key, uint32_t unit)
{
    json_member_str(json, key, unit == GRAPH_NONE ? NULL : title_of(report, unit));
    if (unit == GRAPH_NONE)
        json_member_null(json, pid_key);
    else
        json_member_u64(json, pid_key,
                        report->processes.items[report->units.items[unit].process].pid);
}

void write_graph_unit_json(struct json_writer *json, const struct report *report, uint32_t unit)
{
    const struct build_node *node = &report->graph.nodes.items[unit];
    bool is_part = node->inside != GRAPH_NONE;
    put_unit(json, report, "inside", "inside_pid", node->inside);
    put_seconds(json, "metadata_at_s", node->rmeta_from != RMETA_NONE, node->rmeta_ns);
    json_member_str(json, "metadata_from", rmeta_from_name(node->rmeta_from));
    put_seconds(json, "ready_s", !is_part, node->ready_ns);
    put_unit(json, report, "unblocked_by", "unblocked_by_pid", node->unblocked_by);
    put_seconds(json, "slack_s", !is_part, node->slack_ns);
    json_member_bool(json, "on_critical_path", node->on_path);
}

static void put_path(struct json_writer *json, const struct report *report)
{
    json_member_array(json, "critical_path");
    array_each(&report->graph.path, step)
    {
        json_put_object(json);
        put_unit(json, report, "unit", "pid", step->unit);
        json_member_str(json, "need", build_need_name(step->need));
        put_seconds(json, "start_s", true, step->start_ns);
        put_seconds(json, "end_s", true, step->end_ns);
        put_seconds(json, "waited_s", true, step->waited_ns);
        json_put_end(json);
    }
    json_put_end(json);
}

void write_graph_json(struct json_writer *json, const struct report *report,
                      const struct report_view *view)
{
    put_path(json, report);
    json_member_array(json, "unit_deps");
    array_each(&report->graph.edges, edge)
    {
        if (!report_unit_matches(&report->units.items[edge->unit], view->unit))
            continue;
        json_put_object(json);
        put_unit(json, report, "unit", "pid", edge->unit);
        put_unit(json, report, "dep", "dep_pid", edge->dep);
        json_member_str(json, "kind", build_need_name(edge->need));
        json_member_bool(json, "contradicted", edge->is_contradicted);
        json_put_end(json);
    }
    json_put_end(json);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static const char *need_text(const struct build_graph *graph, size_t step)
{
    static const char *const texts[BUILD_NEEDS] = {"its metadata, for", "it and all below it, for",
                                                   "its end, for", "its end, for"};
    return step + 1 < graph->path.count ? texts[graph->path.items[step].need] : "its end";
}

static int step_table(const struct report *report, const struct term *term, struct strbuf *out)
{
    const struct build_graph *graph = &report->graph;
    struct table table = {.indent = term ? 2 : 0};
    table_column(&table, "unit", TABLE_LEFT, 44);
    table_column(&table, "from", TABLE_RIGHT, 0);
    table_column(&table, "took", TABLE_RIGHT, 0);
    table_column(&table, "of its", TABLE_RIGHT, 0);
    table_column(&table, "waited", TABLE_RIGHT, 0);
    table_column(&table, "up to", TABLE_LEFT, 0);
    for (size_t i = 0; i < graph->path.count; i++) {
        const struct build_step *step = &graph->path.items[i];
        const struct build_node *node = &graph->nodes.items[step->unit];
        table_cell(&table, title_of(report, step->unit));
        table_cell(&table, unit_seconds(seconds_of(step->start_ns)).text);
        table_cell(&table, unit_seconds(seconds_of(step->end_ns - step->start_ns)).text);
        table_cell(&table, unit_seconds(seconds_of(node->end_ns - node->start_ns)).text);
        table_cell(&table, step->waited_ns > 0 ? unit_seconds(seconds_of(step->waited_ns)).text : "");
        table_cell(&table, need_text(graph, i));
    }
    int rc = term ? table_print(&table, term, out) : table_print_markdown(&table, out);
    table_free(&table);
    return rc;
}

int write_graph_text(const struct report *report, const struct report_view *view,
                     const struct term *term, struct strbuf *out)
{
    (void)view;
    const struct build_graph *graph = &report->graph;
    if (graph->path.count == 0)
        return LAM_OK;
    struct strbuf heading = {0};
    strbuf_addf(&heading, "Critical path: %s of %s",
                unit_seconds(seconds_of(graph->critical_path_ns)).text,
                unit_seconds(report_seconds(report->session.elapsed_ns)).text);
    strbuf_addf(out, "%s", term ? "\n" : "\n## ");
    if (term)
        style_add(out, term, STYLE_BOLD, strbuf_text(&heading));
    else
        strbuf_add(out, strbuf_text(&heading));
    strbuf_add(out, term ? "\n" : "\n\n");
    strbuf_free(&heading);
    return step_table(report, term, out);
}
