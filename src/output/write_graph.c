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
    put_seconds(json, "share_s", !is_part && report->shares.items.count > 0,
                (int64_t)wall_share_of_unit(&report->shares, unit));
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

static void put_idle(struct json_writer *json, const struct report *report)
{
    json_member_array(json, "idle_stretches");
    array_each(&report->idle.items, stretch)
    {
        json_put_object(json);
        put_seconds(json, "start_s", true, stretch->start_ns);
        put_seconds(json, "end_s", true, stretch->end_ns);
        json_member_fixed(json, "idle_core_s", stretch->idle_core_s, 9);
        json_member_u64(json, "running", stretch->running);
        put_unit(json, report, "unit", "pid", stretch->unit);
        json_member_u64(json, "blocked", stretch->blocked);
        json_member_u64(json, "ready", stretch->ready);
        put_unit(json, report, "next", "next_pid", stretch->next);
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_shares(struct json_writer *json, const struct report *report)
{
    json_member_array(json, "wall_shares");
    array_each(&report->shares.items, share)
    {
        bool has_phase = share->phase != WALL_NO_PHASE;
        struct phase_bucket phase = {0};
        if (has_phase)
            phase = classifier_phase(report->cls, share->phase);
        json_put_object(json);
        put_unit(json, report, "unit", "pid", share->unit);
        json_member_str(json, "segment", has_phase ? phase_segment_name(phase.segment) : NULL);
        json_member_str(json, "phase", has_phase ? phase.phase_name : NULL);
        put_seconds(json, "wall_s", true, (int64_t)share->ns);
        json_put_end(json);
    }
    json_put_end(json);
}

void write_graph_json(struct json_writer *json, const struct report *report,
                      const struct report_view *view)
{
    put_path(json, report);
    put_idle(json, report);
    if (report->shares.items.count > 0)
        put_shares(json, report);
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

static const char *need_text(enum build_need need)
{
    static const char *const texts[BUILD_NEEDS] = {"its metadata", "it and all below it, whole",
                                                   "its end", "its end"};
    return texts[need];
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
    table_column(&table, "the next one needed", TABLE_LEFT, 0);
    for (size_t i = 0; i < graph->path.count; i++) {
        const struct build_step *step = &graph->path.items[i];
        const struct build_node *node = &graph->nodes.items[step->unit];
        table_cell(&table, title_of(report, step->unit));
        table_cell(&table, unit_seconds(seconds_of(step->start_ns)).text);
        table_cell(&table, unit_seconds(seconds_of(step->end_ns - step->start_ns)).text);
        table_cell(&table, unit_seconds(seconds_of(node->end_ns - node->start_ns)).text);
        table_cell(&table, step->waited_ns > 0 ? unit_seconds(seconds_of(step->waited_ns)).text : "");
        table_cell(&table, i + 1 < graph->path.count ? need_text(step->need) : "");
    }
    int rc = term ? table_print(&table, term, out) : table_print_markdown(&table, out);
    table_free(&table);
    return rc;
}

static void heading(const char *text, const struct term *term, struct strbuf *out)
{
    strbuf_add(out, term ? "\n" : "\n## ");
    if (term)
        style_add(out, term, STYLE_BOLD, text);
    else
        strbuf_add(out, text);
    strbuf_add(out, term ? "\n" : "\n\n");
}

static int print(struct table *table, const struct term *term, struct strbuf *out)
{
    table->indent = term ? 2 : 0;
    int rc = term ? table_print(table, term, out) : table_print_markdown(table, out);
    table_free(table);
    return rc;
}

static void idle_cells(struct table *table, const struct report *report,
                       const struct idle_stretch *stretch)
{
    table_cell(table, unit_seconds(seconds_of(stretch->start_ns)).text);
    table_cell(table, unit_seconds(seconds_of(stretch->end_ns - stretch->start_ns)).text);
    table_cell(table, unit_seconds(stretch->idle_core_s).text);
    if (stretch->running == 0)
        table_cell(table, "no unit");
    else if (stretch->unit == GRAPH_NONE)
        table_cellf(table, "%u unit%s", stretch->running, unit_plural(stretch->running));
    else if (stretch->running == 1)
        table_cell(table, title_of(report, stretch->unit));
    else
        table_cellf(table, "%s, and %u more", title_of(report, stretch->unit), stretch->running - 1);
    table_cell(table, stretch->blocked ? unit_count(stretch->blocked).text : "");
    table_cell(table, stretch->ready ? unit_count(stretch->ready).text : "");
    table_cell(table, stretch->next != GRAPH_NONE ? title_of(report, stretch->next) : "");
}

static int write_idle(const struct report *report, const struct report_view *view,
                      const struct term *term, struct strbuf *out)
{
    static const char *const columns[] = {
        "from", "for", "idle core time", "what ran", "held up", "startable", "then"};
    const struct idle_stretches *idle = &report->idle;
    if (idle->items.count == 0)
        return LAM_OK;
    struct table table = {0};
    struct strbuf text = {0};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        table_column(&table, columns[i], i == 3 || i == 6 ? TABLE_LEFT : TABLE_RIGHT,
                     i == 3 ? 40 : 28);
    size_t shown = 0;
    for (; shown < idle->items.count && (view->top == 0 || shown < view->top); shown++)
        idle_cells(&table, report, &idle->items.items[shown]);
    strbuf_addf(&text, "Idle cores: %s of core time%s", unit_seconds(idle->idle_core_s).text,
                report_is_crowded(report) ? " (or other programs', which had the machine)" : "");
    heading(strbuf_text(&text), term, out);
    strbuf_free(&text);
    return print(&table, term, out);
}

struct share_row {
    uint32_t unit;
    uint64_t ns;
};

static int compare_rows(const void *left, const void *right)
{
    const struct share_row *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static int add_share_rows(const struct report *report, struct table *table, size_t top)
{
    LAM_ARRAY(struct share_row) rows = {0};
    int rc = LAM_OK;
    array_each(&report->shares.items, share)
    {
        bool is_same = rows.count > 0 && array_last(&rows).unit == share->unit;
        struct share_row row = {share->unit, share->ns};
        if (is_same)
            array_last(&rows).ns += share->ns;
        else if (rc == LAM_OK)
            rc = array_push(&rows, row);
    }
    array_sort(&rows, compare_rows);
    for (size_t i = 0; rc == LAM_OK && i < rows.count && (top == 0 || i < top); i++) {
        uint32_t unit = rows.items[i].unit;
        const struct build_node *node = unit != GRAPH_NONE ? &report->graph.nodes.items[unit] : NULL;
        table_cell(table, unit == GRAPH_NONE ? "(no unit)" : title_of(report, unit));
        table_cell(table, unit_seconds(report_seconds(rows.items[i].ns)).text);
        table_cell(table,
                   unit_percent((double)rows.items[i].ns / (double)report->shares.whole_ns).text);
        table_cell(table, node ? unit_seconds(seconds_of(node->end_ns - node->start_ns)).text : "");
        table_cell(table, node ? unit_seconds(seconds_of(node->slack_ns)).text : "");
    }
    array_free(&rows);
    return rc;
}

static int write_shares(const struct report *report, const struct report_view *view,
                        const struct term *term, struct strbuf *out)
{
    static const char *const columns[] = {"unit", "share", "", "wall", "slack"};
    if (report->shares.items.count == 0)
        return LAM_OK;
    struct table table = {0};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        table_column(&table, columns[i], i ? TABLE_RIGHT : TABLE_LEFT, 44);
    int rc = add_share_rows(report, &table, view->top);
    heading("Fair shares of the wall time", term, out);
    if (rc == LAM_OK)
        return print(&table, term, out);
    table_free(&table);
    return rc;
}

int write_graph_text(const struct report *report, const struct report_view *view,
                     const struct term *term, struct strbuf *out)
{
    const struct build_graph *graph = &report->graph;
    struct strbuf text = {0};
    if (graph->path.count == 0)
        return LAM_OK;
    strbuf_addf(&text, "Critical path: %s of %s",
                unit_seconds(seconds_of(graph->critical_path_ns)).text,
                unit_seconds(report_seconds(report->session.elapsed_ns)).text);
    heading(strbuf_text(&text), term, out);
    strbuf_free(&text);
    int rc = step_table(report, term, out);
    if (rc == LAM_OK)
        rc = write_idle(report, view, term, out);
    return rc == LAM_OK ? write_shares(report, view, term, out) : rc;
}
