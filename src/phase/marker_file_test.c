#include "phase/marker_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"

static int parse(struct marker_set *set, const char *text, struct lam_error *err)
{
    memset(set, 0, sizeof *set);
    *err = (struct lam_error)LAM_ERROR_INIT;
    return marker_set_add(set, "x.markers", text, strlen(text), err);
}

static void reads_each_kind_of_line(void **unused)
{
    (void)unused;
    static const char text[] =
        "# a comment\n"
        "\n"
        "  innermost \"<a::* as b>::c\" backend optimize - over=link,process # why\n"
        "module */lib*-*.so frontend proc_macro {crate}\r\n"
        "detail f#g*h frontend parse sema module=*/clang\n"
        "outermost not::this - - -\n"
        "thread \"opt *\" opt cgu module=*/rustc\n"
        "role opt backend codegen -";
    struct marker_set set;
    struct lam_error err;
    assert_int_equal(parse(&set, text, &err), LAM_OK);
    assert_int_equal(set.markers.count, 6);
    const struct marker *m = set.markers.items;
    assert_int_equal(m[0].rule, MARKER_INNERMOST);
    assert_string_equal(m[0].pattern, "<a::* as b>::c");
    assert_int_equal(m[0].literal_length, 13);
    assert_int_equal(m[0].segment, SEGMENT_BACKEND);
    assert_string_equal(set.phases.items[m[0].phase].name, "optimize");
    assert_int_equal(m[0].over, 1 << SEGMENT_LINK | 1 << SEGMENT_PROCESS);
    assert_int_equal(m[0].line, 3);
    assert_int_equal(m[1].detail, MARKER_DETAIL_CRATE);
    assert_string_equal(m[2].pattern, "f#g*h");
    assert_string_equal(intern_text(&set.details, m[2].detail, NULL), "sema");
    assert_string_equal(m[2].module, "*/clang");
    assert_int_equal(m[3].segment, SEGMENT_NONE);
    assert_int_equal(m[4].role, ROLE_OPT);
    assert_true(m[4].has_cgu);
    assert_int_equal(m[5].rule, MARKER_ROLE);
    assert_int_equal(m[5].line, 8);
    marker_set_free(&set);
}

static void names_the_place_of_what_it_does_not_understand(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"middle a b c -", "x.markers:1: no such rule"},
        {"\n\ninnermost", "x.markers:3: a pattern is missing"},
        {"innermost a", "x.markers:1: RULE PATTERN SEGMENT PHASE DETAIL expected"},
        {"innermost a backend optimize", "x.markers:1: RULE PATTERN SEGMENT PHASE DETAIL expected"},
        {"innermost a elsewhere optimize -", "x.markers:1: no such segment"},
        {"innermost a backend Optimize -", "x.markers:1: not a name for a phase"},
        {"innermost a backend - -", "x.markers:1: not a name for a phase"},
        {"innermost a backend optimize in-lining", "x.markers:1: not a name for a detail"},
        {"innermost a - optimize -", "x.markers:1: segment - has phase -"},
        {"innermost a - - x", "x.markers:1: segment - cannot have a detail"},
        {"innermost a backend optimize {crate}", "x.markers:1: only module lines may say"},
        {"detail a backend optimize -", "x.markers:1: a detail line needs a detail"},
        {"innermost * backend optimize -", "x.markers:1: a pattern of wildcards alone"},
        {"innermost \"\" backend optimize -", "x.markers:1: a pattern is missing"},
        {"innermost \"a backend optimize -", "x.markers:1: a quote is not closed"},
        {"innermost \"a\"b backend optimize -", "x.markers:1: a blank must follow"},
        {"innermost a backend optimize - over=x", "x.markers:1: no such segment"},
        {"outermost a backend optimize - over=link",
         "x.markers:1: over= belongs to innermost lines"},
        {"innermost a backend optimize - modul=x", "x.markers:1: unknown option 'modul=x'"},
        {"innermost a backend optimize - cgu", "x.markers:1: unknown option 'cgu'"},
        {"innermost a b c d e f g h i j", "x.markers:1: too many fields"},
        {"thread a", "x.markers:1: thread PATTERN ROLE expected"},
        {"thread a worker", "x.markers:1: no such role"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct marker_set set;
        struct lam_error err;
        assert_int_equal(parse(&set, rows[i].text, &err), LAM_E_CORRUPT);
        if (strncmp(err.msg, rows[i].message, strlen(rows[i].message)) != 0)
            fail_msg("'%s': '%s', expected '%s'", rows[i].text, err.msg, rows[i].message);
        marker_set_free(&set);
    }
}

static void refuses_a_nul_and_an_endless_line(void **unused)
{
    (void)unused;
    struct marker_set set = {0};
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(marker_set_add(&set, "n", "leaf a\0b process startup -", 26, &err),
                     LAM_E_CORRUPT);
    assert_string_equal(err.msg, "n:1: the line holds a NUL byte");
    static char text[5000];
    memset(text, 'a', sizeof text);
    assert_int_equal(marker_set_add(&set, "n", text, sizeof text, &err), LAM_E_CORRUPT);
    assert_string_equal(err.msg, "n:1: the line is too long");
    marker_set_free(&set);
}

static void a_missing_file_is_named(void **unused)
{
    (void)unused;
    struct marker_set set = {0};
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(marker_set_add_file(&set, "/nonexistent/my.markers", &err), LAM_E_NOTFOUND);
    assert_non_null(strstr(err.msg, "/nonexistent/my.markers"));
    marker_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_each_kind_of_line),
        cmocka_unit_test(names_the_place_of_what_it_does_not_understand),
        cmocka_unit_test(refuses_a_nul_and_an_endless_line),
        cmocka_unit_test(a_missing_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
