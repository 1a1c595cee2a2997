#include "input/profdata_part.h"

#include "base/memory.h"

enum {
    AHEAD = 24, /* events whose names are fetched before they are needed; the steps of their texts are */
    AHEAD_ARGUMENT = 10,
    EVENTS_A_LOOK = 256, /* told between looks at what else there is to do */
};

#define HAS_ARGS (UINT32_C(1) << 31) /* in flags, beside enum profile_interval_flag */

struct open_interval {
    uint64_t start, end, id;
    uint32_t label, flags;
};

struct profdata_part_lane { /* of a thread, as struct profdata_lane: each lies inside the one below */
    LAM_ARRAY(struct open_interval) stack;
    uint64_t last;
    /* In the order of starts: so many of the innermost end at this time, which is not put down yet. An empty interval at the same
     * time stands beside them, whichever of them the file has first. */
    uint64_t ending;
    uint32_t ending_count;
};

enum step { STEP_BEGIN, STEP_END, STEP_INSTANT, STEP_INTEGER };

struct profdata_part_step {
    struct open_interval item; /* of an instant its time, and an integer's value as its end */
    uint32_t lane;
    enum step step;
};

/* ---- telling ---- */

static int tell_args(struct profdata_part *part, uint64_t id)
{
    struct profile_interval *told = &part->told;
    told->args_id = id + 1;
    int rc = profdata_walk_args(&part->walk, id, told->args_id, &told->args, &told->argc);
    told->has_plain_args = part->walk.has_plain_args;
    return rc;
}

static int tell_interval(struct profdata_part *part, uint32_t lane_index,
                         const struct open_interval *item)
{
    const struct profdata_walk *walk = &part->walk;
    struct profile_interval *told = &part->told;
    told->thread = told->end_thread = walk->first_thread + lane_index;
    told->label = item->label;
    told->start_ns = profdata_walk_time(walk, item->start);
    told->end_ns = profdata_walk_time(walk, item->end);
    told->active_ns = item->end - item->start;
    told->flags = item->flags & ~HAS_ARGS;
    part->walk.totals.intervals++;
    if (__builtin_expect(!(item->flags & HAS_ARGS), 1))
        return part->branch->interval(part->branch->ctx, told);
    int rc = tell_args(part, item->id);
    if (rc >= 0)
        rc = part->branch->interval(part->branch->ctx, told);
    told->args_id = told->argc = 0;
    return rc;
}

static int tell_instant(struct profdata_part *part, uint32_t lane_index,
                        const struct open_interval *item, bool has_value)
{
    const struct profdata_walk *walk = &part->walk;
    struct profile_instant told = {
        .process = walk->process,
        .thread = walk->first_thread + lane_index,
        .label = item->label,
        .at_ns = profdata_walk_time(walk, item->start),
        .has_value = has_value,
        .is_undated = has_value,
        .value = has_value ? item->end : 0,
        .args_id = item->flags & HAS_ARGS ? item->id + 1 : 0,
    };
    int rc = profdata_walk_args(&part->walk, item->id, told.args_id, &told.args, &told.argc);
    part->walk.totals.instants++;
    return rc < 0 ? rc : part->branch->instant(part->branch->ctx, &told);
}

static int tell_end(struct profdata_part *part, uint32_t lane_index, uint64_t end)
{
    const struct profdata_walk *walk = &part->walk;
    return part->branch->interval_end(part->branch->ctx, walk->process,
                                      walk->first_thread + lane_index, profdata_walk_time(walk, end));
}

static int tell_step(struct profdata_part *part, const struct profdata_part_step *step)
{
    switch (step->step) {
    case STEP_BEGIN:
        return tell_interval(part, step->lane, &step->item);
    case STEP_END:
        return tell_end(part, step->lane, step->item.end);
    case STEP_INSTANT:
    case STEP_INTEGER:
        break;
    }
    return tell_instant(part, step->lane, &step->item, step->step == STEP_INTEGER);
}

static int tell_steps(struct profdata_part *part)
{
    int rc = LAM_OK;
    for (size_t i = part->steps.count; rc >= 0 && i-- > 0;) {
        rc = tell_step(part, &part->steps.items[i]);
        if (rc >= 0 && part->between && i % EVENTS_A_LOOK == 0)
            rc = part->between(part->ctx);
    }
    array_clear(&part->steps);
    return rc;
}

/* ---- nesting ---- */

static int put_step(struct profdata_part *part, uint32_t lane_index,
                    const struct open_interval *item, enum step step)
{
    return array_push(&part->steps, ((struct profdata_part_step){*item, lane_index, step}));
}

static int put_ends(struct profdata_part *part, uint32_t lane_index)
{
    struct profdata_part_lane *lane = &part->lanes[lane_index];
    struct open_interval item = {.end = lane->ending};
    int rc = LAM_OK;
    for (; rc >= 0 && lane->ending_count; lane->ending_count--)
        rc = put_step(part, lane_index, &item, STEP_END);
    return rc;
}

/* What began at `end` or later: nothing that is still to come lies in it. Told at once, the outer one of those with the same times first;
 * or put down, the inner ones first. */
static inline int finish_before(struct profdata_part *part, uint32_t lane_index, uint64_t end)
{
    struct profdata_part_lane *lane = &part->lanes[lane_index];
    const struct open_interval *items = lane->stack.items;
    size_t count = lane->stack.count;
    int rc = LAM_OK;
    while (rc >= 0 && count && items[count - 1].start >= end) {
        const struct open_interval *top = &items[count - 1];
        size_t first = count - 1;
        if (part->is_forward) {
            rc = put_step(part, lane_index, top, STEP_BEGIN);
            count = first;
            continue;
        }
        while (first > 0 && items[first - 1].start == top->start && items[first - 1].end == top->end)
            first--;
        for (size_t i = first; rc >= 0 && i < count; i++)
            rc = tell_interval(part, lane_index, &items[i]);
        count = first;
    }
    lane->stack.count = count;
    return rc;
}

/* An empty one: it holds nothing. */
static int add_empty(struct profdata_part *part, uint32_t lane_index, const struct open_interval *item)
{
    if (!part->is_forward)
        return tell_interval(part, lane_index, item);
    int rc = put_step(part, lane_index, item, STEP_END);
    return rc < 0 ? rc : put_step(part, lane_index, item, STEP_BEGIN);
}

static inline int add_interval(struct profdata_part *part, struct profdata_event event,
                               uint32_t lane_index, struct profdata_part_lane *lane,
                               const struct profdata_found *found)
{
    uint32_t flags = profdata_mend_backward(&event) ? (uint32_t)PROFILE_INTERVAL_BACKWARD : 0;
    flags |= found->has_args && part->walk.sink->wants.args ? HAS_ARGS : 0;
    int rc = lane->ending_count && lane->ending != event.end ? put_ends(part, lane_index) : LAM_OK;
    if (rc >= 0)
        rc = finish_before(part, lane_index, event.end);
    if (rc < 0)
        return rc;
    lane->last = event.end;
    struct open_interval item = {event.start, event.end, event.id, found->label, flags};
    if (event.start == event.end) {
        part->walk.totals.backward += flags & PROFILE_INTERVAL_BACKWARD ? 1 : 0;
        return add_empty(part, lane_index, &item);
    }
    lane->ending = event.end;
    lane->ending_count += part->is_forward;
    return array_push(&lane->stack, item);
}

static int add_instant(struct profdata_part *part, const struct profdata_event *event,
                       uint32_t lane_index, struct profdata_part_lane *lane,
                       const struct profdata_found *found)
{
    bool has_value = event->end == PROFDATA_INTEGER;
    if (!has_value)
        lane->last = event->start;
    struct open_interval item = {
        .start = lane->last,
        .end = event->start,
        .id = event->id,
        .label = found->label,
        .flags = found->has_args && !has_value && part->walk.sink->wants.args ? HAS_ARGS : 0,
    };
    if (!part->is_forward)
        return tell_instant(part, lane_index, &item, has_value);
    int rc =
        put_ends(part, lane_index); /* it is in what ends at its time, and before what begins later */
    if (rc >= 0 && !has_value)
        rc = finish_before(part, lane_index, item.start + 1);
    return rc < 0 ? rc : put_step(part, lane_index, &item, has_value ? STEP_INTEGER : STEP_INSTANT);
}

static inline void fetch_texts(struct profdata_part *part, const uint8_t *at, uint64_t count,
                               bool is_wide)
{
    static const struct {
        unsigned ahead;
        enum profdata_fetch step;
    } steps[] = {{AHEAD, PROFDATA_FETCH_PLACE}, {AHEAD_ARGUMENT, PROFDATA_FETCH_ARGUMENT}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (count < steps[i].ahead)
            continue;
        const struct profdata_event event =
            profdata_event_read(at - steps[i].ahead * (is_wide ? 32 : 24), is_wide);
        if (event.end != PROFDATA_INTEGER)
            profdata_args_fetch(&part->strings, event.id, steps[i].step);
    }
}

static inline __attribute__((always_inline)) int walk_run(struct profdata_part *part,
                                                          const uint8_t *bytes, uint64_t count,
                                                          bool is_wide)
{
    size_t size = is_wide ? 32 : 24;
    bool has_texts = part->strings.virtual_arguments != NULL;
    int rc = LAM_OK;
    while (rc >= 0 && count-- > 0) {
        const uint8_t *at = bytes + count * size;
        struct profdata_found found;
        if (count >= AHEAD)
            profdata_strings_prefetch(&part->strings,
                                      profdata_event_read(at - AHEAD * size, is_wide).id);
        if (has_texts)
            fetch_texts(part, at, count, is_wide);
        struct profdata_event event = profdata_event_read(at, is_wide);
        uint32_t lane_index = profdata_thread_index(&part->threads, event.thread);
        if (lane_index == PROFDATA_NO_THREAD)
            continue;
        rc = profdata_find(&part->finder, event.kind, event.id, &found);
        if (rc < 0)
            break;
        struct profdata_part_lane *lane = &part->lanes[lane_index];
        rc = profdata_is_interval(&event) ? add_interval(part, event, lane_index, lane, &found)
                                          : add_instant(part, &event, lane_index, lane, &found);
    }
    return rc;
}

static int walk_range(struct profdata_part *part, uint64_t first, uint64_t end)
{
    const struct profdata_file *file = part->walk.file;
    int rc = LAM_OK;
    while (rc >= 0 && end > first) {
        struct profdata_run run;
        profdata_run_at(file, end - 1, &run);
        uint64_t from = run.first > first ? run.first : first;
        from = end - from > EVENTS_A_LOOK ? end - EVENTS_A_LOOK : from;
        const uint8_t *bytes = run.bytes + (from - run.first) * file->event_bytes;
        rc = file->is_wide ? walk_run(part, bytes, end - from, true)
                           : walk_run(part, bytes, end - from, false);
        if (rc >= 0 && part->between)
            rc = part->between(part->ctx);
        end = from;
    }
    return rc;
}

/* ---- a part ---- */

static int enter_node(struct profdata_part *part, uint32_t lane_index,
                      const struct profdata_node *entered)
{
    struct profdata_found found;
    int rc = profdata_find(&part->finder, entered->kind, entered->id, &found);
    if (rc < 0)
        return rc;
    uint32_t flags = found.has_args && part->walk.sink->wants.args ? HAS_ARGS : 0;
    return array_push(
        &part->lanes[lane_index].stack,
        ((struct open_interval){entered->start, entered->end, entered->id, found.label, flags}));
}

static int enter_part(struct profdata_part *part, size_t chunk)
{
    const struct profdata_skeleton *skeleton = part->skeleton;
    const struct profdata_thread *threads = part->threads.items.items;
    size_t before = chunk * skeleton->threads;
    int rc = LAM_OK;
    for (uint32_t i = 0; i < skeleton->threads; i++) {
        uint64_t after = skeleton->afters[before + i];
        part->lanes[i].last = after != UINT64_MAX ? after : threads[i].end;
        part->lanes[i].ending_count = 0;
        array_clear(&part->lanes[i].stack);
        if (rc >= 0)
            rc = profdata_skeleton_enter(skeleton, chunk, i, &part->nodes);
        for (size_t k = 0; rc >= 0 && k < part->nodes.count; k++)
            rc = enter_node(part, i, part->nodes.items[k]);
    }
    return rc;
}

/* What reaches on into earlier parts is theirs to tell. */
static int leave_part(struct profdata_part *part, size_t chunk)
{
    const struct profdata_skeleton *skeleton = part->skeleton;
    size_t before = (chunk - 1) * skeleton->threads; /* of what is read for a part behind another */
    int rc = LAM_OK;
    for (uint32_t i = 0; rc >= 0 && i < skeleton->threads; i++) {
        rc = put_ends(part, i);
        if (rc >= 0)
            rc = finish_before(part, i, chunk ? skeleton->ends[before + i] : 0);
    }
    if (rc >= 0 && part->is_forward)
        rc = tell_steps(part);
    return rc < 0 ? rc : part->branch->end(part->branch->ctx);
}

int profdata_part_tell(struct profdata_part *part, size_t chunk)
{
    uint64_t size = part->skeleton->chunk_events, events = profdata_event_count(part->walk.file);
    uint64_t first = chunk * size, end = events - first < size ? events : first + size;
    part->walk.totals = (struct nest_totals){.intervals = 0};
    part->file.faults = (struct profdata_faults){.code = LAM_OK};
    array_clear(&part->steps);
    int rc = enter_part(part, chunk);
    if (rc >= 0)
        rc = walk_range(part, first, end);
    return rc < 0 ? rc : leave_part(part, chunk);
}

/* ---- life ---- */

int profdata_part_open(struct profdata_part *part, const struct profdata_walk *walk,
                       struct profdata_shared_labels *shared)
{
    static const struct profile_sink_ops no_ops;
    part->skeleton = &walk->skeleton;
    part->is_forward = walk->sink->wants.order == PROFILE_ORDER_START;
    part->sink = (struct profile_sink){.ops = &no_ops, .wants = walk->sink->wants};
    part->file = *walk->file;
    part->file.faults_of = NULL;
    profdata_strings_share(&part->strings, walk->strings, shared->lock, &part->file);
    part->threads = *walk->threads; /* borrowed: items and map are only read */
    part->finder.shared = shared;
    part->finder.faults = &part->file.faults;
    part->walk = (struct profdata_walk){
        .sink = &part->sink,
        .file = &part->file,
        .strings = &part->strings,
        .threads = &part->threads,
        .process = walk->process,
        .first_thread = walk->first_thread,
        .zero_ns = walk->zero_ns,
    };
    part->told = (struct profile_interval){.process = walk->process,
                                           .weight = 1,
                                           .self_ns = PROFILE_UNKNOWN,
                                           .children = PROFILE_UNKNOWN};
    part->lanes = mem_zalloc(walk->skeleton.threads + 1, sizeof *part->lanes);
    return part->lanes ? LAM_OK : LAM_E_NOMEM;
}

void profdata_part_close(struct profdata_part *part)
{
    if (!part->skeleton)
        return;
    for (size_t i = 0; part->lanes && i < part->skeleton->threads; i++)
        array_free(&part->lanes[i].stack);
    mem_free(part->lanes);
    array_free(&part->nodes);
    array_free(&part->steps);
    profdata_finder_free(&part->finder);
    profdata_strings_unshare(&part->strings);
    profdata_walk_free(&part->walk);
    *part =
        (struct profdata_part){.branch = part->branch, .between = part->between, .ctx = part->ctx};
}
