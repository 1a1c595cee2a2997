/* Totals by label and arguments: what is one row, its sums, and the order of rows. */
#include "analysis/label_arguments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/memory.h"

#define ARGS_MAX 3

/* An event with up to three arguments, NULL-ended. */
static int add(struct label_arguments *arguments, uint32_t name, const char *const *args,
               struct profile_interval interval, bool is_helper)
{
    struct profile_text texts[ARGS_MAX];
    size_t count = 0;
    for (; count < ARGS_MAX && args[count]; count++)
        texts[count] = (struct profile_text){args[count], strlen(args[count])};
    interval.args = texts;
    interval.argc = count;
    return label_arguments_add(arguments, name, &interval, is_helper);
}

static struct profile_interval event(uint64_t self_ns, uint64_t active_ns, uint32_t weight)
{
    return (struct profile_interval){.self_ns = self_ns, .active_ns = active_ns, .weight = weight};
}

static void check_text(const struct label_arguments *arguments, size_t row, const char *wanted)
{
    struct strbuf text = {0};
    label_argument_text(arguments, &arguments->rows.items[row], &text);
    assert_string_equal(strbuf_text(&text), wanted);
    strbuf_free(&text);
}

/* ", " inside of an argument is no border between two. */
static void a_row_is_a_label_and_its_arguments(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t name;
        const char *args[ARGS_MAX];
        const char *text;
        uint64_t count;
    } rows[] = {
        {1, {"a", "b"}, "a, b", 2}, {1, {"a, b"}, "a, b", 1}, {2, {"a", "b"}, "a, b", 1},
        {1, {"ab"}, "ab", 1},       {1, {NULL}, "", 1},       {1, {"a", "", "b"}, "a, , b", 1},
    };
    struct label_arguments arguments = {0};
    uint64_t self = 100;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (uint64_t n = 0; n < rows[i].count; n++)
            assert_int_equal(add(&arguments, rows[i].name, rows[i].args, event(self--, 1, 1), false),
                             LAM_OK);
    label_arguments_sort(&arguments);
    assert_int_equal(arguments.rows.count, sizeof rows / sizeof rows[0]);
    for (size_t i = 0; i < arguments.rows.count; i++) {
        assert_int_equal(arguments.rows.items[i].name, rows[i].name);
        assert_int_equal(arguments.rows.items[i].count, rows[i].count);
        check_text(&arguments, i, rows[i].text);
    }
    assert_true(label_arguments_bytes(&arguments) > 0);
    label_arguments_free(&arguments);
}

static void sums_of_a_row(void **unused)
{
    (void)unused;
    static const char *const args[] = {"key", NULL};
    struct label_arguments arguments = {0};
    struct profile_interval inner = event(10, 10, 1);
    inner.flags = PROFILE_INTERVAL_RECURSIVE; /* its time is in the one around it */
    assert_int_equal(add(&arguments, 1, args, event(20, 30, 1), false), LAM_OK);
    assert_int_equal(add(&arguments, 1, args, inner, false), LAM_OK);
    assert_int_equal(add(&arguments, 1, args, event(5, 8, 10), false), LAM_OK); /* one in ten */
    assert_int_equal(add(&arguments, 1, args, event(1, 2, 1), true), LAM_OK);   /* does not count */
    label_arguments_sort(&arguments);
    const struct label_argument *row = &arguments.rows.items[0];
    assert_int_equal(arguments.rows.count, 1);
    assert_int_equal(row->count, 1 + 1 + 10);
    assert_int_equal(row->self_ns, 20 + 10 + 50 + 1);
    assert_int_equal(row->time_ns, 30 + 80 + 2);
    assert_int_equal(row->max_ns, 30);
    label_arguments_free(&arguments);
}

/* Most self time first, then by label, then by the arguments' bytes. */
static void rows_are_in_one_order(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t name;
        const char *arg;
        uint64_t self_ns;
    } pushed[] = {{2, "b", 5}, {1, "bb", 5}, {1, "b", 5}, {1, "a", 5}, {1, "z", 9}, {1, "c", 1}};
    static const size_t wanted[] = {4, 3, 2, 1, 0, 5};
    struct label_arguments arguments = {0};
    for (size_t i = 0; i < 6; i++) {
        const char *args[] = {pushed[i].arg, NULL};
        assert_int_equal(
            add(&arguments, pushed[i].name, args, event(pushed[i].self_ns, 1, 1), false), LAM_OK);
    }
    label_arguments_sort(&arguments);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(arguments.rows.items[i].name, pushed[wanted[i]].name);
        check_text(&arguments, i, pushed[wanted[i]].arg);
    }
    label_arguments_free(&arguments);
}

/* More rows than the first table has places, each met twice; and a sorted one takes more. */
static void many_rows_are_found_again(void **unused)
{
    (void)unused;
    enum { ROWS = 5000 };
    struct label_arguments arguments = {0};
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < ROWS; i++) {
            char text[16];
            snprintf(text, sizeof text, "%u", i);
            const char *args[] = {text, NULL};
            assert_int_equal(add(&arguments, i % 7, args, event(i, i, 1), false), LAM_OK);
        }
        label_arguments_sort(&arguments);
        assert_int_equal(arguments.rows.count, ROWS);
    }
    assert_int_equal(arguments.rows.items[0].self_ns, 3 * (ROWS - 1));
    array_each(&arguments.rows, row) assert_int_equal(row->count, 3);
    label_arguments_free(&arguments);
}

static void refused_memory_is_told(void **unused)
{
    (void)unused;
    static const char *const args[] = {"key", NULL};
    for (uint64_t after = 0;; after++) {
        struct label_arguments arguments = {0};
        mem_fail_after(after);
        int rc = add(&arguments, 1, args, event(1, 1, 1), false);
        bool was_refused = mem_fail_count() > 0;
        mem_fail_after(UINT64_MAX);
        assert_int_equal(rc, was_refused ? LAM_E_NOMEM : LAM_OK);
        label_arguments_free(&arguments);
        if (!was_refused)
            break;
        assert_true(after < 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_a_label_and_its_arguments),
        cmocka_unit_test(sums_of_a_row),
        cmocka_unit_test(rows_are_in_one_order),
        cmocka_unit_test(many_rows_are_found_again),
        cmocka_unit_test(refused_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
