/* Many files in one push: what a sink is told does not depend on how many threads made them ready and told of them. */
#include "input/profdata_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "input/profdata_heard_test.h"
#include "input/profdata_make_test.h"
#include "input/read_profdata.h"

enum {
    FILES = 40,
    ROUNDS = 300,
    HEARD_PROCESS = 1 << 20,
    HEARD_PROCESS_END = 1 << 21,
    HEARD_SUM = 1 << 22
};

/* ---- files ---- */

static bool overlaps(unsigned number)
{
    return number % 11 == 5;
}

/* What a thread of a program writes, over and over, the whole of it inside one interval; now and then something that nests not, or
 * lies in the wrong order. */
static void make_file(struct made *made, unsigned number)
{
    char own[32];
    made_begin(made, number % 2 ? 9 : 8);
    if (number % 9 != 4)
        made_metadata(made);
    snprintf(own, sizeof own, "of %u", number);
    uint64_t kind = made_text(made, number % 3 ? "Query" : "GenericActivity");
    uint64_t all = made_text(made, "all"), mine = made_text(made, own);
    uint64_t keyed = made_text(made, number % 2 ? "keyed\x1ekey" : "keyed\x1eone\x1etwo");
    size_t rounds = number % 7 == 0 ? 3 : ROUNDS * (1 + number % 5);
    for (size_t i = 0; i < rounds; i++) {
        uint64_t at = 100 * i;
        uint32_t thread = (uint32_t)(i % 3);
        made_event(made, kind, keyed, thread, at + 10, at + 20);
        made_event(made, kind, all, thread, at + 15, PROFDATA_INSTANT);
        if (overlaps(number) && i % 100 == 50)
            made_event(made, kind, mine, thread, at + 15, at + 25);
        made_event(made, kind, mine, thread, at + 10, at + 90);
        if (i % 50 == 7)
            made_event(made, kind, mine, thread, i, PROFDATA_INTEGER);
    }
    made_event(made, kind, all, 0, 0, 100 * rounds);
    if (number == 12)
        made_event(made, kind, all, 0, 0, 50);
}

static char names[FILES][64];

static int write_files(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FILES; i++) {
        struct made made;
        make_file(&made, i);
        made_write(made_file(&made, 4096), names[i]);
        made_free(&made);
    }
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    unsetenv("LAMELLA_THREADS");
    for (unsigned i = 0; i < FILES; i++)
        unlink(names[i]);
    return 0;
}

/* ---- what is heard ---- */

static int heard_mark(struct heard *heard, uint32_t number, uint32_t flags, int64_t a, int64_t b)
{
    return array_push(&heard->events, ((struct heard_event){a, b, 0, 0, number, flags}));
}

static int heard_process(void *ctx, const struct profile_process *process)
{
    return heard_mark(ctx, process->process, HEARD_PROCESS, process->start_ns, 0);
}

static int heard_process_end(void *ctx, const struct profile_process_end *process)
{
    return heard_mark(ctx, process->process, HEARD_PROCESS_END, process->end_ns,
                      (int64_t)process->damage[4] + process->is_damaged);
}

static int heard_thread(void *ctx, const struct profile_thread *thread)
{
    return heard_mark(ctx, thread->thread, HEARD_PROCESS, thread->process, thread->tid);
}

static int heard_sum(void *ctx, const struct profile_sum *sum)
{
    struct heard *heard = ctx;
    struct heard_event event = {(int64_t)sum->self_ns, (int64_t)sum->intervals,
                                sum->instants,         sum->label,
                                sum->process,          HEARD_SUM};
    return array_push(&heard->events, event);
}

static void hear(struct heard *heard, struct profile_wants wants, bool has_branches,
                 const char *threads)
{
    static const struct profile_branch_ops branches = {heard_open, heard_take, heard_close};
    static const struct profile_sink_ops ops = {.process = heard_process,
                                                .process_end = heard_process_end,
                                                .thread = heard_thread,
                                                .label = heard_label,
                                                .interval = heard_interval,
                                                .instant = heard_instant,
                                                .sum = heard_sum};
    struct profile_sink sink = {.ctx = heard, .ops = &ops, .wants = wants};
    const char *paths[FILES];
    for (size_t i = 0; i < FILES; i++)
        paths[i] = names[i];
    sink.branches = has_branches ? &branches : NULL;
    setenv("LAMELLA_THREADS", threads, 1);
    assert_int_equal(read_profdata(paths, FILES, &sink, NULL), LAM_OK);
    array_each(&heard->events, event)
    {
        if (!(event->flags & (HEARD_PROCESS | HEARD_PROCESS_END)) && !(event->flags & HEARD_END))
            event->label = heard->label_hashes.items[event->label];
    }
}

static void any_number_of_threads_says_the_same(void **state)
{
    (void)state;
    static const struct {
        struct profile_wants wants;
        bool has_branches;
    } rows[] = {
        {{.args = true}, false},
        {{.sums = true}, false},
        {{.args = true}, true},
        {{.order = PROFILE_ORDER_START, .args = true}, false},
        {{.order = PROFILE_ORDER_START, .args = true}, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct heard one = {.events = {0}};
        hear(&one, rows[i].wants, rows[i].has_branches, "1");
        assert_true(one.events.count > FILES);
        static const char *const threads[] = {"2", "5", "16"};
        for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
            struct heard many = {.events = {0}};
            hear(&many, rows[i].wants, rows[i].has_branches, threads[k]);
            if (!heard_equal(&one, &many))
                fail_msg("row %zu with %s threads", i, threads[k]);
            heard_free(&many);
        }
        heard_free(&one);
    }
}

static void sort_without_ends(struct heard *heard)
{
    size_t kept = 0;
    array_each(&heard->events, event)
    {
        if (event->flags == HEARD_INSTANT + 1)
            event->start_ns = 0; /* undated: that of what came before it, or after */
        if (!(event->flags & HEARD_END))
            heard->events.items[kept++] = *event;
    }
    heard->events.count = kept;
    qsort(heard->events.items, kept, sizeof *heard->events.items, heard_compare);
}

static void branches_hear_what_a_sink_alone_hears(void **state)
{
    (void)state;
    static const enum profile_order orders[] = {PROFILE_ORDER_ANY, PROFILE_ORDER_START};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct heard alone = {.events = {0}}, told = {.events = {0}};
        hear(&alone, (struct profile_wants){.order = orders[i], .args = true}, false, "3");
        hear(&told, (struct profile_wants){.order = orders[i], .args = true}, true, "3");
        sort_without_ends(&alone);
        sort_without_ends(&told);
        assert_int_equal(alone.events.count, told.events.count);
        assert_true(heard_equal(&alone, &told));
        heard_free(&alone);
        heard_free(&told);
    }
}

/* A failure is that of the first file that fails, whoever found it. */
static void a_file_that_goes_away(void **state)
{
    (void)state;
    struct heard heard = {.events = {0}};
    static const struct profile_sink_ops ops = {.interval = heard_interval, .label = heard_label};
    struct profile_sink sink = {.ctx = &heard, .ops = &ops};
    struct profdata_source sources[FILES] = {0};
    struct profile_session_end totals = {.streams = 0};
    struct lam_error err = LAM_ERROR_INIT;
    struct pool *pool;
    assert_int_equal(pool_open(&pool, 4, NULL), LAM_OK);
    for (size_t i = 0; i < FILES; i++)
        sources[i].path = names[i];
    sources[20].path = (char[]){"/nowhere/first"};
    sources[21].path = (char[]){"/nowhere/second"};
    struct profdata_files files = {
        .sink = &sink, .sources = sources, .count = FILES, .pool = pool, .totals = &totals};
    assert_int_equal(profdata_files_push(&files, &err), LAM_E_NOTFOUND);
    assert_non_null(strstr(err.msg, "/nowhere/first"));
    assert_int_equal(totals.streams, 20);
    pool_close(&pool);
    heard_free(&heard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_says_the_same),
        cmocka_unit_test(branches_hear_what_a_sink_alone_hears),
        cmocka_unit_test(a_file_that_goes_away),
    };
    return cmocka_run_group_tests(tests, write_files, remove_files);
}
