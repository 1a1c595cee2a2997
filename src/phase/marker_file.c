#include "phase/marker_file.h"

#include <string.h>

#include "base/file.h"
#include "base/glob.h"
#include "base/memory.h"
#include "phase/builtin_markers.h"

enum {
    MARKERS_MAX = 60000, /* the classifier numbers them in 16 bits */
    PHASES_MAX = 250,
    LINE_MAX_BYTES = 4096,
    FIELDS_MAX = 10,
    FILE_MAX_BYTES = 16 << 20,
};

static const char *const rule_names[MARKER_RULE_COUNT] = {
    [MARKER_LEAF] = "leaf",           [MARKER_MODULE] = "module", [MARKER_INNERMOST] = "innermost",
    [MARKER_OUTERMOST] = "outermost", [MARKER_QUERY] = "query",   [MARKER_ROLE] = "role",
    [MARKER_DETAIL] = "detail",       [MARKER_THREAD] = "thread",
};

static const char *const segment_names[SEGMENT_COUNT] = {
    [SEGMENT_NONE] = "-",          [SEGMENT_FRONTEND] = "frontend", [SEGMENT_BACKEND] = "backend",
    [SEGMENT_LINK] = "link",       [SEGMENT_PROCESS] = "process",   [SEGMENT_WAIT] = "wait",
    [SEGMENT_UNKNOWN] = "unknown",
};

static const char *const role_names[ROLE_COUNT] = {
    [ROLE_OTHER] = "other",
    [ROLE_SERIAL] = "serial",
    [ROLE_OPT] = "opt",
    [ROLE_CODEGEN] = "codegen",
    [ROLE_LTO] = "lto",
    [ROLE_COPY] = "copy",
    [ROLE_COORDINATOR] = "coordinator",
    [ROLE_PROCESS] = "process",
};

const char *phase_segment_name(enum phase_segment segment)
{
    return segment < SEGMENT_COUNT ? segment_names[segment] : "unknown";
}

const char *thread_role_name(enum thread_role role)
{
    return role < ROLE_COUNT ? role_names[role] : "other";
}

struct field {
    const char *text;
    size_t length;
};

struct line {
    struct marker_set *set;
    const char *file;
    uint32_t number;
    struct field fields[FIELDS_MAX];
    size_t count;
};

static bool field_is(const struct field *field, const char *text)
{
    return field->length == strlen(text) && memcmp(field->text, text, field->length) == 0;
}

/* The index of a field in a table of names, or -1. */
static int field_index(const struct field *field, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (field_is(field, names[i]))
            return i;
    return -1;
}

static int bad_line(const struct line *line, struct lam_error *err, const char *what,
                    const struct field *field)
{
    if (!field)
        return lam_error_set(err, LAM_E_CORRUPT, "%s:%u: %s", line->file, line->number, what);
    int shown = field->length > 60 ? 60 : (int)field->length;
    return lam_error_set(err, LAM_E_CORRUPT, "%s:%u: %s '%.*s'", line->file, line->number, what,
                         shown, field->text);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static int split_fields(struct line *line, const char *text, size_t length, struct lam_error *err)
{
    size_t at = 0;
    line->count = 0;
    for (;;) {
        while (at < length && is_blank(text[at]))
            at++;
        if (at == length || text[at] == '#')
            return LAM_OK;
        if (line->count == FIELDS_MAX)
            return bad_line(line, err, "too many fields", NULL);
        struct field *field = &line->fields[line->count++];
        if (text[at] == '"') {
            const char *end = memchr(text + at + 1, '"', length - at - 1);
            if (!end)
                return bad_line(line, err, "a quote is not closed", NULL);
            *field = (struct field){text + at + 1, (size_t)(end - text) - at - 1};
            at = (size_t)(end - text) + 1;
            if (at < length && !is_blank(text[at]))
                return bad_line(line, err, "a blank must follow the closing quote", NULL);
            continue;
        }
        size_t start = at;
        while (at < length && !is_blank(text[at]))
            at++;
        *field = (struct field){text + start, at - start};
    }
}

/* Names of phases and details: what may stand in a column of a table. */
static bool is_name(const struct field *field)
{
    for (size_t i = 0; i < field->length; i++) {
        char c = field->text[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'))
            return false;
    }
    return field->length > 0 && field->length <= 64;
}

static int find_phase(struct line *line, uint8_t segment, const struct field *name, uint16_t *phase,
                      struct lam_error *err)
{
    struct marker_set *set = line->set;
    for (size_t i = 0; i < set->phases.count; i++) {
        if (set->phases.items[i].segment == segment && field_is(name, set->phases.items[i].name)) {
            *phase = (uint16_t)i;
            return LAM_OK;
        }
    }
    if (!is_name(name))
        return bad_line(line, err, "not a name for a phase (a-z, 0-9, _):", name);
    if (set->phases.count >= PHASES_MAX)
        return bad_line(line, err, "too many different phases", NULL);
    struct marker_phase fresh = {segment, arena_strndup(&set->arena, name->text, name->length)};
    if (!fresh.name || array_push(&set->phases, fresh) < 0)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", line->file);
    *phase = (uint16_t)(set->phases.count - 1);
    return LAM_OK;
}

static int read_detail(struct line *line, struct marker *marker, const struct field *field,
                       struct lam_error *err)
{
    marker->detail = MARKER_DETAIL_NONE;
    if (field_is(field, "-"))
        return marker->rule == MARKER_DETAIL && marker->segment != SEGMENT_NONE
                   ? bad_line(line, err, "a detail line needs a detail", NULL)
                   : LAM_OK;
    if (field_is(field, "{crate}")) {
        marker->detail = MARKER_DETAIL_CRATE;
        return marker->rule == MARKER_MODULE
                   ? LAM_OK
                   : bad_line(line, err, "only module lines may say", field);
    }
    if (!is_name(field))
        return bad_line(line, err, "not a name for a detail (a-z, 0-9, _):", field);
    if (marker->segment == SEGMENT_NONE)
        return bad_line(line, err, "segment - cannot have a detail:", field);
    if (intern_add(&line->set->details, field->text, field->length, &marker->detail) < 0)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", line->file);
    return LAM_OK;
}

/* SEGMENT PHASE DETAIL, fields 2 to 4. */
static int read_place(struct line *line, struct marker *marker, struct lam_error *err)
{
    const struct field *fields = line->fields;
    if (line->count < 5)
        return bad_line(line, err, "RULE PATTERN SEGMENT PHASE DETAIL expected", NULL);
    int segment = field_index(&fields[2], segment_names, SEGMENT_COUNT);
    if (segment < 0)
        return bad_line(
            line, err,
            "no such segment (frontend, backend, link, process, wait, unknown, -):", &fields[2]);
    marker->segment = (uint8_t)segment;
    if (segment == SEGMENT_NONE) {
        if (!field_is(&fields[3], "-"))
            return bad_line(line, err, "segment - has phase -, not", &fields[3]);
    } else {
        int rc = find_phase(line, marker->segment, &fields[3], &marker->phase, err);
        if (rc < 0)
            return rc;
    }
    return read_detail(line, marker, &fields[4], err);
}

static int read_over(struct line *line, struct marker *marker, struct field list,
                     struct lam_error *err)
{
    if (marker->rule != MARKER_INNERMOST)
        return bad_line(line, err, "over= belongs to innermost lines", NULL);
    while (list.length > 0) {
        const char *comma = memchr(list.text, ',', list.length);
        struct field one = {list.text, comma ? (size_t)(comma - list.text) : list.length};
        int segment = field_index(&one, segment_names, SEGMENT_COUNT);
        if (segment <= SEGMENT_NONE)
            return bad_line(line, err, "no such segment:", &one);
        marker->over = (uint8_t)(marker->over | 1u << segment);
        size_t used = one.length + (comma ? 1 : 0);
        list.text += used;
        list.length -= used;
    }
    return LAM_OK;
}

/* What follows the fixed fields. */
static int read_options(struct line *line, struct marker *marker, size_t from, struct lam_error *err)
{
    for (size_t i = from; i < line->count; i++) {
        const struct field *field = &line->fields[i];
        if (field->length > 7 && memcmp(field->text, "module=", 7) == 0) {
            marker->module = arena_strndup(&line->set->arena, field->text + 7, field->length - 7);
            if (!marker->module)
                return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", line->file);
        } else if (field->length > 5 && memcmp(field->text, "over=", 5) == 0) {
            int rc = read_over(line, marker, (struct field){field->text + 5, field->length - 5}, err);
            if (rc < 0)
                return rc;
        } else if (marker->rule == MARKER_THREAD && field_is(field, "cgu")) {
            marker->has_cgu = true;
        } else if (marker->rule == MARKER_THREAD && field_is(field, "main")) {
            marker->is_main = true;
        } else {
            return bad_line(line, err, "unknown option", field);
        }
    }
    return LAM_OK;
}

static int read_thread(struct line *line, struct marker *marker, struct lam_error *err)
{
    if (line->count < 3)
        return bad_line(line, err, "thread PATTERN ROLE expected", NULL);
    int role = field_index(&line->fields[2], role_names, ROLE_COUNT);
    if (role < 0)
        return bad_line(
            line, err, "no such role (serial, opt, codegen, lto, copy, coordinator, process, other):",
            &line->fields[2]);
    marker->role = (uint8_t)role;
    return read_options(line, marker, 3, err);
}

static int read_line(struct line *line, struct lam_error *err)
{
    const struct field *fields = line->fields;
    struct marker marker = {.line = line->number, .file = (uint16_t)(line->set->files.count - 1)};
    int rule = field_index(&fields[0], rule_names, MARKER_RULE_COUNT);
    if (rule < 0)
        return bad_line(
            line, err,
            "no such rule (leaf, module, innermost, outermost, query, role, detail, thread):",
            &fields[0]);
    marker.rule = (enum marker_rule)rule;
    if (line->count < 2 || fields[1].length == 0)
        return bad_line(line, err, "a pattern is missing", NULL);
    int rc = marker.rule == MARKER_THREAD ? read_thread(line, &marker, err)
                                          : read_place(line, &marker, err);
    if (rc == LAM_OK && marker.rule != MARKER_THREAD)
        rc = read_options(line, &marker, 5, err);
    if (rc < 0)
        return rc;
    marker.pattern = arena_strndup(&line->set->arena, fields[1].text, fields[1].length);
    marker.pattern_length = (uint32_t)fields[1].length;
    marker.literal_length = (uint32_t)glob_literal_length(fields[1].text, fields[1].length);
    if (marker.literal_length == 0 && rule != MARKER_ROLE && rule != MARKER_THREAD)
        return bad_line(line, err,
                        "a pattern of wildcards alone would claim everything:", &fields[1]);
    if (line->set->markers.count >= MARKERS_MAX)
        return bad_line(line, err, "too many markers", NULL);
    if (!marker.pattern || array_push(&line->set->markers, marker) < 0)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", line->file);
    return LAM_OK;
}

static int begin_file(struct marker_set *set, const char *name, struct lam_error *err)
{
    int rc = LAM_OK;
    if (set->phases.count == 0)
        rc = array_push(&set->phases, (struct marker_phase){SEGMENT_UNKNOWN, "unattributed"});
    const char *copy = arena_strdup(&set->arena, name);
    if (set->files.count >= UINT16_MAX)
        return lam_error_set(err, LAM_E_TOOBIG, "%s: too many marker files", name);
    if (rc < 0 || !copy || array_push(&set->files, copy) < 0)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", name);
    return LAM_OK;
}

int marker_set_add(struct marker_set *set, const char *name, const char *text, size_t length,
                   struct lam_error *err)
{
    int rc = begin_file(set, name, err);
    struct line line = {.set = set, .file = name};
    for (size_t at = 0; rc == LAM_OK && at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t line_length = end ? (size_t)(end - text) - at : length - at;
        line.number++;
        if (line_length > LINE_MAX_BYTES)
            return bad_line(&line, err, "the line is too long", NULL);
        if (memchr(text + at, 0, line_length))
            return bad_line(&line, err, "the line holds a NUL byte", NULL);
        rc = split_fields(&line, text + at, line_length, err);
        if (rc == LAM_OK && line.count > 0)
            rc = read_line(&line, err);
        at += line_length + 1;
    }
    return rc;
}

int marker_set_add_file(struct marker_set *set, const char *path, struct lam_error *err)
{
    char *text;
    size_t length;
    int rc = file_read_all(path, FILE_MAX_BYTES, &text, &length, err);
    if (rc < 0)
        return rc;
    rc = marker_set_add(set, path, text, length, err);
    mem_free(text);
    return rc;
}

int marker_set_add_builtin(struct marker_set *set, struct lam_error *err)
{
    for (const struct marker_file *file = lam_builtin_markers; file->name; file++) {
        int rc = marker_set_add(set, file->name, file->text, file->size_bytes, err);
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

void marker_set_free(struct marker_set *set)
{
    array_free(&set->markers);
    array_free(&set->phases);
    array_free(&set->files);
    intern_free(&set->details);
    arena_free(&set->arena);
}
