#include "input/process_events.h"

#include <string.h>

#include "base/memory.h"
#include "input/code_labels.h"
#include "input/recording.h"

/* ---- names ---- */

int64_t process_events_ns(struct process_events *events, uint64_t time)
{
    int64_t ns = time < INT64_MAX ? (int64_t)time : INT64_MAX;
    if (events->file->header.measure == STREAM_MEASURE_TICKS)
        ns = tick_clock_ns(events->clock, time);
    return ns < INTERVAL_NEST_OPEN ? ns : INTERVAL_NEST_OPEN - 1;
}

static int make_label(struct process_events *events, uint32_t kind, uint32_t id, uint32_t *out)
{
    uint32_t kind_label;
    strbuf_clear(&events->text);
    event_names_add_kind(&events->names, kind, &events->text);
    if (!strbuf_ok(&events->text))
        return LAM_E_NOMEM;
    int rc = label_merge_get(events->labels, 0, strbuf_text(&events->text), events->text.length,
                             &kind_label);
    if (rc < 0)
        return rc;
    strbuf_clear(&events->text);
    event_names_add_label(&events->names, kind, id, &events->text);
    if (!strbuf_ok(&events->text))
        return LAM_E_NOMEM;
    return label_merge_get(events->labels, kind_label, strbuf_text(&events->text),
                           events->text.length, out);
}

int process_events_label(struct process_events *events, uint32_t kind, uint32_t id, uint32_t *out)
{
    uint64_t key = (uint64_t)kind << 32 | id;
    struct event_label_slot *slot =
        &events->cache[(key ^ key >> 29) * 0x9e3779b97f4a7c15ull >> 52 & (EVENT_LABEL_CACHE - 1)];
    if (slot->label && slot->key == key) {
        *out = slot->label;
        return LAM_OK;
    }
    int rc = make_label(events, kind, id, out);
    if (rc >= 0)
        *slot = (struct event_label_slot){key, *out};
    return rc;
}

static int push_track(struct process_events *events, uint32_t track, int64_t start_ns,
                      uint32_t name, uint32_t *out)
{
    bool added;
    uint64_t *id = map_slot(&events->track_ids, track, events->first_track + events->tracks, &added);
    if (!id)
        return LAM_E_NOMEM;
    *out = (uint32_t)*id;
    if (!added)
        return LAM_OK;
    events->tracks++;
    strbuf_clear(&events->text);
    if (name)
        event_names_add_string(&events->names, name, &events->text);
    if (events->text.failed)
        return LAM_E_NOMEM;
    struct profile_track told = {
        .track = *out,
        .process = events->process,
        .start_ns = start_ns,
        .name = {strbuf_text(&events->text), events->text.length},
    };
    return events->sink->ops->track ? events->sink->ops->track(events->sink->ctx, &told) : LAM_OK;
}

int process_events_track(struct process_events *events, uint32_t track, uint32_t *out)
{
    return push_track(events, track, 0, 0, out); /* those with a record were told at the start */
}

static int push_tracks(struct process_events *events)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < events->names.tracks.count; i++) {
        const struct event_track *track = &events->names.tracks.items[i];
        uint32_t id;
        rc = push_track(events, track->track, tick_clock_ns(events->clock, track->ticks),
                        track->name, &id);
    }
    return rc;
}

/* The event's arguments as texts; valid until the next call. */
static int find_args(struct process_events *events, const struct event *event)
{
    event_args_clear(&events->args);
    array_clear(&events->texts);
    int rc = event_names_add_args(&events->names, event->kind, event->id, &events->args);
    if (rc >= 0)
        rc = event_names_add_slots(&events->names, event->more, event->more_count, &events->args);
    if (rc >= 0 && events->sink->wants.counters)
        rc = event_names_add_counters(&events->names, event->more, event->more_count, event->at_end,
                                      &events->args);
    size_t from = 0;
    for (size_t i = 0; rc >= 0 && i < events->args.ends.count; i++) {
        size_t end = events->args.ends.items[i];
        rc = array_push(&events->texts,
                        ((struct profile_text){strbuf_text(&events->args.texts) + from, end - from}));
        from = end;
    }
    return rc;
}

/* ---- lines ---- */

static int take_line(struct process_events *events, struct map *lines, uint32_t number,
                     struct event_line **out, bool *added)
{
    *out = NULL;
    uint64_t *at = map_slot(lines, number, 0, NULL);
    if (!at)
        return LAM_E_NOMEM;
    *added = *at == 0;
    if (*at) {
        *out = events->lines.items[*at - 1];
        return LAM_OK;
    }
    uint32_t index;
    if (events->free_lines.count) {
        index = array_pop(&events->free_lines);
    } else {
        struct event_line *line = mem_zalloc(1, sizeof *line);
        index = (uint32_t)events->lines.count;
        if (!line || array_push(&events->lines, line) < 0) {
            mem_free(line);
            return LAM_E_NOMEM;
        }
        if (array_reserve(&events->free_lines, events->lines.count) < 0)
            return LAM_E_NOMEM;
    }
    *at = (uint64_t)index + 1;
    *out = events->lines.items[index];
    return LAM_OK;
}

/* When a thread ended, or else the last that is known of its process. What other threads count cannot be compared. */
static uint64_t last_of_thread(const struct process_events *events, uint32_t thread,
                               const struct event_thread *info)
{
    if (info && (events->file->header.measure != STREAM_MEASURE_TICKS || !info->has_lane))
        return info->last;
    uint64_t end = map_get_or(&events->names.thread_ends, thread, events->last);
    return info && info->last > end ? info->last : end;
}

static int line_of_thread(struct process_events *events, uint32_t thread, struct event_line **out)
{
    bool added;
    int rc = take_line(events, &events->thread_lines, thread, out, &added);
    if (rc < 0 || !added)
        return rc;
    uint64_t at = map_get_or(&events->index.thread_at, thread, UINT64_MAX);
    const struct event_thread *info = at == UINT64_MAX ? NULL : &events->index.threads.items[at];
    (*out)->thread = (uint32_t)map_get_or(&events->thread_ids, thread, 0);
    (*out)->segments_left = info ? info->segments : 1;
    (*out)->last = last_of_thread(events, thread, info);
    interval_nest_begin(&(*out)->nest, events->sink, events->paths, events->process, 0);
    return LAM_OK;
}

static int line_of_track(struct process_events *events, uint32_t track, struct event_line **out)
{
    bool added;
    int rc = take_line(events, &events->track_lines, track, out, &added);
    if (rc < 0 || !added)
        return rc;
    uint32_t id;
    rc = process_events_track(events, track, &id);
    (*out)->thread = 0;
    (*out)->last = events->last;
    interval_nest_begin(&(*out)->nest, events->sink, events->paths, events->process, id);
    return rc;
}

/* A line has ended; its memory serves the next one. */
static int end_line(struct process_events *events, struct map *lines, uint32_t number)
{
    uint64_t at = map_get_or(lines, number, 0);
    if (!at)
        return LAM_OK;
    struct event_line *line = events->lines.items[at - 1];
    int rc = interval_nest_finish(&line->nest, process_events_ns(events, line->last));
    nest_totals_add(&events->totals, &line->nest.totals);
    line->nest.totals = (struct nest_totals){0};
    arena_reset(&line->folds);
    (void)map_remove(lines, number);
    events->free_lines.items[events->free_lines.count++] = (uint32_t)at - 1;
    return rc;
}

/* ---- events ---- */

static int line_of(struct process_events *events, const struct event *event, struct event_line **out)
{
    return event->track ? line_of_track(events, event->track, out)
                        : line_of_thread(events, event->thread, out);
}

static uint32_t thread_id(const struct process_events *events, uint32_t thread)
{
    return (uint32_t)map_get_or(&events->thread_ids, thread, 0);
}

static uint64_t span_ns(struct process_events *events, uint64_t at, uint64_t amount)
{
    if (events->file->header.measure == STREAM_MEASURE_TICKS)
        return tick_clock_span_ns(events->clock, at, amount);
    return amount;
}

static int make_fold(struct process_events *events, const struct event_fold *from,
                     struct profile_fold *out)
{
    *out = (struct profile_fold){
        .thread = thread_id(events, from->thread),
        .at_ns = process_events_ns(events, from->time),
        .until_ns = process_events_ns(events, from->time),
        .count = from->count,
        .total_ns = span_ns(events, from->time, from->total),
        .self_ns = span_ns(events, from->time, from->self),
    };
    return process_events_label(events, from->kind, from->id, &out->label);
}

static bool is_fold(const struct event_mark *mark)
{
    return mark->code == STREAM_SLOT_FOLD || mark->code == STREAM_SLOT_CALLS;
}

/* The folds among an interval's marks; they stay in the line's arena until nothing is pending there. */
static int find_folds(struct process_events *events, struct event_line *line,
                      const struct event *event, const struct profile_fold **out, size_t *count)
{
    size_t folds = 0;
    for (size_t i = 0; i < event->marks.count; i++)
        folds += is_fold(&event->marks.items[i]);
    *count = 0;
    *out = NULL;
    if (!folds)
        return LAM_OK;
    if (!line->nest.pending.count)
        arena_reset(&line->folds);
    struct profile_fold *made = arena_array(&line->folds, folds, sizeof *made);
    if (!made)
        return LAM_E_NOMEM;
    *out = made;
    for (size_t i = 0; i < event->marks.count; i++) {
        const struct event_mark *mark = &event->marks.items[i];
        if (!is_fold(mark))
            continue;
        if (mark->code == STREAM_SLOT_CALLS) { /* in the tree, which tells of them */
            made[(*count)++] =
                (struct profile_fold){.self_ns = span_ns(events, event->start, mark->self)};
            continue;
        }
        int rc = make_fold(events, &events->index.folds.items[mark->fold], &made[(*count)++]);
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

/* Active time where the nest cannot find it alone: paused by itself, or the line's absences are needed ahead of them. */
static uint64_t active_ns(struct process_events *events, const struct event *event, uint64_t end,
                          uint64_t wall_ns)
{
    bool is_detached = (event->flags & STREAM_KIND_DETACHED) != 0;
    uint32_t track = events->uses_stints && !is_detached ? event->track : 0;
    if (!track && !event->marks.count && !event->has_active)
        return is_detached ? wall_ns : PROFILE_UNKNOWN;
    uint64_t paused = event_paused(&events->index, event, track, end);
    if (!track && !paused && !event->has_active)
        return is_detached ? wall_ns : PROFILE_UNKNOWN;
    uint64_t paused_ns = span_ns(events, event->start, paused);
    return wall_ns - (paused_ns < wall_ns ? paused_ns : wall_ns);
}

static int name_counters(struct process_events *events)
{
    int rc = LAM_OK;
    for (uint32_t i = 0; rc == LAM_OK && i < PROFILE_COUNTERS_MAX; i++) {
        bool is_there = i + 1 < events->names.counters.count;
        struct event_counter info =
            is_there ? events->names.counters.items[i + 1] : (struct event_counter){0};
        strbuf_clear(&events->text);
        if (info.name)
            event_names_add_string(&events->names, info.name, &events->text);
        else
            strbuf_addf(&events->text, "#%u", i + 1);
        const char *name = strbuf_ok(&events->text)
                               ? arena_strndup(&events->counter_names, strbuf_text(&events->text),
                                               events->text.length)
                               : NULL;
        /* A counter may leave it open what it counts: no one counts ticks. */
        enum profile_measure measure = info.measure == STREAM_MEASURE_TICKS
                                           ? PROFILE_MEASURE_OTHER
                                           : recording_measure(info.measure);
        events->counters[i] = (struct profile_counted){
            .number = i, .name = {name, events->text.length}, .measure = measure};
        rc = name ? LAM_OK : LAM_E_NOMEM;
    }
    return rc;
}

static size_t find_counted(const struct process_events *events, const struct event *event,
                           struct profile_counted out[PROFILE_COUNTERS_MAX])
{
    struct event_end_counters counted = event_counted(event->more, event->more_count, event->at_end);
    size_t count = 0;
    for (uint32_t i = 0; counted.known >> i; i++) {
        if (!(counted.known >> i & 1))
            continue;
        out[count] = events->counters[i];
        out[count++].value = counted.value[i];
    }
    return count;
}

static int on_interval(struct process_events *events, struct event_line *line,
                       const struct event *event)
{
    struct profile_counted counted[PROFILE_COUNTERS_MAX];
    uint64_t end = event->is_open && line->last > event->start ? line->last : event->end;
    bool is_foreign = event_has_foreign_end(events->file, event);
    if (is_foreign)
        end = event->start + (event->has_active ? event->active : 0);
    struct profile_interval in = {
        .thread = thread_id(events, event->thread),
        .start_ns = process_events_ns(events, event->start),
        .end_ns = process_events_ns(events, end),
        .self_ns = PROFILE_UNKNOWN,
        .weight = event->weight,
        .flags = (event->is_open ? (unsigned)PROFILE_INTERVAL_OPEN : 0u) |
                 (is_foreign && !event->has_active ? (unsigned)PROFILE_INTERVAL_BACKWARD : 0u) |
                 (event->flags & STREAM_KIND_DETACHED ? (unsigned)PROFILE_INTERVAL_DETACHED : 0u) |
                 (event->is_inside ? (unsigned)PROFILE_INTERVAL_RECURSIVE : 0u),
        .args = events->texts.items,
        .argc = events->texts.count,
    };
    if (events->sink->wants.counted && event->more_count) {
        in.counted = counted;
        in.counted_count = find_counted(events, event, counted);
    }
    in.end_thread =
        event->end_thread == event->thread ? in.thread : thread_id(events, event->end_thread);
    uint64_t wall_ns = in.end_ns > in.start_ns ? (uint64_t)in.end_ns - (uint64_t)in.start_ns : 0;
    in.active_ns = active_ns(events, event, end, wall_ns);
    if (event->has_self)
        in.self_ns = span_ns(events, event->start, event->self);
    const struct profile_fold *folds = NULL;
    size_t fold_count = 0;
    int rc = process_events_label(events, event->kind, event->id, &in.label);
    if (rc >= 0 && event->marks.count)
        rc = find_folds(events, line, event, &folds, &fold_count);
    uint32_t call_path = 0;
    int is_in_call = rc < 0 || !event->node
                         ? 0
                         : process_trees_path(events, event->node_lane, event->node, &call_path);
    if (rc >= 0 && is_in_call < 0)
        rc = is_in_call;
    if (rc >= 0)
        rc = is_in_call ? interval_nest_add_in_call(&line->nest, &in, folds, fold_count, call_path)
                        : interval_nest_add_folded(&line->nest, &in, folds, fold_count);
    if (rc < 0 || !events->is_merged || !line->nest.pending.count)
        return rc;
    return array_push(&events->unsettled, line);
}

/* Among lanes in the order of time, what began before at_ns is told before what comes then. A line that was given back
 * meanwhile has nothing that waits, or something later. */
static int settle_lines(struct process_events *events, int64_t at_ns)
{
    size_t kept = 0;
    int rc = LAM_OK;
    for (size_t i = 0; i < events->unsettled.count; i++) {
        struct event_line *line = events->unsettled.items[i];
        if (rc >= 0)
            rc = interval_nest_settle(&line->nest, at_ns);
        if (line->nest.pending.count)
            events->unsettled.items[kept++] = line;
    }
    events->unsettled.count = kept;
    return rc;
}

static int on_point(struct process_events *events, struct event_line *line, const struct event *event)
{
    struct profile_instant in = {
        .thread = thread_id(events, event->thread),
        .at_ns = process_events_ns(events, event->start),
        .has_value = event->type == EVENT_INTEGER,
        .value = event->type == EVENT_INTEGER ? event->value : 0,
        .args = events->texts.items,
        .argc = events->texts.count,
    };
    int rc = process_events_label(events, event->kind, event->id, &in.label);
    return rc < 0 ? rc : interval_nest_instant(&line->nest, &in);
}

static int on_fold(struct process_events *events, struct event_line *line, const struct event *event)
{
    struct profile_fold fold;
    uint32_t path;
    int rc = make_fold(events, event->fold, &fold);
    if (rc >= 0)
        rc = interval_paths_step(events->paths, events->sink, 0, fold.label, &path);
    return rc < 0 ? rc : interval_nest_fold_at(&line->nest, &fold, path);
}

/* The thread went over from one track to another. */
static int on_track(struct process_events *events, uint32_t before, const struct event *event)
{
    if (events->uses_stints)
        return LAM_OK; /* known already */
    struct event_line *line;
    int64_t at_ns = process_events_ns(events, event->start);
    int rc = LAM_OK;
    if (before) {
        rc = line_of_track(events, before, &line);
        if (rc >= 0)
            rc = interval_nest_leave(&line->nest, at_ns);
    }
    if (rc >= 0 && event->type == EVENT_TRACK && event->track) {
        rc = line_of_track(events, event->track, &line);
        if (rc >= 0)
            rc = interval_nest_return(&line->nest, at_ns);
    }
    return rc;
}

static int on_event(struct process_events *events, const struct event *event)
{
    struct event_line *line;
    int rc = line_of(events, event, &line);
    if (rc >= 0 && events->sink->wants.args)
        rc = find_args(events, event);
    if (rc < 0)
        return rc;
    switch (event->type) {
    case EVENT_INTERVAL:
        return on_interval(events, line, event);
    case EVENT_FOLD:
        return on_fold(events, line, event);
    default:
        return on_point(events, line, event);
    }
}

/* The samples of a thread up to a time, with what was open then. */
static int push_samples(struct process_events *events, uint32_t thread, uint32_t track,
                        int64_t until_ns)
{
    struct event_line *line = NULL;
    const struct profile_sample *sample;
    int rc = LAM_OK;
    uint32_t id = thread_id(events, thread);
    while (rc >= 0 && (sample = sample_queue_take(events->samples, id, until_ns))) {
        struct profile_sample_path told = {.sample = *sample};
        if (!line)
            rc = track ? line_of_track(events, track, &line) : line_of_thread(events, thread, &line);
        if (rc >= 0)
            rc = interval_nest_path_at(&line->nest, sample->at_ns, &told.path);
        if (rc >= 0 && track)
            rc = process_events_track(events, track, &told.track);
        if (rc >= 0)
            rc = events->sink->ops->sample_path(events->sink->ctx, &told);
    }
    return rc;
}

/* A thread is done in a lane. */
static int on_thread_done(struct process_events *events, uint32_t thread, uint32_t track)
{
    struct event_line *line;
    int rc = line_of_thread(events, thread, &line);
    if (rc >= 0 && line->segments_left == 1 && events->samples)
        rc = push_samples(events, thread, track, INT64_MAX);
    if (rc >= 0 && --line->segments_left == 0)
        rc = end_line(events, &events->thread_lines, thread);
    return rc;
}

/* ---- lanes ---- */

struct lane_read {
    struct event_lane lane;
    struct event event; /* the next one */
    uint32_t owner, track;
    bool has_owner;
    uint64_t key; /* time of the next event, never smaller than before */
};

static int handle(struct process_events *events, struct lane_read *read)
{
    const struct event *event = &read->event;
    uint32_t before = read->track;
    int rc = LAM_OK;
    if (events->samples && read->has_owner)
        rc = push_samples(events, read->owner, before, process_events_ns(events, event->start));
    if (rc < 0)
        return rc;
    switch (event->type) {
    case EVENT_OWNER:
        if (before) {
            read->track = 0;
            struct event none = {.type = EVENT_TRACK, .start = event->start};
            rc = on_track(events, before, &none);
        }
        if (rc >= 0 && read->has_owner)
            rc = on_thread_done(events, read->owner, 0);
        read->owner = event->thread;
        read->has_owner = true;
        return rc;
    case EVENT_TRACK:
        read->track = event->track;
        return on_track(events, before, event);
    case EVENT_TRACK_END:
        if (before == event->track)
            read->track = 0;
        rc = before == event->track ? on_track(events, before, event) : LAM_OK;
        return rc < 0 ? rc : end_line(events, &events->track_lines, event->track);
    default:
        return on_event(events, event);
    }
}

/* 1: the lane's next event is in read->event; 0: the lane is done, and so is its last thread. */
static int advance(struct process_events *events, struct lane_read *read)
{
    int rc = event_lane_next(&read->lane, &read->event);
    if (rc > 0 && read->event.start > read->key)
        read->key = read->event.start;
    if (rc != 0)
        return rc;
    if (read->has_owner)
        rc = on_thread_done(events, read->owner, read->track);
    read->has_owner = false;
    return rc;
}

static int push_lane(struct process_events *events, const struct event_lane_info *info)
{
    struct lane_read *read = mem_zalloc(1, sizeof *read);
    if (!read)
        return LAM_E_NOMEM;
    event_lane_open(&read->lane, events->file, &events->names, &events->index, info);
    int rc;
    while ((rc = advance(events, read)) > 0 && (rc = handle(events, read)) >= 0)
        continue;
    event_lane_close(&read->lane);
    mem_free(read);
    return rc;
}

/* Tracks move between threads: all lanes in the order of time. A heap of lanes by the time of their next event. */
struct lane_heap {
    struct lane_read **items;
    size_t count;
};

static void sift_down(struct lane_heap *heap, size_t at)
{
    for (;;) {
        size_t least = at, left = 2 * at + 1;
        for (size_t child = left; child < left + 2 && child < heap->count; child++) {
            if (heap->items[child]->key < heap->items[least]->key)
                least = child;
        }
        if (least == at)
            return;
        struct lane_read *swap = heap->items[at];
        heap->items[at] = heap->items[least];
        heap->items[least] = swap;
        at = least;
    }
}

static int push_merged(struct process_events *events, struct lane_heap *heap)
{
    for (size_t i = heap->count / 2; i-- > 0;)
        sift_down(heap, i);
    while (heap->count) {
        struct lane_read *read = heap->items[0];
        int rc = settle_lines(events, process_events_ns(events, read->key));
        if (rc >= 0)
            rc = handle(events, read);
        if (rc >= 0)
            rc = advance(events, read);
        if (rc < 0)
            return rc;
        if (rc == 0) {
            heap->items[0] = heap->items[--heap->count];
            heap->items[heap->count] = read;
        }
        sift_down(heap, 0);
    }
    return LAM_OK;
}

static int push_by_time(struct process_events *events)
{
    size_t lanes = events->index.lanes.count;
    struct lane_read *reads = mem_zalloc(lanes, sizeof *reads);
    struct lane_heap heap = {mem_zalloc(lanes, sizeof *heap.items), 0};
    int rc = reads && heap.items ? LAM_OK : LAM_E_NOMEM;
    for (size_t i = 0; rc >= 0 && i < lanes; i++) {
        event_lane_open(&reads[i].lane, events->file, &events->names, &events->index,
                        &events->index.lanes.items[i]);
        rc = advance(events, &reads[i]);
        if (rc > 0)
            heap.items[heap.count++] = &reads[i];
    }
    if (rc >= 0)
        rc = push_merged(events, &heap);
    for (size_t i = 0; reads && i < lanes; i++)
        event_lane_close(&reads[i].lane);
    mem_free(heap.items);
    mem_free(reads);
    return rc;
}

static int end_lines(struct process_events *events, struct map *lines)
{
    LAM_ARRAY(uint32_t) numbers = {0};
    int rc = LAM_OK;
    uint64_t key, value;
    for (size_t at = 0; rc >= 0 && map_next(lines, &at, &key, &value);)
        rc = array_push(&numbers, (uint32_t)key);
    for (size_t i = 0; rc >= 0 && i < numbers.count; i++)
        rc = end_line(events, lines, numbers.items[i]);
    array_free(&numbers);
    return rc;
}

/* ---- the whole ---- */

int process_events_open(struct process_events *events, const struct stream_file *file,
                        struct stream_faults *faults)
{
    events->file = file;
    events->cache = mem_zalloc(EVENT_LABEL_CACHE, sizeof *events->cache);
    if (!events->cache)
        return LAM_E_NOMEM;
    int rc = event_names_load(&events->names, file, faults);
    if (rc >= 0)
        rc = code_labels_resolve(&events->names);
    if (rc < 0)
        return rc;
    bool by_start = events->sink->wants.order == PROFILE_ORDER_START;
    rc = event_index_build(&events->index, file, &events->names, by_start, faults);
    events->uses_stints = events->index.has_tracks && (by_start || events->index.has_pauses);
    if (rc >= 0 && events->uses_stints && !by_start) {
        struct stream_faults again = {0}; /* counted before */
        event_index_free(&events->index);
        rc = event_index_build(&events->index, file, &events->names, true, &again);
    }
    events->last = events->index.last;
    if (file->header.measure == STREAM_MEASURE_TICKS && events->names.last_ticks > events->last)
        events->last = events->names.last_ticks;
    return rc < 0 ? rc : process_trees_open(events, faults);
}

int process_events_thread(struct process_events *events, uint32_t thread, uint32_t id)
{
    return map_put(&events->thread_ids, thread, id);
}

int process_events_push(struct process_events *events)
{
    int rc = push_tracks(events);
    if (rc >= 0 && events->sink->wants.counted)
        rc = name_counters(events);
    bool is_merged = events->is_merged =
        events->index.has_tracks && events->file->header.measure == STREAM_MEASURE_TICKS;
    if (is_merged && rc >= 0)
        rc = push_by_time(events);
    for (size_t i = 0; !is_merged && rc >= 0 && i < events->index.lanes.count; i++) {
        rc = push_lane(events, &events->index.lanes.items[i]);
        if (rc >= 0) /* what other threads count cannot be compared: each runs tracks of its own */
            rc = end_lines(events, &events->track_lines);
    }
    if (rc >= 0)
        rc = end_lines(events, &events->thread_lines);
    if (rc >= 0)
        rc = end_lines(events, &events->track_lines);
    return rc < 0 ? rc : process_trees_push(events);
}

void process_events_close(struct process_events *events)
{
    process_trees_close(events);
    for (size_t i = 0; i < events->lines.count; i++) {
        interval_nest_free(&events->lines.items[i]->nest);
        arena_free(&events->lines.items[i]->folds);
        mem_free(events->lines.items[i]);
    }
    array_free(&events->lines);
    array_free(&events->free_lines);
    array_free(&events->unsettled);
    map_free(&events->thread_ids);
    map_free(&events->track_ids);
    map_free(&events->thread_lines);
    map_free(&events->track_lines);
    event_names_free(&events->names);
    event_index_free(&events->index);
    mem_free(events->cache);
    event_args_free(&events->args);
    array_free(&events->texts);
    strbuf_free(&events->text);
    arena_free(&events->counter_names);
    events->cache = NULL;
    events->file = NULL;
}
