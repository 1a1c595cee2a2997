#include "phase/classifier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/glob.h"

/* Names: l* leaf, i* innermost, o* outermost, q* query, d* detail. */
static const char rules[] = "leaf       leaf      wait      blocked      lock\n"
                            "module     */mac/lib*-*.so frontend proc_macro {crate}\n"
                            "module     */mac/libstd-* -    -            -\n"
                            "innermost  inner_opt backend   optimize     -\n"
                            "innermost  inner_mc  backend   machine_code assembler\n"
                            "innermost  inner_*   backend   codegen      -\n"
                            "innermost  linker    link      link         -    over=backend\n"
                            "outermost  out_parse frontend  parse        -\n"
                            "outermost  out_exp   frontend  macro_expand -\n"
                            "query      query_a   frontend  queries      layout\n"
                            "query      query_b   frontend  queries      trait_solving\n"
                            "detail     det_a     backend   optimize     loops\n"
                            "detail     det_a     frontend  parse        sema\n"
                            "detail     det_b     backend   optimize     memory\n"
                            "detail     det_no*   backend   optimize     cfg\n"
                            "detail     det_not   -         -            -\n"
                            "outermost  only_here frontend  lower        -    module=*/clang\n"
                            "thread     rustc     serial    module=*/rustc\n"
                            "thread     \"opt *\" opt       module=*/rustc cgu\n"
                            "thread     *         process   module=*/ld\n"
                            "role       opt       backend   codegen      -\n"
                            "role       process   link      link         -    module=*/ld\n";

static struct classifier *open_rules(const char *text)
{
    struct marker_set set = {0};
    struct classifier *cls = NULL;
    struct lam_error err = LAM_ERROR_INIT;
    if (marker_set_add(&set, "test", text, strlen(text), &err) < 0 ||
        classifier_open_set(&cls, &set, &err) < 0)
        fail_msg("%s", err.msg);
    return cls;
}

/* A stack as "root;…;leaf"; a frame is NAME, NAME<NAME (the second inlined into the first), ? (no symbol) or NAME@MODULE. */
static uint32_t push_text(struct classifier *cls, uint32_t state, const char *frame, size_t length)
{
    struct classifier_name names[8];
    size_t count = 0;
    uint32_t module = 0, frame_class;
    const char *at = memchr(frame, '@', length);
    if (at) {
        assert_int_equal(classifier_module(cls, at + 1, length - (size_t)(at + 1 - frame), &module),
                         LAM_OK);
        length = (size_t)(at - frame);
    }
    for (size_t end = length; end > 0;) { /* outermost first in the text, innermost first in the call */
        size_t begin = end;
        while (begin > 0 && frame[begin - 1] != '<')
            begin--;
        names[count++] = (struct classifier_name){frame + begin, end - begin};
        end = begin ? begin - 1 : 0;
    }
    bool is_unresolved = length == 1 && frame[0] == '?';
    assert_int_equal(classifier_frame(cls, module, names, is_unresolved ? 0 : count, &frame_class),
                     LAM_OK);
    assert_int_equal(classifier_push(cls, state, frame_class, &state), LAM_OK);
    return state;
}

static uint32_t push_stack(struct classifier *cls, const char *stack)
{
    uint32_t state = 0;
    for (const char *frame = stack; *frame;) {
        size_t length = strcspn(frame, ";");
        state = push_text(cls, state, frame, length);
        frame += length + (frame[length] == ';');
    }
    return state;
}

static void describe(const struct classifier *cls, uint32_t bucket, char *text, size_t size)
{
    struct phase_bucket b = classifier_bucket(cls, bucket);
    snprintf(text, size, "%s %s %s", phase_segment_name(b.segment), b.phase_name,
             b.detail ? b.detail : "-");
}

static void decides_by_precedence(void **unused)
{
    (void)unused;
    static const struct {
        const char *stack, *thread, *expected;
    } rows[] = {
        {"main;x", "rustc", "unknown unattributed -"},
        {"", "rustc", "unknown unattributed -"},
        {"main;x", "opt cgu.3", "backend codegen -"},               /* role, lowest */
        {"main;query_a;x", "opt cgu.3", "frontend queries layout"}, /* query before role */
        {"main;query_a;query_b;x", "rustc", "frontend queries trait_solving"}, /* the innermost query */
        {"main;out_parse;query_a", "rustc", "frontend parse -"},     /* a step before a question */
        {"main;out_parse;out_exp;x", "rustc", "frontend parse -"},   /* the outermost step */
        {"main;out_exp;inner_opt;x", "rustc", "backend optimize -"}, /* innermost before outermost */
        {"main;inner_opt;inner_mc;x", "rustc", "backend machine_code assembler"},
        {"main;inner_mc;inner_opt;x", "rustc", "backend optimize -"},
        {"main;inner_any;x", "rustc",
         "backend codegen -"}, /* the longest literal wins: inner_opt is not inner_* */
        {"main;linker;inner_opt;x", "rustc", "link link -"}, /* over=backend */
        {"main;inner_opt;linker;x", "rustc", "link link -"},
        {"main;out_exp;f@/t/mac/libserde_derive-0123.so;x", "rustc",
         "frontend proc_macro serde_derive"},
        {"main;inner_opt;f@/t/mac/liba-1.so;x", "rustc",
         "frontend proc_macro a"}, /* module before innermost */
        {"main;out_exp;f@/t/mac/libstd-0123.so;x", "rustc", "frontend macro_expand -"}, /* taken out */
        {"main;inner_opt;leaf", "rustc", "wait blocked lock"},  /* leaf first */
        {"main;leaf;inner_opt", "rustc", "backend optimize -"}, /* and only at the leaf */
        {"main;only_here@/usr/bin/clang", "rustc", "frontend lower -"},
        {"main;only_here@/usr/bin/other", "rustc", "unknown unattributed -"},
        /* details, inside the phase that was decided */
        {"main;inner_opt;det_a;x", "rustc", "backend optimize loops"},
        {"main;inner_opt;det_a;det_b;x", "rustc", "backend optimize memory"},
        {"main;inner_mc;det_a", "rustc", "backend machine_code assembler"}, /* never moves a sample */
        {"main;out_parse;det_a", "rustc", "frontend parse sema"}, /* one name, two phases */
        {"main;inner_opt;det_no1", "rustc", "backend optimize cfg"},
        {"main;inner_opt;det_not", "rustc", "backend optimize -"},
        /* frames without symbols */
        {"main;inner_opt;?;x", "rustc", "backend optimize unresolved"},
        {"main;?;inner_opt;x", "rustc", "backend optimize -"},
        {"main;inner_opt;det_a;?", "rustc", "backend optimize loops"},
        {"?;?", "rustc", "unknown unattributed unresolved"},
        /* inlined functions count as frames */
        {"main;inner_mc<inner_opt<det_b", "rustc", "backend optimize memory"},
        {"main;det_b<inner_opt;x", "rustc", "backend optimize memory"},
        {"main;out_exp<out_parse", "rustc", "frontend macro_expand -"},
        {"main;inner_opt<leaf", "rustc", "wait blocked lock"},
        {"main;leaf<inner_opt", "rustc", "backend optimize -"},
    };
    struct classifier *cls = open_rules(rules);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *name = rows[i].thread;
        struct classifier_thread thread =
            classifier_thread(cls, "/x/bin/rustc", name, strlen(name), false);
        uint32_t bucket;
        char text[100];
        assert_int_equal(
            classifier_decide(cls, push_stack(cls, rows[i].stack), thread.fallback, &bucket), LAM_OK);
        describe(cls, bucket, text, sizeof text);
        if (strcmp(text, rows[i].expected) != 0)
            fail_msg("row %zu '%s': '%s', expected '%s'", i, rows[i].stack, text, rows[i].expected);
    }
    classifier_close(&cls);
    assert_null(cls);
}

static void threads_have_roles(void **unused)
{
    (void)unused;
    static const struct {
        const char *program, *name, *role, *cgu;
    } rows[] = {
        {"/x/bin/rustc", "rustc", "serial", NULL},
        {"/x/bin/rustc", "opt cgu.12", "opt", "cgu.12"},
        {"/x/bin/rustc", "ctrl-c", "other", NULL},        /* never serial */
        {"/usr/bin/python3", "opt cgu.1", "other", NULL}, /* another program's name means nothing */
        {"/usr/bin/ld", "anything", "process", NULL},
        {"", "", "other", NULL},
    };
    struct classifier *cls = open_rules(rules);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct classifier_thread thread =
            classifier_thread(cls, rows[i].program, rows[i].name, strlen(rows[i].name), false);
        assert_string_equal(thread_role_name(thread.role), rows[i].role);
        assert_int_equal(thread.cgu != NULL, rows[i].cgu != NULL);
        if (rows[i].cgu) {
            assert_int_equal(thread.cgu_length, strlen(rows[i].cgu));
            assert_memory_equal(thread.cgu, rows[i].cgu, thread.cgu_length);
        }
    }
    struct classifier_thread link = classifier_thread(cls, "/usr/bin/ld", "ld", 2, false);
    uint32_t bucket;
    assert_int_equal(classifier_decide(cls, push_stack(cls, "main"), link.fallback, &bucket), LAM_OK);
    assert_int_equal(classifier_bucket(cls, bucket).segment, SEGMENT_LINK);
    classifier_close(&cls);
}

static void a_later_file_breaks_a_tie(void **unused)
{
    (void)unused;
    struct marker_set set = {0};
    static const char first[] = "outermost a*c frontend parse -\noutermost a* frontend resolve -\n";
    static const char second[] = "outermost a?c frontend lower -\noutermost ?* frontend lint -\n";
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(marker_set_add(&set, "1", first, strlen(first), &err), LAM_OK);
    assert_int_equal(
        marker_set_add(&set, "2", second, strlen("outermost a?c frontend lower -\n"), &err), LAM_OK);
    struct classifier *cls = NULL;
    assert_int_equal(classifier_open_set(&cls, &set, &err), LAM_OK);
    static const struct {
        const char *stack, *expected;
    } rows[] = {
        {"abc", "frontend lower -"}, {"abbc", "frontend parse -"}, {"ab", "frontend resolve -"}};
    for (size_t i = 0; i < 3; i++) {
        uint32_t bucket;
        char text[100];
        assert_int_equal(classifier_decide(cls, push_stack(cls, rows[i].stack), 0, &bucket), LAM_OK);
        describe(cls, bucket, text, sizeof text);
        assert_string_equal(text, rows[i].expected);
    }
    classifier_close(&cls);
}

/* ---- the plain twin: the rules as they are written down, over a whole stack, without any state ------------------- */

static const char *const twin_names[] = {"main",    "x",      "leaf",      "inner_opt", "inner_mc",
                                         "inner_z", "linker", "out_parse", "out_exp",   "query_a",
                                         "query_b", "det_a",  "det_b",     "det_not"};
enum { TWIN_NAMES = sizeof twin_names / sizeof twin_names[0], TWIN_DEPTH = 12 };

static const struct marker *best_of(const struct marker_set *set, enum marker_rule rule,
                                    const char *name, int phase)
{
    const struct marker *best = NULL;
    for (size_t i = 0; i < set->markers.count; i++) {
        const struct marker *m = &set->markers.items[i];
        bool fits = m->rule == rule && !m->module && glob_match_str(m->pattern, name);
        if (fits && phase >= 0 && m->segment != SEGMENT_NONE && m->phase != phase)
            fits = false;
        if (fits && (!best || m->literal_length >= best->literal_length))
            best = m;
    }
    return best && best->segment != SEGMENT_NONE ? best : NULL;
}

static const struct marker *twin_decides(const struct marker_set *set, const char *const *names,
                                         size_t depth)
{
    const struct marker *leaf = depth ? best_of(set, MARKER_LEAF, names[depth - 1], -1) : NULL;
    const struct marker *held = NULL, *outermost = NULL, *query = NULL;
    for (size_t i = 0; i < depth; i++) {
        const struct marker *inner = best_of(set, MARKER_INNERMOST, names[i], -1);
        if (inner && !(held && held->over & 1 << inner->segment))
            held = inner;
        const struct marker *outer = best_of(set, MARKER_OUTERMOST, names[i], -1);
        outermost = outermost ? outermost : outer;
        const struct marker *asked = best_of(set, MARKER_QUERY, names[i], -1);
        query = asked ? asked : query;
    }
    return leaf ? leaf : held ? held : outermost ? outermost : query;
}

static void agrees_with_its_plain_twin(void **unused)
{
    (void)unused;
    struct classifier *cls = open_rules(rules);
    const struct marker_set *set = classifier_markers(cls);
    uint32_t random = 7;
    for (int n = 0; n < 20000; n++) {
        const char *names[TWIN_DEPTH];
        uint32_t state = 0;
        random = random * 1664525u + 1013904223u;
        size_t depth = (random >> 16) % TWIN_DEPTH;
        for (size_t i = 0; i < depth; i++) {
            random = random * 1664525u + 1013904223u;
            names[i] = twin_names[(random >> 16) % TWIN_NAMES];
            state = push_text(cls, state, names[i], strlen(names[i]));
        }
        const struct marker *expected = twin_decides(set, names, depth);
        assert_ptr_equal(classifier_why(cls, state, 0), expected);
        uint32_t bucket;
        assert_int_equal(classifier_decide(cls, state, 0, &bucket), LAM_OK);
        assert_int_equal(classifier_bucket(cls, bucket).phase, expected ? expected->phase : 0);
        if (expected && expected->rule !=
                            MARKER_LEAF) { /* a detail line of this phase anywhere, the innermost */
            const struct marker *detail = NULL;
            for (size_t i = 0; i < depth; i++) {
                const struct marker *here = best_of(set, MARKER_DETAIL, names[i], expected->phase);
                detail = here ? here : detail;
            }
            if (detail)
                assert_string_equal(classifier_bucket(cls, bucket).detail,
                                    intern_text(&set->details, detail->detail, NULL));
        }
    }
    classifier_close(&cls);
}

static void no_rules_at_all_claim_nothing(void **unused)
{
    (void)unused;
    struct classifier *cls = open_rules("");
    uint32_t bucket;
    assert_int_equal(classifier_decide(cls, push_stack(cls, "main;x"), 0, &bucket), LAM_OK);
    assert_int_equal(classifier_bucket(cls, bucket).segment, SEGMENT_UNKNOWN);
    assert_int_equal(classifier_bucket(cls, 12345).segment, SEGMENT_UNKNOWN);
    classifier_close(&cls);
    classifier_close(&cls);
}

static void explains_who_decided_and_who_would(void **unused)
{
    (void)unused;
    static const struct {
        const char *stack[4];
        const char *decided, *runner_up, *detail;
    } rows[] = {
        {{"main", "x"}, NULL, NULL, NULL},
        {{"main", "out_parse", "query_a"}, "out_parse", "query_a", NULL},
        {{"main", "out_parse", "inner_mc"}, "inner_mc", "out_parse", "inner_mc"},
        {{"main", "inner_opt", "inner_mc"}, "inner_mc", "inner_opt", "inner_mc"},
        {{"main", "inner_opt", "det_a"}, "inner_opt", NULL, "det_a"},
        {{"main", "inner_opt", "leaf"}, "leaf", "inner_opt", NULL},
    };
    struct classifier *cls = open_rules(rules);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t classes[4];
        size_t count = 0;
        for (; count < 4 && rows[i].stack[count]; count++) {
            struct classifier_name name = {rows[i].stack[count], strlen(rows[i].stack[count])};
            assert_int_equal(classifier_frame(cls, 0, &name, 1, &classes[count]), LAM_OK);
        }
        struct classifier_reason why = classifier_explain(cls, classes, count, 0);
        const struct marker *got[] = {why.decided, why.runner_up, why.detail};
        const char *wanted[] = {rows[i].decided, rows[i].runner_up, rows[i].detail};
        for (size_t k = 0; k < 3; k++)
            if ((got[k] == NULL) != (wanted[k] == NULL) ||
                (got[k] && strcmp(got[k]->pattern, wanted[k]) != 0))
                fail_msg("row %zu, %zu: %s", i, k, got[k] ? got[k]->pattern : "none");
    }
    classifier_close(&cls);
}

static void main_threads_have_lines_of_their_own(void **unused)
{
    (void)unused;
    struct classifier *cls = open_rules("thread rustc serial  module=*/rustc\n"
                                        "thread *     process module=*/rustc main\n"
                                        "role   process process startup - module=*/rustc\n");
    struct classifier_thread main_thread = classifier_thread(cls, "/x/rustc", "rustc", 5, true);
    assert_int_equal(main_thread.role, ROLE_PROCESS);
    assert_int_not_equal(main_thread.fallback, 0);
    struct classifier_thread other = classifier_thread(cls, "/x/rustc", "rustc", 5, false);
    assert_int_equal(other.role, ROLE_SERIAL);
    assert_int_equal(other.fallback, 0);
    classifier_close(&cls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decides_by_precedence),
        cmocka_unit_test(threads_have_roles),
        cmocka_unit_test(a_later_file_breaks_a_tie),
        cmocka_unit_test(agrees_with_its_plain_twin),
        cmocka_unit_test(no_rules_at_all_claim_nothing),
        cmocka_unit_test(explains_who_decided_and_who_would),
        cmocka_unit_test(main_threads_have_lines_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
