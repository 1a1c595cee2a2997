/* stack_switch [ROUNDS]: work on stacks that the thread was not born with: two contexts, and a bare switch in assembly. */
#include <sys/mman.h>
#include <ucontext.h>

#include "spin.h"

#define STACK_SIZE 131072

static ucontext_t main_context, first_context, second_context;
static unsigned long rounds;
static volatile unsigned long turns;

__attribute__((noinline)) void on_first_stack(void)
{
    spin_ms(2);
    __asm__ volatile("");
}

__attribute__((noinline)) void on_second_stack(void)
{
    spin_ms(2);
    __asm__ volatile("");
}

__attribute__((noinline)) void on_bare_stack(void)
{
    spin_ms(4);
    turns++;
}

static void first(void)
{
    for (unsigned long i = 0; i < rounds; i++) {
        on_first_stack();
        turns++;
        swapcontext(&first_context, &second_context);
    }
}

static void second(void)
{
    for (unsigned long i = 0; i < rounds; i++) {
        on_second_stack();
        turns++;
        swapcontext(&second_context, &first_context);
    }
}

static void *new_stack(void)
{
    void *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        unprepared("mmap");
    return stack;
}

static void prepare(ucontext_t *context, void (*function)(void))
{
    getcontext(context);
    context->uc_stack.ss_sp = new_stack();
    context->uc_stack.ss_size = STACK_SIZE;
    context->uc_link = &main_context;
    makecontext(context, function, 0);
}

#ifdef __x86_64__
/* call_on(stack top, function): no unwind rules at all; rbx keeps the old stack. */
void call_on(void *top, void (*function)(void));
__asm__(".text\n.globl call_on\n.type call_on, @function\n"
        "call_on:\n\tpush %rbx\n\tmov %rsp, %rbx\n\tmov %rdi, %rsp\n\tcall *%rsi\n\tmov %rbx, "
        "%rsp\n\tpop %rbx\n\tret\n"
        ".size call_on, . - call_on\n");
#else
static void call_on(void *top, void (*function)(void))
{
    (void)top;
    function();
}
#endif

int main(int argc, char **argv)
{
    rounds = number_argument(argc, argv, 1, 30);
    prepare(&first_context, first);
    prepare(&second_context, second);
    swapcontext(&main_context, &first_context);
    char *bare = (char *)new_stack() + STACK_SIZE - 64;
    for (unsigned long i = 0; i < rounds; i++)
        call_on(bare, on_bare_stack);
    printf("turns=%lu\n", turns);
    return 0;
}
