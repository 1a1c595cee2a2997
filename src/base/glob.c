#include "base/glob.h"

#include <string.h>

#include "base/strbuf.h"

/* One step of the text for '?': a whole character where it is valid. */
static size_t char_length(const char *text, size_t length)
{
    uint32_t code;
    size_t taken = utf8_decode(text, length, &code);
    return taken ? taken : 1;
}

bool glob_match(const char *pattern, size_t pattern_length, const char *text, size_t text_length)
{
    size_t p = 0, t = 0;
    size_t star = SIZE_MAX; /* where the last star's rest begins, and the text it was last tried at */
    size_t retry = 0;
    for (;;) {
        if (p < pattern_length && pattern[p] == '*') {
            star = ++p;
            retry = t;
            if (p == pattern_length)
                return true;
            continue;
        }
        if (p == pattern_length && t == text_length)
            return true;
        bool matched = false;
        if (p < pattern_length && t < text_length) {
            bool is_escaped = pattern[p] == '\\' && p + 1 < pattern_length;
            if (!is_escaped && pattern[p] == '?') {
                t += char_length(text + t, text_length - t);
                p++;
                matched = true;
            } else if (pattern[p + is_escaped] == text[t]) {
                p += is_escaped ? 2 : 1;
                t++;
                matched = true;
            }
        }
        if (matched)
            continue;
        /* Only the last star needs another try: an earlier one that took more could not reach
         * further. */
        if (star == SIZE_MAX || retry >= text_length)
            return false;
        t = ++retry;
        p = star;
    }
}

bool glob_match_str(const char *pattern, const char *text)
{
    return glob_match(pattern, strlen(pattern), text, strlen(text));
}

size_t glob_literal_length(const char *pattern, size_t pattern_length)
{
    size_t literal = 0;
    for (size_t p = 0; p < pattern_length; p++) {
        if (pattern[p] == '\\' && p + 1 < pattern_length)
            p++;
        else if (pattern[p] == '*' || pattern[p] == '?')
            continue;
        literal++;
    }
    return literal;
}

size_t glob_prefix(const char *pattern, size_t pattern_length, char *prefix, size_t capacity)
{
    size_t length = 0;
    for (size_t p = 0; p < pattern_length; p++) {
        if (pattern[p] == '*' || pattern[p] == '?')
            break;
        if (pattern[p] == '\\' && p + 1 < pattern_length)
            p++;
        if (length < capacity)
            prefix[length] = pattern[p];
        length++;
    }
    return length;
}

bool glob_has_wildcard(const char *pattern, size_t pattern_length)
{
    for (size_t p = 0; p < pattern_length; p++) {
        if (pattern[p] == '*' || pattern[p] == '?')
            return true;
        if (pattern[p] == '\\')
            p++;
    }
    return false;
}
