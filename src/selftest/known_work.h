/* Work whose CPU time is measured where it is done: what the programs of `lamella selftest` consist of. They stand alone and
 * are recorded like anybody's program.
 *
 * What a program knows about itself goes into a file, one line a fact, read by the command:
 *
 *     function NAME NS      CPU time used in a function (and in what it calls)
 *     thread TID NS         CPU time used by a thread in its function
 *     process PID NS        likewise, of a process
 *     wait KIND NS          how long a call blocked, measured outside it
 *     wrong WHAT COUNT      how often the program saw something that it would not have seen without a sampler */
#ifndef LAMELLA_SELFTEST_KNOWN_WORK_H
#define LAMELLA_SELFTEST_KNOWN_WORK_H

#include <stdint.h>
#include <time.h>

/* A function that stays one function. */
#if defined(__clang__) /* makes no clones */
#define KEPT_WHOLE __attribute__((noinline))
#else
#define KEPT_WHOLE __attribute__((noinline, noclone))
#endif

/* A function whose name the recording must show: exported, so that it is found in a stripped program. */
#define KNOWN_FUNCTION KEPT_WHOLE __attribute__((visibility("default")))

/* After a call that ends a function: with a jump in its place the caller would not be on the stack. */
#define NO_TAIL_CALL() __asm__ volatile("")

uint64_t known_clock_ns(clockid_t clock);

static inline uint64_t known_cpu_ns(void)
{
    return known_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* CPU time in the function that asks for it. Looks at the clock about every 20 microseconds. */
__attribute__((always_inline)) static inline void known_spin(uint64_t ns)
{
    uint64_t end = known_cpu_ns() + ns;
    do {
        for (int i = 0; i < 30000; i++)
            __asm__ volatile("");
    } while (known_cpu_ns() < end);
}

/* Lengths between half and one and a half of the mean, the same in each run: a sampler must not be able to keep step. */
uint64_t known_length(uint64_t mean_ns);

/* A fact, in one write that no other process can cut in two. */
void known_fact(const char *kind, const char *name, uint64_t value);
void known_fact_id(const char *kind, long id, uint64_t value);

__attribute__((noreturn)) void known_fail(const char *what);

/* What the command asked for. */
struct known_request {
    const char *facts;  /* path of the file */
    uint64_t slice_ns;  /* mean length of a piece of work */
    uint64_t amount_ns; /* of work in all; what it means is each program's business */
};
extern struct known_request known_request;

int work_shares(void);
int work_threads(void);
int work_system_calls(void);
int work_short_processes(void);
int work_short_child(long number);
int work_forks(void);
int work_recursion(void);
int work_thief(void);
int work_waits(void);
int work_warm(void);
int work_cold(void);

#endif
