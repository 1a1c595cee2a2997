#include "base/json_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "base/json_read.h"
#include "base/memory.h"

static struct byteout out;
static struct strbuf text;
static struct json_writer json;

static void begin(uint32_t indent)
{
    strbuf_clear(&text);
    byteout_init_strbuf(&out, &text);
    json_writer_init(&json, &out, indent);
}

static void expect(const char *expected)
{
    assert_int_equal(json_writer_finish(&json, "out", NULL), LAM_OK);
    assert_string_equal(strbuf_text(&text), expected);
}

static void compact(void **state)
{
    (void)state;
    begin(0);
    json_put_object(&json);
    json_member_str(&json, "s", "a\"b");
    json_member_str(&json, "none", NULL);
    json_member_str_n(&json, "n", "a\0b", 3);
    json_member_u64(&json, "u", UINT64_MAX);
    json_member_i64(&json, "i", INT64_MIN);
    json_member_double(&json, "d", 0.1);
    json_member_fixed(&json, "f", 1.25000001, 3);
    json_member_bool(&json, "b", true);
    json_member_null(&json, "z");
    json_member_object(&json, "o");
    json_put_end(&json);
    json_member_array(&json, "a");
    json_put_u64(&json, 1);
    json_put_array(&json);
    json_put_end(&json);
    json_put_object(&json);
    json_put_end(&json);
    json_put_bool(&json, false);
    json_put_end(&json);
    json_put_end(&json);
    expect("{\"s\":\"a\\\"b\",\"none\":null,\"n\":\"a\\u0000b\",\"u\":18446744073709551615,"
           "\"i\":-9223372036854775808,\"d\":0.1,\"f\":1.25,\"b\":true,\"z\":null,\"o\":{},"
           "\"a\":[1,[],{},false]}\n");
}

static void indented(void **state)
{
    (void)state;
    begin(2);
    json_put_object(&json);
    json_member_u64(&json, "a", 1);
    json_member_array(&json, "b");
    json_put_u64(&json, 1);
    json_put_u64(&json, 2);
    json_put_end(&json);
    json_member_object(&json, "c");
    json_put_end(&json);
    json_put_end(&json);
    expect("{\n  \"a\": 1,\n  \"b\": [\n    1,\n    2\n  ],\n  \"c\": {}\n}\n");
}

static void lines(void **state)
{
    (void)state;
    begin(0);
    for (uint64_t i = 0; i < 3; i++) {
        json_put_array(&json);
        json_put_u64(&json, i);
        json_put_end(&json);
    }
    expect("[0]\n[1]\n[2]\n");
    begin(0);
    json_put_array(&json);
    json_put_u64(&json, 1);
    json_put_newline(&json);
    json_put_u64(&json, 2);
    json_put_newline(&json);
    json_put_end(&json);
    expect("[1\n,2\n]\n");
}

static void numbers(void **state)
{
    static const struct {
        double value;
        int decimals; /* -1: json_put_double() */
        const char *text;
    } rows[] = {
        {0, -1, "0\n"},
        {-0.0, -1, "-0\n"},
        {(double)NAN, -1, "null\n"},
        {HUGE_VAL, -1, "null\n"},
        {1e21, -1, "1e+21\n"},
        {1.0 / 3, 3, "0.333\n"},
        {2, 3, "2\n"},
        {-0.0001, 3, "0\n"},
        {(double)NAN, 3, "null\n"},
        {1e20, 3, "1e+20\n"},
        {12.5, 0, "13\n"},
        {100, 0, "100\n"},
        {0.000000001, 9, "0.000000001\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(0);
        if (rows[i].decimals < 0)
            json_put_double(&json, rows[i].value);
        else
            json_put_fixed(&json, rows[i].value, rows[i].decimals);
        expect(rows[i].text);
    }
}

/* What is written reads back, whatever bytes it holds. */
static void reads_back(void **state)
{
    uint64_t random = 11;
    (void)state;
    for (int round = 0; round < 3000; round++) {
        char bytes[24];
        struct json_reader reader;
        struct strbuf expected = {0};
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        size_t length = random >> 40 & 15;
        for (size_t i = 0; i < length; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            bytes[i] = "\\x\"\nab\xc3\xa9"[random >> 50 & 7];
            if (random >> 60 < 4)
                bytes[i] = (char)(random >> 50);
        }
        bool is_valid = utf8_is_valid(bytes, length);
        begin(random >> 39 & 2);
        json_put_object(&json);
        json_put_key_n(&json, bytes, length);
        json_put_str_n(&json, bytes, length);
        json_put_end(&json);
        assert_int_equal(json_writer_finish(&json, "out", NULL), LAM_OK);
        json_open_memory(&reader, text.data, text.length, NULL);
        assert_int_equal(json_next(&reader), JSON_OBJECT_BEGIN);
        assert_int_equal(json_next(&reader), JSON_KEY);
        if (is_valid && !memmem(bytes, length, "\\x", 2)) {
            assert_int_equal(reader.length, length);
            assert_memory_equal(reader.text, bytes, length);
        }
        strbuf_add_bytes(&expected, reader.text, reader.length);
        assert_int_equal(json_next(&reader), JSON_STRING);
        assert_int_equal(reader.length, expected.length);
        assert_memory_equal(reader.text, strbuf_text(&expected), reader.length);
        assert_int_equal(json_next(&reader), JSON_OBJECT_END);
        assert_int_equal(json_next(&reader), JSON_DONE);
        json_close(&reader);
        strbuf_free(&expected);
    }
}

static void incomplete(void **state)
{
    struct lam_error err = LAM_ERROR_INIT;
    (void)state;
    begin(0);
    json_put_array(&json);
    assert_int_equal(json_writer_finish(&json, "out.json", &err), LAM_E_INVAL);
    assert_string_equal(err.msg, "out.json: JSON was left incomplete");
    begin(0);
    json_put_object(&json);
    json_put_key(&json, "a");
    assert_int_equal(json_writer_finish(&json, "out.json", &err), LAM_E_INVAL);
}

/* A caller's mistake is an assert where asserts are on. */
static void misuse(void **state)
{
    (void)state;
#ifndef NDEBUG
    skip();
#else
    begin(0);
    json_put_end(&json);
    assert_int_equal(json_writer_finish(&json, "out", NULL), LAM_E_INVAL);
    begin(0);
    json_put_object(&json);
    json_put_u64(&json, 1);
    json_put_end(&json);
    assert_int_equal(json_writer_finish(&json, "out", NULL), LAM_E_INVAL);
    begin(0);
    json_put_key(&json, "a");
    assert_int_equal(json_writer_finish(&json, "out", NULL), LAM_E_INVAL);
    begin(0);
    for (int i = 0; i < 1000; i++)
        json_put_array(&json);
    assert_int_equal(json_writer_finish(&json, "out", NULL), LAM_E_INVAL);
#endif
}

static void refusals(void **state)
{
    (void)state;
    for (uint64_t after = 0; after < 3; after++) {
        begin(0);
        strbuf_free(&text);
        mem_fail_after(after);
        json_put_object(&json);
        json_member_str(&json, "k\n", "v\n");
        json_member_double(&json, "d", 0.5);
        json_put_end(&json);
        int rc = json_writer_finish(&json, "out", NULL);
        mem_fail_after(UINT64_MAX);
        assert_int_equal(rc, LAM_E_NOMEM);
    }
}

static int release(void **state)
{
    (void)state;
    strbuf_free(&text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compact), cmocka_unit_test(indented),   cmocka_unit_test(lines),
        cmocka_unit_test(numbers), cmocka_unit_test(reads_back), cmocka_unit_test(incomplete),
        cmocka_unit_test(misuse),  cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
