/* Which units were built between two readings of cargo's fingerprints, and why. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json_read.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "build/cargo_fingerprint.h"
#include "build/cargo_script_inputs.h"

enum { FILES_NAMED = 3 };

struct piece { /* of a note's text */
    const char *text;
    size_t length;
};

/* What a unit was built with, as its note has it: raw JSON, to be compared. */
struct settings {
    struct piece rustc, profile, features, declared_features, target, path, rustflags, config,
        compile_kind, metadata, deps, local;
};

static const struct setting {
    const char *key;
    size_t offset;
    const char *changed; /* what is said of it */
} setting_rows[] = {
    {"rustc", offsetof(struct settings, rustc), "the compiler changed"},
    {"profile", offsetof(struct settings, profile), "the profile's settings changed"},
    {"features", offsetof(struct settings, features), "its features changed"},
    {"rustflags", offsetof(struct settings, rustflags), "RUSTFLAGS changed"},
    {"config", offsetof(struct settings, config), "cargo's configuration changed"},
    {"compile_kind", offsetof(struct settings, compile_kind), "the platform changed"},
    {"target", offsetof(struct settings, target), "its target in Cargo.toml changed"},
    {"declared_features", offsetof(struct settings, declared_features),
     "the features in Cargo.toml changed"},
    {"path", offsetof(struct settings, path), "its sources moved"},
    {"metadata", offsetof(struct settings, metadata), "the package's description changed"},
    {"deps", offsetof(struct settings, deps), NULL},
    {"local", offsetof(struct settings, local), NULL},
};

static struct piece *piece_of(struct settings *settings, const struct setting *row)
{
    return (struct piece *)(void *)((char *)settings + row->offset);
}

static bool same_piece(struct piece a, struct piece b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.text, b.text, a.length) == 0);
}

/* False when it is no such note. */
static bool read_settings(const struct fingerprint *item, struct settings *settings)
{
    struct json_reader json;
    memset(settings, 0, sizeof *settings);
    json_open_memory(&json, item->json, item->json_bytes, &(struct json_options){.max_depth = 16});
    int rc = json_enter_object(&json);
    while (rc >= 0 && (rc = json_next_key(&json)) > 0) {
        struct piece *piece = NULL;
        for (size_t i = 0; i < sizeof setting_rows / sizeof *setting_rows; i++)
            if (json_key_is(&json, setting_rows[i].key))
                piece = piece_of(settings, &setting_rows[i]);
        uint64_t start = json_offset(&json);
        rc = json_skip_value(&json);
        if (rc >= 0 && piece)
            *piece = (struct piece){item->json + start, (size_t)(json_offset(&json) - start)};
    }
    json_close(&json);
    return rc == LAM_OK;
}

static const char *after_colon(struct piece *piece)
{
    while (piece->length > 0 && (*piece->text == ':' || *piece->text == ' ')) {
        piece->text++;
        piece->length--;
    }
    return piece->text;
}

/* ---- which one, before and after ---- */

struct finder {
    struct build_causes *causes;
    const struct fingerprints *before, *after;
    const struct package_dirs *dirs;
    struct map by_value; /* of a fingerprint → index + 1 in after, of those that were built */
    struct strbuf text;
    bool has_run; /* the dependency that was found is the run of a build script */
};

static int compare_place(const struct fingerprint *a, const struct fingerprint *b)
{
    int by = strcmp(a->place, b->place);
    by = by ? by : strcmp(a->package, b->package);
    by = by ? by : strcmp(a->hash, b->hash);
    return by ? by : strcmp(a->unit, b->unit);
}

static const struct fingerprint *find_exactly(const struct fingerprints *list,
                                              const struct fingerprint *item)
{
    size_t low = 0, high = list->items.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int by = compare_place(&list->items.items[middle], item);
        if (by == 0)
            return &list->items.items[middle];
        if (by < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Notes of a unit that never was built whole do not say what they are of. */
static const struct fingerprint *find_same(const struct fingerprints *list,
                                           const struct fingerprint *item)
{
    const struct fingerprint *found = find_exactly(list, item);
    struct fingerprint unfinished = *item;
    unfinished.unit = "";
    return found ? found : find_exactly(list, &unfinished);
}

static bool was_built(const struct fingerprint *before, const struct fingerprint *after)
{
    return !before || before->built_ns != after->built_ns || before->value != after->value;
}

/* ---- reasons ---- */

static const char *take_text(struct finder *finder)
{
    const char *text = strbuf_ok(&finder->text)
                           ? arena_strdup(&finder->causes->arena, strbuf_text(&finder->text))
                           : NULL;
    strbuf_clear(&finder->text);
    return text;
}

/* One of settings' own reasons; NULL when they are the same. */
static const char *changed_setting(struct settings *before, struct settings *after)
{
    for (size_t i = 0; i < sizeof setting_rows / sizeof *setting_rows; i++)
        if (setting_rows[i].changed &&
            !same_piece(*piece_of(before, &setting_rows[i]), *piece_of(after, &setting_rows[i])))
            return setting_rows[i].changed;
    return NULL;
}

struct changed_files {
    struct finder *finder;
    size_t count;
};

static void note_file(struct changed_files *files, const char *path, size_t length)
{
    if (files->count < FILES_NAMED) {
        strbuf_add(&files->finder->text, files->count ? ", " : "");
        strbuf_add_bytes(&files->finder->text, path, length);
    }
    files->count++;
}

/* Whether a file of a package's directory was changed after the list was written. */
static bool is_newer(const struct fingerprint *item, const char *dir,
                     const struct fingerprint_input *input)
{
    char *path = mem_alloc(strlen(dir) + input->length + 2);
    struct stat st;
    if (!path)
        return false;
    memcpy(path, dir, strlen(dir));
    path[strlen(dir)] = '/';
    memcpy(path + strlen(dir) + 1, input->path, input->length);
    path[strlen(dir) + 1 + input->length] = '\0';
    const char *file = input->length > 0 && input->path[0] == '/' ? path + strlen(dir) + 1 : path;
    bool newer = stat(file, &st) == 0 &&
                 (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec > item->inputs_ns;
    mem_free(path);
    return newer;
}

/* Source files that are newer than the list of them. A name can have several directories: those where the file is. */
static const char *changed_inputs(struct finder *finder, const struct fingerprint *before)
{
    struct changed_files files = {finder, 0};
    struct fingerprint_inputs inputs = fingerprint_inputs(before);
    struct fingerprint_input input;
    while (before->inputs_ns && fingerprint_next_input(&inputs, &input)) {
        bool newer = false;
        if (input.length > 0 && input.path[0] == '/')
            newer = is_newer(before, "", &input);
        for (size_t i = 0; input.is_of_package && i < finder->dirs->count && !newer; i++) {
            const struct package_dir *dir = &finder->dirs->items[i];
            if (strcmp(dir->package, before->package) == 0)
                newer = is_newer(before, dir->dir, &input);
        }
        if (newer)
            note_file(&files, input.path, input.length);
    }
    if (files.count == 0)
        return NULL;
    if (files.count > FILES_NAMED)
        strbuf_addf(&finder->text, " and %zu more", files.count - FILES_NAMED);
    strbuf_add(&finder->text, " changed");
    return take_text(finder);
}

/* [[package, "name", public, value], …]: calls for each with its name and value. */
typedef bool (*dep_fn)(struct finder *finder, const char *name, size_t length, uint64_t value,
                       struct build_cause *cause);

static bool each_dep(struct finder *finder, struct piece deps, dep_fn fn, struct build_cause *cause)
{
    struct json_reader json;
    bool done = false;
    after_colon(&deps);
    json_open_memory(&json, deps.text, deps.length, &(struct json_options){.max_depth = 4});
    int rc = json_enter_array(&json);
    while (!done && rc >= 0 && json_next_element(&json) > 0) {
        const char *name = NULL;
        size_t length = 0;
        uint64_t value = 0;
        int element;
        while ((element = json_next_element(&json)) > 0) {
            if (json.event == JSON_STRING) {
                name = json.text;
                length = json.length;
            } else if (json.event == JSON_NUMBER && !json_get_u64(&json, &value)) {
                value = 0;
            }
        }
        rc = element;
        done = rc >= 0 && name && fn(finder, name, length, value, cause);
    }
    json_close(&json);
    return done;
}

/* A dependency that was built in this build too. */
static bool is_rebuilt_dep(struct finder *finder, const char *name, size_t length, uint64_t value,
                           struct build_cause *cause)
{
    uint64_t index = map_get_or(&finder->by_value, value, 0);
    (void)name;
    (void)length;
    if (value == 0 || index == 0)
        return false;
    const struct fingerprint *dep = &finder->after->items.items[index - 1];
    bool is_script =
        strcmp(dep->package, cause->package) == 0 && strstr(dep->unit, "build-script-");
    cause->dependency = is_script ? CARGO_ITS_SCRIPT : dep->package;
    finder->has_run = is_script && text_starts_with(dep->unit, "run-");
    return true;
}

static const char *rebuilt_dependency(struct finder *finder, struct settings *after,
                                      struct build_cause *cause)
{
    if (!each_dep(finder, after->deps, is_rebuilt_dep, cause))
        return NULL;
    bool is_script = strcmp(cause->dependency, CARGO_ITS_SCRIPT) == 0;
    strbuf_addf(&finder->text, "%s%s %s", is_script ? "" : "its dependency ", cause->dependency,
                finder->has_run ? "was run" : "was built");
    return take_text(finder);
}

/* Files that a build script asked to be looked at, when it ran before. */
static const char *changed_for_script(struct finder *finder, const struct fingerprint *before,
                                      struct piece local)
{
    if (!text_starts_with(before->unit, "run-build-script-"))
        return NULL;
    after_colon(&local);
    bool changed = script_inputs_changed(local.text, local.length, before->package, finder->dirs,
                                         before->built_ns, &finder->text);
    return changed ? take_text(finder) : NULL;
}

/* What a build script asked to be looked at, and others' notes that are no list of files. */
static const char *changed_local(struct finder *finder, struct settings *before,
                                 struct settings *after)
{
    static const char variable[] = "{\"RerunIfEnvChanged\":{\"var\":\"";
    if (same_piece(before->local, after->local))
        return NULL;
    const char *at = after->local.text, *end = at + after->local.length;
    while (at && (at = memmem(at, (size_t)(end - at), variable, strlen(variable))) != NULL) {
        const char *stop = memchr(at, '}', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        if (!memmem(before->local.text, before->local.length, at, length)) {
            at += strlen(variable);
            strbuf_add_bytes(&finder->text, at, strcspn(at, "\""));
            strbuf_add(&finder->text, " in the environment changed");
            return take_text(finder);
        }
        at += length;
    }
    return "what it looks at changed";
}

/* Built before with other settings, in the same place: the nearest such. */
static const char *other_settings(struct finder *finder, const struct fingerprint *item,
                                  struct settings *after)
{
    const char *found = NULL;
    size_t fewest = SIZE_MAX;
    array_each(&finder->before->items, other)
    {
        struct settings settings;
        if (strcmp(other->package, item->package) != 0 || strcmp(other->unit, item->unit) != 0 ||
            strcmp(other->place, item->place) != 0 || !read_settings(other, &settings))
            continue;
        size_t count = 0;
        const char *first = changed_setting(&settings, after);
        for (size_t i = 0; i < sizeof setting_rows / sizeof *setting_rows; i++)
            count += setting_rows[i].changed && !same_piece(*piece_of(&settings, &setting_rows[i]),
                                                            *piece_of(after, &setting_rows[i]));
        if (first && count < fewest) {
            fewest = count;
            found = first;
        }
    }
    return found;
}

static void find_reason(struct finder *finder, const struct fingerprint *before,
                        const struct fingerprint *after, struct build_cause *cause)
{
    struct settings old, new;
    bool has_new = read_settings(after, &new);
    if (!before) {
        cause->status = CARGO_STATUS_NEW;
        cause->reason = has_new ? other_settings(finder, after, &new) : NULL;
        return;
    }
    cause->status = CARGO_STATUS_DIRTY;
    bool has_old = read_settings(before, &old);
    if (has_old && has_new)
        cause->reason = changed_setting(&old, &new);
    if (!cause->reason && before->value == 0)
        cause->reason = "its last build was not finished";
    if (!cause->reason)
        cause->reason = changed_inputs(finder, before);
    if (!cause->reason && has_old)
        cause->reason = changed_for_script(finder, before, old.local);
    if (!cause->reason && has_old && has_new)
        cause->reason = changed_local(finder, &old, &new);
    if (!cause->reason && has_new)
        cause->reason = rebuilt_dependency(finder, &new, cause);
}

int build_causes_find(struct build_causes *causes, const struct fingerprints *before,
                      const struct fingerprints *after, const struct package_dirs *dirs)
{
    *causes = (struct build_causes){0};
    struct finder finder = {.causes = causes, .before = before, .after = after, .dirs = dirs};
    int rc = LAM_OK;
    for (size_t i = 0; i < after->items.count && rc == LAM_OK; i++) {
        const struct fingerprint *item = &after->items.items[i];
        if (item->value && was_built(find_same(before, item), item))
            rc = map_put(&finder.by_value, item->value, i + 1);
    }
    for (size_t i = 0; i < after->items.count && rc == LAM_OK; i++) {
        const struct fingerprint *item = &after->items.items[i], *old = find_same(before, item);
        if (!was_built(old, item))
            continue;
        struct build_cause cause = {
            .place = item->place, .package = item->package, .hash = item->hash, .unit = item->unit};
        find_reason(&finder, old, item, &cause);
        rc = array_push(&causes->items, cause);
    }
    map_free(&finder.by_value);
    strbuf_free(&finder.text);
    if (rc < 0)
        build_causes_free(causes);
    return rc;
}

void build_causes_free(struct build_causes *causes)
{
    array_free(&causes->items);
    arena_free(&causes->arena);
    *causes = (struct build_causes){0};
}
