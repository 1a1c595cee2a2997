#include "input/interval_nest.h"

#include <string.h>

/* Ancestors this near are compared one by one; what lies deeper is counted in a map. Nests of real programs rarely reach it. */
enum { NEAR_ANCESTORS = 32 };

static uint64_t add_capped(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t times_capped(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t between(int64_t from, int64_t to)
{
    return to > from ? (uint64_t)to - (uint64_t)from : 0;
}

void nest_totals_add(struct nest_totals *into, const struct nest_totals *from)
{
    into->intervals += from->intervals;
    into->instants += from->instants;
    into->folds += from->folds;
    into->open += from->open;
    into->backward += from->backward;
    into->overlapping += from->overlapping;
    into->clamped += from->clamped;
    into->cut_texts += from->cut_texts;
}

/* ---- paths ---- */

void interval_paths_free(struct interval_paths *paths)
{
    map_free(&paths->by_step);
    *paths = (struct interval_paths){0};
}

int interval_paths_step(struct interval_paths *paths, const struct profile_sink *sink,
                        uint32_t parent, uint32_t label, uint32_t *out)
{
    if (!sink->wants.paths && !sink->wants.fold_paths) {
        *out = 0;
        return LAM_OK;
    }
    bool added;
    uint64_t *path = map_slot(&paths->by_step, (uint64_t)parent << 32 | label,
                              (uint64_t)paths->count + 1, &added);
    if (!path)
        return LAM_E_NOMEM;
    *out = (uint32_t)*path;
    if (!added)
        return LAM_OK;
    if (paths->count >= UINT32_MAX - 1)
        return LAM_E_FULL;
    struct profile_path told = {.path = ++paths->count, .parent = parent, .label = label};
    return sink->ops->path ? sink->ops->path(sink->ctx, &told) : LAM_OK;
}

/* ---- arguments ---- */

/* A place for them, empty. */
static int take_args(struct interval_nest *nest, uint32_t *out)
{
    uint32_t index;
    if (nest->free_args.count) {
        index = array_pop(&nest->free_args);
    } else {
        index = (uint32_t)nest->args.count;
        /* Room to give it back, now: giving back must not fail. */
        if (!array_add(&nest->args) || array_reserve(&nest->free_args, nest->args.count) < 0)
            return LAM_E_NOMEM;
    }
    *out = index + 1;
    struct nest_args *args = &nest->args.items[index];
    array_clear(&args->texts);
    args->bytes.length = 0;
    args->has_counted = false;
    return LAM_OK;
}

static void keep_counted(struct nest_args *args, const struct profile_interval *in)
{
    memset(args->counted, 0, sizeof args->counted);
    args->has_counted = true;
    for (size_t i = 0; i < in->counted_count; i++)
        args->counted[in->counted[i].number] =
            (struct nest_counted){.own = in->counted[i], .is_own = true};
}

/* Copies them, since they leave for the sink when the interval ends. */
static int keep_args(struct interval_nest *nest, const struct profile_interval *in, uint32_t *out)
{
    bool has_counted = nest->sink->wants.counted && in->counted_count > 0;
    size_t argc = nest->sink->wants.args ? in->argc : 0;
    *out = 0;
    if (argc == 0 && !has_counted)
        return LAM_OK;
    int rc = take_args(nest, out);
    if (rc < 0)
        return rc;
    struct nest_args *args = &nest->args.items[*out - 1];
    if (has_counted)
        keep_counted(args, in);
    if (array_resize(&args->texts, argc) < 0 || array_resize(&args->offsets, argc) < 0)
        return LAM_E_NOMEM;
    for (size_t i = 0; i < argc; i++) {
        args->offsets.items[i] = args->bytes.length;
        args->texts.items[i].size = in->args[i].size;
        strbuf_add_bytes(&args->bytes, in->args[i].bytes, in->args[i].size);
    }
    for (size_t i = 0; i < argc && strbuf_ok(&args->bytes); i++)
        args->texts.items[i].bytes = strbuf_text(&args->bytes) + args->offsets.items[i];
    return strbuf_ok(&args->bytes) ? LAM_OK : LAM_E_NOMEM;
}

/* What was counted in an interval that ends is inside of its parent, also of one in which nothing was counted: there may be one around
 * that. */
static int pass_counted(struct interval_nest *nest, const struct nest_item *item,
                        struct nest_item *parent)
{
    if (!item->args || !nest->args.items[item->args - 1].has_counted)
        return LAM_OK;
    if (!parent->args) {
        int rc = take_args(nest, &parent->args);
        if (rc < 0)
            return rc;
    }
    const struct nest_args *from = &nest->args.items[item->args - 1];
    struct nest_args *to = &nest->args.items[parent->args - 1];
    if (!to->has_counted)
        memset(to->counted, 0, sizeof to->counted);
    to->has_counted = true;
    for (size_t i = 0; i < PROFILE_COUNTERS_MAX; i++)
        to->counted[i].inside =
            add_capped(to->counted[i].inside, from->counted[i].is_own ? from->counted[i].own.value
                                                                      : from->counted[i].inside);
    return LAM_OK;
}

/* Into out what was counted in the interval itself. */
static size_t find_counted(const struct nest_args *args,
                           struct profile_counted out[PROFILE_COUNTERS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; args && args->has_counted && i < PROFILE_COUNTERS_MAX; i++) {
        if (!args->counted[i].is_own)
            continue;
        out[count] = args->counted[i].own;
        uint64_t inside = args->counted[i].inside;
        out[count].self = out[count].value - (inside < out[count].value ? inside : out[count].value);
        count++;
    }
    return count;
}

static void free_args(struct interval_nest *nest, uint32_t args)
{
    if (args)
        nest->free_args.items[nest->free_args.count++] = args - 1;
}

/* ---- leaving for the sink ---- */

static uint64_t away_at(const struct interval_nest *nest, int64_t at_ns)
{
    return nest->away_ns + (nest->is_away ? between(nest->away_since_ns, at_ns) : 0);
}

static uint64_t active_of(const struct interval_nest *nest, const struct nest_item *item,
                          int64_t end_ns)
{
    uint64_t wall = between(item->start_ns, end_ns);
    uint64_t away = away_at(nest, end_ns) - item->away_ns;
    uint64_t active =
        item->active_ns == PROFILE_UNKNOWN ? wall - (away < wall ? away : wall) : item->active_ns;
    return active < wall ? active : wall;
}

static uint64_t self_of(const struct nest_item *item, uint64_t active_ns)
{
    if (item->self_ns != PROFILE_UNKNOWN)
        return item->self_ns < active_ns ? item->self_ns : active_ns;
    return active_ns - (item->children_ns < active_ns ? item->children_ns : active_ns);
}

/* What an interval's parent is without. Where children were picked on their own, one that is there may stand for others
 * that lie outside of this parent, and others that were not picked may lie between: only self times add up. */
static uint64_t taken_from_parent(const struct nest_item *item, uint64_t active_ns)
{
    if (item->self_ns == PROFILE_UNKNOWN)
        return active_ns;
    return add_capped(times_capped(self_of(item, active_ns), item->weight), item->children_ns);
}

/* Of one that stands alone: an empty one crosses nothing. */
static uint32_t chain_number(const struct interval_nest *nest, const struct nest_chain *chain,
                             bool is_empty)
{
    return chain ? (uint32_t)(chain - nest->chains.items) : is_empty ? 0 : PROFILE_CHAIN_NONE;
}

/* Tells the sink of an interval, inside what is under way in the chain; of a complete one with what its children left to it. */
static int tell(struct interval_nest *nest, const struct nest_item *item,
                const struct nest_chain *chain, int64_t end_ns, uint64_t active_ns, bool is_complete)
{
    nest->totals.intervals++;
    nest->totals.open += (item->flags & PROFILE_INTERVAL_OPEN) != 0;
    nest->totals.backward += (item->flags & PROFILE_INTERVAL_BACKWARD) != 0;
    nest->totals.overlapping += (item->flags & PROFILE_INTERVAL_OVERLAPS) != 0;
    if (!nest->sink->ops->interval)
        return LAM_OK;
    const struct nest_args *args = item->args ? &nest->args.items[item->args - 1] : NULL;
    uint64_t self_ns = self_of(item, active_ns);
    struct profile_counted counted[PROFILE_COUNTERS_MAX];
    size_t counted_count = find_counted(args, counted);
    struct profile_interval out = {
        .process = nest->process,
        .thread = item->thread,
        .track = nest->track,
        .label = item->label,
        .path = item->path,
        .start_ns = item->start_ns,
        .end_ns = end_ns,
        .active_ns = active_ns,
        .self_ns = is_complete ? self_ns : PROFILE_UNKNOWN,
        .children = is_complete ? item->children : PROFILE_UNKNOWN,
        .depth = chain ? (uint32_t)chain->items.count : 0,
        .weight = item->weight,
        .chain = chain_number(nest, chain, item->start_ns == end_ns),
        .flags = item->flags,
        .end_thread = item->end_thread,
        .args = args ? args->texts.items : NULL,
        .argc = args ? args->texts.count : 0,
        .args_id = item->args_id,
        .counted = counted_count ? counted : NULL,
        .counted_count = counted_count,
    };
    return nest->sink->ops->interval(nest->sink->ctx, &out);
}

static bool is_start_order(const struct interval_nest *nest)
{
    return nest->sink->wants.order == PROFILE_ORDER_START;
}

/* ---- chains ---- */

static struct nest_item *top_of(struct nest_chain *chain)
{
    return chain->items.count ? &array_last(&chain->items) : NULL;
}

static bool has_ancestor(const struct nest_chain *chain, uint32_t label)
{
    size_t count = chain->labels.count;
    size_t near = count < NEAR_ANCESTORS ? count : NEAR_ANCESTORS;
    uint32_t same = 0;
    for (size_t i = 0; i < near; i++)
        same |= chain->labels.items[i] == label;
    return same || (count > NEAR_ANCESTORS && map_get_or(&chain->deep, label, 0) > 0);
}

static int chain_push(struct nest_chain *chain, const struct nest_item *item)
{
    if (array_push(&chain->items, *item) < 0)
        return LAM_E_NOMEM;
    if (chain->labels.count >= NEAR_ANCESTORS) {
        uint64_t *times = map_slot(&chain->deep, item->label, 0, NULL);
        if (!times) {
            chain->items.count--;
            return LAM_E_NOMEM;
        }
        ++*times;
    }
    if (array_push(&chain->labels, item->label) < 0) {
        chain->items.count--;
        return LAM_E_NOMEM;
    }
    return LAM_OK;
}

/* Takes the innermost one off; it has ended. */
static int chain_pop(struct interval_nest *nest, struct nest_chain *chain, int64_t end_ns)
{
    struct nest_item item = array_pop(&chain->items);
    chain->labels.count = chain->items.count;
    if (chain->items.count >= NEAR_ANCESTORS) {
        uint64_t *times = map_slot(&chain->deep, item.label, 1, NULL);
        if (times && *times > 0)
            --*times;
    }
    uint64_t active_ns = active_of(nest, &item, end_ns);
    struct nest_item *parent = top_of(chain);
    if (parent) {
        parent->children += item.weight;
        if (!item.is_in_call)
            parent->children_ns =
                add_capped(parent->children_ns, taken_from_parent(&item, active_ns));
    }
    int rc = parent ? pass_counted(nest, &item, parent) : LAM_OK;
    if (rc >= 0 && !is_start_order(nest))
        rc = tell(nest, &item, chain, end_ns, active_ns, true);
    free_args(nest, item.args);
    return rc;
}

/* Takes off all that ended at `until_ns` or before it. */
static int pop_ended(struct interval_nest *nest, int64_t until_ns)
{
    int rc = LAM_OK;
    for (size_t i = 0; i < nest->chain_count; i++) {
        struct nest_chain *chain = &nest->chains.items[i];
        const struct nest_item *top;
        while (rc >= 0 && (top = top_of(chain)) && top->end_ns <= until_ns)
            rc = chain_pop(nest, chain, top->end_ns);
    }
    while (nest->chain_count > 1 && !nest->chains.items[nest->chain_count - 1].items.count)
        nest->chain_count--;
    return rc;
}

/* Sets *out to the chain whose innermost interval holds [start, end] most closely, where there is one. *cut: one that does
 * not hold it is under way. All that ended before start is gone, and everything there began at or before start. */
static bool find_holder(struct interval_nest *nest, int64_t start_ns, int64_t end_ns,
                        struct nest_chain **out, bool *cut)
{
    bool is_found = false;
    uint64_t best_wall = UINT64_MAX;
    *cut = false;
    for (size_t i = 0; i < nest->chain_count; i++) {
        const struct nest_item *top = top_of(&nest->chains.items[i]);
        if (!top)
            continue;
        bool is_inside = end_ns > start_ns ? end_ns <= top->end_ns
                                           : top->start_ns < start_ns && start_ns < top->end_ns;
        if (!is_inside) {
            *cut = true;
            continue;
        }
        uint64_t wall = between(top->start_ns, top->end_ns);
        if (!is_found || wall < best_wall) {
            *out = &nest->chains.items[i];
            is_found = true;
            best_wall = wall;
        }
    }
    return is_found;
}

/* A chain with nothing on it. 1: found; 0: all are in use; LAM_E_NOMEM. */
static int free_chain(struct interval_nest *nest, struct nest_chain **out)
{
    size_t i = 0;
    while (i < nest->chain_count && nest->chains.items[i].items.count)
        i++;
    if (i == INTERVAL_NEST_CHAINS)
        return 0;
    if (i == nest->chains.count && !array_add(&nest->chains))
        return LAM_E_NOMEM;
    if (i == nest->chain_count)
        nest->chain_count++;
    *out = &nest->chains.items[i];
    return 1;
}

/* Of an interval inside the innermost one of a chain (NULL: of none). */
static int step_into(struct interval_nest *nest, struct nest_chain *chain, struct nest_item *item)
{
    const struct nest_item *top = chain ? top_of(chain) : NULL;
    if (!nest->sink->wants.paths)
        return LAM_OK;
    uint32_t around = item->is_in_call ? item->call_path : top ? top->path : 0;
    return interval_paths_step(nest->paths, nest->sink, around, item->label, &item->path);
}

/* The innermost interval's path is known from here on, also where the sink wants no more than those of folds. */
static int make_path(struct interval_nest *nest, struct nest_chain *chain)
{
    size_t known = chain->items.count;
    while (known && !chain->items.items[known - 1].path)
        known--;
    int rc = LAM_OK;
    for (size_t i = known; rc >= 0 && i < chain->items.count; i++) {
        struct nest_item *item = &chain->items.items[i];
        uint32_t around = item->is_in_call ? item->call_path : i ? item[-1].path : 0;
        rc = interval_paths_step(nest->paths, nest->sink, around, item->label, &item->path);
    }
    return rc;
}

/* The folds in `parent`, whose path is known; around: it is on that chain, or inside of its innermost (NULL: of none). */
static int tell_folds(struct interval_nest *nest, const struct nest_chain *around,
                      struct nest_item *parent)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < parent->fold_count; i++) {
        struct profile_fold fold = parent->folds[i];
        uint32_t path;
        parent->children = add_capped(parent->children, fold.count);
        parent->children_ns = add_capped(parent->children_ns, fold.self_ns);
        if (!fold.count)
            continue;
        if (fold.label == parent->label || (around && has_ancestor(around, fold.label)))
            fold.total_ns = 0; /* of outermost calls only */
        rc = interval_paths_step(nest->paths, nest->sink, parent->path, fold.label, &path);
        if (rc >= 0)
            rc = interval_nest_fold_at(nest, &fold, path);
    }
    return rc;
}

static int tell_folds_alone(struct interval_nest *nest, struct nest_chain *chain,
                            struct nest_item *item)
{
    int rc = chain ? make_path(nest, chain) : LAM_OK;
    uint32_t around = item->is_in_call ? item->call_path : chain ? top_of(chain)->path : 0;
    if (rc >= 0)
        rc = interval_paths_step(nest->paths, nest->sink, around, item->label, &item->path);
    return rc < 0 ? rc : tell_folds(nest, chain, item);
}

/* One that stands alone: empty, detached, or one overlap too many. */
static int tell_alone(struct interval_nest *nest, struct nest_chain *chain, struct nest_item *item)
{
    int rc = item->fold_count ? tell_folds_alone(nest, chain, item) : step_into(nest, chain, item);
    if (rc < 0)
        return rc;
    uint64_t active_ns = active_of(nest, item, item->end_ns);
    return tell(nest, item, chain, item->end_ns, active_ns, !is_start_order(nest));
}

static int place_empty(struct interval_nest *nest, struct nest_item *item)
{
    bool cut;
    int rc = pop_ended(nest, item->start_ns);
    struct nest_chain *chain = NULL;
    if (find_holder(nest, item->start_ns, item->end_ns, &chain, &cut)) {
        top_of(chain)->children += item->weight;
        if (has_ancestor(chain, item->label))
            item->flags |= PROFILE_INTERVAL_RECURSIVE;
    }
    return rc < 0 ? rc : tell_alone(nest, chain, item);
}

/* It leaves at once in the order of starts; else it waits for its end. */
static int place_on(struct interval_nest *nest, struct nest_chain *chain, struct nest_item *item)
{
    if (has_ancestor(chain, item->label))
        item->flags |= PROFILE_INTERVAL_RECURSIVE;
    item->away_ns = away_at(nest, item->start_ns);
    int rc = step_into(nest, chain, item);
    if (rc >= 0 && is_start_order(nest)) {
        rc = tell(nest, item, chain, item->end_ns, active_of(nest, item, item->end_ns), false);
        free_args(nest, item->args);
        item->args = 0;
    }
    if (rc >= 0)
        rc = chain_push(chain, item);
    if (rc < 0 || !item->fold_count)
        return rc;
    rc = make_path(nest, chain);
    return rc < 0 ? rc : tell_folds(nest, chain, top_of(chain));
}

static int place(struct interval_nest *nest, struct nest_item *item)
{
    bool cut;
    int rc = pop_ended(nest, item->start_ns);
    if (rc < 0)
        return rc;
    struct nest_chain *chain = NULL;
    if (find_holder(nest, item->start_ns, item->end_ns, &chain, &cut))
        return place_on(nest, chain, item);
    if (cut)
        item->flags |= PROFILE_INTERVAL_OVERLAPS;
    rc = free_chain(nest, &chain);
    if (rc != 0)
        return rc < 0 ? rc : place_on(nest, chain, item);
    if (item->end_ns == INTERVAL_NEST_OPEN)
        item->end_ns = nest->last_ns;
    rc = tell_alone(nest, NULL, item);
    free_args(nest, item->args);
    return rc;
}

/* ---- what comes in ---- */

static int compare_pending(const void *left, const void *right)
{
    const struct nest_item *a = left, *b = right;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

static int place_pending(struct interval_nest *nest)
{
    array_sort(&nest->pending, compare_pending);
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < nest->pending.count; i++)
        rc = place(nest, &nest->pending.items[i]);
    array_clear(&nest->pending);
    return rc;
}

/* Everything that began before at_ns is placed. */
static int settle(struct interval_nest *nest, int64_t at_ns)
{
    if (at_ns > nest->last_ns)
        nest->last_ns = at_ns;
    return interval_nest_settle(nest, at_ns);
}

int interval_nest_settle(struct interval_nest *nest, int64_t at_ns)
{
    return nest->pending.count && nest->pending.items[0].start_ns < at_ns ? place_pending(nest)
                                                                          : LAM_OK;
}

static int tell_detached(struct interval_nest *nest, struct nest_item *item)
{
    if (item->end_ns == INTERVAL_NEST_OPEN)
        item->end_ns = nest->last_ns > item->start_ns ? nest->last_ns : item->start_ns;
    item->away_ns = away_at(nest, item->end_ns); /* it does not pause with the lane */
    return tell_alone(nest, NULL, item);
}

static int add(struct interval_nest *nest, const struct profile_interval *in,
               const struct profile_fold *folds, size_t fold_count, const uint32_t *call_path)
{
    struct nest_item item = {
        .start_ns = in->start_ns,
        .end_ns = in->end_ns,
        .active_ns = in->active_ns,
        .self_ns = in->self_ns,
        .folds = folds,
        .fold_count = fold_count,
        .label = in->label,
        .args_id = in->args_id,
        .weight = in->weight ? in->weight : 1,
        .flags = in->flags & (PROFILE_INTERVAL_OPEN | PROFILE_INTERVAL_DETACHED |
                              PROFILE_INTERVAL_BACKWARD | PROFILE_INTERVAL_RECURSIVE),
        .thread = in->thread,
        .end_thread = in->end_thread,
        .call_path = call_path ? *call_path : 0,
        .is_in_call = call_path != NULL,
    };
    if (item.end_ns < item.start_ns)
        item.flags |= PROFILE_INTERVAL_BACKWARD;
    if (item.end_ns == INTERVAL_NEST_OPEN)
        item.flags |= PROFILE_INTERVAL_OPEN;
    if (item.start_ns < nest->now_ns) {
        nest->totals.clamped++;
        item.start_ns = nest->now_ns;
    }
    nest->now_ns = item.start_ns;
    if (item.end_ns == INTERVAL_NEST_OPEN && is_start_order(nest)) /* its caller does not know */
        item.end_ns = nest->last_ns;
    if (item.end_ns < item.start_ns)
        item.end_ns = item.start_ns;
    int rc = settle(nest, item.start_ns);
    if (item.end_ns > nest->last_ns && item.end_ns != INTERVAL_NEST_OPEN)
        nest->last_ns = item.end_ns;
    if (rc < 0 || (rc = keep_args(nest, in, &item.args)) < 0)
        return rc;
    bool is_detached = (item.flags & PROFILE_INTERVAL_DETACHED) != 0;
    if (!is_detached && item.end_ns > item.start_ns) {
        item.sequence = (uint32_t)nest->pending.count;
        rc = array_push(&nest->pending, item);
        if (rc < 0)
            free_args(nest, item.args);
        return rc;
    }
    rc = is_detached ? tell_detached(nest, &item) : place_empty(nest, &item);
    free_args(nest, item.args);
    return rc;
}

int interval_nest_add(struct interval_nest *nest, const struct profile_interval *in)
{
    return add(nest, in, NULL, 0, NULL);
}

int interval_nest_add_folded(struct interval_nest *nest, const struct profile_interval *in,
                             const struct profile_fold *folds, size_t fold_count)
{
    return add(nest, in, folds, fold_count, NULL);
}

int interval_nest_add_in_call(struct interval_nest *nest, const struct profile_interval *in,
                              const struct profile_fold *folds, size_t fold_count, uint32_t call_path)
{
    return add(nest, in, folds, fold_count, &call_path);
}

int interval_nest_instant(struct interval_nest *nest, const struct profile_instant *in)
{
    struct profile_instant out = *in;
    out.process = nest->process;
    out.track = nest->track;
    if (out.at_ns < nest->now_ns) {
        nest->totals.clamped++;
        out.at_ns = nest->now_ns;
    }
    nest->now_ns = out.at_ns;
    int rc = settle(nest, out.at_ns);
    nest->totals.instants++;
    if (rc < 0 || !nest->sink->ops->instant)
        return rc;
    if (!nest->sink->wants.args) {
        out.args = NULL;
        out.argc = 0;
    }
    return nest->sink->ops->instant(nest->sink->ctx, &out);
}

int interval_nest_fold_at(struct interval_nest *nest, const struct profile_fold *in, uint32_t path)
{
    struct profile_fold out = *in;
    out.process = nest->process;
    out.track = nest->track;
    out.path = path;
    nest->totals.folds++;
    return nest->sink->ops->fold ? nest->sink->ops->fold(nest->sink->ctx, &out) : LAM_OK;
}

int interval_nest_leave(struct interval_nest *nest, int64_t at_ns)
{
    if (nest->is_away)
        return LAM_OK;
    int rc = settle(nest, at_ns);
    if (rc >= 0)
        rc = pop_ended(nest, at_ns);
    nest->is_away = true;
    nest->away_since_ns = at_ns;
    return rc;
}

int interval_nest_return(struct interval_nest *nest, int64_t at_ns)
{
    if (!nest->is_away)
        return LAM_OK;
    int rc = settle(nest, at_ns);
    if (rc >= 0)
        rc = pop_ended(nest, at_ns);
    nest->away_ns = away_at(nest, at_ns);
    nest->is_away = false;
    return rc;
}

/* ---- a lane ---- */

void interval_nest_begin(struct interval_nest *nest, const struct profile_sink *sink,
                         struct interval_paths *paths, uint32_t process, uint32_t track)
{
    nest->sink = sink;
    nest->paths = paths;
    nest->process = process;
    nest->track = track;
    nest->now_ns = nest->last_ns = INT64_MIN;
    nest->away_ns = 0;
    nest->is_away = false;
}

int interval_nest_path_at(struct interval_nest *nest, int64_t at_ns, uint32_t *path)
{
    *path = 0;
    int rc = interval_nest_settle(nest, at_ns);
    if (rc < 0)
        return rc;
    const struct nest_chain *chain = nest->chain_count ? &nest->chains.items[0] : NULL;
    for (size_t i = chain ? chain->items.count : 0; i-- > 0;)
        if (chain->items.items[i].end_ns > at_ns) { /* those inside have ended, and wait to be told */
            *path = chain->items.items[i].path;
            break;
        }
    return LAM_OK;
}

int interval_nest_finish(struct interval_nest *nest, int64_t last_ns)
{
    if (last_ns > nest->last_ns)
        nest->last_ns = last_ns;
    int rc = place_pending(nest);
    if (rc >= 0)
        rc = pop_ended(nest, nest->last_ns);
    for (size_t i = 0; rc >= 0 && i < nest->chain_count; i++) {
        while (rc >= 0 && nest->chains.items[i].items.count)
            rc = chain_pop(nest, &nest->chains.items[i], nest->last_ns);
    }
    for (size_t i = 0; i < nest->chain_count; i++) {
        struct nest_chain *chain = &nest->chains.items[i];
        while (chain->items.count) /* after a failure */
            free_args(nest, array_pop(&chain->items).args);
        array_clear(&chain->labels);
        map_clear(&chain->deep);
    }
    nest->chain_count = 0;
    return rc;
}

void interval_nest_free(struct interval_nest *nest)
{
    array_each(&nest->chains, chain)
    {
        array_free(&chain->items);
        array_free(&chain->labels);
        map_free(&chain->deep);
    }
    array_free(&nest->chains);
    array_free(&nest->pending);
    array_each(&nest->args, args)
    {
        array_free(&args->texts);
        array_free(&args->offsets);
        strbuf_free(&args->bytes);
    }
    array_free(&nest->args);
    array_free(&nest->free_args);
    *nest = (struct interval_nest){0};
}
