#include "analysis/label_totals.h"

#include <math.h>

#include "analysis/event_feed_test.h"
#include "analysis/sink_tee.h"
#include "base/memory.h"
#include "profile/duration_histogram.h"

static struct labels *labels;
static struct event_feed feed;

static void open_labels(const struct labels_options *options)
{
    static const struct labels_options none;
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(labels_open(&labels, options ? options : &none, &err), LAM_OK);
    feed = (struct event_feed){.sink = labels_sink(labels)};
    feed_session(&feed);
}

static void finish_labels(void)
{
    struct lam_error err = LAM_ERROR_INIT;
    feed_session_end(&feed);
    if (labels_finish(labels, &err) < 0)
        fail_msg("%s", err.msg);
}

static int close_labels(void **state)
{
    (void)state;
    labels_close(&labels);
    assert_null(labels);
    return 0;
}

static const struct label_row *row_in(const struct label_row *rows, size_t count, const char *kind,
                                      const char *label)
{
    for (size_t i = 0; i < count; i++) {
        const struct label_name *name = &labels->names.items[rows[i].name];
        if (strcmp(labels_text(labels, name->label, NULL), label) == 0 &&
            strcmp(labels_text(labels, name->kind, NULL), kind) == 0)
            return &rows[i];
    }
    fail_msg("no row %s %s", kind, label);
    return NULL;
}

static const struct label_row *row(const char *kind, const char *label)
{
    return row_in(labels->rows.items, labels->rows.count, kind, label);
}

static void nested(void **state)
{
    (void)state;
    open_labels(NULL);
    feed_process(&feed, 1, "a");
    uint32_t thread = feed_thread(&feed, 1, 7), query = feed_label(&feed, 0, "Query");
    uint32_t outer = feed_label(&feed, query, "outer"), inner = feed_label(&feed, query, "inner");
    feed_label(&feed, query, "never used");
    feed_interval(&feed, (struct feed_event){1, thread, inner, 110, 190, 0, 0, 1, 0, 0, NULL});
    feed_interval(&feed, (struct feed_event){1, thread, outer, 100, 200, 80, 0, 1, 0, 0, NULL});
    feed_process_end(&feed, 1);
    finish_labels();
    assert_int_equal(labels->rows.count, 2);
    assert_int_equal(row("Query", "outer")->self_ns, 20);
    assert_int_equal(row("Query", "outer")->time_ns, 100);
    assert_int_equal(row("Query", "inner")->self_ns, 80);
    assert_ptr_equal(row("Query", "inner"), &labels->rows.items[0]); /* most self time first */
    assert_int_equal(labels->self_ns, 100);
    assert_int_equal(labels->thread_ns, 100);
    assert_int_equal(labels->whole_ns, 100);
    assert_int_equal(labels->events, 2);
    assert_int_equal(labels->processes.items[0].threads, 1);
    assert_int_equal(labels->threads.items[0].all.self_ns, 100);
    assert_int_equal(labels->threads.items[0].tid, 7);
}

/* An event inside one of the same label counts, and its time is not added twice. */
static void recursion(void **state)
{
    (void)state;
    open_labels(NULL);
    feed_process(&feed, 1, "a");
    uint32_t thread = feed_thread(&feed, 1, 7),
             label = feed_label(&feed, feed_label(&feed, 0, "Query"), "e1");
    uint32_t flags = PROFILE_INTERVAL_RECURSIVE;
    feed_interval(&feed, (struct feed_event){1, thread, label, 240, 260, 0, 0, 1, flags, 0, NULL});
    feed_interval(&feed, (struct feed_event){1, thread, label, 220, 280, 20, 0, 1, flags, 0, NULL});
    feed_interval(&feed, (struct feed_event){1, thread, label, 200, 300, 60, 0, 1, 0, 0, NULL});
    feed_process_end(&feed, 1);
    finish_labels();
    const struct label_row *e1 = row("Query", "e1");
    assert_int_equal(e1->count, 3);
    assert_int_equal(e1->self_ns, 100);
    assert_int_equal(e1->time_ns, 100);
    assert_int_equal(e1->active_ns, 100);
    assert_int_equal(e1->wall_ns, 180);
    assert_int_equal(e1->min_ns, 20);
    assert_int_equal(e1->max_ns, 100);
    assert_true(e1->p50_ns >= 58 && e1->p50_ns <= 62);
}

/* Kinds that are parts of queries: columns of the query's row, as the upstream tools add them up. */
static void parts_of_queries(void **state)
{
    (void)state;
    struct labels_options options = {.by_unit = true};
    open_labels(&options);
    feed_process(&feed, 1, "a");
    uint32_t thread = feed_thread(&feed, 1, 7), other = feed_thread(&feed, 1, 8);
    static const char *const kinds[] = {"Query", "QueryBlocked", "IncrementalLoadResult",
                                        "IncrementalResultHashing", "QueryCacheHit"};
    uint32_t label[5];
    for (size_t i = 0; i < 5; i++)
        label[i] = feed_label(&feed, feed_label(&feed, 0, kinds[i]), "q1");
    feed_interval(&feed, (struct feed_event){1, thread, label[3], 80, 95, 4, 0, 1, 0, 0, NULL});
    feed_interval(&feed, (struct feed_event){1, thread, label[0], 0, 100, 15, 0, 1, 0, 0, NULL});
    feed_interval(&feed, (struct feed_event){1, other, label[1], 30, 100, 3, 0, 1, 0, 0, NULL});
    feed_interval(&feed, (struct feed_event){1, other, label[2], 100, 140, 5, 0, 1, 0, 0, NULL});
    feed_instant(&feed, 1, thread, label[4]);
    feed_instant(&feed, 1, thread, label[4]);
    feed_process_end(&feed, 1);
    finish_labels();
    assert_int_equal(labels->rows.count, 1);
    const struct label_row *q1 = row("Query", "q1");
    assert_int_equal(q1->count, 1);
    assert_int_equal(q1->self_ns, 11 + 85 + 67 + 35);
    assert_int_equal(q1->wall_ns, 100 + 70 + 40);
    assert_int_equal(q1->blocked_ns, 70);
    assert_int_equal(q1->load_ns, 35);
    assert_int_equal(q1->hashing_ns, 11);
    assert_int_equal(q1->cache_hits, 2);
    assert_int_equal(q1->max_ns, 100);
    assert_int_equal(labels->thread_ns, 100 + 110);
    assert_int_equal(labels->marks.count, 0);
    assert_int_equal(labels->kinds.count, 4);
    assert_memory_equal(&labels_of_process(labels, 0).items->cache_hits, &q1->cache_hits, 8);
}

/* Counts of hits stand for all hits of their label in their process; another process may have single ones. */
static void cache_hit_counts(void **state)
{
    (void)state;
    open_labels(NULL);
    uint32_t count = 0, hit = 0;
    for (uint32_t process = 1; process <= 2; process++) {
        feed_process(&feed, process, "a");
        uint32_t thread = feed_thread(&feed, process, 7);
        if (process == 1) {
            count = feed_label(&feed, feed_label(&feed, 0, "QueryCacheHitCount"), "x");
            hit = feed_label(&feed, feed_label(&feed, 0, "QueryCacheHit"), "x");
        }
        feed_instant(&feed, process, thread, hit);
        if (process == 1) {
            feed_integer(&feed, process, thread, count, 2);
            feed_integer(&feed, process, thread, count, 3);
        }
        feed_process_end(&feed, process);
    }
    finish_labels();
    assert_int_equal(row("Query", "x")->cache_hits, 5 + 1);
    assert_int_equal(row("Query", "x")->count, 0);
    assert_int_equal(row("Query", "x")->min_ns, 0);
}

static void artifacts_and_marks(void **state)
{
    (void)state;
    struct labels_options options = {.by_unit = true};
    open_labels(&options);
    feed_process(&feed, 1, "a");
    feed_process(&feed, 2, "b"); /* inputs may mix processes */
    uint32_t one = feed_thread(&feed, 1, 7), two = feed_thread(&feed, 2, 7);
    uint32_t size = feed_label(&feed, 0, "ArtifactSize");
    uint32_t rlib = feed_label(&feed, size, "rlib"), object = feed_label(&feed, size, "object"),
             mark = feed_label(&feed, feed_label(&feed, 0, "Mark"), "gc");
    feed_integer(&feed, 1, one, rlib, 100);
    feed_integer(&feed, 2, two, rlib, 50);
    feed_integer(&feed, 1, one, rlib, 1);
    feed_integer(&feed, 2, two, object, 60);
    feed_integer(&feed, 2, two, mark, 9);
    feed_integer(&feed, 1, one, mark, 4);
    feed_instant(&feed, 1, one, mark);
    feed_process_end(&feed, 1);
    feed_process_end(&feed, 2);
    finish_labels();
    assert_int_equal(labels->artifacts.count, 2 + 3);
    assert_int_equal(labels->artifacts.items[0].bytes, 151);
    assert_int_equal(labels->artifacts.items[0].process, LABELS_ALL);
    assert_int_equal(labels->artifacts.items[1].bytes, 60);
    assert_int_equal(labels->artifacts.items[2].bytes, 101);
    assert_int_equal(labels->artifacts.items[2].process, 0);
    assert_int_equal(labels->rows.count, 0);
    assert_int_equal(labels->marks.count, 1);
    assert_int_equal(labels->marks.items[0].count, 3);
    assert_int_equal(labels->marks.items[0].values, 2);
    assert_int_equal(labels->marks.items[0].sum, 13);
    assert_int_equal(labels->marks.items[0].min, 4);
    assert_int_equal(labels->marks.items[0].max, 9);
}

static bool only_second(void *ctx, const struct profile_process *process)
{
    (void)ctx;
    return process->process == 2;
}

static void units(void **state)
{
    (void)state;
    for (int filtered = 0; filtered < 2; filtered++) {
        struct labels_options options = {.by_unit = true,
                                         .wants_process = filtered ? only_second : NULL};
        open_labels(&options);
        uint32_t a = 0, b = 0;
        for (uint32_t process = 1; process <= 3; process++) {
            feed_process(&feed, process, "a");
            uint32_t thread = feed_thread(&feed, process, 7);
            if (!a) {
                uint32_t kind = feed_label(&feed, 0, "Call");
                a = feed_label(&feed, kind, "a");
                b = feed_label(&feed, kind, "b");
            }
            int64_t end = 10 * (int64_t)process;
            feed_interval(&feed,
                          (struct feed_event){process, thread, a, 0, end, 0, 0, 1, 0, 0, NULL});
            if (process == 2)
                feed_interval(&feed, (struct feed_event){process, thread, b, end, 99, 0, 0, 1,
                                                         PROFILE_INTERVAL_OPEN, 0, NULL});
            feed_process_end(&feed, process);
        }
        finish_labels();
        assert_int_equal(row("Call", "a")->self_ns, filtered ? 20 : 60);
        assert_int_equal(row("Call", "a")->max_ns, filtered ? 20 : 30);
        assert_int_equal(row("Call", "b")->open, 1);
        assert_int_equal(labels->open, 1);
        assert_int_equal(labels->processes.count, 3);
        struct label_rows_of second = labels_of_process(labels, 1);
        assert_int_equal(second.count, 2);
        assert_int_equal(row_in(second.items, 2, "Call", "a")->p99_ns, 20);
        assert_int_equal(labels_of_process(labels, 0).count, filtered ? 0 : 1);
        assert_int_equal(labels_of_process(labels, 3).count, 0);
        const struct label_process *process = &labels->processes.items[1];
        assert_int_equal(process->self_ns, 99);
        assert_int_equal(process->top_ns[0], 79);
        assert_int_equal(process->top_ns[1], 20);
        assert_int_equal(process->top[2], LABELS_ALL);
        labels_close(&labels);
    }
}

static void weights_and_folds(void **state)
{
    (void)state;
    open_labels(NULL);
    feed_process(&feed, 1, "a");
    uint32_t thread = feed_thread(&feed, 1, 7),
             call = feed_label(&feed, feed_label(&feed, 0, "Call"), "f");
    feed_interval(&feed, (struct feed_event){1, thread, call, 0, 50, 0, 10, 4, 0, 0, NULL});
    struct profile_fold fold = {.process = 1,
                                .thread = thread,
                                .label = call,
                                .at_ns = 60,
                                .count = 1000,
                                .total_ns = 3000,
                                .self_ns = 2000};
    FEED_CALL(&feed, fold, &fold);
    feed_process_end(&feed, 1);
    finish_labels();
    const struct label_row *f = row("Call", "f");
    assert_int_equal(f->count, 1004);
    assert_int_equal(f->folded, 1000);
    assert_int_equal(f->self_ns, 4 * 40 + 2000);
    assert_int_equal(f->active_ns, 4 * 40 + 3000);
    assert_int_equal(f->time_ns, 4 * 50 + 3000);
    assert_int_equal(f->p90_ns, 40);
    /* The thread's span knows of one of the four and of no folded call. */
    assert_int_equal(labels->thread_ns, 50);
    assert_int_equal(labels->whole_ns, 4 * 40 + 2000);
}

/* Shares are of each thread's span or self time, of which one may be the larger here and the other there. */
static void whole_of_threads(void **state)
{
    (void)state;
    open_labels(NULL);
    feed_process(&feed, 1, "a");
    uint32_t whole = feed_thread(&feed, 1, 7), tree = feed_thread(&feed, 1, 8);
    uint32_t call = feed_label(&feed, feed_label(&feed, 0, "Call"), "f");
    feed_interval(&feed, (struct feed_event){1, whole, call, 0, 30, 0, 0, 1, 0, 0, NULL});
    feed_interval(&feed, (struct feed_event){1, whole, call, 80, 100, 0, 0, 1, 0, 0, NULL});
    struct profile_fold fold = {.process = 1,
                                .thread = tree,
                                .label = call,
                                .at_ns = 60,
                                .count = 1000,
                                .total_ns = 400,
                                .self_ns = 400};
    FEED_CALL(&feed, fold, &fold);
    /* Sums whose first and last are known, also around what was stored one by one. */
    fold.thread = feed_thread(&feed, 1, 9);
    fold.until_ns = 560;
    FEED_CALL(&feed, fold, &fold);
    feed_interval(&feed, (struct feed_event){1, fold.thread, call, 80, 90, 0, 0, 1, 0, 0, NULL});
    fold.thread = feed_thread(&feed, 1, 10);
    feed_interval(&feed, (struct feed_event){1, fold.thread, call, 10, 20, 0, 0, 1, 0, 0, NULL});
    FEED_CALL(&feed, fold, &fold);
    feed_process_end(&feed, 1);
    finish_labels();
    /* Of sums of which nothing else is known their own time. */
    assert_int_equal(labels->thread_ns, 100 + 400 + 500 + 550);
    assert_int_equal(labels->self_ns, 450 + 2 * 410);
    assert_int_equal(labels->whole_ns, 100 + 400 + 500 + 550);
}

static const char *argument_text(size_t row)
{
    return intern_text(&labels->arguments.texts, labels->arguments.rows.items[row].text, NULL);
}

static void arguments_and_paths(void **state)
{
    (void)state;
    struct labels_options options = {.by_argument = true, .by_path = true};
    open_labels(&options);
    assert_true(feed.sink.wants.args && feed.sink.wants.paths);
    feed_process(&feed, 1, "a");
    uint32_t thread = feed_thread(&feed, 1, 7), kind = feed_label(&feed, 0, "Query");
    uint32_t a = feed_label(&feed, kind, "a"), b = feed_label(&feed, kind, "b");
    uint32_t pa = feed_path(&feed, 0, a), pb = feed_path(&feed, 0, b), pab = feed_path(&feed, pa, b);
    feed_interval(&feed, (struct feed_event){1, thread, b, 5, 20, 0, 0, 1, 0, pab, "x"});
    feed_interval(&feed, (struct feed_event){1, thread, a, 0, 30, 15, 0, 1, 0, pa, "y"});
    feed_interval(&feed, (struct feed_event){1, thread, b, 40, 60, 0, 0, 1, 0, pb, "x"});
    feed_interval(&feed, (struct feed_event){1, thread, b, 60, 61, 0, 0, 1, 0, pb, NULL});
    feed_process_end(&feed, 1);
    finish_labels();
    assert_int_equal(labels->arguments.rows.count, 3);
    assert_string_equal(argument_text(0), "x");
    assert_int_equal(labels->arguments.rows.items[0].self_ns, 35);
    assert_int_equal(labels->arguments.rows.items[0].count, 2);
    assert_int_equal(labels->arguments.rows.items[0].max_ns, 20);
    assert_string_equal(argument_text(2), "");
    const struct label_path *nodes = labels->paths.nodes.items;
    assert_int_equal(nodes[0].time_ns, 30 + 21);
    assert_int_equal(nodes[0].self_ns, 51);
    assert_int_equal(nodes[0].first_child, pa);
    assert_int_equal(nodes[pa].next, pb);
    assert_int_equal(nodes[pb].next, 0);
    assert_int_equal(nodes[pa].first_child, pab);
    assert_int_equal(nodes[pab].depth, 1);
    assert_int_equal(nodes[pab].self_ns, 15);
    assert_int_equal(nodes[pb].count, 2);
}

/* What an input must not say is refused, without harm. */
static void refused(void **state)
{
    (void)state;
    open_labels(NULL);
    const struct profile_sink_ops *ops = feed.sink.ops;
    struct profile_interval interval = {.process = 1, .thread = 1, .label = 1, .weight = 1};
    assert_int_equal(ops->interval(feed.sink.ctx, &interval), LAM_E_INVAL);
    feed_process(&feed, 1, "a");
    assert_int_equal(ops->interval(feed.sink.ctx, &interval), LAM_E_INVAL);
    uint32_t kind = feed_label(&feed, 0, "k");
    interval.label = feed_label(&feed, kind, "l");
    assert_int_equal(ops->interval(feed.sink.ctx, &interval), LAM_E_INVAL); /* no thread */
    feed_thread(&feed, 1, 3);
    assert_int_equal(ops->interval(feed.sink.ctx, &interval), LAM_OK);
    interval.process = 0;
    feed_process_end(&feed, 1);
    assert_int_equal(ops->interval(feed.sink.ctx, &interval), LAM_E_INVAL);
    struct profile_label label = {.label = 9, .kind = 77};
    assert_int_equal(ops->label(feed.sink.ctx, &label), LAM_E_INVAL);
    struct profile_path path = {.path = 1, .parent = 2, .label = kind};
    assert_int_equal(ops->path(feed.sink.ctx, &path), LAM_E_INVAL);
    /* An end before its start is empty, whatever the input says of it. */
    interval = (struct profile_interval){
        .process = 1, .thread = 1, .label = 2, .start_ns = 5, .end_ns = 2, .weight = 1};
    assert_int_equal(ops->interval(feed.sink.ctx, &interval), LAM_OK);
    finish_labels();
    assert_int_equal(row("k", "l")->wall_ns, 0);
}

static uint64_t quantile(const struct duration_histogram *histogram, double share)
{
    uint64_t found;
    duration_histogram_quantiles(histogram, &share, &found, 1);
    return found;
}

static void quantiles(void **state)
{
    (void)state;
    struct duration_histogram histogram = {0};
    assert_int_equal(quantile(&histogram, 0.5), 0);
    for (uint64_t i = 1; i <= 100000; i++)
        assert_int_equal(duration_histogram_add(&histogram, i * 1000, 1), LAM_OK);
    for (unsigned percent = 1; percent <= 100; percent++) {
        double found = (double)quantile(&histogram, percent / 100.0);
        if (fabs(found / (percent * 1e6) - 1) > 0.035)
            fail_msg("%u%%: %f", percent, found);
    }
    assert_int_equal(duration_histogram_add(&histogram, 0, 1), LAM_OK);
    assert_int_equal(duration_histogram_add(&histogram, UINT64_MAX, 1), LAM_OK);
    assert_int_equal(quantile(&histogram, 0), 0);
    assert_true(quantile(&histogram, 1) > UINT64_MAX / 16 * 15);
    static const double shares[] = {0, 0.5, 0.5, 1};
    uint64_t together[4];
    duration_histogram_quantiles(&histogram, shares, together, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(together[i], quantile(&histogram, shares[i]));
    /* Every bucket begins where the one before it ends. */
    for (uint64_t ns = 1; ns; ns <<= 1)
        for (uint64_t at = ns - 1; at <= ns + 1 && ns < UINT64_C(1) << 62; at++)
            assert_in_range(duration_bucket(at + 1) - duration_bucket(at), 0, 1);
    assert_int_equal(duration_bucket(UINT64_MAX), DURATION_BUCKETS - 1);
    duration_histogram_free(&histogram);
}

/* Each allocation refused in turn: a code, and nothing is lost or touched twice. */
static void without_memory(void **state)
{
    (void)state;
    for (uint64_t after = 0;; after++) {
        struct lam_error err = LAM_ERROR_INIT;
        struct labels_options options = {.by_unit = true, .by_argument = true, .by_path = true};
        mem_fail_after(after);
        int rc = labels_open(&labels, &options, &err);
        if (rc == LAM_OK) {
            const struct profile_sink sink = labels_sink(labels);
            struct profile_process process = {.process = 1};
            struct profile_thread thread = {.thread = 1, .process = 1};
            struct profile_label kind = {.label = 1, .text = feed_text("Query")};
            struct profile_label label = {.label = 2, .kind = 1, .text = feed_text("q")};
            struct profile_path path = {.path = 1, .label = 2};
            struct profile_text argument = feed_text("x");
            struct profile_interval interval = {.process = 1,
                                                .thread = 1,
                                                .label = 2,
                                                .path = 1,
                                                .end_ns = 9,
                                                .active_ns = 9,
                                                .self_ns = 9,
                                                .weight = 1,
                                                .args = &argument,
                                                .argc = 1};
            struct profile_instant instant = {.process = 1, .thread = 1, .label = 2};
            struct profile_process_end end = {.process = 1};
            rc = sink.ops->process(sink.ctx, &process);
            rc = rc < 0 ? rc : sink.ops->thread(sink.ctx, &thread);
            rc = rc < 0 ? rc : sink.ops->label(sink.ctx, &kind);
            rc = rc < 0 ? rc : sink.ops->label(sink.ctx, &label);
            rc = rc < 0 ? rc : sink.ops->path(sink.ctx, &path);
            rc = rc < 0 ? rc : sink.ops->interval(sink.ctx, &interval);
            rc = rc < 0 ? rc : sink.ops->instant(sink.ctx, &instant);
            rc = rc < 0 ? rc : sink.ops->process_end(sink.ctx, &end);
            rc = rc < 0 ? rc : labels_finish(labels, &err);
        }
        uint64_t refused_count = mem_fail_count();
        mem_fail_after(UINT64_MAX);
        labels_close(&labels);
        if (refused_count == 0) {
            assert_int_equal(rc, LAM_OK);
            return;
        }
        assert_true(rc < 0);
    }
}

static int count_calls(void *ctx, const struct profile_instant *instant)
{
    (void)instant;
    ++*(int *)ctx;
    return *(int *)ctx > 2 ? LAM_E_CANCELLED : LAM_OK;
}

static void tee(void **state)
{
    (void)state;
    int first = 0, second = 0;
    struct profile_sink_ops none = {0}, ops = {.instant = count_calls};
    struct profile_sink a = {.ctx = &first, .ops = &ops}, c = {.ops = &none},
                        b = {.ctx = &second, .ops = &ops, .wants = {.args = true}};
    struct sink_tee tee_ab, tee_cb;
    struct profile_sink ab = sink_tee(&tee_ab, &a, &b), cb = sink_tee(&tee_cb, &c, &b);
    struct profile_instant instant = {0};
    assert_null(ab.ops->interval);
    assert_true(ab.wants.args);
    assert_int_equal(ab.ops->instant(ab.ctx, &instant), LAM_OK);
    assert_int_equal(cb.ops->instant(cb.ctx, &instant), LAM_OK);
    assert_int_equal(ab.ops->instant(ab.ctx, &instant), LAM_E_CANCELLED);
    assert_int_equal(first, 2);
    assert_int_equal(second, 3);
    assert_int_equal(ab.ops->instant(ab.ctx, &instant), LAM_E_CANCELLED);
    assert_int_equal(second, 3);
}

static void detached(void **state)
{
    (void)state;
    open_labels(NULL);
    feed_process(&feed, 1, "a");
    uint32_t thread = feed_thread(&feed, 1, 7), kind = feed_label(&feed, 0, "Item");
    uint32_t work = feed_label(&feed, kind, "work"), item = feed_label(&feed, kind, "item");
    feed_interval(&feed, (struct feed_event){1, thread, work, 100, 200, 0, 0, 1, 0, 0, NULL});
    for (int64_t i = 0; i < 3; i++)
        feed_interval(&feed, (struct feed_event){1, thread, item, 100 + i, 400 + i, 0, 0, 1,
                                                 PROFILE_INTERVAL_DETACHED, 0, NULL});
    feed_process_end(&feed, 1);
    finish_labels();
    /* They run beside the thread: its own time is what it was. */
    assert_int_equal(labels->thread_ns, 100);
    assert_int_equal(labels->detached_ns, 900);
    assert_int_equal(labels->whole_ns, 1000);
    assert_int_equal(row("Item", "item")->self_ns, 900);
    assert_int_equal(labels->threads.items[0].all.self_ns, 100);
}

/* Counters by label over processes, with recursion; the last of values at times is the latest, whoever was read last. */
static void counted(void **state)
{
    (void)state;
    open_labels(NULL);
    uint32_t kind = 0, work = 0, level = 0;
    for (uint32_t process = 1; process <= 2; process++) {
        feed_process(&feed, process, "a");
        uint32_t thread = feed_thread(&feed, process, 7);
        kind = kind ? kind : feed_label(&feed, 0, "Kind");
        work = work ? work : feed_label(&feed, kind, "work");
        level = level ? level : feed_label(&feed, kind, "level");
        const struct profile_counted counts[2][2] = {
            {{0, feed_text("cpu time"), PROFILE_MEASURE_CPU_TIME, 40, 40},
             {1, feed_text("faults"), PROFILE_MEASURE_OTHER, 3, 3}},
            {{0, feed_text("cpu time"), PROFILE_MEASURE_CPU_TIME, 100, 60},
             {1, feed_text("faults"), PROFILE_MEASURE_OTHER, 5, 2}}};
        for (size_t i = 0; i < 2; i++) {
            struct profile_interval interval = {.process = process,
                                                .thread = thread,
                                                .label = work,
                                                .end_ns = 10,
                                                .active_ns = 10,
                                                .self_ns = 5,
                                                .weight = 1,
                                                .flags = i ? 0u : (unsigned)PROFILE_INTERVAL_RECURSIVE,
                                                .counted = counts[i],
                                                .counted_count = 2};
            FEED_CALL(&feed, interval, &interval);
        }
        struct profile_instant value = {.process = process,
                                        .thread = thread,
                                        .label = level,
                                        .at_ns = process == 1 ? 500 : 400,
                                        .has_value = true,
                                        .value = process * 11};
        FEED_CALL(&feed, instant, &value);
        value.at_ns = 100;
        value.value = 99;
        FEED_CALL(&feed, instant, &value);
        feed_process_end(&feed, process);
    }
    finish_labels();
    assert_int_equal(labels->counters.count, 2);
    static const struct label_counter wanted[] = {{0, 0, PROFILE_MEASURE_CPU_TIME, 4, 200, 200, 100},
                                                  {0, 0, PROFILE_MEASURE_OTHER, 4, 10, 10, 5}};
    for (size_t i = 0; i < 2; i++) {
        const struct label_counter *row = &labels->counters.items[i];
        assert_string_equal(labels_text(labels, row->counter, NULL), i ? "faults" : "cpu time");
        assert_int_equal(row->measure, wanted[i].measure);
        assert_int_equal(row->count, wanted[i].count);
        assert_int_equal(row->self, wanted[i].self);
        assert_int_equal(row->total, wanted[i].total);
        assert_int_equal(row->max, wanted[i].max);
    }
    assert_int_equal(labels->marks.count, 1);
    assert_true(labels->marks.items[0].has_last);
    assert_int_equal(labels->marks.items[0].last, 11);
    assert_int_equal(labels->marks.items[0].max, 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nested, close_labels),
        cmocka_unit_test_teardown(recursion, close_labels),
        cmocka_unit_test_teardown(detached, close_labels),
        cmocka_unit_test_teardown(parts_of_queries, close_labels),
        cmocka_unit_test_teardown(cache_hit_counts, close_labels),
        cmocka_unit_test_teardown(artifacts_and_marks, close_labels),
        cmocka_unit_test(units),
        cmocka_unit_test_teardown(weights_and_folds, close_labels),
        cmocka_unit_test_teardown(whole_of_threads, close_labels),
        cmocka_unit_test_teardown(arguments_and_paths, close_labels),
        cmocka_unit_test_teardown(refused, close_labels),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(tee),
        cmocka_unit_test_teardown(counted, close_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
