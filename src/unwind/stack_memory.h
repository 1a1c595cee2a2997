/* How the unwinder reads the memory of the thread it looks at: in this process, or from a dump. */
#ifndef LAM_UNWIND_STACK_MEMORY_H
#define LAM_UNWIND_STACK_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Plain loads from memory that is not ours to know: a sanitizer would object to the red zones of a foreign frame. */
#if defined(__clang__)
#define UNWIND_RAW __attribute__((no_sanitize("address", "thread", "memory")))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNWIND_RAW __attribute__((no_sanitize_address, no_sanitize_thread))
#else
#define UNWIND_RAW
#endif

enum { UNWIND_PAGE_BITS = 12, UNWIND_PAGES = 32 };

/* Pages of this process that were found readable during the present stack, by the low bits of their number. A page can
 * be unmapped by another thread at any time, so nothing is remembered from one stack to the next; the pages of the
 * stack being unwound cannot go while its thread is in our handler. */
struct unwind_pages {
    uint64_t good[UNWIND_PAGES]; /* page numbers; UINT64_MAX, which no page has, for none */
    uint32_t checks;             /* system calls made since the owner last set it to 0 */
};

struct unwind_memory {
    /* Reads the 8 bytes at addr, which need not be aligned; 0, or -1 when one of them cannot be read.
     * Async-signal-safe where unwinding must be. */
    int (*read_word)(void *ctx, uint64_t addr, uint64_t *out);
    void *ctx;
    struct unwind_pages *pages; /* this process's memory: lets unwind_read() skip the call; else NULL */
    /* Addresses that the caller knows to be readable while it unwinds, [sure_start, sure_end): the running thread's own
     * stack from its stack pointer up. Empty when nothing is known; only with pages. */
    uint64_t sure_start, sure_end;
};

/* This process's own memory. Each new page is checked by a system call that reads 8 bytes of it and has no effect.
 * Async-signal-safe; errno untouched. */
void unwind_memory_self(struct unwind_memory *out, struct unwind_pages *pages);

/* Forgets which pages are readable: at the start of every stack. */
void unwind_pages_reset(struct unwind_pages *pages);

/* One check: can 8 bytes at addr be read? No side effects; async-signal-safe. */
int unwind_readable(uint64_t addr);

/* A stack that was copied: size bytes of memory from address base on, and, asked when an address is outside, another
 * source (a module's text, for the check for call instructions) or NULL. Keeps the pointers. */
struct unwind_dump {
    uint64_t base;
    const uint8_t *bytes;
    size_t size;
    int (*other)(void *ctx, uint64_t addr, uint64_t *out);
    void *other_ctx;
};
void unwind_memory_dump(struct unwind_memory *out, struct unwind_dump *dump);

typedef uint64_t unwind_word __attribute__((aligned(1), may_alias));

UNWIND_RAW static inline uint64_t unwind_load(uint64_t addr)
{
    return *(const unwind_word *)(uintptr_t)addr;
}

UNWIND_RAW static inline int unwind_read(const struct unwind_memory *memory, uint64_t addr,
                                         uint64_t *out)
{
    uint64_t page = addr >> UNWIND_PAGE_BITS;
    if (addr - memory->sure_start < memory->sure_end - memory->sure_start &&
        memory->sure_end - addr >= 8) {
        *out = unwind_load(addr);
        return 0;
    }
    if (memory->pages && memory->pages->good[page % UNWIND_PAGES] == page &&
        (addr & ((1u << UNWIND_PAGE_BITS) - 1)) <= (1u << UNWIND_PAGE_BITS) - 8) {
        *out = unwind_load(addr);
        return 0;
    }
    return memory->read_word(memory->ctx, addr, out);
}

#endif
