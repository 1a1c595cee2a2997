#include "base/json_read.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/strbuf.h"

enum {
    STREAM_BYTES_MIN = 1 << 18,
    DEPTH_DEFAULT = 512,
};
static const size_t string_bytes_default = (size_t)1 << 30;

/* What may stand next. */
enum expect {
    EXPECT_START,         /* the document's value */
    EXPECT_COLON,         /* and then a value */
    EXPECT_FIRST_KEY,     /* or the end of an object */
    EXPECT_FIRST_ELEMENT, /* or the end of an array */
    EXPECT_MORE,          /* a comma, or the end of the container */
    EXPECT_END,           /* nothing but white space */
};

enum { NO_BYTE = -1 }; /* peek() found the end or a failure */

static void open_common(struct json_reader *json, const struct json_options *options)
{
    memset(json, 0, sizeof *json);
    if (options)
        json->options = *options;
    if (json->options.max_depth == 0)
        json->options.max_depth = DEPTH_DEFAULT;
    if (json->options.max_depth > JSON_MAX_DEPTH)
        json->options.max_depth = JSON_MAX_DEPTH;
    if (json->options.max_string_bytes == 0)
        json->options.max_string_bytes = string_bytes_default;
    json->text = "";
    json->expect = EXPECT_START;
}

void json_open_memory(struct json_reader *json, const void *bytes, size_t length,
                      const struct json_options *options)
{
    static const uint8_t nothing[1];
    open_common(json, options);
    json->base = bytes ? bytes : nothing;
    json->at = json->base;
    json->end = json->base + (bytes ? length : 0);
    json->is_eof = true;
}

int json_open_stream(struct json_reader *json, json_read_fn read, void *ctx,
                     const struct json_options *options)
{
    open_common(json, options);
    json->buffer = mem_alloc(STREAM_BYTES_MIN);
    if (!json->buffer)
        return LAM_E_NOMEM;
    json->buffer_bytes = STREAM_BYTES_MIN;
    json->base = json->at = json->end = json->buffer;
    json->read = read;
    json->ctx = ctx;
    return LAM_OK;
}

int json_read_from_fd(void *ctx, void *buffer, size_t capacity, size_t *got)
{
    const int *fd = ctx;
    ssize_t count;
    do {
        count = read(*fd, buffer, capacity);
    } while (count < 0 && errno == EINTR);
    if (count < 0)
        return lam_code_from_errno(errno);
    *got = (size_t)count;
    return LAM_OK;
}

void json_close(struct json_reader *json)
{
    mem_free(json->buffer);
    mem_free(json->scratch);
    memset(json, 0, sizeof *json);
    json->failed = LAM_E_INVAL;
    json->reason = "the reader is closed";
}

uint64_t json_offset(const struct json_reader *json)
{
    return json->base_offset + (uint64_t)(json->at - json->base);
}

static int fail_at(struct json_reader *json, int code, const uint8_t *where, const char *reason)
{
    if (json->failed == LAM_OK) {
        json->failed = code;
        json->reason = reason;
        json->found = NULL;
        json->fail_offset = json->base_offset + (uint64_t)(where - json->base);
    }
    return json->failed;
}

int json_fail(struct json_reader *json, int code, const char *reason)
{
    return fail_at(json, code, json->at, reason);
}

int json_error(const struct json_reader *json, const char *name, struct lam_error *err)
{
    if (json->failed == LAM_OK)
        return LAM_OK;
    return lam_error_at(err, json->failed, json->fail_offset, "%s: byte %llu: %s%s%s", name,
                        (unsigned long long)json->fail_offset, json->reason,
                        json->found ? ", found " : "", json->found ? json->found : "");
}

/* Room in the buffer behind what is kept, which begins at *keep and is moved to the front. */
static int make_room(struct json_reader *json, const uint8_t **keep)
{
    size_t kept = (size_t)(json->end - *keep);
    json->base_offset += (uint64_t)(*keep - json->base);
    if (kept)
        memmove(json->buffer, *keep, kept);
    if (kept > json->buffer_bytes / 2) {
        if (kept > json->options.max_string_bytes)
            return LAM_E_TOOBIG;
        uint8_t *grown = mem_realloc(json->buffer, json->buffer_bytes * 2);
        if (!grown)
            return LAM_E_NOMEM;
        json->buffer = grown;
        json->buffer_bytes *= 2;
    }
    *keep = json->buffer;
    json->base = json->buffer;
    json->end = json->buffer + kept;
    return LAM_OK;
}

/* Reads more of a stream. Bytes from *keep on stay (*keep moves with them), those before are gone;
 * json->at is set to the first new byte. False at the end of the input and after a failure. */
static bool read_more(struct json_reader *json, const uint8_t **keep)
{
    if (json->is_eof || json->failed < 0)
        return false;
    int rc = make_room(json, keep);
    json->at = json->end;
    if (rc < 0) {
        *keep = json->at = json->end = json->base;
        fail_at(json, rc, json->at, rc == LAM_E_TOOBIG ? "too long a string" : "out of memory");
        return false;
    }
    size_t got = 0;
    size_t room = json->buffer_bytes - (size_t)(json->end - json->buffer);
    rc = json->read(json->ctx, json->buffer + (json->end - json->buffer), room, &got);
    if (rc < 0 || got > room) {
        fail_at(json, rc < 0 ? rc : LAM_E_INVAL, json->at, "cannot read");
        return false;
    }
    json->is_eof = got == 0;
    json->end += got;
    return got > 0;
}

static inline bool is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The next byte that is not white space, not taken yet, or NO_BYTE. */
static int peek(struct json_reader *json)
{
    for (;;) {
        while (json->at < json->end) {
            if (!is_space(*json->at))
                return *json->at;
            json->at++;
        }
        const uint8_t *keep = json->at;
        if (!read_more(json, &keep))
            return NO_BYTE;
    }
}

static int fail_ended(struct json_reader *json)
{
    return fail_at(json, LAM_E_TRUNCATED, json->at, "the input ends here, too early");
}

static inline bool is_in_object(const struct json_reader *json)
{
    uint32_t level = json->depth - 1;
    return json->in_object[level / 64] >> (level % 64) & 1;
}

static inline void value_done(struct json_reader *json)
{
    if (json->depth)
        json->expect = EXPECT_MORE;
    else
        json->expect = json->options.allow_many ? EXPECT_START : EXPECT_END;
}

static int open_container(struct json_reader *json, bool is_object)
{
    if (json->depth == json->options.max_depth)
        return fail_at(json, LAM_E_TOOBIG, json->at, "nested too deep");
    uint64_t bit = UINT64_C(1) << (json->depth % 64);
    uint64_t *word = &json->in_object[json->depth / 64];
    *word = is_object ? *word | bit : *word & ~bit;
    json->depth++;
    json->at++;
    json->expect = is_object ? EXPECT_FIRST_KEY : EXPECT_FIRST_ELEMENT;
    return is_object ? JSON_OBJECT_BEGIN : JSON_ARRAY_BEGIN;
}

static int close_container(struct json_reader *json, bool is_object)
{
    json->at++;
    json->depth--;
    value_done(json);
    return is_object ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static inline uint64_t load_le64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

/* The first byte of [at, end) that is a quote, a backslash or a control byte; end when there is
 * none. *high gets the top bits of the bytes passed over, to know whether there is anything to
 * validate. Eight bytes at a time: in each sum below the top bit of a byte says that it is special;
 * a borrow can only spoil bytes behind a special one, and the lowest counts. */
static const uint8_t *scan_plain(const uint8_t *at, const uint8_t *end, uint64_t *high)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones * 0x80;
    for (; end - at >= 8; at += 8) {
        uint64_t eight = load_le64(at);
        uint64_t quote = eight ^ (ones * '"');
        uint64_t backslash = eight ^ (ones * '\\');
        uint64_t special = ((eight - ones * 0x20) & ~eight) | ((quote - ones) & ~quote) |
                           ((backslash - ones) & ~backslash);
        special &= tops;
        if (special) {
            /* the bits below the lowest top bit that is set */
            *high |= eight & tops & ((special & (0 - special)) - 1);
            return at + __builtin_ctzll(special) / 8;
        }
        *high |= eight & tops;
    }
    for (; at < end; at++) {
        if (*at < 0x20 || *at == '"' || *at == '\\')
            return at;
        *high |= *at & 0x80;
    }
    return at;
}

static bool scratch_add(struct json_reader *json, size_t *used, const void *bytes, size_t length)
{
    if (json->read && length > json->options.max_string_bytes - *used) {
        fail_at(json, LAM_E_TOOBIG, json->at, "too long a string");
        return false;
    }
    if (length > json->scratch_bytes - *used) {
        size_t wanted = *used + length + 64;
        if (wanted < json->scratch_bytes * 2)
            wanted = json->scratch_bytes * 2;
        uint8_t *grown = mem_realloc(json->scratch, wanted);
        if (!grown) {
            fail_at(json, LAM_E_NOMEM, json->at, "out of memory");
            return false;
        }
        json->scratch = grown;
        json->scratch_bytes = wanted;
    }
    if (length)
        memcpy(json->scratch + *used, bytes, length);
    *used += length;
    return true;
}

/* Makes sure that `count` bytes stand at json->at. */
static bool has_bytes(struct json_reader *json, size_t count)
{
    while ((size_t)(json->end - json->at) < count) {
        const uint8_t *keep = json->at;
        bool got = read_more(json, &keep);
        json->at = keep;
        if (!got)
            return false;
    }
    return true;
}

/* Four hexadecimal digits at json->at + 2, behind the u; -1 when they are none. */
static int32_t hex4(const uint8_t *at)
{
    int32_t value = 0;
    for (int i = 2; i < 6; i++) {
        int digit;
        if (at[i] >= '0' && at[i] <= '9')
            digit = at[i] - '0';
        else if ((at[i] | 0x20) >= 'a' && (at[i] | 0x20) <= 'f')
            digit = (at[i] | 0x20) - 'a' + 10;
        else
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* A \u escape at json->at, two of them for a surrogate pair. */
static bool unescape_unicode(struct json_reader *json, size_t *used)
{
    char bytes[4];
    if (!has_bytes(json, 6)) {
        fail_ended(json);
        return false;
    }
    int32_t code = hex4(json->at);
    if (code < 0) {
        fail_at(json, LAM_E_CORRUPT, json->at, "\\u without four hexadecimal digits");
        return false;
    }
    if (code >= 0xd800 && code < 0xdc00 && has_bytes(json, 12) && json->at[6] == '\\' &&
        json->at[7] == 'u') {
        int32_t low = hex4(json->at + 6);
        if (low >= 0xdc00 && low < 0xe000) {
            json->at += 6;
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    size_t size = utf8_encode((uint32_t)code, bytes);
    if (!size && json->failed == LAM_OK) {
        if (!json->options.allow_bytes) {
            fail_at(json, LAM_E_CORRUPT, json->at, "half of a surrogate pair");
            return false;
        }
        bytes[0] = (char)(0xe0 | code >> 12);
        bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[2] = (char)(0x80 | (code & 0x3f));
        size = 3;
    }
    json->at += 6;
    return json->failed == LAM_OK && scratch_add(json, used, bytes, size);
}

/* An escape at json->at. */
static bool unescape(struct json_reader *json, size_t *used)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    if (!has_bytes(json, 2)) {
        fail_ended(json);
        return false;
    }
    char name = (char)json->at[1];
    if (name == 'u')
        return unescape_unicode(json, used);
    const char *row = name ? strchr(names, name) : NULL;
    if (!row) {
        fail_at(json, LAM_E_CORRUPT, json->at, "an unknown escape");
        return false;
    }
    json->at += 2;
    return scratch_add(json, used, &values[row - names], 1);
}

/* Checks the text of a string whose bytes began at offset. */
static inline int check_text(struct json_reader *json, bool has_high, uint64_t offset)
{
    if (json->read && json->length > json->options.max_string_bytes)
        return fail_at(json, LAM_E_TOOBIG, json->at, "too long a string");
    if (!has_high || json->options.allow_bytes)
        return LAM_OK;
    size_t valid = utf8_valid_length(json->text, json->length);
    if (valid == json->length)
        return LAM_OK;
    fail_at(json, LAM_E_CORRUPT, json->at, "a string is not valid UTF-8");
    json->fail_offset = offset + (json->text == (const char *)json->scratch ? 0 : valid);
    return json->failed;
}

/* The rest of a string with escapes, from json->at on; `used` bytes of it are in the scratch
 * already. */
static int read_escaped(struct json_reader *json, size_t used, uint64_t high, uint64_t offset)
{
    for (;;) {
        const uint8_t *stop = scan_plain(json->at, json->end, &high);
        if (stop > json->at && !scratch_add(json, &used, json->at, (size_t)(stop - json->at)))
            return json->failed;
        json->at = stop;
        if (stop == json->end) {
            if (!read_more(json, &stop))
                return fail_ended(json);
        } else if (*stop == '"') {
            json->at++;
            json->text = (const char *)json->scratch;
            json->length = used;
            return check_text(json, high != 0, offset);
        } else if (*stop != '\\') {
            return fail_at(json, LAM_E_CORRUPT, stop, "a control byte in a string");
        } else if (!unescape(json, &used)) {
            return json->failed;
        }
    }
}

/* A string; json->at is at its quote. */
static int read_string(struct json_reader *json)
{
    const uint8_t *start = json->at + 1;
    const uint8_t *at = start;
    uint64_t high = 0;
    for (;;) {
        at = scan_plain(at, json->end, &high);
        if (at < json->end)
            break;
        json->at = at;
        if (!read_more(json, &start)) {
            json->at = json->end;
            return fail_ended(json);
        }
        at = json->at;
    }
    uint64_t offset = json->base_offset + (uint64_t)(start - json->base);
    if (*at == '"') {
        json->text = (const char *)start;
        json->length = (size_t)(at - start);
        json->at = at + 1;
        return check_text(json, high != 0, offset);
    }
    if (*at != '\\')
        return fail_at(json, LAM_E_CORRUPT, at, "a control byte in a string");
    size_t used = 0;
    json->at = at;
    if (!scratch_add(json, &used, start, (size_t)(at - start)))
        return json->failed;
    return read_escaped(json, used, high, offset);
}

static inline bool is_number_byte(uint8_t c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* All bytes that can belong to the number at json->at are in the buffer. */
static bool gather_number(struct json_reader *json)
{
    const uint8_t *start = json->at;
    const uint8_t *at = start;
    for (;;) {
        while (at < json->end && is_number_byte(*at))
            at++;
        if (at < json->end || json->is_eof)
            break;
        if (!read_more(json, &start) && json->failed < 0)
            return false;
        at = json->at;
    }
    json->at = start;
    return true;
}

static int read_number(struct json_reader *json)
{
    struct number number;
    if (!json->is_eof && !gather_number(json))
        return json->failed;
    size_t left = (size_t)(json->end - json->at);
    size_t taken = number_parse((const char *)json->at, left, &number);
    if (!taken || (taken < left && is_number_byte(json->at[taken])))
        return fail_at(json, LAM_E_CORRUPT, json->at, "not a number");
    if (isinf(number.value))
        return fail_at(json, LAM_E_CORRUPT, json->at, "a number beyond the range of double");
    json->at += taken;
    json->number = number.value;
    json->is_integer = number.is_integer;
    json->is_negative = number.is_negative;
    json->magnitude = number.magnitude;
    value_done(json);
    return JSON_NUMBER;
}

static int read_literal(struct json_reader *json, const char *literal, int event)
{
    size_t length = strlen(literal);
    if (!has_bytes(json, length)) {
        /* the end of the input inside a correct beginning, or a wrong word at the end */
        size_t left = (size_t)(json->end - json->at);
        if (memcmp(json->at, literal, left) == 0)
            return fail_ended(json);
    } else if (memcmp(json->at, literal, length) == 0) {
        json->at += length;
        json->boolean = *literal == 't';
        value_done(json);
        return event;
    }
    return fail_at(json, LAM_E_CORRUPT, json->at, "expected a value");
}

static int read_value(struct json_reader *json, int c)
{
    switch (c) {
    case '"': {
        int rc = read_string(json);
        if (rc < 0)
            return rc;
        value_done(json);
        return JSON_STRING;
    }
    case '{':
        return open_container(json, true);
    case '[':
        return open_container(json, false);
    case 't':
        return read_literal(json, "true", JSON_BOOL);
    case 'f':
        return read_literal(json, "false", JSON_BOOL);
    case 'n':
        return read_literal(json, "null", JSON_NULL);
    case NO_BYTE:
        return fail_ended(json);
    default:
        if (c == '-' || (c >= '0' && c <= '9'))
            return read_number(json);
        return fail_at(json, LAM_E_CORRUPT, json->at, "expected a value");
    }
}

static int read_key(struct json_reader *json, int c)
{
    if (c == NO_BYTE)
        return fail_ended(json);
    if (c != '"')
        return fail_at(json, LAM_E_CORRUPT, json->at, "expected a key in double quotes");
    int rc = read_string(json);
    if (rc < 0)
        return rc;
    json->expect = EXPECT_COLON;
    return JSON_KEY;
}

/* Behind a value in a container. */
static int read_comma(struct json_reader *json, int c)
{
    bool in_object = is_in_object(json);
    if (c == (in_object ? '}' : ']'))
        return close_container(json, in_object);
    if (c == NO_BYTE)
        return fail_ended(json);
    if (c != ',')
        return fail_at(json, LAM_E_CORRUPT, json->at,
                       in_object ? "expected , or }" : "expected , or ]");
    json->at++;
    c = peek(json);
    return in_object ? read_key(json, c) : read_value(json, c);
}

/* At the start of a document, or behind its values. */
static int read_start(struct json_reader *json)
{
    if (json_offset(json) == 0 && has_bytes(json, 3) && memcmp(json->at, "\xef\xbb\xbf", 3) == 0)
        json->at += 3;
    int c = peek(json);
    if (c == NO_BYTE && json->options.allow_many && json->failed == LAM_OK)
        return JSON_DONE;
    return read_value(json, c);
}

static int next_event(struct json_reader *json)
{
    int c;
    switch (json->expect) {
    case EXPECT_COLON:
        c = peek(json);
        if (c == NO_BYTE)
            return fail_ended(json);
        if (c != ':')
            return fail_at(json, LAM_E_CORRUPT, json->at, "expected :");
        json->at++;
        return read_value(json, peek(json));
    case EXPECT_FIRST_KEY:
        c = peek(json);
        return c == '}' ? close_container(json, true) : read_key(json, c);
    case EXPECT_FIRST_ELEMENT:
        c = peek(json);
        return c == ']' ? close_container(json, false) : read_value(json, c);
    case EXPECT_MORE:
        return read_comma(json, peek(json));
    case EXPECT_START:
        return read_start(json);
    default:
        if (peek(json) != NO_BYTE)
            return fail_at(json, LAM_E_CORRUPT, json->at, "something follows the value");
        return json->failed < 0 ? json->failed : JSON_DONE;
    }
}

int json_next(struct json_reader *json)
{
    if (json->failed < 0)
        return json->failed;
    json->event = next_event(json);
    return json->event;
}
