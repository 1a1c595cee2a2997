/* Columns are read back by a decoder of their own, as docs/page-data.md says. */
#include "output/page_columns.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "output/page_redact.h"
#include "output/page_reduce.h"
#include "output/page_report.h"

static int64_t unzigzag(uint64_t number)
{
    return (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
}

static uint64_t raw(const struct page_column *column, const char *sections, size_t rows, size_t row)
{
    const unsigned char *at = (const unsigned char *)sections + column->at;
    uint64_t number = 0;
    if (column->code == PAGE_CONST)
        return column->value;
    if (column->code == PAGE_PLANES) {
        for (uint32_t plane = 0; plane < column->width; plane++)
            number |= (uint64_t)at[plane * rows + row] << 8 * plane;
        return number;
    }
    assert_int_equal(column->code, PAGE_VARINT);
    for (size_t skip = 0; skip < row; at++)
        skip += *at < 128;
    for (unsigned shift = 0;; shift += 7, at++) {
        number |= (uint64_t)(*at & 127) << shift;
        if (*at < 128)
            return number;
    }
}

static int64_t value_at(const struct page_column *column, const char *sections, size_t rows,
                        size_t row)
{
    if (column->code == PAGE_SUM) {
        int64_t sum = 0;
        for (unsigned i = 0; i < column->term_count; i++)
            sum += column->terms[i].times * value_at(column->terms[i].column, sections, rows, row);
        return sum > 0 ? sum : 0;
    }
    uint64_t number = 0;
    for (size_t i = column->is_delta ? 0 : row; i <= row; i++)
        number = column->is_delta ? number + (uint64_t)unzigzag(raw(column, sections, rows, i))
                                  : raw(column, sections, rows, i);
    if (column->has_null && number-- == 0)
        return PAGE_NULL;
    int64_t value = column->is_signed ? unzigzag(number) : (int64_t)number;
    if (column->is_rest)
        value += column->related.times * value_at(column->related.column, sections, rows, row);
    return value;
}

static void check_table(struct page_columns *data, const struct page_table *table)
{
    struct strbuf sections = {0};
    assert_int_equal(page_columns_encode(data, &sections, NULL), LAM_OK);
    for (const struct page_column *column = table->columns; column; column = column->next) {
        for (size_t i = 0; i < table->rows; i++) {
            int64_t got = value_at(column, strbuf_text(&sections), table->rows, i);
            if (got != column->values.items[i])
                fail_msg("%s, row %zu: %lld, wanted %lld", column->name, i, (long long)got,
                         (long long)column->values.items[i]);
        }
    }
    strbuf_free(&sections);
}

static void test_codes(void **state)
{
    (void)state;
    enum { ROWS = 3000 };
    struct page_columns data = {0};
    struct page_table *table = page_table(&data, "t");
    struct page_column *equal = page_column(&data, table, "equal", PAGE_INT),
                       *rising = page_column(&data, table, "rising", PAGE_INT),
                       *wild = page_column(&data, table, "wild", PAGE_INT),
                       *signs = page_column(&data, table, "signs", PAGE_INT),
                       *nulls = page_column(&data, table, "nulls", PAGE_INT),
                       *none = page_column(&data, table, "none", PAGE_INT),
                       *near = page_column(&data, table, "near", PAGE_INT),
                       *sum = page_column(&data, table, "sum", PAGE_INT);
    uint64_t random = 88172645463325252u;
    for (int64_t i = 0; i < ROWS; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        int64_t number = (int64_t)(random >> 13);
        page_int(&data, equal, -7);
        page_int(&data, rising, 1000000 * i + number % 3);
        page_int(&data, wild, number);
        page_int(&data, signs, number % 200 - 100);
        page_int(&data, nulls, i % 5 == 0 ? PAGE_NULL : number % 1000 - 500);
        page_int(&data, none, PAGE_NULL);
        page_int(&data, near, 40 * rising->values.items[i] + number % 2);
        page_int(&data, sum, rising->values.items[i] + 7);
        table->rows++;
    }
    near->related = (struct page_term){rising, 40};
    sum->terms[0] = (struct page_term){rising, 1};
    sum->terms[1] = (struct page_term){equal, -1};
    sum->term_count = 2;
    check_table(&data, table);
    assert_int_equal(equal->code, PAGE_CONST);
    assert_int_equal(none->code, PAGE_CONST);
    assert_int_equal(sum->code, PAGE_SUM);
    assert_true(near->is_rest && rising->is_delta);
    page_columns_free(&data);
}

static void test_a_sum_that_is_not_true_is_written(void **state)
{
    (void)state;
    struct page_columns data = {0};
    struct page_table *table = page_table(&data, "t");
    struct page_column *part = page_column(&data, table, "part", PAGE_INT),
                       *sum = page_column(&data, table, "sum", PAGE_INT);
    for (int64_t i = 0; i < 100; i++) {
        page_int(&data, part, i);
        page_int(&data, sum, i == 50 ? 51 : i);
        table->rows++;
    }
    sum->terms[0] = (struct page_term){part, 1};
    sum->term_count = 1;
    check_table(&data, table);
    assert_int_not_equal(sum->code, PAGE_SUM);
    page_columns_free(&data);
}

static void test_strings_are_those_of_json(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        const char *text;
    } rows[] = {
        {"plain", 5, "plain"},         {"\xff", 1, "\\xff"},
        {"\\x41", 4, "\\\\x41"},       {"a\\b", 3, "a\\b"},
        {"</script>", 9, "</script>"}, {"\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80"},
    };
    struct page_columns data = {0};
    struct page_table *table = page_table(&data, "t");
    struct page_column *text = page_column(&data, table, "text", PAGE_TEXT);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        page_text(&data, text, rows[i].bytes, rows[i].length);
        size_t length;
        const char *got = intern_text(&data.strings, (uint32_t)text->values.items[i], &length);
        assert_string_equal(got, rows[i].text);
        table->rows++;
    }
    page_text(&data, text, NULL, 0);
    assert_true(text->values.items[table->rows++] == PAGE_NULL);
    check_table(&data, table);
    page_columns_free(&data);
}

/* ---- the report as tables ---- */

static void take(void *ctx, const char *key, const char *json, size_t length)
{
    struct strbuf *out = ctx;
    strbuf_addf(out, "%s=%.*s;", key, (int)length, json);
}

static void test_report_becomes_tables(void **state)
{
    (void)state;
    static const char report[] =
        "{\"session\": {\"a\": 1}, \"n\": 2, \"findings\": [{\"id\": \"x\"}],"
        " \"units\": [{\"unit\": \"u\", \"wall_s\": 1.5, \"ratio\": 0.5, \"on\": true,"
        " \"waits\": [{\"kind\": \"lock\", \"count\": 3}], \"at\": {\"line\": 7}},"
        " {\"unit\": null, \"wall_s\": null, \"ratio\": 2, \"late\": 4, \"waits\": []}]}";
    struct page_columns data = {0};
    struct strbuf members = {0};
    assert_int_equal(page_report_tables(&data, report, strlen(report), take, &members, NULL), LAM_OK);
    assert_string_equal(strbuf_text(&members),
                        "session={\"a\": 1};n=2;findings=[{\"id\": \"x\"}];");
    const struct page_table *units = page_table(&data, "units");
    assert_int_equal(units->rows, 2);
    const struct page_column *wall = page_column_find(units, "wall_s");
    assert_true(wall->per == 1000000000 && wall->values.items[0] == 1500000000 &&
                wall->values.items[1] == PAGE_NULL);
    assert_int_equal(page_column_find(units, "ratio")->type, PAGE_REAL);
    assert_int_equal(page_column_find(units, "on")->type, PAGE_BOOL);
    assert_true(page_column_find(units, "late")->values.items[0] == PAGE_NULL);
    assert_true(page_column_find(units, "at.line")->values.items[0] == 7);
    const struct page_table *waits = page_table(&data, "units.waits");
    assert_int_equal(waits->rows, 1);
    assert_string_equal(waits->parent, "units");
    assert_true(page_column_find(waits, "row")->values.items[0] == 0);
    page_columns_free(&data);
    strbuf_free(&members);
}

static void test_reports_that_are_no_tables(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "[]",
        "{\"a\":[{\"x\":1,\"x\":2}]}",
        "{\"a\":[{\"x\":1},{\"x\":\"t\"}]}",
        "{\"a\":[[1]]}",
        "{\"a\":[{\"x\":",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct page_columns data = {0};
        struct strbuf members = {0};
        struct lam_error err = LAM_ERROR_INIT;
        if (page_report_tables(&data, rows[i], strlen(rows[i]), take, &members, &err) >= 0)
            fail_msg("row %zu was taken", i);
        assert_true(err.msg[0]);
        page_columns_free(&data);
        strbuf_free(&members);
    }
}

/* ---- coarser ---- */

static void test_rounded_sums_hold(void **state)
{
    (void)state;
    struct page_columns data = {0};
    struct page_table *table = page_table(&data, "t");
    struct page_column *cpu = page_column(&data, table, "cpu_s", PAGE_INT);
    cpu->per = 1000000000;
    for (int i = 0; i < 1000; i++)
        page_int(&data, cpu, 44444);
    page_int(&data, cpu, PAGE_NULL);
    page_round(cpu, 100000, PAGE_ROUND_SUMS);
    int64_t sum = 0;
    for (size_t i = 0; i < 1000; i++)
        sum += cpu->values.items[i];
    assert_int_equal(sum, 444);
    assert_true(cpu->values.items[1000] == PAGE_NULL && cpu->per == 10000);
    page_columns_free(&data);
}

static void test_numbers_near_their_own(void **state)
{
    (void)state;
    static const int64_t given[] = {0, 511, 513, 1000000, PAGE_NULL, 999424},
                         wanted[] = {0, 512, 512, 999936, PAGE_NULL, 999424};
    struct page_columns data = {0};
    struct page_column *rss = page_column(&data, page_table(&data, "t"), "rss_bytes", PAGE_INT);
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        page_int(&data, rss, given[i]);
    page_round_numbers(rss, 1000); /* to 512, the last power of two before a thousandth */
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        assert_true(rss->values.items[i] == wanted[i]);
    page_columns_free(&data);
}

static void test_fewer_rows(void **state)
{
    (void)state;
    static const char *const last[] = {"t_s", NULL};
    struct page_columns data = {0};
    struct page_table *table = page_table(&data, "timeline");
    struct page_column *at = page_column(&data, table, "t_s", PAGE_INT),
                       *busy = page_column(&data, table, "busy", PAGE_REAL);
    for (int i = 0; i < 7; i++) {
        page_int(&data, at, i);
        page_real(&data, busy, i == 1 ? (double)NAN : (double)i);
        table->rows++;
    }
    assert_int_equal(page_thin(table, 3, last), 3);
    assert_int_equal(table->rows, 3);
    page_round_real(busy, 10);
    static const int64_t times[] = {2, 5, 6}, means[] = {10, 40, 60};
    for (size_t i = 0; i < 3; i++) {
        assert_true(at->values.items[i] == times[i]);
        assert_true(busy->values.items[i] == means[i]);
    }
    page_columns_free(&data);
}

/* ---- redacted ---- */

static void test_redaction(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"{\"command\":\"cc -DX=y\",\"cores\":2}", "{\"command\":null,\"cores\":2}\n"},
        {"{\"exe\":\"/opt/my tools/bin/rustc\"}", "{\"exe\":\"rustc\"}\n"},
        {"[\"in /home/me/a.rs, and (../b/c)\"]", "[\"in a.rs, and (c)\"]\n"},
        {"[\"a/b\",\"~/x\",\"and/or\",\"1 / 2\"]", "[\"a/b\",\"x\",\"and/or\",\"1 / 2\"]\n"},
        {"{\"host\":{\"deep\":[1]},\"r\":-1.5}", "{\"host\":null,\"r\":-1.5}\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf got = {0};
        struct byteout out;
        byteout_init_strbuf(&out, &got);
        assert_int_equal(page_redact(rows[i].in, strlen(rows[i].in), &out, NULL), LAM_OK);
        assert_string_equal(strbuf_text(&got), rows[i].out);
        strbuf_free(&got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_a_sum_that_is_not_true_is_written),
        cmocka_unit_test(test_strings_are_those_of_json),
        cmocka_unit_test(test_report_becomes_tables),
        cmocka_unit_test(test_reports_that_are_no_tables),
        cmocka_unit_test(test_rounded_sums_hold),
        cmocka_unit_test(test_numbers_near_their_own),
        cmocka_unit_test(test_fewer_rows),
        cmocka_unit_test(test_redaction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
