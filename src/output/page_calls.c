#include "output/page_calls.h"

#include "output/write_labels.h"

enum { NANO_DECIMALS = 9 };

/* Samples of a program without a stack say nothing of calls. */
static bool is_known(const struct calls *calls)
{
    return calls && (!calls->is_of_samples || calls->graph.all.samples || calls->graph.all.ns);
}

int page_calls_choose(struct page_calls *page, const struct calls *events,
                      const struct calls *samples, const struct page_call_bounds *bounds)
{
    const struct calls *const sources[PAGE_CALL_SOURCES] = {events, samples};
    for (size_t i = 0; i < PAGE_CALL_SOURCES; i++) {
        struct page_call_bounds own = *bounds;
        if (!is_known(sources[i]))
            continue;
        if (i > 0 && !page->choices[0].tree.count)
            own.nodes =
                0; /* a page has stacks of samples by themselves, with the time and the thread */
        int rc = page_call_choose(&page->choices[i], &sources[i]->graph, &own);
        if (page->choices[i].functions.count)
            page->sources[i] = sources[i];
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* One source on its way out; its functions stand behind those of the one before. */
struct writer {
    struct json_writer *json;
    const struct calls *calls;
    const struct page_call_choice *choice;
    uint32_t first_row;
};

static void put_text(struct json_writer *json, const char *key, struct profile_text text)
{
    if (text.size)
        json_member_str_n(json, key, text.bytes, text.size);
    else
        json_member_null(json, key);
}

/* Of what is no time the key says so. */
static void put_amount(const struct writer *w, const char *name, uint64_t amount)
{
    if (labels_measure_is_time(w->calls->measure)) {
        json_put_key_parts(w->json, name, "_s");
        json_put_decimal(w->json, (int64_t)amount, NANO_DECIMALS);
    } else {
        json_put_key_parts(w->json, name, "_units");
        json_put_i64(w->json, (int64_t)amount);
    }
}

static void put_row(const struct writer *w, const char *key, uint32_t name)
{
    if (name == CALL_NOBODY)
        json_member_null(w->json, key);
    else
        json_member_u64(w->json, key, w->first_row + w->choice->row_of.items[name]);
}

static void put_source(const struct writer *w)
{
    json_member_str(w->json, "of", w->calls->is_of_samples ? "samples" : "events");
}

static void put_functions(const struct writer *w)
{
    array_each(&w->choice->functions, kept)
    {
        const struct call_function *function = &w->calls->graph.functions.items[kept->name];
        const struct call_name *name = &w->calls->names.items[kept->name];
        json_put_object(w->json);
        put_source(w);
        put_text(w->json, "kind", name->kind);
        json_member_str_n(w->json, "function", name->name.bytes, name->name.size);
        put_text(w->json, "module", name->module);
        put_text(w->json, "file", name->file);
        if (name->line)
            json_member_u64(w->json, "line", name->line);
        if (w->calls->is_of_samples) {
            json_member_u64(w->json, "samples", function->total.samples);
            json_member_u64(w->json, "self_samples", function->self.samples);
        } else {
            json_member_u64(w->json, "count", function->count);
            json_member_u64(w->json, "calls_of_itself", kept->calls_of_itself);
        }
        put_amount(w, "self", function->self.ns);
        put_amount(w, "time", function->total.ns);
        json_member_u64(w->json, "callers", kept->callers);
        json_member_u64(w->json, "callees", kept->callees);
        json_put_end(w->json);
    }
}

static void put_pairs(const struct writer *w)
{
    array_each(&w->choice->pairs, at)
    {
        const struct call_edge *edge = &w->calls->graph.edges.items[*at];
        json_put_object(w->json);
        put_row(w, "caller", edge->caller);
        put_row(w, "callee", edge->callee);
        if (w->calls->is_of_samples) {
            json_member_u64(w->json, "samples", edge->time.samples);
            json_member_u64(w->json, "below_samples", edge->below.samples);
        } else {
            json_member_u64(w->json, "count", edge->count);
        }
        put_amount(w, "time", edge->time.ns);
        put_amount(w, "below", edge->below.ns);
        json_put_end(w->json);
    }
}

static void put_tree(const struct writer *w)
{
    array_each(&w->choice->tree, kept)
    {
        const struct call_node *node = &w->calls->graph.nodes.items[kept->node];
        json_put_object(w->json);
        json_member_u64(w->json, "depth", kept->depth);
        put_row(w, "function", node->name);
        if (w->calls->is_of_samples)
            json_member_u64(w->json, "samples", kept->total.samples);
        else
            json_member_u64(w->json, "count", node->count);
        put_amount(w, "self", node->self.ns);
        put_amount(w, "time", kept->total.ns);
        json_put_end(w->json);
    }
}

static void put_list(const struct page_calls *page, const char *key,
                     void (*put)(const struct writer *w), struct json_writer *json)
{
    uint32_t first_row = 0;
    json_member_array(json, key);
    for (size_t i = 0; i < PAGE_CALL_SOURCES; i++) {
        if (!page->sources[i])
            continue;
        put(&(struct writer){json, page->sources[i], &page->choices[i], first_row});
        first_row += (uint32_t)page->choices[i].functions.count;
    }
    json_put_end(json);
}

void page_calls_json(const struct page_calls *page, struct json_writer *json)
{
    put_list(page, "call_functions", put_functions, json);
    put_list(page, "call_pairs", put_pairs, json);
    put_list(page, "call_tree", put_tree, json);
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

void page_describe_calls(const struct page_calls *page, struct json_writer *json)
{
    if (!page->sources[0] && !page->sources[1])
        return;
    json_member_array(json, "calls");
    for (size_t i = 0; i < PAGE_CALL_SOURCES; i++) {
        const struct page_call_choice *choice = &page->choices[i];
        if (!page->sources[i])
            continue;
        struct writer w = {json, page->sources[i], choice, 0};
        json_put_object(json);
        put_source(&w);
        put_amount(&w, "whole", w.calls->whole_ns);
        json_member_u64(json, "functions", choice->functions.count);
        json_member_u64(json, "functions_left", choice->functions_left);
        json_member_u64(json, "pairs", choice->pairs.count);
        json_member_u64(json, "pairs_left", choice->pairs_left);
        json_member_u64(json, "nodes", choice->tree.count);
        json_member_u64(json, "nodes_left", choice->nodes_left);
        json_put_end(json);
    }
    json_put_end(json);
}

void page_calls_free(struct page_calls *page)
{
    for (size_t i = 0; i < PAGE_CALL_SOURCES; i++)
        page_call_choice_free(&page->choices[i]);
}
