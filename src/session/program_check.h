/* Whether the command itself can be started under the agent. What the command starts later is decided by the agent in it. */
#ifndef LAMELLA_SESSION_PROGRAM_CHECK_H
#define LAMELLA_SESSION_PROGRAM_CHECK_H

#include <stdbool.h>

#include "base/error.h"

struct program_verdict {
    unsigned why_not; /* enum stream_unsampled; STREAM_UNSAMPLED_NO: it can be sampled */
    bool must_drop; /* the agent must not even be named in its environment: its loader would complain or refuse */
    const char *reason; /* words for why_not; static */
};

/* Finds the program as execvp() would (PATH, #! lines) and looks at its ELF file. A program that cannot be found or read
 * gets a verdict too: starting it will say what is wrong. */
struct program_verdict program_check(const char *command);

/* The same for one file, without PATH; tests. */
struct program_verdict program_check_file(const char *path);

/* The path that execvp() would run, for mem_free(); NULL when there is none. */
char *program_find(const char *command);

#endif
