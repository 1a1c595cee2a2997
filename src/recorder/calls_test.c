/* Calls by policy, tracks, late names and labels. Time is the test's own, so that figures can be told beforehand. */
#include "recorder/by_clock_test.h"

static uint64_t count_of(unsigned what)
{
    return in.header->counts[what];
}

static void every_call(void **state)
{
    (void)state;
    begin_by_clock("");
    enter("main", 0);
    enter("f", 10);
    enter("g", 10);
    assert_int_equal(lam_call_depth(LAM_DEFAULT), 3);
    leave("g", 5);
    leave("f", 10);
    leave("main", 1);
    leave("main", 1); /* nobody's */
    enter("main", 10);
    enter("throws", 1);
    enter("deeper", 1);
    leave("main", 1); /* takes two with it */
    enter("a", 0);
    enter("b", 0);
    lam_call_unwind(LAM_DEFAULT, 0);
    enter("left open", 1);
    finish();
    struct decoded_event *g = decoded_find(&in, "g", 0), *f = decoded_find(&in, "f", 0);
    assert_int_equal(g->end - g->start, 5);
    assert_int_equal(f->end - f->start, 25);
    assert_true(decoded_kind(&in, f->code)->flags & STREAM_KIND_CALL);
    assert_string_equal(decoded_string(&in, decoded_kind(&in, f->code)->name), "Call");
    assert_int_equal(count_of(STREAM_COUNT_UNBALANCED_EXITS), 3);
    assert_int_equal(decoded_find(&in, "throws", 0)->end, decoded_find(&in, "main", 1)->end);
    assert_true(decoded_find(&in, "b", 0)->end != 0);
    assert_int_equal(decoded_find(&in, "left open", 0)->end, 0);
    end();
}

static void deep_recursion(void **state)
{
    (void)state;
    begin_by_clock("calls=tree");
    enum { DEPTH = 1200000 };
    for (int i = 0; i < DEPTH; i++)
        enter("deep", 1);
    for (int i = 0; i < DEPTH; i++)
        leave("deep", 1);
    assert_int_equal(lam_call_depth(LAM_DEFAULT), 0);
    enter("after", 1);
    leave("after", 1);
    finish();
    assert_true(count_of(STREAM_COUNT_UNTOLD_CALLS) > DEPTH / 2);
    assert_int_equal(count_of(STREAM_COUNT_UNBALANCED_EXITS), 0);
    assert_true(in.size < 6 << 20);
    end();
}

static void one_in_n(void **state)
{
    (void)state;
    begin_by_clock("calls=one_in:16");
    uint64_t f_total = 0, g_total = 0, f_self = 0;
    enum { CALLS = 20000 };
    for (unsigned i = 0; i < CALLS; i++) {
        uint64_t g = 20 + i * 7919 % 11;
        enter("f", 1);
        enter("g", 10);
        leave("g", g);
        enter("g", 3);
        leave("g", g + 1);
        leave("f", 7);
        f_total += 10 + 3 + 7 + 2 * g + 1;
        f_self += 20;
        g_total += 2 * g + 1;
    }
    finish();
    uint64_t f_count = 0, f_time = 0, f_own = 0, g_count = 0, g_time = 0;
    uint32_t f = decoded_find(&in, "f", 0)->id, g = decoded_find(&in, "g", 0)->id;
    for (size_t i = 0; i < in.count; i++) {
        const struct decoded_event *ev = &in.events[i];
        const struct stream_rec_kind *kind = ev->code >= 32 ? decoded_kind(&in, ev->code) : NULL;
        if (!kind)
            continue;
        assert_true(kind->weight == 1 || kind->weight == 16);
        assert_int_equal(ev->more_count, 1);
        const struct stream_slot *self = ev->ended_elsewhere ? ev->end_more : ev->more;
        assert_int_equal(stream_slot_code(self), STREAM_SLOT_SELF);
        assert_int_equal(self->head >> 40 & 1, 1);
        if (ev->id == f) {
            f_count += kind->weight;
            f_time += kind->weight * (ev->end - ev->start);
            f_own += kind->weight * self->rest;
        } else if (ev->id == g) {
            g_count += kind->weight;
            g_time += kind->weight * (ev->end - ev->start);
        }
    }
    assert_in_range(f_count, CALLS - 32, CALLS + 32);
    assert_in_range(g_count, 2 * CALLS - 32, 2 * CALLS + 32);
    assert_in_range(f_time, f_total * 98 / 100, f_total * 102 / 100);
    assert_in_range(g_time, g_total * 98 / 100, g_total * 102 / 100);
    assert_in_range(f_own, f_self * 98 / 100, f_self * 102 / 100);
    assert_true(in.count < 3 * CALLS / 16 + 200);
    end();
}

/* r(n) takes LEVEL more than r(n - 1), which it calls by way of y: so each call says by its length whether it is the outermost. */
enum { LEVEL = 100, LEVELS = 5, OUTERMOST = LEVELS * LEVEL };
static struct lam_callee callee_r, callee_y;

static void recurse(int levels, struct lam_open_call *around, int by_callees)
{
    struct lam_open_call r = {0}, y = {0};
    if (by_callees) {
        int is_told = !lam_callee_skips(&callee_r, around, &r);
        if (is_told && lam_callee_is_picked(&callee_r) && levels < LEVELS)
            r.told = LAM_TOLD_INSIDE;
        if (is_told)
            lam_callee_enter_event(LAM_DEFAULT, &callee_r, around, &r);
        lam_callee_enter(LAM_DEFAULT, &callee_y, &r, &y);
    } else {
        enter("r", 0);
        enter("y", 0);
    }
    if (levels > 1)
        recurse(levels - 1, &y, by_callees);
    if (by_callees) {
        lam_callee_exit(LAM_DEFAULT, &y);
        fake_ns += LEVEL;
        lam_callee_exit(LAM_DEFAULT, &r);
    } else {
        leave("y", 0);
        leave("r", LEVEL);
    }
}

/* A call that is recorded for others says whether it lies in another one of its function, which nobody can see. */
static void one_in_n_of_recursion(void **state)
{
    (void)state;
    enum { RUNS = 20000 };
    for (int by_callees = 0; by_callees < 2; by_callees++) {
        begin_by_clock("calls=one_in:7");
        callee_r = (struct lam_callee){.label = label("r").id};
        callee_y = (struct lam_callee){.label = label("y").id};
        struct lam_open_call none = {0};
        for (unsigned i = 0; i < RUNS; i++)
            recurse(LEVELS, &none, by_callees);
        finish();
        uint64_t outermost = 0, inside = 0;
        for (size_t i = 0; i < in.count; i++) {
            const struct decoded_event *ev = &in.events[i];
            const struct stream_rec_kind *kind = ev->code >= 32 ? decoded_kind(&in, ev->code) : NULL;
            if (!kind || kind->weight == 1 || strcmp(decoded_name(&in, ev), "r") != 0)
                continue;
            const struct stream_slot *self = ev->ended_elsewhere ? ev->end_more : ev->more;
            uint64_t bits = self->head >> 40;
            assert_int_equal(bits & STREAM_SELF_KNOWN, STREAM_SELF_KNOWN);
            assert_int_equal((bits & STREAM_SELF_INSIDE) != 0, ev->end - ev->start < OUTERMOST);
            outermost += bits & STREAM_SELF_INSIDE ? 0 : kind->weight;
            inside += bits & STREAM_SELF_INSIDE ? kind->weight : 0;
        }
        assert_in_range(outermost + inside, RUNS * LEVELS - 28, RUNS * LEVELS);
        /* A fifth, by drawing 14,000 times: 10% are 8 standard deviations. */
        assert_in_range(outermost, RUNS * 90 / 100, RUNS * 110 / 100);
        end();
    }
}

struct totals {
    uint64_t count, total, self;
};

static struct totals folds_of(uint32_t id, const struct decoded_event *parent)
{
    struct totals sum = {0, 0, 0};
    for (size_t i = 0; i < in.count; i++) {
        const struct decoded_event *ev = &in.events[i];
        if (ev->code != STREAM_SLOT_FOLD || ev->id != id)
            continue;
        assert_int_equal(ev->more_count, 4);
        const struct decoded_event *of = decoded_ref(&in, (uint32_t)ev->more[0].rest, ev->payload);
        if (parent && of != parent)
            continue;
        sum.count += ev->more[1].rest;
        sum.total += ev->more[2].rest;
        sum.self += ev->more[3].rest;
    }
    return sum;
}

static void short_calls_fold(void **state)
{
    (void)state;
    begin_by_clock("calls=threshold:1us");
    enter("main", 0);
    for (int i = 0; i < 1000; i++) {
        enter("short", 10);
        enter("tiny", 10);
        leave("tiny", 20);
        leave("short", 30);
    }
    enter("long", 100);
    for (int i = 0; i < 70; i++) { /* more labels than a frame keeps */
        char name[16];
        snprintf(name, sizeof name, "label %d", i);
        enter(name, 1);
        leave(name, 99);
    }
    leave("long", 800);
    enter("open already", 1);
    enter("x", 5000); /* by now it is long */
    finish();
    struct decoded_event *main_call = decoded_find(&in, "main", 0),
                         *longer = decoded_find(&in, "long", 0);
    assert_true(main_call && longer && main_call < longer);
    assert_int_equal(main_call->end, 0);
    assert_int_equal(longer->end - longer->start, 70 * 100 + 800);
    assert_null(decoded_find(&in, "short", 0));
    assert_non_null(decoded_find(&in, "open already", 0));
    assert_int_equal(decoded_find(&in, "open already", 0)->end, 0);
    uint32_t any = 0;
    for (size_t i = 0; i < in.count; i++)
        any += in.events[i].code == STREAM_SLOT_FOLD;
    assert_true(any >= 70);
    struct totals all = {0, 0, 0};
    for (int i = 0; i < 70; i++) {
        char name[16];
        snprintf(name, sizeof name, "label %d", i);
        for (uint32_t id = 1; id < 120; id++)
            if (strcmp(decoded_string(&in, id), name) == 0) {
                struct totals one = folds_of(id, longer);
                all.count += one.count;
                all.total += one.total;
                all.self += one.self;
            }
    }
    assert_int_equal(all.count, 70);
    assert_int_equal(all.total, 70 * 99);
    assert_int_equal(all.self, 70 * 99);
    end();
    begin_by_clock("calls=threshold:1us");
    enter("main", 0);
    for (int i = 0; i < 1000; i++) {
        enter("short", 10);
        enter("tiny", 10);
        leave("tiny", 20);
        leave("short", 30);
    }
    leave("main", 5);
    uint32_t short_id = label("short").id, tiny_id = label("tiny").id;
    finish();
    main_call = decoded_find(&in, "main", 0);
    struct totals shorts = folds_of(short_id, main_call), tinies = folds_of(tiny_id, main_call);
    assert_int_equal(shorts.count, 1000);
    assert_int_equal(shorts.total, 1000 * 60);
    assert_int_equal(shorts.self, 1000 * 40);
    assert_int_equal(tinies.count, 1000);
    assert_int_equal(tinies.self, 1000 * 20);
    assert_int_equal(main_call->end - main_call->start, 1000 * 70 + 5);
    end();
}

/* The node of this path of labels, from the root. */
static const struct stream_tree_node *node_of(uint32_t lane, const uint32_t *labels, size_t depth)
{
    static const struct stream_tree_node *nodes[100000];
    uint32_t count = 0;
    for (uint32_t sequence = 0;; sequence++) {
        const struct stream_page *page = NULL;
        for (size_t at = 4096; at < in.size && !page;) {
            const struct stream_page *it = decoded_page(&in, at);
            if (it && it->kind == STREAM_PAGE_TREE && it->thread == lane && it->sequence == sequence)
                page = it;
            at += it ? it->size_bytes : 4096;
        }
        if (!page)
            break;
        assert_int_equal(page->size_bytes, stream_chunk_bytes(sequence));
        const struct stream_tree_node *node = (const void *)(page + 1);
        for (uint32_t i = 0; i < stream_tree_page_nodes(sequence); i++)
            nodes[++count] = &node[i];
    }
    for (uint32_t i = 1; i <= count && nodes[i]->parent_plus_1; i++) {
        uint32_t at = i;
        size_t left = depth;
        assert_true(nodes[i]->parent_plus_1 <= i);
        while (left && nodes[at]->type != STREAM_NODE_ROOT && nodes[at]->id == labels[left - 1]) {
            at = nodes[at]->parent_plus_1 - 1;
            left--;
        }
        if (!left && nodes[at]->type == STREAM_NODE_ROOT)
            return nodes[i];
    }
    return NULL;
}

static void trees(void **state)
{
    (void)state;
    begin_by_clock("calls=tree");
    for (int i = 0; i < 1000; i++) {
        enter("f", 10);
        enter("g", 10);
        leave("g", 20);
        leave("f", 30);
        enter("g", 1);
        leave("g", 2);
    }
    uint32_t f = label("f").id, g = label("g").id;
    finish();
    const struct stream_tree_node *f_node = node_of(1, &f, 1), *g_node = node_of(1, &g, 1);
    const struct stream_tree_node *fg_node = node_of(1, (uint32_t[]){f, g}, 2);
    /* Lanes go on counting while the process lives. */
    for (uint32_t lane = 2; lane < 50 && !f_node; lane++) {
        f_node = node_of(lane, &f, 1);
        g_node = node_of(lane, &g, 1);
        fg_node = node_of(lane, (uint32_t[]){f, g}, 2);
    }
    assert_true(f_node && g_node && fg_node);
    assert_int_equal(f_node->count, 1000);
    assert_int_equal(f_node->total, 60000);
    assert_int_equal(f_node->self, 40000);
    assert_int_equal(fg_node->count, 1000);
    assert_int_equal(fg_node->self, 20000);
    assert_int_equal(g_node->total, 2000);
    assert_int_equal(in.pages[STREAM_PAGE_TREE], 1);
    end();
}

static void automatic(void **state)
{
    (void)state;
    begin_by_clock("calls=auto:1M");
    enter("main", 0);
    for (int i = 0; i < 500000; i++) {
        enter("work", 1);
        leave("work", 1);
    }
    leave("main", 1);
    finish();
    assert_true(in.size < 3 << 20);
    assert_int_equal(in.pages[STREAM_PAGE_TREE], 1);
    assert_non_null(decoded_record(&in, STREAM_REC_POLICY, STREAM_CALLS_AUTO, 0));
    assert_non_null(decoded_record(&in, STREAM_REC_POLICY, STREAM_CALLS_AUTO | STREAM_CALLS_TREE, 0));
    assert_int_equal(decoded_find(&in, "main", 0)->ended_elsewhere, 1);
    end();
}

/* Calls that are open when the tree begins have events that had no room for more. What was not told since, of their track and of the
 * calls of the tree inside of them, comes with their ends. */
static void open_when_the_tree_begins(void **state)
{
    (void)state;
    for (int thinned = 0; thinned < 2; thinned++) {
        begin_by_clock(thinned ? "calls=auto:64K+one_in:1" : "calls=auto:64K");
        struct lam_track track = lam_track_create(LAM_DEFAULT, label("coroutine"));
        lam_track_switch(LAM_DEFAULT, track);
        enter("open", 10);
        for (int i = 0; i < 10000; i++) {
            enter("work", 1);
            leave("work", 1);
        }
        lam_track_switch(LAM_DEFAULT, (struct lam_track){0});
        fake_ns += 1000; /* twice switched, and back where it was: nothing is told */
        lam_track_switch(LAM_DEFAULT, track);
        enter("in the tree", 5);
        leave("in the tree", 100);
        leave("open", 7);
        finish();
        assert_int_equal(in.pages[STREAM_PAGE_TREE], 1);
        struct decoded_event *open = decoded_find(&in, "open", 0);
        const struct stream_slot *more = open->end_more + thinned; /* behind SELF */
        assert_int_equal(open->ended_elsewhere, 1);
        assert_int_equal(stream_slot_code(more), STREAM_SLOT_ACTIVE);
        assert_int_equal(more->rest, 20000 + 5 + 100 + 7);
        uint64_t in_tree = 0;
        for (size_t i = 0; i < in.count; i++)
            if (in.events[i].code == STREAM_SLOT_CALLS &&
                decoded_ref(&in, in.events[i].id, in.events[i].payload) == open)
                in_tree += in.events[i].more->rest;
        uint64_t recorded = 0; /* the calls before the tree */
        while (decoded_find(&in, "work", (unsigned)recorded))
            recorded++;
        assert_int_equal(in_tree, 10000 - recorded + 100);
        end();
    }
}

static void tracks(void **state)
{
    (void)state;
    begin_by_clock("calls=tree");
    struct lam_track one = lam_track_create(LAM_DEFAULT, label("coroutine"));
    struct lam_track two = lam_track_create(LAM_DEFAULT, (struct lam_label){0});
    assert_true(one.id && two.id && one.id != two.id);
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "A");
    lam_track_switch(LAM_DEFAULT, one);
    struct lam_handle a = lam_begin(LAM_DEFAULT, kind, label("in one"));
    enter("call in one", 1);
    lam_track_switch(LAM_DEFAULT, two);
    struct lam_handle b = lam_begin(LAM_DEFAULT, kind, label("in two"));
    enter("call in two", 100);
    leave("call in two", 10);
    lam_end(LAM_DEFAULT, b);
    lam_track_switch(LAM_DEFAULT, one);
    leave("call in one", 5);
    lam_end(LAM_DEFAULT, a);
    lam_track_end(LAM_DEFAULT, one);
    struct lam_handle c = lam_begin(LAM_DEFAULT, kind, label("in none"));
    lam_end(LAM_DEFAULT, c);
    uint32_t in_one[] = {label("in one").id, label("call in one").id};
    finish();
    assert_int_equal(decoded_find(&in, "in one", 0)->track, one.id);
    assert_int_equal(decoded_find(&in, "in two", 0)->track, two.id);
    assert_int_equal(decoded_find(&in, "in none", 0)->track, 0);
    assert_non_null(decoded_record(&in, STREAM_REC_TRACK, one.id, 0));
    const struct stream_tree_node *node = NULL;
    for (uint32_t lane = 1; lane < 50 && !node; lane++)
        node = node_of(lane, in_one, 2);
    assert_int_equal(node->total, 5); /* the 110 on the other track are not its own */
    end();
}

/* Thousands of coroutines, deep ones among them; one in N is of a function, whatever track it runs on. */
static void many_tracks(void **state)
{
    (void)state;
    begin_by_clock("calls=one_in:4");
    enum { TRACKS = 5000, DEPTH = 40 };
    static struct lam_track all[TRACKS];
    for (int i = 0; i < TRACKS; i++) {
        all[i] = lam_track_create(LAM_DEFAULT, label("coroutine"));
        lam_track_switch(LAM_DEFAULT, all[i]);
        for (int j = i % 100; j < DEPTH; j++)
            enter("f", 1);
    }
    for (int i = TRACKS - 1; i >= 0; i--) {
        lam_track_switch(LAM_DEFAULT, all[i]);
        assert_int_equal(lam_call_depth(LAM_DEFAULT), i % 100 < DEPTH ? DEPTH - i % 100 : 0);
        for (int j = i % 100; j < DEPTH; j++)
            leave("f", 1);
        lam_track_end(LAM_DEFAULT, all[i]);
    }
    finish();
    size_t recorded = 0, calls = TRACKS / 100 * (DEPTH * (DEPTH + 1) / 2);
    for (size_t i = 0; i < in.count; i++)
        recorded += in.events[i].code >= 32;
    assert_int_equal(recorded, 4 + calls / 4 - 1);
    assert_int_equal(count_of(STREAM_COUNT_UNBALANCED_EXITS), 0);
    end();
}

/* In the tree switches are told where an event needs them, and now and then. */
static void switches_in_the_tree(void **state)
{
    (void)state;
    begin_by_clock("calls=tree,max_bytes=128K");
    struct lam_track one = lam_track_create(LAM_DEFAULT, label("one"));
    struct lam_track two = lam_track_create(LAM_DEFAULT, label("two"));
    struct lam_handle kept = lam_no_handle();
    for (int i = 0; i < 200000; i++) {
        lam_track_switch(LAM_DEFAULT, one);
        if (i == 7)
            kept = lam_begin(LAM_DEFAULT, lam_kind_intern(LAM_DEFAULT, "Work"), label("on one"));
        enter("f", 1);
        leave("f", 100);
        lam_track_switch(LAM_DEFAULT, two);
        if (i == 8)
            lam_instant(LAM_DEFAULT, lam_kind_intern(LAM_DEFAULT, "Work"), label("on two"));
        enter("g", 1);
        leave("g", 200);
    }
    lam_track_switch(LAM_DEFAULT, one);
    assert_int_equal(lam_end(LAM_DEFAULT, kept), LAM_OK);
    finish();
    assert_true(in.size <= 128 << 10);
    for (size_t i = 0; i < sizeof in.header->lost / sizeof in.header->lost[0]; i++)
        assert_int_equal(in.header->lost[i], 0);
    assert_int_equal(decoded_find(&in, "on one", 0)->track, one.id);
    assert_int_equal(decoded_find(&in, "on two", 0)->track, two.id);
    assert_true(decoded_find(&in, "on one", 0)->end != 0);
    size_t switches = 0;
    for (size_t i = 0; i < in.count; i++)
        switches += in.events[i].code == STREAM_SLOT_TRACK_SWITCH;
    assert_in_range(switches, 5, 30); /* 60 ms */
    end();
}

static uint64_t active_of(const struct decoded_event *ev, uint32_t *track)
{
    const struct stream_slot *more = ev->ended_elsewhere ? ev->end_more : ev->more;
    for (uint32_t code; (code = stream_slot_code(more)) >= 16 && code < 32; more++)
        if (code == STREAM_SLOT_ACTIVE) {
            *track = stream_slot_id(more);
            return more->head >> STREAM_SLOT_TIME_SHIFT & 1 ? more->rest : UINT64_MAX;
        }
    return UINT64_MAX;
}

/* One that is told late, since the thread slept behind it, has the time that it had. */
static void switch_before_a_pause(void **state)
{
    (void)state;
    begin_by_clock("calls=tree");
    struct lam_track one = lam_track_create(LAM_DEFAULT, label("one"));
    struct lam_track two = lam_track_create(LAM_DEFAULT, label("two"));
    lam_track_switch(LAM_DEFAULT, one);
    struct lam_handle kept =
        lam_begin(LAM_DEFAULT, lam_kind_intern(LAM_DEFAULT, "Work"), label("on one"));
    lam_track_switch(LAM_DEFAULT, two);
    enter("sleeps", 500 * 1000 * 1000);
    leave("sleeps", 1000);
    lam_track_switch(LAM_DEFAULT, one);
    assert_int_equal(lam_end(LAM_DEFAULT, kept), LAM_OK);
    finish();
    uint64_t times[3] = {0, 0, 0};
    size_t switches = 0;
    for (size_t i = 0; i < in.count; i++)
        if (in.events[i].code == STREAM_SLOT_TRACK_SWITCH && switches < 3)
            times[switches++] = in.events[i].start;
    assert_int_equal(switches, 3);
    assert_true(times[1] - times[0] < 1000 * 1000 && times[2] - times[1] > 400 * 1000 * 1000);
    end();
}

/* However long coroutines take turns: few switches are told, the file keeps to its bound by going over to the tree, nothing is
 * lost, and calls that are stored bring their track and how long that ran. */
static void switches_of_thinned_calls(void **state)
{
    (void)state;
    static const char *const policies[] = {"calls=one_in:4,max_bytes=128K",
                                           "calls=threshold:1us,max_bytes=128K"};
    for (size_t policy = 0; policy < 2; policy++) {
        begin_by_clock(policies[policy]);
        struct lam_track one = lam_track_create(LAM_DEFAULT, label("one"));
        struct lam_track two = lam_track_create(LAM_DEFAULT, label("two"));
        lam_track_switch(LAM_DEFAULT, one);
        enter("body of one", 0);
        lam_track_switch(LAM_DEFAULT, two);
        enter("body of two", 0);
        enum { TURNS = 200000 };
        for (int i = 0; i < TURNS; i++) {
            lam_track_switch(LAM_DEFAULT, one);
            enter("f", 1);
            leave("f", i % 50 == 0 ? 2000 : 100);
            lam_track_switch(LAM_DEFAULT, two);
            enter("g", 1);
            leave("g", 200);
        }
        leave("body of two", 0);
        lam_track_switch(LAM_DEFAULT, one);
        leave("body of one", 0);
        finish();
        assert_true(in.size <= 128 << 10);
        for (size_t i = 0; i < sizeof in.header->lost / sizeof in.header->lost[0]; i++)
            assert_int_equal(in.header->lost[i], 0);
        assert_non_null(
            decoded_record(&in, STREAM_REC_POLICY, STREAM_CALLS_AUTO | STREAM_CALLS_TREE, 0));
        uint32_t track = 0;
        assert_int_equal(active_of(decoded_find(&in, "body of one", 0), &track),
                         TURNS * 101 + TURNS / 50 * 1900);
        assert_int_equal(track, one.id);
        assert_int_equal(active_of(decoded_find(&in, "body of two", 0), &track), TURNS * 201);
        assert_int_equal(track, two.id);
        uint64_t f = active_of(decoded_find(&in, "f", 1), &track);
        assert_true(f == 2000 || f == 100);
        assert_int_equal(track, one.id);
        end();
    }
}

/* What is folded is written now and then: the call that is being left by then has no event besides. */
static void folded_calls_of_a_long_run(void **state)
{
    (void)state;
    begin_by_clock("calls=threshold:1ms");
    enum { CALLS = 100000 };
    struct lam_track track = lam_track_create(LAM_DEFAULT, label("coroutine"));
    lam_track_switch(LAM_DEFAULT, track);
    enter("body", 0);
    for (int i = 0; i < CALLS; i++) {
        enter("f", 0);
        leave("f", 30000);
        lam_track_switch(LAM_DEFAULT, (struct lam_track){0});
        lam_track_switch(LAM_DEFAULT, track); /* as yet untold: no event can be stored and taken back */
    }
    leave("body", 0);
    finish();
    uint64_t events = 0, calls = 0;
    for (size_t i = 0; i < in.count; i++) {
        const struct decoded_event *ev = &in.events[i];
        events += ev->code >= 32;
        calls += ev->code == STREAM_SLOT_FOLD ? ev->more[1].rest : 0;
    }
    assert_int_equal(events, 1);
    assert_int_equal(calls, CALLS);
    end();
}

/* Coroutines that are too short to be stored: what they folded is told once for many of them. */
static void short_coroutines(void **state)
{
    (void)state;
    begin_by_clock("calls=threshold:1ms,max_bytes=128K");
    enum { ROUNDS = 20000, BODIES = 20 };
    struct lam_track track = lam_track_create(LAM_DEFAULT, label("coroutine"));
    lam_track_switch(LAM_DEFAULT, track);
    for (int i = 0; i < ROUNDS; i++) {
        char name[16];
        snprintf(name, sizeof name, "body %d", i % BODIES);
        enter(name, 0);
        leave(name, 10);
        lam_track_switch(LAM_DEFAULT, (struct lam_track){0});
        lam_track_switch(LAM_DEFAULT, track);
    }
    finish();
    uint64_t calls = 0, folds = 0;
    for (size_t i = 0; i < in.count; i++) {
        const struct decoded_event *ev = &in.events[i];
        if (ev->code != STREAM_SLOT_FOLD)
            continue;
        assert_int_equal(ev->track, 0);
        assert_int_equal(stream_slot_code(&ev->more[1]), STREAM_SLOT_COUNT);
        calls += ev->more[1].rest;
        folds++;
    }
    assert_int_equal(calls, ROUNDS);
    assert_in_range(folds, BODIES, 2 * BODIES);
    end();
}

/* Between tracks on which nothing is open the clock is not read; what opens on one of them is on it, and stands still while another
 * runs. */
static void idle_switches(void **state)
{
    (void)state;
    begin_by_clock("calls=one_in:100");
    struct lam_track one = lam_track_create(LAM_DEFAULT, label("one"));
    struct lam_track two = lam_track_create(LAM_DEFAULT, label("two"));
    enter("on the thread", 1);
    leave("on the thread", 1);
    uint64_t before = clock_reads;
    for (int i = 0; i < 1000; i++) {
        fake_ns += 10;
        lam_track_switch(LAM_DEFAULT, i % 2 ? one : two);
        fake_ns += 10;
        lam_track_switch(LAM_DEFAULT, (struct lam_track){0});
    }
    assert_in_range(clock_reads - before, 1, 100);
    lam_track_switch(LAM_DEFAULT, one);
    enter("f", 7);
    for (int i = 0; i < 10; i++) {
        fake_ns += 5;
        lam_track_switch(LAM_DEFAULT, two);
        enter("g", 1000);
        leave("g", 3);
        lam_track_switch(LAM_DEFAULT, one);
    }
    leave("f", 1);
    lam_track_switch(LAM_DEFAULT, two);
    struct lam_handle kept =
        lam_begin(LAM_DEFAULT, lam_kind_intern(LAM_DEFAULT, "Work"), label("kept"));
    lam_track_switch(LAM_DEFAULT, one);
    fake_ns += 500;
    enter("h", 0);
    leave("h", 20);
    lam_track_switch(LAM_DEFAULT, two);
    assert_int_equal(lam_end(LAM_DEFAULT, kept), LAM_OK);
    finish();
    const struct decoded_event *f = decoded_find(&in, "f", 0), *g = decoded_find(&in, "g", 9);
    const struct decoded_event *h = decoded_find(&in, "h", 0);
    assert_int_equal(decoded_find(&in, "on the thread", 0)->track, 0);
    assert_int_equal(f->track, one.id);
    assert_int_equal(g->track, two.id);
    assert_int_equal(h->track, one.id);
    assert_int_equal(decoded_find(&in, "kept", 0)->track, two.id);
    assert_int_equal(stream_slot_code(&f->more[1]), STREAM_SLOT_ACTIVE);
    assert_int_equal(f->more[1].rest, 10 * 5 + 1);
    assert_int_equal(f->end - f->start, 10 * (5 + 1000 + 3) + 1);
    assert_int_equal(h->more[1].rest, 20);
    for (size_t i = 1; i < in.count; i++)
        assert_true(in.events[i].start >= in.events[i - 1].start);
    end();
}

/* As one_in_n(), by callees: what is skipped costs the host a decrement, and the sums are as near. */
static void one_in_n_by_callees(void **state)
{
    (void)state;
    begin_by_clock("calls=one_in:16");
    struct lam_callee f = {.label = label("f").id}, g = {.label = label("g").id};
    struct lam_open_call none = {.told = 0};
    uint64_t f_self = 0, g_total = 0, told = 0;
    enum { CALLS = 20000 };
    for (unsigned i = 0; i < CALLS; i++) {
        uint64_t length = 20 + i * 7919 % 11;
        struct lam_open_call outer, inner;
        lam_callee_enter(LAM_DEFAULT, &f, &none, &outer);
        fake_ns += 10;
        lam_callee_enter(LAM_DEFAULT, &g, &outer, &inner);
        fake_ns += length;
        lam_callee_exit(LAM_DEFAULT, &inner);
        fake_ns += 10;
        lam_callee_exit(LAM_DEFAULT, &outer);
        f_self += 20;
        g_total += length;
        told += outer.told ? 1 : 0;
        told += inner.told ? 1 : 0;
    }
    assert_int_equal(lam_call_depth(LAM_DEFAULT), 0);
    finish();
    assert_in_range(told, 2 * CALLS / 16, 2 * 16 + 4 * CALLS / 16);
    uint64_t f_own = 0, g_time = 0, f_count = 0;
    for (size_t i = 0; i < in.count; i++) {
        const struct decoded_event *ev = &in.events[i];
        if (ev->code < 32 || !ev->end)
            continue;
        const struct stream_slot *self = ev->ended_elsewhere ? ev->end_more : ev->more;
        while (stream_slot_code(self) != STREAM_SLOT_SELF)
            self++;
        uint32_t weight = decoded_kind(&in, ev->code)->weight;
        if (ev->id == f.label) {
            f_own += self->rest * weight;
            f_count += weight;
        } else {
            g_time += (ev->end - ev->start) * weight;
        }
    }
    assert_in_range(f_count, CALLS - 16, CALLS + 16);
    assert_in_range(f_own, f_self - 20 * 16, f_self + 20 * 16); /* exact but for the last block */
    assert_in_range(g_time, g_total - g_total / 20, g_total + g_total / 20);
    assert_int_equal(count_of(STREAM_COUNT_UNBALANCED_EXITS), 0);
    end();
}

/* A recorded call that makes very many: few of them are timed for its self time, which stays what it is. */
static void one_in_n_of_a_long_loop(void **state)
{
    (void)state;
    enum { CALLS = 400000, ITSELF = 3 };
    for (int by_callees = 0; by_callees < 2; by_callees++) {
        begin_by_clock("calls=one_in:100");
        struct lam_callee loop = {.label = label("loop").id}, f = {.label = label("f").id};
        struct lam_open_call none = {.told = 0};
        struct lam_open_call outer, inner;
        uint64_t told = 0;
        if (by_callees)
            lam_callee_enter(LAM_DEFAULT, &loop, &none, &outer);
        else
            enter("loop", 0);
        for (unsigned i = 0; i < CALLS; i++) {
            uint64_t length = i % 10 == 0 ? 200 : 10 + i * 7919 % 31;
            if (by_callees) {
                fake_ns += ITSELF;
                lam_callee_enter(LAM_DEFAULT, &f, &outer, &inner);
                fake_ns += length;
                lam_callee_exit(LAM_DEFAULT, &inner);
                told += inner.told != 0;
            } else {
                enter("f", ITSELF);
                leave("f", length);
            }
        }
        if (by_callees)
            lam_callee_exit(LAM_DEFAULT, &outer);
        else
            leave("loop", 0);
        finish();
        assert_true(told < 4096 + CALLS / 8 + CALLS / 100 + 200);
        uint64_t self = 0, time = 0;
        for (size_t i = 0; i < in.count; i++) {
            const struct decoded_event *ev = &in.events[i];
            if (ev->code < 32 || ev->id != loop.label)
                continue;
            const struct stream_slot *more = ev->ended_elsewhere ? ev->end_more : ev->more;
            while (stream_slot_code(more) != STREAM_SLOT_SELF)
                more++;
            self = more->rest;
            time = ev->end - ev->start;
        }
        /* 50,000 of them stand for all, by whose lengths a sum has a standard deviation of 0.6%: this is eight of them. */
        uint64_t wanted = (uint64_t)CALLS * ITSELF;
        assert_in_range(self, wanted - time / 20, wanted + time / 20);
        end();
    }
}

/* Every call by callees: no stack here, the ends come by handle. And the tree, which needs one. */
static void callees_under_other_policies(void **state)
{
    (void)state;
    static const char *const policies[] = {"", "calls=tree", "calls=auto:64K"};
    for (size_t policy = 0; policy < 3; policy++) {
        begin_by_clock(policies[policy]);
        struct lam_callee f = {.label = label("f").id}, nothing = {.label = 0};
        struct lam_open_call none = {.told = 0};
        struct lam_open_call outer, inner;
        lam_callee_enter(LAM_DEFAULT, &f, &none, &outer);
        assert_int_equal(outer.label, f.label);
        assert_int_equal(outer.told, policy ? LAM_TOLD_CALL : LAM_TOLD_HANDLE);
        lam_callee_enter(LAM_DEFAULT, &nothing, &outer, &inner);
        assert_int_equal(inner.told, 0);
        fake_ns += 5;
        lam_callee_exit(LAM_DEFAULT, &inner);
        for (int i = 0; i < 10000; i++) {
            lam_callee_enter(LAM_DEFAULT, &f, &outer, &inner);
            fake_ns += 1;
            lam_callee_exit(LAM_DEFAULT, &inner);
        }
        lam_callee_exit(LAM_DEFAULT, &outer);
        finish();
        size_t calls = 0;
        for (size_t i = 0; policy == 0 && i < in.count; i++) {
            const struct decoded_event *ev = &in.events[i];
            if (ev->code >= 32 && ev->id == f.label)
                assert_int_equal(ev->end - ev->start, calls++ ? 1 : 10005);
        }
        assert_int_equal(calls, policy ? 0 : 10001);
        assert_int_equal(in.pages[STREAM_PAGE_TREE], policy != 0);
        assert_int_equal(count_of(STREAM_COUNT_UNBALANCED_EXITS), 0);
        end();
    }
    /* A recording that is closed: nothing is told. */
    struct lam_callee f = {.label = 1};
    struct lam_open_call call, none = {.told = 0};
    lam_callee_enter(LAM_DEFAULT, &f, &none, &call);
    assert_int_equal(call.told, 0);
    lam_callee_exit(LAM_DEFAULT, &call);
}

static void late_names(void **state)
{
    (void)state;
    begin_by_clock("");
    struct lam_space space = lam_space_create(LAM_DEFAULT), other = lam_space_create(LAM_DEFAULT);
    struct lam_kind query = lam_kind_keyed(LAM_DEFAULT, "Query", "type_of", space);
    struct lam_kind again = lam_kind_keyed(LAM_DEFAULT, "Query", "type_of", space);
    assert_int_equal(query.id, again.id);
    static const uint32_t ids[] = {0, 1, 0x80000000u, UINT32_MAX};
    for (size_t i = 0; i < 4; i++)
        lam_end(LAM_DEFAULT, lam_begin_id(LAM_DEFAULT, query, ids[i]));
    assert_int_equal(lam_name_id(LAM_DEFAULT, space, 0, "zero", 4), LAM_OK);
    struct lam_label whole = lam_label_compose(
        LAM_DEFAULT, (struct lam_label[]){label("type_of"), label("main::x")}, 2, LAM_COMPOSE_ARGS);
    assert_int_equal(lam_map_ids(LAM_DEFAULT, other, &ids[3], &whole, 1), LAM_OK);
    enum { MANY = 100000 };
    struct lam_name *names = calloc(MANY, sizeof *names);
    char *texts = calloc(MANY, 16);
    for (uint32_t i = 0; i < MANY; i++)
        names[i] = (struct lam_name){i, (uint32_t)snprintf(texts + (size_t)i * 16, 16, "key %u", i),
                                     texts + (size_t)i * 16};
    assert_int_equal(lam_name_ids(LAM_DEFAULT, space, names, MANY), LAM_OK);
    free(names);
    free(texts);
    finish();
    struct decoded_event *event = decoded_find(&in, "type_of", 3);
    assert_int_equal(event->id, UINT32_MAX);
    assert_int_equal(decoded_kind(&in, event->code)->space, space.id);
    uint32_t seen = 0;
    for (unsigned n = 0;; n++) {
        const struct stream_record *rec = decoded_record(&in, STREAM_REC_NAMES, space.id, n);
        if (!rec)
            break;
        const struct stream_rec_names *body = (const void *)(rec + 1);
        const uint32_t *id = (const void *)(body + 1), *ends = id + body->count;
        const char *text = (const void *)(ends + body->count);
        if (body->count == 1)
            assert_memory_equal(text, "zero", 4);
        for (uint32_t i = 0; body->count > 1 && i < body->count; i++, seen++) {
            char expected[16];
            int length = snprintf(expected, sizeof expected, "key %u", seen);
            uint32_t from = i ? ends[i - 1] : 0;
            assert_int_equal(id[i], seen);
            assert_int_equal(ends[i] - from, length);
            assert_memory_equal(text + from, expected, (size_t)length);
        }
    }
    assert_int_equal(seen, MANY);
    const struct stream_record *map = decoded_record(&in, STREAM_REC_MAP, other.id, 0);
    assert_int_equal(((const uint32_t *)(map + 2))[0], UINT32_MAX);
    assert_string_equal(decoded_string(&in, ((const uint32_t *)(map + 2))[1]), "type_of|main::x");
    assert_non_null(decoded_find(&in, "name ids", 0)); /* the mapping of many is an interval itself */
    end();
}

static void labels_of_all_sorts(void **state)
{
    (void)state;
    begin_by_clock("");
    char all[256], *large = malloc(1 << 20);
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    for (int i = 0; i < 1 << 20; i++)
        large[i] = i % 2 ? '\xa9' : '\xc3';
    uint32_t every = lam_label_intern(LAM_DEFAULT, all, 256).id;
    uint32_t big = lam_label_intern(LAM_DEFAULT, large, 1 << 20).id;
    assert_true(every && big);
    assert_int_equal(lam_label_intern(LAM_DEFAULT, large, 1 << 20).id, big);
    assert_int_equal(lam_label_intern(LAM_DEFAULT, "", 0).id, 0);
    assert_int_equal(lam_label_intern(LAM_DEFAULT, NULL, 7).id, 0);
    uint32_t a = label("a").id, b = label("b").id;
    assert_int_not_equal(a, b);
    struct lam_label parts[] = {{a}, {b}};
    uint32_t ab = lam_label_compose(LAM_DEFAULT, parts, 2, LAM_COMPOSE_TEXT).id;
    assert_int_equal(lam_label_compose(LAM_DEFAULT, parts, 2, LAM_COMPOSE_TEXT).id, ab);
    assert_int_not_equal(lam_label_compose(LAM_DEFAULT, parts, 2, LAM_COMPOSE_ARGS).id, ab);
    assert_int_equal(
        lam_label_compose(LAM_DEFAULT, (struct lam_label[]){{ab + 1000}}, 1, LAM_COMPOSE_TEXT).id, 0);
    finish();
    assert_memory_equal(decoded_string(&in, every), all, 256);
    assert_memory_equal(decoded_string(&in, big), large, 1 << 20);
    assert_string_equal(decoded_string(&in, ab), "ab");
    free(large);
    end();
}

/* Calls that are stored one by one have what is counted beside the clock, also those that fill a page to its last slot. */
static void counted_calls(void **state)
{
    (void)state;
    static const char *const policies[] = {"counters=cpu", "counters=cpu,calls=auto:4M",
                                           "counters=cpu,calls=one_in:4",
                                           "counters=cpu,calls=threshold:5ns"};
    enum { CALLS = 3001 };
    for (size_t policy = 0; policy < 4; policy++) {
        begin_by_clock(policies[policy]);
        struct lam_callee g = {.label = label("g").id};
        struct lam_open_call none = {.told = 0};
        enter("main", 0);
        for (int i = 0; i < CALLS; i++) {
            struct lam_open_call open;
            enter("f", 1);
            leave("f", 7);
            lam_callee_enter(LAM_DEFAULT, &g, &none, &open);
            fake_ns += 7;
            lam_callee_exit(LAM_DEFAULT, &open);
        }
        leave("main", 1);
        finish();
        size_t counted = 0;
        for (size_t i = 0; policy < 2 && i < in.count; i++) {
            const struct decoded_event *ev = &in.events[i];
            if (ev->code < STREAM_SLOT_KIND_MIN || !ev->end)
                continue;
            assert_int_equal(ev->more_count, 1);
            assert_int_equal(stream_slot_code(ev->more), STREAM_SLOT_COUNTER);
            const struct stream_slot *end = ev->ended_elsewhere ? ev->end_more : ev->more;
            assert_int_equal(stream_slot_code(end), STREAM_SLOT_COUNTER);
            assert_int_equal(end->rest - (ev->ended_elsewhere ? ev->more->rest : 0),
                             ev->end - ev->start);
            counted++;
        }
        assert_int_equal(counted, policy < 2 ? 2 * CALLS + 1 : 0);
        end();
    }
}

static void a_million_labels(void **state)
{
    (void)state;
    begin_by_clock("");
    enum { LABELS = 300000 };
    static uint32_t ids[LABELS];
    char name[32];
    for (int i = 0; i < LABELS; i++)
        ids[i] =
            lam_label_intern(LAM_DEFAULT, name, (size_t)snprintf(name, sizeof name, "label %d", i)).id;
    for (int i = 0; i < LABELS; i += 997)
        assert_int_equal(
            lam_label_intern(LAM_DEFAULT, name, (size_t)snprintf(name, sizeof name, "label %d", i)).id,
            ids[i]);
    finish();
    size_t strings = 0;
    for (size_t at = 4096; at < in.size;) {
        const struct stream_page *page = decoded_page(&in, at);
        size_t last = at + (page ? page->size_bytes : 4096);
        for (size_t rec_at = at + 64;
             page && page->kind == STREAM_PAGE_RECORDS && rec_at + 8 <= last;) {
            const struct stream_record *rec = (const void *)(in.bytes + rec_at);
            if (!rec->head)
                break;
            strings += (rec->head & 0xffff) == STREAM_REC_STRING;
            rec_at += (rec->head >> 16) * (size_t)8;
        }
        at = last;
    }
    assert_in_range(strings, LABELS, LABELS + 200);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees),
        cmocka_unit_test(every_call),
        cmocka_unit_test(deep_recursion),
        cmocka_unit_test(one_in_n),
        cmocka_unit_test(one_in_n_of_recursion),
        cmocka_unit_test(short_calls_fold),
        cmocka_unit_test(automatic),
        cmocka_unit_test(open_when_the_tree_begins),
        cmocka_unit_test(tracks),
        cmocka_unit_test(many_tracks),
        cmocka_unit_test(switches_in_the_tree),
        cmocka_unit_test(switch_before_a_pause),
        cmocka_unit_test(switches_of_thinned_calls),
        cmocka_unit_test(folded_calls_of_a_long_run),
        cmocka_unit_test(short_coroutines),
        cmocka_unit_test(idle_switches),
        cmocka_unit_test(one_in_n_by_callees),
        cmocka_unit_test(one_in_n_of_a_long_loop),
        cmocka_unit_test(callees_under_other_policies),
        cmocka_unit_test(counted_calls),
        cmocka_unit_test(late_names),
        cmocka_unit_test(labels_of_all_sorts),
        cmocka_unit_test(a_million_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
