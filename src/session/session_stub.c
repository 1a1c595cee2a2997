#include "session/session_stub.h"

#include <string.h>

#include "base/file.h"
#include "base/json_read.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "session/session_file.h"

/* A text value, or NULL for null; anything else is skipped and leaves *text alone. */
static int take_text(struct json_reader *json, char **text)
{
    int event = json_next(json);
    if (event == JSON_STRING) {
        mem_free(*text);
        *text = mem_strndup(json->text, json->length);
        return *text ? LAM_OK : json_fail(json, LAM_E_NOMEM, "out of memory");
    }
    return event < 0 ? event : json_skip_rest(json);
}

static int take_u64(struct json_reader *json, uint64_t *value)
{
    int event = json_next(json);
    if (event == JSON_NUMBER)
        json_get_u64(json, value);
    return event < 0 ? event : json_skip_rest(json);
}

static int take_bool(struct json_reader *json, bool *value)
{
    int event = json_next(json);
    if (event == JSON_BOOL)
        *value = json->boolean;
    return event < 0 ? event : json_skip_rest(json);
}

static int take_command(struct json_reader *json, char **line)
{
    struct strbuf buf = {0};
    int rc = json_enter_array(json);
    while (rc >= 0 && (rc = json_next_element(json)) > 0) {
        if (json->event == JSON_STRING) {
            if (buf.length)
                strbuf_add_char(&buf, ' ');
            strbuf_add_shell_quoted(&buf, json->text, json->length);
        }
        rc = json_skip_rest(json);
    }
    mem_free(*line);
    *line = strbuf_take(&buf, NULL);
    return rc;
}

static int take_member(struct json_reader *json, struct session_stub *stub)
{
    uint64_t pid = 0, started = 0;
    int rc;
    if (json_key_is(json, "format"))
        return take_text(json, &stub->format);
    if (json_key_is(json, "session_id"))
        return take_text(json, &stub->session_id);
    if (json_key_is(json, "directory"))
        return take_text(json, &stub->directory);
    if (json_key_is(json, "scratch"))
        return take_text(json, &stub->scratch);
    if (json_key_is(json, "complete"))
        return take_bool(json, &stub->complete);
    if (json_key_is(json, "recovered"))
        return take_bool(json, &stub->recovered);
    if (json_key_is(json, "elapsed_ns"))
        return take_u64(json, &stub->elapsed_ns);
    if (json_key_is(json, "launcher_start"))
        return take_u64(json, &stub->launcher_start);
    if (json_key_is(json, "command"))
        return take_command(json, &stub->command);
    if (json_key_is(json, "launcher_pid")) {
        rc = take_u64(json, &pid);
        stub->launcher_pid = pid <= INT32_MAX ? (uint32_t)pid : 0;
        return rc;
    }
    if (json_key_is(json, "started_at_unix_ns")) {
        rc = take_u64(json, &started);
        stub->started_at_unix_ns = started <= INT64_MAX ? (int64_t)started : 0;
        return rc;
    }
    return json_skip_value(json);
}

static int read_members(const struct file_map *map, const char *name, struct session_stub *stub,
                        struct lam_error *err)
{
    struct json_reader json;
    json_open_memory(&json, map->data, map->size_bytes, NULL);
    int rc = json_enter_object(&json);
    while (rc >= 0 && (rc = json_next_key(&json)) > 0)
        rc = take_member(&json, stub);
    if (rc < 0)
        json_error(&json, name, err);
    else if (!stub->format || strcmp(stub->format, "lamella-session") != 0)
        rc = lam_error_set(err, LAM_E_CORRUPT, "%s: is not that of a recording", name);
    json_close(&json);
    return rc;
}

int session_stub_read(const char *dir, struct session_stub *stub, struct lam_error *err)
{
    struct file_map map = {0};
    char *path = path_join(dir, SESSION_JSON_NAME);
    *stub = (struct session_stub){0};
    if (!path)
        return lam_error_set(err, LAM_E_NOMEM, "out of memory");
    int rc = file_map(path, &map, err);
    if (rc >= 0)
        rc = read_members(&map, path, stub, err);
    file_unmap(&map);
    mem_free(path);
    if (rc < 0)
        session_stub_free(stub);
    return rc < 0 ? rc : LAM_OK;
}

void session_stub_free(struct session_stub *stub)
{
    mem_free(stub->format);
    mem_free(stub->session_id);
    mem_free(stub->directory);
    mem_free(stub->scratch);
    mem_free(stub->command);
    *stub = (struct session_stub){0};
}

/* ---- copying it ---- */

static bool is_dropped(const struct json_reader *json)
{
    return json_key_is(json, "scratch") || json_key_is(json, "recovered");
}

/* Copies members as the bytes they are: what was escaped once must not be escaped again. */
static int copy_members(const struct file_map *map, struct json_reader *json, struct strbuf *out)
{
    int rc = json_enter_object(json);
    strbuf_add_char(out, '{');
    while (rc >= 0) {
        uint64_t from = json_offset(json);
        rc = json_next_key(json);
        if (rc <= 0)
            break;
        bool dropped = is_dropped(json);
        rc = json_skip_value(json);
        if (rc < 0 || dropped)
            continue;
        const char *at = (const char *)map->data + from;
        size_t length = (size_t)(json_offset(json) - from);
        size_t lead = 0;
        while (lead < length && (at[lead] == ',' || at[lead] == ' ' || at[lead] == '\t' ||
                                 at[lead] == '\r' || at[lead] == '\n'))
            lead++;
        if (out->length > 1)
            strbuf_add_char(out, ',');
        strbuf_add_bytes(out, at + lead, length - lead);
    }
    return rc;
}

static int copy_without_scratch(const struct file_map *map, const char *name, bool recovered,
                                struct strbuf *out, struct lam_error *err)
{
    struct json_reader json;
    json_open_memory(&json, map->data, map->size_bytes, NULL);
    int rc = copy_members(map, &json, out);
    if (rc < 0)
        json_error(&json, name, err);
    json_close(&json);
    if (recovered)
        strbuf_add(out, out->length > 1 ? ",\"recovered\":true" : "\"recovered\":true");
    strbuf_add(out, "}\n");
    if (rc >= 0 && !strbuf_ok(out))
        rc = lam_error_set(err, LAM_E_NOMEM, "out of memory");
    return rc < 0 ? rc : LAM_OK;
}

static int settle_path(const char *from, const char *to, bool recovered, struct lam_error *err)
{
    struct file_map map = {0};
    struct strbuf text = {0};
    int rc = file_map(from, &map, err);
    if (rc < 0)
        return rc;
    rc = copy_without_scratch(&map, from, recovered, &text, err);
    file_unmap(&map);
    if (rc >= 0)
        rc = file_write_all(to, strbuf_text(&text), text.length, err);
    strbuf_free(&text);
    return rc;
}

static int copy_path(const char *from, const char *to, struct lam_error *err)
{
    struct file_map map = {0};
    int rc = file_map(from, &map, err);
    if (rc < 0)
        return rc;
    rc = file_write_all(to, map.data, map.size_bytes, err);
    file_unmap(&map);
    return rc;
}

int session_json_settle(const char *from, const char *to, bool recovered, struct lam_error *err)
{
    char *from_path = path_join(from, SESSION_JSON_NAME), *to_path = path_join(to, SESSION_JSON_NAME);
    int rc = LAM_E_NOMEM;
    if (from_path && to_path)
        rc = settle_path(from_path, to_path, recovered, err);
    else
        lam_error_set(err, rc, "out of memory");
    mem_free(from_path);
    mem_free(to_path);
    return rc;
}

/* 1: the same session is there already, 0: none is; EXISTS: another. */
static int compare_sessions(const char *from, const char *to, struct lam_error *err)
{
    struct session_stub ours, theirs;
    int rc = session_stub_read(from, &ours, err);
    if (rc < 0)
        return rc;
    if (session_stub_read(to, &theirs, NULL) >= 0) {
        rc = 1;
        if (!ours.session_id || !theirs.session_id || strcmp(ours.session_id, theirs.session_id) != 0)
            rc = lam_error_set(err, LAM_E_EXISTS, "%s: is another recording by now", to);
        session_stub_free(&theirs);
    }
    session_stub_free(&ours);
    return rc;
}

int session_json_adopt(const char *from, const char *to, struct lam_error *err)
{
    int rc = compare_sessions(from, to, err);
    if (rc != LAM_OK)
        return rc < 0 ? rc : LAM_OK;
    char *from_path = path_join(from, SESSION_JSON_NAME), *to_path = path_join(to, SESSION_JSON_NAME);
    rc = LAM_E_NOMEM;
    if (from_path && to_path)
        rc = copy_path(from_path, to_path, err);
    else
        lam_error_set(err, rc, "out of memory");
    mem_free(from_path);
    mem_free(to_path);
    return rc;
}
