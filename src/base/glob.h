/* Globs for names: * is any run of bytes (also none, also slashes and colons), ? is one UTF-8
 * character (one byte where the text is not valid), a backslash makes the next byte literal.
 * Everything else is itself; there are no classes. */
#ifndef LAMELLA_BASE_GLOB_H
#define LAMELLA_BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the whole text matches. Time is at most pattern × text, without recursion. */
bool glob_match(const char *pattern, size_t pattern_length, const char *text, size_t text_length);
bool glob_match_str(const char *pattern, const char *text);

/* How many bytes of the pattern are literal: the measure of precedence ("the longest literal
 * wins"). */
size_t glob_literal_length(const char *pattern, size_t pattern_length);

/* Literal bytes before the first wildcard (escapes not counted): an index may look only at names
 * that begin so. The pattern has escapes or not; the bytes themselves are written to prefix, at
 * most capacity. Returns how many there are in all. */
size_t glob_prefix(const char *pattern, size_t pattern_length, char *prefix, size_t capacity);

/* Whether there is any wildcard; without one the pattern is a plain name. */
bool glob_has_wildcard(const char *pattern, size_t pattern_length);

#endif
