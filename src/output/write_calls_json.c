#include "output/write_calls.h"
#include "output/write_labels.h"

struct writer {
    struct json_writer *json;
    const struct report_view *view;
    const struct calls *calls;
};

static void put_text(struct writer *w, const char *key, struct profile_text text)
{
    if (text.size)
        json_member_str_n(w->json, key, text.bytes, text.size);
    else
        json_member_null(w->json, key);
}

static void put_source(struct writer *w)
{
    json_member_str(w->json, "of", w->calls->is_of_samples ? "samples" : "events");
}

/* Under other keys for the caller of a pair. */
static void put_name(struct writer *w, uint32_t name, bool is_caller)
{
    static const struct call_name nobody;
    const struct call_name *called = name == CALL_NOBODY ? &nobody : &w->calls->names.items[name];
    put_text(w, is_caller ? "caller_kind" : "kind", called->kind);
    if (name == CALL_NOBODY)
        json_member_null(w->json, is_caller ? "caller" : "function");
    else
        json_member_str_n(w->json, is_caller ? "caller" : "function", called->name.bytes,
                          called->name.size);
    put_text(w, is_caller ? "caller_module" : "module", called->module);
}

static void put_amount(struct writer *w, const char *name, uint64_t amount)
{
    labels_amount_json(w->json, name, (int64_t)amount, labels_measure_is_time(w->calls->measure),
                       true);
}

static void put_counts(struct writer *w, uint64_t count, uint64_t samples)
{
    if (w->calls->is_of_samples)
        json_member_null(w->json, "count");
    else
        json_member_u64(w->json, "count", count);
    if (w->calls->is_of_samples)
        json_member_u64(w->json, "samples", samples);
    else
        json_member_null(w->json, "samples");
}

static bool is_shown(const struct writer *w, size_t index, uint64_t part, uint64_t whole)
{
    return !(w->view->top > 0 && index >= w->view->top) &&
           !(100 * labels_share(part, whole) < w->view->percent_above);
}

/* ---- around ------------------------------------------------------------------------------------------------------ */

static void put_neighbours(struct writer *w, const char *key, const struct call_around *around,
                           bool are_callers)
{
    const struct call_edges *edges = are_callers ? &around->callers : &around->callees;
    uint64_t whole = around->function->total.ns;
    size_t index = 0;
    json_member_array(w->json, key);
    array_each(edges, edge)
    {
        struct call_amount part = are_callers ? edge->time : edge->below;
        if (!is_shown(w, index++, part.ns, whole))
            continue;
        json_put_object(w->json);
        put_name(w, are_callers ? edge->caller : edge->callee, false);
        put_counts(w, edge->count, part.samples);
        put_amount(w, "time", part.ns);
        json_member_double(w->json, "share", labels_share(part.ns, whole));
        json_put_end(w->json);
    }
    json_put_end(w->json);
}

static int put_around(struct writer *w, uint32_t name)
{
    struct call_around around;
    int rc = call_graph_around(&w->calls->graph, name, &around);
    if (rc == LAM_OK) {
        const struct call_function *function = around.function;
        json_put_object(w->json);
        put_source(w);
        put_name(w, name, false);
        put_text(w, "file", w->calls->names.items[name].file);
        if (w->calls->names.items[name].line)
            json_member_u64(w->json, "line", w->calls->names.items[name].line);
        else
            json_member_null(w->json, "line");
        put_counts(w, function->count, function->total.samples);
        if (w->calls->is_of_samples)
            json_member_null(w->json, "calls_of_itself");
        else
            json_member_u64(w->json, "calls_of_itself", around.calls_of_itself);
        put_amount(w, "self", function->self.ns);
        put_amount(w, "time", function->total.ns);
        json_member_double(w->json, "share", labels_share(function->total.ns, w->calls->whole_ns));
        put_neighbours(w, "callers", &around, true);
        put_neighbours(w, "callees", &around, false);
        json_put_end(w->json);
    }
    call_around_free(&around);
    return rc;
}

static int put_found(struct json_writer *json, const struct report_view *view, struct lam_error *err)
{
    struct calls_found_both found;
    int rc = calls_found_make(view, &found, err);
    if (rc == LAM_OK) {
        json_member_array(json, "around");
        for (size_t i = 0; rc == LAM_OK && i < found.count; i++) {
            struct writer w = {json, view, found.items[i].calls};
            const struct call_names *names = &found.items[i].names;
            for (size_t k = 0;
                 rc == LAM_OK && k < names->count && (view->top == 0 || k < view->top); k++)
                rc = put_around(&w, names->items[k]);
        }
        json_put_end(json);
        if (rc < 0)
            lam_error_set(err, rc, "report: out of memory");
    }
    calls_found_free(&found);
    return rc;
}

/* ---- pairs and functions ----------------------------------------------------------------------------------------- */

static void put_pairs(struct writer *w)
{
    size_t index = 0;
    array_each(&w->calls->graph.edges, edge)
    {
        bool is_empty = edge->count == 0 && edge->time.ns == 0 && edge->time.samples == 0;
        if (is_empty || !is_shown(w, index++, edge->time.ns, w->calls->whole_ns))
            continue;
        json_put_object(w->json);
        put_source(w);
        put_name(w, edge->caller, true);
        put_name(w, edge->callee, false);
        put_counts(w, edge->count, edge->time.samples);
        put_amount(w, "self", edge->self.ns);
        put_amount(w, "time", edge->time.ns);
        json_member_double(w->json, "share", labels_share(edge->time.ns, w->calls->whole_ns));
        json_put_end(w->json);
    }
}

static int put_functions(struct writer *w)
{
    struct call_names names = {0};
    int rc = calls_by_self(w->calls, &names);
    for (size_t i = 0; rc == LAM_OK && i < names.count; i++) {
        const struct call_function *function = &w->calls->graph.functions.items[names.items[i]];
        if (!is_shown(w, i, function->self.ns, w->calls->whole_ns))
            continue;
        json_put_object(w->json);
        put_name(w, names.items[i], false);
        put_text(w, "file", w->calls->names.items[names.items[i]].file);
        json_member_u64(w->json, "samples", function->self.samples);
        put_amount(w, "self", function->self.ns);
        put_amount(w, "time", function->total.ns);
        json_member_double(w->json, "share", labels_share(function->self.ns, w->calls->whole_ns));
        json_put_end(w->json);
    }
    array_free(&names);
    return rc;
}

int write_calls_json(struct json_writer *json, const struct report_view *view, struct lam_error *err)
{
    const struct calls *const sources[] = {view->event_calls, view->sample_calls};
    int rc = view->around ? put_found(json, view, err) : LAM_OK;
    if (rc < 0)
        return rc;
    if (view->by_caller) {
        json_member_array(json, "calls");
        for (size_t i = 0; i < 2; i++)
            if (sources[i])
                put_pairs(&(struct writer){json, view, sources[i]});
        json_put_end(json);
    }
    if (view->by_function) {
        json_member_array(json, "functions");
        for (size_t i = 0; rc == LAM_OK && i < 2; i++)
            if (sources[i] && sources[i]->is_of_samples)
                rc = put_functions(&(struct writer){json, view, sources[i]});
        json_put_end(json);
    }
    return rc < 0 ? lam_error_set(err, rc, "report: out of memory") : LAM_OK;
}
