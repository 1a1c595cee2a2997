/* For tests: the events of a self-profile as a sink is told of them, by one walk and by branches side by side. Who told of which must not
 * matter: the same events come out, and branches give one order, however many threads there are. */
#ifndef LAMELLA_INPUT_PROFDATA_HEARD_TEST_H
#define LAMELLA_INPUT_PROFDATA_HEARD_TEST_H

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/memory.h"
#include "input/profdata_overlaps.h"
#include "input/profdata_rig_test.h"

struct heard_event { /* what there is to know of one; no padding */
    int64_t start_ns, end_ns;
    uint64_t args;  /* hash */
    uint64_t label; /* of the push; heard_finish(): the hash of its text and kind, since numbers come as labels are met */
    uint32_t thread, flags;
};

struct heard {
    LAM_ARRAY(struct heard_event) events; /* in the order in which they were told, or taken */
    LAM_ARRAY(uint64_t) label_hashes;
};

struct heard_branch {
    struct profile_branch *public;
    LAM_ARRAY(struct heard_event) events;
};

enum {
    HEARD_INSTANT = 1u << 30,
    HEARD_END = 1u << 31, /* of the innermost interval of the thread */
    HEARD_ROOM = 5,       /* a branch has room for so many events */
};

static inline uint64_t heard_args(const struct profile_text *args, size_t argc)
{
    uint64_t hash = argc;
    for (size_t i = 0; i < argc; i++)
        hash = hash_combine(hash, hash_bytes(args[i].bytes, args[i].size));
    return hash;
}

static inline struct heard_event heard_interval_event(const struct profile_interval *it)
{
    const uint32_t flags = PROFILE_INTERVAL_OVERLAPS | PROFILE_INTERVAL_BACKWARD;
    return (struct heard_event){it->start_ns, it->end_ns, heard_args(it->args, it->argc),
                                it->label,    it->thread, (it->flags & flags) | it->chain << 8};
}

static inline struct heard_event heard_instant_event(const struct profile_instant *it)
{
    return (struct heard_event){
        it->at_ns,
        (int64_t)it->value,
        it->has_value ? 0 : heard_args(it->args, it->argc), /* branches get none of integers */
        it->label,
        it->thread,
        HEARD_INSTANT + it->has_value};
}

static inline int heard_interval(void *ctx, const struct profile_interval *it)
{
    return array_push(&((struct heard *)ctx)->events, heard_interval_event(it));
}

static inline int heard_instant(void *ctx, const struct profile_instant *it)
{
    return array_push(&((struct heard *)ctx)->events, heard_instant_event(it));
}

static inline int heard_label(void *ctx, const struct profile_label *label)
{
    struct heard *heard = ctx;
    if (label->label >= heard->label_hashes.count &&
        array_resize(&heard->label_hashes, (size_t)label->label + 1) < 0)
        return LAM_E_NOMEM;
    heard->label_hashes.items[label->label] = hash_combine(
        hash_bytes(label->text.bytes, label->text.size), heard->label_hashes.items[label->kind]);
    return LAM_OK;
}

/* ---- branches ---- */

static inline int heard_branch_event(struct heard_branch *branch, struct heard_event event)
{
    int rc = LAM_OK;
    if (branch->events.count == HEARD_ROOM)
        rc = branch->public->make_room(branch->public->room_ctx);
    if (rc >= 0 && branch->events.count == HEARD_ROOM)
        abort();
    return rc < 0 ? rc : array_push(&branch->events, event);
}

static inline int heard_branch_interval(void *ctx, const struct profile_interval *it)
{
    return heard_branch_event(ctx, heard_interval_event(it));
}

static inline int heard_branch_instant(void *ctx, const struct profile_instant *it)
{
    return heard_branch_event(ctx, heard_instant_event(it));
}

static inline int heard_branch_interval_end(void *ctx, uint32_t process, uint32_t thread,
                                            int64_t at_ns)
{
    (void)process;
    return heard_branch_event(
        ctx, (struct heard_event){.end_ns = at_ns, .thread = thread, .flags = HEARD_END});
}

static inline int heard_branch_end(void *ctx)
{
    (void)ctx;
    return LAM_OK;
}

static inline size_t heard_branch_held(void *ctx)
{
    return ((struct heard_branch *)ctx)->events.count;
}

static inline int heard_open(void *ctx, size_t max_bytes, struct profile_branch *public)
{
    (void)ctx, (void)max_bytes;
    struct heard_branch *branch = mem_zalloc(1, sizeof *branch);
    if (!branch)
        return LAM_E_NOMEM;
    branch->public = public;
    *public = (struct profile_branch){.ctx = branch,
                                      .interval = heard_branch_interval,
                                      .instant = heard_branch_instant,
                                      .interval_end = heard_branch_interval_end,
                                      .end = heard_branch_end,
                                      .held_bytes = heard_branch_held};
    return LAM_OK;
}

static inline int heard_take(void *ctx, struct profile_branch *public)
{
    struct heard *heard = ctx;
    struct heard_branch *branch = public->ctx;
    int rc = array_append(&heard->events, branch->events.items, branch->events.count);
    array_clear(&branch->events);
    return rc;
}

static inline void heard_close(void *ctx, struct profile_branch *public)
{
    (void)ctx;
    struct heard_branch *branch = public->ctx;
    if (!branch)
        return;
    array_free(&branch->events);
    mem_free(branch);
    public->ctx = NULL;
}

/* ---- comparing ---- */

static inline int heard_compare(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(struct heard_event));
}

static inline bool heard_equal(const struct heard *a, const struct heard *b)
{
    size_t bytes = a->events.count * sizeof *a->events.items;
    return a->events.count == b->events.count &&
           (bytes == 0 || memcmp(a->events.items, b->events.items, bytes) == 0);
}

static inline void heard_free(struct heard *heard)
{
    array_free(&heard->events);
    array_free(&heard->label_hashes);
}

/* Of what was told in the order of starts: the times of every thread's intervals never fall, and what ends is what began last. Leaves out the ends.
 * False where it is not so. */
static inline bool heard_take_ends(struct heard *heard, size_t threads)
{
    struct lane {
        LAM_ARRAY(int64_t) ends;
        int64_t now;
    } *lanes = calloc(threads + 2, sizeof *lanes);
    bool is_right = lanes != NULL;
    size_t kept = 0;
    for (size_t i = 0; is_right && i < heard->events.count; i++) {
        struct heard_event event = heard->events.items[i];
        struct lane *lane = &lanes[event.thread];
        int64_t at = event.flags & HEARD_END ? event.end_ns : event.start_ns;
        bool is_end = event.flags & HEARD_END, is_instant = event.flags & HEARD_INSTANT;
        is_right = is_instant || at >= lane->now;
        lane->now = is_instant ? lane->now : at;
        if (is_end)
            is_right = is_right && lane->ends.count && array_pop(&lane->ends) == event.end_ns;
        else if (!is_instant)
            is_right = is_right && (!lane->ends.count || array_last(&lane->ends) >= event.end_ns) &&
                       array_push(&lane->ends, event.end_ns) >= 0;
        if (is_end)
            continue;
        heard->events.items[kept++] = event;
    }
    heard->events.count = kept;
    for (size_t i = 0; lanes && i < threads + 2; i++) {
        is_right = is_right && !lanes[i].ends.count;
        array_free(&lanes[i].ends);
    }
    free(lanes);
    return is_right;
}

/* Walks a file in parts of so many events, with the pool's threads; 0: whole. False where it cannot be told in parts. */
static inline bool heard_walk(struct profdata_file *file, struct pool *pool, uint64_t part_events,
                              enum profile_order order, struct heard *heard)
{
    static const struct profile_branch_ops branches = {heard_open, heard_take, heard_close};
    static const struct profile_sink_ops ops = {
        .interval = heard_interval, .instant = heard_instant, .label = heard_label};
    struct profile_sink sink = {.ctx = heard, .ops = &ops, .wants = {.order = order, .args = true}};
    sink.branches = &branches;
    struct profdata_rig rig;
    profdata_rig_open(&rig, file, &sink, pool, part_events);
    struct profdata_walk *walk = &rig.walk;
    bool is_done = part_events == 0 || profdata_fits_parts(walk, &rig.order);
    int rc = LAM_OK;
    if (part_events && is_done)
        rc = profdata_check_overlaps(file, walk->threads, &walk->skeleton, pool, &is_done);
    if (part_events && is_done && rc >= 0)
        rc = profdata_strings_load(walk->strings);
    if (is_done && rc >= 0)
        rc = part_events ? profdata_walk_parts(&walk, 1, pool)
                         : profdata_walk_backward(walk, &rig.order);
    if (is_done && order == PROFILE_ORDER_START && !heard_take_ends(heard, walk->threads->items.count))
        abort();
    if (rc < 0 || (is_done && walk->totals.intervals + walk->totals.instants != heard->events.count))
        abort();
    array_each(&heard->events, event) event->label = heard->label_hashes.items[event->label];
    profdata_rig_close(&rig);
    return is_done;
}

/* How many of the sizes of parts could be used; -1 when something did not agree. */
static inline int heard_check(struct profdata_file *file, struct pool *pool,
                              const uint64_t *part_events, size_t sizes)
{
    static const enum profile_order orders[] = {PROFILE_ORDER_ANY, PROFILE_ORDER_START};
    struct heard whole = {.events = {0}};
    int used = 0;
    heard_walk(file, NULL, 0, PROFILE_ORDER_ANY, &whole);
    if (whole.events.count)
        qsort(whole.events.items, whole.events.count, sizeof *whole.events.items, heard_compare);
    for (size_t i = 0; used >= 0 && i < 2 * sizes; i++) {
        struct heard alone = {.events = {0}}, many = {.events = {0}};
        uint64_t size = part_events[i / 2];
        bool is_done = heard_walk(file, NULL, size, orders[i % 2], &alone) &&
                       heard_walk(file, pool, size, orders[i % 2], &many);
        bool is_same = !is_done || heard_equal(&alone, &many);
        if (is_done && alone.events.count)
            qsort(alone.events.items, alone.events.count, sizeof *alone.events.items, heard_compare);
        is_same = is_same && (!is_done || heard_equal(&whole, &alone));
        used = is_same ? used + is_done : -1;
        heard_free(&alone);
        heard_free(&many);
    }
    heard_free(&whole);
    return used;
}

#endif
