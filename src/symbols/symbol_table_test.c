#include "symbols/symbol_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/memory.h"

static void add(struct symbol_table *table, const char *name, uint64_t start, uint64_t end)
{
    assert_int_equal(
        symbol_table_add(table, (struct symbol){.name = name, .start = start, .end = end}), LAM_OK);
}

static void add_open(struct symbol_table *table, const char *name, uint64_t start, uint64_t limit,
                     bool is_label)
{
    struct symbol symbol = {
        .name = name, .start = start, .end = limit, .is_open = true, .is_label = is_label};
    assert_int_equal(symbol_table_add(table, symbol), LAM_OK);
}

/* The name at an address, "-" between symbols. */
static const char *at(const struct symbol_table *table, uint64_t address)
{
    const struct symbol_range *range = symbol_table_find(table, address);
    return range ? table->symbols.items[range->symbol].name : "-";
}

static void gaps_stay_gaps(void **state)
{
    (void)state;
    struct symbol_table table = {0};
    assert_int_equal(symbol_table_finish(&table), LAM_OK);
    assert_string_equal(at(&table, 0), "-");
    add(&table, "b", 20, 30);
    add(&table, "a", 0, 10);
    add(&table, "nothing", 5, 5);
    assert_int_equal(symbol_table_finish(&table), LAM_OK);
    assert_string_equal(at(&table, 0), "a");
    assert_string_equal(at(&table, 9), "a");
    assert_string_equal(at(&table, 10), "-");
    assert_string_equal(at(&table, 19), "-");
    assert_string_equal(at(&table, 20), "b");
    assert_string_equal(at(&table, 30), "-");
    assert_string_equal(at(&table, UINT64_MAX), "-");
    symbol_table_free(&table);
}

static void the_innermost_counts(void **state)
{
    (void)state;
    struct symbol_table table = {0};
    add(&table, "outer", 0, 100);
    add(&table, "inner", 10, 20);
    add(&table, "across", 90, 110);
    add(&table, "last", 110, UINT64_MAX);
    assert_int_equal(symbol_table_finish(&table), LAM_OK);
    assert_string_equal(at(&table, 9), "outer");
    assert_string_equal(at(&table, 10), "inner");
    assert_string_equal(at(&table, 20), "outer");
    assert_string_equal(at(&table, 95), "across");
    assert_string_equal(at(&table, 105), "across");
    assert_string_equal(at(&table, 110), "last");
    symbol_table_free(&table);
}

static void one_name_a_place(void **state)
{
    (void)state;
    struct symbol_table table = {0};
    struct symbol names[] = {
        {.name = "local", .start = 0, .end = 8, .rank = 2},
        {.name = "weak", .start = 0, .end = 8, .rank = 1},
        {.name = "zz", .start = 0, .end = 8},
        {.name = "longer", .start = 0, .end = 8},
        {.name = "aa", .start = 0, .end = 8},
        {.name = "without_size", .start = 0, .end = 100, .is_open = true},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(symbol_table_add(&table, names[i]), LAM_OK);
    assert_int_equal(symbol_table_finish(&table), LAM_OK);
    assert_int_equal(table.ranges.count, 1);
    assert_string_equal(at(&table, 7), "aa");
    assert_string_equal(at(&table, 8), "-");
    symbol_table_free(&table);
}

static void symbols_without_size_reach_to_the_next(void **state)
{
    (void)state;
    struct symbol_table table = {0};
    add_open(&table, "start", 0, 50, false);
    add(&table, "sized", 10, 20);
    add_open(&table, "label_inside", 12, 50, true);
    add_open(&table, "entry_inside", 15, 50, false);
    add_open(&table, "label", 30, 50, true);
    add(&table, "behind_the_section", 60, 70);
    assert_int_equal(symbol_table_finish(&table), LAM_OK);
    assert_string_equal(at(&table, 9), "start");
    assert_string_equal(at(&table, 13), "sized");
    assert_string_equal(at(&table, 15), "entry_inside");
    assert_string_equal(at(&table, 19), "entry_inside");
    assert_string_equal(at(&table, 20), "-");
    assert_string_equal(at(&table, 30), "label");
    assert_string_equal(at(&table, 49), "label");
    assert_string_equal(at(&table, 50), "-");
    symbol_table_free(&table);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* The same symbols in any order give the same ranges, and each address has the symbol that a plain
 * search finds. */
static void agrees_with_a_plain_search(void **state)
{
    (void)state;
    enum { SYMBOLS = 60, SPACE = 200 };
    uint32_t seed = 1;
    for (int round = 0; round < 200; round++) {
        struct symbol_table table = {0};
        struct symbol symbols[SYMBOLS];
        char names[SYMBOLS][8];
        for (int i = 0; i < SYMBOLS; i++) {
            snprintf(names[i], sizeof names[i], "n%02d", i);
            uint64_t start = (uint64_t)(next_random(&seed) % SPACE);
            symbols[i] = (struct symbol){.name = names[i],
                                         .start = start,
                                         .end = start + 1 + (uint64_t)(next_random(&seed) % 30)};
            assert_int_equal(symbol_table_add(&table, symbols[i]), LAM_OK);
        }
        assert_int_equal(symbol_table_finish(&table), LAM_OK);
        for (uint64_t address = 0; address < SPACE + 40; address++) {
            const struct symbol *best = NULL;
            for (int i = 0; i < SYMBOLS; i++) {
                const struct symbol *s = &symbols[i];
                if (address < s->start || address >= s->end)
                    continue;
                if (!best || s->start > best->start ||
                    (s->start == best->start && s->end < best->end))
                    best = s;
            }
            assert_string_equal(at(&table, address), best ? best->name : "-");
        }
        for (size_t i = 1; i < table.ranges.count; i++)
            assert_true(table.ranges.items[i].start >= table.ranges.items[i - 1].end);
        symbol_table_free(&table);
    }
}

static void survives_refusals(void **state)
{
    (void)state;
    for (uint64_t after = 0; after < 12; after++) {
        struct symbol_table table = {0};
        int rc = LAM_OK;
        mem_fail_after(after);
        for (uint64_t i = 0; i < 40 && rc == LAM_OK; i++)
            rc = symbol_table_add(&table,
                                  (struct symbol){.name = "x", .start = i * 2, .end = 200 - i});
        if (rc == LAM_OK)
            rc = symbol_table_finish(&table);
        bool refused = mem_fail_count() > 0;
        mem_fail_after(UINT64_MAX);
        assert_int_equal(rc, refused ? LAM_E_NOMEM : LAM_OK);
        symbol_table_free(&table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_stay_gaps),
        cmocka_unit_test(the_innermost_counts),
        cmocka_unit_test(one_name_a_place),
        cmocka_unit_test(symbols_without_size_reach_to_the_next),
        cmocka_unit_test(agrees_with_a_plain_search),
        cmocka_unit_test(survives_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
