/* build: -shared -fPIC */
/* A library with two functions of known names, one below the other; load_library calls `outer`. */
#include "spin.h"

__attribute__((noinline)) void inner(unsigned long ms)
{
    spin_ms(ms);
    __asm__ volatile("");
}

__attribute__((noinline)) void after_inner(void)
{
    __asm__ volatile("nop");
}

__attribute__((visibility("default"))) void outer(unsigned long ms)
{
    inner(ms);
    __asm__ volatile("");
    after_inner();
}
