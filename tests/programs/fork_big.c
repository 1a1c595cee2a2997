/* fork_big [MIB] [FORKS] [time]: touches MIB (3072) MiB in small pages, then forks FORKS (5) times.
 *
 * Each fork copies page tables for tens of milliseconds, many periods of a sampling timer. `time` prints the slowest
 * fork in CPU milliseconds on stderr. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

__attribute__((noinline)) pid_t fork_here(void)
{
    pid_t pid = fork();
    __asm__ volatile("");
    return pid;
}

int main(int argc, char **argv)
{
    size_t size = number_argument(argc, argv, 1, 3072) << 20;
    unsigned long forks = number_argument(argc, argv, 2, 5);
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        unprepared("mmap");
    madvise(memory, size, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < size; at += 4096)
        memory[at] = 1;
    uint64_t worst_ns = 0;
    int failed = 0;
    for (unsigned long i = 0; i < forks; i++) {
        uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        pid_t pid = fork_here();
        uint64_t took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
        if (pid < 0)
            unprepared("fork");
        if (!pid)
            _exit(7);
        worst_ns = took > worst_ns ? took : worst_ns;
        int status;
        failed += waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7;
    }
    if (!strcmp(word_argument(argc, argv, 3, ""), "time"))
        fprintf(stderr, "worst_ms=%.1f\n", (double)worst_ns / 1e6);
    printf("forks=%lu failed=%d\n", forks, failed);
    return failed != 0;
}
