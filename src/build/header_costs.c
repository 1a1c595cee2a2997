#include "build/header_costs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/byteout.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "build/cargo_unit.h"

enum { HEADERS_KEPT = 2000 };

struct reading { /* of a file, by one compilation; microseconds */
    double start, duration;
    uint32_t file;
};
struct readings LAM_ARRAY_BODY(struct reading);

/* ---- a trace ---- */

static int read_detail(struct json_reader *json, struct intern *files, uint32_t *file)
{
    int rc = json_enter_object(json);
    while (rc >= 0 && (rc = json_next_key(json)) > 0) {
        if (!json_key_is(json, "detail")) {
            rc = json_skip_value(json);
            continue;
        }
        rc = json_next(json);
        if (rc >= 0 && json->event == JSON_STRING)
            rc = intern_add(files, json->text, json->length, file);
        else if (rc >= 0)
            rc = json_skip_rest(json);
    }
    return rc;
}

/* {"ph": "X", "ts": 10713, "dur": 583, "name": "Source", "args": {"detail": "/usr/include/features.h"}} */
static int read_event(struct json_reader *json, struct intern *files, struct readings *readings)
{
    struct reading reading = {.start = NAN, .duration = NAN};
    const char *text;
    size_t length;
    bool is_source = false;
    int rc;
    while ((rc = json_next_key(json)) > 0) {
        if (json_key_is(json, "ts")) {
            rc = json_read_double(json, &reading.start);
        } else if (json_key_is(json, "dur")) {
            rc = json_read_double(json, &reading.duration);
        } else if (json_key_is(json, "name")) {
            rc = json_read_text(json, &text, &length);
            is_source = rc >= 0 && json_text_is(json, "Source");
        } else if (json_key_is(json, "args") && is_source) {
            rc = read_detail(json, files, &reading.file);
        } else {
            rc = json_skip_value(json);
        }
        if (rc < 0)
            return rc;
    }
    bool is_whole = is_source && reading.file != INTERN_EMPTY && isfinite(reading.start) &&
                    reading.duration >= 0 && reading.duration < 1e15;
    return rc < 0 || !is_whole ? rc : array_push(readings, reading);
}

static int read_trace(struct json_reader *json, struct intern *files, struct readings *readings,
                      bool *is_trace)
{
    int rc = json_enter_object(json);
    while (rc >= 0 && (rc = json_next_key(json)) > 0) {
        if (!json_key_is(json, "traceEvents")) {
            rc = json_skip_value(json);
            continue;
        }
        *is_trace = true;
        rc = json_enter_array(json);
        while (rc >= 0 && (rc = json_next_element(json)) > 0)
            rc = json->event == JSON_OBJECT_BEGIN
                     ? read_event(json, files, readings)
                     : json_fail(json, LAM_E_CORRUPT, "an event is no object");
    }
    return rc;
}

/* ---- costs ---- */

static int compare_readings(const void *a, const void *b)
{
    const struct reading *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return (left->duration < right->duration) - (left->duration > right->duration);
}

static void count_reading(struct header_costs *costs, const struct reading *reading)
{
    struct header_cost *cost = &costs->items.items[reading->file - 1];
    double seconds = reading->duration / 1e6;
    cost->count++;
    cost->total_s += seconds;
    cost->self_s += seconds;
    if (seconds > cost->max_s)
        cost->max_s = seconds;
}

/* What lies in time within another one was included by it. */
static int add_up(struct header_costs *costs, struct readings *readings)
{
    LAM_ARRAY(const struct reading *) open = {0};
    int rc = LAM_OK;
    array_sort(readings, compare_readings);
    array_each(readings, reading)
    {
        count_reading(costs, reading);
        while (open.count > 0 &&
               array_last(&open)->start + array_last(&open)->duration <= reading->start)
            (void)array_pop(&open);
        if (open.count > 0)
            costs->items.items[array_last(&open)->file - 1].self_s -= reading->duration / 1e6;
        if (array_push(&open, reading) < 0)
            rc = LAM_E_NOMEM;
        if (rc < 0)
            break;
    }
    array_free(&open);
    return rc;
}

int header_costs_add(struct header_costs *costs, const char *text, size_t size, const char *name,
                     struct lam_error *err)
{
    struct readings readings = {0};
    struct json_reader json;
    bool is_trace = false;
    json_open_memory(&json, text, size, &(struct json_options){.max_depth = 16, .allow_bytes = true});
    int rc = read_trace(&json, &costs->files, &readings, &is_trace);
    if (rc >= 0 && !is_trace)
        rc = json_fail(&json, LAM_E_CORRUPT, "no trace of clang's");
    if (rc < 0 && json_error(&json, name, err) == LAM_OK)
        lam_error_set(err, rc, "%s: %s", name, lam_code_text(rc));
    json_close(&json);
    if (rc >= 0) {
        rc = array_resize(&costs->items, intern_count(&costs->files) - 1);
        if (rc == LAM_OK)
            rc = add_up(costs, &readings);
        costs->units += rc == LAM_OK;
        if (rc < 0)
            lam_error_set(err, rc, "%s: out of memory", name);
    }
    array_free(&readings);
    return rc;
}

static int compare_costs(const void *a, const void *b)
{
    const struct header_cost *left = a, *right = b;
    if (left->total_s != right->total_s)
        return left->total_s < right->total_s ? 1 : -1;
    return strcmp(left->file, right->file);
}

void header_costs_sort(struct header_costs *costs)
{
    size_t kept = 0;
    for (size_t i = 0; i < costs->items.count; i++) {
        struct header_cost cost = costs->items.items[i];
        cost.file = intern_text(&costs->files, (uint32_t)i + 1, NULL);
        if (cost.count > 0)
            costs->items.items[kept++] = cost;
    }
    costs->items.count = kept;
    array_sort(&costs->items, compare_costs);
    if (costs->items.count > HEADERS_KEPT)
        costs->items.count = HEADERS_KEPT;
}

/* ---- the file ---- */

int header_costs_write(const struct header_costs *costs, struct strbuf *text, struct lam_error *err)
{
    struct byteout *out = mem_zalloc(1, sizeof *out);
    struct json_writer json;
    if (!out)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", HEADERS_NAME);
    byteout_init_strbuf(out, text);
    json_writer_init(&json, out, 0);
    json_put_object(&json);
    json_member_str(&json, "format", "lamella-headers");
    json_member_u64(&json, "version", 1);
    json_member_u64(&json, "units", costs->units);
    json_member_array(&json, "headers");
    array_each(&costs->items, cost)
    {
        json_put_newline(&json);
        json_put_object(&json);
        json_member_str(&json, "file", cost->file);
        json_member_u64(&json, "count", cost->count);
        json_member_fixed(&json, "total_s", cost->total_s, 6);
        json_member_fixed(&json, "self_s", cost->self_s, 6);
        json_member_fixed(&json, "max_s", cost->max_s, 6);
        json_put_end(&json);
    }
    json_put_end(&json);
    json_put_end(&json);
    int rc = json_writer_finish(&json, HEADERS_NAME, err);
    mem_free(out);
    return rc;
}

static int read_cost(struct json_reader *json, struct header_costs *costs)
{
    struct header_cost cost = {.file = "", .total_s = NAN, .self_s = NAN, .max_s = NAN};
    int rc;
    while ((rc = json_next_key(json)) > 0) {
        if (json_key_is(json, "file"))
            rc = cargo_read_str(json, &costs->files.text, &cost.file);
        else if (json_key_is(json, "count"))
            rc = json_read_u64(json, &cost.count);
        else if (json_key_is(json, "total_s"))
            rc = json_read_double(json, &cost.total_s);
        else if (json_key_is(json, "self_s"))
            rc = json_read_double(json, &cost.self_s);
        else if (json_key_is(json, "max_s"))
            rc = json_read_double(json, &cost.max_s);
        else
            rc = json_skip_value(json);
        if (rc < 0)
            return rc;
    }
    return rc < 0 ? rc : array_push(&costs->items, cost);
}

static int read_costs(struct json_reader *json, struct header_costs *costs)
{
    int rc = json_enter_array(json);
    while (rc >= 0 && (rc = json_next_element(json)) > 0)
        rc = json->event == JSON_OBJECT_BEGIN
                 ? read_cost(json, costs)
                 : json_fail(json, LAM_E_CORRUPT, "a header is no object");
    return rc;
}

int header_costs_parse(struct header_costs *costs, const char *text, size_t size, const char *name,
                       struct lam_error *err)
{
    struct json_reader json;
    *costs = (struct header_costs){0};
    json_open_memory(&json, text, size, &(struct json_options){.max_depth = 16, .allow_bytes = true});
    int rc = json_enter_object(&json);
    while (rc >= 0 && (rc = json_next_key(&json)) > 0) {
        if (json_key_is(&json, "headers"))
            rc = read_costs(&json, costs);
        else if (json_key_is(&json, "units"))
            rc = json_read_u64(&json, &costs->units);
        else
            rc = json_skip_value(&json);
    }
    if (rc < 0) {
        if (json_error(&json, name, err) == LAM_OK)
            lam_error_set(err, rc, "%s: %s", name, lam_code_text(rc));
        header_costs_free(costs);
    }
    json_close(&json);
    return rc < 0 ? rc : LAM_OK;
}

void header_costs_free(struct header_costs *costs)
{
    array_free(&costs->items);
    intern_free(&costs->files);
    *costs = (struct header_costs){0};
}
