/* Unwinding this process from its own handlers: stack use, hostile registers, bounds, the end reasons.
 *
 *   unwind_self_test            the test
 *   unwind_self_test --bench    what a stack, a frame and a rule cost, warm and cold */
#include "unwind/find_object.h"
#include "unwind/unwind.h"

#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAX_FRAMES = 512 };

static struct unwind_scratch scratch;
static struct unwind_space space;
static struct unwind_finder finder;
static struct rule_entry entries[1 << RULE_CACHE_BITS] __attribute__((aligned(64)));
static const struct rule_cache cache = {entries, RULE_CACHE_BITS};
static _Atomic uint32_t generation;
static uint64_t frames[MAX_FRAMES], again[MAX_FRAMES];
static volatile int sink;

static void prepare(void)
{
    atomic_store(&generation, 0);
    memset(entries, 0, sizeof entries);
    unwind_finder_init(&finder, NULL);
    unwind_space_self(&space, &scratch, unwind_finder_find, &finder);
    space.cache = &cache;
    space.generation = &generation;
}

/* The registers of a function in a deep stack, taken by a signal that it raises. */
static struct unwind_regs caught;
static void (*on_caught)(void);

static void catch (int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    unwind_regs_from_ucontext(&caught, context);
    on_caught();
}

/* Many different return addresses, so that a stack of them touches as many rules. */
#define LEVEL(name, next)                            \
    static __attribute__((noinline)) int name(int n) \
    {                                                \
        volatile char pad[64];                       \
        pad[0] = (char)n;                            \
        return next(n - 1) + pad[0];                 \
    }
static __attribute__((noinline)) int level_0(int n)
{
    if (n > 0)
        sink += n;
    raise(SIGUSR2);
    return n;
}
LEVEL(level_1, level_0)
LEVEL(level_2, level_1)
LEVEL(level_3, level_2)
LEVEL(level_4, level_3)
LEVEL(level_5, level_4)
LEVEL(level_6, level_5)
LEVEL(level_7, level_6)
LEVEL(level_8, level_7)
LEVEL(level_9, level_8)
LEVEL(level_10, level_9)
LEVEL(level_11, level_10)
LEVEL(level_12, level_11)
LEVEL(level_13, level_12)
LEVEL(level_14, level_13)
LEVEL(level_15, level_14)
LEVEL(level_16, level_15)

static void with_stack(void (*function)(void))
{
    struct sigaction action = {.sa_sigaction = catch, .sa_flags = SA_SIGINFO}, before;
    on_caught = function;
    sigaction(SIGUSR2, &action, &before);
    sink += level_16(16);
    sigaction(SIGUSR2, &before, NULL);
}

/* --- tests --- */

static void compare_with_backtrace(void)
{
    void *addresses[MAX_FRAMES];
    struct unwind_result result;
    assert_int_equal(unwind_stack(&space, &caught, frames, MAX_FRAMES, &result), UNWIND_ROOT);
    int count = backtrace(addresses, MAX_FRAMES);
    assert_true(result.depth > 20 && count > (int)result.depth);
    /* backtrace() begins in here, behind the handler's frames; the root is the same. */
    for (uint32_t i = 1; i < result.depth; i++)
        assert_int_equal(frames[result.depth - i] + 1,
                         (uint64_t)(uintptr_t)addresses[count - (int)i]);
}

static void agrees_with_backtrace(void **state)
{
    (void)state;
    void *addresses[2];
    backtrace(addresses, 2); /* loads libgcc now and not in the handler */
    prepare();
    with_stack(compare_with_backtrace);
}

static void stop_at_every_depth(void)
{
    struct unwind_result result, part;
    unwind_stack(&space, &caught, frames, MAX_FRAMES, &result);
    for (uint32_t max = 0; max <= result.depth; max++) {
        memset(again, 0, sizeof again);
        enum unwind_end end = unwind_stack(&space, &caught, again, max, &part);
        assert_int_equal(end, max < result.depth ? UNWIND_DEEP : UNWIND_ROOT);
        assert_int_equal(part.depth, max);
        assert_memory_equal(again, frames, max * sizeof *frames);
        assert_int_equal(again[max], 0);
    }
}

static void too_deep_keeps_the_leaf(void **state)
{
    (void)state;
    prepare();
    with_stack(stop_at_every_depth);
}

/* Registers as damaged as they come: nothing may crash, hang or write past the frames. */
static void damage_registers(void)
{
    uint64_t random = 88172645463325252u;
    struct unwind_result result;
    uint64_t seen[UNWIND_END_COUNT] = {0};
    for (int i = 0; i < 200000; i++) {
        struct unwind_regs regs = caught;
        for (unsigned reg = 0; reg <= 16; reg++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            uint64_t *value = reg == 16 ? &regs.pc : &regs.r[reg];
            if (random % 4 == 0)
                *value += (random >> 8) % 4096 - 2048;
            else if (random % 32 == 1)
                *value = random;
            else if (random % 32 == 2)
                *value = caught.r[7] + (random >> 8) % 8192;
            else if (random % 32 == 3)
                regs.valid &= ~((uint64_t)1 << (reg & 15));
        }
        again[100] = 42;
        enum unwind_end end = unwind_stack(&space, &regs, again, 100, &result);
        assert_int_equal(again[100], 42);
        assert_true(result.depth <= 100 && end < UNWIND_END_COUNT);
        seen[end]++;
    }
    for (unsigned end = 0; end < UNWIND_END_COUNT; end++)
        printf("%s %llu, ", unwind_end_name(end), (unsigned long long)seen[end]);
    printf("of 200000 with damaged registers\n");
    assert_true(seen[UNWIND_ROOT] > 1000 && seen[UNWIND_UNREADABLE] > 100);
}

static void damaged_registers_are_harmless(void **state)
{
    (void)state;
    prepare();
    with_stack(damage_registers);
}

/* A function with rbp as its frame, never run: two frames of it that are each other's caller. */
extern const char circle[], circle_return[];
__asm__(
    ".text\ncircle:\n .cfi_startproc\n push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n"
    " mov %rsp, %rbp\n .cfi_def_cfa_register rbp\n call circle\n"
    "circle_return:\n leave\n .cfi_def_cfa rsp, 8\n ret\n .cfi_endproc\n");

static void make_circle(void)
{
    struct unwind_result result;
    static uint64_t stack[6];
    uint64_t base = (uint64_t)(uintptr_t)stack, code = (uint64_t)(uintptr_t)circle_return;
    struct unwind_regs regs = {.pc = code, .valid = 1u << 6 | 1u << 7};
    for (int period = 1; period <= 2; period++) {
        stack[0] = base + (period == 2 ? 32 : 0);
        stack[4] = base;
        stack[1] = stack[5] = code;
        regs.r[6] = base;
        regs.r[7] = base - 16;
        enum unwind_end end = unwind_stack(&space, &regs, frames, MAX_FRAMES, &result);
        assert_int_equal(end, UNWIND_LOOP);
        assert_true(result.depth < 12);
    }
}

static void circles_end(void **state)
{
    (void)state;
    prepare();
    make_circle();
}

static void unknown_code_is_told_apart(void **state)
{
    (void)state;
    prepare();
    struct unwind_result result;
    struct unwind_regs regs = {.pc = 0x1234, .valid = 1u << 7};
    regs.r[7] = 0x5678;
    assert_int_equal(unwind_stack(&space, &regs, frames, MAX_FRAMES, &result), UNWIND_NO_MODULE);
    assert_int_equal(result.depth, 1);
    assert_int_equal(frames[0], 0x1234);
    /* Data of a module: known to nobody's tables. */
    regs.pc = (uint64_t)(uintptr_t)&sink;
    assert_int_equal(unwind_stack(&space, &regs, frames, MAX_FRAMES, &result), UNWIND_NO_RULE);
    /* Code with a rule, but no stack. */
    regs.pc = (uint64_t)(uintptr_t)level_1;
    assert_int_equal(unwind_stack(&space, &regs, frames, MAX_FRAMES, &result), UNWIND_UNREADABLE);
    /* Code with a rule for a register that is not known. */
    regs.valid = 0;
    assert_int_equal(unwind_stack(&space, &regs, frames, MAX_FRAMES, &result), UNWIND_LOST_REGISTER);
    assert_int_equal(result.restarts, 1);
}

static void guard_pages_end_the_stack(void **state)
{
    (void)state;
    prepare();
    struct unwind_result result;
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
    uint64_t edge = (uint64_t)(uintptr_t)pages + 4096, word;
    assert_true(unwind_readable(edge - 8));
    assert_false(unwind_readable(edge));
    assert_int_equal(space.memory.read_word(space.memory.ctx, edge - 8, &word), 0);
    assert_int_equal(space.memory.read_word(space.memory.ctx, edge - 7, &word), -1);
    assert_int_equal(space.memory.read_word(space.memory.ctx, edge - 1, &word), -1);
    assert_int_equal(space.memory.read_word(space.memory.ctx, UINT64_MAX - 3, &word), -1);
    assert_int_equal(space.memory.read_word(space.memory.ctx, 8, &word), -1);
    volatile uint64_t low = 8;
    assert_int_equal(unwind_read(&space.memory, low, &word), -1);
    /* Checked once; after the reset checked again, so what was unmapped meanwhile is seen. */
    munmap(pages, 8192);
    unwind_pages_reset(space.memory.pages);
    assert_int_equal(unwind_read(&space.memory, edge - 8, &word), -1);
    struct unwind_regs regs = {.pc = (uint64_t)(uintptr_t)level_1, .valid = 1u << 7};
    regs.r[7] = edge - 8;
    assert_int_equal(unwind_stack(&space, &regs, frames, MAX_FRAMES, &result), UNWIND_UNREADABLE);
}

/* --- stack use --- */

static uint64_t stack_used;
static char *painted;
enum { PAINTED = 65536 };

static ucontext_t measured_context, back_context;

static void unwind_on_painted_stack(void)
{
    struct unwind_result result;
    unwind_stack(&space, &caught, frames, MAX_FRAMES, &result);
}

static void measure_stack(void)
{
    static uint64_t base; /* not lost by the way through the contexts */
    for (int pass = 0; pass < 2; pass++) {
        memset(painted, 0x5a, PAINTED);
        getcontext(&measured_context);
        measured_context.uc_stack = (stack_t){.ss_sp = painted, .ss_size = PAINTED};
        measured_context.uc_link = &back_context;
        if (pass == 1) /* all rules from the tables, so that every part runs */
            atomic_fetch_add(&generation, 1);
        makecontext(&measured_context, pass == 0 ? (void (*)(void))getpid : unwind_on_painted_stack,
                    0);
        swapcontext(&back_context, &measured_context);
        uint64_t untouched = 0;
        while (untouched < PAINTED && painted[untouched] == 0x5a)
            untouched++;
        base = pass == 0 ? PAINTED - untouched : base;
        stack_used = PAINTED - untouched - base;
    }
}

static void uses_little_stack(void **state)
{
    (void)state;
    prepare();
    painted = mmap(NULL, PAINTED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    with_stack(measure_stack);
    printf("unwind_stack uses %llu bytes of stack; struct unwind_scratch has %zu\n",
           (unsigned long long)stack_used, sizeof(struct unwind_scratch));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__OPTIMIZE__)
    assert_true(stack_used > 0 && stack_used <= 768);
#endif
    munmap(painted, PAINTED);
}

static void handmade_code(void)
{
    sink++;
}

static void flushed_rules_are_not_found(void **state)
{
    (void)state;
    prepare();
    int why;
    scratch.generation = 0;
    uint64_t pc = (uint64_t)(uintptr_t)handmade_code;
    handmade_code();
    unwind_rule rule = unwind_rule_at(&space, pc, &pc, &why);
    assert_int_equal(rule_kind(rule), RULE_FRAME);
    assert_int_equal(rule_cache_get(&cache, pc, 0), rule);
    assert_int_equal(rule_cache_get(&cache, pc, 1), RULE_NONE);
    assert_int_equal(rule_cache_get(&cache, pc + 1, 0), RULE_NONE);
    /* A pair put together from two entries is not taken for either. */
    struct rule_entry *entry = &entries[rule_slot(&cache, pc)];
    atomic_store(&entry->rule, rule ^ (unwind_rule)1 << RULE_OFFSET_AT);
    assert_int_equal(rule_cache_get(&cache, pc, 0), RULE_NONE);
}

/* --- bench --- */

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { RUNS = 2001 };

static double median_ns(void (*before)(void), uint32_t *depth, uint32_t *checks)
{
    static double times[RUNS];
    struct unwind_result result;
    for (int i = 0; i < RUNS; i++) {
        if (before)
            before();
        scratch.pages.checks = 0;
        uint64_t start = now_ns();
        unwind_stack(&space, &caught, frames, MAX_FRAMES, &result);
        times[i] = (double)(now_ns() - start);
    }
    *depth = result.depth;
    *checks = scratch.pages.checks;
    qsort(times, RUNS, sizeof *times, by_value);
    return times[RUNS / 2];
}

static char *big;
enum { BIG = 8 << 20 };

static void evict_caches(void)
{
    for (size_t i = 0; i < BIG; i += 64)
        big[i]++;
}

static void flush_rules(void)
{
    atomic_fetch_add(&generation, 1);
}

static void bench(void)
{
    uint32_t depth, checks;
    double floor = 0;
    struct unwind_result result;
    unwind_stack(&space, &caught, frames, MAX_FRAMES, &result);
    for (int i = 0; i < 1000; i++) {
        uint64_t start = now_ns();
        double ns = (double)(now_ns() - start);
        floor = i == 0 || ns < floor ? ns : floor;
    }
    double warm = median_ns(NULL, &depth, &checks) - floor;
    printf("stack of %u frames, %u pages checked\n", depth, checks);
    printf("warm                     %7.0f ns a stack, %6.1f ns a frame\n", warm, warm / depth);
    double cold = median_ns(evict_caches, &depth, &checks) - floor;
    printf("cold data caches         %7.0f ns a stack, %6.1f ns a frame\n", cold, cold / depth);
    double missed = median_ns(flush_rules, &depth, &checks) - floor;
    printf("rules from the tables    %7.0f ns a stack, %6.1f ns a rule more\n", missed,
           (missed - warm) / depth);
    uint64_t start = now_ns();
    for (int i = 0; i < 1000; i++)
        sink += unwind_readable(caught.r[7]);
    printf("page check               %7.0f ns\n", (double)(now_ns() - start) / 1000);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        big = calloc(1, BIG);
        prepare();
        with_stack(bench);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_backtrace),
        cmocka_unit_test(too_deep_keeps_the_leaf),
        cmocka_unit_test(damaged_registers_are_harmless),
        cmocka_unit_test(circles_end),
        cmocka_unit_test(unknown_code_is_told_apart),
        cmocka_unit_test(guard_pages_end_the_stack),
        cmocka_unit_test(uses_little_stack),
        cmocka_unit_test(flushed_rules_are_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
