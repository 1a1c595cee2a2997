#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "output/write_labels.h"

enum { NANO_DECIMALS = 9 };

struct writer {
    struct json_writer *json;
    const struct report *report;
    const struct report_view *view;
    const struct labels *labels;
    bool is_time;
};

void labels_amount_json(struct json_writer *json, const char *name, int64_t amount, bool is_time,
                        bool is_known)
{
    json_put_key_parts(json, name, "_s");
    if (is_time && is_known)
        json_put_decimal(json, amount, NANO_DECIMALS);
    else
        json_put_null(json);
    json_put_key_parts(json, name, "_units");
    if (!is_time && is_known)
        json_put_i64(json, amount);
    else
        json_put_null(json);
}

static void put_amount(struct writer *w, const char *name, int64_t amount, bool is_known)
{
    labels_amount_json(w->json, name, amount, w->is_time, is_known);
}

static void put(struct writer *w, const char *name, uint64_t amount)
{
    put_amount(w, name, (int64_t)amount, true);
}

static void put_text(struct writer *w, const char *key, uint32_t text)
{
    size_t length;
    const char *bytes = labels_text(w->labels, text, &length);
    json_member_str_n(w->json, key, bytes, length);
}

static void put_name(struct writer *w, uint32_t name)
{
    put_text(w, "kind", w->labels->names.items[name].kind);
    put_text(w, "label", w->labels->names.items[name].label);
}

static void put_unit(struct writer *w, uint32_t process)
{
    json_member_str(w->json, "unit", labels_unit_title(w->report, process));
    if (process == LABELS_ALL)
        json_member_null(w->json, "pid");
    else
        json_member_u64(w->json, "pid", w->labels->processes.items[process].pid);
}

static void put_intervals(struct writer *w)
{
    const struct labels *labels = w->labels;
    uint64_t processes = 0;
    array_each(&labels->processes, process) processes += process->threads > 0;
    json_member_object(w->json, "intervals");
    json_member_str(w->json, "measure", labels_measure_name(labels->session.measure));
    json_member_u64(w->json, "events", labels->events);
    json_member_u64(w->json, "instants", labels->marks_seen);
    json_member_u64(w->json, "threads", labels->threads.count);
    json_member_u64(w->json, "processes", processes);
    put(w, "self", labels->self_ns);
    put(w, "thread", labels->thread_ns);
    put(w, "whole", labels->whole_ns);
    json_member_u64(w->json, "folded", labels->folded);
    json_member_u64(w->json, "one_in", labels->one_in);
    json_member_u64(w->json, "open", labels->open);
    json_member_u64(w->json, "backward", labels->backward);
    json_member_u64(w->json, "overlapping", labels->overlapping);
    json_put_end(w->json);
}

static void put_row(struct writer *w, const struct label_row *row)
{
    bool has_single = row->count > row->folded;
    json_put_object(w->json);
    put_unit(w, row->process);
    put_name(w, row->name);
    json_member_u64(w->json, "count", row->count);
    json_member_u64(w->json, "cache_hits", row->cache_hits);
    put(w, "self", row->self_ns);
    json_member_fixed(w->json, "share", labels_share_of_all(w->labels, row->self_ns), NANO_DECIMALS);
    put(w, "active", row->active_ns);
    put(w, "time", row->time_ns);
    put(w, "wall", row->wall_ns);
    put(w, "blocked", row->blocked_ns);
    put(w, "load", row->load_ns);
    put(w, "hashing", row->hashing_ns);
    put_amount(w, "min", (int64_t)row->min_ns, has_single);
    put_amount(w, "p50", (int64_t)row->p50_ns, has_single);
    put_amount(w, "p90", (int64_t)row->p90_ns, has_single);
    put_amount(w, "p99", (int64_t)row->p99_ns, has_single);
    put_amount(w, "max", (int64_t)row->max_ns, has_single);
    json_member_u64(w->json, "open", row->open);
    json_member_u64(w->json, "folded", row->folded);
    json_put_end(w->json);
}

/* Largest first: the first ones up to --top, and as long as they reach --percent-above. */
static bool is_shown(const struct writer *w, size_t index, uint64_t amount)
{
    if (w->view->top > 0 && index >= w->view->top)
        return false;
    return !(100 * labels_share_of_all(w->labels, amount) < w->view->percent_above);
}

static void put_activities(struct writer *w)
{
    const struct label_row_list *rows =
        w->labels->unit_rows.count > 0 ? &w->labels->unit_rows : &w->labels->rows;
    uint32_t process = LABELS_ALL - 1;
    size_t index = 0;
    array_each(rows, row)
    {
        index = row->process == process ? index + 1 : 0;
        process = row->process;
        bool is_beyond = w->view->most_activities && index >= w->view->most_activities;
        if (!is_beyond && is_shown(w, index, row->self_ns))
            put_row(w, row);
    }
}

static void put_kinds(struct writer *w)
{
    json_member_array(w->json, "activity_kinds");
    array_each(&w->labels->kinds, kind)
    {
        json_put_object(w->json);
        put_text(w, "kind", kind->kind);
        json_member_u64(w->json, "count", kind->count);
        put(w, "self", kind->self_ns);
        json_put_end(w->json);
    }
    json_put_end(w->json);
}

static void put_units(struct writer *w)
{
    json_member_array(w->json, "activity_units");
    for (uint32_t i = 0; i < w->labels->processes.count; i++) {
        const struct label_process *process = &w->labels->processes.items[i];
        if (process->threads == 0)
            continue;
        json_put_object(w->json);
        put_unit(w, i);
        json_member_u64(w->json, "events", process->events);
        json_member_u64(w->json, "threads", process->threads);
        put(w, "self", process->self_ns);
        put(w, "thread", process->thread_ns);
        json_put_end(w->json);
    }
    json_put_end(w->json);
}

static void put_stretch(struct writer *w, const struct label_stretch *stretch)
{
    json_member_u64(w->json, "events", stretch->events);
    put(w, "self", stretch->self_ns);
    put_amount(w, "start", stretch->start_ns, true);
    put_amount(w, "end", stretch->end_ns, true);
}

static void put_threads(struct writer *w)
{
    json_member_array(w->json, "activity_threads");
    array_each(&w->labels->threads, thread)
    {
        json_put_object(w->json);
        put_unit(w, thread->process);
        json_member_u64(w->json, "tid", thread->tid);
        put_text(w, "name", thread->name);
        put_stretch(w, &thread->all);
        json_put_end(w->json);
    }
    json_put_end(w->json);
}

static void put_tracks(struct writer *w)
{
    json_member_array(w->json, "activity_tracks");
    array_each(&w->labels->tracks, track)
    {
        const struct label_thread *thread = &w->labels->threads.items[track->thread];
        json_put_object(w->json);
        put_unit(w, thread->process);
        if (track->has_moved)
            json_member_null(w->json, "tid");
        else
            json_member_u64(w->json, "tid", thread->tid);
        put_text(w, "name", track->name);
        put_stretch(w, &track->all);
        json_put_end(w->json);
    }
    json_put_end(w->json);
}

static void put_artifacts(struct writer *w)
{
    bool has_units =
        w->labels->unit_rows.count > 0 ||
        (w->labels->artifacts.count > 0 && array_last(&w->labels->artifacts).process != LABELS_ALL);
    json_member_array(w->json, "artifact_sizes");
    array_each(&w->labels->artifacts, artifact)
    {
        if (has_units == (artifact->process == LABELS_ALL))
            continue;
        json_put_object(w->json);
        put_unit(w, artifact->process);
        put_text(w, "label", artifact->label);
        json_member_u64(w->json, "bytes", artifact->bytes);
        json_put_end(w->json);
    }
    json_put_end(w->json);
}

static void put_counters(struct writer *w)
{
    json_member_array(w->json, "counters");
    array_each(&w->labels->counters, row)
    {
        struct writer in = *w;
        in.is_time = labels_measure_is_time(row->measure);
        json_put_object(w->json);
        put_text(w, "counter", row->counter);
        json_member_str(w->json, "measure", labels_measure_name(row->measure));
        put_name(w, row->name);
        json_member_u64(w->json, "count", row->count);
        put(&in, "self", row->self);
        put(&in, "total", row->total);
        put(&in, "max", row->max);
        json_put_end(w->json);
    }
    json_put_end(w->json);
}

static void put_marks(struct writer *w)
{
    json_member_array(w->json, "instants");
    array_each(&w->labels->marks, mark)
    {
        json_put_object(w->json);
        put_name(w, mark->name);
        json_member_u64(w->json, "count", mark->count);
        json_member_u64(w->json, "values", mark->values);
        const char *const keys[] = {"sum", "min", "max"};
        const uint64_t values[] = {mark->sum, mark->min, mark->max};
        for (size_t i = 0; i < 3; i++) {
            if (mark->values > 0)
                json_member_u64(w->json, keys[i], values[i]);
            else
                json_member_null(w->json, keys[i]);
        }
        if (mark->has_last)
            json_member_u64(w->json, "last", mark->last);
        else
            json_member_null(w->json, "last");
        json_put_end(w->json);
    }
    json_put_end(w->json);
}

/* The text of arguments, with ", " where the key has a separator. */
static void put_argument_text(struct writer *w, const struct label_argument *row)
{
    struct strbuf text = {0};
    label_argument_text(&w->labels->arguments, row, &text);
    json_member_str_n(w->json, "argument", strbuf_text(&text), text.length);
    if (!strbuf_ok(&text))
        w->json->failed = LAM_E_NOMEM;
    strbuf_free(&text);
}

static void put_arguments(struct writer *w)
{
    size_t index = 0;
    json_member_array(w->json, "arguments");
    array_each(&w->labels->arguments.rows, row)
    {
        if (!is_shown(w, index++, row->self_ns))
            break;
        json_put_object(w->json);
        put_name(w, row->name);
        put_argument_text(w, row);
        json_member_u64(w->json, "count", row->count);
        put(w, "self", row->self_ns);
        put(w, "time", row->time_ns);
        put(w, "max", row->max_ns);
        json_put_end(w->json);
    }
    json_put_end(w->json);
}

/* All of them: a reader needs the parents of what it shows. */
static void put_paths(struct writer *w)
{
    json_member_array(w->json, "paths");
    for (uint32_t i = 1; i < w->labels->paths.nodes.count; i++) {
        const struct label_path *node = &w->labels->paths.nodes.items[i];
        json_put_object(w->json);
        json_member_u64(w->json, "path", i);
        if (node->parent)
            json_member_u64(w->json, "parent", node->parent);
        else
            json_member_null(w->json, "parent");
        json_member_u64(w->json, "depth", node->depth);
        put_name(w, node->name);
        json_member_u64(w->json, "count", node->count);
        put(w, "self", node->self_ns);
        put(w, "time", node->time_ns);
        json_put_end(w->json);
    }
    json_put_end(w->json);
}

void write_labels_json(struct json_writer *json, const struct report *report,
                       const struct report_view *view)
{
    bool has_events = labels_are_shown(view);
    struct writer w = {json, report, view, view->labels,
                       has_events && labels_measure_is_time(view->labels->session.measure)};
    if (has_events)
        put_intervals(&w);
    json_member_array(json, "activities");
    if (has_events)
        put_activities(&w);
    json_put_end(json);
    if (!has_events)
        return;
    put_kinds(&w);
    put_units(&w);
    put_threads(&w);
    put_tracks(&w);
    put_counters(&w);
    put_artifacts(&w);
    put_marks(&w);
    if (view->by_argument)
        put_arguments(&w);
    if (view->by_path)
        put_paths(&w);
}
