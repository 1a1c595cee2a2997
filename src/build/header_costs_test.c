#include "build/header_costs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SOURCE(ts, dur, file)                                                              \
    "{\"pid\":1,\"tid\":1,\"ph\":\"X\",\"ts\":" ts ",\"dur\":" dur ",\"name\":\"Source\"," \
    "\"args\":{\"detail\":\"" file "\"}}"

/* a.h includes b.h twice and c.h, which includes b.h. */
static const char trace[] =
    "{\"traceEvents\":[" SOURCE("20", "10", "b.h") "," SOURCE("50", "5", "b.h") "," SOURCE("60", "30", "c.h") "," SOURCE(
        "70", "8",
        "b.h") "," SOURCE("10", "100",
                          "a.h") ",{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"name\":\"Frontend\"},"
                                 "{\"name\":\"Source\",\"ts\":1,\"dur\":-5,\"args\":{\"detail\":"
                                 "\"bad.h\"}}],\"beginningOfTime\":1}";

static void near(double found, double expected)
{
    if (fabs(found - expected) > 1e-12)
        fail_msg("%.12f instead of %.12f", found, expected);
}

static void test_costs(void **state)
{
    (void)state;
    struct header_costs costs = {0};
    assert_int_equal(header_costs_add(&costs, trace, sizeof trace - 1, "t", NULL), LAM_OK);
    assert_int_equal(header_costs_add(&costs, trace, sizeof trace - 1, "t", NULL), LAM_OK);
    header_costs_sort(&costs);
    assert_int_equal(costs.units, 2);
    assert_int_equal(costs.items.count, 3);
    const struct header_cost *a = &costs.items.items[0], *c = &costs.items.items[1],
                             *b = &costs.items.items[2];
    assert_string_equal(a->file, "a.h");
    near(a->total_s, 200e-6);
    near(a->self_s, 110e-6); /* less 10, 5 and 30 each time */
    assert_string_equal(c->file, "c.h");
    near(c->self_s, 44e-6);
    assert_int_equal(b->count, 6);
    near(b->total_s, 46e-6);
    near(b->max_s, 10e-6);

    struct strbuf text = {0};
    struct header_costs again;
    assert_int_equal(header_costs_write(&costs, &text, NULL), LAM_OK);
    header_costs_free(&costs);
    assert_int_equal(header_costs_parse(&again, text.data, text.length, "h", NULL), LAM_OK);
    assert_int_equal(again.units, 2);
    assert_int_equal(again.items.count, 3);
    near(again.items.items[0].self_s, 110e-6);
    header_costs_free(&again);
    for (size_t size = 0; size + 1 < text.length; size++)
        assert_true(header_costs_parse(&again, text.data, size, "h", NULL) < 0);
    strbuf_free(&text);
}

static void test_no_traces(void **state)
{
    (void)state;
    static const char *const rows[] = {"",
                                       "{}",
                                       "[]",
                                       "{\"traceEvents\":{}}",
                                       "{\"traceEvents\":[1]}",
                                       "{\"traceEvents\":[{\"ts\":\"x\"}]}",
                                       "{\"traceEvents\":["};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct header_costs costs = {0};
        struct lam_error err = LAM_ERROR_INIT;
        if (header_costs_add(&costs, rows[i], strlen(rows[i]), "t.json", &err) >= 0 ||
            !strstr(err.msg, "t.json"))
            fail_msg("row %zu", i);
        assert_int_equal(costs.units, 0);
        header_costs_free(&costs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_costs),
                                       cmocka_unit_test(test_no_traces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
