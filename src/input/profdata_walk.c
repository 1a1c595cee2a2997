#include "input/profdata_walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* ---- events in the wrong order ---- */

struct sort_key {
    uint64_t end, start, index;
};

/* Integers have no time. They stay where programs write them, behind all else. */
static struct sort_key key_of(const struct profdata_file *file, uint64_t index)
{
    struct profdata_run run;
    profdata_run_at(file, index, &run);
    const uint8_t *bytes = run.bytes + (index - run.first) * file->event_bytes;
    struct profdata_event event = profdata_event_read(bytes, file->is_wide);
    if (event.end == PROFDATA_INTEGER)
        return (struct sort_key){UINT64_MAX, 0, index};
    if (event.end == PROFDATA_INSTANT)
        return (struct sort_key){event.start, event.start, index};
    profdata_mend_backward(&event);
    return (struct sort_key){event.end, event.start, index};
}

static int compare_events(const void *left, const void *right, void *ctx)
{
    struct sort_key a = key_of(ctx, *(const uint64_t *)left);
    struct sort_key b = key_of(ctx, *(const uint64_t *)right);
    if (a.end != b.end)
        return a.end < b.end ? -1 : 1;
    if (a.start != b.start)
        return a.start > b.start ? -1 : 1; /* inner ones first */
    return a.index < b.index ? -1 : a.index > b.index;
}

int profdata_sort(const struct profdata_file *file, const struct profdata_threads *threads,
                  struct profdata_order *order)
{
    bool is_ordered = true;
    *order = (struct profdata_order){.count = profdata_event_count(file)};
    array_each(&threads->items, thread) is_ordered = is_ordered && thread->is_ordered;
    if (is_ordered || order->count == 0)
        return LAM_OK;
    if (order->count > SIZE_MAX / sizeof *order->events)
        return LAM_E_NOMEM;
    order->events = mem_alloc((size_t)order->count * sizeof *order->events);
    if (!order->events)
        return LAM_E_NOMEM;
    for (uint64_t i = 0; i < order->count; i++)
        order->events[i] = i;
    struct profdata_file *of = (struct profdata_file *)(uintptr_t)file; /* qsort_r takes no const */
    qsort_r(order->events, (size_t)order->count, sizeof *order->events, compare_events, of);
    return LAM_OK;
}

void profdata_order_free(struct profdata_order *order)
{
    mem_free(order->events);
    order->events = NULL;
}

/* ---- for both walks ---- */

/* The whole text put together and parted. */
static int part_text(struct profdata_walk *walk, uint64_t id)
{
    uint64_t cut = walk->strings->cut_texts;
    strbuf_clear(&walk->text);
    int rc = profdata_strings_text(walk->strings, id, &walk->text);
    walk->totals.cut_texts += walk->strings->cut_texts - cut;
    const char *at = strbuf_text(&walk->text), *end = at + walk->text.length;
    const char *part = memchr(at, PROFDATA_SEPARATOR, walk->text.length);
    while (rc >= 0 && part) {
        at = part + 1;
        part = memchr(at, PROFDATA_SEPARATOR, (size_t)(end - at));
        struct profile_text arg = {at, (size_t)((part ? part : end) - at)};
        rc = array_push(&walk->args, arg);
    }
    return rc;
}

int profdata_walk_args(struct profdata_walk *walk, uint64_t id, uint64_t args_id,
                       const struct profile_text **args, size_t *argc)
{
    const struct profile_sink *sink = walk->sink;
    struct profdata_arg only;
    *args = NULL;
    *argc = 0;
    walk->has_plain_args = false;
    if (!args_id ||
        (sink->ops->knows_args && sink->ops->knows_args(sink->ctx, walk->process, args_id)))
        return LAM_OK;
    array_clear(&walk->args);
    int rc;
    if (profdata_args_find(walk->strings, id, &walk->text, &only)) {
        walk->has_plain_args = only.is_plain;
        rc = array_push(&walk->args, ((struct profile_text){only.bytes, only.size}));
    } else {
        rc = part_text(walk, id);
    }
    *args = walk->args.items;
    *argc = walk->args.count;
    return rc;
}

int profdata_walk_make_instant(struct profdata_walk *walk, const struct profdata_event *event,
                               uint32_t thread, uint64_t at, struct profile_instant *out)
{
    bool has_value = event->end == PROFDATA_INTEGER;
    *out = (struct profile_instant){
        .process = walk->process,
        .thread = walk->first_thread + thread,
        .at_ns = profdata_walk_time(walk, at),
        .has_value = has_value,
        .is_undated = has_value,
        .value = has_value ? event->start : 0,
        .args_id = profdata_walk_args_id(walk, event->id),
    };
    int rc = profdata_label(walk->labels, walk->strings, event->kind, event->id, &out->label);
    if (rc >= 0)
        rc = profdata_walk_args(walk, event->id, out->args_id, &out->args, &out->argc);
    return rc;
}

int profdata_walk_instant(struct profdata_walk *walk, const struct profdata_event *event,
                          uint32_t thread, uint64_t at)
{
    struct profile_instant told;
    walk->totals.instants++;
    if (!walk->sink->ops->instant)
        return LAM_OK;
    int rc = profdata_walk_make_instant(walk, event, thread, at, &told);
    return rc < 0 ? rc : walk->sink->ops->instant(walk->sink->ctx, &told);
}

void profdata_walk_free(struct profdata_walk *walk)
{
    profdata_skeleton_free(&walk->skeleton);
    strbuf_free(&walk->text);
    array_free(&walk->args);
}
