/* Any bytes as the stream of an instrumented program: into a sink in both orders, with paths and arguments. What comes out must
 * be consistent whatever went in. */
#include <stdint.h>
#include <stdlib.h>

#include "input/process_threads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct check {
    uint32_t labels, paths, threads, tracks;
    uint64_t intervals;
    bool by_start;
    uint8_t sum; /* keeps the reads */
};

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void touch(struct check *check, struct profile_text text)
{
    for (size_t i = 0; i < text.size; i += text.size / 16 + 1)
        check->sum = (uint8_t)(check->sum + (uint8_t)text.bytes[i]);
}

static int on_thread(void *ctx, const struct profile_thread *thread)
{
    struct check *check = ctx;
    demand(thread->thread == ++check->threads);
    touch(check, thread->name);
    return LAM_OK;
}

static int on_track(void *ctx, const struct profile_track *track)
{
    struct check *check = ctx;
    demand(track->track == ++check->tracks);
    touch(check, track->name);
    return LAM_OK;
}

static int on_label(void *ctx, const struct profile_label *label)
{
    struct check *check = ctx;
    demand(label->label == ++check->labels && label->kind < label->label);
    touch(check, label->text);
    return LAM_OK;
}

static int on_path(void *ctx, const struct profile_path *path)
{
    struct check *check = ctx;
    demand(path->path == ++check->paths && path->parent < path->path);
    demand(path->label && path->label <= check->labels);
    return LAM_OK;
}

static int on_interval(void *ctx, const struct profile_interval *in)
{
    struct check *check = ctx;
    demand(in->thread <= check->threads && in->track <= check->tracks);
    demand(in->label && in->label <= check->labels && in->path && in->path <= check->paths);
    demand(in->end_ns >= in->start_ns && in->weight > 0);
    demand(in->active_ns <= (uint64_t)in->end_ns - (uint64_t)in->start_ns);
    demand(check->by_start ? in->self_ns == PROFILE_UNKNOWN : in->self_ns <= in->active_ns);
    for (size_t i = 0; i < in->argc; i++)
        touch(check, in->args[i]);
    demand(in->counted_count <= PROFILE_COUNTERS_MAX);
    for (size_t i = 0; i < in->counted_count; i++) {
        demand(in->counted[i].number < PROFILE_COUNTERS_MAX);
        demand(in->counted[i].self <= in->counted[i].value);
        touch(check, in->counted[i].name);
    }
    check->intervals++;
    return LAM_OK;
}

static int on_instant(void *ctx, const struct profile_instant *in)
{
    struct check *check = ctx;
    demand(in->thread <= check->threads && in->label && in->label <= check->labels);
    for (size_t i = 0; i < in->argc; i++)
        touch(check, in->args[i]);
    return LAM_OK;
}

static int on_fold(void *ctx, const struct profile_fold *in)
{
    struct check *check = ctx;
    demand(in->label && in->label <= check->labels && in->path && in->path <= check->paths);
    return LAM_OK;
}

static const struct profile_sink_ops check_ops = {
    .thread = on_thread,
    .track = on_track,
    .label = on_label,
    .path = on_path,
    .interval = on_interval,
    .instant = on_instant,
    .fold = on_fold,
};

static uint64_t push(const struct stream_file *file, enum profile_order order)
{
    struct check check = {.by_start = order == PROFILE_ORDER_START};
    struct profile_sink sink = {
        .ctx = &check,
        .ops = &check_ops,
        .wants = {.order = order, .args = true, .counted = true, .paths = true}};
    struct stack_merge merge = {.sink = &sink};
    struct label_merge labels = {.sink = &sink};
    struct interval_paths paths = {0};
    struct tick_clock clock = {0};
    struct stream_faults faults = {0};
    (void)tick_clock_add(&clock, file->header.start_ticks, file->header.start_mono_ns);
    (void)tick_clock_ready(&clock, file->header.tick_rate_hz, file->header.start_mono_ns);
    struct process_threads threads = {.sink = &sink,
                                      .merge = &merge,
                                      .labels = &labels,
                                      .paths = &paths,
                                      .clock = &clock,
                                      .process = 1,
                                      .first_thread = 1,
                                      .first_track = 1,
                                      .faults = &faults};
    const struct stream_file *const files[] = {
        file, file}; /* as if a second recorder had written the same */
    (void)process_threads_push(&threads, files, file->size_bytes % 2 + 1);
    demand(check.intervals == threads.totals.intervals);
    tick_clock_free(&clock);
    stack_merge_free(&merge);
    label_merge_free(&labels);
    interval_paths_free(&paths);
    return check.intervals;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stream_file *file = NULL;
    if (stream_open_memory(&file, data, size, "fuzz", NULL) < 0)
        return 0;
    uint64_t any = push(file, PROFILE_ORDER_ANY);
    demand(push(file, PROFILE_ORDER_START) == any);
    stream_close(&file);
    return 0;
}
