/* What recording takes does not count with a recorded call's weight. By a clock of the test's own, each reading of which takes some of its
 * time: so every figure is known to the nanosecond. */
#include "recorder/by_clock_test.h"

enum {
    CALLS = 3000,                 /* fewer than are timed each */
    MAIN_SELF = 5 * CALLS,        /* what each call takes itself, */
    F_SELF = 10 + 3 + 7,          /* ... */
    G_SELF = 20 + 4,              /* ... */
    H_SELF = 2,                   /* ... */
    G_TIME = G_SELF + H_SELF,     /* and with those that it makes */
    F_TIME = F_SELF + 2 * G_TIME, /* ... */
    MAIN_TIME = MAIN_SELF + CALLS * F_TIME,
};

static void call_g(void)
{
    enter("g", 0);
    enter("h", 20);
    leave("h", H_SELF);
    leave("g", 4);
}

static void run_calls(void)
{
    enter("main", 0);
    for (int i = 0; i < CALLS; i++) {
        enter("f", 5);
        fake_ns += 10;
        call_g();
        fake_ns += 3;
        call_g();
        leave("f", 7);
    }
    leave("main", 0);
}

static const struct {
    const char *name;
    uint64_t self, time;
} exact[] = {
    {"main", MAIN_SELF, MAIN_TIME},
    {"f", F_SELF, F_TIME},
    {"g", G_SELF, G_TIME},
    {"h", H_SELF, H_SELF},
};
enum { LABELS = sizeof exact / sizeof *exact };

/* By the book: the SELF slot has the self time, and what is to be left out of the time. */
static void expect_exact(const struct decoded_event *ev)
{
    size_t row = 0;
    while (row < LABELS && strcmp(decoded_name(&in, ev), exact[row].name) != 0)
        row++;
    assert_in_range(row, 0, LABELS - 1);
    uint64_t time = ev->end - ev->start;
    const struct stream_slot *more = ev->ended_elsewhere ? ev->end_more : ev->more;
    assert_int_equal(stream_slot_code(more), STREAM_SLOT_SELF);
    assert_int_equal(more->rest, exact[row].self);
    time -= ev->ended_elsewhere ? 0 : stream_slot_id(more);
    if (ev->ended_elsewhere && reading_takes) {
        assert_int_equal(stream_slot_code(more + 1), STREAM_SLOT_ACTIVE);
        time = more[1].rest;
    }
    assert_int_equal(time, exact[row].time);
}

static void one_in_n_is_exact(void **state)
{
    (void)state;
    static const uint64_t takes[] = {0, 1, 9, 600};
    for (size_t i = 0; i < sizeof takes / sizeof *takes; i++) {
        reading_takes = takes[i];
        begin_by_clock("calls=one_in:16");
        run_calls();
        finish();
        size_t events = 0;
        for (size_t at = 0; at < in.count; at++) {
            if (in.events[at].code < 32)
                continue;
            expect_exact(&in.events[at]);
            events++;
        }
        assert_in_range(events, 1 + 5 * CALLS / 16, 1 + 5 * CALLS / 16 + 3 * 17);
        end();
    }
}

/* Intervals among them are told each, and take their time once: a recorded call is without them. */
static void intervals_between(void **state)
{
    (void)state;
    reading_takes = 50;
    begin_by_clock("calls=one_in:4");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "Phase");
    for (int i = 0; i < 400; i++) {
        enter("f", 0);
        fake_ns += 10;
        struct lam_handle handle = lam_begin(LAM_DEFAULT, kind, label("between"));
        fake_ns += 1000;
        enter("g", 0);
        leave("g", 20);
        lam_end(LAM_DEFAULT, handle);
        leave("f", 10);
    }
    finish();
    size_t events = 0;
    for (size_t at = 0; at < in.count; at++) {
        const struct decoded_event *ev = &in.events[at];
        if (ev->code < 32 || strcmp(decoded_name(&in, ev), "f") != 0)
            continue;
        /* One of the interval's readings is its own, the other two are around it, in f: it is as every f is. */
        const struct stream_slot *more = ev->ended_elsewhere ? ev->end_more : ev->more;
        assert_in_range(more->rest, 20, 20 + 2 * reading_takes);
        events++;
    }
    assert_in_range(events, 100, 110);
    end();
}

/* Short ones are sums; all together they are what passed. */
static void thinned_folds_are_exact(void **state)
{
    (void)state;
    reading_takes = 9;
    begin_by_clock("calls=one_in:16+threshold:1us");
    run_calls();
    finish();
    uint64_t count[LABELS] = {0}, self[LABELS] = {0}, time[LABELS] = {0};
    for (size_t at = 0; at < in.count; at++) {
        const struct decoded_event *ev = &in.events[at];
        for (size_t row = 1; row < LABELS && ev->code == STREAM_SLOT_FOLD; row++) {
            if (strcmp(decoded_string(&in, ev->id), exact[row].name) != 0)
                continue;
            count[row] += ev->more[1].rest;
            time[row] += ev->more[2].rest;
            self[row] += ev->more[3].rest;
        }
    }
    for (size_t row = 1; row < LABELS; row++) {
        uint64_t calls = row == 1 ? CALLS : 2 * CALLS;
        assert_in_range(count[row], calls - 32, calls + 32);
        assert_int_equal(self[row], count[row] * exact[row].self);
        assert_int_equal(time[row], count[row] * exact[row].time);
    }
    end();
}

/* ---- when the thread is not let run ---- */

enum { TURN_NS = 4000000 }; /* of another program */

static void pause_if(int is_paused, int is_wait)
{
    fake_ns += is_paused ? TURN_NS : 0;
    not_run_ns += is_paused ? TURN_NS : 0;
    waited += (uint64_t)(is_paused && is_wait);
}

static void run_paused(int is_wait)
{
    struct lam_track tracks[2] = {lam_track_create(LAM_DEFAULT, label("main's")),
                                  lam_track_create(LAM_DEFAULT, label("other"))};
    lam_track_switch(LAM_DEFAULT, tracks[0]);
    enter("main", 0);
    for (int i = 0; i < CALLS; i++) {
        pause_if(i % 13 == 0, is_wait);
        enter("f", 5);
        pause_if(i % 5 == 0, is_wait);
        enter("g", 10);
        pause_if(i % 7 == 0, is_wait);
        leave("g", 20);
        pause_if(i % 11 == 0, is_wait);
        lam_track_switch(LAM_DEFAULT, tracks[1]);
        enter("h", 0);
        pause_if(i % 3 == 0, is_wait);
        leave("h", 2);
        lam_track_switch(LAM_DEFAULT, tracks[0]);
        leave("f", 7);
    }
    leave("main", 0);
    lam_track_switch(LAM_DEFAULT, (struct lam_track){0});
}

/* Self time is without the other programs' turns, wherever they fall; what the thread waited for is in it. */
static void turns_of_others(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t self;
    } rows[] = {{"main", 5 * CALLS}, {"f", 17}, {"g", 20}, {"h", 2}};
    reading_takes = 0;
    for (int is_wait = 0; is_wait < 2; is_wait++) {
        begin_by_clock("calls=one_in:4");
        run_paused(is_wait);
        finish();
        size_t events = 0, waits = 0;
        for (size_t at = 0; at < in.count; at++) {
            const struct decoded_event *ev = &in.events[at];
            for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
                if (ev->code < 32 || strcmp(decoded_name(&in, ev), rows[row].name) != 0)
                    continue;
                uint64_t self = (ev->ended_elsewhere ? ev->end_more : ev->more)->rest;
                assert_int_equal(is_wait ? self % TURN_NS : self, rows[row].self);
                waits += self / TURN_NS;
                events++;
            }
        }
        assert_in_range(events, 3 * CALLS / 4, CALLS);
        assert_true(!is_wait || waits > CALLS / 8);
        end();
    }
}

enum { SHORT_ONES = 50000, SHORT_NS = 2, LONG_NS = 1000000000, BETWEEN_NS = 5 };

static uint64_t self_of_main(const char *policy, int longs)
{
    reading_takes = 0;
    begin_by_clock(policy);
    enter("main", 0);
    for (int i = 0; i < SHORT_ONES; i++) {
        enter("short", BETWEEN_NS);
        leave("short", SHORT_NS);
    }
    for (int i = 0; i < longs; i++) {
        enter("long", BETWEEN_NS);
        leave("long", LONG_NS);
    }
    leave("main", 0);
    finish();
    uint64_t self = UINT64_MAX;
    for (size_t at = 0; at < in.count; at++) {
        const struct decoded_event *ev = &in.events[at];
        if (ev->code >= 32 && strcmp(decoded_name(&in, ev), "main") == 0)
            self = (ev->ended_elsewhere ? ev->end_more : ev->more)->rest;
    }
    end();
    return self;
}

/* A few long calls behind so many that only one of a block is timed for the self time of the one around: they are recorded, each. */
static void few_long_ones_behind_many(void **state)
{
    (void)state;
    const uint64_t wanted = (SHORT_ONES + 3) * BETWEEN_NS;
    /* What is drawn of the short ones is off by 300 (a standard deviation); a long one missed, or counted for a block, by its length. */
    assert_in_range(self_of_main("calls=one_in:16", 3), wanted - 5000, wanted + 5000);
    assert_int_equal(self_of_main("calls=one_in:1", 3), wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_in_n_is_exact),       cmocka_unit_test(intervals_between),
        cmocka_unit_test(thinned_folds_are_exact), cmocka_unit_test(few_long_ones_behind_many),
        cmocka_unit_test(turns_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
