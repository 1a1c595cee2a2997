#include "input/interval_nest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/strbuf.h"

/* ---- a sink that writes down what comes ---- */

struct told {
    struct strbuf text, paths;
    uint64_t intervals, children, self_ns, top_active_ns;
    uint32_t deepest;
    bool quiet; /* count only */
};

static const char *flag_text(uint32_t flags)
{
    static char text[8];
    size_t n = 0;
    const char *letters = "odvrb";
    for (unsigned i = 0; i < 5; i++) {
        if (flags & 1u << i)
            text[n++] = letters[i];
    }
    text[n] = '\0';
    return text;
}

static int on_interval(void *ctx, const struct profile_interval *in)
{
    struct told *told = ctx;
    told->intervals++;
    if (in->children != PROFILE_UNKNOWN) {
        told->children += in->children;
        told->self_ns += in->self_ns;
    }
    if (in->depth == 0)
        told->top_active_ns += in->active_ns;
    if (in->depth > told->deepest)
        told->deepest = in->depth;
    if (told->quiet)
        return LAM_OK;
    strbuf_addf(&told->text, "%c%s@%u[%lld,%lld]", (char)in->label, flag_text(in->flags), in->depth,
                (long long)in->start_ns, (long long)in->end_ns);
    if (in->active_ns != (uint64_t)(in->end_ns - in->start_ns))
        strbuf_addf(&told->text, " active %llu", (unsigned long long)in->active_ns);
    if (in->self_ns != PROFILE_UNKNOWN)
        strbuf_addf(&told->text, " self %llu", (unsigned long long)in->self_ns);
    if (in->path)
        strbuf_addf(&told->text, " path %u", in->path);
    for (size_t i = 0; i < in->argc; i++)
        strbuf_addf(&told->text, " (%.*s)", (int)in->args[i].size, in->args[i].bytes);
    strbuf_add(&told->text, "; ");
    return LAM_OK;
}

static int on_instant(void *ctx, const struct profile_instant *in)
{
    struct told *told = ctx;
    strbuf_addf(&told->text, "%c!%lld; ", (char)in->label, (long long)in->at_ns);
    return LAM_OK;
}

static int on_fold(void *ctx, const struct profile_fold *in)
{
    struct told *told = ctx;
    strbuf_addf(&told->text, "%c*%llu=%llu path %u; ", (char)in->label,
                (unsigned long long)in->count, (unsigned long long)in->total_ns, in->path);
    return LAM_OK;
}

static int on_path(void *ctx, const struct profile_path *path)
{
    struct told *told = ctx;
    strbuf_addf(&told->paths, "%u=%u/%c ", path->path, path->parent, (char)path->label);
    return LAM_OK;
}

static const struct profile_sink_ops told_ops = {
    .interval = on_interval, .instant = on_instant, .fold = on_fold, .path = on_path};

static void told_free(struct told *told)
{
    strbuf_free(&told->text);
    strbuf_free(&told->paths);
}

/* ---- rows ---- */

/* One step: a label and [start, end]; OPEN without an end. '!' an instant at start, '<' away, '>' back. */
struct step {
    char what;
    int64_t start, end;
    uint32_t flags;
};
#define OPEN INTERVAL_NEST_OPEN

struct row {
    const char *name;
    struct step steps[12];
    const char *any, *by_start;
};

static int feed(struct interval_nest *nest, const struct step *step)
{
    struct profile_interval in = {
        .thread = 1,
        .end_thread = 1,
        .label = (uint32_t)step->what,
        .start_ns = step->start,
        .end_ns = step->end,
        .active_ns = PROFILE_UNKNOWN,
        .self_ns = PROFILE_UNKNOWN,
        .weight = 1,
        .flags = step->flags,
    };
    struct profile_instant instant = {.thread = 1, .label = 'i', .at_ns = step->start};
    switch (step->what) {
    case '!':
        return interval_nest_instant(nest, &instant);
    case '<':
        return interval_nest_leave(nest, step->start);
    case '>':
        return interval_nest_return(nest, step->start);
    default:
        return interval_nest_add(nest, &in);
    }
}

static const struct row rows[] = {
    {"nothing", {{0}}, "", ""},
    {"one", {{'A', 0, 10, 0}}, "A@0[0,10] self 10; ", "A@0[0,10]; "},
    {"one inside of its like that is not there",
     {{'A', 0, 10, PROFILE_INTERVAL_RECURSIVE}},
     "Ar@0[0,10] self 10; ",
     "Ar@0[0,10]; "},
    {"a child",
     {{'A', 0, 10, 0}, {'B', 2, 5, 0}, {'C', 5, 10, 0}},
     "B@1[2,5] self 3; C@1[5,10] self 5; A@0[0,10] self 2; ",
     "A@0[0,10]; B@1[2,5]; C@1[5,10]; "},
    {"cases 2b: overlap",
     {{'A', 0, 100, 0}, {'B', 50, 150, 0}},
     "A@0[0,100] self 100; Bv@0[50,150] self 100; ",
     "A@0[0,100]; Bv@0[50,150]; "},
    {"cases 3: first of equals is outside, empty ones at edges stand beside",
     {{'A', 0, 20, 0}, {'B', 0, 20, 0}, {'C', 20, 20, 0}, {'D', 20, 30, 0}, {'E', 25, 25, 0}},
     "B@1[0,20] self 20; A@0[0,20] self 0; C@0[20,20] self 0; E@1[25,25] self 0; D@0[20,30] self "
     "10; ",
     "A@0[0,20]; B@1[0,20]; C@0[20,20]; D@0[20,30]; E@1[25,25]; "},
    {"cases 3: shuffled where it can be",
     {{'A', 0, 20, 0}, {'B', 0, 20, 0}, {'D', 20, 30, 0}, {'C', 20, 20, 0}, {'E', 25, 25, 0}},
     "B@1[0,20] self 20; A@0[0,20] self 0; C@0[20,20] self 0; E@1[25,25] self 0; D@0[20,30] self "
     "10; ",
     "A@0[0,20]; B@1[0,20]; C@0[20,20]; D@0[20,30]; E@1[25,25]; "},
    {"the longer of the same start is outside",
     {{'B', 0, 5, 0}, {'A', 0, 9, 0}, {'C', 0, 1, 0}},
     "C@2[0,1] self 1; B@1[0,5] self 4; A@0[0,9] self 4; ",
     "A@0[0,9]; B@1[0,5]; C@2[0,1]; "},
    {"an empty one at its sibling's edge is its parent's child",
     {{'P', 0, 40, 0}, {'D', 20, 30, 0}, {'C', 20, 20, 0}, {'E', 30, 30, 0}},
     "C@1[20,20] self 0; D@1[20,30] self 10; E@1[30,30] self 0; P@0[0,40] self 30; ",
     "P@0[0,40]; C@1[20,20]; D@1[20,30]; E@1[30,30]; "},
    {"empty ones of one moment",
     {{'A', 5, 5, 0}, {'B', 5, 5, 0}},
     "A@0[5,5] self 0; B@0[5,5] self 0; ",
     "A@0[5,5]; B@0[5,5]; "},
    {"cases 2a: backward",
     {{'A', 2000, 1000, 0}, {'B', 2000, 2010, 0}},
     "Ab@0[2000,2000] self 0; B@0[2000,2010] self 10; ",
     "Ab@0[2000,2000]; B@0[2000,2010]; "},
    {"an overlapping one has children of its own, and others keep theirs",
     {{'A', 0, 100, 0}, {'B', 50, 1000, 0}, {'C', 60, 90, 0}, {'D', 200, 300, 0}, {'E', 210, 220, 0}},
     "C@1[60,90] self 30; A@0[0,100] self 70; E@2[210,220] self 10; D@1[200,300] self 90; "
     "Bv@0[50,1000] self 850; ",
     "A@0[0,100]; Bv@0[50,1000]; C@1[60,90]; D@1[200,300]; E@2[210,220]; "},
    {"one that is cut and held by another is that one's child",
     {{'X', 0, 60, 0}, {'A', 10, 1000, 0}, {'C', 50, 100, 0}},
     "X@0[0,60] self 60; C@1[50,100] self 50; Av@0[10,1000] self 940; ",
     "X@0[0,60]; Av@0[10,1000]; C@1[50,100]; "},
    {"one that is cut inside of a holder is nobody's",
     {{'A', 0, 200, 0}, {'B', 10, 100, 0}, {'C', 50, 150, 0}},
     "B@1[10,100] self 90; A@0[0,200] self 110; Cv@0[50,150] self 100; ",
     "A@0[0,200]; B@1[10,100]; Cv@0[50,150]; "},
    {"recursion",
     {{'A', 0, 100, 0}, {'B', 10, 90, 0}, {'A', 20, 80, 0}, {'A', 85, 85, 0}, {'A', 100, 110, 0}},
     "Ar@2[20,80] self 60; Ar@2[85,85] self 0; B@1[10,90] self 20; A@0[0,100] self 20; "
     "A@0[100,110] "
     "self 10; ",
     "A@0[0,100]; B@1[10,90]; Ar@2[20,80]; Ar@2[85,85]; A@0[100,110]; "},
    {"open ones end last",
     {{'A', 0, OPEN, 0}, {'B', 10, 20, 0}, {'C', 30, OPEN, 0}, {'D', 35, 45, 0}},
     "B@1[10,20] self 10; D@2[35,45] self 10; Co@1[30,50] self 10; Ao@0[0,50] self 20; ",
     NULL},
    {"open ones in the order of starts: the caller knows their end",
     {{'A', 0, 50, PROFILE_INTERVAL_OPEN}, {'B', 10, 20, 0}, {'C', 30, 50, PROFILE_INTERVAL_OPEN}},
     "B@1[10,20] self 10; Co@1[30,50] self 20; Ao@0[0,50] self 20; ",
     "Ao@0[0,50]; B@1[10,20]; Co@1[30,50]; "},
    {"detached",
     {{'A', 0, 10, 0}, {'D', 5, 30, PROFILE_INTERVAL_DETACHED}, {'B', 6, 8, 0}},
     "Dd@0[5,30] self 25; B@1[6,8] self 2; A@0[0,10] self 8; ",
     "A@0[0,10]; Dd@0[5,30]; B@1[6,8]; "},
    {"starts that run backwards",
     {{'A', 10, 20, 0}, {'B', 5, 15, 0}, {'C', 4, 8, 0}},
     "C@0[10,10] self 0; B@1[10,15] self 5; A@0[10,20] self 5; ",
     NULL},
    {"instants among them",
     {{'!', 0, 0, 0}, {'A', 0, 20, 0}, {'B', 5, 10, 0}, {'!', 7, 0, 0}, {'!', 20, 0, 0}, {'!', 30, 0, 0}},
     "i!0; i!7; i!20; i!30; B@1[5,10] self 5; A@0[0,20] self 15; ",
     NULL},
    {"instants by start",
     {{'!', 0, 0, 0}, {'A', 0, 20, 0}, {'B', 5, 10, 0}, {'!', 7, 0, 0}, {'!', 20, 0, 0}, {'!', 30, 0, 0}},
     NULL,
     "i!0; A@0[0,20]; B@1[5,10]; i!7; i!20; i!30; "},
    {"away",
     {{'A', 0, 100, 0}, {'B', 10, 50, 0}, {'<', 20, 0, 0}, {'>', 40, 0, 0}, {'C', 60, 70, 0}},
     "B@1[10,50] active 20 self 20; C@1[60,70] self 10; A@0[0,100] active 80 self 50; ",
     NULL},
    {"away at the end", {{'A', 0, OPEN, 0}, {'<', 20, 0, 0}}, "Ao@0[0,50] active 20 self 20; ", NULL},
    {"ended while away",
     {{'A', 0, 30, 0}, {'B', 5, 60, 0}, {'<', 20, 0, 0}, {'>', 40, 0, 0}},
     "A@0[0,30] active 20 self 20; Bv@0[5,60] active 35 self 35; ",
     NULL},
    {"begun while away",
     {{'<', 20, 0, 0}, {'A', 30, 60, 0}, {'>', 40, 0, 0}},
     "A@0[30,60] active 20 self 20; ",
     NULL},
};

static void run_row(const struct row *row, enum profile_order order, const char *expected)
{
    struct told told = {0};
    struct profile_sink sink = {.ctx = &told, .ops = &told_ops, .wants = {.order = order}};
    struct interval_paths paths = {0};
    struct interval_nest nest = {0};
    interval_nest_begin(&nest, &sink, &paths, 1, 0);
    for (size_t i = 0; row->steps[i].what; i++)
        assert_int_equal(feed(&nest, &row->steps[i]), LAM_OK);
    assert_int_equal(interval_nest_finish(&nest, 50), LAM_OK);
    if (strcmp(strbuf_text(&told.text), expected) != 0)
        fail_msg("%s:\n  expected %s\n       got %s", row->name, expected, strbuf_text(&told.text));
    interval_nest_free(&nest);
    interval_paths_free(&paths);
    told_free(&told);
}

static void test_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].any)
            run_row(&rows[i], PROFILE_ORDER_ANY, rows[i].any);
        if (rows[i].by_start)
            run_row(&rows[i], PROFILE_ORDER_START, rows[i].by_start);
    }
}

static void test_paths(void **state)
{
    (void)state;
    struct told told = {0};
    struct profile_sink sink = {.ctx = &told, .ops = &told_ops, .wants = {.paths = true}};
    struct interval_paths paths = {0};
    struct interval_nest nest = {0};
    static const struct step steps[] = {
        {'A', 0, 10, 0}, {'B', 1, 2, 0}, {'B', 3, 4, 0}, {'B', 20, 30, 0}, {'C', 22, 22, 0}};
    for (uint32_t lane = 0; lane < 2; lane++) { /* the second one finds all paths there */
        interval_nest_begin(&nest, &sink, &paths, 1, lane);
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            assert_int_equal(feed(&nest, &steps[i]), LAM_OK);
        assert_int_equal(interval_nest_finish(&nest, 0), LAM_OK);
    }
    assert_string_equal(strbuf_text(&told.paths), "1=0/A 2=1/B 3=0/B 4=3/C ");
    assert_int_equal(nest.totals.intervals, 10);
    interval_nest_free(&nest);
    interval_paths_free(&paths);
    told_free(&told);
}

/* Of millions of paths those that lead to a fold are told, each once. */
static void test_paths_of_folds_alone(void **state)
{
    (void)state;
    struct told told = {0};
    struct profile_sink sink = {.ctx = &told, .ops = &told_ops, .wants = {.fold_paths = true}};
    struct interval_paths paths = {0};
    struct interval_nest nest = {0};
    static const struct step before = {'A', 0, 50, 0}, unseen = {'B', 1, 2, 0},
                             after = {'C', 30, 40, 0};
    const struct profile_fold folds[] = {{.label = 'F', .count = 3}, {.label = 'G', .count = 1}};
    interval_nest_begin(&nest, &sink, &paths, 1, 0);
    assert_int_equal(feed(&nest, &before), LAM_OK);
    assert_int_equal(feed(&nest, &unseen), LAM_OK);
    for (int64_t at = 10; at < 20; at += 5) {
        struct profile_interval in = {.label = 'D',
                                      .start_ns = at,
                                      .end_ns = at + 4,
                                      .active_ns = PROFILE_UNKNOWN,
                                      .self_ns = PROFILE_UNKNOWN};
        assert_int_equal(interval_nest_add_folded(&nest, &in, folds, 2), LAM_OK);
    }
    assert_int_equal(feed(&nest, &after), LAM_OK);
    assert_int_equal(interval_nest_finish(&nest, 0), LAM_OK);
    assert_string_equal(strbuf_text(&told.paths), "1=0/A 2=1/D 3=2/F 4=2/G ");
    interval_nest_free(&nest);
    interval_paths_free(&paths);
    told_free(&told);
}

static void test_args_live_until_the_end(void **state)
{
    (void)state;
    for (int order = PROFILE_ORDER_ANY; order <= PROFILE_ORDER_START; order++) {
        struct told told = {0};
        struct profile_sink sink = {.ctx = &told,
                                    .ops = &told_ops,
                                    .wants = {.order = (enum profile_order)order, .args = true}};
        struct interval_paths paths = {0};
        struct interval_nest nest = {0};
        interval_nest_begin(&nest, &sink, &paths, 1, 0);
        for (int i = 0; i < 3; i++) {
            char text[16];
            snprintf(text, sizeof text, "arg%d", i);
            struct profile_text args[2] = {{text, 4}, {"x", 1}};
            struct profile_interval in = {.label = (uint32_t)('A' + i),
                                          .start_ns = i,
                                          .end_ns = 10 - i,
                                          .active_ns = PROFILE_UNKNOWN,
                                          .self_ns = PROFILE_UNKNOWN,
                                          .args = args,
                                          .argc = 2};
            assert_int_equal(interval_nest_add(&nest, &in), LAM_OK);
            memset(text, '?', sizeof text);
        }
        assert_int_equal(interval_nest_finish(&nest, 0), LAM_OK);
        assert_string_equal(
            strbuf_text(&told.text),
            order == PROFILE_ORDER_ANY
                ? "C@2[2,8] self 6 (arg2) (x); B@1[1,9] self 2 (arg1) (x); A@0[0,10] self 2 "
                  "(arg0) (x); "
                : "A@0[0,10] (arg0) (x); B@1[1,9] (arg1) (x); C@2[2,8] (arg2) (x); ");
        assert_int_equal(nest.free_args.count, nest.args.count);
        interval_nest_free(&nest);
        interval_paths_free(&paths);
        told_free(&told);
    }
}

static void test_path_at_a_time(void **state)
{
    (void)state;
    struct told told = {0};
    struct profile_sink sink = {.ctx = &told, .ops = &told_ops, .wants = {.paths = true}};
    struct interval_paths paths = {0};
    struct interval_nest nest = {0};
    /* After so many steps, the path at a time. 1 is A, 2 A/B, 3 A/B/C, 4 D. */
    static const struct step steps[] = {
        {'A', 0, 50, 0}, {'B', 10, 20, 0}, {'C', 10, 15, 0}, {'D', 60, OPEN, 0}};
    static const struct {
        size_t fed;
        int64_t at;
        uint32_t path;
    } looks[] = {
        {0, 0, 0},  {1, 0, 0}, /* the moment of a start may still be another's */
        {1, 1, 1},  {3, 12, 3}, {3, 15, 2}, {3, 19, 2}, {3, 20, 1},
        {3, 49, 1}, {3, 50, 0}, {3, 59, 0}, {4, 61, 4}, {4, 1000, 4},
    };
    interval_nest_begin(&nest, &sink, &paths, 1, 0);
    size_t fed = 0;
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        for (; fed < looks[i].fed; fed++)
            assert_int_equal(feed(&nest, &steps[fed]), LAM_OK);
        uint32_t path;
        assert_int_equal(interval_nest_path_at(&nest, looks[i].at, &path), LAM_OK);
        assert_int_equal(path, looks[i].path);
    }
    assert_int_equal(interval_nest_finish(&nest, 0), LAM_OK);
    assert_int_equal(nest.last_ns, 60); /* looking does not move the end of what is open */
    interval_nest_free(&nest);
    interval_paths_free(&paths);
    told_free(&told);
}

static void test_folds_and_weights(void **state)
{
    (void)state;
    struct told told = {0};
    struct profile_sink sink = {.ctx = &told, .ops = &told_ops, .wants = {.paths = true}};
    struct interval_paths paths = {0};
    struct interval_nest nest = {0};
    const struct profile_fold folds[] = {{.label = 'f', .count = 3, .total_ns = 15, .self_ns = 12},
                                         {.label = 'A', .count = 2, .total_ns = 5, .self_ns = 5}};
    const struct {
        char label;
        int64_t start, end;
        uint64_t self;
        uint32_t weight;
        size_t folds;
    } in[] = {
        {'A', 0, 1000, PROFILE_UNKNOWN, 1, 0},
        {'B', 10, 60, PROFILE_UNKNOWN, 1, 2},
        {'C', 100, 150, 20, 4, 0}, /* stands for 4; what it called was picked on its own */
        {'D', 110, 130, 15, 10, 0},
        {'E', 160, 160, PROFILE_UNKNOWN, 1, 1}, /* the clock stood still, or went back */
    };
    interval_nest_begin(&nest, &sink, &paths, 1, 0);
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
        struct profile_interval one = {.label = (uint32_t)in[i].label,
                                       .start_ns = in[i].start,
                                       .end_ns = in[i].end,
                                       .active_ns = PROFILE_UNKNOWN,
                                       .self_ns = in[i].self,
                                       .weight = in[i].weight};
        assert_int_equal(interval_nest_add_folded(&nest, &one, folds, in[i].folds), LAM_OK);
    }
    assert_int_equal(interval_nest_finish(&nest, 0), LAM_OK);
    assert_string_equal(
        strbuf_text(&told.text),
        "f*3=15 path 3; A*2=0 path 4; B@1[10,60] self 33 path 2; D@2[110,130] self 15 "
        "path 6; C@1[100,150] self 20 path 5; f*3=15 path 8; E@1[160,160] self 0 path 7; "
        "A@0[0,1000] self 720 path 1; ");
    interval_nest_free(&nest);
    interval_paths_free(&paths);
    told_free(&told);
}

/* cases 6c: as deep as one likes, with every label the same (the ancestors are counted) or all different. */
static void test_deep(void **state)
{
    (void)state;
    enum { DEPTH = 200000 };
    for (int same = 0; same < 2; same++) {
        struct told told = {.quiet = true};
        struct profile_sink sink = {.ctx = &told, .ops = &told_ops, .wants = {.paths = true}};
        struct interval_paths paths = {0};
        struct interval_nest nest = {0};
        interval_nest_begin(&nest, &sink, &paths, 1, 0);
        for (int i = 0; i < DEPTH; i++) {
            struct step step = {'A', i, 2 * DEPTH - i, 0};
            struct profile_interval in = {.label = same ? 'A' : (uint32_t)i + 1,
                                          .start_ns = step.start,
                                          .end_ns = step.end,
                                          .active_ns = PROFILE_UNKNOWN,
                                          .self_ns = PROFILE_UNKNOWN};
            assert_int_equal(interval_nest_add(&nest, &in), LAM_OK);
        }
        assert_int_equal(interval_nest_finish(&nest, 0), LAM_OK);
        assert_int_equal(told.intervals, DEPTH);
        assert_int_equal(told.children, DEPTH - 1);
        assert_int_equal(told.deepest, DEPTH - 1);
        assert_int_equal(told.self_ns, 2 * DEPTH);
        assert_int_equal(paths.count, DEPTH);
        interval_nest_free(&nest);
        interval_paths_free(&paths);
        told_free(&told);
    }
}

/* More overlaps at once than there are chains: told, marked, and nothing else goes wrong. */
static void test_many_overlaps(void **state)
{
    (void)state;
    enum { MANY = 10 * INTERVAL_NEST_CHAINS };
    for (int order = PROFILE_ORDER_ANY; order <= PROFILE_ORDER_START; order++) {
        struct told told = {.quiet = true};
        struct profile_sink sink = {
            .ctx = &told, .ops = &told_ops, .wants = {.order = (enum profile_order)order}};
        struct interval_paths paths = {0};
        struct interval_nest nest = {0};
        interval_nest_begin(&nest, &sink, &paths, 1, 0);
        for (int i = 0; i < MANY; i++) {
            struct step step = {'A', i, MANY + i, 0};
            assert_int_equal(feed(&nest, &step), LAM_OK);
        }
        assert_int_equal(interval_nest_finish(&nest, 0), LAM_OK);
        assert_int_equal(told.intervals, MANY);
        assert_int_equal(nest.totals.overlapping, MANY - 1);
        assert_int_equal(told.top_active_ns, (uint64_t)MANY * MANY);
        interval_nest_free(&nest);
        interval_paths_free(&paths);
        told_free(&told);
    }
}

/* ---- against the rules in their plainest form ---- */

struct plain {
    int64_t start, end;
    int parent; /* -1: none */
    bool overlaps;
    uint64_t self;
};

static bool holds(const struct plain *a, const struct plain *b)
{
    if (a->start == a->end)
        return false;
    if (b->start == b->end)
        return a->start < b->start && b->start < a->end;
    return a->start <= b->start && b->end <= a->end;
}

/* Properly nested input only: each interval's parent is the shortest that holds it, of equals the later one. */
static void nest_plainly(struct plain *items, int count)
{
    for (int i = 0; i < count; i++) {
        items[i].parent = -1;
        items[i].self = (uint64_t)(items[i].end - items[i].start);
        for (int k = 0; k < count; k++) {
            bool same = items[k].start == items[i].start && items[k].end == items[i].end;
            if (k == i || !holds(&items[k], &items[i]) || (same && k > i))
                continue;
            int best = items[i].parent;
            if (best < 0 || items[k].end - items[k].start <= items[best].end - items[best].start)
                items[i].parent = k;
        }
    }
    for (int i = 0; i < count; i++) {
        if (items[i].parent >= 0)
            items[items[i].parent].self -= (uint64_t)(items[i].end - items[i].start);
    }
}

struct compare_plain {
    const struct plain *items;
    int count, seen;
};

static int on_compared(void *ctx, const struct profile_interval *in)
{
    struct compare_plain *compare = ctx;
    int index = (int)in->label - 1;
    assert_in_range(index, 0, compare->count - 1);
    const struct plain *item = &compare->items[index];
    int depth = 0;
    for (int at = item->parent; at >= 0; at = compare->items[at].parent)
        depth++;
    assert_int_equal(in->depth, depth);
    assert_int_equal(in->self_ns, item->self);
    compare->seen++;
    return LAM_OK;
}

static int compare_starts(const void *left, const void *right)
{
    const struct plain *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* Random trees: a child's ends are drawn from its parent's, so edges meet often. */
static int grow(struct plain *items, int count, int most, unsigned *seed)
{
    items[count++] = (struct plain){.start = 0, .end = 24};
    int at = 0;
    while (count < most && at < count) {
        struct plain parent = items[at++];
        int64_t from = parent.start;
        while (count < most && from <= parent.end && rand_r(seed) % 4) {
            int64_t start = from + rand_r(seed) % 3, end = start + rand_r(seed) % 9;
            if (end > parent.end)
                break;
            items[count++] = (struct plain){.start = start, .end = end};
            from = end;
        }
    }
    return count;
}

static void test_random_trees(void **state)
{
    (void)state;
    enum { MOST = 60 };
    unsigned seed = 1;
    for (int round = 0; round < 3000; round++) {
        struct plain items[MOST];
        int count = grow(items, 0, MOST, &seed);
        for (int i = count - 1; i > 0;
             i--) { /* shuffled; the sort by start leaves equal starts anyhow */
            int k = (int)((unsigned)rand_r(&seed) % (unsigned)(i + 1));
            struct plain swap = items[i];
            items[i] = items[k];
            items[k] = swap;
        }
        qsort(items, (size_t)count, sizeof *items, compare_starts);
        nest_plainly(items, count);
        static const struct profile_sink_ops ops = {.interval = on_compared};
        struct compare_plain compare = {items, count, 0};
        struct profile_sink sink = {.ctx = &compare, .ops = &ops};
        struct interval_paths paths = {0};
        struct interval_nest nest = {0};
        interval_nest_begin(&nest, &sink, &paths, 1, 0);
        for (int i = 0; i < count; i++) {
            struct profile_interval in = {.label = (uint32_t)i + 1,
                                          .start_ns = items[i].start,
                                          .end_ns = items[i].end,
                                          .active_ns = PROFILE_UNKNOWN,
                                          .self_ns = PROFILE_UNKNOWN};
            assert_int_equal(interval_nest_add(&nest, &in), LAM_OK);
        }
        assert_int_equal(interval_nest_finish(&nest, 0), LAM_OK);
        assert_int_equal(compare.seen, count);
        interval_nest_free(&nest);
        interval_paths_free(&paths);
    }
}

static void test_memory_short(void **state)
{
    (void)state;
    for (uint64_t after = 0; after < 60; after++) {
        struct told told = {.quiet = true};
        struct profile_sink sink = {
            .ctx = &told, .ops = &told_ops, .wants = {.args = true, .paths = true}};
        struct interval_paths paths = {0};
        struct interval_nest nest = {0};
        interval_nest_begin(&nest, &sink, &paths, 1, 0);
        mem_fail_after(after);
        int rc = LAM_OK;
        struct profile_text arg = {"arg", 3};
        for (int i = 0; i < 100 && rc >= 0; i++) {
            struct profile_interval in = {.label = (uint32_t)i + 1,
                                          .start_ns = i / 2,
                                          .end_ns = i % 3 ? 300 - i : 300 + i,
                                          .active_ns = PROFILE_UNKNOWN,
                                          .self_ns = PROFILE_UNKNOWN,
                                          .args = &arg,
                                          .argc = 1};
            rc = interval_nest_add(&nest, &in);
        }
        int end = interval_nest_finish(&nest, 0);
        bool refused = mem_fail_count() > 0;
        mem_fail_after(UINT64_MAX);
        if (refused)
            assert_true(rc == LAM_E_NOMEM || end == LAM_E_NOMEM);
        interval_nest_free(&nest);
        interval_paths_free(&paths);
        told_free(&told);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_paths_of_folds_alone),
        cmocka_unit_test(test_path_at_a_time),
        cmocka_unit_test(test_folds_and_weights),
        cmocka_unit_test(test_args_live_until_the_end),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_many_overlaps),
        cmocka_unit_test(test_random_trees),
        cmocka_unit_test(test_memory_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
