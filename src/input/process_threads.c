#include "input/process_threads.h"

#include <string.h>

#include "base/arena.h"

static struct thread_info *thread_of(struct process_threads *threads, uint32_t index, uint32_t tid)
{
    bool added;
    uint64_t *at = map_slot(&threads->by_index, index, threads->threads.count, &added);
    if (!at)
        return NULL;
    if (added) {
        struct thread_info *info = array_add(&threads->threads);
        if (!info)
            return NULL;
        *info = (struct thread_info){.index = index, .tid = tid, .origin = STREAM_THREAD_FOUND};
    }
    struct thread_info *info = &threads->threads.items[*at];
    if (!info->tid)
        info->tid = tid;
    return info;
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
    struct thread_info *info = thread_of(threads, rec->aux, rec->body.thread.tid);
    if (!info)
        return LAM_E_NOMEM;
    info->tid = rec->body.thread.tid;
    info->origin = rec->body.thread.origin;
    info->start_ns = tick_clock_ns(threads->clock, rec->body.thread.ticks);
    /* A thread's clock begins with it; the main thread's has run since before the exec. */
    info->base_cpu_ns = info->origin == STREAM_THREAD_MAIN ? rec->body.thread.cpu_ns : 0;
    info->has_start = true;
    return keep_name(threads, rec->text[0], &info->name);
}

static int on_name(struct process_threads *threads, const struct stream_record_view *rec)
{
    uint32_t index = rec->aux;
    for (size_t i = threads->threads.count; index == 0 && i > 0; i--) {
        if (threads->threads.items[i - 1].tid == rec->body.name.tid)
            index = threads->threads.items[i - 1].index;
    }
    if (index == 0 || !thread_of(threads, index, rec->body.name.tid))
        return index == 0 ? LAM_OK : LAM_E_NOMEM; /* a thread that nothing else is known of */
    struct thread_event event = {.thread = index,
                                 .at_ns = tick_clock_ns(threads->clock, rec->body.name.ticks)};
    int rc = keep_name(threads, rec->text[0], &event.name);
    return rc < 0 ? rc : array_push(&threads->events, event);
}

static int on_wait(struct process_threads *threads, const struct stream_record_view *rec)
{
    struct thread_event event = {
        .thread = rec->aux,
        .at_ns = tick_clock_ns(threads->clock, rec->body.wait.start_ticks),
        .wait = rec->body.wait,
        .is_wait = true,
    };
    return thread_of(threads, rec->aux, 0) ? array_push(&threads->events, event) : LAM_E_NOMEM;
}

static int on_thread_end(struct process_threads *threads, const struct stream_record_view *rec)
{
    const struct stream_rec_thread_end *body = &rec->body.thread_end;
    struct thread_info *info = thread_of(threads, rec->aux, body->tid);
    if (!info)
        return LAM_E_NOMEM;
    int64_t end_ns = tick_clock_ns(threads->clock, body->ticks);
    if (info->has_end && end_ns < info->end.end_ns)
        return LAM_OK; /* of a failed exec; it went on */
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
    default:
        return LAM_OK;
    }
}

static int read_meta(struct process_threads *threads, const struct stream_file *file)
{
    struct stream_walk walk;
    stream_walk_init(&walk, file);
    stream_walk_begin(&walk, stream_pages_of_kind(file, STREAM_PAGE_META));
    struct stream_record_view rec;
    int rc;
    while ((rc = stream_next_record(&walk, &rec)) > 0 && (rc = on_record(threads, &rec)) >= 0)
        continue;
    stream_faults_merge(threads->faults, &walk.faults);
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

static int64_t clamp(struct thread_push *push, int64_t at_ns)
{
    if (at_ns < push->now_ns) {
        push->threads->clamped_times++;
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
    if (rc < 0 || !threads->sink->ops->sample)
        return rc;
    return threads->sink->ops->sample(threads->sink->ctx, &sample);
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
    const struct process_threads *threads = push->threads;
    const struct thread_info *info = push->info;
    uint64_t seen = info->base_cpu_ns + push->sampled_cpu_ns;
    if (!threads->has_engine || !info->has_end || push->samples == 0 || info->end.cpu_ns <= seen ||
        !threads->sink->ops->sample)
        return LAM_OK;
    struct profile_sample closing = push->last;
    closing.at_ns = clamp(push, info->end.end_ns);
    closing.cpu_ns = info->end.cpu_ns - seen;
    closing.late_ns = closing.cpu_ns > closing.period_ns + closing.period_ns / 2
                          ? closing.cpu_ns - closing.period_ns
                          : 0;
    closing.merged = 0;
    closing.flags = STREAM_SAMPLE_AT_RETURN | PROFILE_SAMPLE_CLOSING;
    return threads->sink->ops->sample(threads->sink->ctx, &closing);
}

static int push_thread_end(struct thread_push *push)
{
    const struct process_threads *threads = push->threads;
    struct profile_thread_end end = push->info->end;
    if (!push->info->has_end) {
        /* Its process was killed, or runs on. */
        end = (struct profile_thread_end){
            .end_ns = threads->last_ns,
            .cpu_ns = PROFILE_UNKNOWN,
            .run_ns = PROFILE_UNKNOWN,
            .core_wait_ns = PROFILE_UNKNOWN,
            .handler_ns = PROFILE_UNKNOWN,
            .samples = push->samples,
            .interrupts = push->samples,
            .at_process_end = true,
        };
    }
    end.thread = push->id;
    if (push->info->tid == threads->pid) {
        end.cpu_ns = since(end.cpu_ns, threads->main_before.cpu_ns);
        end.run_ns = since(end.run_ns, threads->main_before.run_ns);
        end.core_wait_ns = since(end.core_wait_ns, threads->main_before.core_wait_ns);
    }
    if (end.end_ns < push->now_ns)
        end.end_ns = push->now_ns;
    return threads->sink->ops->thread_end ? threads->sink->ops->thread_end(threads->sink->ctx, &end)
                                          : LAM_OK;
}

/* The thread's stretch of all events, which are sorted. */
static void find_events(struct thread_push *push)
{
    const struct thread_event *events = push->threads->events.items;
    size_t low = 0, high = push->threads->events.count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (events[mid].thread < push->info->index)
            low = mid + 1;
        else
            high = mid;
    }
    while (high < push->threads->events.count && events[high].thread == push->info->index)
        high++;
    if (low < high) {
        push->event = events + low;
        push->event_end = events + high;
    }
}

static int push_thread(struct process_threads *threads, struct stream_walk *walk,
                       struct thread_info *info)
{
    struct thread_push push = {
        .threads = threads, .info = info, .id = threads->first_thread + threads->count++};
    find_events(&push);

    struct profile_thread thread = {
        .thread = push.id,
        .process = threads->process,
        .tid = info->tid,
        .start_ns = info->has_start && info->tid != threads->pid ? info->start_ns : threads->start_ns,
        .origin = info->origin,
        .name = info->name.size ? info->name : threads->comm, /* a thread begins with its maker's name */
    };
    push.now_ns = thread.start_ns;
    const struct profile_sink *sink = threads->sink;
    int rc = sink->ops->thread ? sink->ops->thread(sink->ctx, &thread) : LAM_OK;
    if (rc < 0)
        return rc;
    stream_walk_begin(walk, stream_pages_of(walk->file, STREAM_PAGE_SAMPLES, info->index));
    struct stream_sample_view view;
    while ((rc = stream_next_sample(walk, &view)) > 0 && (rc = push_sample(&push, &view)) >= 0)
        continue;
    if (rc >= 0)
        rc = push_events_until(&push, INT64_MAX);
    if (rc >= 0)
        rc = push_closing(&push);
    return rc < 0 ? rc : push_thread_end(&push);
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

int process_threads_push(struct process_threads *threads, const struct stream_file *file)
{
    int rc = process_stacks_open(&threads->stacks, threads->merge, file, threads->faults);
    if (rc >= 0)
        rc = read_meta(threads, file);
    if (rc >= 0)
        rc = add_sampled_threads(threads, file);
    array_sort(&threads->events, compare_events);
    if (rc >= 0)
        rc = push_threads(threads, file);
    process_stacks_close(&threads->stacks);
    array_free(&threads->threads);
    map_free(&threads->by_index);
    array_free(&threads->events);
    arena_free(&threads->names);
    return rc;
}
