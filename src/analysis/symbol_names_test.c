/* Names of frames from a symbol sidecar: modules by their ids, inlined functions, and what has no name. */
#include "analysis/symbol_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "symbols/sidecar_make_test.h"

/* Of the sidecar made by hand: 3 is lib.so by its build id, 5 other.so by its path, 6 is in no sidecar. */
static void push_modules(const struct frame_names *frames)
{
    static const struct {
        uint32_t module;
        const char *path;
        uint8_t build_id_bytes;
    } rows[] = {{3, "/elsewhere/copy.so", 4}, {5, "other.so", 0}, {6, "/usr/lib/unknown.so", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct profile_module module = {.module = rows[i].module,
                                        .path = {rows[i].path, strlen(rows[i].path)},
                                        .build_id = {1, 2, 3, 4},
                                        .build_id_bytes = rows[i].build_id_bytes};
        assert_int_equal(frames->module(frames->ctx, &module), LAM_OK);
    }
}

static void names_are_those_of_the_sidecar(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t module;
        uint64_t offset;
        bool is_return, is_stripped;
        const char *names; /* innermost first */
    } rows[] = {
        {3, 0x10f, false, false, "foo"},
        {3, 0x110, true, false, "foo"}, /* a return address: the call is one byte before */
        {3, 0x110, false, false, ""},
        {3, 0x104, false, false, "inl foo"},
        {3, 0x200, false, false, "baz"},
        {5, 0x150, false, false, "bar"},
        {5, 0x300, false, false, ""},
        {6, 0x100, false, false, ""}, /* no module of the sidecar */
        {4, 0x100, false, false, ""}, /* nobody pushed it */
        {99, 0x100, false, false, ""},
        {0, 0x100, false, false, ""},
    };
    struct parts parts = make_parts();
    struct symbols *symbols = open_parts(&parts);
    struct symbol_names names = {.symbols = symbols};
    struct frame_names frames = symbol_names_frames(&names);
    push_modules(&frames);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct profile_frame frame = {.frame = 1,
                                      .module = rows[i].module,
                                      .offset = rows[i].offset,
                                      .is_return = rows[i].is_return};
        struct classifier_name found[FRAME_NAMES_MAX];
        size_t count = 77;
        bool is_stripped = false;
        char text[64] = "";
        assert_int_equal(frames.names(frames.ctx, &frame, found, &count, &is_stripped), LAM_OK);
        for (size_t n = 0; n < count; n++) {
            assert_int_equal(found[n].length, strlen(found[n].text));
            strcat(strcat(text, n ? " " : ""), found[n].text);
        }
        if (strcmp(text, rows[i].names) != 0 || is_stripped != rows[i].is_stripped)
            fail_msg("row %zu: '%s'", i, text);
    }
    symbol_names_free(&names);
    symbols_close(&symbols);
}

/* What lies between the symbols of a stripped file is said to be so; in a file with a table it is not. */
static void stripped_modules_are_told(void **unused)
{
    (void)unused;
    struct parts parts = make_parts();
    parts.modules[1].state = SYMBOLS_MODULE_STRIPPED;
    struct symbols *symbols = open_parts(&parts);
    struct symbol_names names = {.symbols = symbols};
    struct frame_names frames = symbol_names_frames(&names);
    push_modules(&frames);
    struct profile_frame frame = {.frame = 1, .module = 3, .offset = 0x180};
    struct classifier_name found[FRAME_NAMES_MAX];
    size_t count;
    bool is_stripped = false;
    assert_int_equal(frames.names(frames.ctx, &frame, found, &count, &is_stripped), LAM_OK);
    assert_int_equal(count, 0);
    assert_true(is_stripped);
    frame.offset = 0x100;
    assert_int_equal(frames.names(frames.ctx, &frame, found, &count, &is_stripped), LAM_OK);
    assert_int_equal(count, 1);
    assert_false(is_stripped);
    symbol_names_free(&names);
    symbols_close(&symbols);
}

static void without_a_sidecar_there_are_no_names(void **unused)
{
    (void)unused;
    struct symbol_names names = {0};
    struct frame_names frames = symbol_names_frames(&names);
    push_modules(&frames);
    struct profile_frame frame = {.frame = 1, .module = 3, .offset = 0x100};
    struct classifier_name found[FRAME_NAMES_MAX];
    size_t count = 77;
    bool is_stripped = false;
    assert_int_equal(frames.names(frames.ctx, &frame, found, &count, &is_stripped), LAM_OK);
    assert_int_equal(count, 0);
    assert_false(is_stripped);
    assert_int_equal(names.modules.count, 0);
    symbol_names_free(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_the_sidecar),
        cmocka_unit_test(stripped_modules_are_told),
        cmocka_unit_test(without_a_sidecar_there_are_no_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
