#include "analysis/label_paths.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { PATH_MAX_ID = 1u << 28 };

static bool is_pushed(const struct label_paths *paths, uint32_t path)
{
    return path < paths->nodes.count && paths->nodes.items[path].is_pushed;
}

int label_paths_node(struct label_paths *paths, const struct profile_path *path,
                     const struct label_path *is)
{
    if (path->path == 0 || path->path > PATH_MAX_ID || path->parent >= path->path)
        return LAM_E_INVAL;
    if (path->parent && !is_pushed(paths, path->parent))
        return LAM_E_INVAL;
    if (path->path >= paths->nodes.count && array_resize(&paths->nodes, (size_t)path->path + 1) < 0)
        return LAM_E_NOMEM;
    struct label_path *node = &paths->nodes.items[path->path];
    node->is_pushed = true;
    node->parent = path->parent;
    node->name = is->name;
    node->row = is->row;
    node->is_part = is->is_part;
    node->depth = path->parent ? paths->nodes.items[path->parent].depth + 1 : 0;
    return LAM_OK;
}

static int add(struct label_paths *paths, uint32_t path, uint64_t count, uint64_t self_ns,
               uint64_t time_ns)
{
    if (path == 0)
        return LAM_OK;
    if (!is_pushed(paths, path))
        return LAM_E_INVAL;
    struct label_path *node = &paths->nodes.items[path];
    node->count += count;
    node->self_ns += self_ns;
    node->time_ns += time_ns;
    return LAM_OK;
}

int label_paths_add(struct label_paths *paths, const struct profile_interval *interval)
{
    return add(paths, interval->path, interval->weight, interval->self_ns * interval->weight,
               interval->active_ns * interval->weight);
}

int label_paths_fold(struct label_paths *paths, const struct profile_fold *fold)
{
    int rc = add(paths, fold->path, fold->count, fold->self_ns, 0);
    if (rc == LAM_OK && fold->path) {
        paths->nodes.items[fold->path].folded_self_ns += fold->self_ns;
        paths->nodes.items[fold->path].folded_ns += fold->total_ns;
    }
    return rc;
}

/* Folds tell the time of outermost calls: there is none of those inside of others of their label. It is their own and that of the
 * folds below them. Innermost first: a parent's number is the smaller. */
static void add_times_of_folds(struct label_paths *paths)
{
    struct label_path *nodes = paths->nodes.items;
    for (size_t i = paths->nodes.count; i-- > 1;) {
        if (!nodes[i].is_pushed)
            continue;
        uint64_t inside = nodes[i].folded_self_ns + nodes[i].below_ns;
        uint64_t time_ns = nodes[i].folded_ns < nodes[i].folded_self_ns ? inside : nodes[i].folded_ns;
        nodes[i].time_ns += time_ns;
        nodes[nodes[i].parent].below_ns += time_ns;
    }
}

struct order {
    uint64_t time_ns;
    uint32_t node;
};

/* Least time first: each is put in front of its siblings. */
static int compare_order(const void *a, const void *b)
{
    const struct order *left = a, *right = b;
    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    return left->node > right->node ? -1 : left->node < right->node;
}

int label_paths_finish(struct label_paths *paths)
{
    if (paths->nodes.count == 0)
        return array_resize(&paths->nodes, 1);
    add_times_of_folds(paths);
    struct label_path *nodes = paths->nodes.items;
    LAM_ARRAY(struct order) order = {0};
    if (array_reserve(&order, paths->nodes.count) < 0)
        return LAM_E_NOMEM;
    for (uint32_t i = 1; i < paths->nodes.count; i++) {
        if (!nodes[i].is_pushed)
            continue;
        order.items[order.count++] = (struct order){nodes[i].time_ns, i};
        nodes[0].count += nodes[i].count;
        nodes[0].self_ns += nodes[i].self_ns;
        nodes[0].time_ns += nodes[i].depth == 0 ? nodes[i].time_ns : 0;
    }
    array_sort(&order, compare_order);
    array_each(&order, it)
    {
        struct label_path *parent = &nodes[nodes[it->node].parent];
        nodes[it->node].next = parent->first_child;
        parent->first_child = it->node;
    }
    array_free(&order);
    return LAM_OK;
}

void label_paths_free(struct label_paths *paths)
{
    array_free(&paths->nodes);
}
