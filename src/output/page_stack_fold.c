#include "output/page_stack_fold.h"

#include <stdlib.h>
#include <string.h>

int stack_folder_open(struct stack_folder *folder, const struct page_stack_tree *from)
{
    *folder = (struct stack_folder){.from = from};
    size_t nodes = from->tree.nodes.count;
    return array_resize(&folder->total, nodes) < 0 || array_resize(&folder->kept, nodes) < 0
               ? LAM_E_NOMEM
               : LAM_OK;
}

void stack_folder_close(struct stack_folder *folder)
{
    array_free(&folder->rows);
    array_free(&folder->total);
    array_free(&folder->kept);
    array_free(&folder->met);
    array_free(&folder->folded);
}

/* ---- rows ---- */

static int compare_rows(const void *left, const void *right)
{
    const struct stack_slice *a = left, *b = right;
    const uint32_t keys[][2] = {
        {a->thread, b->thread}, {a->slot, b->slot}, {a->stack, b->stack}, {a->phase, b->phase}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    }
    return 0;
}

/* Rows [from, count) sorted, equal ones as one. */
static void sort_rows(struct slice_rows *rows, size_t from)
{
    struct stack_slice *items = rows->items + from;
    size_t count = rows->count - from, kept = 0;
    if (count)
        qsort(items, count, sizeof *items, compare_rows);
    for (size_t i = 0; i < count; i++) {
        if (kept && compare_rows(&items[kept - 1], &items[i]) == 0) {
            items[kept - 1].samples += items[i].samples;
            items[kept - 1].cpu_ns += items[i].cpu_ns;
        } else {
            items[kept++] = items[i];
        }
    }
    rows->count = from + kept;
}

static bool is_same_place(const struct stack_slice *a, const struct stack_slice *b)
{
    return a->thread == b->thread && a->slot == b->slot;
}

int stack_folder_places(struct stack_folder *folder, const struct report *report,
                        struct stack_places places)
{
    array_clear(&folder->rows);
    if (folder->from->rows.count &&
        array_append(&folder->rows, folder->from->rows.items, folder->from->rows.count) < 0)
        return LAM_E_NOMEM;
    array_each(&folder->rows, row)
    {
        if (places.grain == STACK_BY_PROCESS)
            row->thread = report->threads.items[row->thread].process;
        if (places.grain == STACK_WHOLE)
            row->thread = row->slot = 0;
        row->slot >>= places.shift;
    }
    sort_rows(&folder->rows, 0);
    folder->places = 0;
    for (size_t i = 0; i < folder->rows.count; i++)
        folder->places +=
            i == 0 || !is_same_place(&folder->rows.items[i - 1], &folder->rows.items[i]);
    return LAM_OK;
}

/* ---- one place ---- */

static size_t end_of_place(const struct stack_folder *folder, size_t first)
{
    size_t end = first;
    while (end < folder->rows.count &&
           is_same_place(&folder->rows.items[first], &folder->rows.items[end]))
        end++;
    return end;
}

/* The node and those above it, down from the nearest that is known. As nodes are numbered in preorder and rows come in that
 * order, whatever is above this node and not yet met comes after all that is. */
static int meet(struct stack_folder *folder, uint32_t node)
{
    size_t first = folder->met.count;
    for (; folder->kept.items[node] == UINT32_MAX;
         node = folder->from->tree.nodes.items[node].parent) {
        folder->kept.items[node] = node;
        if (array_push(&folder->met, node) < 0)
            return LAM_E_NOMEM;
        if (node == 0)
            break;
    }
    for (size_t i = first, j = folder->met.count; i + 1 < j; i++) {
        uint32_t other = folder->met.items[--j];
        folder->met.items[j] = folder->met.items[i];
        folder->met.items[i] = other;
    }
    return LAM_OK;
}

/* Adds up what the place has at and below each node. */
static int add_place(struct stack_folder *folder, size_t first, size_t end)
{
    const struct stack_tree_node *nodes = folder->from->tree.nodes.items;
    array_each(&folder->met, node) /* of the place before */
    {
        folder->total.items[*node] = 0;
        folder->kept.items[*node] = UINT32_MAX;
    }
    array_clear(&folder->met);
    for (size_t i = first; i < end; i++) {
        if (meet(folder, folder->rows.items[i].stack) < 0)
            return LAM_E_NOMEM;
        folder->total.items[folder->rows.items[i].stack] += folder->rows.items[i].samples;
    }
    for (size_t i = folder->met.count; i-- > 1;) {
        uint32_t node = folder->met.items[i];
        folder->total.items[nodes[node].parent] += folder->total.items[node];
    }
    return LAM_OK;
}

static void begin(struct stack_folder *folder)
{
    memset(folder->total.items, 0, folder->total.count * sizeof *folder->total.items);
    memset(folder->kept.items, 0xff, folder->kept.count * sizeof *folder->kept.items);
    array_clear(&folder->met);
}

/* The whole square root (Newton's method from above), at least 1. */
static uint64_t root_of(uint64_t samples)
{
    uint64_t next = samples / 2 + 1, root;
    do {
        root = next;
        next = (root + samples / root) / 2;
    } while (next < root && next > 0);
    return root;
}

uint64_t stack_fold_least(uint64_t place_samples, uint32_t level)
{
    uint64_t wanted = level * root_of(place_samples);
    return (wanted + STACK_LEVELS_A_ROOT - 1) / STACK_LEVELS_A_ROOT;
}

/* The last level at which a node is kept. Programs stay, however small. */
static uint64_t level_of(const struct stack_folder *folder, uint32_t node, uint64_t root)
{
    return folder->from->tree.nodes.items[node].depth <= 1
               ? UINT64_MAX
               : folder->total.items[node] * STACK_LEVELS_A_ROOT / root;
}

static int fold_place(struct stack_folder *folder, size_t first, size_t end, uint32_t level)
{
    const struct stack_tree_node *nodes = folder->from->tree.nodes.items;
    uint64_t root = root_of(folder->total.items[0]);
    array_each(&folder->met, node) folder->kept.items[*node] =
        level_of(folder, *node, root) >= level ? *node : folder->kept.items[nodes[*node].parent];
    size_t from = folder->folded.count;
    for (size_t i = first; i < end; i++) {
        struct stack_slice row = folder->rows.items[i];
        uint32_t kept = folder->kept.items[row.stack];
        folder->cut_samples += kept == row.stack ? 0 : row.samples;
        folder->kept_frames += row.samples * nodes[kept].depth;
        row.stack = kept;
        if (array_push(&folder->folded, row) < 0)
            return LAM_E_NOMEM;
    }
    sort_rows(&folder->folded, from);
    return LAM_OK;
}

int stack_fold(struct stack_folder *folder, uint32_t level)
{
    begin(folder);
    array_clear(&folder->folded);
    folder->cut_samples = folder->kept_frames = 0;
    int rc = LAM_OK;
    for (size_t first = 0, end; rc == LAM_OK && first < folder->rows.count; first = end) {
        end = end_of_place(folder, first);
        rc = add_place(folder, first, end);
        if (rc == LAM_OK)
            rc = fold_place(folder, first, end, level);
    }
    return rc;
}

/* ---- all levels at once ---- */

/* A node has a row from the level on at which it has samples of its own, or those of a child that is cut, to the last one at
 * which it is kept. */
static void count_range(uint64_t from, uint64_t last, size_t *starts)
{
    if (from > last || from > STACK_LEVEL_MAX)
        return;
    starts[from]++;
    if (last < STACK_LEVEL_MAX)
        starts[last + 1]--; /* wraps; the running sum does not */
}

static void count_place(struct stack_folder *folder, size_t first, size_t end, uint64_t *from,
                        size_t *starts)
{
    const struct stack_tree_node *nodes = folder->from->tree.nodes.items;
    uint64_t root = root_of(folder->total.items[0]);
    array_each(&folder->met, node) from[*node] = UINT64_MAX;
    for (size_t i = first; i < end; i++)
        from[folder->rows.items[i].stack] = 0;
    array_each(&folder->met, node)
    {
        uint64_t level = level_of(folder, *node, root), *above = &from[nodes[*node].parent];
        if (level < UINT64_MAX && level + 1 < *above)
            *above = level + 1;
    }
    array_each(&folder->met, node) count_range(from[*node], level_of(folder, *node, root), starts);
}

int stack_fold_counts(struct stack_folder *folder, size_t *counts)
{
    LAM_ARRAY(uint64_t) from = {0};
    int rc = array_resize(&from, folder->from->tree.nodes.count);
    memset(counts, 0, (STACK_LEVEL_MAX + 1) * sizeof *counts);
    begin(folder);
    for (size_t first = 0, end; rc == LAM_OK && first < folder->rows.count; first = end) {
        end = end_of_place(folder, first);
        rc = add_place(folder, first, end);
        if (rc == LAM_OK)
            count_place(folder, first, end, from.items, counts);
    }
    for (size_t n = 1; n <= STACK_LEVEL_MAX; n++)
        counts[n] += counts[n - 1];
    array_free(&from);
    return rc;
}
