/* engine_thread_perf.c: one perf task-clock event a thread that sends a directed signal, for kernels where sigtrap is
 * missing or kills (before 5.19).
 *
 * The signal can arrive while the thread goes to sleep in a system call and cut it short, so the wrappers of such calls
 * hold it back (struct engine, interrupts_calls).
 */
#include "agent/agent.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

static int open_event(uint32_t level)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = agent.period_ns[level],
        .disabled = 1,
        .exclude_kernel = !agent.kernel_mode,
        .exclude_hv = 1,
    };
    return (int)sys_call5(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int direct_to_thread(int fd)
{
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = sys_gettid()};
    int rc = (int)sys_call3(SYS_fcntl, fd, F_SETOWN_EX, &owner);
    if (rc >= 0)
        rc = (int)sys_call3(SYS_fcntl, fd, F_SETSIG, AGENT_SIGNAL);
    if (rc >= 0)
        rc = (int)sys_call3(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK);
    if (rc >= 0)
        rc = (int)sys_call3(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
    return rc;
}

static int thread_start(struct agent_thread *self)
{
    self->level = __atomic_load_n(&agent.level, __ATOMIC_RELAXED);
    int fd = open_event(self->level);
    if (fd < 0)
        return fd;
    fd = claim_move_high(fd);
    self->perf_fd = fd;
    fds_protect(fd);
    int rc = direct_to_thread(fd);
    if (rc < 0) {
        fds_release(fd);
        sys_close(fd);
        self->perf_fd = -1;
    }
    return rc;
}

static void thread_end(struct agent_thread *self)
{
    if (self->perf_fd < 0)
        return;
    fds_release(self->perf_fd);
    sys_close(self->perf_fd);
    self->perf_fd = -1;
}

/* The first thread's event is opened when it is attached, right after; this only asks whether it will be permitted. */
static int start(void)
{
    int fd = open_event(0);
    if (fd < 0)
        return fd;
    sys_close(fd);
    return 0;
}

static void set_level(struct agent_thread *self, uint32_t old_level, uint32_t level)
{
    (void)old_level;
    uint64_t period = agent.period_ns[level];
    if (self->perf_fd >= 0)
        sys_call3(SYS_ioctl, self->perf_fd, PERF_EVENT_IOC_PERIOD, &period);
}

static void control_all(unsigned long request)
{
    for (struct agent_thread *thread = __atomic_load_n(&agent.threads, __ATOMIC_ACQUIRE); thread;
         thread = thread->next)
        if (__atomic_load_n(&thread->live, __ATOMIC_ACQUIRE) && thread->perf_fd >= 0)
            sys_call3(SYS_ioctl, thread->perf_fd, request, 0);
}

static void pause_all(void)
{
    control_all(PERF_EVENT_IOC_DISABLE);
}

static void resume(void)
{
    control_all(PERF_EVENT_IOC_ENABLE);
}

/* For a signal whose codes have meanings of their own the kernel says SI_SIGIO and not which descriptor: any such SIGTRAP
 * is ours, also one that was on its way when its thread's event was closed. */
static int owns(const siginfo_t *info, const struct agent_thread *self)
{
    (void)self;
    return info->si_code == SI_SIGIO;
}

static int check(struct agent_thread *self)
{
    if (self->perf_fd >= 0 && sys_call3(SYS_ioctl, self->perf_fd, PERF_EVENT_IOC_ENABLE, 0) == 0)
        return 0;
    fds_release(self->perf_fd); /* not closed: the number may be the program's by now */
    self->perf_fd = -1;
    int rc = thread_start(self);
    return rc < 0 ? rc : 1;
}

const struct engine engine_thread_perf = {
    .id = STREAM_ENGINE_THREAD_PERF,
    .start = start,
    .thread_start = thread_start,
    .thread_end = thread_end,
    .set_level = set_level,
    .pause = pause_all,
    .resume = resume,
    .owns = owns,
    .check = check,
    .interrupts_calls = 1,
};
