#include "phase/pattern_index.h"

#include "base/glob.h"

enum {
    PREFIX_MAX = 255
}; /* a longer literal beginning is indexed by its first bytes; the glob itself decides */

static uint32_t find_child(const struct pattern_index *index, uint32_t node, uint8_t byte)
{
    uint32_t child = index->nodes.items[node].child;
    while (child && index->nodes.items[child].byte != byte)
        child = index->nodes.items[child].sibling;
    return child;
}

/* The child for a byte, made when it is missing; 0 when memory is short. */
static uint32_t need_child(struct pattern_index *index, uint32_t node, uint8_t byte)
{
    uint32_t child = find_child(index, node, byte);
    if (child)
        return child;
    child = (uint32_t)index->nodes.count;
    struct pattern_node fresh = {.byte = byte, .sibling = index->nodes.items[node].child};
    if (array_push(&index->nodes, fresh) < 0)
        return 0;
    index->nodes.items[node].child = child;
    return child;
}

int pattern_index_add(struct pattern_index *index, const char *glob, size_t length, uint32_t value)
{
    if (index->nodes.count == 0 && array_push(&index->nodes, (struct pattern_node){0}) < 0)
        return LAM_E_NOMEM;
    char prefix[PREFIX_MAX];
    size_t prefix_length = glob_prefix(glob, length, prefix, sizeof prefix);
    if (prefix_length > sizeof prefix)
        prefix_length = sizeof prefix;
    uint32_t node = 0;
    for (size_t i = 0; i < prefix_length; i++) {
        node = need_child(index, node, (uint8_t)prefix[i]);
        if (node == 0)
            return LAM_E_NOMEM;
    }
    struct pattern_entry entry = {.glob = glob,
                                  .length = (uint32_t)length,
                                  .value = value,
                                  .next = index->nodes.items[node].entries};
    if (array_push(&index->entries, entry) < 0)
        return LAM_E_NOMEM;
    index->nodes.items[node].entries = (uint32_t)index->entries.count;
    return LAM_OK;
}

static void match_node(const struct pattern_index *index, uint32_t node, const char *name,
                       size_t length, pattern_found_fn found, void *ctx)
{
    for (uint32_t at = index->nodes.items[node].entries; at;) {
        const struct pattern_entry *entry = &index->entries.items[at - 1];
        if (glob_match(entry->glob, entry->length, name, length))
            found(ctx, entry->value);
        at = entry->next;
    }
}

void pattern_index_find(const struct pattern_index *index, const char *name, size_t length,
                        pattern_found_fn found, void *ctx)
{
    if (index->nodes.count == 0)
        return;
    uint32_t node = 0;
    match_node(index, 0, name, length, found, ctx);
    for (size_t i = 0; i < length; i++) {
        node = find_child(index, node, (uint8_t)name[i]);
        if (node == 0)
            return;
        match_node(index, node, name, length, found, ctx);
    }
}

void pattern_index_free(struct pattern_index *index)
{
    array_free(&index->nodes);
    array_free(&index->entries);
}
