#include "core/procfs.h"

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

/* Field 2 is the name in parentheses and may hold anything, parentheses too: the fields are counted from the last closing
 * one. */
uint64_t procfs_kernel_start(char *buf, size_t size)
{
    if (procfs_read("/proc/self/stat", buf, size) <= 0)
        return 0;
    const char *at = NULL;
    for (const char *c = buf; *c; c++)
        if (*c == ')')
            at = c;
    if (!at)
        return 0;
    for (int field = 2; field < 22 && *at; at++)
        if (*at == ' ')
            field++;
    return text_to_u64(&at);
}
