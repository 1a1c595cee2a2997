#include "base/file_reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    FIRST_BYTES = 1 << 20, /* smaller files gain nothing */
    STEP_BYTES = 8 << 20,
};

void file_reserve_begin(struct file_reserve *reserve, int fd)
{
    struct statfs fs;
    *reserve = (struct file_reserve){.fd = fd};
    reserve->is_on = fstatfs(fd, &fs) == 0 && fs.f_type == EXT4_SUPER_MAGIC;
}

void file_reserve_more(struct file_reserve *reserve, size_t bytes)
{
    reserve->written += bytes;
    if (!reserve->is_on || reserve->written <= reserve->reserved || reserve->written < FIRST_BYTES)
        return;
    int before = errno;
    uint64_t from =
        reserve->reserved; /* also of what was written before: all of it or nothing is written back early */
    uint64_t size = reserve->written - from + STEP_BYTES;
    reserve->is_on = from <= INT64_MAX - size &&
                     fallocate(reserve->fd, FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)size) == 0;
    if (reserve->is_on)
        reserve->reserved = from + size;
    errno = before;
}

void file_reserve_end(struct file_reserve *reserve)
{
    int before = errno;
    if (reserve->reserved > reserve->written && ftruncate(reserve->fd, (off_t)reserve->written) < 0)
        errno = before; /* it keeps its blocks, and is right all the same */
    reserve->is_on = false;
}
