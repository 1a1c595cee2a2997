#include "analysis/probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

/* ---- an input that pushes what a test says ----------------------------------------------------------------------- */

static const char rules[] = "innermost  Optimize   backend  optimize      -\n"
                            "innermost  Emit       backend  machine_code  -\n"
                            "outermost  parse      frontend parse         -\n"
                            "detail     sroa::*    backend  optimize      memory\n"
                            "thread     rustc      serial   module=*/rustc\n"
                            "thread     *          process  module=*/rustc main\n"
                            "thread     \"opt *\"  opt      module=*/rustc cgu\n"
                            "role       opt        backend  codegen       -\n";

enum { MAX_STACKS = 64 };

struct feed {
    struct classifier *cls;
    struct probe *probe;
    struct profile_sink sink;
    char names[MAX_STACKS][64]; /* by frame */
    uint32_t modules[MAX_STACKS];
    uint32_t frames, stacks;
    uint32_t parents[MAX_STACKS], own[MAX_STACKS]; /* by stack */
};

static struct profile_text text_of(const char *text)
{
    return (struct profile_text){text, strlen(text)};
}

static int feed_names(void *ctx, const struct profile_frame *frame, struct classifier_name *names,
                      size_t *count, bool *is_stripped)
{
    const struct feed *feed = ctx;
    const char *name = feed->names[frame->frame];
    *count = *name == '?' ? 0 : 1;
    *is_stripped = *name == '?';
    names[0] = (struct classifier_name){name, strlen(name)};
    return LAM_OK;
}

static void open_with(struct feed *feed, const char *markers, const char *process)
{
    memset(feed, 0, sizeof *feed);
    struct marker_set set = {0};
    struct lam_error err = LAM_ERROR_INIT;
    if (marker_set_add(&set, "test", markers, strlen(markers), &err) < 0 ||
        classifier_open_set(&feed->cls, &set, &err) < 0)
        fail_msg("%s", err.msg);
    struct probe_options options = {
        .cls = feed->cls, .names = {.ctx = feed, .names = feed_names}, .process = process};
    assert_int_equal(probe_open(&feed->probe, &options, &err), LAM_OK);
    feed->sink = probe_sink(feed->probe);
    struct profile_session session = {.charged_cpu_ns = 1000 * MS};
    feed->sink.ops->session(feed->sink.ctx, &session);
    static const char *const modules[] = {"/x/bin/rustc", "/lib/libc.so.6", "/x/lib/libLLVM.so.20"};
    for (uint32_t i = 0; i < 3; i++) {
        struct profile_module module = {.module = i + 1, .path = text_of(modules[i])};
        assert_int_equal(feed->sink.ops->module(feed->sink.ctx, &module), LAM_OK);
    }
}

static void push_process(struct feed *feed, uint32_t id, const char *exe)
{
    struct profile_process process = {.process = id, .pid = 100 + id, .exe = text_of(exe)};
    assert_int_equal(feed->sink.ops->process(feed->sink.ctx, &process), LAM_OK);
}

static void push_thread(struct feed *feed, uint32_t id, uint32_t process, uint32_t tid,
                        const char *name)
{
    struct profile_thread thread = {
        .thread = id, .process = process, .tid = tid, .name = text_of(name)};
    assert_int_equal(feed->sink.ops->thread(feed->sink.ctx, &thread), LAM_OK);
}

/* Each call makes frames of its own: the same name at another address. */
static uint32_t push_frame(struct feed *feed, const char *name, size_t length, uint32_t module)
{
    uint32_t id = ++feed->frames;
    assert_true(id < MAX_STACKS && length < sizeof feed->names[0]);
    memcpy(feed->names[id], name, length);
    struct profile_frame frame = {.frame = id, .module = module, .offset = id};
    assert_int_equal(feed->sink.ops->frame(feed->sink.ctx, &frame), LAM_OK);
    return id;
}

/* "main;Optimize;pass", outermost first. */
static uint32_t push_stack(struct feed *feed, const char *text, uint32_t root_module)
{
    uint32_t parent = 0;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ";");
        struct profile_stack stack = {.stack = ++feed->stacks,
                                      .parent = parent,
                                      .frame =
                                          push_frame(feed, at, length, parent ? 3 : root_module)};
        assert_int_equal(feed->sink.ops->stack(feed->sink.ctx, &stack), LAM_OK);
        parent = stack.stack;
        at += length + (at[length] == ';');
    }
    return parent;
}

static void push_samples(struct feed *feed, uint32_t thread, uint32_t stack, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct profile_sample sample = {.thread = thread, .stack = stack, .cpu_ns = MS};
        assert_int_equal(feed->sink.ops->sample(feed->sink.ctx, &sample), LAM_OK);
    }
}

static void close_feed(struct feed *feed)
{
    probe_close(&feed->probe);
    classifier_close(&feed->cls);
}

/* A compilation: 10 ms parse, optimization of 20 ms with and 35 ms without detail, 4 ms of its rest, 6 ms unknown. */
static void feed_build(struct feed *feed, const char *markers, const char *process)
{
    open_with(feed, markers, process);
    push_process(feed, 1, "/x/bin/rustc");
    push_process(feed, 2, "/x/bin/other");
    push_thread(feed, 1, 1, 7001, "rustc");
    push_thread(feed, 2, 1, 7002, "opt cgu.1");
    push_thread(feed, 3, 2, 7003, "other");
    push_thread(feed, 4, 1, 101, "rustc");
    push_samples(feed, 1, push_stack(feed, "start;a;b;c;driver;parse;lex", 2), 10);
    push_samples(feed, 2, push_stack(feed, "start;a;b;c;work;Optimize;run;sroa::run", 2), 20);
    push_samples(feed, 2, push_stack(feed, "start;a;b;c;work;Optimize;run;lonely::run;deep", 2), 20);
    push_samples(feed, 2, push_stack(feed, "start;a;b;c;work;Optimize;run;lonely::run;deep2", 2), 10);
    push_samples(feed, 2, push_stack(feed, "start;a;b;c;work;Optimize;run", 2), 5);
    push_samples(feed, 2, push_stack(feed, "start;a;b;c;work;sleep", 2), 4);
    push_samples(feed, 1, push_stack(feed, "start;a;b;c;driver;write_out", 2), 4);
    push_samples(feed, 4, push_stack(feed, "start", 1), 1);
    push_samples(feed, 2, push_stack(feed, "Lost;Emit", 3), 1);
    push_samples(feed, 3, push_stack(feed, "start;a;b;c;lone_main", 2), 2);
}

/* ---- totals ------------------------------------------------------------------------------------------------------ */

static uint64_t total_ms(const struct feed *feed, const struct probe_totals *totals, const char *place)
{
    struct probe_choice choice;
    assert_int_equal(probe_choice_parse(&choice, place, NULL), LAM_OK);
    uint64_t ns = 0;
    array_each(&totals->buckets, row)
    {
        struct phase_bucket bucket = classifier_bucket(feed->cls, row->bucket);
        ns += probe_chosen(&choice, &bucket) ? row->amount.cpu_ns : 0;
    }
    return ns / MS;
}

static void totals_have_all_three_levels(void **unused)
{
    (void)unused;
    static const struct {
        const char *place;
        uint64_t ms;
    } rows[] = {
        {"frontend", 10},         {"frontend/parse/-", 10},        {"backend", 60},
        {"backend/optimize", 55}, {"backend/optimize/memory", 20}, {"backend/optimize/-", 35},
        {"backend/codegen", 4},   {"backend/machine_code", 1},     {"unknown", 7}};
    struct feed feed;
    struct probe_totals totals;
    feed_build(&feed, rules, NULL);
    assert_int_equal(probe_totals(feed.probe, &totals), LAM_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (total_ms(&feed, &totals, rows[i].place) != rows[i].ms)
            fail_msg("%s", rows[i].place);
    assert_int_equal(totals.total.cpu_ns, 77 * MS);
    assert_int_equal(totals.backend_ns, 60 * MS);
    assert_int_equal(totals.backend_named_ns, 20 * MS);
    assert_int_equal(totals.codegen_ns, 4 * MS);
    assert_int_equal(totals.bare_machine_code_ns, 1 * MS);
    assert_int_equal(totals.unknown_ns, 7 * MS);
    assert_int_equal(totals.roles[ROLE_OPT].rootless, 1); /* its outermost frame lies in libLLVM */
    assert_int_equal(totals.roles[ROLE_SERIAL].rootless, 0);
    assert_int_equal(totals.roles[ROLE_PROCESS].amount.samples, 1); /* the main thread waits */
    assert_int_equal(totals.roles[ROLE_PROCESS].one_frame, 1);
    probe_totals_free(&totals);
    close_feed(&feed);
}

static void programs_are_chosen(void **unused)
{
    (void)unused;
    struct feed feed;
    struct probe_totals totals;
    feed_build(&feed, rules, "*/other");
    assert_int_equal(probe_totals(feed.probe, &totals), LAM_OK);
    assert_int_equal(totals.total.samples, 2);
    probe_totals_free(&totals);
    close_feed(&feed);
}

static void buckets_are_checked(void **unused)
{
    (void)unused;
    static const char *const bad[] = {
        "", "front", "/", "backend/", "backend//x", "a/b/c/d", "backend/optimize/loops/x"};
    struct probe_choice choice;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(probe_choice_parse(&choice, bad[i], NULL), LAM_E_USAGE);
    char text[400];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    assert_int_equal(probe_choice_parse(&choice, text, NULL), LAM_E_USAGE);
}

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

static void stacks_are_merged_and_explained(void **unused)
{
    (void)unused;
    struct feed feed;
    struct probe_choice choice;
    struct probe_stacks list;
    feed_build(&feed, rules, NULL);
    assert_int_equal(probe_choice_parse(&choice, "backend/optimize/-", NULL), LAM_OK);
    assert_int_equal(probe_stacks(feed.probe, &choice, 3, &list), LAM_OK);
    assert_int_equal(list.stacks.count, 2); /* deep and deep2 are cut off */
    assert_int_equal(list.amount.cpu_ns, 35 * MS);
    const struct probe_stack *first = &list.stacks.items[0];
    assert_int_equal(first->amount.samples, 30);
    assert_int_equal(first->frame_count, 3);
    assert_int_equal(first->inner_frames, 1);
    assert_int_equal(first->outer_frames, 5);
    assert_string_equal(list.frames.items[first->first_frame].name, "lonely::run");
    assert_true(list.frames.items[first->first_frame + 2].is_decider);
    assert_string_equal(first->decided->pattern, "Optimize");
    assert_string_equal(first->runner_up->pattern, "opt"); /* the role */
    assert_null(first->detail);
    probe_stacks_free(&list);

    assert_int_equal(probe_choice_parse(&choice, "backend/optimize/memory", NULL), LAM_OK);
    assert_int_equal(probe_stacks(feed.probe, &choice, 0, &list), LAM_OK);
    assert_int_equal(list.stacks.count, 1);
    assert_int_equal(list.stacks.items[0].frame_count, 8);
    assert_string_equal(list.stacks.items[0].detail->pattern, "sroa::*");
    assert_true(list.frames.items[list.stacks.items[0].first_frame].is_detail);
    probe_stacks_free(&list);
    close_feed(&feed);
}

/* ---- suggestions ------------------------------------------------------------------------------------------------- */

static const struct probe_suggestion *suggested(const struct probe_suggestions *list,
                                                const char *pattern)
{
    array_each(&list->items, line) if (strcmp(line->pattern, pattern) == 0) return line;
    return NULL;
}

static void names_of_the_rest_alone_are_proposed(void **unused)
{
    (void)unused;
    struct feed feed;
    struct probe_suggestions list;
    feed_build(&feed, rules, NULL);
    assert_int_equal(probe_suggest(feed.probe, NULL, 20, &list), LAM_OK);
    const struct probe_suggestion *lonely = suggested(&list, "lonely::run");
    assert_non_null(lonely);
    assert_int_equal(lonely->rule, MARKER_DETAIL);
    assert_string_equal(lonely->segment, "backend");
    assert_string_equal(lonely->phase, "optimize");
    assert_string_equal(lonely->detail, "lonely");
    assert_int_equal(lonely->amount.cpu_ns, 30 * MS);
    assert_null(suggested(&list, "run")); /* all of the phase runs under it, the named part too... */
    assert_null(suggested(&list, "deep"));  /* the outer frame claims it already */
    assert_null(suggested(&list, "start")); /* threads begin there */
    assert_null(suggested(&list, "driver"));
    const struct probe_suggestion *unknown = suggested(&list, "write_out");
    assert_non_null(unknown);
    assert_int_equal(unknown->amount.cpu_ns, 4 * MS);
    const struct probe_suggestion *program = suggested(&list, "/x/bin/other");
    assert_non_null(program);
    assert_int_equal(program->rule, MARKER_ROLE);
    probe_suggestions_free(&list);
    close_feed(&feed);
}

/* What is proposed does what it says. */
static void a_proposal_taken_over_claims_its_time(void **unused)
{
    (void)unused;
    char text[1000];
    snprintf(text, sizeof text, "%sdetail lonely::run backend optimize lonely\n", rules);
    struct feed feed;
    struct probe_totals totals;
    feed_build(&feed, text, NULL);
    assert_int_equal(probe_totals(feed.probe, &totals), LAM_OK);
    assert_int_equal(total_ms(&feed, &totals, "backend/optimize/lonely"), 30);
    assert_int_equal(total_ms(&feed, &totals, "backend/optimize"), 55);
    probe_totals_free(&totals);
    close_feed(&feed);
}

static void an_empty_recording_is_no_failure(void **unused)
{
    (void)unused;
    struct feed feed;
    struct probe_totals totals;
    struct probe_stacks stacks;
    struct probe_suggestions list;
    struct probe_choice choice;
    open_with(&feed, rules, NULL);
    assert_int_equal(probe_choice_parse(&choice, "unknown", NULL), LAM_OK);
    assert_int_equal(probe_totals(feed.probe, &totals), LAM_OK);
    assert_int_equal(probe_stacks(feed.probe, &choice, 5, &stacks), LAM_OK);
    assert_int_equal(probe_suggest(feed.probe, NULL, 5, &list), LAM_OK);
    assert_int_equal(totals.total.samples + stacks.stacks.count + list.items.count, 0);
    probe_totals_free(&totals);
    probe_stacks_free(&stacks);
    probe_suggestions_free(&list);
    close_feed(&feed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_have_all_three_levels),
        cmocka_unit_test(programs_are_chosen),
        cmocka_unit_test(buckets_are_checked),
        cmocka_unit_test(stacks_are_merged_and_explained),
        cmocka_unit_test(names_of_the_rest_alone_are_proposed),
        cmocka_unit_test(a_proposal_taken_over_claims_its_time),
        cmocka_unit_test(an_empty_recording_is_no_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
