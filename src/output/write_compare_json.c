/* The keys are documented in docs/self-profiles.md. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "output/run_losses.h"
#include "output/write_compare.h"
#include "output/write_labels.h"

enum { COMPARE_JSON_VERSION = 1, NANO_DECIMALS = 9 };

/* Names of the metrics in each section; a name ends in _s where the value is time. NULL: the section has no such value. */
static const char *const metric_names[RUN_SECTIONS][RUN_METRICS] = {
    [RUN_TOTALS] = {"amount"},
    [RUN_LABELS] = {"self", "time", "count", "cache_hits", "blocked", "load", "hashing"},
    [RUN_SEGMENTS] = {"cpu", NULL, "samples"},
    [RUN_PHASES] = {"cpu", NULL, "samples"},
    [RUN_UNITS] = {"self", "wall", "count"},
    [RUN_ARTIFACTS] = {"bytes"},
};

struct writer {
    const struct compare *compare;
    struct json_writer *json;
    bool is_time;
};

static bool is_plain(enum run_section section, enum run_metric metric)
{
    return metric == RUN_COUNT || metric == RUN_CACHE_HITS || section == RUN_ARTIFACTS;
}

static void put(struct writer *w, const char *key, double value)
{
    if (isnan(value))
        json_member_null(w->json, key);
    else
        json_member_fixed(w->json, key, value, NANO_DECIMALS);
}

static void put_side(struct writer *w, const struct run_row *source, const struct compare_row *row,
                     uint32_t side)
{
    json_member_object(w->json, side == COMPARE_BEFORE ? "before" : "after");
    for (size_t i = 0; i < RUN_METRICS; i++) {
        const char *name = metric_names[source->section][i];
        bool is_of_events =
            source->section == RUN_LABELS ||
            (source->section == RUN_TOTALS &&
             strcmp(run_matrix_text(w->compare->matrix, source->key), run_total_labels) == 0);
        if (!name)
            continue;
        char key[32];
        snprintf(key, sizeof key, "%s%s", name,
                 is_plain(source->section, (enum run_metric)i) ? ""
                 : w->is_time || !is_of_events                 ? "_s"
                                                               : "_units");
        put(w, key, row->side[side].of[i]);
    }
    json_put_end(w->json);
}

static void put_text(struct writer *w, const char *key, uint32_t text)
{
    size_t length;
    const char *bytes = intern_text(&w->compare->matrix->texts, text, &length);
    json_member_str_n(w->json, key, bytes, length);
}

static void put_row(struct writer *w, const struct compare_row *row)
{
    const struct run_row *source = &w->compare->matrix->rows.items[row->row];
    json_put_object(w->json);
    if (source->section == RUN_LABELS)
        put_text(w, "kind", source->kind);
    put_text(w, "name", source->key);
    put_side(w, source, row, COMPARE_BEFORE);
    put_side(w, source, row, COMPARE_AFTER);
    put(w, "change", row->change);
    if (isnan(row->share))
        json_member_null(w->json, "share");
    else
        json_member_double(w->json, "share", row->share);
    put(w, "low", row->low);
    put(w, "high", row->high);
    json_member_str(w->json, "verdict", compare_verdict_name(row->verdict));
    json_put_end(w->json);
}

static void put_rows(struct writer *w, enum run_section section, const char *key, uint32_t top)
{
    json_member_array(w->json, key);
    for (size_t i = 0; i < w->compare->rows[section].count; i++)
        if (section == RUN_TOTALS || top == 0 || i < top)
            put_row(w, &w->compare->rows[section].items[i]);
    json_put_end(w->json);
}

static void put_names(struct writer *w, uint32_t side, const char *key)
{
    json_member_array(w->json, key);
    array_each(&w->compare->matrix->runs, run)
    {
        size_t length;
        const char *name = intern_text(&w->compare->matrix->texts, run->name, &length);
        if (run->side == side)
            json_put_str_n(w->json, name, length);
    }
    json_put_end(w->json);
}

int write_compare_json(const struct compare *compare, const struct compare_view *view,
                       struct byteout *out, struct lam_error *err)
{
    struct json_writer json;
    json_writer_init(&json, out, 2);
    enum profile_measure measure = PROFILE_MEASURE_TIME;
    array_each(&compare->matrix->runs, run) if (run->has_events) measure = run->measure;
    struct writer w = {compare, &json, labels_measure_is_time(measure)};
    json_put_object(&json);
    json_member_str(&json, "format", "lamella-diff");
    json_member_u64(&json, "version", COMPARE_JSON_VERSION);
    put_names(&w, COMPARE_BEFORE, "before");
    put_names(&w, COMPARE_AFTER, "after");
    run_losses_json(compare->matrix, &json);
    json_member_str(&json, "measure", labels_measure_name(measure));
    json_member_str(&json, "metric", run_metric_keys[compare->metric]);
    json_member_bool(&json, "repeated", compare->has_repeats);
    json_member_double(&json, "luck", compare->luck);
    put_text(&w, "judged",
             compare->judged ? compare->matrix->rows.items[compare->judged->row].key : INTERN_EMPTY);
    json_member_bool(&json, "failed", compare_fails(compare, view->fail_above));
    for (size_t i = 0; i < RUN_SECTIONS; i++)
        put_rows(&w, (enum run_section)i, run_section_keys[i], view->top);
    json_put_end(&json);
    return json_writer_finish(&json, "diff", err);
}
