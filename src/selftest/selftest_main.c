/* lamella-selftest WORK FACTS SLICE_US AMOUNT_MS: one of the programs that `lamella selftest` records. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "selftest/known_work.h"

struct known_request known_request;

static int short_child(void)
{
    return work_short_child((long)known_request.slice_ns / 1000);
}

static const struct {
    const char *name;
    int (*run)(void);
} works[] = {
    {"shares", work_shares},
    {"threads", work_threads},
    {"system-calls", work_system_calls},
    {"short-processes", work_short_processes},
    {"short-child", short_child},
    {"forks", work_forks},
    {"recursion", work_recursion},
    {"thief", work_thief},
    {"waits", work_waits},
    {"warm", work_warm},
    {"cold", work_cold},
};
enum { WORK_COUNT = sizeof works / sizeof *works };

uint64_t known_clock_ns(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t known_length(uint64_t mean_ns)
{
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return mean_ns / 2 + state % (mean_ns + 1);
}

void known_fail(const char *what)
{
    fprintf(stderr, "lamella-selftest: %s: %s\n", what, strerror(errno));
    exit(99);
}

void known_fact(const char *kind, const char *name, uint64_t value)
{
    char line[160];
    int length = snprintf(line, sizeof line, "%s %s %llu\n", kind, name, (unsigned long long)value);
    int fd = open(known_request.facts, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)length) != length)
        known_fail(known_request.facts);
    close(fd);
}

void known_fact_id(const char *kind, long id, uint64_t value)
{
    char name[24];
    snprintf(name, sizeof name, "%ld", id);
    known_fact(kind, name, value);
}

static uint64_t argument(const char *text)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end || end == text) {
        errno = EINVAL;
        known_fail(text);
    }
    return value;
}

int main(int argc, char **argv)
{
    if (argc == 5) {
        known_request = (struct known_request){.facts = argv[2],
                                               .slice_ns = argument(argv[3]) * 1000,
                                               .amount_ns = argument(argv[4]) * 1000000};
        for (int i = 0; i < WORK_COUNT; i++)
            if (strcmp(argv[1], works[i].name) == 0)
                return works[i].run();
    }
    fprintf(stderr, "This program is run by `lamella selftest`: lamella-selftest WORK FACTS "
                    "SLICE_US AMOUNT_MS\nWorks:");
    for (int i = 0; i < WORK_COUNT; i++)
        fprintf(stderr, " %s", works[i].name);
    fputc('\n', stderr);
    return 2;
}
