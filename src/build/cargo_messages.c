#include "build/cargo_messages.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "build/cargo_unit.h"

enum { MESSAGES_BYTES_MAX = 256 << 20, HASH_DIGITS = 16 };

enum message_kind { MESSAGE_OTHER, MESSAGE_ARTIFACT, MESSAGE_SCRIPT, MESSAGE_END };

static const struct {
    const char *reason;
    enum message_kind kind;
} reasons[] = {
    {"compiler-artifact", MESSAGE_ARTIFACT},
    {"build-script-executed", MESSAGE_SCRIPT},
    {"build-finished", MESSAGE_END},
};

struct message { /* a line, as far as it matters */
    enum message_kind kind;
    struct cargo_unit unit; /* its texts lie in the reader's arena */
    const char *out_dir;
    struct strbuf files;
    bool is_test, is_fresh, success;
    bool has_page, has_code; /* among the files: documentation; anything but metadata */
};

struct message_reader {
    struct cargo_record *record;
    struct arena *arena; /* the record's */
    const char *name;
    size_t line_number;
};

/* ---- lines ---- */

struct lines {
    const char *at, *end;
};

struct line {
    const char *text;
    size_t length;
    bool is_whole; /* it has its end */
};

static bool next_line(struct lines *lines, struct line *line)
{
    if (lines->at >= lines->end)
        return false;
    const char *stop = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    *line = (struct line){lines->at, (size_t)((stop ? stop : lines->end) - lines->at), stop};
    lines->at += line->length + 1;
    return true;
}

/* Cargo writes the reason first and without blanks: what begins otherwise is somebody else's, however much it looks like JSON. */
static bool is_cargos(const struct line *line)
{
    static const char start[] = "{\"reason\":\"";
    return line->length > strlen(start) && memcmp(line->text, start, strlen(start)) == 0;
}

/* ---- members ---- */

/* 0, "s", "line-tables-only": a number or a text. */
static int read_setting(struct json_reader *json, struct arena *arena, const char **text)
{
    uint64_t number;
    int rc = json_next(json);
    if (rc < 0)
        return rc;
    if (json->event == JSON_STRING)
        *text = arena_strndup(arena, json->text, json->length);
    else if (json->event == JSON_NUMBER && json_get_u64(json, &number))
        *text = arena_printf(arena, "%llu", (unsigned long long)number);
    else
        return json_skip_rest(json);
    return *text ? LAM_OK : LAM_E_NOMEM;
}

static int read_target(struct json_reader *json, struct message *message, struct arena *arena)
{
    int rc = json_enter_object(json);
    while (rc >= 0 && (rc = json_next_key(json)) > 0) {
        if (json_key_is(json, "name")) {
            rc = cargo_read_str(json, arena, &message->unit.target);
        } else if (json_key_is(json, "kind")) {
            const char *kind = NULL;
            rc = json_enter_array(json);
            while (rc >= 0 && (rc = json_next_element(json)) > 0) {
                if (!kind && json->event == JSON_STRING)
                    kind = arena_strndup(arena, json->text, json->length);
                rc = json_skip_rest(json);
            }
            if (kind)
                message->unit.kind = kind;
        } else {
            rc = json_skip_value(json);
        }
    }
    return rc;
}

static int read_profile(struct json_reader *json, struct message *message, struct arena *arena)
{
    int rc = json_enter_object(json);
    while (rc >= 0 && (rc = json_next_key(json)) > 0) {
        if (json_key_is(json, "opt_level"))
            rc = read_setting(json, arena, &message->unit.opt_level);
        else if (json_key_is(json, "debuginfo"))
            rc = read_setting(json, arena, &message->unit.debug_info);
        else if (json_key_is(json, "test"))
            rc = json_read_bool(json, &message->is_test);
        else
            rc = json_skip_value(json);
    }
    return rc;
}

/* "libutil-a6082a4a733d348f.rlib", "…/app-26df14e7118b3fde/build-script-build": the hash; NULL. */
static const char *find_hash(const char *path, struct arena *arena)
{
    static const char digits[] = "0123456789abcdef";
    for (const char *at = strchr(path, '-'); at; at = strchr(at + 1, '-')) {
        char after = '\0';
        if (strspn(at + 1, digits) == HASH_DIGITS)
            after = at[1 + HASH_DIGITS];
        else
            continue;
        if (after == '\0' || after == '.' || after == '/')
            return arena_strndup(arena, at + 1, HASH_DIGITS);
    }
    return NULL;
}

static int take_file(struct message *message, const char *path, struct arena *arena)
{
    const char *name = path_name(path);
    bool is_script = strcmp(message->unit.kind, "custom-build") == 0;
    /* The directories of a user may look like anything; cargo's own of a build script is the last but one. */
    const char *last = name;
    for (int slashes = 0; is_script && last > path && slashes < 2;)
        slashes += *--last == '/';
    if (!message->unit.hash)
        message->unit.hash = find_hash(last, arena);
    strbuf_addf(&message->files, "%s%s", message->files.length ? "," : "", name);
    message->has_page |= text_ends_with(name, ".html");
    message->has_code |= !text_ends_with(name, ".rmeta");
    return strbuf_ok(&message->files) ? LAM_OK : LAM_E_NOMEM;
}

static int read_files(struct json_reader *json, struct message *message, struct arena *arena)
{
    int rc = json_enter_array(json);
    while (rc >= 0 && (rc = json_next_element(json)) > 0) {
        if (json->event != JSON_STRING)
            return json_fail(json, LAM_E_CORRUPT, "a file's name is no text");
        const char *path = arena_strndup(arena, json->text, json->length);
        rc = path ? take_file(message, path, arena) : LAM_E_NOMEM;
    }
    return rc;
}

static int read_member(struct json_reader *json, struct message *message, struct arena *arena)
{
    if (json_key_is(json, "package_id"))
        return cargo_read_str(json, arena, &message->unit.package_id);
    if (json_key_is(json, "target"))
        return read_target(json, message, arena);
    if (json_key_is(json, "profile"))
        return read_profile(json, message, arena);
    if (json_key_is(json, "features"))
        return cargo_read_features(json, arena, &message->unit);
    if (json_key_is(json, "filenames"))
        return read_files(json, message, arena);
    if (json_key_is(json, "fresh"))
        return json_read_bool(json, &message->is_fresh);
    if (json_key_is(json, "out_dir"))
        return cargo_read_str(json, arena, &message->out_dir);
    if (json_key_is(json, "success"))
        return json_read_bool(json, &message->success);
    return json_skip_value(json);
}

/* The reason comes first; the rest of a message that does not matter, such as a compiler's, is not looked at. */
static int read_reason(struct json_reader *json, struct message *message)
{
    const char *text;
    size_t length;
    int rc = json_enter_object(json);
    if (rc >= 0)
        rc = json_next_key(json);
    if (rc > 0)
        rc = json_read_text(json, &text, &length);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (json_text_is(json, reasons[i].reason))
            message->kind = reasons[i].kind;
    return LAM_OK;
}

/* message->files is to be freed in any case. */
static int read_message(struct message *message, const struct line *line, struct arena *arena,
                        const char *place, struct lam_error *err)
{
    struct json_reader json;
    *message = (struct message){.unit = {.kind = "lib", .mode = "build"}};
    json_open_memory(&json, line->text, line->length,
                     &(struct json_options){.max_depth = 32, .allow_bytes = true});
    int rc = read_reason(&json, message);
    if (rc >= 0 && message->kind != MESSAGE_OTHER) {
        while (rc >= 0 && (rc = json_next_key(&json)) > 0)
            rc = read_member(&json, message, arena);
        if (rc >= 0)
            rc = json_next(&json); /* nothing may follow */
    }
    if (rc < 0 && json_error(&json, place, err) == LAM_OK)
        lam_error_set(err, rc, "%s: %s", place, lam_code_text(rc));
    json_close(&json);
    return rc < 0 ? rc : LAM_OK;
}

/* ---- units ---- */

static const char *mode_of(const struct message *message)
{
    if (message->kind == MESSAGE_SCRIPT)
        return "run-custom-build";
    if (message->is_test)
        return "test";
    if (message->has_page)
        return "doc";
    return message->has_code ? "build" : "check";
}

static int add_unit(struct message_reader *reader, const struct message *message)
{
    struct cargo_unit *unit = cargo_record_add(reader->record);
    if (!unit)
        return LAM_E_NOMEM;
    const struct cargo_unit *said = &message->unit;
    unit->number = reader->record->units.count - 1;
    unit->package_id = said->package_id;
    unit->target = said->target;
    unit->kind = message->kind == MESSAGE_SCRIPT ? "build-script" : said->kind;
    unit->mode = mode_of(message);
    unit->features = said->features;
    unit->feature_count = said->feature_count;
    unit->has_features = said->has_features;
    unit->is_finished = true;
    unit->hash = said->hash;
    unit->opt_level = said->opt_level;
    unit->debug_info = said->debug_info;
    /* Of a script's run it is not said whether it ran. */
    if (message->kind == MESSAGE_ARTIFACT) {
        unit->status = message->is_fresh ? CARGO_STATUS_FRESH : CARGO_STATUS_UNKNOWN;
        unit->is_built = !message->is_fresh;
    }
    cargo_unit_settle(unit);
    if (message->files.length &&
        !(unit->files = arena_strdup(reader->arena, strbuf_text(&message->files))))
        return LAM_E_NOMEM;
    return cargo_unit_split_id(unit, reader->arena);
}

static int take_message(struct message_reader *reader, const struct message *message)
{
    struct cargo_record *record = reader->record;
    if (message->kind == MESSAGE_END) { /* of several builds any that failed */
        record->success = message->success && (!record->has_success || record->success);
        record->has_success = true;
    }
    if ((message->kind != MESSAGE_ARTIFACT && message->kind != MESSAGE_SCRIPT) ||
        !message->unit.package_id)
        return LAM_OK;
    return add_unit(reader, message);
}

static int read_line(struct message_reader *reader, const struct line *line, struct lam_error *err)
{
    struct message message;
    char place[160];
    snprintf(place, sizeof place, "%.100s: line %zu", reader->name, reader->line_number);
    int rc = read_message(&message, line, reader->arena, place, err);
    if (rc >= 0)
        rc = take_message(reader, &message);
    strbuf_free(&message.files);
    return rc;
}

static int finish(struct cargo_record *record)
{
    record->fresh = record->dirty = 0;
    record->has_messages = true;
    array_each(&record->units, unit)
    {
        record->fresh += unit->status == CARGO_STATUS_FRESH;
        record->dirty += unit->is_built;
    }
    return cargo_record_finish(record);
}

static int read_lines(struct message_reader *reader, const char *text, size_t size,
                      struct lam_error *err)
{
    struct cargo_record *record = reader->record;
    struct lines lines = {text, text + size};
    struct line line;
    bool has_any = false;
    while (next_line(&lines, &line)) {
        struct lam_error own = LAM_ERROR_INIT;
        reader->line_number++;
        if (!is_cargos(&line))
            continue;
        int rc = read_line(reader, &line, &own);
        if (rc == LAM_E_NOMEM)
            return lam_error_set(err, rc, "%s: out of memory", reader->name);
        if (rc < 0 && !record->damage[0])
            snprintf(record->damage, sizeof record->damage, "%s", own.msg);
        record->is_cut |= rc < 0 && !line.is_whole;
        has_any |= rc >= 0;
    }
    if (!has_any)
        return lam_error_set(err, LAM_E_CORRUPT, "%s",
                             record->damage[0] ? record->damage : "no message of cargo's in it");
    return finish(record) < 0 ? lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", reader->name)
                              : LAM_OK;
}

int cargo_messages_parse(struct cargo_record *record, const char *text, size_t size,
                         const char *name, struct lam_error *err)
{
    cargo_record_init(record);
    record->source = CARGO_FROM_MESSAGES;
    struct message_reader reader = {.record = record, .arena = &record->arena, .name = name};
    int rc = read_lines(&reader, text, size, err);
    if (rc < 0)
        cargo_record_free(record);
    return rc;
}

int cargo_messages_load(struct cargo_record *record, const char *path, struct lam_error *err)
{
    char *text = NULL;
    size_t size = 0;
    cargo_record_init(record);
    int rc = file_read_all(path, MESSAGES_BYTES_MAX, &text, &size, err);
    if (rc < 0)
        return rc;
    rc = cargo_messages_parse(record, text, size, path, err);
    mem_free(text);
    return rc;
}

/* ---- what is kept of a list ---- */

/* A script's line without what it set in the environment, which is nobody's business. */
static int keep_script(const struct message *message, struct strbuf *kept)
{
    struct byteout *out = mem_zalloc(1, sizeof *out);
    struct json_writer json;
    if (!out)
        return LAM_E_NOMEM;
    byteout_init_strbuf(out, kept);
    json_writer_init(&json, out, 0);
    json_put_object(&json);
    json_member_str(&json, "reason", "build-script-executed");
    json_member_str(&json, "package_id", message->unit.package_id);
    if (message->out_dir)
        json_member_str(&json, "out_dir", message->out_dir);
    json_put_end(&json);
    int rc = json_writer_finish(&json, CARGO_MESSAGES_NAME, NULL);
    mem_free(out);
    return rc;
}

int cargo_messages_keep(const char *text, size_t size, struct strbuf *kept)
{
    struct lines lines = {text, text + size};
    struct line line;
    struct arena arena = {0};
    size_t before = kept->length;
    int rc = LAM_OK;
    while (rc != LAM_E_NOMEM && next_line(&lines, &line)) {
        struct message message;
        if (!is_cargos(&line))
            continue;
        arena_reset(&arena);
        rc = read_message(&message, &line, &arena, CARGO_MESSAGES_NAME, NULL);
        /* A damaged line stays, so that the reader can say so. */
        if (rc < 0 || message.kind == MESSAGE_ARTIFACT || message.kind == MESSAGE_END)
            strbuf_add_bytes(kept, line.text, line.length + line.is_whole);
        else if (message.kind == MESSAGE_SCRIPT && message.unit.package_id)
            rc = keep_script(&message, kept);
        strbuf_free(&message.files);
    }
    arena_free(&arena);
    if (rc == LAM_E_NOMEM || !strbuf_ok(kept))
        return LAM_E_NOMEM;
    return kept->length > before ? LAM_OK : LAM_E_NOTFOUND;
}

/* ---- beside a record with times ---- */

static bool is_test(const char *mode)
{
    return strcmp(mode, "test") == 0 || strcmp(mode, "check-test") == 0 || strcmp(mode, "bench") == 0;
}

/* The page does not name libraries' targets, nor a macro's kind. */
static bool same_target(const struct cargo_unit *unit, const struct cargo_unit *said)
{
    if (cargo_kind_is_library(unit->kind) || cargo_kind_is_library(said->kind))
        return cargo_kind_is_library(unit->kind) && cargo_kind_is_library(said->kind);
    return strcmp(unit->kind, said->kind) == 0 &&
           (!unit->target || !said->target || strcmp(unit->kind, "build-script") == 0 ||
            strcmp(unit->target, said->target) == 0);
}

static bool same_features(const struct cargo_unit *unit, const struct cargo_unit *said)
{
    if (!unit->has_features || !said->has_features)
        return true;
    if (unit->feature_count != said->feature_count)
        return false;
    for (size_t i = 0; i < unit->feature_count; i++) /* both are sorted */
        if (strcmp(unit->features[i], said->features[i]) != 0)
            return false;
    return true;
}

static bool same_unit(const struct cargo_unit *unit, const struct cargo_unit *said)
{
    return unit->job == said->job && strcmp(unit->package, said->package) == 0 &&
           strcmp(unit->version, said->version) == 0 && same_target(unit, said) &&
           is_test(unit->mode) == is_test(said->mode) &&
           (strcmp(unit->mode, "check") == 0) == (strcmp(said->mode, "check") == 0) &&
           same_features(unit, said);
}

/* What the list says of a unit of the record. Names can fit several, such as a library for the host and for programs: then only
 * what all of them say counts. */
struct said {
    const struct cargo_unit *one; /* NULL: nothing */
    size_t count;
    bool agree; /* on whether it was fresh */
};

static struct said look_up(const struct cargo_record *messages, const struct cargo_unit *unit)
{
    struct said said = {.agree = true};
    array_each(&messages->units, candidate)
    {
        if (!same_unit(unit, candidate))
            continue;
        said.agree = !said.one || (said.agree && said.one->status == candidate->status);
        said.one = said.one ? said.one : candidate;
        said.count++;
    }
    return said;
}

static int take_texts(struct cargo_record *record, struct cargo_unit *unit,
                      const struct cargo_unit *said)
{
    const struct {
        const char **to, *from;
    } texts[] = {
        {&unit->hash, said->hash},
        {&unit->opt_level, said->opt_level},
        {&unit->debug_info, said->debug_info},
        {&unit->files, said->files},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].from && !(*texts[i].to = arena_strdup(&record->arena, texts[i].from)))
            return LAM_E_NOMEM;
    return LAM_OK;
}

int cargo_record_take_messages(struct cargo_record *record, const struct cargo_record *messages)
{
    record->has_messages = true;
    record->has_success = messages->has_success;
    record->success = messages->success;
    array_each(&record->units, unit)
    {
        struct said said = look_up(messages, unit);
        if (!said.one)
            continue;
        if (said.agree) {
            unit->is_built = said.one->is_built;
            unit->status = unit->status == CARGO_STATUS_UNKNOWN ? said.one->status : unit->status;
        }
        if (said.count == 1 && take_texts(record, unit, said.one) < 0)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}
