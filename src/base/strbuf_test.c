#include "base/strbuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/memory.h"

#define BYTES(text) text, sizeof(text) - 1

static void builds(void **state)
{
    struct strbuf buf = {0};
    size_t length;
    (void)state;
    assert_string_equal(strbuf_text(&buf), "");
    strbuf_add(&buf, NULL);
    strbuf_add(&buf, "a");
    strbuf_add_char(&buf, 'b');
    strbuf_add_bytes(&buf, "c\0d", 3);
    strbuf_add_fill(&buf, '-', 3);
    strbuf_addf(&buf, "%d %s", 5, "six");
    strbuf_add_u64(&buf, UINT64_MAX);
    strbuf_add_i64(&buf, INT64_MIN);
    strbuf_add_i64(&buf, 0);
    static const char all[] = "abc\0d---5 six18446744073709551615-92233720368547758080";
    assert_int_equal(buf.length, sizeof all - 1);
    assert_memory_equal(strbuf_text(&buf), all, sizeof all);
    strbuf_truncate(&buf, 2);
    strbuf_truncate(&buf, 100);
    assert_string_equal(strbuf_text(&buf), "ab");
    char *taken = strbuf_take(&buf, &length);
    assert_string_equal(taken, "ab");
    assert_int_equal(length, 2);
    mem_free(taken);
    taken = strbuf_take(&buf, NULL);
    assert_string_equal(taken, "");
    mem_free(taken);
}

static void formats_of_all_lengths(void **state)
{
    char text[301];
    (void)state;
    for (size_t length = 0; length < sizeof text; length++) {
        struct strbuf buf = {0};
        memset(text, 'x', length);
        text[length] = 0;
        strbuf_addf(&buf, "%s", text);
        assert_int_equal(buf.length, length);
        strbuf_addf(&buf, "%s", text);
        assert_int_equal(strlen(strbuf_text(&buf)), 2 * length);
        strbuf_free(&buf);
    }
}

static void remembers_a_refusal(void **state)
{
    struct strbuf buf = {0};
    (void)state;
    strbuf_add(&buf, "kept");
    mem_fail_after(0);
    strbuf_add_fill(&buf, 'x', 10000);
    strbuf_addf(&buf, "%10000d", 1);
    mem_fail_after(UINT64_MAX);
    strbuf_add(&buf, "not added");
    assert_false(strbuf_ok(&buf));
    assert_string_equal(strbuf_text(&buf), "kept");
    assert_null(strbuf_take(&buf, NULL));
    assert_true(strbuf_ok(&buf));
    mem_fail_after(0);
    strbuf_addf(&buf, "%d", 1);
    mem_fail_after(UINT64_MAX);
    assert_false(strbuf_ok(&buf));
    assert_string_equal(strbuf_text(&buf), "");
    strbuf_clear(&buf);
    strbuf_add(&buf, "again");
    assert_string_equal(strbuf_text(&buf), "again");
    strbuf_free(&buf);
}

static void escapes(void **state)
{
    static const struct {
        const char *given;
        size_t length;
        const char *json, *printable, *shell;
    } rows[] = {
        {BYTES(""), "", "", "''"},
        {BYTES("plain/x.rs"), "plain/x.rs", "plain/x.rs", "plain/x.rs"},
        {BYTES("a b"), "a b", "a b", "'a b'"},
        {BYTES("it's"), "it's", "it's", "'it'\\''s'"},
        {BYTES("\"q\""), "\\\"q\\\"", "\"q\"", "'\"q\"'"},
        {BYTES("a\\b"), "a\\\\b", "a\\b", "'a\\b'"},
        {BYTES("\b\f\n\r\t"), "\\b\\f\\n\\r\\t", "\\x08\\x0c\\n\\r\\t", "'\b\f\n\r\t'"},
        {BYTES("\x1b[0m"), "\\u001b[0m", "\\e[0m", "'\x1b[0m'"},
        {BYTES("\x7f"), "\\u007f", "\\x7f", "'\x7f'"},
        {BYTES("caf\xc3\xa9"), "caf\xc3\xa9", "caf\xc3\xa9", "'caf\xc3\xa9'"},
        {BYTES("\xff"), "\\\\xff", "\\xff", "'\xff'"},
        {BYTES("\xc3("), "\\\\xc3(", "\\xc3(", "'\xc3('"},
        {BYTES("\xe2\x80\xa8"), "\\u2028", "\\u{2028}", "'\xe2\x80\xa8'"},
        {BYTES("\xe2\x80\xae"), "\xe2\x80\xae", "\\u{202e}", "'\xe2\x80\xae'"},
        {BYTES("\xc2\x9b"), "\xc2\x9b", "\\u{9b}", "'\xc2\x9b'"},
        {BYTES("\\xff"), "\\\\\\\\xff", "\\xff", "'\\xff'"},
        {BYTES("\\\xff"), "\\\\\\\\\\\\xff", "\\\\xff", "'\\\xff'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf json = {0}, printable = {0}, shell = {0};
        strbuf_add_json_escaped(&json, rows[i].given, rows[i].length);
        strbuf_add_printable(&printable, rows[i].given, rows[i].length);
        strbuf_add_shell_quoted(&shell, rows[i].given, rows[i].length);
        assert_string_equal(strbuf_text(&json), rows[i].json);
        assert_string_equal(strbuf_text(&printable), rows[i].printable);
        assert_string_equal(strbuf_text(&shell), rows[i].shell);
        strbuf_free(&json);
        strbuf_free(&printable);
        strbuf_free(&shell);
    }
}

/* All strings up to six bytes over the bytes that escapes turn on: no two give the same JSON. */
static void json_escapes_stay_different(void **state)
{
    static const char alphabet[] = {'\\', 'x', 'f', '\xff', 'u'};
    struct map seen = {0};
    (void)state;
    for (size_t length = 0, count = 1; length <= 6; length++, count *= sizeof alphabet) {
        for (size_t n = 0; n < count; n++) {
            char text[8];
            struct strbuf json = {0};
            for (size_t i = 0, rest = n; i < length; i++, rest /= sizeof alphabet)
                text[i] = alphabet[rest % sizeof alphabet];
            strbuf_add_json_escaped(&json, text, length);
            bool added;
            assert_non_null(map_slot(&seen, hash_bytes(json.data, json.length), n, &added));
            if (!added)
                fail_msg("%s comes from two strings", strbuf_text(&json));
            strbuf_free(&json);
        }
    }
    map_free(&seen);
}

static void utf8_rows(void **state)
{
    static const struct {
        const char *text;
        size_t length, taken;
        uint32_t code;
        unsigned columns;
    } rows[] = {
        {BYTES("a"), 1, 'a', 1},
        {BYTES("\xc2\x80"), 2, 0x80, 1},
        {BYTES("\xdf\xbf"), 2, 0x7ff, 1},
        {BYTES("\xe0\xa0\x80"), 3, 0x800, 1},
        {BYTES("\xe4\xb8\xad"), 3, 0x4e2d, 2},
        {BYTES("\xcc\x81"), 2, 0x301, 0},
        {BYTES("\xef\xbf\xbf"), 3, 0xffff, 1},
        {BYTES("\xf0\x9f\x98\x80"), 4, 0x1f600, 2},
        {BYTES("\xf4\x8f\xbf\xbf"), 4, 0x10ffff, 1},
        {BYTES(""), 0, 0, 0},
        {BYTES("\x80"), 0, 0, 0},             /* a continuation alone */
        {BYTES("\xc0\x80"), 0, 0, 0},         /* overlong */
        {BYTES("\xc1\xbf"), 0, 0, 0},         /* overlong */
        {BYTES("\xe0\x9f\xbf"), 0, 0, 0},     /* overlong */
        {BYTES("\xf0\x8f\xbf\xbf"), 0, 0, 0}, /* overlong */
        {BYTES("\xed\xa0\x80"), 0, 0, 0},     /* a surrogate */
        {BYTES("\xf4\x90\x80\x80"), 0, 0, 0}, /* beyond the last */
        {BYTES("\xf5\x80\x80\x80"), 0, 0, 0},
        {BYTES("\xe4\xb8"), 0, 0, 0}, /* breaks off */
        {BYTES("\xe4\xb8z"), 0, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t code = 0;
        char back[4];
        assert_int_equal(utf8_decode(rows[i].text, rows[i].length, &code), rows[i].taken);
        assert_int_equal(code, rows[i].code);
        assert_int_equal(utf8_is_valid(rows[i].text, rows[i].length),
                         rows[i].taken || !rows[i].length);
        if (!rows[i].taken)
            continue;
        assert_int_equal(utf8_char_columns(code), rows[i].columns);
        assert_int_equal(utf8_encode(code, back), rows[i].taken);
        assert_memory_equal(back, rows[i].text, rows[i].taken);
    }
    char out[4];
    assert_int_equal(utf8_encode(0xd800, out), 0);
    assert_int_equal(utf8_encode(0x110000, out), 0);
    assert_int_equal(utf8_columns(BYTES("a\xe4\xb8\xad\xff")), 4);
    assert_int_equal(utf8_valid_length(BYTES("0123456789\xc3\xa9\xff")), 12);
}

static void doubles(void **state)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {-0.0, "-0"},
        {3, "3"},
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {1e300, "1e+300"},
        {-2.5, "-2.5"},
        {123456789012345678.0, "1.2345678901234568e+17"},
        {5e-324, "5e-324"},
        {0.30000000000000004, "0.30000000000000004"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf buf = {0};
        strbuf_add_double(&buf, rows[i].value);
        assert_string_equal(strbuf_text(&buf), rows[i].text);
        strbuf_free(&buf);
    }
    uint64_t random = 7;
    for (int i = 0; i < 20000; i++) {
        double value;
        struct strbuf buf = {0};
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        memcpy(&value, &random, sizeof value);
        if (!isfinite(value))
            continue;
        strbuf_add_double(&buf, value);
        double back = strtod(strbuf_text(&buf), NULL);
        assert_memory_equal(&back, &value, sizeof value);
        strbuf_free(&buf);
    }
}

/* The scan for special bytes takes sixteen at a time: each byte is seen wherever it stands. */
static void json_escapes_at_every_place(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        char c = (char)byte;
        struct strbuf alone = {0};
        strbuf_add_json_escaped(&alone, &c, 1);
        for (size_t at = 0; at < 20; at++) {
            char text[20];
            struct strbuf wanted = {0}, got = {0};
            memset(text, 'a', sizeof text);
            text[at] = c;
            strbuf_add_fill(&wanted, 'a', at);
            strbuf_add_bytes(&wanted, alone.data, alone.length);
            strbuf_add_fill(&wanted, 'a', sizeof text - 1 - at);
            strbuf_add_json_escaped(&got, text, sizeof text);
            assert_string_equal(strbuf_text(&got), strbuf_text(&wanted));
            char fast[2 * sizeof text + 16];
            size_t size;
            bool is_plain = strbuf_escape_plain(fast, text, sizeof text, &size);
            assert_int_equal(is_plain, alone.length == 1 || c == '"');
            if (is_plain) {
                assert_int_equal(size, wanted.length);
                assert_memory_equal(fast, wanted.data, size);
            }
            strbuf_free(&wanted);
            strbuf_free(&got);
        }
        strbuf_free(&alone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_escapes_at_every_place),
        cmocka_unit_test(builds),
        cmocka_unit_test(formats_of_all_lengths),
        cmocka_unit_test(remembers_a_refusal),
        cmocka_unit_test(escapes),
        cmocka_unit_test(json_escapes_stay_different),
        cmocka_unit_test(utf8_rows),
        cmocka_unit_test(doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
