#include "input/read_recording.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "input/process_threads.h"
#include "input/recording.h"
#include "input/recording_profiles.h"
#include "input/recording_usage.h"
#include "input/stack_merge.h"
#include "reader/stream_names.h"
#include "reader/stream_walk.h"

struct pusher {
    struct recording *rec;
    const struct profile_sink *sink;
    struct stack_merge merge;
    struct label_merge labels;
    struct interval_paths paths;
    struct profile_pusher profiles;
    uint32_t threads, tracks; /* ids given so far */
    struct profile_session_end totals;
};

static struct profile_text text_of(struct recording_text text)
{
    return (struct profile_text){text.bytes ? text.bytes : "", text.size};
}

/* ---- session ---- */

static uint32_t engine_of_most(const struct recording *rec)
{
    uint32_t counts[STREAM_ENGINE_NONE + 1] = {0};
    uint32_t best = STREAM_ENGINE_NONE, most = 0;
    for (size_t i = 0; i < rec->images.count; i++) {
        const struct image *image = &rec->images.items[i];
        if (image->has_config && image->engine < STREAM_ENGINE_NONE &&
            ++counts[image->engine] > most) {
            most = counts[image->engine];
            best = image->engine;
        }
    }
    return best;
}

static const struct image *first_with_config(const struct recording *rec)
{
    for (size_t i = 0; i < rec->images.count; i++) {
        if (rec->images.items[i].has_config && rec->images.items[i].engine != STREAM_ENGINE_NONE)
            return &rec->images.items[i];
    }
    return NULL;
}

static const struct image *first_with_events(const struct recording *rec)
{
    for (size_t i = 0; i < rec->images.count; i++) {
        if (rec->images.items[i].has_events)
            return &rec->images.items[i];
    }
    return NULL;
}

enum profile_measure recording_measure(uint32_t measure)
{
    switch (measure) {
    case STREAM_MEASURE_TICKS:
        return PROFILE_MEASURE_TIME;
    case STREAM_MEASURE_CPU_TIME:
        return PROFILE_MEASURE_CPU_TIME;
    case STREAM_MEASURE_INSTRUCTIONS:
        return PROFILE_MEASURE_INSTRUCTIONS;
    case STREAM_MEASURE_INSTRUCTIONS_MINUS_IRQS:
        return PROFILE_MEASURE_INSTRUCTIONS_MINUS_IRQS;
    case STREAM_MEASURE_CYCLES:
        return PROFILE_MEASURE_CYCLES;
    default:
        return PROFILE_MEASURE_OTHER;
    }
}

static void command_text(const struct recording *rec, struct strbuf *out)
{
    const struct session_texts *command = &rec->session.command;
    for (size_t i = 0; i < command->count; i++) {
        strbuf_add(out, i ? " " : "");
        strbuf_add_shell_quoted(out, command->items[i], strlen(command->items[i]));
    }
    if (command->count || !rec->images.count)
        return;
    struct recording_text argv = rec->images.items[0].argv;
    for (size_t at = 0; at < argv.size;) {
        size_t size = strnlen(argv.bytes + at, argv.size - at);
        strbuf_add(out, at ? " " : "");
        strbuf_add_shell_quoted(out, argv.bytes + at, size);
        at += size + 1;
    }
}

static int push_session(struct pusher *pusher)
{
    const struct recording *rec = pusher->rec;
    const struct session_json *session = &rec->session;
    if (!pusher->sink->ops->session)
        return LAM_OK;
    struct strbuf command = {0};
    command_text(rec, &command);
    const struct image *sampled = first_with_config(rec), *recorded = first_with_events(rec);
    double rate_hz = session->rate_hz;
    if (isnan(rate_hz))
        rate_hz = sampled && sampled->period_ns[0] ? 1e9 / sampled->period_ns[0] : 0;
    struct profile_session told = {
        .command = strbuf_text(&command),
        .directory = rec->path,
        .tool_version = session->tool_version,
        .host = session->machine.host,
        .started_at_unix_ns = rec->zero_wall_ns,
        .elapsed_ns = session->elapsed_ns,
        .charged_cpu_ns = session->charged_cpu_ns,
        .exit_code = (int)session->exit_code,
        .complete = session->is_complete,
        .has_samples = sampled != NULL,
        .has_intervals = recorded != NULL || rec->profiles.count > 0,
        .measure = recorded ? recording_measure(recorded->measure) : PROFILE_MEASURE_TIME,
        .engine = engine_of_most(rec),
        .kernel_mode = sampled ? sampled->kernel_mode : session->kernel_mode,
        .rate_hz = rate_hz > 0 && rate_hz < 1e9 ? (uint32_t)lrint(rate_hz) : 0,
        .rate_auto = session->rate_auto,
        .cores = session->machine.cores == PROFILE_UNKNOWN ? 0 : (uint32_t)session->machine.cores,
        .self_profile = session->self_profile.events     ? session->self_profile.events
                        : session->self_profile.is_asked ? ""
                                                         : NULL,
        .rustc_bootstrap = session->self_profile.bootstrap,
        .session_json = rec->session_path,
    };
    int rc = strbuf_ok(&command) ? pusher->sink->ops->session(pusher->sink->ctx, &told) : LAM_E_NOMEM;
    strbuf_free(&command);
    return rc;
}

/* ---- process ---- */

static enum profile_sampled sampled_how(const struct image *image)
{
    if (!image->path)
        return PROFILE_SAMPLED_NO;
    return image->has_config && image->engine != STREAM_ENGINE_NONE ? PROFILE_SAMPLED_YES
                                                                    : PROFILE_SAMPLED_ACCOUNT_ONLY;
}

static size_t count_args(struct recording_text argv)
{
    size_t count = 0;
    for (size_t i = 0; i < argv.size; i++)
        count += argv.bytes[i] == '\0';
    return count + (argv.size > 0 && argv.bytes[argv.size - 1] != '\0');
}

static struct profile_text *split_args(struct recording_text argv, size_t count)
{
    struct profile_text *args = mem_zalloc(count + 1, sizeof *args);
    size_t at = 0;
    for (size_t i = 0; args && i < count; i++) {
        size_t size = strnlen(argv.bytes + at, argv.size - at);
        args[i] = (struct profile_text){argv.bytes + at, size};
        at += size + 1;
    }
    return args;
}

static int push_process(const struct pusher *pusher, const struct image *image)
{
    const struct recording *rec = pusher->rec;
    if (!pusher->sink->ops->process)
        return LAM_OK;
    size_t argc = count_args(image->argv);
    struct profile_text *argv = split_args(image->argv, argc);
    if (!argv)
        return LAM_E_NOMEM;
    const struct image *parent = image->parent == NO_INDEX ? NULL : &rec->images.items[image->parent];
    const struct image *previous =
        image->previous == NO_INDEX ? NULL : &rec->images.items[image->previous];
    uint64_t startup =
        image->exec_cpu_ns > image->image_cpu_ns ? image->exec_cpu_ns - image->image_cpu_ns : 0;
    struct profile_process process = {
        .process = image->process,
        .pid = image->pid,
        .ppid = image->ppid,
        .parent = parent ? parent->process : 0,
        .previous = previous ? previous->process : 0,
        .start_ns = image->start_ns,
        .agent_start_ns = image->agent_start_ns,
        .exe = text_of(image->exe),
        .cwd = text_of(image->cwd),
        .comm = text_of(image->comm),
        .argv = argv,
        .argc = argc,
        .argv_cut = image->argv_cut,
        .stream = image->path ? image->name : NULL,
        .kernel_start = image->kernel_start,
        .sampled = sampled_how(image),
        .why_not = image->why_not,
        .startup_cpu_ns = image->path ? startup : PROFILE_UNKNOWN,
        .engine = image->engine,
        .kernel_mode = image->kernel_mode,
        .forked = (image->flags & STREAM_FLAG_FORK) != 0,
    };
    memcpy(process.period_ns, image->period_ns, sizeof process.period_ns);
    int rc = pusher->sink->ops->process(pusher->sink->ctx, &process);
    mem_free(argv);
    return rc;
}

static int64_t end_of_image(const struct recording *rec, const struct image *image,
                            const struct life *life)
{
    int64_t end_ns = image->last_ns;
    if (image->next != NO_INDEX)
        end_ns = rec->images.items[image->next].start_ns;
    else if (image->has_end)
        end_ns = image->end_ns;
    else if (life->is_running && rec->session.elapsed_ns != PROFILE_UNKNOWN)
        end_ns = (int64_t)rec->session.elapsed_ns;
    else if (life->has_exit)
        end_ns = life->exit_ns;
    return end_ns < image->start_ns ? image->start_ns : end_ns;
}

static void add_status(struct profile_process_end *end, const struct image *image,
                       const struct life *life)
{
    if (life->has_exit && WIFEXITED(life->status))
        end->exit_code = WEXITSTATUS(life->status);
    else if (life->has_exit && WIFSIGNALED(life->status))
        end->signal = WTERMSIG(life->status);
    else if (!life->has_exit && image->has_end)
        end->exit_code = image->end_code;
}

static int push_process_end(struct pusher *pusher, const struct image *image,
                            const struct stream_faults *faults, uint64_t clamped_times)
{
    const struct recording *rec = pusher->rec;
    const struct life *life = &rec->lives.items[image->life];
    struct profile_process_end end = {
        .process = image->process,
        .end_ns = end_of_image(rec, image, life),
        .exit_code = -1,
        .how = image->has_end            ? image->end_how
               : image->next != NO_INDEX ? (uint32_t)STREAM_END_EXEC
                                         : 0,
        .running = life->is_running && image->next == NO_INDEX,
        .has_usage = image->has_usage,
        .own = image->usage,
        .cpu_ns = image->cpu_ns,
        .tail_cpu_ns = image->tail_cpu_ns,
        .incomplete_records = faults->counts[STREAM_DAMAGE_RECORDS] +
                              faults->counts[STREAM_DAMAGE_NODES] +
                              faults->counts[STREAM_DAMAGE_GAPS],
        .is_damaged = stream_faults_are_damage(faults),
        .clamped_times = clamped_times,
    };
    if (image->next == NO_INDEX)
        add_status(&end, image, life);
    memcpy(end.lost, image->lost, sizeof end.lost);
    memcpy(end.damage, faults->counts, sizeof end.damage);
    for (unsigned i = 0; i < STREAM_LOSS_KINDS; i++)
        pusher->totals.lost_records += image->lost[i];
    for (unsigned i = 0; i < STREAM_DAMAGE_KINDS; i++)
        pusher->totals.damage[i] += faults->counts[i];
    pusher->totals.clamped_times += clamped_times;
    return pusher->sink->ops->process_end ? pusher->sink->ops->process_end(pusher->sink->ctx, &end)
                                          : LAM_OK;
}

static void note_damage(struct pusher *pusher, const struct image *image,
                        const struct stream_faults *faults)
{
    struct profile_faults of_stream = {0};
    pusher->totals.damaged_streams += stream_faults_are_damage(faults);
    for (unsigned i = 0; i < faults->kept; i++) {
        const struct stream_fault *fault = &faults->first[i];
        struct stream_faults one = {0};
        struct lam_error text;
        stream_faults_add(&one, fault->kind, fault->offset, fault->amount);
        if (!stream_faults_are_damage(&one))
            continue;
        lam_error_at(&text, LAM_E_CORRUPT, fault->offset, "%s: at byte %llu: %llu %s", image->name,
                     (unsigned long long)fault->offset, (unsigned long long)fault->amount,
                     stream_damage_text(fault->kind, fault->amount));
        profile_faults_add(&of_stream, text.msg);
    }
    profile_faults_join(&pusher->totals.faults, &of_stream, PROFILE_FAULTS_OF_ONE);
}

/* What the recorders of a process counted. */
static void add_counts(struct profile_session_end *totals, const uint64_t counts[STREAM_COUNT_KINDS])
{
    totals->overwritten_pages += counts[STREAM_COUNT_RECYCLED_PAGES];
    totals->unbalanced_exits += counts[STREAM_COUNT_UNBALANCED_EXITS];
    totals->refused_ends += counts[STREAM_COUNT_REPEATED_ENDS] + counts[STREAM_COUNT_FOREIGN_ENDS];
    totals->untold_calls += counts[STREAM_COUNT_UNTOLD_CALLS];
}

/* Threads, samples and events of the streams that could be opened. */
static int push_files(struct pusher *pusher, struct image *image,
                      const struct stream_file *const *files, size_t count,
                      struct stream_faults *faults, uint64_t *clamped)
{
    struct process_threads threads = {
        .sink = pusher->sink,
        .merge = &pusher->merge,
        .labels = &pusher->labels,
        .paths = &pusher->paths,
        .clock = &pusher->rec->clock,
        .process = image->process,
        .first_thread = pusher->threads + 1,
        .first_track = pusher->tracks + 1,
        .start_ns = image->start_ns,
        .last_ns = image->last_ns,
        .pid = image->pid,
        .main_before = image->main_before,
        .comm = text_of(image->comm),
        .faults = faults,
    };
    memcpy(threads.period_ns, image->period_ns, sizeof threads.period_ns);
    threads.has_engine = sampled_how(image) == PROFILE_SAMPLED_YES;
    int rc = process_threads_push(&threads, files, count);
    pusher->threads += threads.count;
    pusher->tracks += threads.tracks;
    pusher->totals.intervals += threads.totals.intervals;
    pusher->totals.instants += threads.totals.instants;
    pusher->totals.open_intervals += threads.totals.open;
    pusher->totals.backward_intervals += threads.totals.backward;
    pusher->totals.overlapping_intervals += threads.totals.overlapping;
    add_counts(&pusher->totals, threads.counts);
    if (threads.last_event_ns > image->last_ns)
        image->last_ns = threads.last_event_ns;
    *clamped = threads.clamped_times;
    return rc;
}

/* A stream that cannot be opened any more (it could a moment ago) is left out, and told. */
static int push_streams(struct pusher *pusher, struct image *image, struct stream_faults *faults,
                        uint64_t *clamped)
{
    LAM_ARRAY(struct stream_file *) files = {0};
    uint64_t lost_pages = file_lost_pages();
    int rc = array_reserve(&files, image->more.count + 1);
    for (size_t i = 0; rc >= 0 && i <= image->more.count; i++) {
        struct stream_file *file = NULL;
        rc = stream_open(&file, i ? image->more.items[i - 1] : image->path, NULL);
        if (rc >= 0)
            rc = array_push(&files, file);
        else if (rc != LAM_E_NOMEM) {
            stream_faults_add(faults, STREAM_DAMAGE_MISSING_BYTES, 0, 1);
            rc = LAM_OK;
        }
    }
    if (rc >= 0 && files.count)
        rc = push_files(pusher, image, (const struct stream_file *const *)files.items, files.count,
                        faults, clamped);
    array_each(&files, file)
    {
        stream_faults_merge(faults, &(*file)->faults);
        stream_close(file);
    }
    array_free(&files);
    if (file_lost_pages() != lost_pages) /* somebody cut a file while we read it */
        stream_faults_add(faults, STREAM_DAMAGE_MISSING_BYTES, 0,
                          (file_lost_pages() - lost_pages) * 4096);
    return rc;
}

static int push_image(struct pusher *pusher, struct image *image)
{
    struct stream_faults faults = {0};
    uint64_t clamped = 0;
    int rc = push_process(pusher, image);
    if (rc >= 0 && image->path)
        rc = push_streams(pusher, image, &faults, &clamped);
    if (rc >= 0)
        rc = recording_profiles_push(&pusher->profiles, pusher->rec, image);
    if (rc < 0)
        return rc;
    note_damage(pusher, image, &faults);
    return push_process_end(pusher, image, &faults, clamped);
}

/* ---- the whole ---- */

struct order {
    int64_t start_ns;
    uint32_t index;
};

static int compare_order(const void *left, const void *right)
{
    const struct order *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int push_session_end(struct pusher *pusher)
{
    const struct recording *rec = pusher->rec;
    struct profile_session_end *end = &pusher->totals;
    uint64_t charged = rec->session.charged_cpu_ns, known = recording_known_cpu_ns(rec);
    end->streams = rec->streams;
    end->unreadable_streams = rec->unreadable_streams;
    end->unidentified_cpu_ns = charged == PROFILE_UNKNOWN ? PROFILE_UNKNOWN
                               : charged > known          ? charged - known
                                                          : 0;
    end->duplicate_streams = rec->duplicate_streams;
    struct profile_faults of_streams = end->faults;
    end->faults = rec->faults;
    profile_faults_join(&end->faults, &of_streams, PROFILE_FAULTS_KEPT);
    end->refused_recorders = rec->refused_recorders;
    memcpy(end->first_refusal, rec->first_refusal, sizeof end->first_refusal);
    memcpy(end->session_damage, rec->session_damage, sizeof end->session_damage);
    return pusher->sink->ops->session_end ? pusher->sink->ops->session_end(pusher->sink->ctx, end)
                                          : LAM_OK;
}

static int push_all(struct pusher *pusher)
{
    struct recording *rec = pusher->rec;
    LAM_ARRAY(struct order) order = {0};
    int rc = LAM_OK;
    for (uint32_t i = 0; rc >= 0 && i < rec->images.count; i++)
        rc = array_push(&order, ((struct order){rec->images.items[i].start_ns, i}));
    array_sort(&order, compare_order);
    for (uint32_t i = 0; rc >= 0 && i < order.count; i++)
        rec->images.items[order.items[i].index].process = i + 1;
    if (rc >= 0)
        rc = push_session(pusher);
    for (size_t i = 0; rc >= 0 && i < order.count; i++)
        rc = push_image(pusher, &rec->images.items[order.items[i].index]);
    if (rc >= 0)
        rc = push_session_end(pusher);
    array_free(&order);
    return rc;
}

int read_recording(const char *path, const struct profile_sink *sink, struct lam_error *err)
{
    return read_recording_with(path, NULL, sink, err);
}

int read_recording_with(const char *path, const struct recording_more *more,
                        const struct profile_sink *sink, struct lam_error *err)
{
    struct recording rec;
    int rc = recording_gather(&rec, path, more, err);
    if (rc >= 0)
        rc = recording_link(&rec, err);
    if (rc >= 0 && (rc = recording_profiles_find(&rec)) < 0)
        lam_error_set(err, rc, "%s: %s", path, lam_code_text(rc));
    if (rc >= 0) {
        struct pusher pusher = {
            .rec = &rec, .sink = sink, .merge = {.sink = sink}, .labels = {.sink = sink}};
        pusher.profiles = (struct profile_pusher){.sink = sink,
                                                  .label_ids = &pusher.labels,
                                                  .paths = &pusher.paths,
                                                  .threads = &pusher.threads,
                                                  .totals = &pusher.totals};
        rc = push_all(&pusher);
        profile_pusher_free(&pusher.profiles);
        stack_merge_free(&pusher.merge);
        label_merge_free(&pusher.labels);
        interval_paths_free(&pusher.paths);
        if (rc < 0 && (!err || err->code >= 0)) /* else the sink has said it */
            lam_error_set(err, rc, "%s: %s", path, lam_code_text(rc));
    }
    recording_profiles_free(&rec);
    recording_free(&rec);
    return rc;
}

bool read_recording_probe(const char *path)
{
    if (path_is_dir(path)) {
        struct dir_entries entries = {0};
        bool is_recording = false;
        if (dir_list(path, &entries, NULL) >= 0) {
            for (size_t i = 0; i < entries.count; i++)
                is_recording |= strcmp(entries.items[i].name, "session.json") == 0 ||
                                text_ends_with(entries.items[i].name, ".lam");
        }
        dir_entries_free(&entries);
        return is_recording;
    }
    char head[8];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_stream = fd >= 0 && read(fd, head, sizeof head) == (ssize_t)sizeof head &&
                     stream_is_magic(head, sizeof head);
    if (fd >= 0)
        close(fd);
    return is_stream;
}
