#include "analysis/macro_costs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

/* The bucket of a sample whose innermost frame lies in a file. */
static uint32_t bucket_in(struct classifier *cls, const char *path, const char *name)
{
    struct classifier_name text = {name, strlen(name)};
    uint32_t module, frame_class, state, bucket;
    assert_int_equal(classifier_module(cls, path, strlen(path), &module), LAM_OK);
    assert_int_equal(classifier_frame(cls, module, &text, 1, &frame_class), LAM_OK);
    assert_int_equal(classifier_push(cls, 0, frame_class, &state), LAM_OK);
    assert_int_equal(classifier_decide(cls, state, 0, &bucket), LAM_OK);
    return bucket;
}

static void push_cell(struct report *report, uint32_t process, uint32_t bucket, uint64_t ms)
{
    struct report_cell cell = {
        .process = process, .bucket = bucket, .amount = {.samples = ms, .cpu_ns = ms * MS}};
    assert_int_equal(array_push(&report->cells, cell), LAM_OK);
}

static bool only_first(void *ctx, uint32_t process)
{
    (void)ctx;
    return process == 0;
}

static void costs_are_by_crate_and_unit(void **unused)
{
    (void)unused;
    struct report report = {0};
    assert_int_equal(classifier_open(&report.cls, NULL, NULL), LAM_OK);
    uint32_t serde =
        bucket_in(report.cls, "/w/target/debug/deps/libserde_derive-0123456789abcdef.so", "f");
    uint32_t other = bucket_in(report.cls, "/w/target/debug/deps/libother-0123456789abcdef.so", "g");
    uint32_t parse = bucket_in(report.cls, "/t/lib/librustc_driver-1.so", "rustc_parse::parse");
    push_cell(&report, 0, serde, 10);
    push_cell(&report, 0, serde, 5); /* another thread */
    push_cell(&report, 0, parse, 100);
    push_cell(&report, 1, serde, 20);
    push_cell(&report, 1, other, 3);
    struct report_wait_cell wait = {.process = 1, .bucket = other, .count = 2, .ns = 7 * MS};
    assert_int_equal(array_push(&report.wait_cells, wait), LAM_OK);

    struct macro_costs costs;
    assert_int_equal(macro_costs_make(&report, NULL, NULL, &costs), LAM_OK);
    assert_int_equal(costs.crates.count, 2);
    const struct macro_cost *first = &costs.crates.items[0], *second = &costs.crates.items[1];
    assert_string_equal(first->crate, "serde_derive");
    assert_int_equal(first->cpu_ns, 35 * MS);
    assert_int_equal(first->use_count, 2);
    assert_int_equal(costs.uses.items[first->first_use].process, 1); /* the dearest */
    assert_int_equal(costs.uses.items[first->first_use + 1].cpu_ns, 15 * MS);
    assert_string_equal(second->crate, "other");
    assert_int_equal(second->waits, 2);
    assert_int_equal(second->wait_ns, 7 * MS);
    macro_costs_free(&costs);

    assert_int_equal(macro_costs_make(&report, only_first, NULL, &costs), LAM_OK);
    assert_int_equal(costs.crates.count, 1);
    assert_int_equal(costs.crates.items[0].cpu_ns, 15 * MS);
    macro_costs_free(&costs);
    array_free(&report.cells);
    array_free(&report.wait_cells);
    classifier_close(&report.cls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(costs_are_by_crate_and_unit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
