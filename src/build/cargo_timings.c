#include "build/cargo_timings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_read.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/units.h"
#include "build/cargo_unit.h"

enum { PAGE_BYTES_MAX = 256 << 20 };

struct page {
    struct cargo_record *record;
    const char *text;
    size_t size;
};

/* ---- the table ---- */

/* Writes &lt; and its like as what they stand for; in place. */
static void unescape(char *text)
{
    static const struct {
        const char *name;
        char is;
    } names[] = {{"&lt;", '<'},    {"&gt;", '>'},   {"&quot;", '"'},
                 {"&#x27;", '\''}, {"&#39;", '\''}, {"&amp;", '&'}};
    char *to = text;
    while (*text) {
        size_t taken = 0;
        for (size_t i = 0; *text == '&' && !taken && i < sizeof names / sizeof *names; i++) {
            size_t length = strlen(names[i].name);
            if (strncmp(text, names[i].name, length) == 0) {
                *to++ = names[i].is;
                taken = length;
            }
        }
        if (!taken) {
            *to++ = *text;
            taken = 1;
        }
        text += taken;
    }
    *to = '\0';
}

/* The cell beside the one that `label` is, in the arena; NULL when there is none. */
static char *table_cell_of(struct page *page, const char *label)
{
    const char *start = memmem(page->text, page->size, label, strlen(label));
    if (!start)
        return NULL;
    const char *page_end = page->text + page->size;
    start += strlen(label);
    start = memmem(start, (size_t)(page_end - start), "<td>", 4);
    if (!start)
        return NULL;
    start += 4;
    const char *end = memmem(start, (size_t)(page_end - start), "</td>", 5);
    if (!end || memchr(start, '\n', (size_t)(end - start)))
        return NULL;
    char *cell = arena_strndup(&page->record->arena, start, (size_t)(end - start));
    if (cell)
        unescape(cell);
    return cell;
}

static uint64_t count_in(const char *cell, const char *before)
{
    const char *at = cell ? strstr(cell, before) : NULL;
    struct number number;
    if (!at)
        return UINT64_MAX;
    at += strlen(before);
    size_t taken = number_parse(at, strlen(at), &number);
    return taken > 0 && number.is_integer && !number.is_negative ? number.magnitude : UINT64_MAX;
}

static uint64_t known_or_0(uint64_t value)
{
    return value == UINT64_MAX ? 0 : value;
}

static void read_table(struct page *page)
{
    struct cargo_record *record = page->record;
    record->profile = table_cell_of(page, "<td>Profile:</td>");
    record->fresh = count_in(table_cell_of(page, "<td>Fresh units:</td>"), "");
    record->dirty = count_in(table_cell_of(page, "<td>Dirty units:</td>"), "");
    const char *concurrency = table_cell_of(page, "<td>Max concurrency:</td>");
    record->jobs = known_or_0(count_in(concurrency, "jobs="));
    record->cores = known_or_0(count_in(concurrency, "ncpu="));
    const char *start = table_cell_of(page, "<td>Build start:</td>");
    record->has_started_at =
        start && cargo_time_parse(start, strlen(start), &record->started_at_unix_ns);
    char *rustc = table_cell_of(page, "<td>rustc:</td>");
    char *host = rustc ? strstr(rustc, "<br>Host: ") : NULL;
    if (host) {
        *host = '\0';
        host += strlen("<br>Host: ");
        host[strcspn(host, "<")] = '\0';
    }
    record->rustc = rustc;
    record->host = host;
}

/* ---- the lists ---- */

/* The value behind "NAME = " at the start of a line; a line cannot begin inside a string of JSON. The last one: what a name in
 * the table above says is not it. */
static const char *find_list(const struct page *page, const char *name)
{
    const char *at = page->text, *end = page->text + page->size, *found = NULL;
    size_t length = strlen(name);
    while ((at = memmem(at, (size_t)(end - at), name, length)) != NULL) {
        bool starts_line = at == page->text || at[-1] == '\n';
        at += length;
        if (starts_line)
            found = at;
    }
    return found;
}

/* What else stands in the innermost list. */
static int skip_elements(struct json_reader *json)
{
    int rc;
    while ((rc = json_next_element(json)) > 0)
        if ((rc = json_skip_rest(json)) < 0)
            return rc;
    return rc;
}

/* [[NAME, {"start": S, "end": E}], …] or null. */
static int read_section(struct json_reader *json, struct cargo_unit *unit)
{
    const char *text;
    size_t length;
    char name[32];
    double start = NAN, end = NAN;
    int rc = json_read_text(json, &text, &length);
    if (rc < 0)
        return rc;
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), text);
    rc = json_enter_object(json);
    while (rc >= 0 && (rc = json_next_key(json)) > 0) {
        if (json_key_is(json, "start"))
            rc = json_read_double(json, &start);
        else if (json_key_is(json, "end"))
            rc = json_read_double(json, &end);
        else
            rc = json_skip_value(json);
    }
    if (rc == LAM_OK)
        cargo_unit_section(unit, name, start, end);
    return rc < 0 ? rc : skip_elements(json);
}

static int read_sections(struct json_reader *json, struct cargo_unit *unit)
{
    int rc = json_next(json);
    if (rc < 0 || json->event == JSON_NULL)
        return rc < 0 ? rc : LAM_OK;
    if (json->event != JSON_ARRAY_BEGIN)
        return json_fail(json, LAM_E_CORRUPT, "sections are no list");
    while ((rc = json_next_element(json)) > 0) {
        if (json->event != JSON_ARRAY_BEGIN)
            return json_fail(json, LAM_E_CORRUPT, "a section is no list");
        if ((rc = read_section(json, unit)) < 0)
            return rc;
    }
    return rc;
}

static int read_member(struct json_reader *json, struct cargo_record *record,
                       struct cargo_unit *unit, double *duration, double *rmeta)
{
    struct arena *arena = &record->arena;
    if (json_key_is(json, "i"))
        return json_read_u64(json, &unit->number);
    if (json_key_is(json, "name"))
        return cargo_read_str(json, arena, &unit->package);
    if (json_key_is(json, "version"))
        return cargo_read_str(json, arena, &unit->version);
    if (json_key_is(json, "mode"))
        return cargo_read_str(json, arena, &unit->mode);
    if (json_key_is(json, "target"))
        return cargo_read_str(json, arena, &unit->target);
    if (json_key_is(json, "features"))
        return cargo_read_features(json, arena, unit);
    if (json_key_is(json, "start"))
        return json_read_double(json, &unit->start_s);
    if (json_key_is(json, "duration"))
        return json_read_double(json, duration);
    if (json_key_is(json, "rmeta_time")) /* before there were sections */
        return json_read_double(json, rmeta);
    if (json_key_is(json, "unblocked_units") || json_key_is(json, "unlocked_units"))
        return cargo_read_ids(json, arena, &unit->unblocked);
    if (json_key_is(json, "unblocked_rmeta_units") || json_key_is(json, "unlocked_rmeta_units"))
        return cargo_read_ids(json, arena, &unit->unblocked_rmeta);
    if (json_key_is(json, "sections"))
        return read_sections(json, unit);
    return json_skip_value(json);
}

/* Cargo of the years before 2023 said `bin "app"` and `build script`; today it says `app "bin"` and `build-script`. */
static bool is_kind(const char *text, size_t length)
{
    static const char *const kinds[] = {"bin",        "lib",       "rlib",
                                        "dylib",      "cdylib",    "example",
                                        "test",       "bench",     "integration-test",
                                        "proc-macro", "staticlib", "build-script"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i]) == length && memcmp(kinds[i], text, length) == 0)
            return true;
    return false;
}

/* WORD "QUOTED", or a kind alone. */
static int split_names(struct cargo_record *record, struct cargo_unit *unit, const char *text,
                       size_t length)
{
    static const char old_script[] = "build script";
    struct arena *arena = &record->arena;
    const char *quote = memchr(text, '"', length);
    if (!quote || length == 0 || text[length - 1] != '"' || quote == text + length - 1) {
        bool is_old = length == strlen(old_script) && memcmp(text, old_script, length) == 0;
        unit->kind = length == 0 ? unit->kind
                     : is_old    ? "build-script"
                                 : arena_strndup(arena, text, length);
        return unit->kind ? LAM_OK : LAM_E_NOMEM;
    }
    size_t word = (size_t)(quote - text) - (quote > text && quote[-1] == ' ');
    const char *quoted = quote + 1;
    size_t quoted_length = (size_t)(text + length - 1 - quoted);
    bool is_old = is_kind(text, word) && !is_kind(quoted, quoted_length);
    unit->target =
        is_old ? arena_strndup(arena, quoted, quoted_length) : arena_strndup(arena, text, word);
    unit->kind =
        is_old ? arena_strndup(arena, text, word) : arena_strndup(arena, quoted, quoted_length);
    return unit->kind && unit->target ? LAM_OK : LAM_E_NOMEM;
}

/* "", " app \"bin\" (test)", " build-script (run)": the description becomes target, kind and mode. */
static int split_description(struct cargo_record *record, struct cargo_unit *unit)
{
    const char *text = unit->target ? unit->target : "";
    bool is_run = strcmp(unit->mode, "run-custom-build") == 0;
    unit->target = NULL;
    unit->mode = is_run ? unit->mode : "build";
    while (*text == ' ')
        text++;
    const char *mode = strrchr(text, '(');
    size_t length = strlen(text);
    if (mode && text_ends_with(text, ")")) {
        length = (size_t)(mode - text);
        const char *inner = arena_strndup(&record->arena, mode + 1, strlen(mode) - 2);
        if (!inner)
            return LAM_E_NOMEM;
        unit->mode = cargo_mode_of_description(inner);
    }
    while (length > 0 && text[length - 1] == ' ')
        length--;
    int rc = split_names(record, unit, text, length);
    if (rc >= 0)
        cargo_unit_settle(unit);
    return rc;
}

static int read_unit(struct json_reader *json, struct cargo_record *record)
{
    struct cargo_unit *unit = cargo_record_add(record);
    double duration = NAN, rmeta = NAN;
    if (!unit)
        return json_fail(json, LAM_E_NOMEM, "out of memory");
    int rc;
    while ((rc = json_next_key(json)) > 0)
        if ((rc = read_member(json, record, unit, &duration, &rmeta)) < 0)
            break;
    if (rc >= 0)
        rc = split_description(record, unit);
    if (rc < 0) {
        record->units.count--; /* half a unit is none */
        return rc;
    }
    unit->end_s = unit->start_s + duration;
    unit->is_finished = !isnan(unit->end_s);
    if (isnan(unit->rmeta_s) && !isnan(rmeta)) {
        unit->rmeta_s = unit->frontend_s = rmeta;
        unit->codegen_s = duration - rmeta;
    }
    /* With sections measured (-Z section-timings) programs have a front end too, and no metadata that anybody waits for. */
    if ((!isnan(unit->link_s) || !isnan(unit->other_s)) && unit->unblocked_rmeta.count == 0)
        unit->rmeta_s = NAN;
    return LAM_OK;
}

static int read_concurrency(struct json_reader *json, struct cargo_record *record)
{
    struct cargo_concurrency point = {.t_s = NAN};
    uint64_t active = 0, waiting = 0, inactive = 0;
    int rc;
    while ((rc = json_next_key(json)) > 0) {
        if (json_key_is(json, "t"))
            rc = json_read_double(json, &point.t_s);
        else if (json_key_is(json, "active"))
            rc = json_read_u64(json, &active);
        else if (json_key_is(json, "waiting"))
            rc = json_read_u64(json, &waiting);
        else if (json_key_is(json, "inactive"))
            rc = json_read_u64(json, &inactive);
        else
            rc = json_skip_value(json);
        if (rc < 0)
            return rc;
    }
    if (rc < 0 || isnan(point.t_s))
        return rc;
    point.active = active < UINT32_MAX ? (uint32_t)active : UINT32_MAX;
    point.waiting = waiting < UINT32_MAX ? (uint32_t)waiting : UINT32_MAX;
    point.inactive = inactive < UINT32_MAX ? (uint32_t)inactive : UINT32_MAX;
    return array_push(&record->concurrency, point);
}

static int read_cpu(struct json_reader *json, struct cargo_record *record)
{
    struct cargo_cpu point;
    int rc = json_read_double(json, &point.t_s);
    if (rc == LAM_OK)
        rc = json_read_double(json, &point.percent);
    if (rc == LAM_OK)
        rc = skip_elements(json);
    return rc < 0 ? rc : array_push(&record->cpu, point);
}

static const struct list {
    const char *name;
    int element; /* what each begins with */
    int (*read)(struct json_reader *json, struct cargo_record *record);
    bool must_be;
} lists[] = {
    {"const UNIT_DATA = ", JSON_OBJECT_BEGIN, read_unit, true},
    {"const CONCURRENCY_DATA = ", JSON_OBJECT_BEGIN, read_concurrency, false},
    {"const CPU_USAGE = ", JSON_ARRAY_BEGIN, read_cpu, false},
};

static void note_damage(struct cargo_record *record, const struct lam_error *err)
{
    record->is_cut = true;
    if (!record->damage[0])
        snprintf(record->damage, sizeof record->damage, "%s", err->msg);
}

static int read_list(struct page *page, const struct list *list, const char *name,
                     struct lam_error *err)
{
    struct lam_error own = LAM_ERROR_INIT;
    const char *at = find_list(page, list->name);
    if (!at) {
        int length = (int)strlen(list->name) - (int)strlen("const  = ");
        lam_error_set(&own, LAM_E_CORRUPT,
                      "%s: no list %.*s: not a page of cargo's timings, or cut short", name, length,
                      list->name + strlen("const "));
        if (list->must_be)
            return lam_error_set(err, LAM_E_CORRUPT, "%s", own.msg);
        note_damage(page->record, &own);
        return LAM_OK;
    }
    struct json_reader json;
    json_open_memory(&json, at, page->size - (size_t)(at - page->text),
                     &(struct json_options){.max_depth = 8, .allow_bytes = true});
    int rc = json_enter_array(&json);
    while (rc >= 0 && (rc = json_next_element(&json)) > 0) {
        if (json.event != list->element)
            rc = json_fail(&json, LAM_E_CORRUPT, "an element of another kind");
        else if ((rc = list->read(&json, page->record)) == LAM_E_NOMEM)
            json_fail(&json, LAM_E_NOMEM, "out of memory");
    }
    if (rc < 0 && rc != LAM_E_NOMEM) {
        json_error(&json, name, &own);
        note_damage(page->record, &own);
        rc = LAM_OK;
    }
    json_close(&json);
    return rc < 0 ? lam_error_set(err, rc, "%s: out of memory", name) : LAM_OK;
}

int cargo_timings_parse(struct cargo_record *record, const char *text, size_t size,
                        const char *name, struct lam_error *err)
{
    cargo_record_init(record);
    record->source = CARGO_FROM_TIMINGS;
    struct page page = {record, text, size};
    int rc = LAM_OK;
    for (size_t i = 0; i < sizeof lists / sizeof *lists && rc == LAM_OK; i++)
        rc = read_list(&page, &lists[i], name, err);
    if (rc == LAM_OK) {
        read_table(&page);
        rc = cargo_record_finish(record);
        if (rc < 0)
            lam_error_set(err, rc, "%s: out of memory", name);
    }
    array_each(&record->units, unit)
    {
        if (isnan(record->duration_s) || unit->end_s > record->duration_s)
            record->duration_s = unit->end_s;
    }
    if (rc < 0)
        cargo_record_free(record);
    return rc;
}

int cargo_timings_load(struct cargo_record *record, const char *path, struct lam_error *err)
{
    char *text = NULL;
    size_t size = 0;
    int rc = file_read_all(path, PAGE_BYTES_MAX, &text, &size, err);
    if (rc < 0) {
        cargo_record_init(record);
        return rc;
    }
    rc = cargo_timings_parse(record, text, size, path, err);
    mem_free(text);
    return rc;
}
