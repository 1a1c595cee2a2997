#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/core_demand.h"
#include "base/error.h"

/* Two threads of which one waits as long as it runs: 1 from 0 to 4 s, 2 more from 2 to 3 s. */
static void means_by_hand(void **unused)
{
    (void)unused;
    static const struct {
        int64_t start_s, end_s;
        double mean;
    } rows[] = {
        {0, 4, 1.5},  {0, 2, 1}, {2, 3, 3}, {1, 3, 2}, {-2, 2, 0.5},
        {3, 7, 0.25}, {5, 6, 0}, {2, 2, 0}, {3, 2, 0},
    };
    struct core_demand demand = {0};
    assert_true(core_demand_mean(&demand, 0, 1) == 0);
    assert_int_equal(core_demand_add(&demand, 2000000000, 3000000000, 2), LAM_OK);
    assert_int_equal(core_demand_add(&demand, 0, 4000000000, 1), LAM_OK);
    core_demand_sort(&demand);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double mean =
            core_demand_mean(&demand, rows[i].start_s * 1000000000, rows[i].end_s * 1000000000);
        if (fabs(mean - rows[i].mean) > 1e-9)
            fail_msg("row %zu: %f, wanted %f", i, mean, rows[i].mean);
    }
    core_demand_free(&demand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(means_by_hand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
