/* Classes of units of made builds: what changes them, what does not, and who has none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analysis/class_ids.h"
#include "analysis/made_units_test.h"

enum { BASE = 1, MID, TOP, OTHER, UNITS };

#define REGISTRY "/home/me/.cargo/registry/src/index-0123456789abcdef/base-1.2.3"

/* top on mid on base; other on nothing. Words that differ between the builds stand apart. */
struct choice {
    const char *exe, *base_source, *base_features, *base_flags, *out;
    bool is_shifted; /* everything later, and the two leaves in the other order */
};

static const struct choice plain = {"/x/1.95/bin/rustc",
                                    REGISTRY "/src/lib.rs",
                                    "--cfg feature=\"a\" --cfg feature=\"b\"",
                                    "-C opt-level=3",
                                    "/t/deps",
                                    false};

static void open_build(struct feed *feed, const struct choice *choice)
{
    static char lines[4][1000];
    const char *out = choice->out;
    int64_t late = choice->is_shifted ? 500 : 0;
    snprintf(lines[0], sizeof lines[0],
             "--crate-name base %s --crate-type lib --emit=dep-info,metadata,link %s %s -C "
             "metadata=1%s -C extra-filename=-1 --out-dir %s",
             choice->base_source, choice->base_features, choice->base_flags,
             choice->is_shifted ? "f" : "e", out);
    snprintf(lines[1], sizeof lines[1],
             "--crate-name mid mid/src/lib.rs --crate-type lib --emit=dep-info,metadata,link "
             "--out-dir %s -C extra-filename=-2 --extern "
             "base=%s/libbase-1.rmeta",
             out, out);
    snprintf(lines[2], sizeof lines[2],
             "--crate-name top src/main.rs --crate-type bin --emit=dep-info,link --out-dir %s -C "
             "extra-filename=-3 -C incremental=%s/inc --extern "
             "mid=%s/libmid-2.rlib",
             out, out, out);
    snprintf(
        lines[3],
        sizeof lines[3], "--crate-name other other/src/lib.rs --crate-type lib --emit=dep-info,metadata,link --out-dir %s -C extra-filename=-4",
        out);
    const struct made_unit units[] = {
        {choice->exe, "/w", lines[0], late, late + 100, 0},
        {choice->exe, "/w", lines[1], late + 200, late + 300, 0},
        {choice->exe, "/w", lines[2], late + 400, late + 500, 0},
        {choice->exe, "/w", lines[3], choice->is_shifted ? 0 : 450, 600, 0},
    };
    open_made(feed, units, UNITS - 1);
}

static const char *class_of(const struct feed *feed, uint32_t process)
{
    return feed->report->units.items[unit_of(feed, process)].class_id;
}

static void what_changes_a_class(void **unused)
{
    (void)unused;
    static const struct {
        const char *what;
        struct choice choice;
        bool base, mid, top; /* the class is another one; other's never is */
    } rows[] = {
        {"another compiler, target directory, order and time",
         {"/y/nightly/bin/rustc", "/root" REGISTRY "/src/lib.rs",
          "--cfg feature=\"b\" --cfg feature=\"a\"", "-C opt-level=3", "/u/deps", true},
         false,
         false,
         false},
        {"a feature less",
         {"/x/1.95/bin/rustc", REGISTRY "/src/lib.rs", "--cfg feature=\"a\"", "-C opt-level=3",
          "/t/deps", false},
         true,
         true,
         true},
        {"two features as one name",
         {"/x/1.95/bin/rustc", REGISTRY "/src/lib.rs", "--cfg feature=\"ab\"", "-C opt-level=3",
          "/t/deps", false},
         true,
         true,
         true},
        {"a flag",
         {"/x/1.95/bin/rustc", REGISTRY "/src/lib.rs", "--cfg feature=\"a\" --cfg feature=\"b\"",
          "-C opt-level=1", "/t/deps", false},
         true,
         true,
         true},
        {"another version",
         {"/x/1.95/bin/rustc",
          "/home/me/.cargo/registry/src/index-0123456789abcdef/base-1.2.4/src/lib.rs",
          "--cfg feature=\"a\" --cfg feature=\"b\"", "-C opt-level=3", "/t/deps", false},
         true,
         true,
         true},
        {"of a path",
         {"/x/1.95/bin/rustc", "base/src/lib.rs", "--cfg feature=\"a\" --cfg feature=\"b\"",
          "-C opt-level=3", "/t/deps", false},
         true,
         true,
         true},
    };
    struct feed one;
    open_build(&one, &plain);
    for (uint32_t a = BASE; a < UNITS; a++) {
        assert_non_null(class_of(&one, a));
        assert_int_equal(strlen(class_of(&one, a)), CLASS_ID_BYTES - 1);
        for (uint32_t b = BASE; b < a; b++)
            assert_string_not_equal(class_of(&one, a), class_of(&one, b));
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct feed other;
        open_build(&other, &rows[i].choice);
        const bool differs[UNITS] = {
            [BASE] = rows[i].base, [MID] = rows[i].mid, [TOP] = rows[i].top, [OTHER] = false};
        for (uint32_t unit = BASE; unit < UNITS; unit++) {
            assert_non_null(class_of(&other, unit));
            if ((strcmp(class_of(&one, unit), class_of(&other, unit)) != 0) != differs[unit])
                fail_msg("%s: unit %u has %s class", rows[i].what, unit,
                         differs[unit] ? "the same" : "another");
        }
        close_feed(&other);
    }
    close_feed(&one);
}

/* What was fresh left no command line: what stands on it, also over others, has no class. */
static void units_on_what_was_not_built_have_none(void **unused)
{
    (void)unused;
    static const struct made_unit units[] = {
        {RUSTC,
         "--crate-name mid mid/src/lib.rs " LIB
         "-C extra-filename=-2 --extern base=/t/deps/libbase-1.rmeta",
         0, 100, 0},
        {RUSTC, "--crate-name top src/main.rs --crate-type bin --out-dir /t/deps -C extra-filename=-3 --extern mid=/t/deps/libmid-2.rlib",
         200, 300, 0},
        {RUSTC, "--crate-name lone lone/src/lib.rs " LIB "-C extra-filename=-4", 0, 100, 0},
        /* of the compiler's own: no file is named, and none is missing */
        {RUSTC,
         "--crate-name derive derive/src/lib.rs --crate-type proc-macro --emit=dep-info,link "
         "--out-dir /t/deps --extern proc_macro -C "
         "extra-filename=-5 -C incremental=/t/inc",
         0, 100, 0},
        {"/usr/bin/ld", "/w", "-o /t/app a.o", 0, 100, 0},
    };
    struct feed feed;
    open_made(&feed, units, 5);
    assert_null(class_of(&feed, 1));
    assert_null(class_of(&feed, 2));
    assert_non_null(class_of(&feed, 3));
    assert_non_null(class_of(&feed, 4));
    assert_non_null(class_of(&feed, 5));
    assert_string_equal(feed.report->units.items[unit_of(&feed, 3)].capture, "clean");
    assert_string_equal(feed.report->units.items[unit_of(&feed, 4)].capture, "incremental");
    assert_null(feed.report->units.items[unit_of(&feed, 5)].capture); /* a link compiles nothing */
    close_feed(&feed);
}

static void classes_below_a_unit(void **unused)
{
    (void)unused;
    struct feed feed;
    struct strbuf text = {0};
    open_build(&feed, &plain);
    assert_int_equal(class_deps_text(feed.report, unit_of(&feed, TOP), &text), LAM_OK);
    const char *mid = class_of(&feed, MID);
    assert_string_equal(strbuf_text(&text), mid);
    strbuf_clear(&text);
    assert_int_equal(class_deps_text(feed.report, unit_of(&feed, BASE), &text), LAM_OK);
    assert_string_equal(strbuf_text(&text), "");
    assert_int_equal(class_deps_text(feed.report, UINT32_MAX, &text), LAM_OK);
    assert_string_equal(strbuf_text(&text), "");
    strbuf_free(&text);
    close_feed(&feed);
}

static void where_sources_come_from(void **unused)
{
    (void)unused;
    static const struct {
        enum unit_kind kind;
        const char *source, *from;
    } rows[] = {
        {UNIT_RUSTC, REGISTRY "/src/lib.rs", "registry"},
        {UNIT_RUSTC, "/home/me/.cargo/git/checkouts/x-0123456789abcdef/a1b2c3d/src/lib.rs", "git"},
        {UNIT_RUSTC, "src/lib.rs", "path"},
        {UNIT_COMPILE, "a.c", "path"},
        {UNIT_LINK, "a.o", NULL},
        {UNIT_RUSTC, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct unit unit = {.kind = rows[i].kind, .source = rows[i].source};
        const char *from = class_source(&unit);
        if (!from != !rows[i].from || (from && strcmp(from, rows[i].from) != 0))
            fail_msg("%s is of %s", rows[i].source, from ? from : "nowhere");
    }
}

/* A C compiler's driver makes up the names of what goes from one tool to the next: another one in each build. */
static void names_made_up_are_no_part_of_a_class(void **unused)
{
    (void)unused;
    static const struct {
        const char *first, *second, *third; /* the third is another file's */
        const char *program;
    } rows[] = {
        {"-o a.o /tmp/ccIrKA8G.s", "-o a.o /tmp/cc0Zx9yQ.s", "-o b.o /tmp/ccIrKA8G.s", "/usr/bin/as"},
        {"-o a /tmp/ccIrKA8G.o", "-o a /tmp/cc0Zx9yQ.o", "-o b /tmp/ccIrKA8G.o", "/usr/bin/ld"},
        {"-o a.o ccounter.s", "-o a.o ccounter.s", "-o a.o ccbounds.s", "/usr/bin/as"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct made_unit units[] = {{rows[i].program, "/w", rows[i].first, 0, 100, 0},
                                          {rows[i].program, "/w", rows[i].second, 200, 300, 0},
                                          {rows[i].program, "/w", rows[i].third, 400, 500, 0}};
        struct feed feed;
        open_made(&feed, units, 3);
        assert_non_null(class_of(&feed, 1));
        assert_string_equal(class_of(&feed, 1), class_of(&feed, 2));
        assert_string_not_equal(class_of(&feed, 1), class_of(&feed, 3));
        close_feed(&feed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_made_up_are_no_part_of_a_class),
        cmocka_unit_test(what_changes_a_class),
        cmocka_unit_test(units_on_what_was_not_built_have_none),
        cmocka_unit_test(classes_below_a_unit),
        cmocka_unit_test(where_sources_come_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
