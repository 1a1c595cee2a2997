/* The keys are documented in docs/self-profiles.md. */
#include <math.h>
#include <string.h>

#include "base/json_write.h"
#include "output/run_losses.h"
#include "output/write_aggregate.h"
#include "output/write_labels.h"

enum { AGGREGATE_JSON_VERSION = 1, NANO_DECIMALS = 9 };

static void put_text(struct json_writer *json, const char *key, const struct intern *texts,
                     uint32_t text)
{
    size_t length;
    const char *bytes = intern_text(texts, text, &length);
    json_member_str_n(json, key, bytes, length);
}

static void put(struct json_writer *json, const char *key, double value)
{
    if (isnan(value))
        json_member_null(json, key);
    else
        json_member_fixed(json, key, value, NANO_DECIMALS);
}

static void put_row(struct json_writer *json, const struct aggregate *aggregate,
                    const struct aggregate_row *row)
{
    const struct run_row *source = &aggregate->matrix->rows.items[row->row];
    json_put_object(json);
    if (source->section == RUN_LABELS)
        put_text(json, "kind", &aggregate->matrix->texts, source->kind);
    put_text(json, "name", &aggregate->matrix->texts, source->key);
    json_member_u64(json, "runs", row->runs);
    put(json, "min", row->min);
    put(json, "median", row->median);
    put(json, "max", row->max);
    if (isnan(row->spread))
        json_member_null(json, "spread");
    else
        json_member_double(json, "spread", row->spread);
    put(json, "count_min", row->count_min);
    put(json, "count_max", row->count_max);
    json_put_end(json);
}

static void put_skipped(struct json_writer *json, const struct aggregate_view *view)
{
    json_member_array(json, "skipped");
    for (size_t i = 0; i < view->skipped_count; i++) {
        json_put_object(json);
        json_member_str(json, "input", view->skipped[i].input);
        json_member_str(json, "why", view->skipped[i].why);
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_row_label(struct json_writer *json, const char *key,
                          const struct sequences *sequences, uint32_t row)
{
    if (row == UINT32_MAX)
        json_member_null(json, key);
    else
        put_text(json, key, &sequences->texts, sequences->rows.items[row].label);
}

/* null when nobody looked at the order of events. */
static void put_sequences(struct json_writer *json, const struct aggregate *aggregate,
                          const struct sequences *sequences)
{
    if (!sequences) {
        json_member_null(json, "sequence");
        return;
    }
    json_member_object(json, "sequence");
    json_member_array(json, "labels");
    array_each(&sequences->differences, it)
    {
        json_put_object(json);
        put_text(json, "kind", &sequences->texts, sequences->rows.items[it->row].kind);
        put_text(json, "name", &sequences->texts, sequences->rows.items[it->row].label);
        json_member_str(json, "differs", it->what == SEQUENCE_COUNT ? "number" : "order");
        json_member_u64(json, "least", it->least);
        json_member_u64(json, "most", it->most);
        json_put_end(json);
    }
    json_put_end(json);
    json_member_array(json, "first");
    for (size_t i = 1; i < sequences->runs.count && i < aggregate->matrix->runs.count; i++) {
        const struct sequence_run *run = &sequences->runs.items[i];
        if (!run->has_difference)
            continue;
        json_put_object(json);
        put_text(json, "run", &aggregate->matrix->texts, aggregate->matrix->runs.items[i].name);
        json_member_u64(json, "event", run->position);
        put(json, "at_s", run->here == UINT32_MAX ? NAN : (double)run->at_ns / 1e9);
        put_row_label(json, "here", sequences, run->here);
        put_row_label(json, "there", sequences, run->there);
        json_put_end(json);
    }
    json_put_end(json);
    json_put_end(json);
}

int write_aggregate_json(const struct aggregate *aggregate, const struct aggregate_view *view,
                         struct byteout *out, struct lam_error *err)
{
    struct json_writer json;
    json_writer_init(&json, out, 2);
    enum profile_measure measure = PROFILE_MEASURE_TIME;
    json_put_object(&json);
    json_member_str(&json, "format", "lamella-aggregate");
    json_member_u64(&json, "version", AGGREGATE_JSON_VERSION);
    json_member_array(&json, "runs");
    array_each(&aggregate->matrix->runs, run)
    {
        size_t length;
        const char *name = intern_text(&aggregate->matrix->texts, run->name, &length);
        json_put_str_n(&json, name, length);
        measure = run->has_events ? run->measure : measure;
    }
    json_put_end(&json);
    put_skipped(&json, view);
    run_losses_json(aggregate->matrix, &json);
    json_member_str(&json, "measure", labels_measure_name(measure));
    json_member_str(&json, "metric", run_metric_keys[aggregate->metric]);
    for (size_t i = 0; i < RUN_SECTIONS; i++) {
        json_member_array(&json, run_section_keys[i]);
        for (size_t at = 0; at < aggregate->rows[i].count; at++)
            if (i == RUN_TOTALS || view->top == 0 || at < view->top)
                put_row(&json, aggregate, &aggregate->rows[i].items[at]);
        json_put_end(&json);
    }
    put_sequences(&json, aggregate, view->sequences);
    json_put_end(&json);
    return json_writer_finish(&json, "aggregate", err);
}
