#include <string.h>

#include "analysis/probe_state.h"
#include "base/glob.h"

int probe_explain(struct probe *probe, const struct probe_tally *tally,
                  struct probe_classes *classes, struct classifier_reason *reason)
{
    array_clear(classes);
    for (uint32_t stack = tally->stack; stack; stack = probe->stacks.items[stack].parent) {
        struct frame_info frame = stack_states_leaf(
            &probe->states, (struct stack_info){.leaf_frame = probe->stacks.items[stack].frame});
        if (array_push(classes, frame.frame_class) < 0)
            return LAM_E_NOMEM;
    }
    for (size_t i = 0; i < classes->count / 2; i++) {
        uint32_t swap = classes->items[i];
        classes->items[i] = classes->items[classes->count - 1 - i];
        classes->items[classes->count - 1 - i] = swap;
    }
    *reason = classifier_explain(probe->cls, classes->items, classes->count,
                                 probe->groups.items[tally->group].fallback);
    return LAM_OK;
}

uint32_t probe_matched_node(const struct probe *probe, uint32_t node, const struct marker *marker)
{
    uint32_t found = 0;
    if (!marker || marker->rule == MARKER_ROLE || marker->rule == MARKER_MODULE)
        return 0;
    for (; node; node = probe->nodes.items[node].parent) {
        size_t length;
        const char *name = intern_text(&probe->names, probe->nodes.items[node].name, &length);
        if (!glob_match(marker->pattern, marker->pattern_length, name, length))
            continue;
        if (marker->rule != MARKER_OUTERMOST)
            return node;
        found = node;
    }
    return found;
}

/* The node up to which a stack is shown: `depth` frames from `from` (the decider) inwards; with from 0 the whole. */
static uint32_t cut_node(const struct probe *probe, uint32_t node, uint32_t from, uint32_t depth)
{
    if (depth == 0 || from == 0)
        return node;
    uint32_t deepest = probe->nodes.items[from].depth + depth - 1;
    while (probe->nodes.items[node].depth > deepest)
        node = probe->nodes.items[node].parent;
    return node;
}

struct cut_stack {
    uint32_t node; /* where it is cut */
    uint32_t decider;
};

struct stack_search {
    struct probe *probe;
    struct probe_stacks *list;
    struct map known;                 /* cut node, bucket and marker → stack */
    LAM_ARRAY(struct cut_stack) cuts; /* by stack */
    uint32_t depth;
};

/* Frames without a decider are cut at the outer end: the key is then the names of the innermost frames. */
static uint64_t look_of(const struct probe *probe, uint32_t node, uint32_t decider, uint32_t depth)
{
    if (decider || depth == 0)
        return node;
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; node && i < depth; i++, node = probe->nodes.items[node].parent)
        hash = hash_combine(hash, probe->nodes.items[node].name);
    return hash | UINT64_C(1) << 63;
}

static int add_tally(struct stack_search *search, const struct probe_tally *tally,
                     struct probe_classes *classes)
{
    struct probe *probe = search->probe;
    struct classifier_reason reason;
    int rc = probe_explain(probe, tally, classes, &reason);
    if (rc < 0)
        return rc;
    uint32_t node = tally->stack ? probe->stacks.items[tally->stack].node : 0;
    uint32_t decider = probe_matched_node(probe, node, reason.decided);
    uint32_t cut = cut_node(probe, node, decider, search->depth);
    const struct probe_group *group = &probe->groups.items[tally->group];
    uint64_t key = hash_combine(look_of(probe, cut, decider, search->depth), tally->bucket);
    key = hash_combine(hash_combine(key, (uintptr_t)reason.decided), (uint64_t)group->role);
    bool added;
    uint64_t *slot = map_slot(&search->known, key, search->list->stacks.count, &added);
    if (!slot)
        return LAM_E_NOMEM;
    size_t index = (size_t)*slot;
    if (added) {
        struct probe_stack fresh = {.bucket = tally->bucket,
                                    .role = group->role,
                                    .program = group->program,
                                    .decided = reason.decided,
                                    .runner_up = reason.runner_up,
                                    .detail = reason.detail};
        if (array_push(&search->list->stacks, fresh) < 0 ||
            array_push(&search->cuts, (struct cut_stack){cut, decider}) < 0)
            return LAM_E_NOMEM;
    }
    struct probe_stack *stack = &search->list->stacks.items[index];
    uint32_t inner = probe->nodes.items[node].depth - probe->nodes.items[cut].depth;
    if (inner > stack->inner_frames)
        stack->inner_frames = inner;
    stack->amount.samples += tally->amount.samples;
    stack->amount.cpu_ns += tally->amount.cpu_ns;
    stack->amount.late_ns += tally->amount.late_ns;
    return LAM_OK;
}

static int add_frames(const struct stack_search *search, struct cut_stack cut,
                      struct probe_stack *stack)
{
    const struct probe *probe = search->probe;
    uint32_t decider = cut.decider, node = cut.node;
    uint32_t namer = probe_matched_node(probe, node, stack->detail);
    stack->first_frame = (uint32_t)search->list->frames.count;
    for (uint32_t shown = 0; node && (search->depth == 0 || shown < search->depth);
         shown++, node = probe->nodes.items[node].parent) {
        struct probe_frame frame = {
            .name = intern_text(&probe->names, probe->nodes.items[node].name, NULL),
            .is_decider = node == decider,
            .is_detail = node == namer && stack->detail != NULL};
        if (array_push(&search->list->frames, frame) < 0)
            return LAM_E_NOMEM;
    }
    stack->outer_frames = probe->nodes.items[node].depth;
    stack->frame_count = (uint32_t)search->list->frames.count - stack->first_frame;
    return LAM_OK;
}

static int compare_stacks(const void *a, const void *b)
{
    const struct probe_stack *left = a, *right = b;
    if (left->amount.cpu_ns != right->amount.cpu_ns)
        return left->amount.cpu_ns > right->amount.cpu_ns ? -1 : 1;
    return left->first_frame < right->first_frame ? -1 : left->first_frame > right->first_frame;
}

int probe_stacks(struct probe *probe, const struct probe_choice *choice, uint32_t depth,
                 struct probe_stacks *list)
{
    memset(list, 0, sizeof *list);
    struct stack_search search = {.probe = probe, .list = list, .depth = depth};
    struct probe_classes classes = {0};
    int rc = LAM_OK;
    for (size_t i = 0; i < probe->tallies.count && rc == LAM_OK; i++) {
        const struct probe_tally *tally = &probe->tallies.items[i];
        struct phase_bucket bucket = classifier_bucket(probe->cls, tally->bucket);
        if (!probe_chosen(choice, &bucket))
            continue;
        list->amount.samples += tally->amount.samples;
        list->amount.cpu_ns += tally->amount.cpu_ns;
        list->amount.late_ns += tally->amount.late_ns;
        rc = add_tally(&search, tally, &classes);
    }
    for (size_t i = 0; i < search.cuts.count && rc == LAM_OK; i++)
        rc = add_frames(&search, search.cuts.items[i], &list->stacks.items[i]);
    array_sort(&list->stacks, compare_stacks);
    array_free(&classes);
    array_free(&search.cuts);
    map_free(&search.known);
    if (rc < 0)
        probe_stacks_free(list);
    return rc;
}

void probe_stacks_free(struct probe_stacks *list)
{
    array_free(&list->stacks);
    array_free(&list->frames);
}
