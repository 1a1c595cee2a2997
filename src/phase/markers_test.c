/* The marker files that are compiled in, against names that exist. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/glob.h"
#include "base/memory.h"
#include "phase/builtin_markers.h"
#include "phase/classifier.h"

/* The lines of a file under tests/data without comments; data stays allocated until the test program ends. */
struct names {
    char *data;
    LAM_ARRAY(const char *) items;
};

static void read_names(struct names *names, const char *file)
{
    const char *root = getenv("LAMELLA_SRC");
    char path[1000];
    size_t length;
    struct lam_error err = LAM_ERROR_INIT;
    snprintf(path, sizeof path, "%s/tests/data/%s", root ? root : ".", file);
    if (file_read_all(path, 1 << 24, &names->data, &length, &err) < 0)
        fail_msg("%s", err.msg);
    for (char *line = names->data; *line;) {
        char *end = strchr(line, '\n');
        if (end)
            *end = 0;
        if (*line && *line != '#')
            assert_int_equal(array_push(&names->items, line), LAM_OK);
        if (!end)
            break;
        line = end + 1;
    }
    assert_true(names->items.count > 20);
}

static void free_names(struct names *names)
{
    mem_free(names->data);
    array_free(&names->items);
}

static struct classifier *open_file(const struct marker_file *file)
{
    struct marker_set set = {0};
    struct classifier *cls = NULL;
    struct lam_error err = LAM_ERROR_INIT;
    if (marker_set_add(&set, file->name, file->text, file->size_bytes, &err) < 0 ||
        classifier_open_set(&cls, &set, &err) < 0)
        fail_msg("%s", err.msg);
    return cls;
}

static const char *const modules[] = {
    "", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
    "/r/toolchains/stable/lib/librustc_driver-0123456789abcdef.so",
    "/r/toolchains/stable/bin/rustc", "/usr/bin/clang-14"};

static void no_marker_matches_a_root_frame(void **unused)
{
    (void)unused;
    struct names roots = {0};
    read_names(&roots, "root-frames.txt");
    for (const struct marker_file *file = lam_builtin_markers; file->name; file++) {
        struct classifier *cls = open_file(file);
        array_each(&roots.items, name)
        {
            for (size_t i = 0; i < sizeof modules / sizeof modules[0]; i++) {
                struct classifier_name text = {*name, strlen(*name)};
                uint32_t module, frame_class, state, bucket;
                assert_int_equal(classifier_module(cls, modules[i], strlen(modules[i]), &module),
                                 LAM_OK);
                assert_int_equal(classifier_frame(cls, module, &text, 1, &frame_class), LAM_OK);
                assert_int_equal(classifier_push(cls, 0, frame_class, &state), LAM_OK);
                assert_int_equal(classifier_decide(cls, state, 0, &bucket), LAM_OK);
                const struct marker *why = classifier_why(cls, state, 0);
                if (why)
                    fail_msg("%s:%u: %s matches the root frame %s", file->name, why->line,
                             why->pattern, *name);
            }
        }
        classifier_close(&cls);
    }
    free_names(&roots);
}

static void every_marker_matches_a_function_that_exists(void **unused)
{
    (void)unused;
    struct names symbols = {0};
    read_names(&symbols, "symbols.txt");
    struct marker_set set = {0};
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(marker_set_add_builtin(&set, &err), LAM_OK);
    size_t dead = 0;
    array_each(&set.markers, marker)
    {
        bool is_frame_rule = marker->rule != MARKER_MODULE && marker->rule != MARKER_ROLE &&
                             marker->rule != MARKER_THREAD;
        if (!is_frame_rule || marker->segment == SEGMENT_NONE)
            continue;
        bool found = false;
        array_each(&symbols.items, name) found = found || glob_match_str(marker->pattern, *name);
        if (!found) {
            print_error("%s:%u: %s matches no symbol\n", set.files.items[marker->file],
                        marker->line, marker->pattern);
            dead++;
        }
    }
    assert_int_equal(dead, 0);
    marker_set_free(&set);
    free_names(&symbols);
}

/* The places of the design's table of segments and phases: a typo in a file would make a phase of its own. */
static void all_phases_are_those_of_the_schema(void **unused)
{
    (void)unused;
    static const char *const phases[] = {
        "frontend parse",
        "frontend macro_expand",
        "frontend proc_macro",
        "frontend resolve",
        "frontend lower",
        "frontend type_check",
        "frontend queries",
        "frontend mir_build",
        "frontend lint",
        "frontend borrowck",
        "frontend metadata",
        "frontend incr_cache",
        "frontend templates",
        "frontend const_eval",
        "frontend doc",
        "backend monomorphize",
        "backend ir_build",
        "backend optimize",
        "backend machine_code",
        "backend lto",
        "backend free_module",
        "backend codegen",
        "link link",
        "process startup",
        "process teardown",
        "process driver",
        "process program",
        "unknown unattributed",
    };
    struct marker_set set = {0};
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(marker_set_add_builtin(&set, &err), LAM_OK);
    array_each(&set.phases, phase)
    {
        char text[100];
        snprintf(text, sizeof text, "%s %s", phase_segment_name((enum phase_segment)phase->segment),
                 phase->name);
        bool found = false;
        for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++)
            found = found || strcmp(phases[i], text) == 0;
        if (!found)
            fail_msg("%s is no phase", text);
    }
    marker_set_free(&set);
}

/* A program belongs to a kind by its own name, not by that of a directory above it. */
static void directories_are_no_programs(void **unused)
{
    (void)unused;
    static const char *const programs[] = {"/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
                                           "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
                                           "/home/me/make/x",
                                           "/home/me/ld/x",
                                           "/home/me/python3/x",
                                           "/home/me/clang/x",
                                           "/home/me/rustc/x"};
    struct classifier *cls;
    assert_int_equal(classifier_open(&cls, NULL, NULL), LAM_OK);
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        struct classifier_thread thread = classifier_thread(cls, programs[i], "x", 1, false);
        uint32_t bucket;
        assert_int_equal(classifier_decide(cls, 0, thread.fallback, &bucket), LAM_OK);
        if (classifier_bucket(cls, bucket).segment != SEGMENT_UNKNOWN)
            fail_msg("%s is %s", programs[i], classifier_bucket(cls, bucket).phase_name);
    }
    classifier_close(&cls);
}

static void rustc_threads_have_their_roles(void **unused)
{
    (void)unused;
    static const struct {
        const char *program, *name, *role;
        bool is_main;
    } rows[] = {
        {"/r/toolchains/stable/bin/rustc", "rustc", "serial", false},
        {"/r/toolchains/stable/bin/rustc", "rustc", "process", true}, /* it waits for the one that works */
        {"/usr/bin/clippy-driver", "clippy-driver", "process", true},
        {"/usr/bin/clippy-driver", "rustc", "serial", false},
        {"/usr/bin/rustdoc", "rustdoc", "process", true},
        {"/usr/bin/rustdoc", "rustc", "serial", false},
        {"/w/target/debug/deps/it-0123456789abcdef", "adds", "process", false},
        {"/tmp/rustdoctestAbCdEf/rust_out", "rust_out", "process", true},
        {"/r/toolchains/stable/bin/rustc", "opt cgu.0", "opt", false},
        {"/r/toolchains/stable/bin/rustc", "lto cgu.3", "lto", false},
        {"/r/toolchains/stable/bin/rustc", "cpy cgu.3", "copy", false},
        {"/r/toolchains/stable/bin/rustc", "coordinator", "coordinator", false},
        {"/r/toolchains/stable/bin/rustc", "ctrl-c", "other", false},
        {"/r/toolchains/stable/bin/cargo", "cargo", "process", false},
        {"/w/target/debug/build/x-0123456789abcdef/build-script-build", "build-script-bu",
         "process", false},
        {"/usr/bin/x86_64-linux-gnu-ld.bfd", "ld", "process", false},
        {"/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "cc1", "process", false},
        {"/home/me/make/cargo/rustc/prog", "rustc", "other", false}, /* directories are no programs */
        {"/opt/unheard-of", "unheard-of", "other", false},
    };
    struct classifier *cls = NULL;
    assert_int_equal(classifier_open(&cls, NULL, NULL), LAM_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct classifier_thread thread = classifier_thread(cls, rows[i].program, rows[i].name,
                                                            strlen(rows[i].name), rows[i].is_main);
        assert_string_equal(thread_role_name(thread.role), rows[i].role);
    }
    classifier_close(&cls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_marker_matches_a_root_frame),
        cmocka_unit_test(every_marker_matches_a_function_that_exists),
        cmocka_unit_test(all_phases_are_those_of_the_schema),
        cmocka_unit_test(rustc_threads_have_their_roles),
        cmocka_unit_test(directories_are_no_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
