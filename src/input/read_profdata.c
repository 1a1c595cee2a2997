#include "input/read_profdata.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_input.h"
#include "base/memory.h"
#include "input/profdata_events.h"
#include "input/profdata_files.h"
#include "reader/stream_file.h"

bool profdata_is_magic(const void *bytes, size_t size)
{
    return size >= 4 && memcmp(bytes, "MMPD", 4) == 0;
}

bool read_profdata_probe(const char *path)
{
    char head[4];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_profile = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                      read(fd, head, sizeof head) == (ssize_t)sizeof head &&
                      profdata_is_magic(head, sizeof head);
    if (fd >= 0)
        close(fd);
    return is_profile;
}

struct reading {
    const struct profile_sink *sink;
    LAM_ARRAY(struct profdata_source) sources; /* readable ones, by start */
    struct file_set files;                     /* that were looked at */
    uint64_t start_unix_ns;                    /* of the earliest */
    struct profile_session_end totals;
    struct lam_error first_error; /* of a file that cannot be read at all */
    struct profdata_file opened;  /* the only readable one so far: to map a file twice takes time */
};

/* ---- which files there are ---- */

static void note_unreadable(struct reading *reading, const struct lam_error *err)
{
    if (reading->totals.unreadable_streams++ == 0)
        reading->first_error = *err;
    profile_faults_add(&reading->totals.faults, err->msg);
}

/* Nothing in it, and something wrong with it: that is no empty profile. */
static int check_events(const struct profdata_file *file, struct lam_error *err)
{
    if (profdata_event_count(file) > 0 || file->faults.all.count == 0)
        return LAM_OK;
    return lam_error_at(err, file->faults.code, file->faults.offset, "%s", file->faults.all.texts[0]);
}

static int look_at_file(struct profdata_source *source, struct profdata_file *file,
                        struct lam_error *err)
{
    struct profdata_strings strings;
    int rc = profdata_open(file, source->path, err);
    if (rc < 0)
        return rc;
    struct profdata_faults faults = file->faults;
    source->bytes = file->size;
    profdata_strings_peek(&strings, file);
    rc = profdata_metadata_read(&source->meta, &strings);
    profdata_strings_close(&strings);
    if (rc >= 0)
        rc = check_events(file, err);
    /* What is wrong with the metadata's own string is told as one fault, of the metadata. */
    file->faults = faults;
    return rc;
}

static int add_new_file(struct reading *reading, const char *path)
{
    struct lam_error err = LAM_ERROR_INIT;
    struct profdata_file file = {.name = NULL};
    struct profdata_source source = {.path = mem_strdup(path)};
    int rc = source.path ? look_at_file(&source, &file, &err) : LAM_E_NOMEM;
    if (rc >= 0)
        rc = array_push(&reading->sources, source);
    if (rc >= 0 && reading->sources.count == 1) {
        reading->opened = file;
        return LAM_OK;
    }
    profdata_close(&file);
    if (rc >= 0) {
        profdata_close(&reading->opened); /* it is no longer the only one */
        return LAM_OK;
    }
    profdata_metadata_free(&source.meta);
    mem_free(source.path);
    if (rc == LAM_E_NOMEM)
        return rc;
    note_unreadable(reading, &err);
    return LAM_OK;
}

/* Looks at a file's metadata. A file that cannot be read is counted; only a lack of memory ends the search. One that was given
 * already, by whatever name, would count twice. */
static int add_file(struct reading *reading, const char *path)
{
    bool is_new;
    if (file_set_add(&reading->files, path, &is_new) < 0)
        return LAM_E_NOMEM;
    reading->totals.duplicate_streams += !is_new;
    return is_new ? add_new_file(reading, path) : LAM_OK;
}

bool read_profdata_takes(const char *path)
{
    return text_ends_with(path, ".mm_profdata") || read_profdata_probe(path);
}

int read_profdata_files(const char *dir, struct profile_files *files, struct lam_error *err)
{
    struct dir_entries entries = {0};
    int rc = dir_list(dir, &entries, err);
    for (size_t i = 0; rc >= 0 && i < entries.count; i++) {
        char *file = path_join(dir, entries.items[i].name);
        bool is_wanted =
            file && !path_is_dir(file) && (read_profdata_takes(file) || file_special_kind(file));
        if (!file || (is_wanted && array_push(files, file) < 0))
            rc = LAM_E_NOMEM;
        if (rc < 0 || !is_wanted)
            mem_free(file);
    }
    dir_entries_free(&entries);
    return rc;
}

static int add_dir(struct reading *reading, const char *path, struct lam_error *err)
{
    struct profile_files files = {0};
    int rc = read_profdata_files(path, &files, err);
    array_each(&files, file)
    {
        if (rc >= 0)
            rc = add_file(reading, *file);
        mem_free(*file);
    }
    array_free(&files);
    return rc;
}

/* Those of an unknown start come last. */
static int compare_sources(const void *left, const void *right)
{
    const struct profdata_source *a = left, *b = right;
    uint64_t a_ns = a->meta.start_unix_ns, b_ns = b->meta.start_unix_ns;
    if (a_ns != b_ns)
        return a_ns - 1 < b_ns - 1 ? -1 : 1; /* 0 becomes the largest */
    return strcmp(a->path, b->path);
}

static const char *counter_of(const struct profdata_source *source)
{
    const char *counter = strbuf_text(&source->meta.counter);
    return *counter ? counter : "time";
}

static int check_measures(const struct reading *reading, struct lam_error *err)
{
    const struct profdata_source *first = reading->sources.items;
    for (size_t i = 1; i < reading->sources.count; i++) {
        const struct profdata_source *source = &reading->sources.items[i];
        if (strcmp(counter_of(source), counter_of(first)) != 0 &&
            (source->meta.measure != first->meta.measure ||
             source->meta.measure == PROFILE_MEASURE_OTHER))
            return lam_error_set(err, LAM_E_UNSUPPORTED,
                                 "%s counts %s and %s counts %s: they cannot be read as one",
                                 first->path, counter_of(first), source->path, counter_of(source));
    }
    return LAM_OK;
}

static int gather(struct reading *reading, const char *const *paths, size_t count,
                  struct lam_error *err)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < count; i++)
        rc = path_is_dir(paths[i]) ? add_dir(reading, paths[i], err) : add_file(reading, paths[i]);
    if (rc < 0)
        return rc;
    if (reading->sources.count == 0 && reading->totals.unreadable_streams > 0) {
        if (err)
            *err = reading->first_error;
        return reading->first_error.code;
    }
    if (reading->sources.count == 0)
        return lam_error_set(err, LAM_E_NOTFOUND, "%s: no self-profile in it", count ? paths[0] : "");
    array_sort(&reading->sources, compare_sources);
    reading->start_unix_ns = reading->sources.items[0].meta.start_unix_ns;
    return check_measures(reading, err);
}

/* ---- what the sink is told around the events ---- */

static int push_session(const struct reading *reading)
{
    const struct profdata_source *first = reading->sources.items;
    if (!reading->sink->ops->session)
        return LAM_OK;
    char *directory = path_dir(first->path);
    if (!directory)
        return LAM_E_NOMEM;
    struct profile_session session = {
        .command = reading->sources.count == 1 ? strbuf_text(&first->meta.command) : "",
        .directory = directory,
        .started_at_unix_ns = (int64_t)reading->start_unix_ns,
        .elapsed_ns = PROFILE_UNKNOWN,
        .charged_cpu_ns = PROFILE_UNKNOWN,
        .exit_code = -1,
        .complete = true,
        .has_intervals = true,
        .measure = first->meta.measure,
        .engine = STREAM_ENGINE_NONE,
    };
    int rc = reading->sink->ops->session(reading->sink->ctx, &session);
    mem_free(directory);
    return rc;
}

static int read_all(struct reading *reading, struct lam_error *err)
{
    struct profdata_files files = {
        .sink = reading->sink,
        .sources = reading->sources.items,
        .count = reading->sources.count,
        .opened = reading->sources.count == 1 ? &reading->opened : NULL,
        .start_unix_ns = reading->start_unix_ns,
        .totals = &reading->totals,
    };
    int rc = pool_open(&files.pool, 0, err);
    if (rc >= 0)
        rc = push_session(reading);
    if (rc >= 0)
        rc = profdata_files_push(&files, err);
    pool_close(&files.pool);
    if (rc >= 0 && reading->sink->ops->session_end) {
        reading->totals.unidentified_cpu_ns = PROFILE_UNKNOWN;
        rc = reading->sink->ops->session_end(reading->sink->ctx, &reading->totals);
    }
    return rc;
}

static void free_reading(struct reading *reading)
{
    for (size_t i = 0; i < reading->sources.count; i++) {
        profdata_metadata_free(&reading->sources.items[i].meta);
        mem_free(reading->sources.items[i].path);
    }
    array_free(&reading->sources);
    file_set_free(&reading->files);
    profdata_close(&reading->opened);
}

int read_profdata(const char *const *paths, size_t count, const struct profile_sink *sink,
                  struct lam_error *err)
{
    struct lam_error own = LAM_ERROR_INIT;
    struct reading reading = {.sink = sink, .first_error = own};
    err = err ? err : &own;
    int rc = gather(&reading, paths, count, err);
    if (rc >= 0)
        rc = read_all(&reading, err);
    if (rc < 0 && err->code >= 0) /* else it was said where it happened */
        lam_error_set(err, rc, "%s: %s", count ? paths[0] : "", lam_code_text(rc));
    free_reading(&reading);
    return rc < 0 ? rc : LAM_OK;
}
