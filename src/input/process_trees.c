/* Calling-context trees as folds: each node is the calls of one label on one path. */
#include <string.h>

#include "base/memory.h"
#include "input/process_events.h"
#include "reader/tree_nodes.h"

struct tree_node {
    uint32_t first_child, next_sibling; /* numbers; 0 none */
    uint32_t label, path;
};

struct tree_push {
    struct process_events *events;
    struct tree_nodes nodes;
    struct tree_node *info; /* by number */
    struct map open;        /* label → how often on the way down */
    uint32_t thread, track;
    int64_t at_ns;
};

/* Children before their later siblings: lists are made from the end. */
static void link_children(struct tree_push *push)
{
    for (size_t number = push->nodes.count; number > 0; number--) {
        const struct stream_tree_node *node = &push->nodes.items[number - 1];
        uint32_t parent = node->parent_plus_1 ? node->parent_plus_1 - 1 : 0;
        if (!parent)
            continue;
        push->info[number].next_sibling = push->info[parent].first_child;
        push->info[parent].first_child = (uint32_t)number;
    }
}

static int enter(struct tree_push *push, uint32_t number)
{
    struct process_events *events = push->events;
    const struct stream_tree_node *node = &push->nodes.items[number - 1];
    struct tree_node *info = &push->info[number];
    uint32_t parent = node->parent_plus_1 - 1;
    int rc = process_events_label(events, node->kind, node->id, &info->label);
    if (rc >= 0)
        rc = interval_paths_step(events->paths, events->sink, push->info[parent].path, info->label,
                                 &info->path);
    if (rc < 0)
        return rc;
    uint64_t *open = map_slot(&push->open, info->label, 0, NULL);
    if (!open)
        return LAM_E_NOMEM;
    bool is_ticks = events->file->header.measure == STREAM_MEASURE_TICKS;
    uint64_t total = (*open)++ ? 0 : node->total; /* of outermost calls */
    struct profile_fold fold = {
        .process = events->process,
        .thread = push->thread,
        .track = push->track,
        .label = info->label,
        .path = info->path,
        .at_ns = push->at_ns,
        .count = node->count,
        .total_ns = is_ticks ? tick_clock_span_ns(events->clock, 0, total) : total,
        .self_ns = is_ticks ? tick_clock_span_ns(events->clock, 0, node->self) : node->self,
    };
    events->totals.folds++;
    return events->sink->ops->fold ? events->sink->ops->fold(events->sink->ctx, &fold) : LAM_OK;
}

static void leave(struct tree_push *push, uint32_t number)
{
    uint64_t *open = map_slot(&push->open, push->info[number].label, 1, NULL);
    if (open && *open > 0)
        --*open;
}

/* All below a root, down and up again along the lists. */
static int push_below(struct tree_push *push, uint32_t root)
{
    uint32_t at = push->info[root].first_child;
    int rc = at ? enter(push, at) : LAM_OK;
    while (rc >= 0 && at) {
        if (push->info[at].first_child) {
            at = push->info[at].first_child;
            rc = enter(push, at);
            continue;
        }
        while (at != root && !push->info[at].next_sibling) {
            leave(push, at);
            at = push->nodes.items[at - 1].parent_plus_1 - 1;
        }
        if (at == root)
            break;
        leave(push, at);
        at = push->info[at].next_sibling;
        rc = enter(push, at);
    }
    return rc;
}

static int push_root(struct tree_push *push, uint32_t number)
{
    struct process_events *events = push->events;
    const struct stream_tree_node *root = &push->nodes.items[number - 1];
    push->thread = (uint32_t)map_get_or(&events->thread_ids, root->id, 0);
    push->at_ns = tick_clock_ns(events->clock, root->total);
    push->track = 0;
    int rc = root->kind ? process_events_track(events, root->kind, &push->track) : LAM_OK;
    return rc < 0 ? rc : push_below(push, number);
}

static int push_tree(struct tree_push *push)
{
    push->info = mem_zalloc(push->nodes.count + 1, sizeof *push->info);
    if (!push->info)
        return LAM_E_NOMEM;
    link_children(push);
    int rc = LAM_OK;
    for (size_t number = 1; rc >= 0 && number <= push->nodes.count; number++) {
        const struct stream_tree_node *node = &push->nodes.items[number - 1];
        if (node->parent_plus_1 == 1)
            rc = push_root(push, (uint32_t)number);
    }
    mem_free(push->info);
    push->info = NULL;
    return rc;
}

int process_events_push_trees(struct process_events *events, struct stream_faults *faults)
{
    struct tree_push push = {.events = events};
    struct stream_page_span span = stream_pages_of_kind(events->file, STREAM_PAGE_TREE);
    int rc = LAM_OK;
    for (size_t page = span.first; rc >= 0 && page < span.end;) {
        rc = tree_nodes_load(&push.nodes, events->file, page, &page, faults);
        if (rc >= 0)
            rc = push_tree(&push);
    }
    array_free(&push.nodes);
    map_free(&push.open);
    return rc;
}

/* Threads that have a tree and perhaps no event. */
int process_events_tree_threads(struct process_events *events)
{
    struct tree_nodes nodes = {0};
    struct stream_faults faults = {0}; /* counted when they are pushed */
    struct stream_page_span span = stream_pages_of_kind(events->file, STREAM_PAGE_TREE);
    int rc = LAM_OK;
    for (size_t page = span.first; rc >= 0 && page < span.end;) {
        rc = tree_nodes_load(&nodes, events->file, page, &page, &faults);
        for (size_t i = 0; rc >= 0 && i < nodes.count; i++) {
            if (nodes.items[i].parent_plus_1 != 1)
                continue;
            bool added;
            if (!map_slot(&events->index.thread_at, nodes.items[i].id, events->index.threads.count,
                          &added))
                rc = LAM_E_NOMEM;
            else if (added)
                rc = array_push(&events->index.threads,
                                ((struct event_thread){.thread = nodes.items[i].id}));
        }
    }
    array_free(&nodes);
    return rc;
}
