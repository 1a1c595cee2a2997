/* `.ninja_log`: what ninja ran, and when. One line an output: start and end in milliseconds since its ninja began, the time that the
 * file is stamped with, its name, a hash of the command. The file grows over builds: those of one are told by the stamps. */
#ifndef LAMELLA_BUILD_NINJA_LOG_H
#define LAMELLA_BUILD_NINJA_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/strbuf.h"

#define NINJA_LOG_NAME "ninja.log" /* in a recording: the lines of its builds */

struct ninja_edge {
    const char *output; /* in the arena */
    uint64_t start_ms, end_ms;
    int64_t mtime_ns;
    uint64_t command; /* hash: outputs of one command have the same, and the same times */
};

struct ninja_log {
    struct arena arena;
    LAM_ARRAY(struct ninja_edge) edges; /* in the file's order */
    uint64_t version;
    uint64_t damaged; /* lines that are none */
};

/* Versions 5 to 7. Lines that are none are left out and counted; no header is LAM_E_CORRUPT, an older version LAM_E_UNSUPPORTED.
 * *log is initialised here, and empty after a failure. */
int ninja_log_parse(struct ninja_log *log, const char *text, size_t size, const char *name,
                    struct lam_error *err);
void ninja_log_free(struct ninja_log *log);

/* The log again, with the edges alone that were made since: ninja copies old lines when it writes the file anew. */
int ninja_log_write(const struct ninja_log *log, int64_t since_ns, struct strbuf *text);

#endif
