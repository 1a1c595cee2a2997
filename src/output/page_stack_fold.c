#include "output/page_stack_fold.h"

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
    folder->rows.count = stack_slices_merge(folder->rows.items, folder->rows.count);
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

static int compare_down(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a > b ? -1 : a < b;
}

/* Adds up what the place has at and below each node; children come after their parents, so met is walked from the end. */
static int add_place(struct stack_folder *folder, size_t first, size_t end)
{
    const struct stack_tree_node *nodes = folder->from->tree.nodes.items;
    array_clear(&folder->met);
    for (size_t i = first; i < end; i++) {
        uint32_t node = folder->rows.items[i].stack;
        for (;; node = nodes[node].parent) {
            if (folder->kept.items[node] != UINT32_MAX) /* not yet met */
                break;
            folder->kept.items[node] = node;
            if (array_push(&folder->met, node) < 0)
                return LAM_E_NOMEM;
            if (node == 0)
                break;
        }
        folder->total.items[folder->rows.items[i].stack] += folder->rows.items[i].samples;
    }
    array_sort(&folder->met, compare_down);
    array_each(&folder->met, node)
    {
        if (*node)
            folder->total.items[nodes[*node].parent] += folder->total.items[*node];
    }
    return LAM_OK;
}

static void forget_place(struct stack_folder *folder)
{
    array_each(&folder->met, node)
    {
        folder->total.items[*node] = 0;
        folder->kept.items[*node] = UINT32_MAX;
    }
}

static void begin(struct stack_folder *folder)
{
    memset(folder->total.items, 0, folder->total.count * sizeof *folder->total.items);
    memset(folder->kept.items, 0xff, folder->kept.count * sizeof *folder->kept.items);
}

/* Programs stay, however small. */
static bool is_kept(const struct stack_folder *folder, uint32_t node, uint64_t min_samples)
{
    return folder->from->tree.nodes.items[node].depth <= 1 ||
           folder->total.items[node] >= min_samples;
}

static int fold_place(struct stack_folder *folder, size_t first, size_t end, uint64_t min_samples)
{
    const struct stack_tree_node *nodes = folder->from->tree.nodes.items;
    for (size_t i = folder->met.count; i-- > 0;) {
        uint32_t node = folder->met.items[i];
        folder->kept.items[node] =
            is_kept(folder, node, min_samples) ? node : folder->kept.items[nodes[node].parent];
    }
    size_t from = folder->folded.count;
    for (size_t i = first; i < end; i++) {
        struct stack_slice row = folder->rows.items[i];
        uint32_t kept = folder->kept.items[row.stack];
        folder->cut_samples += kept == row.stack ? 0 : row.samples;
        row.stack = kept;
        if (array_push(&folder->folded, row) < 0)
            return LAM_E_NOMEM;
    }
    folder->folded.count =
        from + stack_slices_merge(folder->folded.items + from, folder->folded.count - from);
    return LAM_OK;
}

int stack_fold(struct stack_folder *folder, uint64_t min_samples)
{
    begin(folder);
    array_clear(&folder->folded);
    folder->cut_samples = 0;
    int rc = LAM_OK;
    for (size_t first = 0, end; rc == LAM_OK && first < folder->rows.count; first = end) {
        end = end_of_place(folder, first);
        forget_place(folder);
        rc = add_place(folder, first, end);
        if (rc == LAM_OK)
            rc = fold_place(folder, first, end, min_samples);
    }
    array_clear(&folder->met);
    return rc;
}

/* ---- all minima at once ---- */

/* A node has a row when it is kept and has samples of its own, or those of a child that is cut: for minima above that of its
 * smallest child, up to its own total. */
struct row_range {
    uint64_t from, to;
};

static struct row_range range_of(const struct stack_folder *folder, uint32_t node,
                                 const uint64_t *smallest)
{
    bool is_program = folder->from->tree.nodes.items[node].depth <= 1;
    return (struct row_range){smallest[node] + 1,
                              is_program ? UINT64_MAX : folder->total.items[node]};
}

static void count_range(struct row_range range, size_t *starts, size_t most)
{
    if (range.from > range.to || range.from > most)
        return;
    starts[range.from]++;
    if (range.to < most)
        starts[range.to + 1]--; /* wraps; the running sum does not */
}

static void count_place(struct stack_folder *folder, size_t first, size_t end, uint64_t *smallest,
                        size_t *starts, size_t most)
{
    const struct stack_tree_node *nodes = folder->from->tree.nodes.items;
    array_each(&folder->met, node) smallest[*node] = UINT64_MAX - 1;
    for (size_t i = first; i < end; i++)
        smallest[folder->rows.items[i].stack] = 0;
    array_each(&folder->met, node)
    {
        uint64_t *parent = &smallest[nodes[*node].parent], total = folder->total.items[*node];
        if (*node && nodes[*node].depth > 1 && total < *parent)
            *parent = total;
    }
    array_each(&folder->met, node) count_range(range_of(folder, *node, smallest), starts, most);
}

int stack_fold_counts(struct stack_folder *folder, size_t *counts, size_t most)
{
    LAM_ARRAY(uint64_t) smallest = {0};
    int rc = array_resize(&smallest, folder->from->tree.nodes.count);
    memset(counts, 0, (most + 1) * sizeof *counts);
    begin(folder);
    for (size_t first = 0, end; rc == LAM_OK && first < folder->rows.count; first = end) {
        end = end_of_place(folder, first);
        forget_place(folder);
        rc = add_place(folder, first, end);
        if (rc == LAM_OK)
            count_place(folder, first, end, smallest.items, counts, most);
    }
    for (size_t n = 1; n <= most; n++)
        counts[n] += counts[n - 1];
    array_clear(&folder->met);
    array_free(&smallest);
    return rc;
}
