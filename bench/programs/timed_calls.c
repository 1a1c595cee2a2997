/* timed_calls CALL_US CPU_MS: uses CPU_MS of CPU, half of it in system calls that take about CALL_US each, half in a function of
 * its own, in turns of one call. Lengths vary by a half either way, or a sampler could keep step with them. Prints what both took
 * by its own clock: {"calls": N, "in_call_ns": N, "own_work_ns": N}. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 27, TRIALS = 5 };

static char *buffer;
static int file;

static uint64_t cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Reads a memory file, which no signal cuts short: copying takes time in proportion to the size. */
__attribute__((noinline)) static uint64_t in_call(size_t size)
{
    uint64_t start = cpu_ns();
    if (pread(file, buffer, size, 0) != (ssize_t)size) {
        perror("pread");
        exit(1);
    }
    return cpu_ns() - start;
}

__attribute__((noinline)) static uint64_t own_work(uint64_t ns)
{
    uint64_t start = cpu_ns(), now = start;
    while (now - start < ns) {
        for (int i = 0; i < 1000; i++)
            __asm__ volatile("");
        now = cpu_ns();
    }
    return now - start;
}

/* The size that takes this long; the best of some trials, as other programs only ever slow it down. */
static size_t size_of_call(uint64_t wanted_ns)
{
    size_t size = 4096;
    uint64_t best = 0;
    while (size < BUFFER_BYTES) {
        best = UINT64_MAX;
        for (int i = 0; i < TRIALS; i++) {
            uint64_t ns = in_call(size);
            best = ns < best ? ns : best;
        }
        if (best * 2 > wanted_ns)
            break;
        size *= 2;
    }
    double scaled = (double)size * (double)wanted_ns / (double)(best + 1);
    return scaled > BUFFER_BYTES / 2 ? BUFFER_BYTES / 2 : scaled < 2048 ? 2048 : (size_t)scaled;
}

int main(int argc, char **argv)
{
    double call_us = argc > 1 ? strtod(argv[1], NULL) : 0,
           cpu_ms = argc > 2 ? strtod(argv[2], NULL) : 0;
    if (!(call_us >= 1 && call_us <= 1e5 && cpu_ms >= 1 && cpu_ms <= 1e6)) {
        fprintf(stderr, "usage: timed_calls CALL_US CPU_MS\n");
        return 2;
    }
    buffer = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    file = memfd_create("calls", MFD_CLOEXEC);
    if (buffer == MAP_FAILED || file < 0 || write(file, buffer, BUFFER_BYTES) != BUFFER_BYTES) {
        perror("timed_calls");
        return 1;
    }
    size_t size = size_of_call((uint64_t)(call_us * 1000));
    uint64_t in = 0, own = 0, calls = 0;
    uint32_t random = 1;
    for (uint64_t end = cpu_ns() + (uint64_t)(cpu_ms * 1e6); cpu_ns() < end; calls++) {
        random = random * 1664525u + 1013904223u;
        in += in_call(size / 2 + size / 1024 * (random >> 22)); /* the top ten bits */
        if (own < in) /* own_work overshoots by a little: the sums are kept level, not the turns */
            own += own_work(in - own);
    }
    printf("{\"calls\": %llu, \"in_call_ns\": %llu, \"own_work_ns\": %llu}\n",
           (unsigned long long)calls, (unsigned long long)in, (unsigned long long)own);
    return 0;
}
