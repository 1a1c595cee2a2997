#include "input/joined_inputs.h"

#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "input/interval_nest.h"
#include "input/label_merge.h"
#include "reader/stream_file.h"

/* What the first look at a part finds; texts are not kept. */
struct part_start {
    struct profile_session session;
    bool is_known;
};

struct joined_numbers {
    uint32_t process, thread, track, module, frame, stack;
};

struct joined {
    const struct profile_sink *sink;
    struct label_merge label_ids;
    struct interval_paths paths;
    LAM_ARRAY(uint32_t) labels, path_ids; /* of the part that is read: its ids → ours */
    struct joined_numbers base,
        last;           /* numbers of the parts before this one; the last ones that were given */
    int64_t shift_ns;   /* from the part's times to ours */
    uint32_t recording; /* of the part, among those with samples */
    struct profile_session_end end;
};

/* ---- the first look ---- */

static int look_at_session(void *ctx, const struct profile_session *session)
{
    *(struct part_start *)ctx = (struct part_start){*session, true};
    return LAM_E_EXISTS; /* that is all */
}

static int look_at(const struct joined_part *part, struct part_start *start, struct lam_error *err)
{
    static const struct profile_sink_ops ops = {.session = look_at_session};
    struct profile_sink sink = {.ctx = start, .ops = &ops};
    struct lam_error own = LAM_ERROR_INIT;
    int rc = part->read(part, &sink, &own);
    if (start->is_known && rc == LAM_E_EXISTS)
        return LAM_OK;
    if (rc >= 0)
        return lam_error_set(err, LAM_E_CORRUPT, "%s: nothing in it", part->name);
    *err = own;
    return rc;
}

/* Samples are at times, whatever intervals count. */
static int check_parts(const struct joined_part *parts, const struct part_start *starts,
                       size_t count, struct lam_error *err)
{
    for (size_t i = 1; i < count; i++)
        if (starts[i].session.measure != starts[0].session.measure)
            return lam_error_set(err, LAM_E_UNSUPPORTED,
                                 "%s and %s count different things: they cannot be read as one",
                                 parts[0].name, parts[i].name);
    return LAM_OK;
}

/* ---- numbers ---- */

static uint32_t renumber(uint32_t base, uint32_t id, uint32_t *last)
{
    if (id == 0)
        return 0;
    if (base + id > *last)
        *last = base + id;
    return base + id;
}

#define PROCESS(joined, id) renumber((joined)->base.process, (id), &(joined)->last.process)
#define THREAD(joined, id)  renumber((joined)->base.thread, (id), &(joined)->last.thread)
#define TRACK(joined, id)   renumber((joined)->base.track, (id), &(joined)->last.track)
#define MODULE(joined, id)  renumber((joined)->base.module, (id), &(joined)->last.module)
#define FRAME(joined, id)   renumber((joined)->base.frame, (id), &(joined)->last.frame)
#define STACK(joined, id)   renumber((joined)->base.stack, (id), &(joined)->last.stack)

static uint32_t label_of(const struct joined *joined, uint32_t label)
{
    return label < joined->labels.count ? joined->labels.items[label] : 0;
}

static uint32_t path_of(const struct joined *joined, uint32_t path)
{
    return path < joined->path_ids.count ? joined->path_ids.items[path] : 0;
}

/* ---- the sink of a part ---- */

/* Hands on a copy in which the numbers were changed. */
#define PASS(joined, call, it) \
    ((joined)->sink->ops->call ? (joined)->sink->ops->call((joined)->sink->ctx, &(it)) : LAM_OK)

static int on_process(void *ctx, const struct profile_process *in)
{
    struct joined *joined = ctx;
    struct profile_process it = *in;
    it.process = PROCESS(joined, it.process);
    it.parent = PROCESS(joined, it.parent);
    it.previous = PROCESS(joined, it.previous);
    it.start_ns += joined->shift_ns;
    it.agent_start_ns += joined->shift_ns;
    return PASS(joined, process, it);
}

static int on_process_end(void *ctx, const struct profile_process_end *in)
{
    struct joined *joined = ctx;
    struct profile_process_end it = *in;
    it.process = PROCESS(joined, it.process);
    it.end_ns += joined->shift_ns;
    return PASS(joined, process_end, it);
}

static int on_module(void *ctx, const struct profile_module *in)
{
    struct joined *joined = ctx;
    struct profile_module it = *in;
    it.module = MODULE(joined, it.module);
    it.recording = joined->recording;
    it.mapped_at_ns += joined->shift_ns;
    return PASS(joined, module, it);
}

static int on_frame(void *ctx, const struct profile_frame *in)
{
    struct joined *joined = ctx;
    struct profile_frame it = *in;
    it.frame = FRAME(joined, it.frame);
    it.module = MODULE(joined, it.module);
    return PASS(joined, frame, it);
}

static int on_stack(void *ctx, const struct profile_stack *in)
{
    struct joined *joined = ctx;
    struct profile_stack it = *in;
    it.stack = STACK(joined, it.stack);
    it.parent = STACK(joined, it.parent);
    it.frame = FRAME(joined, it.frame);
    return PASS(joined, stack, it);
}

static int on_thread(void *ctx, const struct profile_thread *in)
{
    struct joined *joined = ctx;
    struct profile_thread it = *in;
    it.process = PROCESS(joined, it.process);
    it.thread = THREAD(joined, it.thread);
    it.start_ns += joined->shift_ns;
    return PASS(joined, thread, it);
}

static int on_thread_name(void *ctx, const struct profile_thread_name *in)
{
    struct joined *joined = ctx;
    struct profile_thread_name it = *in;
    it.thread = THREAD(joined, it.thread);
    it.at_ns += joined->shift_ns;
    return PASS(joined, thread_name, it);
}

static int on_thread_end(void *ctx, const struct profile_thread_end *in)
{
    struct joined *joined = ctx;
    struct profile_thread_end it = *in;
    it.thread = THREAD(joined, it.thread);
    it.end_ns += joined->shift_ns;
    return PASS(joined, thread_end, it);
}

static struct profile_sample sample_of(struct joined *joined, const struct profile_sample *in)
{
    struct profile_sample it = *in;
    it.process = PROCESS(joined, it.process);
    it.thread = THREAD(joined, it.thread);
    it.stack = STACK(joined, it.stack);
    it.at_ns += joined->shift_ns;
    return it;
}

static int on_sample(void *ctx, const struct profile_sample *in)
{
    struct joined *joined = ctx;
    struct profile_sample it = sample_of(joined, in);
    return PASS(joined, sample, it);
}

static int on_wait(void *ctx, const struct profile_wait *in)
{
    struct joined *joined = ctx;
    struct profile_wait it = *in;
    it.process = PROCESS(joined, it.process);
    it.thread = THREAD(joined, it.thread);
    it.stack = STACK(joined, it.stack);
    it.start_ns += joined->shift_ns;
    return PASS(joined, wait, it);
}

static int on_track(void *ctx, const struct profile_track *in)
{
    struct joined *joined = ctx;
    struct profile_track it = *in;
    it.process = PROCESS(joined, it.process);
    it.track = TRACK(joined, it.track);
    it.start_ns += joined->shift_ns;
    return PASS(joined, track, it);
}

static int on_notice(void *ctx, const struct profile_notice *in)
{
    struct joined *joined = ctx;
    struct profile_notice it = *in;
    it.process = PROCESS(joined, it.process);
    it.at_ns += joined->shift_ns;
    return PASS(joined, notice, it);
}

static int on_label(void *ctx, const struct profile_label *in)
{
    struct joined *joined = ctx;
    uint32_t kind = label_of(joined, in->kind), label;
    if (in->kind && !kind)
        return LAM_E_INVAL;
    int rc = label_merge_get(&joined->label_ids, kind, in->text.bytes ? in->text.bytes : "",
                             in->text.size, &label);
    if (rc >= 0 && in->label >= joined->labels.count)
        rc = array_resize(&joined->labels, (size_t)in->label + 1);
    if (rc >= 0)
        joined->labels.items[in->label] = label;
    return rc;
}

static int on_path(void *ctx, const struct profile_path *in)
{
    struct joined *joined = ctx;
    uint32_t path;
    int rc = interval_paths_step(&joined->paths, joined->sink, path_of(joined, in->parent),
                                 label_of(joined, in->label), &path);
    if (rc >= 0 && in->path >= joined->path_ids.count)
        rc = array_resize(&joined->path_ids, (size_t)in->path + 1);
    if (rc >= 0)
        joined->path_ids.items[in->path] = path;
    return rc;
}

static int on_sample_path(void *ctx, const struct profile_sample_path *in)
{
    struct joined *joined = ctx;
    struct profile_sample_path it = *in;
    it.sample = sample_of(joined, &in->sample);
    it.track = TRACK(joined, it.track);
    it.path = path_of(joined, it.path);
    return PASS(joined, sample_path, it);
}

static int on_interval(void *ctx, const struct profile_interval *in)
{
    struct joined *joined = ctx;
    struct profile_interval it = *in;
    it.process = PROCESS(joined, it.process);
    it.thread = THREAD(joined, it.thread);
    it.end_thread = THREAD(joined, it.end_thread);
    it.track = TRACK(joined, it.track);
    it.label = label_of(joined, it.label);
    it.path = path_of(joined, it.path);
    it.start_ns += joined->shift_ns;
    it.end_ns += joined->shift_ns;
    return PASS(joined, interval, it);
}

static int on_instant(void *ctx, const struct profile_instant *in)
{
    struct joined *joined = ctx;
    struct profile_instant it = *in;
    it.process = PROCESS(joined, it.process);
    it.thread = THREAD(joined, it.thread);
    it.track = TRACK(joined, it.track);
    it.label = label_of(joined, it.label);
    it.at_ns += joined->shift_ns;
    return PASS(joined, instant, it);
}

static int on_fold(void *ctx, const struct profile_fold *in)
{
    struct joined *joined = ctx;
    struct profile_fold it = *in;
    it.process = PROCESS(joined, it.process);
    it.thread = THREAD(joined, it.thread);
    it.track = TRACK(joined, it.track);
    it.label = label_of(joined, it.label);
    it.path = path_of(joined, it.path);
    it.at_ns += joined->shift_ns;
    it.until_ns += joined->shift_ns;
    return PASS(joined, fold, it);
}

static int on_sum(void *ctx, const struct profile_sum *in)
{
    struct joined *joined = ctx;
    struct profile_sum it = *in;
    it.process = PROCESS(joined, it.process);
    it.label = label_of(joined, it.label);
    return PASS(joined, sum, it);
}

static int on_thread_sum(void *ctx, const struct profile_thread_sum *in)
{
    struct joined *joined = ctx;
    struct profile_thread_sum it = *in;
    it.process = PROCESS(joined, it.process);
    it.thread = THREAD(joined, it.thread);
    it.start_ns += joined->shift_ns;
    it.end_ns += joined->shift_ns;
    return PASS(joined, thread_sum, it);
}

static bool knows_args(void *ctx, uint32_t process, uint64_t args_id)
{
    struct joined *joined = ctx;
    const struct profile_sink *sink = joined->sink;
    return sink->ops->knows_args &&
           sink->ops->knows_args(sink->ctx, PROCESS(joined, process), args_id);
}

/* Told once, when all parts have been read. */
static int on_session_end(void *ctx, const struct profile_session_end *in)
{
    struct profile_session_end *sum = &((struct joined *)ctx)->end;
    sum->streams += in->streams;
    sum->damaged_streams += in->damaged_streams;
    sum->unreadable_streams += in->unreadable_streams;
    sum->duplicate_streams += in->duplicate_streams;
    sum->lost_records += in->lost_records;
    sum->clamped_times += in->clamped_times;
    sum->overwritten_pages += in->overwritten_pages;
    sum->unbalanced_exits += in->unbalanced_exits;
    sum->refused_ends += in->refused_ends;
    sum->untold_calls += in->untold_calls;
    sum->cut_texts += in->cut_texts;
    sum->refused_recorders += in->refused_recorders;
    if (!sum->first_refusal[0])
        memcpy(sum->first_refusal, in->first_refusal, sizeof sum->first_refusal);
    for (size_t i = 0; i < sizeof sum->damage / sizeof *sum->damage; i++)
        sum->damage[i] += in->damage[i];
    profile_faults_join(&sum->faults, &in->faults, PROFILE_FAULTS_KEPT);
    if (!sum->session_damage[0])
        memcpy(sum->session_damage, in->session_damage, sizeof sum->session_damage);
    sum->self_profiles += in->self_profiles;
    sum->self_profile_events += in->self_profile_events;
    sum->intervals += in->intervals;
    sum->instants += in->instants;
    sum->open_intervals += in->open_intervals;
    sum->backward_intervals += in->backward_intervals;
    sum->overlapping_intervals += in->overlapping_intervals;
    return LAM_OK;
}

static struct profile_sink sink_of(struct joined *joined)
{
    static const struct profile_sink_ops ops = {
        .process = on_process,
        .process_end = on_process_end,
        .module = on_module,
        .frame = on_frame,
        .stack = on_stack,
        .thread = on_thread,
        .thread_name = on_thread_name,
        .thread_end = on_thread_end,
        .sample = on_sample,
        .sample_path = on_sample_path,
        .wait = on_wait,
        .track = on_track,
        .notice = on_notice,
        .label = on_label,
        .path = on_path,
        .interval = on_interval,
        .instant = on_instant,
        .fold = on_fold,
        .sum = on_sum,
        .thread_sum = on_thread_sum,
        .knows_args = knows_args,
        .session_end = on_session_end,
    };
    return (struct profile_sink){.ctx = joined, .ops = &ops, .wants = joined->sink->wants};
}

/* ---- all of them ---- */

/* The earliest start that is known; 0: none is. */
static int64_t earliest(const struct part_start *starts, size_t count)
{
    int64_t first = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t unix_ns = starts[i].session.started_at_unix_ns;
        if (unix_ns && (!first || unix_ns < first))
            first = unix_ns;
    }
    return first;
}

/* Counts of something else than time have no common zero. */
static int64_t shift_of(const struct part_start *start, int64_t zero_ns)
{
    bool has_zero =
        start->session.measure == PROFILE_MEASURE_TIME && start->session.started_at_unix_ns;
    return has_zero ? start->session.started_at_unix_ns - zero_ns : 0;
}

/* From the earliest start to the last end; PROFILE_UNKNOWN where one of them does not know its own. */
static uint64_t elapsed_of_all(const struct part_start *starts, size_t count, int64_t zero_ns)
{
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t elapsed = starts[i].session.elapsed_ns;
        if (elapsed == PROFILE_UNKNOWN)
            return PROFILE_UNKNOWN;
        elapsed += (uint64_t)shift_of(&starts[i], zero_ns);
        most = elapsed > most ? elapsed : most;
    }
    return most;
}

/* An account of CPU time, a command and a machine are each one's own: of all of them there is none. How was sampled is said as
 * the first one says it. */
static int push_session(const struct joined *joined, const struct part_start *starts, size_t count,
                        int64_t zero_ns)
{
    struct profile_session session = {
        .command = "",
        .directory = "",
        .started_at_unix_ns = zero_ns,
        .elapsed_ns = elapsed_of_all(starts, count, zero_ns),
        .charged_cpu_ns = PROFILE_UNKNOWN,
        .exit_code = -1,
        .complete = true,
        .measure = starts[0].session.measure,
        .engine = STREAM_ENGINE_NONE,
    };
    for (size_t i = 0; i < count; i++) {
        const struct profile_session *part = &starts[i].session;
        session.complete = session.complete && part->complete;
        session.has_intervals = session.has_intervals || part->has_intervals;
        if (part->has_samples && !session.has_samples) {
            session.has_samples = true;
            session.engine = part->engine;
            session.kernel_mode = part->kernel_mode;
            session.rate_hz = part->rate_hz;
            session.rate_auto = part->rate_auto;
        }
    }
    return PASS(joined, session, session);
}

static int read_parts(struct joined *joined, const struct joined_part *parts,
                      const struct part_start *starts, size_t count, struct lam_error *err)
{
    const int64_t zero_ns = earliest(starts, count);
    int rc = push_session(joined, starts, count, zero_ns);
    for (size_t i = 0; rc >= 0 && i < count; i++) {
        struct profile_sink sink = sink_of(joined);
        joined->base = joined->last;
        joined->recording = parts[i].recording;
        joined->shift_ns = shift_of(&starts[i], zero_ns);
        array_clear(&joined->labels);
        array_clear(&joined->path_ids);
        rc = parts[i].read(&parts[i], &sink, err);
    }
    joined->end.unidentified_cpu_ns = PROFILE_UNKNOWN;
    return rc < 0 ? rc : PASS(joined, session_end, joined->end);
}

int joined_inputs_read(const struct joined_part *parts, size_t count,
                       const struct profile_sink *sink, struct lam_error *err)
{
    struct lam_error own = LAM_ERROR_INIT;
    err = err ? err : &own;
    struct joined joined = {.sink = sink, .label_ids = {.sink = sink}};
    struct part_start *starts = mem_zalloc(count + 1, sizeof *starts);
    int rc = LAM_OK;
    if (!starts)
        return lam_error_set(err, LAM_E_NOMEM, "inputs: out of memory");
    for (size_t i = 0; rc >= 0 && i < count; i++)
        rc = look_at(&parts[i], &starts[i], err);
    if (rc >= 0)
        rc = check_parts(parts, starts, count, err);
    if (rc >= 0)
        rc = read_parts(&joined, parts, starts, count, err);
    mem_free(starts);
    label_merge_free(&joined.label_ids);
    interval_paths_free(&joined.paths);
    array_free(&joined.labels);
    array_free(&joined.path_ids);
    return rc < 0 ? rc : LAM_OK;
}
