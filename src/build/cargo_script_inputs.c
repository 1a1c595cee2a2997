#include "build/cargo_script_inputs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json_read.h"
#include "base/memory.h"

enum { NAMED = 3, ENTRIES_MAX = 20000, DEPTH_MAX = 16 };

struct look {
    const char *package;
    const struct package_dirs *dirs;
    int64_t since_ns;
    struct strbuf *text;
    size_t changed;
    size_t left;     /* entries of directories that may still be looked at */
    bool is_missing; /* one is, and stands in text alone */
};

static bool is_newer(const char *path, int64_t since_ns, int depth, size_t *left);

/* Of a directory cargo looks at all that is in it. */
static bool has_newer(const char *dir, int64_t since_ns, int depth, size_t *left)
{
    struct dir_entries entries = {0};
    bool newer = false;
    if (depth >= DEPTH_MAX || dir_list(dir, &entries, NULL) < 0)
        return false;
    for (size_t i = 0; i < entries.count && !newer && *left > 0; i++) {
        char *path = path_join(dir, entries.items[i].name);
        (*left)--;
        newer = path && is_newer(path, since_ns, depth + 1, left);
        mem_free(path);
    }
    dir_entries_free(&entries);
    return newer;
}

static bool is_newer(const char *path, int64_t since_ns, int depth, size_t *left)
{
    struct stat st;
    if ((depth ? lstat(path, &st) : stat(path, &st)) < 0)
        return false;
    if ((int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec > since_ns)
        return true;
    return S_ISDIR(st.st_mode) && has_newer(path, since_ns, depth, left);
}

static bool is_absent(const char *path)
{
    struct stat st;
    return stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

struct found {
    bool is_looked_for, is_there, is_newer;
};

static void look_in(struct look *look, const char *dir, const char *name, struct found *found)
{
    char *path = path_join(dir, name);
    if (path) {
        found->is_looked_for = true;
        found->is_there |= !is_absent(path);
        found->is_newer |= is_newer(path, look->since_ns, 0, &look->left);
    }
    mem_free(path);
}

/* A name can have several directories: two versions of a package. */
static void look_at(struct look *look, const char *name)
{
    struct found found = {0};
    if (name[0] == '/')
        look_in(look, "", name, &found);
    for (size_t i = 0; name[0] != '/' && i < look->dirs->count; i++)
        if (strcmp(look->dirs->items[i].package, look->package) == 0)
            look_in(look, look->dirs->items[i].dir, name, &found);
    if (look->is_missing || !found.is_looked_for)
        return;
    if (!found.is_there) {
        look->is_missing = true;
        strbuf_clear(look->text);
        strbuf_addf(look->text, "%s is missing", name);
    } else if (found.is_newer && look->changed++ < NAMED) {
        strbuf_addf(look->text, "%s%s", look->changed > 1 ? ", " : "", name);
    }
}

static int look_at_paths(struct json_reader *json, struct look *look)
{
    int rc = json_enter_array(json);
    while (rc >= 0 && (rc = json_next_element(json)) > 0) {
        if (json->event != JSON_STRING)
            return json_skip_rest(json);
        char *name = mem_alloc(json->length + 1);
        if (!name)
            return LAM_E_NOMEM;
        memcpy(name, json->text, json->length);
        name[json->length] = '\0';
        look_at(look, name);
        mem_free(name);
    }
    return rc;
}

/* {"output":"debug/build/…/output","paths":["schema.proto"]} */
static int look_at_request(struct json_reader *json, struct look *look)
{
    int rc = json_enter_object(json);
    while (rc >= 0 && (rc = json_next_key(json)) > 0)
        rc = json_key_is(json, "paths") ? look_at_paths(json, look) : json_skip_value(json);
    return rc;
}

bool script_inputs_changed(const char *local, size_t length, const char *package,
                           const struct package_dirs *dirs, int64_t since_ns, struct strbuf *text)
{
    struct look look = {
        .package = package, .dirs = dirs, .since_ns = since_ns, .text = text, .left = ENTRIES_MAX};
    struct json_reader json;
    json_open_memory(&json, local, length, &(struct json_options){.max_depth = 8});
    int rc = json_enter_array(&json);
    while (rc >= 0 && (rc = json_next_element(&json)) > 0) {
        if (json.event != JSON_OBJECT_BEGIN)
            break;
        while (rc >= 0 && (rc = json_next_key(&json)) > 0)
            rc = json_key_is(&json, "RerunIfChanged") ? look_at_request(&json, &look)
                                                      : json_skip_value(&json);
    }
    json_close(&json);
    if (look.is_missing || look.changed == 0)
        return look.is_missing;
    if (look.changed > NAMED)
        strbuf_addf(text, " and %zu more", look.changed - NAMED);
    strbuf_add(text, " changed");
    return true;
}
