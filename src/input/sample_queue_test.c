#include "input/sample_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/error.h"

static int on_sample_path(void *ctx, const struct profile_sample_path *in)
{
    uint64_t *sum = ctx;
    assert_int_equal(in->path, 0);
    *sum = *sum * 10 + in->sample.cpu_ns;
    return LAM_OK;
}

static void test_each_sample_once(void **state)
{
    (void)state;
    struct sample_queue queue = {0};
    assert_null(sample_queue_take(&queue, 1, INT64_MAX));
    for (uint32_t i = 1; i <= 6; i++) { /* threads 1, 1, 1, 2, 2, 2 */
        struct profile_sample sample = {.thread = i > 3 ? 2 : 1, .at_ns = i * 10, .cpu_ns = i};
        assert_int_equal(sample_queue_add(&queue, &sample), LAM_OK);
    }
    assert_null(sample_queue_take(&queue, 1, 10)); /* not before 10 */
    assert_int_equal(sample_queue_take(&queue, 1, 11)->cpu_ns, 1);
    assert_null(sample_queue_take(&queue, 1, 20));
    assert_int_equal(sample_queue_take(&queue, 2, 100)->cpu_ns, 4);
    assert_null(sample_queue_take(&queue, 3, INT64_MAX));
    static const struct profile_sink_ops ops = {.sample_path = on_sample_path};
    uint64_t sum = 0;
    struct profile_sink sink = {.ctx = &sum, .ops = &ops};
    assert_int_equal(sample_queue_push_rest(&queue, &sink), LAM_OK);
    assert_int_equal(sum, 2356);
    assert_int_equal(sample_queue_push_rest(&queue, &sink), LAM_OK);
    assert_int_equal(sum, 2356);
    sample_queue_free(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_sample_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
