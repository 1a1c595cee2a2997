#include "output/page_events.h"

#include <stdlib.h>

#include "output/page_redact.h"

enum { ID_MAX = 1 << 28, QUANTUM_NS = 100, NS_A_SECOND = 1000000000 };

/* ---- the sink ---- */

static int on_session(void *ctx, const struct profile_session *session)
{
    ((struct page_events *)ctx)->measure = session->measure;
    return LAM_OK;
}

static int on_thread(void *ctx, const struct profile_thread *thread)
{
    struct page_events *events = ctx;
    if (thread->thread > ID_MAX)
        return LAM_E_INVAL;
    if (thread->thread >= events->thread_of.count &&
        array_resize(&events->thread_of, (size_t)thread->thread + 1) < 0)
        return LAM_E_NOMEM;
    events->thread_of.items[thread->thread] = events->threads++;
    return LAM_OK;
}

static int on_track(void *ctx, const struct profile_track *track)
{
    struct page_events *events = ctx;
    if (track->track > ID_MAX)
        return LAM_E_INVAL;
    if (track->track >= events->tracks.count &&
        array_resize(&events->tracks, (size_t)track->track + 1) < 0)
        return LAM_E_NOMEM;
    size_t size = track->name.bytes ? track->name.size : 0;
    char *name = arena_strndup(&events->arena, size ? track->name.bytes : "", size);
    if (!name)
        return LAM_E_NOMEM;
    events->tracks.items[track->track] = (struct profile_text){name, size};
    return LAM_OK;
}

static int on_label(void *ctx, const struct profile_label *label)
{
    struct page_events *events = ctx;
    if (label->label > ID_MAX)
        return LAM_E_INVAL;
    if (label->label >= events->labels.count &&
        array_resize(&events->labels, (size_t)label->label + 1) < 0)
        return LAM_E_NOMEM;
    char *text = arena_strndup(&events->arena, label->text.bytes ? label->text.bytes : "",
                               label->text.bytes ? label->text.size : 0);
    if (!text)
        return LAM_E_NOMEM;
    events->labels.items[label->label] =
        (struct page_label){label->kind, {text, label->text.bytes ? label->text.size : 0}};
    return LAM_OK;
}

static int compare_length(const void *left, const void *right)
{
    const struct page_event *a = left, *b = right;
    return a->length_ns > b->length_ns ? -1 : a->length_ns < b->length_ns;
}

/* Those as long as the first one that is too many go as well: which of equals are kept must not be a matter of chance. */
static void leave_out_short(struct page_events *events)
{
    array_sort(&events->items, compare_length);
    uint64_t bound = events->items.items[PAGE_EVENTS_MAX].length_ns;
    while (events->items.count && array_last(&events->items).length_ns <= bound)
        events->items.count--;
    events->least_ns = bound + 1;
}

static int on_interval(void *ctx, const struct profile_interval *interval)
{
    struct page_events *events = ctx;
    if (interval->thread >= events->thread_of.count || interval->label >= events->labels.count)
        return LAM_E_INVAL;
    events->seen++;
    struct page_event event = {.start_ns = interval->start_ns,
                               .length_ns = interval->end_ns > interval->start_ns
                                                ? (uint64_t)(interval->end_ns - interval->start_ns)
                                                : 0,
                               .thread = events->thread_of.items[interval->thread],
                               .label = interval->label,
                               .depth = interval->depth,
                               .track = interval->track};
    if (event.length_ns < events->least_ns)
        return LAM_OK;
    if (events->items.count >= 2 * (size_t)PAGE_EVENTS_MAX)
        leave_out_short(events);
    return array_push(&events->items, event);
}

struct profile_sink page_events_sink(struct page_events *events)
{
    static const struct profile_sink_ops ops = {
        .session = on_session,
        .thread = on_thread,
        .track = on_track,
        .label = on_label,
        .interval = on_interval,
    };
    return (struct profile_sink){.ctx = events, .ops = &ops};
}

void page_events_free(struct page_events *events)
{
    array_free(&events->thread_of);
    array_free(&events->labels);
    array_free(&events->tracks);
    array_free(&events->items);
    arena_free(&events->arena);
}

/* ---- tables ---- */

static int compare_place(const void *left, const void *right)
{
    const struct page_event *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (a->length_ns != b->length_ns)
        return a->length_ns > b->length_ns ? -1 : 1;
    return a->label < b->label ? -1 : a->label > b->label;
}

static void put_label(struct page_columns *data, struct page_column *column,
                      struct profile_text label, bool redacts)
{
    if (!label.bytes || !redacts) {
        page_text(data, column, label.bytes, label.size);
        return;
    }
    struct strbuf left = {0};
    page_redact_text(label.bytes, label.size, &left);
    page_text(data, column, strbuf_text(&left), left.length);
    if (!strbuf_ok(&left))
        data->failed = LAM_E_NOMEM;
    strbuf_free(&left);
}

/* A label whose events were all left out has no name: there may be many. */
static void put_labels(const struct page_events *events, bool redacts, struct page_columns *data)
{
    LAM_ARRAY(bool) is_used = {0};
    if (array_resize(&is_used, events->labels.count) < 0) {
        data->failed = LAM_E_NOMEM;
        return;
    }
    array_each(&events->items, event) is_used.items[event->label] = true;
    size_t at = 0;
    struct page_table *table = page_table(data, "labels");
    struct page_column *kind = page_column(data, table, "kind", PAGE_TEXT),
                       *label = page_column(data, table, "label", PAGE_TEXT);
    array_each(&events->labels, own)
    {
        struct profile_text text = {0}, name = {0};
        if (is_used.items[at++]) {
            name = own->text;
            if (own->kind < events->labels.count)
                text = events->labels.items[own->kind].text;
        }
        page_text(data, kind, text.bytes, text.size);
        put_label(data, label, name, redacts);
        if (table)
            table->rows++;
    }
    array_free(&is_used);
}

/* Those that have events in the page, in the order of their ids. Nothing where all is on threads. */
static void put_tracks(const struct page_events *events, bool redacts, struct page_columns *data)
{
    struct page_column *column = NULL, *name = NULL;
    LAM_ARRAY(int64_t) row_of = {0};
    array_each(&events->items, event)
    {
        if (!event->track || event->track > ID_MAX)
            continue;
        if (event->track >= row_of.count && array_resize(&row_of, (size_t)event->track + 1) < 0)
            data->failed = LAM_E_NOMEM;
        if (data->failed < 0)
            break;
        row_of.items[event->track] = 1;
    }
    if (row_of.count) {
        struct page_table *table = page_table(data, "event_tracks");
        name = page_column(data, table, "name", PAGE_TEXT);
        column = page_column(data, page_table(data, "events"), "track", PAGE_ROW);
        for (size_t i = 0; data->failed == LAM_OK && i < row_of.count; i++) {
            struct profile_text text = {0};
            if (i < events->tracks.count)
                text = events->tracks.items[i];
            if (!row_of.items[i])
                continue;
            row_of.items[i] = (int64_t)table->rows++;
            put_label(data, name, text, redacts);
        }
    }
    if (column) {
        column->of = "event_tracks";
        array_each(&events->items, event)
            page_int(data, column,
                     event->track && event->track <= ID_MAX ? row_of.items[event->track] : PAGE_NULL);
    }
    array_free(&row_of);
}

static void put_events(const struct page_events *events, struct page_columns *data)
{
    struct page_table *table = page_table(data, "events");
    struct page_column *thread = page_column(data, table, "thread", PAGE_ROW),
                       *start = page_column(data, table, "start", PAGE_INT),
                       *length = page_column(data, table, "length", PAGE_INT),
                       *label = page_column(data, table, "label", PAGE_ROW),
                       *depth = page_column(data, table, "depth", PAGE_INT);
    if (data->failed < 0)
        return;
    thread->of = "threads";
    label->of = "labels";
    start->per = length->per = NS_A_SECOND / QUANTUM_NS;
    array_each(&events->items, event)
    {
        page_int(data, thread, event->thread);
        page_int(data, start, event->start_ns / QUANTUM_NS);
        page_int(data, length, (int64_t)(event->length_ns / QUANTUM_NS));
        page_int(data, label, event->label);
        page_int(data, depth, event->depth);
    }
    table->rows = events->items.count;
}

int page_events_put(struct page_events *events, bool redacts, struct page_columns *data)
{
    if (events->items.count > PAGE_EVENTS_MAX)
        leave_out_short(events);
    if (!events->items.count || events->measure != PROFILE_MEASURE_TIME)
        return LAM_OK;
    array_sort(&events->items, compare_place);
    put_labels(events, redacts, data);
    put_events(events, data);
    if (data->failed == LAM_OK)
        put_tracks(events, redacts, data);
    return data->failed;
}

void page_describe_events(const struct page_events *events, struct json_writer *json)
{
    if (!events->items.count || events->measure != PROFILE_MEASURE_TIME)
        return;
    json_member_object(json, "events");
    json_member_double(json, "quantum_s", QUANTUM_NS / 1e9);
    json_member_u64(json, "events", events->items.count);
    json_member_u64(json, "left_out", events->seen - events->items.count);
    json_member_double(json, "shorter_than_s", (double)events->least_ns / 1e9);
    json_put_end(json);
}
