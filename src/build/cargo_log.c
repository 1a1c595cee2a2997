#include "build/cargo_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "build/cargo_unit.h"

enum { LOG_BYTES_MAX = 256 << 20 };

/* What a line can say, all of it optional. */
struct line {
    const char *run_id, *timestamp, *reason;
    uint64_t index; /* UINT64_MAX: not said */
    double elapsed;
    const char *section, *status;
    struct cargo_ids unblocked;
    /* unit-registered, which is read into a unit */
    struct cargo_unit unit;
    const char *target_name, *target_kind;
    /* cause of unit-fingerprint */
    const char *dirty_reason, *fs_status, *stale_item, *stale, *variable;
    uint64_t cause_unit;
    /* build-started */
    const char *cwd, *host, *profile, *rustc, *target_dir, *workspace_root;
    uint64_t jobs, cores;
};

struct log_reader {
    struct cargo_runs *runs;
    struct cargo_record *run; /* the last of runs; NULL before the first line */
    struct map index_of;      /* unit's number → index in run->units */
    struct map section_start; /* of the section that is open in a unit, as bits of a double */
    struct arena scratch;     /* of one line */
    const char *name;
    size_t line_number;
    bool has_zero; /* the run's start is that of its clock */
};

/* ---- a line's members ---- */

static int read_target(struct json_reader *json, struct line *line, struct arena *arena)
{
    int rc = json_enter_object(json);
    while (rc >= 0 && (rc = json_next_key(json)) > 0) {
        if (json_key_is(json, "name"))
            rc = cargo_read_str(json, arena, &line->target_name);
        else if (json_key_is(json, "kind"))
            rc = cargo_read_str(json, arena, &line->target_kind);
        else
            rc = json_skip_value(json);
    }
    return rc;
}

static int read_cause(struct json_reader *json, struct line *line, struct arena *arena)
{
    const struct {
        const char *key, **target;
    } texts[] = {
        {"dirty_reason", &line->dirty_reason},
        {"fs_status", &line->fs_status},
        {"stale_item", &line->stale_item},
        {"stale", &line->stale},
        {"path", &line->stale},
        {"var", &line->variable},
        {"name", &line->variable},
    };
    int rc = json_next(json);
    if (rc < 0 || json->event != JSON_OBJECT_BEGIN)
        return rc < 0 ? rc : json_skip_rest(json);
    while (rc >= 0 && (rc = json_next_key(json)) > 0) {
        const char **target = NULL;
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            if (json_key_is(json, texts[i].key))
                target = texts[i].target;
        if (json_key_is(json, "unit"))
            rc = json_read_u64(json, &line->cause_unit);
        else if ((rc = json_next(json)) >= 0 && target && json->event == JSON_STRING)
            rc = (*target = arena_strndup(arena, json->text, json->length)) ? LAM_OK : LAM_E_NOMEM;
        else if (rc >= 0)
            rc = json_skip_rest(json);
    }
    return rc;
}

static int read_text_member(struct json_reader *json, struct line *line, struct arena *arena,
                            bool *found)
{
    const struct {
        const char *key, **target;
    } texts[] = {
        {"run_id", &line->run_id},
        {"timestamp", &line->timestamp},
        {"reason", &line->reason},
        {"section", &line->section},
        {"status", &line->status},
        {"package_id", &line->unit.package_id},
        {"mode", &line->unit.mode},
        {"platform", &line->unit.platform},
        {"cwd", &line->cwd},
        {"host", &line->host},
        {"profile", &line->profile},
        {"rustc_version_verbose", &line->rustc},
        {"target_dir", &line->target_dir},
        {"workspace_root", &line->workspace_root},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (json_key_is(json, texts[i].key)) {
            *found = true;
            return cargo_read_str(json, arena, texts[i].target);
        }
    }
    *found = false;
    return LAM_OK;
}

static int read_member(struct json_reader *json, struct line *line, struct arena *arena)
{
    bool found;
    int rc = read_text_member(json, line, arena, &found);
    if (rc < 0 || found)
        return rc;
    if (json_key_is(json, "index"))
        return json_read_u64(json, &line->index);
    if (json_key_is(json, "elapsed"))
        return json_read_double(json, &line->elapsed);
    if (json_key_is(json, "jobs"))
        return json_read_u64(json, &line->jobs);
    if (json_key_is(json, "num_cpus"))
        return json_read_u64(json, &line->cores);
    if (json_key_is(json, "unblocked"))
        return cargo_read_ids(json, arena, &line->unblocked);
    if (json_key_is(json, "dependencies"))
        return cargo_read_ids(json, arena, &line->unit.deps);
    if (json_key_is(json, "features"))
        return cargo_read_features(json, arena, &line->unit);
    if (json_key_is(json, "requested"))
        return json_read_bool(json, &line->unit.is_requested);
    if (json_key_is(json, "target"))
        return read_target(json, line, arena);
    if (json_key_is(json, "cause"))
        return read_cause(json, line, arena);
    return json_skip_value(json);
}

static int read_line(struct log_reader *reader, struct line *line, const char *text, size_t size,
                     struct arena *arena, struct lam_error *err)
{
    struct json_reader json;
    *line = (struct line){.index = UINT64_MAX, .elapsed = NAN, .cause_unit = UINT64_MAX};
    line->unit.mode = "build";
    json_open_memory(&json, text, size, &(struct json_options){.max_depth = 32, .allow_bytes = true});
    int rc = json_enter_object(&json);
    while (rc >= 0 && (rc = json_next_key(&json)) > 0)
        rc = read_member(&json, line, arena);
    if (rc >= 0)
        rc = json_next(&json); /* nothing may follow */
    if (rc < 0) {
        char place[160];
        snprintf(place, sizeof place, "%.100s: line %zu", reader->name, reader->line_number);
        if (json_error(&json, place, err) == LAM_OK)
            lam_error_set(err, rc, "%s: %s", place, lam_code_text(rc));
    }
    json_close(&json);
    return rc < 0 ? rc : LAM_OK;
}

/* ---- reasons ---- */

static int register_unit(struct log_reader *reader, const struct line *line)
{
    struct cargo_record *run = reader->run;
    bool added;
    if (line->index >= CARGO_NONE)
        return LAM_OK;
    uint64_t *slot = map_slot(&reader->index_of, line->index, run->units.count, &added);
    if (!slot)
        return LAM_E_NOMEM;
    struct cargo_unit *unit = added ? cargo_record_add(run) : NULL;
    if (added && !unit)
        return LAM_E_NOMEM;
    if (!unit)
        return LAM_OK; /* said twice */
    unit->number = line->index;
    unit->package_id = line->unit.package_id;
    unit->mode = line->unit.mode;
    unit->platform = line->unit.platform;
    unit->deps = line->unit.deps;
    unit->features = line->unit.features;
    unit->feature_count = line->unit.feature_count;
    unit->has_features = true; /* none are said when there are none */
    unit->is_requested = line->unit.is_requested;
    unit->target = line->target_name;
    unit->kind = line->target_kind ? line->target_kind : "lib";
    cargo_unit_settle(unit);
    return cargo_unit_split_id(unit, &run->arena);
}

static struct cargo_unit *unit_of(struct log_reader *reader, uint64_t number)
{
    uint64_t index;
    return map_get(&reader->index_of, number, &index) ? &reader->run->units.items[index] : NULL;
}

/* "stale-dep-fingerprint" as it can be read in a sentence. */
static char *spaced(struct arena *arena, const char *text)
{
    char *copy = arena_strdup(arena, text);
    for (char *at = copy; at && *at; at++)
        *at = *at == '-' || *at == '_' ? ' ' : *at;
    return copy;
}

/* The file below the package's or the workspace's directory, else as it is. */
static const char *short_path(const struct cargo_record *run, const struct cargo_unit *unit,
                              const char *path)
{
    static const char start[] = "path+file://";
    const char *id = unit->package_id;
    if (id && text_starts_with(id, start)) {
        id += strlen(start);
        size_t length = strcspn(id, "#");
        if (strncmp(path, id, length) == 0 && path[length] == '/')
            return path + length + 1;
    }
    size_t length = run->workspace_root ? strlen(run->workspace_root) : 0;
    return length && strncmp(path, run->workspace_root, length) == 0 && path[length] == '/'
               ? path + length + 1
               : path;
}

static int note_fingerprint(struct log_reader *reader, const struct line *line)
{
    struct cargo_record *run = reader->run;
    struct cargo_unit *unit = unit_of(reader, line->index);
    if (!unit || !line->status)
        return LAM_OK;
    for (int i = 1; i < CARGO_STATUS_COUNT; i++)
        if (strcmp(line->status, cargo_status_name((enum cargo_status)i)) == 0)
            unit->status = (enum cargo_status)i;
    if (unit->status != CARGO_STATUS_DIRTY)
        return LAM_OK;
    const char *why = line->stale_item  ? line->stale_item
                      : line->fs_status ? line->fs_status
                                        : line->dirty_reason;
    if (line->cause_unit < CARGO_NONE) {
        const struct cargo_unit *dep = unit_of(reader, line->cause_unit);
        unit->reason_unit = (uint32_t)line->cause_unit;
        const char *name = dep && dep->package ? cargo_reason_name(dep, unit) : "is not known and";
        bool is_script = strcmp(name, CARGO_ITS_SCRIPT) == 0;
        unit->reason =
            arena_printf(&run->arena, "%s%s %s", is_script ? "" : "its dependency ", name,
                         is_script && dep->job == CARGO_JOB_RUN_SCRIPT ? "was run" : "was built");
    } else if (line->stale) {
        bool is_missing = why && strcmp(why, "missing-file") == 0;
        unit->reason = arena_printf(&run->arena, "%s %s", short_path(run, unit, line->stale),
                                    is_missing ? "is missing" : "changed");
    } else if (line->variable) {
        unit->reason = arena_printf(&run->arena, "%s in the environment changed", line->variable);
    } else {
        unit->reason = why ? spaced(&run->arena, why) : "not said";
    }
    return unit->reason ? LAM_OK : LAM_E_NOMEM;
}

/* ---- times ---- */

static int begin_section(struct log_reader *reader, const struct line *line)
{
    uint64_t bits;
    memcpy(&bits, &line->elapsed, sizeof bits);
    return map_put(&reader->section_start, line->index, bits);
}

static void end_section(struct log_reader *reader, const struct line *line)
{
    struct cargo_unit *unit = unit_of(reader, line->index);
    uint64_t bits;
    double start_s;
    if (!unit || !line->section || !map_get(&reader->section_start, line->index, &bits))
        return;
    memcpy(&start_s, &bits, sizeof start_s);
    /* The front end is what comes before: cargo does not measure it. */
    if (isnan(unit->frontend_s) && strcmp(line->section, "codegen") == 0)
        unit->frontend_s = start_s - unit->start_s;
    cargo_unit_section(unit, line->section, start_s - unit->start_s, line->elapsed - unit->start_s);
    map_remove(&reader->section_start, line->index);
}

static void end_unit(struct cargo_unit *unit, const struct line *line)
{
    unit->end_s = line->elapsed;
    unit->is_finished = true;
    unit->unblocked = line->unblocked;
    if (!isnan(unit->rmeta_s) && isnan(unit->codegen_s)) { /* as cargo's page derives them */
        unit->frontend_s = unit->rmeta_s;
        unit->codegen_s = unit->end_s - unit->start_s - unit->rmeta_s;
    }
}

static int note_times(struct log_reader *reader, const struct line *line)
{
    struct cargo_unit *unit = unit_of(reader, line->index);
    if (!unit || !isfinite(line->elapsed))
        return LAM_OK;
    if (strcmp(line->reason, "unit-started") == 0) {
        unit->start_s = line->elapsed;
    } else if (strcmp(line->reason, "unit-rmeta-finished") == 0) {
        unit->rmeta_s = line->elapsed - unit->start_s;
        unit->unblocked_rmeta = line->unblocked;
    } else if (strcmp(line->reason, "unit-finished") == 0) {
        end_unit(unit, line);
    } else if (strcmp(line->reason, "unit-section-started") == 0) {
        return begin_section(reader, line);
    } else if (strcmp(line->reason, "unit-section-finished") == 0) {
        end_section(reader, line);
    }
    return LAM_OK;
}

/* ---- runs ---- */

static void note_start(struct cargo_record *run, const struct line *line)
{
    run->host = line->host;
    run->profile = line->profile;
    run->rustc = line->rustc;
    run->target_dir = line->target_dir;
    run->workspace_root = line->workspace_root;
    run->jobs = line->jobs;
    run->cores = line->cores;
    /* The first line of "rustc 1.97.0-nightly (e50aa6fba 2026-05-19)\nbinary: …". */
    char *end = line->rustc ? strchr((char *)(uintptr_t)line->rustc, '\n') : NULL;
    if (end)
        *end = '\0'; /* in the run's arena */
}

static void note_phase(struct cargo_record *run, const struct line *line)
{
    if (strcmp(line->reason, "resolution-started") == 0)
        run->resolve_start_s = line->elapsed;
    else if (strcmp(line->reason, "resolution-finished") == 0)
        run->resolve_end_s = line->elapsed;
    else if (strcmp(line->reason, "unit-graph-finished") == 0)
        run->graph_end_s = line->elapsed;
}

static int finish_run(struct log_reader *reader)
{
    struct cargo_record *run = reader->run;
    map_clear(&reader->index_of);
    map_clear(&reader->section_start);
    if (!run)
        return LAM_OK;
    run->fresh = run->dirty = 0;
    array_each(&run->units, unit)
    {
        run->fresh += unit->status == CARGO_STATUS_FRESH;
        run->dirty += unit->status == CARGO_STATUS_DIRTY || unit->status == CARGO_STATUS_NEW;
    }
    return cargo_record_finish(run);
}

static int begin_run(struct log_reader *reader, const char *run_id)
{
    int rc = finish_run(reader);
    struct cargo_record fresh;
    cargo_record_init(&fresh);
    if (rc < 0 || array_push(reader->runs, fresh) < 0)
        return LAM_E_NOMEM;
    reader->run = &array_last(reader->runs);
    reader->run->source = CARGO_FROM_LOG;
    reader->has_zero = false;
    reader->run->run_id = run_id ? arena_strdup(&reader->run->arena, run_id) : NULL;
    return LAM_OK;
}

static void note_zero(struct log_reader *reader, const struct line *line)
{
    struct cargo_record *run = reader->run;
    int64_t at_ns;
    if (!(fabs(line->elapsed) < 1e9)) {
        /* The first line names no time since the start: it is a few milliseconds after it. */
        if (!run->has_started_at && line->timestamp)
            run->has_started_at =
                cargo_time_parse(line->timestamp, strlen(line->timestamp), &run->started_at_unix_ns);
        return;
    }
    if (isnan(run->duration_s) || line->elapsed > run->duration_s)
        run->duration_s = line->elapsed;
    if (!reader->has_zero && line->timestamp &&
        cargo_time_parse(line->timestamp, strlen(line->timestamp), &at_ns)) {
        reader->has_zero = run->has_started_at = true;
        run->started_at_unix_ns = at_ns - (int64_t)(line->elapsed * 1e9);
    }
}

static int use_line(struct log_reader *reader, const struct line *line)
{
    struct cargo_record *run = reader->run;
    if (!line->reason)
        return LAM_OK;
    note_zero(reader, line);
    if (strcmp(line->reason, "build-started") == 0)
        note_start(run, line);
    else if (strcmp(line->reason, "unit-registered") == 0)
        return register_unit(reader, line);
    else if (strcmp(line->reason, "unit-fingerprint") == 0)
        return note_fingerprint(reader, line);
    else if (strncmp(line->reason, "unit-", 5) == 0 && line->index != UINT64_MAX)
        return note_times(reader, line);
    note_phase(run, line);
    return LAM_OK;
}

static bool is_other_run(const struct cargo_record *run, const struct line *line)
{
    return !run || (line->run_id && run->run_id && strcmp(line->run_id, run->run_id) != 0);
}

/* The line's texts must live in the arena of its own run, which is only known when the line was read: a first look tells. */
static int take_line(struct log_reader *reader, const char *text, size_t size, struct lam_error *err)
{
    struct line line;
    arena_reset(&reader->scratch);
    int rc = read_line(reader, &line, text, size, &reader->scratch, err);
    if (rc < 0)
        return rc;
    if (is_other_run(reader->run, &line) && (rc = begin_run(reader, line.run_id)) < 0)
        return rc;
    rc = read_line(reader, &line, text, size, &reader->run->arena, err);
    return rc < 0 ? rc : use_line(reader, &line);
}

static bool is_blank(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
            return false;
    return true;
}

static int read_lines(struct log_reader *reader, const char *text, size_t size, struct lam_error *err)
{
    struct lam_error first = LAM_ERROR_INIT;
    for (const char *at = text, *end = text + size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        struct lam_error own = LAM_ERROR_INIT;
        reader->line_number++;
        int rc = is_blank(at, length) ? LAM_OK : take_line(reader, at, length, &own);
        if (rc == LAM_E_NOMEM)
            return lam_error_set(err, rc, "%s: out of memory", reader->name);
        if (rc < 0 && !first.code)
            first = own;
        if (rc < 0 && reader->run && !reader->run->damage[0])
            snprintf(reader->run->damage, sizeof reader->run->damage, "%s", own.msg);
        if (rc < 0 && reader->run)
            reader->run->is_cut |= !stop;
        at += length + 1;
    }
    if (finish_run(reader) < 0)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", reader->name);
    if (reader->runs->count > 0)
        return LAM_OK;
    return first.code ? lam_error_set(err, first.code, "%s", first.msg)
                      : lam_error_set(err, LAM_E_CORRUPT, "%s: no build in it", reader->name);
}

int cargo_log_parse(struct cargo_runs *runs, const char *text, size_t size, const char *name,
                    struct lam_error *err)
{
    *runs = (struct cargo_runs){0};
    struct log_reader reader = {.runs = runs, .name = name};
    int rc = read_lines(&reader, text, size, err);
    map_free(&reader.index_of);
    map_free(&reader.section_start);
    arena_free(&reader.scratch);
    if (rc < 0)
        cargo_runs_free(runs);
    return rc;
}

int cargo_log_load(struct cargo_runs *runs, const char *path, struct lam_error *err)
{
    char *text = NULL;
    size_t size = 0;
    *runs = (struct cargo_runs){0};
    int rc = file_read_all(path, LOG_BYTES_MAX, &text, &size, err);
    if (rc < 0)
        return rc;
    rc = cargo_log_parse(runs, text, size, path, err);
    mem_free(text);
    return rc;
}

void cargo_runs_free(struct cargo_runs *runs)
{
    array_each(runs, run) cargo_record_free(run);
    array_free(runs);
    *runs = (struct cargo_runs){0};
}
