/* engine_cpu_timer.c: a POSIX timer on each thread's CPU clock, for where perf is not permitted.
 *
 * The kernel looks at such timers at its tick (250 Hz usually) and sends the signal when the thread goes back to user
 * mode, so a sleeping call is never cut short and no sample comes more often than the tick. Weights stay exact.
 */
#include "agent/agent.h"

#include <errno.h>

#define COOKIE ((void *)(uintptr_t)0x6c616d656c6cu)

/* Nanoseconds between two ticks: the resolution of the clocks that only move at a tick. */
static uint64_t tick_ns(void)
{
    struct timespec res = {0, 0};
    sys_call2(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, &res);
    return (uint64_t)res.tv_sec * 1000000000u + (uint64_t)res.tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
}

static int set_timer(int id, uint64_t first_ns, uint64_t period_ns)
{
    struct itimerspec when = {.it_interval = timespec_of(period_ns),
                              .it_value = timespec_of(first_ns)};
    return (int)sys_call4(SYS_timer_settime, id, 0, &when, 0);
}

static int make_timer(int *id)
{
    struct sigevent event;
    __builtin_memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = AGENT_SIGNAL;
    event.sigev_value.sival_ptr = COOKIE;
    event._sigev_un._tid = sys_gettid();
    return (int)sys_call3(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, id);
}

static int thread_start(struct agent_thread *self)
{
    self->level = __atomic_load_n(&agent.level, __ATOMIC_RELAXED);
    int rc = make_timer(&self->timer_id);
    if (rc < 0) {
        self->timer_id = -1;
        return rc;
    }
    /* The first one after a random part of a period: threads and processes that are alike and hardly longer than one would
     * else all be looked at in the same place. */
    uint64_t period = agent.period_ns[self->level];
    uint64_t random = (agent_now() ^ (uint64_t)self->tid << 32) * 0x9e3779b97f4a7c15u >> 20;
    return set_timer(self->timer_id, 1 + random % period, period);
}

static void thread_end(struct agent_thread *self)
{
    if (self->timer_id >= 0)
        sys_call1(SYS_timer_delete, self->timer_id);
    self->timer_id = -1;
}

static int start(void)
{
    int id;
    int rc = make_timer(&id);
    if (rc < 0)
        return rc;
    sys_call1(SYS_timer_delete, id);
    uint64_t tick = tick_ns();
    for (int i = 0; i < 4; i++)
        if (agent.period_ns[i] < tick)
            agent.period_ns[i] = (uint32_t)tick;
    return 0;
}

static void set_level(struct agent_thread *self, uint32_t old_level, uint32_t level)
{
    (void)old_level;
    if (self->timer_id >= 0)
        set_timer(self->timer_id, agent.period_ns[level], agent.period_ns[level]);
}

static void set_all(uint64_t period_ns)
{
    for (struct agent_thread *thread = __atomic_load_n(&agent.threads, __ATOMIC_ACQUIRE); thread;
         thread = thread->next)
        if (__atomic_load_n(&thread->live, __ATOMIC_ACQUIRE) && thread->timer_id >= 0)
            set_timer(thread->timer_id, period_ns, period_ns);
}

static void pause_all(void)
{
    set_all(0);
}

static void resume(void)
{
    set_all(sampling_period_ns());
}

static int owns(const siginfo_t *info, const struct agent_thread *self)
{
    (void)self;
    return info->si_code == SI_TIMER && info->si_value.sival_ptr == COOKIE;
}

static int check(struct agent_thread *self)
{
    struct itimerspec now;
    if (self->timer_id >= 0 && sys_call2(SYS_timer_gettime, self->timer_id, &now) == 0)
        return 0;
    int rc = thread_start(self);
    return rc < 0 ? rc : 1;
}

const struct engine engine_cpu_timer = {
    .id = STREAM_ENGINE_CPU_TIMER,
    .start = start,
    .thread_start = thread_start,
    .thread_end = thread_end,
    .set_level = set_level,
    .pause = pause_all,
    .resume = resume,
    .owns = owns,
    .check = check,
};
