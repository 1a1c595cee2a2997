#include "output/collapse_threads.h"

static int see(struct collapse_threads *threads, uint32_t process, uint32_t thread,
               int64_t first_ns, int64_t last_ns)
{
    size_t old = threads->spans.count;
    if (thread >= old && array_resize(&threads->spans, (size_t)thread + 1) < 0)
        return LAM_E_NOMEM;
    struct thread_span *span = &threads->spans.items[thread];
    if (!span->thread)
        *span = (struct thread_span){process, thread, first_ns, last_ns};
    span->first_ns = first_ns < span->first_ns ? first_ns : span->first_ns;
    span->last_ns = last_ns > span->last_ns ? last_ns : span->last_ns;
    return LAM_OK;
}

static int on_interval(void *ctx, const struct profile_interval *interval)
{
    if (interval->track)
        return LAM_OK;
    return see(ctx, interval->process, interval->thread, interval->start_ns, interval->end_ns);
}

static int on_instant(void *ctx, const struct profile_instant *instant)
{
    if (instant->track)
        return LAM_OK;
    return see(ctx, instant->process, instant->thread, instant->at_ns, instant->at_ns);
}

static int on_wait(void *ctx, const struct profile_wait *wait)
{
    return see(ctx, wait->process, wait->thread, wait->start_ns,
               wait->start_ns + (int64_t)wait->duration_ns);
}

static const struct profile_sink_ops collapse_ops = {
    .interval = on_interval, .instant = on_instant, .wait = on_wait};

struct profile_sink collapse_threads_sink(struct collapse_threads *threads)
{
    return (struct profile_sink){
        .ctx = threads, .ops = &collapse_ops, .wants = {.order = PROFILE_ORDER_ANY}};
}

static int by_process_and_start(const void *left, const void *right)
{
    const struct thread_span *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->first_ns != b->first_ns)
        return a->first_ns < b->first_ns ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

struct shared_row {
    uint32_t thread;
    int64_t last_ns;
};

/* A row is that of the thread that is pushed first: of the smallest id. */
static int name_by_first(struct collapse_threads *threads)
{
    LAM_ARRAY(uint32_t) first = {0};
    int rc = array_resize(&first, threads->rows.count);
    for (uint32_t i = 0; i < threads->rows.count && rc == LAM_OK; i++) {
        uint32_t row = threads->rows.items[i] ? threads->rows.items[i] : i;
        threads->rows.items[i] = row;
        first.items[row] = first.items[row] ? first.items[row] : i;
    }
    for (uint32_t i = 0; i < threads->rows.count && rc == LAM_OK; i++)
        threads->rows.items[i] = first.items[threads->rows.items[i]];
    array_free(&first);
    return rc;
}

int collapse_threads_finish(struct collapse_threads *threads)
{
    LAM_ARRAY(struct shared_row) rows = {0};
    size_t count = threads->spans.count;
    uint32_t process = 0;
    int rc = array_resize(&threads->rows, count);
    array_sort(&threads->spans, by_process_and_start);
    for (size_t i = 0; i < count && rc == LAM_OK; i++) {
        const struct thread_span *span = &threads->spans.items[i];
        if (!span->thread)
            continue;
        if (span->process != process)
            array_clear(&rows);
        process = span->process;
        struct shared_row *found = NULL;
        array_each(&rows, row) found = !found && row->last_ns <= span->first_ns ? row : found;
        if (found) {
            threads->rows.items[span->thread] = found->thread;
            threads->shared++;
            found->last_ns = span->last_ns;
        } else {
            rc = array_push(&rows, ((struct shared_row){span->thread, span->last_ns}));
        }
    }
    array_free(&rows);
    return rc < 0 ? rc : name_by_first(threads);
}

void collapse_threads_free(struct collapse_threads *threads)
{
    array_free(&threads->spans);
    array_free(&threads->rows);
}
