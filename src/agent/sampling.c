/* sampling.c: one look at a thread, from the signal handler or at the return of a long call. */
#include "agent/agent.h"

#include <errno.h>
#include <sys/mman.h>
#include <ucontext.h>

/* Bounds of this library's own code, from the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

enum {
    SIGNAL_STACK_NEED = 2048
}; /* what the handler may use below the frame that the kernel made */

static struct rule_entry *rules; /* the cache that all threads share; zeroed memory is an empty cache */

static struct rule_entry *rules_get(void)
{
    struct rule_entry *entries = __atomic_load_n(&rules, __ATOMIC_ACQUIRE);
    if (entries)
        return entries;
    size_t size = sizeof *entries << RULE_CACHE_BITS;
    struct rule_entry *fresh =
        sys_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_is_error(fresh))
        return NULL;
    /* release: nothing was written, but the mapping must be there for whoever sees the pointer. */
    if (__atomic_compare_exchange_n(&rules, &entries, fresh, 0, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
        return fresh;
    sys_munmap(fresh, size);
    return entries;
}

static int is_own_code(uint64_t address)
{
    return address >= (uintptr_t)__ehdr_start && address < (uintptr_t)etext;
}

/* Takes our wrappers out of a stack, so that it is what it would be without us. */
static uint32_t drop_own_frames(uint64_t *frames, uint32_t depth)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < depth; i++)
        if (!is_own_code(frames[i]))
            frames[kept++] = frames[i];
    return kept;
}

/* Unwinds from self->scratch.top into self->frames. Returns the depth. */
static uint32_t unwind_here(struct agent_thread *self, int *truncated)
{
    struct unwind_space space;
    struct unwind_result result;
    struct rule_cache cache = {.entries = rules_get(), .bits = RULE_CACHE_BITS};
    unwind_space_self(&space, &self->scratch, modules_find, NULL);
    space.cache = cache.entries ? &cache : NULL;
    space.generation = &modules_generation;
    uint64_t sp = self->scratch.top.r[space.arch->sp];
    if (sp >= self->stack_low && sp < self->stack_high) {
        space.memory.sure_start = sp;
        space.memory.sure_end = self->stack_high;
    }
    unwind_stack(&space, &self->scratch.top, self->frames, AGENT_FRAMES_MAX, &result);
    *truncated = result.end != UNWIND_ROOT;
    return drop_own_frames(self->frames, result.depth);
}

/* The registers of the calling function, as far as its callers' rules can need them. Inlined, so that the frame that
 * they describe is alive while it is unwound. */
static inline __attribute__((always_inline)) void regs_here(struct unwind_regs *regs)
{
    regs->valid = 0;
#if defined(__x86_64__)
    uint64_t pc, sp, bp, bx, r12, r13, r14, r15;
    __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2\n\tmov %%rbx, %3"
                     : "=&r"(pc), "=&r"(sp), "=&r"(bp), "=&r"(bx));
    __asm__ volatile("mov %%r12, %0\n\tmov %%r13, %1\n\tmov %%r14, %2\n\tmov %%r15, %3"
                     : "=m"(r12), "=m"(r13), "=m"(r14), "=m"(r15));
    regs->pc = pc;
    unwind_reg_set(regs, 7, sp);
    unwind_reg_set(regs, 6, bp);
    unwind_reg_set(regs, 3, bx);
    unwind_reg_set(regs, 12, r12);
    unwind_reg_set(regs, 13, r13);
    unwind_reg_set(regs, 14, r14);
    unwind_reg_set(regs, 15, r15);
#elif defined(__aarch64__)
    uint64_t pc, sp, fp, lr, saved[10];
    __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"
                     : "=&r"(pc), "=&r"(sp), "=&r"(fp), "=&r"(lr));
    __asm__ volatile("stp x19, x20, [%0]\n\tstp x21, x22, [%0, 16]\n\tstp x23, x24, [%0, 32]\n\t"
                     "stp x25, x26, [%0, 48]\n\tstp x27, x28, [%0, 64]"
                     :
                     : "r"(saved)
                     : "memory");
    regs->pc = pc;
    unwind_reg_set(regs, 31, sp);
    unwind_reg_set(regs, 29, fp);
    unwind_reg_set(regs, 30, lr);
    for (unsigned i = 0; i < 10; i++)
        unwind_reg_set(regs, 19 + i, saved[i]);
#endif
}

__attribute__((noinline)) uint32_t sampling_stack_here(struct agent_thread *self, int *truncated)
{
    regs_here(&self->scratch.top);
    uint32_t depth = unwind_here(self, truncated);
    return stacks_intern(&self->path, self->frames, depth);
}

uint64_t sampling_period_ns(void)
{
    return agent.period_ns[__atomic_load_n(&agent.level, __ATOMIC_RELAXED)];
}

/* A process that has used its share of a step's time goes to the next, coarser one. */
static void step_ladder(struct agent_thread *self, uint64_t weight)
{
    uint64_t total = __atomic_add_fetch(&agent.total_cpu_ns, weight, __ATOMIC_RELAXED);
    uint32_t level = __atomic_load_n(&agent.level, __ATOMIC_RELAXED);
    if (agent.control->rate_auto && level < 3 && total >= agent.step_cpu_ns[level] &&
        __atomic_compare_exchange_n(&agent.level, &level, level + 1, 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED) &&
        !agent.engine->thread_start)
        agent.engine->set_level(self, level, level + 1);
    level = __atomic_load_n(&agent.level, __ATOMIC_RELAXED);
    if (agent.engine->thread_start && self->level != level) {
        agent.engine->set_level(self, self->level, level);
        self->level = level;
    }
}

/* Can a heavy sample's time have been spent elsewhere? Only where kernel mode is not interrupted: then the time in the
 * kernel falls to whatever runs next in user mode. Otherwise all of a thread's time is hit alike: overflows during a
 * system call were merged into one signal at its return, a tick that fell while another thread ran is made up by the
 * next, and threads that inherited one event exchange what is left of their periods when the kernel switches between
 * them. */
static int may_be_late(uint16_t flags)
{
    return !agent.kernel_mode && !(flags & STREAM_SAMPLE_AT_RETURN);
}

/* How many whole periods the weight holds beyond the first, and whether it is late. */
static uint16_t weight_flags(uint64_t weight, uint16_t flags)
{
    uint64_t period = sampling_period_ns();
    if (!period)
        return flags;
    uint64_t merged = weight / period;
    merged = merged > 1 ? merged - 1 : 0;
    if (merged > 255)
        merged = 255;
    if (weight > period + period / 2 && may_be_late(flags))
        flags |= STREAM_SAMPLE_LATE;
    return (uint16_t)(flags | merged << STREAM_SAMPLE_MERGED_SHIFT |
                      __atomic_load_n(&agent.level, __ATOMIC_RELAXED) << STREAM_SAMPLE_LEVEL_SHIFT);
}

static void store_sample(struct agent_thread *self, uint32_t stack, uint64_t weight, uint64_t ticks,
                         uint16_t flags)
{
    flags = weight_flags(weight, flags);
    if (stream_append_sample(&agent.stream, &self->samples, stack ? stack : STREAM_STACK_UNKNOWN,
                             weight, ticks, flags) < 0)
        return;
    self->sample_count++;
    self->sampled_cpu_ns += weight;
}

/* Is the instruction before pc a system call? Then the thread was interrupted in the kernel. */
static uint16_t kernel_flag(uint64_t pc)
{
#if defined(__x86_64__)
    /* Not across a page's start: the page before may not be mapped. The upper half is the vsyscall page. */
    if (pc >> 47 || (pc & 4095) < 2)
        return 0;
    const uint8_t *code = (const uint8_t *)(uintptr_t)(pc - 2);
    return code[0] == 0x0f && code[1] == 0x05 ? STREAM_SAMPLE_KERNEL : 0;
#elif defined(__aarch64__)
    if (pc >> 48 || (pc & 4095) < 4)
        return 0;
    return *(const uint32_t *)(uintptr_t)(pc - 4) == 0xd4000001 ? STREAM_SAMPLE_KERNEL : 0;
#endif
}

/* The kernel put our frame on the alternate stack; is there room for the handler below it? */
static int has_room(const ucontext_t *context)
{
    const stack_t *alt = &context->uc_stack;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), base = (uintptr_t)alt->ss_sp;
    if (alt->ss_flags & SS_DISABLE || here < base || here >= base + alt->ss_size)
        return 1;
    return here - base >= SIGNAL_STACK_NEED;
}

/* A sample that lies on a system call came at the call's return. It stands for the periods that ran out during the call;
 * what was used behind the last of them belongs to the next sample, as in user mode. Taken whole, each long call would
 * be charged half a period too much. */
static uint64_t weight_of(uint64_t used, uint16_t flags)
{
    uint64_t period = sampling_period_ns();
    if (!(flags & STREAM_SAMPLE_KERNEL) || !agent.kernel_mode || !period || used < period)
        return used;
    return used - used % period;
}

static __attribute__((noinline)) void take_sample(struct agent_thread *self,
                                                  const ucontext_t *context, uint64_t ticks)
{
    uint64_t cpu = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    int truncated = 0;
    unwind_regs_from_ucontext(&self->scratch.top, context);
    uint16_t flags = kernel_flag(self->scratch.top.pc);
    uint64_t weight = weight_of(cpu > self->last_cpu_ns ? cpu - self->last_cpu_ns : 0, flags);
    uint32_t depth = unwind_here(self, &truncated);
    if (truncated)
        flags |= STREAM_SAMPLE_TRUNCATED;
    uint32_t stack = stacks_intern(&self->path, self->frames, depth);
    store_sample(self, stack, weight, ticks, flags);
    self->last_cpu_ns += weight;
    self->last_ticks = ticks;
    step_ladder(self, weight);
}

/* Has the calling thread libc's thread-local storage? One made by a bare clone() with a block of its own has not: there
 * is neither an errno nor an agent_self of its own, and whatever lies in their places is the program's. */
static int has_libc_storage(void)
{
#if defined(__x86_64__)
    uintptr_t tcb, self;
    __asm__("mov %%fs:0, %0\n\tmov %%fs:16, %1" : "=r"(tcb), "=r"(self));
    return tcb == self;
#else
    return 1; /* nothing in the block tells */
#endif
}

/* Is it the thread that the state was made for? Not in a child of vfork or of a bare clone(), nor in a thread of the
 * latter kind that shares its maker's storage. */
static int is_own_state(const struct agent_thread *self)
{
    return self ? self->tid == (uint32_t)sys_gettid() : sys_getpid() == agent.pid;
}

static uint64_t interrupted_mask(const ucontext_t *context)
{
    uint64_t mask;
    __builtin_memcpy(&mask, &context->uc_sigmask, sizeof mask);
    return mask;
}

/* Where the program blocks SIGBUS it is open while we write; our return to the kernel restores the mask. */
static void open_sigbus(uint64_t mask)
{
    uint64_t bit = (uint64_t)1 << (SIGBUS - 1);
    if (mask & bit)
        sys_call4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, 8);
}

/* All signals but SIGBUS are blocked while it runs (its sa_mask), so it is not entered twice in a thread. */
void sampling_handler(int sig, siginfo_t *info, void *context)
{
    if (!has_libc_storage())
        return;
    int saved_errno = errno;
    struct agent_thread *self = agent_self == AGENT_THREAD_GONE ? NULL : agent_self;
    if (!agent.engine || !agent.engine->owns(info, self)) {
        virtual_signal_deliver(sig, info, context);
        errno = saved_errno;
        return;
    }
    uint64_t ticks = agent_now(), mask = interrupted_mask(context);
    /* A blocked one: when a fault raises another signal, the kernel (dequeue_synchronous_signal) delivers the first
     * synchronous one that is pending, and a perf event's is, whether blocked or not. So this may be the middle of our own
     * work; the time goes to the next sample. */
    if (mask & (uint64_t)1 << (AGENT_SIGNAL - 1))
        goto out;
    if (!agent_is_active() || !is_own_state(self))
        goto out;
    self = thread_self();
    if (!self)
        goto out;
    self->interrupt_count++;
    virtual_mask_at_interrupt(self, context);
    if (!has_room(context)) {
        self->no_stack_count++;
        goto out;
    }
    open_sigbus(mask);
    agent_want_stream();
    take_sample(self, context, ticks);
    uint64_t took = agent_now() - ticks;
    if (took < agent.handler_max_ticks)
        self->handler_ticks += took;
out:
    errno = saved_errno;
}

void sampling_at_return(uint64_t cpu_before)
{
    struct agent_thread *self = thread_self();
    if (!self)
        return;
    uint64_t cpu = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t used = cpu - cpu_before;
    if (used < sampling_period_ns() / 2 || !is_own_state(self))
        return;
    uint64_t saved;
    int truncated;
    agent_mask_signals(&saved);
    agent_want_stream();
    /* A sample that came in between has already taken some of it. */
    uint64_t weight = self->last_cpu_ns > cpu_before ? cpu - self->last_cpu_ns : used;
    if (weight <= used) {
        uint32_t stack = sampling_stack_here(self, &truncated);
        uint16_t flags = STREAM_SAMPLE_AT_RETURN | (truncated ? STREAM_SAMPLE_TRUNCATED : 0);
        store_sample(self, stack, weight, agent_now(), flags);
        /* What was used before the call stays open for the next interrupt. */
        self->last_cpu_ns += weight;
        self->last_ticks = agent_now();
    }
    agent_unmask_signals(&saved);
}
