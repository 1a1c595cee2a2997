#include "input/stack_merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/strbuf.h"

#define NODE_BUSY UINT32_MAX

/* ---- indexes ---- */

/* Room for one more than count. Doubling moves slots in order, so it is kind to the cache. */
static int index_reserve(struct merge_index *index, size_t count)
{
    if (index->slots && count < (size_t)index->mask / 4 * 3)
        return LAM_OK;
    uint64_t size = index->slots ? ((uint64_t)index->mask + 1) * 2 : 4096;
    if (size > (uint64_t)1 << 31)
        return LAM_E_TOOBIG;
    uint64_t *slots = mem_zalloc(size, sizeof *slots);
    if (!slots)
        return LAM_E_NOMEM;
    uint32_t mask = (uint32_t)(size - 1);
    for (uint64_t i = 0; index->slots && i <= index->mask; i++) {
        uint64_t slot = index->slots[i];
        if (!slot)
            continue;
        uint32_t at = (uint32_t)(slot >> 32) & mask;
        while (slots[at])
            at = (at + 1) & mask;
        slots[at] = slot;
    }
    mem_free(index->slots);
    *index = (struct merge_index){slots, mask};
    return LAM_OK;
}

static int tell_frame(const struct stack_merge *merge, uint32_t id, uint32_t module, uint64_t offset)
{
    const struct profile_sink *sink = merge->sink;
    struct profile_frame frame = {.frame = id, .module = module, .offset = offset};
    return sink->ops->frame ? sink->ops->frame(sink->ctx, &frame) : LAM_OK;
}

static int frame_id(struct stack_merge *merge, uint32_t module, uint64_t offset, uint32_t *out)
{
    struct merge_index *index = &merge->frame_index;
    int rc = index_reserve(index, merge->frames.count);
    if (rc < 0)
        return rc;
    uint32_t hash = (uint32_t)hash_u64(offset * 2654435761u + module);
    uint32_t at = hash & index->mask;
    for (uint64_t slot; (slot = index->slots[at]) != 0; at = (at + 1) & index->mask) {
        const struct merge_frame *frame = &merge->frames.items[(uint32_t)slot - 1];
        if (slot >> 32 == hash && frame->offset == offset && frame->module == module) {
            *out = (uint32_t)slot;
            return LAM_OK;
        }
    }
    if (array_push(&merge->frames, ((struct merge_frame){offset, module})) < 0)
        return LAM_E_NOMEM;
    uint32_t id = (uint32_t)merge->frames.count;
    index->slots[at] = (uint64_t)hash << 32 | id;
    *out = id;
    return tell_frame(merge, id, module, offset);
}

/* A child that is not in its parent's list. */
static bool find_indexed_child(const struct stack_merge *merge, uint32_t parent, uint32_t frame,
                               uint32_t hash, uint32_t *at_out, uint32_t *out)
{
    const struct merge_index *index = &merge->child_index;
    uint32_t at = hash & index->mask;
    for (uint64_t slot; (slot = index->slots[at]) != 0; at = (at + 1) & index->mask) {
        if (slot >> 32 != hash)
            continue;
        const struct merge_child *child = &merge->children.items[(uint32_t)slot - 1];
        if (child->parent == parent && merge->stacks.items[child->stack - 1].frame == frame) {
            *out = child->stack;
            return true;
        }
    }
    *at_out = at;
    return false;
}

static int tell_stack(const struct stack_merge *merge, uint32_t id, uint32_t parent, uint32_t frame)
{
    const struct profile_sink *sink = merge->sink;
    struct profile_stack told = {.stack = id, .parent = parent, .frame = frame};
    return sink->ops->stack ? sink->ops->stack(sink->ctx, &told) : LAM_OK;
}

static uint32_t *first_child(struct stack_merge *merge, uint32_t parent)
{
    return parent ? &merge->stacks.items[parent - 1].first_child : &merge->first_root;
}

static int stack_id(struct stack_merge *merge, uint32_t parent, uint32_t frame, uint32_t *out)
{
    unsigned listed = 0;
    for (uint32_t id = *first_child(merge, parent); id;
         id = merge->stacks.items[id - 1].next_sibling, listed++) {
        if (merge->stacks.items[id - 1].frame == frame) {
            *out = id;
            return LAM_OK;
        }
    }
    bool is_listed = listed < MERGE_LISTED_CHILDREN;
    uint32_t hash = 0, at = 0;
    if (!is_listed) {
        hash = (uint32_t)hash_u64((uint64_t)parent << 32 | frame);
        int rc = index_reserve(&merge->child_index, merge->children.count);
        if (rc < 0 || find_indexed_child(merge, parent, frame, hash, &at, out))
            return rc;
    }
    if (merge->stacks.count >= UINT32_MAX - 1)
        return LAM_E_TOOBIG;
    uint32_t id = (uint32_t)merge->stacks.count + 1;
    struct merge_stack stack = {.frame = frame,
                                .next_sibling = is_listed ? *first_child(merge, parent) : 0};
    if (array_push(&merge->stacks, stack) < 0)
        return LAM_E_NOMEM;
    if (is_listed) {
        *first_child(merge, parent) = id;
    } else {
        if (array_push(&merge->children, ((struct merge_child){parent, id})) < 0)
            return LAM_E_NOMEM;
        merge->child_index.slots[at] = (uint64_t)hash << 32 | merge->children.count;
    }
    *out = id;
    return tell_stack(merge, id, parent, frame);
}

void stack_merge_free(struct stack_merge *merge)
{
    intern_free(&merge->modules);
    array_free(&merge->frames);
    array_free(&merge->stacks);
    array_free(&merge->children);
    mem_free(merge->frame_index.slots);
    mem_free(merge->child_index.slots);
    mem_free(merge->cache);
    *merge = (struct stack_merge){0};
}

/* ---- modules ---- */

enum { MODULE_IS_VDSO = 1 };

/* A module is its path with the build id; without one, with the file behind it. Copies of one library under two paths stay
 * two: each may have symbols that the other lacks. */
static int module_id(struct stack_merge *merge, const struct stream_record_view *rec, uint32_t *out)
{
    const struct stream_rec_module *body = &rec->body.module;
    struct stream_text path = rec->text[0], build_id = rec->text[1];
    uint32_t before = intern_count(&merge->modules), id = 0;
    if (build_id.size > sizeof((struct profile_module *)0)->build_id)
        build_id.size = 0;
    struct strbuf key = {0};
    strbuf_add_char(&key, (char)build_id.size);
    strbuf_add_bytes(&key, build_id.bytes, build_id.size);
    if (!build_id.size) {
        strbuf_add_bytes(&key, &body->inode, sizeof body->inode);
        strbuf_add_bytes(&key, &body->device, sizeof body->device);
    }
    strbuf_add_bytes(&key, path.bytes, path.size);
    int rc = strbuf_ok(&key) ? intern_add(&merge->modules, key.data, key.length, &id) : LAM_E_NOMEM;
    strbuf_free(&key);
    *out = id;
    if (rc < 0 || id < before || !merge->sink->ops->module)
        return rc;
    struct profile_module module = {
        .module = id,
        .path = {path.bytes, path.size},
        .build_id_bytes = (uint8_t)build_id.size,
        .is_vdso = (body->flags & MODULE_IS_VDSO) != 0,
        .device = body->device,
        .inode = body->inode,
    };
    if (build_id.size)
        memcpy(module.build_id, build_id.bytes, build_id.size);
    return merge->sink->ops->module(merge->sink->ctx, &module);
}

static int compare_ranges(const void *left, const void *right)
{
    const struct address_range *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int load_modules(struct process_stacks *stacks, const struct stream_file *file)
{
    struct stream_walk walk;
    stream_walk_init(&walk, file);
    stream_walk_begin(&walk, stream_pages_of_kind(file, STREAM_PAGE_MODULES));
    struct stream_record_view rec;
    int rc;
    while ((rc = stream_next_record(&walk, &rec)) > 0) {
        if (rec.type != STREAM_REC_MODULE || rec.body.module.start >= rec.body.module.end)
            continue;
        struct address_range range = {
            .start = rec.body.module.start,
            .end = rec.body.module.end,
            .bias = rec.body.module.bias,
            .epoch = rec.body.module.epoch,
            .order = (uint32_t)stacks->ranges.count,
        };
        rc = module_id(stacks->merge, &rec, &range.module);
        if (rc >= 0)
            rc = array_push(&stacks->ranges, range);
        if (rc < 0)
            break;
    }
    stream_faults_merge(stacks->faults, &walk.faults);
    stream_walk_close(&walk);
    array_sort(&stacks->ranges, compare_ranges);
    uint64_t reach = 0;
    for (size_t i = 0; i < stacks->ranges.count; i++) {
        struct address_range *range = &stacks->ranges.items[i];
        reach = range->end > reach ? range->end : reach;
        range->reach = reach;
    }
    return rc < 0 ? rc : LAM_OK;
}

/* Which of two mappings that hold an address is the one of `epoch`: the latest that had begun; of two of one epoch the one
 * noted later; one of a later epoch only when there is no other (noted while the epoch changed). */
static bool fits_better(const struct address_range *range, const struct address_range *best,
                        uint32_t epoch)
{
    if (!best)
        return true;
    bool has_begun = range->epoch <= epoch, best_has = best->epoch <= epoch;
    if (has_begun != best_has)
        return has_begun;
    if (range->epoch != best->epoch)
        return has_begun ? range->epoch > best->epoch : range->epoch < best->epoch;
    return range->order > best->order;
}

static const struct address_range *find_range(const struct process_stacks *stacks, uint64_t address,
                                              uint32_t epoch)
{
    const struct address_range *ranges = stacks->ranges.items;
    size_t low = 0,
           high = stacks->ranges.count; /* behind the last that starts at or before the address */
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (ranges[mid].start <= address)
            low = mid + 1;
        else
            high = mid;
    }
    const struct address_range *best = NULL;
    /* A library that is loaded ten thousand times over at one place makes ten thousand ranges: the loader's cost, once an
     * address, bounded here. */
    for (size_t tries = 0; low > 0 && ranges[low - 1].reach > address && tries < 256; low--, tries++) {
        const struct address_range *range = &ranges[low - 1];
        if (range->end > address && fits_better(range, best, epoch))
            best = range;
    }
    return best;
}

static int frame_of_node(struct process_stacks *stacks, const struct stream_node *node, uint32_t *out)
{
    uint64_t address = stream_node_address(node);
    uint64_t key = address | (uint64_t)node->epoch << 48;
    struct stack_merge *merge = stacks->merge;
    struct frame_cache_slot *slot = &merge->cache[(hash_u64(key) >> 32) % FRAME_CACHE_SLOTS];
    if (slot->key == key && slot->generation == merge->generation) {
        *out = slot->frame;
        return LAM_OK;
    }
    const struct address_range *range = find_range(stacks, address, node->epoch);
    int rc = range ? frame_id(merge, range->module, address - range->bias, out)
                   : frame_id(merge, 0, address, out);
    if (rc >= 0)
        *slot = (struct frame_cache_slot){key, *out, merge->generation};
    return rc;
}

/* ---- a process's nodes ---- */

int process_stacks_open(struct process_stacks *stacks, struct stack_merge *merge,
                        const struct stream_file *file, struct stream_faults *faults)
{
    *stacks = (struct process_stacks){.merge = merge, .faults = faults};
    int rc = stream_nodes_load(file, &stacks->nodes, faults);
    if (rc < 0)
        return rc;
    stacks->stack_of = mem_zalloc((size_t)stacks->nodes.last_id + 1, sizeof *stacks->stack_of);
    if (!merge->cache)
        merge->cache = mem_zalloc(FRAME_CACHE_SLOTS, sizeof *merge->cache);
    if (!stacks->stack_of || !merge->cache)
        return LAM_E_NOMEM;
    merge->generation++; /* an address means something else in each process */
    return load_modules(stacks, file);
}

void process_stacks_close(struct process_stacks *stacks)
{
    stream_nodes_free(&stacks->nodes);
    mem_free(stacks->stack_of);
    array_free(&stacks->ranges);
    array_free(&stacks->path);
    *stacks = (struct process_stacks){0};
}

/* Goes up from a node to the first ancestor that is known, or to a root, and leaves the way in path. *parent is the sink's
 * stack there (0 at a root). */
static int climb(struct process_stacks *stacks, uint32_t node_id, uint32_t *parent)
{
    array_clear(&stacks->path);
    *parent = 0;
    for (uint32_t id = node_id; id != 0;) {
        struct stream_node node;
        if (!stream_node_get(&stacks->nodes, id, &node) || stacks->stack_of[id] == NODE_BUSY) {
            stream_faults_add(stacks->faults, STREAM_DAMAGE_NODES, 0, 1);
            return LAM_OK; /* what lies above is lost: the part below stands as its own root */
        }
        if (stacks->stack_of[id]) {
            *parent = stacks->stack_of[id];
            return LAM_OK;
        }
        stacks->stack_of[id] = NODE_BUSY;
        if (array_push(&stacks->path, id) < 0)
            return LAM_E_NOMEM;
        id = node.parent_plus_1 - 1;
    }
    return LAM_OK;
}

int process_stacks_get(struct process_stacks *stacks, uint32_t node_id, uint32_t *out)
{
    if (node_id == 0 || node_id == STREAM_STACK_UNKNOWN) {
        *out = 0;
        return LAM_OK;
    }
    uint32_t parent = 0;
    int rc = climb(stacks, node_id, &parent);
    while (rc >= 0 && stacks->path.count) {
        uint32_t id = array_pop(&stacks->path), frame = 0;
        struct stream_node node;
        (void)stream_node_get(&stacks->nodes, id, &node); /* it was there on the way up */
        rc = frame_of_node(stacks, &node, &frame);
        if (rc >= 0)
            rc = stack_id(stacks->merge, parent, frame, &parent);
        if (rc >= 0)
            stacks->stack_of[id] = parent;
    }
    *out = parent;
    return rc < 0 ? rc : LAM_OK;
}
