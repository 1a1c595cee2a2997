#include "base/strbuf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"

/* Room for length more bytes and the NUL; NULL (and failed) when there is none. */
static char *make_room(struct strbuf *buf, size_t length)
{
    if (buf->failed)
        return NULL;
    if (length < buf->capacity - buf->length && buf->data)
        return buf->data + buf->length;
    size_t wanted = buf->capacity * 2;
    if (length >= PTRDIFF_MAX - buf->length)
        goto fail;
    if (wanted < buf->length + length + 1)
        wanted = buf->length + length + 1;
    if (wanted < 64)
        wanted = 64;
    char *grown = mem_realloc(buf->data, wanted);
    if (!grown)
        goto fail;
    buf->data = grown;
    buf->capacity = wanted;
    return buf->data + buf->length;
fail:
    buf->failed = true;
    return NULL;
}

static void end_at(struct strbuf *buf, size_t length)
{
    buf->length = length;
    buf->data[length] = 0;
}

char *strbuf_room(struct strbuf *buf, size_t length)
{
    return make_room(buf, length);
}

void strbuf_advance(struct strbuf *buf, size_t length)
{
    end_at(buf, buf->length + length);
}

void strbuf_add_bytes(struct strbuf *buf, const void *bytes, size_t length)
{
    char *to = make_room(buf, length);
    if (!to)
        return;
    if (length)
        memcpy(to, bytes, length);
    end_at(buf, buf->length + length);
}

void strbuf_add(struct strbuf *buf, const char *text)
{
    if (text)
        strbuf_add_bytes(buf, text, strlen(text));
}

void strbuf_add_char(struct strbuf *buf, char c)
{
    strbuf_add_bytes(buf, &c, 1);
}

void strbuf_add_fill(struct strbuf *buf, char c, size_t times)
{
    char *to = make_room(buf, times);
    if (!to)
        return;
    memset(to, c, times);
    end_at(buf, buf->length + times);
}

void strbuf_addv(struct strbuf *buf, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    char *to = make_room(buf, 64);
    size_t room = to ? buf->capacity - buf->length : 0;
    int length = to ? vsnprintf(to, room, fmt, args) : -1;
    if (to && length < 0)
        buf->failed = true; /* an encoding error: nothing that text of ours can cause */
    if (length >= 0 && (size_t)length >= room) {
        to = make_room(buf, (size_t)length);
        if (to)
            vsnprintf(to, (size_t)length + 1, fmt, again);
    }
    if (to && length >= 0)
        buf->length += (size_t)length;
    else if (buf->data)
        buf->data[buf->length] = 0;
    va_end(again);
}

void strbuf_addf(struct strbuf *buf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    strbuf_addv(buf, fmt, args);
    va_end(args);
}

void strbuf_add_u64(struct strbuf *buf, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    strbuf_add_bytes(buf, digits + at, sizeof digits - at);
}

void strbuf_add_i64(struct strbuf *buf, int64_t value)
{
    if (value < 0)
        strbuf_add_char(buf, '-');
    strbuf_add_u64(buf, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* A decimal of at most 15 digits and 9 decimals, when it reads back as the value. It is the
 * shortest then: decimals that short are read as different doubles. digits / 10^9 is one correctly
 * rounded division of exact doubles, as in number_parse(). */
static bool add_short_double(struct strbuf *buf, double value)
{
    double scaled = fabs(value) * 1e9;
    if (!(scaled < 1e15) || value == 0)
        return false;
    uint64_t digits = (uint64_t)(scaled + 0.5);
    if ((double)digits / 1e9 != fabs(value))
        return false;
    uint64_t fraction = digits % 1000000000;
    size_t places = 9;
    for (; places && fraction % 10 == 0; places--)
        fraction /= 10;
    if (value < 0)
        strbuf_add_char(buf, '-');
    strbuf_add_u64(buf, digits / 1000000000);
    if (!places)
        return true;
    char text[10] = ".";
    for (size_t i = places; i > 0; i--, fraction /= 10)
        text[i] = (char)('0' + fraction % 10);
    strbuf_add_bytes(buf, text, places + 1);
    return true;
}

void strbuf_add_double(struct strbuf *buf, double value)
{
    char text[64];
    if (isnan(value)) {
        strbuf_add(buf, "nan");
        return;
    }
    if (isinf(value)) {
        strbuf_add(buf, value < 0 ? "-inf" : "inf");
        return;
    }
    if (fabs(value) < 1e15 && value == trunc(value) && !(value == 0 && signbit(value))) {
        strbuf_add_i64(buf, (int64_t)value);
        return;
    }
    if (add_short_double(buf, value))
        return;
    /* 15 digits suffice for what people wrote, 17 for every double; subnormals have fewer. */
    for (int digits = fabs(value) < 0x1p-1022 ? 1 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        number_fix_point(text);
        struct number back;
        if (number_parse(text, strlen(text), &back) && back.value == value)
            break;
    }
    strbuf_add(buf, text);
}

const char *strbuf_text(const struct strbuf *buf)
{
    return buf->data ? buf->data : "";
}

bool strbuf_ok(const struct strbuf *buf)
{
    return !buf->failed;
}

char *strbuf_take(struct strbuf *buf, size_t *length)
{
    if (!buf->data)
        strbuf_add_bytes(buf, "", 0);
    if (buf->failed) {
        strbuf_free(buf);
        return NULL;
    }
    char *text = buf->data;
    if (length)
        *length = buf->length;
    *buf = (struct strbuf){0};
    return text;
}

void strbuf_truncate(struct strbuf *buf, size_t length)
{
    if (length < buf->length)
        end_at(buf, length);
}

void strbuf_clear(struct strbuf *buf)
{
    strbuf_truncate(buf, 0);
    buf->failed = false;
}

void strbuf_free(struct strbuf *buf)
{
    mem_free(buf->data);
    *buf = (struct strbuf){0};
}
