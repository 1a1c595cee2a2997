#include "session/agent_locate.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"

/* Resolved, so that the command may change its directory and a link may move. NULL when there is no such file. */
static char *resolved(const char *path)
{
    char *real = realpath(path, NULL); /* plain malloc, which mem_free() takes */
    if (real && access(real, R_OK) < 0) {
        mem_free(real);
        return NULL;
    }
    return real;
}

static char *resolved_in(const char *dir, const char *name)
{
    char *path = path_join(dir, name);
    char *real = path ? resolved(path) : NULL;
    mem_free(path);
    return real;
}

int agent_locate(char **path, struct lam_error *err)
{
    const char *given = getenv("LAMELLA_AGENT_SO");
    if (given && given[0]) {
        *path = resolved(given);
        return *path ? LAM_OK : lam_error_errno(err, errno, "LAMELLA_AGENT_SO: %s", given);
    }
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        return lam_error_errno(err, errno, "/proc/self/exe");
    self[length] = '\0';
    char *dir = path_dir(self);
    if (!dir)
        return lam_error_set(err, LAM_E_NOMEM, "out of memory");
    *path = resolved_in(dir, AGENT_FILE_NAME);
    if (!*path)
        *path = resolved_in(dir, LAM_AGENT_FROM_BINDIR);
    int rc =
        *path ? LAM_OK
              : lam_error_set(
                    err, LAM_E_NOTFOUND,
                    "%s: not found in %s nor in %s/%s; install it, or name it in LAMELLA_AGENT_SO",
                    AGENT_FILE_NAME, dir, dir, LAM_AGENT_FROM_BINDIR);
    mem_free(dir);
    return rc;
}

bool agent_path_is_plain(const char *path)
{
    for (const char *c = path; *c; c++)
        if (*c == ' ' || *c == ':' || *c == '$' || *c == ';')
            return false;
    return true;
}

static int link_in(const char *place, const char *path, char **link, char **dir)
{
    struct strbuf buf = {0};
    strbuf_add(&buf, place);
    strbuf_add(&buf, "/" AGENT_LINK_PREFIX "XXXXXX");
    char *made = strbuf_take(&buf, NULL);
    if (!made || !mkdtemp(made)) {
        mem_free(made);
        return LAM_E_IO;
    }
    char *name = path_join(made, AGENT_FILE_NAME);
    if (!name || symlink(path, name) < 0) {
        rmdir(made);
        mem_free(name);
        mem_free(made);
        return LAM_E_IO;
    }
    /* Programs of the tree that run as another user are told of it too, and their loader would complain. */
    chmod(made, 0755);
    *link = name;
    *dir = made;
    return LAM_OK;
}

int agent_link_plain(const char *path, char **link, char **dir, struct lam_error *err)
{
    const char *temporary = getenv("TMPDIR");
    const char *places[] = {"/dev/shm", temporary && temporary[0] == '/' ? temporary : "/tmp",
                            "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (agent_path_is_plain(places[i]) && link_in(places[i], path, link, dir) >= 0)
            return LAM_OK;
    return lam_error_set(
        err, LAM_E_IO,
        "%s: has a blank or a colon in its path, and no directory for a link to it can be made in "
        "/dev/shm or /tmp; install lamella elsewhere",
        path);
}

static bool is_separator(char c)
{
    return c == ' ' || c == ':' || c == '\t' || c == '\n';
}

char *agent_preload_value(const char *agent, const char *users)
{
    struct strbuf buf = {0};
    strbuf_add(&buf, agent);
    for (const char *at = users ? users : ""; *at;) {
        const char *end = at;
        while (*end && !is_separator(*end))
            end++;
        size_t length = (size_t)(end - at);
        char *item = length ? mem_strndup(at, length) : NULL;
        if (item && strcmp(path_name(item), AGENT_FILE_NAME) != 0) {
            strbuf_add_char(&buf, ':');
            strbuf_add(&buf, item);
        }
        mem_free(item);
        at = *end ? end + 1 : end;
    }
    return strbuf_take(&buf, NULL);
}

bool agent_is_preloaded(const char *preload, const char *agent)
{
    size_t length = strlen(agent);
    for (const char *at = preload ? preload : ""; length && (at = strstr(at, agent)); at += length)
        if ((at == preload || is_separator(at[-1])) && (!at[length] || is_separator(at[length])))
            return true;
    return false;
}
