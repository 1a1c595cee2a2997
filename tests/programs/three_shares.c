/* three_shares [MS]: six tenths of MS (1000) in spin_six, three in spin_three, one in spin_one, in turns of 10 ms. */
#include "spin.h"

__attribute__((noinline)) void spin_six(void)
{
    spin_ms(6);
    __asm__ volatile("");
}

__attribute__((noinline)) void spin_three(void)
{
    spin_ms(3);
    __asm__ volatile("");
}

__attribute__((noinline)) void spin_one(void)
{
    spin_ms(1);
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    unsigned long ms = number_argument(argc, argv, 1, 1000);
    for (unsigned long i = 0; i < ms / 10; i++) {
        spin_six();
        spin_three();
        spin_one();
    }
    return 0;
}
