#include "analysis/stack_slices.h"

enum {
    SLOT_MIN_NS = 1000000,
    SLOT_UNKNOWN_NS = 1000000000, /* where nobody knows how long it took */
    MERGE_ROWS_MIN = 1 << 16,
    ID_MAX = 1 << 28,
};

void stack_slices_init(struct stack_slices *slices)
{
    *slices = (struct stack_slices){.slot_ns = SLOT_UNKNOWN_NS};
}

void stack_slices_free(struct stack_slices *slices)
{
    array_free(&slices->rows);
    array_free(&slices->stacks);
    array_free(&slices->frames);
    array_free(&slices->modules);
    intern_free(&slices->names);
}

/* ---- rows ---- */

static int compare_slices(const void *left, const void *right)
{
    const struct stack_slice *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    if (a->phase != b->phase)
        return a->phase < b->phase ? -1 : 1;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

size_t stack_slices_merge(struct stack_slice *rows, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(rows, count, sizeof *rows, compare_slices);
    for (size_t i = 0; i < count; i++) {
        if (kept && compare_slices(&rows[kept - 1], &rows[i]) == 0) {
            rows[kept - 1].samples += rows[i].samples;
            rows[kept - 1].cpu_ns += rows[i].cpu_ns;
        } else {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

static void merge(struct stack_slices *slices)
{
    slices->rows.count = stack_slices_merge(slices->rows.items, slices->rows.count);
    slices->merged = slices->rows.count;
}

int stack_slices_sampled(void *ctx, const struct report_sampled *sampled)
{
    struct stack_slices *slices = ctx;
    uint64_t slot = sampled->at_ns > 0 ? (uint64_t)sampled->at_ns / slices->slot_ns : 0;
    struct stack_slice row = {.thread = sampled->thread,
                              .slot = slot < UINT32_MAX ? (uint32_t)slot : UINT32_MAX,
                              .phase = sampled->phase,
                              .stack = sampled->stack,
                              .samples = sampled->samples,
                              .cpu_ns = sampled->cpu_ns};
    /* Merged when they have become twice as many, so that each is sorted a few times at most. */
    if (slices->rows.count > MERGE_ROWS_MIN && slices->rows.count / 2 > slices->merged)
        merge(slices);
    return array_push(&slices->rows, row);
}

void stack_slices_finish(struct stack_slices *slices)
{
    merge(slices);
}

/* ---- the sink ---- */

static int on_session(void *ctx, const struct profile_session *session)
{
    struct stack_slices *slices = ctx;
    uint64_t elapsed = session->elapsed_ns;
    if (elapsed == PROFILE_UNKNOWN)
        return LAM_OK;
    uint64_t slot = elapsed / STACK_SLOTS + 1;
    slices->slot_ns = slot > SLOT_MIN_NS ? slot : SLOT_MIN_NS;
    return LAM_OK;
}

static int on_module(void *ctx, const struct profile_module *module)
{
    struct stack_slices *slices = ctx;
    if (module->module > ID_MAX)
        return LAM_E_INVAL;
    if (module->module >= slices->modules.count &&
        array_resize(&slices->modules, (size_t)module->module + 1) < 0)
        return LAM_E_NOMEM;
    struct profile_text path = module->path;
    size_t at = path.bytes ? path.size : 0;
    while (at > 0 && path.bytes[at - 1] != '/')
        at--;
    return intern_add(&slices->names, path.bytes ? path.bytes + at : "",
                      path.bytes ? path.size - at : 0, &slices->modules.items[module->module]);
}

static int on_frame(void *ctx, const struct profile_frame *frame)
{
    struct stack_slices *slices = ctx;
    if (frame->frame > ID_MAX)
        return LAM_E_INVAL;
    if (frame->frame >= slices->frames.count &&
        array_resize(&slices->frames, (size_t)frame->frame + 1) < 0)
        return LAM_E_NOMEM;
    slices->frames.items[frame->frame] = *frame;
    return LAM_OK;
}

static int on_stack(void *ctx, const struct profile_stack *stack)
{
    struct stack_slices *slices = ctx;
    if (stack->stack > ID_MAX || stack->parent >= stack->stack)
        return LAM_E_INVAL;
    if (stack->stack >= slices->stacks.count &&
        array_resize(&slices->stacks, (size_t)stack->stack + 1) < 0)
        return LAM_E_NOMEM;
    slices->stacks.items[stack->stack] = (struct stack_node){stack->parent, stack->frame};
    return LAM_OK;
}

struct profile_sink stack_slices_sink(struct stack_slices *slices)
{
    static const struct profile_sink_ops ops = {
        .session = on_session,
        .module = on_module,
        .frame = on_frame,
        .stack = on_stack,
    };
    return (struct profile_sink){.ctx = slices, .ops = &ops};
}
