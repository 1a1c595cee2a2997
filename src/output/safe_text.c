#include "output/safe_text.h"

#include <stdbool.h>
#include <string.h>

/* Whether a valid character must not appear. NEL, U+2028 and U+2029 are line breaks to some readers of folded lines. */
static bool is_excluded(enum safe_text kind, uint32_t code)
{
    if (kind == SAFE_UTF8)
        return code == 0; /* readers in C end there */
    if (kind == SAFE_PROFDATA)
        return code == 0x7f || (code < 0x20 && !(code >= '\t' && code <= '\r' && code != '\v'));
    if (code < 0x20 || code == 0x7f || (code & 0xfffe) == 0xfffe)
        return true;
    if (kind == SAFE_XML)
        return code >= 0x80 && code < 0xa0;
    return code == ';' || code == 0x85 || code == 0x2028 || code == 0x2029;
}

/* How many bytes stand for one character, and whether they can stay. */
static size_t next_character(enum safe_text kind, const char *text, size_t length, bool *stays,
                             uint32_t *code)
{
    size_t taken = utf8_decode(text, length, code);
    *stays = taken && !is_excluded(kind, *code);
    return taken ? taken : 1;
}

static void add_bytes_escaped(struct strbuf *buf, const char *text, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        const char escape[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        strbuf_add_bytes(buf, escape, sizeof escape);
    }
}

static size_t add_backslashes(struct strbuf *buf, enum safe_text kind, const char *text, size_t length)
{
    size_t run = 1;
    while (run < length && text[run] == '\\')
        run++;
    bool stays = true;
    uint32_t code = 0;
    if (run < length)
        next_character(kind, text + run, length - run, &stays, &code);
    strbuf_add_fill(buf, '\\', !stays || code == 'x' ? run * 2 : run);
    return run;
}

static const char *entity_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

static size_t plain_length(enum safe_text kind, const char *text, size_t length)
{
    size_t at = 0;
    while (at < length) {
        unsigned char c = (unsigned char)text[at];
        if (c < 0x20 || c >= 0x7f || c == '\\' || (kind == SAFE_FOLDED && c == ';') ||
            (kind == SAFE_XML && entity_of((char)c)))
            break;
        at++;
    }
    return at;
}

void safe_text_add(struct strbuf *buf, enum safe_text kind, const char *text, size_t length)
{
    while (length) {
        size_t taken = plain_length(kind, text, length);
        const char *entity = kind == SAFE_XML ? entity_of(*text) : NULL;
        bool stays;
        uint32_t code;
        if (taken) {
            strbuf_add_bytes(buf, text, taken);
        } else if (*text == '\\') {
            taken = add_backslashes(buf, kind, text, length);
        } else if (entity) {
            taken = 1;
            strbuf_add(buf, entity);
        } else {
            taken = next_character(kind, text, length, &stays, &code);
            if (stays)
                strbuf_add_bytes(buf, text, taken);
            else
                add_bytes_escaped(buf, text, taken);
        }
        text += taken;
        length -= taken;
    }
}
