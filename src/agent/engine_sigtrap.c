/* engine_sigtrap.c: perf task-clock with sigtrap, one family of events a process.
 *
 * The kernel raises SIGTRAP synchronously in the thread whose CPU time ran over the period: no descriptor a thread, no
 * signal while it sleeps, hence no system call is ever cut short. New threads inherit the events (inherit_thread), new
 * processes do not, and exec removes them (remove_on_exec). The period of an inherited event cannot be changed for all
 * of its family, so each step of the rate ladder is an event of its own of which one is enabled.
 */
#include "agent/agent.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

enum { STEPS = 4, TRAP_PERF_CODE = 6 }; /* TRAP_PERF, newer than this libc's headers may be */
#define COOKIE 0x6c616d656c6c6100u      /* in si_perf_data, with the step in the low byte */

static int fds[STEPS] = {-1, -1, -1, -1};

static int open_step(uint32_t step)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = agent.period_ns[step],
        .disabled = 1,
        .inherit = 1,
        .inherit_thread = 1,
        .remove_on_exec = 1,
        .sigtrap = 1,
        .sig_data = COOKIE | step,
        .exclude_kernel = !agent.kernel_mode,
        .exclude_hv = 1,
    };
    return (int)sys_call5(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void control(uint32_t step, unsigned long request)
{
    if (fds[step] >= 0)
        sys_call3(SYS_ioctl, fds[step], request, 0);
}

static void close_all(void)
{
    for (uint32_t i = 0; i < STEPS; i++) {
        if (fds_is_ours(fds[i])) {
            fds_release(fds[i]);
            sys_close(fds[i]);
        }
        fds[i] = -1;
    }
}

static int start(void)
{
    uint32_t steps = agent.control->rate_auto ? STEPS : 1;
    /* After a fork these are the parent's events, on numbers of the child's own copied table. */
    close_all();
    for (uint32_t i = 0; i < steps; i++) {
        int fd = open_step(i);
        if (fd < 0) {
            close_all();
            return fd;
        }
        fds[i] = claim_move_high(fd);
        fds_protect(fds[i]);
    }
    control(__atomic_load_n(&agent.level, __ATOMIC_RELAXED), PERF_EVENT_IOC_ENABLE);
    return 0;
}

static void set_level(struct agent_thread *self, uint32_t old_level, uint32_t level)
{
    (void)self;
    control(old_level, PERF_EVENT_IOC_DISABLE);
    control(level, PERF_EVENT_IOC_ENABLE);
}

static void pause_all(void)
{
    for (uint32_t i = 0; i < STEPS; i++)
        control(i, PERF_EVENT_IOC_DISABLE);
}

static void resume(void)
{
    control(__atomic_load_n(&agent.level, __ATOMIC_RELAXED), PERF_EVENT_IOC_ENABLE);
}

/* struct siginfo's si_perf_data and si_perf_type follow si_addr; libc's headers may not have them. */
static int owns(const siginfo_t *info, const struct agent_thread *self)
{
    (void)self;
    uint64_t data;
    __builtin_memcpy(&data, (const char *)info + 24, sizeof data);
    return info->si_code == TRAP_PERF_CODE && (data & ~(uint64_t)0xff) == COOKIE;
}

static int check(struct agent_thread *self)
{
    (void)self;
    uint32_t level = __atomic_load_n(&agent.level, __ATOMIC_RELAXED);
    if (sys_call3(SYS_ioctl, fds[level], PERF_EVENT_IOC_ENABLE, 0) == 0)
        return 0;
    /* The numbers may be the program's files by now: forgotten, not closed. Threads that exist are lost to the new
     * events, which are inherited by later ones only. */
    for (uint32_t i = 0; i < STEPS; i++) {
        fds_release(fds[i]);
        fds[i] = -1;
    }
    int rc = start();
    return rc < 0 ? rc : 1;
}

const struct engine engine_sigtrap = {
    .id = STREAM_ENGINE_SIGTRAP,
    .start = start,
    .set_level = set_level,
    .pause = pause_all,
    .resume = resume,
    .owns = owns,
    .check = check,
};
