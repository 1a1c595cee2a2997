#include "core/claim.h"

#include "core/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* The file-size limit is asked for first: past it fallocate would raise SIGXFSZ, which kills. */
static int past_file_limit(uint64_t end)
{
    struct rlimit limit;
    if (sys_call4(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    return end > limit.rlim_cur;
}

static int is_same_file(const struct claim_file *file)
{
    struct stat st;
    if (sys_fstat(file->fd, &st) < 0)
        return 0;
    return st.st_ino == file->inode && st.st_dev == file->device;
}

/* By its name, if that still is this file. Two threads may both do it; the loser's descriptor stays open, unused. */
static int open_again(struct claim_file *file)
{
    if (!file->path)
        return -EBADF;
    int fd = sys_openat(AT_FDCWD, file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
    if (fd < 0)
        return -EBADF;
    fd = claim_move_high(fd);
    struct claim_file found = {.fd = fd, .device = file->device, .inode = file->inode};
    if (!is_same_file(&found)) {
        sys_close(fd);
        return -EBADF;
    }
    file->fd = fd;
    if (file->reopened)
        file->reopened(fd);
    return 0;
}

int claim_write(const struct claim_file *file, uint64_t offset, const void *bytes, uint64_t size)
{
    const uint8_t *at = bytes;
    while (size) {
        long wrote = sys_call4(SYS_pwrite64, file->fd, at, size, offset);
        if (wrote == -EINTR)
            continue;
        if (wrote <= 0)
            return wrote < 0 ? (int)wrote : -EIO;
        at += wrote;
        offset += (uint64_t)wrote;
        size -= (uint64_t)wrote;
    }
    return 0;
}

/* A file system that cannot reserve has its blocks taken by zeros. */
static int write_zeros(int fd, uint64_t offset, uint32_t size)
{
    static const uint8_t zeros[4096];
    struct claim_file file = {.fd = fd};
    int rc = 0;
    for (uint32_t at = 0; at < size && rc == 0; at += (uint32_t)sizeof zeros)
        rc = claim_write(&file, offset + at, zeros, sizeof zeros);
    return rc;
}

static int reserve(int fd, uint64_t offset, uint32_t size)
{
    long rc;
    do
        rc = sys_call4(SYS_fallocate, fd, 0, offset, size);
    while (rc == -EINTR);
    return rc == -EOPNOTSUPP ? write_zeros(fd, offset, size) : (int)rc;
}

int claim_restore(struct claim_file *file, uint64_t offset, const void *content, uint32_t size,
                  void *at)
{
    if (!is_same_file(file) && open_again(file) < 0)
        return -EBADF;
    if (past_file_limit(offset + size))
        return -EFBIG;
    int rc = reserve(file->fd, offset, size);
    if (rc < 0)
        return rc;
    if (sys_call4(SYS_pwrite64, file->fd, content, size, offset) != (long)size)
        return -EIO;
    void *map = sys_mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file->fd, offset);
    return sys_is_error(map) ? (int)(intptr_t)map : 0;
}

int claim_offset(struct claim_file *file, uint32_t size, uint64_t *offset)
{
    if (!is_same_file(file) && open_again(file) < 0)
        return -EBADF;
    /* Looked at before the add, so that a refused claim leaves no hole; a race past the budget costs one stretch a
     * thread at most. relaxed: the counter orders nothing, each stretch is published by its own header. */
    uint64_t seen = __atomic_load_n(file->cursor, __ATOMIC_RELAXED);
    if ((file->max_bytes && seen + size > file->max_bytes) || past_file_limit(seen + size))
        return -EFBIG;
    *offset = __atomic_fetch_add(file->cursor, size, __ATOMIC_RELAXED);
    return 0;
}

/* Nothing was written there: the next claim may have it, unless somebody claimed what lies behind meanwhile. So tries on a full disk
 * use up neither the budget nor the file's addresses. */
static void give_back(struct claim_file *file, uint64_t offset, uint32_t size)
{
    uint64_t end = offset + size;
    (void)__atomic_compare_exchange_n(file->cursor, &end, offset, 0, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED);
}

int claim_stretch(struct claim_file *file, uint32_t size, uint64_t *offset, void **map)
{
    uint64_t at;
    int rc = claim_offset(file, size, &at);
    if (rc < 0)
        return rc;
    rc = reserve(file->fd, at, size);
    if (rc < 0) {
        give_back(file, at, size);
        return rc;
    }
    void *at_map =
        sys_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file->fd, at);
    if (sys_is_error(at_map))
        return (int)(intptr_t)at_map;
    uint64_t reached = __atomic_load_n(&file->reached, __ATOMIC_RELAXED);
    while (reached < at + size && !__atomic_compare_exchange_n(&file->reached, &reached, at + size,
                                                               0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
    *offset = at;
    *map = at_map;
    return 0;
}

int claim_move_high(int fd)
{
    struct rlimit limit;
    if (sys_call4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &limit) < 0)
        return fd;
    uint64_t top = limit.rlim_cur < 65536 ? limit.rlim_cur : 65536;
    for (uint64_t low = top > 32 ? top - 32 : 0; low > (uint64_t)fd; low = low > 256 ? low - 256 : 0) {
        long high = sys_call3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, low);
        if (high >= 0) {
            sys_close(fd);
            return (int)high;
        }
    }
    return fd;
}
