/* altstack_small [CASE] [BYTES]: alternate signal stacks and thread stacks of the smallest usual sizes.
 *
 * own     a program's own alternate stack of 8 KiB is set, read back, and used for its SIGSEGV and SIGUSR1 handlers
 * filled  a handler of the program burns on that stack with BYTES (2048) of locals below it
 * tiny    a thread with a stack of 16 KiB burns with BYTES (8192) of locals; `tiny 10240` is the hard one
 * many    64 threads, each with an alternate stack of 8 KiB, burn in turn */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

#define ALT_SIZE 8192

static volatile sig_atomic_t handled;
static sigjmp_buf after_fault;
static size_t local_bytes;

static void on_usr1(int number)
{
    (void)number;
    volatile char *locals = alloca(local_bytes + 1);
    locals[0] = 1;
    locals[local_bytes] = 1;
    spin_ms(60);
    handled += locals[0];
}

static void on_segv(int number)
{
    (void)number;
    handled++;
    siglongjmp(after_fault, 1);
}

static void *set_altstack(void)
{
    void *memory = mmap(NULL, ALT_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = memory, .ss_size = ALT_SIZE};
    if (memory == MAP_FAILED || sigaltstack(&stack, NULL))
        unprepared("sigaltstack");
    return memory;
}

static void install(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(number, &action, NULL);
}

static int is_mine(const void *memory)
{
    stack_t seen;
    sigaltstack(NULL, &seen);
    return seen.ss_sp == memory && seen.ss_size == ALT_SIZE && seen.ss_flags == 0;
}

static int case_own(int argc, char **argv)
{
    local_bytes = number_argument(argc, argv, 2, 256);
    stack_t before, disabled = {.ss_flags = SS_DISABLE}, gone;
    sigaltstack(NULL, &before);
    void *memory = set_altstack();
    install(SIGUSR1, on_usr1);
    install(SIGSEGV, on_segv);
    spin_ms(60);
    int kept = is_mine(memory);
    raise(SIGUSR1);
    static volatile int faults;
    char *volatile nowhere = (char *)8;
    if (!sigsetjmp(after_fault, 1))
        *nowhere = 1;
    else
        faults++;
    spin_ms(30);
    kept += is_mine(memory);
    sigaltstack(&disabled, NULL);
    sigaltstack(NULL, &gone);
    spin_ms(30);
    printf("own: none-before=%d kept=%d handled=%d faults=%d disabled=%d\n",
           before.ss_flags == SS_DISABLE, kept, (int)handled, faults, gone.ss_flags == SS_DISABLE);
    return 0;
}

static int case_filled(int argc, char **argv)
{
    local_bytes = number_argument(argc, argv, 2, 2048);
    set_altstack();
    install(SIGUSR1, on_usr1);
    for (int i = 0; i < 5; i++)
        raise(SIGUSR1);
    printf("filled: handled=%d\n", (int)handled);
    return 0;
}

__attribute__((noinline)) void burn_with_locals(void)
{
    volatile char *locals = alloca(local_bytes);
    for (size_t at = 0; at < local_bytes; at += 64)
        locals[at] = 1;
    spin_ms(200);
    handled += locals[0];
}

static void *tiny_thread(void *unused)
{
    burn_with_locals();
    return unused;
}

static int case_tiny(int argc, char **argv)
{
    pthread_attr_t attributes;
    pthread_t thread;
    local_bytes = number_argument(argc, argv, 2, 8192);
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, 16384) ||
        pthread_create(&thread, &attributes, tiny_thread, NULL))
        unprepared("pthread_create");
    pthread_join(thread, NULL);
    printf("tiny: handled=%d\n", (int)handled);
    return 0;
}

static void *thread_with_altstack(void *kept)
{
    void *memory = set_altstack();
    spin_ms(5);
    *(int *)kept = is_mine(memory);
    stack_t disabled = {.ss_flags = SS_DISABLE};
    sigaltstack(&disabled, NULL);
    munmap(memory, ALT_SIZE); /* as Rust's runtime does when a thread ends */
    spin_ms(1);
    return NULL;
}

static int case_many(int argc, char **argv)
{
    (void)argc, (void)argv;
    pthread_t threads[64];
    int kept[64], sum = 0;
    for (int i = 0; i < 64; i++)
        if (pthread_create(&threads[i], NULL, thread_with_altstack, &kept[i]))
            unprepared("pthread_create");
    for (int i = 0; i < 64; i++) {
        pthread_join(threads[i], NULL);
        sum += kept[i];
    }
    printf("many: kept=%d\n", sum);
    return 0;
}

static const struct spin_case cases[] = {
    {"own", case_own}, {"filled", case_filled}, {"tiny", case_tiny}, {"many", case_many},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    spin_ms(1); /* the loader binds what it calls here: its resolver saves all vector registers, too much for these stacks */
    return run_case(cases, argc, argv, "own");
}
