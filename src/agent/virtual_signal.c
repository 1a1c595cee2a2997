/* virtual_signal.c: the sampling signal as the program sees it.
 *
 * Really, SIGTRAP is always unblocked and handled by us. What the program asked for (its handler, its mask, what is
 * pending for it) is kept here, and a SIGTRAP that is not a sample is treated as its own kernel would have.
 * interpose_signal.c holds the wrappers; this file holds the state and the delivery.
 */
#include "agent/virtual_signal.h"

#include "agent/agent.h"
#include "core/bytes.h"

#include <errno.h>
#include <sys/mman.h>
#include <ucontext.h>

/* The kernel's own struct sigaction; libc's differs, and libc's function is ours to stand in front of. */
struct kernel_sigaction {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

enum { KERNEL_SA_RESTORER = 0x04000000 };
#define SIGNAL_BIT(sig) ((uint64_t)1 << ((sig)-1))

static struct {
    struct sigaction user; /* what the program set; written by sigaction callers, read by the handler */
    uint32_t busy;         /* a writer is in (atomic) */
} state;

#if defined(__x86_64__)
/* A signal handler returns through this; the unwinder knows the instruction sequence. */
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden agent_restorer\n"
        ".globl agent_restorer\n"
        ".type agent_restorer, @function\n"
        "nop\n"
        "agent_restorer:\n"
        "mov $15, %rax\n"
        "syscall\n"
        ".size agent_restorer, . - agent_restorer\n");
extern void agent_restorer(void);
#endif

void agent_mask_signals(uint64_t *saved)
{
    /* A fault in a page of the stream must reach virtual_bus.c. */
    uint64_t all = ~SIGNAL_BIT(SIGBUS);
    sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &all, saved, 8);
}

void agent_unmask_signals(const uint64_t *saved)
{
    sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, saved, NULL, 8);
}

void virtual_set_real(int sig, void *function, unsigned long flags, uint64_t mask,
                      struct kernel_sigaction *old)
{
    struct kernel_sigaction action = {.handler = function, .flags = flags, .mask = mask};
#if defined(__x86_64__)
    action.flags |= KERNEL_SA_RESTORER;
    action.restorer = (void *)agent_restorer;
#endif
    sys_call4(SYS_rt_sigaction, sig, &action, old, 8);
}

uintptr_t virtual_get_real(int sig)
{
    struct kernel_sigaction real = {0};
    sys_call4(SYS_rt_sigaction, sig, NULL, &real, 8);
    return (uintptr_t)real.handler;
}

static void set_real_action(void *handler, unsigned long flags, uint64_t mask,
                            struct kernel_sigaction *old)
{
    virtual_set_real(AGENT_SIGNAL, handler, flags, mask, old);
}

static void take_real_action(struct kernel_sigaction *old)
{
    set_real_action((void *)sampling_handler, SA_SIGINFO | SA_ONSTACK | SA_RESTART,
                    ~SIGNAL_BIT(SIGBUS), old);
}

int virtual_signal_init(void)
{
    state.busy = 0; /* a writer in another thread of the parent is not in a forked child */
    if (!agent.signal_ready) {
        struct kernel_sigaction old = {0};
        take_real_action(&old);
        state.user.sa_handler =
            (sighandler_t)old.handler; /* SIG_DFL, or SIG_IGN that was inherited over exec */
        agent.signal_ready = 1;
    }
    return 0;
}

/* ---- handlers ---- */

void virtual_signal_get(struct sigaction *out)
{
    *out = state.user;
}

void virtual_signal_set(const struct sigaction *action)
{
    uint64_t saved;
    uint32_t idle;
    agent_mask_signals(&saved);
    do
        idle = 0;
    while (!__atomic_compare_exchange_n(&state.busy, &idle, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
    state.user = *action;
    __atomic_store_n(&state.busy, 0, __ATOMIC_RELEASE);
    agent_unmask_signals(&saved);
}

static void die_by_default(void)
{
    uint64_t open = ~SIGNAL_BIT(AGENT_SIGNAL);
    set_real_action((void *)SIG_DFL, 0, 0, NULL);
    sys_call3(SYS_tgkill, sys_getpid(), sys_gettid(), AGENT_SIGNAL);
    sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &open, NULL, 8);
}

/* Did an instruction of the program raise it (int3, a hardware breakpoint), and not somebody who sent it? The kernel
 * forces such a one past blocking and ignoring. */
static int is_forced(const siginfo_t *info)
{
    return info->si_code > 0;
}

#define HANDLER_MARK 0x6c616d656c6c6168u

/* Is code with this stack pointer called from the program's running handler for the signal? A handler that was left by
 * longjmp is told by a stack pointer above it; and, when the program has gone as deep again, by its mark on the stack,
 * which has been written over. */
static int is_in_handler(const struct agent_thread *self, uintptr_t sp)
{
    return self->handler_frame && sp < self->handler_frame &&
           *(const volatile uint64_t *)self->handler_frame == HANDLER_MARK;
}

static uintptr_t interrupted_sp(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#else
    return (uintptr_t)context->uc_mcontext.sp;
#endif
}

static void call_user_handler(int sig, siginfo_t *info, void *context)
{
    struct sigaction action = state.user;
    ucontext_t *uc = context;
    uint64_t mask, now = 0;
    bytes_copy(&mask, &uc->uc_sigmask, sizeof mask);
    uint64_t wanted;
    bytes_copy(&wanted, &action.sa_mask, sizeof wanted);
    struct agent_thread *self = thread_self();
    uintptr_t handler_frame = self ? self->handler_frame : 0;
    volatile uint64_t mark = HANDLER_MARK; /* see is_in_handler */
    if (self && (!(action.sa_flags & SA_NODEFER) || wanted & SIGNAL_BIT(sig)))
        self->handler_frame = (uintptr_t)&mark;
    if (action.sa_flags & (int)SA_RESETHAND) {
        state.user.sa_handler = SIG_DFL;
        state.user.sa_flags &= ~SA_SIGINFO;
    }
    /* The handler runs with its own mask, ours left open so that it is sampled like anything else. */
    mask = (mask | wanted) & ~SIGNAL_BIT(AGENT_SIGNAL);
    sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &now, 8);
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(sig, info, context);
    else
        action.sa_handler(sig);
    sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &now, NULL, 8);
    mark = 0;
    if (!self)
        return;
    self->handler_frame = handler_frame;
    /* One that came meanwhile: sent again, it arrives when this handler returns to the kernel. */
    siginfo_t later;
    if (!virtual_mask_blocks() && virtual_mask_take(&later))
        sys_call4(SYS_rt_tgsigqueueinfo, agent.pid, self->tid, AGENT_SIGNAL, &later);
}

void virtual_signal_deliver(int sig, siginfo_t *info, void *context)
{
    /* A sample that was already on its way when its timer or event was taken down. */
    if (engine_any_owns(info))
        return;
    struct agent_thread *self = agent_is_active() ? thread_self() : NULL;
    int forced = is_forced(info);
    int blocked = self && (self->blocks_signal || is_in_handler(self, interrupted_sp(context)));
    if (blocked && !forced) {
        self->signal_pending = 1;
        self->pending_info = *info;
        return;
    }
    if (!(state.user.sa_flags & SA_SIGINFO) && state.user.sa_handler == SIG_IGN && !forced)
        return;
    int is_default = !(state.user.sa_flags & SA_SIGINFO) &&
                     (state.user.sa_handler == SIG_DFL || state.user.sa_handler == SIG_IGN);
    if (is_default || (forced && blocked)) {
        die_by_default();
        return;
    }
    call_user_handler(sig, info, context);
}

/* ---- masks ---- */

/* Blocked by the mask the program set, or because its own handler for the signal is running. */
int virtual_mask_blocks(void)
{
    struct agent_thread *self = agent_self;
    if (!self || self == AGENT_THREAD_GONE)
        return 0;
    return self->blocks_signal || is_in_handler(self, (uintptr_t)__builtin_frame_address(0));
}

int virtual_mask_pending(void)
{
    struct agent_thread *self = agent_self;
    return self && self != AGENT_THREAD_GONE && self->signal_pending;
}

void virtual_mask_set(int blocks)
{
    /* In a child of vfork the state is the parent's; its mask is really the child's alone, so nothing is noted. */
    struct agent_thread *known = agent_self;
    if ((known && known != AGENT_THREAD_GONE && blocks == (int)known->blocks_signal) ||
        (!known && !blocks) || sys_getpid() != agent.pid)
        return;
    struct agent_thread *self = thread_self();
    if (!self)
        return;
    self->blocks_signal = (uint32_t)blocks;
    siginfo_t info;
    if (!blocks && virtual_mask_take(&info))
        sys_call4(SYS_rt_tgsigqueueinfo, agent.pid, self->tid, AGENT_SIGNAL, &info);
}

int virtual_mask_take(siginfo_t *out)
{
    struct agent_thread *self = agent_self;
    if (!virtual_mask_pending())
        return 0;
    *out = self->pending_info;
    self->signal_pending = 0;
    return 1;
}

/* ---- calls with a mask of their own ---- */

const sigset_t *mask_call_begin(struct mask_call *call, const sigset_t *mask)
{
    call->active = call->restore = 0;
    if (!mask || !agent_enter_signals() || sys_getpid() != agent.pid)
        return mask;
    struct agent_thread *self = thread_self();
    call->active = 1;
    call->blocked_before = virtual_mask_blocks();
    call->changed = *mask;
    virtual_mask_set(sigismember(mask, AGENT_SIGNAL) == 1);
    if (!agent.engine || !agent.engine->interrupts_calls)
        sigdelset(&call->changed, AGENT_SIGNAL);
    else
        sigaddset(&call->changed, AGENT_SIGNAL);
    if (self) {
        call->outer = self->mask_call;
        self->mask_call = call;
    }
    return &call->changed;
}

void mask_call_end(struct mask_call *call)
{
    if (!call->active)
        return;
    int error = errno;
    struct agent_thread *self = thread_self();
    if (self)
        self->mask_call = call->outer;
    if (call->restore)
        sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &call->before, NULL, 8);
    virtual_mask_set(call->blocked_before);
    errno = error;
}

/* Does the context stand right behind the system call that waits with this mask, cut short by a signal? The registers
 * still hold its arguments, and one of them is the mask's address (pselect has it in a pair in memory). So the record of
 * a call that was left by longjmp is not mistaken for one that is being made. */
static int is_cut_short(const ucontext_t *uc, const struct mask_call *call)
{
#if defined(__x86_64__)
    const greg_t *regs = uc->uc_mcontext.gregs;
    const uint8_t *code = (const uint8_t *)(uintptr_t)(regs[REG_RIP] - 2);
    uint64_t mask = (uint64_t)(uintptr_t)&call->changed, sp = (uint64_t)regs[REG_RSP];
    uint64_t pair = (uint64_t)regs[REG_R9];
    if (regs[REG_RAX] != -EINTR || sp > mask || code[0] != 0x0f || code[1] != 0x05)
        return 0;
    return (uint64_t)regs[REG_RDI] == mask || (uint64_t)regs[REG_R10] == mask ||
           (uint64_t)regs[REG_R8] == mask ||
           (pair >= sp && pair < mask && *(const uint64_t *)(uintptr_t)pair == mask);
#else
    const uint64_t *regs = (const uint64_t *)uc->uc_mcontext.regs;
    uint64_t mask = (uint64_t)(uintptr_t)&call->changed, sp = uc->uc_mcontext.sp, pair = regs[5];
    if (regs[0] != (uint64_t)-EINTR || sp > mask)
        return 0;
    return regs[3] == mask || regs[4] == mask || (regs[8] == SYS_rt_sigsuspend) ||
           (pair >= sp && pair < mask && *(const uint64_t *)(uintptr_t)pair == mask);
#endif
}

/* The kernel delivers the signal that ended such a call under the call's mask. When our signal is due at that moment too
 * it comes first, with all others held back, and would go back to the thread's own mask: the other signal would be left
 * pending, its handler not run, though the call says EINTR. So we go back to the call's mask, and mask_call_end does the
 * rest. */
void virtual_mask_at_interrupt(struct agent_thread *self, void *context)
{
    ucontext_t *uc = context;
    struct mask_call *call = self->mask_call;
    if (!call || !is_cut_short(uc, call))
        return;
    bytes_copy(&call->before, &uc->uc_sigmask, 8);
    bytes_copy(&uc->uc_sigmask, &call->changed, 8);
    call->restore = 1;
}

/* ---- exec ---- */

static void ignore_trap(int really)
{
    if (state.user.sa_flags & SA_SIGINFO || state.user.sa_handler != SIG_IGN)
        return;
    if (really)
        set_real_action((void *)SIG_IGN, 0, 0, NULL);
    else
        take_real_action(NULL);
}

void virtual_signal_ignore(int really)
{
    bus_ignore(really);
    if (agent.signal_ready)
        ignore_trap(really);
}

/* The new program inherits the mask and whether the signal is ignored: they are made real for the moment. The engine
 * is paused before, and what it had sent is delivered while the signal is open. */
void virtual_signal_before_exec(void)
{
    uint64_t bit = SIGNAL_BIT(AGENT_SIGNAL);
    if (agent.signal_ready)
        sys_call4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, 8);
    virtual_signal_ignore(1);
    if (agent.signal_ready && virtual_mask_blocks())
        sys_call4(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, 8);
}

void virtual_signal_after_exec(void)
{
    uint64_t bit = SIGNAL_BIT(AGENT_SIGNAL);
    virtual_signal_ignore(0);
    if (agent.signal_ready)
        sys_call4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, 8);
}

/* What the child itself has set (interpose_signal.c lets it) stays; our handler stands for what the parent had. */
void virtual_signal_before_vfork_exec(void)
{
    if (agent.signal_ready && virtual_get_real(AGENT_SIGNAL) == (uintptr_t)sampling_handler)
        ignore_trap(1);
    bus_before_vfork_exec();
}

/* ---- alternate stacks ---- */

enum { SMALL_STACK = 128 * 1024 };

/* A thread with a small stack cannot carry the kernel's signal frame (3.4 KiB with AVX-512) and our handler. It gets an
 * alternate stack, large enough for handlers of the program that ask for one and would now run on ours. */
void virtual_altstack_install(struct agent_thread *self, size_t stack_bytes)
{
    stack_t old;
    if (stack_bytes >= SMALL_STACK || sys_call2(SYS_sigaltstack, NULL, &old) < 0 ||
        !(old.ss_flags & SS_DISABLE))
        return;
    void *base = sys_mmap(NULL, AGENT_ALTSTACK_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_is_error(base))
        return;
    stack_t ours = {.ss_sp = base, .ss_size = AGENT_ALTSTACK_BYTES};
    if (sys_call2(SYS_sigaltstack, &ours, NULL) < 0)
        sys_munmap(base, AGENT_ALTSTACK_BYTES);
    else
        self->own_altstack = base;
}

void virtual_altstack_remove(void *altstack)
{
    stack_t off = {.ss_flags = SS_DISABLE};
    sys_call2(SYS_sigaltstack, &off, NULL);
    sys_munmap(altstack, AGENT_ALTSTACK_BYTES);
}

int virtual_altstack_restore(struct agent_thread *self)
{
    stack_t ours = {.ss_sp = self->own_altstack, .ss_size = AGENT_ALTSTACK_BYTES};
    return (int)sys_call2(SYS_sigaltstack, &ours, NULL);
}
