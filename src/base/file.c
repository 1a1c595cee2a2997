#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_guard.h"
#include "base/memory.h"
#include "base/strbuf.h"

/* What is not mapped (pipes, /proc) is read up to this. */
static const size_t read_limit_bytes = (size_t)4 << 30;
/* A device may have no end. */
static const size_t device_limit_bytes = (size_t)16 << 20;

/* A name for messages: paths hold any bytes. */
struct shown {
    char text[200];
};

static struct shown show(const char *path)
{
    struct shown shown = {""};
    struct strbuf buf = {0};
    strbuf_add_printable(&buf, path, strlen(path));
    const char *text = strbuf_ok(&buf) ? strbuf_text(&buf) : path;
    size_t length = strlen(text);
    /* The end of a long path says more than its beginning. */
    if (length < sizeof shown.text)
        memcpy(shown.text, text, length + 1);
    else
        snprintf(shown.text, sizeof shown.text, "...%s", text + length - sizeof shown.text + 4);
    strbuf_free(&buf);
    return shown;
}

/* A pipe that nobody writes to reads as empty: opened the plain way it would wait for ever for a
 * writer. One that has a writer waits for what it writes, as usual. */
static int open_to_read(const char *path, int *fd, struct lam_error *err)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0)
        return lam_error_errno(err, errno, "%s: cannot open", show(path).text);
    int flags = fcntl(*fd, F_GETFL);
    if (flags >= 0)
        fcntl(*fd, F_SETFL, flags & ~O_NONBLOCK);
    return LAM_OK;
}

/* Reads to the end. *capacity_hint is only a first guess: a file may grow, and one in /proc says 0.
 */
static int read_to_end(int fd, const char *name, size_t limit, size_t hint, char **data,
                       size_t *length, struct lam_error *err)
{
    size_t capacity = hint < limit ? hint + 1 : limit + 1;
    size_t used = 0;
    if (capacity < 4096)
        capacity = limit < 4096 ? limit + 1 : 4096;
    char *bytes = mem_alloc(capacity + 1);
    for (;;) {
        if (!bytes)
            return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", show(name).text);
        ssize_t got = read(fd, bytes + used, capacity - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int errnum = errno;
            mem_free(bytes);
            return lam_error_errno(err, errnum, "%s: cannot read", show(name).text);
        }
        if (got == 0)
            break;
        used += (size_t)got;
        if (used > limit) {
            mem_free(bytes);
            return lam_error_set(err, LAM_E_TOOBIG, "%s: larger than %zu bytes", show(name).text,
                                 limit);
        }
        if (used < capacity)
            continue;
        capacity = capacity <= limit / 2 ? capacity * 2 : limit + 1;
        char *grown = mem_realloc(bytes, capacity + 1);
        if (!grown)
            mem_free(bytes);
        bytes = grown;
    }
    bytes[used] = 0;
    *data = bytes;
    *length = used;
    return LAM_OK;
}

int file_read_all_fd(int fd, const char *name, size_t limit, char **data, size_t *length,
                     struct lam_error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return lam_error_errno(err, errno, "%s", show(name).text);
    if (S_ISDIR(st.st_mode))
        return lam_error_set(err, LAM_E_UNSUPPORTED, "%s: is a directory", show(name).text);
    if (limit > PTRDIFF_MAX - 2)
        limit = PTRDIFF_MAX - 2;
    size_t hint = S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size : 0;
    if (hint > limit)
        return lam_error_set(err, LAM_E_TOOBIG, "%s: larger than %zu bytes", show(name).text, limit);
    return read_to_end(fd, name, limit, hint, data, length, err);
}

int file_read_all(const char *path, size_t limit, char **data, size_t *length, struct lam_error *err)
{
    int fd;
    int rc = open_to_read(path, &fd, err);
    if (rc < 0)
        return rc;
    rc = file_read_all_fd(fd, path, limit, data, length, err);
    close(fd);
    return rc;
}

static int map_by_reading(int fd, const char *name, size_t limit, struct file_map *map,
                          struct lam_error *err)
{
    char *data;
    size_t length;
    int rc = file_read_all_fd(fd, name, limit, &data, &length, err);
    if (rc < 0)
        return rc;
    *map = (struct file_map){.data = (const uint8_t *)data, .size_bytes = length};
    return LAM_OK;
}

int file_map_fd(int fd, const char *name, struct file_map *map, struct lam_error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return lam_error_errno(err, errno, "%s", show(name).text);
    /* A size of 0 is what files in /proc say as well. */
    if (!S_ISREG(st.st_mode) || st.st_size <= 0 || (uint64_t)st.st_size > SIZE_MAX)
        return map_by_reading(fd, name, S_ISCHR(st.st_mode) ? device_limit_bytes : read_limit_bytes,
                              map, err);
    size_t size = (size_t)st.st_size;
    const void *data = file_guard_map(fd, size);
    if (!data)
        return map_by_reading(fd, name, read_limit_bytes, map,
                              err); /* a file system without mmap, or no place */
    *map = (struct file_map){.data = data, .size_bytes = size, .is_mapped = true};
    return LAM_OK;
}

int file_map(const char *path, struct file_map *map, struct lam_error *err)
{
    int fd;
    int rc = open_to_read(path, &fd, err);
    if (rc < 0)
        return rc;
    rc = file_map_fd(fd, path, map, err);
    close(fd);
    return rc;
}

void file_unmap(struct file_map *map)
{
    if (map->is_mapped && !map->is_borrowed)
        file_guard_unmap(map->data, map->size_bytes);
    else if (!map->is_borrowed)
        mem_free((void *)(uintptr_t)map->data);
    *map = (struct file_map){0};
}

uint64_t file_map_lost_pages(const struct file_map *map)
{
    return map->is_mapped ? file_guard_lost(map->data) : 0;
}

int file_write_bytes(int fd, const void *data, size_t length)
{
    const char *at = data;
    while (length) {
        ssize_t written = write(fd, at, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        at += written;
        length -= (size_t)written;
    }
    return 0;
}

int file_write_fd(int fd, const void *data, size_t length, const char *name, struct lam_error *err)
{
    int errnum = file_write_bytes(fd, data, length);
    return errnum ? lam_error_errno(err, errnum, "%s: cannot write", show(name).text) : LAM_OK;
}

int file_copy_fd(int from, int to, const char *name, uint64_t *copied, struct lam_error *err)
{
    enum { CHUNK_BYTES = 1 << 17 };
    char *chunk = mem_alloc(CHUNK_BYTES);
    uint64_t total = 0;
    int rc = LAM_OK;
    if (!chunk)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", show(name).text);
    while (rc == LAM_OK) {
        ssize_t got = read(from, chunk, CHUNK_BYTES);
        if (got == 0)
            break;
        if (got > 0) {
            rc = file_write_fd(to, chunk, (size_t)got, name, err);
            total += (uint64_t)got;
        } else if (errno != EINTR) {
            rc = lam_error_errno(err, errno, "%s: cannot read", show(name).text);
        }
    }
    mem_free(chunk);
    if (rc == LAM_OK && copied)
        *copied = total;
    return rc;
}

/* Opens a new file beside path; *temp is its name, for mem_free(). */
static int open_beside(const char *path, char **temp, int *fd)
{
    static unsigned counter;
    for (int attempt = 0; attempt < 100; attempt++) {
        struct strbuf name = {0};
        unsigned number = __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED); /* only unique */
        strbuf_addf(&name, "%s.%ld-%u.tmp", path, (long)getpid(), number);
        *temp = strbuf_take(&name, NULL);
        if (!*temp) {
            errno = ENOMEM;
            return -1;
        }
        *fd = open(*temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (*fd >= 0)
            return 0;
        int errnum = errno;
        mem_free(*temp);
        errno = errnum;
        if (errnum != EEXIST)
            return -1;
    }
    return -1;
}

/* path is a regular file or absent. */
static int replace_file(const char *path, const struct stat *old, const void *data, size_t length,
                        struct lam_error *err)
{
    char *temp;
    int fd;
    if (open_beside(path, &temp, &fd) < 0)
        return lam_error_errno(err, errno, "%s: cannot create", show(path).text);
    int rc = file_write_fd(fd, data, length, path, err);
    if (rc == LAM_OK && old && fchmod(fd, old->st_mode & 07777) < 0)
        rc = lam_error_errno(err, errno, "%s: cannot keep its mode", show(path).text);
    if (close(fd) < 0 && rc == LAM_OK)
        rc = lam_error_errno(err, errno, "%s: cannot write", show(path).text);
    if (rc == LAM_OK && rename(temp, path) < 0)
        rc = lam_error_errno(err, errno, "%s: cannot replace", show(path).text);
    if (rc < 0)
        unlink(temp);
    mem_free(temp);
    return rc;
}

/* A device or pipe must not be replaced by a file. */
static int write_in_place(const char *path, const void *data, size_t length, struct lam_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return lam_error_errno(err, errno, "%s: cannot open", show(path).text);
    int rc = file_write_fd(fd, data, length, path, err);
    if (close(fd) < 0 && rc == LAM_OK)
        rc = lam_error_errno(err, errno, "%s: cannot write", show(path).text);
    return rc;
}

int file_write_all(const char *path, const void *data, size_t length, struct lam_error *err)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return replace_file(path, NULL, data, length, err);
    if (!S_ISREG(st.st_mode))
        return write_in_place(path, data, length, err);
    char *target = realpath(path, NULL); /* a link keeps being one */
    if (!target)
        return lam_error_errno(err, errno, "%s", show(path).text);
    int rc = replace_file(target, &st, data, length, err);
    free(target);
    return rc;
}
