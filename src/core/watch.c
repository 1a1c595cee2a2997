#include "core/watch.h"

#include <stddef.h>

enum { WATCHED_MAX = 16 };

static struct {
    uintptr_t start; /* 0: free (atomic) */
    uint64_t size;
} watched[WATCHED_MAX];

int watch_begin(const void *start, uint64_t size)
{
    for (int i = 0; i < WATCHED_MAX; i++) {
        uintptr_t none = 0;
        /* relaxed: only a fault of this very thread asks for this entry. */
        if (__atomic_compare_exchange_n(&watched[i].start, &none, (uintptr_t)start, 0,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            __atomic_store_n(&watched[i].size, size, __ATOMIC_RELAXED);
            return i;
        }
    }
    return -1;
}

void watch_end(int at)
{
    if (at >= 0)
        __atomic_store_n(&watched[at].start, 0, __ATOMIC_RELAXED);
}

int watch_holds(const void *address)
{
    uintptr_t at = (uintptr_t)address;
    for (int i = 0; i < WATCHED_MAX; i++) {
        uintptr_t start = __atomic_load_n(&watched[i].start, __ATOMIC_RELAXED);
        if (start && at >= start && at - start < __atomic_load_n(&watched[i].size, __ATOMIC_RELAXED))
            return 1;
    }
    return 0;
}
