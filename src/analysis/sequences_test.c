#include "analysis/sequences.h"

#include "analysis/event_feed_test.h"

static struct sequences sequences;

/* A run whose main thread does the letters of `main` one after another, capitals inside the letter before them, and whose
 * second thread does those of `worker`. */
static void run(const char *labels, const char *main_events, const char *worker_events)
{
    struct event_feed feed = {0};
    assert_int_equal(sequences_begin(&sequences, &feed.sink), LAM_OK);
    assert_int_equal(feed.sink.wants.order, PROFILE_ORDER_START);
    feed_session(&feed);
    feed_process(&feed, 1, "a");
    uint32_t threads[] = {feed_thread(&feed, 1, 1), feed_thread(&feed, 1, 2)}, ids[128] = {0};
    uint32_t kind = feed_label(&feed, 0, "Query");
    for (const char *c = labels; *c; c++) /* ids differ from run to run, as files have them */
        ids[(unsigned char)*c] = feed_label(&feed, kind, (char[]){*c, '\0'});
    const char *events[] = {main_events, worker_events};
    int64_t at_ns = 0;
    for (size_t thread = 0; thread < 2; thread++) {
        for (const char *c = events[thread]; *c; c++) {
            bool is_inside = *c >= 'A' && *c <= 'Z';
            struct profile_interval interval = {.process = 1,
                                                .thread = threads[thread],
                                                .label = ids[is_inside ? *c + 32 : *c],
                                                .start_ns = at_ns++,
                                                .depth = is_inside,
                                                .weight = 1};
            FEED_CALL(&feed, interval, &interval);
        }
    }
    feed_process_end(&feed, 1);
    feed_session_end(&feed);
}

static int setup(void **state)
{
    (void)state;
    sequences = (struct sequences){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sequences_free(&sequences);
    return 0;
}

static const char *label_of(uint32_t row)
{
    return intern_text(&sequences.texts, sequences.rows.items[row].label, NULL);
}

/* A run that stored its calls as sums. */
static void folded_run(uint64_t count)
{
    struct event_feed feed = {0};
    assert_int_equal(sequences_begin(&sequences, &feed.sink), LAM_OK);
    feed_session(&feed);
    feed_process(&feed, 1, "a");
    uint32_t thread = feed_thread(&feed, 1, 1), kind = feed_label(&feed, 0, "Query");
    struct profile_fold fold = {
        .process = 1, .thread = thread, .label = feed_label(&feed, kind, "a"), .count = count};
    FEED_CALL(&feed, fold, &fold);
    feed_process_end(&feed, 1);
    feed_session_end(&feed);
}

/* Sums have a number and no order. */
static void folded_calls(void **state)
{
    (void)state;
    run("a", "aaa", "");
    folded_run(3);
    assert_int_equal(sequences_finish(&sequences), LAM_OK);
    assert_int_equal(sequences.differences.count, 0);
    assert_false(sequences.runs.items[1].has_difference);
    folded_run(200000);
    assert_int_equal(sequences_finish(&sequences), LAM_OK);
    assert_int_equal(sequences.differences.count, 1);
    assert_int_equal(sequences.differences.items[0].what, SEQUENCE_COUNT);
    assert_int_equal(sequences.differences.items[0].least, 3);
    assert_int_equal(sequences.differences.items[0].most, 200000);
}

static void equal_runs(void **state)
{
    (void)state;
    run("abc", "abCabc", "aBcA");
    run("cba", "abCabc", "cAaB"); /* the worker took its work in another order */
    assert_int_equal(sequences_finish(&sequences), LAM_OK);
    assert_int_equal(sequences.differences.count, 0);
    assert_false(sequences.runs.items[1].has_difference);
}

static void another_order(void **state)
{
    (void)state;
    run("abc", "abcabc", "");
    run("abc", "abcacb", "");
    run("abc", "abcabc", "");
    assert_int_equal(sequences_finish(&sequences), LAM_OK);
    assert_true(sequences.differences.count >= 2);
    array_each(&sequences.differences, it) assert_int_equal(it->what, SEQUENCE_ORDER);
    const struct sequence_run *second = &sequences.runs.items[1];
    assert_true(second->has_difference);
    assert_int_equal(second->position, 4);
    assert_int_equal(second->at_ns, 4);
    assert_string_equal(label_of(second->here), "c");
    assert_string_equal(label_of(second->there), "b");
    assert_false(sequences.runs.items[2].has_difference);
}

static void another_number(void **state)
{
    (void)state;
    run("abc", "aabb", "c");
    run("abc", "aabbb", "c");
    run("ab", "aab", "");
    assert_int_equal(sequences_finish(&sequences), LAM_OK);
    assert_int_equal(sequences.differences.count, 2);
    assert_string_equal(label_of(sequences.differences.items[0].row), "b");
    assert_int_equal(sequences.differences.items[0].what, SEQUENCE_COUNT);
    assert_int_equal(sequences.differences.items[0].least, 1);
    assert_int_equal(sequences.differences.items[0].most, 3);
    assert_string_equal(label_of(sequences.differences.items[1].row), "c");
    assert_int_equal(sequences.differences.items[1].least, 0);
    const struct sequence_run *longer = &sequences.runs.items[1], *shorter = &sequences.runs.items[2];
    assert_int_equal(longer->position, 4);
    assert_int_equal(longer->there, UINT32_MAX);
    assert_int_equal(shorter->position, 3);
    assert_int_equal(shorter->here, UINT32_MAX);
    assert_string_equal(label_of(shorter->there), "b");
}

/* Inside of a piece of work the order counts on workers as well. */
static void inside_of_work(void **state)
{
    (void)state;
    run("abc", "a", "aBC");
    run("abc", "a", "aCB");
    assert_int_equal(sequences_finish(&sequences), LAM_OK);
    assert_int_equal(sequences.differences.count, 2);
    assert_false(sequences.runs.items[1].has_difference);
}

static void dropped(void **state)
{
    (void)state;
    run("ab", "ab", "");
    run("ab", "ba", "");
    sequences_drop(&sequences);
    run("ab", "ab", "");
    assert_int_equal(sequences_finish(&sequences), LAM_OK);
    assert_int_equal(sequences.runs.count, 2);
    assert_int_equal(sequences.differences.count, 0);
}

static void integers_do_not_count(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 2; i++) {
        struct event_feed feed = {0};
        assert_int_equal(sequences_begin(&sequences, &feed.sink), LAM_OK);
        feed_process(&feed, 1, "a");
        uint32_t thread = feed_thread(&feed, 1, 1), kind = feed_label(&feed, 0, "k");
        uint32_t label = feed_label(&feed, kind, "l");
        feed_instant(&feed, 1, thread, label);
        for (uint64_t n = 0; n <= i; n++)
            feed_integer(&feed, 1, thread, label, n);
    }
    assert_int_equal(sequences_finish(&sequences), LAM_OK);
    assert_int_equal(sequences.differences.count, 0);
    struct event_feed feed = {0};
    assert_int_equal(sequences_begin(&sequences, &feed.sink), LAM_OK);
    struct profile_interval interval = {.process = 1, .thread = 1, .label = 1, .weight = 1};
    assert_int_equal(feed.sink.ops->interval(feed.sink.ctx, &interval), LAM_E_INVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(folded_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(another_order, setup, teardown),
        cmocka_unit_test_setup_teardown(another_number, setup, teardown),
        cmocka_unit_test_setup_teardown(inside_of_work, setup, teardown),
        cmocka_unit_test_setup_teardown(dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(integers_do_not_count, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
