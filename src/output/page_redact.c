#include "output/page_redact.h"

#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"

static const char *const dropped[] = {
    "command",    "directory", "host",     "source", "output", "incremental", "value",
    "machine_id", "args",      "argument", "cwd",    "path",   "file"};

static bool is_dropped(const struct json_reader *json)
{
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
        if (json_key_is(json, dropped[i]))
            return true;
    }
    return false;
}

/* Where a path would begin: at the start of the text, or behind a blank, a quote or a bracket. */
static bool begins_word(const char *text, size_t at)
{
    return at == 0 || strchr(" \t\n\"'`([{<=,;:", text[at - 1]);
}

static bool ends_word(char c)
{
    return c == '\0' || strchr(" \t\n\"'`)]}>,;:", c) != NULL;
}

static bool begins_path(const char *text, size_t length, size_t at)
{
    size_t slash = at;
    if (text[slash] == '~') {
        slash++;
    } else {
        while (slash < length && slash < at + 2 && text[slash] == '.')
            slash++;
    }
    return slash + 1 < length && text[slash] == '/' && !ends_word(text[slash + 1]);
}

void page_redact_text(const char *text, size_t length, struct strbuf *out)
{
    for (size_t at = 0; at < length;) {
        if (!begins_word(text, at) || !begins_path(text, length, at)) {
            strbuf_add_char(out, text[at++]);
            continue;
        }
        size_t end = at, name = at;
        for (; end < length && !ends_word(text[end]); end++)
            name = text[end] == '/' ? end + 1 : name;
        strbuf_add_bytes(out, text + name, end - name);
        at = end;
    }
}

static void put_text(struct json_writer *json, const char *text, size_t length, struct strbuf *scratch)
{
    strbuf_clear(scratch);
    page_redact_text(text, length, scratch);
    json_put_str_n(json, strbuf_text(scratch), scratch->length);
}

/* A program's path, which may hold blanks. */
static void put_base_name(struct json_writer *json, const char *text, size_t length)
{
    size_t name = length;
    while (name > 0 && text[name - 1] != '/')
        name--;
    json_put_str_n(json, text + name, length - name);
}

static void put_number(struct json_writer *json, const struct json_reader *in)
{
    if (in->is_integer && !in->is_negative)
        json_put_u64(json, in->magnitude);
    else
        json_put_double(json, in->number);
}

static int copy(struct json_reader *in, struct json_writer *json, struct strbuf *scratch)
{
    bool is_exe = false;
    int event;
    while ((event = json_next(in)) > JSON_DONE) {
        bool was_exe = is_exe;
        is_exe = false;
        switch (event) {
        case JSON_OBJECT_BEGIN:
            json_put_object(json);
            break;
        case JSON_ARRAY_BEGIN:
            json_put_array(json);
            break;
        case JSON_OBJECT_END:
        case JSON_ARRAY_END:
            json_put_end(json);
            break;
        case JSON_KEY:
            json_put_key_n(json, in->text, in->length);
            is_exe = json_key_is(in, "exe");
            if (!is_dropped(in))
                break;
            json_put_null(json);
            event = json_skip_value(in);
            if (event < 0)
                return event;
            break;
        case JSON_STRING:
            if (was_exe)
                put_base_name(json, in->text, in->length);
            else
                put_text(json, in->text, in->length, scratch);
            break;
        case JSON_NUMBER:
            put_number(json, in);
            break;
        case JSON_BOOL:
            json_put_bool(json, in->boolean);
            break;
        default:
            json_put_null(json);
        }
    }
    return event;
}

int page_redact(const char *text, size_t length, struct byteout *out, struct lam_error *err)
{
    struct json_reader in;
    struct json_writer json;
    struct strbuf scratch = {0};
    json_open_memory(&in, text, length, NULL);
    json_writer_init(&json, out, 0);
    int rc = copy(&in, &json, &scratch);
    if (rc == LAM_OK && !strbuf_ok(&scratch))
        rc = lam_error_set(err, LAM_E_NOMEM, "page: out of memory");
    else if (rc < 0)
        json_error(&in, "report", err);
    json_close(&in);
    strbuf_free(&scratch);
    return rc < 0 ? rc : json_writer_finish(&json, "page", err);
}
