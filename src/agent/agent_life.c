/* agent_life.c: how the agent begins in a process, goes over a fork, and ends. */
#include "agent/agent.h"

#include "agent/exec_env.h"
#include "agent/real.h"
#include "agent/waits.h"
#include "core/bytes.h"

#include <errno.h>
#include <limits.h>
#include <sys/auxv.h>

struct agent agent;

static int is_child_of_vfork(void)
{
    return sys_getpid() != agent.pid;
}

/* ---- the control page ---- */

static int map_control(const char *dir)
{
    size_t length = bytes_length(dir);
    if (!length || length + sizeof "/control" > sizeof agent.dir)
        return -ENAMETOOLONG;
    bytes_copy(agent.dir, dir, length);
    bytes_copy(agent.dir + length, "/control", sizeof "/control");
    int fd = sys_openat(AT_FDCWD, agent.dir, O_RDONLY | O_CLOEXEC, 0);
    agent.dir[length] = 0;
    if (fd < 0)
        return fd;
    struct stat st;
    void *map = (void *)(intptr_t)-EINVAL;
    if (sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_size >= (off_t)sizeof(struct control_page))
        map = sys_mmap(NULL, sizeof(struct control_page), PROT_READ, MAP_SHARED, fd, 0);
    sys_close(fd);
    if (sys_is_error(map))
        return (int)(intptr_t)map;
    agent.control = map;
    return bytes_equal(agent.control->magic, CONTROL_MAGIC, 8) && agent.control->version == 1
               ? 0
               : -EINVAL;
}

/* ---- the stream ---- */

/* Runs in the sampling handler of a forked child too, where there are 2 KiB of stack: everything large is static, and one
 * thread at a time is here (start, or the winner of agent_want_stream). */
static int open_stream(void)
{
    static char path[AGENT_DIR_MAX + 64];
    static struct stream_header header;
    size_t at = bytes_length(agent.dir);
    header = (struct stream_header){
        .byte_order = STREAM_BYTE_ORDER,
        .version_major = STREAM_VERSION_MAJOR,
        .version_minor = STREAM_VERSION_MINOR,
        .arch = STREAM_HOST_ARCH,
        .producer = STREAM_PRODUCER_AGENT,
        .clock = agent.control->tsc_usable ? STREAM_CLOCK_TSC : STREAM_CLOCK_MONOTONIC,
        .flags = agent.forked ? STREAM_FLAG_FORK : 0,
        .tick_rate_hz = agent.control->tick_rate_hz,
        .start_ticks = agent.start_ticks,
        .start_mono_ns = clock_read_ns(CLOCK_MONOTONIC),
        .start_wall_ns = clock_read_ns(CLOCK_REALTIME),
        .pid = (uint32_t)agent.pid,
        .ppid = agent.ppid,
        .kernel_start = account_kernel_start(),
        .session_id = agent.control->session_id,
    };
    bytes_copy(path, agent.dir, at);
    path[at++] = '/';
    at += text_from_u64(path + at, header.start_mono_ns);
    path[at++] = '-';
    at += text_from_u64(path + at, header.pid);
    bytes_copy(path + at, ".lam", 5);
    int rc = stream_create(&agent.stream, AT_FDCWD, path, &header, agent.control->max_bytes);
    if (rc == 0) {
        agent.stream.file.path = path;
        agent.stream.file.reopened = fds_protect;
        fds_protect(agent.stream.file.fd);
        bus_note_stream();
    }
    return rc;
}

static void write_opening(struct agent_thread *self)
{
    account_write_time(self);
    account_write_process(self);
    account_write_config(self);
    struct stream_rec_thread main_thread = {
        .ticks = agent.start_ticks,
        .cpu_ns = agent.start_thread_cpu_ns,
        .tid = self->tid,
        .origin = STREAM_THREAD_MAIN,
    };
    struct stream_piece piece = {&main_thread, sizeof main_thread};
    stream_append(&agent.stream, &self->meta, STREAM_REC_THREAD, self->index, &piece, 1,
                  agent.start_ticks);
}

/* Pages of the stream are gone: what readers need to make sense of the rest is written again. */
static void open_again(struct agent_thread *self)
{
    account_notice(STREAM_NOTICE_TRUNCATED, __atomic_load_n(&agent.torn_records, __ATOMIC_RELAXED));
    account_write_time(self);
    account_write_process(self);
    account_write_config(self);
    for (struct agent_thread *thread = __atomic_load_n(&agent.threads, __ATOMIC_ACQUIRE); thread;
         thread = thread->next) {
        struct stream_rec_thread rec = {.ticks = agent.start_ticks,
                                        .cpu_ns = thread->seen_cpu_ns,
                                        .tid = thread->tid,
                                        .origin = (uint8_t)thread->origin};
        struct stream_piece piece = {&rec, sizeof rec};
        if (__atomic_load_n(&thread->live, __ATOMIC_ACQUIRE))
            stream_append(&agent.stream, &self->meta, STREAM_REC_THREAD, thread->index, &piece, 1,
                          rec.ticks);
    }
    if (agent.stream.header)
        __atomic_store_n(&agent.stream.header->lost[STREAM_LOSS_TRUNCATED],
                         __atomic_load_n(&agent.torn_records, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

/* A forked child usually execs at once, and then needs no stream; so it gets one when there is something to write. */
void agent_want_stream(void)
{
    uint32_t wanted = 1;
    struct agent_thread *writer = agent_self == AGENT_THREAD_GONE ? NULL : agent_self;
    if (__builtin_expect(__atomic_load_n(&agent.torn, __ATOMIC_RELAXED), 0) && writer &&
        __atomic_exchange_n(&agent.torn, 0, __ATOMIC_ACQUIRE))
        open_again(writer);
    if (!__atomic_load_n(&agent.stream_wanted, __ATOMIC_RELAXED) ||
        !__atomic_compare_exchange_n(&agent.stream_wanted, &wanted, 0, 0, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return;
    if (open_stream() == 0 && writer)
        write_opening(writer);
}

/* ---- start ---- */

static void read_exe(void)
{
    long got = sys_call4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", agent.exe, sizeof agent.exe - 1);
    agent.exe[got > 0 ? got : 0] = 0;
}

static void copy_rates(void)
{
    for (int i = 0; i < 4; i++) {
        agent.period_ns[i] = agent.control->period_ns[i];
        agent.step_cpu_ns[i] = (uint64_t)agent.control->step_cpu_ms[i] * 1000000u;
    }
    agent.level = 0;
    agent.total_cpu_ns = 0;
}

static void make_wiped_page(void)
{
    if (!agent.wiped) {
        void *page = sys_mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (sys_is_error(page))
            return;
        sys_call3(SYS_madvise, page, 4096, MADV_WIPEONFORK);
        agent.wiped = page;
    }
    *agent.wiped = 1;
}

/* pthread key destructors run at the end of a thread in any order; ours asks to be called again until the last round,
 * so that it sees the thread as late as possible. */
static void key_destructor(void *value)
{
    struct agent_thread *self = value;
    if (agent_self != self)
        return;
    if (++self->detach_rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific((pthread_key_t)agent.pthread_key, self);
    else
        thread_detach();
}

static void note_start(void)
{
    agent.stream.use_counter = (int)agent.control->tsc_usable;
    agent.start_ticks = agent_now();
    agent.handler_max_ticks = agent.stream.use_counter ? agent.control->tick_rate_hz / 2000 : 500000;
    agent.start_cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    agent.start_thread_cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    agent.pid = sys_getpid();
    agent.ppid = (uint32_t)sys_call0(SYS_getppid);
}

/* The process is the agent's from here on: state empty, engine running, the calling thread attached. */
static void begin(void)
{
    uint64_t saved;
    agent_mask_signals(&saved);
    copy_rates();
    make_wiped_page();
    stacks_init();
    modules_init();
    agent.ended = 0;
    agent.engine = NULL;
    if (!agent.why_not && exec_is_skipped(agent.exe))
        agent.why_not = STREAM_UNSAMPLED_SKIPPED;
    bus_init();
    if (!agent.why_not && virtual_signal_init() == 0)
        engine_choose();
    if (!agent.engine && agent.engine_errno)
        agent.why_not = STREAM_UNSAMPLED_FAILED;
    __atomic_store_n(&agent.active, 1, __ATOMIC_RELEASE);
    agent_self = NULL;
    struct agent_thread *self = thread_attach(NULL, STREAM_THREAD_MAIN);
    if (self && !agent.forked && unwind_root_sp())
        thread_know_stack(self, unwind_root_sp(), SIZE_MAX);
    if (self && agent.stream.header)
        write_opening(self);
    /* The mask came from whoever started us. A blocked sampling signal stays blocked as far as the program can tell. */
    uint64_t bit = (uint64_t)1 << (AGENT_SIGNAL - 1);
    if (self && saved & bit)
        self->blocks_signal = 1;
    if (agent.signal_ready)
        saved &= ~bit;
    agent_unmask_signals(&saved);
}

static int start(int argc, char **argv, char **envp, const char *dir)
{
    if (map_control(dir) < 0 || agent.control->stop || getauxval(AT_SECURE))
        return -1;
    note_start();
    /* A debugger would stop at each of our signals: only the account is kept. */
    if (account_is_traced())
        agent.why_not = STREAM_UNSAMPLED_TRACED;
    read_exe();
    agent.argc = argc;
    agent.argv = argv;
    waits_init(envp);
    real_resolve();
    syscall_real = real_get(REAL_syscall);
    if (open_stream() < 0)
        return -1;
    pthread_key_t key;
    if (pthread_key_create(&key, key_destructor) == 0) {
        agent.pthread_key = (int)key;
        agent.key_ready = 1;
    }
    begin();
    return 0;
}

/* First of all constructors (-z initfirst). Nothing happens unless the environment names a recording. */
__attribute__((constructor)) static void agent_constructor(int argc, char **argv, char **envp)
{
    for (char **entry = envp; entry && *entry; entry++)
        if (text_starts(*entry, "LAMELLA_OUT=")) {
            start(argc, argv, envp, *entry + sizeof "LAMELLA_OUT=" - 1);
            return;
        }
}

/* ---- fork ---- */

void agent_start_child(void)
{
    if (!agent.control)
        return;
    if (agent.control->stop) {
        __atomic_store_n(&agent.active, 0, __ATOMIC_RELAXED);
        return;
    }
    /* A number that the program has taken over in the meantime is not ours to close. */
    if (!fds_is_ours(agent.stream.file.fd))
        agent.stream.file.fd = -1;
    fds_release(agent.stream.file.fd);
    stream_forget(&agent.stream);
    struct agent_thread *self = agent_self == AGENT_THREAD_GONE ? NULL : agent_self;
    uint32_t blocks = self && self->blocks_signal;
    uintptr_t handler_frame = self ? self->handler_frame : 0;
    void *altstack = self ? self->own_altstack : NULL;
    uint64_t stack_low = self ? self->stack_low : 0, stack_high = self ? self->stack_high : 0;
    if (self)
        self->own_altstack = NULL; /* in use: not to be unmapped with those of threads that are gone */
    thread_forget_all();
    note_start();
    agent.forked = 1;
    agent.torn = agent.torn_records = 0;
    agent.stream_wanted = 1;
    begin();
    self = agent_self == AGENT_THREAD_GONE ? NULL : agent_self;
    if (self) {
        self->blocks_signal = blocks;
        self->handler_frame = handler_frame;
        self->own_altstack = altstack;
        self->stack_low = stack_low;
        self->stack_high = stack_high;
    }
}

int agent_enter(void)
{
    if (!agent_is_active())
        return 0;
    /* Zeroed by the kernel in a child that was forked past our wrapper (a raw clone). A child of vfork shares the page
     * as it is and is told by its pid, where that matters. */
    if (__builtin_expect(!*(volatile uint64_t *)agent.wiped, 0))
        agent_start_child();
    return agent_is_active() && !agent.ended;
}

/* ---- end ---- */

/* The last thread of a process may end before the process does (main left by pthread_exit): it then has no state any more,
 * and gets one to write with that is not a thread's. */
static struct agent_thread *state_for_last_words(void)
{
    struct agent_thread *state = agent_self == AGENT_THREAD_GONE ? thread_alloc() : NULL;
    if (state)
        stream_cursor_init(&state->meta, STREAM_PAGE_META, 0, (uint32_t)sys_gettid());
    return state;
}

void agent_process_end(enum stream_end_how how, int code)
{
    if (!agent_enter() || is_child_of_vfork())
        return;
    struct agent_thread *self = thread_self();
    if (!self)
        self = state_for_last_words();
    if (!self)
        return;
    uint64_t saved;
    agent_mask_signals(&saved);
    /* After exec and abort the program may go on. */
    int is_last = how == STREAM_END_EXIT || how == STREAM_END__EXIT;
    /* A forked child that did nothing and now execs leaves no stream behind; one that exits does. */
    if (how != STREAM_END_EXEC)
        agent_want_stream();
    if (agent.engine && is_last) {
        /* Silenced by the program (its event closed past our wrappers): said here if nobody noticed before. */
        int rc = self == agent_self ? agent.engine->check(self) : 0;
        if (rc)
            account_notice(STREAM_NOTICE_SILENT, rc < 0 ? (uint64_t)-rc : 0);
        agent.engine->pause();
    }
    account_write_end(self, how, code);
    if (is_last)
        agent.ended = 1;
    agent_unmask_signals(&saved);
}

/* Any system call of ours may be fatal under the program's own filter, so from here on it is left alone: nothing
 * interrupts it, and the wrappers only pass on. What was recorded stays; the parent's wait tells the rest. */
void agent_withdraw(void)
{
    if (!agent_enter() || is_child_of_vfork())
        return;
    uint64_t saved;
    agent_mask_signals(&saved);
    agent_want_stream();
    if (agent.engine) {
        agent.engine->pause();
        for (struct agent_thread *thread = __atomic_load_n(&agent.threads, __ATOMIC_ACQUIRE);
             thread; thread = thread->next)
            if (__atomic_load_n(&thread->live, __ATOMIC_ACQUIRE) && agent.engine->thread_end)
                agent.engine->thread_end(thread);
    }
    account_notice(STREAM_NOTICE_SECCOMP, 0);
    agent.ended = 1;
    __atomic_store_n(&agent.active, 0, __ATOMIC_RELEASE);
    agent_unmask_signals(&saved);
}

/* Last of all destructors, for the same reason as the first constructor. */
__attribute__((destructor)) static void agent_destructor(void)
{
    agent_process_end(STREAM_END_EXIT, -1);
}
