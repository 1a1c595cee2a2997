/* first_instruction [MS]: a fault in the very first instruction of `k`, which calls_k called; its handler burns MS (300).
 *
 * The stack is handler, signal trampoline, k, calls_k, main: k's address is exact and must not be looked up as if it
 * were behind a call, or the function before it gets the name. */
#include <signal.h>
#include <ucontext.h>

#include "spin.h"

static uint64_t ms;
static volatile int handled;

#ifdef __x86_64__
__asm__(
    ".text\n.p2align 4\n.globl before_k\n.type before_k, "
    "@function\nbefore_k:\n\t.cfi_startproc\n\tret\n\t.cfi_endproc\n.size before_k, . - before_k\n"
    ".globl k\n.type k, @function\nk:\n\t.cfi_startproc\n\tud2\n\tret\n\t.cfi_endproc\n.size k, . "
    "- k\n");
#define SKIP(context) ((context)->uc_mcontext.gregs[REG_RIP] += 2)
#elif defined __aarch64__
__asm__(".text\n.globl k\n.type k, %function\nk:\n\t.cfi_startproc\n\tudf "
        "#0\n\tret\n\t.cfi_endproc\n.size k, . - k\n");
#define SKIP(context) ((context)->uc_mcontext.pc += 4)
#endif
void k(void);

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    spin_ms(ms);
    handled++;
    SKIP((ucontext_t *)context);
}

__attribute__((noinline)) void calls_k(void)
{
    k();
    handled += 10;
}

int main(int argc, char **argv)
{
    ms = number_argument(argc, argv, 1, 300);
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, NULL);
    calls_k();
    printf("handled=%d\n", handled);
    return 0;
}
