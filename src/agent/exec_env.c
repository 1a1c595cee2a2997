/* All of it async-signal-safe and without shared state: it runs in children of vfork. */
#include "agent/exec_env.h"

#include "agent/agent.h"
#include "core/bytes.h"
#include "core/elf_probe.h"

#include <stdlib.h>
#include <unistd.h>

static const char preload_key[] = "LD_PRELOAD=";
static const char out_key[] = "LAMELLA_OUT=";
static const char bootstrap_key[] = "RUSTC_BOOTSTRAP=";
static const char bootstrap_on[] = "RUSTC_BOOTSTRAP=1";

enum { ADDED_MAX = 4 }; /* three variables and the NULL */

static int is_separator(char c)
{
    return c == ':' || c == ' ';
}

/* Where the agent's path stands in an LD_PRELOAD value; NULL when it does not. */
static const char *find_agent(const char *value)
{
    const char *ours = agent.control->agent_path;
    size_t length = bytes_length(ours);
    for (const char *at = value; (at = text_find(at, ours)); at++)
        if ((at == value || is_separator(at[-1])) && (!at[length] || is_separator(at[length])))
            return at;
    return NULL;
}

static const char *find_value(char *const envp[], const char *key)
{
    for (; envp && *envp; envp++)
        if (text_starts(*envp, key))
            return *envp + bytes_length(key);
    return NULL;
}

static int is_right(char *const envp[], unsigned has)
{
    const char *preload = find_value(envp, preload_key), *out = find_value(envp, out_key);
    const char *bootstrap = find_value(envp, bootstrap_key);
    if (has & EXEC_ENV_BOOTSTRAP && (!bootstrap || !text_equal(bootstrap, "1")))
        return 0;
    if (!(has & EXEC_ENV_AGENT))
        return !preload || !find_agent(preload);
    return preload && find_agent(preload) && out && text_equal(out, agent.dir);
}

static size_t count_of(char *const envp[])
{
    size_t count = 0;
    while (envp && envp[count])
        count++;
    return count;
}

size_t exec_env_size(char *const envp[], unsigned has)
{
    if (is_right(envp, has))
        return 0;
    const char *preload = find_value(envp, preload_key);
    return (count_of(envp) + ADDED_MAX) * sizeof(char *) + sizeof preload_key + sizeof out_key +
           bytes_length(agent.dir) + bytes_length(agent.control->agent_path) +
           (preload ? bytes_length(preload) : 0) + 8;
}

static char *put(char *at, const char *text)
{
    size_t length = bytes_length(text);
    bytes_copy(at, text, length);
    return at + length;
}

/* The user's own value without our path, one separator fewer. */
static char *put_without_agent(char *at, const char *value)
{
    const char *ours = find_agent(value);
    if (!ours)
        return put(at, value);
    const char *rest = ours + bytes_length(agent.control->agent_path);
    while (is_separator(*rest))
        rest++;
    size_t before = (size_t)(ours - value);
    while (!*rest && before && is_separator(value[before - 1]))
        before--;
    bytes_copy(at, value, before);
    return put(at + before, rest);
}

/* LD_PRELOAD=agent:what the user had. Writes an empty string when nothing is left to preload. */
static char *put_preload(char *at, const char *value, int with_agent)
{
    char *start = at;
    at = put(at, preload_key);
    if (with_agent)
        at = put(at, agent.control->agent_path);
    char *own = at;
    if (value && *value) {
        if (with_agent)
            *at++ = ':';
        char *rest = at;
        at = put_without_agent(at, value);
        if (at == rest)
            at = own;
    }
    if (!with_agent && at == own)
        at = start;
    *at++ = 0;
    return at;
}

static int is_replaced(const char *variable, unsigned has)
{
    return text_starts(variable, preload_key) ||
           (has & EXEC_ENV_AGENT && text_starts(variable, out_key)) ||
           (has & EXEC_ENV_BOOTSTRAP && text_starts(variable, bootstrap_key));
}

char **exec_env_build(char *const envp[], unsigned has, void *scratch)
{
    char **out = scratch;
    size_t count = count_of(envp), n = 0;
    char *preload = (char *)(out + count + ADDED_MAX), *text;
    text = put_preload(preload, find_value(envp, preload_key), (has & EXEC_ENV_AGENT) != 0);
    for (size_t i = 0; i < count; i++) {
        if (!is_replaced(envp[i], has))
            out[n++] = envp[i];
    }
    if (*preload)
        out[n++] = preload;
    if (has & EXEC_ENV_AGENT) {
        out[n++] = text;
        text = put(text, out_key);
        text = put(text, agent.dir);
        *text = 0;
    }
    if (has & EXEC_ENV_BOOTSTRAP)
        out[n++] = (char *)(uintptr_t)bootstrap_on;
    out[n] = NULL;
    return out;
}

/* ---- which program ---- */

/* '*' and '?' over a program's base name. */
static int glob_matches(const char *glob, const char *name)
{
    const char *star = NULL, *retry = NULL;
    while (*name) {
        if (*glob == '*') {
            star = glob++;
            retry = name;
        } else if (*glob == '?' || *glob == *name) {
            glob++;
            name++;
        } else if (star) {
            glob = star + 1;
            name = ++retry;
        } else {
            return 0;
        }
    }
    while (*glob == '*')
        glob++;
    return !*glob;
}

static int any_matches(const char *patterns, uint32_t bytes, const char *name)
{
    for (uint32_t at = 0; at < bytes; at += (uint32_t)bytes_length(patterns + at) + 1)
        if (glob_matches(patterns + at, name))
            return 1;
    return 0;
}

int exec_is_skipped(const char *path)
{
    const struct control_page *control = agent.control;
    const char *name = path;
    for (const char *c = path; *c; c++)
        if (*c == '/')
            name = c + 1;
    if (control->only_bytes && !any_matches(control->patterns, control->only_bytes, name))
        return 1;
    return any_matches(control->patterns + control->only_bytes, control->skip_bytes, name);
}

int exec_can_start(int dir_fd, const char *path)
{
    struct stat st;
    return sys_call4(SYS_newfstatat, dir_fd, path, &st, 0) == 0 && S_ISREG(st.st_mode) &&
           sys_call3(SYS_faccessat, dir_fd, path, X_OK) == 0;
}

/* The first executable file of that name along PATH. Returns 0, or -1 when there is none. */
static int search_path(const char *name, char *found, size_t size)
{
    const char *path = find_value(environ, "PATH=");
    if (!path)
        path = "/bin:/usr/bin";
    while (1) {
        size_t length = 0, name_length = bytes_length(name);
        while (path[length] && path[length] != ':')
            length++;
        if (length + name_length + 3 <= size) {
            bytes_copy(found, path, length);
            char *at = found + length;
            if (length)
                *at++ = '/';
            bytes_copy(at, name, name_length + 1);
            if (exec_can_start(AT_FDCWD, found))
                return 0;
        }
        if (!path[length])
            return -1;
        path += length + 1;
    }
}

enum stream_unsampled exec_judge(int dir_fd, const char *path, int search, char *found,
                                 size_t found_size)
{
    size_t length = bytes_length(path);
    found[0] = 0;
    if (length + 1 > found_size)
        return STREAM_UNSAMPLED_UNREADABLE;
    if (!search || text_find(path, "/"))
        bytes_copy(found, path, length + 1);
    else if (search_path(path, found, found_size) < 0)
        return STREAM_UNSAMPLED_NO; /* exec will fail; its environment does not matter */
    enum stream_unsampled why = (enum stream_unsampled)elf_probe(dir_fd, found); /* the same numbers */
    /* In another root the loader would complain that it does not find the library. */
    if (why == STREAM_UNSAMPLED_NO &&
        sys_call3(SYS_faccessat, AT_FDCWD, agent.control->agent_path, R_OK) < 0)
        return STREAM_UNSAMPLED_NO_RECORDING;
    /* A program that is skipped keeps the agent's library, which then only accounts; so its children are met. */
    return why == STREAM_UNSAMPLED_NO && exec_is_skipped(found) ? STREAM_UNSAMPLED_SKIPPED : why;
}
