#include "base/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"

struct out_file {
    char *name;   /* for messages */
    char *target; /* what the temporary file becomes; NULL: written in place */
    char *temp;
    char *dir;
    int fd;
    bool owns_fd, replaces, had_old;
    bool is_unnamed; /* the temporary file has no name yet: nothing to clean up if we are killed */
    mode_t old_mode;
    struct packed_out *packed;
    struct byteout out;
};

static int write_nowhere(void *ctx, const void *bytes, size_t length)
{
    (void)ctx, (void)bytes, (void)length;
    return LAM_OK;
}

static bool temp_name(struct out_file *file, unsigned attempt)
{
    struct strbuf name = {0};
    strbuf_addf(&name, "%s.%ld-%u.tmp", file->target, (long)getpid(), attempt);
    mem_free(file->temp);
    file->temp = strbuf_take(&name, NULL);
    return file->temp != NULL;
}

static int open_named_temp(struct out_file *file, struct lam_error *err)
{
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        if (!temp_name(file, attempt))
            return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", file->name);
        file->fd = open(file->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->fd >= 0) {
            file->owns_fd = true;
            return LAM_OK;
        }
        if (errno != EEXIST)
            break;
    }
    int errnum = errno;
    mem_free(file->temp);
    file->temp = NULL;
    return lam_error_errno(err, errnum, "%s: cannot create", file->name);
}

static int open_temp(struct out_file *file, struct lam_error *err)
{
    file->fd = open(file->dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    file->is_unnamed = file->owns_fd = file->fd >= 0;
    return file->is_unnamed ? LAM_OK : open_named_temp(file, err);
}

static int open_in_place(struct out_file *file, struct lam_error *err)
{
    file->fd = open(file->name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    file->owns_fd = file->fd >= 0;
    return file->fd < 0 ? lam_error_errno(err, errno, "%s: cannot open", file->name) : LAM_OK;
}

/* The descriptor that a path is a name of; -1: of none. */
static int descriptor_of(const char *path)
{
    static const char *const places[] = {"/dev/fd/", "/proc/self/fd/"};
    uint64_t number;
    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t size = strlen(places[i]);
        if (strncmp(path, places[i], size) == 0 && unit_parse_u64(path + size, &number) &&
            number <= INT_MAX)
            return (int)number;
    }
    return -1;
}

static int open_path(struct out_file *file, struct lam_error *err)
{
    file->fd = descriptor_of(file->name);
    if (file->fd >= 0) /* from where it stands: others write to it as well */
        return fcntl(file->fd, F_GETFL) < 0
                   ? lam_error_errno(err, errno, "%s: cannot open", file->name)
                   : LAM_OK;
    struct stat st;
    if (stat(file->name, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return lam_error_set(err, LAM_E_EXISTS, "%s is a directory; -o takes a file's name",
                                 file->name);
        if (!S_ISREG(st.st_mode))
            return open_in_place(file, err);
        if (!file->replaces)
            return lam_error_set(err, LAM_E_EXISTS, "%s exists; --force replaces it", file->name);
        char *real = realpath(file->name, NULL); /* a link keeps being one */
        file->target = real ? mem_strdup(real) : NULL;
        mem_free(file->dir);
        file->dir = real ? path_dir(real) : NULL;
        free(real);
        file->had_old = true;
        file->old_mode = st.st_mode & 07777;
    } else {
        file->target = mem_strdup(file->name);
    }
    if (!file->target || !file->dir)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", file->name);
    return open_temp(file, err);
}

static struct out_file *make(const char *name, bool replaces)
{
    struct out_file *made = mem_zalloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->fd = -1;
    made->replaces = replaces;
    made->name = mem_strdup(name);
    made->dir = strcmp(name, "-") == 0 ? mem_strdup("") : path_dir(name);
    if (!made->name || !made->dir)
        out_file_close(&made);
    return made;
}

int out_file_open(struct out_file **file, const char *path, enum packing packing, bool replaces,
                  struct lam_error *err)
{
    struct out_file *made = make(path, replaces);
    int rc = LAM_OK;
    if (!made)
        return lam_error_set(err, LAM_E_NOMEM, "output: out of memory");
    if (strcmp(path, "-") == 0)
        made->fd = STDOUT_FILENO;
    else
        rc = open_path(made, err);
    if (rc == LAM_OK)
        rc = packed_out_open(&made->packed, made->fd, packing, err);
    if (rc < 0) {
        out_file_close(&made);
        return rc;
    }
    if (made->target)
        packed_out_owns_file(made->packed);
    byteout_init(&made->out, packed_out_write, made->packed);
    *file = made;
    return LAM_OK;
}

/* Whether the resolved path is `inside`, or lies below it. */
static bool is_within(const char *path, const char *inside)
{
    size_t size = strlen(inside);
    return strncmp(path, inside, size) == 0 && (path[size] == '/' || path[size] == 0);
}

int out_file_spares(const char *path, const char *const *inputs, size_t count, struct lam_error *err)
{
    struct stat there;
    if (strcmp(path, "-") == 0 || stat(path, &there) < 0 || !S_ISREG(there.st_mode))
        return LAM_OK;
    char *output = realpath(path, NULL);
    if (!output)
        return lam_error_errno(err, errno, "%s: cannot be looked at", path);
    int rc = LAM_OK;
    for (size_t i = 0; i < count && rc == LAM_OK; i++) {
        struct stat input;
        char *resolved = realpath(inputs[i], NULL);
        if (resolved && stat(resolved, &input) == 0 &&
            (is_within(output, resolved) ||
             (input.st_dev == there.st_dev && input.st_ino == there.st_ino)))
            rc = lam_error_set(err, LAM_E_EXISTS,
                               "%s: is part of what is read (%s); write to another file", path,
                               inputs[i]);
        free(resolved);
    }
    free(output);
    return rc;
}

int out_file_open_nowhere(struct out_file **file, struct lam_error *err)
{
    *file = make("-", false);
    if (!*file)
        return lam_error_set(err, LAM_E_NOMEM, "output: out of memory");
    byteout_init(&(*file)->out, write_nowhere, NULL);
    return LAM_OK;
}

struct byteout *out_file_bytes(struct out_file *file)
{
    return &file->out;
}

const char *out_file_dir(const struct out_file *file)
{
    return file->target ? file->dir : "";
}

/* A file system that knows no RENAME_NOREPLACE gets a link, which does not replace either. */
static int put_in_place(struct out_file *file)
{
    if (file->replaces)
        return rename(file->temp, file->target);
    if (renameat2(AT_FDCWD, file->temp, AT_FDCWD, file->target, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (link(file->temp, file->target) < 0)
        return -1;
    return unlink(file->temp);
}

static int name_temp(struct out_file *file, struct lam_error *err)
{
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        if (!temp_name(file, attempt))
            return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", file->name);
        if (linkat(AT_FDCWD, self, AT_FDCWD, file->temp, AT_SYMLINK_FOLLOW) == 0)
            return LAM_OK;
        if (errno != EEXIST)
            break;
    }
    return lam_error_errno(err, errno, "%s: cannot create", file->name);
}

static int commit_temp(struct out_file *file, struct lam_error *err)
{
    int rc = file->is_unnamed ? name_temp(file, err) : LAM_OK;
    if (rc < 0) {
        mem_free(file->temp); /* names nothing of ours */
        file->temp = NULL;
        return rc;
    }
    if (file->had_old && fchmod(file->fd, file->old_mode) < 0)
        return lam_error_errno(err, errno, "%s: cannot keep its mode", file->name);
    int failed = close(file->fd);
    file->owns_fd = false;
    if (failed < 0)
        return lam_error_errno(err, errno, "%s: cannot write", file->name);
    if (put_in_place(file) < 0) {
        if (errno == EEXIST)
            return lam_error_set(err, LAM_E_EXISTS, "%s exists; --force replaces it", file->name);
        return lam_error_errno(err, errno, "%s: cannot create", file->name);
    }
    mem_free(file->temp);
    file->temp = NULL;
    return LAM_OK;
}

int out_file_commit(struct out_file *file, bool *is_pipe_closed, struct lam_error *err)
{
    const char *name = strcmp(file->name, "-") == 0 ? "standard output" : file->name;
    int rc = byteout_flush(&file->out, name, err);
    if (rc < 0 && file->packed)
        packed_out_failure(file->packed, rc, name, err);
    if (rc == LAM_OK && file->packed)
        rc = packed_out_finish(file->packed, name, err);
    if (is_pipe_closed)
        *is_pipe_closed = rc < 0 && file->packed && packed_out_pipe_closed(file->packed);
    if (rc == LAM_OK && (file->temp || file->is_unnamed))
        rc = commit_temp(file, err);
    return rc;
}

void out_file_close(struct out_file **file)
{
    if (!file || !*file)
        return;
    packed_out_close(&(*file)->packed);
    if ((*file)->owns_fd)
        close((*file)->fd);
    if ((*file)->temp)
        unlink((*file)->temp);
    mem_free((*file)->temp);
    mem_free((*file)->target);
    mem_free((*file)->dir);
    mem_free((*file)->name);
    mem_free(*file);
    *file = NULL;
}
