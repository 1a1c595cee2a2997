/* Watches the tree of processes below the launcher through /proc: who lives, what memory they hold, and how busy the machine
 * is. One pass reads the directory /proc, the state of the tree's processes and of processes not met before; the rest of the
 * machine's processes cost nothing. */
#ifndef LAMELLA_SESSION_TREE_POLL_H
#define LAMELLA_SESSION_TREE_POLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/error.h"
#include "session/proc_parse.h"
#include "session/tree_memory.h"

struct seen_name {
    uint8_t bytes;
    char text[PROC_COMM_BYTES];
};

struct seen_process {
    uint32_t pid, ppid; /* parent at the first look */
    uint32_t inner_pid; /* its own, where it lives in another pid namespace than the launcher; 0 */
    uint64_t kernel_start;
    LAM_ARRAY(struct seen_name) names; /* in order */
    char *exe;                         /* NULL: could not be read */
    char *argv;                        /* each ended by NUL; NULL: could not be read */
    size_t argv_bytes;
    int64_t first_ns, last_ns; /* since the session's start */
    uint64_t cpu_ns;
    uint64_t rss_bytes, peak_rss_bytes;
    uint64_t anon_bytes;
    struct memory_series memory;
    uint32_t threads;
    uint32_t looks;
    bool is_alive;
};

struct timeline_row { /* NaN: could not be read */
    int64_t t_ns;
    uint64_t span_ns; /* since the row before */
    double processes, threads, rss_bytes, anon_bytes;
    double tree_busy; /* processors that the tree kept busy */
    double cpu_busy;  /* ... that the whole machine did */
    double load1;
    double psi_cpu, psi_io, psi_mem;
    double mem_available_bytes; /* of the machine */
};

struct tree_poll;

/* launcher: whose descendants are meant. LAM_OK or a code. */
int tree_poll_open(struct tree_poll **poll, pid_t launcher, uint64_t start_mono_ns,
                   struct lam_error *err);
void tree_poll_close(struct tree_poll **poll);

/* One pass, one row. LAM_OK; LAM_E_NOMEM leaves the pass half done, which the next one mends. */
int tree_poll_pass(struct tree_poll *poll);

/* When the next pass is due (CLOCK_MONOTONIC): ten times a second, less often where passes take more than 1% of a processor. */
uint64_t tree_poll_due_ns(const struct tree_poll *poll);

/* Looks at a process that is about to be waited for, a zombie perhaps. False when it is not there any more. */
bool tree_poll_peek(pid_t pid, struct proc_stat *stat);

struct seen_list LAM_ARRAY_BODY(struct seen_process);
struct timeline LAM_ARRAY_BODY(struct timeline_row);
const struct seen_list *tree_poll_seen(const struct tree_poll *poll); /* in order of the first look */
const struct timeline *tree_poll_rows(const struct tree_poll *poll);
/* When the tree held most memory of its own; holders' members are indices in tree_poll_seen(). */
const struct memory_peak *tree_poll_memory_peak(const struct tree_poll *poll);

struct poll_cost {
    uint64_t passes;
    uint64_t cpu_ns;
    uint64_t not_kept; /* processes met and not stored, because the list was full */
};
struct poll_cost tree_poll_cost(const struct tree_poll *poll);

#endif
