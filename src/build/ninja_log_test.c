#include "build/ninja_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define EDGES "1\t191\t100\tb.o\t551432a7ceccb825\n0\t295\t200\tdir/a b.o\tcf\n"

static void test_log(void **state)
{
    (void)state;
    static const char text[] = "# ninja log v5\n" EDGES;
    struct ninja_log log;
    struct strbuf out = {0};
    assert_int_equal(ninja_log_parse(&log, text, sizeof text - 1, "l", NULL), LAM_OK);
    assert_int_equal(log.edges.count, 2);
    assert_int_equal(log.damaged, 0);
    assert_string_equal(log.edges.items[1].output, "dir/a b.o");
    assert_int_equal(log.edges.items[0].end_ms, 191);
    assert_int_equal(log.edges.items[1].command, 0xcf);
    assert_int_equal(ninja_log_write(&log, 0, &out), LAM_OK);
    assert_string_equal(strbuf_text(&out), text);
    strbuf_clear(&out);
    assert_int_equal(ninja_log_write(&log, 150, &out), LAM_OK); /* of this build alone */
    assert_string_equal(strbuf_text(&out), "# ninja log v5\n0\t295\t200\tdir/a b.o\tcf\n");
    strbuf_free(&out);
    ninja_log_free(&log);
}

static void test_damaged(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int rc;
        size_t edges, damaged;
    } rows[] = {
        {"", LAM_E_CORRUPT, 0, 0},
        {"# ninja log v", LAM_E_CORRUPT, 0, 0},
        {"# ninja log v5", LAM_OK, 0, 0},
        {"# ninja log v4\n" EDGES, LAM_E_UNSUPPORTED, 0, 0},
        {"# ninja log v99999999999999999999999\n", LAM_E_CORRUPT, 0, 0},
        {"# ninja log v7\n" EDGES "1\t2\t3\tx", LAM_OK, 2, 1}, /* cut */
        {"# ninja log v6\n1\t2\t3\tx\t\n", LAM_OK, 0, 1},
        {"# ninja log v6\n2\t1\t3\tx\ta\n", LAM_OK, 0, 1}, /* backwards */
        {"# ninja log v6\n1\t2\t3\t\ta\n", LAM_OK, 0, 1},
        {"# ninja log v6\n1\t2\t3\tx\ta\tb\n", LAM_OK, 0, 1},
        {"# ninja log v6\n-1\t2\t3\tx\ta\n\n# x\n" EDGES, LAM_OK, 2, 1},
        {"# ninja log v6\n1\t2\t18446744073709551615\tx\ta\n", LAM_OK, 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ninja_log log;
        int rc = ninja_log_parse(&log, rows[i].text, strlen(rows[i].text), "l", NULL);
        if (rc != rows[i].rc || log.edges.count != rows[i].edges || log.damaged != rows[i].damaged)
            fail_msg("row %zu: %d, %zu edges, %d damaged", i, rc, log.edges.count, (int)log.damaged);
        ninja_log_free(&log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_log), cmocka_unit_test(test_damaged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
