#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>

struct run {
    unsigned char *seen;
    atomic_size_t calls;
    unsigned workers;
    size_t fails_at; /* SIZE_MAX: never */
};

static int mark(void *ctx, size_t item, unsigned worker)
{
    struct run *run = ctx;
    run->seen[item]++;
    atomic_fetch_add(&run->calls, 1);
    if (worker >= run->workers)
        return LAM_E_INVAL;
    if (item >= run->fails_at)
        return item == run->fails_at ? LAM_E_CORRUPT : LAM_E_IO;
    return LAM_OK;
}

static void each_item_once(void **state)
{
    enum { ITEMS = 20000 };
    static unsigned char seen[ITEMS];
    (void)state;
    for (unsigned threads = 0; threads <= 8; threads++) {
        struct pool *pool = NULL;
        assert_int_equal(pool_open(&pool, threads, NULL), LAM_OK);
        assert_true(pool_threads(pool) >= 1);
        for (size_t count = 0; count <= ITEMS; count = count * 9 + 1) {
            struct run run = {.seen = seen, .workers = pool_threads(pool), .fails_at = SIZE_MAX};
            for (size_t i = 0; i < ITEMS; i++)
                seen[i] = 0;
            assert_int_equal(pool_run(pool, count, mark, &run), LAM_OK);
            for (size_t i = 0; i < ITEMS; i++)
                assert_int_equal(seen[i], i < count);
        }
        pool_close(&pool);
        assert_null(pool);
    }
}

static void lowest_failure(void **state)
{
    enum { ITEMS = 5000 };
    static unsigned char seen[ITEMS];
    struct pool *pool = NULL;
    (void)state;
    assert_int_equal(pool_open(&pool, 4, NULL), LAM_OK);
    for (int round = 0; round < 50; round++) {
        struct run run = {.seen = seen, .workers = 4, .fails_at = (size_t)round * 7};
        assert_int_equal(pool_run(pool, ITEMS, mark, &run), LAM_E_CORRUPT);
        assert_true(atomic_load(&run.calls) >= run.fails_at + 1);
        run.fails_at = SIZE_MAX; /* it works again afterwards */
        assert_int_equal(pool_run(pool, 10, mark, &run), LAM_OK);
    }
    struct run run = {.seen = seen, .workers = 1, .fails_at = 3};
    assert_int_equal(pool_run(NULL, ITEMS, mark, &run), LAM_E_CORRUPT);
    assert_int_equal(atomic_load(&run.calls), 4);
    assert_int_equal(pool_threads(NULL), 1);
    pool_close(&pool);
    pool_close(&pool);
    pool_close(NULL);
}

static void threads_by_environment(void **state)
{
    (void)state;
    const struct {
        const char *text;
        unsigned threads; /* 0: as without */
    } rows[] = {{"1", 1}, {"3", 3}, {"0", 0}, {"x", 0}, {"", 0}, {"-1", 0}, {"99999999999", 32}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pool *plain, *pool;
        unsetenv("LAMELLA_THREADS");
        assert_int_equal(pool_open(&plain, 0, NULL), LAM_OK);
        setenv("LAMELLA_THREADS", rows[i].text, 1);
        assert_int_equal(pool_open(&pool, 0, NULL), LAM_OK);
        assert_int_equal(pool_threads(pool), rows[i].threads ? rows[i].threads : pool_threads(plain));
        assert_int_equal(pool_wrong_threads() != NULL, !rows[i].threads && rows[i].text[0]);
        pool_close(&pool);
        pool_close(&plain);
    }
    unsetenv("LAMELLA_THREADS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_once),
        cmocka_unit_test(lowest_failure),
        cmocka_unit_test(threads_by_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
