#include "base/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "base/memory.h"

static const struct term plain = {0};
static const struct term colour = {.is_terminal = true, .has_colour = true};

static void fill(struct table *table)
{
    table_column(table, "unit", TABLE_LEFT, 0);
    table_column(table, "CPU", TABLE_RIGHT, 0);
    table_column(table, "note", TABLE_LEFT, 12);
    table_cell(table, "serde");
    table_cellf(table, "%.1f s", 12.34);
    table_cell(table, "a note that is longer");
    table_cell(table, "caf\xc3\xa9 \xe4\xb8\xad");
    table_cell(table, "3 s");
    table_cell(table, NULL);
    table_rule(table);
    table_cell(table, "a\nb\xff");
    table_style(table, STYLE_RED);
    table_end_row(table);
}

static void expect(const struct table *table, const struct term *term, const char *expected)
{
    struct strbuf out = {0};
    assert_int_equal(table_print(table, term, &out), LAM_OK);
    assert_string_equal(strbuf_text(&out), expected);
    strbuf_free(&out);
}

static void aligned(void **state)
{
    struct table table = {0};
    (void)state;
    fill(&table);
    expect(&table, &plain,
           "unit         CPU  note\n"
           "serde     12.3 s  a note…onger\n"
           "caf\xc3\xa9 \xe4\xb8\xad      3 s\n"
           "──────────────────────────────\n"
           "a\\nb\\xff\n");
    table.hides_header = true;
    table.indent = 2;
    table.gap = 1;
    expect(&table, &plain,
           "  serde    12.3 s a note…onger\n"
           "  caf\xc3\xa9 \xe4\xb8\xad     3 s\n"
           "  ────────────────────────────\n"
           "  a\\nb\\xff\n");
    table_free(&table);
    assert_null(table.columns.items);
}

static void coloured(void **state)
{
    struct table table = {0};
    struct strbuf out = {0};
    (void)state;
    fill(&table);
    assert_int_equal(table_print(&table, &colour, &out), LAM_OK);
    assert_non_null(strstr(strbuf_text(&out), "\033[1munit\033[0m"));
    assert_non_null(strstr(strbuf_text(&out), "\n\033[31ma\\nb\\xff\033[0m\n"));
    strbuf_clear(&out);
    style_add(&out, &colour, STYLE_BOLD, "x\033[0m");
    assert_string_equal(strbuf_text(&out), "\033[1mx\\e[0m\033[0m");
    strbuf_clear(&out);
    style_add(&out, &plain, STYLE_BOLD, "x");
    assert_string_equal(strbuf_text(&out), "x");
    strbuf_free(&out);
    table_free(&table);
}

static void fits_the_terminal(void **state)
{
    (void)state;
    for (unsigned columns = 1; columns < 120; columns++) {
        struct table table = {0};
        struct strbuf out = {0};
        struct term term = {.is_terminal = true, .columns = columns};
        table_column(&table, "left", TABLE_LEFT, 0);
        table_column(&table, "right", TABLE_RIGHT, 0);
        table_column(&table, "also left", TABLE_LEFT, 0);
        table_cell(&table, "a name of forty characters or very nearly");
        table_cell(&table, "123,456");
        table_cell(&table,
                   "\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad");
        assert_int_equal(table_print(&table, &term, &out), LAM_OK);
        /* two left columns of 8 at least, one of 7, two gaps of 2 */
        size_t limit = columns < 8 + 7 + 8 + 4 ? 8 + 7 + 8 + 4 : columns;
        for (const char *at = strbuf_text(&out); *at;) {
            size_t length = strcspn(at, "\n");
            assert_true(utf8_columns(at, length) <= limit);
            assert_true(utf8_is_valid(at, length));
            at += length + 1;
        }
        assert_non_null(strstr(strbuf_text(&out), "123,456"));
        strbuf_free(&out);
        table_free(&table);
    }
}

static void markdown(void **state)
{
    struct table table = {0};
    struct strbuf out = {0};
    (void)state;
    table_column(&table, "name", TABLE_LEFT, 4);
    table_column(&table, "n", TABLE_RIGHT, 0);
    table_cell(&table, "a|b<c>_d");
    table_cell(&table, "1");
    assert_int_equal(table_print_markdown(&table, &out), LAM_OK);
    assert_string_equal(strbuf_text(&out),
                        "| name | n |\n| --- | ---: |\n| a\\|b\\<c\\>\\_d | 1 |\n");
    strbuf_free(&out);
    table_free(&table);
}

static void empty(void **state)
{
    struct table table = {0};
    (void)state;
    expect(&table, &plain, "");
    table_column(&table, "only", TABLE_LEFT, 0);
    expect(&table, &plain, "only\n");
    table_free(&table);
}

static void refusals(void **state)
{
    (void)state;
    for (uint64_t after = 0;; after++) {
        struct table table = {0};
        struct strbuf out = {0};
        mem_fail_after(after);
        fill(&table);
        int rc = table_print(&table, &plain, &out);
        bool refused = mem_fail_count() > 0;
        mem_fail_after(UINT64_MAX);
        assert_int_equal(rc, refused ? LAM_E_NOMEM : LAM_OK);
        strbuf_free(&out);
        table_free(&table);
        if (!refused)
            break;
        assert_true(after < 200);
    }
}

static void terminals(void **state)
{
    FILE *file = fopen("/dev/null", "w");
    (void)state;
    struct term term = term_of(file);
    assert_false(term.is_terminal || term.has_colour || term.columns);
    fclose(file);
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        skip();
    file = fopen(ptsname(master), "w");
    if (!file)
        skip();
    static const struct {
        const char *term, *no_color;
        bool has_colour;
    } rows[] = {
        {"xterm", NULL, true}, {"xterm", "", true}, {"xterm", "1", false},
        {"dumb", NULL, false}, {NULL, NULL, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsetenv("TERM");
        unsetenv("NO_COLOR");
        if (rows[i].term)
            setenv("TERM", rows[i].term, 1);
        if (rows[i].no_color)
            setenv("NO_COLOR", rows[i].no_color, 1);
        term = term_of(file);
        assert_true(term.is_terminal);
        assert_int_equal(term.has_colour, rows[i].has_colour);
    }
    fclose(file);
    close(master);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligned),
        cmocka_unit_test(coloured),
        cmocka_unit_test(fits_the_terminal),
        cmocka_unit_test(markdown),
        cmocka_unit_test(empty),
        cmocka_unit_test(refusals),
        cmocka_unit_test(terminals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
