/* account.c: the records that say what a process was, what it used and how it ended. Ordinary code with signals
 * blocked (see agent.h), never the sampling handler. */
#include "agent/agent.h"
#include "agent/waits.h"

#include "core/bytes.h"
#include "core/procfs.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum { ARGV_PIECE_BYTES = 32 * 1024, ARGV_TOTAL_MAX = 1024 * 1024 };

static uint64_t timeval_ns(struct timeval tv)
{
    return (uint64_t)tv.tv_sec * 1000000000u + (uint64_t)tv.tv_usec * 1000u;
}

void account_usage(struct stream_usage *out, const struct rusage *from)
{
    *out = (struct stream_usage){
        .user_ns = timeval_ns(from->ru_utime),
        .sys_ns = timeval_ns(from->ru_stime),
        .max_rss_bytes = (uint64_t)from->ru_maxrss * 1024,
        .minor_faults = (uint64_t)from->ru_minflt,
        .major_faults = (uint64_t)from->ru_majflt,
        .switches_voluntary = (uint64_t)from->ru_nvcsw,
        .switches_forced = (uint64_t)from->ru_nivcsw,
        .blocks_in = (uint64_t)from->ru_inblock,
        .blocks_out = (uint64_t)from->ru_oublock,
    };
}

uint64_t account_kernel_start(void)
{
    static char text[1024]; /* one caller at a time: open_stream */
    return procfs_kernel_start(text, sizeof text);
}

/* Is a debugger attached? Its user would meet our signal at every sample. */
int account_is_traced(void)
{
    static char text[4096];
    if (procfs_read("/proc/self/status", text, sizeof text) <= 0)
        return 0;
    uint64_t tracer = procfs_field(text, "TracerPid:");
    return tracer != UINT64_MAX && tracer != 0;
}

void account_schedstat(uint32_t tid, uint64_t *run_ns, uint64_t *wait_ns)
{
    char path[64] = "/proc/self/task/", text[128];
    size_t at = bytes_length(path);
    at += text_from_u64(path + at, tid);
    bytes_copy(path + at, "/schedstat", sizeof "/schedstat");
    *run_ns = *wait_ns = UINT64_MAX;
    if (procfs_read(path, text, sizeof text) <= 0)
        return;
    const char *c = text;
    *run_ns = text_to_u64(&c);
    if (*c == ' ')
        c++;
    *wait_ns = text_to_u64(&c);
}

static void write_argv(struct agent_thread *self)
{
    uint32_t total = 0, index = 0;
    int argc = agent.argv ? agent.argc : 0;
    for (int i = 0; i < argc && agent.argv[i]; i++)
        total += (uint32_t)bytes_length(agent.argv[i]) + 1;
    if (total > ARGV_TOTAL_MAX)
        total = ARGV_TOTAL_MAX;
    /* The kernel lays the arguments out one behind the other, each with its NUL; a program that changes them later
     * does so after us. */
    const char *text = argc > 0 ? agent.argv[0] : "";
    for (uint32_t at = 0; at < total; index++) {
        uint32_t size = total - at < ARGV_PIECE_BYTES ? total - at : ARGV_PIECE_BYTES;
        struct stream_rec_blob blob = {.index = index, .total_bytes = total};
        struct stream_piece pieces[] = {{&blob, sizeof blob}, {text + at, size}};
        stream_append(&agent.stream, &self->meta, STREAM_REC_ARGV, size, pieces, 2,
                      agent.start_ticks);
        at += size;
    }
}

void account_write_process(struct agent_thread *self)
{
    static char cwd[AGENT_PATH_MAX]; /* one caller at a time, as open_stream */
    char comm[17] = "";
    long cwd_bytes = sys_call2(SYS_getcwd, cwd, sizeof cwd);
    sys_call2(SYS_prctl, PR_GET_NAME, comm);
    struct stream_rec_process process = {
        .ticks = agent.start_ticks,
        .exec_cpu_ns = agent.start_cpu_ns,
        .uid = (uint32_t)sys_call0(SYS_getuid),
        .exe_bytes = (uint16_t)bytes_length(agent.exe),
        .cwd_bytes = (uint16_t)(cwd_bytes > 0 ? cwd_bytes - 1 : 0), /* the kernel counts the NUL */
        .comm_bytes = (uint16_t)bytes_length(comm),
    };
    struct stream_piece pieces[] = {
        {&process, sizeof process},
        {agent.exe, process.exe_bytes},
        {cwd, process.cwd_bytes},
        {comm, process.comm_bytes},
    };
    stream_append(&agent.stream, &self->meta, STREAM_REC_PROCESS, 0, pieces, 4, agent.start_ticks);
    if (!agent.forked)
        write_argv(self);
}

void account_write_config(struct agent_thread *self)
{
    uint32_t id = agent.engine ? agent.engine->id : STREAM_ENGINE_NONE;
    struct stream_rec_config config = {
        .ticks = agent_now(),
        .kernel_mode = (uint8_t)agent.kernel_mode,
        .level = (uint8_t)__atomic_load_n(&agent.level, __ATOMIC_RELAXED),
        .signal = AGENT_SIGNAL,
        .wanted_engine = agent.control->engine,
        .open_errno = -agent.engine_errno,
        .why_not = agent.engine ? STREAM_UNSAMPLED_NO : agent.why_not,
    };
    for (int i = 0; i < 4; i++)
        config.period_ns[i] = agent.period_ns[i];
    struct stream_piece piece = {&config, sizeof config};
    stream_append(&agent.stream, &self->meta, STREAM_REC_CONFIG, id, &piece, 1, config.ticks);
}

void account_write_time(struct agent_thread *self)
{
    /* The counter is read on both sides of the kernel's clocks; the middle belongs to them. */
    uint64_t before = agent_now();
    struct stream_rec_time time = {.mono_ns = clock_read_ns(CLOCK_MONOTONIC),
                                   .wall_ns = clock_read_ns(CLOCK_REALTIME)};
    uint64_t after = agent_now();
    time.ticks = before + (after - before) / 2;
    struct stream_piece piece = {&time, sizeof time};
    stream_append(&agent.stream, &self->meta, STREAM_REC_TIME, 0, &piece, 1, time.ticks);
}

static uint32_t write_live_threads(struct agent_thread *self, int is_last)
{
    uint32_t live = 0;
    /* acquire: pairs with the release in thread_alloc. */
    for (struct agent_thread *thread = __atomic_load_n(&agent.threads, __ATOMIC_ACQUIRE); thread;
         thread = thread->next)
        if (__atomic_load_n(&thread->live, __ATOMIC_ACQUIRE)) {
            live++;
            /* After an exec that fails, say, they wait on. */
            if (is_last && thread != self)
                wait_write_open(thread, &self->meta);
            thread_write_end(thread, &self->meta, 1);
        }
    return live;
}

/* VmHWM, in bytes; 0 when it is not known. The buffer is static, since the process may end on a signal stack of 8 KiB: of
 * two threads that end the process together one goes without. */
static uint64_t peak_memory(void)
{
    static char text[4096];
    static uint32_t busy;
    uint32_t idle = 0;
    uint64_t hwm = UINT64_MAX;
    if (!__atomic_compare_exchange_n(&busy, &idle, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return 0;
    if (procfs_read("/proc/self/status", text, sizeof text) > 0)
        hwm = procfs_field(text, "VmHWM:");
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    return hwm == UINT64_MAX ? 0 : hwm * 1024;
}

void account_write_end(struct agent_thread *self, enum stream_end_how how, int code)
{
    struct rusage own, children;
    int is_last = how == STREAM_END_EXIT || how == STREAM_END__EXIT;
    account_write_time(self);
    struct stream_rec_process_end end = {.code = code,
                                         .live_threads = write_live_threads(self, is_last)};
    sys_call2(SYS_getrusage, RUSAGE_SELF, &own);
    sys_call2(SYS_getrusage, RUSAGE_CHILDREN, &children);
    account_usage(&end.self, &own);
    account_usage(&end.children, &children);
    /* ru_maxrss starts at the spawner's peak; the address space's own high-water mark does not. */
    end.self.max_rss_bytes = peak_memory();
    end.ticks = agent_now();
    end.cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    struct stream_piece piece = {&end, sizeof end};
    stream_append(&agent.stream, &self->meta, STREAM_REC_PROCESS_END, how, &piece, 1, end.ticks);
}

void account_child_exit(int pid, int status, const struct rusage *usage)
{
    struct agent_thread *self = thread_self();
    if (!self)
        return;
    uint64_t saved;
    agent_mask_signals(&saved);
    agent_want_stream();
    struct stream_rec_child_exit child = {.ticks = agent_now(), .status = status};
    account_usage(&child.usage, usage);
    struct stream_piece piece = {&child, sizeof child};
    stream_append(&agent.stream, &self->meta, STREAM_REC_CHILD_EXIT, (uint32_t)pid, &piece, 1,
                  child.ticks);
    agent_unmask_signals(&saved);
}

void account_notice(enum stream_notice kind, uint64_t value)
{
    struct agent_thread *self = agent_self;
    if (!self || self == AGENT_THREAD_GONE)
        return;
    struct stream_rec_notice notice = {.ticks = agent_now(), .value = value};
    struct stream_piece piece = {&notice, sizeof notice};
    stream_append(&agent.stream, &self->meta, STREAM_REC_NOTICE, kind, &piece, 1, notice.ticks);
}
