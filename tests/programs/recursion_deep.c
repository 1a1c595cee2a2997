/* recursion_deep [DEPTH] [MS]: burns MS (200) below DEPTH (5000) frames of one function. */
#include <sys/resource.h>
#include <unistd.h>

#include "spin.h"

static uint64_t ms;

__attribute__((noinline)) unsigned long go_down(unsigned long depth)
{
    volatile unsigned long kept = depth;
    if (!depth) {
        spin_ms(ms);
        return 1;
    }
    unsigned long below = go_down(depth - 1);
    return below + (kept & 1);
}

int main(int argc, char **argv)
{
    unsigned long depth = number_argument(argc, argv, 1, 5000);
    ms = number_argument(argc, argv, 2, 200);
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    if (limit.rlim_cur != RLIM_INFINITY && depth * 64 > limit.rlim_cur) {
        limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || depth * 80 < limit.rlim_max
                             ? depth * 80
                             : limit.rlim_max;
        if (setrlimit(RLIMIT_STACK, &limit) || argc > 3)
            unprepared("setrlimit");
        execv("/proc/self/exe",
              (char *[]){argv[0], argv[1], argc > 2 ? argv[2] : "200", "again", NULL});
        unprepared("execv");
    }
    printf("depth=%lu sum=%lu\n", depth, go_down(depth));
    return 0;
}
