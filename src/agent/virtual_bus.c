/* virtual_bus.c: pages of ours that vanish, and SIGBUS as the program sees it.
 *
 * Space is reserved before it is written, so nothing but somebody else's truncation can take a page of the stream away.
 * The fault is ours to mend then, and must not be seen by the program. So SIGBUS has our handler; the action that the
 * program sets for it is kept here, and the kernel's own flags and mask are those of that action. Its mask is the
 * program's and real, but that agent_mask_signals and the sampling handler leave SIGBUS open: a blocked fault kills.
 */
#include "agent/agent.h"
#include "agent/virtual_signal.h"
#include "core/bytes.h"
#include "core/watch.h"

#include <errno.h>
#include <sys/mman.h>
#include <ucontext.h>

#define BUS_BIT  ((uint64_t)1 << (SIGBUS - 1))
#define TRAP_BIT ((uint64_t)1 << (AGENT_SIGNAL - 1))
/* What the kernel makes of a mask of everything but SIGBUS: SIGKILL and SIGSTOP are never in one. */
#define OUR_MASK (~(BUS_BIT | (uint64_t)1 << (SIGKILL - 1) | (uint64_t)1 << (SIGSTOP - 1)))

enum { GRAIN = 4096, CLAIMS_IN_FLIGHT = 4 * 1024 * 1024 };

static struct {
    struct sigaction user; /* the program's action */
    int ready;
    uint32_t mending;            /* a thread is in mend_header (atomic) */
    struct control_page control; /* its content at the start, for when it vanishes */
    struct stream_header header; /* ... and the stream header's, but for what moves on in it */
} bus;

/* ---- pages ---- */

/* A page that is there again, mended by another thread in between? The kernel reads it for us and tells by the error. */
static int is_there(const void *page)
{
    return sys_call4(SYS_rt_sigprocmask, -1, page, NULL, 8) == -EINVAL;
}

static int put_empty_page(void *page)
{
    return !sys_is_error(sys_mmap(page, GRAIN, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

/* A page of our own that is complete when it appears: other threads may be about to read it. */
static int put_page(void *page, const void *content)
{
    void *made = sys_mmap(NULL, GRAIN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_is_error(made))
        return 0;
    bytes_copy(made, content, GRAIN);
    return sys_call5(SYS_mremap, made, GRAIN, GRAIN, MREMAP_MAYMOVE | MREMAP_FIXED, page) ==
           (long)(intptr_t)page;
}

static int is_in(const void *address, const void *start, size_t size)
{
    return start && (uintptr_t)address >= (uintptr_t)start &&
           (uintptr_t)address - (uintptr_t)start < size;
}

/* With the first page that is found to be gone others are as well: stacks and modules begin anew. */
static void count_torn(uint32_t records)
{
    __atomic_fetch_add(&agent.torn_records, records, __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&agent.torn, 1, __ATOMIC_ACQ_REL))
        return;
    stream_abandon_pages(&agent.stream);
    stacks_start_over();
    modules_write_again();
}

/* The header is put back into the file where that can be; else it is a page of our own, and nothing is claimed any more.
 * The claim counter goes on behind whatever can have been claimed. */
static int mend_header(void *page)
{
    uint32_t idle = 0;
    while (!__atomic_compare_exchange_n(&bus.mending, &idle, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        idle = 0;
    int there = is_there(page);
    if (!there) {
        bus.header.next_offset =
            __atomic_load_n(&agent.stream.file.reached, __ATOMIC_RELAXED) + CLAIMS_IN_FLIGHT;
        bus.header.lost[STREAM_LOSS_TRUNCATED] =
            __atomic_load_n(&agent.torn_records, __ATOMIC_RELAXED) + 1;
        there = claim_restore(&agent.stream.file, 0, &bus.header, GRAIN, page) == 0 ||
                put_page(page, &bus.header);
        count_torn(1);
    }
    __atomic_store_n(&bus.mending, 0, __ATOMIC_RELEASE);
    return there;
}

/* A cursor's page is written by the thread that faults; it goes on in the next page it claims. */
static int mend_cursor(void *page, struct stream_cursor *cur)
{
    if (!is_in(page, cur->page, cur->size))
        return 0;
    size_t before = (uintptr_t)page - (uintptr_t)cur->page;
    size_t written = cur->used > before ? cur->used - before : 0;
    if (!put_empty_page(page))
        return 0;
    count_torn(cur->kind == STREAM_PAGE_SAMPLES ? (uint32_t)(written < GRAIN ? written : GRAIN) /
                                                      (uint32_t)sizeof(struct stream_sample)
                                                : 1);
    cur->used = cur->size;
    return 1;
}

static int mend(void *address)
{
    void *page = (void *)((uintptr_t)address & ~(uintptr_t)(GRAIN - 1));
    if (is_in(page, agent.stream.header, STREAM_HEADER_BYTES))
        return mend_header(page);
    if (is_in(page, agent.control, sizeof *agent.control))
        return put_page(page, &bus.control);
    enum stacks_page kind = stacks_page_at(page);
    if (kind != STACKS_PAGE_NONE) {
        if (!is_there(page) && !put_empty_page(page))
            return 0;
        if (kind == STACKS_PAGE_LAST)
            stacks_start_over();
        count_torn(1);
        return 1;
    }
    if (mend_cursor(page, modules_cursor())) {
        modules_write_again();
        return 1;
    }
    for (struct agent_thread *thread = __atomic_load_n(&agent.threads, __ATOMIC_ACQUIRE); thread;
         thread = thread->next)
        if (mend_cursor(page, &thread->samples) || mend_cursor(page, &thread->meta))
            return 1;
    /* A program's file that was cut short while we looked at it, or a page that is being begun: it reads as zero. */
    return watch_holds(page) && put_empty_page(page);
}

void bus_note_stream(void)
{
    bytes_copy(&bus.header, agent.stream.header, sizeof bus.header);
}

/* ---- the program's action ---- */

static void handler(int sig, siginfo_t *info, void *context);

static void set_real(void *function, unsigned long flags, uint64_t mask)
{
    virtual_set_real(SIGBUS, function, flags, mask, NULL);
}

static int is_function(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

/* Ours in front of the program's: the kernel blocks what the program wants blocked and uses the stack it wants used. As
 * with any other handler, one on an alternate stack runs with the sampling signal held back. */
static void take_real(void)
{
    const struct sigaction *user = &bus.user;
    uint64_t mask = ~(uint64_t)0;
    unsigned long flags = SA_ONSTACK | SA_RESTART;
    if (is_function(user)) {
        bytes_copy(&mask, &user->sa_mask, sizeof mask);
        flags = (unsigned long)user->sa_flags & (SA_ONSTACK | SA_RESTART | SA_NODEFER);
        mask = flags & SA_ONSTACK ? mask | TRAP_BIT : mask & ~TRAP_BIT;
    }
    set_real((void *)handler, flags | SA_SIGINFO, mask);
}

void bus_get(struct sigaction *out)
{
    *out = bus.user;
}

void bus_set(const struct sigaction *action)
{
    uint64_t saved;
    agent_mask_signals(&saved);
    bus.user = *action;
    take_real();
    agent_unmask_signals(&saved);
}

int bus_is_taken(void)
{
    return bus.ready;
}

void bus_init(void)
{
    bus.mending = 0;
    if (bus.ready)
        return;
    uintptr_t old = virtual_get_real(SIGBUS);
    bus.user.sa_handler = (sighandler_t)old; /* SIG_DFL, or SIG_IGN inherited over exec */
    bytes_copy(&bus.control, agent.control, sizeof bus.control);
    take_real();
    bus.ready = 1;
}

void bus_ignore(int really)
{
    if (!bus.ready || is_function(&bus.user) || bus.user.sa_handler != SIG_IGN)
        return;
    if (really)
        set_real((void *)SIG_IGN, 0, 0);
    else
        take_real();
}

void bus_before_vfork_exec(void)
{
    if (virtual_get_real(SIGBUS) == (uintptr_t)handler)
        bus_ignore(1);
}

/* ---- delivery ---- */

/* Sent by somebody, not raised by a fault. */
static int is_sent(const siginfo_t *info)
{
    return info->si_code <= 0;
}

static void send_again(siginfo_t *info)
{
    sys_call4(SYS_rt_tgsigqueueinfo, sys_getpid(), sys_gettid(), SIGBUS, info);
}

static void deliver(int sig, siginfo_t *info, void *context)
{
    struct sigaction action = bus.user;
    if (!is_function(&action)) {
        if (action.sa_handler == SIG_IGN && is_sent(info))
            return;
        /* A fault happens again at our return; what was sent is sent again. */
        set_real((void *)SIG_DFL, 0, 0);
        if (is_sent(info))
            send_again(info);
        return;
    }
    if (action.sa_flags & (int)SA_RESETHAND) {
        bus.user.sa_handler = SIG_DFL;
        bus.user.sa_flags &= ~SA_SIGINFO;
        take_real();
    }
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(sig, info, context);
    else
        action.sa_handler(sig);
}

/* Touches neither errno nor thread-local data before it is known that the signal is the program's. */
static void handler(int sig, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    uint64_t mask;
    if (!is_sent(info) && mend(info->si_addr))
        return;
    bytes_copy(&mask, &uc->uc_sigmask, sizeof mask);
    if (is_sent(info) && mask == OUR_MASK) {
        /* In the middle of our own work: it waits until the mask is the program's again. */
        mask |= BUS_BIT;
        bytes_copy(&uc->uc_sigmask, &mask, sizeof mask);
        uint64_t bit = BUS_BIT;
        sys_call4(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, 8);
        send_again(info);
        return;
    }
    deliver(sig, info, context);
}
