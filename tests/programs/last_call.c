/* build: CC=gcc -falign-functions=1 -fno-toplevel-reorder -fno-reorder-functions */
/* last_call [MS]: last_call ends in a call that never returns, and the function `neighbour` begins right behind it.
 *
 * The return address on the stack belongs to neighbour; the frame belongs to last_call. */
#include <unistd.h>

#include "spin.h"

static uint64_t ms;

__attribute__((noinline, noreturn)) void spin_forever(void)
{
    spin_ms(ms);
    printf("done\n");
    fflush(stdout);
    _exit(0);
}

__attribute__((noinline, noreturn)) void last_call(void)
{
    __asm__ volatile("");
    spin_forever();
}

__attribute__((noinline)) int neighbour(int value)
{
    __asm__ volatile("");
    return value + 1;
}

int main(int argc, char **argv)
{
    ms = number_argument(argc, argv, 1, 300);
    if (neighbour(argc) > 1000)
        return 1;
    last_call();
}
