/* Directories and paths of file.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

static enum dir_kind kind_of_mode(mode_t mode)
{
    if (S_ISREG(mode))
        return DIR_KIND_FILE;
    if (S_ISDIR(mode))
        return DIR_KIND_DIR;
    return S_ISLNK(mode) ? DIR_KIND_LINK : DIR_KIND_OTHER;
}

/* Not every file system says the type in its directories. */
static enum dir_kind kind_of_entry(int fd, const struct dirent *entry)
{
    if (entry->d_type != DT_UNKNOWN)
        return kind_of_mode((mode_t)DTTOIF((mode_t)entry->d_type));
    struct stat st;
    if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return DIR_KIND_OTHER;
    return kind_of_mode(st.st_mode);
}

static int compare_entries(const void *a, const void *b)
{
    const struct dir_entry *left = a;
    const struct dir_entry *right = b;
    return strcmp(left->name, right->name);
}

static int add_entry(DIR *dir, const struct dirent *entry, struct dir_entries *entries)
{
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
        return LAM_OK;
    struct dir_entry copy = {mem_strdup(entry->d_name), kind_of_entry(dirfd(dir), entry)};
    if (copy.name && array_push(entries, copy) == LAM_OK)
        return LAM_OK;
    mem_free(copy.name);
    return LAM_E_NOMEM;
}

int dir_list(const char *path, struct dir_entries *out, struct lam_error *err)
{
    struct dir_entries entries = {0};
    struct dirent *entry;
    int rc = LAM_OK;
    DIR *dir = opendir(path);
    if (!dir)
        return lam_error_errno(err, errno, "%s: cannot open the directory", path);
    while (rc == LAM_OK && (errno = 0, entry = readdir(dir))) {
        rc = add_entry(dir, entry, &entries);
        if (rc < 0)
            lam_error_set(err, rc, "%s: out of memory", path);
    }
    if (rc == LAM_OK && errno)
        rc = lam_error_errno(err, errno, "%s: cannot list", path);
    closedir(dir);
    if (rc < 0) {
        dir_entries_free(&entries);
        return rc;
    }
    array_sort(&entries, compare_entries);
    *out = entries;
    return LAM_OK;
}

void dir_entries_free(struct dir_entries *entries)
{
    array_each(entries, entry) mem_free(entry->name);
    array_free(entries);
}

static int make_one(const char *path, struct lam_error *err)
{
    if (mkdir(path, 0777) == 0)
        return LAM_OK;
    int errnum = errno;
    if (errnum == EEXIST && path_is_dir(path))
        return LAM_OK;
    return lam_error_errno(err, errnum, "%s: cannot make the directory", path);
}

int dir_make_all(const char *path, struct lam_error *err)
{
    char *partial = mem_strdup(path);
    int rc = LAM_OK;
    if (!partial)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", path);
    /* Only what is missing is made: a directory above may exist and be closed to us. */
    for (char *at = partial + 1; *partial && *at && rc == LAM_OK; at++) {
        if (*at != '/')
            continue;
        *at = 0;
        if (!path_exists(partial))
            rc = make_one(partial, err);
        *at = '/';
    }
    mem_free(partial);
    return rc < 0 ? rc : make_one(path, err);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path) < 0 && errno != ENOENT ? errno : 0;
}

int dir_remove_all(const char *path, struct lam_error *err)
{
    enum { OPEN_DIRECTORIES_MAX = 32 };
    if (!*path)
        return lam_error_set(err, LAM_E_INVAL, "no directory named to remove");
    int rc = nftw(path, remove_entry, OPEN_DIRECTORIES_MAX, FTW_DEPTH | FTW_PHYS);
    int errnum = rc < 0 ? errno : rc;
    if (rc == 0 || errnum == ENOENT)
        return LAM_OK;
    return lam_error_errno(err, errnum, "%s: cannot remove", path);
}

char *path_join(const char *dir, const char *name)
{
    size_t dir_length = *name == '/' ? 0 : strlen(dir);
    size_t name_length = strlen(name);
    bool needs_slash = dir_length && dir[dir_length - 1] != '/';
    char *joined = mem_alloc(dir_length + needs_slash + name_length + 1);
    if (!joined)
        return NULL;
    memcpy(joined, dir, dir_length);
    if (needs_slash)
        joined[dir_length] = '/';
    memcpy(joined + dir_length + needs_slash, name, name_length);
    joined[dir_length + needs_slash + name_length] = 0;
    return joined;
}

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *path_dir(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return mem_strdup(".");
    while (slash > path && slash[-1] == '/')
        slash--;
    return slash == path ? mem_strdup("/") : mem_strndup(path, (size_t)(slash - path));
}

bool path_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool path_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool text_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

bool text_starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}
