#include "analysis/report.h"

#include <math.h>
#include <string.h>

#include "analysis/cargo_join.h"
#include "analysis/report_state.h"
#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"

enum { ID_MAX = 1u << 28 };
#define NO_CELL UINT32_MAX

const char *const report_wait_names[REPORT_WAIT_KINDS] = {"none", "lock",  "child", "jobserver",
                                                          "io",   "sleep", "other"};

/* enum stream_sample_flag */
enum { FLAG_TRUNCATED = 4, FLAG_AT_RETURN = 8 };

int report_open(struct report **out, const struct report_options *options, struct lam_error *err)
{
    struct report_state *state = mem_zalloc(1, sizeof *state);
    if (!state)
        return lam_error_set(err, LAM_E_NOMEM, "report: out of memory");
    state->options = *options;
    state->report.cls = options->cls;
    state->report.session.elapsed_ns = PROFILE_UNKNOWN;
    state->report.session.charged_cpu_ns = PROFILE_UNKNOWN;
    state->report.session.exit_code = -1;
    state->report.tail_process = REPORT_NO_UNIT;
    state->report.memory_peak.rss_bytes = state->report.memory_peak.anon_bytes = PROFILE_UNKNOWN;
    state->report.machine.cores = state->report.machine.mem_bytes = PROFILE_UNKNOWN;
    state->report.cpu_busy_mean = state->report.loadavg_mean = NAN;
    stack_states_init(&state->stacks, options->cls, &options->names);
    *out = &state->report;
    return LAM_OK;
}

void report_close(struct report **out)
{
    if (!*out)
        return;
    struct report_state *state = report_state(*out);
    struct report *report = *out;
    array_free(&report->processes);
    array_free(&report->threads);
    array_free(&report->units);
    array_free(&report->cells);
    array_free(&report->wait_cells);
    array_free(&report->findings);
    array_free(&report->spans);
    array_free(&report->timeline);
    build_graph_free(&report->graph);
    idle_stretches_free(&report->idle);
    wall_shares_free(&report->shares);
    cargo_free(report);
    array_free(&report->memory);
    array_free(&report->memory_peak.holders);
    array_free(&report->settings);
    arena_free(&report->arena);
    stack_states_free(&state->stacks);
    array_free(&state->work);
    array_free(&state->process_of);
    array_free(&state->thread_of);
    array_free(&state->thread_states);
    array_free(&state->groups);
    array_free(&state->modules);
    map_free(&state->group_ids);
    map_free(&state->cell_ids);
    map_free(&state->wait_cell_ids);
    mem_free(state);
    *out = NULL;
}

/* ---- session ---------------------------------------------------------------------------------------------------- */

static const char *copy_text(struct report *report, const char *text)
{
    return text ? arena_strdup(&report->arena, text) : NULL;
}

static int on_session(void *ctx, const struct profile_session *session)
{
    struct report_state *state = ctx;
    struct report *report = &state->report;
    report->session = *session;
    report->session.command = copy_text(report, session->command);
    report->session.directory = copy_text(report, session->directory);
    report->session.tool_version = copy_text(report, session->tool_version);
    report->session.host = copy_text(report, session->host);
    report->session.self_profile = copy_text(report, session->self_profile);
    report->session.session_json = copy_text(report, session->session_json);
    return LAM_OK;
}

/* ---- processes -------------------------------------------------------------------------------------------------- */

static struct report_process *find_process(struct report_state *state, uint32_t id)
{
    if (id == 0 || id >= state->process_of.count || state->process_of.items[id] == 0)
        return NULL;
    return &state->report.processes.items[state->process_of.items[id] - 1];
}

static const char *copy_bytes(struct report *report, struct profile_text text)
{
    return arena_strndup(&report->arena, text.bytes ? text.bytes : "", text.bytes ? text.size : 0);
}

static const char **copy_argv(struct report *report, const struct profile_process *process)
{
    const char **argv = arena_array(&report->arena, process->argc + 1, sizeof *argv);
    for (size_t i = 0; argv && i < process->argc; i++) {
        argv[i] = copy_bytes(report, process->argv[i]);
        if (!argv[i])
            return NULL;
    }
    return argv;
}

static int find_unit(struct report_state *state, const struct profile_process *source,
                     struct report_process *process)
{
    struct report *report = &state->report;
    const char **argv = copy_argv(report, source);
    const char *cwd = source->cwd.size > 0 ? copy_bytes(report, source->cwd) : NULL;
    if (!argv)
        return LAM_E_NOMEM;
    if (!*process->exe && source->argc > 0)
        process->exe = argv[0];
    /* A child that was forked and did not exec runs its parent's program: it is no unit of its own. */
    if (source->forked)
        return LAM_OK;
    struct unit_command command = {.exe = *process->exe ? process->exe : NULL,
                                   .cwd = cwd,
                                   .argv = argv,
                                   .argc = source->argc,
                                   .read_files = state->options.read_files};
    struct report_unit unit = {.process = (uint32_t)report->processes.count};
    int rc = unit_from_command(&command, &report->arena, &unit.info);
    if (rc <= 0)
        return rc;
    rc = unit_flags_of(&command, unit.info.kind, &report->arena, &unit.flags);
    if (rc < 0)
        return rc;
    struct strbuf title = {0};
    unit_title(&unit.info, &title);
    unit.title = strbuf_ok(&title) ? arena_strdup(&report->arena, strbuf_text(&title)) : NULL;
    strbuf_free(&title);
    process->unit = (uint32_t)report->units.count;
    process->title = unit.title;
    process->role = unit_kind_name(unit.info.kind);
    return unit.title ? array_push(&report->units, unit) : LAM_E_NOMEM;
}

static void note_command(struct report_state *state, const struct profile_process *source)
{
    uint64_t hash = 0;
    if (source->parent || source->previous || source->forked || !source->argc)
        return;
    for (size_t i = 0; i < source->argc; i++)
        hash = hash_bytes_seed(source->argv[i].bytes, source->argv[i].size, hash);
    if (!state->same_commands)
        state->first_command = hash;
    state->same_commands += hash == state->first_command;
}

static int on_process(void *ctx, const struct profile_process *source)
{
    struct report_state *state = ctx;
    struct report *report = &state->report;
    if (source->process > ID_MAX)
        return LAM_E_INVAL;
    const struct report_process *parent = find_process(state, source->parent);
    struct report_process process = {
        .pid = source->pid,
        .ppid = source->ppid,
        .kernel_start = source->kernel_start,
        .parent = parent ? (uint32_t)(parent - report->processes.items) : REPORT_NO_UNIT,
        .exe = copy_bytes(report, source->exe),
        .role = "other",
        .unit = REPORT_NO_UNIT,
        .start_ns = source->start_ns,
        .sampled = source->sampled,
        .why_not = source->why_not,
        .engine = source->engine,
        .forked = source->forked,
        .exit_code = -1,
        .cpu_ns = PROFILE_UNKNOWN,
        .startup_ns = source->startup_cpu_ns,
        .tail_ns = PROFILE_UNKNOWN,
    };
    if (!process.exe)
        return LAM_E_NOMEM;
    int rc = find_unit(state, source, &process);
    if (rc < 0)
        return rc;
    if (!process.title) {
        const char *name = path_name(process.exe);
        process.title = *name               ? name
                        : source->comm.size ? copy_bytes(report, source->comm)
                                            : "(unknown)";
    }
    if (source->process >= state->process_of.count)
        rc = array_resize(&state->process_of, (size_t)source->process + 1);
    if (rc < 0 || array_push(&report->processes, process) < 0)
        return LAM_E_NOMEM;
    state->process_of.items[source->process] = (uint32_t)report->processes.count;
    note_command(state, source);
    bool is_sampled = source->sampled == PROFILE_SAMPLED_YES;
    if (is_sampled && (!state->has_sampled || source->start_ns < state->first_sampled_ns)) {
        state->first_sampled_ns = source->start_ns;
        state->has_sampled = true;
    }
    return LAM_OK;
}

static int on_process_end(void *ctx, const struct profile_process_end *end)
{
    struct report_state *state = ctx;
    struct report_process *process = find_process(state, end->process);
    if (!process)
        return LAM_E_INVAL;
    process->has_end = !end->running;
    process->running = end->running;
    process->end_ns = end->end_ns;
    process->exit_code = end->exit_code;
    process->signal = end->signal;
    process->has_usage = end->has_usage;
    process->usage = end->own;
    process->cpu_ns = end->cpu_ns;
    process->tail_ns = end->tail_cpu_ns;
    for (size_t i = 0; i < sizeof end->lost / sizeof end->lost[0]; i++) {
        process->lost += end->lost[i];
        state->report.lost[i] += end->lost[i];
    }
    return LAM_OK;
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */

static struct report_thread *find_thread(struct report_state *state, uint32_t id,
                                         struct thread_state **own)
{
    if (id == 0 || id >= state->thread_of.count || state->thread_of.items[id] == 0)
        return NULL;
    uint32_t index = state->thread_of.items[id] - 1;
    if (own)
        *own = &state->thread_states.items[index];
    return &state->report.threads.items[index];
}

static bool same_cgu(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The group of a process, role and codegen unit, made when it is new. */
static int find_group(struct report_state *state, uint32_t process,
                      const struct classifier_thread *thread, uint32_t *group)
{
    uint64_t key = hash_combine(hash_bytes(thread->cgu ? thread->cgu : "", thread->cgu_length),
                                (uint64_t)process << 8 | thread->role);
    struct sample_group wanted = {
        .process = process, .role = thread->role, .fallback = thread->fallback};
    if (thread->cgu) {
        wanted.cgu = arena_strndup(&state->report.arena, thread->cgu, thread->cgu_length);
        if (!wanted.cgu)
            return LAM_E_NOMEM;
    }
    for (;; key++) { /* another text with the same hash takes the next key */
        bool added;
        uint64_t *slot = map_slot(&state->group_ids, key, state->groups.count, &added);
        if (!slot)
            return LAM_E_NOMEM;
        if (added) {
            *group = (uint32_t)*slot;
            return array_push(&state->groups, wanted);
        }
        const struct sample_group *held = &state->groups.items[*slot];
        if (held->process == process && held->role == wanted.role &&
            held->fallback == wanted.fallback && same_cgu(held->cgu, wanted.cgu)) {
            *group = (uint32_t)*slot;
            return LAM_OK;
        }
    }
}

static int name_thread(struct report_state *state, uint32_t index, struct profile_text name)
{
    struct report *report = &state->report;
    struct report_thread *thread = &report->threads.items[index];
    const char *exe = report->processes.items[thread->process].exe;
    struct classifier_thread what = classifier_thread(report->cls, exe, name.bytes ? name.bytes : "",
                                                      name.bytes ? name.size : 0, thread->is_main);
    /* A thread has its creator's name until it gets its own: the last name that says a role counts. */
    if (!thread->name || what.role != ROLE_OTHER || thread->role == ROLE_OTHER) {
        thread->name = copy_bytes(report, name);
        thread->name_bytes = (uint32_t)name.size;
        thread->role = what.role;
        if (!thread->name)
            return LAM_E_NOMEM;
    }
    struct thread_state *own = &state->thread_states.items[index];
    own->last_cell = NO_CELL;
    return find_group(state, thread->process, &what, &own->group);
}

static int on_thread(void *ctx, const struct profile_thread *source)
{
    struct report_state *state = ctx;
    struct report *report = &state->report;
    const struct report_process *process = find_process(state, source->process);
    if (!process || source->thread > ID_MAX)
        return LAM_E_INVAL;
    if (source->origin == PROFILE_THREAD_NUMBERED || source->origin == PROFILE_THREAD_AGAIN)
        return LAM_OK; /* it has events, and no account */
    struct report_thread thread = {.tid = source->tid,
                                   .process = (uint32_t)(process - report->processes.items),
                                   .is_main = source->tid == process->pid,
                                   .start_ns = source->start_ns,
                                   .end_ns = source->start_ns,
                                   .cpu_ns = PROFILE_UNKNOWN};
    struct thread_state own = {.last_cell = NO_CELL, .sample_cell = NO_CELL, .last_stretch = SIZE_MAX};
    int rc = LAM_OK;
    if (source->thread >= state->thread_of.count)
        rc = array_resize(&state->thread_of, (size_t)source->thread + 1);
    if (rc < 0 || array_push(&report->threads, thread) < 0 ||
        array_push(&state->thread_states, own) < 0)
        return LAM_E_NOMEM;
    state->thread_of.items[source->thread] = (uint32_t)report->threads.count;
    return name_thread(state, (uint32_t)report->threads.count - 1, source->name);
}

static int on_thread_name(void *ctx, const struct profile_thread_name *name)
{
    struct report_state *state = ctx;
    if (!find_thread(state, name->thread, NULL))
        return LAM_E_INVAL;
    return name_thread(state, state->thread_of.items[name->thread] - 1, name->name);
}

static int on_thread_end(void *ctx, const struct profile_thread_end *end)
{
    struct report_state *state = ctx;
    struct thread_state *own;
    struct report_thread *thread = find_thread(state, end->thread, &own);
    if (!thread && end->cpu_ns == PROFILE_UNKNOWN)
        return LAM_OK; /* one that has no account */
    if (!thread)
        return LAM_E_INVAL;
    thread->end_ns = end->end_ns;
    thread->cpu_ns = end->cpu_ns;
    struct report_ledger *ledger = &thread->ledger;
    ledger->lifetime_ns =
        end->end_ns > thread->start_ns ? (uint64_t)(end->end_ns - thread->start_ns) : 0;
    uint64_t run = end->run_ns != PROFILE_UNKNOWN ? end->run_ns : end->cpu_ns;
    thread->has_ledger = run != PROFILE_UNKNOWN && end->core_wait_ns != PROFILE_UNKNOWN;
    if (run != PROFILE_UNKNOWN)
        ledger->run_ns = run;
    if (end->core_wait_ns != PROFILE_UNKNOWN)
        ledger->core_wait_ns = end->core_wait_ns;
    if (end->handler_ns != PROFILE_UNKNOWN) {
        thread->handler_ns = end->handler_ns;
        state->report.handler_ns += end->handler_ns;
    }
    struct span done;
    if (!span_finish(&own->span, &done))
        return LAM_OK;
    return report_end_span(state, state->thread_of.items[end->thread] - 1, &done);
}

/* ---- samples and waits ------------------------------------------------------------------------------------------ */

static void amount_add(struct report_amount *amount, uint64_t samples, uint64_t cpu_ns,
                       uint64_t late_ns)
{
    amount->samples += samples;
    amount->cpu_ns += cpu_ns;
    amount->late_ns += late_ns;
}

static int find_cell(struct report_state *state, struct thread_state *own, uint32_t stack_state,
                     uint32_t *cell)
{
    if (own->last_cell != NO_CELL && own->last_state == stack_state) {
        *cell = own->last_cell;
        return LAM_OK;
    }
    const struct sample_group *group = &state->groups.items[own->group];
    uint32_t bucket;
    int rc = classifier_decide(state->report.cls, stack_state, group->fallback, &bucket);
    if (rc < 0)
        return rc;
    bool added;
    uint64_t *slot = map_slot(&state->cell_ids, (uint64_t)own->group << 32 | bucket,
                              state->report.cells.count, &added);
    if (!slot)
        return LAM_E_NOMEM;
    *cell = (uint32_t)*slot;
    own->last_state = stack_state;
    own->last_cell = *cell;
    struct report_cell fresh = {
        .process = group->process, .bucket = bucket, .role = group->role, .cgu = group->cgu};
    return added ? array_push(&state->report.cells, fresh) : LAM_OK;
}

/* A sample that lies in a module without a symbol table, or in whose stack no frame has a name: the symbols are missing. */
static void count_nameless(struct report_state *state, struct stack_info stack)
{
    struct frame_info leaf = stack_states_leaf(&state->stacks, stack);
    bool is_stripped = stack.depth_frames == 0 || leaf.is_stripped;
    if (!is_stripped && stack.unresolved_frames < stack.depth_frames)
        return;
    state->report.coverage.samples_without_symbols++;
    if (!is_stripped)
        state->nameless_samples++;
    else if (leaf.module < state->modules.count)
        state->modules.items[leaf.module].samples_without_symbols++;
}

static void count_stack(struct report_state *state, const struct profile_sample *sample,
                        struct stack_info stack)
{
    struct report_coverage *cov = &state->report.coverage;
    cov->samples++;
    cov->merged_samples += sample->merged;
    cov->truncated_stacks += (sample->flags & FLAG_TRUNCATED) != 0;
    cov->at_return_samples += (sample->flags & FLAG_AT_RETURN) != 0;
    cov->frames += stack.depth_frames;
    cov->unresolved_frames += stack.unresolved_frames;
    count_nameless(state, stack);
    if (sample->period_ns > 0)
        cov->expected_samples += (double)sample->cpu_ns / sample->period_ns;
}

static bool is_closing(const struct profile_sample *sample)
{
    return (sample->flags & PROFILE_SAMPLE_CLOSING) != 0;
}

static void count_sample(struct report_state *state, const struct report_thread *thread,
                         uint32_t cell, const struct profile_sample *sample)
{
    struct report *report = &state->report;
    uint64_t late = sample->late_ns < sample->cpu_ns ? sample->late_ns : sample->cpu_ns;
    struct report_amount *const amounts[] = {
        &report->cells.items[cell].amount, &report->processes.items[thread->process].amount,
        &report->threads.items[thread - report->threads.items].sampled, &report->total};
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++)
        amount_add(amounts[i], is_closing(sample) ? 0 : 1, sample->cpu_ns - late, late);
}

static int tell_sample(const struct report_state *state, const struct report_thread *thread,
                       uint32_t cell, const struct profile_sample *sample)
{
    const struct report *report = &state->report;
    uint64_t late = sample->late_ns < sample->cpu_ns ? sample->late_ns : sample->cpu_ns;
    if (!state->options.sampled)
        return LAM_OK;
    struct report_sampled sampled = {
        .thread = (uint32_t)(thread - report->threads.items),
        .phase = classifier_bucket(report->cls, report->cells.items[cell].bucket).phase,
        .stack = sample->stack,
        .samples = is_closing(sample) ? 0 : 1,
        .at_ns = sample->at_ns,
        .cpu_ns = sample->cpu_ns - late};
    return state->options.sampled(state->options.sampled_ctx, &sampled);
}

/* On the stack of the thread's last sample, whatever the thread was called afterwards. */
static int on_closing_sample(struct report_state *state, const struct report_thread *thread,
                             struct thread_state *own, const struct profile_sample *sample)
{
    uint64_t late = sample->late_ns < sample->cpu_ns ? sample->late_ns : sample->cpu_ns;
    if (!own->span.is_open)
        return LAM_E_INVAL;
    count_sample(state, thread, own->sample_cell, sample);
    state->report.coverage.closing_ns += sample->cpu_ns - late;
    own->span.open.cpu_ns += sample->cpu_ns - late;
    return tell_sample(state, thread, own->sample_cell, sample);
}

static int extend_span(struct report_state *state, struct thread_state *own,
                       const struct profile_sample *sample)
{
    struct report *report = &state->report;
    uint64_t late = sample->late_ns < sample->cpu_ns ? sample->late_ns : sample->cpu_ns;
    uint32_t bucket = report->cells.items[own->sample_cell].bucket;
    struct span_sample part = {.phase = classifier_bucket(report->cls, bucket).phase,
                               .group = own->group,
                               .at_ns = sample->at_ns,
                               .cpu_ns = sample->cpu_ns - late,
                               .late_ns = late,
                               .period_ns = sample->period_ns};
    struct span done;
    if (!span_add(&own->span, &part, &done))
        return LAM_OK;
    return report_end_span(state, state->thread_of.items[sample->thread] - 1, &done);
}

static int on_sample(void *ctx, const struct profile_sample *sample)
{
    struct report_state *state = ctx;
    struct thread_state *own;
    const struct report_thread *thread = find_thread(state, sample->thread, &own);
    if (!thread)
        return LAM_E_INVAL;
    if (is_closing(sample))
        return on_closing_sample(state, thread, own, sample);
    struct stack_info stack = stack_states_get(&state->stacks, sample->stack);
    int rc = find_cell(state, own, stack.state, &own->sample_cell);
    if (rc < 0)
        return rc;
    count_sample(state, thread, own->sample_cell, sample);
    count_stack(state, sample, stack);
    state->report.cells.items[own->sample_cell].last_ns = sample->at_ns;
    if (!state->has_sample || sample->at_ns > state->last_sample_ns)
        state->last_sample_ns = sample->at_ns;
    state->has_sample = true;
    rc = tell_sample(state, thread, own->sample_cell, sample);
    return rc < 0 ? rc : extend_span(state, own, sample);
}

/* What the thread was doing when it waited: a macro that reads a file, a linker that waits for its threads. */
static int place_wait(struct report_state *state, const struct thread_state *own, uint32_t stack,
                      uint64_t blocked_ns)
{
    const struct sample_group *group = &state->groups.items[own->group];
    struct report_wait_cell fresh = {.process = group->process};
    int rc = classifier_decide(state->report.cls, stack_states_get(&state->stacks, stack).state,
                               group->fallback, &fresh.bucket);
    if (rc < 0)
        return rc;
    bool added;
    uint64_t *slot = map_slot(&state->wait_cell_ids, (uint64_t)fresh.process << 32 | fresh.bucket,
                              state->report.wait_cells.count, &added);
    if (!slot || (added && array_push(&state->report.wait_cells, fresh) < 0))
        return LAM_E_NOMEM;
    struct report_wait_cell *cell = &state->report.wait_cells.items[*slot];
    cell->count++;
    cell->ns += blocked_ns;
    return LAM_OK;
}

static int on_wait(void *ctx, const struct profile_wait *wait)
{
    struct report_state *state = ctx;
    struct thread_state *own;
    struct report_thread *thread = find_thread(state, wait->thread, &own);
    if (!thread)
        return LAM_E_INVAL;
    unsigned kind =
        wait->kind > 0 && wait->kind < REPORT_WAIT_KINDS ? wait->kind : REPORT_WAIT_KINDS - 1;
    thread->ledger.waits.count[kind]++;
    /* A call that waits also works a little; that is running time, not blocked time. */
    uint64_t blocked = wait->duration_ns > wait->cpu_ns ? wait->duration_ns - wait->cpu_ns : 0;
    thread->ledger.waits.ns[kind] += blocked;
    return place_wait(state, own, wait->stack, blocked);
}

static int on_module(void *ctx, const struct profile_module *module)
{
    struct report_state *state = ctx;
    if (module->module > ID_MAX)
        return LAM_E_INVAL;
    if (module->module >= state->modules.count &&
        array_resize(&state->modules, (size_t)module->module + 1) < 0)
        return LAM_E_NOMEM;
    struct report_module *own = &state->modules.items[module->module];
    own->path = copy_bytes(&state->report, module->path);
    return own->path ? stack_states_module(&state->stacks, module) : LAM_E_NOMEM;
}

static int on_frame(void *ctx, const struct profile_frame *frame)
{
    return stack_states_frame(&((struct report_state *)ctx)->stacks, frame);
}

static int on_stack(void *ctx, const struct profile_stack *stack)
{
    return stack_states_stack(&((struct report_state *)ctx)->stacks, stack);
}

static int on_session_end(void *ctx, const struct profile_session_end *end)
{
    ((struct report_state *)ctx)->report.end = *end;
    return LAM_OK;
}

struct profile_sink report_sink(struct report *report)
{
    static const struct profile_sink_ops ops = {
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
        .process_end = on_process_end,
        .session_end = on_session_end,
    };
    return (struct profile_sink){.ctx = report_state(report), .ops = &ops};
}
