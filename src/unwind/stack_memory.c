#include "unwind/stack_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

/* rt_sigprocmask(how, set, NULL, 8) straight to the kernel: no errno, no cancellation, no wrapper that somebody
 * interposed. */
static long raw_sigprocmask(long how, uint64_t set)
{
#if defined(__x86_64__)
    long result;
    register long size __asm__("r10") = 8;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)SYS_rt_sigprocmask), "D"(how), "S"(set), "d"(0L), "r"(size)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long number __asm__("x8") = SYS_rt_sigprocmask;
    register long x0 __asm__("x0") = how;
    register uint64_t x1 __asm__("x1") = set;
    register long x2 __asm__("x2") = 0;
    register long x3 __asm__("x3") = 8;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(number), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
#else
    (void)how;
    (void)set;
    return -ENOSYS;
#endif
}

/* The kernel copies the set in before it looks at how: EFAULT for an address that cannot be read, EINVAL for how, and
 * in both cases the mask stays as it was. Every seccomp filter lets this call through. */
int unwind_readable(uint64_t addr)
{
    if (addr == 0)
        return 0; /* a null set means "only tell me the mask" and succeeds */
    return raw_sigprocmask(-1, addr) == -EINVAL;
}

void unwind_pages_reset(struct unwind_pages *pages)
{
    memset(pages->good, 0xff, sizeof pages->good);
}

static int page_check(struct unwind_pages *pages, uint64_t page)
{
    uint64_t *slot = &pages->good[page % UNWIND_PAGES];
    if (*slot == page)
        return 0;
    pages->checks++;
    if (!unwind_readable(page << UNWIND_PAGE_BITS))
        return -1;
    *slot = page;
    return 0;
}

static int self_read_word(void *ctx, uint64_t addr, uint64_t *out)
{
    if (addr > UINT64_MAX - 7)
        return -1;
    uint64_t first = addr >> UNWIND_PAGE_BITS, last = (addr + 7) >> UNWIND_PAGE_BITS;
    if (page_check(ctx, first) < 0 || (last != first && page_check(ctx, last) < 0))
        return -1;
    *out = unwind_load(addr);
    return 0;
}

void unwind_memory_self(struct unwind_memory *out, struct unwind_pages *pages)
{
    pages->checks = 0;
    unwind_pages_reset(pages);
    *out = (struct unwind_memory){.read_word = self_read_word, .ctx = pages, .pages = pages};
}

static int dump_read_word(void *ctx, uint64_t addr, uint64_t *out)
{
    const struct unwind_dump *dump = ctx;
    uint64_t at = addr - dump->base;
    if (addr >= dump->base && dump->size >= 8 && at <= dump->size - 8) {
        memcpy(out, dump->bytes + at, 8);
        return 0;
    }
    return dump->other ? dump->other(dump->other_ctx, addr, out) : -1;
}

void unwind_memory_dump(struct unwind_memory *out, struct unwind_dump *dump)
{
    *out = (struct unwind_memory){.read_word = dump_read_word, .ctx = dump};
}
