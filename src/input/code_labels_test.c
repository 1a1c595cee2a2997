#include "input/code_labels.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void add(struct event_names *names, const char *text)
{
    struct event_string string = {
        .bytes = arena_strdup(&names->arena, text), .size = (uint32_t)strlen(text), .is_there = 1};
    string.filled = string.size;
    assert_int_equal(array_push(&names->strings, string), 0);
}

static void add_bytes(struct event_names *names, const char *bytes, size_t size)
{
    struct event_string string = {.bytes = arena_strndup(&names->arena, bytes, size),
                                  .size = (uint32_t)size,
                                  .filled = (uint32_t)size,
                                  .is_there = 1};
    assert_int_equal(array_push(&names->strings, string), 0);
}

static void is(const struct event_names *names, size_t string, const char *text)
{
    const struct event_string *at = &names->strings.items[string];
    assert_int_equal(at->size, strlen(text));
    assert_memory_equal(at->bytes, text, at->size);
}

static void test_a_function_of_this_program(void **state)
{
    (void)state;
    Dl_info info;
    uintptr_t address = (uintptr_t)code_labels_resolve;
    assert_true(dladdr((void *)address, &info)); // NOLINT(performance-no-int-to-ptr)
    char label[5000], path[4096];
    assert_non_null(realpath("/proc/self/exe", path));
    snprintf(label, sizeof label, "code::%s+0x%zx", path, address - (uintptr_t)info.dli_fbase);
    struct event_names names = {0};
    add(&names, label);
    add(&names, "not code");
    snprintf(label, sizeof label, "code::%s+0xfffffffffff", path);
    add(&names, label);
    int size = snprintf(label, sizeof label, "code::%s+0x%zx%cits name (C)", path,
                        address - (uintptr_t)info.dli_fbase, 0);
    add_bytes(&names, label, (size_t)size);
    assert_int_equal(code_labels_resolve(&names), LAM_OK);
    const struct event_string *first = &names.strings.items[0], *last = &names.strings.items[3];
    assert_true(first->size > 20 && memcmp(first->bytes, "code_labels_resolve (", 21) == 0);
    assert_true(last->size > 22 && memcmp(last->bytes, "code_labels_resolve (C", 22) == 0);
    is(&names, 1, "not code");
    is(&names, 2, "code_labels_test+0xfffffffffff");
    event_names_free(&names);
}

static void test_what_the_recorder_knew(void **state)
{
    (void)state;
#define ROW(label, name)                               \
    {                                                  \
        label, sizeof label - 1, name, sizeof name - 1 \
    }
    static const struct {
        const char *label;
        size_t size;
        const char *name;
        size_t name_size;
    } rows[] = {
        ROW("code::/lib/c++.so+0x10\0read (C)", "read (C, c++.so+0x10)"),
        ROW("code::/lib/c++.so+0x10\0(C)", "c++.so+0x10 (C)"),
        ROW("code::/a+0x1\0a\0b+0x2 (x) (C)", "a\0b+0x2 (x) (C, a+0x1)"),
        ROW("code::/a+0x1\0for iterator (C)", "for iterator (C, a+0x1)"),
        ROW("code::/a+0x1\0()", "a+0x1 ()"),
        /* Not quite the form. */
        ROW("code::/a+0x1\0", "code::/a+0x1\0"),
        ROW("code::/a+0x1\0C", "code::/a+0x1\0C"),
        ROW("code::/a+0x1\0C)", "code::/a+0x1\0C)"),
        ROW("code::/a+0x1\0(C", "code::/a+0x1\0(C"),
        ROW("code::/a+0x1\0 (C)", "code::/a+0x1\0 (C)"),
        ROW("code::/a+0x1\0x(C)", "code::/a+0x1\0x(C)"),
        ROW("code::/a\0+0x1 (C)", "code::/a\0+0x1 (C)"),
        ROW("code:\0(C)", "code:\0(C)"),
    };
    struct event_names names = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add_bytes(&names, rows[i].label, rows[i].size);
    assert_int_equal(code_labels_resolve(&names), LAM_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(names.strings.items[i].size, rows[i].name_size);
        assert_memory_equal(names.strings.items[i].bytes, rows[i].name, rows[i].name_size);
    }
    event_names_free(&names);
}

static void test_forms(void **state)
{
    (void)state;
    static const struct {
        const char *label, *name;
    } rows[] = {
        {"code:00ff:/nowhere/lib.so+0x10", "lib.so+0x10"},
        {"code::lib.so+0x0", "lib.so+0x0"}, /* no directory */
        {"code:::+0x1", ":+0x1"},
        {"code::/a+0x12+0x34", "a+0x12+0x34"},
        /* Not quite the form: stays. */
        {"code:", "code:"},
        {"code::", "code::"},
        {"code:0f", "code:0f"},
        {"code:0:/x+0x1", "code:0:/x+0x1"}, /* half a byte */
        {"code:0g:/x+0x1", "code:0g:/x+0x1"},
        {"code::/x", "code::/x"},
        {"code::/x+0x", "code::/x+0x"},
        {"code::+0x1", "code::+0x1"}, /* no path */
        {"code::/x0x1", "code::/x0x1"},
        {"Code::/x+0x1", "Code::/x+0x1"},
        {"code:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20:/x+0x1",
         "code:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20:/x+0x1"},
    };
    struct event_names names = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add(&names, rows[i].label);
    array_push(&names.strings, ((struct event_string){0}));
    assert_int_equal(code_labels_resolve(&names), LAM_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        is(&names, i, rows[i].name);
    event_names_free(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_function_of_this_program),
        cmocka_unit_test(test_what_the_recorder_knew),
        cmocka_unit_test(test_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
