/* Events of instrumented programs, from a stream file to a sink. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "input/read_recording.h"
#include "reader/event_make_test.h"
#include "reader/stream_file.h"

/* ---- a sink that writes down what comes ---- */

struct note {
    struct strbuf text;
    char labels[64][64];
    char paths[64][128];
    uint32_t label_count, path_count, threads;
    struct profile_session_end end;
};

static int on_session(void *ctx, const struct profile_session *session)
{
    struct note *note = ctx;
    strbuf_addf(&note->text, "session events %d measure %d\n", session->has_intervals,
                (int)session->measure);
    return LAM_OK;
}

static int on_thread(void *ctx, const struct profile_thread *thread)
{
    struct note *note = ctx;
    assert_int_equal(thread->thread, ++note->threads);
    strbuf_addf(&note->text, "thread %u tid %u %.*s\n", thread->thread, thread->tid,
                (int)thread->name.size, thread->name.bytes);
    return LAM_OK;
}

static int on_thread_end(void *ctx, const struct profile_thread_end *end)
{
    struct note *note = ctx;
    strbuf_addf(&note->text, "thread_end %u at %lld\n", end->thread, (long long)end->end_ns);
    return LAM_OK;
}

static int on_track(void *ctx, const struct profile_track *track)
{
    struct note *note = ctx;
    strbuf_addf(&note->text, "track %u at %lld %.*s\n", track->track, (long long)track->start_ns,
                (int)track->name.size, track->name.bytes);
    return LAM_OK;
}

static int on_label(void *ctx, const struct profile_label *label)
{
    struct note *note = ctx;
    assert_int_equal(label->label, ++note->label_count);
    assert_true(label->kind < label->label);
    struct strbuf text = {0};
    strbuf_addf(&text, "%s%s", label->kind ? note->labels[label->kind] : "", label->kind ? ":" : "");
    strbuf_add_bytes(&text, label->text.bytes, label->text.size);
    assert_true(strbuf_ok(&text));
    size_t size = text.length < sizeof note->labels[0] - 1 ? text.length : sizeof note->labels[0] - 1;
    memcpy(note->labels[label->label], text.data, size);
    strbuf_free(&text);
    return LAM_OK;
}

static int on_path(void *ctx, const struct profile_path *path)
{
    struct note *note = ctx;
    assert_int_equal(path->path, ++note->path_count);
    assert_true(path->parent < path->path);
    struct strbuf text = {0};
    strbuf_addf(&text, "%s%s%s", note->paths[path->parent], path->parent ? ";" : "",
                strchr(note->labels[path->label], ':') + 1);
    assert_true(strbuf_ok(&text) && text.length < sizeof note->paths[0]);
    memcpy(note->paths[path->path], text.data, text.length + 1);
    strbuf_free(&text);
    return LAM_OK;
}

static void put_args(struct note *note, const struct profile_text *args, size_t argc)
{
    for (size_t i = 0; i < argc; i++)
        strbuf_addf(&note->text, " (%.*s)", (int)args[i].size, args[i].bytes);
}

static int on_interval(void *ctx, const struct profile_interval *in)
{
    struct note *note = ctx;
    assert_true(in->label <= note->label_count);
    strbuf_addf(&note->text, "%s t%u", note->labels[in->label], in->thread);
    if (in->track)
        strbuf_addf(&note->text, " k%u", in->track);
    strbuf_addf(&note->text, " [%lld,%lld]@%u", (long long)in->start_ns, (long long)in->end_ns,
                in->depth);
    if (in->active_ns != (uint64_t)(in->end_ns - in->start_ns))
        strbuf_addf(&note->text, " active %llu", (unsigned long long)in->active_ns);
    if (in->self_ns != PROFILE_UNKNOWN)
        strbuf_addf(&note->text, " self %llu", (unsigned long long)in->self_ns);
    if (in->weight != 1)
        strbuf_addf(&note->text, " x%u", in->weight);
    if (in->flags)
        strbuf_addf(&note->text, " flags %u", in->flags);
    if (in->end_thread != in->thread)
        strbuf_addf(&note->text, " ended by t%u", in->end_thread);
    if (in->path)
        strbuf_addf(&note->text, " %s", note->paths[in->path]);
    put_args(note, in->args, in->argc);
    for (size_t i = 0; i < in->counted_count; i++)
        strbuf_addf(&note->text, " <%u %.*s %llu/%llu>", in->counted[i].number,
                    (int)in->counted[i].name.size, in->counted[i].name.bytes,
                    (unsigned long long)in->counted[i].value,
                    (unsigned long long)in->counted[i].self);
    strbuf_add(&note->text, "\n");
    return LAM_OK;
}

static int on_instant(void *ctx, const struct profile_instant *in)
{
    struct note *note = ctx;
    strbuf_addf(&note->text, "%s t%u !%lld", note->labels[in->label], in->thread,
                (long long)in->at_ns);
    if (in->has_value)
        strbuf_addf(&note->text, " = %llu", (unsigned long long)in->value);
    put_args(note, in->args, in->argc);
    strbuf_add(&note->text, "\n");
    return LAM_OK;
}

static int on_fold(void *ctx, const struct profile_fold *in)
{
    struct note *note = ctx;
    strbuf_addf(&note->text, "fold %s t%u at %lld", note->labels[in->label], in->thread,
                (long long)in->at_ns);
    if (in->until_ns != in->at_ns)
        strbuf_addf(&note->text, "-%lld", (long long)in->until_ns);
    strbuf_addf(&note->text, ": %llu calls %llu self %llu %s\n", (unsigned long long)in->count,
                (unsigned long long)in->total_ns, (unsigned long long)in->self_ns,
                note->paths[in->path]);
    return LAM_OK;
}

static int on_session_end(void *ctx, const struct profile_session_end *end)
{
    struct note *note = ctx;
    note->end = *end;
    return LAM_OK;
}

static const struct profile_sink_ops note_ops = {
    .session = on_session,
    .thread = on_thread,
    .thread_end = on_thread_end,
    .track = on_track,
    .label = on_label,
    .path = on_path,
    .interval = on_interval,
    .instant = on_instant,
    .fold = on_fold,
    .session_end = on_session_end,
};

/* ---- reading what was made ---- */

static void read_bytes(const char *path, struct profile_wants wants, struct note *note)
{
    *note = (struct note){0};
    struct profile_sink sink = {.ctx = note, .ops = &note_ops, .wants = wants};
    struct lam_error err = LAM_ERROR_INIT;
    if (read_recording(path, &sink, &err) < 0)
        fail_msg("%s", err.msg);
}

/* Raw and packed must read the same. */
static void expect(struct event_make *em, struct profile_wants wants, const char *expected)
{
    char path[] = "/tmp/lamella-events-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(file_write_all(path, em->make->bytes, em->make->size, NULL), LAM_OK);
    for (int packed = 0; packed < 2; packed++) {
        struct note note;
        struct lam_error err = LAM_ERROR_INIT;
        if (packed && stream_pack(path, path, 0, &err) < 0)
            fail_msg("%s", err.msg);
        read_bytes(path, wants, &note);
        if (strcmp(strbuf_text(&note.text), expected) != 0)
            fail_msg("%s\nexpected:\n%s\ngot:\n%s", packed ? "packed" : "raw", expected,
                     strbuf_text(&note.text));
        assert_int_equal(note.end.damaged_streams, 0);
        strbuf_free(&note.text);
    }
    (void)unlink(path);
}

/* Ticks: 2 a nanosecond, the stream starts at 1000 ns. */
#define AT(ns) (2 * (1000 + (uint64_t)(ns)))
#define OPEN   UINT64_MAX

enum {
    KIND_FN = 32,
    KIND_QUERY,
    KIND_NODE,
    KIND_MARK,
    KIND_VALUE,
    KIND_CALL,
    KIND_TASK,
    KIND_TENTH,
    KIND_PLAIN,
    KIND_FAR = 300
};
enum {
    S_FN = 1,
    S_QUERY,
    S_MAIN,
    S_PARSE,
    S_TYPECK,
    S_MARK,
    S_VALUE,
    S_CALL,
    S_A,
    S_B,
    S_TASK,
    S_NAME,
    S_COMPOSED
};

static struct event_make begin_at(int start)
{
    static const char *const texts[] = {
        [S_FN] = "Fn",         [S_QUERY] = "Query", [S_MAIN] = "main",   [S_PARSE] = "parse",
        [S_TYPECK] = "typeck", [S_MARK] = "Mark",   [S_VALUE] = "Value", [S_CALL] = "Call",
        [S_A] = "a",           [S_B] = "b",         [S_TASK] = "Task",   [S_NAME] = "file",
    };
    struct event_make em = event_make_open(100, AT(start));
    for (uint32_t i = 1; i < sizeof texts / sizeof *texts; i++)
        event_make_string(&em, i, texts[i]);
    event_make_kind(&em, KIND_FN, S_FN, 0, 0, 1, 0);
    event_make_kind(&em, KIND_QUERY, S_QUERY, S_TYPECK, 7, 1, 0);
    event_make_kind(&em, KIND_NODE, S_QUERY, 0, 7, 1, 0);
    event_make_kind(&em, KIND_MARK, S_MARK, 0, 0, 1, STREAM_KIND_INSTANT);
    event_make_kind(&em, KIND_VALUE, S_VALUE, 0, 0, 1, STREAM_KIND_INTEGER);
    event_make_kind(&em, KIND_CALL, S_CALL, 0, 0, 1, STREAM_KIND_LATER | STREAM_KIND_CALL);
    event_make_kind(&em, KIND_TASK, S_TASK, 0, 0, 1, STREAM_KIND_DETACHED);
    event_make_kind(&em, KIND_TENTH, S_CALL, 0, 0, 10, STREAM_KIND_CALL);
    event_make_kind(&em, KIND_FAR, S_FN, 0, 0, 1, 0);
    return em;
}

static struct event_make begin(void)
{
    return begin_at(0);
}

static void labels_and_arguments(void **state)
{
    (void)state;
    struct event_make em = begin();
    const uint32_t parts[] = {S_PARSE, S_A, S_B};
    event_make_composed(&em, S_COMPOSED, STREAM_COMPOSED_ARGS, parts, 3);
    event_make_name(&em, 7, 5, "crate::f");
    event_make_name(&em, 7, 5, "not this one");
    event_make_map(&em, 7, 6, S_COMPOSED);
    event_make_thread(&em, 1, AT(0), "worker");
    event_make_owner(&em, 1, 1, AT(0));
    event_make_interval(&em, 1, KIND_FN, S_MAIN, AT(10), AT(100));
    event_make_text_arg(&em, 1, S_NAME, "a path of more than fifteen bytes");
    event_make_more(&em, 1, 0, STREAM_SLOT_ARG, STREAM_ARG_I64, (uint64_t)-3);
    event_make_interval(&em, 1, KIND_FN, S_COMPOSED, AT(20), AT(30));
    event_make_interval(&em, 1, KIND_QUERY, 5, AT(30), AT(40));
    event_make_interval(&em, 1, KIND_QUERY, 99, AT(40), AT(50));
    event_make_interval(&em, 1, KIND_NODE, 5, AT(50), AT(60));
    event_make_interval(&em, 1, KIND_NODE, 6, AT(60), AT(70));
    event_make_interval(&em, 1, KIND_NODE, 98, AT(70), AT(80));
    event_make_slot(&em, 1, S_MARK, KIND_MARK, AT(85), 0);
    event_make_slot(&em, 1, S_VALUE, KIND_VALUE, AT(86), 123);
    event_make_slot(&em, 1, S_VALUE, KIND_VALUE, AT(87), STREAM_SLOT_PAYLOAD_MAX);
    event_make_more(&em, 1, 0, STREAM_SLOT_VALUE, 0, UINT64_MAX);
    event_make_interval(&em, 1, STREAM_SLOT_KIND_ELSEWHERE, S_B, AT(90), AT(91));
    event_make_more(&em, 1, KIND_FAR, STREAM_SLOT_KIND, 0, 0);
    event_make_interval(&em, 1, 200, 77, AT(92), AT(93)); /* a kind and a string that were lost */
    expect(&em, (struct profile_wants){.args = true, .order = PROFILE_ORDER_START},
           "session events 1 measure 0\n"
           "thread 1 tid 101 worker\n"
           "Fn:main t1 [10,100]@0 (file=a path of more than fifteen bytes) (-3)\n"
           "Fn:parse t1 [20,30]@1 (a) (b)\n"
           "Query:typeck t1 [30,40]@1 (crate::f)\n"
           "Query:typeck t1 [40,50]@1 (#99)\n"
           "Query:crate::f t1 [50,60]@1\n"
           "Query:parse t1 [60,70]@1 (a) (b)\n"
           "Query:#98 t1 [70,80]@1\n"
           "Mark:Mark t1 !85\n"
           "Value:Value t1 !86 = 123\n"
           "Value:Value t1 !87 = 18446744073709551615\n"
           "Fn:b t1 [90,91]@1\n"
           "#200:#77 t1 [92,93]@1\n"
           "thread_end 1 at 100\n");
    make_close(em.make);
}

/* In place, by an end of the same thread elsewhere, by one of another thread, and of one that never ended. */
static void counted_beside_the_clock(void **state)
{
    (void)state;
    struct event_make em = begin();
    struct stream_rec_counter cpu = {S_NAME, STREAM_MEASURE_CPU_TIME}, other = {S_VALUE, 0};
    event_make_record(&em, STREAM_REC_COUNTER, 1, &cpu, sizeof cpu, NULL, 0);
    event_make_record(&em, STREAM_REC_COUNTER, 2, &other, sizeof other, NULL, 0);
    event_make_owner(&em, 1, 1, AT(0));
    event_make_owner(&em, 2, 2, AT(0));
    uint64_t outer = event_make_interval(&em, 1, KIND_FN, S_MAIN, AT(10), OPEN);
    event_make_more(&em, 1, 1, STREAM_SLOT_COUNTER, 0, 1000);
    event_make_more(&em, 1, 2, STREAM_SLOT_COUNTER, 0, 7);
    event_make_interval(&em, 1, KIND_FN, S_A, AT(11), AT(20));
    event_make_more(&em, 1, 1, STREAM_SLOT_COUNTER, 1, 800);
    event_make_interval(&em, 1, KIND_FN, S_PARSE, AT(22), AT(28)); /* nothing was counted */
    event_make_interval(&em, 1, KIND_FN, S_A, AT(23), AT(25));
    event_make_more(&em, 1, 1, STREAM_SLOT_COUNTER, 1, 500);
    uint64_t handed = event_make_interval(&em, 1, KIND_FN, S_B, AT(30), OPEN);
    event_make_more(&em, 1, 1, STREAM_SLOT_COUNTER, 0, 5000);
    event_make_slot(&em, 2, 1, STREAM_SLOT_END, AT(40), handed);
    event_make_more(&em, 2, 1, STREAM_SLOT_COUNTER, 0, 6000);
    event_make_interval(&em, 1, KIND_FN, S_PARSE, AT(50), OPEN);
    event_make_more(&em, 1, 1, STREAM_SLOT_COUNTER, 0, 5500);
    event_make_slot(&em, 1, 1, STREAM_SLOT_END, AT(60), outer);
    event_make_more(&em, 1, 1, STREAM_SLOT_COUNTER, 0, 9000);
    event_make_more(&em, 1, 2, STREAM_SLOT_COUNTER, 0, 9);
    event_make_more(&em, 1, 7777, STREAM_SLOT_COUNTER, 0, 9);
    struct note note;
    char path[] = "/tmp/lamella-events-XXXXXX";
    close(mkstemp(path));
    file_write_all(path, em.make->bytes, em.make->size, NULL);
    read_bytes(path, (struct profile_wants){.args = true, .counters = true}, &note);
    const char *text = strbuf_text(&note.text);
    assert_non_null(strstr(text, "(file=8000 ns) (Value=2)\n"));
    assert_non_null(strstr(text, "Fn:a t1 [11,20]@1 self 9 (file=800 ns)\n"));
    assert_non_null(strstr(text, "Fn:b t1 [30,40]@1 self 10 ended by t2\n"));
    assert_non_null(strstr(text, "Fn:parse t1 [50,"));
    assert_null(strstr(text, "5500"));
    strbuf_free(&note.text);
    read_bytes(path, (struct profile_wants){.args = true}, &note);
    assert_null(strstr(strbuf_text(&note.text), "file="));
    assert_null(strstr(strbuf_text(&note.text), "<"));
    strbuf_free(&note.text);
    read_bytes(path, (struct profile_wants){.counted = true}, &note);
    text = strbuf_text(&note.text);
    assert_non_null(strstr(text, "<0 file 8000/6700> <1 Value 2/2>\n"));
    assert_non_null(strstr(text, "Fn:a t1 [11,20]@1 self 9 <0 file 800/800>\n"));
    assert_non_null(strstr(text, "Fn:a t1 [23,25]@2 self 2 <0 file 500/500>\n"));
    assert_non_null(strstr(text, "Fn:parse t1 [22,28]@1 self 4\n"));
    assert_non_null(strstr(text, "Fn:b t1 [30,40]@1 self 10 ended by t2\n"));
    strbuf_free(&note.text);
    unlink(path);
    make_close(em.make);
}

static void ends_and_pauses_elsewhere(void **state)
{
    (void)state;
    struct event_make em = begin();
    event_make_owner(&em, 1, 1, AT(0));
    uint64_t outer = event_make_interval(&em, 1, KIND_FN, S_MAIN, AT(10), OPEN);
    uint64_t paused = event_make_interval(&em, 1, KIND_FN, S_PARSE, AT(20), OPEN);
    event_make_interval(&em, 1, KIND_FN, S_B, AT(21), OPEN); /* never ends */
    event_make_slot(&em, 1, 1, STREAM_SLOT_PAUSE, AT(30), paused);
    event_make_slot(&em, 1, 1, STREAM_SLOT_RESUME, AT(40), paused);
    for (unsigned i = 0; i < 400; i++) /* into the next page and beyond */
        event_make_slot(&em, 1, S_MARK, 99, AT(50 + i), 0);
    event_make_slot(&em, 1, 1, STREAM_SLOT_END, AT(460), paused);
    event_make_slot(&em, 1, 1, STREAM_SLOT_END, AT(470), outer);
    event_make_slot(&em, 1, 1, STREAM_SLOT_END, AT(480), outer); /* once is enough */
    event_make_kind(&em, 99, S_MARK, 0, 0, 1, STREAM_KIND_DETACHED | STREAM_KIND_INSTANT);
    struct note note;
    char path[] = "/tmp/lamella-events-XXXXXX";
    close(mkstemp(path));
    file_write_all(path, em.make->bytes, em.make->size, NULL);
    for (int order = PROFILE_ORDER_ANY; order <= PROFILE_ORDER_START; order++) {
        read_bytes(path, (struct profile_wants){.order = (enum profile_order)order}, &note);
        const char *text = strbuf_text(&note.text);
        bool by_start = order == PROFILE_ORDER_START;
        assert_non_null(
            strstr(text, by_start ? "Fn:main t1 [10,470]@0\n" : "Fn:main t1 [10,470]@0 self 30\n"));
        assert_non_null(strstr(text, by_start ? "Fn:parse t1 [20,460]@1 active 430\n"
                                              : "Fn:parse t1 [20,460]@1 active 430 self 430\n"));
        /* It began in both and ends after them. */
        assert_non_null(strstr(text, by_start ? "Fn:b t1 [21,480]@0 flags 5\n"
                                              : "Fn:b t1 [21,480]@0 self 459 flags 5\n"));
        assert_int_equal(note.end.intervals, 3);
        assert_int_equal(note.end.instants, 400);
        assert_int_equal(note.end.open_intervals, 1);
        strbuf_free(&note.text);
    }
    unlink(path);
    make_close(em.make);
}

static void stored_when_over_with_folds(void **state)
{
    (void)state;
    struct event_make em = begin();
    event_make_owner(&em, 1, 1, AT(0));
    event_make_interval(&em, 1, KIND_FN, S_MAIN, AT(0), AT(500));
    event_make_interval(&em, 1, KIND_CALL, S_B, AT(20), AT(60));
    uint64_t a = event_make_interval(&em, 1, KIND_CALL, S_A, AT(10), AT(100));
    event_make_fold(&em, 1, KIND_CALL, S_B, AT(100), a, 7, 2 * 9, 2 * 8);
    event_make_interval(&em, 1, KIND_FN, S_PARSE, AT(200), AT(210));
    event_make_interval(&em, 1, KIND_CALL, S_A, AT(190), AT(220));
    event_make_fold(&em, 1, KIND_CALL, S_A, AT(230), 0, 2, 2 * 4, 2 * 3);
    expect(&em, (struct profile_wants){.paths = true},
           "session events 1 measure 0\n"
           "thread 1 tid 101 \n"
           "fold Call:b t1 at 100: 7 calls 9 self 8 main;a;b\n"
           "Call:b t1 [20,60]@2 self 40 main;a;b\n"
           "Call:a t1 [10,100]@1 self 42 main;a\n"
           "fold Call:a t1 at 230: 2 calls 4 self 3 a\n"
           "Fn:parse t1 [200,210]@2 self 10 main;a;parse\n"
           "Call:a t1 [190,220]@1 self 20 main;a\n"
           "Fn:main t1 [0,500]@0 self 380 main\n"
           "thread_end 1 at 500\n");
    make_close(em.make);
}

static void lanes_serve_many_threads(void **state)
{
    (void)state;
    struct event_make em = begin();
    event_make_owner(&em, 1, 1, AT(0));
    event_make_interval(&em, 1, KIND_FN, S_A, AT(0), AT(10));
    uint64_t task = event_make_interval(&em, 1, KIND_TASK, S_TASK, AT(5), OPEN);
    event_make_interval(&em, 1, KIND_FN, S_MAIN, AT(6), OPEN); /* its thread dies */
    event_make_owner(&em, 1, 2, AT(20));
    event_make_interval(&em, 1, KIND_FN, S_A, AT(30), AT(40));
    event_make_owner(&em, 2, 3, AT(7));
    event_make_slot(&em, 2, 1, STREAM_SLOT_END, AT(50), task);
    event_make_interval(&em, 2, KIND_FN, S_B, AT(60), AT(70));
    event_make_thread(&em, 3, AT(7), "three");
    expect(&em, (struct profile_wants){.order = PROFILE_ORDER_START},
           "session events 1 measure 0\n"
           "thread 1 tid 103 three\n"
           "thread 2 tid 101 \n"
           "thread 3 tid 102 \n"
           "Fn:a t2 [0,10]@0\n"
           "Task:Task t2 [5,50]@0 flags 2 ended by t1\n"
           "Fn:main t2 [6,10]@1 flags 1\n"
           "Fn:a t3 [30,40]@0\n"
           "Fn:b t1 [60,70]@0\n"
           "thread_end 1 at 70\n"
           "thread_end 2 at 10\n"
           "thread_end 3 at 40\n");
    make_close(em.make);
}

static void tracks_move(void **state)
{
    (void)state;
    static const struct profile_wants wants[] = {{.order = PROFILE_ORDER_ANY},
                                                 {.order = PROFILE_ORDER_START}};
    static const char *const expected[] = {
        "session events 1 measure 0\n"
        "thread 1 tid 101 \n"
        "thread 2 tid 102 \n"
        "track 1 at 5 Task\n"
        "Fn:main t1 [10,100]@0 self 90\n"
        "Fn:parse t2 k1 [50,60]@1 self 10\n"
        "Fn:a t1 k1 [20,70]@0 active 40 self 30 ended by t2\n"
        "Fn:b t2 [80,90]@0 self 10\n"
        "thread_end 1 at 100\n"
        "thread_end 2 at 90\n",
        "session events 1 measure 0\n"
        "thread 1 tid 101 \n"
        "thread 2 tid 102 \n"
        "track 1 at 5 Task\n"
        "Fn:main t1 [10,100]@0\n"
        "Fn:a t1 k1 [20,70]@0 active 40 ended by t2\n"
        "Fn:parse t2 k1 [50,60]@1\n"
        "Fn:b t2 [80,90]@0\n"
        "thread_end 1 at 100\n"
        "thread_end 2 at 90\n",
    };
    for (unsigned i = 0; i < 2; i++) {
        struct event_make em = begin();
        event_make_track(&em, 4, AT(5), S_TASK);
        event_make_owner(&em, 1, 1, AT(0));
        event_make_interval(&em, 1, KIND_FN, S_MAIN, AT(10), AT(100));
        event_make_slot(&em, 1, 4, STREAM_SLOT_TRACK_SWITCH, AT(15), 0);
        uint64_t a = event_make_interval(&em, 1, KIND_FN, S_A, AT(20), OPEN);
        event_make_slot(&em, 1, 0, STREAM_SLOT_TRACK_SWITCH, AT(35), 0);
        event_make_owner(&em, 2, 2, AT(1));
        event_make_slot(&em, 2, 4, STREAM_SLOT_TRACK_SWITCH, AT(45), 0);
        event_make_interval(&em, 2, KIND_FN, S_PARSE, AT(50), AT(60));
        event_make_slot(&em, 2, 1, STREAM_SLOT_END, AT(70), a);
        event_make_slot(&em, 2, 4, STREAM_SLOT_TRACK_END, AT(75), 0);
        event_make_interval(&em, 2, KIND_FN, S_B, AT(80), AT(90));
        expect(&em, wants[i], expected[i]);
        make_close(em.make);
    }
}

static void trees_are_folds(void **state)
{
    (void)state;
    /* Away for 4 ns; the last call ended then, or is open: until the last time that is known. */
    static const struct {
        uint64_t when;
        const char *until;
        uint64_t open;
    } ends[] = {{0, "", 0}, {AT(300) << 1, "-304", 0}, {AT(300) << 1 | 1, "-404", 1}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct event_make em = begin();
        struct stream_tree_node root = {1, 1, 0, STREAM_NODE_ROOT, 0, AT(5), 8, 0, 0, 0, 0};
        root.count = ends[i].open ? AT(404) : 0; /* it runs no longer */
        event_make_node(&em, 1, root);
        event_make_node(&em, 1,
                        (struct stream_tree_node){2, S_A, KIND_CALL, STREAM_NODE_CALL, 3, 200, 100,
                                                  0, 0, 0, 0});
        event_make_node(
            &em, 1,
            (struct stream_tree_node){3, S_B, KIND_CALL, STREAM_NODE_CALL, 5, 80, 60, 0, 0, 0, 0});
        event_make_node(
            &em, 1,
            (struct stream_tree_node){4, S_A, KIND_CALL, STREAM_NODE_CALL, 1, 20, 20, 0, 0, 0, 0});
        event_make_node(&em, 1,
                        (struct stream_tree_node){2, S_B, KIND_CALL, STREAM_NODE_CALL, 1, 40, 40, 0,
                                                  ends[i].when, 0, 0});
        char wanted[512], last[64] = "1 calls 20 self 20";
        if (ends[i].open)
            strcpy(last, "2 calls 120 self 120");
        snprintf(wanted, sizeof wanted,
                 "session events 1 measure 0\n"
                 "thread 1 tid 0 \n"
                 "fold Call:a t1 at 5%1$s: 3 calls 100 self 50 a\n"
                 "fold Call:b t1 at 5%1$s: 5 calls 40 self 30 a;b\n"
                 "fold Call:a t1 at 5%1$s: 1 calls 0 self 10 a;b;a\n"
                 "fold Call:b t1 at 5%1$s: %2$s b\n"
                 "thread_end 1 at 0\n",
                 ends[i].until, last);
        expect(&em, (struct profile_wants){.paths = true}, wanted);
        make_close(em.make);
    }
}

static void weights_and_self(void **state)
{
    (void)state;
    struct event_make em = begin();
    event_make_owner(&em, 1, 1, AT(0));
    event_make_interval(&em, 1, KIND_FN, S_MAIN, AT(0), AT(1000));
    event_make_interval(&em, 1, KIND_TENTH, S_A, AT(100), AT(150));
    event_make_more(&em, 1, 2 * 12, STREAM_SLOT_SELF, 1, 2 * 20); /* what recording took */
    event_make_interval(&em, 1, KIND_TENTH, S_B, AT(110), AT(140));
    event_make_more(&em, 1, 0, STREAM_SLOT_SELF, 1, 2 * 30);
    expect(&em, (struct profile_wants){0},
           "session events 1 measure 0\n"
           "thread 1 tid 101 \n"
           "Call:b t1 [110,140]@2 self 30 x10\n"
           "Call:a t1 [100,150]@1 active 38 self 20 x10\n"
           "Fn:main t1 [0,1000]@0 self 500\n"
           "thread_end 1 at 1000\n");
    make_close(em.make);
}

/* What the recorder measured counts, not the switches that it told; and the track that the event names. */
static void measured_active(void **state)
{
    (void)state;
    struct event_make em = begin();
    event_make_owner(&em, 1, 1, AT(0));
    event_make_slot(&em, 1, 1, STREAM_SLOT_TRACK_SWITCH, AT(10), 0);
    event_make_interval(&em, 1, KIND_FN, S_MAIN, AT(20), AT(1000));
    event_make_more(&em, 1, 1, STREAM_SLOT_ACTIVE, 1, 2 * 300);
    event_make_interval(&em, 1, KIND_FN, S_A, AT(100), AT(200));
    event_make_more(&em, 1, 2, STREAM_SLOT_ACTIVE, 1, 2 * 70);
    event_make_interval(&em, 1, KIND_FN, S_B, AT(110), AT(140));
    event_make_more(&em, 1, 1, STREAM_SLOT_ACTIVE, 0, 0);
    expect(&em, (struct profile_wants){0},
           "session events 1 measure 0\n"
           "thread 1 tid 101 \n"
           "track 1 at 0 \n"
           "track 2 at 0 \n"
           "Fn:a t1 k2 [100,200]@0 active 70 self 70\n"
           "Fn:b t1 k1 [110,140]@1 self 30\n"
           "Fn:main t1 k1 [20,1000]@0 active 300 self 270\n"
           "thread_end 1 at 1000\n");
    make_close(em.make);
}

/* A call of the thread itself that is stored when it is over, in the middle of what is told to be a track's. */
static void of_the_thread_itself(void **state)
{
    (void)state;
    struct event_make em = begin();
    event_make_owner(&em, 1, 1, AT(0));
    event_make_slot(&em, 1, 1, STREAM_SLOT_TRACK_SWITCH, AT(10), 0);
    event_make_interval(&em, 1, KIND_FN, S_MAIN, AT(20), AT(30));
    event_make_interval(&em, 1, KIND_FN, S_A, AT(100), AT(200));
    event_make_more(&em, 1, 0, STREAM_SLOT_ACTIVE, 1, 2 * 100);
    expect(&em, (struct profile_wants){0},
           "session events 1 measure 0\n"
           "thread 1 tid 101 \n"
           "track 1 at 0 \n"
           "Fn:a t1 [100,200]@0 self 100\n"
           "Fn:main t1 k1 [20,30]@0 self 10\n"
           "thread_end 1 at 200\n");
    make_close(em.make);
}

/* Calls of a tree, each stored at its start with its end, or when it is over; scopes that are stored at their start lie in
 * between. Returns its end. */
static uint64_t grow(struct event_make *em, bool is_later, unsigned *seed, unsigned depth,
                     uint64_t start)
{
    uint32_t id = (unsigned)rand_r(seed) % 2 ? S_A : S_B;
    bool is_scope = rand_r(seed) % 4 == 0;
    unsigned children = depth ? (unsigned)rand_r(seed) % 4 : 0;
    uint64_t end = start + 2;
    /* Its length is found by growing its children once without storing them. */
    for (int stores = 0; stores < 2; stores++) {
        unsigned state = *seed;
        if (stores && em && (is_scope || !is_later))
            event_make_interval(em, 1, is_scope ? KIND_FN : KIND_PLAIN, id, start, end);
        uint64_t at = start + 2;
        for (unsigned i = 0; i < children; i++)
            at = grow(stores ? em : NULL, is_later, &state, depth - 1, at) + 2;
        end = at + 2;
        if (stores && em && !is_scope && is_later)
            event_make_interval(em, 1, KIND_CALL, id, start, end);
        if (stores || !em) {
            *seed = state;
            if (!em)
                return end;
        }
    }
    return end;
}

static int compare_lines(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The lines of intervals, sorted, with the kinds that differ made the same. */
static void sorted_lines(const char *text, struct strbuf *out)
{
    static char *lines[20000];
    size_t count = 0;
    char *copy = strdup(text);
    assert_non_null(copy);
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
        char *label = strchr(line, ':');
        if (label && count < sizeof lines / sizeof *lines)
            lines[count++] = label;
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < count; i++)
        strbuf_addf(out, "%s\n", lines[i]);
    free(copy);
}

/* Whether an interval is stored at its start or when it is over, over many pages, makes no difference. */
static void stored_late_is_the_same(void **state)
{
    (void)state;
    for (unsigned round = 1; round < 4; round++) {
        struct strbuf texts[2] = {{0}, {0}};
        for (int is_later = 0; is_later < 2; is_later++) {
            struct event_make em = begin();
            event_make_kind(&em, KIND_PLAIN, S_CALL, 0, 0, 1, 0);
            event_make_owner(&em, 1, 1, AT(0));
            unsigned seed = round;
            uint64_t at = AT(10);
            for (unsigned i = 0; i < 100; i++)
                at = grow(&em, is_later != 0, &seed, 5, at) + 2;
            char path[] = "/tmp/lamella-events-XXXXXX";
            close(mkstemp(path));
            assert_int_equal(file_write_all(path, em.make->bytes, em.make->size, NULL), LAM_OK);
            struct note note;
            read_bytes(path, (struct profile_wants){0}, &note);
            sorted_lines(strbuf_text(&note.text), &texts[is_later]);
            assert_int_equal(note.end.clamped_times, 0);
            assert_int_equal(note.end.overlapping_intervals, 0);
            assert_true(note.end.intervals > 1000);
            strbuf_free(&note.text);
            (void)unlink(path);
            make_close(em.make);
        }
        assert_string_equal(strbuf_text(&texts[0]), strbuf_text(&texts[1]));
        strbuf_free(&texts[0]);
        strbuf_free(&texts[1]);
    }
}

/* A recorder beside the agent, in one process: threads are the same by their tids. */
static void joined_with_the_agent(void **state)
{
    (void)state;
    char dir[] = "/tmp/lamella-joined-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    struct make *agent = make_open(100, 1, AT(-10));
    agent->now = AT(-10);
    make_process(agent, "/bin/x", "/", "x", "x\0", 2, 0, 0);
    make_config(agent, STREAM_ENGINE_CPU_TIMER, 1000);
    make_thread(agent, 1, STREAM_THREAD_MAIN, "x");
    make_thread(agent, 2, STREAM_THREAD_CREATED, "second"); /* tid 101 */
    make_sample(agent, 2, AT(3), STREAM_STACK_UNKNOWN, 5, 0);
    snprintf(path, sizeof path, "%s/1-100.lam", dir);
    assert_int_equal(file_write_all(path, agent->bytes, agent->size, NULL), LAM_OK);
    make_close(agent);
    struct event_make em = begin();
    event_make_thread(&em, 1, AT(0), ""); /* tid 101 */
    event_make_owner(&em, 1, 1, AT(0));
    event_make_interval(&em, 1, KIND_FN, S_A, AT(0), AT(10));
    event_make_owner(&em, 2, 9, AT(1)); /* tid 109, which the agent never met */
    event_make_interval(&em, 2, KIND_FN, S_A, AT(2), AT(12));
    snprintf(path, sizeof path, "%s/2-100.lam", dir);
    assert_int_equal(file_write_all(path, em.make->bytes, em.make->size, NULL), LAM_OK);
    make_close(em.make);
    struct note note;
    read_bytes(dir, (struct profile_wants){0}, &note);
    assert_string_equal(strbuf_text(&note.text), "session events 1 measure 0\n"
                                                 "thread 1 tid 100 x\n"
                                                 "thread 2 tid 101 second\n"
                                                 "thread 3 tid 109 x\n"
                                                 "Fn:a t2 [10,20]@0 self 10\n"
                                                 "Fn:a t3 [12,22]@0 self 10\n"
                                                 "thread_end 1 at 10\n"
                                                 "thread_end 2 at 20\n"
                                                 "thread_end 3 at 22\n");
    assert_int_equal(note.end.streams, 2);
    strbuf_free(&note.text);
    (void)unlink(path);
    snprintf(path, sizeof path, "%s/1-100.lam", dir);
    (void)unlink(path);
    (void)rmdir(dir);
}

/* Three recorders in one process: two of them open at the same time, the third when both were closed. */
static void recorders_have_rows(void **state)
{
    (void)state;
    static const struct {
        int start, end; /* of the first of its intervals, and of the last */
        const char *names[2];
    } recorders[] = {{0, 100, {"zero", "one"}}, {40, 120, {"main", "two"}}, {200, 220, {"", ""}}};
    char dir[] = "/tmp/lamella-recorders-XXXXXX", paths[3][64];
    assert_non_null(mkdtemp(dir));
    for (int i = 0; i < 3; i++) {
        int start = recorders[i].start, middle = (start + recorders[i].end) / 2;
        struct event_make em = begin_at(start);
        for (uint32_t thread = 1; thread <= 2; thread++) {
            if (thread == 2 && i == 2)
                break;
            event_make_thread(&em, thread, AT(start), recorders[i].names[thread - 1]);
            event_make_owner(&em, thread, thread, AT(start));
            event_make_interval(&em, thread, KIND_FN, S_A, AT(start), AT(middle));
            event_make_interval(&em, thread, KIND_FN, S_B, AT(middle), AT(recorders[i].end));
        }
        event_make_thread(&em, 3, AT(start), "no events");
        snprintf(paths[i], sizeof paths[i], "%s/%d-100.lam", dir, i + 1);
        assert_int_equal(file_write_all(paths[i], em.make->bytes, em.make->size, NULL), LAM_OK);
        make_close(em.make);
    }
    struct note note;
    read_bytes(dir, (struct profile_wants){0}, &note);
    assert_string_equal(strbuf_text(&note.text), "session events 1 measure 0\n"
                                                 "thread 1 tid 101 zero\n"
                                                 "thread 2 tid 102 one\n"
                                                 "thread 3 tid 103 no events\n"
                                                 "thread 4 tid 101 main (recorder 2)\n"
                                                 "thread 5 tid 102 two (recorder 2)\n"
                                                 "Fn:a t1 [0,50]@0 self 50\n"
                                                 "Fn:b t1 [50,100]@0 self 50\n"
                                                 "Fn:a t2 [0,50]@0 self 50\n"
                                                 "Fn:b t2 [50,100]@0 self 50\n"
                                                 "Fn:a t4 [40,80]@0 self 40\n"
                                                 "Fn:b t4 [80,120]@0 self 40\n"
                                                 "Fn:a t5 [40,80]@0 self 40\n"
                                                 "Fn:b t5 [80,120]@0 self 40\n"
                                                 "Fn:a t1 [200,210]@0 self 10\n"
                                                 "Fn:b t1 [210,220]@0 self 10\n"
                                                 "thread_end 1 at 220\n"
                                                 "thread_end 2 at 200\n"
                                                 "thread_end 3 at 200\n"
                                                 "thread_end 4 at 200\n"
                                                 "thread_end 5 at 200\n");
    assert_int_equal(note.end.streams, 3);
    strbuf_free(&note.text);
    for (int i = 0; i < 3; i++)
        (void)unlink(paths[i]);
    (void)rmdir(dir);
}

/* cases 6b and 4: strings that refer to themselves, texts of every byte, holes. */
static void odd_strings(void **state)
{
    (void)state;
    struct event_make em = begin();
    const uint32_t itself[] = {30}, twice[] = {31, 31};
    event_make_composed(&em, 30, 0, itself, 1); /* damage: it reads as its number */
    event_make_string_n(&em, 31, "\0\xff;\n", 4);
    event_make_composed(&em, 32, 0, twice, 2);
    struct stream_rec_string piece = {6, 4, 2, 0};
    event_make_record(&em, STREAM_REC_STRING, 33, &piece, sizeof piece, "zz", 2);
    for (uint32_t id = 40; id < 90; id++) { /* would be 2^50 bytes */
        const uint32_t before[] = {id - 1, id - 1};
        event_make_composed(&em, id, 0, before, 2);
    }
    event_make_owner(&em, 1, 1, AT(0));
    for (uint32_t id = 30; id < 34; id++)
        event_make_interval(&em, 1, KIND_FN, id, AT(id), AT(id));
    event_make_interval(&em, 1, KIND_FN, 0, AT(34), AT(34));
    char path[] = "/tmp/lamella-events-XXXXXX";
    close(mkstemp(path));
    file_write_all(path, em.make->bytes, em.make->size, NULL);
    struct note note;
    read_bytes(path, (struct profile_wants){0}, &note);
    assert_string_equal(note.labels[2], "Fn:#30");
    assert_memory_equal(note.labels[3], "Fn:\0", 4);
    assert_string_equal(note.labels[5], "Fn:????zz");
    assert_string_equal(note.labels[6], "Fn:"); /* the empty label */
    assert_int_equal(note.end.damage[STREAM_DAMAGE_RECORDS], 1);
    strbuf_free(&note.text);
    (void)unlink(path);
    make_close(em.make);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_and_arguments),      cmocka_unit_test(counted_beside_the_clock),
        cmocka_unit_test(ends_and_pauses_elsewhere), cmocka_unit_test(stored_when_over_with_folds),
        cmocka_unit_test(lanes_serve_many_threads),  cmocka_unit_test(tracks_move),
        cmocka_unit_test(trees_are_folds),           cmocka_unit_test(weights_and_self),
        cmocka_unit_test(measured_active),           cmocka_unit_test(joined_with_the_agent),
        cmocka_unit_test(recorders_have_rows),       cmocka_unit_test(odd_strings),
        cmocka_unit_test(of_the_thread_itself),      cmocka_unit_test(stored_late_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
