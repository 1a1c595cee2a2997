#include "output/write_machine.h"

#include <math.h>

#include "base/units.h"

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_seconds(struct json_writer *json, const char *key, int64_t ns)
{
    json_member_fixed(json, key, (double)ns / 1e9, 9);
}

static void put_number(struct json_writer *json, const char *key, double value)
{
    if (isfinite(value))
        json_member_double(json, key, value);
    else
        json_member_null(json, key);
}

static void put_count(struct json_writer *json, const char *key, uint64_t count)
{
    if (count == PROFILE_UNKNOWN)
        json_member_null(json, key);
    else
        json_member_u64(json, key, count);
}

static void put_machine(struct json_writer *json, const struct report_machine *machine)
{
    json_member_object(json, "machine");
    json_member_str(json, "machine_id", machine->machine_id);
    json_member_str(json, "cpu_model", machine->cpu_model);
    put_count(json, "cores", machine->cores);
    put_count(json, "mem_bytes", machine->mem_bytes);
    json_member_str(json, "kernel", machine->kernel);
    json_member_str(json, "os", machine->os);
    json_member_str(json, "arch", machine->arch);
    json_member_str(json, "virt", machine->virt);
    json_member_str(json, "cpu_shares", machine->cpu_shares);
    json_put_end(json);
}

static void put_settings(struct json_writer *json, const struct report *report)
{
    json_member_array(json, "settings");
    array_each(&report->settings, setting)
    {
        json_put_object(json);
        json_member_str(json, "key", setting->key);
        json_member_str(json, "value", setting->value);
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_timeline(struct json_writer *json, const struct report *report)
{
    json_member_array(json, "timeline");
    array_each(&report->timeline, row)
    {
        json_put_object(json);
        put_seconds(json, "t_s", row->t_ns);
        put_number(json, "running", row->running);
        put_number(json, "waiting", row->waiting);
        put_number(json, "inactive", row->inactive);
        put_number(json, "threads_busy", row->threads_busy);
        put_number(json, "processes", row->processes);
        put_number(json, "threads", row->threads);
        put_number(json, "tree_busy", row->tree_busy);
        put_number(json, "cpu_busy", row->cpu_busy);
        put_number(json, "load1", row->load1);
        put_number(json, "psi_cpu", row->psi_cpu);
        put_number(json, "psi_io", row->psi_io);
        put_number(json, "psi_mem", row->psi_mem);
        put_number(json, "rss_bytes", row->rss_bytes);
        put_number(json, "anon_bytes", row->anon_bytes);
        put_number(json, "mem_available_bytes", row->mem_available_bytes);
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_owner(struct json_writer *json, const struct report *report, uint32_t index)
{
    const struct report_process *process = &report->processes.items[index];
    json_member_str(json, "unit", process->unit == REPORT_NO_UNIT ? NULL : process->title);
    json_member_u64(json, "pid", process->pid);
}

static void put_memory_peak(struct json_writer *json, const struct report *report)
{
    const struct report_memory_peak *peak = &report->memory_peak;
    json_member_object(json, "memory_peak");
    if (peak->anon_bytes == PROFILE_UNKNOWN)
        json_member_null(json, "t_s");
    else
        put_seconds(json, "t_s", peak->t_ns);
    put_count(json, "rss_bytes", peak->rss_bytes);
    put_count(json, "anon_bytes", peak->anon_bytes);
    json_member_array(json, "holders");
    array_each(&peak->holders, holder)
    {
        json_put_object(json);
        put_owner(json, report, holder->process);
        json_member_u64(json, "rss_bytes", holder->rss_bytes);
        json_member_u64(json, "anon_bytes", holder->anon_bytes);
        json_put_end(json);
    }
    json_put_end(json);
    json_put_end(json);
}

static void put_memory(struct json_writer *json, const struct report *report,
                       const struct report_view *view)
{
    json_member_array(json, "memory");
    array_each(&report->memory, reading)
    {
        if (!report_process_matches(report, reading->process, view->unit))
            continue;
        json_put_object(json);
        put_owner(json, report, reading->process);
        put_seconds(json, "t_s", reading->t_ns);
        json_member_u64(json, "rss_bytes", reading->rss_bytes);
        json_member_u64(json, "anon_bytes", reading->anon_bytes);
        json_put_end(json);
    }
    json_put_end(json);
}

void write_machine_json(struct json_writer *json, const struct report *report,
                        const struct report_view *view)
{
    put_machine(json, &report->machine);
    put_settings(json, report);
    put_timeline(json, report);
    put_memory_peak(json, report);
    if (view->by_memory)
        put_memory(json, report, view);
}

/* ---- text and Markdown ------------------------------------------------------------------------------------------- */

static void holder_cells(struct table *table, const struct report *report,
                         const struct report_memory *holder)
{
    const struct report_process *process = &report->processes.items[holder->process];
    bool has_peak = process->has_usage && process->usage.max_rss_bytes != PROFILE_UNKNOWN;
    table_cell(table, process->title);
    table_cell(table, unit_bytes((double)holder->anon_bytes).text);
    table_cell(table, unit_bytes((double)holder->rss_bytes).text);
    table_cell(table, unit_bytes(has_peak ? (double)process->usage.max_rss_bytes : NAN).text);
}

static void memory_heading(const struct report *report, const struct term *term, struct strbuf *out)
{
    struct strbuf text = {0};
    const struct report_memory_peak *peak = &report->memory_peak;
    strbuf_addf(&text, "Memory at its most: %s of processes' own, %s with shared pages, at %s",
                unit_bytes((double)peak->anon_bytes).text, unit_bytes((double)peak->rss_bytes).text,
                unit_seconds((double)peak->t_ns / 1e9).text);
    strbuf_add(out, term ? "\n" : "\n## ");
    if (term)
        style_add(out, term, STYLE_BOLD, strbuf_text(&text));
    else
        strbuf_add(out, strbuf_text(&text));
    strbuf_add(out, term ? "\n" : "\n\n");
    strbuf_free(&text);
}

int write_memory(const struct report *report, const struct report_view *view,
                 const struct term *term, struct strbuf *out)
{
    static const char *const columns[] = {"process", "own", "with shared", "its own peak"};
    const struct report_memory_peak *peak = &report->memory_peak;
    struct table table = {.indent = 2};
    size_t shown = 0, matching = 0;
    if (peak->anon_bytes == PROFILE_UNKNOWN)
        return LAM_OK;
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        table_column(&table, columns[i], i ? TABLE_RIGHT : TABLE_LEFT, i ? 0 : 44);
    array_each(&peak->holders, holder)
    {
        if (!report_process_matches(report, holder->process, view->unit))
            continue;
        matching++;
        if (view->top > 0 && shown >= view->top)
            continue;
        holder_cells(&table, report, holder);
        shown++;
    }
    memory_heading(report, term, out);
    int rc = term ? table_print(&table, term, out) : table_print_markdown(&table, out);
    if (matching > shown)
        strbuf_addf(out, "%sand %s more\n", term ? "  " : "\n", unit_count(matching - shown).text);
    table_free(&table);
    return rc;
}
