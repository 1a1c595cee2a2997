/* fds.c: which descriptors are ours. A bit a descriptor, so that the wrappers of close and its kin can step around
 * them; all atomic, no lock, async-signal-safe. */
#include "agent/agent.h"

enum { FDS_MAX = 65536 + 64 };

static uint64_t bits[FDS_MAX / 64];

/* The program's signalfds that want our signal: few programs have one, none has many. */
enum { SIGNALFDS_MAX = 8 };
static int signalfds[SIGNALFDS_MAX]; /* fd + 1; 0 = free (atomic) */
static uint32_t any_signalfd;        /* 1 since the first (atomic) */

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

void fds_note_signalfd(int fd, int wants)
{
    for (int i = 0; i < SIGNALFDS_MAX; i++)
        if (__atomic_load_n(&signalfds[i], __ATOMIC_RELAXED) == fd + 1)
            __atomic_store_n(&signalfds[i], 0, __ATOMIC_RELAXED);
    for (int i = 0; wants && i < SIGNALFDS_MAX; i++) {
        int none = 0;
        if (__atomic_compare_exchange_n(&signalfds[i], &none, fd + 1, 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            __atomic_store_n(&any_signalfd, 1, __ATOMIC_RELAXED);
            return;
        }
    }
}

int fds_is_signalfd(int fd)
{
    if (!__atomic_load_n(&any_signalfd, __ATOMIC_RELAXED))
        return 0;
    for (int i = 0; i < SIGNALFDS_MAX; i++)
        if (__atomic_load_n(&signalfds[i], __ATOMIC_RELAXED) == fd + 1)
            return 1;
    return 0;
}
