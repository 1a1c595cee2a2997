#include "input/profdata_sums.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/map.h"
#include "input/profdata_heard_test.h"
#include "input/profdata_make_test.h"
#include "input/profdata_tally_test.h"

static uint64_t seed;

static uint64_t any(uint64_t below)
{
    seed = hash_u64(seed + 0x9e3779b97f4a7c15);
    return (seed >> 20) % below;
}

enum { THREADS = 3, NAMES = 6 };

/* What a program of several threads writes: intervals within intervals, each when it ends, empty ones, instants and integers
 * among them; now and then one that overlaps. */
static void make_nested(struct made *made, size_t events, unsigned overlaps_of_thousand)
{
    static const char *const texts[NAMES] = {"a", "b", "c", "d", "e\x1ekey", "f\x1eone\x1etwo"};
    uint64_t kinds[2], names[NAMES], open[THREADS][64];
    unsigned depth[THREADS] = {0};
    uint64_t now = 0;
    made_begin(made, 9);
    made_metadata(made);
    kinds[0] = made_text(made, "Query");
    kinds[1] = made_text(made, "GenericActivity");
    for (size_t i = 0; i < NAMES; i++)
        names[i] = made_text(made, texts[i]);
    made_map(made, 3, names[1]);
    names[0] = 3; /* two ids of one name */
    for (size_t i = 0; i < events;) {
        uint32_t thread = (uint32_t)any(THREADS);
        uint64_t kind = kinds[any(2)], name = names[any(NAMES)];
        now += any(3);
        if (depth[thread] < 64 && any(100) < 48) {
            open[thread][depth[thread]++] = now;
        } else if (depth[thread] && any(100) < 80) {
            uint64_t start = open[thread][--depth[thread]];
            if (any(1000) < overlaps_of_thousand && start > 4)
                start -= any(4);
            made_event(made, kind, name, thread, start, now);
            i++;
        } else {
            uint64_t end = any(3) == 0 ? now : any(2) ? PROFDATA_INSTANT : PROFDATA_INTEGER;
            made_event(made, kind, name, thread, now, end);
            i++;
        }
    }
}

/* How many sizes of chunks could be used for sums, and of parts for branches (both orders); -1 when something did not agree. *straight:
 * whether sums could be made in one go. */
static int check(struct made *made, struct pool *pool, int *in_parts, bool *straight)
{
    static const uint64_t sizes[] = {1, 2, 7, 64, 500};
    struct profdata_file file;
    const struct strbuf *bytes = made_file(made, 777);
    assert_int_equal(profdata_open_memory(&file, bytes->data, bytes->length, "made", NULL), LAM_OK);
    int used = tally_check(&file, pool, sizes, sizeof sizes / sizeof *sizes, straight);
    *in_parts = heard_check(&file, pool, sizes, sizeof sizes / sizeof *sizes);
    used = *in_parts < 0 ? -1 : used;
    profdata_close(&file);
    return used;
}

static void one_walk_and_many_agree(void **state)
{
    (void)state;
    struct pool *pool;
    assert_int_equal(pool_open(&pool, 3, NULL), LAM_OK);
    assert_true(pool_threads(pool) > 1);
    for (seed = 1; seed < 60; seed++) {
        struct made made;
        uint64_t before = seed;
        make_nested(&made, 2 + any(1500), 0);
        int in_parts;
        bool straight = false;
        int used = check(&made, pool, &in_parts, &straight);
        if (used < 1 || in_parts < 1 || !straight)
            fail_msg("seed %llu: %d, %d", (unsigned long long)before, used, in_parts);
        seed = before;
        made_free(&made);
    }
    pool_close(&pool);
}

/* Who holds whom depends on what overlaps elsewhere: many walks must leave it to one. */
static void overlaps_are_left_to_one(void **state)
{
    (void)state;
    struct pool *pool;
    int used = 0, told = 0, tried = 0, straight = 0;
    assert_int_equal(pool_open(&pool, 2, NULL), LAM_OK);
    for (uint64_t i = 1; i < 60; i++, tried++) {
        struct made made;
        seed = i << 8;
        make_nested(&made, 300 + any(900), 5);
        int in_parts;
        bool is_straight = false;
        int found = check(&made, pool, &in_parts, &is_straight);
        if (found < 0)
            fail_msg("seed %llu", (unsigned long long)i);
        used += found > 0;
        told += in_parts > 0;
        straight += is_straight;
        made_free(&made);
    }
    assert_true(used < tried && told < tried && straight < tried);
    pool_close(&pool);
}

/* Noise: more threads than are told apart. Which ones are does not depend on who looks. */
static void many_threads_are_cut_the_same_way(void **state)
{
    (void)state;
    enum { EVENTS = 100000 };
    struct made made;
    struct profdata_file file;
    made_begin(&made, 9);
    uint64_t kind = made_text(&made, "Query"), name = made_text(&made, "a");
    for (uint32_t i = 0; i < EVENTS; i++)
        made_event(&made, kind, name, i, i, i + 1);
    const struct strbuf *bytes = made_file(&made, 77777);
    assert_int_equal(profdata_open_memory(&file, bytes->data, bytes->length, "made", NULL), LAM_OK);
    uint64_t count = 0, left_out = 0;
    for (unsigned workers = 1; workers <= 7; workers += 3) {
        struct pool *pool;
        struct profdata_threads threads;
        struct profdata_skeleton skeleton = {.chunk_events = 0};
        assert_int_equal(pool_open(&pool, workers, NULL), LAM_OK);
        assert_int_equal(profdata_look(&file, pool, &threads, &skeleton), LAM_OK);
        count = workers == 1 ? threads.items.count : count;
        left_out = workers == 1 ? threads.left_out : left_out;
        assert_int_equal(threads.items.count, count);
        assert_int_equal(threads.left_out, left_out);
        profdata_threads_free(&threads);
        profdata_skeleton_free(&skeleton);
        pool_close(&pool);
    }
    assert_in_range(left_out, 1, EVENTS - 1);
    profdata_close(&file);
    made_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_walk_and_many_agree),
        cmocka_unit_test(overlaps_are_left_to_one),
        cmocka_unit_test(many_threads_are_cut_the_same_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
