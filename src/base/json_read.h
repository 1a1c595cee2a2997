/* Pull reader for JSON (RFC 8259, strict), from memory or a stream, in constant memory.
 *
 *     struct json_reader json;
 *     json_open_memory(&json, data, size, NULL);
 *     int rc = json_enter_object(&json);
 *     while (rc >= 0 && (rc = json_next_key(&json)) > 0) {    // 1: json.text is the key
 *         if (json_key_is(&json, "name")) rc = json_read_text(&json, &text, &length);
 *         else rc = json_skip_value(&json);
 *         if (rc < 0) break;
 *     }
 *     if (rc < 0) json_error(&json, "profile.json", err);
 *     json_close(&json);
 *
 * The first failure sticks: every later call returns the same code. Hostile input can give a code,
 * never more. */
#ifndef LAMELLA_BASE_JSON_READ_H
#define LAMELLA_BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum json_event {
    JSON_DONE = 0, /* the document has ended, nothing but white space followed */
    JSON_OBJECT_BEGIN,
    JSON_OBJECT_END,
    JSON_ARRAY_BEGIN,
    JSON_ARRAY_END,
    JSON_KEY,    /* text, length */
    JSON_STRING, /* text, length */
    JSON_NUMBER, /* number; exact integers by json_get_u64(), json_get_i64() */
    JSON_BOOL,   /* boolean */
    JSON_NULL,
};

/* Reads up to capacity bytes into buffer; *got 0 means the end. LAM_OK or a negative code, which
 * then is the reader's. */
typedef int (*json_read_fn)(void *ctx, void *buffer, size_t capacity, size_t *got);

#define JSON_MAX_DEPTH 1024u

struct json_options {
    uint32_t max_depth; /* 1 to JSON_MAX_DEPTH; 0 is 512. Deeper nesting is LAM_E_TOOBIG. */
    size_t max_string_bytes; /* 0 is 1 GiB; a longer key, string or number is LAM_E_TOOBIG (streams only) */
    bool allow_many; /* several values one after another (JSON lines); JSON_DONE after the last */
    bool allow_bytes; /* invalid UTF-8 in strings is handed on as it is, and a lone \uD800–\uDFFF as its three
                                bytes; else both are LAM_E_CORRUPT */
};

struct json_reader {
    /* Valid after the event that says so, until the next call. text is not ended by a NUL and may
     * hold NULs. */
    const char *text;
    size_t length;
    double number;
    bool boolean;

    /* Of a number without fraction and exponent that fits: its sign and magnitude. */
    bool is_integer;
    bool is_negative;
    uint64_t magnitude;

    uint32_t depth; /* containers open now */
    int event;      /* the last one returned */

    /* Inside. */
    const uint8_t *at, *end, *base;
    uint64_t base_offset; /* in the input, of *base */
    uint8_t *buffer;      /* of a stream */
    size_t buffer_bytes;
    uint8_t *scratch; /* strings with escapes */
    size_t scratch_bytes;
    json_read_fn read;
    void *ctx;
    struct json_options options;
    int failed;
    const char *reason;
    const char *found; /* what stood there instead, or NULL */
    uint64_t fail_offset;
    uint8_t expect;
    bool is_eof;
    uint64_t in_object[JSON_MAX_DEPTH / 64]; /* one bit a level */
};

/* Opens over memory, which stays the caller's and must stay in place; strings without escapes point
 * into it. options may be NULL. A UTF-8 byte order mark at the start is skipped. */
void json_open_memory(struct json_reader *json, const void *bytes, size_t length,
                      const struct json_options *options);

/* Opens over a callback. Returns LAM_OK or LAM_E_NOMEM (then json_close is not needed, but
 * harmless). */
int json_open_stream(struct json_reader *json, json_read_fn read, void *ctx,
                     const struct json_options *options);

/* A json_read_fn over a descriptor: ctx is a pointer to an int. */
int json_read_from_fd(void *ctx, void *buffer, size_t capacity, size_t *got);

void json_close(struct json_reader *json);

/* The next event (JSON_DONE is 0), or a negative code: CORRUPT (also a number beyond the range of
 * double), TRUNCATED (the input ended inside a value), TOOBIG, NOMEM,
 * or the callback's. */
int json_next(struct json_reader *json);

/* Offset in the input right behind the last event. */
uint64_t json_offset(const struct json_reader *json);

/* Describes the failure: "profile.json: byte 12: expected a value". Returns its code (LAM_OK when
 * there was none). */
int json_error(const struct json_reader *json, const char *name, struct lam_error *err);

/* Makes the reader fail at this place with a reason of the caller's, a string that lives as long as
 * the reader ("'pid' is not a number"). Returns code. */
int json_fail(struct json_reader *json, int code, const char *reason);

/* Of the number just read: true and *value when it is an integer that fits exactly (1e3 and 1.0 do
 * as well). */
bool json_get_u64(const struct json_reader *json, uint64_t *value);
bool json_get_i64(const struct json_reader *json, int64_t *value);

/* After JSON_KEY: whether the key is this text. After JSON_STRING: whether the string is. */
bool json_text_is(const struct json_reader *json, const char *text);
#define json_key_is json_text_is

/* Skips the rest of the value just begun: after *_BEGIN up to its end; after a scalar nothing.
 * LAM_OK or a code. */
int json_skip_rest(struct json_reader *json);

/* Skips the next value whole, as after JSON_KEY. LAM_OK or a code; LAM_E_CORRUPT when no value is
 * next. */
int json_skip_value(struct json_reader *json);

/* Shorthands that read the next event and demand a kind; another kind is LAM_E_CORRUPT with a
 * reason that names both. */
int json_enter_object(struct json_reader *json); /* JSON_OBJECT_BEGIN */
int json_enter_array(struct json_reader *json);  /* JSON_ARRAY_BEGIN */
int json_next_key(struct json_reader *json);     /* 1: a key, 0: the object's end */
int json_read_text(struct json_reader *json, const char **text, size_t *length);
int json_read_u64(struct json_reader *json, uint64_t *value);
int json_read_i64(struct json_reader *json, int64_t *value);
int json_read_double(struct json_reader *json, double *value); /* null reads as NaN */
int json_read_bool(struct json_reader *json, bool *value);

/* The next element of an array: 1 and the event in json->event (a value has been begun), 0 at the
 * array's end. */
int json_next_element(struct json_reader *json);

#endif
