#include "base/json_write.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/json_plain.h"
#include "base/strbuf.h"

void json_writer_init(struct json_writer *json, struct byteout *out, uint32_t indent)
{
    *json = (struct json_writer){.out = out, .indent = indent};
}

static bool is_in_object(const struct json_writer *json)
{
    uint32_t level = json->depth - 1;
    return json->depth && (json->is_object[level / 64] >> (level % 64) & 1);
}

static void misuse(struct json_writer *json)
{
    assert(false && "calls of json_put_* that do not nest");
    json->failed = LAM_E_INVAL;
}

static void break_line(struct json_writer *json)
{
    static const char line[] = "\n                                                                ";
    if (!json->indent)
        return;
    size_t left = (size_t)json->depth * json->indent + 1;
    size_t some = left < sizeof line - 1 ? left : sizeof line - 1;
    byteout_write(json->out, line, some);
    for (left -= some; left; left -= some) {
        some = left < sizeof line - 2 ? left : sizeof line - 2;
        byteout_write(json->out, line + 1, some);
    }
}

/* What comes before a key, or a value that has none. */
static void separate(struct json_writer *json)
{
    if (json->depth == 0) {
        /* several values on the top level are lines */
        if (json->needs_comma)
            byteout_char(json->out, '\n');
    } else {
        if (json->needs_comma)
            byteout_char(json->out, ',');
        break_line(json);
    }
    json->needs_comma = true;
}

/* Before a value. False when none may stand here. */
static bool begin_value(struct json_writer *json)
{
    if (json->failed < 0)
        return false;
    if (json->has_key) {
        json->has_key = false;
        return true;
    }
    if (is_in_object(json)) {
        misuse(json);
        return false;
    }
    separate(json);
    return true;
}

static void open_container(struct json_writer *json, bool is_object)
{
    if (!begin_value(json))
        return;
    if (json->depth == JSON_WRITE_MAX_DEPTH) {
        misuse(json);
        return;
    }
    uint64_t bit = UINT64_C(1) << (json->depth % 64);
    uint64_t *word = &json->is_object[json->depth / 64];
    *word = is_object ? *word | bit : *word & ~bit;
    json->depth++;
    json->needs_comma = false;
    byteout_char(json->out, is_object ? '{' : '[');
}

void json_put_object(struct json_writer *json)
{
    open_container(json, true);
}

void json_put_array(struct json_writer *json)
{
    open_container(json, false);
}

void json_put_end(struct json_writer *json)
{
    if (json->failed < 0)
        return;
    if (json->depth == 0 || json->has_key) {
        misuse(json);
        return;
    }
    bool was_object = is_in_object(json);
    json->depth--;
    if (json->needs_comma)
        break_line(json);
    json->needs_comma = true;
    byteout_char(json->out, was_object ? '}' : ']');
}

static void put_quoted(struct json_writer *json, const char *text, size_t length)
{
    byteout_char(json->out, '"');
    size_t plain = json_plain_length(text, length);
    byteout_write(json->out, text, plain);
    if (plain < length) {
        struct strbuf escaped = {0};
        strbuf_add_json_escaped(&escaped, text + plain, length - plain);
        if (!strbuf_ok(&escaped))
            json->failed = LAM_E_NOMEM;
        byteout_write(json->out, strbuf_text(&escaped), escaped.length);
        strbuf_free(&escaped);
    }
    byteout_char(json->out, '"');
}

static bool begin_key(struct json_writer *json)
{
    if (json->failed < 0)
        return false;
    if (!is_in_object(json) || json->has_key) {
        misuse(json);
        return false;
    }
    separate(json);
    return true;
}

static void end_key(struct json_writer *json)
{
    byteout_write(json->out, ": ", json->indent ? 2 : 1);
    json->has_key = true;
}

void json_put_key_n(struct json_writer *json, const char *key, size_t length)
{
    if (!begin_key(json))
        return;
    put_quoted(json, key, length);
    end_key(json);
}

void json_put_key_parts(struct json_writer *json, const char *name, const char *suffix)
{
    if (!begin_key(json))
        return;
    byteout_char(json->out, '"');
    byteout_text(json->out, name);
    byteout_text(json->out, suffix);
    byteout_char(json->out, '"');
    end_key(json);
}

void json_put_key(struct json_writer *json, const char *key)
{
    json_put_key_n(json, key, strlen(key));
}

static void put_raw(struct json_writer *json, const char *text)
{
    if (begin_value(json))
        byteout_text(json->out, text);
}

void json_put_str_n(struct json_writer *json, const char *text, size_t length)
{
    if (!text)
        put_raw(json, "null");
    else if (begin_value(json))
        put_quoted(json, text, length);
}

void json_put_str(struct json_writer *json, const char *text)
{
    json_put_str_n(json, text, text ? strlen(text) : 0);
}

/* Writes value backwards before end, returns where it begins. */
static char *digits_before(char *end, uint64_t value)
{
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return end;
}

void json_put_u64(struct json_writer *json, uint64_t value)
{
    char digits[24] = {0};
    put_raw(json, digits_before(digits + sizeof digits - 1, value));
}

void json_put_i64(struct json_writer *json, int64_t value)
{
    char digits[24] = {0};
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char *at = digits_before(digits + sizeof digits - 1, magnitude);
    if (value < 0)
        *--at = '-';
    put_raw(json, at);
}

void json_put_double(struct json_writer *json, double value)
{
    if (!isfinite(value)) {
        put_raw(json, "null");
        return;
    }
    struct strbuf text = {0};
    strbuf_add_double(&text, value);
    if (!strbuf_ok(&text))
        json->failed = LAM_E_NOMEM;
    put_raw(json, strbuf_text(&text));
    strbuf_free(&text);
}

static int decimals_of(int wanted)
{
    return wanted < 0 ? 0 : wanted > 9 ? 9 : wanted;
}

/* digits / 10^decimals */
static void put_decimal(struct json_writer *json, uint64_t digits, int decimals, bool is_negative)
{
    char text[48];
    char *at = text + sizeof text - 1;
    *at = 0;
    for (; decimals > 0 && digits % 10 == 0; decimals--)
        digits /= 10;
    if (decimals > 0) {
        for (int i = 0; i < decimals; i++, digits /= 10)
            *--at = (char)('0' + digits % 10);
        *--at = '.';
    }
    at = digits_before(at, digits);
    if (is_negative)
        *--at = '-';
    put_raw(json, at);
}

void json_put_decimal(struct json_writer *json, int64_t value, int decimals)
{
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    put_decimal(json, magnitude, decimals_of(decimals), value < 0);
}

void json_put_fixed(struct json_writer *json, double value, int decimals)
{
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    decimals = decimals_of(decimals);
    double scaled = fabs(value) * powers[decimals];
    if (!(scaled < 0x1p53)) {
        json_put_double(json, value);
        return;
    }
    uint64_t digits = (uint64_t)(scaled + 0.5);
    put_decimal(json, digits, decimals, value < 0 && digits);
}

void json_put_bool(struct json_writer *json, bool value)
{
    put_raw(json, value ? "true" : "false");
}

void json_put_null(struct json_writer *json)
{
    put_raw(json, "null");
}

void json_put_newline(struct json_writer *json)
{
    /* A line break is white space wherever the next thing is a comma, a value or an end. */
    if (json->failed == LAM_OK && !json->has_key && !json->indent && json->depth)
        byteout_char(json->out, '\n');
}

void json_member_str(struct json_writer *json, const char *key, const char *text)
{
    json_put_key(json, key);
    json_put_str(json, text);
}

void json_member_str_n(struct json_writer *json, const char *key, const char *text, size_t length)
{
    json_put_key(json, key);
    json_put_str_n(json, text, length);
}

void json_member_u64(struct json_writer *json, const char *key, uint64_t value)
{
    json_put_key(json, key);
    json_put_u64(json, value);
}

void json_member_i64(struct json_writer *json, const char *key, int64_t value)
{
    json_put_key(json, key);
    json_put_i64(json, value);
}

void json_member_double(struct json_writer *json, const char *key, double value)
{
    json_put_key(json, key);
    json_put_double(json, value);
}

void json_member_fixed(struct json_writer *json, const char *key, double value, int decimals)
{
    json_put_key(json, key);
    json_put_fixed(json, value, decimals);
}

void json_member_bool(struct json_writer *json, const char *key, bool value)
{
    json_put_key(json, key);
    json_put_bool(json, value);
}

void json_member_null(struct json_writer *json, const char *key)
{
    json_put_key(json, key);
    json_put_null(json);
}

void json_member_object(struct json_writer *json, const char *key)
{
    json_put_key(json, key);
    json_put_object(json);
}

void json_member_array(struct json_writer *json, const char *key)
{
    json_put_key(json, key);
    json_put_array(json);
}

int json_writer_finish(struct json_writer *json, const char *name, struct lam_error *err)
{
    if (json->failed == LAM_OK && (json->depth || json->has_key))
        json->failed = LAM_E_INVAL;
    if (json->failed < 0)
        return lam_error_set(err, json->failed, "%s: %s", name,
                             json->failed == LAM_E_INVAL ? "JSON was left incomplete"
                                                         : lam_code_text(json->failed));
    byteout_char(json->out, '\n');
    return byteout_flush(json->out, name, err);
}
