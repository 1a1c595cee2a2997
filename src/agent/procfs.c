#include "agent/procfs.h"

#include "core/bytes.h"
#include "core/sys.h"

long procfs_read(const char *path, char *buf, size_t size)
{
    buf[0] = 0;
    int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return fd;
    size_t used = 0;
    long got = 1;
    while (got > 0 && used < size - 1) {
        got = sys_read(fd, buf + used, size - 1 - used);
        if (got > 0)
            used += (size_t)got;
    }
    sys_close(fd);
    buf[used] = 0;
    return got < 0 ? got : (long)used;
}

uint64_t procfs_field(const char *text, const char *key)
{
    const char *at = text_find(text, key);
    if (!at)
        return UINT64_MAX;
    at += bytes_length(key);
    while (*at == ' ' || *at == '\t')
        at++;
    return text_to_u64(&at);
}
