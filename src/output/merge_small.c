#include "output/merge_small.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"

/* Our own labels come first, those of the input are moved up. */
enum { LABEL_KIND = 1, LABEL_MERGED = 2, LABELS_OWN = 2 };

/* A merged interval is at most this many times as long as what is merged: the picture keeps its shape. */
enum { SPAN_TIMES = 16 };

struct merge_open {
    int64_t end_ns;
    uint32_t depth;
    uint64_t serial;
};

/* What was merged and not yet passed on. */
struct merge_run {
    bool is_active;
    int64_t start_ns, end_ns;
    uint64_t parent; /* serial of the interval around it; 0: none */
    uint32_t depth, chain, flags;
    uint64_t intervals, instants, active_ns;
    struct profile_interval first; /* passed on as it is if nothing joins it */
    struct strbuf texts;           /* its arguments' bytes, one behind the other */
    LAM_ARRAY(struct profile_text) args;
};

struct merge_place {
    bool is_known;
    uint32_t process, thread, track;
    LAM_ARRAY(struct merge_open) open; /* intervals that were passed on */
    struct merge_run run, beside;
    struct profile_sample sample; /* with merged samples; count 0: none */
    uint64_t samples;
};

struct merge_stack {
    uint32_t parent, depth;
};

struct merge_small {
    struct profile_sink to;
    uint64_t min_ns;
    bool merges_all;
    bool has_labels;
    uint64_t serial;
    LAM_ARRAY(struct merge_place) threads, tracks;
    LAM_ARRAY(struct merge_stack) stacks;
    struct merge_counts counts;
    struct duration_counts *durations; /* NULL */
    const struct byteout *out;         /* NULL: there is no limit */
    uint64_t most_bytes;
    struct merge_progress progress;
};

#define GROW(array, id) ((id) < (array)->count ? LAM_OK : array_resize((array), (size_t)(id) + 1))
#define PASS(merge, member, event) \
    ((merge)->to.ops->member ? (merge)->to.ops->member((merge)->to.ctx, (event)) : LAM_OK)

/* ---- what is only passed on ---- */

#define PASS_ON(member, type)                                   \
    static int on_##member(void *ctx, const struct type *event) \
    {                                                           \
        struct merge_small *merge = ctx;                        \
        return PASS(merge, member, event);                      \
    }

PASS_ON(session, profile_session)
PASS_ON(process, profile_process)
PASS_ON(module, profile_module)
PASS_ON(frame, profile_frame)
PASS_ON(thread, profile_thread)
PASS_ON(thread_name, profile_thread_name)
PASS_ON(wait, profile_wait)
PASS_ON(track, profile_track)
PASS_ON(notice, profile_notice)

static int push_own_labels(struct merge_small *merge)
{
    static const struct profile_label labels[] = {
        {.label = LABEL_KIND, .text = {"Merged", 6}},
        {.label = LABEL_MERGED, .kind = LABEL_KIND, .text = {"(merged)", 8}},
    };
    if (merge->has_labels)
        return LAM_OK;
    merge->has_labels = true;
    int rc = PASS(merge, label, &labels[0]);
    return rc < 0 ? rc : PASS(merge, label, &labels[1]);
}

static int on_label(void *ctx, const struct profile_label *label)
{
    struct merge_small *merge = ctx;
    struct profile_label moved = *label;
    moved.label += LABELS_OWN;
    moved.kind += label->kind ? LABELS_OWN : 0;
    return PASS(merge, label, &moved);
}

static int on_stack(void *ctx, const struct profile_stack *stack)
{
    struct merge_small *merge = ctx;
    if (GROW(&merge->stacks, stack->stack) < 0)
        return LAM_E_NOMEM;
    uint32_t parent = stack->parent < stack->stack ? stack->parent : 0;
    merge->stacks.items[stack->stack] =
        (struct merge_stack){parent, merge->stacks.items[parent].depth + 1};
    return PASS(merge, stack, stack);
}

static int on_fold(void *ctx, const struct profile_fold *fold)
{
    struct merge_small *merge = ctx;
    struct profile_fold moved = *fold;
    moved.label += LABELS_OWN;
    return PASS(merge, fold, &moved);
}

/* ---- runs ---- */

static int place_of(struct merge_small *merge, uint32_t process, uint32_t thread, uint32_t track,
                    struct merge_place **place)
{
    if (track ? GROW(&merge->tracks, track) < 0 : GROW(&merge->threads, thread) < 0)
        return LAM_E_NOMEM;
    *place = track ? &merge->tracks.items[track] : &merge->threads.items[thread];
    if (!(*place)->is_known)
        **place = (struct merge_place){
            .is_known = true, .process = process, .thread = thread, .track = track};
    return LAM_OK;
}

static void begin_run(struct merge_run *run, int64_t start_ns, uint64_t parent, uint32_t depth)
{
    run->is_active = true;
    run->start_ns = run->end_ns = start_ns;
    run->parent = parent;
    run->depth = depth;
    run->chain = run->flags = 0;
    run->intervals = run->instants = run->active_ns = 0;
}

static int keep_first(struct merge_run *run, const struct profile_interval *interval)
{
    run->first = *interval;
    run->flags = interval->flags & (PROFILE_INTERVAL_DETACHED | PROFILE_INTERVAL_OVERLAPS);
    if (interval->chain) { /* it may leave late, when its chain has gone on without it */
        run->chain = run->first.chain = PROFILE_CHAIN_NONE;
        run->depth = run->first.depth = 0;
    }
    strbuf_clear(&run->texts);
    array_clear(&run->args);
    for (size_t i = 0; i < interval->argc; i++) {
        strbuf_add_bytes(&run->texts, interval->args[i].bytes, interval->args[i].size);
        if (array_push(&run->args, interval->args[i]) < 0)
            return LAM_E_NOMEM;
    }
    return strbuf_ok(&run->texts) ? LAM_OK : LAM_E_NOMEM;
}

static int push_first(struct merge_small *merge, struct merge_run *run)
{
    const char *text = strbuf_text(&run->texts);
    array_each(&run->args, arg)
    {
        arg->bytes = text;
        text += arg->size;
    }
    run->first.label += LABELS_OWN;
    run->first.args = run->args.items;
    return PASS(merge, interval, &run->first);
}

/* What leaves before its end, since an instant lies in it, is around what comes until then. */
static int keep_open(struct merge_small *merge, struct merge_place *place,
                     const struct merge_run *run, int64_t now_ns)
{
    struct merge_open opened = {run->end_ns, run->depth, ++merge->serial};
    return run == &place->run && run->end_ns > now_ns ? array_push(&place->open, opened) : LAM_OK;
}

static int push_run(struct merge_small *merge, struct merge_place *place, struct merge_run *run,
                    int64_t now_ns)
{
    if (!run->is_active)
        return LAM_OK;
    run->is_active = false;
    if (keep_open(merge, place, run, now_ns) < 0)
        return LAM_E_NOMEM;
    if (run->intervals == 1 && !run->instants)
        return push_first(merge, run);
    int rc = push_own_labels(merge);
    if (rc < 0)
        return rc;
    char what[96];
    uint64_t count = run->intervals + run->instants;
    int size = snprintf(what, sizeof what, "%llu interval%s, %llu instant%s, %s in all",
                        (unsigned long long)run->intervals, unit_plural(run->intervals),
                        (unsigned long long)run->instants, unit_plural(run->instants),
                        unit_seconds((double)run->active_ns / 1e9).text);
    struct profile_text arg = {what, size > 0 ? (size_t)size : 0};
    struct profile_interval merged = {
        .process = place->process,
        .thread = place->thread,
        .track = place->track,
        .label = LABEL_MERGED,
        .start_ns = run->start_ns,
        .end_ns = run->end_ns,
        .active_ns = run->active_ns,
        .self_ns = PROFILE_UNKNOWN,
        .children = PROFILE_UNKNOWN,
        .depth = run->depth,
        .chain = run->chain,
        .weight = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count,
        .flags = run->flags,
        .end_thread = place->thread,
        .args = merge->to.wants.args ? &arg : NULL,
        .argc = merge->to.wants.args ? 1 : 0,
    };
    merge->counts.intervals += run->intervals;
    merge->counts.instants += run->instants;
    merge->counts.into++;
    return PASS(merge, interval, &merged);
}

/* Closes what has ended, and says what is around something that starts then. */
static uint64_t parent_at(struct merge_place *place, int64_t start_ns, uint32_t depth)
{
    while (place->open.count) {
        const struct merge_open *top = &array_last(&place->open);
        if (top->end_ns > start_ns || (top->end_ns == start_ns && top->depth < depth))
            return top->serial;
        (void)array_pop(&place->open);
    }
    return 0;
}

/* Whether something that starts then goes into the run; time is what may lie between. */
static bool continues(const struct merge_small *merge, const struct merge_run *run,
                      int64_t start_ns, int64_t end_ns, uint64_t parent)
{
    if (!run->is_active || run->parent != parent)
        return false;
    if (start_ns < run->end_ns)
        return true; /* inside what is merged already */
    return (uint64_t)(start_ns - run->end_ns) <= merge->min_ns &&
           (uint64_t)(end_ns - run->start_ns) / SPAN_TIMES <= merge->min_ns;
}

/* Not in the thread's own row. */
static bool is_beside(const struct profile_interval *interval)
{
    return interval->chain || interval->flags & PROFILE_INTERVAL_DETACHED;
}

static int merge_into(struct merge_small *merge, struct merge_place *place, struct merge_run *run,
                      const struct profile_interval *interval, uint64_t parent)
{
    if (!continues(merge, run, interval->start_ns, interval->end_ns, parent)) {
        int rc = push_run(merge, place, run, interval->start_ns);
        if (rc < 0)
            return rc;
        begin_run(run, interval->start_ns, parent, interval->depth);
        rc = keep_first(run, interval);
        if (rc < 0)
            return rc;
    }
    run->intervals++;
    run->active_ns += interval->start_ns >= run->end_ns ? interval->active_ns : 0;
    run->end_ns = interval->end_ns > run->end_ns ? interval->end_ns : run->end_ns;
    return LAM_OK;
}

static int pass_interval(struct merge_small *merge, struct merge_place *place,
                         const struct profile_interval *interval)
{
    struct profile_interval moved = *interval;
    moved.label += LABELS_OWN;
    if (!is_beside(interval)) {
        (void)parent_at(place, interval->start_ns, interval->depth);
        struct merge_open opened = {interval->end_ns, interval->depth, ++merge->serial};
        if (array_push(&place->open, opened) < 0)
            return LAM_E_NOMEM;
    }
    return PASS(merge, interval, &moved);
}

/* MORE: it is passed on. LAM_OK: it was one too many. LAM_E_TOOBIG. */
enum { MORE = 1 };

static int count(struct merge_small *merge, uint64_t ns)
{
    merge->progress.events++;
    if (merge->durations)
        duration_counts_add(merge->durations, ns);
    if (!merge->out || byteout_offset(merge->out) <= merge->most_bytes)
        return MORE;
    if (!merge->progress.before_full)
        merge->progress.before_full = merge->progress.events;
    return merge->durations ? LAM_OK : LAM_E_TOOBIG;
}

static int on_interval(void *ctx, const struct profile_interval *interval)
{
    struct merge_small *merge = ctx;
    struct merge_place *place;
    int rc = count(merge, (uint64_t)(interval->end_ns - interval->start_ns));
    if (rc != MORE)
        return rc;
    rc = place_of(merge, interval->process, interval->thread, interval->track, &place);
    if (rc < 0)
        return rc;
    if ((uint64_t)(interval->end_ns - interval->start_ns) >= merge->min_ns) {
        rc = push_run(merge, place, &place->run, interval->start_ns);
        return rc < 0 ? rc : pass_interval(merge, place, interval);
    }
    if (is_beside(interval))
        return merge_into(merge, place, &place->beside, interval, 0);
    uint64_t parent = parent_at(place, interval->start_ns, interval->depth);
    return merge_into(merge, place, &place->run, interval, parent);
}

static int on_instant(void *ctx, const struct profile_instant *instant)
{
    struct merge_small *merge = ctx;
    struct merge_place *place;
    int rc = count(merge, 0);
    if (rc != MORE)
        return rc;
    rc = place_of(merge, instant->process, instant->thread, instant->track, &place);
    if (rc < 0)
        return rc;
    if (merge->merges_all) {
        struct merge_run *run = &place->run;
        uint64_t parent = parent_at(place, instant->at_ns, UINT32_MAX);
        if (!continues(merge, run, instant->at_ns, instant->at_ns, parent)) {
            rc = push_run(merge, place, run, instant->at_ns);
            begin_run(run, instant->at_ns, parent, (uint32_t)place->open.count);
        }
        run->end_ns = instant->at_ns > run->end_ns ? instant->at_ns : run->end_ns;
        run->instants++;
        return rc;
    }
    struct profile_instant moved = *instant;
    moved.label += LABELS_OWN;
    rc = push_run(merge, place, &place->run, instant->at_ns);
    return rc < 0 ? rc : PASS(merge, instant, &moved);
}

/* ---- samples ---- */

static uint32_t common_stack(const struct merge_small *merge, uint32_t a, uint32_t b)
{
    const struct merge_stack *stacks = merge->stacks.items;
    if (a >= merge->stacks.count || b >= merge->stacks.count)
        return 0;
    while (a != b) { /* the deeper one goes outwards; [0] has depth 0 */
        if (stacks[a].depth >= stacks[b].depth)
            a = stacks[a].parent;
        else
            b = stacks[b].parent;
    }
    return a;
}

static int push_sample(struct merge_small *merge, struct merge_place *place)
{
    if (!place->samples)
        return LAM_OK;
    if (place->samples > 1) {
        merge->counts.samples += place->samples;
        merge->counts.into++;
    }
    place->samples = 0;
    return PASS(merge, sample, &place->sample);
}

static int on_sample(void *ctx, const struct profile_sample *sample)
{
    struct merge_small *merge = ctx;
    struct merge_place *place;
    int rc = count(merge, sample->cpu_ns);
    if (rc != MORE)
        return rc;
    if (!merge->merges_all)
        return PASS(merge, sample, sample);
    rc = place_of(merge, sample->process, sample->thread, 0, &place);
    if (rc < 0)
        return rc;
    if (!place->samples++) {
        place->sample = *sample;
    } else {
        uint32_t merged = (uint32_t)place->sample.merged + sample->merged;
        place->sample.stack = common_stack(merge, place->sample.stack, sample->stack);
        place->sample.cpu_ns += sample->cpu_ns;
        place->sample.late_ns += sample->late_ns;
        place->sample.merged = (uint16_t)(merged > UINT16_MAX ? UINT16_MAX : merged);
        if (!(sample->flags & PROFILE_SAMPLE_CLOSING))
            place->sample.flags &= (uint16_t)~PROFILE_SAMPLE_CLOSING;
    }
    return place->sample.cpu_ns >= merge->min_ns ? push_sample(merge, place) : LAM_OK;
}

/* ---- ends ---- */

static int push_place(struct merge_small *merge, struct merge_place *place)
{
    int rc = push_run(merge, place, &place->run, INT64_MAX);
    if (rc == LAM_OK)
        rc = push_run(merge, place, &place->beside, INT64_MAX);
    return rc < 0 ? rc : push_sample(merge, place);
}

static int on_thread_end(void *ctx, const struct profile_thread_end *ended)
{
    struct merge_small *merge = ctx;
    int rc = LAM_OK;
    if (ended->thread < merge->threads.count)
        rc = push_place(merge, &merge->threads.items[ended->thread]);
    return rc < 0 ? rc : PASS(merge, thread_end, ended);
}

static int push_places(struct merge_small *merge, uint32_t process)
{
    int rc = LAM_OK;
    for (size_t i = 0; i < merge->threads.count && rc == LAM_OK; i++) {
        if (!process || merge->threads.items[i].process == process)
            rc = push_place(merge, &merge->threads.items[i]);
    }
    for (size_t i = 0; i < merge->tracks.count && rc == LAM_OK; i++) {
        if (!process || merge->tracks.items[i].process == process)
            rc = push_place(merge, &merge->tracks.items[i]);
    }
    return rc;
}

static int on_process_end(void *ctx, const struct profile_process_end *ended)
{
    struct merge_small *merge = ctx;
    int rc = push_places(merge, ended->process);
    return rc < 0 ? rc : PASS(merge, process_end, ended);
}

static int on_session_end(void *ctx, const struct profile_session_end *ended)
{
    struct merge_small *merge = ctx;
    int rc = push_places(merge, 0);
    return rc < 0 ? rc : PASS(merge, session_end, ended);
}

static const struct profile_sink_ops merge_ops = {
    .session = on_session,
    .process = on_process,
    .module = on_module,
    .frame = on_frame,
    .stack = on_stack,
    .thread = on_thread,
    .thread_name = on_thread_name,
    .sample = on_sample,
    .wait = on_wait,
    .track = on_track,
    .label = on_label,
    .interval = on_interval,
    .instant = on_instant,
    .fold = on_fold,
    .thread_end = on_thread_end,
    .notice = on_notice,
    .process_end = on_process_end,
    .session_end = on_session_end,
};

int merge_small_open(struct merge_small **merge, const struct profile_sink *to, uint64_t min_ns,
                     bool merges_all, struct lam_error *err)
{
    struct merge_small *made = mem_zalloc(1, sizeof *made);
    *merge = made;
    if (!made || array_resize(&made->stacks, 1) < 0) {
        merge_small_close(merge);
        return lam_error_set(err, LAM_E_NOMEM, "export: out of memory");
    }
    made->to = *to;
    made->min_ns = min_ns;
    made->merges_all = merges_all;
    return LAM_OK;
}

void merge_small_count(struct merge_small *merge, struct duration_counts *durations)
{
    merge->durations = durations;
}

void merge_small_limit(struct merge_small *merge, const struct byteout *out, uint64_t most_bytes)
{
    merge->out = out;
    merge->most_bytes = most_bytes;
}

struct merge_progress merge_small_progress(const struct merge_small *merge)
{
    return merge->progress;
}

struct profile_sink merge_small_sink(struct merge_small *merge)
{
    struct profile_wants wants = merge->to.wants;
    wants.order = PROFILE_ORDER_START;
    wants.path_sums = false;
    return (struct profile_sink){.ctx = merge, .ops = &merge_ops, .wants = wants};
}

struct merge_counts merge_small_counts(const struct merge_small *merge)
{
    return merge->counts;
}

static void free_run(struct merge_run *run)
{
    strbuf_free(&run->texts);
    array_free(&run->args);
}

static void free_place(struct merge_place *place)
{
    array_free(&place->open);
    free_run(&place->run);
    free_run(&place->beside);
}

void merge_small_close(struct merge_small **merge)
{
    if (!merge || !*merge)
        return;
    array_each(&(*merge)->threads, thread) free_place(thread);
    array_each(&(*merge)->tracks, track) free_place(track);
    array_free(&(*merge)->threads);
    array_free(&(*merge)->tracks);
    array_free(&(*merge)->stacks);
    mem_free(*merge);
    *merge = NULL;
}
