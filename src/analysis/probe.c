#include "analysis/probe.h"

#include <string.h>

#include "analysis/probe_state.h"
#include "base/file.h"
#include "base/glob.h"
#include "base/memory.h"

enum { ID_MAX = 1u << 28 };

enum { FLAG_TRUNCATED = 4 }; /* enum stream_sample_flag */

/* ---- names ------------------------------------------------------------------------------------------------------ */

static int add_module(void *ctx, const struct profile_module *module)
{
    struct probe *probe = ctx;
    struct strbuf text = {0};
    const char *path = module->path.bytes ? module->path.bytes : "";
    const char *slash = module->path.size ? memrchr(path, '/', module->path.size) : NULL;
    size_t start = slash ? (size_t)(slash + 1 - path) : 0;
    strbuf_add_char(&text, '[');
    strbuf_add_bytes(&text, path + start, module->path.size - start);
    strbuf_add_char(&text, ']');
    int rc = LAM_OK;
    if (module->module >= probe->module_names.count) {
        rc = array_resize(&probe->module_names, (size_t)module->module + 1);
        if (rc == LAM_OK)
            rc = array_resize(&probe->module_paths, (size_t)module->module + 1);
    }
    if (rc == LAM_OK && strbuf_ok(&text))
        rc = intern_add(&probe->names, strbuf_text(&text), text.length,
                        &probe->module_names.items[module->module]);
    if (rc == LAM_OK)
        rc = intern_add(&probe->programs, path, module->path.size,
                        &probe->module_paths.items[module->module]);
    rc = strbuf_ok(&text) ? rc : LAM_E_NOMEM;
    strbuf_free(&text);
    if (rc == LAM_OK && probe->source.module)
        rc = probe->source.module(probe->source.ctx, module);
    return rc;
}

/* Between the source of names and the classifier: keeps what a frame is called. */
static int add_names(void *ctx, const struct profile_frame *frame, struct classifier_name *names,
                     size_t *count, bool *is_stripped)
{
    struct probe *probe = ctx;
    *count = 0;
    int rc = probe->source.names
                 ? probe->source.names(probe->source.ctx, frame, names, count, is_stripped)
                 : LAM_OK;
    struct probe_frame_names own = {.first = (uint32_t)probe->frame_names.count,
                                    .module = frame->module};
    for (size_t i = *count; i > 0 && rc == LAM_OK; i--) {
        uint32_t id;
        rc = intern_add(&probe->names, names[i - 1].text, names[i - 1].length, &id);
        if (rc == LAM_OK)
            rc = array_push(&probe->frame_names, id);
    }
    if (rc == LAM_OK && *count == 0) {
        uint32_t id = frame->module < probe->module_names.count && frame->module > 0
                          ? probe->module_names.items[frame->module]
                          : INTERN_EMPTY;
        rc = array_push(&probe->frame_names, id);
    }
    own.count = (uint32_t)probe->frame_names.count - own.first;
    if (rc == LAM_OK && frame->frame >= probe->frames.count)
        rc = array_resize(&probe->frames, (size_t)frame->frame + 1);
    if (rc == LAM_OK)
        probe->frames.items[frame->frame] = own;
    return rc;
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

int probe_open(struct probe **out, const struct probe_options *options, struct lam_error *err)
{
    struct probe *probe = mem_zalloc(1, sizeof *probe);
    if (!probe)
        return lam_error_set(err, LAM_E_NOMEM, "probe: out of memory");
    probe->cls = options->cls;
    probe->source = options->names;
    probe->wanted = options->process;
    probe->charged_ns = PROFILE_UNKNOWN;
    struct frame_names names = {.ctx = probe, .module = add_module, .names = add_names};
    stack_states_init(&probe->states, options->cls, &names);
    if (!array_add(&probe->nodes)) {
        probe_close(&probe);
        return lam_error_set(err, LAM_E_NOMEM, "probe: out of memory");
    }
    *out = probe;
    return LAM_OK;
}

void probe_close(struct probe **out)
{
    struct probe *probe = *out;
    if (!probe)
        return;
    *out = NULL;
    stack_states_free(&probe->states);
    intern_free(&probe->names);
    intern_free(&probe->programs);
    array_free(&probe->frame_names);
    array_free(&probe->frames);
    array_free(&probe->stacks);
    array_free(&probe->nodes);
    map_free(&probe->children);
    array_free(&probe->processes);
    array_free(&probe->module_names);
    array_free(&probe->module_paths);
    array_free(&probe->threads);
    array_free(&probe->groups);
    array_free(&probe->tallies);
    map_free(&probe->tally_ids);
    mem_free(probe);
}

/* ---- the sink --------------------------------------------------------------------------------------------------- */

static int on_session(void *ctx, const struct profile_session *session)
{
    ((struct probe *)ctx)->charged_ns = session->charged_cpu_ns;
    return LAM_OK;
}

static int on_process(void *ctx, const struct profile_process *process)
{
    struct probe *probe = ctx;
    if (process->process > ID_MAX)
        return LAM_E_INVAL;
    struct profile_text exe = process->exe;
    if (exe.size == 0 && process->argc > 0)
        exe = process->argv[0];
    uint32_t id;
    int rc = intern_add(&probe->programs, exe.bytes ? exe.bytes : "", exe.bytes ? exe.size : 0, &id);
    if (rc == LAM_OK && process->process >= probe->processes.count)
        rc = array_resize(&probe->processes, (size_t)process->process + 1);
    if (rc == LAM_OK)
        probe->processes.items[process->process] =
            (struct probe_process){intern_text(&probe->programs, id, NULL), process->pid};
    return rc;
}

static int find_group(struct probe *probe, const struct probe_group *wanted, uint32_t *group)
{
    for (size_t i = 0; i < probe->groups.count; i++) {
        const struct probe_group *held = &probe->groups.items[i];
        if (held->role == wanted->role && held->fallback == wanted->fallback &&
            held->program == wanted->program) {
            *group = (uint32_t)i;
            return LAM_OK;
        }
    }
    *group = (uint32_t)probe->groups.count;
    return array_push(&probe->groups, *wanted);
}

static int name_thread(struct probe *probe, struct probe_thread *thread, struct profile_text name)
{
    const char *program = thread->process < probe->processes.count
                              ? probe->processes.items[thread->process].program
                              : NULL;
    struct probe_group group = {.program = program ? program : ""};
    struct classifier_thread what =
        classifier_thread(probe->cls, group.program, name.bytes ? name.bytes : "",
                          name.bytes ? name.size : 0, thread->is_main);
    group.role = what.role;
    group.fallback = what.fallback;
    thread->is_left_out = probe->wanted && !glob_match_str(probe->wanted, group.program) &&
                          !strstr(group.program, probe->wanted);
    return find_group(probe, &group, &thread->group);
}

static int on_thread(void *ctx, const struct profile_thread *source)
{
    struct probe *probe = ctx;
    if (source->thread > ID_MAX)
        return LAM_E_INVAL;
    if (source->thread >= probe->threads.count &&
        array_resize(&probe->threads, (size_t)source->thread + 1) < 0)
        return LAM_E_NOMEM;
    struct probe_thread *thread = &probe->threads.items[source->thread];
    *thread = (struct probe_thread){.process = source->process};
    if (source->process < probe->processes.count)
        thread->is_main = probe->processes.items[source->process].pid == source->tid;
    return name_thread(probe, thread, source->name);
}

static int on_thread_name(void *ctx, const struct profile_thread_name *name)
{
    struct probe *probe = ctx;
    if (name->thread >= probe->threads.count)
        return LAM_E_INVAL;
    return name_thread(probe, &probe->threads.items[name->thread], name->name);
}

static int on_module(void *ctx, const struct profile_module *module)
{
    return stack_states_module(&((struct probe *)ctx)->states, module);
}

static int on_frame(void *ctx, const struct profile_frame *frame)
{
    return stack_states_frame(&((struct probe *)ctx)->states, frame);
}

static int child_node(struct probe *probe, uint32_t parent, uint32_t name, uint32_t *node)
{
    bool added;
    uint64_t *slot =
        map_slot(&probe->children, (uint64_t)parent << 32 | name, probe->nodes.count, &added);
    if (!slot)
        return LAM_E_NOMEM;
    *node = (uint32_t)*slot;
    struct probe_node fresh = {parent, name, probe->nodes.items[parent].depth + 1};
    return added ? array_push(&probe->nodes, fresh) : LAM_OK;
}

static int on_stack(void *ctx, const struct profile_stack *stack)
{
    struct probe *probe = ctx;
    int rc = stack_states_stack(&probe->states, stack);
    if (rc == LAM_OK && stack->stack >= probe->stacks.count)
        rc = array_resize(&probe->stacks, (size_t)stack->stack + 1);
    if (rc < 0)
        return rc;
    struct probe_stack_link link = {.parent = stack->parent, .frame = stack->frame};
    if (stack->parent >= stack->stack)
        return LAM_E_INVAL; /* parents come first: whoever walks up ends */
    const struct probe_stack_link *parent = &probe->stacks.items[stack->parent];
    link.node = stack->parent ? parent->node : 0;
    link.root_frame = stack->parent ? parent->root_frame : stack->frame;
    if (stack->frame < probe->frames.count) {
        const struct probe_frame_names *names = &probe->frames.items[stack->frame];
        for (uint32_t i = 0; i < names->count && rc == LAM_OK; i++)
            rc = child_node(probe, link.node, probe->frame_names.items[names->first + i], &link.node);
    }
    probe->stacks.items[stack->stack] = link;
    return rc;
}

static int on_sample(void *ctx, const struct profile_sample *sample)
{
    struct probe *probe = ctx;
    if (sample->thread >= probe->threads.count)
        return LAM_E_INVAL;
    if (probe->threads.items[sample->thread].is_left_out)
        return LAM_OK;
    uint32_t stack = sample->stack < probe->stacks.count ? sample->stack : 0;
    struct probe_tally fresh = {.stack = stack, .group = probe->threads.items[sample->thread].group};
    bool added;
    uint64_t *slot = map_slot(&probe->tally_ids, (uint64_t)stack << 32 | fresh.group,
                              probe->tallies.count, &added);
    if (!slot)
        return LAM_E_NOMEM;
    if (added) {
        int rc = classifier_decide(probe->cls, stack_states_get(&probe->states, stack).state,
                                   probe->groups.items[fresh.group].fallback, &fresh.bucket);
        if (rc < 0 || array_push(&probe->tallies, fresh) < 0)
            return LAM_E_NOMEM;
    }
    struct probe_tally *tally = &probe->tallies.items[*slot];
    bool is_sample = !(sample->flags & PROFILE_SAMPLE_CLOSING);
    uint64_t late = sample->late_ns < sample->cpu_ns ? sample->late_ns : sample->cpu_ns;
    tally->amount.samples += is_sample;
    tally->amount.cpu_ns += sample->cpu_ns - late;
    tally->amount.late_ns += late;
    tally->truncated += is_sample && (sample->flags & FLAG_TRUNCATED) != 0;
    return LAM_OK;
}

struct profile_sink probe_sink(struct probe *probe)
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
    };
    return (struct profile_sink){.ctx = probe, .ops = &ops};
}

/* ---- totals ----------------------------------------------------------------------------------------------------- */

static void add_amount(struct report_amount *to, const struct report_amount *from)
{
    to->samples += from->samples;
    to->cpu_ns += from->cpu_ns;
    to->late_ns += from->late_ns;
}

/* Threads begin in the program (main), in the C library or in the loader. A stack whose outermost frame lies elsewhere has
 * lost its outer part. */
static bool is_rootless(const struct probe *probe, const struct probe_tally *tally)
{
    static const char *const beginners[] = {"libc.so*", "libc-*", "ld-linux*",
                                            "ld-2*",    "ld.so*", "libpthread*"};
    if (tally->stack == 0)
        return true;
    uint32_t frame = probe->stacks.items[tally->stack].root_frame;
    uint32_t module = frame < probe->frames.count ? probe->frames.items[frame].module : 0;
    if (module == 0 || module >= probe->module_paths.count)
        return true;
    const char *path = intern_text(&probe->programs, probe->module_paths.items[module], NULL);
    if (path == probe->groups.items[tally->group].program)
        return false;
    const char *name = path_name(path);
    for (size_t i = 0; i < sizeof beginners / sizeof beginners[0]; i++)
        if (glob_match_str(beginners[i], name))
            return false;
    return *name != '[';
}

static const struct classifier *sorting; /* qsort() has no context; one thread sorts */

static int compare_buckets(const void *a, const void *b)
{
    const struct probe_bucket *left = a, *right = b;
    struct phase_bucket l = classifier_bucket(sorting, left->bucket),
                        r = classifier_bucket(sorting, right->bucket);
    if (l.segment != r.segment)
        return l.segment < r.segment ? -1 : 1;
    if (l.phase != r.phase)
        return l.phase < r.phase ? -1 : 1;
    if (left->amount.cpu_ns != right->amount.cpu_ns)
        return left->amount.cpu_ns > right->amount.cpu_ns ? -1 : 1;
    return left->bucket < right->bucket ? -1 : left->bucket > right->bucket;
}

static void count_quality(struct probe_totals *totals, const struct phase_bucket *bucket,
                          uint64_t cpu_ns)
{
    bool is_unresolved = bucket->detail_kind == PHASE_DETAIL_UNRESOLVED;
    if (bucket->segment == SEGMENT_UNKNOWN) {
        totals->unknown_ns += cpu_ns;
        totals->unknown_unresolved_ns += is_unresolved ? cpu_ns : 0;
    }
    if (bucket->segment != SEGMENT_BACKEND)
        return;
    totals->backend_ns += cpu_ns;
    totals->backend_unresolved_ns += is_unresolved ? cpu_ns : 0;
    if (bucket->detail_kind == PHASE_DETAIL_NAMED)
        totals->backend_named_ns += cpu_ns;
    if (strcmp(bucket->phase_name, "codegen") == 0)
        totals->codegen_ns += cpu_ns;
    if (strcmp(bucket->phase_name, "machine_code") == 0 && bucket->detail_kind == PHASE_DETAIL_NONE)
        totals->bare_machine_code_ns += cpu_ns;
}

int probe_totals(const struct probe *probe, struct probe_totals *totals)
{
    memset(totals, 0, sizeof *totals);
    totals->charged_ns = probe->charged_ns;
    totals->stacks = probe->stacks.count ? (uint32_t)probe->stacks.count - 1 : 0;
    uint32_t count = classifier_bucket_count(probe->cls);
    if (array_resize(&totals->buckets, count) < 0)
        return LAM_E_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        totals->buckets.items[i].bucket = i;
    for (size_t i = 0; i < ROLE_COUNT; i++)
        totals->roles[i].role = (enum thread_role)i;
    array_each(&probe->tallies, tally)
    {
        struct phase_bucket bucket = classifier_bucket(probe->cls, tally->bucket);
        struct probe_role *role = &totals->roles[probe->groups.items[tally->group].role];
        add_amount(&totals->buckets.items[tally->bucket].amount, &tally->amount);
        add_amount(&totals->total, &tally->amount);
        add_amount(&role->amount, &tally->amount);
        role->truncated += tally->truncated;
        role->rootless += is_rootless(probe, tally) ? tally->amount.samples : 0;
        role->one_frame += stack_states_get(&probe->states, tally->stack).depth_frames <= 1
                               ? tally->amount.samples
                               : 0;
        count_quality(totals, &bucket, tally->amount.cpu_ns);
    }
    sorting = probe->cls;
    array_sort(&totals->buckets, compare_buckets);
    return LAM_OK;
}

void probe_totals_free(struct probe_totals *totals)
{
    array_free(&totals->buckets);
}

/* ---- choices ---------------------------------------------------------------------------------------------------- */

int probe_choice_parse(struct probe_choice *choice, const char *text, struct lam_error *err)
{
    memset(choice, 0, sizeof *choice);
    if (strlen(text) >= sizeof choice->text)
        return lam_error_set(err, LAM_E_USAGE,
                             "is no SEGMENT, SEGMENT/PHASE or SEGMENT/PHASE/DETAIL");
    memcpy(choice->text, text, strlen(text) + 1);
    const char **parts[] = {&choice->segment, &choice->phase, &choice->detail};
    size_t count = 0;
    char *rest = choice->text;
    for (char *part = strsep(&rest, "/"); part; part = strsep(&rest, "/")) {
        if (count == 3 || !*part)
            return lam_error_set(err, LAM_E_USAGE,
                                 "is no SEGMENT, SEGMENT/PHASE or SEGMENT/PHASE/DETAIL");
        *parts[count++] = part;
    }
    for (int i = SEGMENT_FRONTEND; i < SEGMENT_COUNT && choice->segment; i++)
        if (strcmp(phase_segment_name((enum phase_segment)i), choice->segment) == 0)
            return LAM_OK;
    return lam_error_set(err, LAM_E_USAGE,
                         "begins with none of frontend, backend, link, process, wait, unknown");
}

bool probe_chosen(const struct probe_choice *choice, const struct phase_bucket *bucket)
{
    if (choice->segment && strcmp(choice->segment, phase_segment_name(bucket->segment)) != 0)
        return false;
    if (choice->phase && strcmp(choice->phase, bucket->phase_name) != 0 &&
        strcmp(choice->phase, "-") != 0)
        return false;
    return !choice->detail || strcmp(choice->detail, bucket->detail ? bucket->detail : "-") == 0;
}
