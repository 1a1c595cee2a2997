/* Reads the text of files under /proc. Pure functions over bytes: nothing is trusted, a text that does not have the form is
 * LAM_E_CORRUPT and the caller goes on without it. */
#ifndef LAMELLA_SESSION_PROC_PARSE_H
#define LAMELLA_SESSION_PROC_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROC_COMM_BYTES = 64 }; /* 15 for a program, more for kernel workers; cut beyond */

struct proc_stat { /* /proc/PID/stat */
    uint32_t pid;
    uint32_t ppid;
    char state; /* R, S, D, Z, T, t, X, I */
    uint8_t comm_bytes;
    char comm[PROC_COMM_BYTES]; /* any bytes, not NUL-ended */
    uint64_t user_ticks;        /* of sysconf(_SC_CLK_TCK) a second, children not included */
    uint64_t sys_ticks;
    uint64_t threads;
    uint64_t kernel_start; /* ticks since boot; survives exec, so (pid, kernel_start) names a process */
    uint64_t rss_pages;
};

/* The comm stands between the first '(' and the last ')': it may hold blanks, brackets and line breaks of its own. */
int proc_parse_stat(const char *text, size_t length, struct proc_stat *stat);

/* Pages of /proc/PID/statm: resident, and of them those of files or shared. */
int proc_parse_statm(const char *text, size_t length, uint64_t *resident, uint64_t *shared);

struct proc_cpu { /* first line of /proc/stat, in clock ticks over all processors */
    uint64_t busy;
    uint64_t idle; /* waiting for a disk is idle */
};
int proc_parse_cpu(const char *text, size_t length, struct proc_cpu *cpu);

/* First number of /proc/loadavg. */
int proc_parse_load(const char *text, size_t length, double *load1);

/* Microseconds after "total=" in the "some" line of a file under /proc/pressure. */
int proc_parse_pressure(const char *text, size_t length, uint64_t *total_us);

/* A line "KEY value kB" of /proc/meminfo, in bytes. */
int proc_parse_meminfo(const char *text, size_t length, const char *key, uint64_t *bytes);

/* The last number in the line "NSpid:" of /proc/PID/status: the process's number in its own pid namespace. */
int proc_parse_inner_pid(const char *text, size_t length, uint32_t *pid);

#endif
