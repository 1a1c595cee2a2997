#include "agent/waits.h"

#include "agent/agent.h"
#include "core/bytes.h"

#include <errno.h>

/* ---- the jobserver: MAKEFLAGS or CARGO_MAKEFLAGS say --jobserver-auth=R,W or =fifo:PATH ---- */

static struct {
    int fd;                    /* -1: none */
    char fifo[AGENT_PATH_MAX]; /* "": none */
} jobserver = {.fd = -1};

static void read_jobserver(const char *flags)
{
    static const char *const keys[] = {"--jobserver-auth=", "--jobserver-fds="};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *at = text_find(flags, keys[i]);
        if (!at)
            continue;
        at += bytes_length(keys[i]);
        if (text_starts(at, "fifo:")) {
            size_t length = 0;
            for (at += 5; at[length] && at[length] != ' ' && length < sizeof jobserver.fifo - 1;)
                length++;
            bytes_copy(jobserver.fifo, at, length);
            jobserver.fifo[length] = 0;
        } else if (*at >= '0' && *at <= '9') {
            jobserver.fd = (int)text_to_u64(&at);
        }
        return;
    }
}

void waits_init(char *const envp[])
{
    jobserver.fd = -1;
    jobserver.fifo[0] = 0;
    for (; envp && *envp; envp++)
        if (text_starts(*envp, "MAKEFLAGS=") || text_starts(*envp, "CARGO_MAKEFLAGS=") ||
            text_starts(*envp, "MFLAGS="))
            read_jobserver(*envp);
}

/* A client may have duplicated the descriptor: the pipe itself is compared. */
int wait_is_jobserver(int fd)
{
    struct stat a, b;
    if (fd < 0 || (jobserver.fd < 0 && !jobserver.fifo[0]) || sys_fstat(fd, &a) < 0 ||
        !S_ISFIFO(a.st_mode))
        return 0;
    if (fd == jobserver.fd)
        return 1;
    if (jobserver.fd >= 0 && sys_fstat(jobserver.fd, &b) == 0 && a.st_ino == b.st_ino &&
        a.st_dev == b.st_dev)
        return 1;
    return jobserver.fifo[0] && sys_call4(SYS_newfstatat, AT_FDCWD, jobserver.fifo, &b, 0) == 0 &&
           a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* ---- the scope ---- */

uint64_t wait_min_ticks(void)
{
    uint64_t ns = (uint64_t)agent.control->wait_min_us * 1000;
    if (!agent.stream.use_counter)
        return ns;
    return ns * (agent.control->tick_rate_hz / 1000) / 1000000;
}

/* Part of a call's length that cannot have been waiting: the CPU the thread used since it was last looked at. */
static uint64_t cpu_inside(const struct agent_thread *self, uint64_t start, uint64_t end)
{
    uint64_t cpu = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t used = cpu > self->last_cpu_ns ? cpu - self->last_cpu_ns : 0;
    uint64_t length_ns = end - start;
    if (agent.stream.use_counter)
        length_ns = (uint64_t)((double)(end - start) * 1e9 / (double)agent.control->tick_rate_hz);
    return used < length_ns ? used : length_ns;
}

/* call 0: in none any more. */
static void note_call(uint32_t call, int fd, uint64_t ticks)
{
    struct agent_thread *self = agent_self;
    if (!self || self == AGENT_THREAD_GONE)
        return;
    __atomic_store_n(&self->wait_fd, fd, __ATOMIC_RELAXED);
    __atomic_store_n(&self->wait_ticks, ticks, __ATOMIC_RELAXED);
    __atomic_store_n(&self->wait_call, call, __ATOMIC_RELAXED);
}

static enum stream_wait_kind kind_of(uint32_t call)
{
    switch (call) {
    case STREAM_WAIT_CALL_futex:
    case STREAM_WAIT_CALL_pthread_cond_wait:
    case STREAM_WAIT_CALL_pthread_cond_timedwait:
    case STREAM_WAIT_CALL_pthread_mutex_lock:
    case STREAM_WAIT_CALL_pthread_rwlock_rdlock:
    case STREAM_WAIT_CALL_pthread_rwlock_wrlock:
    case STREAM_WAIT_CALL_pthread_barrier_wait:
    case STREAM_WAIT_CALL_sem_wait:
    case STREAM_WAIT_CALL_pthread_join:
    case STREAM_WAIT_CALL_flock:
        return STREAM_WAIT_LOCK;
    case STREAM_WAIT_CALL_wait:
        return STREAM_WAIT_CHILD;
    case STREAM_WAIT_CALL_nanosleep:
        return STREAM_WAIT_SLEEP;
    case STREAM_WAIT_CALL_pause:
    case STREAM_WAIT_CALL_sigwait:
        return STREAM_WAIT_OTHER;
    default:
        return STREAM_WAIT_IO;
    }
}

void wait_write_open(struct agent_thread *thread, struct stream_cursor *cur)
{
    uint32_t call = __atomic_load_n(&thread->wait_call, __ATOMIC_RELAXED);
    uint64_t start = __atomic_load_n(&thread->wait_ticks, __ATOMIC_RELAXED), now = agent_now();
    if (!call || now < start || now - start < wait_min_ticks())
        return;
    int is_job = wait_is_jobserver(__atomic_load_n(&thread->wait_fd, __ATOMIC_RELAXED));
    struct stream_rec_wait rec = {
        .start_ticks = start,
        .duration_ticks = now - start,
        .kind = (uint16_t)(is_job ? STREAM_WAIT_JOBSERVER : kind_of(call)),
        .call = (uint16_t)call,
    };
    struct stream_piece piece = {&rec, sizeof rec};
    stream_append(&agent.stream, cur, STREAM_REC_WAIT, thread->index, &piece, 1, now);
}

static void store_wait(struct agent_thread *self, const struct wait_scope *scope, uint64_t end,
                       enum stream_wait_call call, enum stream_wait_kind kind)
{
    uint64_t saved;
    int truncated;
    agent_mask_signals(&saved);
    agent_want_stream();
    struct stream_rec_wait rec = {
        .start_ticks = scope->start_ticks,
        .duration_ticks = end - scope->start_ticks,
        .stack = sampling_stack_here(self, &truncated),
        .kind = (uint16_t)kind,
        .call = (uint16_t)call,
        .cpu_ns = cpu_inside(self, scope->start_ticks, end),
    };
    struct stream_piece piece = {&rec, sizeof rec};
    stream_append(&agent.stream, &self->meta, STREAM_REC_WAIT, self->index, &piece, 1, end);
    agent_unmask_signals(&saved);
}

static void scope_begin(struct wait_scope *scope, uint32_t call, int fd, int large)
{
    scope->active = (uint8_t)agent_enter();
    scope->held = 0;
    scope->cpu_before = 0;
    if (!scope->active)
        return;
    const struct engine *engine = agent.engine;
    if (large && engine && !agent.kernel_mode)
        scope->cpu_before = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    if (engine && engine->interrupts_calls) {
        uint64_t bit = (uint64_t)1 << (AGENT_SIGNAL - 1);
        sys_call4(SYS_rt_sigprocmask, SIG_BLOCK, &bit, &scope->saved_mask, 8);
        scope->held = 1;
    }
    scope->start_ticks = agent_now();
    note_call(call, fd, scope->start_ticks);
}

void wait_begin(struct wait_scope *scope, enum stream_wait_call call)
{
    scope_begin(scope, call, -1, 0);
}

void wait_begin_fd(struct wait_scope *scope, enum stream_wait_call call, int fd, uint64_t size)
{
    scope_begin(scope, call, size <= 1 ? fd : -1, size >= WAIT_LARGE_IO);
}

static int wait_is_long(struct wait_scope *scope, uint64_t *end)
{
    *end = agent_now();
    note_call(0, -1, 0);
    if (scope->held)
        sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &scope->saved_mask, NULL, 8);
    if (scope->cpu_before)
        sampling_at_return(scope->cpu_before);
    return *end - scope->start_ticks >= wait_min_ticks() && sys_getpid() == agent.pid && !agent.ended;
}

void wait_end(struct wait_scope *scope, enum stream_wait_call call, enum stream_wait_kind kind)
{
    if (!scope->active)
        return;
    int error = errno;
    uint64_t end;
    if (wait_is_long(scope, &end)) {
        struct agent_thread *self = thread_self();
        if (self)
            store_wait(self, scope, end, call, kind);
    }
    errno = error;
}

void wait_end_fd(struct wait_scope *scope, enum stream_wait_call call, int fd, uint64_t size)
{
    if (!scope->active)
        return;
    int error = errno;
    uint64_t end;
    if (wait_is_long(scope, &end)) {
        struct agent_thread *self = thread_self();
        int is_job = size <= 1 && wait_is_jobserver(fd);
        if (self)
            store_wait(self, scope, end, call, is_job ? STREAM_WAIT_JOBSERVER : STREAM_WAIT_IO);
    }
    errno = error;
}
