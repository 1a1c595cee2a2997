#include "build/unit_artifacts.h"

#include <string.h>
#include <sys/stat.h>

#include "base/byteout.h"
#include "base/file.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "build/cargo_unit.h"

/* By the file's ending; programs have none. */
static const char *kind_of(const char *file)
{
    static const struct {
        const char *end, *kind;
    } kinds[] = {
        {".rlib", "rlib"}, {".rmeta", "rmeta"}, {".o", "obj"},      {".so", "shared"},
        {".a", "archive"}, {".dwo", "dwo"},     {".dwp", "dwo"},    {".s", "asm"},
        {".wasm", "exe"},  {".bc", "bitcode"},  {".ll", "bitcode"}, {".gcno", "file"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (text_ends_with(file, kinds[i].end))
            return kinds[i].kind;
    if (strstr(file, ".so."))
        return "shared";
    return strchr(file, '.') ? "file" : "exe";
}

struct finder {
    struct arena *arena;
    const char *cwd;
    int64_t since_ns;
    LAM_ARRAY(struct unit_artifact) found;
};

/* dir/name, when it is a file written since. */
static int look_at(struct finder *finder, const char *dir, const char *name)
{
    struct stat st;
    char *inner = path_join(dir, name),
         *path = inner && finder->cwd ? path_join(finder->cwd, inner) : NULL;
    const char *full = path ? path : inner;
    int rc = inner ? LAM_OK : LAM_E_NOMEM;
    if (rc == LAM_OK && (full[0] == '/') && stat(full, &st) == 0 && S_ISREG(st.st_mode) &&
        (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec >= finder->since_ns) {
        struct unit_artifact artifact = {.file = arena_strdup(finder->arena, path_name(full)),
                                         .bytes = (uint64_t)st.st_size};
        artifact.kind = artifact.file ? kind_of(artifact.file) : NULL;
        rc = artifact.file ? array_push(&finder->found, artifact) : LAM_E_NOMEM;
    }
    mem_free(inner);
    mem_free(path);
    return rc;
}

/* A library, a macro or a program of rustc's: what it is called follows from crate, type and hash. */
static int rust_files(struct finder *finder, const struct unit *unit)
{
    static const struct {
        const char *before, *after;
    } forms[] = {{"lib", ".rmeta"}, {"lib", ".rlib"}, {"lib", ".so"},
                 {"lib", ".a"},     {"", ""},         {"", ".dwp"}};
    const char *extra = unit->extra_filename ? unit->extra_filename : "";
    struct strbuf name = {0};
    int rc = LAM_OK;
    if (!unit->crate || !unit->output)
        return LAM_OK;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && rc == LAM_OK; i++) {
        strbuf_clear(&name);
        strbuf_addf(&name, "%s%s%s%s", forms[i].before, unit->crate, extra, forms[i].after);
        rc = strbuf_ok(&name) ? look_at(finder, unit->output, strbuf_text(&name)) : LAM_E_NOMEM;
    }
    strbuf_free(&name);
    return rc < 0 || finder->found.count > 0 ? rc : look_at(finder, "", unit->output);
}

int unit_artifacts_find(const struct unit *unit, const char *cwd, int64_t since_ns,
                        struct arena *arena, struct unit_artifacts *artifacts)
{
    struct finder finder = {.arena = arena, .cwd = cwd, .since_ns = since_ns};
    int rc = LAM_OK;
    if (unit->kind == UNIT_RUSTC)
        rc = rust_files(&finder, unit);
    else if (unit->output && unit->kind != UNIT_RUSTDOC && unit->kind != UNIT_BUILD_SCRIPT)
        rc = look_at(&finder, "", unit->output);
    *artifacts = (struct unit_artifacts){NULL, 0};
    struct unit_artifact *items =
        rc == LAM_OK ? arena_array(arena, finder.found.count + 1, sizeof *items) : NULL;
    if (items) {
        for (size_t i = 0; i < finder.found.count; i++)
            items[i] = finder.found.items[i];
        *artifacts = (struct unit_artifacts){items, finder.found.count};
    } else if (rc == LAM_OK) {
        rc = LAM_E_NOMEM;
    }
    array_free(&finder.found);
    return rc;
}

/* ---- the file ---- */

int artifact_list_write(const struct artifact_list *list, struct strbuf *text, struct lam_error *err)
{
    struct byteout *out = mem_zalloc(1, sizeof *out);
    struct json_writer json;
    if (!out)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", ARTIFACTS_NAME);
    byteout_init_strbuf(out, text);
    json_writer_init(&json, out, 0);
    json_put_object(&json);
    json_member_str(&json, "format", "lamella-artifacts");
    json_member_u64(&json, "version", 1);
    json_member_array(&json, "artifacts");
    array_each(&list->rows, row)
    {
        json_put_newline(&json);
        json_put_object(&json);
        json_member_u64(&json, "pid", row->pid);
        json_member_i64(&json, "start_ns", row->start_ns);
        json_member_str(&json, "file", row->artifact.file);
        json_member_str(&json, "kind", row->artifact.kind);
        json_member_u64(&json, "bytes", row->artifact.bytes);
        json_put_end(&json);
    }
    json_put_end(&json);
    json_put_end(&json);
    int rc = json_writer_finish(&json, ARTIFACTS_NAME, err);
    mem_free(out);
    return rc;
}

static int read_row(struct json_reader *json, struct artifact_list *list)
{
    struct artifact_row row = {.artifact = {.file = "", .kind = "file"}};
    uint64_t pid = 0;
    int rc;
    while ((rc = json_next_key(json)) > 0) {
        if (json_key_is(json, "pid"))
            rc = json_read_u64(json, &pid);
        else if (json_key_is(json, "start_ns"))
            rc = json_read_i64(json, &row.start_ns);
        else if (json_key_is(json, "file"))
            rc = cargo_read_str(json, &list->arena, &row.artifact.file);
        else if (json_key_is(json, "kind"))
            rc = cargo_read_str(json, &list->arena, &row.artifact.kind);
        else if (json_key_is(json, "bytes"))
            rc = json_read_u64(json, &row.artifact.bytes);
        else
            rc = json_skip_value(json);
        if (rc < 0)
            return rc;
    }
    row.pid = (uint32_t)pid;
    return rc < 0 || pid > UINT32_MAX ? rc : array_push(&list->rows, row);
}

static int read_rows(struct json_reader *json, struct artifact_list *list)
{
    int rc = json_enter_array(json);
    while (rc >= 0 && (rc = json_next_element(json)) > 0) {
        if (json->event != JSON_OBJECT_BEGIN)
            return json_fail(json, LAM_E_CORRUPT, "an artifact is no object");
        rc = read_row(json, list);
    }
    return rc;
}

int artifact_list_parse(struct artifact_list *list, const char *text, size_t size, const char *name,
                        struct lam_error *err)
{
    struct json_reader json;
    *list = (struct artifact_list){0};
    json_open_memory(&json, text, size, &(struct json_options){.max_depth = 16, .allow_bytes = true});
    int rc = json_enter_object(&json);
    while (rc >= 0 && (rc = json_next_key(&json)) > 0)
        rc = json_key_is(&json, "artifacts") ? read_rows(&json, list) : json_skip_value(&json);
    if (rc < 0) {
        if (json_error(&json, name, err) == LAM_OK)
            lam_error_set(err, rc, "%s: %s", name, lam_code_text(rc));
        artifact_list_free(list);
    }
    json_close(&json);
    return rc < 0 ? rc : LAM_OK;
}

void artifact_list_free(struct artifact_list *list)
{
    array_free(&list->rows);
    arena_free(&list->arena);
    *list = (struct artifact_list){0};
}
