/* call_tree.c: the calling-context tree. Its nodes lie in TREE pages of the stream and are updated in place, so that a kill
 * loses nothing of them; an index in memory finds a node by its parent and label. Pages stay mapped as long as the process:
 * frames point into them. All trees of a recorder together are bounded. */
#include "recorder/calls.h"

#include <sys/mman.h>

enum { TREE_PAGES = 4096, INDEX_FIRST = 256 };

struct index_entry { /* all zero: free */
    uint64_t key;    /* parent << 32 | label; of roots, thread and track */
    uint32_t kind;   /* 0: a root */
    uint32_t node_id;
    struct stream_tree_node *node;
};

struct call_tree {
    struct index_entry *index;
    uint32_t mask, count;
    uint32_t lane; /* number, and a recording's: a lane of a closed one is never taken again */
    uint32_t pages;
    uint32_t used, capacity; /* nodes of the last page */
    uint32_t next_id;
    struct stream_tree_node *nodes; /* of the last page */
};

static uint32_t hash(uint64_t key, uint32_t kind)
{
    uint64_t mixed = (key ^ kind) * 0x9e3779b97f4a7c15ull;
    return (uint32_t)(mixed >> 32 ^ mixed >> 17);
}

static struct index_entry *find(const struct call_tree *tree, uint64_t key, uint32_t kind)
{
    for (uint32_t at = hash(key, kind);; at++) {
        struct index_entry *entry = &tree->index[at & tree->mask];
        if (!entry->node || (entry->key == key && entry->kind == kind))
            return entry;
    }
}

static int grow_index(struct call_tree *tree)
{
    uint32_t capacity = tree->index ? (tree->mask + 1) * 2 : INDEX_FIRST;
    struct index_entry *old = tree->index;
    uint32_t old_capacity = old ? tree->mask + 1 : 0;
    void *map = sys_mmap(NULL, capacity * sizeof *old, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_is_error(map))
        return -1;
    tree->index = map;
    tree->mask = capacity - 1;
    for (uint32_t i = 0; i < old_capacity; i++)
        if (old[i].node)
            *find(tree, old[i].key, old[i].kind) = old[i];
    if (old)
        sys_munmap(old, old_capacity * sizeof *old);
    return 0;
}

/* The next page, while all trees together stay below the bound. */
static int next_page(struct lane *lane, struct call_tree *tree)
{
    struct lam_recorder *rec = lane->rec;
    uint32_t size = stream_chunk_bytes(tree->pages);
    uint64_t used = __atomic_load_n(&rec->stream.header->next_offset, __ATOMIC_RELAXED);
    if (tree->pages >= TREE_PAGES ||
        (rec->max_bytes && used + size > rec->max_bytes - rec->max_bytes / 16) ||
        __atomic_add_fetch(&rec->live->tree_bytes, size, __ATOMIC_RELAXED) > rec->tree_bytes) {
        __atomic_sub_fetch(&rec->live->tree_bytes, size, __ATOMIC_RELAXED);
        return -1;
    }
    struct stream_page fields = {
        .kind = STREAM_PAGE_TREE,
        .size_bytes = size,
        .thread = lane->number,
        .base_ticks = clock_ticks(rec->stream.use_counter),
        .sequence = tree->pages,
        .tid = lane->tid,
    };
    int rc;
    struct stream_page *page = stream_claim_page_as(&rec->stream, &fields, &rc);
    if (!page) {
        __atomic_sub_fetch(&rec->live->tree_bytes, size, __ATOMIC_RELAXED);
        return -1;
    }
    tree->nodes = (struct stream_tree_node *)(page + 1);
    tree->used = 0;
    tree->capacity = stream_tree_page_nodes(tree->pages);
    tree->pages++;
    return 0;
}

static struct index_entry *new_node(struct lane *lane, struct call_tree *tree,
                                    struct index_entry *entry, uint64_t key,
                                    const struct stream_tree_node *fields)
{
    if (tree->used == tree->capacity && next_page(lane, tree) < 0)
        return NULL;
    if (tree->count * 2 > tree->mask) {
        if (grow_index(tree) < 0)
            return NULL;
        entry = find(tree, key, fields->type == STREAM_NODE_ROOT ? 0 : fields->kind);
    }
    struct stream_tree_node *node = &tree->nodes[tree->used++];
    node->id = fields->id;
    node->kind = fields->kind;
    node->type = fields->type;
    node->total = fields->total;
    /* release: the node counts from here on. */
    __atomic_store_n(&node->parent_plus_1, fields->parent_plus_1, __ATOMIC_RELEASE);
    tree->count++;
    *entry = (struct index_entry){key, fields->type == STREAM_NODE_ROOT ? 0 : fields->kind,
                                  ++tree->next_id, node};
    return entry;
}

static struct call_tree *tree_of(struct lane *lane)
{
    if (lane->tree)
        return lane->tree;
    struct call_tree *tree =
        sys_mmap(NULL, sizeof *tree, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_is_error(tree))
        return NULL;
    tree->lane = lane->number;
    if (grow_index(tree) < 0) {
        sys_munmap(tree, sizeof *tree);
        return NULL;
    }
    return lane->tree = tree;
}

static uint32_t root_of(struct lane *lane, struct call_tree *tree, uint32_t track)
{
    uint64_t key = (uint64_t)lane->thread << 32 | track;
    struct index_entry *entry = find(tree, key, 0);
    if (entry->node)
        return entry->node_id;
    struct stream_tree_node fields = {.parent_plus_1 = 1,
                                      .id = lane->thread,
                                      .kind = track,
                                      .type = STREAM_NODE_ROOT,
                                      .total = clock_ticks(lane->rec->stream.use_counter)};
    entry = new_node(lane, tree, entry, key, &fields);
    return entry ? entry->node_id : 0;
}

static void set_node(struct lane *lane, struct call_tree *tree, struct frame *frame, uint32_t parent)
{
    frame->node = NULL;
    frame->node_id = 0;
    if (!parent)
        return;
    uint64_t key = (uint64_t)parent << 32 | frame->label;
    uint32_t kind = lane->rec->call_kind;
    struct index_entry *entry = find(tree, key, kind);
    if (!entry->node) {
        struct stream_tree_node fields = {
            .parent_plus_1 = parent + 1, .id = frame->label, .kind = kind, .type = STREAM_NODE_CALL};
        entry = new_node(lane, tree, entry, key, &fields);
    }
    if (entry) {
        frame->node = entry->node;
        frame->node_id = entry->node_id;
    }
}

/* The stack's frames get their nodes in this lane's tree: at first, when the policy changed over, or when the track came from
 * another thread. */
static int adopt(struct lane *lane, struct calls *calls, const struct frame *top)
{
    struct call_tree *tree = tree_of(lane);
    if (!tree)
        return -1;
    calls->tree = tree;
    calls->root = root_of(lane, tree, calls->track);
    uint32_t parent = calls->root;
    for (struct frame *frame = calls->frames + 1; frame < top; frame++) {
        set_node(lane, tree, frame, parent);
        parent = frame->node_id;
    }
    return 0;
}

void tree_enter(struct lane *lane, struct calls *calls, struct frame *frame)
{
    frame->node = NULL;
    frame->node_id = 0;
    if ((!calls->tree || calls->tree != lane->tree) && adopt(lane, calls, frame) < 0)
        return;
    uint32_t parent = frame - 1 == calls->frames ? calls->root : frame[-1].node_id;
    set_node(lane, calls->tree, frame, parent);
}

void tree_leave(struct lane *lane, struct calls *calls, struct frame *frame, uint64_t duration)
{
    struct frame *around = frame - 1;
    struct stream_tree_node *node = frame->node;
    if (!node) {
        /* No room: its time stays in the nearest call that has a node. */
        lane_count(lane, STREAM_COUNT_UNTOLD_CALLS);
        if (around->node)
            __atomic_store_n(&around->node->untold, around->node->untold + 1, __ATOMIC_RELAXED);
        return;
    }
    /* relaxed: one thread writes, a reader of the live file sees each figure whole. */
    __atomic_store_n(&node->count, node->count + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&node->total, node->total + duration, __ATOMIC_RELAXED);
    __atomic_store_n(&node->self, node->self + (duration - frame->inner), __ATOMIC_RELAXED);
    if (around != calls->frames)
        around->inner += duration;
}
