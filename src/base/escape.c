/* The escapes of strbuf.h: JSON, terminal, shell. */
#include <string.h>

#include "base/json_plain.h"
#include "base/strbuf.h"

static const char hex_digits[] = "0123456789abcdef";

static void add_hex_byte(struct strbuf *buf, const char *before, unsigned char byte)
{
    strbuf_add(buf, before);
    strbuf_add_char(buf, hex_digits[byte >> 4]);
    strbuf_add_char(buf, hex_digits[byte & 15]);
}

bool strbuf_escape_plain(char *to, const char *text, size_t length, size_t *escaped)
{
    const char *begin = to;
    char last[16] = {0}; /* what is behind the text must not be read */
    while (length) {
        size_t size = length < sizeof last ? length : sizeof last;
        if (size < sizeof last)
            text = memmove(last, text, size); /* perhaps of it */
        unsigned plain = json_plain_of_sixteen(text);
        memcpy(to, text, sizeof last);
        plain = plain < size ? plain : (unsigned)size;
        to += plain;
        text += plain;
        length -= plain;
        if (plain == size)
            continue;
        if (*text != '"')
            return false;
        *to++ = '\\';
        *to++ = '"';
        text++;
        length--;
    }
    *escaped = (size_t)(to - begin);
    return true;
}

/* A byte that is special in JSON other than the backslash, or DEL. */
static void add_json_ascii(struct strbuf *buf, unsigned char c)
{
    static const struct {
        char c;
        char escape[3];
    } rows[] = {{'"', "\\\""}, {'\b', "\\b"}, {'\f', "\\f"},
                {'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (c == (unsigned char)rows[i].c) {
            strbuf_add_bytes(buf, rows[i].escape, 2);
            return;
        }
    }
    add_hex_byte(buf, "\\u00", c);
}

/* A run of backslashes; returns its length. It is doubled where it would read as part of the \xNN
 * of an invalid byte. */
static size_t add_json_backslashes(struct strbuf *buf, const char *text, size_t length)
{
    size_t run = 1;
    while (run < length && text[run] == '\\')
        run++;
    uint32_t code;
    bool is_doubled =
        run < length && (text[run] == 'x' || !utf8_decode(text + run, length - run, &code));
    strbuf_add_fill(buf, '\\', is_doubled ? run * 4 : run * 2);
    return run;
}

void strbuf_add_json_escaped(struct strbuf *buf, const char *text, size_t length)
{
    while (length) {
        uint32_t code;
        size_t taken = json_plain_length(text, length);
        if (taken) {
            strbuf_add_bytes(buf, text, taken);
        } else if (*text == '\\') {
            taken = add_json_backslashes(buf, text, length);
        } else if ((unsigned char)*text < 0x80) {
            add_json_ascii(buf, (unsigned char)*text);
            taken = 1;
        } else {
            taken = utf8_decode(text, length, &code);
            if (!taken) {
                add_hex_byte(buf, "\\\\x", (unsigned char)*text);
                taken = 1;
            } else if (code == 0x2028 || code == 0x2029) {
                strbuf_add(buf, code == 0x2028 ? "\\u2028" : "\\u2029");
            } else {
                strbuf_add_bytes(buf, text, taken);
            }
        }
        text += taken;
        length -= taken;
    }
}

/* Characters that would act on the terminal, hide, or change the direction of what follows. */
static bool is_unprintable(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0xfeff;
}

static void add_unprintable(struct strbuf *buf, uint32_t code)
{
    switch (code) {
    case '\n':
        strbuf_add(buf, "\\n");
        break;
    case '\t':
        strbuf_add(buf, "\\t");
        break;
    case '\r':
        strbuf_add(buf, "\\r");
        break;
    case 0x1b:
        strbuf_add(buf, "\\e");
        break;
    default:
        if (code < 0x80)
            add_hex_byte(buf, "\\x", (unsigned char)code);
        else
            strbuf_addf(buf, "\\u{%x}", code);
    }
}

void strbuf_add_printable(struct strbuf *buf, const char *text, size_t length)
{
    while (length) {
        uint32_t code;
        size_t taken = utf8_decode(text, length, &code);
        if (!taken) {
            add_hex_byte(buf, "\\x", (unsigned char)*text);
            taken = 1;
        } else if (is_unprintable(code)) {
            add_unprintable(buf, code);
        } else {
            strbuf_add_bytes(buf, text, taken);
        }
        text += taken;
        length -= taken;
    }
}

void strbuf_add_shell_quoted(struct strbuf *buf, const char *text, size_t length)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=@%+,";
    size_t at = 0;
    while (at < length && text[at] && strchr(plain, text[at]))
        at++;
    if (at == length && length) {
        strbuf_add_bytes(buf, text, length);
        return;
    }
    strbuf_add_char(buf, '\'');
    for (at = 0; at < length; at++) {
        if (text[at] == '\'')
            strbuf_add(buf, "'\\''");
        else
            strbuf_add_char(buf, text[at]);
    }
    strbuf_add_char(buf, '\'');
}
