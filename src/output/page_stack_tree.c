#include "output/page_stack_tree.h"

#include <stdio.h>

#include "base/file.h"

enum { NAME_MAX_BYTES = 512 };

struct frame_text { /* names of a frame, outermost first, in texts */
    uint32_t first, count;
};

struct builder {
    struct page_stack_tree *made;
    const struct report *report;
    const struct stack_slices *slices;
    const struct frame_names *names;
    struct map known; /* (program, stack) → node */
    LAM_ARRAY(uint32_t) chain;
    LAM_ARRAY(struct frame_text) frames; /* count 0: nobody asked yet */
    LAM_ARRAY(uint32_t) texts;           /* in tree.names */
};

static int add_text(struct builder *build, const char *text, size_t length)
{
    uint32_t id;
    int rc = intern_add(&build->made->tree.names, text, length, &id);
    return rc < 0 ? rc : array_push(&build->texts, id);
}

static int add_module_text(struct builder *build, const struct profile_frame *frame)
{
    const struct stack_slices *slices = build->slices;
    size_t length = 0;
    const char *module = "";
    if (frame->module < slices->modules.count)
        module = intern_text(&slices->names, slices->modules.items[frame->module], &length);
    char text[NAME_MAX_BYTES];
    int written = length ? snprintf(text, sizeof text, "(no symbol in %.*s)", (int)length, module)
                         : snprintf(text, sizeof text, "(no symbol)");
    size_t size = (size_t)written < sizeof text ? (size_t)written : sizeof text - 1;
    return add_text(build, text, size);
}

/* The names of a frame, looked up when it is first met; an inlined call is a frame of its own. */
static int find_texts(struct builder *build, uint32_t frame, struct frame_text *found)
{
    const struct stack_slices *slices = build->slices;
    static const struct profile_frame unknown = {0};
    if (frame >= build->frames.count && array_resize(&build->frames, (size_t)frame + 1) < 0)
        return LAM_E_NOMEM;
    *found = build->frames.items[frame];
    if (found->count)
        return LAM_OK;
    const struct profile_frame *source =
        frame < slices->frames.count ? &slices->frames.items[frame] : &unknown;
    struct classifier_name names[FRAME_NAMES_MAX];
    size_t count = 0;
    bool is_stripped = false;
    const struct frame_names *from = build->names;
    int rc = from->names ? from->names(from->ctx, source, names, &count, &is_stripped) : LAM_OK;
    found->first = (uint32_t)build->texts.count;
    for (size_t i = count; rc == LAM_OK && i-- > 0;)
        rc = add_text(build, names[i].text, names[i].length);
    if (rc == LAM_OK && count == 0)
        rc = add_module_text(build, source);
    found->count = (uint32_t)build->texts.count - found->first;
    build->frames.items[frame] = *found;
    return rc;
}

static int step_in(struct builder *build, uint32_t stack, uint32_t *node)
{
    struct frame_text texts;
    int rc = find_texts(build, build->slices->stacks.items[stack].frame, &texts);
    for (uint32_t i = 0; rc == LAM_OK && i < texts.count; i++)
        rc = stack_tree_child(&build->made->tree, *node, build->texts.items[texts.first + i], node);
    return rc;
}

static int program_node(struct builder *build, uint32_t thread, uint32_t *node)
{
    const struct report *report = build->report;
    const struct report_process *process =
        &report->processes.items[report->threads.items[thread].process];
    const char *name = path_name(process->exe);
    uint32_t id;
    int rc = intern_add_str(&build->made->tree.names, *name ? name : process->title, &id);
    return rc < 0 ? rc : stack_tree_child(&build->made->tree, 0, id, node);
}

/* Upwards to what is known already, then down again. */
static int stack_to_node(struct builder *build, uint32_t program, uint32_t stack, uint32_t *node)
{
    const struct stack_slices *slices = build->slices;
    uint64_t found = program, key = (uint64_t)program << 32;
    array_clear(&build->chain);
    while (stack && stack < slices->stacks.count && !map_get(&build->known, key | stack, &found)) {
        if (array_push(&build->chain, stack) < 0)
            return LAM_E_NOMEM;
        stack = slices->stacks.items[stack].parent;
    }
    *node = (uint32_t)found;
    int rc = LAM_OK;
    while (rc == LAM_OK && build->chain.count) {
        stack = array_pop(&build->chain);
        rc = step_in(build, stack, node);
        if (rc == LAM_OK)
            rc = map_put(&build->known, key | stack, *node);
    }
    return rc;
}

static int build_tree(struct builder *build)
{
    int rc = LAM_OK;
    uint32_t thread = UINT32_MAX, program = 0;
    array_each(&build->slices->rows, slice)
    {
        struct stack_slice row = *slice;
        if (row.thread != thread)
            rc = program_node(build, row.thread, &program);
        thread = row.thread;
        if (rc == LAM_OK)
            rc = stack_to_node(build, program, slice->stack, &row.stack);
        if (rc == LAM_OK)
            rc = array_push(&build->made->rows, row);
        if (rc < 0)
            return rc;
        build->made->tree.nodes.items[row.stack].self += row.samples;
    }
    return LAM_OK;
}

/* ---- in preorder ---- */

static uint32_t next_in_preorder(const struct stack_tree_node *nodes, uint32_t at)
{
    if (nodes[at].first_child)
        return nodes[at].first_child;
    while (at && !nodes[at].next)
        at = nodes[at].parent;
    return nodes[at].next;
}

/* The links between nodes are used up: their order tells as much. */
static int number_in_preorder(struct page_stack_tree *made)
{
    __typeof__(made->tree.nodes) old = made->tree.nodes;
    LAM_ARRAY(uint32_t) number = {0};
    int rc = array_resize(&number, old.count);
    made->tree.nodes = (__typeof__(old)){0};
    uint32_t at = 0;
    while (rc == LAM_OK) {
        struct stack_tree_node node = old.items[at];
        node.parent = number.items[node.parent];
        node.first_child = node.next = 0;
        number.items[at] = (uint32_t)made->tree.nodes.count;
        rc = array_push(&made->tree.nodes, node);
        at = next_in_preorder(old.items, at);
        if (at == 0)
            break;
    }
    for (size_t i = 0; rc == LAM_OK && i < made->rows.count; i++)
        made->rows.items[i].stack = number.items[made->rows.items[i].stack];
    map_free(&made->tree.children);
    array_free(&number);
    array_free(&old);
    return rc;
}

int page_stack_tree_make(struct page_stack_tree *made, const struct report *report,
                         const struct stack_slices *slices, const struct frame_names *names)
{
    struct builder work = {.made = made, .report = report, .slices = slices, .names = names};
    *made = (struct page_stack_tree){0};
    int rc = build_tree(&work);
    if (rc == LAM_OK)
        rc = stack_tree_finish(&made->tree);
    if (rc == LAM_OK)
        rc = number_in_preorder(made);
    if (rc == LAM_OK)
        made->rows.count = stack_slices_merge(made->rows.items, made->rows.count);
    map_free(&work.known);
    array_free(&work.chain);
    array_free(&work.frames);
    array_free(&work.texts);
    return rc;
}

void page_stack_tree_free(struct page_stack_tree *made)
{
    stack_tree_free(&made->tree);
    array_free(&made->rows);
}
