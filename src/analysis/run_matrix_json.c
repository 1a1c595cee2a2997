/* A stored report as a run: the keys of docs/report-json.md that a comparison needs. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "analysis/run_matrix.h"
#include "analysis/unit_class.h"
#include "base/json_read.h"
#include "base/strbuf.h"

/* What a row of any of the lists may hold. */
struct json_row {
    struct strbuf kind, key, phase; /* phase: second half of a phase's key */
    struct strbuf parts[UNIT_CLASS_PARTS];
    bool has_part[UNIT_CLASS_PARTS];
    struct run_values values;
};

struct json_run {
    struct run_matrix *matrix;
    struct json_reader *json;
    struct json_row row;
    double labels_self, phases_self;          /* what the rows add up to */
    double all_labels, all_phases, cpu, wall; /* what the report says */
    double coverage, cores, exit_code;        /* NaN: not said */
    double lost, overwritten_pages;           /* 0: not said */
    bool is_incomplete;
    bool is_report, has_phases;
};

/* key → where its number goes. */
struct number_key {
    const char *key;
    enum run_metric metric;
};

static int read_number(struct json_reader *json, double *value)
{
    double read;
    int rc = json_read_double(json, &read);
    if (rc >= 0 && !isnan(read)) /* of NAME_s and NAME_units one is null */
        *value = read;
    return rc;
}

static int read_text(struct json_reader *json, struct strbuf *out)
{
    int rc = json_next(json);
    strbuf_clear(out);
    if (rc == JSON_STRING)
        strbuf_add_bytes(out, json->text, json->length);
    else if (rc >= 0 && rc != JSON_NULL)
        return json_fail(json, LAM_E_CORRUPT, "a name is no text");
    return rc < 0 ? rc : strbuf_ok(out) ? LAM_OK : LAM_E_NOMEM;
}

struct list_rule {
    const char *list;
    enum run_section section;
    const char *key, *kind; /* which members are them */
    struct number_key numbers[10];
};

static const struct list_rule rules[] = {
    {"activities",
     RUN_LABELS,
     "label",
     "kind",
     {{"self_s", RUN_SELF},
      {"self_units", RUN_SELF},
      {"time_s", RUN_TIME},
      {"time_units", RUN_TIME},
      {"count", RUN_COUNT},
      {"cache_hits", RUN_CACHE_HITS},
      {"blocked_s", RUN_BLOCKED},
      {"load_s", RUN_LOAD},
      {"hashing_s", RUN_HASHING},
      {NULL, RUN_METRICS}}},
    {"segments",
     RUN_SEGMENTS,
     "segment",
     NULL,
     {{"cpu_s", RUN_SELF}, {"samples", RUN_COUNT}, {NULL, RUN_METRICS}}},
    {"phases",
     RUN_PHASES,
     "segment",
     NULL,
     {{"cpu_s", RUN_SELF}, {"samples", RUN_COUNT}, {NULL, RUN_METRICS}}},
    {"units",
     RUN_UNITS,
     "unit",
     NULL,
     {{"cpu_s", RUN_SELF}, {"wall_s", RUN_TIME}, {"samples", RUN_COUNT}, {NULL, RUN_METRICS}}},
    {"artifact_sizes", RUN_ARTIFACTS, "label", NULL, {{"bytes", RUN_SELF}, {NULL, RUN_METRICS}}},
    {"activity_units",
     RUN_UNITS,
     "unit",
     NULL,
     {{"self_s", RUN_SELF},
      {"self_units", RUN_SELF},
      {"thread_s", RUN_TIME},
      {"thread_units", RUN_TIME},
      {"events", RUN_COUNT},
      {NULL, RUN_METRICS}}},
};

/* A part of a unit's class; null stays "not said". */
static int read_part(struct json_run *run, size_t part)
{
    int rc = read_text(run->json, &run->row.parts[part]);
    run->row.has_part[part] = rc >= 0 && run->json->event == JSON_STRING;
    return rc;
}

static int add_unit(struct json_run *run)
{
    const char *parts[UNIT_CLASS_PARTS];
    for (size_t i = 0; i < UNIT_CLASS_PARTS; i++) {
        if (!strbuf_ok(&run->row.parts[i]))
            return LAM_E_NOMEM;
        bool is_incremental = strcmp(unit_class_parts[i], "incremental") == 0;
        parts[i] = !run->row.has_part[i] ? NULL
                   : is_incremental      ? "yes"
                                         : strbuf_text(&run->row.parts[i]);
    }
    return run_matrix_add_unit(run->matrix, parts, strbuf_text(&run->row.key), &run->row.values);
}

static int read_member(struct json_run *run, const struct list_rule *rule)
{
    struct json_reader *json = run->json;
    if (json_key_is(json, rule->key))
        return read_text(json, &run->row.key);
    if (rule->kind && json_key_is(json, rule->kind))
        return read_text(json, &run->row.kind);
    if (rule->section == RUN_PHASES && json_key_is(json, "phase"))
        return read_text(json, &run->row.phase);
    for (size_t i = 0; rule->section == RUN_UNITS && i < UNIT_CLASS_PARTS; i++)
        if (json_key_is(json, unit_class_parts[i]))
            return read_part(run, i);
    for (const struct number_key *number = rule->numbers; number->key; number++)
        if (json_key_is(json, number->key))
            return read_number(json, &run->row.values.of[number->metric]);
    return json_skip_value(json);
}

static int add_row(struct json_run *run, const struct list_rule *rule)
{
    struct json_row *row = &run->row;
    if (rule->section == RUN_PHASES) {
        strbuf_add(&row->key, " / ");
        strbuf_add_bytes(&row->key, strbuf_text(&row->phase), row->phase.length);
        run->has_phases = true;
    }
    if (!strbuf_ok(&row->key))
        return LAM_E_NOMEM;
    if (strcmp(rule->list, "units") == 0)
        return add_unit(run);
    double self = row->values.of[RUN_SELF];
    if (rule->section == RUN_LABELS && !isnan(self))
        run->labels_self += self;
    if (rule->section == RUN_PHASES && !isnan(self))
        run->phases_self += self;
    return run_matrix_add(run->matrix, rule->section,
                          (struct profile_text){strbuf_text(&row->kind), row->kind.length},
                          (struct profile_text){strbuf_text(&row->key), row->key.length},
                          &row->values);
}

/* Units are those of the account; a report of events alone has none, and theirs are under another key. */
static bool is_second_choice(const struct json_run *run, const struct list_rule *rule)
{
    if (rule->section != RUN_UNITS)
        return false;
    bool has_account = !isnan(run->cpu);
    return has_account == (strcmp(rule->list, "activity_units") == 0);
}

static int read_list(struct json_run *run, const struct list_rule *rule)
{
    struct json_reader *json = run->json;
    int rc = json_enter_array(json);
    while (rc >= 0 && (rc = json_next_element(json)) > 0) {
        if (json->event != JSON_OBJECT_BEGIN)
            return json_fail(json, LAM_E_CORRUPT, "a row is no object");
        strbuf_clear(&run->row.kind);
        strbuf_clear(&run->row.key);
        strbuf_clear(&run->row.phase);
        run->row.values = run_values_none();
        memset(run->row.has_part, 0, sizeof run->row.has_part);
        while (rc >= 0 && (rc = json_next_key(json)) > 0)
            rc = read_member(run, rule);
        if (rc >= 0 && !is_second_choice(run, rule))
            rc = add_row(run, rule);
    }
    return rc;
}

/* An object of the report, of which numbers are wanted. */
struct object_rule {
    const char *object, *key;
    size_t offset; /* of a double in struct json_run */
};

static const struct object_rule object_rules[] = {
    {"intervals", "self_s", offsetof(struct json_run, all_labels)},
    {"intervals", "self_units", offsetof(struct json_run, all_labels)},
    {"coverage", "sampled_cpu_s", offsetof(struct json_run, all_phases)},
    {"coverage", "process_cpu_s", offsetof(struct json_run, cpu)},
    {"coverage", "ratio", offsetof(struct json_run, coverage)},
    {"coverage", "lost_samples", offsetof(struct json_run, lost)},
    {"coverage", "overwritten_pages", offsetof(struct json_run, overwritten_pages)},
    {"session", "elapsed_s", offsetof(struct json_run, wall)},
    {"session", "cores", offsetof(struct json_run, cores)},
    {"session", "exit_code", offsetof(struct json_run, exit_code)},
};

static int read_measure(struct json_run *run)
{
    static const char *const names[] = {
        "time", "cpu_time", "instructions", "instructions_minus_irqs", "cycles", "other"};
    int rc = json_next(run->json);
    if (rc != JSON_STRING)
        return rc < 0 ? rc : json_fail(run->json, LAM_E_CORRUPT, "'measure' is no text");
    struct run_info *info = &array_last(&run->matrix->runs);
    info->measure = PROFILE_MEASURE_OTHER;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_text_is(run->json, names[i]))
            info->measure = (enum profile_measure)i;
    return LAM_OK;
}

static int read_machine(struct json_run *run)
{
    struct run_info *info = &array_last(&run->matrix->runs);
    int rc = json_next(run->json);
    if (rc != JSON_STRING)
        return rc < 0 ? rc : json_skip_rest(run->json);
    return intern_add(&run->matrix->texts, run->json->text, run->json->length, &info->machine);
}

static int read_complete(struct json_run *run)
{
    int rc = json_next(run->json);
    run->is_incomplete = rc == JSON_BOOL && !run->json->boolean;
    return rc < 0 ? rc : json_skip_rest(run->json);
}

static int read_object(struct json_run *run, const char *object)
{
    struct json_reader *json = run->json;
    int rc = json_enter_object(json);
    while (rc >= 0 && (rc = json_next_key(json)) > 0) {
        double *value = NULL;
        for (size_t i = 0; i < sizeof object_rules / sizeof *object_rules; i++)
            if (strcmp(object_rules[i].object, object) == 0 && json_key_is(json, object_rules[i].key))
                value = (double *)(void *)((char *)run + object_rules[i].offset);
        if (value)
            rc = read_number(json, value);
        else if (json_key_is(json, "measure"))
            rc = read_measure(run);
        else if (strcmp(object, "machine") == 0 && json_key_is(json, "machine_id"))
            rc = read_machine(run);
        else if (strcmp(object, "session") == 0 && json_key_is(json, "complete"))
            rc = read_complete(run);
        else
            rc = json_skip_value(json);
    }
    return rc;
}

static int read_key(struct json_run *run)
{
    static const char *const objects[] = {"intervals", "coverage", "session", "machine"};
    struct json_reader *json = run->json;
    if (json_key_is(json, "format")) {
        int rc = json_next(json);
        if (rc >= 0 && (rc != JSON_STRING || !json_text_is(json, "lamella-report")))
            return json_fail(json, LAM_E_UNSUPPORTED, "this is no report of 'lamella report'");
        run->is_report = true;
        return rc;
    }
    if (!run->is_report) /* it comes first */
        return json_fail(json, LAM_E_UNSUPPORTED, "this is no report of 'lamella report'");
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (json_key_is(json, objects[i]))
            return read_object(run, objects[i]);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (json_key_is(json, rules[i].list))
            return read_list(run, &rules[i]);
    return json_skip_value(json);
}

static int add_total(struct run_matrix *matrix, const char *key, double value)
{
    struct run_values values = run_values_none();
    values.of[RUN_SELF] = value;
    struct profile_text none = {"", 0};
    return isnan(value) ? LAM_OK
                        : run_matrix_add(matrix, RUN_TOTALS, none,
                                         (struct profile_text){key, strlen(key)}, &values);
}

static int finish(struct json_run *run)
{
    struct run_info *info = &array_last(&run->matrix->runs);
    info->has_events = !isnan(run->all_labels);
    info->has_samples = run->has_phases || !isnan(run->cpu);
    info->has_phases = run->has_phases;
    info->has_failed = run->exit_code > 0 || (info->has_samples && run->is_incomplete);
    info->coverage = run->coverage;
    info->lost = run->lost;
    info->overwritten_pages = run->overwritten_pages;
    info->cores = run->cores;
    /* Rounded to nanoseconds, rows may add up to a little less. */
    info->is_cut[RUN_LABELS] = run->labels_self < run->all_labels * 0.999;
    info->is_cut[RUN_SEGMENTS] = info->is_cut[RUN_PHASES] =
        run->phases_self < run->all_phases * 0.999;
    info->is_cut[RUN_UNITS] = info->is_cut[RUN_LABELS] || info->is_cut[RUN_PHASES];
    int rc = add_total(run->matrix, run_total_labels, run->all_labels);
    if (rc == LAM_OK && info->has_samples)
        rc = add_total(run->matrix, run_total_phases, run->all_phases);
    if (rc == LAM_OK)
        rc = add_total(run->matrix, run_total_cpu, run->cpu);
    return rc < 0 ? rc : add_total(run->matrix, run_total_wall, run->wall);
}

int run_matrix_add_json(struct run_matrix *matrix, const void *bytes, size_t size, const char *name,
                        struct lam_error *err)
{
    static const struct json_options options = {.max_depth = 32};
    struct json_reader json;
    struct json_run run = {.matrix = matrix,
                           .json = &json,
                           .all_labels = NAN,
                           .all_phases = NAN,
                           .cpu = NAN,
                           .wall = NAN,
                           .coverage = NAN,
                           .cores = NAN,
                           .exit_code = NAN};
    json_open_memory(&json, bytes, size, &options);
    int rc = json_enter_object(&json);
    while (rc >= 0 && (rc = json_next_key(&json)) > 0)
        rc = read_key(&run);
    if (rc >= 0)
        rc = json_next(&json);
    if (rc >= 0 && !run.is_report)
        rc = json_fail(&json, LAM_E_UNSUPPORTED, "this is no report of 'lamella report'");
    if (rc < 0 && json_error(&json, name, err) == LAM_OK)
        lam_error_set(err, rc, "%s: %s", name, lam_code_text(rc));
    if (rc >= 0 && (rc = finish(&run)) < 0)
        lam_error_set(err, rc, "%s: %s", name, lam_code_text(rc));
    strbuf_free(&run.row.kind);
    strbuf_free(&run.row.key);
    strbuf_free(&run.row.phase);
    for (size_t i = 0; i < UNIT_CLASS_PARTS; i++)
        strbuf_free(&run.row.parts[i]);
    json_close(&json);
    return rc < 0 ? rc : LAM_OK;
}
