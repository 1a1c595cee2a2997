/* call_tree.c: the calling-context tree. Its nodes lie in TREE pages of the stream and are updated in place, and tell when a call
 * began that is open, so that a kill loses nothing of them; an index in memory finds a node by its parent and label. Pages stay
 * mapped as long as the process: frames point into them. All trees of a recorder together are bounded. */
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

/* Of a root 0; a call and an interval may have the same name. */
static uint32_t index_kind(const struct stream_tree_node *node)
{
    if (node->type == STREAM_NODE_ROOT)
        return 0;
    return node->type == STREAM_NODE_INTERVAL ? node->kind | 1u << 31 : node->kind;
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
        entry = find(tree, key, index_kind(fields));
    }
    struct stream_tree_node *node = &tree->nodes[tree->used++];
    node->id = fields->id;
    node->kind = fields->kind;
    node->type = fields->type;
    node->total = fields->total;
    /* release: the node counts from here on. */
    __atomic_store_n(&node->parent_plus_1, fields->parent_plus_1, __ATOMIC_RELEASE);
    tree->count++;
    *entry = (struct index_entry){key, index_kind(fields), ++tree->next_id, node};
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

/* first: what it is made for. Its beginning is the root's, but where times are none. */
static struct index_entry *root_of(struct lane *lane, struct call_tree *tree,
                                   const struct calls *calls, const struct frame *first)
{
    uint64_t key = (uint64_t)lane->thread << 32 | calls->track;
    struct index_entry *entry = find(tree, key, 0);
    if (entry->node)
        return entry;
    struct stream_tree_node fields = {
        .parent_plus_1 = 1,
        .id = lane->thread,
        .kind = calls->track,
        .type = STREAM_NODE_ROOT,
        .total = lane->rec->measure ? clock_ticks(lane->rec->stream.use_counter) : first->began};
    return new_node(lane, tree, entry, key, &fields);
}

/* ---- what is open: so that a kill loses nothing of it ---- */

static void set_when(struct stream_tree_node *node, uint64_t time, int is_open)
{
    /* relaxed, as all figures: one thread writes, a reader of the live file sees each whole. */
    __atomic_store_n(&node->when, time << 1 | (uint64_t)is_open, __ATOMIC_RELAXED);
}

static void add(uint64_t *figure, uint64_t amount)
{
    __atomic_store_n(figure, *figure + amount, __ATOMIC_RELAXED);
}

void tree_pause(struct calls *calls, uint64_t now)
{
    if (calls->root_node)
        __atomic_store_n(&calls->root_node->count, now, __ATOMIC_RELAXED);
}

void tree_resume(struct calls *calls)
{
    if (!calls->root_node)
        return;
    __atomic_store_n(&calls->root_node->self, calls->away, __ATOMIC_RELAXED);
    __atomic_store_n(&calls->root_node->count, 0, __ATOMIC_RELAXED);
}

/* ---- nodes of frames ---- */

static void set_node(struct lane *lane, struct call_tree *tree, struct frame *frame, uint32_t parent)
{
    frame->node = NULL;
    frame->node_id = 0;
    if (!parent)
        return;
    uint64_t key = (uint64_t)parent << 32 | frame->label;
    /* What is no call of the tree has an event. */
    int has_event = frame->mode != LAM_CALLS_TREE;
    struct stream_tree_node fields = {.parent_plus_1 = parent + 1,
                                      .id = frame->label,
                                      .kind = frame->mode == FRAME_SCOPE ? frame->weight
                                                                         : lane->rec->call_kind,
                                      .type = has_event ? STREAM_NODE_INTERVAL : STREAM_NODE_CALL};
    struct index_entry *entry = find(tree, key, index_kind(&fields));
    if (!entry->node)
        entry = new_node(lane, tree, entry, key, &fields);
    if (!entry || !entry->node)
        return;
    frame->node = entry->node;
    frame->node_id = entry->node_id;
    if (has_event) {
        frame->node->lane = ref_lane(frame->ref);
        __atomic_store_n(&frame->node->count, frame->ref ? ref_on_disk(frame->ref) : 0,
                         __ATOMIC_RELAXED);
    }
    if (!has_event || frame->mode == 0 || frame->is_timed)
        set_when(frame->node, frame->start, 1);
}

/* A call of the tree took `duration`: its own part is added up, and what is around is without it. Where there was no room for a node
 * its time stays in the nearest call that has one, but for that of intervals inside, which have their events. */
static void leave_call(struct calls *calls, struct frame *frame, uint64_t duration)
{
    struct frame *around = &calls->frames[frame - calls->frames - 1];
    if (frame->node) {
        add(&frame->node->self, duration > frame->inner ? duration - frame->inner : 0);
        take_from_around(calls, around, duration);
    } else if (around->mode == LAM_CALLS_TREE && around != calls->frames) {
        around->inner += frame->inner;
    }
}

/* The frame's node says nothing more of it. */
static void close_node(const struct frame *frame, uint64_t now, uint64_t duration)
{
    if (!frame->node || !(frame->node->when & 1))
        return;
    set_when(frame->node, now, 0);
    add(&frame->node->total, duration);
}

/* The stack goes on in another lane's tree: what it has been open so far stays in this one, as if everything were left now and
 * entered again. The innermost first: what is around is without it. */
static void settle_frames(struct lane *lane, struct calls *calls, const struct frame *top,
                          uint64_t now)
{
    for (uint32_t at = (uint32_t)(top - calls->frames) - 1; at > 0; at--) {
        struct frame *frame = &calls->frames[at];
        uint64_t duration = now > frame->start ? now - frame->start : 0;
        close_node(frame, now, duration);
        if (frame->mode == LAM_CALLS_TREE) {
            leave_call(calls, frame, duration);
            frame->inner = 0;
        } else {
            calls_tell_inside(lane, frame);
            if (frame->node && frame->ref)
                add(&frame->node->self, frame->in_tree);
            frame->in_tree = frame->ref ? 0 : frame->in_tree;
        }
        if (frame->mode == FRAME_SCOPE)
            scope_take_from_around(calls, frame, duration);
        if (frame->mode == LAM_CALLS_TREE || frame->mode == FRAME_SCOPE) {
            frame->start = now; /* a call with an event of its own is measured as a whole */
            frame->spent = calls->spent;
        }
    }
}

/* The stack's frames get their nodes in this lane's tree: at first, when the policy changed over, or when the track came from
 * another thread. */
static int adopt(struct lane *lane, struct calls *calls, const struct frame *top, uint64_t now)
{
    struct call_tree *tree = tree_of(lane);
    if (!tree)
        return -1;
    if (calls->tree)
        settle_frames(lane, calls, top, now);
    tree_pause(calls, now + calls->away);
    const struct index_entry *root = root_of(lane, tree, calls, top);
    calls->tree = tree;
    calls->root = root ? root->node_id : 0;
    calls->root_node = root ? root->node : NULL;
    tree_resume(calls);
    uint32_t parent = calls->root;
    for (struct frame *frame = calls->frames + 1; frame < top; frame++) {
        set_node(lane, tree, frame, parent);
        parent = frame->node_id;
    }
    return 0;
}

/* The node around a frame. Intervals, and calls that have events, get theirs when the first call inside of them needs one. */
static uint32_t node_around(struct lane *lane, struct calls *calls, const struct frame *frame)
{
    struct frame *around = &calls->frames[frame - 1 - calls->frames], *first = around;
    if (around == calls->frames)
        return calls->root;
    if (around->node || around->mode == LAM_CALLS_TREE)
        return around->node_id;
    while (first - 1 > calls->frames && !first[-1].node && first[-1].mode != LAM_CALLS_TREE)
        first--;
    for (; first <= around; first++)
        set_node(lane, calls->tree, first,
                 first - 1 == calls->frames ? calls->root : first[-1].node_id);
    return around->node_id;
}

uint32_t tree_lane(const struct calls *calls)
{
    return calls->tree->lane;
}

void tree_enter(struct lane *lane, struct calls *calls, struct frame *frame)
{
    frame->node = NULL;
    frame->node_id = 0;
    if ((!calls->tree || calls->tree != lane->tree) && adopt(lane, calls, frame, frame->start) < 0)
        return;
    set_node(lane, calls->tree, frame, node_around(lane, calls, frame));
}

void tree_leave_scope(const struct frame *frame, uint64_t now)
{
    if (!(frame->node->when & 1))
        return; /* one that is not timed */
    set_when(frame->node, now, 0);
    add(&frame->node->total, now > frame->start ? now - frame->start : 0);
    add(&frame->node->self, frame->in_tree);
}

void tree_leave(struct lane *lane, struct calls *calls, struct frame *frame, uint64_t now)
{
    struct stream_tree_node *node = frame->node;
    uint64_t duration = now > frame->start ? now - frame->start : 0;
    if (!node) {
        lane_count(lane, STREAM_COUNT_UNTOLD_CALLS);
        if (frame[-1].node)
            add(&frame[-1].node->untold, 1);
    } else {
        /* No longer open, and only then added: a kill in between leaves it out, rather than counting it twice. */
        set_when(node, now, 0);
        add(&node->count, 1);
        add(&node->total, duration);
    }
    leave_call(calls, frame, duration);
}
