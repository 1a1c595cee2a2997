#include "analysis/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/aggregate.h"
#include "analysis/unit_class.h"

static struct profile_text text_of(const char *text)
{
    return (struct profile_text){text, strlen(text)};
}

/* ---- statistics -------------------------------------------------------------------------------------------------- */

static void medians(void **state)
{
    (void)state;
    double odd[] = {5, 1, 9}, even[] = {4, 1, 3, 2};
    assert_true(compare_median(odd, 3) == 5);
    assert_true(compare_median(even, 4) == 2.5);
    assert_true(isnan(compare_median(odd, 0)));
}

static void luck(void **state)
{
    (void)state;
    static const struct {
        size_t before, after;
        double luck;
    } rows[] = {{1, 1, 1},        {2, 2, 2.0 / 6},   {3, 3, 2.0 / 20},
                {4, 4, 2.0 / 70}, {2, 10, 2.0 / 66}, {1000, 1000, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (fabs(compare_luck(rows[i].before, rows[i].after) - rows[i].luck) > 1e-12)
            fail_msg("row %zu: %g", i, compare_luck(rows[i].before, rows[i].after));
}

static void bootstrap(void **state)
{
    (void)state;
    const double low[] = {1.00, 1.01, 0.99, 1.02, 0.98}, high[] = {1.10, 1.11, 1.09, 1.12, 1.08};
    struct compare_interval apart = compare_bootstrap(low, 5, high, 5, 1),
                            again = compare_bootstrap(low, 5, high, 5, 1),
                            same = compare_bootstrap(low, 5, low, 5, 1);
    assert_true(apart.low > 0.05 && apart.high < 0.15 && apart.low < 0.1 && apart.high > 0.1);
    assert_true(apart.low == again.low && apart.high == again.high);
    assert_true(same.low <= 0 && same.high >= 0);
    const double one[] = {3};
    struct compare_interval single = compare_bootstrap(one, 1, one, 1, 7);
    assert_true(single.low == 0 && single.high == 0);
    /* More runs than are resampled. */
    double many[300];
    for (size_t i = 0; i < 300; i++)
        many[i] = (double)(i * 37 % 300);
    struct compare_interval wide = compare_bootstrap(many, 300, many, 300, 3);
    assert_true(wide.low < 0 && wide.high > 0 && wide.low > -150 && wide.high < 150);
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

static void add_run(struct run_matrix *matrix, uint32_t side, double a, double b)
{
    struct run_values values = run_values_none();
    assert_int_equal(run_matrix_begin(matrix, "run", side), LAM_OK);
    array_last(&matrix->runs).has_events = true;
    values.of[RUN_COUNT] = 10;
    const struct {
        const char *key;
        double self;
    } rows[] = {{"a", a}, {"b", b}};
    for (size_t i = 0; i < 2; i++) {
        values.of[RUN_SELF] = rows[i].self;
        if (rows[i].self >= 0)
            assert_int_equal(
                run_matrix_add(matrix, RUN_LABELS, text_of("Query"), text_of(rows[i].key), &values),
                LAM_OK);
    }
    values = run_values_none();
    values.of[RUN_SELF] = (a > 0 ? a : 0) + (b > 0 ? b : 0);
    assert_int_equal(
        run_matrix_add(matrix, RUN_TOTALS, text_of(""), text_of(run_total_labels), &values), LAM_OK);
}

static const struct compare_row *find(const struct compare *compare, const char *key)
{
    array_each(
        &compare->rows[RUN_LABELS],
        row) if (strcmp(run_matrix_text(compare->matrix, compare->matrix->rows.items[row->row].key),
                        key) == 0) return row;
    fail_msg("no row %s", key);
    return NULL;
}

static void without_repeats(void **state)
{
    (void)state;
    struct run_matrix matrix = {0};
    struct compare compare;
    struct lam_error err = LAM_ERROR_INIT;
    add_run(&matrix, 0, 1, 2);
    add_run(&matrix, 1, 3, 2);
    assert_int_equal(compare_make(&compare, &matrix, &(struct compare_options){0}, &err), LAM_OK);
    assert_false(compare.has_repeats);
    assert_int_equal(find(&compare, "a")->verdict, COMPARE_UNKNOWN);
    assert_int_equal(find(&compare, "b")->verdict, COMPARE_SAME);
    assert_true(find(&compare, "a")->change == 2 && find(&compare, "a")->share == 2);
    assert_ptr_equal(find(&compare, "a"), compare.rows[RUN_LABELS].items); /* largest effect first */
    assert_true(compare.judged->change == 2);
    compare_free(&compare);
    run_matrix_free(&matrix);
}

static void with_repeats(void **state)
{
    (void)state;
    for (unsigned runs = 3; runs <= 4; runs++) {
        struct run_matrix matrix = {0};
        struct compare compare;
        struct lam_error err = LAM_ERROR_INIT;
        for (unsigned i = 0; i < runs; i++)
            add_run(&matrix, 0, 1 + 0.01 * i, 1 + 0.1 * i);
        for (unsigned i = 0; i < runs; i++)
            add_run(&matrix, 1, 2 + 0.01 * i, 1.05 + 0.1 * i);
        assert_int_equal(compare_make(&compare, &matrix, &(struct compare_options){0}, &err), LAM_OK);
        assert_int_equal(find(&compare, "a")->verdict,
                         runs == 3 ? COMPARE_LIKELY_INCREASE : COMPARE_INCREASE);
        assert_int_equal(find(&compare, "b")->verdict, COMPARE_NOISE);
        assert_true(fabs(find(&compare, "a")->change - 1) < 1e-9);
        compare_free(&compare);
        run_matrix_free(&matrix);
    }
}

/* A label that a run lacks took no time in it. */
static void gone_and_new(void **state)
{
    (void)state;
    struct run_matrix matrix = {0};
    struct compare compare;
    struct lam_error err = LAM_ERROR_INIT;
    for (unsigned i = 0; i < 4; i++)
        add_run(&matrix, 0, 1, -1);
    for (unsigned i = 0; i < 4; i++)
        add_run(&matrix, 1, -1, 1);
    assert_int_equal(compare_make(&compare, &matrix, &(struct compare_options){0}, &err), LAM_OK);
    assert_int_equal(find(&compare, "a")->verdict, COMPARE_DECREASE);
    assert_int_equal(find(&compare, "b")->verdict, COMPARE_INCREASE);
    assert_true(find(&compare, "a")->share == -1);
    assert_true(isnan(find(&compare, "b")->share));
    assert_int_equal(compare.judged->verdict, COMPARE_SAME);
    compare_free(&compare);
    run_matrix_free(&matrix);
}

static void excluded(void **state)
{
    (void)state;
    struct run_matrix matrix = {0};
    struct compare compare;
    struct lam_error err = LAM_ERROR_INIT;
    const char *exclude[] = {"a*"};
    add_run(&matrix, 0, 1, 2);
    add_run(&matrix, 1, 30, 3);
    assert_int_equal(compare_make(&compare, &matrix,
                                  &(struct compare_options){.exclude = exclude, .exclude_count = 1},
                                  &err),
                     LAM_OK);
    assert_int_equal(compare.rows[RUN_LABELS].count, 1);
    assert_true(fabs(compare.judged->change - 1) < 1e-9);
    compare_free(&compare);
    run_matrix_free(&matrix);
}

static void unlike_measures(void **state)
{
    (void)state;
    struct run_matrix matrix = {0};
    struct compare compare;
    struct aggregate aggregate;
    struct lam_error err = LAM_ERROR_INIT;
    add_run(&matrix, 0, 1, 2);
    add_run(&matrix, 1, 1, 2);
    matrix.runs.items[1].measure = PROFILE_MEASURE_INSTRUCTIONS;
    assert_int_equal(compare_make(&compare, &matrix, &(struct compare_options){0}, &err),
                     LAM_E_INVAL);
    compare_free(&compare);
    assert_int_equal(aggregate_make(&aggregate, &matrix, &(struct aggregate_options){0}, &err),
                     LAM_E_INVAL);
    aggregate_free(&aggregate);
    run_matrix_free(&matrix);
}

/* ---- recordings -------------------------------------------------------------------------------------------------- */

static void add_unit(struct run_matrix *matrix, const char *crate, const char *version,
                     const char *opt_level, double cpu_s)
{
    struct unit unit = {
        .kind = UNIT_RUSTC, .crate = crate, .version = version, .opt_level = opt_level};
    const char *parts[UNIT_CLASS_PARTS];
    char title[64];
    struct run_values values = run_values_none();
    values.of[RUN_SELF] = cpu_s;
    unit_class_of(&unit, parts);
    snprintf(title, sizeof title, "%s %s", crate, version);
    assert_int_equal(run_matrix_add_unit(matrix, parts, title, &values), LAM_OK);
}

static void begin_recording(struct run_matrix *matrix, uint32_t side)
{
    assert_int_equal(run_matrix_begin(matrix, side ? "new" : "old", side), LAM_OK);
    array_last(&matrix->runs).has_samples = true;
    array_last(&matrix->runs).has_phases = true;
}

static double change_of(const struct compare *compare, enum run_section section, const char *key)
{
    array_each(&compare->rows[section], row)
    {
        uint32_t text = compare->matrix->rows.items[row->row].key;
        if (strcmp(run_matrix_text(compare->matrix, text), key) == 0)
            return row->change;
    }
    fail_msg("no row %s", key);
    return 0;
}

static void units_are_matched_by_class(void **state)
{
    (void)state;
    struct run_matrix matrix = {0};
    struct compare compare;
    struct lam_error err = LAM_ERROR_INIT;
    for (int repeat = 0; repeat < 2; repeat++) {
        begin_recording(&matrix, COMPARE_BEFORE);
        add_unit(&matrix, "same", "1.0", "0", 1);
        add_unit(&matrix, "serde", "1.0", "0", 2);
        add_unit(&matrix, "two", "1.0", "0", 3);
        add_unit(&matrix, "two", "2.0", "0", 4);
        add_unit(&matrix, "gone", "1.0", "0", 5);
        add_unit(&matrix, "both", "1.0", "0", 6);
        add_unit(&matrix, "both", "2.0", "0", 6);
    }
    for (int repeat = 0; repeat < 2; repeat++) {
        begin_recording(&matrix, COMPARE_AFTER);
        add_unit(&matrix, "same", "1.0", "0", 2);
        add_unit(&matrix, "serde", "1.1", "3", 4);
        add_unit(&matrix, "two", "3.0", "0", 7); /* which of the two was it? */
        add_unit(&matrix, "fresh", "1.0", "0", 8);
        add_unit(&matrix, "both", "1.0", "0", 7);
        add_unit(&matrix, "both", "3.0", "0", 9);
    }
    assert_int_equal(compare_make(&compare, &matrix, &(struct compare_options){0}, &err), LAM_OK);
    assert_true(change_of(&compare, RUN_UNITS, "same 1.0") == 1);
    assert_true(change_of(&compare, RUN_UNITS, "serde 1.0 → serde 1.1 (other version, opt_level)") ==
                2);
    assert_true(change_of(&compare, RUN_UNITS, "two 1.0") == -3);
    assert_true(change_of(&compare, RUN_UNITS, "two 2.0") == -4);
    assert_true(change_of(&compare, RUN_UNITS, "two 3.0") == 7);
    assert_true(change_of(&compare, RUN_UNITS, "gone 1.0") == -5);
    assert_true(change_of(&compare, RUN_UNITS, "fresh 1.0") == 8);
    assert_true(change_of(&compare, RUN_UNITS, "both 1.0") == 1);
    assert_true(change_of(&compare, RUN_UNITS, "both 2.0 → both 3.0 (other version)") == 3);
    assert_int_equal(compare.rows[RUN_UNITS].count, 9);
    compare_free(&compare);
    run_matrix_free(&matrix);
}

static void add_part(struct run_matrix *matrix, enum run_section section, const char *key,
                     double cpu_s)
{
    struct run_values values = run_values_none();
    values.of[RUN_SELF] = cpu_s;
    assert_int_equal(run_matrix_add(matrix, section, text_of(""), text_of(key), &values), LAM_OK);
}

static void feed_phases(struct run_matrix *matrix)
{
    for (uint32_t side = 0; side < COMPARE_SIDES; side++) {
        begin_recording(matrix, side);
        add_part(matrix, RUN_TOTALS, run_total_phases, 10 + side * 3);
        add_part(matrix, RUN_SEGMENTS, "frontend", 6 + side);
        add_part(matrix, RUN_PHASES, "frontend / parse", 2);
        add_part(matrix, RUN_PHASES, "frontend / type_check", 4 + side);
        add_part(matrix, RUN_SEGMENTS, "backend", 4 + side * 2);
        add_part(matrix, RUN_PHASES, "backend / optimize", 4 + side * 2);
    }
}

static void what_is_left_out_leaves_segments_too(void **state)
{
    (void)state;
    static const char *const globs[] = {"* / type_check"}, *const segments[] = {"backend"};
    struct compare compare;
    struct lam_error err = LAM_ERROR_INIT;
    struct run_matrix matrix = {0};
    feed_phases(&matrix);
    struct compare_options options = {.exclude = globs, .exclude_count = 1};
    assert_int_equal(compare_make(&compare, &matrix, &options, &err), LAM_OK);
    assert_true(change_of(&compare, RUN_SEGMENTS, "frontend") == 0);
    assert_true(change_of(&compare, RUN_TOTALS, run_total_phases) == 2);
    compare_free(&compare);
    run_matrix_free(&matrix);
    matrix = (struct run_matrix){0};
    feed_phases(&matrix);
    options.exclude = segments;
    assert_int_equal(compare_make(&compare, &matrix, &options, &err), LAM_OK);
    assert_int_equal(compare.rows[RUN_SEGMENTS].count, 1);
    assert_int_equal(compare.rows[RUN_PHASES].count, 2);
    assert_true(change_of(&compare, RUN_TOTALS, run_total_phases) == 1);
    compare_free(&compare);
    run_matrix_free(&matrix);
}

static void samples_and_events_are_two_things(void **state)
{
    (void)state;
    struct run_matrix matrix = {0};
    struct compare compare;
    struct lam_error err = LAM_ERROR_INIT;
    begin_recording(&matrix, COMPARE_BEFORE);
    add_run(&matrix, COMPARE_AFTER, 1, 2);
    assert_int_equal(compare_make(&compare, &matrix, &(struct compare_options){0}, &err),
                     LAM_E_INVAL);
    assert_non_null(strstr(err.msg, "old is a recording of samples, run holds the events"));
    compare_free(&compare);
    matrix.runs.items[1].has_samples = true; /* both: its samples can be compared, its events cannot */
    matrix.runs.items[1].has_phases = true;
    err = (struct lam_error)LAM_ERROR_INIT;
    assert_int_equal(compare_make(&compare, &matrix, &(struct compare_options){0}, &err), LAM_OK);
    assert_int_equal(compare.rows[RUN_LABELS].count, 0);
    assert_false(run_matrix_has_section(&matrix, RUN_LABELS));
    assert_true(run_matrix_has_section(&matrix, RUN_PHASES));
    compare_free(&compare);
    run_matrix_free(&matrix);
}

/* ---- stored reports ---------------------------------------------------------------------------------------------- */

static const char stored[] =
    "{\"format\": \"lamella-report\", \"version\": 1, \"session\": {\"elapsed_s\": null},"
    "\"coverage\": {\"sampled_cpu_s\": 0, \"process_cpu_s\": null}, \"phases\": [],"
    "\"units\": [{\"unit\": \"x\", \"cpu_s\": null}],"
    "\"intervals\": {\"measure\": \"time\", \"self_s\": 1.5, \"self_units\": null},"
    "\"activities\": ["
    "{\"unit\": \"x\", \"kind\": \"Query\", \"label\": \"a\", \"self_s\": 0.5, \"self_units\": "
    "null,"
    "\"count\": 3, \"cache_hits\": 7, \"nested\": [{\"label\": \"no\"}]},"
    "{\"unit\": \"y\", \"kind\": \"Query\", \"label\": \"a\", \"self_s\": 1, \"self_units\": null,"
    "\"count\": 1}],"
    "\"activity_units\": [{\"unit\": \"x\", \"self_s\": 0.5, \"events\": 3}],"
    "\"artifact_sizes\": [{\"unit\": null, \"label\": \"rlib\", \"bytes\": 99}]}";

static void stored_reports(void **state)
{
    (void)state;
    struct run_matrix matrix = {0};
    struct compare compare;
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(run_matrix_begin(&matrix, "s", 0), LAM_OK);
    assert_int_equal(run_matrix_add_json(&matrix, stored, strlen(stored), "s", &err), LAM_OK);
    assert_true(matrix.runs.items[0].has_events);
    assert_false(matrix.runs.items[0].is_cut[RUN_LABELS]);
    add_run(&matrix, 1, 2, 1);
    assert_int_equal(compare_make(&compare, &matrix, &(struct compare_options){0}, &err), LAM_OK);
    const struct compare_row *a = find(&compare, "a");
    assert_true(a->side[COMPARE_BEFORE].of[RUN_SELF] == 1.5);
    assert_true(a->side[COMPARE_BEFORE].of[RUN_COUNT] == 4);
    assert_true(a->change == 0.5);
    assert_int_equal(compare.rows[RUN_UNITS].count, 1);
    assert_int_equal(compare.rows[RUN_ARTIFACTS].count, 1);
    assert_true(compare.rows[RUN_ARTIFACTS].items[0].side[COMPARE_AFTER].of[RUN_SELF] == 0);
    assert_true(compare.judged->side[COMPARE_BEFORE].of[RUN_SELF] == 1.5);
    compare_free(&compare);
    run_matrix_free(&matrix);
}

/* Of a report that was cut short, rows that are missing are not known, rather than 0. */
static void cut_reports(void **state)
{
    (void)state;
    static const char cut[] =
        "{\"format\": \"lamella-report\", \"intervals\": {\"self_s\": 10}, \"activities\": "
        "[{\"kind\": \"Query\", \"label\": \"a\", \"self_s\": 1}]}";
    struct run_matrix matrix = {0};
    struct compare compare;
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(run_matrix_begin(&matrix, "s", 0), LAM_OK);
    assert_int_equal(run_matrix_add_json(&matrix, cut, strlen(cut), "s", &err), LAM_OK);
    assert_true(matrix.runs.items[0].is_cut[RUN_LABELS]);
    add_run(&matrix, 1, 2, 1);
    assert_int_equal(compare_make(&compare, &matrix, &(struct compare_options){0}, &err), LAM_OK);
    assert_true(find(&compare, "a")->change == 1);
    assert_true(isnan(find(&compare, "b")->change));
    compare_free(&compare);
    run_matrix_free(&matrix);
}

static void broken_reports(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int code;
    } rows[] = {
        {"", LAM_E_TRUNCATED},
        {"[]", LAM_E_CORRUPT},
        {"{}", LAM_E_UNSUPPORTED},
        {"{\"format\": \"lamella-diff\"}", LAM_E_UNSUPPORTED},
        {"{\"format\": 3}", LAM_E_UNSUPPORTED},
        {"{\"activities\": []}", LAM_E_UNSUPPORTED},
        {"{\"format\": \"lamella-report\"", LAM_E_TRUNCATED},
        {"{\"format\": \"lamella-report\"} x", LAM_E_CORRUPT},
        {"{\"format\": \"lamella-report\", \"activities\": 3}", LAM_E_CORRUPT},
        {"{\"format\": \"lamella-report\", \"activities\": [3]}", LAM_E_CORRUPT},
        {"{\"format\": \"lamella-report\", \"activities\": [{\"label\": 3}]}", LAM_E_CORRUPT},
        {"{\"format\": \"lamella-report\", \"activities\": [{\"self_s\": \"x\"}]}", LAM_E_CORRUPT},
        {"{\"format\": \"lamella-report\", \"intervals\": {\"measure\": []}}", LAM_E_CORRUPT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct run_matrix matrix = {0};
        struct lam_error err = LAM_ERROR_INIT;
        assert_int_equal(run_matrix_begin(&matrix, "s", 0), LAM_OK);
        int rc = run_matrix_add_json(&matrix, rows[i].text, strlen(rows[i].text), "s.json", &err);
        if (rc != rows[i].code || !strstr(err.msg, "s.json"))
            fail_msg("row %zu: %d %s", i, rc, err.msg);
        run_matrix_drop(&matrix);
        assert_int_equal(matrix.runs.count, 0);
        run_matrix_free(&matrix);
    }
}

/* ---- aggregates -------------------------------------------------------------------------------------------------- */

static void aggregates(void **state)
{
    (void)state;
    struct run_matrix matrix = {0};
    struct aggregate aggregate;
    struct lam_error err = LAM_ERROR_INIT;
    add_run(&matrix, 0, 1, 10);
    add_run(&matrix, 0, 3, 10);
    add_run(&matrix, 0, -1, 11);
    add_run(&matrix, 0, 99, 99); /* taken away again */
    run_matrix_drop(&matrix);
    for (int by_spread = 0; by_spread < 2; by_spread++) {
        struct aggregate_options options = {.by_spread = by_spread};
        assert_int_equal(aggregate_make(&aggregate, &matrix, &options, &err), LAM_OK);
        assert_int_equal(aggregate.rows[RUN_LABELS].count, 2);
        const struct aggregate_row *rows = aggregate.rows[RUN_LABELS].items;
        const struct aggregate_row *a = &rows[by_spread ? 0 : 1], *b = &rows[by_spread ? 1 : 0];
        assert_string_equal(run_matrix_text(&matrix, matrix.rows.items[a->row].key), "a");
        assert_int_equal(a->runs, 2);
        assert_true(a->min == 0 && a->median == 1 && a->max == 3 && a->spread == 3);
        assert_true(a->count_min == 0 && a->count_max == 10);
        assert_true(b->median == 10 && b->spread == 0.1 && b->count_min == b->count_max);
        aggregate_free(&aggregate);
    }
    run_matrix_free(&matrix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians),
        cmocka_unit_test(luck),
        cmocka_unit_test(bootstrap),
        cmocka_unit_test(without_repeats),
        cmocka_unit_test(with_repeats),
        cmocka_unit_test(gone_and_new),
        cmocka_unit_test(excluded),
        cmocka_unit_test(unlike_measures),
        cmocka_unit_test(units_are_matched_by_class),
        cmocka_unit_test(what_is_left_out_leaves_segments_too),
        cmocka_unit_test(samples_and_events_are_two_things),
        cmocka_unit_test(stored_reports),
        cmocka_unit_test(cut_reports),
        cmocka_unit_test(broken_reports),
        cmocka_unit_test(aggregates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
