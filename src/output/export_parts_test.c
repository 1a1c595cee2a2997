/* The pieces that exporters are made of: numbers, lanes, histogram, rows that threads share, trees of stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/collapse_threads.h"
#include "output/duration_counts.h"
#include "output/lanes.h"
#include "output/stack_tree.h"
#include "output/time_text.h"

static void numbers(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *us, *ms;
    } rows[] = {
        {0, "0", "0"},
        {1, "0.001", "0.000001"},
        {-1, "-0.001", "-0.000001"},
        {1000, "1", "0.001"},
        {1500, "1.5", "0.0015"},
        {-1234567, "-1234.567", "-1.234567"},
        {99999, "99.999", "0.099999"},
        {INT64_MAX, "9223372036854775.807", "9223372036854.775807"},
        {INT64_MIN, "-9223372036854775.808", "-9223372036854.775808"},
    };
    char text[TIME_TEXT_BYTES];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *put_microseconds(text, rows[i].ns) = '\0';
        assert_string_equal(text, rows[i].us);
        *put_milliseconds(text, rows[i].ns) = '\0';
        assert_string_equal(text, rows[i].ms);
    }
    char wanted[32];
    for (int64_t ns = 0; ns < 3000000; ns += ns < 3000 ? 1 : 997) {
        int size = snprintf(wanted, sizeof wanted, "%d.%03d", (int)(ns / 1000), (int)(ns % 1000));
        while (wanted[size - 1] == '0')
            wanted[--size] = '\0';
        if (wanted[size - 1] == '.')
            wanted[--size] = '\0';
        *put_microseconds(text, ns) = '\0';
        assert_string_equal(text, wanted);
    }
    for (uint64_t value = 1, i = 0; i < 5000; i++, value = value * 3 + i) {
        snprintf(wanted, sizeof wanted, "%llu", (unsigned long long)value);
        *put_decimal(text, value) = '\0';
        assert_string_equal(text, wanted);
        uint64_t ns = value >> 1 >> i % 60; /* of all lengths; never without a fraction */
        ns += ns % 10 ? 0 : 1;
        snprintf(wanted, sizeof wanted, "%llu.%03u", (unsigned long long)ns / 1000,
                 (unsigned)(ns % 1000));
        *put_microseconds(text, (int64_t)ns) = '\0';
        assert_string_equal(text, wanted);
    }
}

/* Whatever comes in whatever order, nothing in a lane overlaps. */
static void lanes_never_overlap(void **state)
{
    (void)state;
    enum { COUNT = 2000, LANES_MAX = COUNT };
    static struct lane placed[COUNT];
    static uint32_t where[COUNT];
    for (int in_order = 0; in_order < 2; in_order++) {
        struct lanes lanes = {0};
        uint32_t seed = 5;
        int64_t start = 0;
        for (size_t i = 0; i < COUNT; i++) {
            seed = seed * 1664525 + 1013904223;
            start = in_order ? start + (seed >> 28) : (int64_t)(seed >> 16) % 10000;
            placed[i] = (struct lane){start, start + (seed >> 8) % 97};
            assert_int_equal(
                lanes_place(&lanes, placed[i].first_ns, placed[i].last_ns, in_order, &where[i]),
                LAM_OK);
            for (size_t k = 0; k < i; k++)
                if (where[k] == where[i] && placed[k].first_ns < placed[i].last_ns &&
                    placed[i].first_ns < placed[k].last_ns)
                    fail_msg("%zu and %zu overlap in lane %u", k, i, where[i]);
        }
        lanes_free(&lanes);
    }
    struct lanes stairs = {0}; /* nothing fits anywhere, and it must not take for ever */
    uint32_t lane;
    for (int64_t i = 0; i < 100000; i++)
        assert_int_equal(lanes_place(&stairs, i, i + 1000000, true, &lane), LAM_OK);
    assert_int_equal(stairs.items.count, 100000);
    lanes_free(&stairs);
}

static void bounds_of_durations(void **state)
{
    (void)state;
    static struct duration_counts counts;
    uint64_t values[3000], seed = 1;
    for (size_t i = 0; i < 3000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        values[i] = i < 10 ? (uint64_t)i : i == 10 ? UINT64_MAX : seed >> (seed >> 58);
        duration_counts_add(&counts, values[i]);
    }
    for (uint64_t most = 0; most <= 3000; most += 7) {
        uint64_t bound = duration_counts_bound(&counts, most), longer = 0;
        for (size_t i = 0; i < 3000; i++)
            longer += values[i] >= bound && bound != UINT64_MAX;
        assert_true(longer <= most);
    }
    assert_int_equal(duration_counts_bound(&counts, 3000), 0);
}

static void threads_share_rows(void **state)
{
    (void)state;
    struct collapse_threads threads = {0};
    struct profile_sink sink = collapse_threads_sink(&threads);
    static const struct {
        uint32_t process, thread;
        int64_t start, end;
        uint32_t row;
    } rows[] = {{1, 1, 0, 10, 1},  {1, 2, 5, 20, 2}, {1, 3, 10, 15, 1}, {1, 4, 20, 30, 2},
                {1, 5, 16, 40, 1}, {2, 6, 0, 5, 6},  {2, 7, 5, 6, 6}};
    enum { COUNT = sizeof rows / sizeof *rows };
    for (size_t i = COUNT; i-- > 0;) {
        struct profile_interval interval = {.process = rows[i].process,
                                            .thread = rows[i].thread,
                                            .start_ns = rows[i].start,
                                            .end_ns = rows[i].end};
        assert_int_equal(sink.ops->interval(sink.ctx, &interval), LAM_OK);
    }
    assert_int_equal(collapse_threads_finish(&threads), LAM_OK);
    for (size_t i = 0; i < COUNT; i++)
        if (threads.rows.items[rows[i].thread] != rows[i].row)
            fail_msg("thread %u has row %u", rows[i].thread, threads.rows.items[rows[i].thread]);
    assert_int_equal(threads.shared, 4);
    collapse_threads_free(&threads);
}

static uint32_t add_path(struct stack_tree *tree, const char *const *names, uint64_t self)
{
    uint32_t node = 0, name;
    for (; *names; names++) {
        assert_int_equal(intern_add_str(&tree->names, *names, &name), LAM_OK);
        assert_int_equal(stack_tree_child(tree, node, name, &node), LAM_OK);
    }
    tree->nodes.items[node].self += self;
    return node;
}

static uint64_t total_of(const struct stack_tree *tree, const char *const *names)
{
    uint32_t node = 0;
    for (; *names; names++) {
        uint64_t child;
        uint32_t name = intern_find_str(&tree->names, *names);
        if (!map_get(&tree->children, (uint64_t)node << 32 | name, &child))
            return 0;
        node = (uint32_t)child;
    }
    return tree->nodes.items[node].total;
}

#define PATH(...) ((const char *const[]){__VA_ARGS__, NULL})

static void trees_add_up_and_turn(void **state)
{
    (void)state;
    struct stack_tree tree = {0}, inverted = {0}, cut = {0};
    add_path(&tree, PATH("p", "main", "f", "g"), 5);
    add_path(&tree, PATH("p", "main", "g"), 7);
    add_path(&tree, PATH("p", "main", "f"), 11);
    add_path(&tree, PATH("p", "main", "f", "g", "f"), 2); /* recursion */
    assert_int_equal(stack_tree_finish(&tree), LAM_OK);
    assert_int_equal(tree.nodes.items[0].total, 25);
    assert_int_equal(total_of(&tree, PATH("p", "main", "f")), 18);
    uint32_t first =
        tree.nodes.items[tree.nodes.items[tree.nodes.items[0].first_child].first_child].first_child;
    assert_string_equal(intern_text(&tree.names, tree.nodes.items[first].name, NULL), "f"); /* sorted */
    assert_int_equal(stack_tree_invert(&tree, 1, 100, &inverted), LAM_OK);
    assert_int_equal(inverted.nodes.items[0].total, 25);
    assert_int_equal(total_of(&inverted, PATH("g")), 12);
    assert_int_equal(total_of(&inverted, PATH("g", "f", "main", "p")), 5);
    assert_int_equal(total_of(&inverted, PATH("f")), 13);
    assert_int_equal(total_of(&inverted, PATH("f", "g", "f", "main", "p")), 2);
    assert_int_equal(stack_tree_invert(&tree, 1, 1, &cut), LAM_OK);
    assert_int_equal(cut.nodes.items[0].total, 25); /* what is not followed stays */
    assert_int_equal(total_of(&cut, PATH("g", "f")), 0);
    stack_tree_free(&tree);
    stack_tree_free(&inverted);
    stack_tree_free(&cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(lanes_never_overlap),
        cmocka_unit_test(bounds_of_durations),
        cmocka_unit_test(threads_share_rows),
        cmocka_unit_test(trees_add_up_and_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
