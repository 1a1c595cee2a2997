/* Stacks and what they mean: names asked for once a frame, states made once a stack, whatever ids an input pushes. */
#include "analysis/stack_states.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

enum { MAIN = 1, TYPECK, INLINED, NAMELESS, STRIPPED, FRAMES };

/* A table of names by frame that counts who asked. */
struct table {
    uint32_t asked[FRAMES], modules;
    bool is_full; /* a call says that memory was short */
};

static int table_module(void *ctx, const struct profile_module *module)
{
    struct table *table = ctx;
    table->modules += module->module;
    return table->is_full ? LAM_E_NOMEM : LAM_OK;
}

static int table_names(void *ctx, const struct profile_frame *frame, struct classifier_name *names,
                       size_t *count, bool *is_stripped)
{
    static const char *const texts[FRAMES][2] = {
        [MAIN] = {"main"},
        [TYPECK] = {"rustc_hir_typeck::typeck"},
        [INLINED] = {"core::ptr::read", "rustc_hir_typeck::typeck"},
    };
    struct table *table = ctx;
    uint32_t which = frame->frame % FRAMES;
    table->asked[which]++;
    assert_false(*is_stripped);
    assert_int_equal(*count, 0);
    for (; *count < 2 && texts[which][*count]; ++*count)
        names[*count] = (struct classifier_name){texts[which][*count], strlen(texts[which][*count])};
    *is_stripped = which == STRIPPED;
    return table->is_full ? LAM_E_NOMEM : LAM_OK;
}

static struct classifier *cls;
static struct table table;

static void open_states(struct stack_states *states)
{
    struct lam_error err = LAM_ERROR_INIT;
    const struct frame_names names = {&table, table_module, table_names};
    table = (struct table){0};
    assert_int_equal(classifier_open(&cls, NULL, &err), LAM_OK);
    stack_states_init(states, cls, &names);
    struct profile_module module = {.module = 1, .path = {"/t/rustc", 8}};
    assert_int_equal(stack_states_module(states, &module), LAM_OK);
    for (uint32_t i = 1; i < FRAMES; i++) {
        struct profile_frame frame = {.frame = i, .module = 1, .offset = i};
        assert_int_equal(stack_states_frame(states, &frame), LAM_OK);
    }
}

static void close_states(struct stack_states *states)
{
    stack_states_free(states);
    assert_int_equal(states->stacks.count, 0);
    classifier_close(&cls);
}

static void push(struct stack_states *states, uint32_t stack, uint32_t parent, uint32_t frame)
{
    struct profile_stack pushed = {.stack = stack, .parent = parent, .frame = frame};
    assert_int_equal(stack_states_stack(states, &pushed), LAM_OK);
}

static const char *phase_of(const struct stack_states *states, uint32_t stack)
{
    uint32_t bucket;
    assert_int_equal(classifier_decide(cls, stack_states_get(states, stack).state, 0, &bucket),
                     LAM_OK);
    return classifier_bucket(cls, bucket).phase_name;
}

static void a_stack_is_its_parent_and_a_frame(void **unused)
{
    (void)unused;
    struct stack_states states;
    open_states(&states);
    assert_int_equal(table.modules, 1);
    push(&states, 1, 0, MAIN);
    push(&states, 2, 1, TYPECK);
    push(&states, 3, 2, NAMELESS);
    push(&states, 4, 1, INLINED);
    push(&states, 5, 4, STRIPPED);
    static const struct {
        uint32_t stack, depth, unresolved, leaf;
        bool is_unresolved, is_stripped;
        const char *phase;
    } rows[] = {
        {1, 1, 0, MAIN, false, false, "unattributed"},
        {2, 2, 0, TYPECK, false, false, "type_check"},
        {3, 3, 1, NAMELESS, true, false, "type_check"},
        {4, 2, 0, INLINED, false, false, "type_check"},
        {5, 3, 1, STRIPPED, true, true, "type_check"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct stack_info info = stack_states_get(&states, rows[i].stack);
        struct frame_info leaf = stack_states_leaf(&states, info);
        if (info.depth_frames != rows[i].depth || info.unresolved_frames != rows[i].unresolved ||
            info.leaf_frame != rows[i].leaf || leaf.is_unresolved != rows[i].is_unresolved ||
            leaf.is_stripped != rows[i].is_stripped || leaf.module != 1)
            fail_msg("stack %u", rows[i].stack);
        assert_string_equal(phase_of(&states, rows[i].stack), rows[i].phase);
    }
    for (uint32_t i = 1; i < FRAMES; i++) /* once, however many stacks it is in */
        assert_int_equal(table.asked[i], 1);
    close_states(&states);
}

static void what_was_never_pushed_is_empty(void **unused)
{
    (void)unused;
    struct stack_states states;
    open_states(&states);
    push(&states, 7, 0, MAIN);
    static const uint32_t never[] = {0, 3, 8, UINT32_MAX}; /* 3: in a gap */
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
        struct stack_info info = stack_states_get(&states, never[i]);
        assert_true(info.state == 0 && info.depth_frames == 0 && info.leaf_frame == 0);
    }
    /* A parent and a frame that nobody pushed: a stack of one frame without a name. */
    push(&states, 9, 8, 1000);
    struct stack_info info = stack_states_get(&states, 9);
    assert_int_equal(info.depth_frames, 1);
    assert_int_equal(info.unresolved_frames, 1);
    assert_true(stack_states_leaf(&states, info).is_unresolved);
    /* No stack is 0, and ids of damage allocate nothing. */
    struct profile_stack none = {.stack = 0, .frame = MAIN},
                         far = {.stack = UINT32_MAX, .frame = MAIN};
    struct profile_frame frame = {.frame = UINT32_MAX, .module = 1};
    struct profile_module module = {.module = UINT32_MAX, .path = {"/x", 2}};
    assert_int_equal(stack_states_stack(&states, &none), LAM_E_INVAL);
    assert_int_equal(stack_states_stack(&states, &far), LAM_E_INVAL);
    assert_int_equal(stack_states_frame(&states, &frame), LAM_E_INVAL);
    assert_int_equal(stack_states_module(&states, &module), LAM_E_INVAL);
    assert_int_equal(states.stacks.count, 10);
    close_states(&states);
}

/* Deeper than the counters reach: they stay at their end, and the phase is still known. */
static void counters_stop_at_their_end(void **unused)
{
    (void)unused;
    struct stack_states states;
    open_states(&states);
    push(&states, 1, 0, TYPECK);
    for (uint32_t i = 2; i < UINT16_MAX + 100; i++)
        push(&states, i, i - 1, NAMELESS);
    struct stack_info info = stack_states_get(&states, UINT16_MAX + 99);
    assert_int_equal(info.depth_frames, UINT16_MAX);
    assert_int_equal(info.unresolved_frames, UINT16_MAX);
    assert_string_equal(phase_of(&states, UINT16_MAX + 99), "type_check");
    close_states(&states);
}

/* Without a table no frame has a name; and what a table says goes on to the input. */
static void a_table_may_be_missing_or_fail(void **unused)
{
    (void)unused;
    struct stack_states states;
    open_states(&states);
    struct profile_module module = {.module = 2, .path = {"/x", 2}};
    struct profile_frame frame = {.frame = MAIN + FRAMES, .module = 2};
    table.is_full = true;
    assert_int_equal(stack_states_module(&states, &module), LAM_E_NOMEM);
    assert_int_equal(stack_states_frame(&states, &frame), LAM_E_NOMEM);
    stack_states_free(&states);
    stack_states_init(&states, cls, NULL);
    assert_int_equal(stack_states_module(&states, &module), LAM_OK);
    assert_int_equal(stack_states_frame(&states, &frame), LAM_OK);
    push(&states, 1, 0, MAIN + FRAMES);
    assert_int_equal(stack_states_get(&states, 1).unresolved_frames, 1);
    close_states(&states);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_is_its_parent_and_a_frame),
        cmocka_unit_test(what_was_never_pushed_is_empty),
        cmocka_unit_test(counters_stop_at_their_end),
        cmocka_unit_test(a_table_may_be_missing_or_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
