#include "base/file_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"

/* One mapping. Free when begin is 0; reserved while begin is 1. */
struct guard {
    atomic_uintptr_t begin;
    atomic_size_t size_bytes;
    atomic_uint_fast64_t lost_pages;
};

enum { GUARDS = 4096 };
#define GUARD_RESERVED ((uintptr_t)1)

static struct guard guards[GUARDS];
static atomic_size_t guards_used; /* no slot at or beyond it has ever been used */
static atomic_uint_fast64_t lost_pages;
static struct sigaction action_before;
static size_t page_bytes;
static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread volatile sig_atomic_t is_passing_on; /* the handler before us may call us back */

/* Runs in the signal handler: atomics only. acquire: pairs with the release in file_guard_map(), so
 * that a begin that is seen comes with its size. The mapping that faulted was published before this
 * thread could have got its address. */
static struct guard *guard_of(uintptr_t address)
{
    size_t used = atomic_load_explicit(&guards_used, memory_order_acquire);
    for (size_t i = 0; i < used; i++) {
        uintptr_t begin = atomic_load_explicit(&guards[i].begin, memory_order_acquire);
        size_t size = atomic_load_explicit(&guards[i].size_bytes, memory_order_relaxed);
        if (begin > GUARD_RESERVED && address >= begin && address - begin < size)
            return &guards[i];
    }
    return NULL;
}

/* Async-signal-safe, returns true when the page reads as zeros from now on. mmap is a plain system
 * call. Writable, for a user may have made its private mapping so (libelf marks in section headers). */
static bool replace_page(struct guard *guard, uintptr_t address)
{
    void *page = (void *)(address & ~(page_bytes - 1)); // NOLINT: an address from the kernel
    void *got = mmap(page, page_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (got == MAP_FAILED)
        return false;
    /* relaxed: counts */
    atomic_fetch_add_explicit(&lost_pages, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&guard->lost_pages, 1, memory_order_relaxed);
    return true;
}

/* What happens by default: a fault happens again when we return, a signal that was sent has to be
 * sent again. Async-signal-safe. */
static void die_of(int signum, const siginfo_t *info)
{
    struct sigaction fatal = {.sa_handler = SIG_DFL};
    sigaction(signum, &fatal, NULL);
    if (info->si_code <= 0)
        raise(signum);
}

/* What would have happened without us. */
static void pass_on(int signum, siginfo_t *info, void *context)
{
    if (is_passing_on) {
        die_of(signum, info);
        return;
    }
    is_passing_on = 1;
    if (action_before.sa_flags & SA_SIGINFO)
        action_before.sa_sigaction(signum, info, context);
    else if (action_before.sa_handler != SIG_DFL && action_before.sa_handler != SIG_IGN)
        action_before.sa_handler(signum);
    else if (action_before.sa_handler == SIG_DFL || info->si_code > 0)
        die_of(signum, info);
    is_passing_on = 0;
}

static void on_sigbus(int signum, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    struct guard *guard = info->si_code == BUS_ADRERR ? guard_of(address) : NULL;
    if (!guard || !replace_page(guard, address))
        pass_on(signum, info, context);
    errno = saved_errno;
}

/* Makes our handler the first one, also after somebody else has put theirs before it. */
static bool install(void)
{
    struct sigaction now;
    struct sigaction ours = {.sa_sigaction = on_sigbus,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&ours.sa_mask);
    pthread_mutex_lock(&install_lock);
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    bool is_installed = sigaction(SIGBUS, NULL, &now) == 0;
    if (is_installed && !((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_sigbus)) {
        action_before = now;
        is_installed = sigaction(SIGBUS, &ours, NULL) == 0;
    }
    pthread_mutex_unlock(&install_lock);
    return is_installed;
}

/* Takes a free slot, or NULL. */
static struct guard *reserve(void)
{
    for (size_t i = 0; i < GUARDS; i++) {
        uintptr_t free_slot = 0;
        /* acquire on success: pairs with the release in file_guard_unmap(), so that we do not write
         * the size before the last user of the slot has let it go */
        if (!atomic_compare_exchange_strong_explicit(&guards[i].begin, &free_slot, GUARD_RESERVED,
                                                     memory_order_acquire, memory_order_relaxed))
            continue;
        size_t used = atomic_load_explicit(&guards_used, memory_order_relaxed);
        /* release: pairs with the acquire in guard_of(); nothing else is published through it */
        while (used < i + 1 &&
               !atomic_compare_exchange_weak_explicit(&guards_used, &used, i + 1,
                                                      memory_order_release, memory_order_relaxed))
            ;
        return &guards[i];
    }
    return NULL;
}

const void *file_guard_map(int fd, size_t size_bytes)
{
    struct guard *guard = install() ? reserve() : NULL;
    if (!guard)
        return NULL;
    void *data = mmap(NULL, size_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    atomic_store_explicit(&guard->size_bytes, size_bytes, memory_order_relaxed);
    atomic_store_explicit(&guard->lost_pages, 0, memory_order_relaxed);
    /* release: pairs with the acquire in guard_of() */
    atomic_store_explicit(&guard->begin, data == MAP_FAILED ? 0 : (uintptr_t)data,
                          memory_order_release);
    return data == MAP_FAILED ? NULL : data;
}

void file_guard_unmap(const void *data, size_t size_bytes)
{
    for (size_t i = 0; i < GUARDS; i++) {
        if (atomic_load_explicit(&guards[i].begin, memory_order_relaxed) != (uintptr_t)data)
            continue;
        /* The address leaves the table before another thread's mapping can get it, the slot becomes
         * free after. relaxed: nobody may read a mapping that is being given back, so no fault
         * needs it in between. */
        atomic_store_explicit(&guards[i].begin, GUARD_RESERVED, memory_order_relaxed);
        munmap((void *)(uintptr_t)data, size_bytes);
        /* release: pairs with the acquire in reserve() */
        atomic_store_explicit(&guards[i].begin, 0, memory_order_release);
        return;
    }
}

uint64_t file_guard_lost(const void *data)
{
    const struct guard *guard = guard_of((uintptr_t)data);
    /* relaxed: as below */
    return guard ? atomic_load_explicit(&guard->lost_pages, memory_order_relaxed) : 0;
}

uint64_t file_lost_pages(void)
{
    /* relaxed: a fault of this thread was counted in this thread, before it went on */
    return atomic_load_explicit(&lost_pages, memory_order_relaxed);
}
