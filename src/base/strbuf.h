/* String builder, UTF-8 helpers and the escapes for terminals and JSON. */
#ifndef LAMELLA_BASE_STRBUF_H
#define LAMELLA_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All-zero is empty and valid. An allocation that fails is remembered: later additions do nothing,
 * and `failed` says so; check it once at the end (strbuf_ok, strbuf_take). data is always ended by
 * a NUL once something was added; use strbuf_text() where the buffer may be empty. */
struct strbuf {
    char *data;
    size_t length;
    size_t capacity;
    bool failed;
};

void strbuf_add(struct strbuf *buf, const char *text); /* text NULL adds nothing */
void strbuf_add_bytes(struct strbuf *buf, const void *bytes, size_t length);
void strbuf_add_char(struct strbuf *buf, char c);
void strbuf_add_fill(struct strbuf *buf, char c, size_t times);
void strbuf_addf(struct strbuf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strbuf_addv(struct strbuf *buf, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0)));
void strbuf_add_u64(struct strbuf *buf, uint64_t value);
void strbuf_add_i64(struct strbuf *buf, int64_t value);

/* Room for length bytes to write into directly; strbuf_advance() says how many were. NULL when memory is short (remembered). */
char *strbuf_room(struct strbuf *buf, size_t length);
void strbuf_advance(struct strbuf *buf, size_t length);

/* The inside of a JSON string, without its quotes: escapes what JSON demands, DEL, U+2028 and
 * U+2029. A byte that is no valid UTF-8 becomes the four characters \xNN; backslashes right before
 * such a byte or before an x are doubled, so that two different byte strings never give the same
 * value (an even number of backslashes before an x is half as many and an x, an odd number ends in
 * an invalid byte). */
void strbuf_add_json_escaped(struct strbuf *buf, const char *text, size_t length);

/* The same into memory, fast, of a text without anything but quotes to escape: false for another, of which nothing that was written
 * counts. There is room for twice the text and 16 bytes; *escaped is what it takes. */
bool strbuf_escape_plain(char *to, const char *text, size_t length, size_t *escaped);

/* For a terminal or a log: control bytes (C0, DEL, C1), invalid UTF-8 and characters that change
 * direction or hide (U+200E/F, U+202A–E, U+2066–9, U+2028/9, U+FEFF) are written \n \t \r \e or
 * \xNN, \u{NNNN}; all else as it is. */
void strbuf_add_printable(struct strbuf *buf, const char *text, size_t length);

/* For a POSIX shell: as it is when it is plain, else in single quotes. */
void strbuf_add_shell_quoted(struct strbuf *buf, const char *text, size_t length);

/* The shortest decimal that reads back as exactly this double ("0.1", "1e+300", "3"). NaN and
 * infinities as "nan", "inf", "-inf". Independent of the locale. */
void strbuf_add_double(struct strbuf *buf, double value);

/* The text so far, "" when empty; lives until the next change. Never NULL. */
const char *strbuf_text(const struct strbuf *buf);

/* False when an allocation failed. */
bool strbuf_ok(const struct strbuf *buf);

/* Hands the text over (mem_free it; "" allocated when empty); the buffer is empty afterwards. NULL
 * when it failed. */
char *strbuf_take(struct strbuf *buf, size_t *length);

/* Cuts to at most length bytes. */
void strbuf_truncate(struct strbuf *buf, size_t length);

/* Empties, keeps the memory, forgets a failure. */
void strbuf_clear(struct strbuf *buf);
void strbuf_free(struct strbuf *buf);

/* One character from text: the number of bytes it takes (1 to 4) and *code; 0 when the bytes at
 * text are no valid UTF-8 (overlong forms, surrogates and values beyond U+10FFFF included) or
 * length is 0. */
size_t utf8_decode(const char *text, size_t length, uint32_t *code);

/* Writes one character (at most 4 bytes) and returns how many; 0 for a surrogate or a value beyond
 * U+10FFFF. */
size_t utf8_encode(uint32_t code, char out[4]);

/* How many leading bytes are valid UTF-8: length when all are. */
size_t utf8_valid_length(const char *text, size_t length);
bool utf8_is_valid(const char *text, size_t length);

/* Columns on a terminal: 0 for combining marks, 2 for wide East Asian characters and emoji, 1 for
 * the rest and for each byte that is no valid UTF-8. Independent of the locale. */
size_t utf8_columns(const char *text, size_t length);
unsigned utf8_char_columns(uint32_t code);

#endif
