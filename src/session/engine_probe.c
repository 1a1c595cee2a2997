#include "session/engine_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/units.h"
#include "session/session_clock.h"

enum {
    TRIAL_PERIOD_NS = 97000, /* about 10 kHz: 200 samples in 20 ms */
    TRIAL_SAMPLES = 150,     /* enough for a median */
    TRIAL_CPU_NS = 17000000, /* the longest a trial spins when signals come slowly */
    /* Without any signal for so long it does not work. Fifty ticks of a 250 Hz kernel: on a busy machine many a tick falls
     * while somebody else has the core. */
    TRIAL_SILENCE_NS = 200000000,
    TRIAL_CPU_SECONDS = 1, /* of CPU time, after which the kernel ends a trial that gets nowhere */
    TRIAL_SECONDS = 20, /* of wall time, likewise: a busy machine may take long to give it its 17 ms */
};

static volatile sig_atomic_t fired;

/* Signal handler: touches one counter. */
static void count_signal(int sig)
{
    (void)sig;
    fired++;
}

const char *engine_name(uint32_t engine)
{
    static const char *const names[] = {"auto", "sigtrap", "thread_perf", "cpu_timer", "none"};
    return engine < sizeof names / sizeof *names ? names[engine] : "unknown";
}

int engine_paranoid(void)
{
    char *text;
    size_t length;
    if (file_read_all("/proc/sys/kernel/perf_event_paranoid", 64, &text, &length, NULL) < 0)
        return INT32_MIN;
    int value = (int)strtol(text, NULL, 10);
    mem_free(text);
    return value;
}

static int perf_open(const struct perf_event_attr *attr)
{
    return (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct perf_event_attr task_clock(bool kernel_mode)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = TRIAL_PERIOD_NS,
        .exclude_hv = 1,
        .exclude_kernel = !kernel_mode,
        .disabled = 1,
    };
    return attr;
}

int engine_hold_open(void)
{
    struct perf_event_attr attr = task_clock(false);
    return perf_open(&attr);
}

/* ---- inside the trial's process ---- */

struct trial_report { /* in memory shared with the parent, which reads it even when we are killed */
    int errnum;
    int fired;
    uint32_t sample_cost_ns;
    uint32_t interval_ns;
    int finished;
};

static int open_sigtrap(bool kernel_mode)
{
    struct perf_event_attr attr = task_clock(kernel_mode);
    attr.sigtrap = 1;
    attr.remove_on_exec = 1;
    attr.inherit = 1;
    attr.inherit_thread = 1;
    signal(SIGTRAP, count_signal);
    return perf_open(&attr);
}

static int open_thread_perf(bool kernel_mode)
{
    struct perf_event_attr attr = task_clock(kernel_mode);
    int sig = SIGRTMAX - 1;
    signal(sig, count_signal);
    int fd = perf_open(&attr);
    if (fd < 0)
        return -1;
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)syscall(SYS_gettid)};
    if (fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) < 0 || fcntl(fd, F_SETSIG, sig) < 0 ||
        fcntl(fd, F_SETOWN_EX, &owner) < 0)
        return -1;
    return fd;
}

static int start_cpu_timer(void)
{
    int sig = SIGRTMAX - 1;
    signal(sig, count_signal);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig};
    timer_t timer;
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) < 0)
        return -1;
    struct timespec period = {0, 1000000}; /* served at the kernel's tick, which is longer */
    struct itimerspec spec = {period, period};
    return timer_settime(timer, 0, &spec, NULL);
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Reads the clock without pause. Where a signal was handled between two readings, the gap is what the interruption took:
 * the timer's interrupt, the signal's delivery and its return. The signal may land between reading the counter and reading
 * the clock: then the gap before the one at which the counter is seen to move is the one. */
static void spin_and_measure(struct trial_report *report)
{
    static uint64_t gaps[TRIAL_SAMPLES];
    size_t count = 0;
    sig_atomic_t handled = fired;
    uint64_t cpu_start = session_thread_cpu_ns();
    uint64_t start = session_mono_ns(), last = start, last_gap = 0, first_cpu = 0, last_cpu = 0;
    while (count < TRIAL_SAMPLES) {
        sig_atomic_t now_handled = fired;
        uint64_t now = session_mono_ns();
        uint64_t gap = now - last;
        if (now_handled != handled) {
            handled = now_handled;
            gaps[count++] = gap > last_gap ? gap : last_gap;
            last_cpu = session_thread_cpu_ns();
            if (!first_cpu)
                first_cpu = last_cpu;
            now = session_mono_ns(); /* reading that clock is no part of the next gap */
        }
        last = now;
        last_gap = gap;
        if (now - start > (count >= 3 ? TRIAL_CPU_NS : TRIAL_SILENCE_NS) &&
            session_thread_cpu_ns() - cpu_start > (count >= 3 ? TRIAL_CPU_NS : TRIAL_SILENCE_NS))
            break;
    }
    report->fired = (int)count;
    if (!count)
        return;
    qsort(gaps, count, sizeof *gaps, compare_u64);
    /* The lower quartile: on a busy machine many a gap holds somebody else's turn on the core. */
    report->sample_cost_ns = (uint32_t)gaps[count / 4];
    if (count > 1)
        report->interval_ns = (uint32_t)((last_cpu - first_cpu) / (count - 1));
}

static void reset_signals(void)
{
    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGKILL && sig != SIGSTOP && sig != SIGINT && sig != SIGQUIT)
            signal(sig, SIG_DFL); /* fails for those that libc keeps: nothing to do */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void run_trial(uint32_t engine, bool kernel_mode, struct trial_report *report)
{
    reset_signals();
    signal(SIGINT, SIG_IGN); /* a Ctrl-C now is for the command */
    signal(SIGQUIT, SIG_IGN);
    struct rlimit limit = {TRIAL_CPU_SECONDS, TRIAL_CPU_SECONDS};
    (void)setrlimit(RLIMIT_CPU, &limit);
    alarm(TRIAL_SECONDS);
    int rc = engine == STREAM_ENGINE_SIGTRAP       ? open_sigtrap(kernel_mode)
             : engine == STREAM_ENGINE_THREAD_PERF ? open_thread_perf(kernel_mode)
                                                   : start_cpu_timer();
    if (rc >= 0 && engine != STREAM_ENGINE_CPU_TIMER)
        rc = (int)syscall(SYS_ioctl, rc, PERF_EVENT_IOC_ENABLE, 0);
    if (rc < 0)
        report->errnum = errno;
    else
        spin_and_measure(report);
    report->finished = 1;
    _exit(0);
}

/* ---- in the launcher ---- */

/* The kernels that kill a process which blocks the trap: from the trap's first appearance to the one before the fix. */
static bool kernel_kills_blocked_trap(void)
{
    struct utsname name;
    if (uname(&name) < 0)
        return false;
    char *end;
    unsigned long major = strtoul(name.release, &end, 10);
    unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return major == 5 && minor >= 13 && minor <= 18;
}

static void judge(struct engine_trial *trial, const struct trial_report *report, int status)
{
    if (WIFSIGNALED(status)) {
        trial->verdict = ENGINE_DIED;
        trial->errnum = WTERMSIG(status);
    } else if (!report->finished || report->errnum) {
        trial->verdict = ENGINE_REFUSED;
        trial->errnum = report->errnum;
    } else if (!report->fired) {
        trial->verdict = ENGINE_SILENT;
    } else {
        trial->verdict = ENGINE_WORKS;
        trial->sample_cost_ns = report->sample_cost_ns;
        trial->interval_ns = report->interval_ns;
    }
}

struct engine_trial engine_try(uint32_t engine, bool kernel_mode)
{
    struct engine_trial trial = {.engine = engine,
                                 .kernel_mode = kernel_mode || engine == STREAM_ENGINE_CPU_TIMER};
    if (engine == STREAM_ENGINE_SIGTRAP && kernel_kills_blocked_trap()) {
        trial.verdict = ENGINE_BAD_KERNEL;
        return trial;
    }
    struct trial_report *report =
        mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    trial.verdict = ENGINE_REFUSED;
    if (report == MAP_FAILED) {
        trial.errnum = errno;
        return trial;
    }
    pid_t pid = fork();
    if (pid == 0)
        run_trial(engine, trial.kernel_mode, report);
    int status = 0;
    if (pid < 0) {
        trial.errnum = errno;
    } else {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        judge(&trial, report, status);
    }
    munmap(report, sizeof *report);
    return trial;
}

void engine_probe_run(uint32_t wanted, bool want_kernel, bool try_all, struct engine_probe *probe)
{
    static const struct {
        uint32_t engine;
        bool kernel_mode;
    } order[ENGINE_TRIALS] = {
        {STREAM_ENGINE_SIGTRAP, true},     {STREAM_ENGINE_SIGTRAP, false},
        {STREAM_ENGINE_THREAD_PERF, true}, {STREAM_ENGINE_THREAD_PERF, false},
        {STREAM_ENGINE_CPU_TIMER, true},
    };
    *probe = (struct engine_probe){0};
    bool found = false;
    for (size_t i = 0; i < ENGINE_TRIALS && (try_all || !found); i++) {
        if (wanted != STREAM_ENGINE_AUTO && wanted != order[i].engine)
            continue;
        if (order[i].kernel_mode && !want_kernel && order[i].engine != STREAM_ENGINE_CPU_TIMER)
            continue;
        probe->trials[probe->count] = engine_try(order[i].engine, order[i].kernel_mode);
        if (!found && probe->trials[probe->count].verdict == ENGINE_WORKS) {
            found = true;
            probe->best = probe->count;
        }
        probe->count++;
    }
    if (!found)
        probe->best = probe->count;
}

const struct engine_trial *engine_probe_best(const struct engine_probe *probe)
{
    return probe->best < probe->count ? &probe->trials[probe->best] : NULL;
}

static void refusal_text(const struct engine_trial *trial, char *text, size_t capacity)
{
    int paranoid = engine_paranoid();
    int limit = trial->kernel_mode ? 1 : 2; /* the largest value that permits it to an ordinary user */
    /* The kernel's own check says EACCES, a seccomp profile EPERM. */
    if (trial->errnum == EACCES && paranoid > limit)
        snprintf(text, capacity,
                 "not permitted (kernel.perf_event_paranoid is %d, it would have to be %d or less)",
                 paranoid, limit);
    else if (trial->errnum == EACCES)
        snprintf(text, capacity,
                 "not permitted (by a security module or the container's capabilities)");
    else if (trial->errnum == EPERM)
        snprintf(
            text, capacity,
            "not permitted (a seccomp filter, such as a container's, forbids perf_event_open)");
    else if (trial->errnum == ENOSYS)
        snprintf(text, capacity,
                 "not there (the kernel has no perf events, or a seccomp filter hides them)");
    else if (trial->errnum == EINVAL && trial->engine == STREAM_ENGINE_SIGTRAP)
        snprintf(text, capacity, "not known to this kernel (it came with Linux 5.13)");
    else
        snprintf(text, capacity, "refused: %s", strerror(trial->errnum));
}

void engine_verdict_text(const struct engine_trial *trial, char *text, size_t capacity)
{
    switch (trial->verdict) {
    case ENGINE_WORKS:
        snprintf(text, capacity, "works, %s an interruption",
                 unit_seconds(trial->sample_cost_ns * 1e-9).text);
        return;
    case ENGINE_REFUSED:
        refusal_text(trial, text, capacity);
        return;
    case ENGINE_SILENT:
        snprintf(text, capacity, "opened, but no signal arrived");
        return;
    case ENGINE_DIED:
        if (trial->errnum == SIGALRM)
            snprintf(text, capacity, "a trial did not come to its end in %d s: too busy a machine?",
                     TRIAL_SECONDS);
        else
            snprintf(text, capacity, "the trial was killed by signal %d", trial->errnum);
        return;
    case ENGINE_BAD_KERNEL:
        snprintf(text, capacity,
                 "not used on Linux 5.13 to 5.18, which kill programs that block the trap");
        return;
    case ENGINE_UNTRIED:
        break;
    }
    snprintf(text, capacity, "not tried");
}
