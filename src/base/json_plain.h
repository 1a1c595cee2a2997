/* Bytes that go into a JSON string as they are: ASCII without control bytes, DEL, quotes and backslashes. JSON need not escape DEL, but we
 * do; bytes from 0x80 on are looked at one by one. */
#ifndef LAMELLA_BASE_JSON_PLAIN_H
#define LAMELLA_BASE_JSON_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/sixteen.h"

static inline bool json_is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* How many of sixteen bytes are plain, up to the first that is not. */
static inline unsigned json_plain_of_sixteen(const void *text)
{
    sixteen bytes = sixteen_load(text);
    return sixteen_first((sixteen)((bytes - 0x20 >= 0x7f - 0x20) | (bytes == '"') | (bytes == '\\')));
}

/* The same of any number. */
static inline size_t json_plain_length(const char *text, size_t length)
{
    size_t at = 0;
    for (; length - at >= 16; at += 16) {
        unsigned plain = json_plain_of_sixteen(text + at);
        if (plain < 16)
            return at + plain;
    }
    while (at < length && json_is_plain((unsigned char)text[at]))
        at++;
    return at;
}

#endif
