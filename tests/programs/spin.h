/* spin.h: CPU time that is used up in the very function that asks for it, for programs whose shares are known. */
#ifndef LAMELLA_TESTS_SPIN_H
#define LAMELLA_TESTS_SPIN_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A program that could not set its situation up ends with this code: the test then fails or skips, it never passes. */
#define EXIT_UNPREPARED 99

__attribute__((unused)) static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Always inlined, so that the caller's name is on the samples. Asks the clock about every 30 microseconds. */
__attribute__((always_inline, unused)) static inline void spin_ns(uint64_t ns)
{
    uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
    do {
        for (int i = 0; i < 50000; i++)
            __asm__ volatile("");
    } while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end);
}

__attribute__((always_inline, unused)) static inline void spin_ms(uint64_t ms)
{
    spin_ns(ms * 1000000u);
}

__attribute__((noreturn, unused)) static void unprepared(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(EXIT_UNPREPARED);
}

/* argv[at] as a number, or `standard` when there are not that many arguments. */
__attribute__((unused)) static unsigned long number_argument(int argc, char **argv, int at,
                                                             unsigned long standard)
{
    if (at >= argc)
        return standard;
    char *end;
    unsigned long value = strtoul(argv[at], &end, 10);
    if (*end || end == argv[at]) {
        fprintf(stderr, "%s: '%s' is not a number\n", argv[0], argv[at]);
        exit(EXIT_UNPREPARED);
    }
    return value;
}

__attribute__((unused)) static const char *word_argument(int argc, char **argv, int at,
                                                         const char *standard)
{
    return at < argc ? argv[at] : standard;
}

/* One case of a program that has several, chosen by its first argument. */
struct spin_case {
    const char *name;
    int (*run)(int argc, char **argv);
};

__attribute__((unused)) static int run_case(const struct spin_case *cases, int argc, char **argv,
                                            const char *standard)
{
    const char *wanted = word_argument(argc, argv, 1, standard);
    for (const struct spin_case *one = cases; one->name; one++)
        if (!strcmp(one->name, wanted))
            return one->run(argc, argv);
    fprintf(stderr, "%s: no case '%s'; there are:", argv[0], wanted);
    for (const struct spin_case *one = cases; one->name; one++)
        fprintf(stderr, " %s", one->name);
    fprintf(stderr, "\n");
    return EXIT_UNPREPARED;
}

#endif
