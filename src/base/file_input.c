#include "base/file_input.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_input_is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char *file_input_name(const char *path)
{
    return file_input_is_stdin(path) ? "standard input" : path;
}

int file_input_map(const char *path, struct file_map *map, struct lam_error *err)
{
    static struct file_map standard_input; /* a pipe can be read only once */
    if (!file_input_is_stdin(path))
        return file_map(path, map, err);
    if (!standard_input.data) {
        if (isatty(STDIN_FILENO))
            return lam_error_set(err, LAM_E_UNSUPPORTED,
                                 "standard input: a terminal; '-' reads what is piped into it");
        int rc = file_map_fd(STDIN_FILENO, file_input_name(path), &standard_input, err);
        if (rc < 0)
            return rc;
        standard_input.is_borrowed = true;
    }
    *map = standard_input;
    return LAM_OK;
}

const char *file_special_kind(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return NULL;
    return S_ISFIFO(st.st_mode) ? "a pipe" : S_ISSOCK(st.st_mode) ? "a socket" : "a device";
}

int file_set_add(struct file_set *set, const char *path, bool *is_new)
{
    struct stat st;
    *is_new = true;
    int rc = file_input_is_stdin(path) ? fstat(STDIN_FILENO, &st) : stat(path, &st);
    if (rc < 0)
        return LAM_OK;
    uint64_t key = hash_combine(hash_u64(st.st_dev), st.st_ino);
    return map_slot(&set->known, key, 1, is_new) ? LAM_OK : LAM_E_NOMEM;
}

void file_set_free(struct file_set *set)
{
    map_free(&set->known);
}
