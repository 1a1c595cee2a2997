#include "input/input_groups.h"

#include "base/file_input.h"
#include "base/memory.h"
#include "input/input_kind.h"
#include "input/joined_inputs.h"
#include "input/read_profdata.h"
#include "input/read_recording.h"
#include "input/recording_belongs.h"

/* One path as given, and what was found of it. */
struct found {
    const char *path;
    enum input_kind kind;
    struct recording rec; /* of a recording, while groups are made */
    uint32_t group;       /* of one that leads; NO_INDEX */
};

struct finding {
    struct input_groups *groups;
    LAM_ARRAY(struct found) inputs;
    struct input_group others;
    struct file_set files; /* recordings and streams */
};

/* ---- kinds ---- */

static bool is_profile(enum input_kind kind)
{
    return kind == INPUT_PROFDATA || kind == INPUT_PROFDATA_DIR;
}

static int check_kind(const char *path, size_t count, enum input_kind *kind, struct lam_error *err)
{
    int rc = input_kind_of(path, kind, err);
    if (rc == LAM_E_TRUNCATED && text_ends_with(path, ".mm_profdata") && count > 1) {
        *kind = INPUT_PROFDATA; /* one of many: it is counted as unreadable, with its name */
        return LAM_OK;
    }
    if (rc >= 0 && *kind == INPUT_REPORT_JSON)
        return lam_error_set(err, LAM_E_UNSUPPORTED,
                             "%s: %s holds no events; give the recording it was made from", path,
                             input_kind_text(*kind));
    return rc;
}

static int add_input(struct finding *finding, const char *path, enum input_kind kind)
{
    bool is_new = true;
    int rc = is_profile(kind) ? LAM_OK : file_set_add(&finding->files, path, &is_new);
    if (rc < 0)
        return rc;
    if (!is_new)
        return array_push(&finding->groups->repeated, path);
    return array_push(&finding->inputs,
                      ((struct found){.path = path, .kind = kind, .group = NO_INDEX}));
}

static int look_at(struct finding *finding, const char *const *paths, size_t count,
                   struct lam_error *err)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < count; i++) {
        enum input_kind kind;
        rc = check_kind(paths[i], count, &kind, err);
        if (rc >= 0)
            rc = add_input(finding, paths[i], kind);
    }
    return rc;
}

/* ---- groups ---- */

static int add_path(struct input_group *group, struct input_paths *of_kind, const char *path)
{
    int rc = array_push(&group->paths, path);
    return rc >= 0 && of_kind ? array_push(of_kind, path) : rc;
}

static int begin_group(struct finding *finding, struct found *found)
{
    struct input_groups *groups = finding->groups;
    struct input_group *group = array_add(&groups->items);
    if (!group)
        return LAM_E_NOMEM;
    *group = (struct input_group){.recording = found->path};
    found->group = (uint32_t)(groups->items.count - 1);
    return add_path(group, NULL, found->path);
}

/* Reads what recordings say about processes. Those with an account lead. */
static int gather_recordings(struct finding *finding, struct lam_error *err)
{
    array_each(&finding->inputs, found)
    {
        if (is_profile(found->kind))
            continue;
        int rc = recording_gather(&found->rec, found->path, NULL, err);
        if (rc >= 0)
            rc = recording_link(&found->rec, err);
        if (rc >= 0 && recording_has_account(&found->rec))
            rc = begin_group(finding, found);
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

static int place_events(struct finding *finding, const struct found *events)
{
    struct input_group *group = &finding->others;
    array_each(&finding->inputs, found)
    {
        if (found->group != NO_INDEX && recording_holds_all_of(&found->rec, &events->rec)) {
            group = &finding->groups->items.items[found->group];
            break;
        }
    }
    return add_path(group, &group->events, events->path);
}

/* The group that a file's process is in; the others' for what cannot be read, which is counted there. */
static struct input_group *group_of_profile(struct finding *finding, const char *path)
{
    struct profdata_metadata meta = {0};
    struct input_group *group = &finding->others;
    if (profdata_metadata_of(&meta, path, NULL) >= 0) {
        array_each(&finding->inputs, found)
        {
            if (found->group != NO_INDEX && recording_holds_writer(&found->rec, &meta)) {
                group = &finding->groups->items.items[found->group];
                break;
            }
        }
    }
    profdata_metadata_free(&meta);
    return group;
}

static int place_file(struct input_group *group, const char *path)
{
    return add_path(group, &group->profiles, path);
}

/* A directory of which no file belongs to a recording stays one. */
static int place_directory(struct finding *finding, const char *path, struct lam_error *err)
{
    struct profile_files files = {0};
    LAM_ARRAY(struct input_group *) places = {0};
    bool is_divided = false;
    int rc = read_profdata_files(path, &files, err);
    for (size_t i = 0; rc >= 0 && i < files.count; i++) {
        struct input_group *group = group_of_profile(finding, files.items[i]);
        is_divided = is_divided || group != &finding->others;
        rc = array_push(&places, group);
    }
    if (rc >= 0 && !is_divided)
        rc = place_file(&finding->others, path);
    for (size_t i = 0; i < files.count; i++) {
        if (rc >= 0 && is_divided)
            rc = place_file(places.items[i], files.items[i]);
        if (rc >= 0 && is_divided)
            rc = array_push(&finding->groups->names, files.items[i]);
        if (rc < 0 || !is_divided)
            mem_free(files.items[i]);
    }
    array_free(&places);
    array_free(&files);
    return rc;
}

static int place_others(struct finding *finding, struct lam_error *err)
{
    bool has_leaders = finding->groups->items.count > 0;
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < finding->inputs.count; i++) {
        const struct found *found = &finding->inputs.items[i];
        if (found->group != NO_INDEX)
            continue;
        if (!is_profile(found->kind))
            rc = place_events(finding, found);
        else if (!has_leaders)
            rc = place_file(&finding->others, found->path);
        else if (found->kind == INPUT_PROFDATA)
            rc = place_file(group_of_profile(finding, found->path), found->path);
        else
            rc = place_directory(finding, found->path, err);
    }
    return rc;
}

static void free_group(struct input_group *group)
{
    array_free(&group->events);
    array_free(&group->profiles);
    array_free(&group->paths);
}

static int divide(struct finding *finding, struct lam_error *err)
{
    int rc = gather_recordings(finding, err);
    if (rc >= 0)
        rc = place_others(finding, err);
    if (rc >= 0 && finding->others.paths.count) {
        rc = array_push(&finding->groups->items, finding->others);
        if (rc >= 0)
            finding->others = (struct input_group){.recording = NULL};
    }
    return rc;
}

/* One input is what it is: nothing has to be read to know. */
static int take_only(struct finding *finding)
{
    struct found *found = &finding->inputs.items[0];
    if (!is_profile(found->kind))
        return begin_group(finding, found);
    struct input_group *group = array_add(&finding->groups->items);
    if (!group)
        return LAM_E_NOMEM;
    *group = (struct input_group){.recording = NULL};
    return add_path(group, &group->profiles, found->path);
}

int input_groups_find(struct input_groups *groups, const char *const *paths, size_t count,
                      struct lam_error *err)
{
    struct finding finding = {.groups = groups};
    struct lam_error own = LAM_ERROR_INIT;
    err = err ? err : &own;
    int rc = count ? look_at(&finding, paths, count, err)
                   : lam_error_set(err, LAM_E_INVAL, "no input to read");
    if (rc >= 0)
        rc = finding.inputs.count == 1 ? take_only(&finding) : divide(&finding, err);
    if (rc < 0 && err->code >= 0)
        lam_error_set(err, rc, "inputs: %s", lam_code_text(rc));
    array_each(&finding.inputs, found) recording_free(&found->rec);
    array_free(&finding.inputs);
    file_set_free(&finding.files);
    free_group(&finding.others);
    return rc < 0 ? rc : LAM_OK;
}

void input_groups_free(struct input_groups *groups)
{
    array_each(&groups->items, group) free_group(group);
    array_free(&groups->items);
    array_each(&groups->names, name) mem_free(*name);
    array_free(&groups->names);
    array_free(&groups->repeated);
}

/* ---- reading ---- */

static int read_led(const struct joined_part *part, const struct profile_sink *sink,
                    struct lam_error *err)
{
    const struct input_group *group = part->ctx;
    struct recording_more more = {.streams = group->events.items,
                                  .stream_count = group->events.count,
                                  .profiles = group->profiles.items,
                                  .profile_count = group->profiles.count};
    return read_recording_with(group->recording, &more, sink, err);
}

static int read_events(const struct joined_part *part, const struct profile_sink *sink,
                       struct lam_error *err)
{
    return read_recording(part->name, sink, err);
}

static int read_profiles(const struct joined_part *part, const struct profile_sink *sink,
                         struct lam_error *err)
{
    const struct input_group *group = part->ctx;
    return read_profdata(group->profiles.items, group->profiles.count, sink, err);
}

struct parts LAM_ARRAY_BODY(struct joined_part);

/* Self-profiles are one part, in the place of the first; each recording is another. */
static int add_parts(struct parts *parts, const struct input_group *group, uint32_t number)
{
    if (group->recording)
        return array_push(parts, ((struct joined_part){read_led, group, group->recording, number}));
    size_t events = 0;
    bool has_profiles = false;
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < group->paths.count; i++) {
        const char *path = group->paths.items[i];
        if (events < group->events.count && group->events.items[events] == path) {
            events++;
            rc = array_push(parts, ((struct joined_part){read_events, group, path, number}));
        } else if (!has_profiles) {
            has_profiles = true;
            rc = array_push(parts, ((struct joined_part){read_profiles, group, path, number}));
        }
    }
    return rc;
}

static int read_parts(const struct input_group *groups, size_t count,
                      const struct profile_sink *sink, struct lam_error *err)
{
    struct parts parts = {0};
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < count; i++)
        rc = add_parts(&parts, &groups[i], (uint32_t)i);
    if (rc < 0)
        rc = lam_error_set(err, rc, "inputs: %s", lam_code_text(rc));
    else if (parts.count == 1)
        rc = parts.items[0].read(&parts.items[0], sink, err);
    else
        rc = joined_inputs_read(parts.items, parts.count, sink, err);
    array_free(&parts);
    return rc;
}

int input_group_read(const struct input_group *group, const struct profile_sink *sink,
                     struct lam_error *err)
{
    return read_parts(group, 1, sink, err);
}

int input_groups_read(const struct input_groups *groups, const struct profile_sink *sink,
                      struct lam_error *err)
{
    return read_parts(groups->items.items, groups->items.count, sink, err);
}

int input_read(const char *const *paths, size_t count, const struct profile_sink *sink,
               struct lam_error *err)
{
    struct input_groups groups = {0};
    int rc = input_groups_find(&groups, paths, count, err);
    if (rc >= 0)
        rc = input_groups_read(&groups, sink, err);
    input_groups_free(&groups);
    return rc;
}
