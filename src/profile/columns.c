#include "profile/columns.h"

#include <string.h>

/* Bits of a sample's flags, as inputs give them: the step of the rate ladder, and late. */
enum { FLAG_LATE = 2, LEVEL_SHIFT = 4, LEVEL_MASK = 3, MERGED_SHIFT = 8 };

static int keep_text(struct columns *columns, struct profile_text *text)
{
    const char *copy = arena_strndup(&columns->text, text->bytes ? text->bytes : "", text->size);
    text->bytes = copy;
    return copy ? LAM_OK : LAM_E_NOMEM;
}

static int keep_string(struct columns *columns, const char **text)
{
    if (!*text)
        return LAM_OK;
    *text = arena_strdup(&columns->text, *text);
    return *text ? LAM_OK : LAM_E_NOMEM;
}

static int on_session(void *ctx, const struct profile_session *session)
{
    struct columns *columns = ctx;
    columns->session = *session;
    const char **texts[] = {&columns->session.command, &columns->session.directory,
                            &columns->session.tool_version, &columns->session.host,
                            &columns->session.session_json};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (keep_string(columns, texts[i]) < 0)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

static int keep_argv(struct columns *columns, struct profile_process *info)
{
    struct profile_text *argv = arena_array(&columns->text, info->argc, sizeof *argv);
    if (!argv)
        return LAM_E_NOMEM;
    for (size_t i = 0; i < info->argc; i++) {
        argv[i] = info->argv[i];
        if (keep_text(columns, &argv[i]) < 0)
            return LAM_E_NOMEM;
    }
    info->argv = argv;
    return LAM_OK;
}

static int on_process(void *ctx, const struct profile_process *process)
{
    struct columns *columns = ctx;
    if (process->process != columns->processes.count + 1)
        return LAM_E_INVAL; /* ids are dense: the input is wrong, and everything here would be */
    struct columns_process *kept = array_add(&columns->processes);
    if (!kept)
        return LAM_E_NOMEM;
    kept->info = *process;
    kept->threads.first = columns->threads.count;
    int rc = keep_text(columns, &kept->info.exe);
    if (rc >= 0)
        rc = keep_text(columns, &kept->info.cwd);
    if (rc >= 0)
        rc = keep_text(columns, &kept->info.comm);
    if (rc >= 0)
        rc = keep_string(columns, &kept->info.stream);
    return rc < 0 ? rc : keep_argv(columns, &kept->info);
}

static int on_module(void *ctx, const struct profile_module *module)
{
    struct columns *columns = ctx;
    struct profile_module kept = *module;
    int rc =
        module->module == columns->modules.count + 1 ? keep_text(columns, &kept.path) : LAM_E_INVAL;
    return rc < 0 ? rc : array_push(&columns->modules, kept);
}

static int on_frame(void *ctx, const struct profile_frame *frame)
{
    struct columns *columns = ctx;
    return frame->frame == columns->frames.count + 1 ? array_push(&columns->frames, *frame)
                                                     : LAM_E_INVAL;
}

static int on_stack(void *ctx, const struct profile_stack *stack)
{
    struct columns *columns = ctx;
    return stack->stack == columns->stacks.count + 1 ? array_push(&columns->stacks, *stack)
                                                     : LAM_E_INVAL;
}

static int on_thread(void *ctx, const struct profile_thread *thread)
{
    struct columns *columns = ctx;
    if (thread->thread != columns->threads.count + 1 ||
        thread->process != columns->processes.count || !columns->processes.count)
        return LAM_E_INVAL;
    struct columns_thread *kept = array_add(&columns->threads);
    if (!kept)
        return LAM_E_NOMEM;
    kept->info = *thread;
    kept->samples.first = columns->at_ns.count;
    kept->waits.first = columns->waits.count;
    kept->names.first = columns->names.count;
    array_last(&columns->processes).threads.count++;
    return keep_text(columns, &kept->info.name);
}

/* Threads are pushed one after another, so the one at hand is the last. */
static struct columns_thread *thread_at_hand(struct columns *columns, uint32_t thread)
{
    return thread && thread == columns->threads.count ? &array_last(&columns->threads) : NULL;
}

static int on_thread_name(void *ctx, const struct profile_thread_name *name)
{
    struct columns *columns = ctx;
    struct columns_thread *thread = thread_at_hand(columns, name->thread);
    struct profile_thread_name kept = *name;
    int rc = thread ? keep_text(columns, &kept.name) : LAM_E_INVAL;
    if (rc >= 0)
        rc = array_push(&columns->names, kept);
    if (rc >= 0)
        thread->names.count++;
    return rc;
}

static uint32_t period_of_flags(const struct columns *columns, uint32_t process, uint16_t flags)
{
    return columns->processes.items[process - 1].info.period_ns[flags >> LEVEL_SHIFT & LEVEL_MASK];
}

static int on_sample(void *ctx, const struct profile_sample *sample)
{
    struct columns *columns = ctx;
    struct columns_thread *thread = thread_at_hand(columns, sample->thread);
    if (!thread || sample->process != thread->info.process)
        return LAM_E_INVAL;
    size_t at = columns->at_ns.count;
    int rc = LAM_OK;
    if (sample->cpu_ns >= UINT32_MAX)
        rc = map_put(&columns->large_cpu_ns, at, sample->cpu_ns);
    if (rc >= 0 && sample->period_ns != period_of_flags(columns, sample->process, sample->flags))
        rc = map_put(&columns->odd_periods, at, sample->period_ns);
    if (rc < 0 || array_push(&columns->at_ns, sample->at_ns) < 0 ||
        array_push(&columns->stack, sample->stack) < 0 ||
        array_push(&columns->cpu_ns,
                   sample->cpu_ns >= UINT32_MAX ? UINT32_MAX : (uint32_t)sample->cpu_ns) < 0 ||
        array_push(&columns->flags, sample->flags) < 0)
        return LAM_E_NOMEM;
    thread->samples.count++;
    return LAM_OK;
}

static int on_wait(void *ctx, const struct profile_wait *wait)
{
    struct columns *columns = ctx;
    struct columns_thread *thread = thread_at_hand(columns, wait->thread);
    if (!thread)
        return LAM_E_INVAL;
    thread->waits.count++;
    return array_push(&columns->waits, *wait);
}

static int on_thread_end(void *ctx, const struct profile_thread_end *end)
{
    struct columns_thread *thread = thread_at_hand(ctx, end->thread);
    if (!thread)
        return LAM_E_INVAL;
    thread->end = *end;
    thread->has_end = true;
    return LAM_OK;
}

static int on_notice(void *ctx, const struct profile_notice *notice)
{
    return array_push(&((struct columns *)ctx)->notices, *notice);
}

static int on_process_end(void *ctx, const struct profile_process_end *end)
{
    struct columns *columns = ctx;
    if (!end->process || end->process != columns->processes.count)
        return LAM_E_INVAL;
    array_last(&columns->processes).end = *end;
    array_last(&columns->processes).has_end = true;
    return LAM_OK;
}

static int on_session_end(void *ctx, const struct profile_session_end *end)
{
    struct columns *columns = ctx;
    columns->end = *end;
    columns->has_end = true;
    return LAM_OK;
}

static const struct profile_sink_ops columns_ops = {
    .session = on_session,
    .process = on_process,
    .module = on_module,
    .frame = on_frame,
    .stack = on_stack,
    .thread = on_thread,
    .thread_name = on_thread_name,
    .sample = on_sample,
    .wait = on_wait,
    .thread_end = on_thread_end,
    .notice = on_notice,
    .process_end = on_process_end,
    .session_end = on_session_end,
};

struct profile_sink columns_sink(struct columns *columns)
{
    return (struct profile_sink){.ctx = columns, .ops = &columns_ops};
}

void columns_free(struct columns *columns)
{
    array_free(&columns->processes);
    array_free(&columns->threads);
    array_free(&columns->modules);
    array_free(&columns->frames);
    array_free(&columns->stacks);
    array_free(&columns->waits);
    array_free(&columns->names);
    array_free(&columns->notices);
    array_free(&columns->at_ns);
    array_free(&columns->stack);
    array_free(&columns->cpu_ns);
    array_free(&columns->flags);
    map_free(&columns->large_cpu_ns);
    map_free(&columns->odd_periods);
    arena_free(&columns->text);
    *columns = (struct columns){0};
}

uint64_t columns_cpu_ns(const struct columns *columns, size_t sample)
{
    uint32_t cpu_ns = columns->cpu_ns.items[sample];
    return cpu_ns == UINT32_MAX ? map_get_or(&columns->large_cpu_ns, sample, UINT32_MAX) : cpu_ns;
}

struct profile_sample columns_sample(const struct columns *columns,
                                     const struct columns_thread *thread, size_t sample)
{
    uint16_t flags = columns->flags.items[sample];
    uint64_t cpu_ns = columns_cpu_ns(columns, sample);
    uint32_t period_ns = period_of_flags(columns, thread->info.process, flags);
    if (columns->odd_periods.count)
        period_ns = (uint32_t)map_get_or(&columns->odd_periods, sample, period_ns);
    return (struct profile_sample){
        .process = thread->info.process,
        .thread = thread->info.thread,
        .stack = columns->stack.items[sample],
        .at_ns = columns->at_ns.items[sample],
        .cpu_ns = cpu_ns,
        .late_ns = flags & FLAG_LATE && cpu_ns > period_ns ? cpu_ns - period_ns : 0,
        .period_ns = period_ns,
        .flags = flags,
        .merged = flags >> MERGED_SHIFT,
    };
}

/* ---- pushing it again ---- */

/* The item is not evaluated for a sink that does not take it. */
#define PUSH(sink, member, item) \
    ((sink)->ops->member ? (sink)->ops->member((sink)->ctx, (item)) : LAM_OK)

static int push_tables(const struct columns *columns, const struct profile_sink *sink)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < columns->modules.count; i++)
        rc = PUSH(sink, module, &columns->modules.items[i]);
    for (size_t i = 0; rc >= 0 && i < columns->frames.count; i++)
        rc = PUSH(sink, frame, &columns->frames.items[i]);
    for (size_t i = 0; rc >= 0 && i < columns->stacks.count; i++)
        rc = PUSH(sink, stack, &columns->stacks.items[i]);
    return rc;
}

/* Names, waits and samples of one thread, merged by time. What comes first at one instant: names, waits, samples. */
static int push_events(const struct columns *columns, const struct columns_thread *thread,
                       const struct profile_sink *sink)
{
    size_t name = thread->names.first, name_end = name + thread->names.count;
    size_t wait = thread->waits.first, wait_end = wait + thread->waits.count;
    size_t sample = thread->samples.first, sample_end = sample + thread->samples.count;
    int rc = LAM_OK;
    while (rc >= 0 && (name < name_end || wait < wait_end || sample < sample_end)) {
        int64_t name_ns = name < name_end ? columns->names.items[name].at_ns : INT64_MAX;
        int64_t wait_ns = wait < wait_end ? columns->waits.items[wait].start_ns : INT64_MAX;
        int64_t sample_ns = sample < sample_end ? columns->at_ns.items[sample] : INT64_MAX;
        if (name < name_end && name_ns <= wait_ns && name_ns <= sample_ns) {
            rc = PUSH(sink, thread_name, &columns->names.items[name]);
            name++;
        } else if (wait < wait_end && wait_ns <= sample_ns) {
            rc = PUSH(sink, wait, &columns->waits.items[wait]);
            wait++;
        } else {
            struct profile_sample item = columns_sample(columns, thread, sample++);
            rc = PUSH(sink, sample, &item);
        }
    }
    return rc;
}

static int push_process(const struct columns *columns, const struct columns_process *process,
                        size_t *notice, const struct profile_sink *sink)
{
    int rc = PUSH(sink, process, &process->info);
    if (rc >= 0 && process->info.process == 1)
        rc = push_tables(columns, sink);
    for (; rc >= 0 && *notice < columns->notices.count; (*notice)++) {
        if (columns->notices.items[*notice].process != process->info.process)
            break;
        rc = PUSH(sink, notice, &columns->notices.items[*notice]);
    }
    for (size_t i = 0; rc >= 0 && i < process->threads.count; i++) {
        const struct columns_thread *thread = &columns->threads.items[process->threads.first + i];
        rc = PUSH(sink, thread, &thread->info);
        if (rc >= 0)
            rc = push_events(columns, thread, sink);
        if (rc >= 0 && thread->has_end)
            rc = PUSH(sink, thread_end, &thread->end);
    }
    return rc >= 0 && process->has_end ? PUSH(sink, process_end, &process->end) : rc;
}

int columns_push(const struct columns *columns, const struct profile_sink *sink)
{
    int rc = PUSH(sink, session, &columns->session);
    size_t notice = 0;
    for (size_t i = 0; rc >= 0 && i < columns->processes.count; i++)
        rc = push_process(columns, &columns->processes.items[i], &notice, sink);
    return rc >= 0 && columns->has_end ? PUSH(sink, session_end, &columns->end) : rc;
}
