#include "input/profdata_metadata.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"

/* Programs escape their arguments as Rust does and put them between quotation marks as they are: \' and \u{e9} are no JSON
 * (the upstream tools refuse such files). They become ' and the character; all else stays. */
static void mend_escapes(const char *text, size_t size, struct strbuf *out)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\\' || i + 1 == size) {
            strbuf_add_char(out, text[i]);
        } else if (text[i + 1] == '\'') {
            strbuf_add_char(out, text[++i]);
        } else if (text[i + 1] == 'u' && i + 2 < size && text[i + 2] == '{') {
            uint32_t code = 0;
            size_t at = i + 3;
            char bytes[4];
            for (; at < size && at < i + 9 && text[at] != '}'; at++) {
                const char *digits = "0123456789abcdef", *digit = strchr(digits, text[at] | 0x20);
                code = code << 4 | (digit && text[at] ? (uint32_t)(digit - digits) : 0);
            }
            size_t length = utf8_encode(code, bytes);
            if (code >= 0x20) /* a control character must stay escaped */
                strbuf_add_bytes(out, bytes, length);
            else
                strbuf_addf(out, "\\u%04x", code);
            i = at < size && text[at] == '}' ? at : at - 1;
        } else {
            strbuf_add_char(out, text[i]);
            strbuf_add_char(out, text[++i]);
        }
    }
}

static enum profile_measure measure_of(const struct strbuf *counter)
{
    static const struct {
        const char *name;
        enum profile_measure measure;
    } known[] = {
        {"", PROFILE_MEASURE_TIME},
        {"wall-time", PROFILE_MEASURE_TIME},
        {"cpu-time", PROFILE_MEASURE_CPU_TIME},
        {"instructions:u", PROFILE_MEASURE_INSTRUCTIONS},
        {"instructions-minus-irqs:u", PROFILE_MEASURE_INSTRUCTIONS_MINUS_IRQS},
        {"cycles:u", PROFILE_MEASURE_CYCLES},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(strbuf_text(counter), known[i].name) == 0)
            return known[i].measure;
    }
    return PROFILE_MEASURE_OTHER;
}

static int read_into(struct json_reader *json, struct strbuf *out)
{
    const char *text;
    size_t length;
    int rc = json_read_text(json, &text, &length);
    strbuf_clear(out);
    if (rc >= 0)
        strbuf_add_bytes(out, text, length);
    return rc;
}

static int read_counter(struct json_reader *json, struct profdata_metadata *meta)
{
    int rc = json_enter_object(json);
    while (rc >= 0 && (rc = json_next_key(json)) > 0)
        rc = json_key_is(json, "name") ? read_into(json, &meta->counter) : json_skip_value(json);
    return rc;
}

static int read_member(struct json_reader *json, struct profdata_metadata *meta)
{
    uint64_t pid = 0;
    if (json_key_is(json, "start_time"))
        return json_read_u64(json, &meta->start_unix_ns);
    if (json_key_is(json, "cmd")) {
        int rc = read_into(json, &meta->command);
        size_t length = meta->command.length; /* measureme's command lines end with a blank */
        while (length > 1 && meta->command.data[length - 1] == ' ')
            length--;
        strbuf_truncate(&meta->command, length);
        return rc;
    }
    if (json_key_is(json, "counter"))
        return read_counter(json, meta);
    if (!json_key_is(json, "process_id"))
        return json_skip_value(json);
    int rc = json_read_u64(json, &pid);
    meta->pid = pid <= UINT32_MAX ? (uint32_t)pid : 0;
    return rc;
}

bool profdata_metadata_parse(struct profdata_metadata *meta, const char *text, size_t size)
{
    static const struct json_options options = {.allow_bytes = true, .max_depth = 64};
    struct strbuf mended = {0};
    struct json_reader json;
    *meta = (struct profdata_metadata){.measure = PROFILE_MEASURE_TIME};
    mend_escapes(text, size, &mended);
    json_open_memory(&json, strbuf_text(&mended), mended.length, &options);
    int rc = json_enter_object(&json);
    while (rc >= 0 && (rc = json_next_key(&json)) > 0)
        rc = read_member(&json, meta);
    if (rc >= 0)
        rc = json_next(&json); /* nothing may follow */
    json_close(&json);
    if (meta->start_unix_ns > INT64_MAX)
        meta->start_unix_ns = 0;
    meta->measure = measure_of(&meta->counter);
    meta->is_known = rc == LAM_OK && strbuf_ok(&mended);
    strbuf_free(&mended);
    return meta->is_known;
}

int profdata_metadata_read(struct profdata_metadata *meta, struct profdata_strings *strings)
{
    struct profdata_file *file = strings->file;
    struct strbuf text = {0};
    *meta = (struct profdata_metadata){.measure = PROFILE_MEASURE_TIME};
    if (strings->metadata_address == PROFDATA_NO_ADDRESS) {
        profdata_fault(file, LAM_E_TRUNCATED, file->size,
                       "the file has no metadata (string %d): start, process and command line are "
                       "not known",
                       PROFDATA_METADATA_ID);
        return LAM_OK;
    }
    int rc = profdata_strings_text_at(strings, strings->metadata_address, &text);
    if (rc >= 0 && !profdata_metadata_parse(meta, strbuf_text(&text), text.length))
        profdata_fault(file, LAM_E_CORRUPT,
                       profdata_offset_of(file, PROFDATA_STRINGS, strings->metadata_address),
                       "the metadata is no JSON object with start_time, process_id and cmd");
    strbuf_free(&text);
    return rc;
}

int profdata_metadata_of(struct profdata_metadata *meta, const char *path, struct lam_error *err)
{
    struct profdata_file file;
    struct profdata_strings strings;
    *meta = (struct profdata_metadata){.measure = PROFILE_MEASURE_TIME};
    int rc = profdata_open(&file, path, err);
    if (rc < 0)
        return rc;
    profdata_strings_peek(&strings, &file);
    rc = profdata_metadata_read(meta, &strings);
    profdata_strings_close(&strings);
    profdata_close(&file);
    return rc;
}

void profdata_metadata_free(struct profdata_metadata *meta)
{
    strbuf_free(&meta->command);
    strbuf_free(&meta->counter);
}

struct profile_text profdata_crate_name(const struct profdata_metadata *meta)
{
    static const char option[] = " --crate-name ";
    const char *at = strstr(strbuf_text(&meta->command), option);
    if (!at)
        return (struct profile_text){"", 0};
    at += sizeof option - 1;
    return (struct profile_text){at, strcspn(at, " ")};
}
