/* Brings stream files from the scratch place into the recording, packed. */
#ifndef LAMELLA_SESSION_COLLECT_H
#define LAMELLA_SESSION_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"

struct collect_result {
    size_t streams;        /* files brought over */
    size_t unpacked;       /* of those, kept as they were: too damaged to be packed */
    uint64_t raw_bytes;    /* before */
    uint64_t packed_bytes; /* after */
};

/* Everything in scratch but the control page and session.json. A stream is taken away from scratch when it is safely in the
 * recording, so that after a failure (FULL: the disk) the rest can be brought over later by the same call.
 * flags as for stream_pack(). threads as for pool_open(). */
int collect_all(const char *scratch, const char *recording, unsigned threads, uint32_t flags,
                struct collect_result *result, struct lam_error *err);

/* While recording: brings over streams whose processes have ended, oldest first, until scratch holds less than keep_bytes or
 * `until_ns` of CLOCK_MONOTONIC is past. Failures are left for collect_all(). */
void collect_ended(const char *scratch, const char *recording, uint64_t keep_bytes,
                   uint64_t until_ns, struct collect_result *result);

/* Bytes that the files in a directory take up. */
uint64_t collect_disk_bytes(const char *dir);

/* Adds the pids of all stream files in dir to pids (value: how many). */
int collect_pids(const char *dir, struct map *pids);

/* How many streams in dir belong to processes that still run. */
size_t collect_count_running(const char *dir);

#endif
