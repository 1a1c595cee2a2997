/* syscall_half [ROUNDS] [zero|memory] [truth]: half of the CPU in read(), half in a function of its own.
 *
 * in_read makes one system call of 1.5 to 4.5 ms of CPU (not always the same, or a sampler that goes by the kernel's tick
 * keeps step with it); own_work then uses exactly as much as that took. `memory` (the
 * standard) reads a memory file, which no signal cuts short; `zero` reads /dev/zero, where a pending signal does:
 * `short` counts that. `truth` prints the CPU nanoseconds of both on stderr. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

static char *buffer;
static int file;
static int is_zero;
static unsigned long short_reads;

__attribute__((noinline)) uint64_t in_read(size_t size)
{
    uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (size_t have = 0; have < size;) {
        ssize_t got = is_zero ? read(file, buffer + have, size - have)
                              : pread(file, buffer + have, size - have, (off_t)have);
        if (got <= 0)
            unprepared("read");
        have += (size_t)got;
        short_reads += have < size;
    }
    return clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

__attribute__((noinline)) uint64_t own_work(uint64_t ns)
{
    uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    spin_ns(ns);
    return clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

static size_t size_for_ns(size_t limit, uint64_t wanted_ns)
{
    in_read(limit / 8);
    uint64_t ns = in_read(limit / 8);
    uint64_t size = wanted_ns * (limit / 8) / (ns + 1);
    return size > limit ? limit : size < 65536 ? 65536 : (size_t)size;
}

int main(int argc, char **argv)
{
    unsigned long rounds = number_argument(argc, argv, 1, 100);
    is_zero = !strcmp(word_argument(argc, argv, 2, "memory"), "zero");
    size_t limit = (size_t)128 << 20;
    buffer =
        mmap(NULL, limit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    file = is_zero ? open("/dev/zero", O_RDONLY | O_CLOEXEC) : memfd_create("halves", MFD_CLOEXEC);
    if (buffer == MAP_FAILED || file < 0)
        unprepared("syscall_half");
    if (!is_zero && write(file, buffer, limit) != (ssize_t)limit)
        unprepared("write");
    size_t size = size_for_ns(limit, 3000000);
    uint64_t own = 0;
    uint64_t in = 0;
    short_reads = 0;
    uint32_t random = 1;
    for (unsigned long i = 0; i < rounds; i++) {
        random = random * 1664525u + 1013904223u;
        in += in_read(size / 2 + size / 1000 * (random >> 22)); /* the top ten bits: up to 1.02 */
        while (own < in) /* own_work overshoots by a little: the sums are kept level, not the rounds */
            own += own_work(in - own);
    }
    if (!strcmp(word_argument(argc, argv, 3, ""), "truth"))
        fprintf(stderr, "own_work=%llu in_read=%llu\n", (unsigned long long)own,
                (unsigned long long)in);
    printf("rounds=%lu short=%lu\n", rounds, short_reads);
    return 0;
}
