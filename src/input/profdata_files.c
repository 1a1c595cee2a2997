#include "input/profdata_files.h"

#include <string.h>

#include "base/memory.h"
#include "input/profdata_push.h"
#include "reader/stream_file.h" /* enum stream_damage */

/* What is made ready at once: bounds of memory. They do not depend on the number of threads, since what a sink is told does not. */
enum { BATCH_FILES = 16, BATCH_BYTES = 64 << 20, FILE_BYTES = 16 << 20 };

/* A file that is being read; its labels stay for the next one that is read in this place. */
struct slot {
    const struct profdata_source *source;
    struct profdata_file file;
    struct profdata_strings strings;
    struct profdata_threads threads;
    struct profdata_labels labels;
    struct profdata_walk walk;
    int rc; /* of making it ready */
    struct lam_error err;
};

struct pushing {
    const struct profdata_files *files;
    struct label_merge label_ids;
    struct interval_paths paths;
    struct slot slots[BATCH_FILES];
    uint32_t threads; /* numbers given so far */
};

/* ---- what the sink is told around the events ---- */

/* "libc" of "a/libc-0012345.mm_profdata". */
static struct profile_text stem_of(const char *path)
{
    const char *name = path_name(path);
    size_t size = strcspn(name, ".");
    const char *dash = memrchr(name, '-', size);
    return (struct profile_text){name, dash && dash > name ? (size_t)(dash - name) : size};
}

typedef LAM_ARRAY(struct profile_text) text_array;

/* The program put a space behind each argument; one inside of them cannot be told apart. */
static int split_command(const struct strbuf *command, text_array *argv)
{
    const char *at = strbuf_text(command);
    int rc = LAM_OK;
    while (rc >= 0 && *at) {
        size_t size = strcspn(at, " ");
        struct profile_text word = {at, size};
        if (size)
            rc = array_push(argv, word);
        at += size + (at[size] == ' ');
    }
    return rc;
}

static int push_process(const struct slot *slot)
{
    const struct profile_sink *sink = slot->walk.sink;
    const struct profdata_source *source = slot->source;
    if (!sink->ops->process)
        return LAM_OK;
    text_array argv = {0};
    int rc = split_command(&source->meta.command, &argv);
    struct profile_text crate = profdata_crate_name(&source->meta);
    struct profile_process process = {
        .process = slot->walk.process,
        .pid = source->meta.pid,
        .start_ns = slot->walk.zero_ns,
        .agent_start_ns = slot->walk.zero_ns,
        .exe = argv.count ? argv.items[0] : (struct profile_text){"", 0},
        .cwd = {"", 0},
        .comm = crate.size ? crate : stem_of(source->path),
        .argv = argv.items,
        .argc = argv.count,
        .stream = path_name(source->path),
        .sampled = PROFILE_SAMPLED_NO,
        .startup_cpu_ns = PROFILE_UNKNOWN,
        .engine = STREAM_ENGINE_NONE,
    };
    if (rc >= 0)
        rc = sink->ops->process(sink->ctx, &process);
    array_free(&argv);
    return rc;
}

static int push_process_end(const struct slot *slot, uint32_t most_faults,
                            struct profile_session_end *totals)
{
    const struct profile_sink *sink = slot->walk.sink;
    const struct profdata_file *file = &slot->file;
    struct profile_process_end end = {
        .process = slot->walk.process,
        .end_ns = profdata_push_end_ns(&slot->walk),
        .exit_code = -1,
        .cpu_ns = PROFILE_UNKNOWN,
        .tail_cpu_ns = PROFILE_UNKNOWN,
        .own.max_rss_bytes = PROFILE_UNKNOWN,
        .is_damaged = file->faults.all.count > 0,
        .clamped_times = slot->walk.totals.clamped,
    };
    end.damage[STREAM_DAMAGE_RECORDS] = file->faults.all.count;
    totals->streams++;
    profdata_push_totals(&slot->walk, most_faults, totals);
    return sink->ops->process_end ? sink->ops->process_end(sink->ctx, &end) : LAM_OK;
}

/* ---- one file ---- */

/* Times of different counters have no common zero. */
static int64_t zero_of(const struct profdata_files *files, const struct profdata_source *source)
{
    if (source->meta.measure != PROFILE_MEASURE_TIME || !source->meta.start_unix_ns)
        return 0;
    return (int64_t)(source->meta.start_unix_ns - files->start_unix_ns);
}

static int open_file(const struct profdata_files *files, struct slot *slot)
{
    if (!files->opened || slot->source != files->sources)
        return profdata_open(&slot->file, slot->source->path, &slot->err);
    slot->file = *files->opened;
    *files->opened = (struct profdata_file){.name = NULL};
    return LAM_OK;
}

/* Tells the sink nothing. pool: what its own events are looked at with; NULL: alone. */
static int make_ready(struct pushing *pushing, struct slot *slot, struct pool *pool)
{
    const struct profdata_files *files = pushing->files;
    const struct profdata_source *source = slot->source;
    int rc = open_file(files, slot);
    if (rc < 0)
        return rc;
    rc = profdata_strings_open(&slot->strings, &slot->file, &slot->labels.names,
                               files->sink->wants.args, &slot->err);
    if (rc < 0)
        return rc;
    if (slot->strings.metadata_address == PROFDATA_NO_ADDRESS || !source->meta.is_known)
        profdata_fault(&slot->file, LAM_E_CORRUPT, slot->file.size,
                       "the metadata is missing or broken: start, process and command line are "
                       "not known");
    slot->walk = (struct profdata_walk){
        .sink = files->sink,
        .file = &slot->file,
        .strings = &slot->strings,
        .labels = &slot->labels,
        .paths = &pushing->paths,
        .threads = &slot->threads,
        .process = (uint32_t)(source - files->sources) + 1,
        .zero_ns = zero_of(files, source),
        .pool = pool,
    };
    slot->labels.ids = &pushing->label_ids;
    profdata_labels_next_file(&slot->labels);
    rc = profdata_push_look(&slot->walk);
    return rc < 0 ? rc : profdata_push_ready(&slot->walk);
}

static int begin(struct pushing *pushing, struct slot *slot)
{
    slot->walk.first_thread = pushing->threads + 1;
    pushing->threads += (uint32_t)slot->threads.items.count;
    int rc = push_process(slot);
    return rc < 0 ? rc : profdata_push_threads(&slot->walk, 0, NULL);
}

static int end(struct pushing *pushing, struct slot *slot)
{
    profdata_check_length(&slot->file);
    const struct profdata_files *files = pushing->files;
    return push_process_end(slot, files->count > 1 ? PROFILE_FAULTS_OF_ONE : PROFILE_FAULTS_KEPT,
                            files->totals);
}

static int tell(struct pushing *pushing, struct slot *slot)
{
    int rc = begin(pushing, slot);
    if (rc >= 0)
        rc = profdata_push_events(&slot->walk);
    return rc < 0 ? rc : end(pushing, slot);
}

static void close_slot(struct slot *slot)
{
    profdata_push_free(&slot->walk);
    profdata_threads_free(&slot->threads);
    profdata_strings_close(&slot->strings);
    profdata_close(&slot->file);
}

/* ---- several ---- */

/* How many of the files from `first` on are made ready at once: one where it is large. */
static size_t batch_from(const struct profdata_files *files, size_t first)
{
    uint64_t bytes = 0;
    size_t count = 0;
    for (size_t at = first; at < files->count && count < BATCH_FILES; at++, count++) {
        bytes += files->sources[at].bytes;
        if (files->sources[at].bytes > FILE_BYTES || bytes > BATCH_BYTES)
            break;
    }
    return count ? count : 1;
}

/* What failed is told when it is its turn. */
static int ready_item(void *ctx, size_t item, unsigned worker)
{
    (void)worker;
    struct pushing *pushing = ctx;
    struct slot *slot = &pushing->slots[item];
    slot->rc = make_ready(pushing, slot, NULL);
    return LAM_OK;
}

/* How many from this one on are told to branches of the sink together. */
static size_t together_from(const struct slot *slots, size_t count)
{
    size_t together = 0;
    while (together < count && slots[together].rc >= 0 && slots[together].walk.ready.is_in_parts)
        together++;
    return together;
}

static int tell_together(struct pushing *pushing, struct slot *slots, size_t count)
{
    struct profdata_walk *walks[BATCH_FILES];
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < count; i++) {
        walks[i] = &slots[i].walk;
        rc = begin(pushing, &slots[i]);
    }
    if (rc >= 0)
        rc = profdata_walk_parts(walks, count, pushing->files->pool);
    for (size_t i = 0; rc >= 0 && i < count; i++) {
        rc = profdata_push_ends(walks[i]);
        if (rc >= 0)
            rc = end(pushing, &slots[i]);
    }
    return rc;
}

static int tell_all(struct pushing *pushing, size_t count, struct lam_error *err)
{
    int rc = LAM_OK;
    for (size_t i = 0, step; rc >= 0 && i < count; i += step) {
        struct slot *slot = &pushing->slots[i];
        step = together_from(slot, count - i);
        if (step) {
            rc = tell_together(pushing, slot, step);
            continue;
        }
        step = 1;
        rc = slot->rc;
        if (rc < 0)
            *err = slot->err;
        else
            rc = tell(pushing, slot);
    }
    return rc;
}

static int push_batch(struct pushing *pushing, size_t first, size_t count, struct lam_error *err)
{
    const struct profdata_files *files = pushing->files;
    for (size_t i = 0; i < count; i++) {
        struct lam_error none = LAM_ERROR_INIT;
        struct slot *slot = &pushing->slots[i];
        struct profdata_labels labels = slot->labels;
        *slot = (struct slot){.source = &files->sources[first + i], .labels = labels, .err = none};
    }
    if (count > 1)
        (void)pool_run(files->pool, count, ready_item, pushing);
    else
        pushing->slots[0].rc = make_ready(pushing, &pushing->slots[0], files->pool);
    int rc = tell_all(pushing, count, err);
    for (size_t i = 0; i < count; i++)
        close_slot(&pushing->slots[i]);
    return rc;
}

int profdata_files_push(const struct profdata_files *files, struct lam_error *err)
{
    struct pushing *pushing = mem_zalloc(1, sizeof *pushing);
    int rc = pushing ? LAM_OK : LAM_E_NOMEM;
    if (!pushing)
        return rc;
    pushing->files = files;
    pushing->label_ids.sink = files->sink;
    for (size_t first = 0, count; rc >= 0 && first < files->count; first += count) {
        count = batch_from(files, first);
        rc = push_batch(pushing, first, count, err);
    }
    for (size_t i = 0; i < BATCH_FILES; i++)
        profdata_labels_free(&pushing->slots[i].labels);
    label_merge_free(&pushing->label_ids);
    interval_paths_free(&pushing->paths);
    mem_free(pushing);
    return rc;
}
