/* Events of one thread and of several: what is stored for each, and what misuse does. */
#include "lamella/lamella.h"
#include "recorder/recording_test.h"

#include <pthread.h>

static void nothing_when_off(void **state)
{
    (void)state;
    assert_int_equal(lam_on, 0);
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "A");
    assert_int_equal(kind.id, 0);
    assert_int_equal(label("x").id, 0);
    struct lam_handle handle = lam_begin(LAM_DEFAULT, kind, label("x"));
    assert_int_equal(handle.ref, 0);
    assert_int_equal(lam_end(LAM_DEFAULT, handle), LAM_OK);
    assert_int_equal(lam_instant(LAM_DEFAULT, kind, label("x")), LAM_E_CLOSED);
    assert_int_equal(lam_thread_register(LAM_DEFAULT), LAM_E_CLOSED);
    assert_int_equal(lam_open(NULL), LAM_E_NOTFOUND);
    LAM_SCOPE("nothing");
}

static void scoped(int depth)
{
    LAM_SCOPE("outer");
    LAM_INSTANT("point");
    if (depth > 0)
        scoped(depth - 1);
    LAM_SCOPE_OF("Phase", "inner");
}

static void scopes_nest(void **state)
{
    (void)state;
    begin_with("");
    scoped(1);
    finish();
    struct decoded_event *outer = decoded_find(&in, "outer", 0),
                         *second = decoded_find(&in, "outer", 1);
    struct decoded_event *inner = decoded_find(&in, "inner", 1),
                         *point = decoded_find(&in, "point", 0);
    assert_non_null(inner);
    assert_true(outer < point && point < second && second < inner);
    assert_true(outer->start <= point->start && point->start <= second->start);
    assert_true(outer->end >= second->end && second->end >= second->start && second->end > 0);
    assert_true(inner->start >= second->end && inner->end <= outer->end);
    assert_string_equal(decoded_string(&in, decoded_kind(&in, inner->code)->name), "Phase");
    assert_string_equal(decoded_string(&in, decoded_kind(&in, outer->code)->name),
                        "GenericActivity");
    assert_int_equal(decoded_kind(&in, point->code)->flags, STREAM_KIND_INSTANT);
    assert_int_equal(outer->tid, getpid());
    assert_int_equal(decoded_kind(&in, outer->code)->weight, 1);
    end();
}

static void ends_and_misuse(void **state)
{
    (void)state;
    begin_with("");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "A");
    struct lam_handle open = lam_begin(LAM_DEFAULT, kind, label("open"));
    assert_true(open.ref != 0);
    struct lam_handle twice = lam_begin(LAM_DEFAULT, kind, label("twice"));
    assert_int_equal(lam_end(LAM_DEFAULT, twice), LAM_OK);
    assert_int_equal(lam_end(LAM_DEFAULT, twice), LAM_E_INVAL);
    struct lam_handle garbage = {0x7fffff0000000123, 5};
    assert_int_equal(lam_end(LAM_DEFAULT, garbage), LAM_E_INVAL);
    /* In the page at hand by its numbers, and behind its end. */
    struct lam_handle beyond = {twice.ref | ((1u << 14) - 1), twice.start};
    assert_int_equal(lam_end(LAM_DEFAULT, beyond), LAM_E_INVAL);
    struct lam_stats stats = {.size = sizeof stats};
    assert_int_equal(lam_recorder_stats(LAM_DEFAULT, &stats), LAM_OK);
    assert_int_equal(stats.refused_ends, 3);
    assert_int_equal(lam_open(NULL), LAM_E_BUSY);
    struct lam_handle late = lam_begin(LAM_DEFAULT, kind, label("late"));
    finish();
    assert_int_equal(lam_end(LAM_DEFAULT, late), LAM_E_CLOSED);
    assert_int_equal(decoded_find(&in, "open", 0)->end, 0);
    assert_int_equal(decoded_find(&in, "late", 0)->end, 0);
    assert_true(decoded_find(&in, "twice", 0)->end >= decoded_find(&in, "twice", 0)->start);
    assert_int_equal(in.header->counts[STREAM_COUNT_REPEATED_ENDS], 2);
    assert_int_equal(in.header->counts[STREAM_COUNT_FOREIGN_ENDS], 1);
    end();
}

static void values_and_points(void **state)
{
    (void)state;
    begin_with("");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "A");
    assert_int_equal(lam_integer(LAM_DEFAULT, kind, label("small"), 42), LAM_OK);
    assert_int_equal(lam_integer(LAM_DEFAULT, kind, label("wide"), UINT64_MAX), LAM_OK);
    assert_int_equal(lam_integer(LAM_DEFAULT, kind, label("edge"), STREAM_SLOT_PAYLOAD_MAX), LAM_OK);
    uint64_t now = lam_now(LAM_DEFAULT);
    assert_int_equal(lam_interval(LAM_DEFAULT, kind, label("past"), now - 1000, now - 400), LAM_OK);
    assert_int_equal(lam_interval(LAM_DEFAULT, kind, label("backward"), now, now - 400), LAM_OK);
    assert_int_equal(lam_interval(LAM_DEFAULT, kind, label("ancient"), 17, now), LAM_OK);
    assert_int_equal(lam_instant(LAM_DEFAULT, kind, label("after")), LAM_OK);
    finish();
    assert_int_equal(decoded_find(&in, "small", 0)->payload, 42);
    assert_int_equal(decoded_find(&in, "wide", 0)->payload, STREAM_SLOT_PAYLOAD_MAX);
    assert_true(decoded_find(&in, "wide", 0)->more[0].rest == UINT64_MAX);
    assert_true(decoded_find(&in, "edge", 0)->more[0].rest == STREAM_SLOT_PAYLOAD_MAX);
    struct decoded_event *past = decoded_find(&in, "past", 0);
    assert_true(past->start == now - 1000 && past->end == now - 400);
    assert_int_equal(decoded_kind(&in, past->code)->flags, STREAM_KIND_LATER);
    struct decoded_event *backward = decoded_find(&in, "backward", 0);
    assert_true(backward->start == now && backward->end == now);
    assert_true(decoded_find(&in, "ancient", 0)->start == 17);
    assert_true(decoded_find(&in, "after", 0)->start >= now);
    assert_int_equal(in.header->counts[STREAM_COUNT_CLAMPED_TIMES], 1);
    end();
}

static void arguments(void **state)
{
    (void)state;
    begin_with("");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "A");
    char large[5000];
    memset(large, 'x', sizeof large);
    struct lam_arg args[] = {
        {.name = label("n"), .type = LAM_ARG_U64, .value.u64 = 7},
        {.type = LAM_ARG_TEXT, .value.text_bytes = 20, .text = "abcdefghijklmnopqrst"},
        {.type = LAM_ARG_LABEL, .value.label = label("again")},
        {.type = LAM_ARG_TEXT, .value.text_bytes = sizeof large, .text = large},
        {.type = LAM_ARG_DOUBLE, .value.number = 1.5},
        {.type = LAM_ARG_TEXT, .value.text_bytes = 0, .text = NULL},
    };
    struct lam_handle handle = lam_begin_args(LAM_DEFAULT, kind, label("with"), args, 6);
    assert_int_equal(lam_end(LAM_DEFAULT, handle), LAM_OK);
    assert_int_equal(lam_instant_args(LAM_DEFAULT, kind, label("point"), args, 1), LAM_OK);
    finish();
    struct decoded_event *with = decoded_find(&in, "with", 0);
    assert_true(with->end >= with->start);
    assert_int_equal(with->more_count, 8);
    assert_int_equal(stream_slot_code(&with->more[0]), STREAM_SLOT_ARG);
    assert_string_equal(decoded_string(&in, stream_slot_id(&with->more[0])), "n");
    assert_int_equal(with->more[0].rest, 7);
    assert_int_equal(with->more[1].rest, 20);
    assert_memory_equal(&with->more[2], "abcd", 4);
    assert_memory_equal((char *)&with->more[2] + 5, "efghijklmno", 11);
    assert_memory_equal(&with->more[3], "pqrs", 4);
    assert_int_equal(((char *)&with->more[3])[5], 't');
    assert_string_equal(decoded_string(&in, (uint32_t)with->more[4].rest), "again");
    assert_int_equal(with->more[5].head >> 40 & 0xff, STREAM_ARG_STRING);
    assert_int_equal(strlen(decoded_string(&in, (uint32_t)with->more[5].rest)), sizeof large);
    assert_int_equal(decoded_find(&in, "point", 0)->more_count, 1);
    end();
}

static void many_pages(void **state)
{
    (void)state;
    begin_with("");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "A");
    struct lam_label many = label("many");
    struct lam_handle outer = lam_begin(LAM_DEFAULT, kind, label("outer"));
    for (int i = 0; i < 100000; i++)
        lam_end(LAM_DEFAULT, lam_begin(LAM_DEFAULT, kind, many));
    assert_int_equal(lam_end(LAM_DEFAULT, outer), LAM_OK);
    finish();
    struct decoded_event *event = decoded_find(&in, "outer", 0);
    size_t seen = 0;
    uint64_t before = 0;
    for (size_t i = 0; i < in.count; i++) {
        assert_true(in.events[i].start >= before);
        before = in.events[i].start;
        if (in.events[i].id == many.id && in.events[i].code == event->code) {
            assert_true(in.events[i].end >= in.events[i].start);
            seen++;
        }
    }
    assert_int_equal(seen, 100000);
    assert_true(event->ended_elsewhere);
    assert_true(event->end >= before - 1000000 && event->end >= event->start);
    /* 16 bytes an interval: nothing but page headers and the unused part of the last page comes on top. */
    assert_true(in.size < 100000 * 16 + 2 * STREAM_PAGE_MAX + 65536);
    end();
}

static void many_kinds(void **state)
{
    (void)state;
    begin_with("");
    char name[16];
    uint32_t last = 0;
    for (int i = 0; i < 400; i++) {
        snprintf(name, sizeof name, "K%d", i);
        struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, name);
        assert_true(kind.id > last && kind.id != 255);
        last = kind.id;
        lam_end(LAM_DEFAULT, lam_begin(LAM_DEFAULT, kind, label(name)));
    }
    assert_int_equal(lam_kind_intern(LAM_DEFAULT, "K399").id, last);
    finish();
    for (int i = 0; i < 400; i += 57) {
        snprintf(name, sizeof name, "K%d", i);
        struct decoded_event *event = decoded_find(&in, name, 0);
        assert_non_null(event);
        assert_true(event->end >= event->start);
        assert_string_equal(decoded_string(&in, decoded_kind(&in, event->code)->name), name);
    }
    end();
}

static void filters(void **state)
{
    (void)state;
    begin_with("kinds=Query+-keys+-args");
    assert_int_equal(lam_kind_intern(LAM_DEFAULT, "GenericActivity").id, 0);
    struct lam_kind query = lam_kind_intern(LAM_DEFAULT, "que-ry");
    assert_true(query.id != 0);
    assert_int_equal(lam_wants_names(LAM_DEFAULT), 0);
    scoped(0);
    struct lam_arg arg = {.type = LAM_ARG_U64, .value.u64 = 7};
    lam_end(LAM_DEFAULT, lam_begin_args(LAM_DEFAULT, query, label("q"), &arg, 1));
    finish();
    assert_null(decoded_find(&in, "outer", 0));
    struct decoded_event *q = decoded_find(&in, "q", 0);
    for (uint32_t i = 0; i < q->more_count; i++)
        assert_int_not_equal(stream_slot_code(&q->more[i]), STREAM_SLOT_ARG);
    end();
    begin_with("kinds=-Phase");
    assert_int_equal(lam_wants_names(LAM_DEFAULT), 1);
    scoped(0);
    finish();
    assert_non_null(decoded_find(&in, "outer", 0));
    assert_null(decoded_find(&in, "inner", 0));
    end();
}

static void *end_it(void *arg)
{
    struct lam_handle *handle = arg;
    assert_int_equal(lam_end(LAM_DEFAULT, *handle), LAM_OK);
    return NULL;
}

static void detached_intervals(void **state)
{
    (void)state;
    begin_with("");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "A");
    struct lam_handle handle = lam_begin_detached(LAM_DEFAULT, kind, label("far"));
    struct lam_handle here = lam_begin_detached(LAM_DEFAULT, kind, label("near"));
    lam_end(LAM_DEFAULT, here);
    pthread_t thread;
    pthread_create(&thread, NULL, end_it, &handle);
    pthread_join(thread, NULL);
    lam_pause(LAM_DEFAULT, handle);
    lam_resume(LAM_DEFAULT, handle);
    finish();
    struct decoded_event *far_one = decoded_find(&in, "far", 0);
    assert_true(far_one->ended_elsewhere && far_one->end >= far_one->start);
    assert_int_not_equal(far_one->end_thread, far_one->thread);
    assert_int_equal(decoded_kind(&in, far_one->code)->flags, STREAM_KIND_DETACHED);
    assert_false(decoded_find(&in, "near", 0)->ended_elsewhere);
    int pauses = 0;
    for (size_t i = 0; i < in.count; i++) {
        pauses += in.events[i].code == STREAM_SLOT_PAUSE;
        if (in.events[i].code == STREAM_SLOT_RESUME)
            assert_ptr_equal(decoded_ref(&in, in.events[i].id, in.events[i].payload), far_one);
    }
    assert_int_equal(pauses, 1);
    end();
}

static void open_again(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        begin_with("");
        scoped(0);
        finish();
        assert_true(decoded_find(&in, "inner", 0)->end != 0);
        assert_null(decoded_find(&in, "inner", 1));
        end();
    }
    struct lam_options options;
    lam_options_init(&options);
    char other[96];
    strcpy(other, scratch_file(".lam"));
    options.path = other;
    begin_with("");
    struct lam_recorder *rec = NULL, *copy;
    assert_int_equal(lam_recorder_open(&rec, &options), LAM_OK);
    copy = rec;
    struct lam_kind kind = lam_kind_intern(rec, "Mine");
    lam_end(rec, lam_begin(rec, kind, lam_label_intern(rec, "mine", 4)));
    scoped(0);
    lam_end(rec, lam_begin(rec, kind, lam_label_intern(rec, "more", 4)));
    lam_recorder_close(&rec);
    assert_null(rec);
    assert_int_equal(lam_begin(copy, kind, (struct lam_label){1}).ref, 0);
    assert_int_equal(lam_instant(copy, kind, (struct lam_label){1}), LAM_E_CLOSED);
    finish();
    assert_null(decoded_find(&in, "mine", 0));
    assert_non_null(decoded_find(&in, "outer", 0));
    end();
    decode(&in, other);
    assert_non_null(decoded_find(&in, "mine", 0));
    assert_non_null(decoded_find(&in, "more", 0));
    assert_null(decoded_find(&in, "outer", 0));
    decoded_free(&in);
    unlink(other);
}

static void tracks_that_were_never_made(void **state)
{
    (void)state;
    begin_with("");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "Work");
    struct lam_label step = lam_label_intern(LAM_DEFAULT, "step", 4);
    struct lam_track track = lam_track_create(LAM_DEFAULT, step), none = {0};
    struct lam_track nowhere = {track.id + 7};
    assert_int_equal(lam_track_switch(LAM_DEFAULT, track), LAM_OK);
    assert_int_equal(lam_track_switch(LAM_DEFAULT, nowhere), LAM_E_INVAL);
    lam_instant(LAM_DEFAULT, kind, step);
    assert_int_equal(lam_track_end(LAM_DEFAULT, nowhere), LAM_E_INVAL);
    assert_int_equal(lam_track_end(LAM_DEFAULT, none), LAM_OK);
    assert_int_equal(lam_track_switch(LAM_DEFAULT, none), LAM_OK);
    assert_int_equal(lam_track_end(LAM_DEFAULT, track), LAM_OK);
    struct lam_stats stats = {.size = sizeof stats};
    lam_recorder_stats(LAM_DEFAULT, &stats);
    assert_int_equal(stats.refused_ends, 2);
    finish();
    const struct decoded_event *event = decoded_find(&in, "step", 0);
    assert_non_null(event);
    assert_int_equal(event->track, track.id);
    assert_int_equal(in.header->counts[STREAM_COUNT_FOREIGN_ENDS], 2);
    end();
}

static void options_by_text(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int code;
    } rows[] = {
        {"", LAM_OK},
        {"max_bytes=64M,mode=flight", LAM_OK},
        {"max_bytes=64k", LAM_OK},
        {"max_bytes=1g,calls=auto:2m", LAM_OK},
        {"counters=cpu+instructions", LAM_OK},
        {"kinds=A+-B", LAM_OK},
        {"clock=cpu,counters=cpu", LAM_OK},
        {"calls=one_in:100+threshold:10us", LAM_OK},
        {"calls=auto:1G+tree:2M", LAM_OK},
        {"calls=one_in:", LAM_E_INVAL},
        {"max_bytes=64X", LAM_E_INVAL},
        {"max_bytes=99999999999999999999", LAM_E_INVAL},
        {"max_bytes", LAM_E_INVAL},
        {"speed=1", LAM_E_INVAL},
        {"mode=fly", LAM_E_INVAL},
        {"calls=threshold:10K", LAM_E_INVAL},
        {"calls=all:3", LAM_E_INVAL},
        {"counters=cpu+", LAM_OK},
        {"counters=+cpu", LAM_E_INVAL},
        {"mode=stop,,clock=cpu", LAM_E_INVAL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lam_options options, before;
        lam_options_init(&options);
        before = options;
        int rc = lam_options_parse(&options, rows[i].text);
        if (rc != rows[i].code)
            fail_msg("%s: %d", rows[i].text, rc);
        if (rc < 0)
            assert_memory_equal(&options, &before, sizeof before);
        char why[200], cut[8];
        if (lam_options_explain(rows[i].text, why, sizeof why) != rc ||
            (why[0] == 0) != (rc == LAM_OK))
            fail_msg("%s: '%s'", rows[i].text, why);
        lam_options_explain(rows[i].text, cut, sizeof cut);
        assert_true(strlen(cut) < sizeof cut && strncmp(why, cut, strlen(cut)) == 0);
    }
    struct lam_options options;
    lam_options_init(&options);
    lam_options_parse(&options, "max_bytes=64M,calls=one_in:100+threshold:10us");
    assert_int_equal(options.max_bytes, 64 << 20);
    assert_int_equal(options.calls, LAM_CALLS_ONE_IN | LAM_CALLS_THRESHOLD);
    assert_int_equal(options.one_in, 100);
    assert_int_equal(options.threshold_ns, 10000);
    char why[64]; /* what can be understood, and not be done */
    assert_int_equal(lam_options_explain("mode=flight", why, sizeof why), LAM_E_INVAL);
    assert_string_equal(why, "mode=flight needs max_bytes");
    /* A text that is refused leaves those alone that were taken from one before. */
    assert_int_equal(lam_options_parse(&options, "kinds=A"), LAM_OK);
    assert_int_equal(lam_options_parse(&options, "kinds=B,mode=x"), LAM_E_INVAL);
    assert_string_equal(options.kinds, "A");
}

static void refusals_say_what_there_is(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"calls=bogus", "calls: `bogus` should be all, one_in, threshold, tree or auto"},
        {"calls=tree+x:3", "calls: `x` should be all, one_in, threshold, tree or auto"},
        {"calls=all:3", "calls: `3` should be left out: all calls have no number"},
        {"calls=threshold:10K", "calls: `10K` should be a time: digits, with ns, us, ms or s"},
        {"calls=one_in:",
         "calls: what is empty should be a number: digits, with K, M or G behind them if need be"},
        {"calls=one_in:5G", "calls: `5G` should be a smaller number"},
        {"mode=fly", "mode: `fly` should be stop or flight"},
        {"mode=", "mode: what is empty should be stop or flight"},
        {"clock=sun", "clock: `sun` should be auto, tsc, monotonic, cpu, instructions, "
                      "instructions-minus-irqs or cycles"},
        {"mode=stop,counters=cpu+x",
         "counters: `x` should be cpu, instructions, instructions-minus-irqs or cycles"},
        {"max_bytes=64q",
         "max_bytes: `64q` should be a number: digits, with K, M or G behind them if need be"},
        {"mode=stop,speed=1", "`speed` should be max_bytes, mode, clock, counters, calls or kinds"},
        {"mode=stop,speed", "`speed` should be NAME=VALUE"},
    };
    char why[200];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(lam_options_explain(rows[i].text, why, sizeof why), LAM_E_INVAL);
        assert_string_equal(why, rows[i].why);
    }
    static const char *const members[] = {"mode should be", "clock should be", "calls should be",
                                          "counters should be"};
    for (int i = 0; i < 4; i++) {
        struct lam_options options;
        lam_options_init(&options);
        options.path = "/dev/shm/never.lam";
        *(i == 0   ? &options.mode
          : i == 1 ? &options.clock
          : i == 2 ? &options.calls
                   : &options.counters) = 99;
        assert_int_equal(lam_open(&options), LAM_E_INVAL);
        assert_non_null(strstr(lam_open_error(), members[i]));
    }
}

static void errors_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *options, *path, *words;
        int code;
    } rows[] = {
        {"max_bytes=1K", "/dev/shm/never.lam", "64K or more", LAM_E_INVAL},
        {"mode=flight", "/dev/shm/never.lam", "needs max_bytes", LAM_E_INVAL},
        {"", "/nowhere/at/all.lam", "/nowhere/at/all.lam: not found", LAM_E_NOTFOUND},
        {"", "/nowhere/at/all", "/nowhere/at/all: not found", LAM_E_NOTFOUND},
    };
    struct lam_options options;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lam_options_init(&options);
        assert_int_equal(lam_options_parse(&options, rows[i].options), LAM_OK);
        options.path = rows[i].path;
        int rc = lam_open(&options);
        if (rc != rows[i].code || !strstr(lam_open_error(), rows[i].words))
            fail_msg("%s at %s: %d, %s", rows[i].options, rows[i].path, rc, lam_open_error());
        assert_int_equal(lam_on, 0);
        struct lam_recorder *rec = NULL;
        assert_int_equal(lam_recorder_open(&rec, &options), rows[i].code);
        assert_non_null(strstr(lam_open_error(), rows[i].words));
    }
    begin_with("");
    assert_string_equal(lam_open_error(), "");
    assert_int_equal(lam_open(NULL), LAM_E_BUSY);
    assert_non_null(strstr(lam_open_error(), path));
    assert_int_not_equal(lam_on, 0);
    finish();
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_when_off),
        cmocka_unit_test(scopes_nest),
        cmocka_unit_test(ends_and_misuse),
        cmocka_unit_test(values_and_points),
        cmocka_unit_test(arguments),
        cmocka_unit_test(many_pages),
        cmocka_unit_test(many_kinds),
        cmocka_unit_test(filters),
        cmocka_unit_test(detached_intervals),
        cmocka_unit_test(open_again),
        cmocka_unit_test(tracks_that_were_never_made),
        cmocka_unit_test(options_by_text),
        cmocka_unit_test(refusals_say_what_there_is),
        cmocka_unit_test(errors_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
