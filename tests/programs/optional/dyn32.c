/* by hand: gcc -m32 -O2 -g SOURCE -o OUTPUT */
/* A 32-bit program: a preloaded 64-bit library makes its loader complain on standard error. */
#include <stdio.h>

int main(void)
{
    volatile unsigned long sum = 0;
    for (unsigned long i = 0; i < 50000000; i++)
        sum += i;
    printf("dyn32: %lu\n", sum);
    return 0;
}
