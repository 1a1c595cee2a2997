#include "output/stack_totals.h"

#include "base/map.h"
#include "base/memory.h"
#include "base/units.h"

#define GROW(array, id) ((id) < (array)->count ? LAM_OK : array_resize((array), (size_t)(id) + 1))

static int on_session(void *ctx, const struct profile_session *session)
{
    struct stack_totals *totals = ctx;
    totals->measure = session->measure;
    totals->started_at_unix_ns = session->started_at_unix_ns;
    totals->elapsed_ns = session->elapsed_ns;
    return LAM_OK;
}

static int on_process(void *ctx, const struct profile_process *process)
{
    struct stack_totals *totals = ctx;
    char scratch[32];
    struct profile_text name = export_program(process, scratch);
    if (GROW(&totals->groups, process->process) < 0)
        return LAM_E_NOMEM;
    if (totals->wants_process && !totals->wants_process(totals->wants_ctx, process)) {
        totals->groups.items[process->process] = STACK_GROUP_NONE;
        return LAM_OK;
    }
    return intern_add(&totals->group_names, name.bytes, name.size,
                      &totals->groups.items[process->process]);
}

EXPORT_FRAMES_CALLS(struct stack_totals, frames)

static int on_label(void *ctx, const struct profile_label *label)
{
    return export_labels_add(&((struct stack_totals *)ctx)->labels, label);
}

static int on_path(void *ctx, const struct profile_path *path)
{
    struct stack_totals *totals = ctx;
    if (GROW(&totals->paths, path->path) < 0)
        return LAM_E_NOMEM;
    totals->paths.items[path->path] = (struct stack_path){path->parent, path->label};
    return LAM_OK;
}

static int add(struct stack_totals *totals, bool is_sample, uint32_t process, uint32_t node,
               uint64_t count, uint64_t value)
{
    uint32_t group = process < totals->groups.count ? totals->groups.items[process] : INTERN_EMPTY;
    struct map *index = is_sample ? &totals->sample_index : &totals->index;
    struct stack_total_list *list = is_sample ? &totals->samples : &totals->intervals;
    bool is_new;
    if (group == STACK_GROUP_NONE)
        return LAM_OK;
    uint64_t *slot = map_slot(index, (uint64_t)group << 32 | node, list->count, &is_new);
    if (!slot ||
        (is_new && array_push(list, ((struct stack_total){.group = group, .node = node})) < 0))
        return LAM_E_NOMEM;
    list->items[*slot].count += count;
    list->items[*slot].value += value;
    return LAM_OK;
}

static int on_interval(void *ctx, const struct profile_interval *interval)
{
    struct stack_totals *totals = ctx;
    uint64_t self = interval->self_ns == PROFILE_UNKNOWN ? 0 : interval->self_ns;
    return add(totals, false, interval->process, interval->path,
               interval->weight ? interval->weight : 1, self);
}

static int on_fold(void *ctx, const struct profile_fold *fold)
{
    return add(ctx, false, fold->process, fold->path, fold->count, fold->self_ns);
}

static int on_sample(void *ctx, const struct profile_sample *sample)
{
    struct stack_totals *totals = ctx;
    bool counts = !(sample->flags & PROFILE_SAMPLE_CLOSING);
    totals->period_ns = sample->period_ns ? sample->period_ns : totals->period_ns;
    if (totals->options.values == EXPORT_VALUES_MIXED)
        return LAM_OK; /* it comes again, with its path */
    return add(totals, true, sample->process, sample->stack, counts, sample->cpu_ns);
}

static int on_sample_path(void *ctx, const struct profile_sample_path *in)
{
    struct stack_totals *totals = ctx;
    uint32_t node;
    int rc = mixed_stacks_node(&totals->mixed, &totals->frames, in->path, in->sample.stack, &node);
    bool counts = !(in->sample.flags & PROFILE_SAMPLE_CLOSING);
    return rc < 0 ? rc : add(totals, true, in->sample.process, node, counts, in->sample.cpu_ns);
}

static int on_instant(void *ctx, const struct profile_instant *instant)
{
    (void)instant;
    ((struct stack_totals *)ctx)->instants++;
    return LAM_OK;
}

static int on_session_end(void *ctx, const struct profile_session_end *ended)
{
    export_note_losses(&((struct stack_totals *)ctx)->options, ended);
    return LAM_OK;
}

static const struct profile_sink_ops totals_ops = {
    .session_end = on_session_end,
    .session = on_session,
    .process = on_process,
    .module = on_module,
    .frame = on_frame,
    .stack = on_stack,
    .label = on_label,
    .path = on_path,
    .interval = on_interval,
    .fold = on_fold,
    .sample = on_sample,
    .sample_path = on_sample_path,
    .instant = on_instant,
};

int stack_totals_open(struct stack_totals **totals, const struct export_options *options,
                      struct lam_error *err)
{
    struct stack_totals *made = mem_zalloc(1, sizeof *made);
    *totals = made;
    if (!made)
        return lam_error_set(err, LAM_E_NOMEM, "export: out of memory");
    made->options = *options;
    made->frames.symbols = options->symbols;
    made->frames.saw_modules = options->saw_modules;
    made->frames.redacts = options->redacts;
    return LAM_OK;
}

struct profile_sink stack_totals_sink(struct stack_totals *totals)
{
    return (struct profile_sink){
        .ctx = totals,
        .ops = &totals_ops,
        .wants = {.order = PROFILE_ORDER_ANY,
                  .paths = true,
                  .path_sums = totals->takes_sums,
                  .sample_paths = totals->options.values == EXPORT_VALUES_MIXED}};
}

void stack_totals_only(struct stack_totals *totals,
                       bool (*wants)(void *ctx, const struct profile_process *process), void *ctx)
{
    totals->wants_process = wants;
    totals->wants_ctx = ctx;
}

bool stack_totals_of_samples(const struct stack_totals *totals)
{
    if (totals->options.values == EXPORT_VALUES_AUTO)
        return totals->intervals.count == 0;
    return totals->options.values != EXPORT_VALUES_INTERVALS;
}

struct stack_step stack_totals_step(const struct stack_totals *totals, uint32_t node)
{
    struct stack_step step = {0};
    const struct mixed_node *mixed = mixed_stacks_get(&totals->mixed, node);
    if (mixed)
        step = (struct stack_step){.parent = mixed->parent, .frame = mixed->frame};
    else if (totals->options.values != EXPORT_VALUES_MIXED && stack_totals_of_samples(totals)) {
        if (node < totals->frames.stacks.count)
            step = (struct stack_step){.parent = totals->frames.stacks.items[node].parent,
                                       .frame = totals->frames.stacks.items[node].frame};
    } else if (node < totals->paths.count) {
        step = (struct stack_step){.parent = totals->paths.items[node].parent,
                                   .label = totals->paths.items[node].label};
    }
    return step;
}

static int by_group_and_node(const void *left, const void *right)
{
    const struct stack_total *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static uint64_t count_of(const struct stack_total_list *list)
{
    uint64_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += list->items[i].count;
    return count;
}

const struct stack_total_list *stack_totals_rows(struct stack_totals *totals)
{
    bool of_samples = stack_totals_of_samples(totals);
    struct stack_total_list *rows = of_samples ? &totals->samples : &totals->intervals;
    struct stack_total_list *others = of_samples ? &totals->intervals : &totals->samples;
    if (others->count && totals->options.values != EXPORT_VALUES_MIXED) {
        uint64_t count = count_of(others);
        export_note(&totals->options, "%s %s%s left out: this export is of %ss (--of %ss takes %s)",
                    unit_count(count).text, of_samples ? "interval" : "sample", unit_plural(count),
                    of_samples ? "sample" : "interval", of_samples ? "interval" : "sample",
                    unit_either(count, "it", "them"));
    }
    array_sort(rows, by_group_and_node);
    return rows;
}

void stack_totals_close(struct stack_totals **totals)
{
    if (!totals || !*totals)
        return;
    intern_free(&(*totals)->group_names);
    array_free(&(*totals)->groups);
    export_labels_free(&(*totals)->labels);
    export_frames_free(&(*totals)->frames);
    array_free(&(*totals)->paths);
    mixed_stacks_free(&(*totals)->mixed);
    map_free(&(*totals)->index);
    map_free(&(*totals)->sample_index);
    array_free(&(*totals)->intervals);
    array_free(&(*totals)->samples);
    mem_free(*totals);
    *totals = NULL;
}
