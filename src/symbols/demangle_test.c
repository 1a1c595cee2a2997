#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "symbols/demangle.h"

static void names_and_languages(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum symbol_language language;
        const char *full;
    } rows[] = {
        {"main", SYMBOL_LANGUAGE_PLAIN, "main"},
        {"", SYMBOL_LANGUAGE_PLAIN, ""},
        {"_Z1fi", SYMBOL_LANGUAGE_CPP, "f(int)"},
        {"_Z1fi.cold", SYMBOL_LANGUAGE_CPP, "f(int) [clone .cold]"},
        {"_Z1fi.part.0.cold", SYMBOL_LANGUAGE_CPP, "f(int) [clone .part.0] [clone .cold]"},
        {"_Z1fi.llvm.123", SYMBOL_LANGUAGE_CPP, "f(int)"},
        {"_Z1fi.llvm.123.cold", SYMBOL_LANGUAGE_CPP, "f(int) [clone .cold]"},
        {"_Z1fi@plt", SYMBOL_LANGUAGE_CPP, "f(int)@plt"},
        {"_Z1fi@@VERS_1", SYMBOL_LANGUAGE_CPP, "f(int)"},
        {"_ZN1a1b17h0123456789abcdefE", SYMBOL_LANGUAGE_RUST, "a::b"},
        {"_ZN1a1b17h0123456789abcdefE.llvm.12.cold", SYMBOL_LANGUAGE_RUST, "a::b [clone .cold]"},
        {"_RNvCs1234_7mycrate3foo", SYMBOL_LANGUAGE_RUST, "mycrate::foo"},
        {"_RNvCs1234_7mycrate3foo.llvm.5", SYMBOL_LANGUAGE_RUST, "mycrate::foo"},
        {"_RNvCs1234_7mycrate3foo.warm", SYMBOL_LANGUAGE_RUST, "mycrate::foo [clone .warm]"},
        {"memcpy@@GLIBC_2.14", SYMBOL_LANGUAGE_PLAIN, "memcpy@@GLIBC_2.14"},
        {"malloc@plt", SYMBOL_LANGUAGE_PLAIN, "malloc@plt"},
        {"foo.cold", SYMBOL_LANGUAGE_PLAIN, "foo.cold"},
        {"_Zno such thing", SYMBOL_LANGUAGE_PLAIN, "_Zno such thing"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf full = {0};
        enum symbol_language language = demangle_name(rows[i].name, strlen(rows[i].name), &full);
        assert_string_equal(strbuf_text(&full), rows[i].full);
        assert_int_equal(language, rows[i].language);
        strbuf_free(&full);
    }
}

/* ---- names that hurt ------------------------------------------------------------------------- */

static void add_number(struct strbuf *name, size_t value, size_t base)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char text[16];
    size_t at = sizeof text;
    do
        text[--at] = digits[base == 36 && value % base > 9 ? value % base + 26 : value % base];
    while ((value /= base) > 0);
    strbuf_add_bytes(name, text + at, sizeof text - at);
}

/* Each parameter is a pair of the one before: the output doubles with each. */
static void doubling_cpp(struct strbuf *name, size_t depth)
{
    strbuf_add(name, "_Z1fSt4pairIiiE");
    for (size_t i = 0; i < depth; i++)
        for (int side = 0; side < 3; side++) {
            strbuf_add(name, side ? "S" : "S_IS");
            if (side == 2) {
                strbuf_truncate(name, name->length - 1);
                strbuf_add_char(name, 'E');
                continue;
            }
            add_number(name, i, 36);
            strbuf_add_char(name, '_');
        }
}

/* The same in Rust: tuples of references back to the tuple before. */
static void doubling_rust(struct strbuf *name, size_t depth)
{
    strbuf_add(name, "_RINvC1a1f");
    size_t previous = name->length - 2; /* references count from behind "_R" */
    strbuf_add(name, "TxxE");
    for (size_t i = 0; i < depth; i++) {
        size_t here = name->length - 2;
        strbuf_add(name, "T");
        for (int side = 0; side < 2; side++) {
            strbuf_add_char(name, 'B');
            if (previous > 0)
                add_number(name, previous - 1, 62);
            strbuf_add_char(name, '_');
        }
        strbuf_add_char(name, 'E');
        previous = here;
    }
    strbuf_add_char(name, 'E');
}

/* One after the other; false behind the last. */
static bool make_bad_name(struct strbuf *name, unsigned which)
{
    strbuf_clear(name);
    switch (which) {
    case 0: /* refers to itself */
        strbuf_add(name, "_RNvB_1a");
        return true;
    case 1:
        strbuf_add(name, "_R");
        strbuf_add_fill(name, 'R', 100000);
        return true;
    case 2:
        strbuf_add(name, "_Z");
        strbuf_add_fill(name, 'P', 200000);
        strbuf_add_char(name, 'i');
        return true;
    case 3: /* the longest that is looked at */
        strbuf_add(name, "_Z1f");
        strbuf_add_fill(name, 'P', DEMANGLE_MAX_INPUT - 5);
        strbuf_add_char(name, 'i');
        return true;
    case 4:
        strbuf_add(name, "_Z1f");
        for (size_t i = 0; i < 2700; i++)
            strbuf_add(name, "N1aI");
        strbuf_add_char(name, 'i');
        for (size_t i = 0; i < 2700; i++)
            strbuf_add(name, "EE");
        return true;
    case 5: /* as much of libiberty's stack as a name of this length can ask for */
        strbuf_add(name, "_Z1f");
        for (size_t i = 0; i < 1600; i++)
            strbuf_add(name, "1aIiE");
        for (size_t i = 0; i < 2700; i++)
            strbuf_add(name, "RT_");
        return true;
    case 6:
        doubling_cpp(name, 40);
        return true;
    case 7:
        doubling_rust(name, 40);
        return true;
    case 8:
        strbuf_add(name, "_RIC1a");
        strbuf_add_fill(name, 'T', 4000);
        return true;
    case 9:
        strbuf_add(name, "_ZN");
        strbuf_add_fill(name, '9', 4000);
        strbuf_add(name, "17h0123456789abcdefE");
        return true;
    case 10: /* read twice on each level before anything is printed: only the clock ends it */
        strbuf_add(name, "_Z");
        for (size_t i = 0; i < 40; i++)
            strbuf_add(name, "N1acvT_I");
        strbuf_add_char(name, 'i');
        for (size_t i = 0; i < 40; i++)
            strbuf_add(name, "EE");
        strbuf_add_char(name, 'v');
        return true;
    default:
        return false;
    }
}

static int bad_names(void)
{
    struct strbuf name = {0}, full = {0};
    int wrong = 0;
    for (unsigned which = 0; make_bad_name(&name, which); which++) {
        strbuf_clear(&full);
        demangle_name(name.data, name.length, &full);
        bool is_itself = full.length == name.length && memcmp(full.data, name.data, name.length) == 0;
        if (!is_itself) {
            fprintf(stderr, "bad name %u gave %zu bytes: %.60s\n", which, full.length, full.data);
            wrong = 1;
        }
    }
    strbuf_free(&name);
    strbuf_free(&full);
    return wrong;
}

/* Runs the bad names as a process with a stack of 256 KiB, which an alarm ends if it hangs. */
static void bad_names_come_back(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit small = {256 * 1024, 256 * 1024};
        setrlimit(RLIMIT_STACK, &small);
        execl("/proc/self/exe", "demangle_test", "bad-names", NULL);
        _exit(3);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* The generators above do make names: shallow ones are understood. */
static void shallow_ones_are_understood(void **state)
{
    (void)state;
    struct strbuf name = {0}, full = {0};
    doubling_cpp(&name, 2);
    assert_int_equal(demangle_name(name.data, name.length, &full), SYMBOL_LANGUAGE_CPP);
    assert_string_equal(
        full.data, "f(std::pair<int, int>, std::pair<std::pair<int, int>, std::pair<int, int> >, "
                   "std::pair<std::pair<std::pair<int, int>, std::pair<int, int> >, "
                   "std::pair<std::pair<int, int>, std::pair<int, int> > >)");
    strbuf_clear(&name);
    strbuf_clear(&full);
    doubling_rust(&name, 2);
    assert_int_equal(demangle_name(name.data, name.length, &full), SYMBOL_LANGUAGE_RUST);
    assert_string_equal(full.data,
                        "a::f::<(i64, i64), ((i64, i64), (i64, i64)), (((i64, i64), (i64, "
                        "i64)), ((i64, i64), (i64, i64)))>");
    strbuf_free(&name);
    strbuf_free(&full);
}

/* ---- threads --------------------------------------------------------------------------------- */

struct visits {
    atomic_uint count[100];
    size_t fail_at;
};

static int visit(void *ctx, size_t item, unsigned worker)
{
    struct visits *visits = ctx;
    struct strbuf full = {0};
    (void)worker;
    atomic_fetch_add(&visits->count[item], 1);
    enum symbol_language language = demangle_name("_Z1fi", 5, &full);
    bool right = language == SYMBOL_LANGUAGE_CPP && strcmp(strbuf_text(&full), "f(int)") == 0;
    strbuf_free(&full);
    if (item == visits->fail_at)
        return LAM_E_CANCELLED;
    return right ? LAM_OK : LAM_E_CORRUPT;
}

static void items_run_once(void **state)
{
    (void)state;
    for (unsigned threads = 0; threads < 5; threads++) {
        struct visits visits = {.fail_at = SIZE_MAX};
        assert_int_equal(demangle_threads(threads, 100, visit, &visits), LAM_OK);
        for (size_t i = 0; i < 100; i++)
            assert_int_equal(visits.count[i], 1);
    }
    assert_int_equal(demangle_threads(2, 0, visit, NULL), LAM_OK);
}

static void a_failure_comes_back(void **state)
{
    (void)state;
    struct visits visits = {.fail_at = 3};
    assert_int_equal(demangle_threads(1, 100, visit, &visits), LAM_E_CANCELLED);
    assert_int_equal(visits.count[3], 1);
    assert_int_equal(visits.count[4], 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "bad-names") == 0) {
        alarm(120);
        return bad_names();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_languages),         cmocka_unit_test(bad_names_come_back),
        cmocka_unit_test(shallow_ones_are_understood), cmocka_unit_test(items_run_once),
        cmocka_unit_test(a_failure_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
