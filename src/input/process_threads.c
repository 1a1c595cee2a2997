#include "input/process_threads.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"

/* Two streams of a process note a thread's start at different moments. */
#define SLACK_NS 1000000

static uint64_t index_key(const struct process_threads *threads, uint32_t index)
{
    return (uint64_t)threads->stream << 32 | index;
}

/* In another stream than the first: the thread of that tid that had begun by then, of several the last one. */
static const struct thread_place *place_of(const struct process_threads *threads, uint32_t tid,
                                           int64_t at_ns)
{
    size_t low = 0, high = threads->places.count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct thread_place *place = &threads->places.items[mid];
        if (place->tid < tid || (place->tid == tid && place->start_ns <= at_ns))
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && tid && threads->places.items[low - 1].tid == tid
               ? &threads->places.items[low - 1]
               : NULL;
}

static struct thread_info *add_thread(struct process_threads *threads, uint32_t index, uint32_t tid)
{
    struct thread_info *info = array_add(&threads->threads);
    if (info)
        *info = (struct thread_info){.index = threads->stream ? 0 : index,
                                     .tid = tid,
                                     .stream = threads->stream,
                                     .until_ns = INT64_MIN,
                                     .origin = STREAM_THREAD_FOUND,
                                     .pushed_ns = INT64_MIN};
    return info;
}

/* In another stream than the first: the position of the thread that an earlier one knows; UINT64_MAX: none. */
static uint64_t known_thread(const struct process_threads *threads, uint32_t tid, int64_t at_ns)
{
    const struct thread_place *place = place_of(threads, tid, at_ns);
    if (place)
        return place->position;
    uint64_t position = map_get_or(&threads->by_tid, tid, 0) - 1;
    if (position == UINT64_MAX)
        return position;
    /* Two of one stream are two, whose tid was used again. */
    return threads->threads.items[position].stream == threads->stream ? UINT64_MAX : position;
}

/* Of a thread's rows the first whose recorders were closed before this stream began, made if need be; UINT64_MAX: no memory. */
static uint64_t free_row(struct process_threads *threads, uint64_t position)
{
    for (uint32_t row = 1;; row++) {
        struct thread_info *info = &threads->threads.items[position];
        if (info->until_ns <= threads->stream_start_ns)
            return position;
        if (!info->next_row) {
            uint32_t tid = info->tid;
            struct thread_info *made = add_thread(threads, 0, tid);
            if (!made)
                return UINT64_MAX;
            made->row = row;
            threads->threads.items[position].next_row = (uint32_t)threads->threads.count;
        }
        position = threads->threads.items[position].next_row - 1;
    }
}

/* The position of a thread that a stream other than the first speaks of; UINT64_MAX: no memory. */
static uint64_t join_thread(struct process_threads *threads, uint32_t tid, int64_t at_ns)
{
    uint64_t position = tid ? known_thread(threads, tid, at_ns) : UINT64_MAX;
    if (position != UINT64_MAX)
        position = free_row(threads, position);
    else if (add_thread(threads, 0, tid) &&
             map_put(&threads->by_tid, tid, threads->threads.count) >= 0)
        position = threads->threads.count - 1;
    if (position != UINT64_MAX)
        threads->threads.items[position].stream = threads->stream;
    return position;
}

/* The thread with an index in the stream being read, which is seen at a time; NULL when memory is short. */
static struct thread_info *thread_at(struct process_threads *threads, uint32_t index, uint32_t tid,
                                     int64_t at_ns)
{
    bool added;
    uint64_t *at =
        map_slot(&threads->by_index, index_key(threads, index), threads->threads.count, &added);
    if (!at)
        return NULL;
    if (added && !threads->stream && !add_thread(threads, index, tid))
        return NULL;
    if (added && threads->stream && (*at = join_thread(threads, tid, at_ns)) == UINT64_MAX)
        return NULL;
    struct thread_info *info = &threads->threads.items[*at];
    if (!info->tid)
        info->tid = tid;
    return info;
}

static struct thread_info *thread_of(struct process_threads *threads, uint32_t index, uint32_t tid)
{
    return thread_at(threads, index, tid, INT64_MAX);
}

static uint32_t position_of(const struct process_threads *threads, const struct thread_info *info)
{
    return (uint32_t)(info - threads->threads.items);
}

static int keep_name(struct process_threads *threads, struct stream_text from,
                     struct profile_text *out)
{
    char *copy = arena_strndup(&threads->names, from.bytes, from.size);
    if (!copy)
        return LAM_E_NOMEM;
    *out = (struct profile_text){copy, from.size};
    return LAM_OK;
}

static int on_thread(struct process_threads *threads, const struct stream_record_view *rec)
{
    int64_t start_ns = tick_clock_ns(threads->clock, rec->body.thread.ticks);
    struct thread_info *info =
        thread_at(threads, rec->aux, rec->body.thread.tid,
                  start_ns < INT64_MAX - SLACK_NS ? start_ns + SLACK_NS : INT64_MAX);
    if (!info)
        return LAM_E_NOMEM;
    if (info->has_start && threads->stream)
        return LAM_OK; /* the first stream has told it, from nearer to its beginning */
    info->tid = rec->body.thread.tid;
    info->origin = rec->body.thread.origin;
    info->start_ns = start_ns;
    /* A thread's clock begins with it; the main thread's has run since before the exec. */
    info->base_cpu_ns = info->origin == STREAM_THREAD_MAIN ? rec->body.thread.cpu_ns : 0;
    info->has_start = true;
    return rec->text[0].size || !info->name.size ? keep_name(threads, rec->text[0], &info->name)
                                                 : LAM_OK;
}

/* A thread that is named by its tid alone: the newest of that tid. */
static struct thread_info *thread_of_tid(struct process_threads *threads, uint32_t tid)
{
    for (size_t i = threads->threads.count; i > 0; i--) {
        if (threads->threads.items[i - 1].tid == tid)
            return &threads->threads.items[i - 1];
    }
    return NULL;
}

static int on_name(struct process_threads *threads, const struct stream_record_view *rec)
{
    struct thread_info *info = rec->aux ? thread_of(threads, rec->aux, rec->body.name.tid)
                                        : thread_of_tid(threads, rec->body.name.tid);
    if (!info)
        return rec->aux ? LAM_E_NOMEM : LAM_OK; /* one that nothing else is known of */
    if (info->row)
        return keep_name(threads, rec->text[0], &info->name); /* a row has one name */
    struct thread_event event = {.thread = position_of(threads, info),
                                 .at_ns = tick_clock_ns(threads->clock, rec->body.name.ticks)};
    int rc = keep_name(threads, rec->text[0], &event.name);
    return rc < 0 ? rc : array_push(&threads->events, event);
}

static int on_wait(struct process_threads *threads, const struct stream_record_view *rec)
{
    const struct thread_info *info = thread_of(threads, rec->aux, 0);
    if (!info)
        return LAM_E_NOMEM;
    struct thread_event event = {
        .thread = position_of(threads, info),
        .at_ns = tick_clock_ns(threads->clock, rec->body.wait.start_ticks),
        .wait = rec->body.wait,
        .is_wait = true,
    };
    return array_push(&threads->events, event);
}

static int on_thread_end(struct process_threads *threads, const struct stream_record_view *rec)
{
    const struct stream_rec_thread_end *body = &rec->body.thread_end;
    struct thread_info *info = thread_of(threads, rec->aux, body->tid);
    if (!info)
        return LAM_E_NOMEM;
    int64_t end_ns = tick_clock_ns(threads->clock, body->ticks);
    if (info->has_end && (end_ns < info->end.end_ns || threads->stream))
        return LAM_OK; /* of a failed exec; it went on. Or the first stream has told it */
    info->has_end = true;
    info->end = (struct profile_thread_end){
        .end_ns = end_ns,
        .cpu_ns = body->cpu_ns,
        .run_ns = body->run_ns,
        .core_wait_ns = body->core_wait_ns,
        .handler_ns = tick_clock_span_ns(threads->clock, body->ticks, body->handler_ticks),
        .samples = body->samples,
        .interrupts = body->interrupts,
        .at_process_end = body->at_process_end != 0,
    };
    return LAM_OK;
}

static int on_notice(const struct process_threads *threads, const struct stream_record_view *rec)
{
    struct profile_notice notice = {
        .process = threads->process,
        .at_ns = tick_clock_ns(threads->clock, rec->body.notice.ticks),
        .kind = rec->aux,
        .value = rec->body.notice.value,
    };
    return threads->sink->ops->notice ? threads->sink->ops->notice(threads->sink->ctx, &notice)
                                      : LAM_OK;
}

static void end_stream_at(struct process_threads *threads, int64_t at_ns)
{
    if (at_ns > threads->stream_end_ns)
        threads->stream_end_ns = at_ns;
}

static int on_record(struct process_threads *threads, const struct stream_record_view *rec)
{
    if (!rec->row)
        return LAM_OK;
    switch (rec->type) {
    case STREAM_REC_THREAD:
        return on_thread(threads, rec);
    case STREAM_REC_THREAD_NAME:
        return on_name(threads, rec);
    case STREAM_REC_THREAD_END:
        return on_thread_end(threads, rec);
    case STREAM_REC_WAIT:
        return on_wait(threads, rec);
    case STREAM_REC_NOTICE:
        return on_notice(threads, rec);
    case STREAM_REC_TIME: /* one is written at the end */
        end_stream_at(threads, tick_clock_ns(threads->clock, rec->body.time.ticks));
        return LAM_OK;
    default:
        return LAM_OK;
    }
}

/* faults: NULL where what is damaged is counted by somebody else. */
static int read_records(struct process_threads *threads, const struct stream_file *file,
                        enum stream_page_kind kind, struct stream_faults *faults)
{
    struct stream_walk walk;
    stream_walk_init(&walk, file);
    stream_walk_begin(&walk, stream_pages_of_kind(file, kind));
    struct stream_record_view rec;
    int rc;
    while ((rc = stream_next_record(&walk, &rec)) > 0 && (rc = on_record(threads, &rec)) >= 0)
        continue;
    if (faults)
        stream_faults_merge(faults, &walk.faults);
    stream_walk_close(&walk);
    return rc < 0 ? rc : LAM_OK;
}

/* Threads that were interrupted and said nothing else. */
static int add_sampled_threads(struct process_threads *threads, const struct stream_file *file)
{
    struct stream_page_span span = stream_pages_of_kind(file, STREAM_PAGE_SAMPLES);
    for (size_t i = span.first; i < span.end; i++) {
        const struct stream_page_ref *page = &file->pages.items[i];
        if ((i == span.first || page->thread != page[-1].thread) &&
            !thread_of(threads, page->thread, page->tid))
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

static int compare_events(const void *left, const void *right)
{
    const struct thread_event *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

/* ---- one thread ---- */

struct thread_push {
    struct process_threads *threads;
    struct thread_info *info;
    uint32_t id;
    int64_t now_ns; /* of what was pushed last */
    uint32_t samples;
    uint64_t sampled_cpu_ns;
    struct profile_sample last; /* of its samples */
    const struct thread_event *event, *event_end;
};

/* A sample that the next one interrupts between its look at the clock and its writing is written after that one, and a thread that
 * is interrupted while it takes leave ends before its last sample: some 50 us, and no sign of a clock gone wrong. */
enum { NESTED_NS = 500000 };

static int64_t clamp(struct thread_push *push, int64_t at_ns)
{
    if (at_ns < push->now_ns) {
        push->threads->clamped_times += push->now_ns - at_ns > NESTED_NS;
        return push->now_ns;
    }
    return push->now_ns = at_ns;
}

static int push_wait(struct thread_push *push, const struct thread_event *event)
{
    struct process_threads *threads = push->threads;
    struct profile_wait wait = {
        .process = threads->process,
        .thread = push->id,
        .start_ns = clamp(push, event->at_ns),
        .duration_ns =
            tick_clock_span_ns(threads->clock, event->wait.start_ticks, event->wait.duration_ticks),
        .cpu_ns = event->wait.cpu_ns,
        .kind = event->wait.kind,
        .call = event->wait.call,
    };
    int rc = process_stacks_get(&threads->stacks, event->wait.stack, &wait.stack);
    if (rc < 0 || !threads->sink->ops->wait)
        return rc;
    return threads->sink->ops->wait(threads->sink->ctx, &wait);
}

static int push_event(struct thread_push *push, const struct thread_event *event)
{
    const struct profile_sink *sink = push->threads->sink;
    if (event->is_wait)
        return push_wait(push, event);
    struct profile_thread_name name = {push->id, clamp(push, event->at_ns), event->name};
    return sink->ops->thread_name ? sink->ops->thread_name(sink->ctx, &name) : LAM_OK;
}

static int push_events_until(struct thread_push *push, int64_t at_ns)
{
    int rc = LAM_OK;
    while (rc >= 0 && push->event < push->event_end && push->event->at_ns <= at_ns)
        rc = push_event(push, push->event++);
    return rc;
}

static bool wants_paths(const struct process_threads *threads)
{
    return threads->sink->wants.sample_paths && threads->sink->ops->sample_path;
}

static int push_sample(struct thread_push *push, const struct stream_sample_view *view)
{
    struct process_threads *threads = push->threads;
    unsigned level = view->flags >> STREAM_SAMPLE_LEVEL_SHIFT & STREAM_SAMPLE_LEVEL_MASK;
    uint32_t period_ns = threads->period_ns[level];
    bool is_late = (view->flags & STREAM_SAMPLE_LATE) != 0;
    struct profile_sample sample = {
        .process = threads->process,
        .thread = push->id,
        .cpu_ns = view->cpu_ns,
        .late_ns = is_late && view->cpu_ns > period_ns ? view->cpu_ns - period_ns : 0,
        .period_ns = period_ns,
        .flags = view->flags,
        .merged = view->flags >> STREAM_SAMPLE_MERGED_SHIFT,
    };
    int64_t at_ns = tick_clock_ns(threads->clock, view->ticks);
    int rc = push_events_until(push, at_ns);
    if (rc >= 0)
        rc = process_stacks_get(&threads->stacks, view->stack, &sample.stack);
    sample.at_ns = clamp(push, at_ns);
    push->samples++;
    push->sampled_cpu_ns += view->cpu_ns;
    push->last = sample;
    if (rc >= 0 && threads->sink->ops->sample)
        rc = threads->sink->ops->sample(threads->sink->ctx, &sample);
    return rc < 0 || !wants_paths(threads) ? rc : sample_queue_add(&threads->samples, &sample);
}

static uint64_t since(uint64_t value, uint64_t before)
{
    if (value == PROFILE_UNKNOWN || before == PROFILE_UNKNOWN)
        return value;
    return value > before ? value - before : 0;
}

/* What the thread used after its last sample, from the clock it had at its end. Without it every thread would be short of
 * half a period, and a process of many short ones of most of its time. */
static int push_closing(struct thread_push *push)
{
    struct process_threads *threads = push->threads;
    const struct thread_info *info = push->info;
    uint64_t seen = info->base_cpu_ns + push->sampled_cpu_ns;
    if (!threads->has_engine || !info->has_end || push->samples == 0 || info->end.cpu_ns <= seen)
        return LAM_OK;
    struct profile_sample closing = push->last;
    closing.at_ns = clamp(push, info->end.end_ns);
    closing.cpu_ns = info->end.cpu_ns - seen;
    closing.late_ns = closing.cpu_ns > closing.period_ns + closing.period_ns / 2
                          ? closing.cpu_ns - closing.period_ns
                          : 0;
    closing.merged = 0;
    closing.flags = STREAM_SAMPLE_AT_RETURN | PROFILE_SAMPLE_CLOSING;
    int rc = LAM_OK;
    if (threads->sink->ops->sample)
        rc = threads->sink->ops->sample(threads->sink->ctx, &closing);
    return rc < 0 || !wants_paths(threads) ? rc : sample_queue_add(&threads->samples, &closing);
}

static int push_thread_end(const struct process_threads *threads, const struct thread_info *info)
{
    struct profile_thread_end end = info->end;
    if (!info->has_end) {
        /* Its process was killed, or runs on. */
        end = (struct profile_thread_end){
            .end_ns = threads->last_ns,
            .cpu_ns = PROFILE_UNKNOWN,
            .run_ns = PROFILE_UNKNOWN,
            .core_wait_ns = PROFILE_UNKNOWN,
            .handler_ns = PROFILE_UNKNOWN,
            .samples = info->samples,
            .interrupts = info->samples,
            .at_process_end = true,
        };
    }
    end.thread = info->id;
    if (info->row) {
        end.cpu_ns = end.run_ns = end.core_wait_ns =
            PROFILE_UNKNOWN; /* the thread's, which has them */
    } else if (info->tid == threads->pid) {
        end.cpu_ns = since(end.cpu_ns, threads->main_before.cpu_ns);
        end.run_ns = since(end.run_ns, threads->main_before.run_ns);
        end.core_wait_ns = since(end.core_wait_ns, threads->main_before.core_wait_ns);
    }
    if (end.end_ns < info->pushed_ns)
        end.end_ns = info->pushed_ns;
    return threads->sink->ops->thread_end ? threads->sink->ops->thread_end(threads->sink->ctx, &end)
                                          : LAM_OK;
}

/* The thread's stretch of all events, which are sorted. */
static void find_events(struct thread_push *push)
{
    const struct thread_event *events = push->threads->events.items;
    uint32_t position = position_of(push->threads, push->info);
    size_t low = 0, high = push->threads->events.count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (events[mid].thread < position)
            low = mid + 1;
        else
            high = mid;
    }
    while (high < push->threads->events.count && events[high].thread == position)
        high++;
    if (low < high) {
        push->event = events + low;
        push->event_end = events + high;
    }
}

/* A row is called as its thread, with a number: "main (recorder 2)". */
static int name_row(struct process_threads *threads, const struct thread_info *info,
                    struct profile_text *name)
{
    char *text = arena_alloc(&threads->names, name->size + 32);
    if (!text)
        return LAM_E_NOMEM;
    if (name->size) /* else it may have no bytes at all */
        memcpy(text, name->bytes, name->size);
    int size = snprintf(text + name->size, 32, " (recorder %u)", info->row + 1);
    *name = (struct profile_text){text, name->size + (size_t)size};
    return LAM_OK;
}

static bool is_empty_row(const struct thread_info *info)
{
    return info->row && info->until_ns == INT64_MIN;
}

static int push_thread(struct process_threads *threads, struct stream_walk *walk,
                       struct thread_info *info)
{
    if (is_empty_row(info))
        return LAM_OK;
    info->id = threads->first_thread + threads->count++;
    struct thread_push push = {.threads = threads, .info = info, .id = info->id};
    find_events(&push);

    struct profile_thread thread = {
        .thread = push.id,
        .process = threads->process,
        .tid = info->tid,
        .start_ns = info->has_start && (info->tid != threads->pid || info->row) ? info->start_ns
                                                                                : threads->start_ns,
        .origin = info->row ? PROFILE_THREAD_AGAIN : info->origin,
        .name = info->name.size ? info->name : threads->comm, /* a thread begins with its maker's name */
    };
    push.now_ns = thread.start_ns;
    const struct profile_sink *sink = threads->sink;
    int rc = info->row ? name_row(threads, info, &thread.name) : LAM_OK;
    if (rc < 0)
        return rc;
    rc = sink->ops->thread ? sink->ops->thread(sink->ctx, &thread) : LAM_OK;
    if (rc < 0)
        return rc;
    struct stream_page_span samples = {0};
    if (info->index)
        samples = stream_pages_of(walk->file, STREAM_PAGE_SAMPLES, info->index);
    stream_walk_begin(walk, samples);
    struct stream_sample_view view;
    while ((rc = stream_next_sample(walk, &view)) > 0 && (rc = push_sample(&push, &view)) >= 0)
        continue;
    if (rc >= 0)
        rc = push_events_until(&push, INT64_MAX);
    if (rc >= 0)
        rc = push_closing(&push);
    info->samples = push.samples;
    info->pushed_ns = push.now_ns;
    /* Where events follow, the ends come behind them. */
    return rc < 0 || threads->recorded.count ? rc : push_thread_end(threads, info);
}

static int push_threads(struct process_threads *threads, const struct stream_file *file)
{
    struct stream_walk walk;
    stream_walk_init(&walk, file);
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < threads->threads.count; i++)
        rc = push_thread(threads, &walk, &threads->threads.items[i]);
    stream_faults_merge(threads->faults, &walk.faults);
    stream_walk_close(&walk);
    return rc;
}

/* ---- other streams, and events ---- */

static int compare_places(const void *left, const void *right)
{
    const struct thread_place *a = left, *b = right;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static int note_places(struct process_threads *threads)
{
    int rc = LAM_OK;
    for (uint32_t i = 0; rc >= 0 && i < threads->threads.count; i++) {
        const struct thread_info *info = &threads->threads.items[i];
        rc = array_push(
            &threads->places,
            ((struct thread_place){info->tid, i, info->has_start ? info->start_ns : INT64_MIN}));
    }
    array_sort(&threads->places, compare_places);
    return rc;
}

static bool has_events(const struct stream_file *file)
{
    struct stream_page_span events = stream_pages_of_kind(file, STREAM_PAGE_EVENTS);
    struct stream_page_span trees = stream_pages_of_kind(file, STREAM_PAGE_TREE);
    return events.first < events.end || trees.first < trees.end;
}

static int open_events(struct process_threads *threads, const struct stream_file *file)
{
    struct process_events *events = array_add(&threads->recorded);
    if (!events || array_push(&threads->recorded_stream, threads->stream) < 0)
        return LAM_E_NOMEM;
    events->sink = threads->sink;
    events->labels = threads->labels;
    events->paths = threads->paths;
    events->clock = threads->clock;
    events->process = threads->process;
    int rc = process_events_open(events, file, threads->faults);
    if (rc >= 0 && file->header.measure == STREAM_MEASURE_TICKS)
        end_stream_at(threads, process_events_ns(events, events->index.last));
    for (size_t i = 0; rc >= 0 && i < events->index.threads.count; i++) {
        const struct event_thread *thread = &events->index.threads.items[i];
        struct thread_info *info = thread_of(threads, thread->thread, thread->tid);
        if (!info)
            rc = LAM_E_NOMEM;
        else if (threads->stream_end_ns > info->until_ns)
            info->until_ns = threads->stream_end_ns;
    }
    return rc;
}

static int push_events(struct process_threads *threads, size_t at)
{
    struct process_events *events = &threads->recorded.items[at];
    threads->stream = threads->recorded_stream.items[at];
    events->first_track = threads->first_track + threads->tracks;
    int rc = LAM_OK;
    bool is_time = events->file->header.measure == STREAM_MEASURE_TICKS;
    events->samples = is_time && wants_paths(threads) ? &threads->samples : NULL;
    for (size_t i = 0; rc >= 0 && i < events->index.threads.count; i++) {
        const struct event_thread *thread = &events->index.threads.items[i];
        struct thread_info *info = thread_of(threads, thread->thread, thread->tid);
        if (!info)
            return LAM_E_NOMEM;
        int64_t last_ns = is_time ? process_events_ns(events, thread->last) : INT64_MIN;
        if (thread->last && last_ns > info->pushed_ns)
            info->pushed_ns = last_ns;
        if (thread->last && last_ns > threads->last_event_ns)
            threads->last_event_ns = last_ns;
        rc = process_events_thread(events, thread->thread, info->id);
    }
    if (rc >= 0)
        rc = process_events_push(events);
    threads->tracks += events->tracks;
    nest_totals_add(&threads->totals, &events->totals);
    for (unsigned i = 0; i < STREAM_COUNT_KINDS; i++)
        threads->counts[i] += events->file->header.counts[i];
    threads->clamped_times +=
        events->totals.clamped + events->file->header.counts[STREAM_COUNT_CLAMPED_TIMES];
    return rc;
}

static int push_ends(struct process_threads *threads)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < threads->threads.count; i++)
        if (!is_empty_row(&threads->threads.items[i]))
            rc = push_thread_end(threads, &threads->threads.items[i]);
    return rc;
}

/* The records first: they say when each thread began, by which streams are joined. */
static int read_file(struct process_threads *threads, const struct stream_file *file)
{
    bool is_read_again = has_events(file); /* for its names, which counts what is wrong there */
    threads->stream_start_ns = threads->stream_end_ns =
        tick_clock_ns(threads->clock, file->header.start_ticks);
    int rc = read_records(threads, file, STREAM_PAGE_META, threads->faults);
    if (rc >= 0)
        rc = read_records(threads, file, STREAM_PAGE_RECORDS, is_read_again ? NULL : threads->faults);
    return rc < 0 || !is_read_again ? rc : open_events(threads, file);
}

static int push_all(struct process_threads *threads, const struct stream_file *const *files,
                    size_t file_count)
{
    int rc = process_stacks_open(&threads->stacks, threads->merge, files[0], threads->faults);
    for (size_t i = 0; rc >= 0 && i < file_count; i++) {
        threads->stream = (uint32_t)i;
        rc = read_file(threads, files[i]);
        if (rc >= 0 && i == 0)
            rc = add_sampled_threads(threads, files[0]);
        if (rc >= 0 && i == 0 && file_count > 1)
            rc = note_places(threads);
    }
    array_sort(&threads->events, compare_events);
    if (rc >= 0)
        rc = push_threads(threads, files[0]);
    for (size_t i = 0; rc >= 0 && i < threads->recorded.count; i++)
        rc = push_events(threads, i);
    if (rc >= 0)
        rc = sample_queue_push_rest(&threads->samples, threads->sink);
    return rc < 0 || !threads->recorded.count ? rc : push_ends(threads);
}

int process_threads_push(struct process_threads *threads, const struct stream_file *const *files,
                         size_t file_count)
{
    threads->last_event_ns = INT64_MIN;
    int rc = push_all(threads, files, file_count);
    array_each(&threads->recorded, events) process_events_close(events);
    array_free(&threads->recorded);
    array_free(&threads->recorded_stream);
    array_free(&threads->places);
    process_stacks_close(&threads->stacks);
    array_free(&threads->threads);
    map_free(&threads->by_index);
    map_free(&threads->by_tid);
    array_free(&threads->events);
    sample_queue_free(&threads->samples);
    arena_free(&threads->names);
    return rc;
}
