#include "agent/stacks.h"

#include "agent/agent.h"

#include <sys/mman.h>

enum {
    CHUNKS_MAX = 4096,     /* 89 million nodes */
    TABLE_FIRST_BITS = 12, /* 4096 slots, 32 KiB */
    TABLE_STEP_BITS = 3,
    TABLE_MAX_BITS = 26,
    PROBES_MAX = 32,
};

/* An open-addressing table of {id, tag}. When it is half full a larger one becomes the newest; what is found in an older
 * one is entered in the newest, so that old tables are soon not asked. */
struct table {
    struct table *older;
    uint32_t bits;
    uint32_t used;    /* atomic */
    uint32_t growing; /* atomic: somebody makes the next table */
    uint64_t slots[]; /* id in the low half, tag in the high; 0 = empty (atomic) */
};

static struct {
    struct stream_page *chunks[CHUNKS_MAX]; /* atomic */
    uint32_t next_id;                       /* atomic */
    struct table *newest;                   /* atomic */
    uint32_t losses;                        /* how often nodes were lost; 16 bits count (atomic) */
} stacks;

static struct table *table_new(uint32_t bits, struct table *older)
{
    size_t size = sizeof(struct table) + ((size_t)8 << bits);
    struct table *table = sys_mmap(NULL, size, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (sys_is_error(table))
        return NULL;
    table->bits = bits;
    table->older = older;
    return table;
}

void stacks_init(void)
{
    /* After a fork the parent's tables (private, ours to free) and chunks (the parent's file, mapped here too) go. */
    for (struct table *table = stacks.newest; table;) {
        struct table *older = table->older;
        sys_munmap(table, sizeof(struct table) + ((size_t)8 << table->bits));
        table = older;
    }
    for (uint32_t i = 0; i < CHUNKS_MAX && stacks.chunks[i]; i++) {
        sys_munmap(stacks.chunks[i], stream_chunk_bytes(i));
        stacks.chunks[i] = NULL;
    }
    stacks.next_id = 1;
    stacks.newest = NULL;
}

void stacks_start_over(void)
{
    uint32_t begun = CHUNKS_MAX, first = 1;
    while (begun && !__atomic_load_n(&stacks.chunks[begun - 1], __ATOMIC_RELAXED))
        begun--;
    for (uint32_t i = 0; i < begun; i++)
        first += stream_chunk_nodes(i);
    uint32_t next = __atomic_load_n(&stacks.next_id, __ATOMIC_RELAXED);
    while (next < first && !__atomic_compare_exchange_n(&stacks.next_id, &next, first, 0,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
    __atomic_fetch_add(&stacks.losses, 1, __ATOMIC_RELAXED);
}

enum stacks_page stacks_page_at(const void *address)
{
    uintptr_t at = (uintptr_t)address;
    enum stacks_page last = STACKS_PAGE_LAST;
    for (uint32_t i = CHUNKS_MAX; i-- > 0;) {
        uintptr_t page = (uintptr_t)__atomic_load_n(&stacks.chunks[i], __ATOMIC_RELAXED);
        if (page && at >= page && at - page < stream_chunk_bytes(i))
            return last;
        if (page)
            last = STACKS_PAGE_OLD;
    }
    return STACKS_PAGE_NONE;
}

/* Which chunk and slot a node id lies in: six chunks of growing size, then equal ones. */
static uint32_t locate(uint32_t id, uint32_t *slot)
{
    uint32_t at = id - 1, chunk = 0;
    while (chunk < 6 && at >= stream_chunk_nodes(chunk))
        at -= stream_chunk_nodes(chunk++);
    if (chunk == 6) {
        chunk += at / stream_chunk_nodes(6);
        at %= stream_chunk_nodes(6);
    }
    *slot = at;
    return chunk;
}

static struct stream_node *node_at(uint32_t id, int make)
{
    uint32_t slot;
    uint32_t chunk = locate(id, &slot);
    if (chunk >= CHUNKS_MAX)
        return NULL;
    /* acquire: pairs with the release below; the page's memory is mapped before its address is seen. */
    struct stream_page *page = __atomic_load_n(&stacks.chunks[chunk], __ATOMIC_ACQUIRE);
    if (!page && make) {
        struct stream_page *fresh = stream_claim_page(&agent.stream, STREAM_PAGE_STACKS,
                                                      stream_chunk_bytes(chunk), chunk, agent_now());
        if (!fresh)
            return NULL;
        /* release: publishes the mapping. The loser of a race gives its page back as void. */
        if (__atomic_compare_exchange_n(&stacks.chunks[chunk], &page, fresh, 0, __ATOMIC_RELEASE,
                                        __ATOMIC_ACQUIRE))
            page = fresh;
        else
            stream_void_page(fresh);
    }
    return page ? (struct stream_node *)(page + 1) + slot : NULL;
}

static uint64_t mix(uint32_t parent, uint64_t address, uint32_t epoch)
{
    uint64_t h =
        address * 0x9e3779b97f4a7c15u ^ ((uint64_t)parent << 16 ^ epoch) * 0xc2b2ae3d27d4eb4fu;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 29;
}

struct node_key {
    uint32_t parent;
    uint32_t epoch;
    uint64_t address;
    uint64_t hash;
};

static int is_node(uint32_t id, const struct node_key *key)
{
    const struct stream_node *node = node_at(id, 0);
    /* acquire: pairs with the release in node_store. */
    return node && __atomic_load_n(&node->parent_plus_1, __ATOMIC_ACQUIRE) == key->parent + 1 &&
           node->address_lo == (uint32_t)key->address &&
           node->address_hi == (uint16_t)(key->address >> 32) && node->epoch == (uint16_t)key->epoch;
}

/* Looks in one table. Returns the id, or 0; `*empty` is the slot where it could be entered, NULL when there is none. */
static uint32_t table_find(struct table *table, const struct node_key *key, uint64_t **empty)
{
    uint64_t mask = ((uint64_t)1 << table->bits) - 1;
    uint64_t tag = key->hash >> 32;
    for (uint64_t i = 0; i < PROBES_MAX; i++) {
        uint64_t *slot = &table->slots[(key->hash + i) & mask];
        /* acquire: pairs with the release that entered it, so the node's bytes are seen. */
        uint64_t value = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
        if (!value) {
            *empty = slot;
            return 0;
        }
        if (value >> 32 == tag && is_node((uint32_t)value, key))
            return (uint32_t)value;
    }
    *empty = NULL;
    return 0;
}

static void table_grow(struct table *table)
{
    uint32_t idle = 0;
    if (table->bits + TABLE_STEP_BITS > TABLE_MAX_BITS ||
        !__atomic_compare_exchange_n(&table->growing, &idle, 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    struct table *larger = table_new(table->bits + TABLE_STEP_BITS, table);
    if (larger)
        /* release: its header is written before it is found. */
        __atomic_store_n(&stacks.newest, larger, __ATOMIC_RELEASE);
}

static void table_enter(struct table *table, uint64_t *slot, const struct node_key *key, uint32_t id)
{
    uint64_t expected = 0;
    /* A lost race is not retried: the node is found by the next look-up's miss at the cost of a duplicate.
     * release: the node was completed before. */
    if (slot && __atomic_compare_exchange_n(slot, &expected, key->hash >> 32 << 32 | id, 0,
                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        uint32_t used = __atomic_add_fetch(&table->used, 1, __ATOMIC_RELAXED);
        if (used > (1u << table->bits) / 2)
            table_grow(table);
    }
}

static uint32_t node_store(const struct node_key *key)
{
    uint32_t losses = __atomic_load_n(&stacks.losses, __ATOMIC_RELAXED);
    uint32_t id = __atomic_fetch_add(&stacks.next_id, 1, __ATOMIC_RELAXED);
    struct stream_node *node = node_at(id, 1);
    if (!node)
        return 0;
    node->address_lo = (uint32_t)key->address;
    node->address_hi = (uint16_t)(key->address >> 32);
    node->epoch = (uint16_t)key->epoch;
    /* release: the node counts from here on. */
    __atomic_store_n(&node->parent_plus_1, key->parent + 1, __ATOMIC_RELEASE);
    modules_note(key->address);
    /* A page that vanished under this very write holds the node for us alone: it must not be found again. */
    return losses == __atomic_load_n(&stacks.losses, __ATOMIC_RELAXED) ? id : 0;
}

static struct table *newest_table(void)
{
    struct table *table = __atomic_load_n(&stacks.newest, __ATOMIC_ACQUIRE);
    if (table)
        return table;
    struct table *first = table_new(TABLE_FIRST_BITS, NULL);
    if (!first)
        return NULL;
    if (__atomic_compare_exchange_n(&stacks.newest, &table, first, 0, __ATOMIC_RELEASE,
                                    __ATOMIC_ACQUIRE))
        return first;
    sys_munmap(first, sizeof(struct table) + ((size_t)8 << TABLE_FIRST_BITS));
    return table;
}

static uint32_t find_or_add(uint32_t parent, uint64_t address, uint32_t epoch)
{
    struct node_key key = {
        .parent = parent, .epoch = epoch, .address = address, .hash = mix(parent, address, epoch)};
    struct table *newest = newest_table();
    if (!newest)
        return 0;
    uint64_t *empty, *unused;
    uint32_t id = table_find(newest, &key, &empty);
    if (id)
        return id;
    for (struct table *table = newest->older; table && !id; table = table->older)
        id = table_find(table, &key, &unused);
    if (!id)
        id = node_store(&key);
    if (id)
        table_enter(newest, empty, &key, id);
    return id;
}

uint32_t stacks_intern(struct stack_path *path, const uint64_t *frames, uint32_t count)
{
    uint32_t epoch = modules_epoch();
    /* The path counts in the same epoch and while no node was lost. */
    uint32_t validity = epoch | __atomic_load_n(&stacks.losses, __ATOMIC_RELAXED) << 16;
    uint32_t shared = 0, id = 0;
    if (path->validity == validity)
        while (shared < path->count && shared < count &&
               path->addresses[shared] == frames[count - 1 - shared])
            shared++;
    if (shared)
        id = path->ids[shared - 1];
    path->validity = validity;
    path->count = shared;
    for (uint32_t i = shared; i < count; i++) {
        uint64_t address = frames[count - 1 - i];
        id = find_or_add(id, address, epoch);
        if (!id)
            return 0;
        if (i < STACK_PATH_MAX) {
            path->addresses[i] = address;
            path->ids[i] = id;
            path->count = i + 1;
        }
    }
    return id;
}
