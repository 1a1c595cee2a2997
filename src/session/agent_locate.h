/* Where the agent's library is, and under what name the loader of the command can be told of it. */
#ifndef LAMELLA_SESSION_AGENT_LOCATE_H
#define LAMELLA_SESSION_AGENT_LOCATE_H

#include <stdbool.h>

#include "base/error.h"

#define AGENT_FILE_NAME   "liblamella-agent.so"
#define AGENT_LINK_PREFIX "lamella-agent." /* of a directory that holds a link to it */

/* The agent's absolute path for mem_free(): $LAMELLA_AGENT_SO, else beside the executable (a build directory), else where an
 * installation puts it. NOTFOUND names the places. */
int agent_locate(char **path, struct lam_error *err);

/* Whether a path can stand in LD_PRELOAD: the loader splits at blanks and colons and expands $. */
bool agent_path_is_plain(const char *path);

/* Makes a link to the agent under a plain name in a new private directory below /dev/shm or the temporary directory.
 * *link is its path and *dir the directory, which the caller removes; both for mem_free(). */
int agent_link_plain(const char *path, char **link, char **dir, struct lam_error *err);

/* The value for LD_PRELOAD: the agent, then what the user had (NULL: nothing), with libraries named AGENT_FILE_NAME that an
 * earlier session left taken out. For mem_free(). */
char *agent_preload_value(const char *agent, const char *users);

/* Whether a value of LD_PRELOAD names this library. */
bool agent_is_preloaded(const char *preload, const char *agent);

#endif
