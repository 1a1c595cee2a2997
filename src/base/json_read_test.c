#include "base/json_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/strbuf.h"

/* A stream that gives `step` bytes at a time and fails at `fails_at`. */
struct source {
    const char *bytes;
    size_t length, at, step, fails_at;
};

static int give(void *ctx, void *buffer, size_t capacity, size_t *got)
{
    struct source *source = ctx;
    size_t count = source->length - source->at;
    if (source->at >= source->fails_at)
        return LAM_E_IO;
    if (count > source->step)
        count = source->step;
    if (count > capacity)
        count = capacity;
    memcpy(buffer, source->bytes + source->at, count);
    source->at += count;
    *got = count;
    return LAM_OK;
}

/* All events as one line: {k"a"v ... }; strings made printable; at the end $ or the failure. */
static void describe(struct json_reader *json, struct strbuf *out)
{
    for (;;) {
        int event = json_next(json);
        switch (event) {
        case JSON_DONE:
            strbuf_add_char(out, '$');
            return;
        case JSON_OBJECT_BEGIN:
        case JSON_OBJECT_END:
        case JSON_ARRAY_BEGIN:
        case JSON_ARRAY_END:
            strbuf_add_char(out, "{}[]"[event - JSON_OBJECT_BEGIN]);
            break;
        case JSON_KEY:
        case JSON_STRING:
            strbuf_add(out, event == JSON_KEY ? "k(" : "s(");
            strbuf_add_printable(out, json->text, json->length);
            strbuf_add_char(out, ')');
            break;
        case JSON_NUMBER:
            strbuf_addf(out, json->is_integer ? "i(" : "n(");
            strbuf_add_double(out, json->number);
            strbuf_add_char(out, ')');
            break;
        case JSON_BOOL:
            strbuf_add_char(out, json->boolean ? 't' : 'f');
            break;
        case JSON_NULL:
            strbuf_add_char(out, '0');
            break;
        default: {
            struct lam_error err = LAM_ERROR_INIT;
            assert_int_equal(json_error(json, "x", &err), event);
            strbuf_addf(out, "!%s@%llu", lam_code_name(event), (unsigned long long)err.offset);
            assert_int_equal(json_next(json), event); /* it sticks */
            return;
        }
        }
    }
}

struct row {
    const char *text;
    size_t length; /* 0: as a C string */
    const char *events;
};

#define BYTES(text) text, sizeof(text) - 1

static const struct row rows[] = {
    {"{}", 0, "{}$"},
    {" [ ] ", 0, "[]$"},
    {"\xef\xbb\xbf[]", 0, "[]$"},
    {"[1,-2,3.5,1e2,\"x\",true,false,null]", 0, "[i(1)i(-2)n(3.5)n(100)s(x)tf0]$"},
    {"{\"a\":1,\"b\":{\"c\":[]}}", 0, "{k(a)i(1)k(b){k(c)[]}}$"},
    {"{ \"a\" : 1 ,\n\"b\"\t:\r2 }", 0, "{k(a)i(1)k(b)i(2)}$"},
    {"5", 0, "i(5)$"},
    {"\"\"", 0, "s()$"},
    {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", 0, "s(a\"\\/\\x08\\x0c\\n\\r\\tz)$"},
    {"\"\\u0041\\u00e9\\u4e2d\\ud83d\\ude00\"", 0, "s(A\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80)$"},
    {"\"\\u0000\"", 0, "s(\\x00)$"},
    {"\"caf\xc3\xa9 and 0123456789 more\"", 0, "s(caf\xc3\xa9 and 0123456789 more)$"},
    {"[\"0123456\\n789\",\"\"]", 0, "[s(0123456\\n789)s()]$"},
    {"{\"\":0,\"\":1}", 0, "{k()i(0)k()i(1)}$"},
    /* breaks off */
    {"", 0, "!TRUNCATED@0"},
    {"  ", 0, "!TRUNCATED@2"},
    {"[", 0, "[!TRUNCATED@1"},
    {"[1", 0, "[i(1)!TRUNCATED@2"},
    {"[1,", 0, "[i(1)!TRUNCATED@3"},
    {"{", 0, "{!TRUNCATED@1"},
    {"{\"a\"", 0, "{k(a)!TRUNCATED@4"},
    {"{\"a\":", 0, "{k(a)!TRUNCATED@5"},
    {"{\"a\":1", 0, "{k(a)i(1)!TRUNCATED@6"},
    {"{\"a\":1,", 0, "{k(a)i(1)!TRUNCATED@7"},
    {"\"abc", 0, "!TRUNCATED@4"},
    {"\"abc\\", 0, "!TRUNCATED@4"},
    {"\"\\u00", 0, "!TRUNCATED@1"},
    {"tru", 0, "!TRUNCATED@0"},
    {"nul", 0, "!TRUNCATED@0"},
    /* is wrong */
    {"[1,]", 0, "[i(1)!CORRUPT@3"},
    {"[,1]", 0, "[!CORRUPT@1"},
    {"[1 2]", 0, "[i(1)!CORRUPT@3"},
    {"[1}", 0, "[i(1)!CORRUPT@2"},
    {"{\"a\":1]", 0, "{k(a)i(1)!CORRUPT@6"},
    {"{\"a\":1,}", 0, "{k(a)i(1)!CORRUPT@7"},
    {"{a:1}", 0, "{!CORRUPT@1"},
    {"{\"a\" 1}", 0, "{k(a)!CORRUPT@5"},
    {"{1:1}", 0, "{!CORRUPT@1"},
    {"{\"a\":}", 0, "{k(a)!CORRUPT@5"},
    {"]", 0, "!CORRUPT@0"},
    {"[]]", 0, "[]!CORRUPT@2"},
    {"1 2", 0, "i(1)!CORRUPT@2"},
    {"01", 0, "!CORRUPT@0"},
    {"-", 0, "!CORRUPT@0"},
    {"+1", 0, "!CORRUPT@0"},
    {"1.", 0, "!CORRUPT@0"},
    {".5", 0, "!CORRUPT@0"},
    {"1e", 0, "!CORRUPT@0"},
    {"0x1", 0, "i(0)!CORRUPT@1"},
    {"1-1", 0, "!CORRUPT@0"},
    {"1e999", 0, "!CORRUPT@0"},
    {"NaN", 0, "!CORRUPT@0"},
    {"tRue", 0, "!CORRUPT@0"},
    {"truE", 0, "!CORRUPT@0"},
    {"nothing", 0, "!CORRUPT@0"},
    {"'a'", 0, "!CORRUPT@0"},
    {"\"\\x\"", 0, "!CORRUPT@1"},
    {"\"\\u12g4\"", 0, "!CORRUPT@1"},
    {"\"\\ud800\"", 0, "!CORRUPT@1"},
    {"\"\\udc00\"", 0, "!CORRUPT@1"},
    {"\"\\ud800\\u0041\"", 0, "!CORRUPT@1"},
    {"\"a\nb\"", 0, "!CORRUPT@2"},
    {"\"012345678\tb\"", 0, "!CORRUPT@10"},
    {"\"ab\xff\"", 0, "!CORRUPT@3"},
    {"\"\xc0\x80\"", 0, "!CORRUPT@1"},
    {BYTES("[\0]"), "[!CORRUPT@1"},
    {BYTES("\"a\0b\""), "!CORRUPT@2"},
    {"[] // comment", 0, "[]!CORRUPT@3"},
    {"\xff\xfe", 0, "!CORRUPT@0"},
    {"1\xef\xbb\xbf", 0, "i(1)!CORRUPT@1"},
};

static void from_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct json_reader json;
        struct strbuf got = {0};
        size_t length = rows[i].length ? rows[i].length : strlen(rows[i].text);
        /* exactly as long as the text, so that a sanitizer sees a read behind it */
        char *copy = malloc(length ? length : 1);
        memcpy(copy, rows[i].text, length);
        json_open_memory(&json, copy, length, NULL);
        describe(&json, &got);
        if (strcmp(strbuf_text(&got), rows[i].events) != 0)
            fail_msg("%s: %s, not %s", rows[i].text, strbuf_text(&got), rows[i].events);
        json_close(&json);
        strbuf_free(&got);
        free(copy);
    }
}

static void from_streams(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length = rows[i].length ? rows[i].length : strlen(rows[i].text);
        for (size_t step = 1; step < 8; step++) {
            struct source source = {rows[i].text, length, 0, step, SIZE_MAX};
            struct json_reader json;
            struct strbuf got = {0};
            assert_int_equal(json_open_stream(&json, give, &source, NULL), LAM_OK);
            describe(&json, &got);
            if (strcmp(strbuf_text(&got), rows[i].events) != 0)
                fail_msg("%s, %zu bytes a time: %s, not %s", rows[i].text, step, strbuf_text(&got),
                         rows[i].events);
            json_close(&json);
            strbuf_free(&got);
        }
    }
}

/* Long strings, plain and with escapes, across the ends of the buffer; memory and stream agree. */
static void long_input(void **state)
{
    struct strbuf text = {0}, memory = {0}, stream = {0};
    struct json_reader json;
    (void)state;
    strbuf_add_char(&text, '[');
    for (size_t i = 0; i < 400; i++) {
        strbuf_addf(&text, "%s\"", i ? "," : "");
        strbuf_add_fill(&text, (char)('a' + i % 26), i * i * 7 % 20011);
        strbuf_add(&text, i % 3 == 0 ? "\\n\\u00e9" : i % 3 == 1 ? "\xc3\xa9" : "");
        strbuf_add_fill(&text, 'y', i == 200 ? 1000000 : i % 17);
        strbuf_addf(&text, "\",%zu.%zu", i, i);
    }
    strbuf_add_char(&text, ']');
    json_open_memory(&json, text.data, text.length, NULL);
    describe(&json, &memory);
    json_close(&json);
    static const size_t steps[] = {1000, 4099, 262144, 10000000};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct source source = {text.data, text.length, 0, steps[i], SIZE_MAX};
        assert_int_equal(json_open_stream(&json, give, &source, NULL), LAM_OK);
        strbuf_clear(&stream);
        describe(&json, &stream);
        json_close(&json);
        assert_int_equal(stream.length, memory.length);
        assert_memory_equal(stream.data, memory.data, memory.length);
    }
    assert_int_equal(memory.data[memory.length - 1], '$');
    strbuf_free(&text);
    strbuf_free(&memory);
    strbuf_free(&stream);
}

static void depth(void **state)
{
    static char nested[100000];
    struct json_reader json;
    struct lam_error err = LAM_ERROR_INIT;
    (void)state;
    memset(nested, '[', sizeof nested);
    json_open_memory(&json, nested, sizeof nested, NULL);
    int rc;
    while ((rc = json_next(&json)) > 0)
        ;
    assert_int_equal(rc, LAM_E_TOOBIG);
    assert_int_equal(json.depth, 512);
    assert_int_equal(json_error(&json, "deep.json", &err), LAM_E_TOOBIG);
    assert_string_equal(err.msg, "deep.json: byte 512: nested too deep");
    json_close(&json);
    static const uint32_t limits[] = {1, 63, 64, 65, JSON_MAX_DEPTH};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct json_options options = {.max_depth = limits[i]};
        struct strbuf text = {0};
        for (uint32_t level = 0; level < limits[i]; level++)
            strbuf_add(&text, level % 3 ? "{\"k\":" : "[");
        strbuf_add(&text, "1");
        for (uint32_t level = limits[i]; level-- > 0;)
            strbuf_add(&text, level % 3 ? "}" : "]");
        json_open_memory(&json, text.data, text.length, &options);
        while ((rc = json_next(&json)) > 0)
            ;
        assert_int_equal(rc, JSON_DONE);
        json_close(&json);
        strbuf_free(&text);
    }
}

static void many_values(void **state)
{
    static const struct row lines[] = {
        {"", 0, "$"},
        {" \n", 0, "$"},
        {"1 2\n[3]{}\"x\"", 0, "i(1)i(2)[i(3)]{}s(x)$"},
        {"{} ,", 0, "{}!CORRUPT@3"},
        {"{}\n{\"a\"", 0, "{}{k(a)!TRUNCATED@7"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct json_options options = {.allow_many = true};
        struct json_reader json;
        struct strbuf got = {0};
        json_open_memory(&json, lines[i].text, strlen(lines[i].text), &options);
        describe(&json, &got);
        assert_string_equal(strbuf_text(&got), lines[i].events);
        json_close(&json);
        strbuf_free(&got);
    }
}

static void lenient_strings(void **state)
{
    struct json_options options = {.allow_bytes = true};
    struct json_reader json;
    (void)state;
    json_open_memory(&json, BYTES("[\"a\xff\",\"\\ud800\",\"\\ud800\\ud83d\\ude00\"]"), &options);
    assert_int_equal(json_next(&json), JSON_ARRAY_BEGIN);
    assert_int_equal(json_next(&json), JSON_STRING);
    assert_memory_equal(json.text, "a\xff", json.length);
    assert_int_equal(json_next(&json), JSON_STRING);
    assert_int_equal(json.length, 3);
    assert_memory_equal(json.text, "\xed\xa0\x80", 3);
    assert_int_equal(json_next(&json), JSON_STRING);
    assert_int_equal(json.length, 7);
    assert_memory_equal(json.text, "\xed\xa0\x80\xf0\x9f\x98\x80", 7);
    json_close(&json);
}

static void exact_integers(void **state)
{
    static const struct {
        const char *text;
        bool is_u64, is_i64;
        uint64_t u;
        int64_t i;
    } numbers[] = {
        {"0", true, true, 0, 0},
        {"-0", true, true, 0, 0},
        {"18446744073709551615", true, false, UINT64_MAX, 0},
        {"18446744073709551616", false, false, 0, 0},
        {"9223372036854775807", true, true, INT64_MAX, INT64_MAX},
        {"-9223372036854775808", false, true, 0, INT64_MIN},
        {"-9223372036854775809", false, false, 0, 0},
        {"1e3", true, true, 1000, 1000},
        {"1.0", true, true, 1, 1},
        {"-2.0", false, true, 0, -2},
        {"1.5", false, false, 0, 0},
        {"1e300", false, false, 0, 0},
        {"9007199254740993.0", true, true, 9007199254740992, 9007199254740992},
        {"9007199254740995.0", false, false, 0, 0}, /* would not be exact */
    };
    (void)state;
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
        struct json_reader json;
        uint64_t u = 0;
        int64_t i = 0;
        json_open_memory(&json, numbers[n].text, strlen(numbers[n].text), NULL);
        assert_int_equal(json_next(&json), JSON_NUMBER);
        if (json_get_u64(&json, &u) != numbers[n].is_u64 || u != numbers[n].u ||
            json_get_i64(&json, &i) != numbers[n].is_i64 || i != numbers[n].i)
            fail_msg("%s: %llu, %lld", numbers[n].text, (unsigned long long)u, (long long)i);
        json_close(&json);
    }
}

static void pulls(void **state)
{
    static const char text[] = "{\"name\":\"n\",\"skip\":{\"deep\":[1,[2],{}]},\"list\":[1,2],"
                               "\"pid\":7,\"off\":-3,\"w\":null,\"ok\":true}";
    struct json_reader json;
    const char *name = NULL;
    size_t length = 0;
    uint64_t pid = 0, sum = 0, n = 0;
    int64_t off = 0;
    double weight = 0;
    bool ok = false;
    int rc;
    (void)state;
    json_open_memory(&json, BYTES(text), NULL);
    assert_int_equal(json_enter_object(&json), LAM_OK);
    while ((rc = json_next_key(&json)) > 0) {
        if (json_key_is(&json, "name"))
            rc = json_read_text(&json, &name, &length);
        else if (json_key_is(&json, "pid"))
            rc = json_read_u64(&json, &pid);
        else if (json_key_is(&json, "off"))
            rc = json_read_i64(&json, &off);
        else if (json_key_is(&json, "w"))
            rc = json_read_double(&json, &weight);
        else if (json_key_is(&json, "ok"))
            rc = json_read_bool(&json, &ok);
        else if (json_key_is(&json, "list")) {
            rc = json_enter_array(&json);
            while (rc >= 0 && (rc = json_next_element(&json)) > 0) {
                assert_true(json_get_u64(&json, &n));
                sum += n;
            }
        } else
            rc = json_skip_value(&json);
        assert_int_equal(rc, LAM_OK);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(json_next(&json), JSON_DONE);
    assert_int_equal(json_offset(&json), sizeof text - 1);
    assert_memory_equal(name, "n", length);
    assert_int_equal(length, 1);
    assert_int_equal(pid, 7);
    assert_int_equal(off, -3);
    assert_int_equal(sum, 3);
    assert_true(isnan(weight));
    assert_true(ok);
    json_close(&json);
}

static void wrong_kinds(void **state)
{
    struct json_reader json;
    struct lam_error err = LAM_ERROR_INIT;
    uint64_t value = 0;
    const char *text;
    size_t length;
    (void)state;
    json_open_memory(&json, BYTES("[\"x\"]"), NULL);
    assert_int_equal(json_enter_array(&json), LAM_OK);
    assert_int_equal(json_read_u64(&json, &value), LAM_E_CORRUPT);
    json_error(&json, "a.json", &err);
    assert_string_equal(err.msg, "a.json: byte 4: expected a number, found a string");
    assert_int_equal(json_next(&json), LAM_E_CORRUPT);
    json_close(&json);

    json_open_memory(&json, BYTES("[-1]"), NULL);
    assert_int_equal(json_enter_array(&json), LAM_OK);
    assert_int_equal(json_read_u64(&json, &value), LAM_E_CORRUPT);
    json_close(&json);

    json_open_memory(&json, BYTES("[]"), NULL);
    assert_int_equal(json_enter_array(&json), LAM_OK);
    assert_int_equal(json_read_text(&json, &text, &length), LAM_E_CORRUPT);
    json_error(&json, "a.json", &err);
    assert_string_equal(err.msg, "a.json: byte 2: expected a string, found the end of an array");
    json_close(&json);

    json_open_memory(&json, BYTES("[]"), NULL);
    assert_int_equal(json_enter_array(&json), LAM_OK);
    assert_int_equal(json_skip_value(&json), LAM_E_CORRUPT);
    assert_int_equal(json_skip_rest(&json), LAM_E_CORRUPT);
    json_close(&json);

    json_open_memory(&json, BYTES("[]"), NULL);
    assert_int_equal(json_fail(&json, LAM_E_INVAL, "a reason of mine"), LAM_E_INVAL);
    json_error(&json, "a.json", &err);
    assert_string_equal(err.msg, "a.json: byte 0: a reason of mine");
    json_close(&json);
    assert_true(json_next(&json) < 0); /* after its end it gives errors */
}

static void failing_stream(void **state)
{
    static const char text[] = "{\"key\": [\"some \\u0041 string\", 12345, true]}";
    (void)state;
    for (size_t fails_at = 0; fails_at < sizeof text - 1; fails_at++) {
        struct source source = {text, sizeof text - 1, 0, 1, fails_at};
        struct json_reader json;
        int rc;
        assert_int_equal(json_open_stream(&json, give, &source, NULL), LAM_OK);
        while ((rc = json_next(&json)) > 0)
            ;
        assert_int_equal(rc, LAM_E_IO);
        json_close(&json);
    }
}

static void limits_of_streams(void **state)
{
    struct strbuf text = {0};
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        strbuf_clear(&text);
        strbuf_add(&text, kind == 0 ? "\"" : kind == 1 ? "\"\\n" : "1");
        strbuf_add_fill(&text, '1', 3000000);
        if (kind < 2)
            strbuf_add(&text, "\"");
        for (size_t limit = 1000; limit < 4000000; limit *= 3) {
            struct source source = {text.data, text.length, 0, 100000, SIZE_MAX};
            struct json_options options = {.max_string_bytes = limit};
            struct json_reader json;
            assert_int_equal(json_open_stream(&json, give, &source, &options), LAM_OK);
            int rc = json_next(&json);
            if (kind < 2)
                assert_int_equal(rc, limit < 3000000 ? LAM_E_TOOBIG : JSON_STRING);
            else
                assert_true(rc == LAM_E_TOOBIG || rc == LAM_E_CORRUPT);
            json_close(&json);
        }
    }
    strbuf_free(&text);
}

static void refusals(void **state)
{
    struct strbuf text = {0};
    (void)state;
    strbuf_add(&text, "[\"\\n");
    strbuf_add_fill(&text, 'x', 1000000);
    strbuf_add(&text, "\",\"");
    strbuf_add_fill(&text, 'y', 1000000);
    strbuf_add(&text, "\"]");
    int rc = LAM_E_NOMEM;
    for (uint64_t after = 0; rc != JSON_DONE; after++) {
        struct source source = {text.data, text.length, 0, 50000, SIZE_MAX};
        struct json_reader json;
        mem_fail_after(after);
        rc = json_open_stream(&json, give, &source, NULL);
        while (rc == LAM_OK && (rc = json_next(&json)) > 0)
            rc = LAM_OK;
        bool refused = mem_fail_count() > 0;
        mem_fail_after(UINT64_MAX);
        assert_int_equal(rc, refused ? LAM_E_NOMEM : JSON_DONE);
        json_close(&json);
        if (!refused)
            break;
        assert_true(after < 100);
    }
    strbuf_free(&text);
}

static void from_a_descriptor(void **state)
{
    int fds[2];
    struct json_reader json;
    struct strbuf got = {0};
    (void)state;
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], "[1,2]", 5), 5);
    close(fds[1]);
    assert_int_equal(json_open_stream(&json, json_read_from_fd, &fds[0], NULL), LAM_OK);
    describe(&json, &got);
    assert_string_equal(strbuf_text(&got), "[i(1)i(2)]$");
    json_close(&json);
    strbuf_clear(&got);
    close(fds[0]);
    assert_int_equal(json_open_stream(&json, json_read_from_fd, &fds[0], NULL), LAM_OK);
    describe(&json, &got);
    assert_string_equal(strbuf_text(&got), "!IO@0");
    json_close(&json);
    strbuf_free(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_memory),       cmocka_unit_test(from_streams),
        cmocka_unit_test(long_input),        cmocka_unit_test(depth),
        cmocka_unit_test(many_values),       cmocka_unit_test(lenient_strings),
        cmocka_unit_test(exact_integers),    cmocka_unit_test(pulls),
        cmocka_unit_test(wrong_kinds),       cmocka_unit_test(failing_stream),
        cmocka_unit_test(limits_of_streams), cmocka_unit_test(refusals),
        cmocka_unit_test(from_a_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
