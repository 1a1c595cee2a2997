#include "base/file_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

enum {
    STEP_BYTES = 1 << 18,
    STEPS_MAX_BYTES = 1 << 20, /* at once: above it the kernel looks for pieces that are hard to find */
    ALIGNMENT = 4096,          /* of memory and file, past the page cache */
};

void file_steps_begin(struct file_steps *steps, int fd, uint64_t cached_bytes)
{
    *steps = (struct file_steps){.fd = fd, .cached_bytes = cached_bytes, .size = STEP_BYTES};
    file_reserve_begin(&steps->reserve, fd);
}

static bool set_direct(struct file_steps *steps, bool is_direct)
{
    int flags = fcntl(steps->fd, F_GETFL);
    if (flags < 0 || fcntl(steps->fd, F_SETFL, is_direct ? flags | O_DIRECT : flags & ~O_DIRECT) < 0)
        return false;
    steps->is_direct = is_direct;
    return true;
}

/* Both parts, one behind the other. */
static int write_now(struct file_steps *steps, const void *first, size_t first_bytes,
                     const void *second, size_t second_bytes)
{
    struct iovec parts[2] = {{(void *)(uintptr_t)first, first_bytes},
                             {(void *)(uintptr_t)second, second_bytes}};
    file_reserve_more(&steps->reserve, first_bytes + second_bytes);
    while (parts[0].iov_len + parts[1].iov_len) {
        ssize_t written = writev(steps->fd, parts, 2);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EINVAL && steps->is_direct && set_direct(steps, false))
            continue; /* it is finer about memory or places than we know */
        if (written < 0) {
            steps->errnum = errno;
            return lam_code_from_errno(steps->errnum);
        }
        for (size_t i = 0, left = (size_t)written; i < 2; i++) {
            size_t done = left < parts[i].iov_len ? left : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + done;
            parts[i].iov_len -= done;
            left -= done;
        }
    }
    return LAM_OK;
}

/* Between steps, once. Only where blocks can be reserved: elsewhere nobody has measured it. */
static void leave_cache(struct file_steps *steps)
{
    steps->cached_bytes = UINT64_MAX;
    char *memory = steps->reserve.is_on ? mem_alloc(STEPS_MAX_BYTES + ALIGNMENT) : NULL;
    if (!memory || !set_direct(steps, true)) {
        mem_free(memory);
        return;
    }
    unsigned char *step = (unsigned char *)memory + (-(uintptr_t)memory & (ALIGNMENT - 1));
    memcpy(step, steps->step, steps->used);
    mem_free(steps->memory);
    steps->memory = memory;
    steps->step = step;
    steps->size = STEPS_MAX_BYTES;
    steps->is_copied = true;
}

/* Makes up whole steps: how many of the bytes they take. */
static size_t whole_steps(const struct file_steps *steps, size_t length)
{
    size_t whole = (steps->used + length) / steps->size * steps->size;
    return (whole < STEPS_MAX_BYTES ? whole : STEPS_MAX_BYTES) - steps->used;
}

int file_steps_write(struct file_steps *steps, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    if (!steps->memory)
        steps->memory = steps->step = mem_alloc(STEP_BYTES);
    if (!steps->memory)
        return write_now(steps, at, length, NULL, 0);
    while (steps->used + length >= steps->size) {
        size_t taken = whole_steps(steps, length), copied = steps->is_copied ? taken : 0;
        memcpy(steps->step + steps->used, at, copied);
        int rc = write_now(steps, steps->step, steps->used + copied, at + copied, taken - copied);
        if (rc < 0)
            return rc;
        steps->used = 0;
        at += taken;
        length -= taken;
    }
    memcpy(steps->step + steps->used, at, length);
    steps->used += length;
    if (steps->reserve.written >= steps->cached_bytes)
        leave_cache(steps);
    return LAM_OK;
}

int file_steps_end(struct file_steps *steps)
{
    int rc = LAM_OK;
    if (steps->is_direct)
        set_direct(steps, false);
    if (steps->used)
        rc = write_now(steps, steps->step, steps->used, NULL, 0);
    steps->used = 0;
    file_reserve_end(&steps->reserve);
    return rc;
}

void file_steps_free(struct file_steps *steps)
{
    mem_free(steps->memory);
    steps->memory = NULL;
}
