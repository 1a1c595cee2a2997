#include "output/safe_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/byteout.h"

static const struct {
    enum safe_text kind;
    const char *in;
    size_t length;
    const char *out;
} rows[] = {
    {SAFE_UTF8, "a\x1b;b", 4, "a\x1b;b"},
    {SAFE_UTF8, "\xff\xfe", 2, "\\xff\\xfe"},
    {SAFE_UTF8, "\xed\xa0\x80", 3, "\\xed\\xa0\\x80"},
    {SAFE_UTF8, "a\0b", 3, "a\\x00b"},
    {SAFE_UTF8, "a\\b", 3, "a\\b"},
    {SAFE_UTF8, "\\xff", 4, "\\\\xff"},
    {SAFE_UTF8, "\\\xff", 2, "\\\\\\xff"},
    {SAFE_XML, "q\"\\'&<>", 7, "q&quot;\\&#39;&amp;&lt;&gt;"},
    {SAFE_XML, "a\x1b", 2, "a\\x1b"},
    {SAFE_XML, "\xef\xbf\xbe", 3, "\\xef\\xbf\\xbe"},
    {SAFE_XML, "\xf0\x9f\xbf\xbf", 4, "\\xf0\\x9f\\xbf\\xbf"}, /* U+1FFFF */
    {SAFE_XML, "\xe2\x80\xa8", 3, "\xe2\x80\xa8"},
    {SAFE_XML, "", 0, ""},
    {SAFE_FOLDED, "semi;colon 12", 13, "semi\\x3bcolon 12"},
    {SAFE_FOLDED, "semi\\x3bcolon 12", 16, "semi\\\\x3bcolon 12"},
    {SAFE_FOLDED, "nl\nx", 4, "nl\\x0ax"},
    {SAFE_FOLDED, "\xe2\x80\xa8", 3, "\\xe2\\x80\\xa8"},
    {SAFE_FOLDED, "\xc3\xa9", 2, "\xc3\xa9"},
};

static void each_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf buf = {0};
        safe_text_add(&buf, rows[i].kind, rows[i].in, rows[i].length);
        if (strcmp(strbuf_text(&buf), rows[i].out) != 0)
            fail_msg("row %zu: \"%s\"", i, strbuf_text(&buf));
        strbuf_free(&buf);
    }
}

/* The rule of the header, read back. */
static size_t read_back(const char *text, size_t length, char *out)
{
    size_t size = 0;
    for (size_t at = 0; at < length;) {
        size_t run = 0;
        while (at + run < length && text[at + run] == '\\')
            run++;
        bool before_x = run && at + run < length && text[at + run] == 'x';
        if (!before_x) {
            size_t part = run ? run : 1;
            memcpy(out + size, text + at, part);
            size += part;
            at += part;
            continue;
        }
        memset(out + size, '\\', run / 2);
        size += run / 2;
        at += run;
        if (run % 2) {
            unsigned byte = 0;
            for (size_t i = 1; i <= 2; i++) {
                char c = text[at + i];
                byte = byte * 16 + (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
            }
            out[size++] = (char)byte;
            at += 3;
        } else {
            out[size++] = 'x';
            at++;
        }
    }
    return size;
}

static void reads_back(void **state)
{
    (void)state;
    static const char letters[] = {'\\',       'x',        ';',        'f', '\n', '\0',
                                   (char)0xff, (char)0xc3, (char)0xa9, '4', '1'};
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        char in[12], out[64];
        size_t length = (size_t)(round % 12);
        for (size_t i = 0; i < length; i++) {
            seed = seed * 1664525 + 1013904223;
            in[i] = letters[(seed >> 16) % sizeof letters];
        }
        enum safe_text kind = round % 2 ? SAFE_UTF8 : SAFE_FOLDED;
        struct strbuf buf = {0};
        safe_text_add(&buf, kind, in, length);
        assert_true(utf8_is_valid(strbuf_text(&buf), buf.length));
        assert_null(kind == SAFE_FOLDED ? memchr(strbuf_text(&buf), ';', buf.length) : NULL);
        assert_int_equal(read_back(strbuf_text(&buf), buf.length, out), length);
        assert_memory_equal(out, in, length);
        strbuf_free(&buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_row), cmocka_unit_test(reads_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
