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

void wait_begin(struct wait_scope *scope, int large)
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
}

static int wait_is_long(struct wait_scope *scope, uint64_t *end)
{
    *end = agent_now();
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
