/* What json_read.h offers on top of json_next(). */
#include <math.h>
#include <string.h>

#include "base/json_read.h"

bool json_get_u64(const struct json_reader *json, uint64_t *value)
{
    if (json->is_integer) {
        if (json->is_negative && json->magnitude)
            return false;
        *value = json->magnitude;
        return true;
    }
    /* 1e3 and 1.0: exact up to 2^53 */
    if (!(json->number >= 0 && json->number <= 0x1p53) || json->number != trunc(json->number))
        return false;
    *value = (uint64_t)json->number;
    return true;
}

bool json_get_i64(const struct json_reader *json, int64_t *value)
{
    const uint64_t limit = (uint64_t)INT64_MAX + json->is_negative;
    uint64_t magnitude = json->magnitude;
    if (!json->is_integer) {
        if (!(fabs(json->number) <= 0x1p53) || json->number != trunc(json->number))
            return false;
        magnitude = (uint64_t)fabs(json->number);
    }
    if (magnitude > limit)
        return false;
    *value = (int64_t)(json->is_negative ? 0 - magnitude : magnitude);
    return true;
}

bool json_text_is(const struct json_reader *json, const char *text)
{
    size_t length = strlen(text);
    return json->length == length && memcmp(json->text, text, length) == 0;
}

static bool is_begin(int event)
{
    return event == JSON_OBJECT_BEGIN || event == JSON_ARRAY_BEGIN;
}

int json_skip_rest(struct json_reader *json)
{
    if (json->failed < 0)
        return json->failed;
    if (!is_begin(json->event))
        return LAM_OK;
    uint32_t outside = json->depth - 1;
    while (json->depth > outside) {
        int event = json_next(json);
        if (event < 0)
            return event;
    }
    return LAM_OK;
}

static const char *event_name(int event)
{
    static const char *const names[] = {
        [JSON_DONE] = "the end",
        [JSON_OBJECT_BEGIN] = "an object",
        [JSON_OBJECT_END] = "the end of an object",
        [JSON_ARRAY_BEGIN] = "an array",
        [JSON_ARRAY_END] = "the end of an array",
        [JSON_KEY] = "a key",
        [JSON_STRING] = "a string",
        [JSON_NUMBER] = "a number",
        [JSON_BOOL] = "true or false",
        [JSON_NULL] = "null",
    };
    return names[event];
}

static int fail_kind(struct json_reader *json, int event, const char *expected)
{
    if (event < 0)
        return event;
    int rc = json_fail(json, LAM_E_CORRUPT, expected);
    json->found = event_name(event);
    return rc;
}

static int demand(struct json_reader *json, int wanted, const char *expected)
{
    int event = json_next(json);
    return event == wanted ? LAM_OK : fail_kind(json, event, expected);
}

int json_skip_value(struct json_reader *json)
{
    int event = json_next(json);
    if (event == JSON_DONE || event == JSON_KEY || event == JSON_OBJECT_END || event == JSON_ARRAY_END)
        return fail_kind(json, event, "expected a value");
    return event < 0 ? event : json_skip_rest(json);
}

int json_enter_object(struct json_reader *json)
{
    return demand(json, JSON_OBJECT_BEGIN, "expected an object");
}

int json_enter_array(struct json_reader *json)
{
    return demand(json, JSON_ARRAY_BEGIN, "expected an array");
}

int json_next_key(struct json_reader *json)
{
    int event = json_next(json);
    if (event == JSON_KEY)
        return 1;
    return event == JSON_OBJECT_END ? 0 : fail_kind(json, event, "expected a key");
}

int json_next_element(struct json_reader *json)
{
    int event = json_next(json);
    if (event == JSON_ARRAY_END)
        return 0;
    if (event == JSON_DONE || event == JSON_KEY || event == JSON_OBJECT_END)
        return fail_kind(json, event, "expected an element of an array");
    return event < 0 ? event : 1;
}

int json_read_text(struct json_reader *json, const char **text, size_t *length)
{
    int rc = demand(json, JSON_STRING, "expected a string");
    if (rc < 0)
        return rc;
    *text = json->text;
    *length = json->length;
    return LAM_OK;
}

int json_read_u64(struct json_reader *json, uint64_t *value)
{
    int rc = demand(json, JSON_NUMBER, "expected a number");
    if (rc < 0)
        return rc;
    if (!json_get_u64(json, value))
        return json_fail(json, LAM_E_CORRUPT, "expected an integer from 0 to 2^64 - 1");
    return LAM_OK;
}

int json_read_i64(struct json_reader *json, int64_t *value)
{
    int rc = demand(json, JSON_NUMBER, "expected a number");
    if (rc < 0)
        return rc;
    if (!json_get_i64(json, value))
        return json_fail(json, LAM_E_CORRUPT, "expected an integer of 64 bits");
    return LAM_OK;
}

int json_read_double(struct json_reader *json, double *value)
{
    int event = json_next(json);
    if (event != JSON_NUMBER && event != JSON_NULL)
        return fail_kind(json, event, "expected a number");
    *value = event == JSON_NUMBER ? json->number : (double)NAN;
    return LAM_OK;
}

int json_read_bool(struct json_reader *json, bool *value)
{
    int rc = demand(json, JSON_BOOL, "expected true or false");
    if (rc < 0)
        return rc;
    *value = json->boolean;
    return LAM_OK;
}
