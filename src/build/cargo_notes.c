#include "build/cargo_notes.h"

#include <string.h>

#include "base/byteout.h"
#include "base/file.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "build/cargo_unit.h"

enum { NOTES_BYTES_MAX = 256 << 20 };

static void put_cause(struct json_writer *json, const struct cargo_cause *cause)
{
    json_put_newline(json);
    json_put_object(json);
    json_member_str(json, "place", cause->place);
    json_member_str(json, "package", cause->package);
    json_member_str(json, "hash", cause->hash);
    json_member_str(json, "unit", cause->unit);
    json_member_str(json, "status", cargo_status_name(cause->status));
    if (cause->reason)
        json_member_str(json, "reason", cause->reason);
    if (cause->dependency)
        json_member_str(json, "dependency", cause->dependency);
    json_put_end(json);
}

static void put_optional(struct json_writer *json, const char *key, const char *text)
{
    if (text)
        json_member_str(json, key, text);
}

int cargo_notes_write(const struct cargo_notes *notes, struct strbuf *text, struct lam_error *err)
{
    struct byteout *out = mem_zalloc(1, sizeof *out);
    struct json_writer json;
    if (!out)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", CARGO_NOTES_NAME);
    byteout_init_strbuf(out, text);
    json_writer_init(&json, out, 0);
    json_put_object(&json);
    json_member_str(&json, "format", "lamella-cargo");
    json_member_u64(&json, "version", 1);
    put_optional(&json, "target_dir", notes->target_dir);
    put_optional(&json, "workspace_root", notes->workspace_root);
    put_optional(&json, "timings", notes->timings);
    put_optional(&json, "log", notes->log);
    if (notes->known_before != UINT64_MAX) {
        json_member_u64(&json, "known_before", notes->known_before);
        json_member_array(&json, "causes");
        array_each(&notes->causes, cause) put_cause(&json, cause);
        json_put_end(&json);
    }
    json_put_end(&json);
    int rc = json_writer_finish(&json, CARGO_NOTES_NAME, err);
    mem_free(out);
    return rc;
}

static enum cargo_status status_of(const char *text)
{
    for (int i = 1; text && i < CARGO_STATUS_COUNT; i++)
        if (strcmp(text, cargo_status_name((enum cargo_status)i)) == 0)
            return (enum cargo_status)i;
    return CARGO_STATUS_UNKNOWN;
}

static int read_cause(struct json_reader *json, struct cargo_notes *notes)
{
    const char *status = NULL;
    struct cargo_cause cause = {.place = "", .package = "", .hash = "", .unit = ""};
    const struct {
        const char *key, **target;
    } members[] = {
        {"place", &cause.place},
        {"package", &cause.package},
        {"hash", &cause.hash},
        {"unit", &cause.unit},
        {"status", &status},
        {"reason", &cause.reason},
        {"dependency", &cause.dependency},
    };
    int rc;
    while ((rc = json_next_key(json)) > 0) {
        const char **target = NULL;
        for (size_t i = 0; i < sizeof members / sizeof *members; i++)
            if (json_key_is(json, members[i].key))
                target = members[i].target;
        rc = target ? cargo_read_str(json, &notes->arena, target) : json_skip_value(json);
        if (rc < 0)
            return rc;
    }
    cause.status = status_of(status);
    return rc < 0 ? rc : array_push(&notes->causes, cause);
}

static int read_causes(struct json_reader *json, struct cargo_notes *notes)
{
    int rc = json_enter_array(json);
    while (rc >= 0 && (rc = json_next_element(json)) > 0) {
        if (json->event != JSON_OBJECT_BEGIN)
            return json_fail(json, LAM_E_CORRUPT, "a cause is no object");
        rc = read_cause(json, notes);
    }
    return rc;
}

static int read_member(struct json_reader *json, struct cargo_notes *notes, bool *is_ours)
{
    const char *format = NULL;
    int rc;
    if (json_key_is(json, "format")) {
        rc = cargo_read_str(json, &notes->arena, &format);
        *is_ours = format && strcmp(format, "lamella-cargo") == 0;
        return rc;
    }
    if (json_key_is(json, "target_dir"))
        return cargo_read_str(json, &notes->arena, &notes->target_dir);
    if (json_key_is(json, "workspace_root"))
        return cargo_read_str(json, &notes->arena, &notes->workspace_root);
    if (json_key_is(json, "timings"))
        return cargo_read_str(json, &notes->arena, &notes->timings);
    if (json_key_is(json, "log"))
        return cargo_read_str(json, &notes->arena, &notes->log);
    if (json_key_is(json, "known_before"))
        return json_read_u64(json, &notes->known_before);
    if (json_key_is(json, "causes"))
        return read_causes(json, notes);
    return json_skip_value(json);
}

int cargo_notes_parse(struct cargo_notes *notes, const char *text, size_t size, const char *name,
                      struct lam_error *err)
{
    struct json_reader json;
    bool is_ours = false;
    *notes = (struct cargo_notes){.known_before = UINT64_MAX};
    json_open_memory(&json, text, size, &(struct json_options){.max_depth = 16, .allow_bytes = true});
    int rc = json_enter_object(&json);
    while (rc >= 0 && (rc = json_next_key(&json)) > 0)
        rc = read_member(&json, notes, &is_ours);
    if (rc >= 0 && !is_ours)
        rc = json_fail(&json, LAM_E_CORRUPT, "not what lamella notes of a cargo build");
    if (rc < 0) {
        if (json_error(&json, name, err) == LAM_OK)
            lam_error_set(err, rc, "%s: %s", name, lam_code_text(rc));
        cargo_notes_free(notes);
    }
    json_close(&json);
    return rc < 0 ? rc : LAM_OK;
}

int cargo_notes_load(struct cargo_notes *notes, const char *path, struct lam_error *err)
{
    char *text = NULL;
    size_t size = 0;
    int rc = file_read_all(path, NOTES_BYTES_MAX, &text, &size, err);
    if (rc < 0) {
        *notes = (struct cargo_notes){.known_before = UINT64_MAX};
        return rc;
    }
    rc = cargo_notes_parse(notes, text, size, path, err);
    mem_free(text);
    return rc;
}

void cargo_notes_free(struct cargo_notes *notes)
{
    array_free(&notes->causes);
    arena_free(&notes->arena);
    *notes = (struct cargo_notes){.known_before = UINT64_MAX};
}
