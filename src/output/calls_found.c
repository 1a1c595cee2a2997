/* Which functions a report speaks of when it says who calls whom. */
#include "output/write_calls.h"

static int not_found(const struct report_view *view, struct lam_error *err)
{
    const struct calls *sources[2];
    struct calls_likeness among = {.sources = sources};
    struct strbuf like = {0};
    if (view->event_calls)
        sources[among.count++] = view->event_calls;
    if (view->sample_calls)
        sources[among.count++] = view->sample_calls;
    size_t functions = 0;
    for (size_t i = 0; i < among.count; i++)
        functions += sources[i]->graph.functions.count;
    int rc = calls_most_like(&among, view->around, &like);
    if (rc < 0)
        rc = lam_error_set(err, rc, "report: out of memory");
    else if (functions == 0)
        rc = lam_error_set(err, LAM_E_NOTFOUND,
                           "--around '%s': there are neither events nor samples with stacks",
                           view->around);
    else if (like.length)
        rc = lam_error_set(err, LAM_E_NOTFOUND, "nothing is called '%s'; there are %s",
                           view->around, strbuf_text(&like));
    else
        rc = lam_error_set(err, LAM_E_NOTFOUND,
                           "nothing is called '%s' (part of a name, or a pattern with * and ?)",
                           view->around);
    strbuf_free(&like);
    return rc;
}

int calls_found_make(const struct report_view *view, struct calls_found_both *found,
                     struct lam_error *err)
{
    const struct calls *const sources[] = {view->event_calls, view->sample_calls};
    *found = (struct calls_found_both){0};
    for (size_t i = 0; i < 2; i++) {
        struct calls_found *part = &found->items[found->count];
        if (!sources[i])
            continue;
        part->calls = sources[i];
        int rc = calls_find(sources[i], view->around, &part->names);
        if (rc < 0)
            return lam_error_set(err, rc, "report: out of memory");
        found->count += part->names.count > 0;
    }
    return found->count > 0 ? LAM_OK : not_found(view, err);
}

void calls_found_free(struct calls_found_both *found)
{
    for (size_t i = 0; i < 2; i++)
        array_free(&found->items[i].names);
}

static int compare_self(const void *left, const void *right, void *graph)
{
    const struct call_function *functions = ((const struct call_graph *)graph)->functions.items;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (functions[a].self.ns != functions[b].self.ns)
        return functions[a].self.ns > functions[b].self.ns ? -1 : 1;
    if (functions[a].total.ns != functions[b].total.ns)
        return functions[a].total.ns > functions[b].total.ns ? -1 : 1;
    return a < b ? -1 : a > b;
}

int calls_by_self(const struct calls *calls, struct call_names *names)
{
    for (uint32_t i = 0; i < calls->graph.functions.count; i++)
        if (calls->graph.functions.items[i].is_there && array_push(names, i) < 0)
            return LAM_E_NOMEM;
    if (names->count > 1)
        qsort_r(names->items, names->count, sizeof *names->items, compare_self,
                (void *)(uintptr_t)&calls->graph);
    return LAM_OK;
}
