#include "input/recording_profiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "input/profdata_metadata.h"

static void note_file(struct recording *rec, const char *name, const char *what)
{
    struct strbuf text = {0};
    strbuf_add_printable(&text, name, strlen(name));
    strbuf_addf(&text, ": %s", what);
    recording_note_unreadable(rec, strbuf_text(&text));
    strbuf_free(&text);
}

/* The image that had this pid at that time; NO_INDEX. A pid serves one process after the other, and one program after the
 * other within it. */
static uint32_t image_of(const struct recording *rec, uint32_t pid, int64_t at_ns)
{
    uint32_t best = NO_INDEX;
    for (uint32_t i = 0; i < rec->images.count; i++) {
        const struct image *image = &rec->images.items[i];
        if (image->pid != pid || image->start_ns > at_ns + RECORDING_CLOCK_SLACK_NS)
            continue;
        if (best == NO_INDEX || image->start_ns >= rec->images.items[best].start_ns)
            best = i;
    }
    return best;
}

bool recording_measures_other(const struct recording *rec)
{
    for (size_t i = 0; i < rec->images.count; i++) {
        const struct image *image = &rec->images.items[i];
        if (image->has_events && image->measure != STREAM_MEASURE_TICKS)
            return true;
    }
    return false;
}

/* The pid in "crate-0001234.mm_profdata"; 0. */
static uint32_t pid_of_name(const char *path)
{
    const char *dash = strrchr(path_name(path), '-');
    unsigned long pid = dash ? strtoul(dash + 1, NULL, 10) : 0;
    return pid <= INT32_MAX ? (uint32_t)pid : 0;
}

/* One that is damaged where it would say so: its process by its name, and its times from that one's beginning. */
static const char *join_by_name(const struct recording *rec, struct recording_profile *profile)
{
    uint32_t pid = pid_of_name(profile->path);
    if (pid)
        profile->image = image_of(rec, pid, INT64_MAX - RECORDING_CLOCK_SLACK_NS);
    if (profile->image == NO_INDEX)
        return "does not say by which process it was written";
    profile->zero_ns = rec->images.items[profile->image].start_ns;
    profile->lacks_metadata = true;
    return NULL;
}

/* Whose profile it is; NULL: it has found its process, else why it has none. */
static const char *join(const struct recording *rec, const struct profdata_metadata *meta,
                        struct recording_profile *profile)
{
    if (!meta->is_known || !meta->start_unix_ns)
        return join_by_name(rec, profile);
    if (meta->measure != PROFILE_MEASURE_TIME || recording_measures_other(rec))
        return "counts something else than the recording does";
    profile->zero_ns = (int64_t)meta->start_unix_ns - rec->zero_wall_ns;
    profile->image = image_of(rec, meta->pid, profile->zero_ns);
    return profile->image == NO_INDEX ? "its process is not in the recording" : NULL;
}

/* A copy of one that was found already: its process began it at the same moment. */
static bool is_known(const struct recording *rec, const struct recording_profile *profile)
{
    array_each(&rec->profiles, known)
    {
        if (known->image == profile->image && known->zero_ns == profile->zero_ns &&
            !known->lacks_metadata && !profile->lacks_metadata)
            return true;
    }
    return false;
}

/* One that cannot be read is counted; only a lack of memory is a failure. */
static int look_at(struct recording *rec, const char *path)
{
    struct lam_error err = LAM_ERROR_INIT;
    struct recording_profile profile = {.path = mem_strdup(path), .image = NO_INDEX};
    struct profdata_metadata meta = {0};
    if (!profile.path)
        return LAM_E_NOMEM;
    int rc = profdata_metadata_of(&meta, path, &err);
    if (rc < 0) {
        profdata_metadata_free(&meta);
        mem_free(profile.path);
        if (rc != LAM_E_NOMEM)
            recording_note_unreadable(rec, err.msg);
        return rc == LAM_E_NOMEM ? rc : LAM_OK;
    }
    const char *why_not = join(rec, &meta, &profile);
    if (why_not)
        note_file(rec, path_name(path), why_not);
    profdata_metadata_free(&meta);
    bool is_copy = !why_not && is_known(rec, &profile);
    rec->duplicate_streams += is_copy;
    if (!why_not && !is_copy)
        rc = array_push(&rec->profiles, profile);
    if (rc < 0 || why_not || is_copy)
        mem_free(profile.path);
    return rc;
}

/* Names that session.json lists and that are not there. */
static int note_missing(struct recording *rec, const char *dir)
{
    const struct session_texts *names = &rec->session.self_profile.profiles;
    for (size_t i = 0; i < names->count; i++) {
        bool is_name = names->items[i][0] && !strchr(names->items[i], '/');
        char *path = is_name ? path_join(dir, names->items[i]) : NULL;
        if (is_name && !path)
            return LAM_E_NOMEM;
        if (path && !path_exists(path))
            note_file(rec, names->items[i], "session.json lists it, and it is not there");
        mem_free(path);
    }
    return LAM_OK;
}

static int look_at_all(struct recording *rec, const char *dir)
{
    struct dir_entries entries = {0};
    if (!path_is_dir(dir) || dir_list(dir, &entries, NULL) < 0)
        return LAM_OK;
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < entries.count; i++) {
        if (!text_ends_with(entries.items[i].name, ".mm_profdata"))
            continue;
        char *path = path_join(dir, entries.items[i].name);
        rc = path ? look_at(rec, path) : LAM_E_NOMEM;
        mem_free(path);
    }
    dir_entries_free(&entries);
    return rc;
}

static int look_inside(struct recording *rec)
{
    if (!path_is_dir(rec->path))
        return LAM_OK; /* one stream alone */
    char *dir = path_join(rec->path, RECORDING_PROFILES_DIR);
    if (!dir)
        return LAM_E_NOMEM;
    int rc = note_missing(rec, dir);
    if (rc >= 0)
        rc = look_at_all(rec, dir);
    mem_free(dir);
    return rc;
}

int recording_profiles_find(struct recording *rec)
{
    int rc = look_inside(rec);
    for (size_t i = 0; rc >= 0 && rec->more && i < rec->more->profile_count; i++)
        rc = look_at(rec, rec->more->profiles[i]);
    return rc;
}

void recording_profiles_free(struct recording *rec)
{
    array_each(&rec->profiles, profile) mem_free(profile->path);
    array_free(&rec->profiles);
}

/* ---- the push ---- */

static void add_totals(struct profile_pusher *pusher, struct recording *rec,
                       const struct profdata_walk *walk)
{
    struct profile_session_end *totals = pusher->totals;
    const struct profdata_file *file = walk->file;
    rec->streams++;
    totals->self_profiles++;
    totals->self_profile_events += profdata_event_count(file);
    profdata_push_totals(walk, PROFILE_FAULTS_OF_ONE, totals);
}

/* A sink that takes no events is spared the walk. */
static int push_walk(struct profile_pusher *pusher, struct profdata_walk *walk)
{
    const struct profile_sink_ops *ops = pusher->sink->ops;
    if (!ops->interval && !ops->instant)
        return LAM_OK;
    int rc = profdata_push_look(walk);
    if (rc >= 0)
        rc = profdata_push_ready(walk);
    if (rc >= 0)
        rc = profdata_push_threads(walk, PROFILE_THREAD_NUMBERED, "self-profile, thread");
    if (rc >= 0)
        rc = profdata_push_events(walk);
    *pusher->threads += (uint32_t)walk->threads->items.count;
    return rc;
}

/* Somebody may have removed or changed it since it was found. */
static int push_profile(struct profile_pusher *pusher, struct recording *rec,
                        const struct image *image, const struct recording_profile *profile)
{
    struct lam_error err = LAM_ERROR_INIT;
    struct profdata_file file;
    struct profdata_strings strings = {0};
    struct profdata_threads threads = {.last_index = 0};
    int rc = profdata_open(&file, profile->path, &err);
    if (rc < 0 && rc != LAM_E_NOMEM)
        recording_note_unreadable(rec, err.msg);
    if (rc < 0)
        return rc == LAM_E_NOMEM ? rc : LAM_OK;
    rc = profdata_strings_open(&strings, &file, &pusher->labels.names, pusher->sink->wants.args,
                               &err);
    if (rc >= 0) {
        struct profdata_walk walk = {
            .sink = pusher->sink,
            .file = &file,
            .strings = &strings,
            .labels = &pusher->labels,
            .paths = pusher->paths,
            .threads = &threads,
            .process = image->process,
            .first_thread = *pusher->threads + 1,
            .zero_ns = profile->zero_ns,
            .pool = pusher->pool,
        };
        if (profile->lacks_metadata)
            profdata_fault(
                &file, LAM_E_CORRUPT, file.size,
                "the metadata is missing or broken: it is joined by its name, and begins "
                "with its process");
        profdata_labels_next_file(&pusher->labels);
        rc = push_walk(pusher, &walk);
        if (rc >= 0)
            profdata_check_length(&file);
        add_totals(pusher, rec, &walk);
        profdata_push_free(&walk);
    }
    profdata_threads_free(&threads);
    profdata_strings_close(&strings);
    profdata_close(&file);
    return rc;
}

int recording_profiles_push(struct profile_pusher *pusher, struct recording *rec,
                            const struct image *image)
{
    uint32_t index = (uint32_t)(image - rec->images.items);
    int rc = LAM_OK;
    pusher->labels.ids = pusher->label_ids;
    for (size_t i = 0; rc >= 0 && i < rec->profiles.count; i++) {
        if (rec->profiles.items[i].image != index)
            continue;
        if (!pusher->pool)
            rc = pool_open(&pusher->pool, 0, NULL);
        if (rc >= 0)
            rc = push_profile(pusher, rec, image, &rec->profiles.items[i]);
    }
    return rc;
}

void profile_pusher_free(struct profile_pusher *pusher)
{
    profdata_labels_free(&pusher->labels);
    pool_close(&pusher->pool);
}
