/* exec_env.h: the environment of a program about to be started: with the agent, or without it. */
#ifndef LAMELLA_AGENT_EXEC_ENV_H
#define LAMELLA_AGENT_EXEC_ENV_H

#include "stream/layout.h"

#include <stddef.h>

/* Why a program is left alone, by its file and the user's --only and --skip. STREAM_UNSAMPLED_NO: sample it.
 * `path` as given to exec; `search` looks it up in PATH as execvp does. Writes where it was found to `found`. */
enum stream_unsampled exec_judge(int dir_fd, const char *path, int search, char *found,
                                 size_t found_size);

/* Does the user want the program at this path only accounted? */
int exec_is_skipped(const char *path);

/* Will exec find an executable file there? */
int exec_can_start(int dir_fd, const char *path);

enum exec_env_has {
    EXEC_ENV_AGENT = 1,     /* LD_PRELOAD and LAMELLA_OUT; without it neither names the agent */
    EXEC_ENV_BOOTSTRAP = 2, /* RUSTC_BOOTSTRAP=1; without it, it stays as it is */
};

/* Bytes of scratch that exec_env_build needs for this environment; 0: it can be used as it is. */
size_t exec_env_size(char *const envp[], unsigned has);

/* The environment with the variables as they should be (enum exec_env_has); strings that do not change are shared with envp.
 * scratch: exec_env_size() bytes, aligned to 8. */
char **exec_env_build(char *const envp[], unsigned has, void *scratch);

#endif
