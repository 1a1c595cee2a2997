/* Functions with fixed shares of the CPU time, in one thread, in several, and with half of it in system calls. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "selftest/known_work.h"

KNOWN_FUNCTION void st_share_10(uint64_t ns)
{
    known_spin(ns);
}

KNOWN_FUNCTION void st_share_20(uint64_t ns)
{
    known_spin(ns);
}

KNOWN_FUNCTION void st_share_30(uint64_t ns)
{
    known_spin(ns);
}

KNOWN_FUNCTION void st_share_40(uint64_t ns)
{
    known_spin(ns);
}

/* Each turn gives a slice to one of the four, whoever is furthest behind its share. */
int work_shares(void)
{
    struct {
        const char *name;
        void (*run)(uint64_t ns);
        uint64_t share, used;
    } all[] = {{"st_share_10", st_share_10, 10, 0},
               {"st_share_20", st_share_20, 20, 0},
               {"st_share_30", st_share_30, 30, 0},
               {"st_share_40", st_share_40, 40, 0}};
    for (uint64_t total = 0; total < known_request.amount_ns;) {
        unsigned next = 0;
        for (unsigned i = 1; i < 4; i++)
            if (all[i].used * all[next].share < all[next].used * all[i].share)
                next = i;
        uint64_t start = known_cpu_ns();
        all[next].run(known_length(known_request.slice_ns));
        uint64_t took = known_cpu_ns() - start;
        all[next].used += took;
        total += took;
    }
    for (unsigned i = 0; i < 4; i++)
        known_fact("function", all[i].name, all[i].used);
    return 0;
}

/* ---- threads ---- */

KNOWN_FUNCTION void st_thread_work(uint64_t ns)
{
    known_spin(ns);
}

static void *thread_main(void *amount)
{
    uint64_t start = known_cpu_ns();
    st_thread_work(*(uint64_t *)amount);
    known_fact_id("thread", syscall(SYS_gettid), known_cpu_ns() - start);
    return NULL;
}

int work_threads(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    uint64_t amounts[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        amounts[i] = known_request.amount_ns * (i + 1) / 10;
        errno = pthread_create(&threads[i], NULL, thread_main, &amounts[i]);
        if (errno)
            known_fail("thread");
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* ---- system calls ---- */

static char *buffer;
static int file;

/* One system call. A memory file is never cut short by a signal. */
KNOWN_FUNCTION uint64_t st_in_system_calls(size_t size)
{
    uint64_t start = known_cpu_ns();
    if (pread(file, buffer, size, 0) != (ssize_t)size)
        known_fail("read");
    return known_cpu_ns() - start;
}

KNOWN_FUNCTION uint64_t st_in_own_code(uint64_t ns)
{
    uint64_t start = known_cpu_ns();
    known_spin(ns);
    return known_cpu_ns() - start;
}

int work_system_calls(void)
{
    size_t limit = (size_t)64 << 20;
    buffer =
        mmap(NULL, limit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    file = memfd_create("halves", MFD_CLOEXEC);
    if (buffer == MAP_FAILED || file < 0 || write(file, buffer, limit) != (ssize_t)limit)
        known_fail("memory file");
    uint64_t probe_ns = st_in_system_calls(limit / 8) +
                        1; /* its share of both sums is kept: it counts like any other */
    uint64_t own = 0, inside = probe_ns - 1;
    while (own + inside < known_request.amount_ns) {
        uint64_t size = known_length(known_request.slice_ns) * (limit / 8) / probe_ns;
        inside += st_in_system_calls(size > limit ? limit : size < 4096 ? 4096 : (size_t)size);
        if (own < inside)
            own += st_in_own_code(inside - own); /* overshoots by a little, which the next round sees */
    }
    known_fact("function", "st_in_system_calls", inside);
    known_fact("function", "st_in_own_code", own);
    return 0;
}
