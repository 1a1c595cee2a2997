/* thread.c: the agent's state of each thread: made, found, given back. */
#include "agent/agent.h"

#include "core/bytes.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

__thread struct agent_thread *agent_self __attribute__((tls_model("initial-exec")));

enum { TAG_BITS = 16 };

/* The free list is a stack whose head carries a tag in the upper 16 bits, changed at each push and pop, so that a head
 * that left and came back between a load and its exchange does not pass for unchanged. */
static uint64_t head_make(struct agent_thread *thread, uint64_t old)
{
    return (uint64_t)(uintptr_t)thread | ((old >> 48) + 1) << 48;
}

static struct agent_thread *head_thread(uint64_t head)
{
    return (struct agent_thread *)(uintptr_t)(head & 0xffffffffffffu);
}

static struct agent_thread *free_pop(void)
{
    uint64_t head = __atomic_load_n(&agent.free_threads, __ATOMIC_ACQUIRE);
    struct agent_thread *thread;
    do {
        thread = head_thread(head);
        if (!thread)
            return NULL;
        /* next_free may be read from a state that another thread just took; the tag then makes the exchange fail. */
    } while (!__atomic_compare_exchange_n(&agent.free_threads, &head,
                                          head_make(thread->next_free, head), 0, __ATOMIC_ACQUIRE,
                                          __ATOMIC_ACQUIRE));
    return thread;
}

void thread_give_back(struct agent_thread *thread)
{
    uint64_t head = __atomic_load_n(&agent.free_threads, __ATOMIC_RELAXED);
    do
        thread->next_free = head_thread(head);
    /* release: the state's last writes come before it is taken again. */
    while (!__atomic_compare_exchange_n(&agent.free_threads, &head, head_make(thread, head), 0,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

struct agent_thread *thread_alloc(void)
{
    struct agent_thread *thread = free_pop();
    if (thread)
        return thread;
    thread =
        sys_mmap(NULL, sizeof *thread, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_is_error(thread)) {
        if (agent.stream.header)
            __atomic_fetch_add(&agent.stream.header->lost[STREAM_LOSS_NO_MEMORY], 1,
                               __ATOMIC_RELAXED);
        return NULL;
    }
    thread->perf_fd = thread->timer_id = -1;
    struct agent_thread *first = __atomic_load_n(&agent.threads, __ATOMIC_RELAXED);
    do
        thread->next = first;
    /* release: pairs with the acquire of whoever walks the list. */
    while (!__atomic_compare_exchange_n(&agent.threads, &first, thread, 0, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
    return thread;
}

static void state_reset(struct agent_thread *self, enum stream_thread_origin origin)
{
    self->index = __atomic_add_fetch(&agent.next_thread, 1, __ATOMIC_RELAXED);
    self->tid = (uint32_t)sys_gettid();
    self->origin = origin;
    stream_cursor_init(&self->samples, STREAM_PAGE_SAMPLES, self->index, self->tid);
    stream_cursor_init(&self->meta, STREAM_PAGE_META, self->index, self->tid);
    self->seen_cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    self->last_cpu_ns = origin == STREAM_THREAD_MAIN ? self->seen_cpu_ns : 0;
    self->last_ticks = agent_now();
    self->sampled_cpu_ns = self->handler_ticks = 0;
    self->sample_count = self->interrupt_count = self->no_stack_count = 0;
    self->level = UINT32_MAX;
    self->perf_fd = self->timer_id = -1;
    self->detach_rounds = 0;
    self->wait_call = 0;
    self->signal_pending = 0;
    self->handler_frame = 0;
    self->stack_low = self->stack_high = 0;
    self->mask_call = NULL;
    self->path.count = 0;
}

struct agent_thread *thread_attach(struct agent_thread *prepared, enum stream_thread_origin origin)
{
    /* A child of vfork that its parent's thread is not known in must not leave its own state there. */
    if (agent_self == AGENT_THREAD_GONE || agent.ended || sys_getpid() != agent.pid)
        return NULL;
    struct agent_thread *self = prepared ? prepared : thread_alloc();
    if (!self)
        return NULL;
    if (!prepared)
        self->blocks_signal = 0;
    state_reset(self, origin);
    __atomic_store_n(&self->live, 1, __ATOMIC_RELEASE);
    agent_self = self;
    /* A key below 32 lies inside the thread's own descriptor: setting it neither allocates nor locks. Ours is the
     * first key of the process. */
    if (agent.key_ready && agent.pthread_key < 32)
        pthread_setspecific((pthread_key_t)agent.pthread_key, self);
    if (agent.engine && agent.engine->thread_start)
        agent.engine->thread_start(self);
    return self;
}

/* Only the upper half counts: what libc keeps above the outermost frame is part of the size, so a stack that the program
 * switches to could begin in what the size says is still ours. Above the outermost frame lies at least half a KiB more of
 * the same mapping (the callers of ours, and libc's descriptor of the thread; the environment above the first one). */
void thread_know_stack(struct agent_thread *self, uint64_t frame, size_t size_bytes)
{
    enum { KNOWN_MAX = 1024 * 1024, ABOVE = 512 };
    struct rlimit limit = {.rlim_cur = KNOWN_MAX};
    if (size_bytes == SIZE_MAX) {
        sys_call4(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit);
        size_bytes = limit.rlim_cur < KNOWN_MAX ? limit.rlim_cur : KNOWN_MAX;
    }
    self->stack_high = frame + ABOVE;
    self->stack_low = frame - size_bytes / 2;
}

struct agent_thread *thread_self(void)
{
    struct agent_thread *self = agent_self;
    if (self == AGENT_THREAD_GONE)
        return NULL;
    return self ? self : thread_attach(NULL, STREAM_THREAD_FOUND);
}

void thread_write_end(struct agent_thread *thread, struct stream_cursor *cur, int at_process_end)
{
    struct stream_rec_thread_end end = {
        .ticks = agent_now(),
        .sampled_cpu_ns = thread->sampled_cpu_ns,
        .handler_ticks = thread->handler_ticks,
        .samples = thread->sample_count,
        .interrupts = thread->interrupt_count,
        .tid = thread->tid,
        .at_process_end = (uint8_t)at_process_end,
    };
    account_schedstat(thread->tid, &end.run_ns, &end.core_wait_ns);
    /* The CPU clock of any thread of ours, by its id: CPUCLOCK_SCHED | per thread. */
    end.cpu_ns = clock_read_ns((int)(~thread->tid << 3 | 6));
    struct stream_piece piece = {&end, sizeof end};
    stream_append(&agent.stream, cur, STREAM_REC_THREAD_END, thread->index, &piece, 1, end.ticks);
    if (thread->no_stack_count)
        account_notice(STREAM_NOTICE_NO_STACK, thread->no_stack_count);
}

void thread_detach(void)
{
    struct agent_thread *self = agent_self;
    if (!self || self == AGENT_THREAD_GONE)
        return;
    uint64_t saved;
    agent_mask_signals(&saved);
    agent_want_stream();
    if (agent.engine && agent.engine->thread_end)
        agent.engine->thread_end(self);
    thread_write_end(self, &self->meta, 0);
    stream_cursor_close(&self->samples);
    stream_cursor_close(&self->meta);
    agent_self = AGENT_THREAD_GONE;
    __atomic_store_n(&self->live, 0, __ATOMIC_RELEASE);
    void *altstack = self->own_altstack;
    self->own_altstack = NULL;
    thread_give_back(self);
    /* A signal that is still on its way finds no state and is dropped by the handler. */
    agent_unmask_signals(&saved);
    if (altstack)
        virtual_altstack_remove(altstack);
}

void thread_forget_all(void)
{
    /* Only the forking thread lives on in the child. Its state, and those of the others, go back to the free list; their
     * pages are the parent's file, still mapped here. */
    agent.free_threads = 0;
    agent.next_thread = 0;
    for (struct agent_thread *thread = agent.threads; thread; thread = thread->next) {
        stream_cursor_close(&thread->samples);
        stream_cursor_close(&thread->meta);
        thread->live = 0;
        if (fds_is_ours(thread->perf_fd)) {
            fds_release(thread->perf_fd);
            sys_close(thread->perf_fd);
        }
        thread->perf_fd = thread->timer_id = -1;
        if (thread->own_altstack)
            sys_munmap(thread->own_altstack, AGENT_ALTSTACK_BYTES);
        thread->own_altstack = NULL;
        thread_give_back(thread);
    }
    agent_self = NULL;
}
