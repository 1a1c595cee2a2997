#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "input/recording.h"
#include "reader/stream_walk.h"

uint32_t recording_add_image(struct recording *rec)
{
    struct image *image = array_add(&rec->images);
    if (!image || rec->images.count >= NO_INDEX)
        return NO_INDEX;
    image->life = image->parent = image->previous = image->next = NO_INDEX;
    image->engine = STREAM_ENGINE_NONE;
    image->cpu_ns = image->tail_cpu_ns = image->peak_rss_bytes = PROFILE_UNKNOWN;
    image->last_ns = INT64_MIN;
    return (uint32_t)(rec->images.count - 1);
}

static int keep(struct recording *rec, struct stream_text text, struct recording_text *out)
{
    char *copy = arena_strndup(&rec->arena, text.bytes, text.size);
    if (!copy)
        return LAM_E_NOMEM;
    *out = (struct recording_text){copy, text.size};
    return LAM_OK;
}

/* What one stream's records say, while they are read. */
struct gather {
    struct recording *rec;
    struct image *image;
    struct strbuf argv;
    uint32_t argv_pieces, argv_total;
};

static void touch(struct image *image, int64_t at_ns)
{
    if (at_ns > image->last_ns)
        image->last_ns = at_ns;
}

static int on_process(struct gather *gather, const struct stream_record_view *rec)
{
    struct image *image = gather->image;
    image->exec_cpu_ns = rec->body.process.exec_cpu_ns;
    image->image_cpu_ns = rec->body.process.image_cpu_ns;
    int rc = keep(gather->rec, rec->text[0], &image->exe);
    if (rc >= 0)
        rc = keep(gather->rec, rec->text[1], &image->cwd);
    if (rc >= 0)
        rc = keep(gather->rec, rec->text[2], &image->comm);
    return rc;
}

static int on_argv(struct gather *gather, const struct stream_record_view *rec)
{
    if (rec->body.argv.index != gather->argv_pieces)
        return LAM_OK; /* a piece is missing: what follows the hole is left out, and the list is marked as cut */
    gather->argv_pieces++;
    gather->argv_total = rec->body.argv.total_bytes;
    strbuf_add_bytes(&gather->argv, rec->text[0].bytes, rec->text[0].size);
    return gather->argv.failed ? LAM_E_NOMEM : LAM_OK;
}

static void on_config(struct image *image, const struct stream_record_view *rec)
{
    const struct stream_rec_config *config = &rec->body.config;
    image->has_config = true;
    image->engine = rec->aux;
    image->kernel_mode = config->kernel_mode;
    image->open_errno = config->open_errno;
    image->why_not = (uint16_t)config->why_not;
    memcpy(image->period_ns, config->period_ns, sizeof image->period_ns);
}

static int on_spawn(struct gather *gather, const struct stream_record_view *rec)
{
    const struct stream_rec_spawn *body = &rec->body.spawn;
    struct spawned spawned = {
        .at_ns = tick_clock_ns(&gather->rec->clock, body->ticks),
        .kind = rec->aux,
        .child_pid = body->child_pid,
        .rc = body->rc,
        .why_not = body->why_not,
        .cpu_ns = body->cpu_ns,
    };
    int rc = keep(gather->rec, rec->text[0], &spawned.path);
    if (rc >= 0)
        rc = keep(gather->rec, rec->text[1], &spawned.argv);
    if (rc >= 0)
        rc = array_push(&gather->image->spawns, spawned);
    touch(gather->image, spawned.at_ns);
    return rc;
}

static int on_child_exit(struct gather *gather, const struct stream_record_view *rec)
{
    struct child_exit ended = {
        .at_ns = tick_clock_ns(&gather->rec->clock, rec->body.child_exit.ticks),
        .pid = rec->aux,
        .status = rec->body.child_exit.status,
        .usage = rec->body.child_exit.usage,
    };
    touch(gather->image, ended.at_ns);
    return array_push(&gather->image->exits, ended);
}

static void on_process_end(struct gather *gather, const struct stream_record_view *rec)
{
    const struct stream_rec_process_end *end = &rec->body.process_end;
    struct image *image = gather->image;
    int64_t at_ns = tick_clock_ns(&gather->rec->clock, end->ticks);
    if (image->has_end && at_ns < image->end_ns)
        return; /* a failed exec's, told by another thread's page */
    image->has_end = true;
    image->end_how = rec->aux;
    image->end_ns = at_ns;
    image->end_code = end->code;
    image->end_cpu_ns = end->cpu_ns;
    image->end_self = end->self;
    image->end_children = end->children;
    touch(image, at_ns);
}

static void on_thread_end(struct gather *gather, const struct stream_record_view *rec)
{
    const struct stream_rec_thread_end *end = &rec->body.thread_end;
    struct image *image = gather->image;
    touch(image, tick_clock_ns(&gather->rec->clock, end->ticks));
    if (end->tid == image->pid) {
        image->has_main_end = true;
        image->main_end = (struct thread_clocks){end->cpu_ns, end->run_ns, end->core_wait_ns};
    }
}

static void on_refused(struct recording *rec, struct stream_text why)
{
    if (!rec->refused_recorders++)
        snprintf(rec->first_refusal, sizeof rec->first_refusal, "%.*s",
                 why.size < INT_MAX ? (int)why.size : INT_MAX, why.bytes);
}

static int on_record(struct gather *gather, const struct stream_record_view *rec)
{
    if (!rec->row)
        return LAM_OK;
    switch (rec->type) {
    case STREAM_REC_PROCESS:
        return on_process(gather, rec);
    case STREAM_REC_ARGV:
        return on_argv(gather, rec);
    case STREAM_REC_CONFIG:
        on_config(gather->image, rec);
        return LAM_OK;
    case STREAM_REC_SPAWN:
        return on_spawn(gather, rec);
    case STREAM_REC_CHILD_EXIT:
        return on_child_exit(gather, rec);
    case STREAM_REC_PROCESS_END:
        on_process_end(gather, rec);
        return LAM_OK;
    case STREAM_REC_THREAD:
        touch(gather->image, tick_clock_ns(&gather->rec->clock, rec->body.thread.ticks));
        return LAM_OK;
    case STREAM_REC_THREAD_END:
        on_thread_end(gather, rec);
        return LAM_OK;
    case STREAM_REC_REFUSED:
        on_refused(gather->rec, rec->text[0]);
        return LAM_OK;
    default:
        return LAM_OK;
    }
}

/* Kinds of pages with records about the process. */
static const enum stream_page_kind record_pages[] = {STREAM_PAGE_META, STREAM_PAGE_RECORDS};
enum { RECORD_PAGES = sizeof record_pages / sizeof *record_pages };

static int gather_records(struct gather *gather, const struct stream_file *file)
{
    struct stream_walk walk;
    stream_walk_init(&walk, file);
    int rc = LAM_OK;
    for (unsigned i = 0; rc >= 0 && i < RECORD_PAGES; i++) {
        stream_walk_begin(&walk, stream_pages_of_kind(file, record_pages[i]));
        struct stream_record_view rec;
        while ((rc = stream_next_record(&walk, &rec)) > 0 && (rc = on_record(gather, &rec)) >= 0)
            continue;
    }
    stream_walk_close(&walk);
    if (rc < 0)
        return rc;
    struct stream_text argv = {gather->argv.data ? gather->argv.data : "", gather->argv.length};
    gather->image->argv_cut =
        argv.size < gather->argv_total || (argv.size > 0 && argv.bytes[argv.size - 1] != '\0');
    return keep(gather->rec, argv, &gather->image->argv);
}

static bool has_pages(const struct stream_file *file, enum stream_page_kind kind)
{
    struct stream_page_span span = stream_pages_of_kind(file, kind);
    return span.first < span.end;
}

static int gather_image(struct recording *rec, const struct stream_file *file, char *path)
{
    uint32_t index = recording_add_image(rec);
    if (index == NO_INDEX) {
        mem_free(path);
        return LAM_E_NOMEM;
    }
    struct image *image = &rec->images.items[index];
    const struct stream_header *header = &file->header;
    image->path = path;
    image->name = path_name(path);
    image->pid = header->pid;
    image->ppid = header->ppid;
    image->kernel_start = header->kernel_start;
    image->flags = header->flags;
    image->producer = header->producer;
    image->measure = header->measure;
    image->has_events = has_pages(file, STREAM_PAGE_EVENTS) || has_pages(file, STREAM_PAGE_TREE);
    memcpy(image->lost, header->lost, sizeof image->lost);
    image->start_ns = image->agent_start_ns = image->last_ns =
        tick_clock_ns(&rec->clock, header->start_ticks);
    struct gather gather = {.rec = rec, .image = image};
    int rc = gather_records(&gather, file);
    strbuf_free(&gather.argv);
    return rc;
}

/* Readings of the clocks in a stream. The header's own is one only where there is no better: a forked child's was made
 * when it had something to write, which is after its start. */
static int add_readings(struct recording *rec, const struct stream_file *file)
{
    int rc = LAM_OK;
    bool has_any = false;
    struct stream_walk walk;
    stream_walk_init(&walk, file);
    for (unsigned i = 0; rc >= 0 && i < RECORD_PAGES; i++) {
        stream_walk_begin(&walk, stream_pages_of_kind(file, record_pages[i]));
        struct stream_record_view view;
        while (rc >= 0 && (rc = stream_next_record(&walk, &view)) > 0) {
            if (view.type != STREAM_REC_TIME)
                continue;
            has_any = true;
            rc = tick_clock_add(&rec->clock, view.body.time.ticks, view.body.time.mono_ns);
        }
    }
    stream_walk_close(&walk);
    if (rc >= 0 && !has_any)
        rc = tick_clock_add(&rec->clock, file->header.start_ticks, file->header.start_mono_ns);
    return rc;
}

struct paths LAM_ARRAY_BODY(char *);

static void paths_free(struct paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        mem_free(paths->items[i]);
    array_free(paths);
}

static int add_path(struct paths *paths, const char *path, struct lam_error *err)
{
    char *copy = mem_strdup(path);
    if (copy && array_push(paths, copy) >= 0)
        return LAM_OK;
    mem_free(copy);
    return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", path);
}

static int find_streams(const char *dir, struct paths *paths, struct lam_error *err)
{
    struct dir_entries entries = {0};
    int rc = dir_list(dir, &entries, err);
    for (size_t i = 0; rc >= 0 && i < entries.count; i++) {
        const struct dir_entry *entry = &entries.items[i];
        if (!text_ends_with(entry->name, ".lam") || entry->kind == DIR_KIND_DIR)
            continue;
        char *path = path_join(dir, entry->name);
        if (!path || array_push(paths, path) < 0) {
            mem_free(path);
            rc = lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", dir);
        }
    }
    dir_entries_free(&entries);
    return rc;
}

/* The clock of the whole session, so that one tick is one nanosecond in all processes: the launcher's readings; without
 * a launcher that saw the end, those of the streams as well. */
static int set_clock(struct recording *rec, const struct paths *paths)
{
    const struct session_json *session = &rec->session;
    uint64_t rate = session->tick_rate_hz, zero = session->start_mono_ns;
    int rc = LAM_OK;
    bool has_zero = rec->has_session && session->start_mono_ns;
    if (has_zero) {
        rec->zero_wall_ns = (int64_t)session->started_at_unix_ns;
        rc = tick_clock_add(&rec->clock, session->start_ticks, session->start_mono_ns);
        for (size_t i = 0; rc >= 0 && i < session->times.count; i++)
            rc = tick_clock_add(&rec->clock, session->times.items[i].ticks,
                                session->times.items[i].mono_ns);
    }
    bool needs_streams = !has_zero || session->times.count == 0;
    for (size_t i = 0; rc >= 0 && needs_streams && i < paths->count; i++) {
        struct stream_file *file = NULL;
        if (stream_open(&file, paths->items[i], NULL) < 0)
            continue; /* told when it is read */
        if (!rate)
            rate = file->header.tick_rate_hz;
        if (!has_zero && (zero == 0 || file->header.start_mono_ns < zero)) {
            zero = file->header.start_mono_ns;
            rec->zero_wall_ns = (int64_t)file->header.start_wall_ns;
        }
        rc = add_readings(rec, file);
        stream_close(&file);
    }
    return rc < 0 ? rc : tick_clock_ready(&rec->clock, rate, zero);
}

void recording_note_unreadable(struct recording *rec, const char *what)
{
    rec->unreadable_streams++;
    profile_faults_add(&rec->faults, what);
}

/* Names the image that a file holds: a copy of the file has the same. */
static uint64_t identity(const struct stream_header *header)
{
    const uint64_t parts[] = {header->producer,     header->pid,         header->kernel_start,
                              header->session_id,   header->start_ticks, header->start_mono_ns,
                              header->start_wall_ns};
    return hash_bytes(parts, sizeof parts);
}

/* A stream that was opened: its image, unless it was read already. Counted twice it would double what its process used. */
static int gather_file(struct recording *rec, struct map *known, const struct stream_file *file,
                       char **path)
{
    bool is_new = false;
    if (!map_slot(known, identity(&file->header), 1, &is_new))
        return LAM_E_NOMEM;
    if (!is_new) {
        rec->duplicate_streams++;
        return LAM_OK;
    }
    rec->streams++;
    char *given = *path;
    *path = NULL;
    return gather_image(rec, file, given);
}

/* To somebody who may read none of its streams a recording would look like one of nothing: that is refused. */
static int gather_each(struct recording *rec, struct paths *paths, struct map *known,
                       struct lam_error *err)
{
    bool is_one = paths->count == 1 && !rec->has_session; /* then its failure is everything's */
    struct lam_error refused = LAM_ERROR_INIT;
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < paths->count; i++) {
        struct stream_file *file = NULL;
        struct lam_error cause = LAM_ERROR_INIT;
        rc = stream_open(&file, paths->items[i], &cause);
        if (rc < 0 && (rc == LAM_E_NOMEM || is_one)) {
            if (err)
                *err = cause;
            return rc;
        }
        if (rc < 0) {
            if (rc == LAM_E_PERM)
                refused = cause;
            recording_note_unreadable(rec, cause.msg);
            rc = LAM_OK;
            continue;
        }
        rc = gather_file(rec, known, file, &paths->items[i]);
        stream_close(&file);
    }
    if (rc < 0)
        return lam_error_set(err, rc, "%s: out of memory", rec->path);
    if (rec->streams == 0 && refused.code < 0)
        return lam_error_set(err, LAM_E_PERM, "%s: none of its %zu stream%s can be read: %s",
                             rec->path, paths->count, unit_plural(paths->count), refused.msg);
    return LAM_OK;
}

static int gather_streams(struct recording *rec, struct paths *paths, struct lam_error *err)
{
    struct map known = {0};
    int rc = set_clock(rec, paths);
    if (rc < 0)
        lam_error_set(err, rc, "%s: out of memory", rec->path);
    else
        rc = gather_each(rec, paths, &known, err);
    map_free(&known);
    return rc;
}

/* ---- what session.json lists ---- */

enum { LISTED = 1, FOUND = 2 };

static uint64_t name_key(const char *name)
{
    return hash_bytes(name, strlen(name));
}

static int add_those(struct paths *ordered, struct paths *paths, struct map *listed, bool are_listed)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < paths->count; i++) {
        if (!paths->items[i])
            continue;
        uint64_t key = name_key(path_name(paths->items[i]));
        if (map_get(listed, key, NULL) != are_listed)
            continue;
        if (are_listed)
            rc = map_put(listed, key, FOUND);
        if (rc >= 0)
            rc = array_push(ordered, paths->items[i]);
        if (rc >= 0)
            paths->items[i] = NULL;
    }
    return rc;
}

static int note_missing(struct recording *rec, struct map *listed)
{
    int rc = LAM_OK;
    const struct session_texts *names = &rec->session.streams;
    for (size_t i = 0; rc >= 0 && i < names->count; i++) {
        uint64_t key = name_key(names->items[i]);
        if (map_get_or(listed, key, FOUND) == FOUND)
            continue;
        struct strbuf text = {0};
        strbuf_add_printable(&text, names->items[i], strlen(names->items[i]));
        strbuf_add(&text, ": session.json lists it, and it is not there");
        recording_note_unreadable(rec, strbuf_text(&text));
        strbuf_free(&text);
        rc = map_put(listed, key, FOUND); /* a name listed twice is one file */
    }
    return rc;
}

/* The listed files go first: of a stream and its copy, the one that the launcher wrote is read. Those that are not there are
 * counted: what their processes did is in no other place. */
static int check_list(struct recording *rec, struct paths *paths)
{
    const struct session_texts *names = &rec->session.streams;
    struct map listed = {0};
    struct paths ordered = {0};
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < names->count; i++)
        rc = map_put(&listed, name_key(names->items[i]), LISTED);
    if (rc >= 0)
        rc = add_those(&ordered, paths, &listed, true);
    if (rc >= 0)
        rc = add_those(&ordered, paths, &listed, false);
    if (rc >= 0)
        rc = note_missing(rec, &listed);
    if (rc >= 0) {
        array_free(paths); /* all of them have moved */
        *paths = ordered;
    } else {
        paths_free(&ordered);
    }
    map_free(&listed);
    return rc;
}

static int load_session(struct recording *rec, const char *dir, struct lam_error *err)
{
    char *path = path_join(dir, "session.json");
    if (!path)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", dir);
    struct lam_error cause = LAM_ERROR_INIT;
    int rc = session_json_load(&rec->session, path, &cause);
    rec->has_session = rc >= 0;
    rec->session_path = rc >= 0 ? path : NULL;
    if (rc < 0)
        mem_free(path);
    if (rc == LAM_E_NOTFOUND)
        return LAM_OK; /* streams may stand alone */
    if (rc == LAM_E_CORRUPT || rc == LAM_E_TRUNCATED) {
        memcpy(rec->session_damage, cause.msg, sizeof rec->session_damage);
        return LAM_OK; /* and then as if there were none */
    }
    if (rc < 0 && err)
        *err = cause;
    return rc;
}

/* Streams that lie elsewhere. */
static int find_more(const struct recording *rec, struct paths *paths, struct lam_error *err)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && rec->more && i < rec->more->stream_count; i++) {
        const char *path = rec->more->streams[i];
        rc = path_is_dir(path) ? find_streams(path, paths, err) : add_path(paths, path, err);
    }
    return rc;
}

static int gather_directory(struct recording *rec, const char *path, struct lam_error *err)
{
    int rc = load_session(rec, path, err);
    if (rc < 0)
        return rc;
    struct paths paths = {0};
    rc = find_streams(path, &paths, err);
    /* A recording whose launcher died may still have its streams where they were written. */
    const char *scratch = rec->session.scratch;
    if (rc >= 0 && !rec->session.is_complete && scratch && path_is_dir(scratch) &&
        strcmp(scratch, path) != 0)
        rc = find_streams(scratch, &paths, err);
    if (rc >= 0 && paths.count == 0 && rec->session_damage[0])
        rc = lam_error_set(err, LAM_E_CORRUPT, "%s", rec->session_damage);
    else if (rc >= 0 && !rec->has_session && paths.count == 0)
        rc = lam_error_set(err, LAM_E_NOTFOUND,
                           "%s: no recording (neither session.json nor a .lam file is in it)", path);
    if (rc >= 0 && rec->session.streams.count && check_list(rec, &paths) < 0)
        rc = lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", path);
    if (rc >= 0)
        rc = find_more(rec, &paths, err);
    if (rc >= 0)
        rc = gather_streams(rec, &paths, err);
    paths_free(&paths);
    return rc;
}

int recording_gather(struct recording *rec, const char *path, const struct recording_more *more,
                     struct lam_error *err)
{
    *rec = (struct recording){.path = path, .more = more};
    session_json_init(&rec->session);
    if (path_is_dir(path))
        return gather_directory(rec, path, err);
    struct paths paths = {0};
    int rc = add_path(&paths, path, err);
    if (rc >= 0)
        rc = find_more(rec, &paths, err);
    if (rc >= 0)
        rc = gather_streams(rec, &paths, err);
    paths_free(&paths);
    return rc;
}

void recording_free(struct recording *rec)
{
    for (size_t i = 0; i < rec->images.count; i++) {
        mem_free(rec->images.items[i].path);
        array_each(&rec->images.items[i].more, path) mem_free(*path);
        array_free(&rec->images.items[i].more);
        array_free(&rec->images.items[i].spawns);
        array_free(&rec->images.items[i].exits);
    }
    array_free(&rec->images);
    array_free(&rec->lives);
    tick_clock_free(&rec->clock);
    session_json_free(&rec->session);
    arena_free(&rec->arena);
    mem_free(rec->session_path);
    *rec = (struct recording){0};
}
