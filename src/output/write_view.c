#include "output/write_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/units.h"
#include "output/view_lines.h"
#include "output/write_labels.h"
#include "reader/stream_names.h"
#include "reader/stream_records.h" /* the flags of samples */

/* ---- one line ---- */

/* Lines that stand around what a filter chooses, and so are no answer to it. */
static bool is_frame_line(const struct view *view, const char *type)
{
    if (strncmp(type, "session", 7) == 0)
        return true;
    return view->options.thread && strncmp(type, "process", 7) == 0;
}

void view_begin(struct view *view, const char *type)
{
    view->found += !is_frame_line(view, type);
    if (view->options.is_json) {
        json_writer_init(&view->json, view->out, 0);
        json_put_object(&view->json);
        json_member_str(&view->json, "type", type);
    } else {
        strbuf_clear(&view->line);
    }
}

int view_end(struct view *view)
{
    if (view->options.is_json) {
        json_put_end(&view->json);
        byteout_char(view->out, '\n');
        return view->json.failed < 0 ? view->json.failed : view->out->failed;
    }
    strbuf_add_char(&view->line, '\n');
    if (!strbuf_ok(&view->line))
        return LAM_E_NOMEM;
    byteout_write(view->out, view->line.data, view->line.length);
    return view->out->failed; /* a closed pipe ends the reading */
}

void view_put_time(const struct view *view, struct strbuf *line, int64_t at_ns)
{
    if (!labels_measure_is_time(view->measure)) {
        strbuf_addf(line, "%lld", (long long)at_ns);
        return;
    }
    long long seconds = llabs(at_ns / 1000000000), rest = llabs(at_ns % 1000000000);
    strbuf_addf(line, view->has_events ? "%s%lld.%09lld" : "%s%lld.%06lld", at_ns < 0 ? "-" : "",
                seconds, view->has_events ? rest : rest / 1000);
}

static void put_text(struct strbuf *line, struct profile_text text)
{
    strbuf_add_printable(line, text.bytes, text.size);
}

static void json_text(struct json_writer *json, const char *key, struct profile_text text)
{
    json_member_str_n(json, key, text.bytes, text.size);
}

static void json_known(struct json_writer *json, const char *key, uint64_t value)
{
    if (value == PROFILE_UNKNOWN)
        json_member_null(json, key);
    else
        json_member_u64(json, key, value);
}

const char *view_duration(uint64_t ns, struct unit_text *text)
{
    *text = unit_seconds(ns == PROFILE_UNKNOWN ? (double)NAN : (double)ns / 1e9);
    return text->text;
}

const char *view_amount(const struct view *view, uint64_t ns, struct unit_text *text)
{
    if (labels_measure_is_time(view->measure))
        return view_duration(ns, text);
    *text = unit_count(ns);
    return text->text;
}

bool view_in_time(const struct view *view, int64_t from_ns, int64_t to_ns)
{
    double from = (double)from_ns / 1e9, to = (double)to_ns / 1e9;
    return !(to < view->options.from_s) && !(from > view->options.to_s); /* a NaN compares false */
}

static bool is_number(const char *text, uint32_t value)
{
    uint64_t number;
    return unit_parse_u64(text, &number) && number == value;
}

bool view_contains(struct profile_text text, const char *part)
{
    return text.size > 0 && memmem(text.bytes, text.size, part, strlen(part)) != NULL;
}

/* ---- session, process ---- */

/* What is not known is left out. */
static void put_known(struct strbuf *line, const char *what, uint64_t ns)
{
    struct unit_text text;
    if (ns != PROFILE_UNKNOWN)
        strbuf_addf(line, "  %s %s", what, view_duration(ns, &text));
}

static void json_exit_code(struct json_writer *json, int exit_code)
{
    if (exit_code >= 0)
        json_member_i64(json, "exit_code", exit_code);
    else
        json_member_null(json, "exit_code");
}

static int on_session(void *ctx, const struct profile_session *session)
{
    struct view *view = ctx;
    view->measure = session->measure;
    view->has_events = session->has_intervals;
    view->has_sampler = session->rate_hz > 0 || session->has_samples;
    if (view->options.hides_processes || view->options.label)
        return LAM_OK;
    view_begin(view, "session");
    if (view->options.is_json) {
        struct json_writer *json = &view->json;
        json_member_str(json, "command", session->command);
        json_member_i64(json, "started_at_unix_ns", session->started_at_unix_ns);
        json_known(json, "elapsed_ns", session->elapsed_ns);
        json_known(json, "charged_cpu_ns", session->charged_cpu_ns);
        json_exit_code(json, session->exit_code);
        json_member_bool(json, "complete", session->complete);
        json_member_str(json, "measure", labels_measure_name(session->measure));
        json_member_str(json, "engine", stream_engine_name(session->engine));
        json_member_u64(json, "rate_hz", session->rate_hz);
        json_member_bool(json, "rate_auto", session->rate_auto);
        return view_end(view);
    }
    strbuf_add(&view->line, "session  ");
    strbuf_add_printable(&view->line, session->command, strlen(session->command));
    put_known(&view->line, "elapsed", session->elapsed_ns);
    put_known(&view->line, "cpu", session->charged_cpu_ns);
    if (view->has_sampler)
        strbuf_addf(&view->line, "  engine %s", stream_engine_name(session->engine));
    if (!labels_measure_is_time(view->measure))
        strbuf_addf(&view->line, "  counts %s", labels_measure_name(view->measure));
    return view_end(view);
}

static struct profile_text program_of(const struct profile_process *process)
{
    struct profile_text exe = process->exe.size ? process->exe : process->comm;
    const char *slash = exe.size ? memrchr(exe.bytes, '/', exe.size) : NULL;
    if (!slash)
        return exe;
    return (struct profile_text){slash + 1, exe.size - (size_t)(slash + 1 - exe.bytes)};
}

static const char *const sampled_names[] = {
    [PROFILE_SAMPLED_YES] = "yes", [PROFILE_SAMPLED_ACCOUNT_ONLY] = "account", [PROFILE_SAMPLED_NO] = "no"};

static void process_json(struct view *view, const struct profile_process *process)
{
    struct json_writer *json = &view->json;
    json_member_u64(json, "process", process->process);
    json_member_u64(json, "pid", process->pid);
    json_member_u64(json, "ppid", process->ppid);
    json_member_u64(json, "parent", process->parent);
    json_member_u64(json, "previous", process->previous);
    json_member_i64(json, "start_ns", process->start_ns);
    json_member_i64(json, "agent_start_ns", process->agent_start_ns);
    json_text(json, "exe", process->exe);
    json_text(json, "cwd", process->cwd);
    json_text(json, "comm", process->comm);
    json_member_array(json, "argv");
    for (size_t i = 0; i < process->argc; i++)
        json_put_str_n(json, process->argv[i].bytes, process->argv[i].size);
    json_put_end(json);
    json_member_bool(json, "argv_cut", process->argv_cut);
    json_member_bool(json, "forked", process->forked);
    json_member_str(json, "stream", process->stream);
    json_member_str(json, "sampled", sampled_names[process->sampled]);
    json_member_str(json, "why_not", stream_unsampled_name(process->why_not));
    json_known(json, "startup_cpu_ns", process->startup_cpu_ns);
    json_member_str(json, "engine", stream_engine_name(process->engine));
}

static int on_process(void *ctx, const struct profile_process *process)
{
    struct view *view = ctx;
    const char *wanted = view->options.process;
    struct profile_text program = program_of(process);
    view->pid = process->pid;
    view->process_is_shown =
        !wanted || is_number(wanted, process->pid) || view_contains(program, wanted);
    array_clear(&view->threads);
    arena_reset(&view->process_arena);
    view_branches_clear(view);
    const struct profile_text *exe = process->exe.size ? &process->exe : &process->comm;
    view->exe = arena_strndup(&view->process_arena, exe->size ? exe->bytes : "", exe->size);
    if (!view->exe)
        return LAM_E_NOMEM;
    if (!view->process_is_shown || view->options.hides_processes || view->options.label)
        return LAM_OK;
    view_begin(view, "process");
    if (view->options.is_json) {
        process_json(view, process);
        return view_end(view);
    }
    struct strbuf *line = &view->line;
    view_put_time(view, line, process->start_ns);
    strbuf_addf(line, "  process %u  pid %u  parent %u  ", process->process, process->pid,
                process->parent);
    /* A program that recorded itself, or a self-profile, was never to be sampled. */
    bool left_nothing = process->sampled == PROFILE_SAMPLED_NO && !process->stream;
    if ((left_nothing && view->has_sampler) || process->why_not)
        strbuf_addf(line, "not sampled (%s)  ", stream_unsampled_text(process->why_not));
    if (!process->argc)
        put_text(line, program);
    for (size_t i = 0; i < process->argc; i++) {
        struct strbuf quoted = {0};
        strbuf_add_shell_quoted(&quoted, process->argv[i].bytes, process->argv[i].size);
        strbuf_add(line, i ? " " : "");
        strbuf_add_printable(line, strbuf_text(&quoted), quoted.length);
        strbuf_free(&quoted);
    }
    return view_end(view);
}

static void process_end_json(struct json_writer *json, const struct profile_process_end *ended)
{
    json_member_u64(json, "process", ended->process);
    json_member_i64(json, "end_ns", ended->end_ns);
    json_exit_code(json, ended->exit_code);
    json_member_i64(json, "signal", ended->signal);
    json_member_str(json, "how", ended->how ? stream_end_how_name(ended->how) : NULL);
    json_member_bool(json, "running", ended->running);
    json_known(json, "cpu_ns", ended->cpu_ns);
    json_known(json, "tail_cpu_ns", ended->tail_cpu_ns);
    json_known(json, "user_ns", ended->has_usage ? ended->own.user_ns : PROFILE_UNKNOWN);
    json_known(json, "sys_ns", ended->has_usage ? ended->own.sys_ns : PROFILE_UNKNOWN);
    json_known(json, "max_rss_bytes", ended->own.max_rss_bytes);
    json_member_u64(json, "clamped_times", ended->clamped_times);
    json_member_object(json, "lost");
    for (unsigned i = 0; i < STREAM_LOSS_KINDS; i++) {
        if (ended->lost[i])
            json_member_u64(json, stream_loss_name(i), ended->lost[i]);
    }
    json_put_end(json);
    json_member_object(json, "damage");
    for (unsigned i = 0; i < STREAM_DAMAGE_KINDS; i++) {
        if (ended->damage[i])
            json_member_u64(json, stream_damage_name(i), ended->damage[i]);
    }
    json_put_end(json);
}

static void process_end_text(const struct view *view, struct strbuf *line,
                             const struct profile_process_end *ended)
{
    view_put_time(view, line, ended->end_ns);
    strbuf_addf(line, "  process %u ", ended->process);
    if (ended->running)
        strbuf_add(line, "still runs");
    else if (ended->signal)
        strbuf_addf(line, "killed by signal %d", ended->signal);
    else if (ended->how == STREAM_END_EXEC)
        strbuf_add(line, "replaced by exec");
    else if (ended->exit_code >= 0)
        strbuf_addf(line, "exits with %d", ended->exit_code);
    else
        strbuf_add(line, "ends");
    put_known(line, "cpu", ended->cpu_ns);
    if (view->has_sampler)
        put_known(line, "tail", ended->tail_cpu_ns);
    if (ended->own.max_rss_bytes != PROFILE_UNKNOWN)
        strbuf_addf(line, "  peak %s", unit_bytes((double)ended->own.max_rss_bytes).text);
    for (unsigned i = 0; i < STREAM_LOSS_KINDS; i++) {
        if (ended->lost[i])
            strbuf_addf(line, "  lost %llu (%s)", (unsigned long long)ended->lost[i],
                        stream_loss_text(i));
    }
    for (unsigned i = 0; i < STREAM_DAMAGE_KINDS; i++) {
        if (ended->damage[i])
            strbuf_addf(line, "  %llu %s", (unsigned long long)ended->damage[i],
                        stream_damage_text(i, ended->damage[i]));
    }
}

static int on_process_end(void *ctx, const struct profile_process_end *ended)
{
    struct view *view = ctx;
    int rc = view_branches_print(view);
    if (rc < 0)
        return rc;
    if (!view->process_is_shown || view->options.hides_processes || view->options.label)
        return LAM_OK;
    view_begin(view, "process_end");
    if (view->options.is_json)
        process_end_json(&view->json, ended);
    else
        process_end_text(view, &view->line, ended);
    return view_end(view);
}

static int on_notice(void *ctx, const struct profile_notice *notice)
{
    struct view *view = ctx;
    if (!view->process_is_shown || view->options.hides_processes || view->options.label)
        return LAM_OK;
    view_begin(view, "notice");
    if (view->options.is_json) {
        json_member_u64(&view->json, "process", notice->process);
        json_member_i64(&view->json, "at_ns", notice->at_ns);
        json_member_str(&view->json, "notice", stream_notice_name(notice->kind));
        json_member_u64(&view->json, "value", notice->value);
    } else {
        view_put_time(view, &view->line, notice->at_ns);
        strbuf_addf(&view->line, "  notice  %s (%llu)", stream_notice_text(notice->kind),
                    (unsigned long long)notice->value);
    }
    return view_end(view);
}

/* ---- stacks ---- */

static int on_module(void *ctx, const struct profile_module *module)
{
    struct view *view = ctx;
    const char *path = arena_strndup(&view->arena, module->path.bytes, module->path.size);
    uint32_t id = 0;
    if (view->symbols)
        id = symbols_module_of(view->symbols, module);
    int rc = view->options.cls ? stack_states_module(&view->states, module) : LAM_OK;
    if (rc < 0)
        return rc;
    return path ? array_push(&view->modules, ((struct view_module){path, id})) : LAM_E_NOMEM;
}

static int on_frame(void *ctx, const struct profile_frame *frame)
{
    struct view *view = ctx;
    int rc = view->options.cls ? stack_states_frame(&view->states, frame) : LAM_OK;
    if (rc < 0)
        return rc;
    return array_push(&view->frames,
                      ((struct view_frame){frame->module, frame->offset, frame->is_return, NULL}));
}

static int on_stack(void *ctx, const struct profile_stack *stack)
{
    struct view *view = ctx;
    int rc = view->options.cls ? stack_states_stack(&view->states, stack) : LAM_OK;
    if (rc < 0)
        return rc;
    return array_push(&view->stacks, ((struct view_stack){stack->parent, stack->frame, 0}));
}

static struct symbol_place place_of(const struct view *view, const struct view_frame *frame)
{
    struct symbol_place nowhere = {.state = SYMBOL_NO_MODULE};
    uint32_t id = frame->module ? view->modules.items[frame->module - 1].symbols : 0;
    return id ? symbols_lookup(view->symbols, id, frame->offset, frame->is_return) : nowhere;
}

/* "a < b" when a is inlined into b; "libc.so.6+0x1234" without a symbol. Printable. NULL when memory is short. */
static const char *name_of(struct view *view, uint32_t frame_id)
{
    struct view_frame *frame = &view->frames.items[frame_id - 1];
    if (frame->name)
        return frame->name;
    struct strbuf text = {0};
    struct symbol_place place = place_of(view, frame);
    for (uint32_t i = 0; i < place.count; i++) {
        const char *name = symbols_frame(view->symbols, &place, i).name;
        strbuf_add(&text, i ? " < " : "");
        strbuf_add_printable(&text, name, strlen(name));
    }
    if (!place.count) {
        const char *path =
            frame->module ? path_name(view->modules.items[frame->module - 1].path) : "";
        strbuf_add_printable(&text, path, strlen(path));
        strbuf_addf(&text, "%s0x%llx", frame->module ? "+" : "", (unsigned long long)frame->offset);
    }
    frame->name = strbuf_ok(&text) ? arena_strndup(&view->arena, text.data, text.length) : NULL;
    strbuf_free(&text);
    return frame->name;
}

/* Whether any frame's name has the label in it; remembered for each stack on the way. */
static bool stack_matches(struct view *view, uint32_t stack_id)
{
    if (!view->options.label)
        return true;
    uint32_t id = stack_id;
    uint8_t found = 1;
    for (; id; id = view->stacks.items[id - 1].parent) {
        if (view->stacks.items[id - 1].matches) {
            found = view->stacks.items[id - 1].matches;
            break;
        }
        const char *name = name_of(view, view->stacks.items[id - 1].frame);
        if (name && strstr(name, view->options.label)) {
            found = 2;
            break;
        }
    }
    for (uint32_t up = stack_id; up != id; up = view->stacks.items[up - 1].parent)
        view->stacks.items[up - 1].matches = found;
    if (id)
        view->stacks.items[id - 1].matches = found;
    return found == 2;
}

static void json_frame(struct view *view, const struct view_frame *frame)
{
    struct json_writer *json = &view->json;
    struct symbol_place place = place_of(view, frame);
    uint32_t count = place.count ? place.count : 1;
    for (uint32_t i = 0; i < count; i++) {
        json_put_object(json);
        if (place.count) {
            struct symbol_frame symbol = symbols_frame(view->symbols, &place, i);
            json_member_str(json, "name", symbol.name);
            if (symbol.is_inlined)
                json_member_bool(json, "inlined", true);
            if (symbol.line) {
                json_member_str(json, "file", symbol.file);
                json_member_u64(json, "line", symbol.line);
            }
        } else {
            json_member_null(json, "name");
        }
        if (frame->module)
            json_member_str(json, "module", view->modules.items[frame->module - 1].path);
        else
            json_member_null(json, "module");
        json_member_u64(json, "offset", frame->offset);
        json_put_end(json);
    }
}

static void put_stack(struct view *view, uint32_t stack_id)
{
    if (view->options.hides_stacks)
        return;
    if (view->options.is_json) {
        json_member_array(&view->json, "frames");
        for (uint32_t id = stack_id; id; id = view->stacks.items[id - 1].parent)
            json_frame(view, &view->frames.items[view->stacks.items[id - 1].frame - 1]);
        json_put_end(&view->json);
        return;
    }
    uint32_t depth = view->options.depth;
    strbuf_add(&view->line, stack_id ? "  " : "  (no stack)");
    for (uint32_t id = stack_id, n = 0; id; id = view->stacks.items[id - 1].parent, n++) {
        if (depth && n == depth) {
            strbuf_add(&view->line, " < …");
            return;
        }
        const char *name = name_of(view, view->stacks.items[id - 1].frame);
        strbuf_add(&view->line, n ? " < " : "");
        strbuf_add(&view->line, name ? name : "?");
    }
}

/* ---- threads, samples, waits ---- */

struct view_thread *view_thread_of(struct view *view, uint32_t thread)
{
    uint32_t at = thread - view->first_thread;
    return at < view->threads.count ? &view->threads.items[at] : NULL;
}

static int name_thread(struct view *view, struct view_thread *thread, struct profile_text name)
{
    const char *wanted = view->options.thread;
    thread->name = arena_strndup(&view->process_arena, name.bytes, name.size);
    if (view->options.cls)
        thread->fallback =
            classifier_thread(view->options.cls, view->exe, name.size ? name.bytes : "", name.size,
                              thread->tid == view->pid)
                .fallback;
    thread->is_shown = view->process_is_shown &&
                       (!wanted || is_number(wanted, thread->tid) || view_contains(name, wanted));
    return thread->name ? LAM_OK : LAM_E_NOMEM;
}

void view_put_thread(const struct view *view, struct strbuf *line, const struct view_thread *thread)
{
    strbuf_addf(line, "  %u/%u", view->pid, thread ? thread->tid : 0);
    if (thread && *thread->name) {
        strbuf_add_char(line, ' ');
        strbuf_add_printable(line, thread->name, strlen(thread->name));
    }
}

static int show_thread(struct view *view, const char *type, uint32_t thread_id, int64_t at_ns)
{
    const struct view_thread *thread = view_thread_of(view, thread_id);
    if (!thread || !thread->is_shown || view->options.hides_threads || view->options.label ||
        !view_in_time(view, at_ns, at_ns))
        return LAM_OK;
    view_begin(view, type);
    if (view->options.is_json) {
        json_member_u64(&view->json, "thread", thread_id);
        json_member_u64(&view->json, "pid", view->pid);
        json_member_u64(&view->json, "tid", thread->tid);
        json_member_i64(&view->json, "at_ns", at_ns);
        json_member_str(&view->json, "name", thread->name);
    } else {
        view_put_time(view, &view->line, at_ns);
        view_put_thread(view, &view->line, thread);
        strbuf_add(&view->line,
                   strcmp(type, "thread") == 0 ? "  thread begins" : "  thread has this name now");
    }
    return view_end(view);
}

static int on_thread(void *ctx, const struct profile_thread *thread)
{
    struct view *view = ctx;
    if (!view->threads.count)
        view->first_thread = thread->thread;
    struct view_thread *kept = array_add(&view->threads);
    if (!kept)
        return LAM_E_NOMEM;
    kept->tid = thread->tid;
    int rc = name_thread(view, kept, thread->name);
    return rc < 0 ? rc : show_thread(view, "thread", thread->thread, thread->start_ns);
}

static int on_thread_name(void *ctx, const struct profile_thread_name *name)
{
    struct view *view = ctx;
    struct view_thread *thread = view_thread_of(view, name->thread);
    int rc = thread ? name_thread(view, thread, name->name) : LAM_OK;
    return rc < 0 ? rc : show_thread(view, "thread_name", name->thread, name->at_ns);
}

static int on_thread_end(void *ctx, const struct profile_thread_end *ended)
{
    struct view *view = ctx;
    const struct view_thread *thread = view_thread_of(view, ended->thread);
    int rc = view_branches_print(view);
    if (rc < 0)
        return rc;
    if (!thread || !thread->is_shown || view->options.hides_threads || view->options.label ||
        !view_in_time(view, ended->end_ns, ended->end_ns))
        return LAM_OK;
    view_begin(view, "thread_end");
    if (view->options.is_json) {
        struct json_writer *json = &view->json;
        json_member_u64(json, "thread", ended->thread);
        json_member_u64(json, "pid", view->pid);
        json_member_u64(json, "tid", thread->tid);
        json_member_i64(json, "end_ns", ended->end_ns);
        json_known(json, "cpu_ns", ended->cpu_ns);
        json_known(json, "run_ns", ended->run_ns);
        json_known(json, "core_wait_ns", ended->core_wait_ns);
        json_known(json, "handler_ns", ended->handler_ns);
        json_member_u64(json, "samples", ended->samples);
        json_member_u64(json, "interrupts", ended->interrupts);
        json_member_bool(json, "at_process_end", ended->at_process_end);
        return view_end(view);
    }
    view_put_time(view, &view->line, ended->end_ns);
    view_put_thread(view, &view->line, thread);
    strbuf_add(&view->line, "  thread ends");
    put_known(&view->line, "cpu", ended->cpu_ns);
    put_known(&view->line, "waited for a core", ended->core_wait_ns);
    if (view->has_sampler)
        strbuf_addf(&view->line, "  samples %u", ended->samples);
    return view_end(view);
}

static const struct {
    uint16_t flag;
    const char *name;
} sample_flags[] = {
    {STREAM_SAMPLE_KERNEL, "kernel"},       {STREAM_SAMPLE_LATE, "late"},
    {STREAM_SAMPLE_TRUNCATED, "truncated"}, {STREAM_SAMPLE_AT_RETURN, "at_return"},
    {PROFILE_SAMPLE_CLOSING, "closing"},
};
enum { SAMPLE_FLAG_COUNT = sizeof sample_flags / sizeof *sample_flags };

static void sample_json(struct view *view, const struct profile_sample *sample,
                        const struct view_thread *thread)
{
    struct json_writer *json = &view->json;
    json_member_u64(json, "process", sample->process);
    json_member_u64(json, "thread", sample->thread);
    json_member_u64(json, "pid", view->pid);
    json_member_u64(json, "tid", thread->tid);
    json_member_i64(json, "at_ns", sample->at_ns);
    json_member_u64(json, "cpu_ns", sample->cpu_ns);
    json_member_u64(json, "late_ns", sample->late_ns);
    json_member_u64(json, "period_ns", sample->period_ns);
    json_member_u64(json, "merged", sample->merged);
    json_member_array(json, "flags");
    for (unsigned i = 0; i < SAMPLE_FLAG_COUNT; i++) {
        if (sample->flags & sample_flags[i].flag)
            json_put_str(json, sample_flags[i].name);
    }
    json_put_end(json);
}

static int put_phase(struct view *view, const struct profile_sample *sample,
                     const struct view_thread *thread)
{
    uint32_t bucket;
    uint32_t state = stack_states_get(&view->states, sample->stack).state;
    int rc = classifier_decide(view->options.cls, state, thread->fallback, &bucket);
    if (rc < 0)
        return rc;
    struct phase_bucket phase = classifier_bucket(view->options.cls, bucket);
    if (view->options.is_json) {
        json_member_str(&view->json, "segment", phase_segment_name(phase.segment));
        json_member_str(&view->json, "phase", phase.phase_name);
        json_member_str(&view->json, "detail", phase.detail);
    } else {
        strbuf_addf(&view->line, "  %s > %s", phase_segment_name(phase.segment), phase.phase_name);
        if (phase.detail)
            strbuf_addf(&view->line, " > %s", phase.detail);
    }
    return LAM_OK;
}

static int on_sample(void *ctx, const struct profile_sample *sample)
{
    struct view *view = ctx;
    const struct view_thread *thread = view_thread_of(view, sample->thread);
    if (!thread || !thread->is_shown || view->options.hides_samples ||
        !view_in_time(view, sample->at_ns, sample->at_ns) || !stack_matches(view, sample->stack))
        return LAM_OK;
    view_begin(view, "sample");
    if (view->options.is_json) {
        sample_json(view, sample, thread);
    } else {
        struct unit_text cpu;
        view_put_time(view, &view->line, sample->at_ns);
        view_put_thread(view, &view->line, thread);
        strbuf_addf(&view->line, "  sample %s", view_duration(sample->cpu_ns, &cpu));
        for (unsigned i = 0; i < SAMPLE_FLAG_COUNT; i++) {
            if (sample->flags & sample_flags[i].flag)
                strbuf_addf(&view->line, " %s", sample_flags[i].name);
        }
    }
    if (view->options.cls && put_phase(view, sample, thread) < 0)
        return LAM_E_NOMEM;
    put_stack(view, sample->stack);
    return view_end(view);
}

static int on_wait(void *ctx, const struct profile_wait *wait)
{
    struct view *view = ctx;
    const struct view_thread *thread = view_thread_of(view, wait->thread);
    if (!thread || !thread->is_shown || view->options.hides_waits ||
        !view_in_time(view, wait->start_ns, wait->start_ns + (int64_t)(wait->duration_ns >> 1)) ||
        !stack_matches(view, wait->stack))
        return LAM_OK;
    view_begin(view, "wait");
    if (view->options.is_json) {
        struct json_writer *json = &view->json;
        json_member_u64(json, "process", wait->process);
        json_member_u64(json, "thread", wait->thread);
        json_member_u64(json, "pid", view->pid);
        json_member_u64(json, "tid", thread->tid);
        json_member_i64(json, "start_ns", wait->start_ns);
        json_member_u64(json, "duration_ns", wait->duration_ns);
        json_member_u64(json, "cpu_ns", wait->cpu_ns);
        json_member_str(json, "kind", stream_wait_kind_name(wait->kind));
        json_member_str(json, "call", stream_wait_call_name(wait->call));
    } else {
        struct unit_text waited;
        view_put_time(view, &view->line, wait->start_ns);
        view_put_thread(view, &view->line, thread);
        strbuf_addf(&view->line, "  wait %s %s in %s", view_duration(wait->duration_ns, &waited),
                    stream_wait_kind_name(wait->kind), stream_wait_call_name(wait->call));
    }
    put_stack(view, wait->stack);
    return view_end(view);
}

static int on_session_end(void *ctx, const struct profile_session_end *ended)
{
    struct view *view = ctx;
    if (view->options.hides_processes || view->options.label)
        return LAM_OK;
    view_begin(view, "session_end");
    if (view->options.is_json) {
        struct json_writer *json = &view->json;
        json_member_u64(json, "streams", ended->streams);
        json_member_u64(json, "damaged_streams", ended->damaged_streams);
        json_member_u64(json, "unreadable_streams", ended->unreadable_streams);
        json_member_u64(json, "lost_records", ended->lost_records);
        json_member_u64(json, "clamped_times", ended->clamped_times);
        json_member_u64(json, "overwritten_pages", ended->overwritten_pages);
        json_member_u64(json, "untold_calls", ended->untold_calls);
        json_member_u64(json, "cut_texts", ended->cut_texts);
        json_member_u64(json, "unbalanced_exits", ended->unbalanced_exits);
        json_member_u64(json, "refused_ends", ended->refused_ends);
        json_member_u64(json, "refused_recorders", ended->refused_recorders);
        json_member_u64(json, "intervals", ended->intervals);
        json_member_u64(json, "instants", ended->instants);
        json_member_u64(json, "open_intervals", ended->open_intervals);
        json_member_u64(json, "backward_intervals", ended->backward_intervals);
        json_member_u64(json, "overlapping_intervals", ended->overlapping_intervals);
        json_known(json, "unidentified_cpu_ns", ended->unidentified_cpu_ns);
        json_member_str(json, "first_damage", ended->faults.kept ? ended->faults.texts[0] : NULL);
        json_member_array(json, "damage");
        for (uint32_t i = 0; i < ended->faults.kept; i++)
            json_put_str(json, ended->faults.texts[i]);
        json_put_end(json);
        return view_end(view);
    }
    struct unit_text cpu;
    strbuf_addf(&view->line, "end  %llu stream%s", (unsigned long long)ended->streams,
                unit_plural(ended->streams));
    if (ended->damaged_streams || ended->unreadable_streams) {
        strbuf_addf(&view->line,
                    ", %llu damaged, %llu unreadable: ", (unsigned long long)ended->damaged_streams,
                    (unsigned long long)ended->unreadable_streams);
        profile_faults_text(&ended->faults, "; ", &view->line);
    }
    if (ended->cut_texts)
        strbuf_addf(&view->line, "  %llu text%s cut at 8 KiB", (unsigned long long)ended->cut_texts,
                    unit_plural(ended->cut_texts));
    if (ended->overwritten_pages)
        strbuf_addf(&view->line, "  overwritten %llu page%s",
                    (unsigned long long)ended->overwritten_pages,
                    unit_plural(ended->overwritten_pages));
    strbuf_addf(&view->line, "  lost %llu  unidentified cpu %s",
                (unsigned long long)ended->lost_records,
                view_duration(ended->unidentified_cpu_ns, &cpu));
    return view_end(view);
}

static const struct profile_sink_ops view_ops = {
    .session = on_session,
    .process = on_process,
    .module = on_module,
    .frame = on_frame,
    .stack = on_stack,
    .thread = on_thread,
    .thread_name = on_thread_name,
    .sample = on_sample,
    .wait = on_wait,
    .track = view_on_track,
    .label = view_on_label,
    .path = view_on_path,
    .interval = view_on_interval,
    .instant = view_on_instant,
    .fold = view_on_fold,
    .thread_end = on_thread_end,
    .notice = on_notice,
    .process_end = on_process_end,
    .session_end = on_session_end,
};

int write_view_open(struct view **view, const struct view_options *options, struct byteout *out,
                    const struct symbols *symbols, struct lam_error *err)
{
    struct view *made = mem_zalloc(1, sizeof *made);
    if (!made)
        return lam_error_set(err, LAM_E_NOMEM, "out of memory");
    made->options = *options;
    made->out = out;
    made->symbols = symbols;
    made->names.symbols = symbols;
    struct frame_names names = symbol_names_frames(&made->names);
    stack_states_init(&made->states, options->cls, &names);
    *view = made;
    return LAM_OK;
}

struct profile_sink write_view_sink(struct view *view)
{
    return (struct profile_sink){
        .ctx = view,
        .ops = &view_ops,
        .wants = {.order = PROFILE_ORDER_START, .args = true, .counters = true, .fold_paths = true}};
}

uint64_t write_view_found(const struct view *view)
{
    return view->found;
}

void write_view_close(struct view **view)
{
    if (!view || !*view)
        return;
    stack_states_free(&(*view)->states);
    symbol_names_free(&(*view)->names);
    array_free(&(*view)->modules);
    array_free(&(*view)->frames);
    array_free(&(*view)->stacks);
    array_free(&(*view)->threads);
    array_free(&(*view)->labels);
    array_free(&(*view)->paths);
    view_branches_clear(*view);
    array_free(&(*view)->branches);
    arena_free(&(*view)->arena);
    arena_free(&(*view)->process_arena);
    strbuf_free(&(*view)->line);
    mem_free(*view);
    *view = NULL;
}
