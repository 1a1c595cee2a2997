#include "output/stack_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int make_root(struct stack_tree *tree)
{
    return tree->nodes.count ? LAM_OK : array_push(&tree->nodes, (struct stack_tree_node){0});
}

int stack_tree_child(struct stack_tree *tree, uint32_t parent, uint32_t name, uint32_t *node)
{
    bool is_new;
    if (make_root(tree) < 0 || tree->nodes.count > UINT32_MAX - 1)
        return LAM_E_NOMEM;
    uint64_t *slot =
        map_slot(&tree->children, (uint64_t)parent << 32 | name, tree->nodes.count, &is_new);
    if (!slot)
        return LAM_E_NOMEM;
    *node = (uint32_t)*slot;
    if (!is_new)
        return LAM_OK;
    struct stack_tree_node made = {
        .parent = parent, .name = name, .depth = tree->nodes.items[parent].depth + 1};
    return array_push(&tree->nodes, made);
}

/* ---- from totals ---- */

struct tree_builder {
    struct stack_tree *tree;
    struct stack_totals *totals;
    struct map known; /* path or stack → node, within one group */
    LAM_ARRAY(uint32_t) chain;
};

static int add_name(struct tree_builder *build, struct profile_text text, uint32_t *node)
{
    uint32_t name;
    int rc = intern_add(&build->tree->names, text.bytes, text.size, &name);
    return rc < 0 ? rc : stack_tree_child(build->tree, *node, name, node);
}

/* One step inwards; a frame with inlined calls is several names, the outermost first. */
static int add_step(struct tree_builder *build, uint32_t step, uint32_t *node)
{
    struct stack_totals *totals = build->totals;
    struct stack_step at = stack_totals_step(totals, step);
    if (!at.frame)
        return add_name(build, export_labels_get(&totals->labels, at.label)->text, node);
    uint32_t count;
    const struct export_function *functions =
        export_frames_functions(&totals->frames, at.frame, &count);
    int rc = functions ? LAM_OK : LAM_E_NOMEM;
    for (uint32_t i = count; rc == LAM_OK && i-- > 0;) {
        size_t size;
        const char *name = intern_text(&totals->frames.names, functions[i].name, &size);
        rc = add_name(build, (struct profile_text){name, size}, node);
    }
    return rc;
}

/* Upwards to what is known already, then down again. */
static int find_node(struct tree_builder *build, uint32_t root, uint32_t step, uint32_t *node)
{
    uint64_t found = root;
    array_clear(&build->chain);
    while (step && !map_get(&build->known, step, &found)) {
        if (array_push(&build->chain, step) < 0)
            return LAM_E_NOMEM;
        step = stack_totals_step(build->totals, step).parent;
    }
    *node = (uint32_t)found;
    int rc = LAM_OK;
    while (rc == LAM_OK && build->chain.count) {
        step = array_pop(&build->chain);
        rc = add_step(build, step, node);
        if (rc == LAM_OK)
            rc = map_put(&build->known, step, *node);
    }
    return rc;
}

static int add_totals(struct tree_builder *build, const struct stack_total_list *rows, bool is_other)
{
    uint32_t group = UINT32_MAX, root = 0, node;
    for (size_t i = 0; i < rows->count; i++) {
        const struct stack_total *row = &rows->items[i];
        int rc = LAM_OK;
        if (row->group != group) {
            size_t size;
            const char *name = intern_text(&build->totals->group_names, row->group, &size);
            map_clear(&build->known);
            root = 0;
            group = row->group;
            rc = add_name(build, (struct profile_text){name, size}, &root);
        }
        if (rc == LAM_OK)
            rc = find_node(build, root, row->node, &node);
        if (rc != LAM_OK)
            return rc;
        struct stack_tree_node *at = &build->tree->nodes.items[node];
        *(is_other ? &at->other_self : &at->self) += row->value;
        at->count += is_other ? 0 : row->count;
    }
    return LAM_OK;
}

int stack_tree_add(struct stack_tree *tree, struct stack_totals *totals, bool is_other)
{
    struct tree_builder build = {.tree = tree, .totals = totals};
    const struct stack_total_list *rows = stack_totals_rows(totals);
    int rc = make_root(tree);
    if (rc == LAM_OK)
        rc = add_totals(&build, rows, is_other);
    map_free(&build.known);
    array_free(&build.chain);
    return rc;
}

/* ---- totals and order ---- */

/* What sorting needs of a node: its parent, and its name as bytes. */
struct sort_item {
    uint32_t parent, node;
    const char *name;
    size_t size;
};

static int by_parent_and_name(const void *left, const void *right)
{
    const struct sort_item *a = left, *b = right;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    int order = memcmp(a->name, b->name, a->size < b->size ? a->size : b->size);
    return order ? order : a->size < b->size ? -1 : a->size > b->size;
}

static int link_children(struct stack_tree *tree)
{
    size_t count = tree->nodes.count;
    struct sort_item *items = mem_zalloc(count, sizeof *items);
    if (!items)
        return LAM_E_NOMEM;
    for (uint32_t i = 1; i < count; i++) {
        items[i] = (struct sort_item){.parent = tree->nodes.items[i].parent, .node = i};
        items[i].name = intern_text(&tree->names, tree->nodes.items[i].name, &items[i].size);
    }
    qsort(items + 1, count - 1, sizeof *items, by_parent_and_name);
    for (size_t i = count - 1; i >= 1; i--) { /* backwards: each goes in front of its siblings */
        struct stack_tree_node *parent = &tree->nodes.items[items[i].parent];
        tree->nodes.items[items[i].node].next = parent->first_child;
        parent->first_child = items[i].node;
    }
    mem_free(items);
    return LAM_OK;
}

int stack_tree_finish(struct stack_tree *tree)
{
    if (make_root(tree) < 0)
        return LAM_E_NOMEM;
    array_each(&tree->nodes, node)
    {
        node->total = node->self;
        node->other_total = node->other_self;
    }
    for (size_t i = tree->nodes.count - 1; i >= 1; i--) {
        struct stack_tree_node *node = &tree->nodes.items[i];
        tree->nodes.items[node->parent].total += node->total;
        tree->nodes.items[node->parent].other_total += node->other_total;
    }
    return link_children(tree);
}

void stack_tree_free(struct stack_tree *tree)
{
    intern_free(&tree->names);
    array_free(&tree->nodes);
    map_free(&tree->children);
}

/* ---- leaves first ---- */

/* A stack on its way outwards: it lies in node `in` of the inverted tree, and goes on with `at`. */
struct walker {
    uint32_t in, at;
    uint64_t self, other_self;
};

struct walker_list LAM_ARRAY_BODY(struct walker);

/* All walkers go one step outwards; those of stacks that end there, or that are too little to follow, stay. The self of a
 * node of the inverted tree is what ended there. */
static int walk_level(const struct stack_tree *tree, uint64_t min_value,
                      struct stack_tree *inverted, struct walker_list *walkers)
{
    size_t kept = 0;
    for (size_t i = 0; i < walkers->count; i++) {
        struct walker walker = walkers->items[i];
        const struct stack_tree_node *at = &tree->nodes.items[walker.at];
        size_t size;
        uint32_t name;
        const char *text = intern_text(&tree->names, at->name, &size);
        int rc = intern_add(&inverted->names, text, size, &name);
        if (rc == LAM_OK)
            rc = stack_tree_child(inverted, walker.in, name, &walker.in);
        if (rc < 0)
            return rc;
        inverted->nodes.items[walker.in].total += walker.self;
        inverted->nodes.items[walker.in].other_total += walker.other_self;
        walker.at = at->parent;
        walkers->items[kept++] = walker;
    }
    walkers->count = kept;
    kept = 0;
    for (size_t i = 0; i < walkers->count; i++) {
        struct walker walker = walkers->items[i];
        struct stack_tree_node *in = &inverted->nodes.items[walker.in];
        uint64_t larger = in->total > in->other_total ? in->total : in->other_total;
        if (walker.at && larger >= min_value) {
            walkers->items[kept++] = walker;
            continue;
        }
        in->self += walker.self;
        in->other_self += walker.other_self;
    }
    walkers->count = kept;
    return LAM_OK;
}

int stack_tree_invert(const struct stack_tree *tree, uint64_t min_value, uint32_t max_depth,
                      struct stack_tree *inverted)
{
    struct walker_list walkers = {0};
    int rc = make_root(inverted);
    for (uint32_t i = 1; i < tree->nodes.count && rc == LAM_OK; i++) {
        const struct stack_tree_node *node = &tree->nodes.items[i];
        if (node->self || node->other_self)
            rc = array_push(&walkers, ((struct walker){0, i, node->self, node->other_self}));
    }
    for (uint32_t depth = 1; depth <= max_depth && walkers.count && rc == LAM_OK; depth++)
        rc = walk_level(tree, min_value, inverted, &walkers);
    for (size_t i = 0; i < walkers.count && rc == LAM_OK; i++) {
        inverted->nodes.items[walkers.items[i].in].self += walkers.items[i].self;
        inverted->nodes.items[walkers.items[i].in].other_self += walkers.items[i].other_self;
    }
    array_free(&walkers);
    return rc == LAM_OK ? stack_tree_finish(inverted) : rc;
}
