#include "output/write_macros.h"

#include "analysis/macro_costs.h"
#include "base/units.h"

struct selection {
    const struct report *report;
    const struct report_view *view;
};

static bool is_chosen(void *ctx, uint32_t process)
{
    const struct selection *selection = ctx;
    return report_process_matches(selection->report, process, selection->view->unit);
}

static const char *title_of(const struct report *report, const struct macro_use *use)
{
    return report->processes.items[use->process].title;
}

int write_macros_text(const struct report *report, const struct report_view *view,
                      const struct term *term, struct strbuf *out)
{
    static const char *const columns[] = {"macro crate", "CPU", "waiting", "units", "most in"};
    struct selection selection = {report, view};
    struct macro_costs costs;
    int rc = macro_costs_make(report, is_chosen, &selection, &costs);
    uint64_t cpu_ns = 0;
    array_each(&costs.crates, crate) cpu_ns += crate->cpu_ns;
    bool is_asked = view->by_detail || view->unit;
    if (rc < 0 || costs.crates.count == 0 || (!is_asked && cpu_ns < report->total.cpu_ns / 1000)) {
        macro_costs_free(&costs);
        return rc;
    }
    struct table table = {.indent = 2};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        table_column(&table, columns[i], i == 0 || i == 4 ? TABLE_LEFT : TABLE_RIGHT, 40);
    size_t shown = 0;
    for (; shown < costs.crates.count && (view->top == 0 || shown < view->top); shown++) {
        const struct macro_cost *crate = &costs.crates.items[shown];
        const struct macro_use *dearest = &costs.uses.items[crate->first_use];
        table_cell(&table, crate->crate);
        table_cell(&table, unit_seconds(report_seconds(crate->cpu_ns)).text);
        table_cell(&table, crate->waits ? unit_seconds(report_seconds(crate->wait_ns)).text : "");
        table_cell(&table, unit_count(crate->use_count).text);
        if (crate->use_count > 1)
            table_cellf(&table, "%s, %s", title_of(report, dearest),
                        unit_seconds(report_seconds(dearest->cpu_ns)).text);
        else
            table_cell(&table, title_of(report, dearest));
    }
    strbuf_add_char(out, '\n');
    style_add(out, term, STYLE_BOLD, "Procedural macros (CPU time inside their libraries)");
    strbuf_add_char(out, '\n');
    rc = table_print(&table, term, out);
    if (costs.crates.count > shown)
        strbuf_addf(out, "  and %s more (--top 0 shows all)\n",
                    unit_count(costs.crates.count - shown).text);
    table_free(&table);
    macro_costs_free(&costs);
    return rc;
}

static void put_cost(struct json_writer *json, uint64_t samples, uint64_t cpu_ns, uint64_t waits,
                     uint64_t wait_ns)
{
    json_member_u64(json, "samples", samples);
    json_member_double(json, "cpu_s", report_seconds(cpu_ns));
    json_member_u64(json, "waits", waits);
    json_member_double(json, "wait_s", report_seconds(wait_ns));
}

int write_macros_json(struct json_writer *json, const struct report *report,
                      const struct report_view *view)
{
    struct selection selection = {report, view};
    struct macro_costs costs;
    int rc = macro_costs_make(report, is_chosen, &selection, &costs);
    if (rc < 0)
        return rc;
    json_member_array(json, "macros");
    array_each(&costs.crates, crate)
    {
        json_put_object(json);
        json_member_str(json, "macro", crate->crate);
        put_cost(json, crate->samples, crate->cpu_ns, crate->waits, crate->wait_ns);
        json_member_array(json, "uses");
        for (uint32_t i = 0; i < crate->use_count; i++) {
            const struct macro_use *use = &costs.uses.items[crate->first_use + i];
            json_put_object(json);
            json_member_str(json, "unit", title_of(report, use));
            json_member_u64(json, "pid", report->processes.items[use->process].pid);
            put_cost(json, use->samples, use->cpu_ns, use->waits, use->wait_ns);
            json_put_end(json);
        }
        json_put_end(json);
        json_put_end(json);
    }
    json_put_end(json);
    macro_costs_free(&costs);
    return LAM_OK;
}
