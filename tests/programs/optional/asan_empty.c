/* by hand: gcc -g -fsanitize=address SOURCE -o OUTPUT */
/* Prints one line; its sanitizer refuses to start under a foreign preload. */
#include <stdio.h>

int main(void)
{
    puts("asan: alive");
    return 0;
}
