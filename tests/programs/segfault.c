/* segfault CASE: faults, handled by the program or deadly.
 *
 * handled   200 faults whose handler jumps out, with work between (the standard)
 * repaired  200 faults whose handler makes the page readable and returns
 * bus       a SIGBUS in a mapped file that was cut short, handled
 * overflow  the stack runs out; a handler on an alternate stack ends with 9
 * default, default_bus, divide, illegal   nobody handles it: SIGSEGV, SIGBUS, SIGFPE, SIGILL */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

static sigjmp_buf resume;
static volatile int faults;
static char *page;

static void jump_out(int number)
{
    (void)number;
    faults++;
    siglongjmp(resume, 1);
}

static void repair(int number)
{
    (void)number;
    faults++;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void end_with_nine(int number)
{
    (void)number;
    _exit(9);
}

static void protect_page(void)
{
    if (!page)
        page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mprotect(page, 4096, PROT_NONE))
        unprepared("mprotect");
}

static int case_handled(int argc, char **argv)
{
    (void)argc, (void)argv;
    static volatile int round;
    signal(SIGSEGV, jump_out);
    protect_page();
    for (round = 0; round < 200; round++) {
        spin_ns(300000);
        if (!sigsetjmp(resume, 1))
            page[round] = 1;
    }
    printf("handled: faults=%d\n", faults);
    return 0;
}

static int case_repaired(int argc, char **argv)
{
    (void)argc, (void)argv;
    signal(SIGSEGV, repair);
    for (int round = 0; round < 200; round++) {
        protect_page();
        spin_ns(300000);
        *(volatile char *)page = 1;
    }
    printf("repaired: faults=%d\n", faults);
    return 0;
}

static char *short_file(void)
{
    int file = memfd_create("short", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, 8192))
        unprepared("memfd_create");
    char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED || ftruncate(file, 0))
        unprepared("mmap");
    close(file);
    return memory;
}

static int case_bus(int argc, char **argv)
{
    (void)argc, (void)argv;
    static volatile int round;
    static char *memory;
    memory = short_file();
    signal(SIGBUS, jump_out);
    for (round = 0; round < 50; round++) {
        spin_ns(300000);
        if (!sigsetjmp(resume, 1))
            *(volatile char *)memory = 1;
    }
    printf("bus: faults=%d\n", faults);
    return 0;
}

__attribute__((noinline)) int fall(int depth)
{
    volatile char room[4096];
    room[0] = (char)depth;
    if (depth % 64 == 0)
        spin_ns(100000);
    return faults ? 0 : fall(depth + 1) + room[0];
}

static int case_overflow(int argc, char **argv)
{
    (void)argc, (void)argv;
    static char alternate[65536];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct sigaction action = {.sa_handler = end_with_nine, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    return fall(1);
}

static int case_default(int argc, char **argv)
{
    (void)argc, (void)argv;
    protect_page();
    spin_ms(30);
    *(volatile char *)page = 1;
    return 1;
}

static int case_default_bus(int argc, char **argv)
{
    (void)argc, (void)argv;
    char *memory = short_file();
    spin_ms(30);
    *(volatile char *)memory = 1;
    return 1;
}

static int case_divide(int argc, char **argv)
{
    (void)argv;
    spin_ms(30);
    raise(SIGFPE);
    return argc;
}

static int case_illegal(int argc, char **argv)
{
    (void)argc, (void)argv;
    spin_ms(30);
    __builtin_trap();
}

static const struct spin_case cases[] = {
    {"handled", case_handled},   {"repaired", case_repaired}, {"bus", case_bus},
    {"overflow", case_overflow}, {"default", case_default},   {"default_bus", case_default_bus},
    {"divide", case_divide},     {"illegal", case_illegal},   {NULL, NULL},
};

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv, "handled");
}
