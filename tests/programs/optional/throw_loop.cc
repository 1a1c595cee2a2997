// by hand: g++ -O2 -g SOURCE -o OUTPUT
// Exceptions through 20 frames for a second of CPU: the unwinder of the language runs all the time.
#include <cstdio>
#include <ctime>

__attribute__((noinline)) static int fall(int depth)
{
    if (depth == 0)
        throw depth;
    volatile int kept = depth;
    return fall(depth - 1) + kept;
}

static long cpu_ms()
{
    timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int main()
{
    long caught = 0;
    long thrown = 0;
    while (cpu_ms() < 1000) {
        for (int i = 0; i < 100; i++) {
            try {
                thrown++;
                fall(20);
            } catch (int) {
                caught++;
            }
        }
    }
    std::printf("throw: lost=%ld\n", thrown - caught);
    return caught == thrown ? 0 : 1;
}
