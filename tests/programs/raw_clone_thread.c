/* raw_clone_thread [shared|own]: a thread that libc does not know of, made by the bare system call.
 *
 * shared  it has the thread-local storage of its maker
 * own     it has a zeroed block of its own with nothing of libc's in it
 * The thread calls no library function: it counts, then ends by the bare system call. */
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

#define STACK_SIZE 262144
#define THREAD_FLAGS                                                                    \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | \
     CLONE_CHILD_CLEARTID)

static volatile int alive = 1;
static volatile unsigned long steps;

#ifdef __x86_64__
/* Both sides of the call return here; the new one lands on another stack, so it must not use this frame. */
__attribute__((noinline, noreturn)) void raw_thread(void)
{
    for (long i = 0; i < 300000000; i++) {
        __asm__ volatile("");
        steps++;
    }
    for (;;)
        __asm__ volatile("syscall" ::"a"(SYS_exit), "D"(0) : "rcx", "r11", "memory");
}

static long start(long flags, void *top, void *storage)
{
    long pid;
    register void *cleared __asm__("r10") = (void *)&alive;
    register void *tls __asm__("r8") = storage;
    __asm__ volatile(
        "syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\txor %%ebp, %%ebp\n\tcall raw_thread\n1:"
        : "=a"(pid)
        : "a"(SYS_clone), "D"(flags), "S"(top), "d"(NULL), "r"(cleared), "r"(tls)
        : "rcx", "r11", "memory");
    return pid;
}
#endif

int main(int argc, char **argv)
{
#ifdef __x86_64__
    int is_own = !strcmp(word_argument(argc, argv, 1, "shared"), "own");
    char *memory =
        mmap(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        unprepared("mmap");
    void **storage = (void **)(memory + STACK_SIZE + STACK_SIZE / 2);
    storage[0] = storage; /* the ABI: the word at fs:0 is its own address */
    long pid = start(THREAD_FLAGS | (is_own ? CLONE_SETTLS : 0), memory + STACK_SIZE - 16, storage);
    if (pid < 0)
        unprepared("clone");
    spin_ms(50);
    while (alive)
        syscall(SYS_futex, &alive, FUTEX_WAIT, 1, NULL, NULL, 0);
    printf("steps=%lu\n", steps);
    return 0;
#else
    (void)argc, (void)argv, (void)alive, (void)steps;
    return EXIT_UNPREPARED;
#endif
}
