/* What a recording of one of the selftest's programs shows, in the selftest's own terms, and what the program itself said. */
#ifndef LAMELLA_CLI_SELFTEST_SEEN_H
#define LAMELLA_CLI_SELFTEST_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"

/* A fact of the program: "function st_share_10 123456". */
struct selftest_fact {
    char kind[16], name[32];
    uint64_t value;
};
struct selftest_facts LAM_ARRAY_BODY(struct selftest_fact);

/* Reads the program's file of facts. */
int selftest_facts_load(struct selftest_facts *facts, const char *path, struct lam_error *err);

/* The sum over facts of a kind; name NULL: all. *count may be NULL. */
uint64_t selftest_facts_sum(const struct selftest_facts *facts, const char *kind, const char *name,
                            size_t *count);

struct selftest_amount {
    uint64_t samples, cpu_ns; /* late weight left out, as in the coverage */
};

struct selftest_function {
    char name[32];
    struct selftest_amount amount;
    uint64_t deepest; /* frames */
    uint64_t truncated;
};

struct selftest_thread {
    uint32_t pid, tid;
    struct selftest_amount amount;
};

struct selftest_wait {
    const char *kind;
    uint64_t count, ns;
};

enum { SELFTEST_WAIT_KINDS = 7 };

struct selftest_seen {
    LAM_ARRAY(struct selftest_function)
    functions; /* those called st_…, innermost in their stacks */
    LAM_ARRAY(struct selftest_thread) threads;
    struct selftest_wait waits[SELFTEST_WAIT_KINDS]; /* of main threads, by enum stream_wait_kind */
    struct selftest_amount total;
    uint64_t late_ns, startup_ns, tail_ns, charged_ns;
    uint64_t lost, truncated, frames;
    uint64_t handler_ns, interrupts;
    uint64_t processes, forked, unsampled;
};

/* Reads a recording. */
int selftest_seen_load(struct selftest_seen *seen, const char *recording, struct lam_error *err);
void selftest_seen_free(struct selftest_seen *seen);

/* What was seen of a function; all zero when nothing was. */
struct selftest_function selftest_seen_function(const struct selftest_seen *seen, const char *name);
struct selftest_amount selftest_seen_thread(const struct selftest_seen *seen, uint32_t tid);

#endif
