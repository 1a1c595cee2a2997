/* ctest: TIMEOUT 600 RUN_SERIAL ON */
/* Unwinds at every single instruction of many kinds of code: the processor's trap flag raises SIGTRAP after each, and the
 * handler compares the stack with the one that libc's backtrace() saw from the caller beforehand. x86-64 only. */
#include "unwind/find_object.h"
#include "unwind/unwind.h"

#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

void trap_on(void);
void trap_off(void);
void call_on_stack(void (*function)(void), void *top);
void faults_at_once(void);
void calls_faults(void);
void last_call(void (*function)(void));
void neighbour(void);
void no_rules(void);
void no_rules_stub(void);
void wrong_rules(void);
extern const char faults_end[], calls_faults_end[], last_call_end[], neighbour_end[];

/* Each has exact unwind rules, unlike flag changes in inline assembly. last_call ends in a call, and neighbour follows it
 * at once. */
__asm__(
    ".text\n"
    ".macro function name\n .globl \\name\n .type \\name, @function\n\\name:\n .cfi_startproc\n "
    ".endm\n"
    "function trap_on\n"
    " pushfq\n .cfi_adjust_cfa_offset 8\n orq $0x100, (%rsp)\n"
    " popfq\n .cfi_adjust_cfa_offset -8\n ret\n .cfi_endproc\n"
    "function trap_off\n"
    " pushfq\n .cfi_adjust_cfa_offset 8\n andq $~0x100, (%rsp)\n"
    " popfq\n .cfi_adjust_cfa_offset -8\n ret\n .cfi_endproc\n"
    "function call_on_stack\n"
    " push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset rbp, -16\n"
    " mov %rsp, %rbp\n .cfi_def_cfa_register rbp\n"
    " mov %rsi, %rsp\n call *%rdi\n"
    " leave\n .cfi_def_cfa rsp, 8\n .cfi_restore rbp\n ret\n .cfi_endproc\n"
    "function faults_at_once\n ud2\n ret\n .globl faults_end\nfaults_end:\n .cfi_endproc\n"
    "function calls_faults\n sub $8, %rsp\n .cfi_def_cfa_offset 16\n call faults_at_once\n"
    " add $8, %rsp\n .cfi_def_cfa_offset 8\n ret\n .globl calls_faults_end\ncalls_faults_end:\n "
    ".cfi_endproc\n"
    "function last_call\n push %rbx\n .cfi_def_cfa_offset 16\n .cfi_offset rbx, -16\n call *%rdi\n"
    " .globl last_call_end\nlast_call_end:\n .cfi_endproc\n"
    "function neighbour\n ret\n .globl neighbour_end\nneighbour_end:\n .cfi_endproc\n"
    /* Without any rule: a routine like the hash functions in LLVM, and a PLT stub as a linker without rules makes. */
    " .p2align 4\n .globl no_rules\n .type no_rules, @function\nno_rules:\n"
    " push %r15\n push %r14\n push %r13\n push %r12\n push %rbx\n push %rbp\n mov %rsp, %rbp\n"
    " sub $160, %rsp\n and $-64, %rsp\n movl $20, %ecx\n"
    "1: mov %rcx, (%rsp)\n lea 1b(%rip), %rax\n mov %rax, 8(%rsp)\n dec %ecx\n jnz 1b\n"
    " mov %rbp, %rsp\n pop %rbp\n pop %rbx\n pop %r12\n pop %r13\n pop %r14\n pop %r15\n ret\n"
    /* With a rule that leads nowhere, as LLVM makes where a function is left early. */
    "function wrong_rules\n .cfi_def_cfa_offset 0x4000000\n jmp 2f\n nop\n2: ret\n .cfi_endproc\n"
    " .globl no_rules_stub\n .type no_rules_stub, @function\nno_rules_stub:\n"
    " jmp *no_rules_target(%rip)\n"
    " .data\nno_rules_target: .quad trap_on\n .text\n");

enum {
    MAX_FRAMES = 256,
    MAX_OUTER = 64,
    CACHE_BITS = 10,
#ifdef __SANITIZE_ADDRESS__
    BLOCK = 4000, /* it paints every byte that is allocated, an instruction at a time */
#else
    BLOCK = 300000,
#endif
};

struct range {
    uint64_t begin, end;
};

struct tracer {
    struct unwind_scratch scratch;
    struct unwind_space space; /* with the cache; switched between the two finders */
    uint64_t frames[MAX_FRAMES], plain[MAX_FRAMES];
    uint64_t outer[MAX_OUTER];
    uint32_t outer_count;
    /* Seen. */
    uint64_t steps, in_loader, in_vdso, in_must, calls, returns, slow, misses, restarts;
    uint64_t not_root, wrong_outer, not_plain, bad_frames;
    uint64_t first_bad_pc;
    uint32_t first_bad_end;
    bool switched; /* the outer frames are not to be seen: another stack with a root of its own */
    struct range must, never; /* code that some frame must be in at some step, and at no step */
};

static struct tracer *tracer_of_thread[2]; /* the main thread's and one other's */
static _Thread_local struct tracer *tracer;
static struct rule_entry cache_entries[1 << CACHE_BITS] __attribute__((aligned(32)));
static const struct rule_cache cache = {cache_entries, CACHE_BITS};
static _Atomic uint32_t generation;
static struct unwind_finder finder;
static struct unwind_snapshot snapshot;
static struct range loader, vdso;

static bool in_range(const struct range *range, uint64_t pc)
{
    return pc >= range->begin && pc < range->end;
}

static void bad(uint64_t *counter, const struct unwind_regs *regs, enum unwind_end end)
{
    if (tracer->first_bad_pc == 0) {
        tracer->first_bad_pc = regs->pc;
        tracer->first_bad_end = end;
    }
    (*counter)++;
}

static void check_plain(const struct unwind_regs *top, uint32_t depth)
{
    struct unwind_result result;
    struct unwind_space plain = tracer->space;
    plain.all_registers = true;
    plain.cache = NULL;
    enum unwind_end end = unwind_stack(&plain, top, tracer->plain, MAX_FRAMES, &result);
    if (end != UNWIND_ROOT || result.depth != depth ||
        memcmp(tracer->plain, tracer->frames, depth * sizeof *tracer->plain) != 0)
        bad(&tracer->not_plain, top, end);
}

static void check_frames(const struct unwind_regs *top, uint32_t depth)
{
    const uint64_t *frames = tracer->frames;
    uint64_t target;
    bool must = false;
    for (uint32_t i = 0; i < depth; i++) {
        must |= in_range(&tracer->must, frames[i]);
        if (in_range(&tracer->never, frames[i]))
            bad(&tracer->bad_frames, top, UNWIND_ROOT);
        tracer->returns += i > 0;
        tracer->calls += i > 0 && unwind_follows_call(&tracer->space, frames[i] + 1, &target);
    }
    tracer->in_must += must;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    struct unwind_result result;
    struct unwind_regs *top = &tracer->scratch.top;
    unwind_regs_from_ucontext(top, context);
    tracer->steps++;
    tracer->in_loader += in_range(&loader, top->pc);
    tracer->in_vdso += in_range(&vdso, top->pc);
    enum unwind_end end = unwind_stack(&tracer->space, top, tracer->frames, MAX_FRAMES, &result);
    tracer->slow += result.slow;
    tracer->misses += result.misses;
    tracer->restarts += result.restarts;
    if (end != UNWIND_ROOT)
        bad(&tracer->not_root, top, end);
    else if (result.depth < tracer->outer_count ||
             memcmp(tracer->frames + result.depth - tracer->outer_count, tracer->outer,
                    tracer->outer_count * sizeof *tracer->outer) != 0)
        tracer->switched ? (void)0 : bad(&tracer->wrong_outer, top, end);
    if (end == UNWIND_ROOT && tracer->steps % 8 == 0)
        check_plain(top, result.depth);
    if (tracer->steps % 16 == 0 || tracer->steps < 4096)
        check_frames(top, result.depth);
}

/* Steps through body. */
static __attribute__((noinline)) void trace(void (*body)(void))
{
    void *addresses[MAX_OUTER];
    int count = backtrace(addresses, MAX_OUTER), first = 0;
    /* What is called from in here moves on; our caller and what is behind it stays. */
    while (first < count && addresses[first] != __builtin_return_address(0))
        first++;
    assert_true(count > first + 1 && count < MAX_OUTER);
    tracer->outer_count = (uint32_t)(count - first);
    for (int i = first; i < count; i++)
        tracer->outer[i - first] = (uint64_t)(uintptr_t)addresses[i] - 1;
    trap_on();
    body();
    trap_off();
}

static struct tracer *tracer_start(void)
{
    struct tracer *t = tracer;
    memset(t, 0, sizeof *t);
    unwind_space_self(&t->space, &t->scratch, unwind_finder_find, &finder);
    t->space.cache = &cache;
    t->space.generation = &generation;
    return t;
}

/* after_calls: the share of frames behind the leaf that must follow a call; lower where signal frames or hand-made roots
 * are among them. */
static void tracer_check(const char *name, uint64_t least_steps, double after_calls)
{
    const struct tracer *t = tracer;
    printf(
        "%-18s %7llu steps: %llu not to the root, %llu wrong callers, %llu unlike the plain "
        "way; loader %llu, vdso %llu, after a call %.3f%%, misses %llu, slow %llu, restarts %llu",
        name, (unsigned long long)t->steps, (unsigned long long)t->not_root,
        (unsigned long long)t->wrong_outer, (unsigned long long)t->not_plain,
        (unsigned long long)t->in_loader, (unsigned long long)t->in_vdso,
        t->returns ? 100.0 * (double)t->calls / (double)t->returns : 100.0,
        (unsigned long long)t->misses, (unsigned long long)t->slow, (unsigned long long)t->restarts);
    if (t->first_bad_pc)
        printf("; first bad at %llx: %s", (unsigned long long)t->first_bad_pc,
               unwind_end_name(t->first_bad_end));
    printf("\n");
    assert_true(t->steps >= least_steps);
    assert_int_equal(t->not_root, 0);
    assert_int_equal(t->wrong_outer, 0);
    assert_int_equal(t->not_plain, 0);
    assert_int_equal(t->bad_frames, 0);
    assert_true((double)t->calls >= after_calls * (double)t->returns);
}

static void run_body(const char *name, void (*body)(void), uint64_t least_steps, double after_calls)
{
    tracer_start();
    trace(body);
    tracer_check(name, least_steps, after_calls);
    /* The same with our own snapshot of the modules in place of libc's look-up. */
    tracer_start();
    unwind_snapshot_refresh(&snapshot);
    tracer->space.find_module = unwind_snapshot_find;
    tracer->space.module_ctx = &snapshot;
    atomic_fetch_add(&generation, 1);
    trace(body);
    tracer_check("  by snapshot", 1, after_calls);
}

/* --- bodies --- */

static volatile int sink;

static void lazy_plt(void)
{
    sink += gnu_get_libc_version()[0]; /* called nowhere else: bound now */
}

static void calls_through_the_lazy_resolver(void **state)
{
    (void)state;
    tracer_start();
    trace(lazy_plt);
    /* Unless the executable is bound at once; then the next test still goes through PLTs. */
    if (tracer->steps > 200)
        assert_true(tracer->in_loader > 100);
    tracer_check("lazy PLT", 10, 0.999);
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void libc_calls(void)
{
    char text[256];
    int numbers[20];
    for (int i = 0; i < 20; i++)
        numbers[i] = (i * 7919) % 31;
    qsort(numbers, 20, sizeof *numbers, compare);
    snprintf(text, sizeof text, "%d %s %.17g %Lf", numbers[3], "text", 0.1 * numbers[4], 1.5L);
    sink += (int)strtod(text, NULL) + (int)strlen(text);
    char *block = malloc(BLOCK);
    memset(block, numbers[1], 3000);
    memmove(block + 1000, block, 1000);
    block = realloc(block, 2 * BLOCK);
    sink += block[7];
    free(block);
}

static __attribute__((noinline)) int with_alloca(size_t n)
{
    char *bytes = alloca(n);
    memset(bytes, 1, n);
    __asm__ volatile("" : : "r"(bytes) : "memory");
    return bytes[n / 2] + sink;
}

static __attribute__((noinline)) int aligned_frame(int n)
{
    /* The stack pointer is realigned: gcc makes a CFA expression of it. */
    char bytes[100] __attribute__((aligned(64)));
    memset(bytes, n, sizeof bytes);
    char *more = alloca((size_t)n);
    more[0] = bytes[n];
    __asm__ volatile("" : : "r"(bytes), "r"(more) : "memory");
    return with_alloca((size_t)n) + bytes[n] + more[0];
}

static __attribute__((noinline)) int deep(int n)
{
    char pad[40] = {0};
    __asm__ volatile("" : : "r"(pad) : "memory");
    return n == 0 ? aligned_frame(50) : deep(n - 1) + pad[0] * 0 + 1;
}

static void frames_of_all_shapes(void)
{
    sink += with_alloca(100) + aligned_frame(60) + deep(30);
}

static void clocks(void)
{
    struct timespec ts;
    for (int i = 0; i < 3; i++) {
        clock_gettime(CLOCK_MONOTONIC, &ts);
        sink += (int)(ts.tv_nsec & 7);
    }
    sink += (int)(time(NULL) & 7);
}

static void jumps(void)
{
    static jmp_buf buffer;
    if (setjmp(buffer) == 0)
        longjmp(buffer, 1);
}

static void on_user_signal(int signal)
{
    trap_on(); /* the kernel cleared the flag for the handler */
    sink += signal + (int)strlen("some work");
    trap_off();
}

static void raises(void)
{
    raise(SIGUSR1);
    raise(SIGUSR1);
}

static void code_with_wrong_rules(void)
{
    wrong_rules();
    sink++;
}

static void code_without_rules(void)
{
    no_rules();
    no_rules_stub();
    no_rules();
}

/* Code made at run time: in no module, with frame pointers. One function calls another, which calls back into ours. */
static void (*made_at_run_time)(void);

static void called_back(void)
{
    sink += (int)strlen("called back");
}

static void make_code(void)
{
    static const uint8_t code[] = {
        0x55, 0x48, 0x89, 0xe5,                   /* push %rbp; mov %rsp, %rbp */
        0xe8, 0x02, 0,    0,    0,                /* call inner */
        0x5d, 0xc3,                               /* pop %rbp; ret */
        0x55, 0x48, 0x89, 0xe5,                   /* inner: push %rbp; mov %rsp, %rbp */
        0x48, 0x83, 0xec, 0x20,                   /* sub $32, %rsp */
        0x48, 0xb8, 0,    0,    0, 0, 0, 0, 0, 0, /* movabs called_back, %rax */
        0xff, 0xd0, 0xc9, 0xc3,                   /* call *%rax; leave; ret */
    };
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    uint64_t target = (uint64_t)(uintptr_t)called_back;
    memcpy(page + 64, code, sizeof code);
    memcpy(page + 64 + 21, &target, 8);
    assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    made_at_run_time = (void (*)(void))(uintptr_t)(page + 64);
}

static void runs_made_code(void)
{
    made_at_run_time();
    sink++;
}

static void on_other_stack(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    call_on_stack(libc_calls, stack + sizeof stack);
}

static void loads(void)
{
    void *library = dlopen("libBrokenLocale.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library) {
        sink += dlsym(library, "__ctype_get_mb_cur_max") != NULL;
        dlclose(library);
    }
}

#if defined(__SANITIZE_ADDRESS__)
enum { IS_ADDRESS_SANITIZED = 1 };
#else
enum { IS_ADDRESS_SANITIZED = 0 };
#endif

static void every_instruction_reaches_the_root(void **state)
{
    (void)state;
    run_body("libc", libc_calls, 5000, 0.999);
    run_body("frames", frames_of_all_shapes, 400, 0.999);
    run_body("jumps", jumps, 40, 0.999);
    run_body("signal frames", raises, 100, 0.95);
    run_body("stack switch", on_other_stack, 5000, 0.999);
    run_body("no rules", code_without_rules, 200, 0.999);
    run_body("wrong rules", code_with_wrong_rules, 5, 0.999);
    /* The sanitizer's frames hold words that the guess for such code takes for frame pointers. */
    if (!IS_ADDRESS_SANITIZED) {
        make_code();
        run_body("run-time code", runs_made_code, 20, 0.999);
    }
    run_body("dlopen", loads, 1000, 0.999);
}

static void vdso_is_covered(void **state)
{
    (void)state;
    tracer_start();
    trace(clocks);
    tracer_check("vdso", 30, 0.999);
    assert_true(vdso.begin == 0 || tracer->in_vdso > 30);
}

static ucontext_t main_context, other_context;

/* __start_context has rules that are wrong once it runs, so the steps end before we return to it. */
static void in_context(void)
{
    libc_calls();
    trap_off();
}

static void switches_context(void)
{
    tracer->switched = true;
    swapcontext(&main_context, &other_context);
}

static void contexts_have_their_own_root(void **state)
{
    (void)state;
    static char stack[65536];
    tracer_start();
    getcontext(&other_context);
    other_context.uc_stack = (stack_t){.ss_sp = stack, .ss_size = sizeof stack};
    other_context.uc_link = &main_context;
    makecontext(&other_context, in_context, 0);
    tracer->must =
        (struct range){(uint64_t)(uintptr_t)in_context, (uint64_t)(uintptr_t)in_context + 8};
    trace(switches_context);
    tracer_check("makecontext", 1000, 0.85);
}

/* Row 13b: a fault on a function's first instruction is in that function and not in the one before it. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    ucontext_t *uc = context;
    trap_on();
    sink += (int)strlen("more work");
    trap_off();
    uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static void first_instruction_faults(void **state)
{
    (void)state;
    /* Here and not in set_up(): the test runner has handlers of its own during each test. */
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, before;
    sigaction(SIGILL, &action, &before);
    tracer_start();
    tracer->must =
        (struct range){(uint64_t)(uintptr_t)faults_at_once, (uint64_t)(uintptr_t)faults_at_once + 1};
    tracer->never =
        (struct range){(uint64_t)(uintptr_t)call_on_stack, (uint64_t)(uintptr_t)faults_at_once};
    trace(calls_faults);
    sigaction(SIGILL, &before, NULL);
    tracer_check("first instruction", 15, 0.9);
    assert_true(tracer->in_must > 5);
}

/* Row 13a: the return address of a final call lies in the next function; the frame is the caller's. */
static jmp_buf out_of_last_call;

static void leaves(void)
{
    sink += (int)strlen("never returns");
    longjmp(out_of_last_call, 1);
}

static void calls_last(void)
{
    if (setjmp(out_of_last_call) == 0)
        last_call(leaves);
}

static void final_call_is_its_callers(void **state)
{
    (void)state;
    assert_ptr_equal(last_call_end, neighbour);
    tracer_start();
    tracer->must = (struct range){(uint64_t)(uintptr_t)last_call, (uint64_t)(uintptr_t)last_call_end};
    tracer->never =
        (struct range){(uint64_t)(uintptr_t)neighbour, (uint64_t)(uintptr_t)neighbour_end};
    trace(calls_last);
    tracer_check("final call", 20, 0.999);
    assert_true(tracer->in_must > 10);
}

static void thread_body(void)
{
    libc_calls();
    frames_of_all_shapes();
}

static void *thread_main(void *arg)
{
    tracer = arg;
    tracer_start();
    trace(thread_body);
    tracer_check("thread", 5000, 0.999);
    return NULL;
}

static void on_exit_of_thread(void *arg)
{
    (void)arg;
    trap_off(); /* the last of a thread runs with all signals blocked, and a blocked trap kills */
}

static void exits_thread(void)
{
    pthread_cleanup_push(on_exit_of_thread, NULL);
    pthread_exit(NULL);
    pthread_cleanup_pop(0);
}

/* pthread_exit() unwinds the stack itself, by libgcc, which it loads: the hardest that C has to offer. */
static void *exiting_thread_main(void *arg)
{
    tracer = arg;
    tracer_start();
    /* The stack gets shorter while it unwinds; the root stays. */
    tracer->switched = true;
    trace(exits_thread);
    return NULL;
}

static void threads_have_a_root(void **state)
{
    (void)state;
    pthread_t thread;
    struct tracer *mine = tracer;
    tracer_start();
    assert_int_equal(pthread_create(&thread, NULL, thread_main, tracer_of_thread[1]), 0);
    pthread_join(thread, NULL);
    assert_int_equal(pthread_create(&thread, NULL, exiting_thread_main, tracer_of_thread[1]), 0);
    pthread_join(thread, NULL);
    tracer = tracer_of_thread[1];
    tracer_check("pthread_exit", 1000, 0.999);
    tracer = mine;
}

/* --- set-up --- */

static void find_ranges(void)
{
    struct unwind_module module;
    uint64_t base = getauxval(AT_BASE);
    if (unwind_finder_find(&finder, base, &module) == 0)
        loader = (struct range){module.start, module.end};
    base = getauxval(AT_SYSINFO_EHDR);
    if (base && unwind_finder_find(&finder, base, &module) == 0)
        vdso = (struct range){module.start, module.end};
}

static int set_up(void **state)
{
    (void)state;
    void *memory = calloc(1, unwind_snapshot_bytes(64));
    unwind_snapshot_init(&snapshot, memory, 64);
    unwind_snapshot_refresh(&snapshot);
    unwind_finder_init(&finder, &snapshot);
    find_ranges();
    tracer_of_thread[0] = calloc(2, sizeof **tracer_of_thread);
    tracer_of_thread[1] = tracer_of_thread[0] + 1;
    tracer = tracer_of_thread[0];
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    return sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_user_signal}, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    free(tracer_of_thread[0]);
    free(snapshot.tables[0]);
    return 0;
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
    return 77; /* a single step then takes hundreds, and there is nothing between threads to see */
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_through_the_lazy_resolver),
        cmocka_unit_test(every_instruction_reaches_the_root),
        cmocka_unit_test(vdso_is_covered),
        cmocka_unit_test(contexts_have_their_own_root),
        cmocka_unit_test(first_instruction_faults),
        cmocka_unit_test(final_call_is_its_callers),
        cmocka_unit_test(threads_have_a_root),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
