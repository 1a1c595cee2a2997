/* futex_lock.h: a lock for what is rare (registering, interning something new). Zero is unlocked, so that a lock in memory that
 * the kernel wipes on fork is free in the child, whoever held it. Its holder has its signals blocked (signals_block()): a
 * handler cannot meet a lock of the thread that it interrupts. */
#ifndef LAMELLA_RECORDER_FUTEX_LOCK_H
#define LAMELLA_RECORDER_FUTEX_LOCK_H

#include <linux/futex.h>
#include <stdint.h>

#include "core/sys.h"

static inline void futex_lock(uint32_t *lock)
{
    uint32_t seen = 0;
    /* acquire: pairs with the release in futex_unlock(). 1 is held, 2 held and perhaps waited for. */
    if (__atomic_compare_exchange_n(lock, &seen, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(lock, 2, __ATOMIC_ACQUIRE) != 0)
        sys_call4(SYS_futex, lock, FUTEX_WAIT_PRIVATE, 2, 0);
}

static inline void futex_unlock(uint32_t *lock)
{
    if (__atomic_exchange_n(lock, 0, __ATOMIC_RELEASE) == 2)
        sys_call3(SYS_futex, lock, FUTEX_WAKE_PRIVATE, 1);
}

/* Everything but what the kernel raises for a fault, and SIGTRAP, which a sampling agent in the same process uses: to find it
 * blocked would kill. */
static inline uint64_t signals_block(void)
{
    uint64_t all = ~((uint64_t)1 << 3 | (uint64_t)1 << 4 | (uint64_t)1 << 6 | (uint64_t)1 << 7 |
                     (uint64_t)1 << 10);
    uint64_t before = 0;
    sys_call4(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, &before, sizeof before);
    return before;
}

static inline void signals_restore(uint64_t before)
{
    sys_call4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &before, 0, sizeof before);
}

#endif
