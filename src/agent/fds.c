/* fds.c: which descriptors are ours. A bit a descriptor, so that the wrappers of close and its kin can step around
 * them; all atomic, no lock, async-signal-safe. */
#include "agent/agent.h"

enum { FDS_MAX = 65536 + 64 };

static uint64_t bits[FDS_MAX / 64];

void fds_protect(int fd)
{
    if (fd >= 0 && fd < FDS_MAX)
        __atomic_fetch_or(&bits[fd / 64], (uint64_t)1 << (fd % 64), __ATOMIC_RELAXED);
}

void fds_release(int fd)
{
    if (fd >= 0 && fd < FDS_MAX)
        __atomic_fetch_and(&bits[fd / 64], ~((uint64_t)1 << (fd % 64)), __ATOMIC_RELAXED);
}

int fds_is_ours(int fd)
{
    return fd >= 0 && fd < FDS_MAX &&
           (__atomic_load_n(&bits[fd / 64], __ATOMIC_RELAXED) >> (fd % 64) & 1);
}
