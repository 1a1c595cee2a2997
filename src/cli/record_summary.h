/* What `lamella record` does with a recording when it is there: store its symbols, and say in five lines what it holds. */
#ifndef LAMELLA_CLI_RECORD_SUMMARY_H
#define LAMELLA_CLI_RECORD_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/record_artifacts.h"
#include "session/record.h"

enum { SUMMARY_REASONS = 16 }; /* at least as many as enum stream_unsampled has */

struct record_summary {
    bool is_read;
    uint64_t samples, lost_records;
    uint64_t sampled_ns; /* weights that are known to belong where the stack points */
    uint64_t late_ns;
    uint64_t sampled_processes, account_processes;
    uint64_t unsampled[SUMMARY_REASONS]; /* by enum stream_unsampled */
    uint64_t damaged_streams;
    struct record_artifacts *artifacts; /* filled with what units wrote; NULL: it is not looked for */
    uint64_t profiles, profile_events; /* self-profiles of processes here, and what is in them */
};

/* A session_symbols_fn: reads the recording once, writes its symbol sidecar and fills the summary (ctx, may be NULL). */
int record_write_symbols(void *ctx, const char *recording, struct lam_error *err);

/* Prints on stderr. profiles: NULL when none were asked for. */
void record_summary_print(const struct record_summary *summary, const struct record_outcome *outcome,
                          const struct profile_request *profiles);

#endif
