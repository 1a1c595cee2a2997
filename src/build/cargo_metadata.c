#include "build/cargo_metadata.h"

#include <string.h>

#include "build/cargo_unit.h"

static int add_package(struct cargo_metadata *metadata, const char *name, const char *dir)
{
    if (!name || !dir)
        return LAM_OK;
    array_each(&metadata->packages, known)
    {
        if (strcmp(known->package, name) == 0 && strcmp(known->dir, dir) == 0)
            return LAM_OK;
    }
    return array_push(&metadata->packages, (struct package_dir){name, dir});
}

static int read_dependency(struct json_reader *json, struct cargo_metadata *metadata)
{
    const char *name = NULL, *path = NULL;
    int rc;
    while ((rc = json_next_key(json)) > 0) {
        if (json_key_is(json, "name"))
            rc = cargo_read_str(json, &metadata->arena, &name);
        else if (json_key_is(json, "path"))
            rc = cargo_read_str(json, &metadata->arena, &path);
        else
            rc = json_skip_value(json);
        if (rc < 0)
            return rc;
    }
    return rc < 0 ? rc : add_package(metadata, name, path);
}

typedef int (*element_fn)(struct json_reader *json, struct cargo_metadata *metadata);

static int read_objects(struct json_reader *json, struct cargo_metadata *metadata, element_fn read)
{
    int rc = json_enter_array(json);
    while (rc >= 0 && (rc = json_next_element(json)) > 0) {
        if (json->event != JSON_OBJECT_BEGIN)
            return json_fail(json, LAM_E_CORRUPT, "expected a list of objects");
        rc = read(json, metadata);
    }
    return rc;
}

static int read_package(struct json_reader *json, struct cargo_metadata *metadata)
{
    const char *name = NULL, *manifest = NULL;
    int rc;
    while ((rc = json_next_key(json)) > 0) {
        if (json_key_is(json, "name"))
            rc = cargo_read_str(json, &metadata->arena, &name);
        else if (json_key_is(json, "manifest_path"))
            rc = cargo_read_str(json, &metadata->arena, &manifest);
        else if (json_key_is(json, "dependencies"))
            rc = read_objects(json, metadata, read_dependency);
        else
            rc = json_skip_value(json);
        if (rc < 0)
            return rc;
    }
    const char *slash = manifest ? strrchr(manifest, '/') : NULL;
    if (rc < 0 || !slash)
        return rc;
    const char *dir = arena_strndup(&metadata->arena, manifest, (size_t)(slash - manifest));
    return dir ? add_package(metadata, name, dir) : LAM_E_NOMEM;
}

static int read_member(struct json_reader *json, struct cargo_metadata *metadata)
{
    struct arena *arena = &metadata->arena;
    if (json_key_is(json, "target_directory"))
        return cargo_read_str(json, arena, &metadata->target_dir);
    if (json_key_is(json, "build_directory"))
        return cargo_read_str(json, arena, &metadata->build_dir);
    if (json_key_is(json, "workspace_root"))
        return cargo_read_str(json, arena, &metadata->workspace_root);
    if (json_key_is(json, "packages"))
        return read_objects(json, metadata, read_package);
    return json_skip_value(json);
}

int cargo_metadata_parse(struct cargo_metadata *metadata, const char *text, size_t size,
                         struct lam_error *err)
{
    struct json_reader json;
    *metadata = (struct cargo_metadata){0};
    json_open_memory(&json, text, size, &(struct json_options){.max_depth = 64, .allow_bytes = true});
    int rc = json_enter_object(&json);
    while (rc >= 0 && (rc = json_next_key(&json)) > 0)
        rc = read_member(&json, metadata);
    if (rc < 0) {
        if (json_error(&json, "cargo metadata", err) == LAM_OK)
            lam_error_set(err, rc, "cargo metadata: %s", lam_code_text(rc));
        cargo_metadata_free(metadata);
    }
    json_close(&json);
    return rc;
}

void cargo_metadata_free(struct cargo_metadata *metadata)
{
    array_free(&metadata->packages);
    arena_free(&metadata->arena);
    *metadata = (struct cargo_metadata){0};
}
