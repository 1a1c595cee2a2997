/* Calling-context trees as folds: each node is the calls of one label on one path. */
#include <string.h>

#include "base/memory.h"
#include "input/process_events.h"

struct tree_node {                      /* by number, from 1 */
    uint32_t first_child, next_sibling; /* numbers; 0 none */
    uint32_t label, path;
    uint32_t root;
    bool is_named;  /* label and path are known */
    uint64_t time;  /* its own and of all below it, up to the last time known where it is open */
    uint64_t calls; /* of those directly below, calls alone; in the file's measure as well */
    uint64_t below; /* all of them */
    uint64_t last;  /* of a root: active time, the last one known */
    uint64_t until; /* of a root: active time, when the last of its calls ended; of open ones, `last` */
};

static bool is_open(const struct stream_tree_node *node)
{
    return node->type != STREAM_NODE_ROOT && node->when & 1;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* ---- what is open ---- */

/* Every node's root, and until when it is known to have run. */
static void find_last(const struct process_events *events, struct process_tree *tree)
{
    for (uint32_t number = 1; number <= tree->nodes.count; number++) {
        const struct stream_tree_node *node = &tree->nodes.items[number - 1];
        struct tree_node *info = &tree->info[number];
        if (!node->parent_plus_1)
            continue;
        info->root = node->parent_plus_1 == 1 ? number : tree->info[node->parent_plus_1 - 1].root;
        struct tree_node *root = &tree->info[info->root];
        if (info->root == number)
            continue;
        if (node->when >> 1 > root->last)
            root->last = node->when >> 1;
        if (is_open(node))
            root->until = UINT64_MAX;
    }
    bool is_ticks = events->file->header.measure == STREAM_MEASURE_TICKS;
    for (uint32_t number = 1; number <= tree->nodes.count; number++) {
        const struct stream_tree_node *node = &tree->nodes.items[number - 1];
        if (node->parent_plus_1 != 1)
            continue;
        /* What other threads count cannot be compared. */
        uint64_t until = node->count ? node->count : is_ticks ? events->last : 0;
        struct tree_node *root = &tree->info[number];
        uint64_t ended = root->last;
        if (less(until, node->self) > root->last)
            root->last = less(until, node->self);
        root->until = root->until ? root->last : ended;
    }
}

/* Children have larger numbers than their parents. */
static void add_up(struct process_tree *tree)
{
    for (size_t number = tree->nodes.count; number > 0; number--) {
        const struct stream_tree_node *node = &tree->nodes.items[number - 1];
        struct tree_node *info = &tree->info[number];
        if (node->parent_plus_1 <= 1)
            continue;
        info->time = node->total;
        if (is_open(node))
            info->time += less(tree->info[info->root].last, node->when >> 1);
        struct tree_node *parent = &tree->info[node->parent_plus_1 - 1];
        parent->below += info->time;
        if (node->type == STREAM_NODE_CALL)
            parent->calls += info->time;
        info->next_sibling = parent->first_child; /* children before their later siblings */
        parent->first_child = (uint32_t)number;
    }
}

/* An interval that is open is without the calls inside of it as well; one that has ended was told so by a slot. */
static int mark_open_intervals(struct process_events *events, const struct process_tree *tree)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < tree->nodes.count; i++) {
        const struct stream_tree_node *node = &tree->nodes.items[i];
        if (!node->parent_plus_1 || node->type != STREAM_NODE_INTERVAL || !is_open(node) ||
            !event_ref_is_there(events->file, node->lane, node->count))
            continue;
        struct event_mark mark = {
            .where = node->count,
            .time = events->last,
            .lane = node->lane,
            .code = STREAM_SLOT_CALLS,
            .self = less(tree->info[i + 1].calls, node->self),
            .active = UINT64_MAX,
        };
        if (mark.self)
            rc = array_push(&events->index.marks, mark);
    }
    return rc;
}

/* Threads that have a tree and perhaps no event. */
static int add_threads(struct process_events *events, const struct process_tree *tree)
{
    for (size_t i = 0; i < tree->nodes.count; i++) {
        const struct stream_tree_node *node = &tree->nodes.items[i];
        if (node->parent_plus_1 != 1)
            continue;
        bool added;
        if (!map_slot(&events->index.thread_at, node->id, events->index.threads.count, &added) ||
            (added &&
             array_push(&events->index.threads, ((struct event_thread){.thread = node->id})) < 0))
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

int process_trees_open(struct process_events *events, struct stream_faults *faults)
{
    struct stream_page_span span = stream_pages_of_kind(events->file, STREAM_PAGE_TREE);
    int rc = LAM_OK;
    for (size_t page = span.first; rc >= 0 && page < span.end;) {
        struct process_tree *tree = array_add(&events->trees);
        if (!tree)
            return LAM_E_NOMEM;
        *tree = (struct process_tree){.lane = events->file->pages.items[page].thread};
        rc = tree_nodes_load(&tree->nodes, events->file, page, &page, faults);
        tree->info = rc < 0 ? NULL : mem_zalloc(tree->nodes.count + 1, sizeof *tree->info);
        if (!tree->info)
            return LAM_E_NOMEM;
        find_last(events, tree);
        add_up(tree);
        rc = add_threads(events, tree);
        if (rc >= 0)
            rc = mark_open_intervals(events, tree);
    }
    if (rc >= 0 && events->trees.count)
        event_index_sort_marks(&events->index);
    return rc;
}

void process_trees_close(struct process_events *events)
{
    array_each(&events->trees, tree)
    {
        array_free(&tree->nodes);
        mem_free(tree->info);
    }
    array_free(&events->trees);
}

/* ---- names and paths ---- */

/* Of all nodes, once: parents first. */
static int name_nodes(struct process_events *events, struct process_tree *tree)
{
    int rc = LAM_OK;
    for (uint32_t number = 1; rc >= 0 && !tree->is_named && number <= tree->nodes.count; number++) {
        const struct stream_tree_node *node = &tree->nodes.items[number - 1];
        struct tree_node *info = &tree->info[number];
        if (node->parent_plus_1 <= 1)
            continue;
        rc = process_events_label(events, node->kind, node->id, &info->label);
        if (rc >= 0)
            rc = interval_paths_step(events->paths, events->sink,
                                     tree->info[node->parent_plus_1 - 1].path, info->label,
                                     &info->path);
    }
    tree->is_named = rc >= 0;
    return rc;
}

int process_trees_path(struct process_events *events, uint32_t lane, uint32_t number, uint32_t *path)
{
    *path = 0;
    struct process_tree *tree = NULL;
    array_each(&events->trees, it) if (it->lane == lane) tree = it;
    if (!tree || !number || number > tree->nodes.count ||
        tree->nodes.items[number - 1].parent_plus_1 <= 1)
        return 0;
    int rc = name_nodes(events, tree);
    *path = tree->info[number].path;
    return rc < 0 ? rc : 1;
}

/* ---- folds ---- */

struct tree_push {
    struct process_events *events;
    struct process_tree *tree;
    struct map open; /* label → how often on the way down */
    uint32_t thread, track;
    int64_t at_ns, until_ns;
};

static int enter(struct tree_push *push, uint32_t number)
{
    struct process_events *events = push->events;
    const struct stream_tree_node *node = &push->tree->nodes.items[number - 1];
    const struct tree_node *info = &push->tree->info[number];
    uint64_t *open = map_slot(&push->open, info->label, 0, NULL);
    if (!open)
        return LAM_E_NOMEM;
    bool is_outermost = (*open)++ == 0;
    if (node->type != STREAM_NODE_CALL) /* an interval: its event tells of it */
        return LAM_OK;
    bool is_ticks = events->file->header.measure == STREAM_MEASURE_TICKS;
    uint64_t total = is_outermost ? info->time : 0;
    uint64_t self = is_open(node) ? less(info->time, info->below) : node->self;
    struct profile_fold fold = {
        .process = events->process,
        .thread = push->thread,
        .track = push->track,
        .label = info->label,
        .path = info->path,
        .at_ns = push->at_ns,
        .until_ns = push->until_ns,
        .count = node->count + is_open(node),
        .open = is_open(node),
        .total_ns = is_ticks ? tick_clock_span_ns(events->clock, 0, total) : total,
        .self_ns = is_ticks ? tick_clock_span_ns(events->clock, 0, self) : self,
    };
    events->totals.folds++;
    return events->sink->ops->fold ? events->sink->ops->fold(events->sink->ctx, &fold) : LAM_OK;
}

static void leave(struct tree_push *push, uint32_t number)
{
    uint64_t *open = map_slot(&push->open, push->tree->info[number].label, 1, NULL);
    if (open && *open > 0)
        --*open;
}

/* All below a root, down and up again along the lists. */
static int push_below(struct tree_push *push, uint32_t root)
{
    uint32_t at = push->tree->info[root].first_child;
    int rc = at ? enter(push, at) : LAM_OK;
    while (rc >= 0 && at) {
        if (push->tree->info[at].first_child) {
            at = push->tree->info[at].first_child;
            rc = enter(push, at);
            continue;
        }
        while (at != root && !push->tree->info[at].next_sibling) {
            leave(push, at);
            at = push->tree->nodes.items[at - 1].parent_plus_1 - 1;
        }
        if (at == root)
            break;
        leave(push, at);
        at = push->tree->info[at].next_sibling;
        rc = enter(push, at);
    }
    return rc;
}

static int push_root(struct tree_push *push, uint32_t number)
{
    struct process_events *events = push->events;
    const struct stream_tree_node *root = &push->tree->nodes.items[number - 1];
    push->thread = (uint32_t)map_get_or(&events->thread_ids, root->id, 0);
    push->at_ns = push->until_ns = tick_clock_ns(events->clock, root->total);
    uint64_t until = push->tree->info[number].until;
    if (events->file->header.measure == STREAM_MEASURE_TICKS && until + root->self > root->total)
        push->until_ns = tick_clock_ns(events->clock, until + root->self);
    push->track = 0;
    int rc = root->kind ? process_events_track(events, root->kind, &push->track) : LAM_OK;
    return rc < 0 ? rc : push_below(push, number);
}

int process_trees_push(struct process_events *events)
{
    struct tree_push push = {.events = events};
    int rc = LAM_OK;
    array_each(&events->trees, tree)
    {
        push.tree = tree;
        if (rc >= 0)
            rc = name_nodes(events, tree);
        for (size_t number = 1; rc >= 0 && number <= tree->nodes.count; number++) {
            if (tree->nodes.items[number - 1].parent_plus_1 == 1)
                rc = push_root(&push, (uint32_t)number);
        }
    }
    map_free(&push.open);
    return rc;
}
