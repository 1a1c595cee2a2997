#include "reader/tree_nodes.h"

#include <string.h>
#include <zstd.h>

#include "base/memory.h"
#include "reader/stream_walk.h"

static void swap_node(struct stream_tree_node *node)
{
    uint32_t *words[] = {&node->parent_plus_1, &node->id, &node->kind, &node->type, &node->lane};
    uint64_t *figures[] = {&node->count, &node->total, &node->self, &node->untold, &node->when};
    for (unsigned i = 0; i < 5; i++) {
        *words[i] = __builtin_bswap32(*words[i]);
        *figures[i] = __builtin_bswap64(*figures[i]);
    }
}

/* Adds the nodes of one page at the place that its number gives them. */
static int add_page(struct tree_nodes *nodes, const struct stream_file *file,
                    const struct stream_page_ref *page, size_t before, const uint8_t *body)
{
    size_t count = page->body_bytes / sizeof(struct stream_tree_node);
    size_t most = stream_tree_page_nodes(page->sequence);
    count = count < most ? count : most;
    if (array_resize(nodes, before + count) < 0)
        return LAM_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        struct stream_tree_node *node = &nodes->items[before + i];
        memcpy(node, body + i * sizeof *node, sizeof *node);
        if (file->is_swapped)
            swap_node(node);
    }
    return LAM_OK;
}

static void leave_out_damaged(struct tree_nodes *nodes, uint64_t offset, struct stream_faults *faults)
{
    for (size_t i = 0; i < nodes->count; i++) {
        struct stream_tree_node *node = &nodes->items[i];
        if (node->parent_plus_1 == 0)
            continue;
        size_t parent = node->parent_plus_1 - 1;
        bool is_root = node->type == STREAM_NODE_ROOT;
        bool is_known = node->type == STREAM_NODE_CALL || node->type == STREAM_NODE_INTERVAL;
        bool is_fine = is_root ? parent == 0
                               : is_known && parent > 0 && parent <= i &&
                                     nodes->items[parent - 1].parent_plus_1;
        if (is_fine)
            continue;
        node->parent_plus_1 = 0;
        stream_faults_add(faults, STREAM_DAMAGE_RECORDS, offset, 1);
    }
}

int tree_nodes_load(struct tree_nodes *nodes, const struct stream_file *file, size_t first,
                    size_t *end, struct stream_faults *faults)
{
    struct stream_page_span span =
        stream_pages_of(file, STREAM_PAGE_TREE, file->pages.items[first].thread);
    *end = span.end;
    array_clear(nodes);
    uint8_t *into = mem_alloc(2 * (size_t)STREAM_PAGE_MAX);
    ZSTD_DCtx *unpacker = file->is_packed ? ZSTD_createDCtx() : NULL;
    int rc = into && (unpacker || !file->is_packed) ? LAM_OK : LAM_E_NOMEM;
    size_t before = 0;
    uint32_t sequence = 0;
    /* More holes than pages are a wrong number in a header. */
    uint64_t limit = 2 * (uint64_t)(span.end - first) + 256;
    for (size_t i = first; rc >= 0 && i < span.end; i++) {
        const struct stream_page_ref *page = &file->pages.items[i];
        if (page->sequence >= limit) {
            stream_faults_add(faults, STREAM_DAMAGE_PAGES, page->self_offset, 1);
            continue;
        }
        for (; sequence < page->sequence; sequence++)
            before += stream_tree_page_nodes(sequence);
        const uint8_t *body =
            stream_page_body(file, page, unpacker, into, into + STREAM_PAGE_MAX, faults);
        if (body)
            rc = add_page(nodes, file, page, before, body);
    }
    leave_out_damaged(nodes, file->pages.items[first].self_offset, faults);
    ZSTD_freeDCtx(unpacker);
    mem_free(into);
    return rc;
}
