/* counters.c: hardware counters of a thread, by perf_event_open, read with rdpmc where the kernel allows it. */
#include "recorder/recorder_state.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* The raw event "interrupts taken": Intel HW_INTERRUPTS.RECEIVED (umask 1, event 0xcb), AMD LsIntTaken (event 0x2c). 0: this
 * processor has none that we know. */
static uint64_t interrupts_event(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__get_cpuid(0, &a, &b, &c, &d))
        return 0;
    if (b == signature_INTEL_ebx)
        return 0x1cb;
    if (b == signature_AMD_ebx)
        return 0x2c;
#endif
    return 0;
}

static int open_event(uint32_t type, uint64_t config, int with_kernel)
{
    struct perf_event_attr attr = {
        .type = type,
        .size = sizeof attr,
        .config = config,
        .pinned =
            1, /* always on the processor: one that shares it with others counts a part of the time, unsaid */
        .exclude_kernel = !with_kernel,
        .exclude_hv = 1,
    };
    return (int)sys_call5(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int code_of(int rc)
{
    return rc == -EACCES || rc == -EPERM ? LAM_E_PERM : LAM_E_UNSUPPORTED;
}

static void close_one(struct perf_event_value *value)
{
    if (value->page)
        sys_munmap(value->page, 4096);
    if (value->fd)
        sys_close(value->fd - 1);
    value->fd = 0;
    value->page = NULL;
}

static int open_one(struct perf_event_value *value, uint32_t type, uint64_t config, int with_kernel)
{
    int fd = open_event(type, config, with_kernel);
    if (fd < 0)
        return code_of(fd);
    /* High: a program that closes descriptors it does not know, or opens its own in their place, begins below. */
    value->fd = claim_move_high(fd) + 1;
    void *page = sys_mmap(NULL, 4096, PROT_READ, MAP_SHARED, value->fd - 1, 0);
    value->page = sys_is_error(page) ? NULL : page;
    /* A pinned event that found no place on the processor reads as the end of a file. */
    uint64_t count;
    if (sys_read(value->fd - 1, &count, sizeof count) == (long)sizeof count)
        return LAM_OK;
    close_one(value);
    return LAM_E_UNSUPPORTED;
}

static void counter_close(struct perf_counter *counter)
{
    close_one(&counter->main);
    close_one(&counter->irqs);
    counter->which = 0;
}

static int counter_open(struct perf_counter *counter, enum lam_counter which)
{
    counter->which = which;
    if (which == LAM_COUNTER_CPU_TIME)
        return LAM_OK;
    int rc = open_one(
        &counter->main, PERF_TYPE_HARDWARE,
        which == LAM_COUNTER_CYCLES ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_HW_INSTRUCTIONS, 0);
    if (rc == LAM_OK && which == LAM_COUNTER_INSTRUCTIONS_MINUS_IRQS) {
        uint64_t event = interrupts_event();
        rc = event ? open_one(&counter->irqs, PERF_TYPE_RAW, event, 1) : (int)LAM_E_UNSUPPORTED;
    }
    if (rc < 0)
        counter_close(counter);
    return rc;
}

#if defined(__x86_64__)
/* The protocol of perf_event_mmap_page: `lock` changes when the kernel moved the counter. */
static int read_in_user_mode(const struct perf_event_mmap_page *page, uint64_t *out)
{
    uint32_t seen;
    do {
        seen = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
        uint32_t index = page->index;
        if (!page->cap_user_rdpmc || !index)
            return 0;
        uint64_t value = __builtin_ia32_rdpmc((int)index - 1);
        uint32_t unused = 64u - page->pmc_width;
        *out = (uint64_t)page->offset + (uint64_t)((int64_t)(value << unused) >> unused);
        __asm__ volatile("" ::: "memory"); /* this processor keeps loads in order */
    } while (__atomic_load_n(&page->lock, __ATOMIC_RELAXED) != seen);
    return 1;
}
#else
static int read_in_user_mode(const struct perf_event_mmap_page *page, uint64_t *out)
{
    (void)page, (void)out;
    return 0;
}
#endif

static uint64_t read_one(const struct perf_event_value *value)
{
    uint64_t count = 0;
    if (value->page && read_in_user_mode(value->page, &count))
        return count;
    if (value->fd)
        sys_read(value->fd - 1, &count, sizeof count);
    return count;
}

uint64_t counter_read(const struct perf_counter *counter)
{
    if (counter->which == LAM_COUNTER_CPU_TIME) {
        struct timespec ts = {0, 0};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
    }
    uint64_t value = read_one(&counter->main);
    return counter->irqs.fd ? value - read_one(&counter->irqs) : value;
}

/* ---- of a lane ---- */

static enum lam_counter counter_of_clock(uint32_t clock)
{
    switch (clock) {
    case LAM_CLOCK_INSTRUCTIONS:
        return LAM_COUNTER_INSTRUCTIONS;
    case LAM_CLOCK_INSTRUCTIONS_MINUS_IRQS:
        return LAM_COUNTER_INSTRUCTIONS_MINUS_IRQS;
    case LAM_CLOCK_CYCLES:
        return LAM_COUNTER_CYCLES;
    default:
        return 0;
    }
}

uint32_t counters_list(uint32_t bits, enum lam_counter out[4])
{
    uint32_t count = 0;
    for (uint32_t bit = 1; bit <= LAM_COUNTER_CYCLES; bit <<= 1)
        if (bits & bit)
            out[count++] = bit;
    return count;
}

int counters_open(struct lane *lane)
{
    enum lam_counter list[4];
    uint32_t count = counters_list(lane->rec->counters, list);
    enum lam_counter of_clock = counter_of_clock(lane->clock);
    int rc = of_clock ? counter_open(&lane->clock_counter, of_clock) : LAM_OK;
    for (uint32_t i = 0; i < count && rc == LAM_OK; i++)
        rc = counter_open(&lane->counter[i], list[i]);
    if (rc < 0)
        counters_close(lane);
    return rc;
}

void counters_close(struct lane *lane)
{
    counter_close(&lane->clock_counter);
    for (int i = 0; i < 4; i++)
        counter_close(&lane->counter[i]);
}

int counters_probe(uint32_t clock, uint32_t counters)
{
    enum lam_counter of_clock = counter_of_clock(clock);
    uint32_t wanted = counters | (uint32_t)of_clock;
    for (uint32_t bit = LAM_COUNTER_INSTRUCTIONS; bit <= LAM_COUNTER_CYCLES; bit <<= 1) {
        struct perf_counter counter = {0};
        if (!(wanted & bit))
            continue;
        int rc = counter_open(&counter, bit);
        counter_close(&counter);
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}
