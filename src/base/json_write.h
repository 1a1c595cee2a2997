/* Streaming JSON writer: what is put is written, nothing is kept but the nesting. Always valid
 * JSON, as long as the calls nest: a caller's mistake (a value where a key is due, an end that does
 * not match) is LAM_E_INVAL from json_writer_finish() and an assert in debug builds.
 *
 *     json_put_object(&json);
 *     json_put_key(&json, "units");
 *     json_put_array(&json);
 *     …
 *     json_put_end(&json);
 *     json_put_end(&json);
 *     rc = json_writer_finish(&json, "report.json", err); */
#ifndef LAMELLA_BASE_JSON_WRITE_H
#define LAMELLA_BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/byteout.h"
#include "base/error.h"

#define JSON_WRITE_MAX_DEPTH 128u

struct json_writer {
    struct byteout *out;
    uint32_t depth;
    uint32_t indent; /* spaces a level; 0 is all in one line */
    int failed;
    bool needs_comma; /* something stands before us on this level */
    bool has_key;
    uint64_t is_object[JSON_WRITE_MAX_DEPTH / 64];
};

/* Writes through out, which the caller has set up and keeps. indent 0 for machines, 2 for people.
 */
void json_writer_init(struct json_writer *json, struct byteout *out, uint32_t indent);

void json_put_object(struct json_writer *json);
void json_put_array(struct json_writer *json);
void json_put_end(struct json_writer *json); /* of the innermost object or array */

void json_put_key(struct json_writer *json, const char *key);
void json_put_key_n(struct json_writer *json, const char *key, size_t length);
/* A key of two parts that need no escape: names in the program. */
void json_put_key_parts(struct json_writer *json, const char *name, const char *suffix);

/* Strings are escaped as by strbuf_add_json_escaped(): control bytes, U+2028/9, and invalid bytes
 * as the text \xNN, so that different names stay different. NULL is null. */
void json_put_str(struct json_writer *json, const char *text);
void json_put_str_n(struct json_writer *json, const char *text, size_t length);

void json_put_u64(struct json_writer *json, uint64_t value);
void json_put_i64(struct json_writer *json, int64_t value);
/* The shortest text that reads back as the value. NaN and infinities are null. */
void json_put_double(struct json_writer *json, double value);
/* 0 to 9 decimals, halves away from zero, trailing zeros left out: small and fast. Values of 2^53 /
 * 10^decimals and more are written as by json_put_double(). */
void json_put_fixed(struct json_writer *json, double value, int decimals);
/* The same of value / 10^decimals, exact. */
void json_put_decimal(struct json_writer *json, int64_t value, int decimals);
void json_put_bool(struct json_writer *json, bool value);
void json_put_null(struct json_writer *json);

/* Key and value at once. */
void json_member_str(struct json_writer *json, const char *key, const char *text);
void json_member_str_n(struct json_writer *json, const char *key, const char *text, size_t length);
void json_member_u64(struct json_writer *json, const char *key, uint64_t value);
void json_member_i64(struct json_writer *json, const char *key, int64_t value);
void json_member_double(struct json_writer *json, const char *key, double value);
void json_member_fixed(struct json_writer *json, const char *key, double value, int decimals);
void json_member_bool(struct json_writer *json, const char *key, bool value);
void json_member_null(struct json_writer *json, const char *key);
void json_member_object(struct json_writer *json, const char *key); /* begins it */
void json_member_array(struct json_writer *json, const char *key);  /* begins it */

/* A line break between two values on the top level (JSON lines) or inside an array, for files that
 * are read by eye. */
void json_put_newline(struct json_writer *json);

/* Ends the document with a line break and flushes. LAM_OK; LAM_E_INVAL when calls did not nest or
 * something is still open; the output's failure. */
int json_writer_finish(struct json_writer *json, const char *name, struct lam_error *err);

#endif
