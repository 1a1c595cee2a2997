#include "cli/selftest_seen.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/units.h"
#include "input/read_recording.h"
#include "reader/stream_names.h"
#include "reader/stream_records.h"
#include "symbols/sidecar.h"

#define KNOWN_PREFIX "st_"

/* ---- facts ---- */

static int parse_fact(struct selftest_fact *fact, const char *line, size_t length)
{
    char text[128], number[32];
    if (length >= sizeof text)
        return LAM_E_CORRUPT;
    memcpy(text, line, length);
    text[length] = '\0';
    if (sscanf(text, "%15s %31s %31s", fact->kind, fact->name, number) != 3 ||
        !unit_parse_u64(number, &fact->value))
        return LAM_E_CORRUPT;
    return LAM_OK;
}

int selftest_facts_load(struct selftest_facts *facts, const char *path, struct lam_error *err)
{
    char *text;
    size_t size;
    int rc = file_read_all(path, 1u << 20, &text, &size, err);
    if (rc < 0)
        return rc;
    for (size_t at = 0; rc == LAM_OK && at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end ? (size_t)(end - (text + at)) : size - at;
        struct selftest_fact fact = {.value = 0};
        rc = parse_fact(&fact, text + at, length);
        if (rc == LAM_OK)
            rc = array_push(facts, fact);
        at += length + 1;
    }
    mem_free(text);
    return rc == LAM_OK
               ? rc
               : lam_error_set(err, rc, "%s: not what the program should have written", path);
}

uint64_t selftest_facts_sum(const struct selftest_facts *facts, const char *kind, const char *name,
                            size_t *count)
{
    uint64_t sum = 0;
    size_t found = 0;
    array_each(facts, fact)
    {
        if (strcmp(fact->kind, kind) != 0 || (name && strcmp(fact->name, name) != 0))
            continue;
        sum += fact->value;
        found++;
    }
    if (count)
        *count = found;
    return sum;
}

/* ---- the recording, as a sink ---- */

struct seen_stack {
    uint32_t depth;
    uint32_t function; /* index + 1 in seen->functions of the innermost known one; 0 */
};

struct seen_sink {
    struct selftest_seen *seen;
    struct symbols *symbols;
    LAM_ARRAY(uint32_t) modules; /* id in the sidecar */
    LAM_ARRAY(uint32_t) frames;  /* index + 1 in seen->functions; 0 */
    LAM_ARRAY(struct seen_stack) stacks;
    LAM_ARRAY(uint32_t) threads; /* of the process at hand: index in seen->threads */
    uint32_t first_thread, pid;
    bool is_forked;
};

static int on_session(void *ctx, const struct profile_session *session)
{
    struct seen_sink *sink = ctx;
    sink->seen->charged_ns = session->charged_cpu_ns;
    return LAM_OK;
}

static int on_process(void *ctx, const struct profile_process *process)
{
    struct seen_sink *sink = ctx;
    sink->pid = process->pid;
    sink->is_forked = process->forked;
    array_clear(&sink->threads);
    sink->seen->processes++;
    sink->seen->forked += process->forked;
    sink->seen->unsampled += process->sampled != PROFILE_SAMPLED_YES;
    if (process->startup_cpu_ns != PROFILE_UNKNOWN)
        sink->seen->startup_ns += process->startup_cpu_ns;
    return LAM_OK;
}

static int on_module(void *ctx, const struct profile_module *module)
{
    struct seen_sink *sink = ctx;
    uint32_t id = !sink->symbols
                      ? 0
                      : symbols_module(sink->symbols, module->build_id, module->build_id_bytes,
                                       module->path.bytes, module->path.size);
    return array_push(&sink->modules, id);
}

/* The known function that an address lies in, added when it is new: index + 1, 0 for others. */
static int known_function(struct seen_sink *sink, const char *name, uint32_t *index)
{
    struct selftest_seen *seen = sink->seen;
    *index = 0;
    if (strncmp(name, KNOWN_PREFIX, strlen(KNOWN_PREFIX)) != 0)
        return LAM_OK;
    for (uint32_t i = 0; i < seen->functions.count && !*index; i++)
        if (strcmp(seen->functions.items[i].name, name) == 0)
            *index = i + 1;
    if (*index)
        return LAM_OK;
    struct selftest_function *added = array_add(&seen->functions);
    if (!added)
        return LAM_E_NOMEM;
    snprintf(added->name, sizeof added->name, "%s", name);
    *index = (uint32_t)seen->functions.count;
    return LAM_OK;
}

static int on_frame(void *ctx, const struct profile_frame *frame)
{
    struct seen_sink *sink = ctx;
    uint32_t module = frame->module && frame->module <= sink->modules.count
                          ? sink->modules.items[frame->module - 1]
                          : 0;
    struct symbol_place place =
        symbols_lookup(sink->symbols, module, frame->offset, frame->is_return);
    uint32_t function = 0;
    int rc = LAM_OK;
    for (uint32_t i = 0; rc == LAM_OK && !function && i < place.count; i++)
        rc = known_function(sink, symbols_frame(sink->symbols, &place, i).name, &function);
    return rc == LAM_OK ? array_push(&sink->frames, function) : rc;
}

static int on_stack(void *ctx, const struct profile_stack *stack)
{
    struct seen_sink *sink = ctx;
    struct seen_stack above = {0};
    if (stack->parent && stack->parent <= sink->stacks.count)
        above = sink->stacks.items[stack->parent - 1];
    uint32_t own = stack->frame && stack->frame <= sink->frames.count
                       ? sink->frames.items[stack->frame - 1]
                       : 0;
    return array_push(&sink->stacks,
                      ((struct seen_stack){above.depth + 1, own ? own : above.function}));
}

static int on_thread(void *ctx, const struct profile_thread *thread)
{
    struct seen_sink *sink = ctx;
    if (!sink->threads.count)
        sink->first_thread = thread->thread;
    struct selftest_thread *added = array_add(&sink->seen->threads);
    if (!added)
        return LAM_E_NOMEM;
    *added = (struct selftest_thread){.pid = sink->pid, .tid = thread->tid};
    return array_push(&sink->threads, (uint32_t)sink->seen->threads.count - 1);
}

static struct selftest_thread *thread_of(struct seen_sink *sink, uint32_t thread)
{
    uint32_t at = thread - sink->first_thread;
    return at < sink->threads.count ? &sink->seen->threads.items[sink->threads.items[at]] : NULL;
}

static void amount_add(struct selftest_amount *amount, uint64_t cpu_ns)
{
    amount->samples++;
    amount->cpu_ns += cpu_ns;
}

static int on_sample(void *ctx, const struct profile_sample *sample)
{
    struct seen_sink *sink = ctx;
    struct selftest_seen *seen = sink->seen;
    uint64_t cpu_ns = sample->cpu_ns - sample->late_ns;
    bool is_truncated = (sample->flags & STREAM_SAMPLE_TRUNCATED) != 0;
    amount_add(&seen->total, cpu_ns);
    seen->late_ns += sample->late_ns;
    seen->truncated += is_truncated;
    struct selftest_thread *thread = thread_of(sink, sample->thread);
    if (thread)
        amount_add(&thread->amount, cpu_ns);
    if (!sample->stack || sample->stack > sink->stacks.count)
        return LAM_OK;
    struct seen_stack stack = sink->stacks.items[sample->stack - 1];
    seen->frames += stack.depth;
    if (!stack.function)
        return LAM_OK;
    struct selftest_function *function = &seen->functions.items[stack.function - 1];
    amount_add(&function->amount, cpu_ns);
    function->truncated += is_truncated;
    if (stack.depth > function->deepest)
        function->deepest = stack.depth;
    return LAM_OK;
}

static int on_wait(void *ctx, const struct profile_wait *wait)
{
    struct seen_sink *sink = ctx;
    const struct selftest_thread *thread = thread_of(sink, wait->thread);
    if (!thread || thread->tid != thread->pid || sink->is_forked || wait->kind >= SELFTEST_WAIT_KINDS)
        return LAM_OK;
    sink->seen->waits[wait->kind].count++;
    sink->seen->waits[wait->kind].ns += wait->duration_ns;
    return LAM_OK;
}

static int on_thread_end(void *ctx, const struct profile_thread_end *end)
{
    struct seen_sink *sink = ctx;
    if (end->handler_ns != PROFILE_UNKNOWN)
        sink->seen->handler_ns += end->handler_ns;
    sink->seen->interrupts += end->interrupts;
    return LAM_OK;
}

static int on_process_end(void *ctx, const struct profile_process_end *end)
{
    struct seen_sink *sink = ctx;
    for (size_t i = 0; i < sizeof end->lost / sizeof *end->lost; i++)
        sink->seen->lost += end->lost[i];
    if (end->tail_cpu_ns != PROFILE_UNKNOWN)
        sink->seen->tail_ns += end->tail_cpu_ns;
    return LAM_OK;
}

int selftest_seen_load(struct selftest_seen *seen, const char *recording, struct lam_error *err)
{
    static const struct profile_sink_ops ops = {
        .session = on_session,
        .process = on_process,
        .module = on_module,
        .frame = on_frame,
        .stack = on_stack,
        .thread = on_thread,
        .sample = on_sample,
        .wait = on_wait,
        .thread_end = on_thread_end,
        .process_end = on_process_end,
    };
    struct seen_sink sink = {.seen = seen};
    for (uint32_t i = 0; i < SELFTEST_WAIT_KINDS; i++)
        seen->waits[i].kind = stream_wait_kind_name(i);
    int rc = symbols_open(&sink.symbols, recording, err);
    if (rc == LAM_OK || rc == LAM_E_NOTFOUND) /* without a sample there are no symbols either */
        rc = read_recording(recording, &(struct profile_sink){.ctx = &sink, .ops = &ops}, err);
    symbols_close(&sink.symbols);
    array_free(&sink.modules);
    array_free(&sink.frames);
    array_free(&sink.stacks);
    array_free(&sink.threads);
    return rc;
}

void selftest_seen_free(struct selftest_seen *seen)
{
    array_free(&seen->functions);
    array_free(&seen->threads);
}

struct selftest_function selftest_seen_function(const struct selftest_seen *seen, const char *name)
{
    array_each(&seen->functions, function) if (strcmp(function->name, name) == 0) return *function;
    return (struct selftest_function){.deepest = 0};
}

struct selftest_amount selftest_seen_thread(const struct selftest_seen *seen, uint32_t tid)
{
    array_each(&seen->threads, thread) if (thread->tid == tid) return thread->amount;
    return (struct selftest_amount){0, 0};
}
